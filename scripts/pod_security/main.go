// Prints what Pod Security says of each pod spec on standard input, by check: {"level": …, "spec": …}, one a line.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func main() {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked struct {
			Level string
			Spec  corev1.PodSpec
		}
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		said := []string{}
		level := api.LevelVersion{Level: api.Level(asked.Level), Version: api.MajorMinorVersion(1, 33)}
		for _, result := range evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, &asked.Spec) {
			if !result.Allowed {
				said = append(said, result.ForbiddenReason)
			}
		}
		out.Encode(said)
	}
}
