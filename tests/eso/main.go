// Runs templates through External Secrets' own engine: one JSON object a line in, one out.
package main

import (
	"encoding/json"
	"os"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	template "github.com/external-secrets/external-secrets/pkg/template/v2"
	corev1 "k8s.io/api/core/v1"
)

type asked struct {
	Template string            `json:"template"`
	Data     map[string][]byte `json:"data"`
}

type answered struct {
	Text  []byte `json:"text"`
	Error string `json:"error,omitempty"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for in.More() {
		var one asked
		if err := in.Decode(&one); err != nil {
			panic(err)
		}
		secret := &corev1.Secret{}
		err := template.Execute(map[string][]byte{"made": []byte(one.Template)}, one.Data, esv1.TemplateScopeValues, esv1.TemplateTargetData, secret)
		answer := answered{Text: secret.Data["made"]}
		if err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
