"""A bound claim that grows in a class that lets no volume grow, where an application has the class.

Source: plugin/pkg/admission/storage/persistentvolume/resize of k8s.io/kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Related, Resource, ResourceKey, Want
from argolint.edits import manifest_patch
from argolint.values import dig, text_at
from argolint.values.quantities import amount

_SIZE = ("spec", "resources", "requests", "storage")
_AT = "/" + "/".join(_SIZE)


def class_wants(app: App, fleet: Fleet) -> Iterator[Want]:
    """The classes of the claims that grow, where another application has them."""
    for claim in app.of_kind("PersistentVolumeClaim", ""):
        key = _class_of(app, claim)
        for owner in fleet.owners(key)[:1] if _grows(claim) and app.resource(key) is None else ():
            yield Want("peer", key.id, app=owner)


def growth_findings(app: App, claim: Resource, step: str) -> Iterator[Finding]:
    """A finding if the API server will refuse the new size."""
    key = _class_of(app, claim)
    own = [(app.ref, held) for held in (app.resource(key),) if held is not None]
    owner, found = next(((who, r) for who, r in (*own, *app.peers()) if r.key == key), (app.ref, None))
    if found is None or not _grows(claim):
        return
    if any(dig(state, "allowVolumeExpansion") is True for state in (found.desired, found.live)):
        return
    said = f'persistentvolumeclaims "{claim.name}" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
    yield Finding(
        message=f"The next {step} fails at {claim.id}: {found.id} lets no volume grow, and Git asks for {text_at(claim.desired, *_SIZE)} in place of {text_at(claim.live, *_SIZE)}.",
        at=Location(app.ref, claim.id, _AT),
        cause="validation",
        confidence="likely",
        evidence=(f"the API server says: {said}",),
        related=(Related(owner, found.id, role="cause"),),
        fixes=(
            manifest_patch(
                found.id,
                f"Let volumes of {found.id} grow, if its driver can",
                [{"op": "add", "path": "/allowVolumeExpansion", "value": True}],
                "sync it before the claim",
            ),
        ),
    )


def _class_of(app: App, claim: Resource) -> ResourceKey:
    return ResourceKey(
        app.cluster, "storage.k8s.io", "StorageClass", "", text_at(claim.live, "spec", "storageClassName")
    )


def _grows(claim: Resource) -> bool:
    wanted, has = amount(dig(claim.desired, *_SIZE)), amount(dig(claim.live, *_SIZE))
    bound = text_at(claim.live, "status", "phase") == "Bound"
    return claim.kind == "PersistentVolumeClaim" and bound and wanted is not None and has is not None and wanted > has
