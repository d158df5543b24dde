"""A difference that no other rule explains

What it finds: a symptom without another rule's explanation: a field that Argo CD shows as different, an object that is missing or extra, or an
application that is OutOfSync without any such object. The finding has the last writer of a field, its time and both values. Fields that are
stored as others of the same map, after a conversion or a webhook of the kind, are one finding.

Why it hurts: an application that is never in sync hides the next real difference.

How to fix: decide which side owns the field. Write the live value to Git, or sync to restore Git's. If another controller must own the field,
leave it out of Git or ignore it with the narrowest rule.

Example: a ConfigMap key that an undocumented operator sets to another value.

Sources: controller/state.go (CompareAppState), pkg/apis/application/v1alpha1/types.go (HasChangedManagedNamespaceMetadata).
"""

import re
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
)
from argolint.application.applied import by_argocd, lacks, not_stored, settled
from argolint.comparison import LAST_APPLIED, has_sync_option, managers, syncs_server_side, writers
from argolint.edits import application_place, live_command, manifest_text
from argolint.edits.pruning import ignored_extraneous
from argolint.messages import quoted
from argolint.redaction import show
from argolint.values import (
    annotations_of,
    below,
    dig,
    enumerated,
    fits,
    index_of,
    join_pointer,
    mapping,
    parse_version,
    schema,
    sh,
    split_pointer,
    text_at,
    texts,
)
from argolint.values.knowledge import load
from argolint.values.kubernetes import argocd_name, is_custom
from argolint.values.patterns import regex

from ._edits import sync_fix
from ._fields import Drift, is_left_out, is_tracking_mark, pointers_text
from ._writers import is_sort

ARGOCD = "argoproj.io"
_MARKS = ("/metadata/annotations/", "/metadata/labels/")
_DATA = ("/data/", "/stringData/", "/binaryData/")
"""Maps from which no schema drops a key: these of all objects, and those of ConfigMaps and Secrets."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each writer of an object's fields, for each missing or extra object, for the application."""
    if app.deleting:
        return  # its objects are being deleted one by one, and the changes of a sync no longer matter
    for resource in app.changed:
        for manager in dict.fromkeys(_manager(change) for change in resource.changes):
            changes = tuple(change for change in resource.changes if _manager(change) == manager)
            yield _changed_finding(Drift(app, resource, changes), fleet)
    for resource in app.missing:
        yield _deleted_finding(app, resource) or _object_finding(
            app, resource, Symptom.missing(resource.id), "missing", "is desired and not in the cluster"
        )
    for resource in app.extra:
        if ignored_extraneous(app, resource):
            continue  # someone permitted it on purpose
        yield _leaving_finding(app, resource) or _object_finding(
            app, resource, Symptom.extra(resource.id), "extra", "is in the cluster and no longer desired"
        )
    # it changes objects that the list still shows as they were
    running = app.operation is not None and app.operation.phase == "Running"
    unclear = app.sync_status in ("OutOfSync", "Unknown") and app.desired_known and _are_all_states_known(app)
    if unclear and not running and not _is_reason_shown(app):
        yield _unshown_finding(app)


def _manager(change: Change) -> str:
    return change.writer.manager if change.writer else ""


