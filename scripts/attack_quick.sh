#!/usr/bin/env bash
# Ten cases of each group of the attack suite, those that are over soonest: `attack_quick.sh FOLDER`. PYTHON has argolint installed.
set -euo pipefail
folder=$1
cases=A002,A041,A087,A126,A157,A172,A203,A219,A234,A262
cases+=,B002,B007,B013,B018,B023,B028,B033,B038,B044,B049
cases+=,C032,C074,C082,C101,C111,C128,C144,C153,C168,C176
cases+=,D047,D054,D064,D071,D078,D085,D092,D099,D124,D131
cases+=,E001,E008,E015,E022,E031,E041,E066,E109,E120,E137
cases+=,F007,F013,F020,F024,F044,F048,F057,F063,F067,F071
if [ ! -f "$folder/run.py" ]; then
  echo "skipped: no attacks at $folder; name their folder: make attack-quick ATTACKS=DIR"
  exit 0
fi
report=$(mktemp)
trap 'rm -f "$report" "$report.json"' EXIT
timeout 600 "$PYTHON" "$folder/run.py" "$PYTHON" --only "$cases" --json "$report.json" >"$report" 2>&1 || { tail -n 20 "$report"; exit 1; }
"$PYTHON" - "$report.json" <<'PY'
import json
import sys

rows = json.load(open(sys.argv[1]))
bad = [row for row in rows if row["result"] not in ("held", "skipped")]
for row in bad:
    print(f"{row['id']} {row['result']}: {row['title']}: {row['detail'][:300]}")
print(f"attacks: {sum(row['result'] == 'held' for row in rows)} of {len(rows)} held")
sys.exit(bool(bad))
PY
