"""A claim that no volume or class fits

What it finds: a PersistentVolumeClaim that stays unbound, of the application or made by one of its StatefulSets. It is compared with the PersistentVolumes
and StorageClasses that applications of the cluster manage. The cause is the only mismatch of the nearest volume: `access-mode`, `capacity`, `selector`, `class`, or `occupied` by another
claim. `no-class`: the claim's StorageClass does not exist while one of almost that name does.

Why it hurts: the pods that mount the claim are never scheduled.

How to fix: make claim and volume agree. The spec of an existing claim cannot be changed: delete it, then sync.

Example: a claim with ReadWriteMany next to a volume that allows ReadWriteOnce.

Sources: k8s.io/kubernetes pkg/controller/volume/persistentvolume/index.go (findMatchingVolume). A claim of a class with a provisioner gets its
own volume, so volumes are compared only if the controller says that nothing creates one. A claim that only waits is reported after five minutes
(option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from argolint import (
    App,
    Finding,
    Fix,
    Fleet,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.edits.advice import Shell, advice
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, mapping, maps, text_at, texts
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex
from argolint.values.quantities import amount

from ..shared.age import Patience, is_overdue, waiting_since
from ..shared.labels import is_similar_name, label_selector, labels_at
from ..shared.peers import peer_wants
from ._sharing import claims_of

_LEGACY = "volume.beta.kubernetes.io/storage-class"
_PEERS = 20
_VOLUMES = 200


def _waiting_claims(app: App, options: Patience) -> Iterator[Resource]:
    for claim in app.of_kind("PersistentVolumeClaim", ""):
        bound = dig(claim.live, "status", "phase") == "Bound" or claim.health.status not in ("Progressing", "Degraded")
        if (
            claim.live is not None
            and not bound
            and not claim.hook
            and is_overdue(app, waiting_since(claim), options.span)
        ):
            yield claim


_MADE = 3
"""Most claims of an application's StatefulSets that are read: those of one template wait alike."""


def _made_claims(app: App, options: Patience) -> Iterator[Node]:
    """Waiting claims that a StatefulSet has made by its volumeClaimTemplates."""
    waiting = (
        node
        for node in app.nodes_of("PersistentVolumeClaim", "")
        if node.health.status == "Progressing"
        and app.root(node).id.kind == "StatefulSet"
        and app.resource(node.id.key) is None
        and is_overdue(app, node.created_at, options.span)
    )
    yield from islice(waiting, _MADE)


def _every_waiting_claim(app: App, options: Patience) -> Iterator[Resource]:
    yield from _waiting_claims(app, options)
    for node in _made_claims(app, options):
        live = app.evidence.get(Want("live", node.id))
        if isinstance(live, Mapping) and dig(live, "status", "phase") != "Bound":
            yield Resource(node.id, health=node.health, uid=node.uid).with_live(live)


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of waiting claims and their pods, the claims that StatefulSets have made, and the volumes that other applications manage."""
    yield from (Want("live", node.id) for node in _made_claims(app, options))
    waiting = [claim for claim in _every_waiting_claim(app, options) if claim.uid]
    yield from (Want("events", claim.id, claim.uid) for claim in waiting)
    yield from (Want("events", pod.id, pod.uid) for claim in waiting for pod in _users(app, claim))
    if not any(_needs_existing_volume(app, claim) for claim in waiting):
        return
    if len(fleet.of_kind(app.cluster, "", "PersistentVolume")) <= _PEERS:
        yield from peer_wants(app, fleet, (("", "PersistentVolume"),), lambda key: True, _PEERS)


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each claim."""
    for claim in _every_waiting_claim(app, options):
        found = _missing_class(app, fleet, claim) or (
            _nearest_volume(app, claim) if _needs_existing_volume(app, claim) else None
        )
        if found is not None:
            yield _finding(app, claim, found)


_NO_MAKER = regex(
    r"no storage class is set|storageclass\S{0,60} \"[^\"]{1,253}\" not found|already bound to a different claim"
    r"|didn't find available persistent volumes to bind",
    re.IGNORECASE,
)


