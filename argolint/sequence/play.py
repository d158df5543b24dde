"""Simulates a sync from its first task to its end; the caller gives the result of each object (gitops-engine pkg/sync/sync_context.go, Sync)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from argolint.sequence.order import SYNC_FAIL, delete_policies
from argolint.sequence.tasks import PLAIN, Item, Options, Task, steps, tasks
from argolint.values import annotations_of, comma_list, dig
from argolint.values.kubernetes import SYNC_OPTIONS

End = Literal["none", "healthy", "progressing", "suspended", "degraded", "refused", "unknown-kind", "denied"]
"""The result of an object: no health check; its later health; refused by the API server; unknown kind; not permitted by the project.

For a prune, `progressing` means that the object is not deleted.
"""
_WAITS = ("progressing", "suspended")
_SKIP = "SkipDryRunOnMissingResource=true"


@dataclass(frozen=True)
class Played:
    """How far a sync gets.

    phase     Succeeded, Failed, or Running: it waits without end
    done      what was applied or pruned, in order; SyncFail hooks last
    waiting   what it waits for, if `Running`
    failed    what made it fail
    left      tasks that it does not reach
    deleted   hooks that are deleted at its end
    """

    phase: Literal["Succeeded", "Failed", "Running"]
    done: tuple[Task, ...] = ()
    waiting: tuple[Task, ...] = ()
    failed: tuple[Task, ...] = ()
    left: tuple[Task, ...] = ()
    deleted: tuple[Task, ...] = ()


def play(items: Iterable[Item], ends: Callable[[Task], End], options: Options = PLAIN) -> Played:
    """One sync. A failed sync that is retried starts again from its first task, so it gets equally far."""
    everything = tuple(items)
    ordered = tasks(everything, options)
    normal = tuple(t for t in ordered if t.place.phase != SYNC_FAIL)
    rescue = tuple(t for t in ordered if t.place.phase == SYNC_FAIL)
    first = next((t for t in ordered if _is_own_namespace(t, options)), None)
    if invalid := _invalid(everything, ordered, ends, options):
        return Played("Failed", failed=invalid, left=ordered)
    several = len({t.place for t in ordered}) > 1
    state = Played("Running", (first,) if first else ())
    if first and ends(first) == "refused":
        return _failed(replace(state, done=(), failed=(first,), left=normal), rescue, ends)
    pending = [t for t in normal if t is not first and not _is_passed_over(t, options) and not _is_staying(t, options)]
    groups = [group for _, group in steps(pending)]
    for number, group in enumerate(groups):
        left = tuple(t for later in groups[number + 1 :] for t in later)
        if unconfirmed := tuple(t for t in group if _is_awaiting_confirmation(t, options)):
            return replace(state, waiting=unconfirmed, left=(*group, *left))
        state = replace(state, done=(*state.done, *_completed_in_order(group, ends)), left=left)
        hooks = any(t.hook for t in group)
        refused = tuple(t for t in group if ends(t) == "refused")
        if not refused and not left and not hooks:
            break  # the last wave is not awaited, unless it has hooks
        waits = tuple(t for t in group if _is_waited_for(t, ends, all_objects=several and not refused))
        if waits:
            return replace(state, waiting=waits, failed=refused)
        if failed := refused or tuple(t for t in group if ends(t) == "degraded" and (several or t.hook)):
            return _failed(replace(state, failed=failed), rescue, ends)
    return replace(state, phase="Succeeded", left=(), deleted=_deleted(state.done, "HookSucceeded"))


def _is_own_namespace(task: Task, options: Options) -> bool:
    """True for the application's own namespace, which is created before the dry run: that would fail without it."""
    absent = task.kind == "Namespace" and task.group == "" and task.item.live is None and not task.prune
    return absent and task.name == options.namespace


def _invalid(
    items: Sequence[Item], ordered: Sequence[Task], ends: Callable[[Task], End], options: Options
) -> tuple[Task, ...]:
    """Objects whose kind is unknown or that the project does not permit: with one of them, nothing is applied.

    CRDs of the same sync count as known.
    """
    defined = {(dig(i.target, "spec", "group"), dig(i.target, "spec", "names", "kind")) for i in items if i.target}

    def expected(task: Task) -> bool:
        own = comma_list(annotations_of(task.item.target).get(SYNC_OPTIONS))
        return options.skip_missing_kinds or _SKIP in own or (task.group, task.kind) in defined

    return tuple(t for t in ordered if ends(t) == "denied" or (ends(t) == "unknown-kind" and not expected(t)))


def _is_passed_over(task: Task, options: Options) -> bool:
    settled = not task.item.modified and task.item.live is not None and not task.prune
    return options.out_of_sync_only and settled and not task.hook


def _is_staying(task: Task, options: Options) -> bool:
    """True if the object left Git but is not deleted: Argo CD treats that as done."""
    own = comma_list(annotations_of(task.item.live).get(SYNC_OPTIONS))
    return task.prune and (not options.prune or "Prune=false" in own)


def _is_awaiting_confirmation(task: Task, options: Options) -> bool:
    """True for a prune that needs a confirmation; until then its wave is not done."""
    own = [o for o in comma_list(annotations_of(task.item.live).get(SYNC_OPTIONS)) if o.startswith("Prune=")]
    return task.prune and not options.confirmed and ("Prune=confirm" in own or (options.confirm and not own))


def _completed_in_order(group: Sequence[Task], ends: Callable[[Task], End]) -> tuple[Task, ...]:
    """The tasks in order: prunes first, then by kind. Tasks that the API server refuses are left out."""
    first = [t for t in group if t.prune]
    return tuple(t for t in (*first, *(t for t in group if not t.prune)) if ends(t) != "refused")


def _is_waited_for(task: Task, ends: Callable[[Task], End], *, all_objects: bool) -> bool:
    return ends(task) in _WAITS and (all_objects or task.hook or task.prune)


def _failed(state: Played, rescue: Sequence[Task], ends: Callable[[Task], End]) -> Played:
    """The result after a failure: the hooks of SyncFail run, and the sync ends only with them."""
    done = (*state.done, *_completed_in_order(rescue, ends))
    waiting = tuple(t for t in rescue if ends(t) in _WAITS)
    return replace(
        state,
        phase="Running" if waiting else "Failed",
        done=done,
        waiting=waiting,
        failed=(*state.failed, *(t for t in rescue if ends(t) in ("degraded", "refused"))),
        deleted=_deleted(state.done, "HookFailed"),
    )


def _deleted(done: Sequence[Task], policy: str) -> tuple[Task, ...]:
    return tuple(t for t in done if t.hook and policy in delete_policies(t.item.target))
