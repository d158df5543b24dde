"""A change to a field that cannot change

What it finds: a sync that failed because the API server refuses to change a field of an existing object. Also a change in Git to such a field
before it is synced.

Why it hurts: the object stays as it was, the sync fails each time, and the objects after it are not applied.

How to fix: if an ignore rule hides the difference, let syncs respect it. Otherwise by kind: a Job becomes a hook, or is replaced by force. A
StatefulSet is deleted without its pods and created again. A claim or a class gets a new name.

Example: a new image in a plain Job: `spec.template: field is immutable`.

Sources: k8s.io/kubernetes pkg/apis/*/validation (the table immutable.yaml); docs/user-guide/sync-options.md; argoproj/argo-cd#7430.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

from argolint import (
    GONE,
    MISSING,
    App,
    Change,
    Condition,
    Edit,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Object,
    Rank,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.application.applied import applied_value, by_argocd, made_by_others, not_yet_applied, settled
from argolint.comparison import differences, matches_object, removed, rules_of
from argolint.edits import (
    application_patch,
    application_place,
    manifest_patch,
    manifest_text,
    removals,
    set_field,
    sync_option,
)
from argolint.edits.advice import advice
from argolint.edits.consequences import consequences
from argolint.messages import field_errors, quoted, unwrap
from argolint.relations.blocked import members
from argolint.values import below, enumerated, fits, get, join_pointer, joined, mapping, split_pointer, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex

from ..shared.charts import uses
from ..shared.operations import sync_command, with_end_of_retries
from ._failures import Failed, classify, failures_explained_by
from ._field_checks import Refused
from ._objects import missing_symptoms, object_named
from ._options import (
    annotations_yaml,
    compare_options_with,
    delete_before_operations,
    failing_step,
    hook_warnings,
    is_sent_whole,
    may_be_forgotten,
    sync_hook_operations,
    sync_option_operations,
    sync_options,
)
from ._validation import coming_refusals, server_message

RESPECT = "RespectIgnoreDifferences=true"

_REFUSED = regex(r"is invalid: (?:\[)?([a-zA-Z][\w.\[\]-]*): (?:Invalid value|Forbidden|Required)")
_MAY_CHANGE = regex(r"spec for fields other than (.{1,300}?) are forbidden")
_NAME = regex(r"'(\w{1,60})'")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The live objects of refused hooks: the server does not list them among the managed objects."""
    refused = (f for f in failures_explained_by(app, "immutable-field") if f.id and f.hook)
    return (Want("live", f.id) for f in islice(refused, _HOOKS))


_HOOKS = 5
"""Most hooks that are read."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object: refused by the last sync, or by the next one."""
    yield from _synced_once(app, tuple(_findings(app, fleet)))