def _changed_finding(drift: Drift, fleet: Fleet) -> Finding:
    app, resource, changes = drift
    first, label_key = changes[0], fleet.label_key
    foreign = first.writer is not None and not by_argocd(first.writer)
    dropped = all(not_stored(resource, change) for change in changes)
    dropped = dropped or (not foreign and settled(app, resource) and all(lacks(resource, change) for change in changes))
    if not foreign and _is_stored_in_another_form(drift):
        lost = tuple(change for change in changes if change.live is MISSING)
        places = {change.pointer.rpartition("/")[0] for change in lost}
        added = tuple(c for c in changes if c.live is not MISSING and c.pointer.rpartition("/")[0] in places)
        return drift.finding(
            f"The cluster stores {pointers_text(lost)} of {resource.id} in another form, as {pointers_text(added)}, so Git's form never stays.",
            cause="not-stored",
            confidence="likely",
            fixes=(
                drift.write_live("Write the stored form into Git"),
                drift.ignore(),
            ),
        )
    maps = (*_MARKS, *_DATA) if (resource.group, resource.kind) in {("", "ConfigMap"), ("", "Secret")} else _MARKS
    taken_off = dropped and all(f"{change.pointer}/".startswith(maps) for change in changes)
    since = _writer_since_apply(resource) if dropped and not taken_off else ""
    declared = dropped and not (taken_off or since) and all(_is_declared(resource, change) for change in changes)
    is_gone = _is_replaced(app, resource)
    replacer = _writer_since_apply(resource) if dropped else ""
    if not is_gone and not _writes_schema(resource, replacer, changes):
        replacer = ""
    if replacer:
        marks = all(is_tracking_mark(change, label_key) for change in changes)
        what = "the tracking mark that Argo CD adds" if marks else f"{drift.places()} of Git"
        fact = f"lacks {what}: {replacer} replaces the object after Argo CD applies it"
    elif taken_off:
        writer_note = _writer_since_apply(resource)
        who = f"{writer_note}, which wrote the object since" if writer_note else "a controller"
        fact = f"lacks {drift.places()} though it was applied: {who}, a webhook or someone removes it again"
    elif since:
        fact = (
            f"lacks {drift.places()} of Git: its schema drops it, or {since}, which wrote the object after Argo CD did"
        )
    elif declared:
        who = "a webhook or a disabled feature gate removes it" + ("" if app.self_heal else ", or someone did")
        if resource.group == ARGOCD:
            who = "someone removed it, such as with Argo CD's UI or CLI"
            if app.self_heal:  # it restores at once what someone removes
                who = "an older CRD of Argo CD drops it, or something removes it each time"
        who = _closed_gate(resource, changes, fleet.kubernetes_version(app.cluster)) or who
        fact = f"lacks {drift.places()} though it was applied: {who}"
    elif dropped:
        fact = f"lacks {drift.places()} though it was applied: its schema dropped it, or someone removed it"
    elif is_left_out(resource, first):
        fact = f"is OutOfSync: Argo CD compares {first.pointer} as absent although the live object holds it"
    else:
        writer_note = f": {first.writer.manager} wrote it" if first.writer and foreign else ", and nothing says why"
        fact = f"is OutOfSync at {drift.places()}{writer_note}"
    return drift.finding(
        f"{resource.id} {fact}.",
        cause="other-writer" if foreign or replacer else "not-stored" if dropped else "unknown",
        confidence="likely" if foreign or replacer else "possible",
        evidence=("last-applied-configuration, which Argo CD's apply writes, is gone from the live object",)
        if replacer and is_gone
        else (),
        fixes=(_one_manager_fix(resource, replacer), *_reader_fixes(drift, label_key))
        if replacer
        else (
            sync_fix(app, resource, "Sync the object to Git's value")
            if resource.group == ARGOCD and not app.self_heal
            else None,
            drift.drop("Leave out of Git what does not stay"),
            drift.ignore(),
        )
        if declared
        else _schema_fixes(resource, changes)
        if dropped and not taken_off and not since and is_custom(resource.group)
        else _way_out_fixes(drift, label_key, since, taken_off=taken_off),
    )


def _closed_gate(resource: Resource, changes: tuple[Change, ...], kubernetes: str) -> str:
    """The feature gate without which the API server drops these fields, where this Kubernetes does not have it on by default; else empty."""
    for row in load(__package__, "gates.yaml")["gates"]:
        fields = all(any(fits(pattern, change.pointer) for pattern in row["fields"]) for change in changes)
        have, since = parse_version(kubernetes), parse_version(row["since"])
        if fields and resource.kind in row.get("kinds", (resource.kind,)) and not (have and since and have >= since):
            doubt = "" if have else ", or a webhook removes it"
            return f"feature gate {row['gate']} is off, as it is by default before Kubernetes {row['since']}{doubt}"
    return ""


def _is_declared(resource: Resource, change: Change) -> bool:
    """Whether the field is one of Kubernetes' own, which no schema drops."""
    desired = resource.desired or {}
    known = (not is_custom(resource.group) or resource.group == ARGOCD) and schema.known(desired)
    return known and not any(below(change.pointer, fault.pointer) for fault in schema.faults(desired))


def _is_stored_in_another_form(drift: Drift) -> bool:
    """Whether the API server gave fields that Argo CD applied away for others of the same map: a conversion or a webhook of their kind."""

    def above(change: Change) -> str:
        return change.pointer.rpartition("/")[0]

    lost = [change for change in drift.changes if not_stored(drift.resource, change)]
    added = [change for change in drift.changes if change.desired is MISSING]
    if not lost or len(lost) + len(added) != len(drift.changes) or not settled(drift.app, drift.resource):
        return False
    return {above(change) for change in lost} <= {above(change) for change in added}


