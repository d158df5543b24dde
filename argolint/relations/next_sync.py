"""Predicts how far the next sync of an application gets: simulates a sync with what its objects wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import Object, Want
from argolint.relations.blocked import blocked, halted
from argolint.relations.made import skips_dry_run
from argolint.sequence.order import is_hook
from argolint.sequence.play import End, Played, play
from argolint.sequence.tasks import Item, Options, Task
from argolint.values import dig, mapping, text_at


def items_of(app: App) -> Iterator[Item]:
    """Every object of the application, and the known hooks."""
    rendered: tuple[Object, ...] | None = app.evidence.get(Want("manifests"))
    for resource in app.resources:
        if resource.hook:
            if rendered is None and resource.live is not None:
                yield Item(resource.live, resource.live)
        elif resource.desired is not None or resource.extra:
            modified = resource.modified or bool(resource.pending)
            yield Item(resource.desired, resource.live, modified)
    yield from (Item(m) for m in rendered or () if is_hook(m))


def options_of(app: App) -> Options:
    """The options of a sync that Argo CD starts automatically."""
    namespace = app.destination_namespace
    labelled = bool(mapping(app.spec, "syncPolicy", "managedNamespaceMetadata"))
    new = not any(r.live is not None for r in app.resources)
    return Options(
        namespace,
        new and (labelled or "CreateNamespace=true" in app.sync_options),
        app.prune,
        "PruneLast=true" in app.sync_options,
        "ApplyOutOfSyncOnly=true" in app.sync_options,
        "SkipDryRunOnMissingResource=true" in app.sync_options,
    )


def next_sync(app: App, fleet: Fleet) -> Played:
    """The next whole sync; what waits for something later never succeeds, everything else does."""
    found = (b for b in app.derive(blocked, fleet) if b.now and (b.sure or b.how != "consumer"))
    stuck = {_identity(app, b.waiting.manifest) for b in found}
    paused = {_identity(app, h.member.manifest) for h in halted(app, fleet)}

    def ends(task: Task) -> End:
        identity = _identity(app, task.manifest)
        return "progressing" if identity in stuck else "suspended" if identity in paused else "healthy"

    confirm = "Prune=confirm" in app.sync_options and fleet.at_least(3, 4)
    skip = skips_dry_run(app, fleet, None)
    return play(items_of(app), ends, replace(options_of(app), confirm=confirm, skip_missing_kinds=skip))


def _identity(app: App, manifest: Object) -> tuple[str, str, str, str]:
    metadata = mapping(manifest, "metadata")
    namespace = text_at(metadata, "namespace") or app.destination_namespace
    return str(dig(manifest, "apiVersion")), str(dig(manifest, "kind")), namespace, text_at(metadata, "name")


def next_sync_text(app: App, fleet: Fleet) -> str:
    """A sentence on how far the next sync gets."""
    found = app.derive(next_sync, fleet)
    total = len(found.done) + len(found.left)
    if not found.waiting:
        return f"the next sync applies all {total} objects"
    where = found.waiting[0].place
    names = ", ".join(str(task) for task in found.waiting[:3])
    return f"the next sync applies {len(found.done)} of {total} objects and waits in {where} for {names}"
