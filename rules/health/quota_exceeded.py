"""A ResourceQuota with too little room for what a sync brings

What it finds: a Deployment or StatefulSet whose pods will be more, or ask for more, than a ResourceQuota of the namespace has left; `cause` is `pods`. A Service or claim that
the quota has no room for; `cause` is `objects`. A quota that a sync lowers below what is used, or so far that a Deployment has no room for its next update; `cause` is `lowered`.

Why it hurts: the API server refuses each pod beyond the quota, so the rollout stops with fewer pods, and only an Event of the ReplicaSet says why. A Service or claim
beyond it fails the sync.

How to fix: raise the quota, or ask for less.

Example: `replicas: 20` in a namespace with `pods: 10`.

What is used is what the live quota says, and what other applications of the same change bring. A Deployment that adds a pod before an earlier one ends needs room
for one more during its update, too. Of a quota that is not live yet, only the pods and objects of this application count. Not reported: quotas with scopes, and pods of Jobs
and DaemonSets. Services and claims that the same sync prunes make room, since a sync prunes first.

Sources: k8s.io/kubernetes pkg/quota/v1/evaluator/core (pods.go, services.go, persistent_volume_claims.go); kubernetes.io, Resource Quotas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import NamedTuple

from argolint import Afterwards, App, AppRef, Finding, Fix, Fleet, Location, Object, Rank, Related, Resource, Rule, Want
from argolint.edits import manifest_patch, manifest_text
from argolint.values import below, dig, enumerated, join_pointer, mapping, text_at
from argolint.values.kubernetes import pod_spec
from argolint.values.quantities import countable

from ..shared.peers import after_sync, peer_wants, peers
from ._limits import admitted, bounding, states_of, total
from ._replicas import SCALED, in_update, pods_of
from ._rolling import room_fix

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_OBJECTS = (("", "Service"), ("", "PersistentVolumeClaim"))
_Amounts = Mapping[str, Decimal]


class _Excess(NamedTuple):
    """A quota that is not enough: the resource that it counts, what is wanted in all, and what it has."""

    quota: Resource
    name: str
    wanted: Decimal
    hard: Decimal
    updating: bool = False
    """Only until the update is over."""

    @property
    def says(self) -> str:
        return f"{self.name} would be {_shown(self.name, self.wanted)} of {_shown(self.name, self.hard)}"


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The quotas and ranges of other applications where a sync brings pods or objects that count; their Deployments where it lowers a quota."""
    coming = {r.namespace for r in _coming(app)}
    if coming:
        kinds = (("", "ResourceQuota"), ("", "LimitRange"))
        yield from peer_wants(app, fleet, kinds, lambda key: key.namespace in coming)
    lowered = {r.namespace for r in _coming(app) if r.kind == "ResourceQuota" and any(_lowered(r))}
    if lowered:
        yield from peer_wants(app, fleet, SCALED[:1], lambda key: key.namespace in lowered, most=20)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding for each object that a sync brings, and for each quota that it lowers."""
    for namespace in sorted({r.namespace for r in _coming(app)}):
        bounds = tuple(bounding(app, fleet, namespace))
        if quotas := [one for one in bounds if one.kind == "ResourceQuota" and not one.requires_pruning]:
            yield from _in_namespace(app, fleet, namespace, bounds, quotas)


def _coming(app: App) -> tuple[Resource, ...]:
    return tuple(
        r
        for r in app.resources
        if r.status == "OutOfSync"
        and r.namespace
        and ((r.group, r.kind) in (*SCALED, *_OBJECTS, ("", "ResourceQuota")))
    )


def _in_namespace(
    app: App, fleet: Fleet, namespace: str, bounds: Sequence[Resource], quotas: Sequence[Resource]
) -> Iterator[Finding]:
    coming = [r for r in _coming(app) if r.namespace == namespace]
    ranges = states_of(bounds, "LimitRange", live=False)
    workloads = [r for r in app.resources if (r.group, r.kind) in SCALED and r.namespace == namespace]
    needed = _sum(_needed(app, r, ranges) for r in workloads)
    growths = {r.key: _growth(app, r, ranges) for r in workloads}
    others = tuple(_others(app, fleet, namespace))
    more = _sum((*growths.values(), *(_growth(*other, ranges) for other in others)))
    updates = {r.key: _during_update(app, r, ranges) for r in workloads}
    peak = _greatest((*updates.values(), *(_during_update(*other, ranges) for other in others)))
    found = [excess for quota in quotas for excess in _excesses(quota, needed, more)]
    lasting = {(e.quota.key, e.name) for e in found}
    most = {(e.quota.key, e.name): e.wanted for quota in quotas for e in _excesses(quota, needed, _sum((more, peak)))}
    growing = [r for r in coming if (r.group, r.kind) in SCALED and not r.requires_pruning]
    for resource in growing:
        one = _amounts(resource.desired, 1, ranges) if resource.desired else {}
        extra = updates[resource.key]
        mine = [
            excess._replace(
                updating=(key := (excess.quota.key, excess.name)) not in lasting, wanted=most.get(key, excess.wanted)
            )
            for quota in quotas
            for excess in _excesses(quota, needed, _sum((more, extra)))
            if max(growths[resource.key].get(_counted(excess.name), 0), extra.get(_counted(excess.name), 0)) > 0
            and one.get(_counted(excess.name), 0) <= excess.hard
        ]  # a pod that is larger than the quota is `pod-limits-refused`'s
        if mine:
            yield _finding_of_pods(app, resource, [e for e in mine if e.quota.key == mine[0].quota.key])
    grown = {name for r in growing for name, amount in growths[r.key].items() if amount > 0}
    for quota in quotas:
        low = [e for e in found if e.quota.key == quota.key and _counted(e.name) not in grown]
        if quota.status == "OutOfSync" and app.resource(quota.key) is not None:
            if low:
                yield _finding_of_quota(app, quota, low[0])
            elif stops := next(_stopping(app, fleet, quota, ranges, grown), None):
                yield _finding_of_quota(app, quota, *stops)
        yield from _of_objects(app, quota, coming)


def _lowered(quota: Resource) -> Iterator[str]:
    """The resources of which a sync leaves the quota less."""
    before, after = (mapping(obj, "spec", "hard") for obj in (quota.live, after_sync(quota)))
    for name in after:
        now, then = countable(before.get(name)), countable(after[name])
        if now is not None and then is not None and then < now:
            yield name


def _stopping(
    app: App, fleet: Fleet, quota: Resource, ranges: Sequence[Object], grown: Set[str]
) -> Iterator[tuple[_Excess, Resource, AppRef]]:
    """Deployments whose updates add a pod first, for which a lowered quota has no room."""
    known = [(app.ref, r) for r in app.of_kind("Deployment", "apps")]
    deployments = [(ref, r) for ref, r in (*known, *peers(app, fleet, "Deployment")) if r.namespace == quota.namespace]
    for name in _lowered(quota):
        used, counted = countable(mapping(quota.live, "status", "used").get(name)), _counted(name)
        hard = countable(dig(after_sync(quota), "spec", "hard", name))
        for ref, workload in deployments if used is not None and hard is not None and counted not in grown else ():
            held, ahead = dig(workload.live, "spec", "replicas"), after_sync(workload)
            if not ahead or not isinstance(held, int) or held < 1 or in_update(ahead, held).away:
                continue
            one = _amounts(ahead, 1, ranges).get(counted, Decimal())
            if used is not None and hard is not None and 0 < one <= hard < used + one:
                yield _Excess(quota, name, used + one, hard, updating=True), workload, ref


def _others(app: App, fleet: Fleet, namespace: str) -> Iterator[tuple[App, Resource]]:
    """The workloads of other applications that a change in the gate edits as well."""
    for other in fleet.on_cluster(app.cluster):
        for r in other.resources if other.read and other.ref != app.ref else ():
            if (r.group, r.kind) in SCALED and r.namespace == namespace and r.status == "OutOfSync" and r.desired_known:
                yield other, r


def _greatest(amounts: Iterable[_Amounts]) -> _Amounts:
    found: dict[str, Decimal] = {}
    for each in amounts:
        for name, amount in each.items():
            found[name] = max(found.get(name, Decimal()), amount)
    return found


def _during_update(app: App, workload: Resource, ranges: Sequence[Object]) -> _Amounts:
    """What the earlier pods of a Deployment take that stay until all new ones are ready."""
    pods, held = pods_of(app, workload), dig(workload.live, "spec", "replicas")
    differs = any(below(c.pointer, "/spec/template") for c in (*workload.pending, *workload.changes))
    if workload.kind != "Deployment" or not differs or pods is None or not isinstance(held, int) or not workload.live:
        return {}
    update = in_update(after_sync(workload), pods.least)
    return _amounts(workload.live, min(update.more, held), ranges) if update.away == 0 else {}


def _sum(amounts: Iterable[_Amounts]) -> _Amounts:
    found: dict[str, Decimal] = {}
    for each in amounts:
        for name, amount in each.items():
            found[name] = found.get(name, Decimal()) + amount
    return found


def _excesses(quota: Resource, needed: _Amounts, more: _Amounts) -> Iterator[_Excess]:
    """What the pods of the namespace will need beyond the quota, and today do not: all that the application's need, or what is used and `more`."""
    after = after_sync(quota)
    if not after or dig(after, "spec", "scopes") or dig(after, "spec", "scopeSelector"):
        return
    used = mapping(quota.live, "status", "used")
    for name, value in mapping(after, "spec", "hard").items():
        hard, counted = countable(value), _counted(name)
        if hard is None or not counted:
            continue
        has = countable(used.get(name))
        wanted = needed.get(counted, Decimal()) if has is None else has + more.get(counted, Decimal())
        if wanted > hard and not (
            has is not None
            and has > hard
            and wanted <= has
            and countable(mapping(quota.live, "spec", "hard").get(name)) == hard
        ):
            yield _Excess(quota, name, wanted, hard)


