"""An API version that the cluster does not serve, or will soon not serve

What it finds: manifests with an API version that their cluster does not serve (error), or that the next upgrades of Kubernetes or of an operator
remove (warning). One finding for each kind.

Why it hurts: Argo CD checks all objects of a sync first, so one object with an unknown version blocks all others. After an upgrade, a working
application can no longer be synced.

How to fix: write the version that the cluster serves. If it serves only the old one, first upgrade to a release that serves both.

Example: `apiVersion: external-secrets.io/v1beta1` on a cluster with External Secrets v2.

Sources: the cluster's own list (`/api/v1/clusters`, info.apiVersions); the table removed_apis.yaml; gitops-engine
pkg/sync/sync_context.go (`The Kubernetes API could not find version …`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from argolint import (
    Afterwards,
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Need,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
)
from argolint.edits import manifest_patch, manifest_text
from argolint.edits.consequences import consequences
from argolint.redaction import excerpt
from argolint.values import get, items, joined, parse_version
from argolint.values.kubernetes import api_of
from argolint.values.patterns import regex

from ._failures import Failed
from ._removed import removal_of, removed_version_failures

_OTHER_VERSION = regex(r'Version "([^"]+)" of \S+ is installed')
_NUMBERS = regex(r"\d{1,9}")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each kind and version."""
    failed = removed_version_failures(app, fleet)
    for group, version, kind in sorted({(r.id.group, r.id.version, r.id.kind) for r in app.resources if r.id.version}):
        served = fleet.served_versions(app.cluster, group, kind)
        entry = removal_of(group, version, kind)
        if entry is None and (not served or version in served) and not failed:
            continue  # nearly every kind
        resources = [r for r in app.of_kind(kind, group) if r.id.version == version and not r.requires_pruning]
        if not resources:
            continue
        refusal = next((failed[r.key] for r in resources if r.key in failed), None)
        synced = all(r.status == "Synced" for r in resources)  # then it is served, even if the list lacks it
        gone = refusal is not None or (bool(served) and version not in served and not synced)
        if not gone and entry is not None and not served and not synced:
            gone = entry["product"] == "Kubernetes" and _is_version_reached(
                fleet.kubernetes_version(app.cluster), entry["removed_in"]
            )
        if gone:
            others = tuple(
                v for v in served if v != version
            )  # the list has versions of a CRD that it does not serve, too
            yield _unserved_finding(app, fleet, resources, refusal, others or _installed_versions(refusal), entry)
        elif entry is not None:
            yield _removal_finding(app, fleet, resources, served, entry)


def _is_product_too_old(app: App, fleet: Fleet, entry: Object | None) -> bool:
    """True if the product's version on the cluster is known to be older than the first release that serves the replacement."""
    first, image = parse_version((entry or {}).get("bridge")), (entry or {}).get("image")
    running = fleet.derive(_running_versions, (app.cluster, str(image))) if first and image else ()
    return bool(running) and min(running) < first if first else False


def _running_versions(fleet: Fleet, cluster_and_image: tuple[str, str]) -> tuple[tuple[int, ...], ...]:
    """The versions of this image that applications of the cluster run."""
    cluster, image = cluster_and_image
    tags = (
        parse_version(str(found).rpartition(":")[2])
        for app in fleet.on_cluster(cluster)
        for found in items(app.brief, "status", "summary", "images")
        if f"/{str(found).partition('@')[0].rpartition(':')[0]}".endswith(f"/{image}")
    )
    return tuple(sorted({tag for tag in tags if tag}))


def _installed_versions(refused: Failed | None) -> tuple[str, ...]:
    found = _OTHER_VERSION.search(refused.message) if refused else None
    return (found.group(1),) if found else ()


def _is_version_reached(version: str, removed_in: str) -> bool:
    """True if a Kubernetes version such as v1.29.3 or 1.29 is at least `removed_in`; False if it is unknown."""
    have, removed = parse_version(version), parse_version(removed_in)
    return have is not None and removed is not None and have >= removed


