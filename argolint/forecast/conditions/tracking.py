"""Conditions on resource tracking, if an upgrade changes it from labels to annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint.application.app import App
from argolint.application.applied import by_argocd
from argolint.application.resource import Resource
from argolint.comparison import TRACKING_ID, last_applied, managers
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import Related
from argolint.values import annotations_of, dig, join_pointer, labels_of
from argolint.values.kubernetes import pod_spec


def _changes(world: World) -> bool:
    return world.fleet.tracking_method == "label" and world.after.tracking_method == "annotation"


def _fleet_tracked(world: World, args: Args) -> Iterator[Hit]:
    """The server tracks by label now, and by annotation after the upgrade: one hit for all applications."""
    apps = [app for app in world.fleet.apps if any(row.claimed for row in app.rows)]
    if not apps or not _changes(world):
        return
    first, *others = apps
    yield Hit(
        first.ref,
        None,
        "",
        {"count": f"{len(apps)} applications" if others else "1 application", "label": world.fleet.label_key},
        (f"tracking method: {world.fleet.tracking_method}, label {world.fleet.label_key}",),
        tuple(Related(other.ref, None, "", "other") for other in others),
        key="tracking",
    )


def _reads_extra(app: App, world: World, args: Args) -> bool:
    return _changes(world) and any(row.requires_pruning and not row.hook for row in app.rows)


def _orphaned(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Live objects that are not desired: only their label assigns them to the application.

    `applied`: those that Argo CD once applied and that left Git; the others got the label from a copy.
    """
    if not _changes(world):
        return
    for r in app.extra:
        bound = labels_of(r.live).get(world.fleet.label_key) == app.instance
        if bound and not annotations_of(r.live).get(TRACKING_ID) and _applied(r) == args["applied"]:
            fields = {"object": str(r.id), "app": str(app.ref), "label": world.fleet.label_key}
            yield Hit(app.ref, r.id, f"/metadata/labels{join_pointer(world.fleet.label_key)}", fields)


def _applied(r: Resource) -> bool:
    """Whether Argo CD applied this very object: by its field manager, or by the last-applied annotation."""
    if any(by_argocd(writer) for writer in managers(r.live or {})):
        return True
    applied = last_applied(r.live or {})
    return applied is not None and dig(applied, "metadata", "name") == r.name and applied.get("kind") == r.kind


def _reads_shared(app: App, world: World, args: Args) -> bool:
    return _changes(world) and bool(world.fleet.contests(app.ref))


def _shared(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects whose label names another application that renders them, too: they have no owner until one of the two syncs."""
    label = world.fleet.label_key
    for key in world.fleet.contests(app.ref) if _changes(world) else ():
        r = app.resource(key)
        other = labels_of(r.live).get(label) if r is not None else None
        if r is None or not other or other == app.instance or annotations_of(r.live).get(TRACKING_ID):
            continue
        also = {f"/metadata/labels{join_pointer(label)}"}
        alone = bool(r.changes) and all(change.pointer in also for change in r.changes)
        fields = {
            "object": str(r.id),
            "app": str(app.ref),
            "other": other.replace("_", "/"),
            "also": " and in sync" if alone else "",
        }
        yield Hit(app.ref, r.id, next(iter(also)), fields, (f"{label}: {other}",))


def _reads_renamed(app: App, world: World, args: Args) -> bool:
    return _changes(world) and any(_release(source) not in ("", app.instance) for source in app.sources)


def _release(source: Mapping[str, object]) -> str:
    return str(dig(source, "helm", "releaseName") or "")


def _label_returns(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects whose chart sets another instance label than Argo CD: the chart's label returns, and differs until a sync.

    Tracking by label overwrites the label of an object, but not that of a pod template, which therefore shows the chart's value; other objects
    of the chart show it, too.
    """
    names = {_release(source) for source in app.sources} - {"", app.instance}
    if not (names and _changes(world) and app.read and app.desired_known):
        return
    key = world.fleet.label_key
    own = [r for r in app.resources if labels_of(r.live).get(key) == app.instance == labels_of(r.desired).get(key)]
    says: dict[tuple[str, str], str] = {}
    for r in own:
        value = labels_of(dig(r.desired, "spec", "template") if pod_spec(r.desired)[0] else None).get(key)
        if value in names:
            says |= {chart: str(value) for chart in _charts(r)}
    found = [(r, value) for r in own if (value := next((says[c] for c in _charts(r) if c in says), ""))]
    if not found:
        return
    place = f"/metadata/labels{join_pointer(key)}"
    (first, value), *others = found
    more = f" and {len(others)} more objects" if len(others) > 1 else f" and {others[0][0].id}" if others else ""
    yield Hit(
        app.ref,
        first.id,
        place,
        {
            "object": f"{first.id}{more}",
            "verb": "turn" if others else "turns",
            "its": "their" if others else "its",
            "app": str(app.ref),
            "label": key,
            "value": value,
        },
        (f"{key} of the live objects: {app.instance}; of their chart: {value}",),
        tuple(Related(app.ref, r.id, place, "symptom") for r, _ in others),
    )


def _charts(r: Resource) -> list[tuple[str, str]]:
    """The labels that objects of one chart have in common."""
    labels = labels_of(r.desired)
    return [(name, labels[name]) for name in ("helm.sh/chart", "chart") if name in labels]


def _excluded(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects of kinds that the next argocd-cm excludes; `kinds` maps groups to kinds. Argo CD does not list kinds that it excludes now."""
    kinds: Mapping[str, list[str]] = args["kinds"]
    for r in app.resources:
        if not r.hook and not r.requires_pruning and r.kind in kinds.get(r.group, ()):
            kind = f"{r.group}/{r.kind}" if r.group else r.kind
            yield Hit(app.ref, r.id, "", {"object": str(r.id), "app": str(app.ref), "kind": kind})


CONDITIONS: Mapping[str, Condition] = {
    "label-tracking": Condition(of_fleet=_fleet_tracked, needs=("settings",)),
    "orphaned-by-tracking": Condition(of_app=_orphaned, reads=_reads_extra, needs=("settings",)),
    "instance-label-returns": Condition(of_app=_label_returns, reads=_reads_renamed, needs=("settings",)),
    "shared-by-label": Condition(of_app=_shared, reads=_reads_shared, needs=("settings",)),
    "excluded-kind": Condition(of_app=_excluded),
}
