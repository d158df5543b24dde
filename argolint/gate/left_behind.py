"""What an application leaves on a cluster that it goes away from: Argo CD looks for its objects at its destination alone."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.fleet import Fleet
from argolint.gate.touched import Touched
from argolint.model import Edit, Finding, Fix, Location
from argolint.values import enumerated, sh, text_at

LEFT_RULE = "prune-disabled-drift"
"""The rule about objects that nothing prunes."""


def left_behind(judged: Touched, fleet: Fleet) -> Iterator[Finding]:
    """The objects that stay on the cluster of an application which gets another one."""
    before, after = judged.before, judged.after
    if before is None or after is None or before.cluster == after.cluster:
        return
    old, new = (text_at(fleet.clusters.get(app.cluster), "name") or app.cluster for app in (before, after))
    kinds = sorted(r.id.kind for r in before.resources if r.claimed and not r.absent)
    if not kinds:
        return
    counted = enumerated([f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)], limit=5)
    objects = "1 object" if len(kinds) == 1 else f"{len(kinds)} objects"
    yield Finding(
        message=f"Application {after.ref} goes to cluster {new} and leaves {objects} on {old}, which nothing deletes: {counted}.",
        at=Location(after.ref, None, "/spec/destination"),
        severity="warning",
        confidence="proven",
        rule=LEFT_RULE,
        family="ownership",
        fixes=(
            Fix(
                "Move it step by step",
                "application",
                f"Application {after.ref}",
                Edit("command", f"argolint forecast move {sh(str(before.ref))} --to-cluster {sh(new)}\n"),
                caveat="this prints the plan; what lies in volumes stays where it is",
            ),
        ),
    )