def _counted(name: str) -> str:
    """What a quota counts of pods: `pods`, or an amount with its side; empty for another resource."""
    if name in ("pods", "count/pods"):
        return "pods"
    bare = f"requests.{name}" if name in _COMPUTE else name
    side, _, what = bare.partition(".")
    return bare if side in ("requests", "limits") and what in _COMPUTE else ""


def _needed(app: App, workload: Resource, ranges: Sequence[Object]) -> _Amounts:
    """What the pods of a workload need after the sync."""
    pods = pods_of(app, workload)
    obj = after_sync(workload)
    if pods is None or not obj:
        return {}
    held = dig(workload.live, "spec", "replicas")
    count = max(pods.least, min(pods.most, held)) if isinstance(held, int) else pods.least
    return _amounts(obj, count, ranges)


def _growth(app: App, workload: Resource, ranges: Sequence[Object]) -> _Amounts:
    """What they need more than today."""
    after = _needed(app, workload, ranges)
    held = dig(workload.live, "spec", "replicas")
    before = _amounts(workload.live, held if isinstance(held, int) else 1, ranges) if workload.live else {}
    return {name: after.get(name, Decimal()) - before.get(name, Decimal()) for name in {*after, *before}}


def _amounts(obj: Object, count: int, ranges: Sequence[Object]) -> _Amounts:
    """What that many pods of a workload take."""
    containers = admitted(pod_spec(obj)[1], ranges)
    found = {"pods": Decimal(count)}
    for side in ("requests", "limits"):
        for what, value in total(containers, side).items():
            if (amount := countable(value)) is not None and 0 <= count <= _MOST_PODS:
                found[f"{side}.{what}"] = amount * count
    return found


