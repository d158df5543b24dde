"""What a change says of Argo CD's own objects: the manifests in the files that it edits, or in those that are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.gate.candidates import kustomize_files
from argolint.gate.change import Change, Pair, Written
from argolint.gate.declared import UnreadableError, declared, is_application, is_other, may_declare
from argolint.model import AppRef, Failure, Json, Object
from argolint.sources.git import LINK, SUBMODULE, Entry, Git
from argolint.values import dig, mapping, plain


@dataclass(frozen=True)
class Edits:
    """Application manifests that a change edits or adds. `before` is None where only the live Application is known."""

    edited: Mapping[AppRef, tuple[Object | None, Object]] = field(default_factory=dict)
    new: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def written(change: Change, base: str) -> Written:
    """What the checkout's changed files say, or the named ones; read once."""
    git = change.git
    if change.files is not None:
        return change.files
    return (
        Written() if git is None else git.derived("written", (base, change.head), lambda: _read(git, base, change.head))
    )


Placed = tuple[str, Object]
"""A manifest and the file that holds it."""


def paired(earlier: Iterable[Placed], later: Iterable[Placed]) -> tuple[Pair, ...]:
    """Each manifest with what it was: of its own file, else of one that holds it no longer."""
    before: dict[tuple[str, ...], list[Placed]] = defaultdict(list)
    for file, manifest in earlier:
        before[_identity(manifest)].append((file, manifest))
    found: list[Pair] = []
    moved: list[tuple[int, Placed]] = []
    for file, manifest in later:
        held = before[_identity(manifest)]
        own = next((one for one in held if one[0] == file), None)
        if own is None:
            moved.append((len(found), (file, manifest)))
        else:
            held.remove(own)
        found.append(Pair(own[1] if own else None, manifest, file))
    for at, (file, manifest) in moved:
        held = before[_identity(manifest)]
        if held:
            own = next((one for one in held if one[1] == manifest), held[0])
            held.remove(own)
            found[at] = Pair(own[1], manifest, file)
    gone = (Pair(manifest, None, file) for held in before.values() for file, manifest in held)
    return (*found, *gone)


def _identity(manifest: Object) -> tuple[str, ...]:
    return tuple(
        str(v or "") for v in (manifest["kind"], *(dig(manifest, "metadata", n) for n in ("namespace", "name")))
    )


def edits_of(found: Written, fleet: Fleet) -> Edits:
    """What the manifests of one Argo CD's Applications change there."""
    known = {(app.ref.namespace, app.ref.name): app.ref for app in fleet.apps}
    before = {ref_of(p.before, fleet): p.before for p in found.applications if p.before is not None}
    after, notes = _one_each((p.after for p in found.applications if p.after is not None), before, fleet)
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
            (*notes, *(of_other(p, fleet) for p in found.others if p not in sets)),
            (*found.failures, *unrendered(sets, fleet)),
        )
    notes += [f"{k[0]}/{k[1]}: {NEW}" for k in after.keys() - known.keys()]
    notes += [f"{k[0]}/{k[1]}: its manifest is gone" for k in before.keys() - after.keys() if k in known]
    notes += [*found.notes, *(of_other(p, fleet) for p in found.others)]
    edited = {known[k]: (before.get(k), m) for k, m in after.items() if k in known and before.get(k) != m}
    return Edits(edited, notes=tuple(sorted(notes)), failures=found.failures)


NEW = "a new Application manifest, rendered by nobody yet"


def _read(git: Git, base: str, head: str) -> Written:
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
    nameless = _nameless(later) - _nameless(earlier)
    if nameless > 0:
        why = "the change adds an Application without a metadata.name, which is not judged"
        failures.append(Failure("change", why, "name it"))
    applications, others = (
        paired([one for one in earlier if kind(one[1])], [one for one in later if kind(one[1])])
        for kind in (_is_named, is_other)
    )
    return Written(applications, tuple(p for p in others if p.before != p.after), tuple(notes), tuple(failures))


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


def of_other(pair: Pair, fleet: Fleet) -> str:
    """What to know of an ApplicationSet or AppProject that a change edits: it is not judged itself."""
    namespace, name = ref_of(pair.manifest, fleet)
    how = "a new" if pair.before is None else "an edited" if pair.after is not None else "a deleted"
    kind = str(pair.manifest["kind"])
    return f"{namespace}/{name}: {how} {kind}; {_UNJUDGED[kind]}"


_UNJUDGED = {
    "ApplicationSet": "the Applications that it generates are not known before the merge",
    "AppProject": "what it permits is not held against the Applications of it that stay as they are",
}


def unrendered(sets: Iterable[Pair], fleet: Fleet) -> Iterator[Failure]:
    """A failure for each ApplicationSet that is not as it is live."""
    live = {ref_of(m, fleet): m.get("spec") for m in fleet.application_sets}
    for pair in sets:
        key = ref_of(pair.manifest, fleet)
        after = pair.after or {}
        if without_blanks(after.get("spec")) != without_blanks(live.get(key)):
            who = plain(f"ApplicationSet {key[0]}/{key[1]}")
            yield Failure("not judged", f"{who}: {_UNJUDGED['ApplicationSet']}", "--allow-incomplete passes it here")


def is_live(manifest: Object, app: App) -> bool:
    """True when the live Application is what the manifest says; what a server adds to metadata is no edit of it."""
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
"""Of a change's texts that may declare Applications: ten thousand Applications have a third of it."""


def _nameless(found: Iterable[Placed]) -> int:
    return sum(is_application(m) and not _is_named(m) for _, m in found)


def _declared(texts: Iterable[tuple[str, str | None]]) -> tuple[list[Placed], list[str], int]:
    """Argo CD's objects in these files, the paths of those that cannot be read, and how many were left since there is too much."""
    found: list[Placed] = []
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
            found += ((path, manifest) for manifest in declared(text))
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
        key = ref_of(manifest, fleet)
        if key in found and before.get(key) not in (found[key], manifest) and found[key] != manifest:
            several.add(key)
        if key not in found or found[key] == before.get(key):
            found[key] = manifest
    remark = "the change holds several manifests of it that differ, of which the first is judged"
    return found, [f"{key[0]}/{key[1]}: {remark}" for key in sorted(several)]


def ref_of(manifest: Object, fleet: Fleet) -> tuple[str, str]:
    return (str(dig(manifest, "metadata", "namespace") or fleet.control_plane), str(dig(manifest, "metadata", "name")))
