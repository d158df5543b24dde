"""The effect of a change on Applications that ApplicationSets generate.

A set is evaluated before and after the change if its inputs are available: its manifest, the files and folders of the checkout, and the
clusters that Argo CD lists. The result before the change is compared with the Applications that the set owns. If they differ, the
evaluation is not reliable and nothing is reported.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from argolint.application.app import App
from argolint.application.application_sets import Controller, generators, owned_applications, preserves, set_namespace
from argolint.application.fleet import Fleet
from argolint.gate.candidates import DEFAULT_REVISIONS, may_be_repository
from argolint.gate.change import ManifestPair
from argolint.gate.reads import before_pattern, covered_files
from argolint.gate.touched import DeletingSet
from argolint.gate.written import is_live_set, ref_of, with_edits
from argolint.model import MISSING, AppRef, Failure, Object
from argolint.sources.appset_templates import NotEvaluatedError
from argolint.sources.generators import Generated, LocalClusterError, generated
from argolint.sources.git import Entry, Git
from argolint.sources.links import folders
from argolint.values import annotations_of, comma_list, enumerated, items, mapping, maps, plain, text_at
from argolint.values.kubernetes import SYNC_OPTIONS


@dataclass(frozen=True)
class Tree:
    """A commit of the repository, or the result of a merge."""

    git: Git
    repo: str
    base: str
    entries: Mapping[str, Entry]

    def reads(self, url: str, revision: str) -> bool:
        name = revision.removeprefix("refs/heads/")
        return may_be_repository(self.repo, url) and (name in DEFAULT_REVISIONS or name == self.base)

    @cached_property
    def files(self) -> Sequence[str]:
        return sorted(path for path, entry in self.entries.items() if entry.mode.startswith("100"))

    @cached_property
    def others(self) -> Sequence[str]:
        return sorted(path for path, entry in self.entries.items() if not entry.mode.startswith("100"))

    @cached_property
    def folders(self) -> frozenset[str]:
        return folders(self.entries)

    @cached_property
    def _paths(self) -> Sequence[str]:
        return sorted(self.entries)

    def below(self, folder: str) -> Sequence[str]:
        """The paths below a folder."""
        return self._paths[
            bisect_left(self._paths, f"{folder}/") : bisect_left(self._paths, f"{folder}0")
        ]  # `0` follows `/`

    @cached_property
    def read_folders(self) -> dict[tuple[str, bool], tuple[Object, ...] | None]:
        """What `made_here` has read, by folder and whether with those below: each is read once."""
        return {}

    def texts(self, paths: Sequence[str]) -> Sequence[str | None]:
        return list(self.git.texts([self.entries[path] for path in paths]))


@dataclass(frozen=True)
class Trees:
    """What generators read before and after a merge, and the files that differ."""

    before: Tree
    after: Tree
    changed: Sequence[str]

    @cached_property
    def moved(self) -> Sequence[str]:
        """Folders that are added or removed."""
        return sorted(self.before.folders ^ self.after.folders)


def trees(git: Git, repo: str, base: str, head: str) -> Trees:
    """The current base, and the base with the change on top."""
    changes = git.changes(base, head)
    before = git.tree(git.bases(base)[-1])
    after = {**before, **{c.path: c.after for c in changes if c.after is not None}}
    for change in changes:
        if change.after is None:
            after.pop(change.path, None)
    return Trees(Tree(git, repo, base, before), Tree(git, repo, base, after), sorted(c.path for c in changes))


@dataclass
class GeneratedChange:
    """The effect of a change on generated Applications: manifests before and after, new ones, and those that a set deletes.

    `unknown`: new ones of which only the name is known, with their sets.
    """

    edited: dict[AppRef, tuple[Object, Object]] = field(default_factory=dict)
    new: list[Object] = field(default_factory=list)
    unknown: list[tuple[Object, str]] = field(default_factory=list)
    gone: dict[AppRef, DeletingSet] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


def generated_change(
    fleet: Fleet,
    written: Sequence[ManifestPair],
    rendered: Sequence[ManifestPair],
    read: Trees | None,
    controller: Callable[[], Controller],
) -> GeneratedChange:
    """The effect on the Applications of every set that the change edits, or whose Git generators read changed files.

    `written`: sets in files, `rendered`: sets that applications render differently. `controller` is read if a set deletes Applications.
    """
    found = GeneratedChange()
    edited = {ref_of(p.manifest, fleet): p for p in (*written, *rendered)}
    pruned = {ref_of(p.manifest, fleet) for p in rendered if p.after is None}
    for raw in fleet.application_sets:
        pair = edited.pop(ref_of(raw, fleet), None)
        if ref_of(raw, fleet) in pruned:
            _record_deleted(found, fleet, raw, controller)
        elif pair is not None and pair.after is None:
            found.failures.append(
                _unknown_failure(raw, "its manifest is gone from its file, and who deletes it is not known")
            )
        elif pair is not None and not is_live_set(pair, raw):
            _judge_set(found, fleet, raw, with_edits(raw, pair), read, controller)
        elif read is not None and _reads_change(mapping(raw, "spec"), read):
            _judge_set(found, fleet, raw, raw, read, controller)
    for pair in edited.values():
        if pair.after is not None:
            _record_new_set(found, fleet, pair.after, read)
    found.notes.sort()
    return found


def _judge_set(
    found: GeneratedChange,
    fleet: Fleet,
    raw: Object,
    after: Object,
    read: Trees | None,
    controller: Callable[[], Controller],
) -> None:
    own = {app.name: app for app in owned_applications(fleet, raw)}
    try:
        was, will, whole = _matching_both(fleet, raw, after, read, own)
        deletes = set(was) - set(will) and controller().deletes(after)
        keeps = not whole or set(own) <= set(was) or not controller().deletes(raw)
        if not (keeps and _matches_live(set(was), set(own), whole=whole)):
            raise NotEvaluatedError(_other_names(set(was), set(own), whole=whole))
    except NotEvaluatedError as error:
        found.failures.append(_unknown_failure(raw, str(error)))
        return
    leaving = sorted(name for name in was if name not in will and name in own)
    if deletes:
        late = preserves(after) and not preserves(raw)
        deleting_set = DeletingSet(_set_name(raw), is_certain=controller().policy is not None, kept_too_late=late)
        found.gone.update({own[name].ref: deleting_set for name in leaving})
    elif leaving:
        refs = enumerated([str(own[name].ref) for name in leaving], limit=5)
        found.notes.append(
            f"{_set_name(raw)} no longer gives {refs}, and deletes nothing (policy {controller().of(after)})"
        )
    for name, later in will.items():
        before, app = was.get(name), own.get(name)
        if before is None:
            _record_new(found, fleet, raw, later)
        elif app is not None and not _is_same(before, later, patched=_patch(raw) != _patch(after)):
            _record_changed(found, raw, after, app, before, later, controller)


def _is_same(before: Generated, later: Generated, *, patched: bool) -> bool:
    if before.manifest is not None and later.manifest is not None:
        return bool(before.manifest == later.manifest)
    return before.of == later.of and not patched


def _patch(raw: Object) -> object:
    return mapping(raw, "spec").get("templatePatch")


def _record_changed(
    found: GeneratedChange,
    raw: Object,
    after: Object,
    app: App,
    before: Generated,
    later: Generated,
    controller: Callable[[], Controller],
) -> None:
    if not controller().updates(after):
        found.notes.append(f"{app.ref}: {_set_name(raw)} leaves it as it is (policy {controller().of(after)})")
    elif pair := _edited_literally(raw, after, app) if before.manifest is None or later.manifest is None else None:
        found.edited[app.ref] = pair
    elif before.manifest is None or later.manifest is None:
        why = f"{later.why or before.why}, so what it makes of {plain(app.name)} is not known"
        found.failures.append(_unknown_failure(raw, why))
    else:
        found.edited[app.ref] = (before.manifest, later.manifest)


_Both = tuple[Mapping[str, Generated], Mapping[str, Generated], bool]


def _matching_both(fleet: Fleet, raw: Object, after: Object, read: Trees | None, own: Mapping[str, App]) -> _Both:
    """The result of a set before and after, with unknown inputs chosen so that the result before matches the live Applications."""
    try:
        return _before_and_after(fleet, raw, after, read, None)
    except LocalClusterError:
        either = [_before_and_after(fleet, raw, after, read, local_secret) for local_secret in (True, False)]
        fitting = [found for found in either if set(found[0]) == own.keys()]
        if len(fitting) != 1:
            raise
        return fitting[0]
    except NotEvaluatedError:
        if read is not None and _reads_change(mapping(raw, "spec"), read):
            raise
        pairs = [_edited_literally(raw, after, app) for app in own.values()]
        if not all(pairs):
            raise
        was, will = (
            {m["metadata"]["name"]: Generated(m["metadata"]["name"], (m, {}), m) for m in side}
            for side in zip(*filter(None, pairs), strict=True)
        )
        return was, will, True


def _edited_literally(raw: Object, after: Object, app: App) -> tuple[Object, Object] | None:
    """The Application before and after an edit of texts of the template that name no parameter, whatever its generators give.

    None if the edit is of anything else, or what the Application has there is not from the template.
    """
    before, later = mapping(raw, "spec"), mapping(after, "spec")
    if {**before, "template": 0} != {**later, "template": 0} or any(
        g.get("template") for _, g, _ in generators(before)
    ):
        return None
    metadata, spec = mapping(app.raw, "metadata"), app.spec
    kept = {k: metadata[k] for k in ("name", "namespace", "labels", "annotations", "finalizers") if k in metadata}
    live = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": kept, "spec": spec}
    try:
        made = _with_literals(live, before["template"], later["template"], text_at(before, "templatePatch"))
    except (LookupError, ValueError):
        return None
    return live, made


def _with_literals(live: Any, before: Any, after: Any, patch: str, key: str = "") -> Any:
    """The live value with what differs between the two templates; ValueError if a parameter is in it, or live has another value."""
    if before == after:
        return live
    if isinstance(live, Mapping) and isinstance(before, Mapping) and isinstance(after, Mapping):
        made = {
            n: _with_literals(live.get(n, MISSING), before.get(n, MISSING), after.get(n, MISSING), patch, n)
            for n in dict.fromkeys((*live, *after))
        }
        return {n: value for n, value in made.items() if value is not MISSING}
    if all(isinstance(side, list) for side in (live, before, after)) and len(live) == len(before) == len(after):
        return [_with_literals(*each, patch, key) for each in zip(live, before, after, strict=True)]
    texts = (key, *(str(side) for side in (before, after) if side is not MISSING))
    if live != before or key in patch or any("{{" in text for text in texts):
        raise ValueError(key)
    return after


def _before_and_after(fleet: Fleet, raw: Object, after: Object, read: Trees | None, local_secret: bool | None) -> _Both:
    """The result of a set before and after; a generator that cannot be evaluated and does not change is left out."""
    namespace = set_namespace(fleet, raw)
    two = mapping(raw, "spec"), mapping(after, "spec")

    def each(one: Object, other: Object) -> tuple[Mapping[str, Generated], Mapping[str, Generated]]:
        before, after = (read.before, read.after) if read is not None else (None, None)
        return (
            generated(one, namespace, fleet, before, local_secret=local_secret),
            generated(other, namespace, fleet, after, local_secret=local_secret),
        )

    try:
        return *each(*two), True
    except LocalClusterError:
        raise
    except NotEvaluatedError:
        kept = [
            [g for g in items(spec, "generators") if g not in items(other, "generators") or _reads_repo(g, read)]
            for spec, other in (two, two[::-1])
        ]
        if _without_generators(raw) != _without_generators(after) or any(
            len(k) == len(items(s, "generators")) for k, s in zip(kept, two, strict=True)
        ):
            raise
        one, other = ({**spec, "generators": own} for spec, own in zip(two, kept, strict=True))
        return *each(one, other), False


def _reads_repo(generator: Any, read: Trees | None) -> bool:
    return read is not None and any(
        _is_of(read.before.repo, git) for git in _git_generators({"generators": [generator]})
    )


def _without_generators(raw: Object) -> Object:
    return {key: value for key, value in mapping(raw, "spec").items() if key != "generators"}


def _matches_live(generated_names: set[str], own: set[str], *, whole: bool) -> bool:
    """Whether the evaluated result matches the live Applications; a set may keep Applications that it no longer generates."""
    return (whole and own <= generated_names) or (
        generated_names <= own and bool(generated_names or not own or not whole)
    )


def _other_names(generated_names: set[str], own: set[str], *, whole: bool) -> str:
    lacking = own - generated_names if whole else set()
    one = min(lacking or generated_names - own)
    which = "owns" if lacking else "should have made"
    return f"its generators, as they are understood here, do not account for {plain(one)}, which it {which}"


def _record_deleted(found: GeneratedChange, fleet: Fleet, raw: Object, controller: Callable[[], Controller]) -> None:
    """Record the Applications deleted with their set.

    Kubernetes does so whatever the set's policy; a set with a finalizer may remove its owner references first.

    docs/operator-manual/applicationset/Controlling-Resource-Modification.md.
    """
    if "Prune=false" in comma_list(annotations_of(raw).get(SYNC_OPTIONS)):
        found.notes.append(f"{_set_name(raw)} leaves the manifests and stays (Prune=false)")
        return
    holds = _FINALIZER in items(raw, "metadata", "finalizers")
    surely = not holds or (controller().policy is not None and controller().deletes(raw))
    for app in owned_applications(fleet, raw):
        found.gone[app.ref] = DeletingSet(_set_name(raw), removed=True, is_certain=surely)


_FINALIZER = "resources-finalizer.argocd.argoproj.io"


def _record_new_set(found: GeneratedChange, fleet: Fleet, raw: Object, read: Trees | None) -> None:
    try:
        for one in generated(
            mapping(raw, "spec"), set_namespace(fleet, raw), fleet, read.after if read is not None else None
        ).values():
            _record_new(found, fleet, raw, one)
    except NotEvaluatedError as error:
        found.failures.append(_unknown_failure(raw, str(error)))


def _record_new(found: GeneratedChange, fleet: Fleet, raw: Object, one: Generated) -> None:
    namespace = set_namespace(fleet, raw)
    existing = fleet.app(one.name, namespace)
    if existing is not None:
        found.failures.append(
            _unknown_failure(raw, f"it gives {plain(one.name)}, which runs and which it does not own")
        )
    elif one.draft is not None:
        found.new.append(one.draft)
        found.notes.append(f"{namespace}/{plain(one.name)}: judged without the templatePatch of {_set_name(raw)}")
    elif one.manifest is None:
        found.unknown.append(({"metadata": {"name": one.name, "namespace": namespace}, "spec": {}}, _set_name(raw)))
    else:
        found.new.append(one.manifest)


def _unknown_failure(raw: Object, why: str) -> Failure:
    error = f"{_set_name(raw)}: the Applications that it generates are not known before the merge: {why}"
    return Failure("not judged", error, "--allow-incomplete passes it here")


def _reads_change(spec: Object, read: Trees) -> bool:
    for git in _git_generators(spec):
        if not _is_of(read.before.repo, git):
            continue
        if any(True for _ in _changed_files_read(git, read.changed)):
            return True
        wanted = [path for path in map(_path, items(git, "directories")) if path]
        for folder in read.moved:
            if any(_may_fit(path, folder) for path in wanted):
                return True
    return False


def _may_fit(path: str, folder: str) -> bool:
    level = folder.count("/") == path.count("/") or "**" in path
    return level and (fnmatchcase(folder, path) or bool(set(path) & set("{[")))


def unseen_set_notes(fleet: Fleet, apps: Iterable[App]) -> Iterator[str]:
    """Notes on applications whose ApplicationSets the account cannot see."""
    known = {
        (text_at(m, "metadata", "namespace") or fleet.control_plane, text_at(m, "metadata", "name"))
        for m in fleet.application_sets
    }
    refs = [
        str(app.ref)
        for app in apps
        for owner in maps(app.brief, "metadata", "ownerReferences")
        if owner.get("kind") == "ApplicationSet" and (app.ref.namespace, text_at(owner, "name")) not in known
    ]
    if refs:
        yield f"{enumerated(refs, limit=5)}: made by an ApplicationSet that the account does not see; what it reads of the repository is not known"


def _set_name(made: Object) -> str:
    return plain(f"ApplicationSet {text_at(made, 'metadata', 'namespace')}/{text_at(made, 'metadata', 'name')}")


def _is_of(repo: str, git: Object) -> bool:
    """True if a generator reads the repository, or may: a URL from another generator is not known here."""
    url = text_at(git, "repoURL")
    return may_be_repository(repo, url) or bool(repo and "{{" in url)


def _git_generators(spec: Object) -> Iterator[Object]:
    return (git for _, generator, _ in generators(spec) if (git := mapping(generator, "git")))


def _changed_files_read(git: Object, changed: Sequence[str]) -> Iterator[str]:
    for one in items(git, "files"):
        path = _path(one)
        if path.startswith("!") or not path:
            continue
        for file in covered_files({before_pattern(path.replace("{", "*"))}, changed):
            if fnmatchcase(file, path.replace("**/", "*")) or set(path) & set("{["):
                yield file


def _path(one: Any) -> str:
    return text_at(one, "path").lstrip("/") if isinstance(one, dict) and not one.get("exclude") else ""