_MOST_PODS = 10**6


def _of_objects(app: App, quota: Resource, coming: Sequence[Resource]) -> Iterator[Finding]:
    """A finding for the first Service or claim that asks for more than the quota has room for."""
    after = after_sync(quota)
    hard, used = mapping(after, "spec", "hard"), mapping(quota.live, "status", "used")
    if not after or dig(after, "spec", "scopes") or dig(after, "spec", "scopeSelector"):
        return
    asking = sorted(
        (r for r in coming if (r.group, r.kind) in _OBJECTS and not r.requires_pruning), key=lambda r: r.key
    )
    taken: dict[str, Decimal] = {}
    for leaving in (r for r in coming if (r.group, r.kind) in _OBJECTS and r.requires_pruning and r.live):
        for name, amount in _object_amounts(leaving.live).items():
            taken[name] = taken.get(name, Decimal()) - amount
    for resource in asking:
        today = _object_amounts(resource.live) if resource.live else {}
        for name, asked in _object_amounts(resource.desired).items():
            limit, has = countable(hard.get(name)), countable(used.get(name)) or Decimal()
            if (amount := asked - today.get(name, Decimal())) <= 0:
                continue
            taken[name] = taken.get(name, Decimal()) + amount
            if limit is not None and has + taken[name] > limit:
                yield _finding_of_object(app, resource, _Excess(quota, name, has + taken[name], limit))
                return


def _object_amounts(obj: Object | None) -> _Amounts:
    """What a Service or a claim counts in quotas."""
    if text_at(obj, "kind") == "PersistentVolumeClaim":
        size = countable(dig(obj, "spec", "resources", "requests", "storage")) or Decimal()
        return {
            "persistentvolumeclaims": Decimal(1),
            "count/persistentvolumeclaims": Decimal(1),
            "requests.storage": size,
        }
    found = {"services": Decimal(1), "count/services": Decimal(1)}
    if text_at(obj, "spec", "type") == "LoadBalancer":
        found["services.loadbalancers"] = Decimal(1)
    return found


def _shown(name: str, value: Decimal) -> str:
    """An amount in the units of its kind."""
    if name.endswith("cpu") and 0 < value < 1:
        return f"{(value * 1000).normalize():f}m"
    if name.endswith(("memory", "storage")) and value >= _MEBI:
        unit, size = ("Gi", _MEBI * 1024) if value >= _MEBI * 1024 else ("Mi", _MEBI)
        return f"{(value / size).quantize(Decimal('0.01')).normalize():f}{unit}"
    return f"{value.normalize():f}"


_MEBI = Decimal(1024 * 1024)


