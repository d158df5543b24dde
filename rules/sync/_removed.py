"""API versions that no longer exist: the table removed_apis.yaml, the versions that a cluster serves, and failures due to either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from argolint import App, Fleet, Object, ResourceKey
from argolint.values.knowledge import load

from ._failures import Failed, failures_explained_by


@cache
def _removed_versions() -> Mapping[tuple[str, str], Sequence[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for product in load("argolint_rules.shared", "removed_apis.yaml"):
        for entry in product["versions"]:
            of = (entry["group"], entry["version"])
            found.setdefault(of, []).append({"product": product["product"], "image": product.get("image", ""), **entry})
    return found


def removal_of(group: str, version: str, kind: str) -> Object | None:
    """The entry of removed_apis.yaml: product, image, removed_in, replacement, perhaps bridge."""
    return next(
        (e for e in _removed_versions().get((group, version), ()) if not e.get("kinds") or kind in e["kinds"]), None
    )


def removed_version_failures(app: App, fleet: Fleet) -> dict[ResourceKey, Failed]:
    """Failures due to a removed version. Before Argo CD 2.9 their message is that of an unknown kind."""
    found = {f.id.key: f for f in failures_explained_by(app, "removed-api") if f.id}
    for failed in failures_explained_by(app, "crd-missing"):
        if failed.id is None or not failed.id.version:
            continue
        served = fleet.served_versions(app.cluster, failed.id.group, failed.id.kind)
        entry = removal_of(failed.id.group, failed.id.version, failed.id.kind)
        is_removed = entry is not None and (
            entry["product"] == "Kubernetes"
            or not fleet.api_versions(app.cluster)  # no list: no release in use serves it
            or is_kind_defined(app, fleet, failed)
            or bool(_moved_to(fleet, app.cluster, entry, failed.id.kind))
        )
        if failed.id.version not in served and (served or is_removed):
            found[failed.id.key] = failed
    return found


def _moved_to(fleet: Fleet, cluster: str, entry: Object, kind: str) -> tuple[str, ...]:
    """The versions of the group that the kind has moved to, if the cluster serves them."""
    group = str(entry.get("replacement") or "").rpartition("/")[0]
    return fleet.served_versions(cluster, group, kind) if group and group != entry["group"] else ()


def is_kind_defined(app: App, fleet: Fleet, failed: Failed) -> bool:
    """Whether an application has the CRD of the kind in sync: then the kind exists, and only the version is missing."""
    assert failed.id is not None
    stem, group = failed.id.kind.lower().rstrip("sy"), failed.id.group
    return any(
        key.name.startswith(stem)
        and key.name.partition(".")[2] == group
        and any(
            r is not None and r.status == "Synced" for owner in fleet.owners(key) for r in (fleet.resource(owner, key),)
        )
        for key in fleet.of_kind(app.cluster, "apiextensions.k8s.io", "CustomResourceDefinition")
    )