def _needs_existing_volume(app: App, claim: Resource) -> bool:
    """Whether nothing creates a volume for it, by its controller's message or the scheduler's: then only existing volumes count."""
    asked = ((claim.id, claim.uid), *((pod.id, pod.uid) for pod in _users(app, claim)))
    said = (event for id_, uid in asked for event in app.events(id_, uid) or ())
    return any(_NO_MAKER.search(event.message) for event in said)


@dataclass(frozen=True, slots=True)
class _Misfit:
    """The mismatch between claim and object: the field of the claim, its value, and the object's value; `kept`: the volume is held for a claim that is gone."""

    cause: str
    pointer: str
    asked: str
    offered: str
    other: ResourceId | None
    kept: bool = False


def _class_of(obj: Object) -> str | None:
    """The class of a claim or volume; None if it has none, so that the default applies."""
    named = annotations_of(obj).get(_LEGACY, dig(obj, "spec", "storageClassName"))
    return named if isinstance(named, str) else None


def _missing_class(app: App, fleet: Fleet, claim: Resource) -> _Misfit | None:
    name = _class_of(claim.live or claim.any)
    known = [key.name for key in fleet.of_kind(app.cluster, "storage.k8s.io", "StorageClass")]
    if not name or name in known:
        return None
    near = next((other for other in known if is_similar_name(other, name, within=True)), None)
    if near is None:
        return None
    other = ResourceId("storage.k8s.io", "StorageClass", "", near, "", app.cluster)
    return _Misfit("no-class", "/spec/storageClassName", f"class {name}", f"StorageClass {near}", other)


def _volumes(app: App) -> Iterator[Resource]:
    yield from app.of_kind("PersistentVolume", "")
    yield from (
        r
        for w, r in app.evidence.items()
        if w.kind == "peer" and isinstance(r, Resource) and r.kind == "PersistentVolume"
    )


def _nearest_volume(app: App, claim: Resource) -> _Misfit | None:
    """The volume with only one mismatch, first one that is kept for this very claim; None if there is none, or if one fits (then the controller has not bound it yet)."""
    found = []
    for volume in list(_volumes(app))[:_VOLUMES]:
        misfits = list(_misfits(claim, volume))
        if not misfits:
            return None
        if len(misfits) == 1:
            found.append(misfits[0])
    return min(found, key=lambda m: (not m.kept, _ORDER.index(m.cause)), default=None)


_ORDER = ("selector", "access-mode", "capacity", "class", "occupied")


def _misfits(claim: Resource, volume: Resource) -> Iterator[_Misfit]:
    asks, has = claim.live or claim.any, volume.live or volume.any
    spec, offer, id_ = mapping(asks, "spec"), mapping(has, "spec"), volume.id
    holder = mapping(offer, "claimRef")
    if holder and (text_at(holder, "namespace"), text_at(holder, "name")) != (claim.namespace, claim.name):
        holder_name = f"{text_at(holder, 'namespace')}/{text_at(holder, 'name')}"
        yield _Misfit("occupied", "", "a free volume", f"a binding to claim {holder_name}", id_)
    elif (was := text_at(holder, "uid")) and was != text_at(mapping(asks, "metadata"), "uid"):
        kept = dig(has, "status", "phase") == "Released"
        yield _Misfit("occupied", "", "a free volume", "an earlier claim of its name", id_, kept=kept)
    if text_at(spec, "volumeName") not in ("", volume.name):
        yield _Misfit("occupied", "/spec/volumeName", f"volume {text_at(spec, 'volumeName')}", "another name", id_)
    if (_class_of(asks) or "") != (_class_of(has) or ""):
        yield _Misfit(
            "class",
            "/spec/storageClassName",
            f"storage class {_class_of(asks) or 'none'}",
            f"class {_class_of(has) or 'none'}",
            id_,
        )
    modes, offered = texts(spec, "accessModes"), texts(offer, "accessModes")
    if not set(modes) <= set(offered):
        yield _Misfit(
            "access-mode", "/spec/accessModes", f"access mode {', '.join(modes)}", ", ".join(offered) or "none", id_
        )
    size, room = amount(dig(spec, "resources", "requests", "storage")), amount(dig(offer, "capacity", "storage"))
    if size is not None and room is not None and size > room:
        sizes = dig(spec, "resources", "requests", "storage"), dig(offer, "capacity", "storage")
        yield _Misfit("capacity", "/spec/resources/requests/storage", f"a capacity of {sizes[0]}", str(sizes[1]), id_)
    selector = label_selector(spec.get("selector")) if spec.get("selector") else None
    labels = labels_at(mapping(has, "metadata"))
    if selector is not None and not selector.matches(labels):
        wanted_labels = ", ".join(f"{k}={v}" for k, v in sorted(selector.equal.items()))
        volume_labels = ", ".join(f"{k}={v}" for k, v in sorted(labels.items())[:4])
        yield _Misfit(
            "selector",
            "/spec/selector",
            f"selector {wanted_labels or '(expressions)'}",
            volume_labels or "no labels",
            id_,
        )
    if (text_at(spec, "volumeMode") or "Filesystem") != (text_at(offer, "volumeMode") or "Filesystem"):
        yield _Misfit(
            "class", "/spec/volumeMode", "another volume mode", text_at(offer, "volumeMode") or "Filesystem", id_
        )


