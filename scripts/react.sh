#!/usr/bin/env bash
# Puts what the tests of Argo CD's UI extension run in a browser into a folder: both Reacts of Argo CD's UI, and a checker of accessibility.
#   scripts/react.sh [DIR]    default: where tests/test_extension_ui.py looks
set -euo pipefail
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/argolint-ci/react}
[ -f "$folder/complete" ] && exit 0
mkdir -p "$folder"
cd "$folder"
while read -r hash file; do
  name=${file%-*} version=${file##*-}
  timeout 60 npm pack --silent --ignore-scripts "$name@${version%.tgz}" >fetched.log 2>&1 || { tail -n 3 fetched.log; exit 1; }
  echo "$hash  $file" | sha256sum --check --quiet
  mkdir -p "${file%.tgz}"
  tar -xzf "$file" -C "${file%.tgz}" --strip-components=1
  rm "$file"
done <<'LIST'
fe57dc365e50cbd95f61f78bca5b64e749c1af7f08f481f0565d92a6b014a5e3 react-16.14.0.tgz
61d08586f10f4de8d50aee90fcbda5c2f1d6eac3744f60fe4b0c1f294e7e3336 react-dom-16.14.0.tgz
3869e1f44439eadc02e9570135b594715702374a0d8a30c7771b853698422283 react-19.2.6.tgz
a840fde16696a9a35d06c906796b9c066dcbd214e49d0467d638d5fd4a4c5b11 react-dom-19.2.6.tgz
ab26ce35ce4032f04b78cfc5bbb4cfe13358e9fe7a5433a8aa6315c3debc5095 scheduler-0.27.0.tgz
e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745 axe-core-4.14.1.tgz
LIST
touch complete
