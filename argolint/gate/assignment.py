"""Assigns the manifests of a change to the Argo CDs that judge it: an Application does not name its Argo CD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from argolint.application.fleet import Fleet
from argolint.application.permissions import refusals
from argolint.gate.change import ManifestPair, Written
from argolint.gate.written import NEW, foreign_remark, is_live, ref_of, unrendered
from argolint.model import Failure, Object
from argolint.sources.same_application import whose
from argolint.values import dig, enumerated, mapping, plain

_NAME_IT = "name the one that it is for: --only, --server or --argocd-context"


@dataclass
class Assignment:
    """Each Argo CD's part of the manifests, in the order of the fleets; and failures and notes for manifests that belong to none."""

    own: list[Written]
    notes: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


def assignment(found: Written, fleets: Sequence[Fleet], coming: frozenset[str]) -> Assignment:
    """Assign the manifests of a change to Argo CDs. `coming`: names of projects that the change adds.

    An Application belongs to each Argo CD that has one of this name with the source and destination of the manifest before the change. A
    new one in named files belongs to the only Argo CD that would accept it. If one Argo CD judges, all are for it.
    """
    if len(fleets) == 1:
        return Assignment([found])
    applications: list[list[ManifestPair]] = [[] for _ in fleets]
    others: list[list[ManifestPair]] = [[] for _ in fleets]
    made = Assignment([], list(found.notes), list(found.failures))
    for pair in found.applications:
        takers, why = _positions_of_application(pair, fleets, coming, by_files=found.by_files)
        for number in takers:
            applications[number].append(pair)
        if why and found.by_files:
            made.failures.append(Failure("not judged", f"{plain(pair.file)}: {why[0]}", why[1]))
        elif why:
            made.notes.append(f"{'/'.join(ref_of(pair.manifest, fleets[0]))}: {why[0]}")
    for pair in found.others:
        takers = [number for number, fleet in enumerate(fleets) if _has_object(pair.manifest, fleet)]
        for number in takers:
            others[number].append(pair)
        if not takers and found.by_files and pair.manifest["kind"] == "ApplicationSet":
            made.failures += unrendered([pair], fleets[0])
        elif not takers:
            made.notes.append(foreign_remark(pair, fleets[0]))
    empty = replace(found, notes=(), failures=())
    made.own = [
        replace(empty, applications=tuple(a), others=tuple(o)) for a, o in zip(applications, others, strict=True)
    ]
    return made


def _positions_of_application(
    pair: ManifestPair, fleets: Sequence[Fleet], coming: frozenset[str], *, by_files: bool
) -> tuple[Sequence[int], tuple[str, str] | None]:
    """The positions of the fleets that have it; else the reason why none has, and what to do."""
    live = {
        number: app
        for number, fleet in enumerate(fleets)
        if (app := fleet.app(*reversed(ref_of(pair.manifest, fleet))))
    }
    if pair.before is None and (same := [n for n, app in live.items() if is_live(pair.manifest, app)]):
        return same, None
    if takers := whose(pair.manifest, {number: app.raw for number, app in live.items()}):
        return takers, None
    # a patch contains only the fields that it changes
    unsaid = pair.before is None or dig(pair.before, "spec", "destination") is None
    if unsaid and len(live) == 1:
        return tuple(live), None
    if pair.before == pair.after or pair.after is None:
        return (), None
    if live:
        names = enumerated([fleets[number].name for number in live])
        have = "has an Application of this name, which does not deploy"
        if len(live) > 1:
            have = "have Applications of this name, and none of them deploys"
        return (), (f"{names} {have} where the manifest says", _NAME_IT)
    return _positions_of_new(pair.after, fleets, coming) if by_files else ((), (NEW, ""))


def _positions_of_new(
    manifest: Object, fleets: Sequence[Fleet], coming: frozenset[str]
) -> tuple[Sequence[int], tuple[str, str] | None]:
    """The positions for an Application that none has: the only fleet that would accept it, by cluster and project."""
    spec = mapping(manifest, "spec")
    refused = [next(refusals(spec, fleet, coming), "") for fleet in fleets]
    takers = [number for number, reason in enumerate(refused) if not reason]
    if len(takers) == 1:
        return takers, None
    who = plain(f"Application {dig(manifest, 'metadata', 'name')}")
    if takers:
        return (), (f"{who} is new, and {enumerated([fleets[n].name for n in takers])} would take it", _NAME_IT)
    reasons = "; ".join(
        f"{enumerated([f.name for f, own in zip(fleets, refused, strict=True) if own == reason])}: {plain(reason)}"
        for reason in dict.fromkeys(refused)
    )
    return (), (f"{who} is new, and no Argo CD would accept it: {reasons}", f"correct it, or {_NAME_IT}")


def _has_object(manifest: Object, fleet: Fleet) -> bool:
    if manifest["kind"] == "AppProject":
        return str(dig(manifest, "metadata", "name")) in fleet.projects
    return any(ref_of(other, fleet) == ref_of(manifest, fleet) for other in fleet.application_sets)
