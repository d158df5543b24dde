"""Places fixes in Git checkouts: finds each one's file, combines several, and says why some cannot be placed.

choices → locate → fit (old values) → compose (with the fixes before) → new texts of files

This module writes nothing, and reads only the checkouts: `checkout.write` takes the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint.fixes.compose import composed_operations, fitted_operations, without_hollow_fields
from argolint.fixes.edits import FileEdit, edits_of, identity, moved_below
from argolint.fixes.site import Choice, Site
from argolint.fixes.spot import Spot, Unplaced
from argolint.sources.checkout import Checkout
from argolint.sources.yaml_text import EditError, Operation, documents, patch
from argolint.values import get, index_of, split_pointer


@dataclass(frozen=True)
class Outcome:
    """The outcome of a choice: the files that it changes, or why it was left (`why`) and what to do (`todo`).

    `refused`: its place in the file does not accept it; or the files should have its place, and do not.
    """

    choice: Choice
    files: tuple[tuple[Checkout, str], ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""
    todo: str = ""
    refused: bool = False


@dataclass(frozen=True)
class Arranged:
    """The outcomes in the choices' order, and the new text of each changed file."""

    outcomes: tuple[Outcome, ...]
    texts: Mapping[tuple[Checkout, str], str]


def arrange(choices: Sequence[Choice], site: Site, *, dirty: bool = False) -> Arranged:
    """Place the choices one after the other; each completely or not at all. `dirty` allows files with uncommitted changes."""
    return next(iter(staged([choices], site, dirty=dirty)))


def staged(groups: Iterable[Sequence[Choice]], site: Site, *, dirty: bool = False) -> Iterator[Arranged]:
    """Place the choices in several steps: the outcomes of each step, and the texts after it."""
    placer = _Placer(site, dirty)
    for choices in groups:
        yield Arranged(tuple(placer.place(choice) for choice in choices), placer.texts)


class _Placer:
    """The current texts after the fixes so far, and their operations on each document."""

    def __init__(self, site: Site, dirty: bool) -> None:
        self.site, self.dirty = site, dirty
        self.texts: dict[tuple[Checkout, str], str] = {}
        self._done: dict[tuple[Checkout, str, int], list[tuple[Operation, str]]] = {}

    def place(self, choice: Choice) -> Outcome:
        edits: tuple[FileEdit, ...] = ()
        try:
            edits = tuple(edits_of(choice, self.site))
            texts, done, notes = dict(self.texts), {k: list(v) for k, v in self._done.items()}, []
            for edit in edits:
                notes += [*edit.notes, *self._apply(edit, choice, texts, done)]
        except Unplaced as left:
            todo = left.todo + self._other_place(choice)
            return Outcome(choice, why=left.why, todo=todo, refused=bool(edits) or left.missing)
        except EditError as error:
            todo = "change it by hand" + self._other_place(choice)
            return Outcome(choice, why=str(error), todo=todo, refused=bool(edits))
        self.texts, self._done = texts, done
        files = tuple(dict.fromkeys((edit.spot.checkout, edit.spot.file) for edit in edits))
        return Outcome(choice, files, tuple(dict.fromkeys(notes)))

    def _other_place(self, choice: Choice) -> str:
        """A sentence that names the other alternatives with a place."""
        possible = []
        for number, fix in enumerate(choice.finding.fixes, 1):
            if number != choice.number:
                try:
                    found = list(edits_of(Choice(choice.finding, fix, number), self.site))
                    for edit in found:
                        list(self._apply(edit, choice, dict(self.texts), {k: list(v) for k, v in self._done.items()}))
                    possible.append(str(number))
                except (Unplaced, EditError):
                    continue
        return f" (--alternative {' or '.join(possible)} has a place)" if possible else ""

    def _apply(
        self,
        edit: FileEdit,
        choice: Choice,
        texts: dict[tuple[Checkout, str], str],
        done: dict[tuple[Checkout, str, int], list[tuple[Operation, str]]],
    ) -> Iterator[str]:
        spot = edit.spot
        where = (spot.checkout, spot.file)
        if not self.dirty and spot.checkout.is_dirty(spot.file):
            raise Unplaced(f"{spot.file} has uncommitted changes", "commit or stash them, or pass --force")
        before = spot.checkout.text(spot.file)
        text = texts.get(where, before)
        original = get(spot.checkout.documents(spot.file)[spot.index].data, spot.prefix)
        now = documents(text)[spot.index].data
        history = done.setdefault((*where, spot.index), [])
        operations = [moved_below(o, spot.prefix) for o in fitted_operations(edit.operations, original, edit.rendered)]
        steps = list(without_hollow_fields(composed_operations(operations, now, history), now))
        text = patch(text, spot.index, steps)
        if identity(get(documents(text)[spot.index].data, spot.prefix)) != identity(original):
            raise Unplaced("the edit makes another object of it", "change it by hand, with all that refers to it")
        history += [(operation, _subject(choice)) for operation in operations]
        if text != before:
            texts[where] = text
        if not steps:
            yield f"{spot.file} holds it already"
        if edit.rendered is None and any(_by_index(o["path"]) for o in operations):
            yield f"what Argo CD rendered is not known here: compare the list items of {spot.file} before you merge"


def spots(choice: Choice, site: Site) -> Iterator[tuple[Spot, str]]:
    """The places that a fix edits, as pointers into documents; none for a fix without a place. Placeholders are allowed."""
    try:
        for edit in edits_of(choice, site, blanks=True):
            for operation in edit.operations[:1]:
                yield edit.spot, edit.spot.prefix + operation["path"]
    except (Unplaced, EditError):
        return


def _subject(choice: Choice) -> str:
    return f"{choice.finding.rule} ({choice.fix.title})"


def _by_index(path: str) -> bool:
    return any(index_of(token) is not None for token in split_pointer(path))