def _synced_once(app: App, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings, of which only the last has a command that also syncs: a sync fails until no object is refused any more."""
    then = f" && {sync_command(app)}"
    syncing = [f for f in findings if any(_ends_with(fix, then) for fix in f.fixes)]
    last = max((str(f.at.resource) for f in syncing), default="")
    for finding in findings:
        alone = finding not in syncing or str(finding.at.resource) == last
        yield finding if alone else replace(finding, fixes=tuple(_unsynced(fix, then, last) for fix in finding.fixes))


def _ends_with(fix: Fix, then: str) -> bool:
    return fix.edit.kind == "command" and str(fix.edit.content).endswith(then)


def _unsynced(fix: Fix, then: str, last: str) -> Fix:
    if not _ends_with(fix, then):
        return fix
    command = Edit("command", str(fix.edit.content).removesuffix(then))
    caveat = joined(fix.caveat, f"sync when {last} is deleted too, since until then each sync fails")
    return replace(fix, title=fix.title.removesuffix(", then sync"), edit=command, caveat=caveat)


def _findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    refused = failures_explained_by(app, "immutable-field")
    for failed in refused:
        resource = app.resource(failed.id.key) if failed.id else object_named(app, failed.message)
        yield _failed_finding(app, fleet, failed, resource)
    keys = {f.id.key for f in refused if f.id}
    yield from (_dry_run_finding(app, condition) for condition in app.conditions if _refuses_dry_run(condition))
    yield from (f for r in app.resources if r.uncompared and (f := _forgotten_finding(app, r)))
    for resource in app.resources:
        if not (resource.modified or resource.pending) or (resource.group, resource.kind) not in _immutable_fields():
            continue
        if resource.key not in keys:
            fixed = (c for c in (*resource.pending, *resource.changes) if _is_immutable_change(resource, c))
            change = next((c for c in fixed if c in resource.pending or not_yet_applied(app, resource, c)), None)
            if _is_recreated(resource) or _is_reconciled(app, fleet, resource):
                continue
            if change is not None:
                step = failing_step(app, fleet, resource)
                yield _foreseen_finding(app, resource, change, step, shown=change not in resource.pending)
            elif lost := _lost_by_replace(app, resource):
                yield _replaced_finding(app, resource, lost, failing_step(app, fleet, resource))
            elif coming := _coming_refusal(app, resource):
                yield _refused_finding(app, resource, coming, failing_step(app, fleet, resource))


def _is_recreated(resource: Resource) -> bool:
    """Whether a sync deletes the object and creates it again by its own annotations; options of an Application do not count."""
    return "Force=true" in sync_options(resource.desired)


def _is_reconciled(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether an apply deletes and makes the object where it must: Argo CD runs `kubectl auth reconcile` before it applies a binding.

    Neither before a replace nor before the dry run of a server-side diff.
    """
    entry = _immutable_fields()[resource.group, resource.kind]
    tried = is_sent_whole(app, resource.desired) or failing_step(app, fleet, resource) == "comparison"
    return bool(entry.get("reconciled")) and not tried


@cache
def _immutable_fields() -> dict[tuple[str, str], Object]:
    return {(e["group"], e["kind"]): e for e in load(__package__, "immutable.yaml")}


def _is_immutable_change(resource: Resource, change: Change) -> bool:
    """Whether a sync changes a field that cannot change: also one that only Git or only live has, unless the API server fills it in or drops it."""
    if get(resource.live, "/immutable", None) is True and any(below(change.pointer, at) for at in _MARKED):
        return True
    entry = _immutable_fields()[resource.group, resource.kind]
    if not any(fits(field, change.pointer) for field in entry["fields"]):
        return False
    if change.live is MISSING:
        return change.desired not in _DROPPED and change.pointer not in _MAY_COME
    if change.desired is not MISSING:
        return True
    return _is_own(resource, change) and not any(fits(field, change.pointer) for field in _KEPT)


def _is_own(resource: Resource, change: Change) -> bool:
    """Whether Argo CD's last apply sent the field, so that a sync without it removes it; others are what the API server assigned."""
    by_apply = change.writer is not None and change.writer.operation == "Apply" and by_argocd(change.writer)
    return by_apply or applied_value(resource, change) is not MISSING


_DROPPED: tuple[Json, ...] = (MISSING, None, "", 0, False, [], {})
"""Values that the API server stores as if the field were not there."""
_MAY_COME = ("/spec/storageClassName", "/spec/volumeName")
"""Fields of a claim that may still be set once (core/validation, ValidatePersistentVolumeClaimUpdate)."""
_KEPT = (
    "/spec/clusterIP",
    "/spec/clusterIPs/0",
    "/spec/ipFamilies/0",
    "/spec/serviceAccountName",
    "/spec/template/spec/serviceAccountName",
)
"""Fields that stay where Git drops them: addresses are taken from the live Service, an account from its deprecated twin."""
_MARKED = ("/data", "/binaryData", "/immutable")
"""Fields of a ConfigMap or Secret that `immutable: true` fixes (core/v1)."""


def _failed_finding(app: App, fleet: Fleet, failed: Failed, resource: Resource | None) -> Finding:
    if resource is not None and _is_recreated(resource):
        return _mended_finding(app, failed, resource)
    hidden = _hidden_pointers(app, fleet, resource) if resource else ()
    pointer = hidden[0] if hidden else _pointer(failed.message, resource)
    id_ = resource.id if resource else failed.id
    what = f"{pointer} of {id_}" if pointer else str(id_ or f"an object of application {app.ref}")
    own = (Symptom.change(resource.id), Symptom.health(resource.id)) if resource else ()
    whole = is_sent_whole(app, resource.desired if resource else None) or _SENT_WHOLE.search(failed.message) is not None
    replaced = whole and not any(
        _is_changed_in_git(resource, each) for each in (pointer, *_refused_fields(failed.message))
    )
    why = _WHY_HIDDEN if hidden else _WHY_REPLACED if replaced else _WHY_NOT_FORCED if whole else ""
    headless = _headless_type(resource) if pointer and _top_field(pointer) in _FILLED_IN else ""
    cannot = f"{what} {_cannot(failed.message)}"
    if headless:
        cannot = f"{id_} has clusterIP None in Git, which type {headless} cannot have"
    return Finding(
        message=f"{cannot}, so each sync of application {app.ref} fails{why}.",
        at=Location(app.ref, id_, pointer),
        evidence=(
            quoted(failed.message, 400),
            *([f"ignored, and different in Git: {', '.join(hidden)}"] if hidden else []),
        ),
        fixes=with_end_of_retries(
            app, (*_root_cause_fixes(app, hidden, resource if replaced else None), *_fixes(app, id_, resource, pointer))
        ),
        explains=(*consequences(app), *own),
    )


def _mended_finding(app: App, failed: Failed, resource: Resource) -> Finding:
    """A sync by force deletes the object first, so Git has the option only since the failed one."""
    return Finding(
        message=f"The last sync could not change {resource.id} in place; Force=true, which Git has by now, lets the next one replace it.",
        at=Location(app.ref, resource.id, _pointer(failed.message, resource)),
        confidence="likely",
        evidence=(quoted(failed.message, 400),),
        fixes=advice(__package__, "immutable-field/forced-now", {"app": str(app.ref)}),
        explains=(*consequences(app), Symptom.health(resource.id)),
    )


def _cannot(message: str) -> str:
    return "cannot be made smaller" if _SHRINKS.search(message) else "cannot be changed in place"


_SHRINKS = regex(r"can ?not be less than (?:previous value|status\.capacity)")
_WHY_HIDDEN = f"; an ignore rule hides it without {RESPECT}"
_WHY_NOT_FORCED = "; Replace=true without Force=true replaces in place too"
_WHY_REPLACED = "; Replace=true sends it without what the cluster filled in"


def _refused_fields(message: str) -> tuple[str, ...]:
    """The fields that the message calls immutable; a whole spec is none."""
    return tuple(e.pointer for e in field_errors(message) if "immutable" in e.detail and e.pointer != "/spec")


def _is_changed_in_git(resource: Resource | None, pointer: str) -> bool:
    """Whether Git itself wants another value there, so that neither a patch nor a replacement in place can help."""
    if resource is None or not pointer:
        return False
    wanted, live = get(resource.desired, pointer), get(resource.live, pointer)
    return any(git is not MISSING for _, git, _ in differences(wanted, live))


def _hidden_pointers(app: App, fleet: Fleet, resource: Resource) -> tuple[str, ...]:
    """Pointers of the spec that differ, that ignore rules hide from the comparison and that a sync still writes."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or RESPECT in app.sync_options:
        return ()
    rules = [rule for rule in rules_of(app.raw, fleet.settings).ignore if matches_object(rule, desired)]
    found = {
        pointer
        for side in (live, desired)
        for pointer in removed(side, *rules)
        if pointer.startswith("/spec/") and get(live, pointer, None) != get(desired, pointer, None)
    }
    return tuple(sorted(found))


_SENT_WHOLE = regex(r"error when replacing|metadata\.resourceVersion.{0,100}must be specified for an update")


def _root_cause_fixes(app: App, hidden: tuple[str, ...], replaced: Resource | None) -> Iterator[Fix]:
    """Fixes of the root cause that do not touch the object itself."""
    if hidden:
        yield application_patch(
            app,
            f"Add the sync option {RESPECT}, so that a sync leaves alone what is ignored",
            sync_option(app, RESPECT),
        )
    elif replaced is not None:
        yield from advice(__package__, "sync-failed/replaced", {"object": str(replaced.id)})


def _refuses_dry_run(condition: Condition) -> bool:
    of_diff = condition.type == "ComparisonError" and unwrap(condition.message).stage == "server-side-diff"
    return of_diff and classify(condition.message)[0] == "immutable-field"


def _dry_run_finding(app: App, condition: Condition) -> Finding:
    named = object_named(app, condition.message)
    resource = named.as_compared if named else None
    pointer, id_ = _pointer(condition.message, resource), resource.id if resource else None
    what = f"{pointer} of {id_}" if id_ and pointer else str(id_ or f"a field of an object of application {app.ref}")
    facts = {"place": application_place(app), "without_ssd": compare_options_with(app, "ServerSideDiff=false")}
    return Finding(
        message=f"{what[0].upper() + what[1:] if not id_ else what} {_cannot(condition.message)}, so the server-side diff of application {app.ref} fails.",
        at=Location(app.ref, id_, pointer if id_ else ""),
        evidence=(quoted(condition.message, 400),),
        fixes=(
            *(_deletion_fixes(app, id_, resource, "hook", "replace") or _fixes(app, id_, resource, pointer)),
            *advice(__package__, "comparison-error/refused", facts),
        ),
        explains=(
            condition.symptom,
            Symptom.sync(),
            Symptom.operation(),
            Symptom.condition("SyncError"),
            *missing_symptoms(app),
        ),
    )


def _forgotten_finding(app: App, resource: Resource) -> Finding | None:
    """The finding for a change whose dry run was refused, of which Argo CD shows nothing any more: see `comparison-forgotten`."""
    if (resource.group, resource.kind) not in _immutable_fields() or _is_recreated(resource):
        return None
    wanted = (Change(*found) for found in differences(resource.desired, resource.live) if found[1] is not MISSING)
    fixed = (c for c in wanted if _is_immutable_change(resource, c))
    change = min(fixed, key=lambda c: c.pointer, default=None)
    if change is None:
        return None
    pointer = _top_field(change.pointer)
    return Finding(
        message=f"{pointer} of {resource.id} cannot be changed in place, so application {app.ref} is not compared, though it shows {app.sync_status}.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(
            f"{change.pointer} differs between Git and the cluster",
            "Argo CD has an empty verdict on the object, as after a refused dry run",
        ),
        fixes=(
            *_label_fixes(app, resource),
            *(
                _deletion_fixes(app, resource.id, resource, "hook", "replace")
                or _fixes(app, resource.id, resource, pointer)
            ),
        ),
    )


def _foreseen_finding(app: App, resource: Resource, change: Change, step: str, *, shown: bool) -> Finding:
    """The finding for a sync that has not failed yet. `shown`: False for a change that is not merged yet, which Argo CD shows nowhere.

    `step`: see `failing_step`.
    """
    pointer = _top_field(change.pointer)
    fields = [pointer, *_fixed_too(resource, pointer)]
    return Finding(
        message=f"{enumerated(fields)} of {resource.id} cannot be changed in place, so the next {step} of application {app.ref} will fail.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"{change.pointer} differs from what was applied last, and live still holds that",),
        fixes=tuple(_fixes(app, resource.id, resource, pointer)),
        explains=tuple(
            Symptom.change(resource.id, c.pointer)
            for c in resource.changes
            if shown and _top_field(c.pointer) == pointer
        ),
    )


def _lost_by_replace(app: App, resource: Resource) -> str:
    """The field that the cluster filled in, that cannot change, and that a replacement leaves out; empty if there is none."""
    pointer = _GIVEN.get((resource.group, resource.kind), "")
    kept = not pointer or not get(resource.live, pointer, None) or get(resource.desired, pointer, None)
    return "" if kept or not is_sent_whole(app, resource.desired) else pointer


_GIVEN = {("", "PersistentVolumeClaim"): "/spec/volumeName", ("batch", "Job"): "/spec/selector"}


def _replaced_finding(app: App, resource: Resource, pointer: str, step: str) -> Finding:
    return Finding(
        message=f"Replace=true sends {resource.id} without {pointer}, which the cluster filled in and nothing may change: the next {step} of application {app.ref} fails.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"live has {pointer}, and Git does not",),
        fixes=tuple(_root_cause_fixes(app, (), resource)),
    )


def _coming_refusal(app: App, resource: Resource) -> Refused | None:
    """What the API server will refuse because of what the cluster has: a claim below the size of its volume."""
    refused = coming_refusals(app, resource)
    return next((one for one in refused if classify(server_message(resource, (one,)))[0] == RULE.id), None)


def _refused_finding(app: App, resource: Resource, refused: Refused, step: str) -> Finding:
    message = server_message(resource, (refused,))
    return Finding(
        message=f"{refused.pointer} of {resource.id} {_cannot(message)}, so the next {step} of application {app.ref} will fail.",
        at=Location(app.ref, resource.id, refused.pointer),
        confidence="likely",
        evidence=(f"the API server's validation says: {quoted(message, 400)}",),
        fixes=tuple(_fixes(app, resource.id, resource, refused.pointer)),
        explains=tuple(
            Symptom.change(resource.id, c.pointer) for c in resource.changes if c.pointer == refused.pointer
        ),
    )


def _top_field(pointer: str) -> str:
    """The field of the spec that contains the pointer: /spec/volumeClaimTemplates, /spec/template, /roleRef."""
    tokens = split_pointer(pointer)
    return join_pointer(*tokens[: 2 if tokens[:1] == ("spec",) else 1])


def _pointer(message: str, resource: Resource | None) -> str:
    found = _REFUSED.search(message)
    if found and found[0].endswith("Required") and (named := _refused_fields(message)):
        return named[0]  # a Job's refusal begins with the labels that its controller gave it
    tokens = [t for t in re.split(r"[.\[\]]+", found.group(1)) if t] if found else []
    if tokens == ["spec", "persistentvolumesource"]:  # an inlined struct, which no manifest names
        sources = [c.pointer for c in (resource.changes if resource else ()) if _is_of_volume_source(c)]
        return sources[0] if len(sources) == 1 else next(map(_top_field, sources), join_pointer(*tokens))
    if tokens and tokens != ["spec"]:
        return join_pointer(*tokens)
    if written := _field_in_diff(message):
        return written
    others = _MAY_CHANGE.search(message)
    may_change = {join_pointer("spec", name) for name in _NAME.findall(others[1])} if others else set()
    tops = (_top_field(change.pointer) for change in (resource.changes if resource else ()))
    return next((t for t in tops if t.startswith("/spec/") and t not in may_change), join_pointer(*tokens))


_OTHER_VOLUME_FIELDS = (
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
)
"""The fields of a PersistentVolume's spec that are not its source (PersistentVolumeSpec of k8s.io/api core/v1)."""


def _is_of_volume_source(change: Change) -> bool:
    tokens = split_pointer(change.pointer)
    return len(tokens) > 1 and tokens[0] == "spec" and tokens[1] not in _OTHER_VOLUME_FIELDS


def _deletion_fixes(app: App, id_: ResourceId | None, resource: Resource | None, *ways: str) -> tuple[Fix, ...]:
    """Fixes that delete the object: its creation again costs only time and the effects in its row; no option stays that deletes it at each sync."""
    row = (_immutable_fields().get((id_.group, id_.kind)) if id_ else None) or {}
    if id_ is None or row.get("fix") not in ways or _headless_type(resource):
        return ()
    command = f"kubectl delete {kubectl_name(id_)} && {sync_command(app)}"
    return (
        Fix(
            "Delete the object once, so that the sync creates it again",
            "live",
            str(id_),
            Edit("command", command),
            caveat=str(row.get("loses") or "what it owns is deleted too, and is missing until the sync"),
            resource=id_,
            plays=GONE,
            effects=("restarts", "deletes") if id_.group == "apps" else ("deletes",),
        ),
    )


_LINE = regex(r"(?:^|[\n\t }])[-+][ \t\u00a0]{1,40}([A-Z]\w{1,60}):[ \t\u00a0]")


def _field_in_diff(message: str) -> str:
    """The field in the API server's own diff of a claim's spec (`- VolumeName: "pvc-1"`); empty without one."""
    found = _LINE.search(message)
    return join_pointer("spec", found[1][0].lower() + found[1][1:]) if found else ""


def _restore_fixes(resource: Resource | None, pointer: str) -> Iterator[Fix]:
    """A fix that copies the live value to Git, if both are known."""
    live, desired = (resource.live, resource.desired) if resource else (None, None)
    if resource is None or live is None or desired is None or not pointer:
        return
    if get(live, pointer) == get(desired, pointer):
        return
    pointers = [pointer, *_fixed_too(resource, pointer)]
    patch: list[Json] = []
    for each in pointers:
        was = get(live, each)
        patch += [{"op": "remove", "path": each}] if was is MISSING else set_field(desired, each, was)
    yield manifest_patch(resource.id, f"Write into Git what is live at {enumerated(pointers, 'field')}", patch)


def _fixed_too(resource: Resource, pointer: str) -> list[str]:
    """The other fields that differ and cannot change either: the sync fails at them next."""
    if (resource.group, resource.kind) not in _immutable_fields():
        return []
    every = (c for c in (*resource.pending, *resource.changes) if _is_immutable_change(resource, c) and not c.masked)
    others = dict.fromkeys(_top_field(c.pointer) for c in every)
    return [field for field in others if not (below(field, pointer) or below(pointer, field))]


_FILLED_IN = frozenset({"/spec/clusterIP", "/spec/clusterIPs"})


def _leave_out_fixes(resource: Resource | None, pointer: str) -> Iterator[Fix]:
    """Fixes for a field of a Service that Git writes as empty, or as None for a type that has an address, though the API server gives it a value that stays."""
    live, desired = (resource.live, resource.desired) if resource else (None, None)
    field = _top_field(pointer) if pointer else ""
    if resource is None or desired is None or field not in _FILLED_IN:
        return
    type_ = _headless_type(resource)
    unwanted = ("", None, [], [""], *(("None", ["None"]) if type_ else ()))
    fields = [f for f in sorted(_FILLED_IN) if get(desired, f) in unwanted and (type_ or get(live, f, None))]
    if not type_ and field not in fields:
        return
    why = f"type {type_} has an address" if type_ else "an empty value requests another address than the live one"
    yield manifest_patch(
        resource.id,
        f"Leave {enumerated(fields, 'field')} out of Git: {why}",
        removals(desired, fields),
        ""
        if live is None
        else "many charts have a value for it; where the sync still fails, write the live address there once",
    )


def _headless_type(resource: Resource | None) -> str:
    """The type of a Service that Git gives no address though the type has one: the API server refuses a new one, too (core/validation); else empty."""
    spec = mapping(resource.desired, "spec") if resource and (resource.group, resource.kind) == ("", "Service") else {}
    headless = spec.get("clusterIP") == "None" or spec.get("clusterIPs") == ["None"]
    return text_at(spec, "type") if headless and spec.get("type") in ("NodePort", "LoadBalancer") else ""


def _label_fixes(app: App, resource: Resource | None) -> Iterator[Fix]:
    """The form of kustomization.yaml that keeps a new label out of selectors; commonLabels puts it into all of them."""
    if resource is None or not uses(app, "Kustomize"):
        return
    wanted, live = (mapping(side, "spec", "selector", "matchLabels") for side in (resource.desired, resource.live))
    added = {key: value for key, value in wanted.items() if key not in live}
    labels = mapping(resource.desired, "metadata", "labels")
    if added and added.items() <= labels.items() and live.items() <= wanted.items():
        pairs = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in sorted(added.items()))
        yield _text_fix(
            resource.id,
            "Keep the new label out of selectors: kustomize's labels in place of commonLabels",
            f"labels:\n- pairs:\n{pairs}  includeSelectors: false\n  includeTemplates: true",
            "in kustomization.yaml; labels that selectors have already stay where they are",
        )


