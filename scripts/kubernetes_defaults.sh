#!/bin/sh
# Writes rules/drift/kubernetes_defaults.yaml from Kubernetes' own defaulting functions. usage: scripts/kubernetes_defaults.sh [VERSION]
# Needs what kubernetes_program.sh needs.
set -eu
version=${1:-v1.34.1}
here=$(cd "$(dirname "$0")" && pwd)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
sh "$here/kubernetes_program.sh" "$here/kubernetes_defaults" "$version" "$built/defaults"
"$built/defaults" "$version" >"$here/../rules/drift/kubernetes_defaults.yaml"
