"""Self-heal repeats at one revision

What it finds: an application whose self-heal has corrected the same objects again and again without a new commit. The finding names the field
and both writers: Argo CD and another application, an autoscaler, a controller, a webhook or a person.

Why it hurts: two writers undo each other forever. Pods may restart each time, the API server and Argo CD never rest, and the application is
never in sync for long. The history does not show this, since self-heals are partial syncs.

How to fix: let one of the two own the field: remove it from Git, or stop the other writer, or ignore it and respect that.

Example: a HorizontalPodAutoscaler sets replicas to 5, Git says 2, and self-heal scales down every few seconds.

Sources: controller/appcontroller.go (autoSync), `operation.sync.autoHealAttemptsCount`; argoproj/argo-cd#21497, #14666. Reported from three
attempts on (option `attempts`) if the last one is not older than `recent_minutes`. This finding is additional: the rule that explains the
difference reports it as well. Before 3.3 the RollingSync of an ApplicationSet does the same to an application that stays OutOfSync (argoproj/argo-cd#21528).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from argolint import (
    MISSING,
    App,
    AppRef,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
    Writer,
    narrowest_ignore,
)
from argolint.application.applied import applied_value, by_argocd, confirmed, not_yet_applied, outdated
from argolint.comparison import differences, writers
from argolint.edits import (
    RESPECT,
    application_patch,
    ignore_entries,
    manifest_patch,
    manifest_text,
    removals,
    sync_option,
)
from argolint.redaction import of_secret, show_sides
from argolint.values import below, dig, get, index_of, items, mapping, maps, split_pointer, text_at
from argolint.values.patterns import regex

from ..shared.makers import controlling_owner
from ._rolled import rolled_finding


@dataclass(frozen=True)
class Options:
    """attempts: self-heals at one revision that make a loop; recent_minutes: the greatest age of the last one."""

    attempts: int = 3
    recent_minutes: int = 15


_STARTED = regex(r"Initiated automated sync to '([^']*)'")  # util/argo/audit_logger.go


def reads(app: App, fleet: Fleet, options: Options) -> bool:
    """Whether the application heals itself at the moment: between two heals it has no symptom."""
    return _heals_now(app, options)


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The number of heals, as the operation's own count may have started again; the same object in another application with it."""
    if not _heals_now(app, options):
        return
    if app.operation is not None and app.operation.self_heal_attempts < options.attempts:
        yield Want("app-events")
    if _is_looping(app, options):
        for resource in _healed_objects(app):
            for other in _rivals(app, fleet, resource):
                yield Want("peer", resource.id, app=other)


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each object that self-heal corrects repeatedly."""
    yield from rolled_finding(app, fleet, options.attempts)
    if _is_looping(app, options):
        yield from (f for resource in _healed_objects(app) if (f := _finding(app, fleet, resource)))


def _heals_now(app: App, options: Options) -> bool:
    """True if the last operation is a recent self-heal (an automated sync of some objects only)."""
    operation = app.operation
    if operation is None or not (app.self_heal and operation.automated):
        return False
    if not items(dig(operation.raw, "operation", "sync"), "resources"):
        return False
    last = operation.finished_at or operation.started_at
    return last is None or app.observed_at - last <= timedelta(minutes=options.recent_minutes)


def _is_looping(app: App, options: Options) -> bool:
    return _heals_now(app, options) and max(_counted_heals(app), _heals_in_events(app)) >= options.attempts


def _comes_and_goes(app: App) -> bool:
    """Whether the heals may be those of a missing object: they are of this revision, and the comparison that misses it came after the last one."""
    operation = app.operation
    of_revision = max((_heals_of(app).get(r, 1) - 1 for r in operation.revisions), default=0) if operation else 0
    return not outdated(app) and max(_counted_heals(app), of_revision) >= _heals_in_events(app)


def _counted_heals(app: App) -> int:
    """Self-heals at the present revision, as counted in the operation; 0 after a new commit, and on servers before 2.14."""
    return app.operation.self_heal_attempts if app.operation else 0


def _heals_in_events(app: App) -> int:
    """Self-heals at one revision, counted in the Application's Events of the last hour: automated syncs after the first."""
    return max(_heals_of(app).values(), default=1) - 1


