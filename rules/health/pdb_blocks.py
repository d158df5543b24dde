"""A PodDisruptionBudget that allows no disruption

What it finds: a budget that never permits an eviction, even if all pods are ready: it demands as many pods as there are, or `maxUnavailable` is
0. Also two budgets that select the same pods, of which the API server evicts none, and a budget that a sync brings or changes, or whose workloads get another number of pods.

Why it hurts: nodes cannot be drained. Cluster upgrades, node rotation and autoscalers hang at that pod, or remove it by force.

How to fix: allow one unavailable pod, or run one more replica.

Example: `minAvailable: 2` next to a Deployment of 2 replicas.

Sources: policy/v1 (status.desiredHealthy, expectedPods, disruptionsAllowed); Kubernetes' documentation of disruptions. A budget that only blocks
while pods start is not reported. Before the sync, a budget counts only if all that it may select is known, and each of it is a Deployment or StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from argolint import (
    App,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import manifest_patch, manifest_text, manifest_yaml
from argolint.edits.advice import advice
from argolint.relations.judged import newer_script
from argolint.values import dig, integer, mapping, number_at

from ..shared.labels import label_selector
from ._replicas import Pods, pods_of
from ._selecting import Selecting, are_candidates_known, selected_members, selecting_objects
from ._surroundings import peer_wants, within_request_limit


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether there is a budget: Argo CD calls a blocking one Healthy."""
    return any(app.of_kind("PodDisruptionBudget", "policy"))


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The other workloads of the namespace of a budget that will demand all pods of this application's workloads."""
    for one in _budgets(app):
        if _demand(app, one) is not None:
            yield from within_request_limit(peer_wants(app, fleet, one.resource.namespace, "pods"))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each budget."""
    coming = {one.resource.key: one for one in _budgets(app)}
    for budget in app.of_kind("PodDisruptionBudget", "policy"):
        one = coming.get(budget.key)
        if one is not None and (_selects_as_workload(app, one) or are_candidates_known(app, fleet, one)):
            if (demand := _demand(app, one)) is not None:
                yield _foreseen(app, budget, *demand)
        elif budget.mentions('"expectedPods"', "live"):
            status = mapping(budget.live, "status")
            expected, demanded = number_at(status, "expectedPods"), number_at(status, "desiredHealthy")
            if expected > 0 and demanded >= expected and not status.get("disruptionsAllowed"):
                yield _finding(app, fleet, budget, expected, demanded)

    yield from _overlaps(app)


def _overlaps(app: App) -> Iterator[Finding]:
    """Two budgets for the pods of one workload: the API server evicts no pod that has more than one (pkg/registry/core/pod/storage/eviction.go; 1.36.3, tried)."""
    first: dict[ResourceId, Resource] = {}
    for one in selecting_objects(app):
        budget = one.resource
        if (budget.group, budget.kind) != ("policy", "PodDisruptionBudget") or budget.requires_pruning:
            continue
        workload = next((m for m in selected_members(app, one) if first.setdefault(m.id, budget) is not budget), None)
        if workload is None:
            continue
        other = first[workload.id]
        text = f"remove {budget.id} or {other.id} from Git, or narrow the selector of one of them"
        yield Finding(
            message=f"{other.id} and {budget.id} both select the pods of {workload.id}, and no pod with two budgets can be evicted.",
            at=Location(app.ref, budget.id, "/spec/selector"),
            confidence="likely",
            related=(Related(app.ref, other.id, "/spec/selector", "other"),),
            fixes=(manifest_text(budget.id, "Keep one budget for these pods", text),),
        )


def _budgets(app: App) -> Iterator[Selecting]:
    """The budgets that a sync brings or changes, or whose workloads it does."""
    for one in selecting_objects(app):
        if (one.resource.group, one.resource.kind) == ("policy", "PodDisruptionBudget") and one.resource.desired:
            changing = [one.resource, *(app.resource(member.id.key) for member in selected_members(app, one))]
            if any(r is not None and r.status == "OutOfSync" for r in changing):
                yield one


def _selects_as_workload(app: App, one: Selecting) -> bool:
    """Whether it selects by the labels of the only workload of this application that it selects: no other pods may have these."""
    found = list(_workloads(app, one))
    if len(found) != 1 or found[0] is None or app.resource(found[0].key) is None:
        return False
    return label_selector(dig(found[0].desired, "spec", "selector")) == one.selector


def _demand(app: App, one: Selecting) -> tuple[Pods, tuple[Resource, ...]] | None:
    """The pods of the workloads that it selects, and these, if it will let none of the pods go."""
    found = tuple(_workloads(app, one))
    counts = [pods_of(app, workload) if workload is not None else None for workload in found]
    known = [count for count in counts if count is not None]
    if not found or len(known) < len(found):
        return None
    pods = Pods(sum(count.least for count in known), sum(count.most for count in known))
    workloads = tuple(workload for workload in found if workload is not None)
    return (pods, workloads) if pods.most and _blocks(mapping(one.resource.desired, "spec"), pods.most) else None


def _workloads(app: App, one: Selecting) -> Iterator[Resource | None]:
    """The selected workloads after the sync; None for one whose state is not known."""
    read = {found.key: found for _, found in app.peers()}
    for member in selected_members(app, one):
        found = app.resource(member.id.key) or read.get(member.id.key)
        if found is None or not found.requires_pruning:
            yield found


def _blocks(spec: Object, pods: int) -> bool:
    """Whether a budget demands all of these pods (policy/v1; percentages are rounded up)."""
    if "maxUnavailable" in spec:
        return spec["maxUnavailable"] in (0, "0", "0%")
    least = spec.get("minAvailable")
    if isinstance(least, int):
        return least >= pods
    share = integer(str(least or "").removesuffix("%"))
    return share is not None and 0 < share <= 100 and ceil(share * pods / 100) >= pods


def _foreseen(app: App, budget: Resource, counts: Pods, workloads: tuple[Resource, ...]) -> Finding:
    pods, is_fixed = counts.most, counts.least == counts.most
    spec = mapping(budget.desired, "spec")
    field = "maxUnavailable" if "maxUnavailable" in spec else "minAvailable"
    all_pods = f"all {pods} pods" if pods > 1 else "the only pod"
    names = f"{workloads[0].kind} {workloads[0].name}" + (f" and {len(workloads) - 1} more" if workloads[1:] else "")
    return Finding(
        message=f"{budget.id} ({field} {spec.get(field)}) will demand {all_pods} of {names} to stay, so no node that runs one can be drained.",
        at=Location(app.ref, budget.id, f"/spec/{field}"),
        confidence="likely",
        related=tuple(
            Related(app.ref, one.id, "/spec/replicas", "other") for one in workloads[:3] if app.resource(one.key)
        ),
        fixes=tuple(_fixes(budget, field, pods, spec if is_fixed else {})),
    )


def _finding(app: App, fleet: Fleet, budget: Resource, expected: int, demanded: int) -> Finding:
    spec = mapping(budget.live, "spec")
    field = "maxUnavailable" if "maxUnavailable" in spec else "minAvailable"
    pods = f"all {expected} pods" if expected > 1 else "the only pod"
    limit = f"{field} {spec.get(field)}"
    ready = number_at(budget.live, "status", "currentHealthy") >= expected
    ill = ready and budget.health.status == "Degraded" and _HAS_NONE in budget.health.message
    newer = newer_script(fleet, *_BUDGET)
    who = f"{budget.id} is Degraded as it ({limit})" if ill else f"{budget.id} ({limit})"
    return Finding(
        message=f"{who} demands {pods} to stay, so no node that runs one can be drained.",
        at=Location(app.ref, budget.id, f"/spec/{field}"),
        evidence=(f"status: expectedPods {expected}, desiredHealthy {demanded}, disruptionsAllowed 0",),
        fixes=(
            *(advice(__package__, "pdb-blocks/degraded", {"newer": newer}) if ill and newer else ()),
            *_fixes(budget, field, expected, spec),
        ),
        explains=(Symptom.health(budget.id),),
    )


_BUDGET = ("policy", "PodDisruptionBudget")
_HAS_NONE = "InsufficientPods"
"""The reason that Argo CD 2.13.0 alone takes for a fault (resource_customizations/policy/PodDisruptionBudget)."""


def _fixes(budget: Resource, field: str, expected: int, spec: Object) -> Iterator[Fix]:
    """The edit of the budget, and the number of pods that its `spec` would permit to go; an empty one asks for no number."""
    if field in mapping(budget.desired, "spec"):
        edit: list[Json] = [{"op": "replace", "path": "/spec/maxUnavailable", "value": 1}]
        if field == "minAvailable":
            edit = [
                {"op": "remove", "path": "/spec/minAvailable"},
                {"op": "add", "path": "/spec/maxUnavailable", "value": 1},
            ]
        yield manifest_patch(
            budget.id,
            "Allow one pod to be unavailable",
            edit,
            "a drain then stops the only pod for a moment" if expected == 1 else "one pod fewer during a drain",
        )
    enough = _enough_pods(spec.get("minAvailable"), expected)
    if enough:
        yield manifest_yaml(
            f"the workload that {budget.id} selects", f"Or run {enough} replicas", f"spec:\n  replicas: {enough}"
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


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, wants=wants, rank=Rank.CAUSE)
