"""Applications that the change itself edits, adds or removes: an app of apps, or their manifests in the checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from argolint import engine
from argolint.app import App, app_from_list
from argolint.engine import Plan
from argolint.fleet import Fleet
from argolint.gate.delta import Delta, delta
from argolint.gate.head import head_app, respecified
from argolint.gate.manifests import Rendered, manifests_of, rendered, tracked
from argolint.gate.sides import Touched
from argolint.gate.touched import Change, applications_in
from argolint.model import AppRef, Object
from argolint.transport import Transport
from argolint.values import dig


def edited_applications(change: Change, fleet: Fleet, base: str) -> tuple[Mapping[AppRef, Object], tuple[str, ...]]:
    """Application manifests in the checkout that head spells differently from base: by reference, None when removed."""
    if change.git is None:
        return {}, ()
    files = change.git.changed_files(base, change.head)
    before = {_ref(m, fleet): m for m in applications_in(change.git, base, files)}
    after = {_ref(m, fleet): m for m in applications_in(change.git, change.head, files)}
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    edited = {known[k]: m for k, m in after.items() if k in known and before.get(k) != m}
    told = [
        f"{k[0]}/{k[1]} is a new Application, which the server cannot render yet" for k in after.keys() - known.keys()
    ]
    told += [f"{k[0]}/{k[1]} is removed as an Application" for k in before.keys() - after.keys() if k in known]
    return edited, tuple(sorted(told))


def _ref(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))


def with_children(
    judged: Sequence[Touched],
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    specs: Mapping[AppRef, Object],
    folder: Path | None,
) -> tuple[Touched, ...]:
    """Also the applications whose manifests a parent renders otherwise at head, or that a changed file holds."""
    edited: dict[AppRef, Object] = dict(specs)
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    by_ref = {j.ref: j for j in judged}
    for parent in judged:
        change = parent.delta
        for manifest in _applications(edit.head for edit in change.changed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = manifest
        for manifest in _applications(change.added.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = manifest
            else:
                new = _new_child(manifest, fleet, folder)
                by_ref[new.ref] = new
        for manifest in _applications(change.removed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                by_ref[ref] = _removed_child(fleet.by_ref[ref], fleet, t, plan)
    for ref, manifest in sorted(edited.items()):
        by_ref[ref] = _child(by_ref.get(ref), fleet.by_ref[ref], manifest, fleet, t, plan)
    return tuple(by_ref[ref] for ref in sorted(by_ref))


def _applications(objects: Iterable[Object]) -> Iterator[Object]:
    return (
        o for o in objects if o.get("kind") == "Application" and str(o.get("apiVersion")).startswith("argoproj.io/")
    )


def _child(found: Touched | None, listed: App, manifest: Object, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    if found is None or found.what in ("same", "removed") or found.after is None:
        app, _ = engine.load(t, listed, fleet, plan, states=True)
        found = Touched("changed", app, app)
    assert found.after is not None
    spec, metadata = manifest.get("spec") or {}, manifest.get("metadata") or {}
    notes = found.notes
    if any(spec.get(name) != listed.spec.get(name) for name in ("source", "sources", "destination")):
        notes = (*notes, "Its source or destination changes: what it will render is not known before the merge.")
    return replace(found, what="changed", after=respecified(found.after, spec, metadata, fleet), notes=notes)


def _new_child(manifest: Object, fleet: Fleet, folder: Path | None) -> Touched:
    """An Application that a parent brings. The server renders only what it has; a folder of renders may hold it."""
    raw = {**manifest, "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}}
    app = app_from_list(
        raw,
        server=fleet.server,
        cluster=fleet.cluster_of(manifest.get("spec") or {}),
        control_plane=fleet.control_plane,
        observed_at=fleet.apps[0].observed_at,
    )
    manifests = manifests_of(folder, app.ref) if folder is not None else None
    if manifests is None:
        return Touched("added", None, app, notes=("It is new: what it renders is not known before the merge.",))
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    change = delta(Rendered({}), head)
    return Touched("added", None, head_app(app, change, head, fleet), change)


def _removed_child(listed: App, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    """An Application that its parent lets go: with the resources finalizer its objects are deleted with it."""
    app, _ = engine.load(t, listed, fleet, plan, states=True)
    finalizers = dig(app.raw, "metadata", "finalizers") or ()
    if not any(str(f).startswith("resources-finalizer.argocd.argoproj.io") for f in finalizers):
        return Touched("removed", app, None, notes=("It has no resources finalizer, so its objects stay, unmanaged.",))
    gone = Delta(removed={r.key: r.desired for r in app.resources if r.desired is not None and not r.hook})
    pruning = {**app.spec, "syncPolicy": {"automated": {"prune": True}}}
    after = head_app(replace(app, raw={**app.raw, "spec": pruning}), gone, Rendered({}), fleet)
    return Touched("removed", app, after, gone, ("Its objects are deleted with it.",))
