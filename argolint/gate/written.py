"""The manifests of Argo CD's own objects in the files that a change edits, or in the named files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.gate.change import GatedChange, ManifestPair, Written
from argolint.gate.declared import declared, is_application, is_other, may_declare
from argolint.gate.reads import LFS_POINTER, is_manifest, links_of, manifest_files
from argolint.model import MISSING, AppRef, Failure, Json, Object
from argolint.sources.git import LINK, SUBMODULE, Entry, Git
from argolint.values import dig, mapping, plain


@dataclass(frozen=True)
class Edits:
    """Application manifests that a change edits or adds. `before` is None if only the live Application is known."""

    edited: Mapping[AppRef, tuple[Object | None, Object]] = field(default_factory=dict)
    new: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    projects: tuple[ManifestPair, ...] = ()
    sets: tuple[ManifestPair, ...] = ()
    """ApplicationSets of named files, and live ones."""


def written(change: GatedChange, base: str) -> Written:
    """The manifests in the checkout's changed files, or in the named files; read once."""
    git = change.git
    if change.files is not None:
        return change.files
    return (
        Written() if git is None else git.derived("written", (base, change.head), lambda: _read(git, base, change.head))
    )


Placed = tuple[str, Object]
"""A manifest and its file."""


def paired(earlier: Iterable[Placed], later: Iterable[Placed]) -> tuple[ManifestPair, ...]:
    """Each manifest with its earlier version: from the same file, else from a file that no longer has it."""
    before: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for file, manifest in earlier:
        before[_identity(manifest)].append((file, manifest))
    found: list[ManifestPair] = []
    moved: list[tuple[int, Placed]] = []
    for file, manifest in later:
        held = before[_identity(manifest)]
        own = next((one for one in held if one[0] == file), None)
        if own is None:
            moved.append((len(found), (file, manifest)))
        else:
            held.remove(own)
        found.append(ManifestPair(own[1] if own else None, manifest, file))
    for at, (file, manifest) in moved:
        held = before[_identity(manifest)]
        if held:
            own = next((one for one in held if one[1] == manifest), held[0])
            held.remove(own)
            found[at] = ManifestPair(own[1], manifest, file)
    gone = (ManifestPair(manifest, None, file) for held in before.values() for file, manifest in held)
    return (*found, *gone)


def _identity(manifest: Object) -> tuple[str, ...]:
    return tuple(
        str(v or "") for v in (manifest["kind"], *(dig(manifest, "metadata", n) for n in ("namespace", "name")))
    )


def application_edits(found: Written, fleet: Fleet) -> Edits:
    """The edits of the manifests to one Argo CD's Applications."""
    known = {(app.ref.namespace, app.ref.name): app.ref for app in fleet.apps}
    before = {ref_of(p.before, fleet): p.before for p in found.applications if p.before is not None}
    after, twice = _unique_manifests((p.after for p in found.applications if p.after is not None), before, fleet)
    failures = (*found.failures, *twice)
    if found.by_files:
        after = {
            k: m
            for k, m in after.items()
            if before.get(k) != m and not (k in known and is_live(m, fleet.by_ref[known[k]]))
        }
        sets = [p for p in found.others if p.manifest["kind"] == "ApplicationSet"]
        return Edits(
            {known[k]: (before.get(k), m) for k, m in after.items() if k in known},
            tuple(m for k, m in after.items() if k not in known),
            tuple(foreign_remark(p, fleet) for p in found.others if p not in sets),
            failures,
            _projects(found),
            tuple(sets),
        )
    notes = [f"{k[0]}/{k[1]}: {NEW}" for k in after.keys() - known.keys()]
    notes += [f"{k[0]}/{k[1]}: its manifest is gone" for k in before.keys() - after.keys() if k in known]
    live = {ref_of(m, fleet) for m in fleet.application_sets}
    sets = [p for p in found.others if p.manifest["kind"] == "ApplicationSet" and ref_of(p.manifest, fleet) in live]
    notes += [*found.notes, *(foreign_remark(p, fleet) for p in found.others if p not in sets)]
    edited = {known[k]: (before.get(k), m) for k, m in after.items() if k in known and before.get(k) != m}
    return Edits(edited, (), tuple(sorted(notes)), failures, _projects(found), tuple(sets))


def _projects(found: Written) -> tuple[ManifestPair, ...]:
    return tuple(p for p in found.others if p.manifest["kind"] == "AppProject")


