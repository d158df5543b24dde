"""Several pods for a volume that one node, or one pod, may have

What it finds: a Deployment or StatefulSet that a sync brings or changes, whose pods mount one claim with ReadWriteOnce or ReadWriteOncePod, and of which there will be more than
one. With ReadWriteOncePod also a Deployment that starts the new pod before the old one ends. `cause` is `node` or `pod`.

Why it hurts: a ReadWriteOnce volume is attached to one node. A pod that is scheduled to another one waits in ContainerCreating with "Multi-Attach error". With ReadWriteOncePod
the second pod is never scheduled.

How to fix: run one pod with `strategy.type: Recreate`, or use a claim with ReadWriteMany, or a StatefulSet with `volumeClaimTemplates`, of which each pod has its own volume.

Example: a Deployment with a claim of its own is scaled from one to three.

Not reported: pods that a rule of affinity or a node's name brings together, and classes that are known to share (NFS, files of a cloud) or to bind pods to the node of the volume (local
ones).

Sources: kubernetes.io, Persistent Volumes, access modes; k8s.io/kubernetes pkg/scheduler/framework/plugins/volumerestrictions; pkg/controller/volume/attachdetach/reconciler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from argolint import (
    Afterwards,
    App,
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
from argolint.values import dig, get, mapping, maps, text_at, texts
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

from ..shared.peers import after_sync, peer_wants, peers
from ._replicas import SCALED, in_update, pods_of

_ONE_NODE, _ONE_POD = ["ReadWriteOnce"], ["ReadWriteOncePod"]
_SHARES = regex(
    r"(?:^|[-._])(?:nfs|efs|cephfs|smb|azurefile|filestore|longhorn-rwx|local|hostpath|host-path|glusterfs)"
)
"""Names of classes whose volumes several nodes mount, whatever the claim says, or that bind their pods to one node."""


class _Shared(NamedTuple):
    """A claim that too many pods mount, the place that names it, how many there will be, and whether it is one pod's alone."""

    claim: Resource
    pointer: str
    pods: int
    one_pod: bool


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The claims and autoscalers of other applications that a workload of this one names."""
    named = {(r.namespace, name) for r in _coming(app) for name, _ in _claims_of(r.desired)}
    yield from peer_wants(
        app, fleet, [("", "PersistentVolumeClaim")], lambda key: (key.namespace, key.name) in named, most=20
    )


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for workload in _coming(app):
        after = _shared(app, fleet, workload, workload.desired)
        if after is not None and not _was_so(app, workload, after):
            yield _finding(app, workload, after)


def _coming(app: App) -> Iterator[Resource]:
    for resource in app.with_pods("desired"):
        if (
            (resource.group, resource.kind) in SCALED
            and resource.status == "OutOfSync"
            and not resource.requires_pruning
        ):
            yield resource


def _claims_of(obj: Object | None) -> Iterator[tuple[str, str]]:
    """The claims that all pods of a workload mount, each with its place."""
    base, spec = pod_spec(obj)
    for number, volume in enumerate(maps(spec, "volumes")):
        if name := text_at(volume, "persistentVolumeClaim", "claimName"):
            yield name, f"{base}/volumes/{number}/persistentVolumeClaim/claimName"


def _shared(app: App, fleet: Fleet, workload: Resource, obj: Object | None) -> _Shared | None:
    counts = pods_of(app, workload)
    if counts is None or _are_together(pod_spec(obj)[1]):
        return None
    for name, pointer in _claims_of(obj):
        claim = _claim(app, fleet, workload.namespace, name)
        state = after_sync(claim) if claim is not None else None
        if claim is None or state is None or _SHARES.search(_class_of(state)):
            continue
        modes = texts(state, "spec", "accessModes")
        if list(modes) == _ONE_POD and (counts.most > 1 or (counts.most == 1 and _starts_first(workload, obj))):
            return _Shared(claim, pointer, counts.most, one_pod=True)
        if list(modes) == _ONE_NODE and counts.most > 1:
            return _Shared(claim, pointer, counts.most, one_pod=False)
    return None


def _claim(app: App, fleet: Fleet, namespace: str, name: str) -> Resource | None:
    own = app.find("", "PersistentVolumeClaim", namespace, name)
    read = (r for _, r in peers(app, fleet, "PersistentVolumeClaim") if (r.namespace, r.name) == (namespace, name))
    return own or next(read, None)


def _class_of(claim: Object) -> str:
    return text_at(claim, "spec", "storageClassName").lower()


def _are_together(spec: Object) -> bool:
    """Whether something says that the pods run on one node."""
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    chosen = mapping(spec, "nodeSelector")
    return bool(
        spec.get("nodeName")
        or "kubernetes.io/hostname" in chosen
        or maps(spec, "affinity", "podAffinity", field)
        or mapping(spec, "affinity", "nodeAffinity", field)
    )


def _starts_first(workload: Resource, obj: Object | None) -> bool:
    """Whether a rollout of one pod starts the new one before the old one ends."""
    return workload.kind == "Deployment" and in_update(obj, 1).away == 0


def _was_so(app: App, workload: Resource, after: _Shared) -> bool:
    """Whether that many pods, or a rollout in that order, mount the claim today."""
    live = workload.live
    if live is None or after.claim.live is None:
        return False
    names = {name for name, _ in _claims_of(live)}
    count = dig(live, "spec", "replicas")
    many = isinstance(count, int) and count > 1
    return after.claim.name in names and (many or (after.pods == 1 and _starts_first(workload, live)))


def _finding(app: App, workload: Resource, found: _Shared) -> Finding:
    claim = found.claim
    if found.one_pod and found.pods == 1:
        message = f"The next rollout of {workload.id} waits forever: its new pod needs {claim.id} (ReadWriteOncePod) before the old one ends."
    elif found.one_pod:
        message = (
            f"{workload.id} will have {found.pods} pods, and only one of them may mount {claim.id} (ReadWriteOncePod)."
        )
    else:
        message = f"{workload.id} will have {found.pods} pods with {claim.id} (ReadWriteOnce): those on another node than the first do not start."
    return Finding(
        message=message,
        at=Location(app.ref, workload.id, found.pointer),
        cause="pod" if found.one_pod else "node",
        severity=None if found.one_pod else "warning",
        confidence="likely" if found.one_pod else "possible",
        related=(Related(app.ref, claim.id, "/spec/accessModes", "cause"),) if app.resource(claim.key) else (),
        fixes=tuple(_fixes(workload, found)),
    )


def _fixes(workload: Resource, found: _Shared) -> Iterator[Fix]:
    obj = workload.desired
    if workload.kind == "Deployment" and get(obj, "/spec/replicas", None) is not None:
        values: dict[str, object] = {"/spec/replicas": 1, "/spec/strategy": {"type": "Recreate"}}
        steps = set_fields(obj, values)
        yield manifest_patch(
            workload.id,
            "Run one pod, and end it before its successor starts",
            steps,
            "each rollout stops it for a moment",
        )
    text = f"{found.claim.id} with ReadWriteMany, or a StatefulSet with volumeClaimTemplates\n"
    yield manifest_text(found.claim.id, "Or give the pods a volume that they may share, or one each", text)


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """Whether the pods still share a volume that they may not."""
    workload = after.held(finding.at.resource)
    if workload is None or workload.desired is None:
        return None
    left = _shared(after, fleet, workload, workload.desired)
    return Afterwards(refused="too many pods would mount the claim all the same" if left is not None else "")


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("node", "pod"),
    rank=Rank.CAUSE,
)
