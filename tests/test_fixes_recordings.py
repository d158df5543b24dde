"""Fixes of every recording: the verified ones applied in memory and linted anew, the first ones written into clones."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from argolint import MISSING, App, Finding, Fix, Fleet, Resource
from argolint.comparison import compare
from argolint.comparison.compare import LAST_APPLIED
from argolint.edits import RESPECT
from argolint.engine.inspect import inspect
from argolint.engine.load import needs_states, read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.fixes.compose import composed_operations
from argolint.model import AppRef, ResourceKey
from argolint.model.fingerprint import fingerprint
from argolint.plugins import load_rules
from argolint.proof.afterwards import application_afterwards, prediction_of
from argolint.proof.replay import Checks
from argolint.proof.syncs import (
    ObjectState,
    application_after,
    object_state,
    shown_differences,
    sync_terms,
    synced_state,
)
from argolint.proof.verify import verify
from argolint.snapshots.reader import SnapshotTransport
from argolint.sources.yaml_text import EditError, documents
from argolint.values import get
from tests import facts
from tests.checkouts import repository
from tests.conftest import PHASES, recording, run_argolint
from tests.gitops import git
from tests.recorded import plainly
from tests.recorded import rules as all_rules


def applied(fix: Fix, finding: Finding, app: App, fleet: Fleet) -> App | None:
    """The application as the server would answer it once the fix is in force and synced; None for a spec that Argo CD's checks alone judge."""
    after: list[App] = []

    def look(seen: App) -> tuple[Finding, ...]:
        after.append(seen)
        return ()

    assert (
        verify(
            fix, finding, app, fleet, Checks(look, then=prediction_of(load_rules()[finding.rule], finding, fleet))
        ).verified
        is True
    )
    return after[-1] if after else None


@pytest.fixture(scope="module", params=PHASES)
def phase(request: pytest.FixtureRequest) -> str:
    """A recorded phase: the tests of one follow each other, so that it is looked at once."""
    return str(request.param)


@cache
def examined(phase: str) -> tuple[Fleet, tuple[ChosenRule, ...], dict[AppRef, App], list[Finding]]:
    """The fleet, its rules, every application with all that the rules asked for, and the findings about it alone."""
    transport = SnapshotTransport([recording(phase)])
    fleet, _ = read_fleet(transport)
    plan = Plan(all_rules())
    apps = {
        app.ref: read_application(transport, app, fleet, plan, states=needs_states(app, fleet, plan.rules))[0]
        for app in fleet.apps
    }
    return fleet, plan.rules, apps, [finding for result in plainly(phase).results for finding in result.findings]


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
            if app is None:
                continue
            left = inspect(app, fleet, rules).findings
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


def test_what_findings_say_is_so(phase: str) -> None:
    """As tests/test_rules.py asks of the fixtures: values, writers, counts, texts and first fixes are those of the recorded objects."""
    fleet, rules, apps, findings = examined(phase)
    families = {chosen.rule.id: chosen.rule.family for chosen in rules}
    lists = facts.of_fleet(fleet)
    seen = {ref: f"{facts.material(apps[ref])} {lists}" for ref in {f.at.app for f in findings} & apps.keys()}
    told = [
        (sort, what, holds, finding.message)
        for finding in findings
        if finding.at.app in seen
        for sort, what, holds in facts.said(
            apps[finding.at.app],
            finding,
            seen[finding.at.app],
            of_states=families[finding.rule] in ("drift", "nondeterminism", "ownership"),
        )
    ]
    assert [each for each in told if not each[2]] == []
    assert len(told) > 5


def played(fix: Fix, app: App, resource: Resource, fleet: Fleet) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    """(live, desired, what differs) of one object after the fix: synced, and synced once more after a hard refresh."""
    live: Any
    live, desired, raw = (deepcopy(dict(side or {})) for side in (resource.live, resource.desired, app.raw))
    if fix.target == "manifest":
        desired = jsonpatch.apply_patch(desired, fix.edit.content)
    elif fix.target == "application":
        raw = jsonpatch.apply_patch(raw, fix.edit.content)
    else:
        live = jsonpatch.apply_patch(live, fix.edit.content)
    if fix.before:  # the step takes the same fields out of what was applied last
        last = json.loads(live["metadata"]["annotations"][LAST_APPLIED])
        live["metadata"]["annotations"][LAST_APPLIED] = json.dumps(jsonpatch.apply_patch(last, fix.edit.content))
    rules, strategy = compare.rules_of(raw, fleet.settings), compare.strategy_of(raw, desired, fleet.version)
    respected = compare.has_sync_option(raw, desired, RESPECT)
    for _ in range(2):
        if fix.target != "live":
            way = compare.syncs_server_side(raw, desired)
            live = compare.apply(live, desired, rules, server_side=way, respect_ignored=respected)
        yield live, desired, compare.compare(live, desired, rules, strategy).pointers