def _heals_of(app: App) -> Counter[str]:
    """Automated syncs of each revision in the Application's Events of the last hour."""
    found: Counter[str] = Counter()
    for event in app.evidence.get(Want("app-events")) or ():
        started = _STARTED.match(event.message)
        if event.reason == "OperationStarted" and started:
            found[started.group(1)] += event.count
    return found


def _healed_objects(app: App) -> tuple[Resource, ...]:
    """The objects of the last partial sync. One without a namespace there is in the destination's, which may have been another at that time."""
    operation = app.operation
    named = {
        (text_at(r, "group"), text_at(r, "kind"), text_at(r, "namespace"), text_at(r, "name"))
        for r in maps(operation.raw if operation else None, "operation", "sync", "resources")
    }
    return tuple(
        r
        for r in app.resources
        if {(r.group, r.kind, r.namespace, r.name), (r.group, r.kind, "", r.name)} & named and not r.hook
        if operation is not None and (not operation.results or operation.results_of(r.id))
    )


def _rivals(app: App, fleet: Fleet, resource: Resource) -> tuple[AppRef, ...]:
    return tuple(ref for ref in fleet.owners(resource.key) if ref != app.ref)


def _finding(app: App, fleet: Fleet, resource: Resource) -> Finding | None:
    """The finding; None if no difference is visible any more: the last heal may have been the final one."""
    rivals = _rivals(app, fleet, resource)
    pointer, desired, live, writer = _disputed_field(app, resource, rivals)
    if not pointer and (not resource.missing or not _comes_and_goes(app)):
        return None
    scaler = _autoscaler(app, resource) if pointer == "/spec/replicas" else None
    related = tuple(Related(ref, resource.id, pointer, role="claimant") for ref in rivals)
    if rivals:
        other = "application " + ", ".join(str(ref) for ref in rivals)
    elif scaler is not None:
        other = f"HorizontalPodAutoscaler {scaler.name}"
        related = (Related(app.ref, scaler, role="cause"),)
    elif made_by := controlling_owner(resource):
        other = made_by
    elif writer is not None:
        other = writer.manager + (f" ({writer.subresource})" if writer.subresource else "")
    elif resource.missing and _has_time_to_live(resource):
        other = "its time to live removes"
    elif resource.missing:
        other = "something keeps deleting"
    elif live is MISSING:
        other = "the API server or its controller"
    else:
        other = _unrecorded(resource, pointer)
    within = resource.desired or {}, resource.normalized or resource.desired or {}
    git, cluster = show_sides(pointer, *zip((desired, live), within, strict=True))
    sides = () if of_secret(resource.any, pointer) or not pointer else (f"{pointer}: {git} in Git, {cluster} live",)
    what = f"{pointer} of {resource.id}" if pointer else str(resource.id)
    operation = app.operation
    revision = ", ".join(r[:12] for r in operation.revisions) if operation else ""
    counted = _counted_heals(app)
    times = (
        f"{counted} times at {revision or 'one revision'}"
        if counted >= _heals_in_events(app)
        else f"{_heals_in_events(app)} times within the hour"
    )
    quarrel = f"and {other} keep undoing each other at {what}" if pointer else f"recreates {what}, which {other}"
    if writer is not None and other.startswith(writer.manager) and _is_older_than_heal(app, writer):
        quarrel = f"does not undo what {other} wrote at {what}"
    counted_ = f"{max(counted, _heals_in_events(app))} times"
    return Finding(
        message=f"Self-heal of application {app.ref} {quarrel}: {counted_} so far.",
        at=Location(app.ref, resource.id, pointer),
        evidence=(f"self-heal synced it {times}", *sides, *_evidence(app, resource, pointer)),
        related=related,
        fixes=tuple(_fixes(app, resource, pointer, related, other)),
        explains=(Symptom.missing(resource.id), Symptom.health(resource.id)) if resource.missing else (),
        follows=(
            *([Follows.finding("shared-resource", resource.id, mended=True)] if rivals else ()),
            *([Follows.finding("job-ttl", resource.id, mended=True)] if _has_time_to_live(resource) else ()),
            Follows(Symptom.change(resource.id, pointer), mended=not _awaits_sync(app, resource, pointer)),
        ),
    )


