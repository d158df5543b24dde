"""One application before and after a change: which objects are compared, and which differences are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.inspect import inspect
from argolint.engine.load import read_application
from argolint.engine.plan import Plan
from argolint.gate.delta import Delta, Masks, delta, only_regenerated, with_base_names, with_base_values
from argolint.gate.head import failed_app, head_app, rendered_app, with_hooks
from argolint.gate.renders import Renders
from argolint.host.threads import each
from argolint.model import AppRef, Failure, Finding, ResourceKey, Want
from argolint.server.transport import Transport
from argolint.sources.rendered import rendered


@dataclass(frozen=True)
class DeletingSet:
    """The ApplicationSet that deletes an Application: its generators no longer produce it, or the set itself is `removed`.

    `is_certain`: the policy of its controller is known. `kept_too_late`: the change itself gives the set `preserveResourcesOnDeletion`.
    """

    of: str
    removed: bool = False
    is_certain: bool = True
    kept_too_late: bool = False


@dataclass(frozen=True)
class Touched:
    """One application that the change touches, before and after, with the differences; `regenerated_only`: only generated values differ.

    `respecified`: its own spec changes. `unjudged`: what is not known before the merge, one sentence. `by`: the ApplicationSet that deletes
    it.
    """

    what: Literal["added", "removed", "changed", "failed"]
    before: App | None
    after: App | None
    delta: Delta = field(default_factory=Delta)
    notes: tuple[str, ...] = ()
    regenerated_only: bool = False
    unjudged: str = ""
    respecified: bool = False
    by: DeletingSet | None = None

    @property
    def ref(self) -> AppRef:
        found = self.before or self.after
        assert found is not None
        return found.ref


def compared_applications(
    t: Transport, renders: Sequence[Renders], fleet: Fleet, plan: Plan
) -> tuple[tuple[Touched, ...], tuple[Failure, ...]]:
    differing = [r for r in renders if r.differ]
    loaded = each(differing, lambda r: _loaded_application(t, r, fleet, plan), plan.workers)
    failures = tuple(f for _, more in loaded for f in more)
    made = [_touched_application(r, app, fleet, plan) for r, (app, _) in zip(differing, loaded, strict=True)]
    return tuple(sorted(filter(None, made), key=lambda j: j.ref)), failures


def _loaded_application(t: Transport, found: Renders, fleet: Fleet, plan: Plan) -> tuple[App, tuple[Failure, ...]]:
    app = found.candidate.app
    if found.base is not None:
        app = replace(app, evidence={**app.evidence, Want("manifests"): found.base.manifests})
    return read_application(t, app, fleet, plan, states=True)


def touched_application(t: Transport, found: Renders, fleet: Fleet, plan: Plan) -> Touched:
    """One application by both of its renders; unchanged if nothing differs."""
    app, _ = _loaded_application(t, found, fleet, plan)
    return _touched_application(found, app, fleet, plan) or Touched("changed", app, app)


def _touched_application(found: Renders, app: App, fleet: Fleet, plan: Plan) -> Touched | None:
    """The touched application; None if nothing differs after all."""
    ahead, base = found.head, found.base
    if ahead is None:
        return Touched("failed", app, failed_app(app, found.head_error), notes=("It renders at base and not at head.",))
    if base is None and not found.base_error and app.read and app.desired_known:
        states = tuple(r.desired for r in app.resources if r.desired is not None)
        base = replace(rendered(states, app, fleet), hooks=ahead.hooks)
    if base is None:
        after = rendered_app(app, ahead, fleet)
        return Touched(
            "changed", app, after, notes=("It does not render at base, so its changes cannot be determined.",)
        )
    findings = [f for f in inspect(app, fleet, plan.rules).findings if f.family == "nondeterminism"]
    random, pinned = _regenerated_masks(findings, app, fleet, found)
    named = with_base_names(ahead, base)
    head = with_base_values(named, base, random)
    change = delta(base, head)
    hooks = base.hooks != named.hooks
    same = base.repeated == ahead.repeated and not hooks
    if same and (not change or only_regenerated(change)) and not _becomes_random(found, app, fleet):
        return Touched("changed", app, app, regenerated_only=True) if _change_count(delta(base, named)) else None
    count = _change_count(delta(base, named)) - _change_count(change)
    notes = (f"{count} values differ between any two renders and are left out.",) if count else ()
    if hooks:
        notes = (*notes, "Hooks change; they are run by the next sync and are no part of the comparison.")
    after = head_app(app, change, head, fleet)
    if hooks:
        app, after = with_hooks(app, base.hooks), with_hooks(after, named.hooks)
    evidence = dict(after.evidence)
    if found.again is not None:
        evidence[Want("render")] = (ahead.manifests, found.again)
    elif pinned:
        evidence[Want("render")] = None  # two renders of base show nothing about what head has pinned
    after = replace(after, evidence=evidence)
    return Touched("changed", app, after, change, notes)


def _becomes_random(found: Renders, app: App, fleet: Fleet) -> bool:
    """True if two renders of head differ and two of the current revision do not; False if either pair is missing."""
    before = app.evidence.get(Want("render"))
    if not before or not found.again or found.head is None:
        return False
    known, new = (
        {(key, p) for key, e in delta(*(rendered(m, app, fleet) for m in pair)).changed.items() for p in e.pointers}
        for pair in (before, (found.head.manifests, found.again))
    )
    return bool(new - known)


def _change_count(change: Delta) -> int:
    return sum(len(edit.pointers) for edit in change.changed.values())


def _regenerated_masks(findings: Iterable[Finding], app: App, fleet: Fleet, renders: Renders) -> tuple[Masks, bool]:
    """The pointers with generated values: from findings on base, and from fresh renders if there are some.

    If the change removes the finding's object, the finding shows nothing about head, where the value may be pinned (the second result).
    """
    head = renders.head
    assert head is not None
    found: dict[ResourceKey, set[str]] = {}
    pinned: set[tuple[ResourceKey, str]] = set()
    for finding in findings:
        places = set(_pointers(finding, app))
        if finding.at.resource is not None and finding.at.resource.key in head.objects:
            for key, pointer in places:
                found.setdefault(key, set()).add(pointer)
        else:
            pinned |= places
    pairs = [app.evidence.get(Want("render")), (head.manifests, renders.again) if renders.again else None]
    for pair in filter(None, pairs):
        one, two = (rendered(manifests, app, fleet) for manifests in pair)
        for key, edit in delta(one, two).changed.items():
            found.setdefault(key, set()).update(p for p in edit.pointers if (key, p) not in pinned)
    return {key: frozenset(pointers) for key, pointers in found.items()}, bool(pinned)


def _pointers(finding: Finding, app: App) -> Iterator[tuple[ResourceKey, str]]:
    """All places in this application that a finding is about."""
    if finding.at.resource is not None and finding.at.pointer:
        yield finding.at.resource.key, finding.at.pointer
    for related in finding.related:
        if related.app == app.ref and related.resource is not None and related.pointer:
            yield related.resource.key, related.pointer
    for claim in finding.explains:
        if claim.kind == "change" and claim.resource is not None and claim.detail:
            yield claim.resource, claim.detail