def test_a_verified_fix_loses_nothing_through_two_syncs(phase: str) -> None:
    """What another writer has set stays as it is, unless Git says something else of it then."""
    fleet, _, apps, findings = examined(phase)
    faults: list[str] = []
    seen = 0
    for finding, fix in ((f, x) for f in findings for x in f.fixes if x.verified and x.edit.kind == "json-patch"):
        app = apps[finding.at.app]
        for key in {claim.resource for claim in finding.explains if claim.kind == "change" and claim.resource}:
            resource = app.resource(key)
            assert resource is not None
            explained = {e.detail for e in finding.explains} - SERVERS_OWN
            theirs = {c.pointer: c for c in resource.changes if c.pointer in explained}
            for live, desired, differs in played(fix, app, resource, fleet):
                seen += 1
                what = f"{finding.rule} {resource.id} {fix.title}"
                left = {p for p in differs if p in theirs}
                faults += [f"{what}: {p} differs" for p in left]
                for pointer, change in theirs.items():
                    held = get(resource.live, pointer)
                    if held is MISSING or change.masked:
                        continue
                    if get(live, pointer) is MISSING and get(desired, pointer) is MISSING:
                        faults.append(f"{what}: {pointer} is gone")
                    if pointer == "/spec/replicas" and get(live, pointer) not in (held, get(desired, pointer)):
                        faults.append(f"{what}: scaled from {held} to {get(live, pointer)}")
    assert not faults, "\n".join(faults)
    assert seen or phase.startswith("seeds/")


SERVERS_OWN = {
    f"/metadata/{name}" for name in ("uid", "resourceVersion", "creationTimestamp", "generation", "selfLink")
}
"""What the API server writes whatever is applied, so that no apply takes it away."""


def hollow(node: Any) -> bool:
    """An item of a list that is an empty map: an API server reads it as a wish."""
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return (isinstance(node, list) and {} in node) or any(map(hollow, children))


@dataclass
class Written:
    """One document that fixes are written into, one after the other."""

    now: Any
    history: list[tuple[Any, str]] = field(default_factory=list)

    def take(self, fix: Fix) -> bool:
        """False when it contradicts an earlier one."""
        try:
            steps = list(composed_operations(fix.edit.content, self.now, self.history))
        except EditError:
            return False
        self.now = jsonpatch.apply_patch(self.now, steps)
        self.history += [(step, fix.title) for step in fix.edit.content]
        return True


def all_written(app: App, findings: list[Finding], fleet: Fleet) -> tuple[App, list[Finding]]:
    """The application with the first verified fix of each finding in it, as `fix --write` puts them together, and synced."""
    raw, done = Written(deepcopy(dict(app.raw))), list[tuple[Finding, Fix]]()
    manifests: dict[ResourceKey, Written] = {}
    for finding in findings:
        written = (f for f in finding.fixes if f.verified and not f.before)
        fixes = (f for f in written if f.edit.kind == "json-patch" and f.target != "live")
        fix = next(fixes, None)
        target = fix and (fix.resource or finding.at.resource)
        resource = app.resource(target.key) if target else None
        own = app.resource(finding.at.resource.key) if finding.at.resource else None
        if fix is None or (fix.target == "manifest" and resource is None):
            continue
        if any(each is not None and each.live is None for each in (own, resource)):
            continue  # what the sync is yet to make is played by each fix alone
        if fix.target == "manifest" and resource is not None:
            into = manifests.setdefault(resource.key, Written(deepcopy(dict(resource.desired or {}))))
        else:
            into = raw
        if into.take(fix):
            done.append((finding, fix))
    touched: dict[ResourceKey, ObjectState] = {}
    for resource in app.resources if done else ():
        if resource.live and resource.desired and (raw.history or resource.key in manifests):
            desired = manifests[resource.key].now if resource.key in manifests else resource.desired
            today = shown_differences(resource, resource.live, resource.desired, app, fleet)
            terms = sync_terms(raw.now, desired, bool(today and today.server_side), fleet)
            touched[resource.key] = object_state(synced_state(resource.live, desired, terms), desired, terms)
    after = application_after(app, raw.now, touched)
    for finding, fix in done:
        if then := prediction_of(load_rules()[finding.rule], finding, fleet):
            after = application_afterwards(fix, finding, app, after, then)
    return after, [finding for finding, _ in done]


def test_the_verified_fixes_of_an_application_work_together(phase: str) -> None:
    fleet, rules, apps, findings = examined(phase)
    faults: list[str] = []
    several = 0
    for ref, app in apps.items():
        mine = [finding for finding in findings if finding.at.app == ref]
        after, done = all_written(app, mine, fleet)
        if not done:
            continue
        several += len(done) > 1
        before = {fingerprint(finding) for finding in mine}
        left = inspect(after, fleet, rules).findings
        # the condition of a refused spec goes when Argo CD looks again, which is not played
        fixed = {(f.rule, f.at, f.cause) for f in done if f.rule != "invalid-spec"}
        faults += [f"{ref}: {f.rule} {f.at.resource} returns" for f in left if (f.rule, f.at, f.cause) in fixed]
        faults += [f"{ref}: now {f.rule}: {f.message}" for f in left if fingerprint(f) not in before]
        faults += [
            f"{ref}: an empty item in {r.id}"
            for r in after.resources
            if hollow(r.desired) > hollow((app.resource(r.key) or r).desired)
        ]
        faults += [f"{ref}: an empty item in the Application"] if hollow(after.raw) > hollow(app.raw) else []
    assert not faults, "\n".join(faults)
    assert several or phase.startswith("seeds/")


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
    ran = run_argolint("fix", "--min-severity", "info", "--snapshot", phase, *write, "-o", "json")
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