def _take_back_fixes(resource: Resource | None, pointer: str) -> Iterator[Fix]:
    """Fixes that copy the live values to Git, only at the places below the pointer that differ."""
    changes = [c for c in (resource.changes if resource else ()) if below(c.pointer, pointer) and not c.masked]
    if resource is None or resource.desired is None or not pointer or not changes:
        return
    whole = get(resource.live, pointer, None) if pointer == "/spec/selector" else None
    if isinstance(whole, dict):  # Git lacks its live labels, which no change shows
        patch = [*set_field(resource.desired, pointer, whole), *_pod_label_operations(resource.desired, whole)]
    else:
        patch = removals(resource.desired, [c.pointer for c in changes if c.live is MISSING])
        for change in changes:
            if change.live is not MISSING:
                patch = [*patch, *set_field(resource.desired, change.pointer, change.live)]
    yield manifest_patch(
        resource.id,
        f"Or revert the change that Git makes at {enumerated([c.pointer for c in changes], 'field')}",
        patch,
    )


def _pod_label_operations(desired: Object, selector: Object) -> Iterator[Json]:
    """Operations that give the pods the labels of this selector, without which the API server refuses it."""
    labels = join_pointer("spec", "template", "metadata", "labels")
    for name, value in mapping(selector, "matchLabels").items():
        pointer = f"{labels}{join_pointer(name)}"
        if get(desired, pointer) != value:
            yield from set_field(desired, pointer, value)


