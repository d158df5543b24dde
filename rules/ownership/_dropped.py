"""Objects that left the manifests and that a sync would prune."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Fix, Fleet, Resource
from argolint.edits.handover import guard, unguard
from argolint.edits.pruning import prunes

from ._tracking import has_copied_tracking


def prunable_objects(app: App, fleet: Fleet) -> Iterator[Resource]:
    """Objects that a sync would prune: extraneous, owned, and without an option that keeps them."""
    if not app.desired_known or app.deleting:
        return
    for resource in app.extra:
        if not has_copied_tracking(app, resource, fleet) and prunes(app, resource, fleet) != "never":
            yield resource


def keep_fix(app: App, resource: Resource, until: str) -> Fix:
    """The command that keeps the live object, and how to let go of it later. `until`: when that is."""
    return Fix(
        f"Keep the live object, before the {'merge' if app.leaving else 'next sync'}",
        "live",
        str(resource.id),
        Edit("command", guard(resource.id) + "\n"),
        caveat=f"{until}: {unguard(resource.id)}",
        safe=True,
    )