def _objects_text(resources: list[Resource]) -> str:
    more = f" and {len(resources) - 1} more" if len(resources) > 1 else ""
    return f"{resources[0].id}{more}"


def _unserved_finding(
    app: App,
    fleet: Fleet,
    resources: list[Resource],
    refused: Failed | None,
    served: tuple[str, ...],
    entry: Object | None,
) -> Finding:
    id_ = (refused.id if refused else None) or resources[0].id
    first = next((r for r in resources if r.key == id_.key), resources[0])
    others = [r for r in resources if r.key != first.key]
    serves = f" (it serves {', '.join(served)})" if served else ""
    lead = [first, *others]
    return Finding(
        message=f"No sync of application {app.ref} can succeed: cluster {app.cluster} does not serve {first.id.api_version}{serves}, which {_objects_text(lead)} {'ask' if others else 'asks'} for.",
        at=Location(app.ref, first.id, "/apiVersion"),
        confidence="proven" if refused else "likely",
        evidence=(
            *_evidence(refused, served),
            *([f"{entry['product']} dropped {first.id.api_version} in {entry['removed_in']}"] if entry else []),
        ),
        related=tuple(Related(app.ref, r.id, "/apiVersion", role="other") for r in others),
        fixes=tuple(_fixes(app, lead, served, entry, gone=True, old=_is_product_too_old(app, fleet, entry))),
        explains=tuple(_claims(app, lead, refused)),
        follows=(
            Follows.common(
                f"Cluster {app.cluster} does not serve {first.id.api_version}.", *_version_cause(app, first)
            ),
        ),
    )


def _version_cause(app: App, resource: Resource) -> tuple[str, ...]:
    return "api-version", app.cluster, resource.id.api_version


def _claims(app: App, resources: list[Resource], refused: Failed | None) -> Iterator[Symptom]:
    if refused is not None:
        yield from consequences(app)
    for resource in resources:
        if resource.missing:
            yield Symptom.missing(resource.id)
            yield Symptom.health(resource.id)


def _evidence(refused: Failed | None, served: tuple[str, ...]) -> Iterator[str]:
    if refused is not None:
        yield f"{refused.id}: {excerpt(refused.message, 400)}"
    if served:
        yield f"versions that the cluster serves: {', '.join(served)}"


def _removal_finding(
    app: App, fleet: Fleet, resources: list[Resource], served: tuple[str, ...], entry: Object
) -> Finding:
    first, *others = resources
    use = f"{_objects_text(resources)} {'use' if others else 'uses'} {first.id.api_version}"
    unused = fleet.api_versions(app.cluster) and not served and entry["product"] != "Kubernetes"
    upgrade = f"upgrading {'' if entry['product'] == 'Kubernetes' else entry['product'] + ' on '}cluster {app.cluster}"
    drops = f"{entry['product']} drops in {entry['removed_in']}: {upgrade} will break its sync"
    return Finding(
        message=f"{use}, which {entry['product']} has dropped in {entry['removed_in']}."
        if unused
        else f"{use}, which {drops}.",
        at=Location(app.ref, first.id, "/apiVersion"),
        severity="warning",
        evidence=tuple(_evidence(None, served)),
        related=tuple(Related(app.ref, r.id, "/apiVersion", role="other") for r in others),
        fixes=tuple(_fixes(app, resources, served, entry, gone=False, old=_is_product_too_old(app, fleet, entry))),
        follows=(
            Follows.common(
                f"{entry['product']} drops {first.id.api_version} in {entry['removed_in']}; cluster {app.cluster} is before that.",
                "leaving",
                *_version_cause(app, first),
            ),
        ),
    )


def _has_only_charts(app: App) -> bool:
    return bool(app.sources) and all(source.get("chart") for source in app.sources if not source.get("ref"))


def _wrapped_items(resource: Resource, entry: Object) -> Iterator[dict[str, Any]]:
    """The items of a list that the next version holds one level lower, as the entry's `wrapped` says."""
    for rule in entry.get("wrapped", ()):
        found = get(resource.desired, rule["at"], None) if resource.kind == rule["kind"] else None
        for index, item in enumerate(found if isinstance(found, list) else ()):
            if isinstance(item, dict) and rule["having"] in item:
                yield {"op": "replace", "path": f"{rule['at']}/{index}", "value": {rule["into"]: item}}


