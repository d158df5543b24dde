"""A difference that no other rule explains

What it finds: a symptom without another rule's explanation: a field that Argo CD shows as different, an object that is missing or extra, or an
application that is OutOfSync without any such object. The finding has the last writer of a field, its time and both values.

Why it hurts: an application that is never in sync hides the next real difference.

How to fix: decide which side owns the field. Write the live value to Git, or sync to restore Git's. If another controller must own the field,
leave it out of Git or ignore it with the narrowest rule.

Example: a ConfigMap key that an undocumented operator sets to another value.

Sources: controller/state.go (CompareAppState), pkg/apis/application/v1alpha1/types.go (HasChangedManagedNamespaceMetadata).
"""

from collections.abc import Iterator

from argolint import (
    MISSING,
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Rank,
    Resource,
    Rule,
    Symptom,
    narrowest_ignore,
)
from argolint.application.applied import by_argocd, lacks, not_stored, settled
from argolint.comparison import managers, writers
from argolint.edits import application_place
from argolint.edits.pruning import ignored_extraneous
from argolint.messages import quoted
from argolint.redaction import show
from argolint.values import dig, index_of, join_pointer, mapping, sh, split_pointer, text_at
from argolint.values.kubernetes import argocd_name

from ._edits import drop, write_live
from ._fields import finding, left_out, listing, pointers, tracks
from ._writers import is_sort

_NOTES = ("/metadata/annotations/", "/metadata/labels/")
_DATA = ("/data/", "/stringData/", "/binaryData/")
"""Maps from which no schema drops a key: these of all objects, and those of ConfigMaps and Secrets."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each writer of an object's fields, for each missing or extra object, for the application."""
    if app.deleting:
        return  # its objects are being deleted one by one, and the changes of a sync no longer matter
    for resource in app.changed:
        for manager in dict.fromkeys(_manager(change) for change in resource.changes):
            changes = tuple(change for change in resource.changes if _manager(change) == manager)
            yield _changed(app, resource, changes, fleet.label_key)
    for resource in app.missing:
        yield _gone(app, resource) or _object(
            app, resource, Symptom.missing(resource.id), "missing", "is desired and not in the cluster"
        )
    for resource in app.extra:
        if ignored_extraneous(app, resource):
            continue  # someone permitted it on purpose
        yield _object(app, resource, Symptom.extra(resource.id), "extra", "is in the cluster and no longer desired")
    running = (
        app.operation is not None and app.operation.phase == "Running"
    )  # it changes objects that the list still shows as they were
    unclear = app.sync_status in ("OutOfSync", "Unknown") and app.desired_known and _all_known(app)
    if unclear and not running and not _shown(app):
        yield _unshown(app)


def _manager(change: Change) -> str:
    return change.writer.manager if change.writer else ""


def _changed(app: App, resource: Resource, changes: tuple[Change, ...], label_key: str) -> Finding:
    first = changes[0]
    foreign = first.writer is not None and not by_argocd(first.writer)
    dropped = all(not_stored(resource, change) for change in changes)
    dropped = dropped or (not foreign and settled(app, resource) and all(lacks(resource, change) for change in changes))
    maps = (*_NOTES, *_DATA) if (resource.group, resource.kind) in {("", "ConfigMap"), ("", "Secret")} else _NOTES
    taken_off = dropped and all(f"{change.pointer}/".startswith(maps) for change in changes)
    since = _wrote_since(resource) if dropped and not taken_off else ""
    if taken_off:
        by = _wrote_since(resource)
        who = f"{by}, which wrote the object since" if by else "a controller"
        fact = f"lacks {listing(changes)} though it was applied: {who}, a webhook or someone takes it off again"
    elif since:
        fact = f"lacks {listing(changes)} of Git: its schema drops it, or {since}, which wrote the object after Argo CD did"
    elif dropped:
        fact = f"lacks {listing(changes)} though it was applied: its schema dropped it, or someone took it out"
    elif left_out(resource, first):
        fact = f"is OutOfSync: Argo CD compares {first.pointer} as absent although the live object holds it"
    else:
        by = f": {first.writer.manager} wrote it" if first.writer and foreign else ", and nothing says why"
        fact = f"is OutOfSync at {listing(changes)}{by}"
    return finding(
        app,
        resource,
        changes,
        f"{resource.id} {fact}.",
        cause="other-writer" if foreign else "not-stored" if dropped else "unknown",
        confidence="likely" if foreign else "possible",
        fixes=_ways_out(app, resource, changes, label_key, since, taken_off=taken_off),
    )


def _ways_out(
    app: App, resource: Resource, changes: tuple[Change, ...], label_key: str, since: str, *, taken_off: bool
) -> tuple[Fix | None, ...]:
    """The fixes by the program that keeps the difference; none if no program is known, or if the fields are tracking data."""
    keeps_status = since and any(w.manager == since for w in writers(resource.live or {}, "/status"))
    if taken_off or keeps_status:
        return _of_reader(app, resource, changes)
    if since:
        return _asked_schema(resource, since, changes[0]), narrowest_ignore(app, resource, pointers(changes))
    writer = changes[0].writer
    if writer is None or by_argocd(writer) or any(tracks(change, label_key) for change in changes):
        return ()
    return _of_writer(app, resource, changes)


def _wrote_since(resource: Resource) -> str:
    """The one program that wrote the object after Argo CD's last apply; empty where none or several did.

    Who leaves a field out owns nothing of it, so managedFields cannot show more.
    """
    written = [w for w in managers(resource.live or {}) if not w.subresource and w.time]
    applied = max((w.time for w in written if by_argocd(w) and w.time), default=None)
    later = {w.manager for w in written if applied and w.time and w.time > applied and not by_argocd(w)}
    return later.pop() if len(later) == 1 else ""


