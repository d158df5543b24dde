#!/usr/bin/env bash
# Builds the image and tries it: `make image`. With Docker or Podman where one answers, else with buildah and a base made from Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tag=${TAG:-argolint:dev}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -rf dist && mkdir -p dist/wheels
"$python" -m build --wheel --outdir dist . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

try() { # the checks that an image must pass; "$@" runs argolint in it
  "$@" --version
  "$@" demo --quiet
  "$@" check --quiet --snapshot /opt/argolint/demo.tar.gz && code=0 || code=$?
  [ "$code" = 1 ] || { echo "findings ended with $code, not 1"; exit 1; }
  "$@" check --server 127.0.0.1:9 --plaintext --auth-token none 2>"$work/err" && code=0 || code=$?
  [ "$code" = 2 ] || { echo "a check without a server ended with $code, not 2"; cat "$work/err"; exit 1; }
  "$@" extension >"$work/extension.js"
  cmp "$work/extension.js" argolint/serve/ui/extension-argolint.js
}

serves() { # "$@" runs argolint in the image, in the background, with its port reachable at 127.0.0.1:19797
  "$@" serve --snapshot /opt/argolint/demo.tar.gz --listen 0.0.0.0:19797 >"$work/serve.log" 2>&1 &
  local pid=$! code=0
  for _ in $(seq 60); do
    "$python" -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:19797/readyz", timeout=2)' 2>"$work/ready" && break
    sleep 1
  done
  "$python" -c 'import urllib.request as u; assert b"argolint_findings" in u.urlopen("http://127.0.0.1:19797/metrics", timeout=5).read()'
  ended "$pid" || code=$?
  [ "$code" = 0 ] || { echo "serve ended with $code after SIGTERM, not with 0"; tail -n 5 "$work/serve.log"; exit 1; }
}

for tool in docker podman; do
  if command -v "$tool" >"$work/which" && timeout 20 "$tool" info >"$work/info" 2>&1; then
    "$tool" build -f deploy/Containerfile -t "$tag" ${BASE:+--build-arg BASE="$BASE"} .
    try "$tool" run --rm --read-only --tmpfs /tmp "$tag"
    ended() { kill -TERM "$1"; wait "$1"; }
    serves "$tool" run --rm --init --read-only --tmpfs /tmp -p 127.0.0.1:19797:19797 "$tag"
    echo "built $tag"
    exit
  fi
done

command -v buildah >"$work/which" || { echo "neither Docker nor Podman answers, and there is no buildah"; exit 1; }
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
base=${BASE:-}
if [ -z "$base" ]; then
  base=localhost/argolint-base:debian
  bash scripts/base.sh "$base"
  "$python" -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version 3.11 --require-hashes \
    -r deploy/requirements.lock -d dist/wheels
fi
buildah build --quiet -f deploy/Containerfile -t "$tag" --build-arg BASE="$base" --build-arg PIP_NO_INDEX=1 .
container=$(buildah from "$tag")
trap 'buildah rm "$container" >"$work/rm"; rm -rf "$work"' EXIT
try buildah run --user 65532:65532 "$container" -- argolint
ended() { # buildah passes no signal on: the process in the container is asked itself
  "$python" - <<'PY'
import os, pathlib, signal
for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        words = entry.read_bytes().split(b"\0")
        if b"serve" in words and b"0.0.0.0:19797" in words and words[0].startswith(b"/opt/argolint/"):
            os.kill(int(entry.parent.name), signal.SIGTERM)
    except (OSError, ValueError):
        pass
PY
  wait "$1"
}
serves buildah run --user 65532:65532 "$container" -- argolint
buildah run --user 65532:65532 "$container" -- python3 -c 'import importlib.util as u; raise SystemExit(u.find_spec("pip") is not None)'
echo "built $tag"
