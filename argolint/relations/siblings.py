"""Child Applications of an app of apps that need what a child of a later wave provides: CustomResourceDefinitions and their own namespace.

The list shows that. Argo CD waits for a child only if its settings have a health check for Applications. A child whose first sync fails has
no live object, so it is Missing, and the later waves of its parent never start.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.model import AppRef, ResourceKey
from argolint.quick.records import dataclass
from argolint.relations.waits import has_own_check

_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(frozen=True)
class Siblings:
    """`early` needs `brought`, which only `late`, of a later wave, provides."""

    early: Resource
    late: Resource
    app: AppRef
    brought: ResourceKey


def late_siblings(parent: App, fleet: Fleet) -> Iterator[Siblings]:
    """Each pair once, with the first such object."""
    if parent.deleting or not any(row.kind == "Application" for row in parent.rows):
        return
    children = [
        (r, app)
        for r in parent.of_kind("Application", "argoproj.io")
        if r.claimed and (app := fleet.app(r.name, r.namespace))
    ]
    if len({r.wave for r, _ in children}) < 2 or not fleet.derive(has_own_check, "argoproj.io", "Application"):
        return
    by_ref = {app.ref: (r, app) for r, app in children}
    for early, app in children:
        seen: set[AppRef] = set()
        for key in _needed(app, fleet):
            owners = fleet.owners(key)
            known = [by_ref[ref] for ref in owners if ref in by_ref]
            if len(known) == len(owners) == 1 and known[0][0].wave > early.wave and known[0][1].ref not in seen:
                seen.add(known[0][1].ref)
                yield Siblings(early, known[0][0], app.ref, key)


def _needed(app: App, fleet: Fleet) -> Iterator[ResourceKey]:
    """The definitions of its custom kinds, and its namespace unless it creates that itself."""
    kinds = {(row.group, row.kind) for row in app.rows if "." in row.group and not row.hook}
    defined = fleet.of_kind(app.cluster, *_CRD) if kinds else ()
    for group, kind in sorted(kinds):
        stem = kind.lower().rstrip("sy")
        yield from (k for k in defined if k.name.partition(".")[2] == group and k.name.startswith(stem))
    if "CreateNamespace=true" not in app.sync_options and app.destination_namespace:
        yield ResourceKey(app.cluster, "", "Namespace", "", app.destination_namespace)
