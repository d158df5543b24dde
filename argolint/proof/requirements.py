"""What must hold of an object after an edit, else the fix is not verified: no difference, nothing lost, no refusal, no other render."""

from __future__ import annotations

from collections.abc import Mapping

from argolint.application.app import App
from argolint.comparison import compare
from argolint.comparison.ignore import disputed, matches_object, removed
from argolint.model import MISSING, Finding, Fix, Object, ResourceKey, Want
from argolint.proof import losses
from argolint.proof.outcomes import CannotReplay, Contradicted, HidesRemovals, Loses, SyncFails, TakesTwoSyncs
from argolint.proof.pairs import Pair
from argolint.proof.renders import Place, is_named, places_named
from argolint.proof.syncs import ObjectState, SyncTerms, object_state, synced_state
from argolint.proof.touched import is_effective
from argolint.values import get
from argolint.values.kubernetes import is_secret_data


def require_no_differences(state: ObjectState, pair: Pair) -> None:
    """Raise unless no claimed difference remains and no new one appears."""
    for pointer in state.comparison.pointers:
        claimed = pair.claims(pointer)
        if not claimed and pointer in pair.today.shown:
            continue
        if state.next_sync is not None and pointer not in state.next_sync.pointers:
            raise TakesTwoSyncs(pair.resource, pointer)
        if claimed:
            raise Contradicted(f"{pointer} of {pair.resource.id} would still differ")
        if state.rerendered:
            raise CannotReplay(f"another render changes {pointer} of {pair.resource.id} as well")
        raise Contradicted(f"{pointer} of {pair.resource.id} would newly differ")


def require_dry_run(app: App, pair: Pair, terms: SyncTerms, *, judged: bool) -> None:
    """Raise CannotReplay unless the API server certainly accepts a dry run of the object, and sees what later commits remove.

    A refused dry run prevents the comparison of the whole application (gitops-engine pkg/diff/diff.go, serverSideDiff).
    """
    if not terms.server_side:
        raise HidesRemovals
    if app.operation is not None and app.operation.failed and not judged:
        raise CannotReplay("the API server may refuse the dry run of an object as it has refused the last sync")
    unclaimed = (p for p in sorted(pair.today.shown) if not pair.claims(p))
    if other := next((p for p in unclaimed if get(pair.desired, p) is not MISSING), ""):
        raise CannotReplay(
            f"whether the API server takes the dry run of {pair.resource.id} is not known: Git changes {other} too"
        )


def require_kept(fix: Fix, pair: Pair, live: Object, desired: Object, terms: SyncTerms, before: SyncTerms) -> None:
    """Raise Loses or CannotReplay if the next sync, or a later commit, may remove another writer's value."""
    synced = synced_state(live, desired, terms)
    gone = tuple(losses.lost_fields(fix, pair.desired, desired, live, synced)) if fix.target == "manifest" else ()
    if gone:
        raise Loses(pair.resource, gone)
    if fix.target != "application":
        return
    if terms.rules.ignore != before.rules.ignore:
        shown = compare.compare(live, desired, terms.rules, terms.strategy).pointers
        for pointer in sorted(pair.today.shown.difference(shown)):
            if get(live, pointer) != get(synced, pointer):
                raise CannotReplay(f"the next sync still overwrites {pointer} of {pair.resource.id}")
            sent = compare.sent(live, desired, terms.rules, respect_ignored=terms.respect_ignored)
            if losses.is_sent_whole(pointer, sent, live):
                raise CannotReplay(
                    f"a sync sends the list of {pointer} of {pair.resource.id} whole, without what its other writer has put there"
                )
    newly = _newly_respected(pair, live, desired, terms, before)
    if newly and (closed := losses.closed_list(newly, desired, lambda d: synced_state(synced, d, terms))):
        raise CannotReplay(
            f"no later commit to {closed} of {pair.resource.id} would arrive: RespectIgnoreDifferences keeps such a list whole"
        )


def _newly_respected(pair: Pair, live: Object, desired: Object, terms: SyncTerms, before: SyncTerms) -> frozenset[str]:
    """The fields whose live value a sync keeps from now on, including those of existing rules without the option before."""
    if not terms.respect_ignored:
        return frozenset()
    known = frozenset(before.rules.ignore if before.respect_ignored else ())
    rules = [
        rule
        for rule in terms.rules.ignore
        if rule not in known and is_effective(rule) and matches_object(rule, desired)
    ]
    kept = {pointer for side in (live, desired) for pointer in removed(side, *rules)}
    return frozenset({*kept, *disputed(live, desired, rules), *(pair.claimed if rules else ())})


def require_no_sync(pair: Pair, live: Object, desired: Object, terms: SyncTerms) -> None:
    """Raise SyncFails unless the edit alone ends the differences."""
    shown = object_state(live, desired, terms).comparison.pointers
    if any(map(pair.claims, shown)) or not pair.claimed:
        raise SyncFails


def require_render_alike(
    finding: Finding, app: App, touched: Mapping[ResourceKey, ObjectState], random: frozenset[Place]
) -> None:
    """Raise unless the fix covers all fields that the finding calls generated; for masked values, two renders are needed."""
    for key, pointer in sorted(place for place in random if is_named(place, places_named(finding, app))):
        if key not in touched:
            raise CannotReplay(f"another render changes {pointer} of {key.kind} {key.name} as well")
    if app.evidence.get(Want("render")):
        return
    if is_masked_claimed(finding, app):
        raise CannotReplay(
            "Argo CD masks the values, and what follows from them shows in two renders only: --render-twice"
        )


def is_masked_claimed(finding: Finding, app: App) -> bool:
    claims = ((app.resource(claim.resource), claim.detail) for claim in finding.explains if claim.resource)
    return any(resource is not None and is_secret_data(resource, pointer) for resource, pointer in claims)