_SHOWN = 3


def _users(app: App, claim: Resource) -> tuple[Node, ...]:
    """The first pods that wait for the claim."""
    waiting = (n for n in app.nodes_of("Pod", "") if n.id.namespace == claim.namespace and n.health.status != "Healthy")
    return tuple(islice((n for n in waiting if _mounts(app, n, claim)), _SHOWN))


def _mounts(app: App, pod: Node, claim: Resource) -> bool:
    """Whether the workload above the pod gives it this claim; False where no managed object shows its volumes."""
    owner = app.resource(app.root(pod).id.key)
    if owner is None:
        return False
    made = maps(owner.any, "spec", "volumeClaimTemplates") if owner.kind == "StatefulSet" else ()
    names = (
        *(name for name, _ in claims_of(owner.any)),
        *(f"{text_at(t, 'metadata', 'name')}-{pod.id.name}" for t in made),
    )
    return claim.name in names


def _finding(app: App, claim: Resource, found: _Misfit) -> Finding:
    other = found.other
    name = f"{other.kind} {other.name}" if other else ""
    has = "is there" if found.cause == "no-class" else f"has {excerpt(found.offered, 120)}"
    why = f"it asks for {excerpt(found.asked, 120)}, {name} {has}"
    if found.kept:
        why = f"{name} is Released, kept for a deleted claim of its name"
    return Finding(
        message=f"{claim.id} stays unbound: {why}, so its pods are not scheduled.",
        at=Location(app.ref, claim.id, found.pointer),
        cause=found.cause,
        confidence="likely",
        evidence=(f"health of {claim.id}: {claim.health.status} {claim.health.message}".rstrip(),),
        related=((Related(app.ref, other, role="other"),) if other and app.resource(other.key) else ())
        + tuple(Related(app.ref, n.id, role="symptom") for n in _users(app, claim)),
        fixes=_fixes(app, claim, found),
        explains=(Symptom.health(claim.id),),
    )


def _fixes(app: App, claim: Resource, found: _Misfit) -> tuple[Fix, ...]:
    topic = "occupied" if found.cause == "occupied" else "misfit"
    facts = {
        "claim": str(claim.id),
        "command": Shell(kubectl_name(claim.id)),
        "volume": found.other.name if found.other else "",
        "kept": found.kept,
        "made": app.resource(claim.key) is None,
    }
    return advice(__package__, f"claim-unbound/{topic}", facts)


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    options=Patience,
    causes=("access-mode", "capacity", "selector", "class", "no-class", "occupied"),
    rank=Rank.ROOT,
)