NEW = "a new Application manifest, not rendered yet"


def _read(git: Git, base: str, head: str) -> Written:
    also = manifest_files(git, base) | manifest_files(git, head)
    changed = git.changes(base, head)
    files = [c for c in changed if is_manifest(c.path) or c.path in also]
    was = {c.path: c.before for c in files if c.before is not None}
    will = {c.path: c.after for c in files if c.after is not None}
    earlier, _ = _declared(zip(was, _texts(git, base, was), strict=True), _Room(_MAX_CHARACTERS))
    room = _Room(_MAX_CHARACTERS)
    later, unread = _declared(zip(will, _texts(git, head, will), strict=True), room)
    ends = {path: entry for path, _, entry in _file_versions(git, head, will) if entry is not None}
    unread |= dict.fromkeys(git.too_large(ends), "is too large to be read")
    unread |= dict.fromkeys(_into_submodules(git, head, will), "leads into a submodule, whose files are not read")
    unread |= {
        c.path: "is another version of a submodule, whose files are not read"
        for c in changed
        if SUBMODULE in {entry.mode for entry in (c.before, c.after) if entry is not None}
    }
    failures = [
        Failure("change", f"{plain(path)} {why}, so Applications in it are not judged", "correct or split the file")
        for path, why in sorted(unread.items())
    ]
    if room.left:
        one, more = plain(room.left[0]), len(room.left) - 1
        which = f"{one} and {more:,} more files were" if more else f"{one} was"
        why = f"the change has more manifests than are read: {which} not read, and Applications in them are not judged"
        failures.append(Failure("change", why, "make several changes of it"))
    nameless = _nameless(later) - _nameless(earlier)
    if nameless > 0:
        why = "the change adds an Application without a metadata.name, which is not judged"
        failures.append(Failure("change", why, "name it"))
    applications, others = (
        paired([one for one in earlier if kind(one[1])], [one for one in later if kind(one[1])])
        for kind in (_is_named, is_other)
    )
    return Written(applications, tuple(p for p in others if p.before != p.after), failures=tuple(failures))


def _file_versions(
    git: Git, revision: str, files: Mapping[str, Entry]
) -> Iterator[tuple[str, str | None, Entry | None]]:
    """Each file with the target of its links; None if the target is not in the commit."""
    links, tree = links_of(git, revision), git.tree(revision)
    for path, entry in files.items():
        end = links.real(path).path if entry.mode == LINK else path
        yield path, end, entry if end == path else tree.get(end or "")


def _into_submodules(git: Git, revision: str, files: Mapping[str, Entry]) -> Iterator[str]:
    tree = git.tree(revision)
    for path, end, entry in _file_versions(git, revision, files):
        parts = (end or "").split("/")
        above = (tree.get("/".join(parts[:count])) for count in range(1, len(parts)))
        if entry is None and any(one is not None and one.mode == SUBMODULE for one in above):
            yield path


def _texts(git: Git, revision: str, files: Mapping[str, Entry]) -> Iterator[str | None]:
    """The files' texts in order; for a link, the text of its target in the same commit."""
    entries = [entry for _, _, entry in _file_versions(git, revision, files)]
    texts = iter(git.texts([entry for entry in entries if entry is not None]))
    return (next(texts) if entry is not None else None for entry in entries)


def foreign_remark(pair: ManifestPair, fleet: Fleet) -> str:
    """A note on an ApplicationSet or AppProject that a change edits: it is not judged itself."""
    namespace, name = ref_of(pair.manifest, fleet)
    how = "a new" if pair.before is None else "an edited" if pair.after is not None else "a deleted"
    kind = str(pair.manifest["kind"])
    return f"{namespace}/{name}: {how} {kind}; {_UNJUDGED[kind]}"


_UNJUDGED = {
    "ApplicationSet": "the Applications that it generates are not known before the merge",
    "AppProject": "its Applications are held against the sources and destinations that it permits",
}


def unrendered(sets: Iterable[ManifestPair], fleet: Fleet) -> Iterator[Failure]:
    """A failure for each ApplicationSet that differs from the live one."""
    live = {ref_of(m, fleet): m.get("spec") for m in fleet.application_sets}
    for pair in sets:
        key = ref_of(pair.manifest, fleet)
        after = pair.after or {}
        if without_blanks(after.get("spec")) != without_blanks(live.get(key)):
            who = plain(f"ApplicationSet {key[0]}/{key[1]}")
            yield Failure("not judged", f"{who}: {_UNJUDGED['ApplicationSet']}", "--allow-incomplete passes it here")


