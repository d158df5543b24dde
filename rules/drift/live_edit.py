"""Someone edited the live object

What it finds: a difference whose last writer, by `metadata.managedFields`, is a tool that a person uses: kubectl, k9s, Lens, a dashboard, Argo
CD's own UI, helm, an infrastructure-as-code run, a script. The finding has the tool, the time and both values. Fields from operators and other
controllers are not reported. Also an object that something other than Argo CD applied after the last sync: that apply lacks the tracking label
or annotation which each of Argo CD's own has. Or one that someone applied or replaced with an export of it, so that Argo CD takes what the API server
writes for removed from Git. As a remark (info, `not-shown`), also what someone added with such a tool in a
place that Git does not name: Argo CD shows no difference there. In a fleet of up to 200 applications, all are read for it.

Why it hurts: a hotfix that exists only in the cluster is lost at the next sync, and Git does not show the running state.

How to fix: commit the live value if it is right; sync if it is not. Self-heal undoes such edits by itself.

Example: `image` changed with `kubectl edit` at night.

Sources: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management; k8s.io/kubectl pkg/cmd (field managers);
argoproj/argo-cd#16771, #16092, #4537 (what Git lacks is no difference).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.application.applied import adopts, by_argocd, confirmed, last_applied, not_stored, settled
from argolint.comparison import LAST_APPLIED, TRACKING_ID, has_sync_option, managers, writer
from argolint.edits import live_command, manifest_text
from argolint.values import annotations_of, get, join_pointer, labels_of, sh, text_at
from argolint.values.kubernetes import argocd_name, kubectl_name

from ..shared.triage import worth_reading
from ._edits import removal_fix, source_place, sync_fix
from ._fields import Drift, fields_of_an_export, own_changes, pointers_text
from ._grammar import is_hollow
from ._unshown import NOT_SHOWN, WRITTEN_BY_HAND, unshown_edits, unshown_finding
from ._writers import is_sort, known_writer


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each writer of an object."""
    for resource in app.changed:
        if adopts(app, resource):
            continue
        if exported := fields_of_an_export(resource):
            yield _export_finding(app, resource, exported)
            continue
        edits = [
            edit
            for edit in (_edit_by_person(resource, change) for change in own_changes(app, resource))
            if edit is not None
        ]
        for manager in dict.fromkeys(edit.writer.manager for edit in edits if edit.writer):
            yield _finding(Drift(app, resource, tuple(e for e in edits if e.writer and e.writer.manager == manager)))
        if not edits and _is_applied_elsewhere(app, fleet, resource):
            yield _applied_elsewhere_finding(app, resource)
    for resource in app.mentioning(WRITTEN_BY_HAND, "live"):
        if not adopts(app, resource):
            for writer, added in unshown_edits(app, fleet, resource):
                yield unshown_finding(app, resource, writer, added)


def _export_finding(app: App, resource: Resource, exported: tuple[str, ...]) -> Finding:
    name = kubectl_name(resource.id)
    return Drift(app, resource, resource.changes).finding(
        f"Someone applied or replaced {resource.id} with an export of it: Argo CD takes {pointers_text(resource.changes)} for removed or changed in Git.",
        confidence="likely",
        evidence=(
            f"last-applied-configuration holds metadata.{exported[0]}, which Git lacks and only the API server writes",
            "a sync of a custom resource fails on that: it would take resourceVersion out",
        ),
        fixes=(
            live_command(
                resource.id,
                "Remove the record of that apply, then sync the object to Git's value",
                f"kubectl annotate {name} {LAST_APPLIED}-\nargocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}",
                "undoes the edit: write first into Git what is to stay",
            ),
        ),
    )


