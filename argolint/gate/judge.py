"""The same rules over the applications as they are and as a change will leave them.

candidates → renders of base and head → App and head App → inspect both → join both → what is new, fixed, unchanged
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from msgspec import structs

from argolint.app import App
from argolint.engine.fingerprint import fingerprint
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.load import gather, load, load_fleet, needs_states
from argolint.engine.plan import AppResult, Chosen, Outcome, Plan
from argolint.errors import UsageError
from argolint.fleet import Fleet
from argolint.gate import candidates as touched
from argolint.gate.candidates import Change
from argolint.gate.children import Edits, edits_of, with_children
from argolint.gate.delta import Delta, overlap
from argolint.gate.refused import REFUSED_RULE, unknown_repositories
from argolint.gate.renders import render
from argolint.gate.touched import Touched, compared
from argolint.gate.verdict import Mark, Verdict, mark
from argolint.model import AppRef, Failure, Finding, ResourceKey, Symptom
from argolint.resource import Resource
from argolint.server.transport import Transport
from argolint.shared_warnings import SharedWarning, without_warnings
from argolint.values import enumerated, mapping

_UNJUDGED = "judge the change in its pull request, with --repo and --head; --allow-incomplete passes it here"
_RENDERS_IN_FLIGHT = 4
"""A render costs the repo-server a Helm or Kustomize run; several gates may run at once."""


class NoneHereError(UsageError):
    """The repository has no application on this Argo CD."""


def judge(t: Transport, change: Change, plan: Plan, *, alone: bool = True) -> Verdict:
    """The verdict on a change. Raises UsageError when the repository has no application here, or the revisions are not there.

    Where it is not judged here `alone`, manifests of Applications may be those of another Argo CD.
    """
    fleet, failures = load_fleet(t)
    base_name = change.base or touched.usual_base(fleet, change.repo)
    found, others = touched.candidates(fleet, change.repo, base_name)
    has_sources = bool(found or others)
    found = tuple(c for c in found if plan.wanted(c.app, fleet))
    if has_sources or change.by_files or (alone and base_name):
        edits = edits_of(change, fleet, base_name, alone=alone)
    else:
        edits = Edits()
    failures = (*failures, *edits.failures)
    if not (found or others or edits.edited or edits.new or change.by_files):
        raise NoneHereError(
            f"no application of {fleet.server} has a source in {change.repo}",
            "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
        )
    unlisted = [f"{_listed(a.ref for a in others)}: follows another revision than {base_name}"] if others else []
    files: dict[AppRef, tuple[str, ...]] = {}
    if change.git is not None:
        try:
            changed = [c.path for c in change.git.changes(base_name, change.head)]
            files = {c.app.ref: touched.by_files(c, changed, change.git, change.head) for c in found}
        except UsageError:
            if not change.everything:
                raise
        found = tuple(c for c in found if change.everything or files[c.app.ref])
    with ThreadPoolExecutor(min(plan.workers, _RENDERS_IN_FLIGHT), thread_name_prefix="argolint") as pool:
        renders = tuple(pool.map(lambda c: render(t, c, change, base_name, fleet), found))
    failures = (*failures, *(f for r in renders for f in r.failures))
    judged, more = compared(t, renders, fleet, plan)
    failures = (*failures, *more)
    given = change.rendered is not None and change.git is not None and not change.everything
    if given and (lacking := [r.candidate.app.ref for r in renders if r.unread]):
        unlisted.append(f"{_listed(lacking)}: changed files touch it, and --rendered holds nothing of that name")
    if broken := [r.candidate.app.ref for r in renders if r.base_error and r.head_error]:
        unlisted.append(f"{_listed(broken)}: renders neither at base nor at head, which is no failure of this change")
    judged = with_children(judged, fleet, t, plan, edits, change)
    if change.by_files:
        failures = (*failures, *(Failure("not judged", j.unjudged, _UNJUDGED, j.ref) for j in judged if j.unjudged))
    unchanged = [j.ref for j in judged if j.drawn_only]
    if unchanged:
        unlisted.append(
            f"{_listed(unchanged)}: differs only in values that no two renders share, or that follow a Secret's masked data"
        )
    judged = tuple(j for j in judged if not j.drawn_only)
    made = _concluded(t, judged, fleet, plan, base_name, failures, (*unlisted, *edits.notes))
    return replace(made, files=files)


def _listed(refs: Iterable[AppRef]) -> str:
    return enumerated([str(ref) for ref in refs], limit=5)


def _concluded(
    t: Transport,
    judged: Sequence[Touched],
    fleet: Fleet,
    plan: Plan,
    base_name: str,
    failures: tuple[Failure, ...],
    unlisted: tuple[str, ...],
) -> Verdict:
    ahead = _head_fleet(fleet, judged)
    gathered: list[Failure] = []
    after = {j.ref: gather(t, ahead.by_ref[j.ref], ahead, plan, gathered) for j in judged if j.after is not None}
    before_results: list[AppResult] = []
    after_results: list[AppResult] = []
    for j in judged:
        before = inspect(j.before, fleet, plan.rules) if j.before is not None else AppResult(j.ref)
        result = inspect(after[j.ref], ahead, plan.rules) if j.ref in after else AppResult(j.ref)
        if any(c.rule.id == REFUSED_RULE for c in plan.rules) and j.after is not None and j.respecified:
            result = replace(result, findings=(*result.findings, *unknown_repositories(j.after, fleet)))
        before_results.append(before)
        kept = _kept(before, result, j, plan.rules)
        if (then := after.get(j.ref)) is not None and j.before is not None:
            kept = replace(kept, findings=(*kept.findings, *_other_causes(j, then, before, fleet, ahead, plan)))
        after_results.append(kept)
    with ThreadPoolExecutor(plan.workers, thread_name_prefix="argolint") as pool:
        for now, later, more in pool.map(lambda peer: _peer(t, peer, fleet, ahead, plan), _peers(judged, fleet)):
            before_results.append(now)
            after_results.append(later)
            gathered += more
    families = {c.rule.id: c.rule.family for c in plan.rules}
    standing = frozenset(c.rule.id for c in plan.rules if c.rule.standing)
    return Verdict(
        (fleet,),
        plan.shown.of(_without(join(before_results, plan.rules), standing), families),
        plan.shown.of(_without(join(after_results, plan.rules), standing), families),
        base_name,
        tuple(judged),
        tuple(dict.fromkeys((*failures, *gathered))),
        unlisted,
    )


def _without(outcome: Outcome, rules: Set[str]) -> Outcome:
    """The outcome without what these rules tell: they have spoken for their symptoms, and are no news of a change."""
    return replace(outcome, findings=tuple(f for f in outcome.findings if f.rule not in rules))


def _peer(t: Transport, app: App, fleet: Fleet, ahead: Fleet, plan: Plan) -> tuple[AppResult, AppResult, list[Failure]]:
    """An application that the change leaves alone, in the fleet as it is and as it will be."""
    states = needs_states(app, fleet, plan.rules) or needs_states(app, ahead, plan.rules)
    loaded, failures = load(t, app, fleet, plan, states=states)
    gathered = [*failures]
    later = gather(t, replace(loaded, raw=ahead.by_ref[app.ref].raw), ahead, plan, gathered)
    return inspect(loaded, fleet, plan.rules), inspect(later, ahead, plan.rules), gathered


def _head_fleet(fleet: Fleet, judged: Sequence[Touched]) -> Fleet:
    """The fleet with the applications as head leaves them, and without warnings about objects that are shared no more."""
    after = {j.ref: j.after for j in judged}
    new = [j.after for j in judged if j.before is None and j.after is not None]
    apps = (*(app for a in fleet.apps if (app := after.get(a.ref, a)) is not None), *new)
    let_go = {(key.kind, key.name): j.ref for j in judged for key in j.delta.removed}
    if let_go:
        apps = tuple(without_ended_warnings(app, fleet, let_go) for app in apps)
    return fleet.with_apps(apps)


def without_ended_warnings(app: App, fleet: Fleet, let_go: Mapping[tuple[str, str], AppRef]) -> App:
    """The application without the warnings that end when one of the two parties lets the object go."""

    def is_over(warning: SharedWarning) -> bool:
        leaver, owner = let_go.get((warning.kind, warning.name)), fleet.app_of_instance(warning.owner)
        return leaver is not None and leaver in (app.ref, owner.ref if owner else None)

    return without_warnings(app, is_over)


def _peers(judged: Sequence[Touched], fleet: Fleet) -> Iterator[App]:
    """The other applications of the clusters on which objects come or go: what they share or look up may change with it."""
    clusters = {app.cluster for j in judged if (j.delta.added or j.delta.removed) and (app := j.before or j.after)}
    refs = {j.ref for j in judged}
    return (app for app in fleet.apps if app.cluster in clusters and app.ref not in refs)


def _kept(before: AppResult, after: AppResult, judged: Touched, rules: Sequence[Chosen]) -> AppResult:
    """Head's findings without those that a sync ends, and without new names for what base shows as well.

    When head does not render, base's findings still hold and only the failed render is added.
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
            earlier = [_earlier(claim, before.findings, judged.delta) for claim in finding.explains]
            if all(earlier):
                kept |= {mark(f): f for f in earlier if f is not None}
            else:
                kept[mark(finding)] = finding
    return replace(after, findings=tuple(kept.values()))


