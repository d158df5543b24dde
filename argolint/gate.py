"""The pull-request gate: the same rules over the applications as they are and as a change will leave them.

    candidates → renders of base and head → App and head App → inspect both → join both → what is new, fixed, unchanged

A change answers for what it brings: findings that base has already are counted, an application that renders neither before
nor after is told, and values that no two renders share are taken as equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from argolint import argocd, engine, render, report, suppress, touched
from argolint.app import App, app_from_list
from argolint.diff import differences
from argolint.engine import AppResult, Chosen, Outcome, Plan
from argolint.errors import ApiError, ArgolintError, AuthError, UsageError
from argolint.fingerprint import fingerprint
from argolint.fleet import Fleet
from argolint.head import (
    Delta,
    Edited,
    Masks,
    Rendered,
    delta,
    failed_app,
    head_app,
    overlap,
    rendered,
    rendered_app,
    respecified,
    settled,
    tracked,
    unnamed,
    without_conditions,
)
from argolint.model import MISSING, AppRef, Failure, Finding, Json, Object, ResourceId, ResourceKey, Symptom
from argolint.rule import Want
from argolint.suppress import Wishes
from argolint.touched import DEFAULT_REVISIONS, Candidate, Git
from argolint.transport import Transport
from argolint.values import dig, get, show

_RENDERS_IN_FLIGHT = 4
"""A render costs the repo-server a Helm or Kustomize run; several gates may run at once."""


@dataclass(frozen=True)
class Change:
    """What is to be judged. `base` empty: the revision that most applications of the repository follow.

    git         a clone, to tell from the changed files what is touched
    rendered    a folder of manifests per application, in place of the server's render of head
    everything  every application of the repository, whatever the changed files say
    twice       render head once more, past the cache, to see what each render draws anew; its commit is deployed nowhere yet,
                so nothing adopts what that puts into the cache
    """

    repo: str
    head: str
    base: str = ""
    git: Git | None = None
    rendered: Path | None = None
    everything: bool = False
    twice: bool = False


@dataclass(frozen=True)
class Touched:
    """One application that the change touches, before and after, and what differs."""

    what: Literal["added", "removed", "changed", "failed", "same"]
    before: App | None
    after: App | None
    delta: Delta = field(default_factory=Delta)
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> AppRef:
        found = self.before or self.after
        assert found is not None
        return found.ref


@dataclass(frozen=True)
class Verdict:
    """`base` and `head` are whole outcomes of the same applications; `unlisted` says what was left out, and why."""

    fleet: Fleet
    base: Outcome
    head: Outcome
    base_name: str
    apps: tuple[Touched, ...]
    failures: tuple[Failure, ...]
    unlisted: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Finding, ...]:
        """Findings that base has not, in the order of every report; one that draws in another application is new to it."""
        known = {fingerprint(f): _parties(f) for f in self.base.findings}
        return tuple(f for f in self.head.findings if not _parties(f) <= known.get(fingerprint(f), frozenset()))

    @property
    def fixed(self) -> tuple[Finding, ...]:
        left = {fingerprint(f) for f in self.head.findings}
        return tuple(f for f in self.base.findings if fingerprint(f) not in left)

    def outcome(self, wishes: Wishes) -> Outcome:
        """What is new as an outcome of its own, suppressed where base's own annotations, configuration and baseline say so.

        Head's annotations do not count: a change cannot excuse itself.
        """
        new = replace(
            self.head,
            findings=self.new,
            failures=(*self.failures, *self.head.failures),
            apps=tuple(j.ref for j in self.apps),
            resources=sum(len(j.after.resources) for j in self.apps if j.after is not None),
            notes=self.base.notes,
        )
        done = suppress.apply(new, replace(wishes, whole=False))
        return replace(done, findings=tuple(f for f in done.findings if f.family != suppress.UNUSED.family))

    @property
    def unchanged(self) -> int:
        """Findings on both sides that name an application which the change touches."""
        refs = {t.ref for t in self.apps}
        known = {fingerprint(f) for f in self.head.findings} - {fingerprint(f) for f in self.new}
        return len({mark for f in self.base.findings if _parties(f) & refs and (mark := fingerprint(f)) in known})


def _parties(finding: Finding) -> frozenset[AppRef]:
    """The applications that a finding is about: all that a fleet finding names."""
    return frozenset((finding.at.app, *(r.app for r in finding.related if finding.key)))


@dataclass(frozen=True)
class _Renders:
    """What the two renders of one application gave: manifests, or why there are none."""

    candidate: Candidate
    base: Rendered | None = None
    head: Rendered | None = None
    again: tuple[Object, ...] | None = None
    base_error: str = ""
    head_error: str = ""
    failures: tuple[Failure, ...] = ()

    @property
    def differ(self) -> bool:
        return (self.base is None) != (self.head is None) or (
            self.base is not None and self.head is not None and self.base.manifests != self.head.manifests
        )


def judge(t: Transport, change: Change, plan: Plan) -> Verdict:
    """The verdict on a change. Raises UsageError when the repository has no application here, or the revisions are not there."""
    fleet, failures = engine.load_fleet(t)
    base_name = change.base or touched.usual_base(fleet, change.repo)
    found, others = touched.candidates(fleet, change.repo, base_name)
    found = tuple(c for c in found if plan.wanted(c.app, fleet))
    specs, children = _respecified(change, fleet, base_name)
    if not found and not others and not specs:
        raise UsageError(
            f"no application of {fleet.server} has a source in {change.repo}",
            "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
        )
    unlisted = [f"{_listed(a.ref for a in others)}: follows another revision than {base_name}"] if others else []
    if change.git is not None and not change.everything:
        changed = change.git.changed_files(base_name, change.head)
        found = tuple(c for c in found if touched.by_files(c, changed, change.git, change.head))
    with ThreadPoolExecutor(min(plan.workers, _RENDERS_IN_FLIGHT), thread_name_prefix="argolint") as pool:
        renders = tuple(pool.map(lambda c: _rendered(t, c, change, base_name, fleet), found))
    failures = (*failures, *(f for r in renders for f in r.failures))
    judged, more = _compared(t, renders, fleet, plan)
    failures = (*failures, *more)
    if broken := [r.candidate.app.ref for r in renders if r.base_error and r.head_error]:
        unlisted.append(f"{_listed(broken)}: renders neither at base nor at head, which is no failure of this change")
    judged = _with_children(judged, fleet, t, plan, specs, change.rendered)
    dull = [j.ref for j in judged if j.what == "same"]
    if dull:
        unlisted.append(
            f"{_listed(dull)}: differs only in values that no two renders share, or that follow a Secret's masked data"
        )
    judged = tuple(j for j in judged if j.what != "same")
    return _concluded(t, judged, fleet, plan, base_name, failures, (*unlisted, *children))


def _listed(refs: Iterable[AppRef]) -> str:
    names = [str(ref) for ref in refs]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")


# Renders


def _rendered(t: Transport, candidate: Candidate, change: Change, base: str, fleet: Fleet) -> _Renders:
    app = candidate.app
    found = _Renders(candidate)
    plain = all(
        (revision := str(source.get("targetRevision") or "")) == base or revision in DEFAULT_REVISIONS
        for source in candidate.sources
    )
    made = _attempt(t, candidate, "" if plain else base)
    found = replace(found, base_error=made) if isinstance(made, str) else found
    if isinstance(made, Failure):
        return replace(found, failures=(made,))
    if isinstance(made, tuple):
        found = replace(found, base=rendered(made, app, fleet))
    if change.rendered is not None:
        manifests = render.manifests_of(change.rendered, app.ref)
        if manifests is None:
            return replace(found, head=found.base, head_error=found.base_error)
        return replace(found, head=rendered([tracked(m, app, fleet) for m in manifests], app, fleet))
    made = _attempt(t, candidate, change.head)
    if isinstance(made, Failure):
        return replace(found, failures=(made,), head=found.base)
    if isinstance(made, str):
        return replace(found, head_error=made)
    again = _attempt(t, candidate, change.head, fresh=1) if change.twice else None
    return replace(found, head=rendered(made, app, fleet), again=again if isinstance(again, tuple) else None)


_BROKEN = (400, 404, 500)
"""How /manifests answers when the sources do not render: argument, path or revision not found, tool failed."""


def _attempt(t: Transport, candidate: Candidate, revision: str, fresh: int = 0) -> tuple[Object, ...] | str | Failure:
    """Manifests, why they do not render, or why that cannot be told. `revision` empty: what the application follows."""
    app = candidate.app
    several = bool(dig(app.spec, "sources")) and not dig(app.spec, "sourceHydrator")
    try:
        if not revision:
            return argocd.manifests(t, app.ref)
        if several:
            return argocd.manifests(t, app.ref, revisions=[(p, revision) for p in candidate.positions], fresh=fresh)
        return argocd.manifests(t, app.ref, revision=revision, fresh=fresh)
    except AuthError:
        raise
    except ApiError as error:
        if error.status in _BROKEN:
            return error.reason or error.message
        return Failure("manifests", error.message, error.hint, app.ref)
    except ArgolintError as error:
        return Failure("manifests", error.message, error.hint, app.ref)


# Before and after


def _compared(
    t: Transport, renders: Sequence[_Renders], fleet: Fleet, plan: Plan
) -> tuple[tuple[Touched, ...], tuple[Failure, ...]]:
    differing = [r for r in renders if r.differ]
    with ThreadPoolExecutor(plan.workers, thread_name_prefix="argolint") as pool:
        loaded = list(pool.map(lambda r: _loaded(t, r, fleet, plan), differing))
    failures = tuple(f for _, more in loaded for f in more)
    made = [_touched(r, app, fleet, plan) for r, (app, _) in zip(differing, loaded, strict=True)]
    return tuple(sorted(made, key=lambda j: j.ref)), failures


def _loaded(t: Transport, found: _Renders, fleet: Fleet, plan: Plan) -> tuple[App, tuple[Failure, ...]]:
    app = found.candidate.app
    if found.base is not None:
        app = replace(app, evidence={**app.evidence, Want("manifests"): found.base.manifests})
    return engine.load(t, app, fleet, plan, states=True)


def _touched(found: _Renders, app: App, fleet: Fleet, plan: Plan) -> Touched:
    if found.head is None:
        return Touched("failed", app, failed_app(app, found.head_error), notes=("It renders at base and not at head.",))
    if found.base is None:
        after = rendered_app(app, found.head, fleet)
        return Touched("changed", app, after, notes=("It does not render at base, so what changes cannot be told.",))
    masks = _masks(engine.inspect(app, fleet, plan.rules).findings, app, fleet, found)
    head = settled(unnamed(found.head, found.base), found.base, masks)
    change = delta(found.base, head)
    hooks = found.base.hooks != found.head.hooks
    same = found.base.repeated == found.head.repeated and not hooks
    if same and (not change or _only_drawn_anew(change)):
        return Touched("same", app, app)
    count = sum(len(pointers) for pointers in masks.values())
    notes = (f"{count} values differ between any two renders and are left out.",) if count else ()
    if hooks:
        notes = (*notes, "Hooks change; they are run by the next sync and are no part of the comparison.")
    after = head_app(app, change, head, fleet)
    if found.again is not None:
        after = replace(after, evidence={**after.evidence, Want("render"): (found.head.manifests, found.again)})
    return Touched("changed", app, after, change, notes)


def _masks(findings: Iterable[Finding], app: App, fleet: Fleet, renders: _Renders) -> Masks:
    """Where findings on base and two fresh renders, if there are, say that a value is drawn anew each time.

    A finding whose object the change removes says nothing about head: there the value may well be pinned.
    """
    head = renders.head
    assert head is not None
    found: dict[ResourceKey, set[str]] = {}

    def add(key: ResourceKey | None, pointer: str) -> None:
        if key is not None and pointer:
            found.setdefault(key, set()).add(pointer)

    for finding in findings:
        if finding.family != "nondeterminism" or finding.at.resource is None:
            continue
        if finding.at.resource.key not in head.objects:
            continue
        add(finding.at.resource.key, finding.at.pointer)
        for related in finding.related:
            if related.app == app.ref and related.resource is not None:
                add(related.resource.key, related.pointer)
        for claim in finding.explains:
            if claim.kind == "change":
                add(claim.resource, claim.detail)
    pairs = [app.evidence.get(Want("render")), (head.manifests, renders.again) if renders.again else None]
    for pair in filter(None, pairs):
        one, two = (rendered(manifests, app, fleet) for manifests in pair)
        for key, edit in delta(one, two).changed.items():
            for pointer in edit.pointers:
                add(key, pointer)
    return {key: frozenset(pointers) for key, pointers in found.items()}


def _only_drawn_anew(change: Delta) -> bool:
    """True when all that differs are annotations that look drawn: one word of equal length, with nothing that explains it.

    A checksum over a ConfigMap changes with the ConfigMap; one over a Secret changes with data that is masked.
    """
    return not (change.added or change.removed) and all(
        "/annotations/" in pointer and _drawn(get(edit.base, pointer), get(edit.head, pointer))
        for edit in change.changed.values()
        for pointer in edit.pointers
    )


def _drawn(one: Json, other: Json) -> bool:
    return (
        isinstance(one, str) and isinstance(other, str) and len(one) == len(other) and one.isalnum() and other.isalnum()
    )


# Applications that the change itself edits


def _respecified(change: Change, fleet: Fleet, base: str) -> tuple[Mapping[AppRef, Object], tuple[str, ...]]:
    """Application manifests in the checkout that head spells differently from base: by reference, None when removed."""
    if change.git is None:
        return {}, ()
    files = change.git.changed_files(base, change.head)
    before = {_ref(m, fleet): m for m in touched.applications_in(change.git, base, files)}
    after = {_ref(m, fleet): m for m in touched.applications_in(change.git, change.head, files)}
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    edited = {known[k]: m for k, m in after.items() if k in known and before.get(k) != m}
    told = [
        f"{k[0]}/{k[1]} is a new Application, which the server cannot render yet" for k in after.keys() - known.keys()
    ]
    told += [f"{k[0]}/{k[1]} is removed as an Application" for k in before.keys() - after.keys() if k in known]
    return edited, tuple(sorted(told))


def _ref(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))


def _with_children(
    judged: Sequence[Touched],
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    specs: Mapping[AppRef, Object],
    folder: Path | None,
) -> tuple[Touched, ...]:
    """Also the applications whose manifests a parent renders otherwise at head, or that a changed file holds."""
    edited: dict[AppRef, Object] = dict(specs)
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    by_ref = {j.ref: j for j in judged}
    for parent in judged:
        change = parent.delta
        for manifest in _applications(edit.head for edit in change.changed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = manifest
        for manifest in _applications(change.added.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = manifest
            else:
                new = _new_child(manifest, fleet, folder)
                by_ref[new.ref] = new
        for manifest in _applications(change.removed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                by_ref[ref] = _removed_child(fleet.by_ref[ref], fleet, t, plan)
    for ref, manifest in sorted(edited.items()):
        by_ref[ref] = _child(by_ref.get(ref), fleet.by_ref[ref], manifest, fleet, t, plan)
    return tuple(by_ref[ref] for ref in sorted(by_ref))


def _applications(objects: Iterable[Object]) -> Iterator[Object]:
    return (
        o for o in objects if o.get("kind") == "Application" and str(o.get("apiVersion")).startswith("argoproj.io/")
    )


def _child(found: Touched | None, listed: App, manifest: Object, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    if found is None or found.what in ("same", "removed") or found.after is None:
        app, _ = engine.load(t, listed, fleet, plan, states=True)
        found = Touched("changed", app, app)
    assert found.after is not None
    spec, metadata = manifest.get("spec") or {}, manifest.get("metadata") or {}
    notes = found.notes
    if any(spec.get(name) != listed.spec.get(name) for name in ("source", "sources", "destination")):
        notes = (*notes, "Its source or destination changes: what it will render is not known before the merge.")
    return replace(found, what="changed", after=respecified(found.after, spec, metadata, fleet), notes=notes)


def _new_child(manifest: Object, fleet: Fleet, folder: Path | None) -> Touched:
    """An Application that a parent brings. The server renders only what it has; a folder of renders may hold it."""
    raw = {**manifest, "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}}
    app = app_from_list(
        raw,
        server=fleet.server,
        cluster=fleet.cluster_of(manifest.get("spec") or {}),
        control_plane=fleet.control_plane,
        observed_at=fleet.apps[0].observed_at,
    )
    manifests = render.manifests_of(folder, app.ref) if folder is not None else None
    if manifests is None:
        return Touched("added", None, app, notes=("It is new: what it renders is not known before the merge.",))
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    change = delta(Rendered({}), head)
    return Touched("added", None, head_app(app, change, head, fleet), change)


def _removed_child(listed: App, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    """An Application that its parent lets go: with the resources finalizer its objects are deleted with it."""
    app, _ = engine.load(t, listed, fleet, plan, states=True)
    finalizers = dig(app.raw, "metadata", "finalizers") or ()
    if not any(str(f).startswith("resources-finalizer.argocd.argoproj.io") for f in finalizers):
        return Touched("removed", app, None, notes=("It has no resources finalizer, so its objects stay, unmanaged.",))
    gone = Delta(removed={r.key: r.desired for r in app.resources if r.desired is not None and not r.hook})
    pruning = {**app.spec, "syncPolicy": {"automated": {"prune": True}}}
    after = head_app(replace(app, raw={**app.raw, "spec": pruning}), gone, Rendered({}), fleet)
    return Touched("removed", app, after, gone, ("Its objects are deleted with it.",))


# Findings of both sides


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
    after = {j.ref: engine.gather(t, ahead.by_ref[j.ref], ahead, plan, gathered) for j in judged if j.after is not None}
    before_results: list[AppResult] = []
    after_results: list[AppResult] = []
    for j in judged:
        before = engine.inspect(j.before, fleet, plan.rules) if j.before is not None else AppResult(j.ref)
        result = engine.inspect(after[j.ref], ahead, plan.rules) if j.ref in after else AppResult(j.ref)
        before_results.append(before)
        after_results.append(_kept(before, result, j, plan.rules))
    with ThreadPoolExecutor(plan.workers, thread_name_prefix="argolint") as pool:
        for now, later, more in pool.map(lambda peer: _peer(t, peer, fleet, ahead, plan), _peers(judged, fleet)):
            before_results.append(now)
            after_results.append(later)
            gathered += more
    return Verdict(
        fleet,
        engine.join(before_results, plan.rules),
        engine.join(after_results, plan.rules),
        base_name,
        tuple(judged),
        tuple(dict.fromkeys((*failures, *gathered))),
        unlisted,
    )


def _peer(t: Transport, app: App, fleet: Fleet, ahead: Fleet, plan: Plan) -> tuple[AppResult, AppResult, list[Failure]]:
    """An application that the change leaves alone, in the fleet as it is and as it will be."""
    states = engine.needs_states(app, fleet, plan.rules) or engine.needs_states(app, ahead, plan.rules)
    loaded, failures = engine.load(t, app, fleet, plan, states=states)
    gathered = [*failures]
    later = engine.gather(t, replace(loaded, raw=ahead.by_ref[app.ref].raw), ahead, plan, gathered)
    return engine.inspect(loaded, fleet, plan.rules), engine.inspect(later, ahead, plan.rules), gathered


def _head_fleet(fleet: Fleet, judged: Sequence[Touched]) -> Fleet:
    """The fleet with the applications as head leaves them, and without warnings about objects that are shared no more."""
    after = {j.ref: j.after for j in judged}
    new = [j.after for j in judged if j.before is None and j.after is not None]
    apps = (*(app for a in fleet.apps if (app := after.get(a.ref, a)) is not None), *new)
    let_go = {(key.kind, key.name): j.ref for j in judged for key in j.delta.removed}
    if let_go:
        apps = tuple(_without_warnings(app, let_go) for app in apps)
    return replace(fleet, apps=apps)


def _without_warnings(app: App, let_go: Mapping[tuple[str, str], AppRef]) -> App:
    """controller/state.go: `<Kind>/<name> is part of applications <namespace>/<name> and <instance>`."""

    def cured(condition: Object) -> bool:
        subject, said, parties = str(condition.get("message") or "").partition(" is part of applications ")
        kind, _, name = subject.partition("/")
        ref = let_go.get((kind, name))
        return (
            bool(said) and condition.get("type") == "SharedResourceWarning" and ref is not None and ref.name in parties
        )

    raw = without_conditions(app.raw, cured)
    return app if raw is app.raw else replace(app, raw=raw)


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
        told = {fingerprint(f): f for f in (*error, *before.findings)}
        return replace(before, findings=tuple(told.values()))
    fallback = {c.rule.id for c in rules if c.rule.rank < 0}
    pruned = {Symptom("extra", key) for key in judged.delta.removed}
    by_mark = {fingerprint(f): f for f in before.findings}
    kept: dict[str, Finding] = {}
    for finding in after.findings:
        mark = fingerprint(finding)
        if mark in by_mark or not finding.explains:
            kept[mark] = finding
        elif not (finding.rule in fallback and set(finding.explains) <= pruned):
            earlier = [_earlier(claim, before.findings, judged.delta) for claim in finding.explains]
            if all(earlier):
                kept |= {fingerprint(f): f for f in earlier if f is not None}
            else:
                kept[mark] = finding
    return replace(after, findings=tuple(kept.values()))


def _earlier(claim: Symptom, before: Iterable[Finding], change: Delta) -> Finding | None:
    """Base's finding about the same symptom, unless the change itself touches the place."""
    edit = change.changed.get(claim.resource) if claim.resource else None
    if claim.kind == "change" and edit is not None and any(overlap(claim.detail, p) for p in edit.pointers):
        return None
    return next((f for f in before if any(old.covers(claim) for old in f.explains)), None)


