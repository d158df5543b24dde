"""The states of an object after an edit: now, after the next sync, after the other writer has written again, and after another render."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint.comparison import compare
from argolint.comparison.ignore import without
from argolint.model import MISSING, Fix, Json, Object
from argolint.proof.outcomes import CannotReplay
from argolint.proof.pairs import Pair
from argolint.proof.renders import Place
from argolint.proof.syncs import ObjectState, SyncTerms, object_state, synced_state
from argolint.values import get, index_of, split_pointer
from argolint.values.kubernetes import is_secret_data


def states_after(
    fix: Fix, pair: Pair, live: Object, desired: Object, terms: SyncTerms, random: frozenset[Place]
) -> Iterator[ObjectState]:
    """The states that count after the fix, in the order of time; an edit in Git has none before the next sync, and one of the live object no other."""
    if fix.target != "manifest":
        yield object_state(live, desired, terms)
    if fix.target == "live":
        return
    synced = synced_state(live, desired, terms)
    first = object_state(synced, desired, terms)
    yield _with_next_sync(first, terms) if fix.target == "manifest" else first
    later = _with_rewritten_values(synced, pair)
    if later != synced:
        yield object_state(later, desired, terms)
    rendered = _rerendered(desired, pair, random) if fix.target == "application" else desired
    if rendered != desired:
        yield replace(object_state(later, rendered, terms), rerendered=True)
        yield replace(object_state(synced_state(later, rendered, terms), rendered, terms), rerendered=True)


def states_after_sync(live: Object, desired: Object, terms: SyncTerms) -> Iterator[ObjectState]:
    """The state that counts after a failed sync: current differences wait for the next one, and no one has rewritten them."""
    yield object_state(synced_state(live, desired, terms), desired, terms)


def _with_next_sync(state: ObjectState, terms: SyncTerms) -> ObjectState:
    if not state.comparison.modified:
        return state
    again = synced_state(state.live, state.desired, terms)
    return replace(state, next_sync=object_state(again, state.desired, terms).comparison)


def _rerendered(desired: Object, pair: Pair, random: frozenset[Place]) -> Object:
    """The manifest of another render: generated values, and masked values that differ, get other texts."""
    key = pair.resource.key
    places = {pointer for at, pointer in random if at == key}
    places |= {pointer for pointer in pair.claimed if is_secret_data(pair.resource, pointer)}
    for pointer in sorted(places):
        if isinstance(value := get(desired, pointer), str):
            desired = _put(desired, split_pointer(pointer), f"{value}+", insert=False)
    return desired


def _with_rewritten_values(synced: Object, pair: Pair) -> Object:
    """The synced object after the writer of live's differing values has written them again.

    Values equal to the last-applied ones come from Argo CD itself, and no one writes them again. Live values that only an ignore rule hides
    were not removed by anyone.
    """
    before = compare.last_applied(pair.live)
    result = synced
    for change in pair.resource.changes if pair.claimed else ():
        if not pair.claims(change.pointer):
            continue
        if before is not None and get(before, change.pointer) == change.live:
            continue
        if change.live is not MISSING:
            result = _put(result, split_pointer(change.pointer), change.live, insert=change.desired is MISSING)
        elif get(pair.live, change.pointer) is MISSING and get(result, change.pointer) == change.desired:
            result = without(result, change.pointer)
    return result


def _put(node: Json, tokens: tuple[str, ...], value: Json, *, insert: bool) -> Json:
    """The node with the value at these tokens; missing maps are created.

    `insert`: for a list item that only live had; later items move up, unless it is there already.
    """
    if not tokens:
        return value
    if isinstance(node, list):
        index = len(node) if (at := index_of(tokens[0])) is None else at
        if index >= len(node) + (len(tokens) == 1):
            raise CannotReplay("the list that it edits has another shape after a sync")
        if len(tokens) == 1:
            return node if insert and value in node else [*node[:index], value, *node[index + (not insert) :]]
        return [*node[:index], _put(node[index], tokens[1:], value, insert=insert), *node[index + 1 :]]
    base = node if isinstance(node, dict) else {}
    return {**base, tokens[0]: _put(base.get(tokens[0]), tokens[1:], value, insert=insert)}
