#!/usr/bin/env bash
# Runs the live suite against the Argo CD of kubectl's current context: makes a token, forwards a port, and passes --apply.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
kubectl -n argocd port-forward service/argocd-server 18080:80 >"$work/forward" 2>&1 &
forward=$!
trap 'kill "$forward"; rm -rf "$work"' EXIT
until curl --silent --fail http://127.0.0.1:18080/healthz >"$work/health"; do sleep 1; done
password=$(kubectl -n argocd get secret argocd-initial-admin-secret -o jsonpath='{.data.password}' | base64 -d)
session=$(printf '{"username":"admin","password":"%s"}' "$password" |
  curl --silent --fail --data @- http://127.0.0.1:18080/api/v1/session | python3 -c 'import json,sys; print(json.load(sys.stdin)["token"])')
ARGOCD_AUTH_TOKEN=$(printf 'Authorization: Bearer %s' "$session" |
  curl --silent --fail --header @- --data '{"id":"live","expiresIn":7200}' http://127.0.0.1:18080/api/v1/account/argolint/token |
  python3 -c 'import json,sys; print(json.load(sys.stdin)["token"])')
export ARGOCD_AUTH_TOKEN ARGOCD_SERVER=127.0.0.1:18080 ARGOCD_OPTS=--plaintext
make live ARGS=--apply
