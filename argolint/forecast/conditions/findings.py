"""Findings that depend only on how Argo CD tracks objects: their rules run again with the settings of the next version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from argolint.application.app import App
from argolint.application.rule import Rule
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.plugins import load_rules


def _rules(args: Args) -> Iterator[Rule]:
    known = _known()
    return (known[name] for name in args["value"] if name in known)


@cache
def _known() -> Mapping[str, Rule]:
    return load_rules()


def _changes(world: World) -> bool:
    return world.fleet.tracking_method != world.after.tracking_method


def _reads(app: App, world: World, args: Args) -> bool:
    if not _changes(world):
        return False
    return any(r.reads is not None and r.reads(app, world.fleet, r.default_options) for r in _rules(args))


def _ended_findings(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Findings of the rules `value` that exist now and would not with the next version's tracking."""
    if not _changes(world) or app.deleting:
        return
    for rule in _rules(args):
        if rule.check is None:
            continue
        later = {f.at for f in rule.check(app, world.tracked_later, rule.default_options)}
        for f in rule.check(app, world.fleet, rule.default_options):
            if f.at not in later:
                place = f"{f.at.resource} of {app.ref}" if f.at.resource else str(app.ref)
                fields = {"object": place, "app": str(app.ref), "value": rule.id, "method": world.after.tracking_method}
                yield Hit(app.ref, f.at.resource, f.at.pointer, fields, (f"today: {f.message}",))


CONDITIONS: Mapping[str, Condition] = {
    "finding-ends": Condition(of_app=_ended_findings, reads=_reads, needs=("settings",))
}
