"""The server setting that makes Argo CD normalize fields of a custom resource like those of a built-in type."""

from __future__ import annotations

from collections.abc import Iterable

from argolint import Fix, Resource
from argolint.edits import argocd_cm
from argolint.values import index_of, split_pointer


def known_type_fields(resource: Resource, places: Iterable[str], kind: str) -> Fix:
    """resource.customizations.knownTypeFields for these pointers; `kind` such as core/Quantity (argo-cd hack/known_types)."""
    paths = dict.fromkeys(dotted(pointer) for pointer in places)
    lines = "".join(f"  - field: {path}\n    type: {kind}\n" for path in paths)
    return argocd_cm(
        "Declare the fields' type to Argo CD",
        f"resource.customizations.knownTypeFields.{resource.group}_{resource.kind}: |\n{lines}",
        "applies to every application of this Argo CD; the controller reads it after a restart",
    )


def dotted(pointer: str) -> str:
    """A pointer in the form of knownTypeFields: dots between keys, without list indexes."""
    return ".".join(token for token in split_pointer(pointer) if index_of(token) is None)
