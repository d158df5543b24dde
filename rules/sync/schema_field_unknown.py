"""A field that the schema does not declare

What it finds: a comparison or a sync that fails because a schema does not declare a field. The field is in the manifest (misspelt, or from
another version) or in the live object (newer than Argo CD's schema). The finding names the field and the schema: that of Argo CD for built-in
kinds under the structured merge, that of the cluster for the API server, that of the CRD for custom kinds. Also a field of a custom resource
that each sync sends and the API server does not keep, and one of a workload that no release of Kubernetes has there. Also a misspelt field of a
built-in kind that a sync will bring, such as `resourcez` of a container. Also a field that a CRD in Git no longer declares while objects set it.

Why it hurts: under server-side apply the whole application cannot be compared, or the object is never applied. Under client-side apply the API server drops a misspelt field without an error, and the application often stays OutOfSync.

How to fix: correct or remove the field in Git. If Argo CD is older than the cluster, upgrade it or compare server-side. If Git brings the CRD
that declares the field, apply that first.

Example: `topologySpreadConstraint` in place of `topologySpreadConstraints`.

Sources: sigs.k8s.io/structured-merge-diff (typed); argoproj/argo-cd#13585, #16817, #17358, #20458, #26619.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from argolint import (
    MISSING,
    Afterwards,
    App,
    Change,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.application.applied import by_argocd, not_stored, renamed, settled, shown_with_another
from argolint.comparison import builtin, managers, syncs_server_side
from argolint.edits import application_place, ignore_less, manifest_patch, removals, set_field
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.messages import named, quoted, unwrap
from argolint.values import (
    annotations_of,
    below,
    dig,
    enumerated,
    get,
    index_of,
    join_pointer,
    maps,
    parse_version,
    split_pointer,
)
from argolint.values.knowledge import load
from argolint.values.kubernetes import argocd_name
from argolint.values.patterns import regex
from argolint.values.schema import Fault, faults, homes, release

from ..shared.crds import Definition, declares, definition_of, sibling_names, wanted_definitions
from ..shared.operations import with_end_of_retries
from ._argocd_fields import newer_fields
from ._failures import failures_explained_by
from ._field_checks import spot_of
from ._levels import Misplaced, keeps_value, misplaced_field, repair_operations
from ._narrowed import narrowed_findings, narrowed_wants
from ._objects import missing_symptoms, object_named, only_object
from ._options import compare_options_with, failing_step, is_sent_whole
from ._slips import Slip, coming_slips

_TYPED = regex(r"((?<![^\s(])\.[^\s:\[]*+(?:\[[^\]]*+\][^\s:\[]*+)*+): field not declared in schema")
_TYPED_VERSION = regex(r"; (?:[^,()/;]{1,253}/)?([^,()/;]{1,100}), Kind=")
_VALIDATED = regex(r'ValidationError\(\w{1,100}((?:\.[\w\[\]-]{1,100}){0,30})\): unknown field "([^"]{1,200})"')
_STRICT = regex(r'unknown field "([^"]+)"')
_STEP = regex(r"\.?([^.\[\]]+)|\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class _UndeclaredField:
    """`schema_owner` is the owner of the schema that lacks the field: `argocd`, `cluster` (Kubernetes itself), `crd` or `unknown`.

    `live_only`: the field is in the live object; `diff`: Argo CD compares with the help of the API server.
    """

    message: str
    paths: tuple[str, ...]
    resource: Resource | None
    live_only: bool
    schema_owner: str
    diff: bool
    crd: Definition | None = None

    @property
    def path(self) -> str:
        return self.paths[0]


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The CRD of a refused object, if another application manages it."""
    for message, id_ in _schema_messages(app):
        about = named(message)
        group, kind = (id_.group, id_.kind) if id_ else (about.group or "", about.kind) if about else ("", "")
        yield from wanted_definitions(app, fleet, group, kind)
    for resource in app.changed:
        if not _is_of_server(resource.group) and _sent_in_vain(app, fleet, resource):
            yield from wanted_definitions(app, fleet, resource.group, resource.kind)
    yield from narrowed_wants(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ComparisonError and each failed object that names such a field."""
    for condition in app.conditions:
        if condition.type in _TYPES and unwrap(condition.message).stage != "target-state" and _paths(condition.message):
            read = _undeclared_field(app, condition.message, None)
            claims = (condition.symptom, Symptom.sync(), Symptom.operation(), Symptom.condition("SyncError"))
            yield _finding(app, fleet, read, (*claims, *missing_symptoms(app)))
    refused = [f for f in failures_explained_by(app, "schema-field-unknown") if _paths(f.message)]
    for failed in refused:
        read = _undeclared_field(app, failed.message, app.held(failed.id))
        found = _finding(app, fleet, read, tuple(consequences(app)))
        fixes = with_end_of_retries(app, found.fixes)
        is_corrected = read.resource is not None and get(read.resource.desired, found.at.pointer) is MISSING
        only_retries = is_corrected and fixes[:1] != found.fixes[:1]  # they apply a former commit
        yield replace(found, fixes=fixes[:1] if only_retries else fixes)
    for resource in app.changed:
        if resource.group in _WORKLOADS:
            yield from _dropped_field_findings(app, resource)
        elif pruned := _dropped_changes(app, fleet, resource):
            wrong = [
                f for c in pruned for f in _no_fields(resource, c.pointer) if _has_all_fields(app, fleet, resource)
            ]
            if len(wrong) < len(pruned):
                yield _not_kept_finding(app, fleet, resource, pruned)
            else:
                yield from (_no_field_finding(app, resource, fault) for fault in wrong)
    yield from narrowed_findings(app, fleet)
    for resource in () if refused else app.stated:
        if resource.status != "OutOfSync" and not resource.hook:
            continue
        is_known = _is_builtin(resource.group) or resource.kind in ("Application", "AppProject")
        if is_known and _is_validated(app, resource):
            whole = _has_all_fields(app, fleet, resource)
            yield from (_slip_finding(app, fleet, resource, slip) for slip in coming_slips(resource, whole=whole))


_WORKLOADS = ("apps", "batch")
_TYPES = ("ComparisonError", "UnknownError")
"""Condition types; rendering errors are left out, since no schema of the cluster declares the fields of values and kustomizations."""


def _schema_messages(app: App) -> Iterator[tuple[str, ResourceId | None]]:
    for condition in app.conditions:
        if condition.type in _TYPES and unwrap(condition.message).stage != "target-state" and _paths(condition.message):
            yield condition.message, None
    for failed in failures_explained_by(app, "schema-field-unknown"):
        yield failed.message, failed.id


def _paths(message: str) -> tuple[str, ...]:
    """The fields in the message, each once."""
    validated = [f"{above}.{field}" for above, field in _VALIDATED.findall(message)]
    strict = [] if validated else _STRICT.findall(message)
    return tuple(dict.fromkeys((*_TYPED.findall(message), *validated, *strict)))


def _undeclared_field(app: App, message: str, resource: Resource | None) -> _UndeclaredField:
    paths, where = _paths(message), unwrap(message).stage
    live_only = "live resource" in message or "typedLive" in message or paths[0].startswith(".status")
    resource = resource or object_named(app, message)
    if resource is None and named(message) is None:
        side = "live" if live_only else "desired"
        pointer = _pointer(paths[0], None)
        found = only_object(app, lambda obj: get(obj, pointer) is not MISSING, side)
        resource = found.as_compared if found else None
    about = named(message)
    group = resource.group if resource else about.group if about else None
    by_argocd = where == "structured-merge"
    if group is None:
        schema_owner = "argocd" if by_argocd and live_only and not _is_absent_from_live(app, paths[0]) else "unknown"
    elif _is_builtin(group):
        schema_owner = "argocd" if by_argocd else "cluster"
    else:
        schema_owner = "cluster" if _is_of_server(group) else "crd"
    kind = resource.kind if resource else about.kind if about else ""
    crd = definition_of(app, group, kind) if group and schema_owner == "crd" else None
    return _UndeclaredField(message, paths, resource, live_only, schema_owner, where == "server-side-diff", crd)


def _is_builtin(group: str) -> bool:
    """Whether Argo CD knows the kinds of the group as Go types."""
    return builtin({"apiVersion": f"{group}/v1" if group else "v1"})


def _is_absent_from_live(app: App, path: str) -> bool:
    """True if no live object has the field and some are custom: the schema that Argo CD has read for one of those may be wrong."""
    custom = any(not _is_builtin(r.group) for r in app.resources)
    return custom and not any(get(r.live, _pointer(path, r.live)) is not MISSING for r in app.resources if r.live)


def _pointer(path: str, obj: Json) -> str:
    """`.spec.containers[name="web"].imagee` as a pointer; list items are found in the object by their key."""
    pointer = ""
    for name, key in _STEP.findall(path):
        if name:
            pointer += join_pointer(name)
        else:
            pointer += f"/{_item_index(get(obj, pointer, None), key)}"
    return pointer


def _item_index(found: Json, key: str) -> str:
    wanted = dict(re.findall(r'(?<!\w)(\w+)="([^"]*)"', key))
    if index_of(key) is not None or not wanted or not isinstance(found, list):
        return key if index_of(key) is not None else "0"
    return str(
        next(
            (
                i
                for i, item in enumerate(found)
                if isinstance(item, dict) and all(str(item.get(k)) == v for k, v in wanted.items())
            ),
            0,
        )
    )


def _finding(app: App, fleet: Fleet, field: _UndeclaredField, claims: tuple[Symptom, ...]) -> Finding:
    resource = field.resource
    pointer = _pointer(field.path, resource.any if resource else None)
    at_home = (
        resource is None or field.live_only or field.schema_owner == "crd" or get(resource.desired, pointer) is MISSING
    )
    moved = misplaced_field(resource.desired, pointer) if resource and not at_home else None
    meant = "" if field.live_only or moved else _closest_name(field, pointer)
    what = str(resource.id) if resource else "state of an object" if field.live_only else "one of its objects"
    more = f" and {len(field.paths) - 1} more" if len(field.paths) > 1 else ""
    fails = "cannot be compared" if field.diff else "does not sync"
    unread = f"Application {app.ref} cannot be compared"
    is_brought = not meant and _is_brought(field, pointer)
    if field.live_only and field.schema_owner == "crd":
        fact = f"{unread}: the live {what} has {pointer}{more}, which the CRD's schema that Argo CD has read lacks."
    elif field.live_only and field.schema_owner == "unknown":
        fact = f"{unread}: the live {what} has {pointer}{more}, which the schema that it compares with lacks."
    elif field.live_only:
        fact = f"{unread}: the live {what} has {pointer}{more}, which this Argo CD does not know."
    elif is_brought and field.crd:
        who = "it" if field.crd.owner == app.ref else f"application {field.crd.owner}"
        does = "brings the one that does" if field.crd.desired else "has a newer one to apply"
        fact = f"Application {app.ref} {fails}: the cluster's CRD lacks {pointer}{more} of {what}, and {who} {does}."
    elif field.schema_owner == "argocd" and not meant and not moved and resource is not None:
        fact = f"{unread}: {what} has {pointer}{more}, which the Kubernetes schema built into Argo CD lacks."
    else:
        guess = f" ({meant!r} may be meant)" if meant else moved.guess if moved else ""
        schema = "the cluster's CRD" if field.crd else "its schema"
        fact = f"Application {app.ref} {fails}: {schema} has no {pointer}{more} for {what}{guess}."
    own = (Symptom.change(resource.id), Symptom.missing(resource.id), Symptom.health(resource.id)) if resource else ()
    return Finding(
        message=fact[0].upper() + fact[1:],
        at=Location(app.ref, resource.id if resource else None, pointer if resource else ""),
        confidence="likely" if is_brought and field.crd and not field.crd.desired else "proven",
        evidence=(quoted(field.message, 500), *([f"all fields: {', '.join(field.paths[:10])}"] if more else [])),
        related=(Related(field.crd.owner, field.crd.id, role="cause"),) if field.crd else (),
        fixes=(_move_fixes(resource, moved) if moved else ())
        or (
            *_rename_fixes(field, pointer, meant),
            *_manager_rule_fixes(app, field),
            *advice(
                __package__,
                _topic(field, is_brought=is_brought, meant=meant),
                _facts(app, fleet, field, [pointer, *_pointers(field)]),
            ),
        ),
        explains=(*claims, *own),
    )


def _is_validated(app: App, resource: Resource) -> bool:
    own = annotations_of(resource.desired).get("argocd.argoproj.io/sync-options", "")
    return "Validate=false" not in {*app.sync_options, *map(str.strip, own.split(","))}


def _has_all_fields(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether the known types have every field of this release of Kubernetes; for Argo CD's own kinds, of this Argo CD."""
    of_kubernetes = _is_builtin(resource.group)
    runs = parse_version(fleet.kubernetes_version(app.cluster) if of_kubernetes else fleet.version)
    known = parse_version(release("kubernetes" if of_kubernetes else "argocd"))
    return runs is not None and known is not None and runs[:2] <= known[:2]


def _slip_finding(app: App, fleet: Fleet, resource: Resource, slip: Slip) -> Finding:
    """A finding for a slip that a sync will bring: an apply by the server is refused; any other one, and a replace, asks for no strict validation (argo-cd#16817)."""
    fails = syncs_server_side(app.raw, resource.desired) and not is_sent_whole(app, resource.desired)
    outcome = f"the next {failing_step(app, fleet, resource)} fails" if fails else "each sync drops it"
    misplaced = None if slip.meant else misplaced_field(resource.desired, slip.pointer)
    guess = misplaced.guess if misplaced and misplaced.right_pointer else ""
    evidence = (
        f"{slip.within} has a field {slip.meant}" if slip.meant else f"{slip.within} has no field of a similar name"
    )
    return Finding(
        message=f"{resource.id} has the field {spot_of(resource.desired, slip.pointer)} in Git, and {slip.within} has none of that name{guess}: {outcome}.",
        at=Location(app.ref, resource.id, slip.pointer),
        severity="error" if fails else "warning",
        confidence="likely",
        evidence=(evidence,),
        fixes=_move_fixes(resource, misplaced) if misplaced else (_slip_fix(resource, slip),),
    )


def _slip_fix(resource: Resource, slip: Slip) -> Fix:
    to = slip.pointer[: slip.pointer.rindex("/")] + join_pointer(slip.meant)
    return manifest_patch(
        resource.id,
        f"Rename the field to {slip.meant}" if slip.meant else "Remove the field, or move it to where it belongs",
        [{"op": "move", "from": slip.pointer, "path": to}]
        if slip.meant
        else removals(resource.desired, [slip.pointer]),
        "the field takes effect then, as it was meant to" if slip.meant else "",
    )


def _dropped_field_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """Findings for fields at a wrong place that Validate=false admits: the API server drops them at each sync."""
    for change in resource.changes:
        found = misplaced_field(resource.desired, change.pointer) if change.live is MISSING else None
        if found is not None:
            yield Finding(
                message=f"The API server drops {found.pointer} of {resource.id}{found.guess} at each sync, so {app.name} stays OutOfSync.",
                at=Location(app.ref, resource.id, found.pointer),
                severity="warning",
                confidence="likely",
                evidence=(f"no field of that name is declared there for a {found.kind}, and live holds none",),
                fixes=_move_fixes(resource, found),
                explains=(Symptom.change(resource.id, change.pointer),),
            )
        elif settled(app, resource) and not_stored(resource, change):
            yield from (_no_field_finding(app, resource, fault) for fault in _no_fields(resource, change.pointer))


def _no_fields(resource: Resource, pointer: str) -> Iterator[Fault]:
    """The fault of a field that the types of Kubernetes do not have at this place."""
    return (f for f in faults(resource.desired or {}) if f.pointer == pointer and f.names)


def _no_field_finding(app: App, resource: Resource, fault: Fault) -> Finding:
    """A field that no release has there, which an apply without validation sends in vain."""
    *_, name = split_pointer(fault.pointer)
    meant = next(iter(difflib.get_close_matches(name, fault.names, 1, cutoff=0.85)), "")
    home = () if meant else homes(fault)
    to = home[0] if len(home) == 1 else fault.pointer[: fault.pointer.rindex("/")] + join_pointer(meant)
    is_free = bool(meant or len(home) == 1) and get(resource.desired, to) is MISSING
    guess = f" ({meant!r} may be meant)" if meant else f" (it belongs at {home[0]})" if len(home) == 1 else ""
    move = f"Rename the field to {meant}" if meant else f"Move the field to {to}"
    gone = removals(resource.desired, [fault.pointer])
    moved: list[Json] = [{"op": "move", "from": fault.pointer, "path": to}]
    if get(resource.desired, to.rpartition("/")[0]) is MISSING:
        moved = [*set_field(resource.desired, to, get(resource.desired, fault.pointer)), *gone]
    return Finding(
        message=f"The API server drops {fault.pointer} of {resource.id}{guess} at each sync, so {app.name} stays OutOfSync.",
        at=Location(app.ref, resource.id, fault.pointer),
        severity="warning",
        confidence="likely",
        evidence=(f"{fault.type.removeprefix('V1')} has no field of that name, and live holds none",),
        fixes=(
            manifest_patch(
                resource.id,
                move if is_free else "Remove the field, which does nothing",
                moved if is_free else gone,
                "the field takes effect then, as it was meant to" if is_free else "",
            ),
        ),
        explains=(Symptom.change(resource.id, fault.pointer),),
    )


def _dropped_changes(app: App, fleet: Fleet, resource: Resource) -> tuple[Change, ...]:
    """Fields that the last sync sent and the API server dropped, since its schema or the CRD does not declare them.

    Of an empty field only a CRD that is known not to declare it says so: programs leave empty fields out, too.
    """
    crd = definition_of(app, resource.group, resource.kind)
    schemas = (crd.live or crd.desired) if crd else None

    def drops(change: Change) -> bool:
        known = declares(schemas, resource.id.version, change.pointer)
        return not known and (known is False or bool(change.desired) or change.live is not MISSING)

    return tuple(sorted(filter(drops, _sent_in_vain(app, fleet, resource)), key=lambda change: not change.desired))


def _sent_in_vain(app: App, fleet: Fleet, resource: Resource) -> tuple[Change, ...]:
    """Fields that the last sync sent and live does not hold, although no one else has written to the object since."""
    if not settled(app, resource) or any(not by_argocd(w) and not w.subresource for w in managers(resource.live or {})):
        return ()
    return tuple(
        c
        for c in resource.changes
        if not_stored(resource, c)
        and not below(c.pointer, "/metadata")
        and (newer_fields(app, fleet, resource, c) or not _is_argocds_own(resource, c))
        and renamed(app, resource, c) is None
    )


def _is_argocds_own(resource: Resource, change: Change) -> bool:
    """Whether it is a field of an Application or AppProject that Argo CD's own CRD has; /operation goes as soon as it starts."""
    if resource.group != "argoproj.io" or resource.kind not in ("Application", "AppProject"):
        return False
    wrong = (fault.pointer for fault in faults(resource.desired or {}))
    return below(change.pointer, "/operation") or not any(below(change.pointer, each) for each in wrong)


def _is_of_server(group: str) -> bool:
    """Whether the API server itself declares the fields of the group's kinds, not a CRD."""
    extends = group in ("apiextensions.k8s.io", "apiregistration.k8s.io")
    return extends or "." not in group or _is_builtin(group)


def _kept_since(kind: str, pointer: str) -> str:
    """The minor release of Kubernetes from which it keeps this field of the kind by default; empty for a field without an entry."""
    name = split_pointer(pointer)[-1]
    rows = load(__package__, "fields.yaml")["since"]
    return next((str(row["release"]) for row in rows if row["field"] == name and kind in row["kinds"]), "")


def _not_kept_finding(app: App, fleet: Fleet, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    pointer = changes[0].pointer
    own = _is_of_server(resource.group)
    newer = [(change, fields) for change in changes if (fields := newer_fields(app, fleet, resource, change))]
    later = {place: since for _, fields in newer for place, since in fields.items()}
    product, runs = ("Argo CD", fleet.version) if later else ("Kubernetes", fleet.kubernetes_version(app.cluster))
    if later:
        changes, pointer = tuple(change for change, _ in newer), next(iter(later))
    crd = definition_of(app, resource.group, resource.kind)
    sure = crd is not None and declares(crd.live or crd.desired, resource.id.version, pointer) is False
    them = "it" if len(changes) == 1 else "them"
    why = f"{'' if sure else 'most likely '}since its CRD does not declare {them}"
    since = max(later.values(), key=lambda v: parse_version(v) or (), default="")
    if own:
        since = _kept_since(resource.kind, pointer)
    older = bool(since) and (parse_version(runs) or (99,)) < (parse_version(since) or ())
    if own:
        why = "most likely unknown to it or behind a feature gate"
    if older:
        why = f"which {product} keeps from {since} on"
    path = "".join("[]" if index_of(token) is not None else f".{token}" for token in split_pointer(pointer))
    field = _UndeclaredField("", (path,), resource, live_only=False, schema_owner="crd", diff=False, crd=crd)
    topic = "schema-field/newer-argocd" if later else "schema-field/builtin" if own else "schema-field/crd"
    dropped = list(later) or [c.pointer for c in changes]
    counted = pointer + (f" and {len(dropped) - 1} more" if len(dropped) > 1 else "")
    facts = {**_facts(app, fleet, field, dropped), "since": since if older else ""}
    meant = {} if own or later else _meant_names(app, resource, changes, crd)
    echoes = [p for p, at in shown_with_another(app, resource).items() if any(below(c.pointer, at) for c in changes)]
    return Finding(
        message=f"The API server drops {counted} of {resource.id}, {why}, so {app.name} stays OutOfSync.",
        at=Location(app.ref, resource.id, pointer),
        severity="warning",
        confidence="proven" if sure else "likely",
        evidence=(
            "the last sync applied it, live does not hold it, and no one has written to the object since",
            *((f"{'this is' if later else 'the cluster runs'} {product} {runs}",) if older else ()),
            *(f"{at}: the field {name!r} may be meant" for at, name in meant.items()),
            *((f"shown only while the list differs: {enumerated(echoes)}",) if echoes else ()),
        ),
        fixes=(
            *_renames_fix(resource, meant, [c.pointer for c in changes if c.pointer not in meant]),
            *advice(__package__, topic, facts, resource.id),
        ),
        explains=tuple(Symptom.change(resource.id, place) for place in (*(c.pointer for c in changes), *echoes)),
    )


def _meant_names(
    app: App, resource: Resource, changes: tuple[Change, ...], crd: Definition | None
) -> Mapping[str, str]:
    """By pointer: the field with a similar name that Git leaves free, declared by the CRD or seen in a live object of the kind."""
    found = {}
    for change in changes:
        above, _, name = change.pointer.rpartition("/")
        seen = {key for o in app.of_kind(resource.kind, resource.group) for key in _fields_at(o.live, above)}
        names = sibling_names(crd.live or crd.desired, resource.id.version, change.pointer) if crd else sorted(seen)
        free = [n for n in names if get(resource.desired, above + join_pointer(n)) is MISSING]
        if close := difflib.get_close_matches(name, free, 1, cutoff=0.8):
            found[change.pointer] = close[0]
    return found


def _fields_at(live: Json, pointer: str) -> Iterator[str]:
    """The fields at this place; of all items, where the place is in a list."""
    nodes = [live]
    for token in (token for token in split_pointer(pointer) if index_of(token) is None):
        inner = (get(node, join_pointer(token), None) if isinstance(node, Mapping) else node for node in nodes)
        nodes = [item for node in inner for item in (node if isinstance(node, list) else [node])]
    return (key for node in nodes if isinstance(node, Mapping) for key in node)


def _renames_fix(resource: Resource, meant: Mapping[str, str], others: Sequence[str]) -> Iterator[Fix]:
    """Renames fields, and removes those for which no name is known."""
    if not meant:
        return
    moves = [
        {"op": "move", "from": at, "path": at[: at.rindex("/")] + join_pointer(name)} for at, name in meant.items()
    ]
    title = (
        f"Rename {enumerated([*meant], 'field', limit=1)}, and remove {enumerated(others, 'field', limit=1)}"
        if others
        else f"Rename the field to {next(iter(meant.values()))}"
        if len(meant) == 1
        else "Correct the names of the fields"
    )
    patch = [*moves, *removals(resource.desired, others)]
    yield manifest_patch(resource.id, title, patch, "a field that is renamed takes effect then")


def _move_fixes(resource: Resource | None, found: Misplaced) -> tuple[Fix, ...]:
    """A fix that moves the field to its place, or removes it if it has none."""
    if resource is None or not (operations := repair_operations(resource.desired, found)):
        return ()
    kept = keeps_value(resource.desired, found)
    own = (
        f": a {found.kind} has {found.right_pointer} in its place"
        if found.right_pointer
        else f", which a {found.kind} does not have"
    )
    return (
        manifest_patch(
            resource.id,
            f"Move the field to {found.right_pointer}" if kept else f"Remove the field{own}",
            operations,
            "the field takes effect then, as it was meant to" if kept else "",
        ),
    )


def _is_brought(field: _UndeclaredField, pointer: str) -> bool:
    """True if Git has a CRD, with the field if its schema is known, and the live CRD lacks the field.

    Argo CD returns no desired state for an application that it cannot compare.
    """
    if field.crd is None or field.live_only:
        return False
    version = field.resource.id.version if field.resource else ""
    found = _TYPED_VERSION.search(field.message)
    version = version or (found[1] if found else "")
    new = declares(field.crd.desired, version, pointer)
    return new is not False and declares(field.crd.live, version, pointer) is not True


def _closest_name(field: _UndeclaredField, pointer: str) -> str:
    """The declared name closest to the last token; empty if none is close. Never the token itself."""
    tokens = split_pointer(pointer)
    if not tokens:
        return ""
    names: tuple[str, ...]
    if field.schema_owner == "crd":
        version = field.resource.id.version if field.resource else ""
        names = sibling_names(field.crd.live or field.crd.desired, version, pointer) if field.crd else ()
    else:
        known = load(__package__, "fields.yaml")
        inside = len(tokens) > 1 and index_of(tokens[-2]) is not None
        names = tuple(known["container"]) if inside else (*known["pod"], *known["spec"])
    if tokens[-1] in names:
        return ""
    return next(iter(difflib.get_close_matches(tokens[-1], names, 1, cutoff=0.85)), "")


def _rename_fixes(field: _UndeclaredField, pointer: str, meant: str) -> Iterator[Fix]:
    resource = field.resource
    if resource is not None and meant and get(resource.desired, pointer, None) is not None:
        to = pointer[: pointer.rindex("/")] + join_pointer(meant)
        yield manifest_patch(
            resource.id,
            f"Rename the field to {meant}",
            [{"op": "move", "from": pointer, "path": to}],
            "the field takes effect then, as it was meant to",
        )


def _manager_rule_fixes(app: App, field: _UndeclaredField) -> tuple[Fix, ...]:
    """The fix for rules with managedFieldsManagers: only these make Argo CD build typed objects first (util/argo/managedfields)."""
    if "pre-diff normalization" not in field.message:
        return ()
    rules = [i for i, rule in enumerate(maps(app.spec, "ignoreDifferences")) if rule.get("managedFieldsManagers")]
    removes = ignore_less(app, [f"/spec/ignoreDifferences/{i}/managedFieldsManagers" for i in rules])
    return advice(__package__, "schema-field/managers", {"application": f"Application {app.ref}", "removals": removes})


def _topic(field: _UndeclaredField, *, is_brought: bool, meant: str) -> str:
    if field.path.startswith((".---", "---")):
        return "schema-field/separator"
    if field.live_only:
        return f"schema-field/live-{field.schema_owner if field.schema_owner in ('crd', 'unknown') else 'argocd'}"
    if is_brought:
        return f"schema-field/brought-{'diff' if field.diff else 'sync'}"
    if field.schema_owner == "argocd" and not meant and field.resource is not None:
        return "schema-field/argocd"
    if field.resource is None and field.schema_owner == "unknown" and not meant:
        return "schema-field/unknown"
    return "schema-field/crd" if field.schema_owner == "crd" else "schema-field/remove"


def _pointers(field: _UndeclaredField) -> Iterator[str]:
    """All fields that a refusal names, as pointers."""
    return (_pointer(path, field.resource.desired if field.resource else None) for path in field.paths)


def _facts(app: App, fleet: Fleet, field: _UndeclaredField, pointers: Sequence[str]) -> Mapping[str, Json]:
    """The facts for the schema-field topics in advice.yaml; the first field is the one that the finding is about."""
    resource, crd, pointer = field.resource, field.crd, pointers[0]
    skips = any(dig(source, "helm", "skipCrds") is True for source in app.sources)
    desired = resource.desired if resource else None
    in_git = get(desired, pointer) is not MISSING
    # the whole entry would be removed, and someone meant it
    is_whole_entry = in_git and removals(desired, [pointer])[0]["path"] != pointer
    removes = removals(desired, [p for p in pointers if get(desired, p) is not MISSING]) if in_git else []
    version = fleet.kubernetes_version(app.cluster)
    return {
        "app": str(app.ref),
        "application": f"Application {app.ref}",
        "kubernetes": f" ({version})" if version else "",
        "place": application_place(app),
        "object": str(resource.id) if resource else f"Application {app.ref}",
        "cluster": app.cluster,
        "removals": [] if is_whole_entry else removes,
        "alone": pointer if is_whole_entry else "",
        "within": ".".join(step for step in split_pointer(pointer)[:-1] if index_of(step) is None),
        "path": field.path,
        "field": field.path.rpartition(".")[2],
        "pointer": pointer if in_git else "",
        "crd": crd.id.name if crd else "",
        "crd_owner": str(crd.owner) if crd else "",
        "crd_in_git": crd is not None
        and resource is not None
        and declares(crd.desired, resource.id.version, pointer) is False,
        "crd_chart": _chart_of(fleet.by_ref.get(crd.owner)) if crd and crd.owner != app.ref else "",
        "crd_resource": Shell(argocd_name(crd.id)) if crd else "",
        "group": resource.group if resource else "<group>",
        "kind": resource.kind.lower() if resource else "<kind>",
        "crds_left_out": "skipCrds is set, so no sync upgrades the chart's CRDs" if skips else "",
        "without_ssd": compare_options_with(app, "ServerSideDiff=false"),
        "with_ssd": compare_options_with(app, "ServerSideDiff=true"),
    }


def _chart_of(owner: App | None) -> str:
    """The chart of a Helm repository that this application deploys, with its version; empty for any other source."""
    charts = [
        f"{s['chart']} {s.get('targetRevision', '')}".rstrip()
        for s in (owner.sources if owner else ())
        if s.get("chart")
    ]
    return charts[0] if len(charts) == 1 else ""


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The API server's answer, if no field that it named is left; the proof checks those of built-in kinds."""
    resource = after.held(finding.edits(fix))
    if fix.target != "manifest" or resource is None or resource.desired is None:
        return None
    messages = [
        f.message for f in failures_explained_by(after, "schema-field-unknown") if f.id and f.id.key == resource.key
    ]
    for path in (path for message in messages for path in _paths(message)):
        if get(resource.desired, _pointer(path, resource.desired)) is not MISSING:
            return Afterwards(refused=f"the API server would refuse {path} all the same")
    return Afterwards() if messages else None


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, then=then, rank=Rank.CAUSE)
