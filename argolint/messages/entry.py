"""One entry of a catalogue: the meaning of a sentence of Argo CD, Kubernetes or an operator, and how to recognize it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Template
from typing import Any, Literal

import msgspec

from argolint.errors import ArgolintError
from argolint.values import knowledge
from argolint.values.decoding import converted

Knows = Literal["cause", "sort", "stage"]
"""How much an entry explains: the cause, the kind of fault in words that many programs share, or only where it occurred."""

_OF_COMPARISON = ("target-state", "live-state", "server-side-diff", "structured-merge", "three-way", "comparison")
"""A ComparisonError: while rendering, while reading the cluster, in one of the three comparisons, or anywhere."""
_OF_APPLICATION = ("sync", "spec", "generate", "hydrate")
"""An operation, an InvalidSpecError, an ApplicationSet, a source hydrator."""
_OF_OBJECT = ("health", "pod", "scheduling", "image", "volume")
"""What an object says of itself, what the kubelet says, what the scheduler says, why no image comes, why no volume comes."""
_OF_EXTERNAL_SECRETS = ("provider", "store", "update", "push")
"""Asking the provider, what a store says of itself, writing the Secret, pushing to the provider."""
STAGES = frozenset((*_OF_COMPARISON, *_OF_APPLICATION, *_OF_OBJECT, *_OF_EXTERNAL_SECRETS))
"""The possible origins of a sentence."""


class CatalogueError(ArgolintError):
    """A file of messages cannot be used; the text says which, where and why."""


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an entry applies; by default everywhere. `kinds` and `groups`: of the object that reports the message."""

    stage: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()

    def holds(self, stages: frozenset[str], kind: str, group: str, provider: str) -> bool:
        return (
            (not stages or not self.stage or not stages.isdisjoint(self.stage))
            and (not self.kinds or kind in self.kinds)
            and (not self.groups or group in self.groups)
            and (not self.providers or not provider or provider in self.providers)
        )


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern without a readable literal, and a literal that every match contains."""

    match: str
    has: str


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as seen, with names changed; `kind`: of the object that reported it; `source`: its source, if the file's head names too many."""

    text: str
    source: str = ""
    kind: str = ""
    stage: str = ""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The knowledge on a message.

    id          `<topic>/<name>`, once in a catalogue
    rule        the rule that answers it; `cause` is one of that rule's
    match       case-insensitive regular expressions; named groups extract facts
    says        a clause that says what is wrong, with `$fact`s
    topic       the topic of its advice; by default `name`, the end of the id
    fixes       advice of its own, in the form of an advice table
    needs       facts on the objects that must be true, `-name` for false; otherwise the entry does not apply
    before      ids of less specific entries that may match, too
    since, until  the first release with the wording, and the first without it; for people
    passes      a retry may succeed without a change
    terminal    the controller does not retry
    place       only for scheduling: the position of the message in the scheduler's filters
    """

    id: str
    match: tuple[str | Words, ...]
    rule: str = ""
    cause: str = ""
    topic: str = ""
    says: str = ""
    when: When = When()
    knows: Knows = "cause"
    seen: tuple[Seen, ...] = ()
    fixes: tuple[dict[str, Any], ...] = ()
    needs: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    passes: bool = False
    terminal: bool = False
    place: int = 0

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]

    @property
    def advice(self) -> str:
        """The topic of advice."""
        return self.topic or self.name

    def sentence(self, facts: Mapping[str, str]) -> str:
        """`says` with its facts."""
        return Template(self.says).safe_substitute(facts)

    def holds(self, facts: Mapping[str, object]) -> bool:
        """Whether the facts meet the entry's needs; a missing fact does not count as true."""
        return all(bool(facts.get(name.removeprefix("-"))) is not name.startswith("-") for name in self.needs)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: tuple[dict[str, Any], ...]
    defaults: dict[str, Any] = {}


def entries_of(package: str) -> Iterator[tuple[str, Entry]]:
    """(file, entry) of all `*.yaml` of a package. Raises CatalogueError."""
    for name in knowledge.names(package):
        yield from _read(f"{package}/{name}", knowledge.read(package, name))


def _read(place: str, data: Any) -> Iterator[tuple[str, Entry]]:
    try:
        held = converted(data, _File)
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{place}: {error}", "see docs/messages.md for the form of an entry") from None
    for raw in held.entries:
        when = {**held.defaults.get("when", {}), **raw.get("when", {})}
        try:
            entry = converted({**held.defaults, **raw, "when": when}, Entry)
        except msgspec.ValidationError as error:
            raise CatalogueError(f"{place}, entry {raw.get('id', '?')}: {error}", "see docs/messages.md") from None
        if unknown := sorted(entry.when.stage - STAGES):
            raise CatalogueError(
                f"{place}, entry {entry.id}: no stage is called {unknown[0]}", f"use one of {', '.join(sorted(STAGES))}"
            )
        yield place, entry
