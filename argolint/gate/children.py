"""Applications that the change itself edits, adds or removes, through an app of apps or through manifests in the checkout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from argolint.application.app import App, app_from_list, sources_of
from argolint.application.fleet import Fleet
from argolint.edits.pruning import cascades, outlives
from argolint.engine.load import controller, read_application
from argolint.engine.plan import Plan
from argolint.gate.change import GatedChange, ManifestPair
from argolint.gate.declared import is_application, is_set
from argolint.gate.delta import Delta, delta
from argolint.gate.generated import GeneratedChange, Tree, Trees, generated_change
from argolint.gate.head import failed_app, head_app, respecified
from argolint.gate.made_here import made_here
from argolint.gate.refused import refused_app
from argolint.gate.renders import render_elsewhere
from argolint.gate.touched import Touched, touched_application
from argolint.gate.written import Edits, merged, ref_of, without_blanks
from argolint.model import Object, Want
from argolint.server.transport import Transport
from argolint.sources.rendered import Rendered, rendered, tracked
from argolint.values import dig, mapping, text_at


def with_children(
    judged: Sequence[Touched],
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    edits: Edits,
    change: GatedChange,
    read: Trees | None = None,
) -> tuple[tuple[Touched, ...], GeneratedChange]:
    """The judged applications, plus those whose manifests change because a parent renders them differently at head, a changed file contains
    them, or ApplicationSets of either generate them.

    `read`: the content that Git generators read, and the folders that an Application may name.
    """
    tree = read.after if read is not None else None
    edited = dict(edits.edited)
    new = list(edits.new)
    coming = change.projects | {
        str(dig(obj, "metadata", "name"))
        for j in judged
        for obj in j.delta.added.values()
        if obj.get("kind") == "AppProject"
    }
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    by_ref = {j.ref: j for j in judged}
    for parent in judged:
        made = parent.delta
        for pair in made.changed.values():
            if is_application(pair.head) and (ref := known.get(ref_of(pair.head, fleet))):
                edited[ref] = (pair.base, pair.head)
        for manifest in filter(is_application, made.added.values()):
            if ref := known.get(ref_of(manifest, fleet)):
                edited[ref] = (None, manifest)
            elif fleet.serves(ref_of(manifest, fleet)[0]) is not False:  # else no controller looks at it
                new.append(manifest)
        for manifest in filter(is_application, made.removed.values()):
            if ref := known.get(ref_of(manifest, fleet)):
                by_ref[ref] = _removed_child(fleet.by_ref[ref], fleet, t, plan)
    sets = generated_change(fleet, edits.sets, tuple(_changed_sets(judged)), read, lambda: controller(t, fleet))
    edited.update({ref: pair for ref, pair in sets.edited.items() if ref not in edited})
    new += sets.new
    for number, (ref, (before, after)) in enumerate(edited.items()):
        prepared = None if change.by_files else change.given(ref)
        renders = not change.by_files and number < _MOST_RENDERED
        lacks = _lacking_path(after, tree) if prepared is None else ""
        edit = _Edit(fleet.by_ref[ref], before, after, prepared, renders, lacks)
        by_ref[ref] = _edited_child(by_ref.get(ref), edit, fleet, t, plan, coming)
    for manifest in new:
        child = _new_child(manifest, fleet, change, coming, tree)
        by_ref[child.ref] = child
    for ref, of in sets.gone.items():
        by_ref[ref] = replace(_removed_child(fleet.by_ref[ref], fleet, t, plan), by=of)
    return tuple(by_ref[ref] for ref in sorted(by_ref)), sets


def _changed_sets(judged: Sequence[Touched]) -> Iterator[ManifestPair]:
    """The ApplicationSets that parents render differently at head."""
    for parent in judged:
        change = parent.delta
        yield from (ManifestPair(e.base, e.head) for e in change.changed.values() if is_set(e.head))
        yield from (ManifestPair(None, m) for m in change.added.values() if is_set(m))
        yield from (ManifestPair(m, None) for m in change.removed.values() if is_set(m))


_MOST_RENDERED = 50
"""Most edited Applications that the server renders at their new revisions."""


@dataclass(frozen=True)
class _Edit:
    """An Application that the change edits: as it is listed, its manifest before and after, and head's manifests, if they are given.

    `renders`: whether the server may be asked for head's. `lacks`: see `_lacking_path`.
    """

    listed: App
    before: Object | None
    after: Object
    prepared: Sequence[Object] | None
    renders: bool
    lacks: str


def _edited_child(
    found: Touched | None, edit: _Edit, fleet: Fleet, t: Transport, plan: Plan, coming: frozenset[str]
) -> Touched:
    """The live Application with the edit applied, since templates and people may have added fields."""
    listed, before, after = edit.listed, edit.before, edit.after
    if found is None or found.regenerated_only or found.what == "removed" or found.after is None:
        app, _ = read_application(t, listed, fleet, plan, states=True)
        found = Touched("changed", app, app)
    assert found.after is not None
    if not isinstance(after.get("spec"), Mapping):
        remark = "Its manifest has no spec that an API server accepts, so it is not judged."
        return replace(found, notes=(*found.notes, remark), unjudged=remark)
    spec, metadata = mapping(after, "spec"), mapping(after, "metadata")
    if before is not None:
        spec = merged(listed.spec, mapping(before, "spec"), spec)
        metadata = merged(listed.raw.get("metadata") or {}, mapping(before, "metadata"), metadata)
    unjudged = ""
    if any(without_blanks(spec.get(n)) != without_blanks(listed.spec.get(n)) for n in _RENDERED_FROM):
        revisions = _other_revisions(listed.spec, spec) if edit.renders else {}
        made = render_elsewhere(t, listed, revisions, edit.prepared, fleet) if revisions or edit.prepared else None
        if made is not None:
            found = touched_application(t, made, fleet, plan)
        elif edit.lacks and found.after is not None:
            found = replace(found, what="failed", after=failed_app(found.after, edit.lacks))
        else:
            unjudged = "Its source or destination changes: what it will render is not known before the merge."
    notes = (*found.notes, unjudged) if unjudged else found.notes
    assert found.after is not None
    ahead = refused_app(respecified(found.after, spec, metadata, fleet), listed.spec, fleet, coming)
    return replace(found, after=ahead, notes=notes, unjudged=unjudged, respecified=True)


def _lacking_path(manifest: Object, tree: Tree | None) -> str:
    """What Argo CD says of a source in the repository of the change whose path is no folder there after the merge; else empty.

    A path through a link or a submodule is not judged (util/app/path, Path).
    """
    if tree is None:
        return ""
    for source in sources_of(mapping(manifest, "spec")):
        url, revision, path = (text_at(source, key) for key in ("repoURL", "targetRevision", "path"))
        parts = path.strip("/").split("/")
        ways = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        is_plain = not source.get("chart") and all(part not in ("", ".", "..") for part in parts)
        if is_plain and tree.reads(url, revision) and not ways & tree.entries.keys() and ways - tree.folders:
            return f"{path}: app path does not exist"
    return ""


def _other_revisions(before: Object, after: Object) -> Mapping[int, str]:
    """The new revisions of the sources by their numbers from 1, if nothing else changes in what is rendered and where it goes; else nothing."""
    was, now = sources_of(before), sources_of(after)
    alike = [{**one, "targetRevision": ""} for one in was] == [{**one, "targetRevision": ""} for one in now]
    moved = bool(after.get("sourceHydrator")) or before.get("destination") != after.get("destination")
    kinds = [bool(spec.get("sources")) for spec in (before, after)]
    if moved or not alike or kinds[0] != kinds[1]:
        return {}
    pairs = enumerate(zip(was, now, strict=True), 1)
    return {
        place: str(new.get("targetRevision") or "HEAD")
        for place, (old, new) in pairs
        if old.get("targetRevision") != new.get("targetRevision")
    }


_RENDERED_FROM = ("source", "sources", "sourceHydrator", "destination")


def _new_child(
    manifest: Object, fleet: Fleet, change: GatedChange, coming: frozenset[str], tree: Tree | None
) -> Touched:
    """An Application that a parent adds. The server renders only existing ones; a folder of renders may contain it, or the clone shows it."""
    raw = {
        **manifest,
        "spec": mapping(manifest, "spec"),
        "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}},
    }
    app = app_from_list(
        raw,
        server=fleet.server,
        cluster=fleet.cluster_of(mapping(manifest, "spec")),
        control_plane=fleet.control_plane,
        observed_at=fleet.apps[0].observed_at,
    )
    manifests = change.given(app.ref)
    app = refused_app(app, None, fleet, coming)
    if manifests is None and (lacks := _lacking_path(manifest, tree)):
        return Touched("added", None, failed_app(app, lacks), respecified=True)
    found = made_here(app, fleet, change, tree) if manifests is None else None
    if isinstance(found, str):
        failed = failed_app(app, found)
        return Touched("added", None, replace(failed, evidence={Want("render"): None}), respecified=True)
    if found is not None:
        manifests = found.manifests
        app = app.with_raw({**app.raw, "status": {**app.status, "sourceType": found.tool}})
    if manifests is None:
        remark = "It is new: what it renders is not known before the merge."
        return Touched("added", None, app, notes=(remark,), unjudged=remark, respecified=True)
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    made = delta(Rendered({}), head)
    after = head_app(app, made, head, fleet)
    again = found and found.again and tuple(tracked(m, app, fleet) for m in found.again)
    evidence = {**after.evidence, Want("render"): (head.manifests, again) if again else None}
    return Touched("added", None, replace(after, evidence=evidence), made, respecified=True)


def _removed_child(listed: App, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    """An Application that its parent no longer renders: with the resources finalizer its objects are deleted, too."""
    app, _ = read_application(t, listed, fleet, plan, states=True)
    if not cascades(app):
        return Touched("removed", app, None, notes=("It has no resources finalizer, so its objects stay, unmanaged.",))
    deleted = (r for r in app.resources if not r.hook and not outlives(app, r.live or {}, fleet))
    gone = Delta(removed={r.key: r.desired for r in deleted if r.desired is not None})
    pruning = {**app.spec, "syncPolicy": {"automated": {"prune": True, "allowEmpty": True}}}
    after = head_app(app.with_raw({**app.raw, "spec": pruning}, leaving=True), gone, Rendered({}), fleet)
    return Touched("removed", app, after, gone, ("Its objects are deleted with it.",))
