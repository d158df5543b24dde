"""An admission webhook or a controller adds or rewrites fields

What it finds: a field that a mutating webhook or policy engine wrote (by its field manager), or that the API server stored differently from Argo
CD's own request. In that case the last applied configuration has Git's value and the field still belongs to Argo CD, so something changed it on
admission. As a warning, also a field that a controller of the cluster has written since, by its field manager: an operator that fills in or
corrects its own objects, or marks those of others. And the fields of an Application that Argo CD Image Updater loses. And a value that a conversion webhook does not keep, since the CustomResourceDefinition stores
another version than Git writes.

Why it hurts: every sync sends Git's value, the webhook or the controller changes it again, and the object never becomes Synced.

How to fix: let a server-side diff count webhooks (`IncludeMutationWebhook=true`); or write the webhook's result in Git; or exclude the object from the
webhook; or ignore the field, best by its manager (`managedFieldsManagers`). Ignore a controller's fields, or leave them out of Git.

Example: a policy that rewrites `docker.io/...` images to a mirror.

Sources: argoproj/argo-cd#25260, #14035; argoproj-labs/argocd-image-updater#554, #593; docs/user-guide/diff-strategies.md (IncludeMutationWebhook).
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

from argolint import (
    MISSING,
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Rank,
    Resource,
    Rule,
    Symptom,
    Want,
    narrowest_ignore,
)
from argolint.application.applied import by_argocd, confirmed, not_yet_applied, rewritten_on_arrival, settled
from argolint.edits import manifest_patch
from argolint.values import below, get, index_of, join_pointer, split_pointer
from argolint.values.kubernetes import ITEM_NAMES
from argolint.values.quantities import countable

from ..shared.makers import controlling_owner, filling_webhook, second_maker
from ._ca_bundles import is_injected_bundle, is_set_by_patcher
from ._conversion import conversion_finding, conversion_wants, is_lost_in_conversion
from ._defaults import is_default
from ._edits import source_place, webhook_diff_fix
from ._fields import (
    Drift,
    drifts,
    is_server_set,
    is_tracking_mark,
    lists_with_more,
    writer_name,
)
from ._grammar import is_reordered_list
from ._image_updater import dropped_by_updater, updater_finding
from ._writers import (
    is_reconciling_controller,
    is_sort,
    is_webhook_configuration,
    known_writer,
)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The definitions of custom resources that are not stored as Git writes them."""
    yield from conversion_wants(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the fields of a known mutator in an object, one for fields that changed on admission."""

    def on_arrival(resource: Resource, change: Change) -> bool:
        if is_server_set(change) or is_lost_in_conversion(app, resource, change):
            return False
        return rewritten_on_arrival(app, resource, change)

    for drift in drifts(app, partial(is_lost_in_conversion, app)):
        yield conversion_finding(drift)
    for drift in drifts(app, _is_by_mutator):
        tool = known_writer(drift.changes[0].writer)
        assert tool is not None
        yield _finding(drift, tool.tool, "proven")
    for drift in drifts(app, on_arrival):
        yield _finding(drift, _writer_phrase(drift.resource, drift.changes), "likely")
    for drift in drifts(app, partial(_is_webhook_content, app)):
        yield _finding(drift, filling_webhook(drift.resource), "likely")
    for drift in drifts(app, partial(_is_by_maker, app, fleet)):
        maker = second_maker(app, fleet, drift.resource)
        if drift.resource.group == "argoproj.io" and drift.resource.kind == "Application":
            yield _generated_finding(drift, fleet, maker)
        else:
            yield _maker_finding(drift, maker)
    for _, resource, written in drifts(app, partial(_is_by_controller, app, fleet)):
        if dropped := dropped_by_updater(resource, written):
            yield updater_finding(Drift(app, resource, dropped))
        changes = tuple(change for change in written if change not in dropped)
        for manager in dict.fromkeys(change.writer.manager for change in changes if change.writer):
            own = tuple(change for change in changes if change.writer and change.writer.manager == manager)
            moved = tuple(change for change in own if is_reordered_list(change))
            other = tuple(change for change in own if change not in moved)
            yield from (_controller_finding(Drift(app, resource, part), fleet) for part in (other, moved) if part)


def _maker_finding(drift: Drift, maker: str) -> Finding:
    owned = bool(controlling_owner(drift.resource))
    return drift.finding(
        f"{maker} makes {drift.resource.id}, which Git renders too, so the two overwrite each other.",
        fixes=(
            Fix(
                f"Stop rendering {drift.resource.kind} {drift.resource.name}, which {maker} makes",
                "manifest",
                source_place(drift.app),
                Edit("text", _REMOVAL if drift.resource.kind == "Secret" else _removal_text(drift.resource, maker)),
                "" if owned else "a prune may delete the Secret once: it is created again from the same object",
                effects=() if owned else ("deletes",),
            ),
            drift.ignore(),
        ),
        severity="warning",
        confidence="likely",
    )


def _generated_finding(drift: Drift, fleet: Fleet, maker: str) -> Finding:
    """For an Application that an ApplicationSet generates: it takes Argo CD's tracking data off as well. Often it is the one that renders it."""
    app, resource, _ = drift
    own = (resource.namespace or app.ref.namespace, resource.name) == (app.ref.namespace, app.ref.name)
    found = _maker_finding(drift, maker)
    taken = tuple(
        Symptom.change(resource.id, c.pointer) for c in resource.changes if is_tracking_mark(c, fleet.label_key)
    )
    found = replace(found, explains=(*found.explains, *taken))
    if not own:
        return found
    rename = manifest_patch(
        resource.id,
        "Give the Application in Git another name",
        [{"op": "replace", "path": "/metadata/name", "value": f"{resource.name}-app"}],
        f"or let {maker} name the chart or folder that this Application deploys",
    )
    return replace(
        found,
        message=f"{app.name} renders an Application of its own name, so its sync and {maker} overwrite each other's spec.",
        fixes=(rename, *found.fixes[1:]),
    )


_REMOVAL = "Remove its manifest or its entry of a secretGenerator. In a chart look for a switch such as existingSecret, secretName or certManager.enabled."


def _removal_text(resource: Resource, maker: str) -> str:
    return f"Write what Git wants in {resource.kind} {resource.name} where its maker reads it: in {maker}, or in the resource that makes that one. Then remove the manifest of the {resource.kind}."


def _controller_finding(drift: Drift, fleet: Fleet) -> Finding:
    app, resource, changes = drift
    first = changes[0]
    end = "self-heal and it undo each other without end" if app.self_heal else "does so after each sync"
    if is_reordered_list(first):
        return drift.finding(
            f"{writer_name(first)} sorts {drift.places('list')} of {resource.id} in its own order, and {end}.",
            fixes=(drift.write_order(), drift.ignore()),
            severity="warning",
            confidence="likely",
        )
    what = f"{writer_name(first)} {'removes' if first.live is MISSING else 'sets'} {drift.places()} of {resource.id}"
    moving = all(_is_moving_number(change) for change in changes)
    counted = moving and all(split_pointer(c.pointer)[-1] == "generation" for c in changes)
    ignore = _ignore_fix(app, fleet, resource, _lists_as_wholes(drift))
    fixes: tuple[Fix | None, ...] = (
        drift.drop("Leave the counter out of Git") if counted else None,
        ignore,
        None if moving else drift.write_live("Or write into Git what the controller sets"),
    )
    if all(_is_rounded_up(change) for change in changes):
        title = "Write in Git the size that the controller rounds it to"
        fixes = (drift.write_live(title), ignore)
    return drift.finding(
        f"{what}, and {end}.",
        fixes=fixes,
        severity="warning",
        confidence="likely",
    )


def _ignore_fix(app: App, fleet: Fleet, resource: Resource, places: tuple[str, ...]) -> Fix:
    """The ignore entry; without the option to respect it where that would keep, and then apply, the outer list with all that live added to it."""
    fix = narrowest_ignore(app, resource, places)
    inner = any(index_of(token) is not None for place in places for token in split_pointer(place))
    if not inner or fleet.at_least(2, 11) or not fleet.at_least(2, 3):
        return fix
    (edit, _), *older = fix.older
    caveat = "hides every change of these fields; each sync still writes Git's value, until its writer is back"
    return replace(fix, edit=edit, caveat=caveat, older=tuple(older))


def _lists_as_wholes(drift: Drift) -> tuple[str, ...]:
    """The places to ignore: a list of nameless maps as a whole if it has more items on one side, since an index then means two items.

    Also one in which more differs than is shown, since that would show later; a counter alone is ignored by itself.
    """
    mixed = (
        () if all(_is_moving_number(change) for change in drift.changes) else lists_with_more(drift.app, drift.resource)
    )

    def place(pointer: str) -> str:
        if above := next((each for each in mixed if below(pointer, each)), ""):
            return above
        tokens = split_pointer(pointer)
        for depth in range(1, len(tokens) + 1):
            above = join_pointer(*tokens[: depth - 1])
            sides = [get(side, above, None) for side in (drift.resource.normalized, drift.resource.predicted)]
            lists = [side for side in sides if isinstance(side, list)]
            nameless = any(
                not any(key in item for key in ITEM_NAMES) for side in lists for item in side if isinstance(item, dict)
            )
            if len(lists) == 2 and nameless and len(lists[0]) != len(lists[1]):
                return above
        return pointer

    return tuple(dict.fromkeys(place(change.pointer) for change in drift.changes))


def _is_moving_number(change: Change) -> bool:
    """True for a number that a controller moves: it will soon be another one."""
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (change.desired, change.live))


