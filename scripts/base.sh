#!/usr/bin/env bash
# Makes the base of the image from Debian's packages, and imports it into buildah's storage: scripts/base.sh NAME [SUITE].
set -euo pipefail
name=$1 suite=${2:-bookworm}
command -v mmdebstrap >/dev/null || { echo "buildah needs a base here: install mmdebstrap, or pass BASE" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mmdebstrap --variant=minbase --include=python3,python3-venv,ca-certificates,git \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  "$suite" "$work/base.tar" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 1; }
container=$(buildah from scratch)
buildah add --quiet "$container" "$work/base.tar" / >&2
buildah commit --quiet --rm ${SOURCE_DATE_EPOCH:+--timestamp "$SOURCE_DATE_EPOCH"} "$container" "$name" >&2