_Field = tuple[str, Json, Json, Writer | None]


def _disputed_field(app: App, resource: Resource, rivals: tuple[AppRef, ...]) -> _Field:
    """(pointer, Git's value, live value, live writer) of the disputed field; an empty pointer if none is visible now."""
    change = min(resource.changes, key=_field_order, default=None)
    if change is not None:
        return change.pointer, change.desired, change.live, change.writer if _is_foreign(change.writer) else None
    for ref in rivals:
        peer = app.evidence.get(Want("peer", resource.id, app=ref))
        if isinstance(peer, Resource) and peer.desired and resource.desired:
            for pointer, desired, live in sorted(
                differences(resource.desired, peer.desired), key=lambda d: (below(d[0], "/metadata"), d[0])
            ):
                return pointer, desired, live, None
    if _autoscaler(app, resource) is not None and get(resource.desired, "/spec/replicas", None) is not None:
        return "/spec/replicas", get(resource.desired, "/spec/replicas"), get(resource.live, "/spec/replicas"), None
    return "", MISSING, MISSING, None


def _awaits_sync(app: App, resource: Resource, pointer: str) -> bool:
    """Whether the difference at the pointer is that of a commit after the heals: the sync that brings it does not end the loop."""
    waits = any(c.pointer == pointer and not_yet_applied(app, resource, c) for c in resource.changes)
    return waits and _counted_heals(app) < _heals_in_events(app)


def _field_order(change: Change) -> tuple[bool, bool, str]:
    """Sort key: fields with another writer first, metadata last."""
    return below(change.pointer, "/metadata"), not _is_foreign(change.writer), change.pointer


def _is_foreign(writer: Writer | None) -> bool:
    return writer is not None and not by_argocd(writer)


_RENDER = "its own changing render"
_EITHER = "a changing render or an admission webhook"


def _is_older_than_heal(app: App, writer: Writer) -> bool:
    """Whether the last heal left what was written before it: nothing else wrote it again, which would move its time."""
    began = app.operation.started_at if app.operation is not None and app.operation.phase == "Succeeded" else None
    return began is not None and writer.time is not None and writer.time < began - _CLOCKS


_CLOCKS = timedelta(seconds=2)


def _unrecorded(resource: Resource, pointer: str) -> str:
    """What undoes self-heal at a field that no other manager wrote. A webhook's change counts as that of the request's sender, Argo CD."""
    change = next((c for c in resource.changes if c.pointer == pointer), None)
    if change is None or not by_argocd(change.writer):
        return "another, unnamed writer"
    if confirmed(resource, change):
        return _RENDER
    return "an admission webhook or the API server" if applied_value(resource, change) == change.desired else _EITHER


def _autoscaler(app: App, resource: Resource) -> ResourceId | None:
    """The HorizontalPodAutoscaler of this application that scales the object."""
    for hpa in app.of_kind("HorizontalPodAutoscaler", "autoscaling"):
        target = mapping(hpa.any, "spec", "scaleTargetRef")
        if (target.get("kind"), target.get("name"), hpa.namespace) == (
            resource.kind,
            resource.name,
            resource.namespace,
        ):
            return hpa.id
    return None


