"""The effect of a change on objects that Applications of several Argo CDs share.

Facts of all Argo CDs meet in rules with `across`, and one of their findings may be about many objects of the same Applications. So news is
decided by object: what the same Applications shared before is old, whatever its finding says, and one more object is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from argolint.application.fleet import Claimant, Crossing, Fleet
from argolint.engine.crossings import JoinedServer, with_shared_objects
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.plan import Plan
from argolint.gate.examine import Examined
from argolint.gate.sides import GatedServer
from argolint.model import AppRef, Finding

Crossings = Mapping[AppRef, tuple[Crossing, ...]]


@dataclass(frozen=True)
class CrossingFindings:
    """Findings about what Applications of several Argo CDs share after a change, split by object: shared before, and newly shared."""

    old: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()


def with_crossings(members: Sequence[tuple[JoinedServer, GatedServer]]) -> list[GatedServer]:
    """The sides of all Argo CDs of a run, each fleet with what it shares with the others."""
    if not any(sides.judged for _, sides in members):
        return [sides for _, sides in members]
    fleets, _ = with_shared_objects([replace(member, fleet=_fleet_before(sides)) for member, sides in members])
    aheads, _ = with_shared_objects([replace(member, fleet=sides.fleet_after) for member, sides in members])
    return [
        replace(sides, fleet=replace(sides.fleet, crossings=fleet.crossings), fleet_after=ahead)
        for (_, sides), fleet, ahead in zip(members, fleets, aheads, strict=True)
    ]


def _fleet_before(gated: GatedServer) -> Fleet:
    """The fleet before the change, with the full applications in place of their list entries: the other side is built from these."""
    read = {j.ref: j.before for j in gated.judged if j.before is not None}
    return gated.fleet.with_apps(read.get(app.ref, app) for app in gated.fleet.apps)


def sharing_refs(gated_servers: Iterable[GatedServer]) -> frozenset[AppRef]:
    """The applications of all Argo CDs that share an object with one that the change touches, before or after it."""
    return frozenset(
        claimant.app
        for one in gated_servers
        for j in one.judged
        for fleet in (one.fleet, one.fleet_after)
        for found in fleet.crossings.get(j.ref, ())
        for claimant in (*found.claimants, *found.pruners)
    )


def crossing_findings(gated_servers: Sequence[GatedServer], found: Sequence[Examined], plan: Plan) -> CrossingFindings:
    """The findings of rules of several Argo CDs, split into old and new sharing."""
    old, new = _old_and_new(
        _all_crossings(one.fleet for one in gated_servers), _all_crossings(one.fleet_after for one in gated_servers)
    )
    if not (old or new):
        return CrossingFindings()
    anyway = _crossing_findings(gated_servers, found, plan, {}, after=True)
    return CrossingFindings(
        _crossing_findings(gated_servers, found, plan, old, after=False),
        tuple(f for f in _crossing_findings(gated_servers, found, plan, new, after=True) if f not in anyway),
    )


def _all_crossings(fleets: Iterable[Fleet]) -> Crossings:
    return {ref: crossings for fleet in fleets for ref, crossings in fleet.crossings.items()}


def _old_and_new(before: Crossings, after: Crossings) -> tuple[Crossings, Crossings]:
    """The shared objects after the change: those that the same applications, and perhaps more, shared before; and the others."""
    known = {(c.cluster, obj): c for crossings in before.values() for c in crossings for obj in c.objects}
    old: dict[AppRef, list[Crossing]] = defaultdict(list)
    new: dict[AppRef, list[Crossing]] = defaultdict(list)
    for ref, crossings in after.items():
        for one in crossings:
            kept = tuple(o for o in one.objects if _covers_parties(known.get((one.cluster, o)), one))
            added = tuple(o for o in one.objects if o not in kept)
            if kept:
                old[ref].append(replace(one, objects=kept))
            if added:
                new[ref].append(replace(one, objects=added))
    return _tuples(old), _tuples(new)


def _covers_parties(before: Crossing | None, after: Crossing) -> bool:
    """True if each party had its role before; a party that wanted the object and will prune it has a new one."""
    return (
        before is not None
        and _refs(after.claimants) <= _refs(before.claimants)
        and _refs(after.pruners) <= _refs(before.pruners)
    )


def _refs(claimants: Iterable[Claimant]) -> set[AppRef]:
    return {claimant.app for claimant in claimants}


def _tuples(found: Mapping[AppRef, Sequence[Crossing]]) -> Crossings:
    return {ref: tuple(crossings) for ref, crossings in found.items()}


def _crossing_findings(
    gated_servers: Sequence[GatedServer], found: Sequence[Examined], plan: Plan, crossings: Crossings, *, after: bool
) -> tuple[Finding, ...]:
    """The findings of the rules if the applications shared only these objects."""
    rules = [chosen for chosen in plan.rules if chosen.rule.across]
    results = []
    for one, examined in zip(gated_servers, found, strict=True):
        fleet = replace(one.fleet_after if after else one.fleet, crossings=crossings)
        apps = (later if after else earlier for earlier, later in examined.apps.values())
        results += [inspect(app, fleet, rules) for app in apps if app is not None]
    return join(results, rules).findings
