"""Fixes of every recording: the verified ones applied in memory and linted anew, the first ones written into clones."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from argolint import App, Finding, Fix, Fleet, Rule
from argolint.checkouts.yaml_text import documents
from argolint.engine import run as engine
from argolint.engine.fingerprint import fingerprint
from argolint.engine.run import Chosen, Plan
from argolint.engine.verify import verify
from argolint.model import AppRef
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from tests.checkouts import repository
from tests.conftest import PHASES, recording, run_argolint
from tests.gitops import git


def applied(fix: Fix, finding: Finding, app: App, fleet: Fleet) -> App:
    """The application as the server would answer it once the fix is in force and synced."""
    after: list[App] = []

    def look(seen: App) -> tuple[Finding, ...]:
        after.append(seen)
        return ()

    assert verify(fix, finding, app, fleet, look).verified is True
    return after[-1]


def examined(phase: str) -> tuple[Fleet, tuple[Chosen, ...], dict[AppRef, App], list[Finding]]:
    """The fleet, its rules, every application with all that the rules asked for, and the findings about it alone."""
    transport = SnapshotTransport([recording(phase)])
    fleet, _ = engine.load_fleet(transport)
    rules = tuple(Chosen(rule, rule.default_options) for rule in load_rules().values())
    apps: dict[AppRef, App] = {}

    def keep(app: App, fleet: Fleet, options: Any) -> Iterator[Finding]:
        apps[app.ref] = app
        return iter(())

    watcher = Rule(id="watcher", family="test", severity="info", doc="Keeps what rules see.", check=keep)
    plan = Plan((*rules, Chosen(watcher, watcher.default_options)), workers=1)
    results = list(engine.run(transport, fleet, plan))
    return fleet, rules, apps, [finding for result in results for finding in result.findings]


@pytest.mark.parametrize("phase", PHASES)
def test_a_verified_fix_ends_its_finding_and_brings_no_other(phase: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not by the fixed rule's word alone, as `verified` is: no rule at all may find something that was not there."""
    fleet, rules, apps, findings = examined(phase)
    before = {ref: {fingerprint(f) for f in findings if f.at.app == ref} for ref in apps}
    faults: list[str] = []
    first = Counter[tuple[str, bool]]()
    for finding in findings:
        if finding.fixes:
            first[finding.rule, finding.fixes[0].verified is True] += 1
        for fix in finding.fixes:
            if fix.verified is not True:
                continue
            app = applied(fix, finding, apps[finding.at.app], fleet)
            left = engine.inspect(app, fleet, rules).findings
            what = f"{finding.rule} of {finding.at.app} {finding.at.resource}: {fix.title}"
            if any((f.rule, f.at, f.cause) == (finding.rule, finding.at, finding.cause) for f in left):
                faults.append(f"{what}: it stays")
            faults += [
                f"{what}: now {f.rule}: {f.message}" for f in left if fingerprint(f) not in before[finding.at.app]
            ]
    with capsys.disabled():
        print(f"\n{phase}: findings whose first fix is verified")  # noqa: T201
        for rule in sorted({rule for rule, _ in first}):
            print(f"  {rule:34} {first[rule, True]} of {first[rule, True] + first[rule, False]}")  # noqa: T201
    assert not faults, "\n".join(faults)
    assert phase.startswith("seeds/") or any(proven for _, proven in first)


def clones(phase: Path, folder: Path) -> list[Path]:
    """A clone of each of the company's repositories, and one of the repository with its Applications."""
    return [
        repository(
            folder / source.name,
            {str(file.relative_to(source)): file.read_text() for file in source.rglob("*") if file.is_file()},
            url=f"http://git.example.com/{source.name}.git",
        )
        for source in (*sorted((phase.parent / "sources").iterdir()), phase.parent / "applications")
    ]


def test_fixes_of_a_recording_are_written_into_clones_of_its_repositories(tmp_path: Path) -> None:
    """What is verified or safe is placed, nothing is written twice, and every file is still what Argo CD can read."""
    phase = recording("harbourline/2-after-mutate")
    roots = clones(phase, tmp_path)
    write = [text for root in roots for text in ("--write", str(root))]
    ran = run_argolint("fix", "--snapshot", phase, *write, "-o", "json")
    made = json.loads(ran.out)
    assert len(made["placed"]) >= 20
    assert all(entry["fix"]["verified"] or entry["fix"]["safe"] for entry in made["placed"])
    assert all(entry["why"] and entry["todo"] for entry in made["by_hand"])
    assert ran.code == int(bool(made["unverified"]) or any(entry["refused"] for entry in made["by_hand"]))
    changed = {str(root / file) for root in roots for file in git(root, "diff", "--name-only").split()}
    placed = {str(Path(f["checkout"]) / f["file"]) for entry in made["placed"] for f in entry["files"]}
    assert changed == placed
    for root in roots:
        assert not re.search(r"^\+.*: (\{\}|\[\])$", git(root, "diff"), re.MULTILINE)
        for file in git(root, "diff", "--name-only").split():
            before = documents(git(root, "show", f"HEAD:{file}"))
            assert len([d.data for d in documents((root / file).read_text())]) == len(before)
    again = run_argolint("fix", "--snapshot", phase, *write, "--force", "--dry-run")
    assert again.out == ""
