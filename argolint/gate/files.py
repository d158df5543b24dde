"""The Application files that a user or pre-commit names: their manifests before and after the change, and what cannot be judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from argolint.errors import UsageError
from argolint.gate.change import Written
from argolint.gate.declared import declared, flat, is_application, is_other, may_declare
from argolint.gate.written import Placed, paired
from argolint.host.folder import readable
from argolint.model import Failure, Object
from argolint.sources.checkout import Named
from argolint.sources.files import own_path, read_text
from argolint.sources.git import MAX_TEXT_BYTES, Git, has_repository
from argolint.values import dig, plain
from argolint.values.manifests import ManifestError, NoYamlError, documents, objects, stream


@dataclass(frozen=True)
class Files:
    """The manifests before and after the change; names of `projects` that the files add; and the files themselves, for line numbers."""

    written: Written = field(default_factory=lambda: Written(by_files=True))
    projects: frozenset[str] = frozenset()
    places: tuple[Named, ...] = ()

    @property
    def empty(self) -> bool:
        """True if there is nothing to judge and no failure."""
        kept = (pair.after for pair in (*self.written.applications, *self.written.others))
        return not (any(kept) or self.written.failures)


@dataclass
class _Clone:
    git: Git | None
    urls: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)


def read(files: Sequence[Path], revision: str | None) -> Files:
    """The files' Applications. UsageError with file and line for invalid YAML.

    The state before is HEAD if a file differs from it, as under pre-commit; else `revision`, since in CI HEAD is the change.
    """
    clones: dict[Path, _Clone] = {}
    applications: list[Placed] = []
    before: list[Placed] = []
    was_others: list[Placed] = []
    others: list[Placed] = []
    projects: set[str] = set()
    unread: list[Failure] = []
    for file in files:
        root, name = _place(file)
        text = _text(file)
        clone = clones.setdefault(root, _clone(root))
        clone.texts[name] = text
        found, left = _objects(file, text)
        held = tuple(_objects_at_base(clone.git, name, text, revision))
        was = [m for m in held if is_application(m) and dig(m, "metadata", "name")]
        if left and (held or "argoproj.io/" in text or may_declare(text)):
            why = f"{plain(name)} {left}"
            unread.append(Failure("not judged", why, "judge what it renders: `argolint gate --repo URL --head REV`"))
        projects |= {str(dig(m, "metadata", "name")) for m in found if m.get("kind") == "AppProject"}
        own_applications = [m for m in found if is_application(m)]
        if any(_has_hidden_kind(m) for m in found):
            why = f"the kind of an object in {plain(name)} is no name, so it is not known what it is"
            unread.append(Failure("not judged", why, "write the kind out"))
        unread += (
            Failure("not judged", f"an Application in {plain(name)} has no metadata.name", "name it")
            for m in own_applications
            if not dig(m, "metadata", "name")
        )
        applications += ((str(file), m) for m in own_applications if dig(m, "metadata", "name"))
        before += ((str(file), m) for m in was)
        was_others += ((str(file), m) for m in held if is_other(m))
        others += ((str(file), m) for m in found if is_other(m))
    unread += _removed_failures([m for _, m in before], [m for _, m in applications])
    places = tuple(Named(root, clone.urls, given=clone.texts) for root, clone in clones.items())
    edited = tuple(p for p in paired(was_others, others) if p.after is not None and p.before != p.after)
    whole = Written(paired(before, applications), edited, failures=tuple(unread), by_files=True)
    return Files(whole, frozenset(projects), places)


def _has_hidden_kind(manifest: Object) -> bool:
    """True for a manifest of Argo CD's group, or of an unknown group, whose kind is a template or a map."""
    group = manifest.get("apiVersion")
    return not isinstance(manifest.get("kind"), str) and (
        not isinstance(group, str) or group.startswith("argoproj.io/")
    )


def _removed_failures(before: Sequence[Object], now: Sequence[Object]) -> Iterator[Failure]:
    """A failure for each Application that the named files no longer contain."""
    held = {_namespace_and_name(m) for m in now}
    for namespace, name in dict.fromkeys(_namespace_and_name(m) for m in before if _namespace_and_name(m) not in held):
        who = plain(f"{namespace}/{name}" if namespace else name)
        why = f"the files no longer hold the Application {who}, and what is deleted with it is not known here"
        yield Failure("not judged", why, "judge the whole change: `argolint gate --repo URL --head REV`")


def _namespace_and_name(manifest: Object) -> tuple[str, str]:
    return str(dig(manifest, "metadata", "namespace") or ""), str(dig(manifest, "metadata", "name"))


def _text(file: Path) -> str:
    with readable(file, "pass YAML files"):
        return read_text(file, MAX_TEXT_BYTES)


def _objects(file: Path, text: str) -> tuple[tuple[Object, ...], str]:
    """The manifests of a file, and why there may be more. UsageError with file and line for text that is neither YAML nor a template."""
    found = stream(text)
    left = ""
    for part, error in found.unread:
        if "{{" not in part:
            raise _yaml_error(file, text, error)
        is_template = isinstance(error, NoYamlError)
        left = left or (
            "is a template of Applications, which nothing has rendered" if is_template else f"cannot be read: {error}"
        )
    made = {json.dumps(m, sort_keys=True, default=str): m for m in flat(objects(found.documents))}
    return tuple(made.values()), left


def _yaml_error(file: Path, text: str, error: ManifestError) -> UsageError:
    """The error with the line in the file; the parser knows only the line in a part of it."""
    try:
        documents(text)
    except ManifestError as whole:
        error = whole
    placed = re.fullmatch(r"(.*) \(line (\d+)\)", str(error))
    where, why = (f"{file}:{placed[2]}", placed[1]) if placed else (str(file), str(error))
    return UsageError(f"{plain(where)}: no YAML that can be read: {plain(why)}", "correct the file")


def _place(file: Path) -> tuple[Path, str]:
    """The root of the file's clone, and the file's path there; outside of a clone, the path as given."""
    tree = has_repository(file.absolute().parent)
    if tree is not None:
        place = own_path(file)
        if place.is_relative_to(tree):
            return tree, place.relative_to(tree).as_posix()
    return Path(), str(file)


def _clone(root: Path) -> _Clone:
    if root == Path():
        return _Clone(None)
    git = Git(root)
    git.require()
    return _Clone(git, frozenset(git.remotes()))


def _objects_at_base(git: Git | None, name: str, text: str, revision: str | None) -> Iterator[Object]:
    """Argo CD's objects in the file at the base; none if there is no base or it cannot be read."""
    if git is None:
        return
    for base in ("HEAD", revision):
        try:
            was = git.show(base, name) if base else None
        except UsageError:  # no commit yet, or the base was not fetched
            continue
        if base == "HEAD" and was == text:
            continue
        yield from declared(was or "").objects
        return
