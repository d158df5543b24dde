#!/usr/bin/env bash
# The runner of External Secrets' own template engine (tests/eso), built once from the Go module proxy and kept outside the checkout. Prints where it is;
# with --kept, only one that is built already.
set -euo pipefail
if [ -n "${ARGOLINT_TEST_ESO:-}" ]; then echo "$ARGOLINT_TEST_ESO"; exit 0; fi
sources=$(cd "$(dirname "$0")/../tests/eso" && pwd)
mark=$(cat "$sources/main.go" "$sources/go.mod" "$sources/go.sum" | sha256sum | cut -c1-12)
made=${XDG_CACHE_HOME:-$HOME/.cache}/argolint-ci/eso-templates-$mark
if [ ! -x "$made" ]; then
  if [ "${1:-}" = --kept ]; then echo "not built: bash scripts/eso_templates.sh builds it" >&2; exit 1; fi
  if ! command -v go >/dev/null; then echo "there is no go" >&2; exit 1; fi
  # Without cgo, as scripts/helm.sh says.
  (cd "$sources" && CGO_ENABLED=0 CC=false timeout 1800 go build -o "$made" .) >&2
fi
echo "$made"