def _other_causes(
    judged: Touched, after: App, before: AppResult, fleet: Fleet, ahead: Fleet, plan: Plan
) -> Iterator[Finding]:
    """Why an edited object that fails today will fail for another reason as well.

    What a controller last wrote into its status speaks of the spec as it was, and hides what the edit breaks. So both sides are looked
    at once more without the status, and what only head shows counts.
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
            yield replace(finding, explains=())  # the symptom of today has its explanation


def _has_status(app: App, key: ResourceKey) -> bool:
    resource = app.resource(key)
    return resource is not None and bool(mapping(resource.live, "status"))


def _without_status(app: App, keys: Set[ResourceKey]) -> App:
    def bare(resource: Resource) -> Resource:
        if resource.key not in keys or resource.live is None:
            return resource
        return structs.replace(resource, live_state={k: v for k, v in resource.live.items() if k != "status"})

    return replace(app, resources=tuple(map(bare, app.resources)))


def _earlier(claim: Symptom, before: Iterable[Finding], change: Delta) -> Finding | None:
    """Base's finding about the same symptom, unless the change itself touches the place."""
    edit = change.changed.get(claim.resource) if claim.resource else None
    if claim.kind == "change" and edit is not None and any(overlap(claim.detail, p) for p in edit.pointers):
        return None
    return next((f for f in before if any(old.covers(claim) for old in f.explains)), None)
