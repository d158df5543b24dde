"""An issuer that a Certificate names with the kind of the other scope: without a kind, cert-manager looks for an Issuer of the namespace."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Fix, Fleet, Resource
from argolint.edits import manifest_patch, set_field
from argolint.values.patterns import regex

_NOT_FOUND = regex(r'Referenced "(Issuer|ClusterIssuer)" not found: \S{1,60} "([a-z0-9][\w.-]{0,252})" not found')
_OTHER = {"Issuer": "ClusterIssuer", "ClusterIssuer": "Issuer"}


def kind_fix(app: App, fleet: Fleet, resource: Resource, said: str) -> Iterator[Fix]:
    """The kind under which an issuer of that name is there; `said`: what cert-manager says of the Certificate or its request."""
    found = _NOT_FOUND.search(said) if (resource.group, resource.kind) == ("cert-manager.io", "Certificate") else None
    if found is None or resource.desired is None:
        return
    kind, name = _OTHER[found[1]], found[2]
    keys = fleet.of_kind(app.cluster, "cert-manager.io", kind)
    if any(key.name == name and key.namespace in ("", resource.namespace) and fleet.owners(key) for key in keys):
        title = f"Write kind {kind}: one of that name is there, and no {found[1]}"
        yield manifest_patch(resource.id, title, set_field(resource.desired, "/spec/issuerRef/kind", kind))
