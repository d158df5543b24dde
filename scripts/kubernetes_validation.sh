#!/bin/sh
# Writes what Kubernetes' own validation says of each case into tests/validation.yaml. usage: scripts/kubernetes_validation.sh [VERSION]
# Needs Go and its module proxy; the staging modules (k8s.io/api and the like) have the version v0.X.Y of v1.X.Y. PYTHON has PyYAML.
set -eu
version=${1:-v1.34.1}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/kubernetes_validation/main.go" "$work"
cd "$work"
go mod init validation >/dev/null 2>&1
go mod edit -require "k8s.io/kubernetes@$version"
source=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
sed -n 's#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*#\1#p' "$source/go.mod" | while read -r module; do
    go mod edit -replace "$module=$module@v0.${version#v1.}"
done
go mod tidy >/dev/null 2>&1
go build -o validation .
cd "$here/.."
"${PYTHON:-python3}" -m scripts.validation_cases "$work/validation" "$version"
