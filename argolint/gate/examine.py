"""Runs the rules on the applications that a change touches, and on related ones, before and after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from msgspec import structs

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.engine.inspect import inspect
from argolint.engine.load import needs_states, read_application, with_evidence
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.questions import Answers, RecordingFleet
from argolint.gate.delta import Delta, overlap
from argolint.gate.left_behind import LEFT_RULE, left_behind
from argolint.gate.refused import REFUSED_RULE, unknown_repositories
from argolint.gate.sides import GatedServer, named_line
from argolint.gate.touched import Touched
from argolint.gate.unchecked import unchecked
from argolint.gate.verdict import Mark, mark
from argolint.host.threads import each
from argolint.model import AppRef, Failure, Finding, ResourceKey, Symptom
from argolint.model.fingerprint import fingerprint
from argolint.model.results import AppResult
from argolint.server.transport import Transport
from argolint.values import mapping


@dataclass(frozen=True)
class Examined:
    """Results of the same applications on both sides.

    apps      those that were read and share objects with another Argo CD, as (before, after)
    unlisted  what was not read of applications that the change does not reach
    unchecked what only the cluster can answer about what the change brings
    """

    before: tuple[AppResult, ...]
    after: tuple[AppResult, ...]
    failures: tuple[Failure, ...]
    apps: Mapping[AppRef, tuple[App | None, App | None]]
    unlisted: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def examined(gated: GatedServer, plan: Plan, shared: Collection[AppRef] = ()) -> Examined:
    """Both sides of one Argo CD. `shared`: its applications that share objects with an application of another Argo CD that the change touches."""
    t, fleet, ahead, judged = gated.transport, gated.fleet, gated.fleet_after, gated.judged
    gathered: list[Failure] = []
    after = {j.ref: with_evidence(t, ahead.by_ref[j.ref], ahead, plan, gathered) for j in judged if j.after is not None}
    apps = {j.ref: (j.before, after.get(j.ref)) for j in judged}
    results = [(_result_before(j, fleet, plan), _result_after(j, after.get(j.ref), gated, plan)) for j in judged]
    before_results = [before for before, _ in results]
    after_results = [
        _changed_result(j, after.get(j.ref), *both, gated, plan) for j, both in zip(judged, results, strict=True)
    ]
    reached = {*shared, *_owners(judged, fleet)}
    aside: dict[str, list[AppRef]] = {}
    asked = _answers(fleet), _answers(ahead)
    for peer in each(_peers(judged, fleet, shared), lambda app: _peer_result(t, app, *asked, plan), plan.workers):
        before_results.append(replace(peer.before, failures=()))
        after_results.append(replace(peer.after, failures=()))
        for failure in peer.failures:
            if peer.before.ref in reached:
                gathered.append(failure)
            else:
                aside.setdefault(f"{failure.stage}: {failure.error}", []).append(peer.before.ref)
        apps[peer.before.ref] = peer.apps
    crossed = fleet.crossings.keys() | ahead.crossings.keys()
    kept = {ref: pair for ref, pair in apps.items() if ref in crossed}
    unlisted = tuple(line for why, refs in aside.items() for line in named_line(refs, f"{_ASIDE} ({why})"))
    found = [finding for result in after_results for finding in result.findings]
    open_ = (*gated.unchecked, *unchecked(t, judged, tuple(after.values()), fleet, ahead, found, gated.known))
    return Examined(tuple(before_results), tuple(after_results), tuple(gathered), kept, unlisted, open_)


_ASIDE = "not touched by the change, and not read fully"


def _owners(judged: Sequence[Touched], fleet: Fleet) -> Iterator[AppRef]:
    """The applications whose lists name an object that comes or goes."""
    for j in judged:
        for key in (*j.delta.added, *j.delta.removed):
            yield from fleet.owners(key)


def _result_before(judged: Touched, fleet: Fleet, plan: Plan) -> AppResult:
    return inspect(judged.before, fleet, plan.rules) if judged.before is not None else AppResult(judged.ref)


def _result_after(judged: Touched, app: App | None, gated: GatedServer, plan: Plan) -> AppResult:
    if app is None:
        return AppResult(judged.ref)
    result = inspect(app, gated.fleet_after, plan.rules)
    if judged.after is not None and judged.respecified and any(c.rule.id == REFUSED_RULE for c in plan.rules):
        result = replace(result, findings=(*result.findings, *unknown_repositories(judged.after, gated.fleet)))
    if judged.respecified and any(c.rule.id == LEFT_RULE for c in plan.rules):
        result = replace(result, findings=(*result.findings, *left_behind(judged, gated.fleet)))
    return result


def _changed_result(
    judged: Touched, app: App | None, before: AppResult, after: AppResult, gated: GatedServer, plan: Plan
) -> AppResult:
    kept = _lasting_result(before, after, judged, plan.rules)
    if app is None or judged.before is None:
        return kept
    others = _other_causes(judged, app, before, gated.fleet, gated.fleet_after, plan)
    return replace(kept, findings=(*kept.findings, *others))


@dataclass(frozen=True)
class _PeerResult:
    before: AppResult
    after: AppResult
    failures: tuple[Failure, ...]
    apps: tuple[App, App]


def _answers(fleet: Fleet) -> Answers:
    """What the fleet answers. An application that the change leaves alone is one object, and so has one mark, before and after it."""
    return Answers(fleet, {app.ref: str(id(app)).encode() for app in fleet.apps})


def _peer_result(t: Transport, app: App, asked: Answers, asked_after: Answers, plan: Plan) -> _PeerResult:
    """An untouched application, in the fleet before and after the change: one examination, where both answer all its questions alike."""
    fleet, ahead = RecordingFleet(asked), asked_after.fleet
    states = needs_states(app, fleet, plan.rules) or needs_states(app, ahead, plan.rules)
    loaded, failures = read_application(t, app, fleet, plan, states=states)
    before = inspect(loaded, fleet, plan.rules)
    fleet.note(app.ref)
    if all(asked_after.mark(question) == mark for question, mark in fleet.questions.items()):
        return _PeerResult(before, before, tuple(dict.fromkeys((*failures, *before.failures))), (loaded, loaded))
    gathered = [*failures]
    later = with_evidence(t, loaded.with_raw(ahead.by_ref[app.ref].raw), ahead, plan, gathered)
    after = inspect(later, ahead, plan.rules)
    every = dict.fromkeys((*gathered, *before.failures, *after.failures))
    return _PeerResult(before, after, tuple(every), (loaded, later))


def _has_other_claims(change: Delta) -> bool:
    """Whether objects come or go, or one writes another Secret than before."""
    return bool(change.added or change.removed) or any(
        key.kind == "ExternalSecret" and any(overlap(pointer, "/spec/target") for pointer in edit.pointers)
        for key, edit in change.changed.items()
    )


def _peers(judged: Sequence[Touched], fleet: Fleet, shared: Collection[AppRef]) -> Iterator[App]:
    """The other applications of the clusters on which objects are added, removed or write another Secret: what they share or look up may change.

    Also those that share objects with an application of another Argo CD.
    """
    clusters = {app.cluster for j in judged if _has_other_claims(j.delta) and (app := j.before or j.after)}
    refs = {j.ref for j in judged}
    return (a for a in fleet.apps if (a.cluster in clusters or a.ref in shared) and a.ref not in refs)


def _lasting_result(before: AppResult, after: AppResult, judged: Touched, rules: Sequence[ChosenRule]) -> AppResult:
    """Head's findings without those that a sync ends; a finding that base has under another name keeps base's name.

    If head does not render, base's findings remain and only the failed render is added.
    """
    if judged.what == "failed":
        error = [
            f
            for f in after.findings
            if any(c.kind == "condition" and "ComparisonError" in c.detail for c in f.explains)
        ]
        already = {mark(f): f for f in (*error, *before.findings)}
        return replace(before, findings=tuple(already.values()))
    fallback = {c.rule.id for c in rules if c.rule.rank < 0}
    pruned = {Symptom("extra", key) for key in judged.delta.removed}
    known = {fingerprint(f) for f in before.findings}
    kept: dict[Mark, Finding] = {}
    for finding in after.findings:
        if fingerprint(finding) in known or not finding.explains:
            kept[mark(finding)] = finding
        elif not (finding.rule in fallback and set(finding.explains) <= pruned):
            earlier = [_earlier_finding(claim, before.findings, judged.delta) for claim in finding.explains]
            if all(earlier):
                kept |= {mark(f): f for f in earlier if f is not None}
            else:
                kept[mark(finding)] = finding
    return replace(after, findings=tuple(kept.values()))


def _other_causes(
    judged: Touched, after: App, before: AppResult, fleet: Fleet, ahead: Fleet, plan: Plan
) -> Iterator[Finding]:
    """Findings on an edited object that already fails, if it will fail for another reason, too.

    The current status is about the old spec and hides what the edit breaks. So both sides are examined again without the status, and only
    findings of head alone count.
    """
    assert judged.before is not None
    failing = {f.at.resource.key for f in before.findings if f.at.resource is not None and f.cause}
    keys = {key for key in failing & judged.delta.changed.keys() if _has_status(judged.before, key)}
    if not keys:
        return
    known = {mark(f) for f in before.findings}
    subjects = {(f.rule, f.at.resource.key) for f in before.findings if f.at.resource is not None}
    sides = (_without_status(judged.before, keys), fleet), (_without_status(after, keys), ahead)
    old, new = (inspect(app, of, plan.rules).findings for app, of in sides)
    known |= {mark(f) for f in old}
    for finding in new:
        key = finding.at.resource.key if finding.at.resource is not None else None
        if key in keys and (finding.rule, key) in subjects and mark(finding) not in known:
            yield replace(finding, explains=())  # the current symptom already has its explanation


def _has_status(app: App, key: ResourceKey) -> bool:
    resource = app.resource(key)
    return resource is not None and bool(mapping(resource.live, "status"))


def _without_status(app: App, keys: Set[ResourceKey]) -> App:
    def bare(resource: Resource) -> Resource:
        if resource.key not in keys or resource.live is None:
            return resource
        return structs.replace(resource, live_state={k: v for k, v in resource.live.items() if k != "status"})

    return replace(app, resources=tuple(map(bare, app.resources)))


def _earlier_finding(claim: Symptom, before: Iterable[Finding], change: Delta) -> Finding | None:
    """Base's finding about the same symptom, unless the change itself touches the place."""
    edit = change.changed.get(claim.resource) if claim.resource else None
    if claim.kind == "change" and edit is not None and any(overlap(claim.detail, p) for p in edit.pointers):
        return None
    return next((f for f in before if any(old.covers(claim) for old in f.explains)), None)