def _is_rounded_up(change: Change) -> bool:
    """True for a quantity that a controller rounds up to what its volumes have: it stays, and a later change of the size is Git's again."""
    wanted, given = countable(change.desired), countable(change.live) if isinstance(change.live, str) else None
    return wanted is not None and given is not None and 0 < wanted < given <= wanted * Decimal("1.05")


def _finding(drift: Drift, how: str, confidence: str) -> Finding:
    first = drift.changes[0]
    makes = f"{how} makes" if _is_by_mutator(drift.resource, first) else "comes out"
    return drift.finding(
        f"{how} changes {drift.places()} of {drift.resource.id}, so Git's value never stays.",
        fixes=(
            webhook_diff_fix(drift.app) if "ServerSideDiff=true" in drift.app.compare_options else None,
            None
            if _is_unwritable(drift.resource, drift.changes)
            else drift.write_live(f"Write in Git what {makes} of it"),
            drift.ignore(),
        ),
        confidence=confidence,
    )


def _writer_phrase(resource: Resource, changes: tuple[Change, ...]) -> str:
    if _is_unwritable(resource, changes):
        return "The API server"
    if all(change.pointer.endswith("/image") for change in changes):
        return "A webhook"
    return "The API server or a webhook"


def _is_unwritable(resource: Resource, changes: tuple[Change, ...]) -> bool:
    return all(is_default("unwritable", resource, change) for change in changes)