def _evidence(app: App, resource: Resource, pointer: str) -> Iterator[str]:
    operation = app.operation
    assert operation is not None
    yield f"operation.sync.autoHealAttemptsCount is {operation.self_heal_attempts}; a new revision sets it to 0"
    if _heals_in_events(app):
        yield f"Events of the last hour show {_heals_in_events(app)} automated syncs after the first one of a revision"
    if operation.finished_at:
        yield f"the last self-heal ended {operation.finished_at:%Y-%m-%d %H:%M:%SZ} ({operation.phase}); the application is {app.sync_status} now"
    if resource.live is not None and pointer:
        for writer in writers(resource.live, pointer)[:3]:
            at = f" at {writer.time:%Y-%m-%d %H:%M:%SZ}" if writer.time else ""
            yield f"{pointer} was written by {writer.manager} ({writer.operation or 'Update'}){at}"


_AFTERWARDS = "sync once by hand afterwards: the loop may have ended at either writer's turn"


def _fixes(app: App, resource: Resource, pointer: str, related: tuple[Related, ...], other: str) -> Iterator[Fix]:
    rivals = [r for r in related if r.role == "claimant"]
    if rivals:
        yield manifest_text(
            f"{app.ref} or {rivals[0].app}",
            f"Keep {resource.id} in one of the two applications only",
            f"delete the manifest of {resource.id} from one of them; annotate it argocd.argoproj.io/sync-options: Prune=false there first, so that it is not pruned",
            "the application that pruned it last would delete it for both",
        )
        return
    if resource.missing and not _has_time_to_live(resource):
        yield Fix(
            f"Find what deletes {resource.id}, and stop that or leave the object out of Git",
            "live",
            str(resource.id),
            Edit(
                "text",
                f'the audit log of cluster {app.cluster}: verb "delete", objectRef.name "{resource.name}"; policies that clean up (Kyverno CleanupPolicy, kube-janitor), a time to live, an operator',
            ),
        )
    if other in (_RENDER, _EITHER):  # no other writer could own the field
        yield narrowest_ignore(app, resource, _pointers_of_writer(resource, pointer))
        return
    if any(
        index_of(token) is not None for token in split_pointer(pointer)
    ):  # an item's field can seldom be left out, such as a container's image
        yield narrowest_ignore(app, resource, _pointers_of_writer(resource, pointer))
        return
    if pointer and get(resource.desired, pointer, None) is not None:
        yield manifest_patch(
            resource.id,
            f"Leave {pointer} out of Git, so that its other writer owns it",
            removals(resource.desired, [pointer]),
            f"Git then no longer sets the field; {_AFTERWARDS}",
        )
    if pointer:
        entry = {
            "group": resource.group,
            "kind": resource.kind,
            "name": resource.name,
            "namespace": resource.namespace,
            "jsonPointers": [pointer],
        }
        entry = {k: v for k, v in entry.items() if v}
        yield application_patch(
            app,
            "Or ignore the field, and respect that in syncs",
            [*ignore_entries(app, entry), *sync_option(app, RESPECT)],
            f"hides every later difference of that field; {_AFTERWARDS}",
        )


def _has_time_to_live(resource: Resource) -> bool:
    """Whether Kubernetes itself removes the missing Job some time after it has finished: `job-ttl` has the fixes."""
    return (
        resource.missing
        and resource.kind == "Job"
        and dig(resource.desired, "spec", "ttlSecondsAfterFinished") is not None
    )


def _pointers_of_writer(resource: Resource, pointer: str) -> tuple[str, ...]:
    """The differing fields that the writer of this one wrote as well, which self-heal sets back with it."""
    own = next((c.writer.manager for c in resource.changes if c.pointer == pointer and c.writer), "")
    found = tuple(c.pointer for c in resource.changes if c.writer is not None and c.writer.manager == own)
    return found or (pointer,)


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    reads=reads,
    options=Options,
    rank=Rank.CAUSE,  # in addition to job-ttl, which explains why the object goes
)
