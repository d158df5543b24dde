#!/usr/bin/env bash
# Builds the runner of External Secrets' own template engine (tests/eso) from the Go module proxy. Prints its path.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
made=${1:-$here/.venv/eso-templates}
if [ ! -x "$made" ]; then (cd "$here/tests/eso" && go build -o "$made" .) >&2; fi
echo "$made"
