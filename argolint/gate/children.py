"""Applications that the change itself edits, adds or removes: an app of apps, or their manifests in the checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from argolint.app import App, app_from_list
from argolint.checkouts.git import LINK, SUBMODULE, Entry, Git
from argolint.engine.load import load
from argolint.engine.plan import Plan
from argolint.fleet import Fleet
from argolint.gate.candidates import Change, kustomize_files
from argolint.gate.declared import UnreadableError, declared, is_application, is_other, may_declare
from argolint.gate.delta import Delta, delta
from argolint.gate.head import head_app, respecified
from argolint.gate.refused import refused_app
from argolint.gate.touched import Touched
from argolint.model import MISSING, AppRef, Failure, Json, Object
from argolint.pruning import cascades, outlives
from argolint.renders.manifests import Rendered, rendered, tracked
from argolint.server.transport import Transport
from argolint.values import dig, mapping, plain


@dataclass(frozen=True)
class Edits:
    """Application manifests that a change edits or adds. `before` is None where only the live Application is known."""

    edited: Mapping[AppRef, tuple[Object | None, Object]] = field(default_factory=dict)
    new: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def edits_of(change: Change, fleet: Fleet, base: str, *, alone: bool = True) -> Edits:
    """What the checkout's changed files, or the named ones, say of Applications.

    Where the change is not judged here `alone`, a manifest that deploys elsewhere than the Application of its name is another Argo CD's.
    """
    if change.by_files:
        known = _known(fleet)
        before = {_ref(m, fleet): m for m in change.before}
        named, notes = _one_each(change.applications, before, fleet)
        named = {
            k: m for k, m in named.items() if before.get(k) != m and not (k in known and _is_live(m, known[k], fleet))
        }
        return Edits(
            {known[k]: (before.get(k), m) for k, m in named.items() if k in known},
            tuple(m for k, m in named.items() if k not in known),
            (*notes, *_of_others((), (m for m in change.others if m["kind"] != "ApplicationSet"), fleet)),
            (*change.unread, *_unrendered(change.others, fleet)),
        )
    return Edits() if change.git is None else _in_the_change(change, change.git, fleet, base, alone=alone)


def _known(fleet: Fleet) -> dict[tuple[str, str], AppRef]:
    return {(app.ref.namespace, app.ref.name): app.ref for app in fleet.apps}


@dataclass(frozen=True)
class _Declared:
    """Argo CD's objects in the files that a change edits, as base and head have them, and what of it could not be read."""

    earlier: tuple[Object, ...]
    later: tuple[Object, ...]
    notes: tuple[str, ...]
    failures: tuple[Failure, ...]


def _in_the_change(change: Change, git: Git, fleet: Fleet, base: str, *, alone: bool) -> Edits:
    known = _known(fleet)
    found = git.derived("declared", (base, change.head), lambda: _read(git, base, change.head))
    before = {_ref(m, fleet): m for m in filter(_is_named, found.earlier)}
    after, notes = _one_each(filter(_is_named, found.later), before, fleet)
    notes += [f"{k[0]}/{k[1]}: a new Application manifest, rendered by nobody yet" for k in after.keys() - known.keys()]
    notes += [f"{k[0]}/{k[1]}: its manifest is gone" for k in before.keys() - after.keys() if k in known]
    notes += found.notes
    notes += _of_others(filter(is_other, found.earlier), filter(is_other, found.later), fleet)
    edited = {
        known[k]: (before.get(k), m)
        for k, m in after.items()
        if k in known and before.get(k) != m and (alone or _goes_where(before.get(k, m), fleet.by_ref[known[k]].raw))
    }
    return Edits(edited, notes=tuple(sorted(notes)), failures=found.failures)


def _read(git: Git, base: str, head: str) -> _Declared:
    also = {rev: kustomize_files(git, rev) for rev in (base, head)}
    changed = git.changes(base, head)
    files = [c for c in changed if _may_hold(c.path) or any(c.path in a for a in also.values())]
    was = {c.path: c.before for c in files if c.before is not None}
    will = {c.path: c.after for c in files if c.after is not None}
    earlier, _, _ = _declared(zip(was, _texts(git, base, was), strict=True))
    later, broken, left = _declared(zip(will, _texts(git, head, will), strict=True))
    notes = (
        f"{plain(c.path)}: another version of a submodule, whose own Application manifests are not looked at"
        for c in changed
        if c.after is not None and c.after.mode == SUBMODULE
    )
    unread = dict.fromkeys(git.too_large(will), "too large to be read")
    unread |= dict.fromkeys(broken, "no YAML that can be read")
    failures = [
        Failure("change", f"{plain(path)} is {why}, so Applications in it are not judged", "correct or split the file")
        for path, why in sorted(unread.items())
    ]
    if left:
        why = f"the change has so many manifests that {left:,} files were not read, and Applications in them are not judged"
        failures.append(Failure("change", why, "make several changes of it"))
    nameless = sum(is_application(m) and not _is_named(m) for m in later) - sum(
        is_application(m) and not _is_named(m) for m in earlier
    )
    if nameless > 0:
        why = "the change adds an Application without a metadata.name, which is not judged"
        failures.append(Failure("change", why, "name it"))
    return _Declared(tuple(earlier), tuple(later), tuple(notes), tuple(failures))


