"""Several pods for a volume that one node, or one pod, may have: the claim, and what gives each pod a volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from argolint import App, Fix, Fleet, Node, Object, Resource, ResourceId
from argolint.edits import manifest_patch, manifest_text, set_fields
from argolint.values import get, mapping, maps, text_at, texts
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from ..shared.peers import after_sync, peers
from ..shared.pods import Trouble, holders
from ._replicas import in_update, pods_of

_ONE_NODE, _ONE_POD = ["ReadWriteOnce"], ["ReadWriteOncePod"]
_SHARES = regex(
    r"(?:^|[-._])(?:nfs|efs|cephfs|smb|azurefile|filestore|longhorn-rwx|local|hostpath|host-path|glusterfs)"
)
"""Names of classes whose volumes several nodes mount, whatever the claim says, or that bind their pods to one node."""


class SharedClaim(NamedTuple):
    """A claim that too many pods mount, the place that names it, how many there will be, and whether it is one pod's alone."""

    claim: Resource
    pointer: str
    pods: int
    one_pod: bool


def claims_of(obj: Object | None) -> Iterator[tuple[str, str]]:
    """The claims that all pods of a workload mount, each with its place."""
    base, spec = pod_spec(obj)
    for number, volume in enumerate(maps(spec, "volumes")):
        if name := text_at(volume, "persistentVolumeClaim", "claimName"):
            yield name, f"{base}/volumes/{number}/persistentVolumeClaim/claimName"


def shared_claim(app: App, fleet: Fleet, workload: Resource, obj: Object | None) -> SharedClaim | None:
    """The first claim of the workload that its pods cannot share."""
    counts = pods_of(app, workload)
    if counts is None or _are_together(pod_spec(obj)[1]):
        return None
    for name, pointer in claims_of(obj):
        claim = _claim(app, fleet, workload.namespace, name)
        state = after_sync(claim) if claim is not None else None
        if claim is None or state is None or _SHARES.search(_class_of(state)):
            continue
        modes = texts(state, "spec", "accessModes")
        if list(modes) == _ONE_POD and (counts.most > 1 or (counts.most == 1 and starts_first(workload, obj))):
            return SharedClaim(claim, pointer, counts.most, one_pod=True)
        if list(modes) == _ONE_NODE and counts.most > 1:
            return SharedClaim(claim, pointer, counts.most, one_pod=False)
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


def starts_first(workload: Resource, obj: Object | None) -> bool:
    """Whether a rollout of one pod starts the new one before the old one ends."""
    return workload.kind == "Deployment" and in_update(obj, 1).away == 0


class HeldClaim(NamedTuple):
    """A claim that another pod of the workload has on another node, the place that names it, that pod, and whether an Event names it."""

    claim: ResourceId
    pointer: str
    holder: Node
    named: bool


def held_by_sibling(app: App, fleet: Fleet, workload: Resource, trouble: Trouble) -> HeldClaim | None:
    """The claim for which the pod waits, where another pod of the workload has it: by its controller's words, or since that pod runs on another node."""
    said = trouble.whole or trouble.text
    match = catalogue().match(said, "volume") if trouble.cause == "volume" else None
    counts = pods_of(app, workload)
    if match is None or match.entry.id not in ("volume/elsewhere", "volume/slow") or counts is None or counts.most < 2:
        return None
    obj, named = workload.live or workload.desired, holders(said)
    siblings = (n for n in app.descendants(workload.uid) if n.id.kind == "Pod" and n.uid != trouble.node.uid)
    near = None if named else _pod_elsewhere(app, workload, trouble)
    holder = next((n for n in siblings if n.id.name in named), near)
    found = shared_claim(app, fleet, workload, obj)
    claims = [(found.claim.name, found.pointer)] if found is not None else list(claims_of(obj)) if named else []
    if holder is None or len(claims) != 1 or (found is not None and found.one_pod):
        return None
    name, pointer = claims[0]
    claim = ResourceId("", "PersistentVolumeClaim", workload.namespace, name, "v1", app.cluster)
    return HeldClaim(claim, pointer, holder, bool(named))


def earlier_holder(app: App, fleet: Fleet, workload: Resource, trouble: Trouble) -> Node | None:
    """A pod on another node, where a new one waits for a claim of the workload that one node alone may have, and no Event names a holder."""
    match = catalogue().match(trouble.whole or trouble.text, "volume") if trouble.cause == "volume" else None
    if match is None or match.entry.id != "volume/slow" or _are_together(pod_spec(workload.live)[1]):
        return None
    claims = (_claim(app, fleet, workload.namespace, name) for name, _ in claims_of(workload.live))
    states = (state for claim in claims if claim is not None and (state := after_sync(claim)) is not None)
    alone = any(list(texts(s, "spec", "accessModes")) == _ONE_NODE and not _SHARES.search(_class_of(s)) for s in states)
    return _pod_elsewhere(app, workload, trouble) if alone else None


def _pod_elsewhere(app: App, workload: Resource, trouble: Trouble) -> Node | None:
    """A running pod of the workload on another node than the one in trouble, if no volume was attached for that one."""
    waiting = trouble.node
    if any(e.reason == "SuccessfulAttachVolume" for e in app.events(waiting.id, waiting.uid) or ()):
        return None
    pods = (n for n in app.descendants(workload.uid) if n.id.kind == "Pod" and n.uid != waiting.uid)
    return next((n for n in pods if _runs_elsewhere(n, waiting)), None)


def _runs_elsewhere(node: Node, waiting: Node) -> bool:
    hosts = {node.info.get("Node", ""), waiting.info.get("Node", "")}
    return node.health.status == "Healthy" and len(hosts) == 2 and "" not in hosts


def sharing_fixes(workload: Resource, claim: ResourceId) -> Iterator[Fix]:
    """One pod where the workload can do with it, and volumes that all pods can have."""
    obj = workload.desired
    if workload.kind == "StatefulSet":
        title = "Give each pod a volume of its own, by volumeClaimTemplates, or all of them a claim with ReadWriteMany"
        text = f"volumeClaimTemplates in place of the volume that names {claim}\n"
        caveat = "they cannot be added in place: delete the StatefulSet before the sync; the new volumes are empty"
        yield manifest_text(workload.id, title, text, caveat)
        return
    if get(obj, "/spec/replicas", None) is not None:
        values: dict[str, object] = {"/spec/replicas": 1, "/spec/strategy": {"type": "Recreate"}}
        steps = set_fields(obj, values)
        yield manifest_patch(
            workload.id,
            "Run one pod, and end it before its successor starts",
            steps,
            "each rollout stops it for a moment",
        )
    text = f"{claim} with ReadWriteMany, or a StatefulSet with volumeClaimTemplates\n"
    yield manifest_text(claim, "Or give the pods a volume that they may share, or one each", text)
