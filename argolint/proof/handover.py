"""Replays the hand-over of a shared object to one application, for each application on its own states.

The order is that of the fixes' scripts: a guard on the live object, one commit, a sync of those that drop the object, a sync of the one
that keeps it, removal of the guard. Each application is replayed when its states are available, and its Fact has the result for the join,
so merging shards needs no server (ADR 23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Listed, Resource
from argolint.application.shared_warnings import without_warnings
from argolint.comparison.ignore import without
from argolint.model import AppRef, Effect, Fact, Finding, Fix, ResourceKey, Trial
from argolint.proof import effects
from argolint.proof.outcomes import CannotReplay, Contradicted, NotRendered, SyncFails
from argolint.proof.renders import Render, require_left_out
from argolint.proof.syncs import (
    ObjectState,
    application_after,
    object_state,
    shown_differences,
    sync_terms,
    synced_state,
)
from argolint.values import annotations_of, join_pointer
from argolint.values.kubernetes import SYNC_OPTIONS, is_secret

Collect = Callable[[App, Fleet], Iterable[Fact]]
"""The rule's facts on one application of a fleet."""

GUARD = "Prune=false,Delete=false"
"""With this option in the live object's sync-options, neither a prune nor the deletion of an application deletes the object."""


def with_trials(
    fact: Fact,
    app: App,
    fleet: Fleet,
    collect: Collect,
    others: Callable[[App], Iterable[Finding]],
    render: Render | None = None,
) -> Fact:
    """The fact with a result for each of its trials. `others`: findings of any rule that do not exist now."""
    played = (_tried_trial(trial, fact, app, fleet, collect, others) for trial in fact.trials)
    return replace(fact, trials=tuple(_rendered_trial(trial, app, render) for trial in played))


def _rendered_trial(trial: Trial, app: App, render: Render | None) -> Trial:
    """The trial with the outcome of a render: confirmed if the render shows what it assumes; else what the render shows."""
    if render is None or not trial.values or trial.why != "":
        return trial
    try:
        require_left_out(trial.values, trial.resource.key, app, render)
    except NotRendered:
        return trial
    except (CannotReplay, Contradicted) as reason:
        return replace(trial, why=str(reason))
    return replace(trial, open="")


def _tried_trial(
    trial: Trial, fact: Fact, app: App, fleet: Fleet, collect: Collect, others: Callable[[App], Iterable[Finding]]
) -> Trial:
    key = trial.resource.key
    try:
        if (owners := len(fleet.owners(key))) > _MOST_OWNERS:
            raise CannotReplay(f"{owners:,} Applications list the object, and at most {_MOST_OWNERS} are replayed")
        resource = _known_object(app, key)
        state, found = _synced_under_guard(resource, app, fleet)
        if trial.part == "release":
            after, found = _released_application(app, key), frozenset()
        elif state.comparison.modified:
            raise CannotReplay(f"{state.comparison.pointers[0]} of {resource.id} would still differ")
        else:
            after = application_after(app, app.raw, {key: state})
        after = without_warnings(after, lambda w: (w.kind, w.name) == (resource.kind, resource.name))
        for other in others(after):
            raise CannotReplay(f"{other.rule} would then have a finding on {app.ref}")
        if any(
            other.key == fact.key
            for other in collect(after, _fleet_after(fleet, key, app, released=trial.part == "keep"))
        ):
            raise CannotReplay(f"{app.ref} would still share it")
    except CannotReplay as reason:
        return replace(trial, why=str(reason))
    return replace(trial, why="", effects=effects.ordered(found))


_MOST_OWNERS = 50
"""Most owners: each is tried with all others."""


def _known_object(app: App, key: ResourceKey) -> Resource:
    resource = app.resource(key)
    if resource is None or not app.read or not app.desired_known or not resource.live or not resource.desired:
        raise CannotReplay(f"the states of the object in {app.ref} are not known")
    if is_secret(resource.id):
        raise CannotReplay("Argo CD masks the data of Secrets")
    if app.operation is not None and app.operation.failed:
        raise SyncFails
    if "FailOnSharedResource=true" in app.sync_options:
        raise CannotReplay(f"FailOnSharedResource refuses the syncs of {app.ref} as long as another owner is named")
    return resource


def _synced_under_guard(resource: Resource, app: App, fleet: Fleet) -> tuple[ObjectState, frozenset[Effect]]:
    """The object after a sync with the guard and its removal, and the other effects of that sync.

    Raises CannotReplay if a sync removes the guard.
    """
    live, desired = resource.live or {}, resource.desired or {}
    cache = shown_differences(resource, live, desired, app, fleet)
    if cache is None:
        raise CannotReplay(f"argolint's own comparison of {resource.id} does not agree with Argo CD's")
    terms = sync_terms(app.raw, desired, cache.server_side, fleet)
    metadata = {**live["metadata"], "annotations": {**annotations_of(live), SYNC_OPTIONS: GUARD}}
    synced = synced_state({**live, "metadata": metadata}, desired, terms)
    if annotations_of(synced).get(SYNC_OPTIONS) != GUARD:
        raise CannotReplay(f"a sync of {app.ref} takes the guard off the object again")
    free = without(synced, "/metadata/annotations" + join_pointer(SYNC_OPTIONS))
    moved = effects.sync_effects(resource.kind, live, synced, lambda: live)
    return object_state(free, desired, terms), frozenset(moved)


def _released_application(app: App, key: ResourceKey) -> App:
    """The application after it neither renders nor owns the object."""
    left = tuple(resource for resource in app.resources if resource.key != key)
    if not any(resource.claimed for resource in left):
        raise CannotReplay(f"it is the only object of {app.ref}, and automated sync refuses to leave none")
    return application_after(replace(app, resources=left), app.raw, {})


def _fleet_after(fleet: Fleet, key: ResourceKey, app: App, *, released: bool) -> Fleet:
    """The fleet of the applications that list the object, after all others have `released` it."""
    refs = {*fleet.owners(key), app.ref}
    some = (fleet.by_ref[ref] for ref in sorted(refs) if ref in fleet.by_ref)
    return fleet.with_apps(_without_row(a, key) if released != (a.ref == app.ref) else a for a in some)


def _without_row(app: App, key: ResourceKey) -> App:
    if not isinstance(app.resources, Listed):
        return replace(app, resources=tuple(r for r in app.resources if r.key != key))
    rows = tuple(r for r in app.resources.rows if (r.group, r.kind, r.namespace, r.name) != key[1:])
    return replace(app, resources=Listed(rows, app.cluster))


def unverified_reason(fix: Fix, facts: Sequence[Fact], rejoin: Callable[[Sequence[Fact]], Iterable[Finding]]) -> str:
    """Why the trials of several applications do not verify a fix; empty if they do."""
    known: Mapping[tuple[AppRef, str], Trial] = {(f.app, t.part): t for f in facts for t in f.trials}
    for ref, part in fix.trials:
        trial = known.get((ref, part))
        if trial is None or trial.why is None:
            return f"{ref} was not read far enough to replay its part"
        if trial.why:
            return trial.why
    for ref, part in fix.trials:
        if rests_on := known[ref, part].open:
            return rests_on
    taking_part = {ref for ref, _ in fix.trials}
    rest = [fact for fact in facts if fact.app not in taking_part]
    return "other applications still share the object" if rest and any(True for _ in rejoin(rest)) else ""


def trial_effects(fix: Fix, facts: Sequence[Fact]) -> frozenset[Effect]:
    """The side effects of the parts of a fix."""
    parts = set(fix.trials)
    return frozenset(e for f in facts for t in f.trials if (f.app, t.part) in parts for e in t.effects)
