"""The recorded pull requests: each known fault is told, nothing else is, and repairs count as fixed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from argolint.engine.plan import Chosen, Plan
from argolint.gate.change import Change
from argolint.gate.judge import judge
from argolint.gate.verdict import Verdict
from argolint.model import Finding
from argolint.plugins import load_rules
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.knowledge import parse

from .conftest import RECORDINGS, recording

BRANCHES = (
    "charts/release-1.4.3",
    "data-platform/finance-pre-checker",
    "data-platform/pin-webserver-key",
    "edge-fleet/drop-kes",
    "edge-fleet/explicit-route-defaults",
    "identity/oauth2-proxy-redis-session",
    "payments/ledger-volume-size",
    "payments/statements-autoscaling",
    "platform-gitops/otlp-cert-one-year",
    "platform-gitops/readme",
    "tracking/common-config-owner",
    "tracking/ui-resources",
)
PHASES = ("3-after-commits", "5-after-renders")


@cache
def truth() -> dict[str, Any]:
    found: dict[str, Any] = parse((RECORDINGS / "harbourline" / "truth.yaml").read_text())
    return found


def verdict(branch: str, phase: str) -> Verdict:
    layers = [recording(f"harbourline/{name}") for name in (phase, "3-after-commits-branches")]
    plan = Plan(tuple(Chosen(r, r.default_options) for r in load_rules().values()))
    repo, _, head = branch.partition("/")
    return judge(SnapshotTransport(layers), Change(f"http://git.example.com/{repo}.git", head), plan)


def expected(branch: str) -> list[tuple[str, str, str, str | None]]:
    """(rule, application, object's name, cause) of each fault that the branch brings."""
    return [
        (t["fault"], app, (t.get("resource") or {}).get("name", ""), t.get("cause"))
        for t in truth()["faults"]
        if f"pr:{branch}" in t["seen_in"]
        for app in t.get("apps") or [t["app"]]
    ]


def answers(finding: Finding, want: tuple[str, str, str, str | None]) -> bool:
    rule, app, name, cause = want
    places = [(finding.at.app, finding.at.resource), *((r.app, r.resource) for r in finding.related)]
    return (
        finding.rule == rule
        and any(str(ref) == app for ref, _ in places)
        and (not name or any(resource is not None and resource.name == name for _, resource in places))
        and cause in (None, finding.cause)
    )


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("branch", BRANCHES)
def test_each_fault_of_a_branch_is_told_nothing_else_is_and_repairs_count(branch: str, phase: str) -> None:
    found, wanted = verdict(branch, phase), expected(branch)
    assert [w for w in wanted if not any(answers(f, w) for f in found.new)] == []
    spare = [f for f in found.new if f.severity != "info" and not any(answers(f, w) for w in wanted)]
    assert [(f.rule, f.message) for f in spare] == []
    assert found.failures + found.head.failures == ()
    harmless = next((x for x in truth()["healthy_prs"] if x["pr"] == branch), None)
    assert (harmless is None) == bool(wanted)
    fixes = set((harmless or {}).get("fixes") or ())
    assert fixes <= {f.rule for f in found.fixed}
    if harmless is not None and not fixes:
        assert found.fixed == ()
