"""A PodDisruptionBudget that allows no disruption

What it finds: a budget that never permits an eviction, even if all pods are ready: it demands as many pods as there are, or `maxUnavailable` is
0.

Why it hurts: nodes cannot be drained. Cluster upgrades, node rotation and autoscalers hang at that pod, or remove it by force.

How to fix: allow one unavailable pod, or run one more replica.

Example: `minAvailable: 2` next to a Deployment of 2 replicas.

Sources: policy/v1 (status.desiredHealthy, expectedPods, disruptionsAllowed); Kubernetes' documentation of disruptions. A budget that only blocks
while pods start is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Rank, Resource, Rule, Symptom
from argolint.edits import manifest_patch
from argolint.values import dig, integer, mapping, number_at


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether there is a budget: Argo CD calls a blocking one Healthy."""
    return any(app.of_kind("PodDisruptionBudget", "policy"))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each budget."""
    for budget in app.of_kind("PodDisruptionBudget", "policy"):
        if not budget.mentions('"expectedPods"', "live"):
            continue
        status = mapping(budget.live, "status")
        expected, demanded = number_at(status, "expectedPods"), number_at(status, "desiredHealthy")
        if expected > 0 and demanded >= expected and not status.get("disruptionsAllowed"):
            yield _finding(app, budget, expected, demanded)


def _finding(app: App, budget: Resource, expected: int, demanded: int) -> Finding:
    spec = mapping(budget.live, "spec")
    field = "maxUnavailable" if "maxUnavailable" in spec else "minAvailable"
    pods = f"all {expected} pods" if expected > 1 else "the only pod"
    return Finding(
        message=f"{budget.id} ({field} {spec.get(field)}) demands {pods} to stay, so no node that runs one can be drained.",
        at=Location(app.ref, budget.id, f"/spec/{field}"),
        evidence=(f"status: expectedPods {expected}, desiredHealthy {demanded}, disruptionsAllowed 0",),
        fixes=tuple(_fixes(budget, field, expected)),
        explains=(Symptom.health(budget.id),),
    )


def _fixes(budget: Resource, field: str, expected: int) -> Iterator[Fix]:
    if field in mapping(budget.desired, "spec"):
        edit: list[Json] = [{"op": "replace", "path": "/spec/maxUnavailable", "value": 1}]
        if field == "minAvailable":
            edit = [
                {"op": "remove", "path": "/spec/minAvailable"},
                {"op": "add", "path": "/spec/maxUnavailable", "value": 1},
            ]
        yield manifest_patch(
            budget.id,
            "Allow one pod to be away",
            edit,
            "a drain then takes the only pod away for a moment" if expected == 1 else "one pod fewer during a drain",
        )
    enough = _enough_pods(dig(budget.live, "spec", "minAvailable"), expected)
    if enough:
        yield Fix(
            f"Or run {enough} replicas",
            "manifest",
            f"the workload that {budget.id} selects",
            Edit("yaml", f"spec:\n  replicas: {enough}"),
        )


def _enough_pods(demanded: Json, expected: int) -> int:
    """The least number of pods, above the present one, with which `minAvailable` permits one disruption; 0 if no number helps.

    A percentage is rounded up (policy/v1). With maxUnavailable the zero itself blocks, for any number of pods.
    """
    if isinstance(demanded, int):
        return max(demanded, expected) + 1
    share = integer(str(demanded or "").removesuffix("%"))
    if share is None or not 0 <= share < 100:
        return 0
    return next(n for n in range(expected + 1, expected + 102) if ceil(share * n / 100) < n)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, rank=Rank.CAUSE)
