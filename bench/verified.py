"""The number of verified first fixes, and the reasons for the others: `python bench/verified.py [PHASE...] [--severity S] [--rules] [--all]`.

PHASE is a snapshot; by default each recorded phase next to the checkout that has states. `--rules` lists each rule's reasons, `--all` each
finding. A fix counts once for each phase, as a reader sees it. `--checkout URL=DIR` (repeatable) renders Helm applications as `--helm-render`
does; proofs by two renders have their own row. The clones do not have a recording's commits: each clone's HEAD is used, so it must have the
recording's charts.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine import pipeline
from argolint.engine.join import join
from argolint.engine.plan import ChosenRule, Plan
from argolint.model import Finding, Object
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from argolint.sources import helm
from argolint.sources.checkout import open_checkouts
from argolint.sources.local_renders import LocalRenders, Manifests

RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "recordings"
TOLD: set[str] = set()
"""What was printed of applications that do not render."""
_QUOTED = re.compile(r'"[^"]*"|`[^`]*`')
_NAMED = re.compile(r"\b(?:[A-Z]\w+ )?[\w.-]+/[\w./~-]+|/[\w./~-]+")


def phases() -> Iterator[Path]:
    """Each phase with the states of applications."""
    for listing in sorted(RECORDINGS.glob("*/*/requests.jsonl")):
        if b"/managed-resources" in listing.read_bytes():
            yield listing.parent


class AtHead(LocalRenders):
    """Renders each source at its clone's HEAD."""

    def render(
        self,
        app: App,
        fleet: Fleet,
        revisions: Mapping[int, str] | None = None,
        values: Object | None = None,
        turn: int = 0,
    ) -> Manifests | None:
        at = dict.fromkeys(range(1, len(app.sources) + 1), "HEAD")
        return super().render(app, fleet, {**at, **(revisions or {})}, values, turn)


def findings(phase: Path, local: LocalRenders | None) -> Iterator[Finding]:
    rules = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
    part = pipeline.examine_shard(SnapshotTransport([phase]), Plan(rules, workers=1, local=local))
    for failure in (f for result in part.results for f in result.failures if f.stage == "helm-render"):
        told = f"{failure.app} does not render: {failure.error.partition(chr(10))[0]}"
        if told not in TOLD:
            print(told)
            TOLD.add(told)
    yield from join(part.results, rules).findings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", nargs="*", type=Path)
    parser.add_argument("--severity", default="error")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--checkout", action="append", default=[])
    asked = parser.parse_args()
    with TemporaryDirectory() as scratch:
        clones = open_checkouts(asked.checkout)
        count(asked, AtHead(helm.find(), clones, Path(scratch)) if clones else None)


def count(asked: argparse.Namespace, local: LocalRenders | None) -> None:
    families = {rule.id: rule.family for rule in load_rules().values()}
    first: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    why: defaultdict[str, Counter[str]] = defaultdict(Counter)
    whole = Counter[str]()
    proofs = Counter[str]()
    for phase in asked.phase or phases():
        for finding in findings(phase, local):
            if finding.severity != asked.severity or not finding.fixes:
                continue
            fix = finding.fixes[0]
            proven = fix.verified is True
            first[families[finding.rule]][proven] += 1
            proofs.update(["two renders" if fix.target == "helm-values" else "replay"] if proven else [])
            reason = "verified" if proven else _NAMED.sub("_", _QUOTED.sub('"_"', fix.unverified))[:110]
            whole[reason] += 1
            why[finding.rule][f"{fix.target} {fix.edit.kind}: {reason}"] += 1
            if asked.all:
                at = finding.at
                print(
                    f"{phase.parent.name}/{phase.name} {finding.rule} {finding.cause} {at.app} {at.resource} {at.pointer}"
                )
                print(f"    {fix.target} {fix.edit.kind}: {fix.title} | {fix.unverified or 'verified'}")
    for family in sorted(first):
        print(f"{family:16} {first[family][True]:4} of {first[family].total():4}")
    print(f"{'all':16} {sum(c[True] for c in first.values()):4} of {sum(c.total() for c in first.values()):4}")
    for proof, number in proofs.most_common():
        print(f"{proof:16} {number:4}")
    for reason, number in whole.most_common():
        print(f"  {number:4}  {reason}")
    for rule in sorted(why, key=lambda rule: -why[rule].total()) if asked.rules else ():
        print(f"{families[rule]} {rule}: {why[rule].total()}")
        for reason, number in why[rule].most_common():
            print(f"  {number:4}  {reason}")


if __name__ == "__main__":
    main()