def _finding_of_pods(app: App, resource: Resource, found: Sequence[_Excess]) -> Finding:
    """`found`: what one quota has too little of, what lasts first."""
    found = sorted(found, key=lambda excess: excess.updating)
    excess, says = found[0], enumerated([one.says for one in found], limit=3)
    is_amount = _counted(excess.name) != "pods"
    at = "/spec/replicas" if dig(resource.desired, "spec", "replicas") is not None else ""
    refuses = f"{excess.quota.id} will refuse pods of {resource.id}: {says}."
    if excess.updating:
        refuses = (
            f"{excess.quota.id} has no room for the update of {resource.id}, which adds a pod first: {excess.says}."
        )
    room = room_fix(resource) if excess.updating else None
    return Finding(
        message=refuses,
        at=Location(app.ref, resource.id, at),
        cause="pods",
        confidence="likely",
        evidence=tuple(line for one in found for line in _evidence(one)),
        related=_related(app, excess.quota),
        fixes=(
            _quota_fix(app, found),
            *([room] if room else []),
            manifest_text(resource.id, "Or request less" if is_amount else "Or run fewer pods", f"{says}\n"),
        ),
    )


def _finding_of_quota(
    app: App, quota: Resource, excess: _Excess, workload: Resource | None = None, owner: AppRef | None = None
) -> Finding:
    """`workload`: the Deployment of `owner` that has no room for its update only."""
    has, hard = (_shown(excess.name, amount) for amount in (excess.wanted, excess.hard))
    says = f"{hard} of {excess.name} where {has} are used, so no new pod starts"
    if workload is not None:
        says = f"{hard} of {excess.name}, and the next update of {workload.id} needs {has}, since it adds a pod first"
    before = dig(quota.live, "spec", "hard", excess.name)
    enough = countable(before)
    fixes = [_quota_fix(app, [excess])]
    if enough is not None and enough > excess.hard and quota.desired:
        at = f"/spec/hard{join_pointer(excess.name)}"
        steps = [{"op": "replace", "path": at, "value": before}]
        fixes = [manifest_patch(quota.id, f"Leave {excess.name} at {str(before)[:40]}", steps)]
    return Finding(
        message=f"{quota.id} will have {says}.",
        at=Location(app.ref, quota.id, f"/spec/hard{join_pointer(excess.name)}"),
        cause="lowered",
        severity="warning",
        confidence="likely",
        evidence=tuple(_evidence(excess)),
        related=(Related(owner, workload.id, role="dependent"),) if workload is not None and owner else (),
        fixes=tuple(fixes),
    )


def _finding_of_object(app: App, resource: Resource, excess: _Excess) -> Finding:
    return Finding(
        message=f"The next sync fails at {resource.id}: {excess.quota.id} has no room, {excess.says}.",
        at=Location(app.ref, resource.id),
        cause="objects",
        confidence="likely",
        evidence=tuple(_evidence(excess)),
        related=_related(app, excess.quota),
        fixes=(_quota_fix(app, [excess]),),
    )


def _evidence(excess: _Excess) -> Iterator[str]:
    used = mapping(excess.quota.live, "status", "used").get(excess.name)
    if isinstance(used, str | int):
        yield f"the live {excess.quota.id} counts {excess.name}: {str(used)[:40]} today"


def _related(app: App, quota: Resource) -> tuple[Related, ...]:
    return (Related(app.ref, quota.id, "/spec/hard", "cause"),) if app.resource(quota.key) else ()


def _quota_fix(app: App, found: Sequence[_Excess]) -> Fix:
    quota = found[0].quota
    title = f"Raise {enumerated([one.name for one in found])} of {quota.kind} {quota.name}"
    caveat = "the nodes need room for it, too" if any(_counted(one.name) for one in found) else ""
    needs = {f"/spec/hard{join_pointer(one.name)}": one for one in found}
    if app.resource(quota.key) is None or not quota.desired:
        text = "".join(f"{at}: {_shown(one.name, one.wanted)}\n" for at, one in needs.items())
        return manifest_text(quota.id, title, text, caveat)
    steps = [{"op": "replace", "path": at, "value": _exactly(one)} for at, one in needs.items()]
    return manifest_patch(quota.id, title, steps, caveat)


def _exactly(excess: _Excess) -> str:
    """The wanted amount, rounded nowhere."""
    shown = _shown(excess.name, excess.wanted)
    return shown if countable(shown) == excess.wanted else f"{excess.wanted.normalize():f}"


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """Whether the quota has room after the edit."""
    key = finding.at.resource.key if finding.at.resource else None
    left = [found for found in check(after, fleet, None) if found.at.resource and found.at.resource.key == key]
    return Afterwards(refused=left[0].message) if left else Afterwards(refused="")


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("pods", "objects", "lowered"),
    rank=Rank.CAUSE,
)
