"""Applications that the change itself edits, adds or removes: an app of apps, or their manifests in the checkout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from argolint.app import App, app_from_list
from argolint.engine import run as engine
from argolint.engine.run import Plan
from argolint.fleet import Fleet
from argolint.gate.candidates import Change, UnreadableError, applications_of
from argolint.gate.delta import Delta, delta
from argolint.gate.head import head_app, respecified
from argolint.gate.touched import Touched
from argolint.model import MISSING, AppRef, Failure, Json, Object
from argolint.pruning import cascades, outlives
from argolint.renders.manifests import Rendered, manifests_of, rendered, tracked
from argolint.server.transport import Transport
from argolint.values import dig, mapping, plain


@dataclass(frozen=True)
class Edits:
    """Application manifests that a change edits or adds. `before` is None where only the live Application is known."""

    edited: Mapping[AppRef, tuple[Object | None, Object]] = field(default_factory=dict)
    new: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def edits_of(change: Change, fleet: Fleet, base: str) -> Edits:
    """What the checkout's changed files, or the named ones, say of Applications."""
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    if change.applications:
        named, notes = _one_each(change.applications, {}, fleet)
        return Edits(
            {known[k]: (None, m) for k, m in named.items() if k in known},
            tuple(m for k, m in named.items() if k not in known),
            tuple(notes),
        )
    if change.git is None:
        return Edits()
    files = [c for c in change.git.changes(base, change.head) if c.path.endswith((".yaml", ".yml", ".json"))]
    was = {c.path: c.before for c in files if c.before is not None}
    will = {c.path: c.after for c in files if c.after is not None}
    earlier, _ = _applications(zip(was, change.git.texts(was.values()), strict=True))
    later, broken = _applications(zip(will, change.git.texts(will.values()), strict=True))
    before = {_ref(m, fleet): m for m in earlier}
    after, notes = _one_each(later, before, fleet)
    notes += [f"{k[0]}/{k[1]}: a new Application manifest, rendered by nobody yet" for k in after.keys() - known.keys()]
    notes += [f"{k[0]}/{k[1]}: its manifest is gone" for k in before.keys() - after.keys() if k in known]
    edited = {known[k]: (before.get(k), m) for k, m in after.items() if k in known and before.get(k) != m}
    unread = dict.fromkeys(change.git.too_large(will), "too large to be read")
    unread |= dict.fromkeys(broken, "no YAML that can be read")
    failures = (
        Failure("change", f"{plain(path)} is {why}, so Applications in it are not judged", "correct or split the file")
        for path, why in sorted(unread.items())
    )
    return Edits(edited, notes=tuple(sorted(notes)), failures=tuple(failures))


def _applications(texts: Iterable[tuple[str, str | None]]) -> tuple[list[Object], list[str]]:
    """Application manifests of these files, and the paths of those that cannot be read."""
    found: list[Object] = []
    broken = []
    for path, text in texts:
        try:
            found += applications_of(text or "")
        except UnreadableError:
            broken.append(path)
    return found, broken


def _one_each(
    manifests: Iterable[Object], before: Mapping[tuple[str, str], Object], fleet: Fleet
) -> tuple[dict[tuple[str, str], Object], list[str]]:
    """One manifest of each Application, and what to know of the others. A copy of what was there hides no edit."""
    found: dict[tuple[str, str], Object] = {}
    several = set()
    for manifest in manifests:
        key = _ref(manifest, fleet)
        if key in found and before.get(key) not in (found[key], manifest) and found[key] != manifest:
            several.add(key)
        if key not in found or found[key] == before.get(key):
            found[key] = manifest
    told = "the change holds several manifests of it that differ, of which the first is judged"
    return found, [f"{key[0]}/{key[1]}: {told}" for key in sorted(several)]


def _ref(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))


