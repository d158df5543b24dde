"""Applications that the change itself edits, adds or removes, through an app of apps or through manifests in the checkout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from argolint.application.app import App, app_from_list, sources_of
from argolint.application.fleet import Fleet
from argolint.application.permissions import refusals
from argolint.edits.pruning import cascades, outlives
from argolint.engine.load import controller, read_application
from argolint.engine.plan import Plan
from argolint.gate.change import GatedChange, ManifestPair
from argolint.gate.declared import is_application, is_set
from argolint.gate.delta import Delta, delta
from argolint.gate.generated import GeneratedChange, Tree, Trees, generated_change
from argolint.gate.head import failed_app, head_app, respecified
from argolint.gate.made_here import Made, hindrance, is_moved_whole, made_here
from argolint.gate.refused import refused_app
from argolint.gate.renders import render_elsewhere
from argolint.gate.touched import Touched, touched_application
from argolint.gate.written import Edits, merged, ref_of, without_blanks
from argolint.model import Object, Want
from argolint.reports.document import UNKNOWN
from argolint.server.transport import Transport
from argolint.sources.rendered import Rendered, rendered, tracked
from argolint.values import dig, items, mapping, text_at, texts


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
        show = partial(made_here, fleet=fleet, change=change, tree=tree)
        why_not = partial(hindrance, fleet=fleet, change=change, tree=tree)
        edit = _Edit(fleet.by_ref[ref], before, after, prepared, renders, lacks, show, why_not, read)
        by_ref[ref] = _edited_child(by_ref.get(ref), edit, fleet, t, plan, coming)
    for manifest in new:
        child = _new_child(manifest, fleet, change, coming, tree)
        by_ref[child.ref] = child
    for manifest, of_set in sets.unknown:
        remark = f"{of_set} makes it new: what it renders {UNKNOWN}"
        app = _unsynced(manifest, fleet)
        by_ref[app.ref] = Touched("added", None, app, notes=(remark,), unjudged=remark)
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

    `renders`: whether the server may be asked for head's. `lacks`: see `_lacking_path`. `made_here`: what the clone shows of the edited one; `hindrance`: why it does not.
    """

    listed: App
    before: Object | None
    after: Object
    prepared: Sequence[Object] | None
    renders: bool
    lacks: str
    made_here: Callable[[App], Made | str | None]
    hindrance: Callable[[App], str]
    trees: Trees | None


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
    if _differs(listed.spec, spec, *_SOURCES, "destination"):
        moved = replace(listed.with_raw({**listed.raw, "spec": spec}), cluster=fleet.cluster_of(spec))
        if edit.lacks:
            found = replace(found, what="failed", after=failed_app(found.after, edit.lacks))
        elif made := None if any(refusals(spec, fleet, coming)) else _moved_child(found, moved, edit, t, fleet, plan):
            found = made
        else:
            unjudged = f"Its source or destination changes{edit.hindrance(moved)}: what it will render {UNKNOWN}"
            if found.before is not None and _differs(listed.spec, spec, *_SOURCES):
                found = Touched("changed", found.before, found.before)  # without what the old source will render
    notes = (*found.notes, unjudged) if unjudged else found.notes
    assert found.after is not None
    ahead = refused_app(respecified(found.after, spec, metadata, fleet), listed.spec, fleet, coming)
    return replace(found, after=ahead, notes=notes, unjudged=unjudged, respecified=True)


def _moved_child(found: Touched, moved: App, edit: _Edit, t: Transport, fleet: Fleet, plan: Plan) -> Touched | None:
    """The application with another source or destination, `moved`; None if what it will render is not known."""
    listed, manifests = edit.listed, edit.prepared
    revisions: Mapping[int, str] = {}
    if manifests is None:
        revisions = _other_revisions(listed.spec, moved.spec)
        is_same = _renders_the_same(listed, moved, edit.trees)
        made = edit.made_here(moved) if edit.renders and not (revisions or is_same) else None
        if isinstance(made, str):
            return replace(found, what="failed", after=failed_app(found.after or listed, made))
        if not edit.renders or not (made or revisions or is_same):
            return None
        manifests = made.manifests if made else None
    renders = render_elsewhere(t, moved, listed, revisions, manifests, fleet)
    if renders is None:
        return None
    if moved.cluster == listed.cluster:
        return touched_application(t, renders, fleet, plan)
    if renders.head is None:
        return None
    coming = delta(Rendered({}), renders.head)
    return replace(found, after=head_app(_unsynced(moved.raw, fleet), coming, renders.head, fleet), delta=coming)


