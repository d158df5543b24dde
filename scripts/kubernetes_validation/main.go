// Prints what the API server's own validation says of each object on standard input: JSON objects, one a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
)

type strategy interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
}

func main() {
	by := map[string]strategy{
		"Deployment": deployment.Strategy, "StatefulSet": statefulset.Strategy, "DaemonSet": daemonset.Strategy,
		"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy, "CronJob": cronjob.Strategy, "Job": job.Strategy,
		"ConfigMap": configmap.Strategy, "Namespace": namespace.Strategy, "PersistentVolumeClaim": persistentvolumeclaim.Strategy,
		"Service": service.Strategy, "Ingress": ingress.Strategy, "PodDisruptionBudget": poddisruptionbudget.Strategy, "ClusterRoleBinding": clusterrolebinding.Strategy,
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		found := []string{}
		obj, gvk, err := legacyscheme.Codecs.UniversalDecoder().Decode(in.Bytes(), nil, nil)
		if err != nil {
			out.Encode([]string{"decode: " + err.Error()})
			continue
		}
		ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "shop")
		ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIGroup: gvk.Group, APIVersion: gvk.Version})
		func() {
			defer func() {
				if r := recover(); r != nil {
					found = append(found, fmt.Sprint("panic: ", r))
				}
			}()
			var errs field.ErrorList
			if s, ok := by[gvk.Kind]; ok {
				s.PrepareForCreate(ctx, obj)
				errs = s.Validate(ctx, obj)
			} else {
				found = append(found, "no strategy: "+gvk.Kind)
			}
			for _, e := range errs {
				found = append(found, e.Error())
			}
		}()
		out.Encode(found)
	}
}