def with_children(
    judged: Sequence[Touched],
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    edits: Edits,
    folder: Path | None,
) -> tuple[Touched, ...]:
    """Also the applications whose manifests a parent renders otherwise at head, or that a changed file holds."""
    edited = dict(edits.edited)
    new = list(edits.new)
    known = {(a.ref.namespace, a.ref.name): a.ref for a in fleet.apps}
    by_ref = {j.ref: j for j in judged}
    for parent in judged:
        change = parent.delta
        for edit in change.changed.values():
            if _is_application(edit.head) and (ref := known.get(_ref(edit.head, fleet))):
                edited[ref] = (edit.base, edit.head)
        for manifest in filter(_is_application, change.added.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = (None, manifest)
            else:
                new.append(manifest)
        for manifest in filter(_is_application, change.removed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                by_ref[ref] = _removed_child(fleet.by_ref[ref], fleet, t, plan)
    for ref, (before, after) in edited.items():
        by_ref[ref] = _child(by_ref.get(ref), fleet.by_ref[ref], before, after, fleet, t, plan)
    for manifest in new:
        child = _new_child(manifest, fleet, folder)
        by_ref[child.ref] = child
    return tuple(by_ref[ref] for ref in sorted(by_ref))


def _is_application(obj: Object) -> bool:
    return obj.get("kind") == "Application" and str(obj.get("apiVersion")).startswith("argoproj.io/")


def _child(
    found: Touched | None, listed: App, before: Object | None, after: Object, fleet: Fleet, t: Transport, plan: Plan
) -> Touched:
    """The edit laid over the live Application, to which templates and people may have added."""
    if found is None or found.dull or found.what == "removed" or found.after is None:
        app, _ = engine.load(t, listed, fleet, plan, states=True)
        found = Touched("changed", app, app)
    assert found.after is not None
    if not isinstance(after.get("spec"), Mapping):
        return replace(
            found, notes=(*found.notes, "Its manifest has no spec that an API server accepts, so it is not judged.")
        )
    spec, metadata = mapping(after, "spec"), mapping(after, "metadata")
    if before is not None:
        spec = _merged(listed.spec, mapping(before, "spec"), spec)
        metadata = _merged(listed.raw.get("metadata") or {}, mapping(before, "metadata"), metadata)
    notes = found.notes
    if any(spec.get(name) != listed.spec.get(name) for name in ("source", "sources", "destination")):
        notes = (*notes, "Its source or destination changes: what it will render is not known before the merge.")
    return replace(found, after=respecified(found.after, spec, metadata, fleet), notes=notes)


def _merged(live: Json, before: Json, after: Json) -> Json:
    """Live with what `after` changes of `before`; lists are taken whole."""
    if before == after:
        return live
    if not (isinstance(live, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping)):
        return after
    names = dict.fromkeys((*live, *after))
    made = {n: _merged(live.get(n, MISSING), before.get(n, MISSING), after.get(n, MISSING)) for n in names}
    return {name: value for name, value in made.items() if value is not MISSING}


def _new_child(manifest: Object, fleet: Fleet, folder: Path | None) -> Touched:
    """An Application that a parent brings. The server renders only what it has; a folder of renders may hold it."""
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
    manifests = manifests_of(folder, app.ref) if folder is not None else None
    if manifests is None:
        return Touched("added", None, app, notes=("It is new: what it renders is not known before the merge.",))
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    change = delta(Rendered({}), head)
    return Touched("added", None, head_app(app, change, head, fleet), change)


def _removed_child(listed: App, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    """An Application that its parent lets go: with the resources finalizer its objects are deleted with it."""
    app, _ = engine.load(t, listed, fleet, plan, states=True)
    if not cascades(app):
        return Touched("removed", app, None, notes=("It has no resources finalizer, so its objects stay, unmanaged.",))
    deleted = (r for r in app.resources if not r.hook and not outlives(app, r.live or {}, fleet))
    gone = Delta(removed={r.key: r.desired for r in deleted if r.desired is not None})
    pruning = {**app.spec, "syncPolicy": {"automated": {"prune": True}}}
    after = head_app(replace(app, raw={**app.raw, "spec": pruning}), gone, Rendered({}), fleet)
    return Touched("removed", app, after, gone, ("Its objects are deleted with it.",))