def _way_out_fixes(drift: Drift, label_key: str, since: str, *, taken_off: bool) -> tuple[Fix | None, ...]:
    """The fixes by the program that keeps the difference; none if no program is known, or if the fields are tracking data."""
    keeps_status = since and any(w.manager == since for w in writers(drift.resource.live or {}, "/status"))
    if taken_off or keeps_status:
        return _reader_fixes(drift, label_key)
    if since:
        return _schema_check_fix(drift.resource, since, drift.changes[0]), drift.ignore()
    writer = drift.changes[0].writer
    if writer is None or by_argocd(writer) or any(is_tracking_mark(change, label_key) for change in drift.changes):
        return ()
    return _writer_fixes(drift)


def _writer_since_apply(resource: Resource) -> str:
    """The one program that wrote the object after Argo CD's last apply; empty where none or several did.

    Who leaves a field out owns nothing of it, so managedFields cannot show more.
    """
    written = [w for w in managers(resource.live or {}) if not w.subresource and w.time]
    applied = max((w.time for w in written if by_argocd(w) and w.time), default=None)
    if applied is None:  # `kubectl apply --server-side` takes over the fields of the client-side apply before it
        return written[0].manager if len(written) == 1 and written[0].operation == "Apply" else ""
    later_managers = {w.manager for w in written if w.time and w.time > applied and not by_argocd(w)}
    return later_managers.pop() if len(later_managers) == 1 else ""


def _is_replaced(app: App, resource: Resource) -> bool:
    """Whether another program has written the object as a whole since Argo CD's client-side apply: the annotation of that apply is gone."""
    desired = resource.desired or {}
    if syncs_server_side(app.raw, desired) or has_sync_option(app.raw, desired, "Replace=true"):
        return False
    own = [w for w in managers(resource.live or {}) if by_argocd(w)]
    client_side = not own or any(
        w.operation == "Update" for w in own
    )  # none: kubectl apply --server-side took its fields over
    return client_side and LAST_APPLIED not in annotations_of(resource.live)


def _writes_schema(resource: Resource, manager: str, changes: tuple[Change, ...]) -> bool:
    """Whether they are in the schemas of a CustomResourceDefinition, whose versions this program has written: its own CRD has other ones."""
    in_schemas = all("/openAPIV3Schema/" in change.pointer for change in changes)
    owners = (w.manager for w in writers(resource.live or {}, "/spec/versions"))
    return resource.kind == "CustomResourceDefinition" and in_schemas and manager in owners


def _one_manager_fix(resource: Resource, manager: str) -> Fix:
    switch = (
        "manageCrds, installCRDs, crds.create or crds.install"
        if resource.kind == "CustomResourceDefinition"
        else "create or install"
    )
    return Fix(
        f"Let either {manager!r} or Argo CD manage the object, not both",
        "operator",
        manager,
        Edit(
            "text",
            f"In the flags or values of {manager} switch off what makes {resource.id} (such as {switch}), or remove the object from what Argo CD deploys.",
        ),
    )


def _schema_fixes(resource: Resource, changes: tuple[Change, ...]) -> tuple[Fix, ...]:
    """The spelling that kinds of Kubernetes have, where Git has that of a program's own configuration; and the question to the schema."""
    names = [split_pointer(change.pointer)[-1] for change in changes]
    spelt = [re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name) for name in names]
    ask = _schema_check_fix(resource, "", changes[0])
    if any(old == new or not _SNAKE.fullmatch(old) for old, new in zip(names, spelt, strict=True)):
        return (ask,)
    lines = "\n".join(f"{change.pointer} -> {new}" for change, new in zip(changes, spelt, strict=True))
    title = f"Write {enumerated(spelt)}, as Kubernetes kinds usually spell fields" if len(spelt) < 3 else _SPELLING
    return (manifest_text(resource.id, title, lines), ask)


_SNAKE = regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_SPELLING = "Write the fields without underscores, as Kubernetes kinds usually spell them"


def _schema_check_fix(resource: Resource, manager: str, change: Change) -> Fix:
    """The step that tells the two apart; no answer of Argo CD does."""
    path = ".".join(token for token in split_pointer(change.pointer) if index_of(token) is None)
    version = "/".join(filter(None, (resource.group, resource.id.version)))
    return live_command(
        resource.id,
        f"Look the field up in the schema; if it is there, {manager or 'a webhook or someone'} drops it",
        f"kubectl explain {sh(f'{resource.kind.lower()}.{path}')} --api-version={sh(version)}   # no such field: correct it in Git, or update the CRD\n"
        + (
            f"# else upgrade {manager}, if it is older than the field, or make it leave the object alone\n"
            if manager
            else ""
        ),
    )


