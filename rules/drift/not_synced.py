"""Git is ahead of the cluster

What it finds: differences that only show a sync which has not happened: the live object still equals the last apply, or the object was never
applied, or it left Git and waits to be pruned. The finding has the reason: no sync was started, the last one failed, one is running.

Why it hurts: it does not, if a sync follows. It is reported so that every difference has its reason.

How to fix: sync the application, or repair the cause of the last sync's failure (its own finding has it).

Example: a new image tag in Git of an application without automated sync.

Sources: controller/appcontroller.go (autoSync); docs/user-guide/auto_sync.md.
"""

from collections.abc import Iterator, Sequence

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.application.applied import not_yet_applied, settled
from argolint.edits.pruning import ignored_extraneous
from argolint.values import sh
from argolint.values.kubernetes import reads

from ._fields import described

Wait = tuple[Resource, tuple[Symptom, ...], tuple[str, ...]]
"""An object, the waiting change, and the evidence."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for objects to change, one for objects to create, one for objects to delete."""
    if app.deleting:
        return  # its objects are being deleted, and there will be no sync
    changed = [_changed(app, resource) for resource in app.changed if not resource.hook]
    yield from _finding(app, [wait for wait in changed if wait[1]], "is not applied yet")
    unfinished = app.operation is not None and app.operation.phase != "Succeeded"
    if unfinished or not settled(app):
        missing = [(r, (Symptom.missing(r.id),), (f"{r.id} is missing",)) for r in app.missing]
        yield from _finding(app, missing, "is not created yet")
    if not (app.prune and settled(app)):
        extra = (r for r in app.extra if not ignored_extraneous(app, r))
        leftover = [(r, (Symptom("extra", r.key),), (f"{r.id} left Git",)) for r in extra]
        yield from _finding(app, leftover, "left Git and is not pruned")


def _changed(app: App, resource: Resource) -> Wait:
    changes = [change for change in resource.changes if not_yet_applied(app, resource, change)]
    return (
        resource,
        tuple(Symptom.change(resource.id, c.pointer) for c in changes),
        tuple(described(c, resource) for c in changes),
    )


def _finding(app: App, waits: Sequence[Wait], fact: str) -> Iterator[Finding]:
    if not waits:
        return
    first = waits[0][0]
    more = f" (and {len(waits) - 1} more)" if len(waits) > 1 else ""
    prune = " --prune" if fact.startswith("left") else ""
    yield Finding(
        message=f"{first.id}{more} {fact}: {_reason(app, bool(prune))}.",
        at=Location(app.ref, first.id if len(waits) == 1 else None),
        confidence="likely",
        explains=tuple(claim for _, claims, _ in waits for claim in claims),
        evidence=tuple(line for _, _, lines in waits for line in lines),
        fixes=(_sync(app, [wait[0] for wait in waits], prune),),
    )


def _sync(app: App, resources: Sequence[Resource], prune: str) -> Fix:
    """Never with prune if a remaining workload reads an object that it would delete."""
    names = {(r.kind, r.namespace, r.name) for r in resources} if prune else ()
    stay = (r for r in app.resources if r.desired) if names else ()
    user = next((r for r in stay if any((u.kind, r.namespace, u.name) in names for u in reads(r.desired))), None)
    if user is not None:
        return Fix(
            f"Bring back into Git what {user.id} reads, or change what it reads",
            "manifest",
            str(user.id),
            Edit("text", "Only then is there nothing left that a sync with prune would break."),
        )
    return Fix(
        "Sync the application",
        "live",
        f"Application {app.ref}",
        Edit("command", f"argocd app sync {sh(app.ref)}{prune}"),
        "applies all that Git holds" + (", and deletes all that left it" if prune else ""),
    )


def _reason(app: App, to_prune: bool) -> str:
    operation = app.operation
    if operation is not None and operation.phase in ("Failed", "Error"):
        return "the last sync failed"
    if operation is not None and operation.phase in ("Running", "Terminating"):
        return "a sync is under way"
    if not app.automated:
        return "auto-sync is off"
    if to_prune and not app.prune:
        return "auto-sync does not prune here"
    if settled(app):
        return "without self-heal a synced revision is not synced again"
    return "no sync has reached this revision"


RULE = Rule(
    id="not-synced", family="drift", severity="info", doc=__doc__, check=check, rank=Rank.NOT_DONE, standing=True
)