# The report


def told(verdict: Verdict, change: Change) -> report.Gate:
    """The verdict for the report: counts, and what changes in each application."""
    return report.Gate(
        verdict.base_name,
        change.head,
        len(verdict.new),
        len(verdict.fixed),
        verdict.unchanged,
        tuple(_app_told(j) for j in verdict.apps),
        change.repo,
        tuple(report.finding(f) for f in verdict.fixed),
        verdict.unlisted,
    )


def _app_told(judged: Touched) -> report.GateApp:
    change = judged.delta
    rows: list[tuple[ResourceKey, Literal["added", "removed", "changed"], tuple[report.GateField, ...]]] = [
        *((key, "added", ()) for key in change.added),
        *((key, "removed", ()) for key in change.removed),
        *((key, "changed", tuple(_fields(edit))) for key, edit in change.changed.items()),
    ]
    changes = tuple(
        report.GateChange(report.resource(_id(key, judged)), what, fields)
        for key, what, fields in sorted(
            rows, key=lambda row: (row[0].kind, row[0].namespace, row[0].name, row[0].group)
        )
    )
    what = "changed" if judged.what == "same" else judged.what
    return report.GateApp(report.app(judged.ref), what, changes, judged.notes)


def _id(key: ResourceKey, judged: Touched) -> ResourceId:
    found = next((r for a in (judged.after, judged.before) if a is not None and (r := a.resource(key))), None)
    return found.id if found else ResourceId(key.group, key.kind, key.namespace, key.name, "", key.cluster)


def _fields(edit: Edited) -> Iterator[report.GateField]:
    for pointer, after, before in sorted(differences(edit.head, edit.base), key=lambda pair: pair[0]):
        sides = [None if side is MISSING else show(side, pointer, limit=200) for side in (before, after)]
        yield report.GateField(pointer, sides[0], sides[1])
