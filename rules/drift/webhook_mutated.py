"""An admission webhook adds or rewrites fields

What it finds: a field that a mutating webhook or policy engine wrote (by its field manager), or that came out of the API
server different from what Argo CD sent in the very same request: the last applied configuration holds Git's value and the
field still belongs to Argo CD, so something on the way in changed it.

Why it hurts: every sync sends Git's value, the webhook changes it again, and the object never becomes Synced.

How to fix: write in Git what the webhook makes of it; or exclude the object from the webhook; or ignore the field, best by
its manager (`managedFieldsManagers`).

Example: a policy that rewrites `docker.io/...` images to a mirror.

Sources: argoproj/argo-cd#25260, #14035; docs/user-guide/diff-strategies.md (IncludeMutationWebhook).
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.applied import rewritten_on_arrival

from ._ca_bundles import by_the_patcher, injected
from ._defaults import is_default
from ._edits import write_live
from ._fields import finding, listing, matching, of_server, pointers, value, writer
from ._writers import is_sort, known


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for what a known mutator wrote to an object, one for what changed on the way in."""

    def on_arrival(resource: Resource, change: Change) -> bool:
        return not of_server(change) and rewritten_on_arrival(app, resource, change)

    for resource, changes in matching(app, _by_mutator):
        tool = known(changes[0].writer)
        assert tool is not None
        yield _finding(app, resource, changes, f"{tool.tool} ({writer(changes[0])}) made it so", "proven")
    for resource, changes in matching(app, on_arrival):
        yield _finding(app, resource, changes, _how(resource, changes), "likely")


def _finding(app: App, resource: Resource, changes: tuple[Change, ...], how: str, confidence: str) -> Finding:
    first = changes[0]
    return finding(
        app,
        resource,
        changes,
        f"{resource.id} holds {value(first, first.live)} at {listing(changes)} where Git says {value(first, first.desired)}: {how},"
        " and every sync starts it anew.",
        fixes=(
            None
            if _stored(resource, changes)
            else write_live(app, resource, changes, "Write in Git what the webhook makes of it"),
            narrowest_ignore(app, resource, pointers(changes)),
        ),
        confidence=confidence,
    )


def _how(resource: Resource, changes: tuple[Change, ...]) -> str:
    if _stored(resource, changes):
        return "the API server stores it for what is left out, and refuses it from a manifest"
    return "it changed on its way into the cluster, as by an admission webhook"


def _stored(resource: Resource, changes: tuple[Change, ...]) -> bool:
    return all(is_default("unwritable", resource, change) for change in changes)


def _by_mutator(resource: Resource, change: Change) -> bool:
    by_another_rule = injected(resource, change) or by_the_patcher(resource, change)
    return is_sort(change.writer, "mutator") and not by_another_rule


RULE = Rule(id="webhook-mutated", family="drift", severity="info", doc=__doc__, check=check, rank=Rank.WRITER)
