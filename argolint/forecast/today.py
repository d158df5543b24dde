"""What runs today on the clusters: External Secrets by images, charts and the API versions that are served, and Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.forecast.releases import Version
from argolint.values import items, parse_version

_IMAGE = "external-secrets/external-secrets"
_GROUP = "external-secrets.io"


def operator(fleet: Fleet, clusters: frozenset[str]) -> tuple[Version | None, bool]:
    """The oldest External Secrets Operator that runs, and whether that is certain; else the oldest that the clusters' API versions allow."""
    exact = [
        version
        for app in fleet.apps
        if not clusters or app.cluster in clusters
        for version in (*_images(app), *_charts(app))
    ]
    bounds = [
        _SERVING[versions]
        for server in fleet.clusters
        if not clusters or server in clusters
        if (versions := _newest(fleet.served_versions(server, _GROUP, "ExternalSecret")))
    ]
    if exact and len(bounds) <= 1:
        return min(exact), True
    return min([*exact, *bounds], default=None), False


def _images(app: App) -> Iterator[Version]:
    for image in items(app.status, "summary", "images"):
        name, _, tag = str(image).partition("@")[0].rpartition(":")
        if f"/{name}".endswith(f"/{_IMAGE}") and (version := parse_version(tag)) is not None:
            yield version


def _charts(app: App) -> Iterator[Version]:
    """Chart and operator have one version."""
    for source in app.sources:
        named = str(source.get("chart") or "").rpartition("/")[2] == "external-secrets"
        if named and (version := parse_version(source.get("targetRevision"))) is not None:
            yield version


_SERVING: Mapping[str, Version] = {
    "v1": (0, 16, 0),
    "v1 alone": (0, 17, 0),
    "v1beta1": (0, 5, 0),
    "v1alpha1": (0, 1, 0),
}
"""The first release that serves this as the newest version of its kinds."""


def _newest(served: Sequence[str]) -> str:
    if tuple(served) == ("v1",):
        return "v1 alone"
    return next((version for version in ("v1", "v1beta1", "v1alpha1") if version in served), "")


def oldest_cluster(fleet: Fleet, clusters: frozenset[str]) -> str:
    """The lowest Kubernetes version among the clusters; empty when none is known."""
    known = {
        version: parsed
        for server in fleet.clusters
        if not clusters or server in clusters
        if (parsed := parse_version(version := fleet.kubernetes_version(server))) is not None and parsed > (1,)
    }
    return min(known, key=lambda v: known[v][:2], default="")
