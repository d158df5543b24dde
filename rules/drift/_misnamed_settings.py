"""Ignore rules in Argo CD's settings whose key has another API group than the differing kind."""

from collections.abc import Iterator
from dataclasses import replace

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource
from argolint.comparison import IgnoreRule, server_rules
from argolint.values import at_and_above

from ._ignored import removed_pointers, settings_key


def misnamed_settings_findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    """One finding for each such key that would hide a difference of this application with the right group."""
    for entry in server_rules(fleet.settings):
        if "*" in f"{entry.group}{entry.kind}" or any(
            r.group == entry.group for other in fleet.apps for r in other.of_kind(entry.kind)
        ):
            continue
        for resource in app.changed:
            places = _hidden_pointers(entry, resource)
            if places:
                yield _finding(app, entry, resource, places)
                break


def _hidden_pointers(entry: IgnoreRule, resource: Resource) -> list[str]:
    """Pointers of the object's differences that the entry would remove with the group of the object's kind."""
    if (entry.kind, entry.group == resource.group) != (resource.kind, False):
        return []
    taken = set(removed_pointers(replace(entry, group=resource.group), resource))
    return [change.pointer for change in resource.changes if not taken.isdisjoint(at_and_above(change.pointer))]


def _finding(app: App, entry: IgnoreRule, resource: Resource, places: list[str]) -> Finding:
    right = settings_key(resource.group, entry.kind)
    group = (
        f"has the group {resource.group!r}" if resource.group else "belongs to the core group, which a key leaves out"
    )
    return Finding(
        message=f"The ignore rule of {entry.origin} in argocd-cm hides nothing of {resource.id}: {resource.kind} {group}.",
        at=Location(app.ref, resource.id, places[0]),
        cause="group",
        evidence=(f"settings.resourceOverrides has {entry.origin}", f"{places[0]} differs"),
        fixes=(
            Fix(
                f"Name its key {right}",
                "argocd-settings",
                "ConfigMap argocd-cm",
                Edit("text", f"{right}: instead of the entry for {entry.origin}, with the same content"),
                "applies to every application",
            ),
        ),
    )
