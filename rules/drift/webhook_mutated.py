"""An admission webhook or a controller adds or rewrites fields

What it finds: a field that a mutating webhook or policy engine wrote (by its field manager), or that the API server stored differently from Argo
CD's own request. In that case the last applied configuration has Git's value and the field still belongs to Argo CD, so something changed it on
admission. As a warning, also a field that a controller of the cluster has written since, by its field manager: an operator that fills in or
corrects its own objects, or marks those of others.

Why it hurts: every sync sends Git's value, the webhook or the controller changes it again, and the object never becomes Synced.

How to fix: let a server-side diff count webhooks (`IncludeMutationWebhook=true`); or write the webhook's result in Git; or exclude the object from the
webhook; or ignore the field, best by its manager (`managedFieldsManagers`). Ignore a controller's fields, or leave them out of Git.

Example: a policy that rewrites `docker.io/...` images to a mirror.

Sources: argoproj/argo-cd#25260, #14035; docs/user-guide/diff-strategies.md (IncludeMutationWebhook).
"""

from collections.abc import Iterator
from functools import partial

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.application.applied import by_argocd, confirmed, not_yet_applied, rewritten_on_arrival, settled
from argolint.values import below, get

from ._ca_bundles import by_the_patcher, injected
from ._defaults import is_default
from ._edits import in_live_order, place, with_webhooks, write_live
from ._fields import finding, listing, matching, of_server, pointers, tracks, who
from ._grammar import in_another_order
from ._writers import filler, is_sort, known, maker, reconciles


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the fields of a known mutator in an object, one for fields that changed on admission."""

    def on_arrival(resource: Resource, change: Change) -> bool:
        return not of_server(change) and rewritten_on_arrival(app, resource, change)

    for resource, changes in matching(app, _by_mutator):
        tool = known(changes[0].writer)
        assert tool is not None
        yield _finding(app, resource, changes, tool.tool, "proven")
    for resource, changes in matching(app, on_arrival):
        yield _finding(app, resource, changes, _how(resource, changes), "likely")
    for resource, changes in matching(app, partial(_filled_in, app)):
        yield _finding(app, resource, changes, filler(resource), "likely")
    for resource, changes in matching(app, partial(_by_controller, app, fleet)):
        for manager in dict.fromkeys(change.writer.manager for change in changes if change.writer):
            own = tuple(change for change in changes if change.writer and change.writer.manager == manager)
            moved = tuple(change for change in own if in_another_order(change))
            other = tuple(change for change in own if change not in moved)
            yield from (_of_controller(app, resource, part) for part in (other, moved) if part)


def _of_controller(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    first = changes[0]
    end = "self-heal and it undo each other without end" if app.self_heal else "does so after each sync"
    unnamed = all(c.desired is not MISSING and get(resource.desired, c.pointer) is MISSING for c in changes)
    if unnamed:  # only a dry run has fields that the manifest lacks
        end = "Argo CD's dry run holds another value that Git does not set"
    if in_another_order(first):
        return finding(
            app,
            resource,
            changes,
            f"{who(first)} sorts {listing(changes, 'list')} of {resource.id} in its own order, and {end}.",
            fixes=(in_live_order(app, resource, changes), narrowest_ignore(app, resource, pointers(changes))),
            severity="warning",
            confidence="likely",
        )
    if (made := maker(resource)) and all(below(change.pointer, "/data") for change in changes):
        return finding(
            app,
            resource,
            changes,
            f"{made} makes {resource.id}, which Git renders too, so the two overwrite each other.",
            fixes=(
                Fix(
                    f"Stop rendering Secret {resource.name}, which {made} makes",
                    "manifest",
                    place(app),
                    Edit(
                        "text",
                        "In a chart look for a switch such as externalSecret, existingSecret, secretName or certManager.enabled.",
                    ),
                    "a prune may delete the Secret once: it is made again from the same object",
                    effects=("deletes",),
                ),
                narrowest_ignore(app, resource, pointers(changes)),
            ),
            severity="warning",
            confidence="likely",
        )
    what = f"{who(first)} {'removes' if first.live is MISSING else 'sets'} {listing(changes)} of {resource.id}"
    return finding(
        app,
        resource,
        changes,
        f"{what}, and {end}.",
        fixes=(
            narrowest_ignore(app, resource, pointers(changes)),
            None
            if unnamed or all(_moves(c) for c in changes)
            else write_live(app, resource, changes, "Or write in Git what the controller makes of it"),
        ),
        severity="warning",
        confidence="likely",
    )


def _moves(change: Change) -> bool:
    """True for a number that a controller moves: it will soon be another one."""
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (change.desired, change.live))


def _finding(app: App, resource: Resource, changes: tuple[Change, ...], how: str, confidence: str) -> Finding:
    first = changes[0]
    makes = "the webhook makes" if _by_mutator(resource, first) else "comes out"
    return finding(
        app,
        resource,
        changes,
        f"{how} changes {listing(changes)} of {resource.id}, so Git's value never stays.",
        fixes=(
            with_webhooks(app) if "ServerSideDiff=true" in app.compare_options else None,
            None
            if _stored(resource, changes)
            else write_live(app, resource, changes, f"Write in Git what {makes} of it"),
            narrowest_ignore(app, resource, pointers(changes)),
        ),
        confidence=confidence,
    )


def _how(resource: Resource, changes: tuple[Change, ...]) -> str:
    if _stored(resource, changes):
        return "The API server"
    return "The API server or a webhook"


def _stored(resource: Resource, changes: tuple[Change, ...]) -> bool:
    return all(is_default("unwritable", resource, change) for change in changes)


def _filled_in(app: App, resource: Resource, change: Change) -> bool:
    """True for masked content of an object that requests it from a webhook: there was no other writer since the last sync."""
    asked = change.masked and below(change.pointer, "/data") and bool(filler(resource))
    return asked and (change.writer is None or by_argocd(change.writer)) and settled(app)


def _by_controller(app: App, fleet: Fleet, resource: Resource, change: Change) -> bool:
    if not reconciles(resource, change.writer) or of_server(change) or tracks(change, fleet.label_key):
        return False
    return not (
        injected(resource, change)
        or by_the_patcher(resource, change)
        or confirmed(resource, change)
        or not_yet_applied(app, resource, change)
    )


def _by_mutator(resource: Resource, change: Change) -> bool:
    by_another_rule = injected(resource, change) or by_the_patcher(resource, change)
    return is_sort(change.writer, "mutator") and not by_another_rule


RULE = Rule(id="webhook-mutated", family="drift", severity="info", doc=__doc__, check=check, rank=Rank.WRITER)