def _renders_the_same(listed: App, moved: App, read: Trees | None) -> bool:
    """Whether today's render is that of the edited Application, too.

    The destination is no input of plain manifests and of Kustomize, and the folder's own name of no tool.
    """
    of_tools = {*items(listed.status, "sourceTypes"), text_at(listed.status, "sourceType")} - {""}
    if not of_tools or not of_tools <= {"Directory", "Kustomize", "Helm"}:
        return False
    if "Helm" in of_tools and _differs(listed.spec, moved.spec, "destination"):
        return False
    if not _differs(listed.spec, moved.spec, *_SOURCES):
        return True
    before, after = mapping(listed.spec, "source"), mapping(moved.spec, "source")
    return read is not None and bool(before and after) and is_moved_whole(before, after, read)


def _differs(one: Object, other: Object, *names: str) -> bool:
    return any(without_blanks(one.get(name)) != without_blanks(other.get(name)) for name in names)


def _lacking_path(manifest: Object, tree: Tree | None) -> str:
    """What Argo CD says of a source in the repository of the change whose path or values file is not there after the merge; else empty.

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
    missing = next(_lacking_values(mapping(manifest, "spec"), tree), None)
    return f"Error: open <path to cached source>/{missing}: no such file or directory" if missing else ""


def _lacking_values(spec: Object, tree: Tree) -> Iterator[str]:
    """The values files of sources in the repository of the change that are not there after the merge (reposerver/repository, getResolvedValueFiles)."""
    sources = sources_of(spec)
    own = {
        text_at(s, "ref")
        for s in sources
        if text_at(s, "ref") and tree.reads(text_at(s, "repoURL"), text_at(s, "targetRevision"))
    }
    for source in sources:
        helm = mapping(source, "helm")
        for file in texts(helm, "valueFiles") if not helm.get("ignoreMissingValueFiles") else ():
            ref, _, path = file.partition("/")
            parts = path.split("/")
            ways = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
            is_plain = not set(path) & set("$*?[{") and ".." not in parts
            if ref.startswith("$") and ref[1:] in own and is_plain and not ways & tree.entries.keys():
                yield path  # neither the file nor a link on the way is there


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


_SOURCES = ("source", "sources", "sourceHydrator")


def _new_child(
    manifest: Object, fleet: Fleet, change: GatedChange, coming: frozenset[str], tree: Tree | None
) -> Touched:
    """An Application that a parent adds. The server renders only existing ones; a folder of renders may contain it, or the clone shows it."""
    app = _unsynced({**manifest, "spec": mapping(manifest, "spec")}, fleet)
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
        remark = f"It is new{hindrance(app, fleet, change, tree)}: what it renders {UNKNOWN}"
        return Touched("added", None, app, notes=(remark,), unjudged=remark, respecified=True)
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    made = delta(Rendered({}), head)
    after = head_app(app, made, head, fleet)
    again = found and found.again and tuple(tracked(m, app, fleet) for m in found.again)
    evidence = {**after.evidence, Want("render"): (head.manifests, again) if again else None}
    return Touched("added", None, replace(after, evidence=evidence), made, respecified=True)


def _unsynced(raw: Object, fleet: Fleet) -> App:
    """The Application before its first sync to its destination: it has no object there."""
    return app_from_list(
        {**raw, "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}},
        server=fleet.server,
        cluster=fleet.cluster_of(mapping(raw, "spec")),
        control_plane=fleet.control_plane,
        observed_at=fleet.apps[0].observed_at,
    )


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
