#!/bin/sh
# Builds what the lab runs, from the Go module proxy: build.sh FOLDER [PROGRAM…]; about 20 minutes on two cores.
# Needs Go (it brings the toolchain that a module asks for), and redis-server, git, helm and kustomize to run.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- etcd kubernetes argocd external-secrets
export GOTOOLCHAIN="${GOTOOLCHAIN:-auto}"  # Argo CD asks for a newer Go than most machines have
here=$(cd "$(dirname "$0")" && pwd)

# program NAME MODULE VERSION PACKAGE [LINK-FLAGS]: a module's own requirements and replacements count, as in its own tree.
program() {
    name=$1 module=$2 version=$3 package=$4
    echo "$name $version"
    work=$(mktemp -d)
    source=$(cd "$work" && go mod init lab >/dev/null 2>&1 && go mod download -json "$module@$version" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
    python3 "$here/requirements.py" "$module" "$version" "$source/go.mod" "$package" >"$work/go.mod"
    (cd "$work" && go mod tidy >/dev/null 2>&1 && go build -ldflags "${5:-}" -o "$out/$name" "$package")
    rm -rf "$work"
}

for each in "$@"; do
    case $each in
    etcd) program etcd go.etcd.io/etcd/server/v3 v3.6.8 go.etcd.io/etcd/server/v3 ;;
    kubernetes)
        base=k8s.io/component-base/version client=k8s.io/client-go/pkg/version
        stamp="-X $base.gitVersion=v1.36.3 -X $base.gitMajor=1 -X $base.gitMinor=36 -X $client.gitVersion=v1.36.3"
        for part in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
            program "$part" k8s.io/kubernetes v1.36.3 "k8s.io/kubernetes/cmd/$part" "$stamp"
        done
        ;;
    argocd)
        common=github.com/argoproj/argo-cd/v3/common
        program argocd github.com/argoproj/argo-cd/v3 v3.6.1 github.com/argoproj/argo-cd/v3/cmd \
            "-X $common.gitTag=v3.6.1 -X $common.gitCommit=unknown -X $common.gitTreeState=clean"
        mkdir -p "$out/crds"
        cp "$(go env GOMODCACHE)"/github.com/argoproj/argo-cd/v3@v3.6.1/manifests/crds/*-crd.yaml "$out/crds"
        ;;
    external-secrets)
        program external-secrets github.com/external-secrets/external-secrets v0.16.2 github.com/external-secrets/external-secrets
        mkdir -p "$out/external-secrets-crds"
        cp "$(go env GOMODCACHE)"/github.com/external-secrets/external-secrets@v0.16.2/config/crds/bases/*.yaml "$out/external-secrets-crds"
        rm -f "$out/external-secrets-crds/kustomization.yaml"  # no object of a cluster
        ;;
    *)
        echo "no such program: $each" >&2
        exit 2
        ;;
    esac
done
