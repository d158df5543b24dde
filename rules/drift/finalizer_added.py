"""A controller adds finalizers to the list in Git

What it finds: a manifest that lists `metadata.finalizers` of a custom resource, while a controller adds its own to the live list. Argo CD itself
does so: an Application with PostDelete or PreDelete hooks gets two finalizers for each of the two.

Why it hurts: the list is compared, and applied, as a whole. The object stays OutOfSync, a sync takes the finalizers off, and the controller adds
them again. An object that goes at the wrong moment skips the clean-up that they wait for.

How to fix: write the finalizers into Git's list as well, or leave the list out of Git where nothing needs it there.

Example: a child Application with `resources-finalizer.argocd.argoproj.io` in Git, whose chart has a `helm.sh/hook: post-delete` Job.

Sources: argoproj/argo-cd#17433, #27533; controller/appcontroller.go (SetPostDeleteFinalizer), docs/user-guide/sync-waves.md.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved
from argolint.values import below, items

from ._fields import drifts, writer_name
from ._writers import is_sort

_HOOKS = {
    "post-delete-finalizer.argocd.argoproj.io": "PostDelete",
    "pre-delete-finalizer.argocd.argoproj.io": "PreDelete",
}
"""Argo CD's own finalizers, also with `/cleanup`, by the hooks of the application that ask for them."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""

    def is_of_list(resource: Resource, change: Change) -> bool:
        own = below(change.pointer, "/metadata/finalizers") and not is_sort(change.writer, "person")
        return own and not git_moved(app, resource, change)

    for drift in drifts(app, is_of_list):
        listed = items(drift.resource.desired or {}, "metadata", "finalizers")
        live = items(drift.resource.live or {}, "metadata", "finalizers")
        added = [str(name) for name in live if name not in listed]
        if not listed or not added or any(name not in live for name in listed):
            continue
        hooks = dict.fromkeys(
            _HOOKS[name] for name in (each.removesuffix("/cleanup") for each in added) if name in _HOOKS
        )
        of_argocd = bool(hooks) and (drift.resource.group, drift.resource.kind) == ("argoproj.io", "Application")
        yield drift.finding(
            f"Argo CD adds {drift.places()} to {drift.resource.id} for its {' and '.join(hooks)} hooks, so Git's list never stays."
            if of_argocd
            else f"{writer_name(drift.changes[0])} adds {drift.places()} to {drift.resource.id}, and each sync removes it again.",
            fixes=(
                drift.write_live(
                    "Write the added finalizers into Git's list",
                    "remove them again when the hooks are gone" if of_argocd else "",
                ),
                drift.ignore(),
            ),
            evidence=(f"live only: {', '.join(added)}",),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
