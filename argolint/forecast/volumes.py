"""Deleted volume claims, and their volumes if the StorageClass decides that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from argolint.application.app import App
from argolint.application.resource import Node, Resource
from argolint.forecast.fate import DeletedObject, DeletionForecast, deletion_finding
from argolint.model import Edit, Finding, Fix, Object, Related, ResourceId
from argolint.values import dig, enumerated, items, sh, text_at


def volumes(deletion: DeletionForecast) -> Iterator[Finding]:
    """Findings on claims that are deleted, and on the volumes that go with them. Claims of a StatefulSet stay, unless it says otherwise."""
    for deleted in deletion.deleted:
        app, r = deleted.app, deleted.resource
        if (r.group, r.kind) == ("", "PersistentVolumeClaim"):
            yield _claim_finding(deletion, app, r.id, r.live, "")
        elif (r.group, r.kind) == ("apps", "StatefulSet"):
            yield from _set_claim_findings(deletion, app, r)
        else:
            yield from (
                _claim_finding(deletion, app, node.id, None, f" with {r.id}, which owns it")
                for node in garbage_collected(deleted)
                if (node.id.group, node.id.kind) == ("", "PersistentVolumeClaim")
            )


def _claim_finding(deletion: DeletionForecast, app: App, id_: ResourceId, live: Object | None, by: str) -> Finding:
    policy = _reclaim_policy(app, text_at(live, "spec", "storageClassName"))
    volume = text_at(live, "spec", "volumeName")
    then = {
        "Delete": "and its volume with all data",
        "Retain": "and its volume stays, released",
    }.get(policy, "and its volume too, unless that has the reclaim policy Retain")
    retain = sh('{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}')
    command = Edit("command", f"kubectl patch pv {sh(volume) if volume else 'VOLUME'} -p {retain}\n")
    keep = Fix("Keep the volume whatever happens to the claim", "live", f"the volume of {id_}", command)
    message = f"{id_} of {app.ref} is deleted{by}, {then}."
    evidence = (f"volume {volume}",) if volume else ()
    fixes = () if policy == "Retain" else (keep,)
    return deletion_finding(deletion.way, "volume-deleted", app, id_, message, evidence=evidence, fixes=fixes)


def _reclaim_policy(app: App, name: str) -> str:
    """The reclaim policy of a StorageClass of the application itself; empty if unknown."""
    for r in app.of_kind("StorageClass", "storage.k8s.io"):
        if r.name == name and r.any:
            return text_at(r.any, "reclaimPolicy") or "Delete"
    return ""


def _set_claim_findings(deletion: DeletionForecast, app: App, r: Resource) -> Iterator[Finding]:
    templates = items(r.any, "spec", "volumeClaimTemplates")
    if not templates:
        return
    names = [
        n.id for n in app.nodes if n.id.kind == "PersistentVolumeClaim" and _is_claim_of_set(n.id.name, r, templates)
    ]
    if dig(r.live, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
        by = f" with {r.id}, whose persistentVolumeClaimRetentionPolicy says so"
        yield from (_claim_finding(deletion, app, id_, None, by) for id_ in names)
        if not names:
            message = f"The claims of {r.id} of {app.ref} are deleted with it, and their data."
            yield deletion_finding(deletion.way, "volume-deleted", app, r.id, message)
        return
    templated = enumerated([text_at(t, "metadata", "name") for t in templates])
    message = f"The claims of {r.id} of {app.ref} stay with their data (templates {templated})."
    related = tuple(Related(app.ref, id_) for id_ in names)
    yield deletion_finding(
        deletion.way, "claims-of-sets", app, r.id, message, "/spec/volumeClaimTemplates", related=related
    )


def _is_claim_of_set(claim: str, r: Resource, templates: Sequence[object]) -> bool:
    names = "|".join(re.escape(text_at(t, "metadata", "name")) for t in templates)
    return re.fullmatch(f"(?:{names})-{re.escape(r.name)}-[0-9]+", claim) is not None


def garbage_collected(deleted: DeletedObject) -> Iterator[Node]:
    """What Kubernetes deletes with an object: what it owns, recursively. The tree shows claims below their StatefulSet, which does not own them."""
    for node in deleted.app.descendants(deleted.resource.uid) if deleted.resource.uid else ():
        if not (node.id.kind == "PersistentVolumeClaim" and any(o.kind == "StatefulSet" for o in node.owners)):
            yield node
