"""The commands that copy a Secret before its chart stops rendering it, run for real: a shell, jq, and a kubectl that holds one Secret."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules
from tests.shell_commands import commands

JQ = shutil.which("jq")
needs_jq = pytest.mark.skipif(JQ is None, reason="jq is not installed")

_KUBECTL = """#!/bin/sh
case "$3 $4" in
  "get secret") cat live/"$2"."$5".json ;;
  "apply -f") cat > given; test -s given || { echo "error: no objects passed to apply" >&2; exit 1; }; mv given applied."$2" ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac
"""


@cache
def copies() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each copying command of the fixtures, once, with the namespace, the Secret and the keys that it speaks of."""
    rules = list(load_rules().values())
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(Path("tests/rules").glob("nondeterministic-secret/bad-*.yaml")):
        for finding in testing.check(testing.load_fixture(path), rules).findings:
            for fix in finding.fixes:
                for line in commands(fix):
                    if " get secret " in line and "| jq " in line:
                        words = line.split()
                        keys = json.loads("[" + line.partition("[")[2].partition("]")[0] + "]")
                        found[line] = (words[2], words[5], *keys)
    return tuple(found.items())


def run(folder: Path, line: str, secret: dict[str, Any]) -> tuple[int, str, dict[str, Any] | None]:
    """The exit code of the command, what it says, and the object that reached the cluster."""
    program = folder / "kubectl"
    program.write_text(_KUBECTL)
    program.chmod(0o755)
    shutil.rmtree(folder / "live", ignore_errors=True)
    (folder / "live").mkdir()
    space, name = secret["metadata"]["namespace"], secret["metadata"]["name"]
    (folder / "live" / f"{space}.{name}.json").write_text(json.dumps(secret))
    (folder / f"applied.{space}").unlink(missing_ok=True)
    environ = {"PATH": f"{folder}:{Path(JQ or '').parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    made = folder / f"applied.{space}"
    return done.returncode, done.stderr, json.loads(made.read_text()) if made.exists() else None


@needs_jq
def test_a_copy_holds_every_key_or_is_not_made(tmp_path: Path) -> None:
    assert len(copies()) >= 5
    for line, (space, name, *keys) in copies():
        data = {key: f"value of {key}" for key in keys}
        annotations = {"argocd.argoproj.io/tracking-id": "x", "other": "y"}
        metadata = {"name": name, "namespace": space, "annotations": annotations, "uid": "u", "resourceVersion": "7"}
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata}
        added = {key: base64.b64encode(key.encode()).decode() for key in re.findall(r"--rawfile (\S+) \1", line)}
        for key in added:
            (tmp_path / key).write_text(key)
        code, _, made = run(tmp_path, line, {**secret, "data": {**data, "another": "z"}})
        assert (code, made) == (
            0,
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "Opaque",
                "metadata": {"name": f"{name}-pinned"},
                "data": {**data, **added},
            },
        )
        for absent in keys:
            held = {key: value for key, value in data.items() if key != absent}
            code, said, made = run(tmp_path, line, {**secret, "data": held})
            assert (code, made) == (1, None)
            assert f"no key {absent} in it" in said
    code, said, made = run(tmp_path, line, {**secret, "metadata": {**metadata, "name": "somebody-elses"}})
    assert (code, made, "No such file" in said) == (1, None, True)
