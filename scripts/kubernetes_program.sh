#!/bin/sh
# Builds the Go program of a folder against k8s.io/kubernetes: kubernetes_program.sh FOLDER VERSION OUT
# Needs Go and its module proxy; the staging modules (k8s.io/api and the like) have the version v0.X.Y of v1.X.Y.
set -eu
version=$2
out=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1/main.go" "$work"
cd "$work"
go mod init program >/dev/null 2>&1
go mod edit -require "k8s.io/kubernetes@$version"
source=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
sed -n 's#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*#\1#p' "$source/go.mod" | while read -r module; do
    go mod edit -replace "$module=$module@v0.${version#v1.}"
done
go mod tidy >/dev/null 2>&1
go build -o "$out" .