def _writer_fixes(drift: Drift) -> tuple[Fix | None, ...]:
    """Fixes for a conflict with another writer; for a controller's moving number, first leave it to the controller."""
    ignore = drift.ignore()
    write = drift.write_live("Write the live value, if it is right")
    # a mark that its reader removes when it is done, while Git still has it
    if all(c.live is MISSING for c in drift.changes):
        return (ignore, drift.drop("Leave it out of Git"))
    moved = all(c.pointer.endswith("/replicas") for c in drift.changes) and not is_sort(
        drift.changes[0].writer, "person"
    )
    return (ignore, write) if moved else (write, ignore)


def _reader_fixes(drift: Drift, label_key: str) -> tuple[Fix | None, ...]:
    """Fixes for a mark or a field that its reader removes when it is done, such as the operator, while Git still has it."""
    of_argocd = any(is_tracking_mark(change, label_key) for change in drift.changes)  # Git has no such mark
    return (
        drift.ignore(),
        None if of_argocd else drift.drop("Leave it out of Git"),
    )


def _deleted_finding(app: App, resource: Resource) -> Finding | None:
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
            live_command(
                f"Application {app.ref}",
                "Create it again, once it is known who deleted it",
                f"argocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}",
                "" if app.self_heal else "without self-heal nothing creates it again before the next commit",
            ),
        ),
    )


def _object_finding(app: App, resource: Resource, symptom: Symptom, cause: str, fact: str) -> Finding:
    return Finding(
        message=f"{app.name} is OutOfSync: {resource.id} {fact}, and nothing says why.",
        at=Location(app.ref, resource.id),
        cause=cause,
        confidence="possible",
        explains=(symptom,),
    )


def _leaving_finding(app: App, resource: Resource) -> Finding | None:
    """For an object that is being deleted: its finalizers hold it for now; `finalizer-stuck` reports one that stays."""
    since = text_at(resource.live, "metadata", "deletionTimestamp")
    if not since:
        return None
    return Finding(
        message=f"{app.name} is OutOfSync until {resource.id} is gone, which is being deleted.",
        at=Location(app.ref, resource.id),
        severity="info",
        cause="extra",
        evidence=(
            f"deleted at {since}",
            *(f"finalizer {each}" for each in texts(resource.live, "metadata", "finalizers")),
        ),
        explains=(Symptom.extra(resource.id),),
    )


def _are_all_states_known(app: App) -> bool:
    return app.read and all(resource.desired_known for resource in app.resources if not resource.hook)


def _is_reason_shown(app: App) -> bool:
    """True if an object or a condition shows why the application is not in sync."""
    return bool(
        any(condition.is_error for condition in app.conditions)
        or app.missing
        or app.extra
        or any(not resource.hook for resource in app.changed)
    )


def _unshown_finding(app: App) -> Finding:
    out_of_sync = [str(resource.id) for resource in app.resources if resource.status == "OutOfSync"]
    managed = dig(app.spec, "syncPolicy", "managedNamespaceMetadata") is not None
    if managed and not out_of_sync:
        reason = f"namespace {app.destination_namespace!r} differs from managedNamespaceMetadata"
    elif out_of_sync:
        reason = f"{out_of_sync[0]} is listed so, yet both its states are equal now"
    else:
        reason = "nothing in Argo CD's answers says why"
    return Finding(
        message=f"{app.name} is {app.sync_status} although no object differs: {reason}.",
        at=Location(app.ref),
        cause="namespace-metadata" if managed and not out_of_sync else "unknown",
        confidence="likely" if managed and not out_of_sync else "possible",
        evidence=tuple(_namespace_metadata(app)) if managed and not out_of_sync else (),
        explains=(Symptom.sync(),),
        fixes=(_namespace_fix(app),) if managed and not out_of_sync else (),
    )


def _namespace_metadata(app: App) -> Iterator[str]:
    """The labels and annotations that the Application sets on its namespace."""
    for field in ("labels", "annotations"):
        for key, wanted in mapping(app.spec, "syncPolicy", "managedNamespaceMetadata", field).items():
            yield f"managedNamespaceMetadata {field} {key}: {show(wanted, join_pointer('metadata', field, key))}"


def _namespace_fix(app: App) -> Fix:
    name = sh(app.destination_namespace)
    return Fix(
        "Find the label or annotation that differs, and remove it from managedNamespaceMetadata if it changes by itself",
        "application",
        application_place(app),
        Edit("command", f"kubectl get namespace {name} -o jsonpath='{{.metadata.labels}}{{.metadata.annotations}}'"),
        "ignoreDifferences does not reach them; a sync writes them",
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    causes=("other-writer", "not-stored", "missing", "extra", "namespace-metadata", "unknown"),
    rank=Rank.CATCH_ALL,
)