def _hook_manifest(app: App, id_: ResourceId, resource: Resource | None) -> Object | None:
    """The manifest of a hook, empty if only the sync result shows that it is one; None for another object."""
    live: Object | None = app.evidence.get(Want("live", id_))
    if resource is not None and resource.hook:
        return resource.desired or resource.live or live or {}
    ran = any(row.get("hookType") for row in app.operation.results_of(id_)) if app.operation else False
    rendered = (m.manifest for m in app.derive(members) if m.hook and m.id.key == id_.key)
    return next(rendered, live or {}) if ran else None


def _fixes(app: App, id_: ResourceId | None, resource: Resource | None, pointer: str) -> Iterator[Fix]:
    """The ways of the kind, as immutable.yaml has them."""
    if id_ is None:
        return
    desired = resource.desired if resource else None
    marked, hook = _is_marked_immutable(id_, resource), _hook_manifest(app, id_, resource)
    match str((_immutable_fields().get((id_.group, id_.kind)) or {}).get("fix") or "unknown"):
        case "hook" if hook is not None:
            yield _hook_policy_fix(id_, hook)
            return
        case "hook" if "Replace=true" in sync_options(desired):  # it is meant to be replaced
            yield from _force_fixes(id_, desired)
            yield _hook_fix(app, id_, resource)
            return
        case "hook":
            yield _hook_fix(app, id_, resource)
        case "orphan":
            yield from _orphan_fixes(app, id_, resource, pointer)
            yield from _take_back_fixes(resource, pointer)
            return
        case "rename":
            yield from _restore_fixes(resource, pointer)
            title = "Give the object a new name and move the data, or revert the change"
            yield _restore_by_hand_fix(id_, title, pointer)
            return
        case _ if marked and settled(app) and not (resource and resource.pending):
            yield _text_fix(
                id_, "Give the content a fixed value: this very revision was synced with another one", _NEW_EACH_TIME
            )
            return
        case _ if marked and resource and resource.kind == "Secret" and made_by_others(resource) and uses(app, "Helm"):
            yield _text_fix(
                id_, "Give the content the value of the live object, which another program has made", _NEW_EACH_TIME
            )
            yield _new_name_fix(id_)
            return
        case _ if marked:
            yield _new_name_fix(id_)
        case "replace":
            yield from _leave_out_fixes(resource, pointer)
            yield from _label_fixes(app, resource)
            yield from _deletion_fixes(app, id_, resource, "replace")
            yield from _take_back_fixes(resource, pointer)
            return
        case "unknown":  # an operator's object may hold data that is lost with it
            by_hand = _restore_by_hand_fix(id_, "Revert the change", pointer)
            yield next(_restore_fixes(resource, pointer), by_hand)
            yield _text_fix(
                id_,
                "Or give the object a new name, and use that where it is read",
                f"the sync then makes a second {id_.kind}; prune {id_.name} when nothing uses it any more",
            )
    yield from _force_fixes(id_, desired)