def _is_applied_elsewhere(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether the apply recorded in the object is not Argo CD's, though its last sync has applied the object: it lacks the tracking mark."""
    applied = last_applied(resource)
    if applied is None or app.operation is None or not settled(app, resource) or not app.operation.applied(resource.id):
        return False
    if has_sync_option(app.raw, resource.desired, "Replace=true"):
        return False
    by_label = "label" in fleet.tracking_method
    marks = labels_of if by_label else annotations_of
    mark = fleet.label_key if by_label else TRACKING_ID
    return mark in marks(resource.desired) and mark not in marks(applied)


def _applied_elsewhere_finding(app: App, resource: Resource) -> Finding:
    changes = resource.changes
    client = writer(resource.live or {}, join_pointer("metadata", "annotations", LAST_APPLIED))
    known = None if client is None or by_argocd(client) else client
    tool = known_writer(known)
    applied = f"Something other than Argo CD applied {resource.id}"
    if known is not None:
        by_person = tool is not None and tool.sort == "person"
        name = tool.tool if tool else f"field manager {known.manager!r}"
        applied = f"Someone applied {resource.id} with {name}" if by_person else f"{name} applied {resource.id}"
    when = f" at {known.time:%Y-%m-%d %H:%M} UTC" if known and known.time else ""
    return Drift(app, resource, changes).finding(
        f"{applied[0].upper()}{applied[1:]} after the last sync, so it differs at {pointers_text(changes)}.",
        confidence="likely" if known is None else "proven",
        evidence=(
            "last-applied-configuration lacks the tracking mark that each apply of Argo CD has",
            *((f"field manager {known.manager!r} wrote it{when}",) if known else ()),
        ),
        fixes=(
            live_command(
                resource.id,
                "Stop what applies the object: a pipeline, a script, Helm, or someone by hand",
                f"kubectl get {kubectl_name(resource.id)} -o yaml --show-managed-fields",
                "managedFields name the client and the time, where the cluster records them",
            ),
            sync_fix(app, resource, "Or sync the object to Git's value"),
        ),
    )


def _finding(drift: Drift) -> Finding:
    app, resource, changes = drift
    first = changes[0]
    tool = known_writer(first.writer)
    assert tool is not None
    assert first.writer is not None
    when = f" at {first.writer.time:%Y-%m-%d %H:%M} UTC" if first.writer.time else ""
    failed = _has_sync_failed(app, resource)
    kept = _kept_item(resource, changes)
    undone = "self-heal or the next sync" if app.self_heal else "the next sync"
    then = "; the last sync failed to undo it" if failed else f"; {undone} undoes it"
    if kept and not failed:
        then = f"; {undone} {kept}"
    stays = all(_is_added_to_empty_map(app, resource, change) for change in changes)
    if stays:
        then = "; no sync undoes it, as Git has an empty map there"
    return drift.finding(
        f"Someone changed {drift.places()} of {resource.id} with {tool.tool}{then}.",
        evidence=(f"edited by field manager {first.writer.manager!r}{when}",),
        fixes=(
            _empty_map_fix(drift),
            drift.write_live("Commit the live value, if it is right"),
            _masked_values_fix(drift),
            None
            if failed or stays
            else _whole_fix(app, resource)
            if kept
            else sync_fix(app, resource, "Or sync the object to Git's value"),
        ),
    )


def _kept_item(resource: Resource, changes: tuple[Change, ...]) -> str:
    """What a sync does with a list item whose key someone changed: it adds Git's item and keeps the edited one, which no patch names.

    Empty if it undoes the edit. Two ports of one name, or one without a name among several of a Service, are refused.
    """
    for change in changes:
        above = change.pointer.rpartition("/")[0]
        wanted, live_list, after = (get(s, above, None) for s in (resource.desired, resource.live, resource.predicted))
        if not (isinstance(wanted, list) and isinstance(live_list, list) and isinstance(after, list)):
            continue
        if len(after) <= len(wanted) or change.live is not MISSING:
            continue
        kept = [item for item in after if item in live_list and item not in wanted and isinstance(item, dict)]
        nameless = "" if resource.kind == "Service" else None
        names = Counter(text_at(item, "name") or nameless for item in after if isinstance(item, dict))
        names.pop(None, None)
        if kept and above.endswith("/ports") and any(names[text_at(item, "name")] > 1 for item in kept):
            return "is refused, as it keeps that item next to Git's"
        if kept:
            return "adds Git's item and keeps that one"
    return ""


def _whole_fix(app: App, resource: Resource) -> Fix:
    """The sync that sends the object whole; an Argo CD without it (before 2.2) needs the edit by hand."""
    sync = f"argocd app sync {sh(app.ref)} --resource {argocd_name(resource.id)}"
    scaled = "; replicas that an autoscaler set go back to the value in Git"
    return Fix(
        "Or remove the edited item from the live object",
        "live",
        f"{resource.id}",
        Edit("command", f"{sync} --replace"),
        f"replaces the whole object{'' if get(resource.desired, '/spec/replicas') is MISSING else scaled}",
        older=((Edit("command", f"kubectl edit {kubectl_name(resource.id)}\n{sync}"), "undoes the edit"),),
    )


def _has_sync_failed(app: App, resource: Resource) -> bool:
    """True if the last sync could not write the object."""
    rows = app.operation.results_of(resource.id) if app.operation is not None else ()
    return any(row.get("status") == "SyncFailed" for row in rows)


def _masked_values_fix(drift: Drift) -> Fix | None:
    """The fix in words for values that Argo CD masks: no patch can contain them."""
    if not any(change.masked for change in drift.changes):
        return None
    keys = f"What the server masks: {drift.places()}; `kubectl get` shows the live value."
    return manifest_text(source_place(drift.app), "Put the live value where Git takes it from, if it is right", keys)


def _empty_map_fix(drift: Drift) -> Fix | None:
    """The fix that removes Git's empty map, which conflicts with the content that a person added."""
    empty_in_git = [change.pointer for change in drift.changes if _is_empty_in_git(drift.resource, change)]
    if not empty_in_git or len(empty_in_git) < len(drift.changes):
        return None
    return removal_fix(drift.app, drift.resource, empty_in_git, "Leave the empty field out of the manifest")


def _is_empty_in_git(resource: Resource, change: Change) -> bool:
    desired = get(resource.desired, change.pointer)
    return isinstance(change.live, dict) and desired is not MISSING and is_hollow(desired)


def _is_added_to_empty_map(app: App, resource: Resource, change: Change) -> bool:
    """Whether a sync patches the live object with Git's `{}`, which takes nothing out; Argo CD compares as if it did."""
    whole = has_sync_option(app.raw, resource.desired, "Replace=true")
    return get(resource.desired, change.pointer) == {} and isinstance(change.live, dict) and not whole


def _edit_by_person(resource: Resource, change: Change) -> Change | None:
    """The change if a person made it; else None. A removed field has no writer: then the last person who wrote to the object counts, even if
    controllers have since written its status or scale."""
    if is_sort(change.writer, "person"):
        return None if confirmed(resource, change) else change
    if resource.live is None or not not_stored(resource, change) or is_hollow(change.desired):
        return None
    last = [found for found in managers(resource.live) if not found.subresource][-1:]
    return replace(change, writer=last[0]) if last and is_sort(last[0], "person") else None


RULE = Rule(
    **Rule.page(__name__), severity="warning", check=check, causes=(NOT_SHOWN,), reads=worth_reading, rank=Rank.WRITER
)
