"""A LimitRange or ResourceQuota of the namespace refuses the pods

What it finds: a workload that a sync brings or changes, or a LimitRange or ResourceQuota that a sync brings, by which the API server will refuse the pods: a container
above or below the range, a limit too far above its request, a request above the limit that the range writes, amounts that a quota demands and a container
lacks, a pod larger than the whole quota. `cause` is `limit-range` or `quota`.

Why it hurts: the API server takes the Deployment and refuses its pods, so the sync succeeds and nothing new runs. The message is an Event of the
ReplicaSet alone.

How to fix: give the containers amounts that are within the range, or widen it. Where a quota counts, a LimitRange with defaults saves each container from naming its amounts.

Example: a quota on `limits.memory`, and a new sidecar without a limit.

The ranges and quotas are those of the application and of other applications in the namespace. Defaults of a LimitRange count. Not reported: pods that are refused today,
which `unhealthy` explains; what is used up already, which only the cluster knows; quotas with scopes; pods with `spec.resources`.

Sources: k8s.io/kubernetes plugin/pkg/admission/limitranger, pkg/quota/v1/evaluator/core/pods.go; kubernetes.io, Limit Ranges, Resource Quotas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import (
    Afterwards,
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Want,
)
from argolint.edits import manifest_patch, manifest_text, set_fields
from argolint.redaction import excerpt
from argolint.values import get
from argolint.values.kubernetes import pod_spec

from ..shared.peers import peer_wants, peers
from ._limits import BOUNDS as _KINDS
from ._limits import Refusal, bounding, refusals, states_of

_WORKLOADS = (("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("batch", "CronJob"))
_MOST = 50
"""Most workloads of other applications that are read for the ranges and quotas of one."""


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The ranges and quotas of other applications where a sync brings pods, and their workloads where it brings a range or quota."""
    coming = [r for r in app.resources if r.status == "OutOfSync" and not r.requires_pruning]
    hooks = (r for r in app.resources if r.hook)
    with_pods = {r.namespace for r in (*coming, *hooks) if r.may_have_pods("desired")}
    bounded = {r.namespace for r in coming if r.kind in _KINDS and r.group == ""}
    yield from peer_wants(app, fleet, [("", kind) for kind in _KINDS], lambda key: key.namespace in with_pods)
    if bounded:
        yield from peer_wants(app, fleet, _WORKLOADS, lambda key: key.namespace in bounded, _MOST)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload whose next pods are refused."""
    by_namespace: dict[str, tuple[Resource, ...]] = {}
    for resource in app.with_pods("desired"):
        if resource.requires_pruning:
            continue
        namespace = resource.namespace
        if namespace not in by_namespace:
            by_namespace[namespace] = tuple(bounding(app, fleet, namespace))
        bounds = by_namespace[namespace]
        if bounds and (found := _coming(resource, bounds)):
            yield _finding(app, resource, bounds, found)
    for namespace in {r.namespace for kind in _KINDS for r in app.of_kind(kind, "") if r.status == "OutOfSync"}:
        yield from _finding_of_others(app, fleet, namespace, tuple(bounding(app, fleet, namespace)))


def _finding_of_others(app: App, fleet: Fleet, namespace: str, bounds: Sequence[Resource]) -> Iterator[Finding]:
    """A finding for the workloads of other applications that the application's ranges and quotas will refuse."""
    found = (
        (peer.id, refusals[0])
        for _, peer in peers(app, fleet, *(kind for _, kind in _WORKLOADS))
        if peer.namespace == namespace and (refusals := _coming(peer, bounds))
    )
    refused = sorted(found, key=lambda pair: pair[0])
    if refused:
        (id_, refusal), *others = refused
        bound = next(r for r in bounds if r.kind == refusal.by)
        own = bound if app.resource(bound.key) is not None else bounds[0]
        more = f" and {len(others)} more" if others else ""
        yield Finding(
            message=f"{bound.id} will refuse new pods of {id_}{more}: {excerpt(refusal.says, 90)}.",
            at=Location(app.ref, own.id),
            cause=_cause(refusal),
            confidence="likely",
            evidence=tuple(f"{one}: {excerpt(why.says, 200)}" for one, why in refused[:8]),
            fixes=(_bound_fix([bound], refusal),),
        )