_NEW_EACH_TIME = (
    "randAlphaNum, genCA, now and their like give another value at each render; lookup is empty under Argo CD. "
    "Pin the value that the live object has, or delete that object once: it accepts no other value."
)


def _text_fix(id_: ResourceId, title: str, text: str, caveat: str = "") -> Fix:
    return manifest_text(id_, title, text, caveat)


def _restore_by_hand_fix(id_: ResourceId, title: str, pointer: str) -> Fix:
    return _text_fix(id_, title, f"restore {pointer or 'the field'} of {id_} as it is live")


def _new_name_fix(id_: ResourceId) -> Fix:
    return _text_fix(
        id_,
        "Give it a new name with each new content, and use that where it is read",
        "kustomize's generators append a hash to the name; in a chart `sha256sum | trunc 8` does",
        caveat="a password that is generated at each render belongs in a Secret of your own",
    )


def _hook_policy_fix(id_: ResourceId, hook: Object) -> Fix:
    return Fix(
        "Let Argo CD delete the hook before each run, also one that has failed: hook-delete-policy BeforeHookCreation",
        "manifest",
        str(id_),
        Edit("yaml", annotations_yaml(delete_before_operations(hook))),
        caveat=f"delete the one that is left over once: `kubectl delete {kubectl_name(id_)}`",
        resource=id_,
    )


