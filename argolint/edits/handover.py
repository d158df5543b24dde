"""Hands an object over to another application without deleting it: commands that several fixes share.

Argo CD prunes only objects whose live tracking data names the syncing application, and not those with `Prune=false` in their live
annotation `sync-options` (gitops-engine/pkg/sync/sync_context.go, pruneObject).
"""

from __future__ import annotations

from collections.abc import Sequence

from argolint.comparison import TRACKING_ID
from argolint.model import AppRef, ResourceId
from argolint.values import sh
from argolint.values.kubernetes import SYNC_OPTIONS, kubectl_name

_SHOWN = 8
"""Most Applications that a script lists."""


def guard(resource: ResourceId) -> str:
    """Protect the live object from pruning and deletion; an annotation that only the live object has is no drift."""
    return f"kubectl annotate {kubectl_name(resource)} --overwrite {SYNC_OPTIONS}=Prune=false,Delete=false"


def unguard(resource: ResourceId) -> str:
    return f"kubectl annotate {kubectl_name(resource)} {SYNC_OPTIONS}-"


def released(resource: ResourceId, keepers: Sequence[str], key: str) -> str:
    """Remove the guard, but only if the live tracking data (`key`: an annotation or a label) name one of these instances.

    Without that test, a failed sync, or a later sync of another Application, would leave the object to be pruned.
    """
    if not key:
        return unguard(resource)  # no one prunes an object without tracking data
    return f"{names(resource, keepers, key)} && {unguard(resource)}"


def names(resource: ResourceId, keepers: Sequence[str], key: str) -> str:
    """A command that succeeds if the live tracking data (`key`: an annotation or a label) name one of these instances."""
    where = "annotations" if key == TRACKING_ID else "labels"
    path = "{.metadata." + where + "." + key.replace(".", "\\.") + "}"
    any_of = "|".join(keeper.replace(".", "[.]") for keeper in keepers)
    whole = f"^{any_of if len(keepers) == 1 else f'({any_of})'}{':' if key == TRACKING_ID else '$'}"
    return f"kubectl get {kubectl_name(resource)} -o jsonpath={sh(path)} | grep -qE {sh(whole)}"


def sync(app: AppRef) -> str:
    """A full sync: a sync of selected resources may leave old tracking data on objects with equal content."""
    return f"argocd app sync {sh(app.namespace)}/{sh(app.name)}"


def delete(app: AppRef) -> str:
    """Deletes the Application and leaves its objects, whatever its finalizers say."""
    return f"argocd app delete {sh(app.namespace)}/{sh(app.name)} --cascade=false"


def untrack(resource: ResourceId, key: str) -> str:
    """Remove tracking data, an annotation or a label, from the live object: then it has no owner, and no warning is shown."""
    return f"kubectl {'annotate' if key == TRACKING_ID else 'label'} {kubectl_name(resource)} {sh(key)}-"


def _freed(resource: ResourceId, tracked_by: str) -> Sequence[str]:
    """Commands for a new owner with FailOnSharedResource=true, which refuses to sync while the live object names another owner."""
    return (
        (
            "#    (FailOnSharedResource=true refuses that while the object names another owner)",
            untrack(resource, tracked_by),
        )
        if tracked_by
        else ()
    )


def steps(
    resource: ResourceId,
    keeper: AppRef | None,
    leavers: Sequence[AppRef],
    off: Sequence[str],
    release: str,
    tracked_by: str = "",
) -> list[str]:
    """Numbered lines in the order that never deletes the object; `off`: how each former owner stops rendering it; `release`: the command that removes the guard.

    `tracked_by`: the tracking data that blocks the keeper, see _freed.
    """
    return [
        f"# 1. Guard the live object, so that no step below deletes it (cluster {resource.cluster}):",
        guard(resource),
        "# 2. Commit, in one go:",
        *(f"#    - {line}" for line in off),
        "# 3. Sync those that let it go; the guard makes them answer `ignored (no prune)`:",
        *(sync(app) for app in leavers[:_SHOWN]),
        *([f"# ... and {len(leavers) - _SHOWN} more"] if len(leavers) > _SHOWN else ()),
        "# 4. Sync the one that keeps it, in full: that replaces the stray tracking data of the others:",
        *_freed(resource, tracked_by),
        sync(keeper) if keeper else "argocd app sync SHARED_APPLICATION",
        "# 5. Remove the guard again, which happens only once the object names its keeper:",
        release,
    ]


def take_over(resource: ResourceId, taker: AppRef, release: str, tracked_by: str = "") -> str:
    """The script that gives an object to an application that already renders it; `release` and `tracked_by` as in steps."""
    lines = (
        "# 1. Guard the live object, so that nothing prunes it:",
        guard(resource),
        "# 2. Let the other Application take it over; after that no one else has it to prune:",
        *_freed(resource, tracked_by),
        sync(taker),
        "# 3. Remove the guard again, which happens only once the object names its keeper:",
        release,
    )
    return "\n".join(lines) + "\n"