def is_live_set(pair: ManifestPair, live: Object) -> bool:
    """True if the live set already equals the manifest."""
    assert pair.after is not None
    return bool(without_blanks(pair.after.get("spec")) == without_blanks(live.get("spec")))


def with_edits(live: Object, pair: ManifestPair) -> Object:
    """The live object with the change's edits to its spec."""
    assert pair.after is not None
    before = pair.before.get("spec") if pair.before is not None else None
    return {**live, "spec": merged(live.get("spec"), before, pair.after.get("spec"))}


def merged(live: Json, before: Json, after: Json) -> Json:
    """Live with the edits from `before` to `after`; a list is replaced as a whole."""
    if before == after:
        return live
    if not (isinstance(live, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping)):
        return after
    names = dict.fromkeys((*live, *after))
    made = {n: merged(live.get(n, MISSING), before.get(n, MISSING), after.get(n, MISSING)) for n in names}
    return {name: value for name, value in made.items() if value is not MISSING}


def is_live(manifest: Object, app: App) -> bool:
    """True if the live Application equals the manifest; metadata that a server adds does not count."""
    live = app.raw
    one, other = mapping(manifest, "spec"), mapping(live, "spec")
    if without_blanks({"project": "default", **one}) != without_blanks({"project": "default", **other}):
        return False
    wanted, held = mapping(manifest, "metadata"), mapping(live, "metadata")
    return all(
        mapping(held, part).get(name) == value
        for part in ("annotations", "labels")
        for name, value in mapping(wanted, part).items()
    )


def without_blanks(node: Json) -> Json:
    """The value without empty maps, lists and texts, which an API server and Argo CD may leave out."""
    if isinstance(node, Mapping):
        kept = {key: without_blanks(value) for key, value in node.items()}
        return {key: value for key, value in kept.items() if value not in (None, "", {}, [])}
    return [without_blanks(item) for item in node] if isinstance(node, list) else node


_MAX_CHARACTERS = 32_000_000
"""Most characters of a change's texts that may declare Applications: ten thousand Applications need a third of it."""


def _nameless(found: Iterable[Placed]) -> int:
    return sum(is_application(m) and not _is_named(m) for _, m in found)


@dataclass
class _Room:
    """The characters that may still be read, and the files that were skipped."""

    characters: int
    left: list[str] = field(default_factory=list)


def _declared(texts: Iterable[tuple[str, str | None]], room: _Room) -> tuple[list[Placed], dict[str, str]]:
    """Argo CD's objects in these files, and the files that were not read fully, with the reason."""
    found: list[Placed] = []
    unread = {}
    for path, text in texts:
        if text is not None and text.startswith(LFS_POINTER):
            unread[path] = "is kept in Git LFS, which is not read"
        if text is None or not may_declare(text):
            continue
        room.characters -= len(text)
        if room.characters < 0:
            room.left.append(path)
            continue
        held = declared(text)
        found += ((path, manifest) for manifest in held.objects)
        if held.unread:
            unread[path] = f"is no YAML that can be read ({held.unread})"
    return found, unread


def _is_named(manifest: Object) -> bool:
    return is_application(manifest) and bool(dig(manifest, "metadata", "name"))


def _unique_manifests(
    manifests: Iterable[Object], before: Mapping[tuple[str, str], Object], fleet: Fleet
) -> tuple[dict[tuple[str, str], Object], tuple[Failure, ...]]:
    """One manifest per Application, and a failure if several differ: the one that will apply is unknown.

    A copy of the old manifest does not hide an edit.
    """
    found: dict[tuple[str, str], Object] = {}
    several = set()
    for manifest in manifests:
        key = ref_of(manifest, fleet)
        if key in found and found[key] != manifest:
            several.add(key)
        if key not in found or found[key] == before.get(key):
            found[key] = manifest
    who = (plain(f"Application {namespace}/{name}") for namespace, name in sorted(several))
    return found, tuple(Failure("not judged", f"{one}: {_SEVERAL}", "keep one of them") for one in who)


_SEVERAL = "the change holds several manifests of it that differ, and only one of them is judged"


def ref_of(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))
