#!/usr/bin/env bash
# A real helm, built once from the Go module proxy and kept outside the checkout. Prints where it is.
set -euo pipefail
if [ -n "${ARGOLINT_TEST_HELM:-}" ]; then echo "$ARGOLINT_TEST_HELM"; exit 0; fi
if command -v helm; then exit 0; fi
folder=${XDG_CACHE_HOME:-$HOME/.cache}/argolint-ci/helm-v3.19.2
if [ ! -x "$folder/helm" ]; then
  if ! command -v go >/dev/null; then echo "there is neither helm nor go" >&2; exit 1; fi
  # Without cgo: its probe of the C compiler writes to /dev/null, which gcc deletes when root runs it.
  CGO_ENABLED=0 CC=false GOBIN=$folder timeout 900 go install helm.sh/helm/v3/cmd/helm@v3.19.2 >&2
fi
echo "$folder/helm"
