"""Verifies fixes before they are printed: working ones are verified, others are dropped or say why they were not replayed.

An edit is replayed on the states of its application (`replay`), Helm values are verified by two renders (`renders`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.model import GONE, Effect, Fact, Finding, Fix, Object, ResourceKey
from argolint.proof import admitted, effects, handover, losses, needs
from argolint.proof.outcomes import CannotReplay, Contradicted, HidesRemovals, Loses, TakesTwoSyncs
from argolint.proof.renders import Render, render_again
from argolint.proof.replay import NO_CHECKS, Check, Checks, not_replayed_reason, patched, replay, replay_removal
from argolint.proof.syncs import ApplicationCache
from argolint.values import joined, owner_references, sh, text_at

__all__ = ["ApplicationCache", "Check", "Render", "played", "unreplayed_fix", "verify", "verify_together"]


def verify(
    fix: Fix,
    finding: Finding,
    app: App,
    fleet: Fleet,
    checks: Checks = NO_CHECKS,
    render: Render | None = None,
    cache: ApplicationCache | None = None,
) -> Fix:
    """The fix with its result: verified True, False (`unverified` says what contradicts it), or None (says why not replayed).

    `app`: the application whose manifest or Application object the fix edits, with its states; pass the same `cache` to verify several
    fixes of it. Helm values are verified with `render`: values that differed between two renders must then be equal.
    """
    fix, works = needs.fitted_fix(fix, (fleet.version,), app, fleet)
    if not works:
        return fix
    if unserved := needs.not_served_reason(fix, finding, app, fleet):
        return replace(fix, verified=False, unverified=unserved)
    fix = _of_chart(fix, finding, app)
    fix = _with_result(
        replace(fix, proof=None, caveat=_caveat(fix, app, fleet)), effects.edit_effects(fix, finding, app, fleet)
    )
    if fix.plays is not None and fix.edit.kind == "command":
        played = replace(fix, edit=fix.plays, target="live", plays=None)
        verdict = verify(played, finding, app, fleet, checks, None, cache)
        return replace(verdict, edit=fix.edit, target=fix.target, plays=fix.plays)
    known = ApplicationCache() if cache is None else cache
    found: set[Effect] = set()
    try:
        if render is not None and fix.target == "helm-values" and fix.edit.kind == "yaml":
            proven = render_again(fix, finding, app, render)
        elif fix.target == "manifest" and fix.plays == GONE and not app.unanswered:
            proven = replay_removal(fix, finding, app, checks)
        elif admitted.concerns(fix, finding):
            proven = admitted.admitted(finding, app, patched(fix, app.raw), fleet)
        else:
            if app.unanswered:
                raise CannotReplay(f"{' and '.join(sorted(app.unanswered))} of {app.ref} could not be read")
            try:
                proven = replay(fix, finding, app, fleet, checks, known, {}, found)
            except (Loses, TakesTwoSyncs) as lost:
                fix, kept = _with_extra_step(fix, lost, app, fleet)
                found.clear()
                proven = replay(fix, finding, app, fleet, checks, known, kept, found)
    except Contradicted as fault:
        return replace(fix, verified=False, unverified=str(fault))
    except CannotReplay as reason:
        return _unproven(fix, reason, app, found, rendered=render is not None)
    return _with_result(replace(fix, verified=True, unverified="", proof=proven.proof), {*found, *proven.effects})


def _unproven(fix: Fix, reason: CannotReplay, app: App, found: AbstractSet[Effect], *, rendered: bool) -> Fix:
    """The fix with the reason, and with the side effect and caveat that the reason shows."""
    why, caveat, shown = str(reason), fix.caveat, found
    match reason:
        case Loses():
            shown = {*found, "scales" if losses.REPLICAS in reason.pointers else "deletes"}
        case HidesRemovals():
            caveat = joined(caveat, "a field that leaves Git then shows no difference without ServerSideApply=true")
            shown = {*found, "hides"}
        case TakesTwoSyncs():
            caveat = joined(caveat, _second_sync_note(reason, app))
            shown = {*found, "needs-sync"}
        case _ if not rendered:
            why += _possible_reason(fix, app)
    return _with_result(replace(fix, verified=None, unverified=why, caveat=caveat), shown)


def _caveat(fix: Fix, app: App, fleet: Fleet) -> str:
    """The fix's own caveat, and one on what generates the Application that it edits."""
    sets = [str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"]
    by_command = any(each in command for command in (*fix.before, str(fix.edit.content)) for each in _SETS)
    in_spec = fix.target == "application" and fix.edit.kind in ("json-patch", "yaml")
    if not (by_command or in_spec):
        return fix.caveat
    if sets and by_command:
        advice = f"change the template of ApplicationSet {sets[0]} instead, which puts it back"
    elif sets:
        advice = "all Applications of the set get it"
    else:
        key = ResourceKey(IN_CLUSTER, "argoproj.io", "Application", app.ref.namespace, app.ref.name)
        makers = [ref for ref in fleet.owners(key) if ref != app.ref]
        advice = f"edit it in the source of application {makers[0]}, which puts it back" if makers else ""
    return joined(fix.caveat, advice)


_SETS = ("argocd app set ", " patch applications.argoproj.io ")
"""Commands that edit an Application in the cluster."""


def _second_sync_note(twice: TakesTwoSyncs, app: App) -> str:
    again = f"argocd app sync {sh(f'{app.ref.namespace}/{app.ref.name}')}"
    return f"the first sync also removes {twice.pointer}: sync again at once (`{again}`)"


def verify_together(
    fix: Fix,
    finding: Finding,
    facts: Sequence[Fact],
    rejoin: Callable[[Sequence[Fact]], Iterable[Finding]],
    played: Played,
    versions: Sequence[str] = (),
) -> Fix:
    """A fleet finding's fix with its result: from the trials of its applications, from the replay of the same edit for the object's own
    findings (`played`), else none. `versions`: those of their Argo CDs.
    """
    fix, works = needs.fitted_fix(fix, versions)
    if not works:
        return fix
    if not fix.trials:
        return _with_trial_result(fix, finding, facts, rejoin, played)
    found = {*effects.declared_effects(fix), *handover.trial_effects(fix, facts)}
    if why := handover.unverified_reason(fix, facts, rejoin):
        return _with_result(replace(fix, verified=None, unverified=why), found)
    return _with_result(replace(fix, verified=True, unverified="", proof="replayed"), found)


Played = Mapping[tuple[ResourceKey, str], Sequence[Fix]]
"""The fixes of applications' findings, by the manifest that they edit and the edit's content."""


def played(findings: Iterable[Finding]) -> Played:
    """The fixes that are JSON patches of manifests."""
    found: dict[tuple[ResourceKey, str], list[Fix]] = defaultdict(list)
    for finding in findings:
        for fix in finding.fixes:
            if (place := _edited(fix, finding)) is not None:
                found[place].append(fix)
    return found


def _edited(fix: Fix, finding: Finding) -> tuple[ResourceKey, str] | None:
    id_ = finding.edits(fix)
    of_manifest = fix.target == "manifest" and fix.edit.kind == "json-patch"
    return (id_.key, repr(fix.edit.content)) if of_manifest and id_ is not None else None


def _with_trial_result(
    fix: Fix,
    finding: Finding,
    facts: Sequence[Fact],
    rejoin: Callable[[Sequence[Fact]], Iterable[Finding]],
    played: Played,
) -> Fix:
    """The fix, verified if the same edit ends all findings of its object, and the rule no longer finds anything without that object."""
    place = _edited(fix, finding)
    same = played.get(place, ()) if place else ()
    if place is None or not same or not all(other.verified for other in same):
        return unreplayed_fix(fix)
    rest = [fact for fact in facts if fact.about != place[0]]
    if len(rest) == len(facts) or any(True for _ in rejoin(rest)):
        return unreplayed_fix(fix)
    found = {*effects.declared_effects(fix), *(effect for other in same for effect in other.effects)}
    return _with_result(replace(fix, verified=True, unverified="", proof="replayed"), found)


def unreplayed_fix(fix: Fix) -> Fix:
    """A fleet finding's fix, not replayed: no single application's states could verify it, and it says so; the rule may know a way."""
    why = fix.unverified or not_replayed_reason(fix) or "a finding about several applications is not replayed"
    return _with_result(replace(fix, verified=None, unverified=why), effects.declared_effects(fix))


def _with_extra_step(
    fix: Fix, lost: Loses | TakesTwoSyncs, app: App, fleet: Fleet
) -> tuple[Fix, Mapping[ResourceKey, Object]]:
    """The fix with the step that keeps what the next sync would remove, and the live object after that step.

    Raises CannotReplay if there is no such step.
    """
    live, before = lost.resource.live or {}, lost.resource.desired or {}
    pointers = lost.pointers if isinstance(lost, Loses) else losses.removed_items(fix)
    found = losses.without_last_applied(live, before, pointers) if pointers else None
    if found is None:
        raise lost
    kept, places = found
    again = "switch self-heal on again when the edit is synced" if app.self_heal else ""
    step = losses.last_applied_commands(app, lost.resource.id, places)
    fix = replace(fix, before=step, caveat=joined(fix.caveat, again))
    return replace(fix, caveat=_caveat(fix, app, fleet)), {lost.resource.key: kept}


def _possible_reason(fix: Fix, app: App) -> str:
    """Which flag could prove it, or why none can."""
    if fix.target != "helm-values" or fix.edit.kind != "yaml":
        return ""
    from argolint.sources.local_renders import not_local  # what runs git and helm takes a twentieth of the start

    return f"; {not_local(app) or '--helm-render can prove it'}"


_NOT_SAFE = frozenset({"restarts", "scales", "deletes", "hides"})


def _of_chart(fix: Fix, finding: Finding, app: App) -> Fix:
    """The fix with the chart that makes its object, which is in no repository of the reader's: a value, or a Kustomize patch over the chart, changes it."""
    makers = [source for source in app.sources if source.get("chart") or source.get("path")]
    chart = text_at(makers[0], "chart") if len(makers) == 1 else ""
    if not chart or fix.target != "manifest" or fix.where not in (str(fix.resource), str(finding.at.resource)):
        return fix
    return replace(fix, where=f"{fix.where}, made by chart {chart}")


def _with_result(fix: Fix, found: AbstractSet[Effect]) -> Fix:
    """The fix with these effects; it stays `safe` only if none of them restarts, scales, deletes or hides."""
    done = effects.ordered({*fix.effects, *found})
    safe = fix.safe and not _NOT_SAFE.intersection(done)
    return fix if (done, safe) == (fix.effects, fix.safe) else replace(fix, effects=done, safe=safe)
