#!/usr/bin/env bash
# Builds the wheel twice, as of the last commit, and refuses two that differ. The wheel is in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check build twine
for turn in one two; do
  git archive --prefix="$turn/" HEAD | tar -x -C "$work"
  "$work/env/bin/python" -m build --wheel --outdir "$work/dist-$turn" "$work/$turn" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
done
cmp "$work"/dist-one/*.whl "$work"/dist-two/*.whl || { echo "two builds of one commit differ"; exit 1; }
"$work/env/bin/twine" check --strict "$work"/dist-one/*.whl
mkdir -p dist
cp "$work"/dist-one/*.whl dist/
(cd dist && sha256sum ./*.whl)