def _may_hold(path: str) -> bool:
    """What Argo CD and kubectl read of a folder; Kustomize reads whatever it names."""
    return path.lower().endswith((".yaml", ".yml", ".json"))


_MAX_LINKS = 200
"""Links of one change that are followed, each by a process. A change that makes more of them is not one of manifests."""


def _texts(git: Git, revision: str, files: Mapping[str, Entry]) -> Iterator[str | None]:
    """The files' texts in their order; of a link, that of the file of the same commit that it leads to."""
    links = [path for path, entry in files.items() if entry.mode == LINK][:_MAX_LINKS]
    linked = {path: git.linked(revision, path) for path in links}
    for path, text in zip(files, git.texts(files.values()), strict=True):
        yield linked.get(path, text)


def _of_others(before: Iterable[Object], after: Iterable[Object], fleet: Fleet) -> Iterator[str]:
    """What to know of the ApplicationSets and AppProjects that a change edits, which are not judged themselves."""
    was, will = ({(str(m["kind"]), *_ref(m, fleet)): m for m in side} for side in (before, after))
    for key in was.keys() | will.keys():
        if was.get(key) != will.get(key):
            kind, namespace, name = key
            how = "a new" if key not in was else "an edited" if key in will else "a deleted"
            yield f"{namespace}/{name}: {how} {kind}; {_UNJUDGED[kind]}"


_UNJUDGED = {
    "ApplicationSet": "the Applications that it generates are not known before the merge",
    "AppProject": "what it permits is not held against the Applications of it that stay as they are",
}


def _unrendered(others: Iterable[Object], fleet: Fleet) -> Iterator[Failure]:
    """A failure for each ApplicationSet that is not as it is live."""
    live = {_ref(m, fleet): m.get("spec") for m in fleet.application_sets}
    for manifest in others:
        key = _ref(manifest, fleet)
        if manifest["kind"] == "ApplicationSet" and _without_blanks(manifest.get("spec")) != _without_blanks(
            live.get(key)
        ):
            who = plain(f"ApplicationSet {key[0]}/{key[1]}")
            yield Failure("not judged", f"{who}: {_UNJUDGED['ApplicationSet']}", "--allow-incomplete passes it here")


def _goes_where(manifest: Object, live: Object) -> bool:
    return bool(dig(manifest, "spec", "destination") == dig(live, "spec", "destination"))


def _is_live(manifest: Object, ref: AppRef, fleet: Fleet) -> bool:
    """True when the live Application is what the manifest says; what a server adds to metadata is no edit of it."""
    live = fleet.by_ref[ref].raw
    one, other = mapping(manifest, "spec"), mapping(live, "spec")
    if _without_blanks({"project": "default", **one}) != _without_blanks({"project": "default", **other}):
        return False
    wanted, held = mapping(manifest, "metadata"), mapping(live, "metadata")
    return all(
        mapping(held, part).get(name) == value
        for part in ("annotations", "labels")
        for name, value in mapping(wanted, part).items()
    )


def _without_blanks(node: Json) -> Json:
    """The value without empty maps, lists and texts, which an API server and Argo CD may leave out."""
    if isinstance(node, Mapping):
        kept = {key: _without_blanks(value) for key, value in node.items()}
        return {key: value for key, value in kept.items() if value not in (None, "", {}, [])}
    return [_without_blanks(item) for item in node] if isinstance(node, list) else node


_MAX_CHARACTERS = 32_000_000
"""Of a change's texts that may declare Applications: ten thousand Applications have a third of it."""


def _declared(texts: Iterable[tuple[str, str | None]]) -> tuple[list[Object], list[str], int]:
    """Argo CD's objects in these files, the paths of those that cannot be read, and how many were left since there is too much."""
    found: list[Object] = []
    broken = []
    left, room = 0, _MAX_CHARACTERS
    for path, text in texts:
        if text is None or not may_declare(text):
            continue
        room -= len(text)
        if room < 0:
            left += 1
            continue
        try:
            found += declared(text)
        except UnreadableError:
            broken.append(path)
    return found, broken, left


