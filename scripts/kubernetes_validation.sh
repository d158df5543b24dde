#!/bin/sh
# Writes what Kubernetes' own validation says of each case into tests/validation.yaml. usage: scripts/kubernetes_validation.sh [VERSION]
# Needs what kubernetes_program.sh needs. PYTHON has PyYAML.
set -eu
version=${1:-v1.34.1}
here=$(cd "$(dirname "$0")" && pwd)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
sh "$here/kubernetes_program.sh" "$here/kubernetes_validation" "$version" "$built/validation"
cd "$here/.."
"${PYTHON:-python3}" -m scripts.validation_cases "$built/validation" "$version"
