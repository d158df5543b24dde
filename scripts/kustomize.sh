#!/usr/bin/env bash
# A real kustomize for the tests of the gate, built once from the Go module proxy and kept outside the checkout.
set -euo pipefail
folder=${XDG_CACHE_HOME:-$HOME/.cache}/argolint-ci/kustomize-v5.7.1
if [ -x "$folder/kustomize" ]; then exit 0; fi
if ! command -v go >/dev/null; then echo "there is no go: kustomize cannot be built"; exit 0; fi
CGO_ENABLED=0 GOBIN=$folder timeout 900 go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1
