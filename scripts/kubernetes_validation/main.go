// Prints what the API server's own validation says of each object on standard input: JSON objects, one a line.
// `{"old": …, "new": …}` is an update.
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
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
)

type strategy interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
}

func main() {
	by := map[string]strategy{
		"Deployment": deployment.Strategy, "StatefulSet": statefulset.Strategy, "DaemonSet": daemonset.Strategy,
		"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy, "CronJob": cronjob.Strategy, "Job": job.Strategy,
		"ConfigMap": configmap.Strategy, "Namespace": namespace.Strategy, "PersistentVolumeClaim": persistentvolumeclaim.Strategy,
		"Service": service.Strategy, "Ingress": ingress.Strategy, "PodDisruptionBudget": poddisruptionbudget.Strategy,
		"ClusterRole": clusterrole.Strategy, "ClusterRoleBinding": clusterrolebinding.Strategy, "Role": role.Strategy, "RoleBinding": rolebinding.Strategy,
		"Secret": secret.Strategy, "ServiceAccount": serviceaccount.Strategy, "LimitRange": limitrange.Strategy, "ResourceQuota": resourcequota.Strategy,
		"PersistentVolume": persistentvolume.Strategy, "StorageClass": storageclass.Strategy, "PriorityClass": priorityclass.Strategy,
		"IngressClass": ingressclass.Strategy, "NetworkPolicy": networkpolicy.Strategy,
		"MutatingWebhookConfiguration": mutatingwebhookconfiguration.Strategy, "ValidatingWebhookConfiguration": validatingwebhookconfiguration.Strategy,
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		found := []string{}
		var pair struct{ Old, New json.RawMessage }
		if json.Unmarshal(in.Bytes(), &pair) != nil || pair.New == nil {
			pair.New = in.Bytes()
		}
		obj, gvk, err := legacyscheme.Codecs.UniversalDecoder().Decode(pair.New, nil, nil)
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
			s, ok := by[gvk.Kind]
			if ok && pair.Old != nil {
				old, _, _ := legacyscheme.Codecs.UniversalDecoder().Decode(pair.Old, nil, nil)
				s.PrepareForUpdate(ctx, obj, old)
				errs = s.ValidateUpdate(ctx, obj, old)
			} else if ok {
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