def _hook_fix(app: App, id_: ResourceId, resource: Resource | None) -> Fix:
    return Fix(
        "Make it a hook, which is deleted before each run",
        "manifest",
        str(id_),
        Edit("yaml", annotations_yaml(sync_hook_operations(resource.desired if resource else None))),
        caveat="; ".join(("it then runs at each sync", *(hook_warnings(app, resource) if resource else ()))),
        resource=id_,
    )


def _orphan_fixes(app: App, id_: ResourceId, resource: Resource | None, pointer: str) -> Iterator[Fix]:
    """Deletes the object and keeps its pods, if the new one takes them over; else with them, if their claims stay."""
    with_pods = resource is not None and _loses_its_pods(resource)
    if with_pods and text_at(resource.live if resource else None, *_WHEN_DELETED) == "Delete":
        return
    of_claims = pointer == "/spec/volumeClaimTemplates"
    orphan = "" if with_pods else " --cascade=orphan"
    yield Fix(
        "Delete the object with its pods, which the new selector leaves out"
        if with_pods
        else "Delete the object without its pods, then sync",
        "live",
        str(id_),
        Edit("command", f"kubectl delete {kubectl_name(id_)}{orphan} && {sync_command(app)}"),
        caveat="its pods are missing until the sync; its claims stay"
        if with_pods
        else "claims that exist keep their size and class: change them one by one"
        if of_claims
        else "",
        effects=("restarts", "deletes") if with_pods else (),
    )


