"""Conditions on differences: every object is compared again in the way of the upgraded Argo CD.

An object is predicted only if argolint's comparison reproduces what Argo CD shows now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import Strategy, has_sync_option, rules_of, strategy_of
from argolint.comparison.compare import compare
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import ResourceKey
from argolint.proof.syncs import shown_differences
from argolint.redaction import excerpt
from argolint.values import at_and_above, below, common_pointer, join_pointer, maps, text_at
from argolint.values.kubernetes import is_secret
from argolint.values.patterns import regex

_TRACKING = "/metadata/annotations/argocd.argoproj.io~1tracking-id"


def _reads(app: App, world: World, args: Args) -> bool:
    """Applications whose comparison changes: by the strategy, or by rules for kinds that they have."""
    if not app.desired_known:
        return False
    if _options_count(app, world):
        return True
    if world.fleet.settings is world.after.settings:
        return _ids_count(app, world) and bool(world.fleet.contests(app.ref))
    return any(row.kind == "CustomResourceDefinition" for row in app.rows) or app.sync_status == "OutOfSync"


def _ids_count(app: App, world: World) -> bool:
    """Whether tracking ids of other applications begin to count: this version replaces a live one before the comparison, the next does not."""
    before = rules_of(app.raw, world.fleet.settings, world.fleet.version)
    return before.tracking != rules_of(app.raw, world.after.settings, world.after.version).tracking


def _options_count(app: App, world: World) -> bool:
    return strategy_of(app.raw, {}, world.fleet.version) is not strategy_of(app.raw, {}, world.after.version)


def _differences(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects whose differences appear or disappear (`value`) when Argo CD compares as its next version does."""
    way: Literal["comes", "goes"] = args["value"]
    if not app.read or not app.desired_known:
        return
    for r in app.resources:
        comes, goes, _ = app.derive(_pointers, world, r.key) if _is_different(r) else _NOTHING
        pointers = comes if way == "comes" else goes
        if not pointers:
            continue
        place = common_pointer(pointers)
        yield Hit(
            app.ref,
            r.id,
            place,
            {
                "object": str(r.id),
                "app": str(app.ref),
                "at": place or "several places",
                "also": ", with which the application turns Synced"
                if way == "goes" and _applied_last(app, world)
                else "",
            },
            tuple(f"{p} {'differs' if way == 'comes' else 'no longer differs'}" for p in pointers[:8]),
        )


def _is_different(r: Resource) -> bool:
    """Whether the object may differ: a cheap test, before its states are decoded."""
    return not (r.hook or is_secret(r.id) or r.missing or r.extra) and r.compared


_Pointers = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_NOTHING: _Pointers = ((), (), ())


def _pointers(app: App, world: World, key: ResourceKey) -> _Pointers:
    """The pointers that appear, disappear and stay; none if the current status is not understood.

    If the tracking method changes, tracking fields have their own conditions and are left out here.
    """
    r = app.resource(key)
    if r is None or r.live is None or r.desired is None:
        return _NOTHING
    fleet, after = world.fleet, world.after
    rules = rules_of(app.raw, after.settings, after.version)
    now, then = strategy_of(app.raw, r.desired, fleet.version), strategy_of(app.raw, r.desired, after.version)
    if now is then and rules == rules_of(app.raw, fleet.settings, fleet.version):
        return (), (), tuple(change.pointer for change in r.changes)
    today = shown_differences(r, r.live, r.desired, app, fleet)
    if today is None:
        return (), (), tuple(change.pointer for change in r.changes)
    strategy = Strategy.SERVER_SIDE if today.server_side else then
    tracked = fleet.tracking_method != after.tracking_method
    label = "/metadata/labels" + join_pointer(fleet.label_key)
    before, tomorrow = (
        frozenset(p for p in pointers if not (tracked and (below(p, _TRACKING) or p == label)))
        for pointers in (today.shown, compare(r.live, r.desired, rules, strategy).pointers)
    )
    goes = _only(before, tomorrow)
    return _only(tomorrow, before), goes, tuple(sorted(today.shown - set(goes)))


def _only(these: frozenset[str], those: frozenset[str]) -> tuple[str, ...]:
    """The pointers of `these` that no pointer of `those` overlaps."""
    covered = {place for p in those for place in at_and_above(p)}
    return tuple(sorted(p for p in these if p not in covered and not any(q in those for q in at_and_above(p))))


def _applied_last(app: App, world: World) -> bool:
    """Whether the application has no other difference left."""
    for r in app.resources:
        if r.status != "OutOfSync":
            continue
        if not _is_different(r):
            return False
        comes, _, stays = app.derive(_pointers, world, r.key)
        if comes or stays:
            return False
    return True


_UNDECLARED = regex(r"error building typed value from live resource: \.?(\S{1,300}): field not declared in schema")


def _schema(app: App, world: World, args: Args) -> Iterator[Hit]:
    """An application that cannot be compared because Argo CD's built-in schema of a kind is older than the cluster's.

    The structured merge needs a schema: status fields no longer matter once every status is ignored (3.0), and the errors end with the
    structured merge (3.6).
    """
    for condition in app.conditions:
        found = _UNDECLARED.search(condition.message) if condition.type == "ComparisonError" else None
        if found is None:
            continue
        way = world.steps["argocd"]
        ignored = world.after.settings is not world.fleet.settings and found[1].startswith("status.")
        gone = way.to >= (3, 6) and has_sync_option(app.raw, None, "ServerSideApply=true")
        if ignored or gone:
            yield Hit(
                app.ref,
                None,
                "",
                {"app": str(app.ref), "at": found[1]},
                (f"condition {condition.type}: {excerpt(condition.message, 300)}",),
            )
            return


def _refused(app: App, world: World, args: Args) -> Iterator[Hit]:
    """An object that the API server refuses, in an application that will be compared server-side.

    One refused dry run prevents the comparison of the whole application (gitops-engine pkg/diff/diff.go, serverSideDiff); objects that are
    not live yet are not sent.
    """
    operation = app.operation
    if operation is None or not operation.failed or not app.desired_known or not _options_count(app, world):
        return
    refused = {
        (text_at(x, "group"), text_at(x, "kind"), text_at(x, "namespace"), text_at(x, "name")): text_at(x, "message")
        for x in maps(operation.raw, "syncResult", "resources")
        if x.get("status") == "SyncFailed"
    }
    for r in app.resources:
        message = refused.get((r.group, r.kind, r.namespace, r.name))
        if message is not None and r.live is not None and r.desired is not None and r.modified:
            fields = {"object": str(r.id), "app": str(app.ref)}
            yield Hit(app.ref, r.id, "", fields, (f"last sync: {excerpt(message, 300)}",))


CONDITIONS: Mapping[str, Condition] = {
    "difference": Condition(of_app=_differences, reads=_reads),
    "dry-run-refused": Condition(of_app=_refused, reads=_reads),
    "schema-refusal": Condition(of_app=_schema),
}
