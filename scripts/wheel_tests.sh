#!/usr/bin/env bash
# Runs the suite against a wheel: the tree without argolint/, so that nothing but the wheel can be imported.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive --prefix=tree/ HEAD | tar -x -C "$work"
rm -rf "$work/tree/argolint"
"${PYTHON:-python3}" -m venv "$work/env"
"$work/env/bin/pip" install --quiet --disable-pip-version-check "$wheel[dev,bench]"
cd "$work/tree"
"$work/env/bin/python" -m pytest -q -n auto --dist worksteal
