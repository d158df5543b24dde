"""The order of an application's next sync: its waves and phases, and what stops there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import ResourceId
from argolint.relations.blocked import blocked, halted
from argolint.relations.next_sync import items_of, options_of
from argolint.reports import assemble, document
from argolint.sequence.order import PHASES, Place
from argolint.sequence.tasks import Task, steps, tasks
from argolint.values import text_at
from argolint.values.kubernetes import CLUSTER_SCOPED, api_of


class Step(msgspec.Struct, frozen=True):
    """Objects that a sync applies or prunes together. `hooks`: how many of them are hooks; `waits`: what stops there, in words."""

    phase: str
    wave: int
    objects: tuple[document.ReportedResource, ...]
    hooks: int = 0
    waits: tuple[str, ...] = ()


def order(app: App, fleet: Fleet) -> tuple[Step, ...]:
    """The steps of a whole sync; empty if nothing stops in them and no sync waits."""
    waits = _waits(app, fleet)
    awaited = app.operation.awaited if app.operation and app.operation.phase == "Running" else None
    if not waits and awaited is None:
        return ()
    options = options_of(app)
    found = []
    for place, group in steps(tasks(items_of(app), options)):
        ids = [_id(app, task) for task in group]
        texts = list(waits.get(place, ()))
        if awaited is not None and any(awaited.is_(id_) for id_ in ids):
            texts.insert(
                0, f"the sync that runs is here: it waits for the {awaited.reason} {awaited.kind} {awaited.name}"
            )
        hooks = sum(task.hook for task in group)
        found.append(Step(PHASES[place.phase], place.wave, tuple(map(assemble.resource, ids)), hooks, tuple(texts)))
    return tuple(found) if len(found) > 1 else ()


def _id(app: App, task: Task) -> ResourceId:
    group, version = api_of(task.manifest)
    own = text_at(task.manifest, "metadata", "namespace")
    # objects of other applications have a namespace already
    namespaced = task.hook and (group, task.kind) not in CLUSTER_SCOPED
    return ResourceId(group, task.kind, own or (task.namespace if namespaced else ""), task.name, version, app.cluster)


def _waits(app: App, fleet: Fleet) -> dict[Place, list[str]]:
    found: dict[Place, list[str]] = {}
    for place, text in _texts(app, fleet):
        found.setdefault(place, []).append(text)
    return found


def _texts(app: App, fleet: Fleet) -> Iterator[tuple[Place, str]]:
    for pair in app.derive(blocked, fleet):
        when = "" if pair.now else ", at the first sync of a new cluster"
        yield pair.waiting.place, f"{pair.waiting.id} waits for {pair.later.id} of {pair.later.place}{when}"
    for one in halted(app, fleet):
        yield one.member.place, f"{one.member.id} is paused in Git: nothing after it is applied"