def _is_webhook_content(app: App, resource: Resource, change: Change) -> bool:
    """True for masked content of an object that requests it from a webhook: there was no other writer since the last sync."""
    is_requested = change.masked and below(change.pointer, "/data") and bool(filling_webhook(resource))
    return is_requested and (change.writer is None or by_argocd(change.writer)) and settled(app)


def _is_by_maker(app: App, fleet: Fleet, resource: Resource, change: Change) -> bool:
    """True for content of an object that a controller makes from another one; Argo CD does not restore its owner's."""
    content = below(change.pointer, "/data") or bool(controlling_owner(resource))
    if not content or (change.writer is not None and by_argocd(change.writer)) or is_server_set(change):
        return False
    return bool(second_maker(app, fleet, resource)) and not is_tracking_mark(change, fleet.label_key)


def _is_by_controller(app: App, fleet: Fleet, resource: Resource, change: Change) -> bool:
    if (
        not is_reconciling_controller(resource, change.writer)
        or _is_by_maker(app, fleet, resource, change)
        or is_server_set(change)
        or is_tracking_mark(change, fleet.label_key)
    ):
        return False
    return not (
        is_injected_bundle(resource, change)
        or is_set_by_patcher(resource, change)
        or confirmed(resource, change)
        or not_yet_applied(app, resource, change)
    )


def _is_by_mutator(resource: Resource, change: Change) -> bool:
    by_another_rule = is_injected_bundle(resource, change) or is_set_by_patcher(resource, change)
    admitted = not is_webhook_configuration(resource)
    return is_sort(change.writer, "mutator") and admitted and not by_another_rule


RULE = Rule(**Rule.page(__name__), severity="info", check=check, wants=wants, rank=Rank.WRITER)
