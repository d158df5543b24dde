"""A claim that no volume or class fits

What it finds: a PersistentVolumeClaim that stays unbound, compared with the PersistentVolumes and StorageClasses that applications of the
cluster manage. The cause is the one thing in which the nearest volume does not fit: `access-mode`, `capacity`, `selector`, `class`, or that it is
`occupied` by another claim; `no-class`: the claim names a StorageClass that is not there while one of almost that name is.

Why it hurts: the pods that mount the claim are never scheduled.

How to fix: let claim and volume agree. A claim's spec cannot be changed once it is there: delete it, then sync.

Example: a claim that asks ReadWriteMany next to a volume that allows ReadWriteOnce.

Sources: k8s.io/kubernetes pkg/controller/volume/persistentvolume/index.go (findMatchingVolume). A claim of a class with a provisioner gets a volume of
its own, so volumes are compared only where the controller says that nothing makes one. What only waits is said after five minutes (option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from argolint import (
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
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, mapping, sh, text_at, texts
from argolint.values.kubernetes import kubectl_name
from argolint.values.quantities import amount

from ..shared.age import Patience, overdue, waiting_since
from ..shared.labels import alike, label_selector, labels_at

_LEGACY = "volume.beta.kubernetes.io/storage-class"
_PEERS = 20
_VOLUMES = 200


def _waiting(app: App, options: Patience) -> Iterator[Resource]:
    for claim in app.of_kind("PersistentVolumeClaim", ""):
        bound = dig(claim.live, "status", "phase") == "Bound" or claim.health.status not in ("Progressing", "Degraded")
        if claim.live is not None and not bound and not claim.hook and overdue(app, waiting_since(claim), options.span):
            yield claim


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of claims that wait, and the volumes that other applications manage."""
    waiting = [claim for claim in _waiting(app, options) if claim.uid]
    yield from (Want("events", claim.id, claim.uid) for claim in waiting)
    if not any(_static(app, claim) for claim in waiting):
        return
    keys = fleet.of_kind(app.cluster, "", "PersistentVolume")
    for key in keys if len(keys) <= _PEERS else ():
        if app.resource(key) is None:
            for owner in fleet.owners(key)[:1]:
                yield Want("peer", ResourceId("", "PersistentVolume", "", key.name, "", key.cluster), app=owner)


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding a claim."""
    for claim in _waiting(app, options):
        found = _class_missing(app, fleet, claim) or (_nearest(app, claim) if _static(app, claim) else None)
        if found is not None:
            yield _finding(app, claim, found)


_NO_MAKER = re.compile(r"no storage class is set|storageclass\S{0,60} \"[^\"]{1,253}\" not found", re.IGNORECASE)


def _static(app: App, claim: Resource) -> bool:
    """Whether nothing makes a volume for it, as the controller says: then those that are there count."""
    return any(_NO_MAKER.search(event.message) for event in app.events(claim.id, claim.uid) or ())


@dataclass(frozen=True, slots=True)
class _Misfit:
    """In what claim and object do not agree: the field of the claim, what it asks and what is there."""

    cause: str
    pointer: str
    asked: str
    there: str
    other: ResourceId | None


def _class_of(obj: Object) -> str | None:
    """The class that a claim or volume names; None where it names none, so that the default counts."""
    named = annotations_of(obj).get(_LEGACY, dig(obj, "spec", "storageClassName"))
    return named if isinstance(named, str) else None


def _class_missing(app: App, fleet: Fleet, claim: Resource) -> _Misfit | None:
    name = _class_of(claim.live or claim.any)
    known = [key.name for key in fleet.of_kind(app.cluster, "storage.k8s.io", "StorageClass")]
    if not name or name in known:
        return None
    near = next((other for other in known if alike(other, name, within=True)), None)
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


def _nearest(app: App, claim: Resource) -> _Misfit | None:
    """The volume that lacks one thing alone; None where none does, or one fits (then the controller has not been there yet)."""
    found = []
    for volume in list(_volumes(app))[:_VOLUMES]:
        misfits = list(_misfits(claim, volume))
        if not misfits:
            return None
        if len(misfits) == 1:
            found.append(misfits[0])
    return min(found, key=lambda m: _ORDER.index(m.cause), default=None)


_ORDER = ("selector", "access-mode", "capacity", "class", "occupied")


def _misfits(claim: Resource, volume: Resource) -> Iterator[_Misfit]:
    asks, has = claim.live or claim.any, volume.live or volume.any
    spec, offer, id_ = mapping(asks, "spec"), mapping(has, "spec"), volume.id
    holder = mapping(offer, "claimRef")
    if holder and (text_at(holder, "namespace"), text_at(holder, "name")) != (claim.namespace, claim.name):
        by = f"{text_at(holder, 'namespace')}/{text_at(holder, 'name')}"
        yield _Misfit("occupied", "", "a free volume", f"a binding to claim {by}", id_)
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
        asked = ", ".join(f"{k}={v}" for k, v in sorted(selector.equal.items()))
        there = ", ".join(f"{k}={v}" for k, v in sorted(labels.items())[:4])
        yield _Misfit("selector", "/spec/selector", f"selector {asked or '(expressions)'}", there or "no labels", id_)
    if (text_at(spec, "volumeMode") or "Filesystem") != (text_at(offer, "volumeMode") or "Filesystem"):
        yield _Misfit(
            "class", "/spec/volumeMode", "another volume mode", text_at(offer, "volumeMode") or "Filesystem", id_
        )


def _finding(app: App, claim: Resource, found: _Misfit) -> Finding:
    other = found.other
    name = f"{other.kind} {other.name}" if other else ""
    has = "is there" if found.cause == "no-class" else f"has {excerpt(found.there, 120)}"
    users = [
        n
        for n in app.nodes
        if n.id.kind == "Pod" and n.id.namespace == claim.namespace and n.health.status != "Healthy"
    ]
    return Finding(
        message=f"{claim.id} stays unbound: it asks for {excerpt(found.asked, 120)}, {name} {has}, so its pods are not scheduled.",
        at=Location(app.ref, claim.id, found.pointer),
        cause=found.cause,
        confidence="likely",
        evidence=(f"health of {claim.id}: {claim.health.status} {claim.health.message}".rstrip(),),
        related=((Related(app.ref, other, role="other"),) if other and app.resource(other.key) else ())
        + tuple(Related(app.ref, n.id, role="symptom") for n in users[:3]),
        fixes=tuple(_fixes(claim, found)),
        explains=(Symptom.health(claim.id),),
    )


def _fixes(claim: Resource, found: _Misfit) -> Iterator[Fix]:
    if found.cause == "occupied":
        yield Fix(
            "Free the volume, or add one",
            "live",
            found.other.name if found.other else "",
            Edit(
                "command",
                "# delete the other claim, and claimRef where the volume was kept (Released)\n"
                f"kubectl get pv {sh(found.other.name if found.other else '')} -o wide",
            ),
            caveat="what the volume holds may be lost",
        )
        return
    yield Fix(
        "Ask in Git for what the volume has, then make the claim again",
        "manifest",
        str(claim.id),
        Edit(
            "command",
            f"kubectl delete {kubectl_name(claim.id)}   # its spec cannot be changed; the next sync makes it again",
        ),
        caveat="it is not bound, so nothing is lost",
    )


RULE = Rule(
    id="claim-unbound",
    family="health",
    severity="error",
    doc=__doc__,
    check=check,
    wants=wants,
    options=Patience,
    causes=("access-mode", "capacity", "selector", "class", "no-class", "occupied"),
    rank=Rank.ROOT,
)