_WHEN_DELETED = ("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")


def _loses_its_pods(resource: Resource) -> bool:
    """Whether the desired selector leaves out the live pods: a StatefulSet cannot make pods whose names they still have."""
    wanted = mapping(resource.desired, "spec", "selector", "matchLabels")
    labels = mapping(resource.live, "spec", "template", "metadata", "labels")
    return bool(labels) and any(labels.get(key) != value for key, value in wanted.items())


def _force_fixes(id_: ResourceId, desired: Object | None) -> Iterator[Fix]:
    forced = sync_option_operations(desired, "Replace=true", "Force=true")
    if forced:
        yield Fix(
            "Let Argo CD replace the object by force",
            "manifest",
            str(id_),
            Edit("yaml", annotations_yaml(forced)),
            caveat="the object is deleted and created again, with what it owns, at every sync until the option is removed; with ApplyOutOfSyncOnly=true only where it differs"
            + (", and a value that is generated at each render is new each time" if id_.kind == "Secret" else ""),
            resource=id_,
            effects=("restarts", "deletes"),
        )


def _is_marked_immutable(id_: ResourceId, resource: Resource | None) -> bool:
    """Whether a ConfigMap or Secret has `immutable: true`: it is meant to keep one content under one name."""
    states = (resource.live, resource.desired) if resource else ()
    return (
        id_.group == ""
        and id_.kind in ("ConfigMap", "Secret")
        and any((s or {}).get("immutable") is True for s in states)
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, reads=may_be_forgotten, rank=Rank.CAUSE)
