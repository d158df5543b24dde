#!/usr/bin/env bash
# Runs the whole live suite against the Argo CD of kubectl's current context: makes tokens, forwards a port, passes --apply and --restart-server.
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
made() { # a token: $1 is the address of its account or role
  printf 'Authorization: Bearer %s' "$session" |
    curl --silent --fail --header @- --data '{"id":"live","expiresIn":7200}' "http://127.0.0.1:18080/api/v1/$1/token" |
    python3 -c 'import json,sys; print(json.load(sys.stdin)["token"])'
}
# The suite's own project, for a role of it. An account argolint-narrow may only `applications, get` (live.yml).
python3 -c 'import json; from tests.live import steps; print(json.dumps(steps.project()))' | kubectl apply -f -
ARGOCD_AUTH_TOKEN=$(made account/argolint)
ARGOLINT_LIVE_READONLY_TOKEN=$ARGOCD_AUTH_TOKEN
ARGOLINT_LIVE_NARROW_TOKEN=$(made account/argolint-narrow)
ARGOLINT_LIVE_PROJECT_TOKEN=$(made projects/argolint-live/roles/reader)
export ARGOLINT_LIVE_READONLY_TOKEN ARGOLINT_LIVE_NARROW_TOKEN ARGOLINT_LIVE_PROJECT_TOKEN
export ARGOCD_AUTH_TOKEN ARGOCD_SERVER=127.0.0.1:18080 ARGOCD_OPTS=--plaintext
make live ARGS="--apply --restart-server"
