"""API versions that are gone: the table removed_apis.yaml, what a cluster serves, and failures that speak of either."""

from __future__ import annotations

from functools import cache

from argolint import App, Fleet, Object, ResourceKey
from argolint.knowledge import load

from ._failures import Failed, answered_by


@cache
def _table() -> tuple[Object, ...]:
    return tuple({"product": p["product"], **v} for p in load(__package__, "removed_apis.yaml") for v in p["versions"])


def removal_of(group: str, version: str, kind: str) -> Object | None:
    """The entry of removed_apis.yaml: product, removed_in, replacement, perhaps bridge."""
    return next(
        (
            e
            for e in _table()
            if (e["group"], e["version"]) == (group, version) and (not e.get("kinds") or kind in e["kinds"])
        ),
        None,
    )


def served_versions(fleet: Fleet, cluster: str, group: str, kind: str) -> tuple[str, ...]:
    """Versions in which the cluster serves this kind, sorted; empty when the account may not see it or no version is served."""
    prefix = f"{group}/" if group else ""
    found = {
        api.removeprefix(prefix).removesuffix(f"/{kind}")
        for api in fleet.api_versions(cluster)
        if api.startswith(prefix) and api.endswith(f"/{kind}")
    }
    return tuple(sorted(v for v in found if "/" not in v))


def refused(app: App, fleet: Fleet) -> dict[ResourceKey, Failed]:
    """Failures for a version that is gone. Before Argo CD 2.9 their words are those of an unknown kind."""
    found = {f.id.key: f for f in answered_by(app, "removed-api") if f.id}
    for failed in answered_by(app, "crd-missing"):
        if failed.id is None or not failed.id.version:
            continue
        served = served_versions(fleet, app.cluster, failed.id.group, failed.id.kind)
        entry = removal_of(failed.id.group, failed.id.version, failed.id.kind)
        builtin = entry is not None and entry["product"] == "Kubernetes"
        if failed.id.version not in served and (served or builtin):
            found[failed.id.key] = failed
    return found
