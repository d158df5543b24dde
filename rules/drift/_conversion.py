"""Custom resources that the cluster stores in another version than Git writes: a conversion webhook makes the one of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint import (
    MISSING,
    App,
    AppRef,
    Change,
    Finding,
    Fix,
    Fleet,
    Resource,
    ResourceId,
    Want,
)
from argolint.application.applied import not_stored, rewritten_on_arrival
from argolint.edits import manifest_text
from argolint.values import dig, maps, sh, text_at
from argolint.values.kubernetes import api_of, is_custom
from argolint.values.patterns import regex

from ..shared.crds import declares, definition_of, wanted_definitions
from ._fields import Drift, is_server_set, own_changes


@dataclass(frozen=True)
class Conversion:
    """`crd` of `owner` stores a kind as `stored`, and a manifest of version `written` is converted to it."""

    owner: AppRef
    crd: ResourceId
    written: str
    stored: str


def conversion_wants(app: App, fleet: Fleet) -> Iterator[Want]:
    """The CRDs of custom resources of which Argo CD applied a value that is not live."""
    for resource in app.changed:
        if is_custom(resource.group) and any(_is_lost(app, resource, c) for c in own_changes(app, resource)):
            yield from wanted_definitions(app, fleet, resource.group, resource.kind)


def is_lost_in_conversion(app: App, resource: Resource, change: Change) -> bool:
    """Whether Argo CD applied the value, and the conversion to the stored version has not kept it."""
    return (
        conversion_of(app, resource) is not None
        and _is_lost(app, resource, change)
        and _is_declared(app, resource, change)
    )


def _is_lost(app: App, resource: Resource, change: Change) -> bool:
    if change.desired is MISSING or is_server_set(change):
        return False
    return rewritten_on_arrival(app, resource, change) or not_stored(resource, change)


def _is_declared(app: App, resource: Resource, change: Change) -> bool:
    """False if the schema of Git's own version lacks the field, so that it is dropped before any conversion."""
    crd = definition_of(app, resource.group, resource.kind)
    version = api_of(resource.desired)[1]
    if change.live is not MISSING:
        return True
    return crd is not None and declares(crd.live or crd.desired, version, change.pointer) is not False


def conversion_of(app: App, resource: Resource) -> Conversion | None:
    """The conversion webhook between the manifest's version and the stored one; None if there is none or the CRD is not known."""
    crd = definition_of(app, resource.group, resource.kind) if is_custom(resource.group) else None
    spec = (crd.live or crd.desired) if crd else None
    if crd is None or dig(spec, "spec", "conversion", "strategy") != "Webhook":
        return None
    versions = maps(spec, "spec", "versions")
    stored = next((text_at(version, "name") for version in versions if version.get("storage") is True), "")
    written = api_of(resource.desired)[1]
    return Conversion(crd.owner, crd.id, written, stored) if stored and written and stored != written else None


def conversion_finding(drift: Drift) -> Finding:
    found = conversion_of(drift.app, drift.resource)
    assert found is not None
    return drift.finding(
        f"The cluster stores {drift.resource.id} as {found.stored}, and the conversion from {found.written} does not keep {drift.places()}.",
        evidence=(f"storage version of {found.crd}, which has a conversion webhook",),
        fixes=(
            *(_upgrade_fix(found) if _is_newer(found.written, found.stored) else _rewrite_fix(drift.resource, found)),
            drift.ignore(),
        ),
        severity="warning",
        confidence="likely",
    )


def _upgrade_fix(found: Conversion) -> tuple[Fix, ...]:
    return (
        manifest_text(
            f"Application {found.owner}",
            f"Upgrade {found.crd} to a release that stores {found.written}",
            f"Upgrade what installs the CRD in application {found.owner}. Its storage version is {found.stored} now: "
            f"`kubectl get crd {sh(found.crd.name)} -o jsonpath='{{.spec.versions[?(@.storage==true)].name}}'`.",
            "existing objects are converted when they are next written",
        ),
    )


def _rewrite_fix(resource: Resource, found: Conversion) -> tuple[Fix, ...]:
    return (
        manifest_text(
            resource.id,
            f"Write the manifest in {found.stored}, the version that is stored",
            f"apiVersion: {resource.group}/{found.stored}; `kubectl explain {resource.kind.lower()} --api-version={resource.group}/{found.stored}` has its fields.",
        ),
    )


_VERSION = regex(r"v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?")


def _is_newer(one: str, other: str) -> bool:
    """Whether a version of an API goes before another one (k8s.io/apimachinery, version.CompareKubeAwareVersionStrings)."""

    def order(version: str) -> tuple[int, int, int]:
        match = _VERSION.fullmatch(version)
        if match is None:
            return (-1, 0, 0)
        major, stage, minor = match.groups()
        return ({"alpha": 0, "beta": 1}.get(stage or "", 2), int(major), int(minor or 0))

    return order(one) > order(other)
