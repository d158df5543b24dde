// What Go's readers of manifests find in texts: one JSON string per line of standard input, and for each one line of objects.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// The parts between lines of `---`, each through sigs.k8s.io/yaml: Argo CD's reading of what tools print.
func split(text string) (found []object) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		part, err := reader.Read()
		if err != nil {
			return found
		}
		one := object{}
		if yaml.Unmarshal(part, &one) == nil {
			found = append(found, one)
		}
	}
}

// kubectl's reading, and Argo CD's of plain folders.
func decoded(text string) (found []object) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		one := object{}
		if decoder.Decode(&one) != nil {
			return found
		}
		found = append(found, one)
	}
}

// Kustomize's grammar.
func newer(text string) (found []object) {
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	for {
		one := object{}
		if err := decoder.Decode(&one); err == io.EOF || err != nil {
			return found
		}
		found = append(found, one)
	}
}

func flat(found []object, depth int) (made []object) {
	for _, one := range found {
		items, isList := one["items"].([]any)
		if kind, _ := one["kind"].(string); kind == "" {
			continue // refused by all that read objects
		}
		if !isList || depth > 5 {
			made = append(made, one)
			continue
		}
		for _, item := range items {
			if inner, isMap := item.(object); isMap {
				made = append(made, flat([]object{inner}, depth+1)...)
			}
		}
	}
	return made
}

// The Applications, whole.
func applications(found []object) []object {
	made := []object{}
	for _, one := range flat(found, 0) {
		metadata, _ := one["metadata"].(object)
		kind, _ := one["kind"].(string)
		group, _ := one["apiVersion"].(string)
		name, _ := metadata["name"].(string)
		if kind == "Application" && strings.HasPrefix(group, "argoproj.io/") && name != "" {
			made = append(made, one)
		}
	}
	return made
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := lines.ReadBytes('\n')
		var text string
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &text) == nil {
			made, err := json.Marshal(map[string][]object{
				"split": applications(split(text)), "decoded": applications(decoded(text)), "newer": applications(newer(text)),
			})
			if err != nil { // what is no JSON, which no server takes
				made, _ = json.Marshal(map[string][]object{
					"split": applications(split(text)), "decoded": applications(decoded(text)), "newer": {},
				})
			}
			out.Write(append(made, '\n'))
		}
		if err != nil {
			return
		}
	}
}