def _cause(refusal: Refusal) -> str:
    return "limit-range" if refusal.by == "LimitRange" else "quota"


def _coming(resource: Resource, bounds: Sequence[Resource]) -> tuple[Refusal, ...]:
    """What is refused after a sync, and was not before; nothing for pods that no sync changes."""
    after = _refused(resource.desired, bounds, live=False)
    if not after:
        return ()
    known = {refusal.mark for refusal in _refused(resource.live, bounds, live=True)}
    return tuple(refusal for refusal in after if refusal.mark not in known)


def _refused(obj: Object | None, bounds: Sequence[Resource], *, live: bool) -> tuple[Refusal, ...]:
    spec = pod_spec(obj)[1]
    return (
        refusals(spec, states_of(bounds, "LimitRange", live=live), states_of(bounds, "ResourceQuota", live=live))
        if spec
        else ()
    )


def _finding(app: App, resource: Resource, bounds: Sequence[Resource], found: tuple[Refusal, ...]) -> Finding:
    base, first = pod_spec(resource.desired)[0], found[0]
    what = resource.id if resource.kind == "Pod" else f"new pods of {resource.id}"
    return Finding(
        message=f"Namespace {resource.namespace} will refuse {what}: {excerpt(first.says, 90)}.",
        at=Location(app.ref, resource.id, _existing(resource.desired, base + first.pointer)),
        cause=_cause(first),
        confidence="likely",
        evidence=tuple(f"{refusal.by}: {excerpt(refusal.says, 200)}" for refusal in found[:8]),
        related=tuple(
            Related(app.ref, one.id, role="cause") for one in bounds if one.kind == first.by and app.resource(one.key)
        ),
        fixes=tuple(_fixes(resource, bounds, base, found)),
    )


def _existing(obj: Object | None, pointer: str) -> str:
    """The pointer, or its nearest parent that the object has."""
    while pointer and get(obj, pointer, None) is None:
        pointer = pointer.rpartition("/")[0]
    return pointer


def _fixes(resource: Resource, bounds: Sequence[Resource], base: str, found: tuple[Refusal, ...]) -> Iterator[Fix]:
    if steps := set_fields(resource.desired, {base + one.pointer: one.wants for one in found}):
        title = "Set amounts that the namespace allows"
        yield manifest_patch(resource.id, title, steps, "a container that needs more may be ended or slowed down then")
    elif lacking := [one for one in found if one.says.startswith("failed quota")]:
        text = "".join(f"{base}{one.pointer}: {one.says.removeprefix('failed quota: ')}\n" for one in lacking)
        yield manifest_text(resource.id, "Set the amounts that the quota counts", text)
    yield _bound_fix([one for one in bounds if one.kind == found[0].by], found[0])


def _bound_fix(bounds: Sequence[Resource], refusal: Refusal) -> Fix:
    names = ", ".join(str(one.id) for one in bounds[:3])
    if refusal.by == "LimitRange":
        widen = "Or widen the range"
    else:
        lacking = refusal.says.startswith("failed quota")
        widen = "Or add a LimitRange with defaults, or a larger quota" if lacking else "Or enlarge the quota"
    edit = Edit("text", f"{names}: {refusal.says}\n")
    return Fix(widen, "manifest", names, edit, "it applies to every pod of the namespace")


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """What the range and the quota say of the pods after the edit."""
    resource = after.held(finding.at.resource)
    if resource is None or not resource.desired:
        return None
    left = _refused(resource.desired, tuple(bounding(after, fleet, resource.namespace)), live=False)
    if left:
        return Afterwards(refused=f"the namespace would refuse the pods all the same: {left[0].says}")
    return Afterwards(live={resource.key: resource.live} if resource.live else {})


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("limit-range", "quota"),
    rank=Rank.ROOT,
)