def _asked_schema(resource: Resource, manager: str, change: Change) -> Fix:
    """The step that tells the two apart; no answer of Argo CD does."""
    path = ".".join(token for token in split_pointer(change.pointer) if index_of(token) is None)
    version = "/".join(filter(None, (resource.group, resource.id.version)))
    return Fix(
        f"Ask the schema for the field; if it is there, {manager} drops it",
        "live",
        str(resource.id),
        Edit(
            "command",
            f"kubectl explain {sh(f'{resource.kind.lower()}.{path}')} --api-version={sh(version)}   # no such field: correct it in Git, or bring the CRD up to date\n"
            f"# else upgrade {manager}, if it is older than the field, or let it leave the object alone\n",
        ),
    )


def _of_writer(app: App, resource: Resource, changes: tuple[Change, ...]) -> tuple[Fix | None, ...]:
    """Fixes for a conflict with another writer; for a controller's moving number, first leave it to the controller."""
    ignore = narrowest_ignore(app, resource, pointers(changes))
    write = write_live(app, resource, changes, "Write the live value, if it is right")
    if all(
        c.live is MISSING for c in changes
    ):  # a mark that its reader removes when it is done, while Git still has it
        return (ignore, drop(app, resource, changes, "Leave it out of Git"))
    moved = all(c.pointer.endswith("/replicas") for c in changes) and not is_sort(changes[0].writer, "person")
    return (ignore, write) if moved else (write, ignore)


def _of_reader(app: App, resource: Resource, changes: tuple[Change, ...]) -> tuple[Fix | None, ...]:
    """Fixes for a mark or a field that its reader removes when it is done, such as the operator, while Git still has it."""
    return (
        narrowest_ignore(app, resource, pointers(changes)),
        drop(app, resource, changes, "Leave it out of Git"),
    )


def _gone(app: App, resource: Resource) -> Finding | None:
    """The finding for an object that the last sync applied, so that someone deleted it since; None if the sync did not."""
    operation = app.operation
    rows = operation.results_of(resource.id) if operation is not None else ()
    row = next((row for row in rows if row.get("status") == "Synced"), None)
    if operation is None or row is None or not resource.name:
        return None
    ended = operation.finished_at
    when = f" of {ended:%Y-%m-%d %H:%M} UTC" if ended else ""
    return Finding(
        message=f"Someone or something deleted {resource.id} after the last sync, so {app.name} is OutOfSync.",
        at=Location(app.ref, resource.id),
        cause="missing",
        confidence="likely",
        evidence=(
            f"applied by the sync{when}",
            *((f'the sync said of it: "{quoted(text_at(row, "message"))}"',) if text_at(row, "message") else ()),
        ),
        explains=(Symptom.missing(resource.id),),
        fixes=(
            Fix(
                "Make it again, once it is known who deleted it",
                "live",
                f"Application {app.ref}",
                Edit("command", f"argocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}"),
                "" if app.self_heal else "without self-heal nothing makes it again before the next commit",
            ),
        ),
    )


def _object(app: App, resource: Resource, symptom: Symptom, cause: str, fact: str) -> Finding:
    return Finding(
        message=f"{app.name} is OutOfSync: {resource.id} {fact}, and nothing says why.",
        at=Location(app.ref, resource.id),
        cause=cause,
        confidence="possible",
        explains=(symptom,),
    )


def _all_known(app: App) -> bool:
    return app.read and all(resource.desired_known for resource in app.resources if not resource.hook)


def _shown(app: App) -> bool:
    """True if an object or a condition shows why the application is not in sync."""
    return bool(
        any(condition.is_error for condition in app.conditions)
        or app.missing
        or app.extra
        or any(not resource.hook for resource in app.changed)
    )


def _unshown(app: App) -> Finding:
    out = [str(resource.id) for resource in app.resources if resource.status == "OutOfSync"]
    managed = dig(app.spec, "syncPolicy", "managedNamespaceMetadata") is not None
    if managed and not out:
        reason = f"namespace {app.destination_namespace!r} differs from managedNamespaceMetadata"
    elif out:
        reason = f"{out[0]} is listed so, yet both its states are equal now"
    else:
        reason = "nothing in Argo CD's answers says why"
    return Finding(
        message=f"{app.name} is {app.sync_status} although no object differs: {reason}.",
        at=Location(app.ref),
        cause="namespace-metadata" if managed and not out else "unknown",
        confidence="likely" if managed and not out else "possible",
        evidence=tuple(_wanted_of_namespace(app)) if managed and not out else (),
        explains=(Symptom.sync(),),
        fixes=(_compared_namespace(app),) if managed and not out else (),
    )


def _wanted_of_namespace(app: App) -> Iterator[str]:
    """The labels and annotations that the Application sets on its namespace."""
    for field in ("labels", "annotations"):
        for key, wanted in mapping(app.spec, "syncPolicy", "managedNamespaceMetadata", field).items():
            yield f"managedNamespaceMetadata {field} {key}: {show(wanted, join_pointer('metadata', field, key))}"


def _compared_namespace(app: App) -> Fix:
    name = sh(app.destination_namespace)
    return Fix(
        "Find the label or annotation that differs, and take it out of managedNamespaceMetadata if it changes by itself",
        "application",
        application_place(app),
        Edit("command", f"kubectl get namespace {name} -o jsonpath='{{.metadata.labels}}{{.metadata.annotations}}'"),
        "ignoreDifferences does not reach them; a sync writes them",
    )


RULE = Rule(
    id="unexplained-drift",
    family="drift",
    severity="warning",
    doc=__doc__,
    check=check,
    causes=("other-writer", "not-stored", "missing", "extra", "namespace-metadata", "unknown"),
    rank=Rank.CATCH_ALL,
)
