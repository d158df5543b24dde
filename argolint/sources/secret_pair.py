"""Masks the Secrets of two local renders as a pair, as Argo CD does, before anything reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from argolint.model import Object
from argolint.values import dig
from argolint.values.kubernetes import is_secret

MASKS = ("++++++++", "+++++++++")
"""Masks of managed-resources for a pair: the same for equal values, different for others (gitops-engine pkg/diff, HideSecretData)."""


def masked_pair(one: Sequence[Object], two: Sequence[Object]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Both renders with Secret values masked; equal values get equal masks, so they make no difference."""
    twins = {_name(m): _secret_values(m) for m in one if is_secret(m)}
    return (
        tuple(_masked(m, {}) if is_secret(m) else m for m in one),
        tuple(_masked(m, twins.get(_name(m), {})) if is_secret(m) else m for m in two),
    )


def _name(manifest: Object) -> tuple[str, str]:
    return str(dig(manifest, "metadata", "namespace") or ""), str(dig(manifest, "metadata", "name") or "")


def _secret_values(manifest: Object) -> Mapping[str, Any]:
    return {
        key: (part, value)
        for part in ("data", "stringData")
        if isinstance(manifest.get(part), Mapping)
        for key, value in manifest[part].items()
    }


def _masked(manifest: Object, twin: Mapping[str, Any]) -> Object:
    values = _secret_values(manifest)
    rest = {k: v for k, v in manifest.items() if k not in ("data", "stringData")}
    data = {key: MASKS[key in twin and twin[key] != value] for key, value in values.items()}
    return {**rest, "data": data} if data else rest
