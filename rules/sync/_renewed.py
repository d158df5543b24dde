"""A deletion in the foreground that never ends, since a controller makes the dependent again while its owner is being deleted."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Fix, Fleet, Node, Object, ResourceId
from argolint.edits import live_command
from argolint.relations.operator_version import version_of
from argolint.values import dig, items, parse_time
from argolint.values.kubernetes import kubectl_name

from ..shared.operators import external_secrets_upgrade

FOREGROUND = "foregroundDeletion"
_MAKES_NONE_SINCE = "v0.9.5"
"""External Secrets (pull request 2718)."""


def renewed_dependent(app: App, uid: str, live: Object | None) -> Node | None:
    """The dependent that is younger than the deletion of its owner, which waits for it to go; None if there is none."""
    since = parse_time(dig(live, "metadata", "deletionTimestamp"))
    if since is None or FOREGROUND not in items(live, "metadata", "finalizers"):
        return None
    return next((n for n in app.children(uid) if n.created_at is not None and n.created_at > since), None)


def renewal_fixes(app: App, fleet: Fleet, owner: ResourceId, made: Node) -> Iterator[Fix]:
    """The fixes: a controller that makes nothing while the owner is being deleted, and the end of this deletion."""
    if owner.group == "external-secrets.io" and version_of(app, fleet).at_least(_MAKES_NONE_SINCE) is not True:
        yield external_secrets_upgrade(
            f"{_MAKES_NONE_SINCE} or later, which makes no Secret for an {owner.kind} that is being deleted",
            f"An {owner.kind} that is no hook but has a sync wave is never deleted before a sync.\n",
        )
    yield live_command(
        owner,
        f"End this deletion: remove {FOREGROUND} from {owner.kind} {owner.name}",
        finalizer_removal(owner),
        f"the garbage collector then deletes {made.id.kind} {made.id.name} in the background",
    )


def finalizer_removal(id_: ResourceId) -> str:
    """The command that removes the finalizers."""
    return f"""kubectl patch {kubectl_name(id_)} --type=merge -p '{{"metadata":{{"finalizers":null}}}}'"""