def _fixes(
    app: App, resources: list[Resource], served: tuple[str, ...], entry: Object | None, *, gone: bool, old: bool
) -> Iterator[Fix]:
    first = resources[0]
    wanted = str((entry or {}).get("replacement") or "")
    group, _, version = wanted.rpartition("/")
    same_group = group == first.group
    if served and (not wanted or (same_group and version not in served and gone)):
        wanted = f"{first.group}/{_best_version(served)}".lstrip("/")
    unseen = not served and not (old and same_group)
    usable = wanted and (unseen or (not same_group and bool(served)) or wanted.rpartition("/")[2] in served)
    if usable:
        more = f", and the same in {len(resources) - 1} more" if len(resources) > 1 else ""
        fix = manifest_patch(
            first.id,
            f"Write apiVersion: {wanted}{more}",
            [{"op": "replace", "path": "/apiVersion", "value": wanted}, *_wrapped_items(first, entry or {})],
            joined(
                *(
                    ["the chart writes it: use a version of the chart that supports this cluster"]
                    if _has_only_charts(app)
                    else []
                ),
                *(
                    ()
                    if first.kind in (entry or {}).get("same_fields", ())
                    else ("fields may have moved between the versions",)
                ),
                *_deprecated_replacement(first, wanted),
                *(
                    [f"where {entry['product']} is older, upgrade it first to {entry['bridge']}"]
                    if unseen and entry and entry.get("bridge")
                    else []
                ),
            ),
        )
        since = str((entry or {}).get("since") or "")
        yield replace(fix, needs=(Need("kubernetes", since),)) if since else fix
    elif wanted and entry is not None:
        bridge = (
            f" to {entry['bridge']}, which serves both"
            if entry.get("bridge")
            else f" to a release that serves {wanted}"
        )
        yield Fix(
            f"Upgrade {entry['product']}{bridge}, then write apiVersion: {wanted}",
            "operator",
            app.cluster,
            Edit("text", f"The manifests follow the upgrade: cluster {app.cluster} does not serve {wanted} before it."),
        )
    else:
        yield manifest_text(
            first.id,
            "Remove the object: nothing replaces this API",
            f"delete {first.id} from Git",
            "what it did must be done by other means",
        )


def _deprecated_replacement(resource: Resource, wanted: str) -> Iterator[str]:
    """A sentence about the replacement, if that is deprecated as well."""
    group, _, version = wanted.rpartition("/")
    entry = removal_of(group, version, resource.kind)
    if entry is not None:
        yield f"{wanted} works, but is dropped too: {entry['product']} drops it in {entry['removed_in']}, so a warning stays"


def _best_version(served: tuple[str, ...]) -> str:
    """The stable version with the highest number, else the newest beta: Kubernetes' own order of versions."""

    def rank(version: str) -> tuple[int, list[int]]:
        return ("alpha" not in version) + ("beta" not in version and "alpha" not in version), [
            int(n) for n in _NUMBERS.findall(version)
        ]

    return max(served, key=rank)


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The API server's answer, if the fix uses a version that it serves; the proof checks fields of built-in kinds."""
    id_ = finding.edits(fix)
    resource = after.held(id_)
    if fix.target != "manifest" or resource is None or not resource.desired:
        return None
    group, version = api_of(resource.desired)
    served = fleet.served_versions(after.cluster, group, resource.kind)
    was = removal_of(id_.group, id_.version, id_.kind) if id_ else None
    if not served:
        return Afterwards(unknown="what the cluster serves is not known")
    if version not in served:
        return Afterwards(refused=f"the cluster serves {resource.kind} as {', '.join(served)}, not as {version}")
    alike = resource.kind in ((was or {}).get("same_fields") or ())
    return Afterwards(live={resource.key: resource.live} if alike and resource.live else {})


RULE = Rule(**Rule.page(__name__), severity="error", check=check, then=then, rank=Rank.CAUSE)