def _is_named(manifest: Object) -> bool:
    return is_application(manifest) and bool(dig(manifest, "metadata", "name"))


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
    remark = "the change holds several manifests of it that differ, of which the first is judged"
    return found, [f"{key[0]}/{key[1]}: {remark}" for key in sorted(several)]


def _ref(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))


def with_children(
    judged: Sequence[Touched],
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    edits: Edits,
    change: Change,
) -> tuple[Touched, ...]:
    """Also the applications whose manifests a parent renders otherwise at head, or that a changed file holds."""
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
        for edit in made.changed.values():
            if is_application(edit.head) and (ref := known.get(_ref(edit.head, fleet))):
                edited[ref] = (edit.base, edit.head)
        for manifest in filter(is_application, made.added.values()):
            if ref := known.get(_ref(manifest, fleet)):
                edited[ref] = (None, manifest)
            else:
                new.append(manifest)
        for manifest in filter(is_application, made.removed.values()):
            if ref := known.get(_ref(manifest, fleet)):
                by_ref[ref] = _removed_child(fleet.by_ref[ref], fleet, t, plan)
    for ref, (before, after) in edited.items():
        by_ref[ref] = _child(by_ref.get(ref), fleet.by_ref[ref], before, after, fleet, t, plan, coming)
    for manifest in new:
        child = _new_child(manifest, fleet, change, coming)
        by_ref[child.ref] = child
    return tuple(by_ref[ref] for ref in sorted(by_ref))


def _child(
    found: Touched | None,
    listed: App,
    before: Object | None,
    after: Object,
    fleet: Fleet,
    t: Transport,
    plan: Plan,
    coming: frozenset[str],
) -> Touched:
    """The edit laid over the live Application, to which templates and people may have added."""
    if found is None or found.drawn_only or found.what == "removed" or found.after is None:
        app, _ = load(t, listed, fleet, plan, states=True)
        found = Touched("changed", app, app)
    assert found.after is not None
    if not isinstance(after.get("spec"), Mapping):
        remark = "Its manifest has no spec that an API server accepts, so it is not judged."
        return replace(found, notes=(*found.notes, remark), unjudged=remark)
    spec, metadata = mapping(after, "spec"), mapping(after, "metadata")
    if before is not None:
        spec = _merged(listed.spec, mapping(before, "spec"), spec)
        metadata = _merged(listed.raw.get("metadata") or {}, mapping(before, "metadata"), metadata)
    notes, unjudged = found.notes, ""
    if any(_without_blanks(spec.get(n)) != _without_blanks(listed.spec.get(n)) for n in _RENDERED_FROM):
        unjudged = "Its source or destination changes: what it will render is not known before the merge."
        notes = (*notes, unjudged)
    ahead = refused_app(respecified(found.after, spec, metadata, fleet), listed.spec, fleet, coming)
    return replace(found, after=ahead, notes=notes, unjudged=unjudged, respecified=True)


_RENDERED_FROM = ("source", "sources", "sourceHydrator", "destination")


def _merged(live: Json, before: Json, after: Json) -> Json:
    """Live with what `after` changes of `before`; lists are taken whole."""
    if before == after:
        return live
    if not (isinstance(live, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping)):
        return after
    names = dict.fromkeys((*live, *after))
    made = {n: _merged(live.get(n, MISSING), before.get(n, MISSING), after.get(n, MISSING)) for n in names}
    return {name: value for name, value in made.items() if value is not MISSING}


def _new_child(manifest: Object, fleet: Fleet, change: Change, coming: frozenset[str]) -> Touched:
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
    manifests = change.given(app.ref)
    app = refused_app(app, None, fleet, coming)
    if manifests is None:
        remark = "It is new: what it renders is not known before the merge."
        return Touched("added", None, app, notes=(remark,), unjudged=remark, respecified=True)
    head = rendered([tracked(m, app, fleet) for m in manifests], app, fleet)
    made = delta(Rendered({}), head)
    return Touched("added", None, head_app(app, made, head, fleet), made, respecified=True)


def _removed_child(listed: App, fleet: Fleet, t: Transport, plan: Plan) -> Touched:
    """An Application that its parent lets go: with the resources finalizer its objects are deleted with it."""
    app, _ = load(t, listed, fleet, plan, states=True)
    if not cascades(app):
        return Touched("removed", app, None, notes=("It has no resources finalizer, so its objects stay, unmanaged.",))
    deleted = (r for r in app.resources if not r.hook and not outlives(app, r.live or {}, fleet))
    gone = Delta(removed={r.key: r.desired for r in deleted if r.desired is not None})
    pruning = {**app.spec, "syncPolicy": {"automated": {"prune": True}}}
    after = head_app(replace(app, raw={**app.raw, "spec": pruning}), gone, Rendered({}), fleet)
    return Touched("removed", app, after, gone, ("Its objects are deleted with it.",))
