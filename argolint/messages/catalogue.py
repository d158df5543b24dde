"""Finds the meaning of a message among the entries of one or several packages.

An index of three-character groups finds candidates: each entry has a literal that every match contains, so only a few of a thousand regular
expressions are tried. `words.json` of a package stores those literals, so that no pattern is parsed at a start; a pattern without an entry
there is parsed. If several entries match, declared relations (`before`, `knows`) decide, never the order of lines.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from argolint.messages.entry import CatalogueError, Entry, Words, entries_of
from argolint.messages.literals import SHORTEST, key_of, known_words, literals
from argolint.messages.wrapping import READ, unwrap
from argolint.values.patterns import regex

_KNOWS = {"cause": 0, "sort": 1, "stage": 2}
_NAMED = regex(r"\(\?P<(\w+)>")
_NO_FACTS: Mapping[str, object] = {}
_NONE_KNOWN: Mapping[str, frozenset[str]] = {}
_Rank = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Match:
    """The entry that matches a text, the values of its groups (empty if a group matched nothing), and their positions in the text."""

    entry: Entry
    facts: Mapping[str, str]
    text: str
    span: tuple[int, int]

    @property
    def says(self) -> str:
        """The entry's clause about this text."""
        return self.entry.sentence(self.facts)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A regular expression of an entry, and words of which every match contains one; it is compiled when one is found."""

    file: str
    entry: Entry
    text: str
    words: frozenset[str]

    @property
    def compiled(self) -> re.Pattern[str]:
        return _compiled(self.text)


@cache
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


class Catalogue:
    """Entries with an index of their words. Create it once (`Catalogue.of`)."""

    def __init__(
        self, entries: Collection[tuple[str, Entry]], known: Mapping[str, frozenset[str]] = _NONE_KNOWN
    ) -> None:
        self._places = {entry.id: file for file, entry in entries}
        if len(self._places) < len(entries):
            twice = Counter(entry.id for _, entry in entries).most_common(1)[0][0]
            raise CatalogueError(f"{self._places[twice]}: the id {twice} is there twice", "give one of them another id")
        read = {entry.id: tuple(_read(file, entry, given, known) for given in entry.match) for file, entry in entries}
        self.entries = _in_order(
            {entry.id: (entry, _rank(entry, read[entry.id])) for _, entry in entries}, self._places
        )
        self._patterns = tuple(pattern for entry in self.entries for pattern in read[entry.id])
        self._by_gram = self._indexed()
        self._find = lru_cache(maxsize=4096)(self._found)

    @classmethod
    def of(cls, *packages: str) -> Catalogue:
        """The catalogue of all `*.yaml` files of these packages. Raises CatalogueError, which says what is wrong and where."""
        known = {key: words for package in packages for key, words in known_words(package).items()}
        return cls([found for package in packages for found in entries_of(package)], known)

    def __getitem__(self, id_: str) -> Entry:
        return self._by_id[id_]

    @cached_property
    def _by_id(self) -> Mapping[str, Entry]:
        return {entry.id: entry for entry in self.entries}

    def match(
        self,
        text: str,
        *stages: str,
        kind: str = "",
        group: str = "",
        provider: str = "",
        facts: Mapping[str, object] = _NO_FACTS,
    ) -> Match | None:
        """The entry that matches this text, None if there is none.

        `stages`: those that the text may come from (none: any); `kind` and `group`: of the object that says it. `facts` are read by name if
        an entry `needs` some, so they may be a lazy mapping.
        """
        return next(self.matches(text, *stages, kind=kind, group=group, provider=provider, facts=facts), None)

    def matches(
        self,
        text: str,
        *stages: str,
        kind: str = "",
        group: str = "",
        provider: str = "",
        facts: Mapping[str, object] = _NO_FACTS,
    ) -> Iterator[Match]:
        """Every entry that matches, the most specific first."""
        found = self._find(text[:READ], frozenset(stages), kind, group, provider)
        return (match for match in found if match.entry.holds(facts))

    def names(self, rule: str) -> frozenset[str]:
        """The facts that the entries of a rule may extract from a text."""
        own = (pattern.text for pattern in self._patterns if pattern.entry.rule == rule)
        return frozenset(name for text in own for name in _NAMED.findall(text))

    def patterns(self) -> Iterator[tuple[str, str, re.Pattern[str]]]:
        """(file, id, regular expression) of all entries."""
        for pattern in self._patterns:
            yield pattern.file, pattern.entry.id, pattern.compiled

    def ties(self) -> Iterator[str]:
        """Ambiguities for an author: two entries that match one `seen` without a declared order; a `seen` that its entry does not win."""
        above = self._above
        for entry in self.entries:
            for seen in entry.seen:
                stages = (seen.stage,) if seen.stage else tuple(entry.when.stage)
                kind = seen.kind or next(iter(sorted(entry.when.kinds)), "")
                group = next(iter(sorted(entry.when.groups)), "")
                facts = {name: True for name in entry.needs if not name.startswith("-")}
                found = [m.entry for m in self.matches(seen.text, *stages, kind=kind, group=group, facts=facts)]
                if not found or found[0] is not entry:
                    yield f"{entry.id}: {found[0].id if found else 'nothing'} answers {seen.text!r}"
                    continue
                for other in found[1:]:
                    if other.knows == entry.knows and other.id not in above[entry.id] and not other.needs:
                        yield f"{entry.id} or {other.id}: both match {seen.text!r}; say which goes `before`"

    @cached_property
    def _above(self) -> Mapping[str, frozenset[str]]:
        """By id: all entries that declared relations place below it."""
        found: dict[str, frozenset[str]] = {}
        for entry in reversed(self.entries):
            found[entry.id] = frozenset(entry.before).union(*(found.get(id_, frozenset()) for id_ in entry.before))
        return found

    def _indexed(self) -> Mapping[str, list[tuple[str, int]]]:
        """By three characters: the words to search for in texts that contain these, each with its pattern's number.

        Each word uses its rarest group among begin, middle and end, so that a text has few candidates.
        """
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for number, pattern in enumerate(self._patterns):
            for word in pattern.words:
                middle = len(word) // 2 - 1
                min((found[word[at : at + SHORTEST]] for at in (0, middle, len(word) - SHORTEST)), key=len).append(
                    (word, number)
                )
        return found

    def _found(self, text: str, stages: frozenset[str], kind: str, group: str, provider: str) -> tuple[Match, ...]:
        lower = text.lower()
        picked = {
            number
            for gram in self._by_gram.keys() & set(_grams(lower))
            for word, number in self._by_gram[gram]
            if word in lower
        }
        inner = unwrap(text).innermost
        found: dict[str, Match] = {}
        for number in sorted(picked):
            pattern = self._patterns[number]
            if pattern.entry.id in found or not pattern.entry.when.holds(stages, kind, group, provider):
                continue
            hit = pattern.compiled.search(text) or (pattern.compiled.search(inner) if inner != text else None)
            if hit:
                facts = {name: value or "" for name, value in hit.groupdict().items()}
                found[pattern.entry.id] = Match(pattern.entry, facts, hit.string, hit.span())
        return tuple(found.values())


def _read(file: str, entry: Entry, given: str | Words, known: Mapping[str, frozenset[str]]) -> _Pattern:
    text = given if isinstance(given, str) else given.match
    try:
        words = (
            frozenset({given.has.lower()}) if isinstance(given, Words) else known.get(key_of(text)) or literals(text)
        )
    except re.error as error:
        raise CatalogueError(
            f"{file}, entry {entry.id}: {text!r} is no regular expression: {error}", "correct it"
        ) from None
    if min(map(len, words), default=0) < SHORTEST:
        raise CatalogueError(
            f"{file}, entry {entry.id}: no word can be read from {text!r} that all its matches hold",
            "write {match: …, has: …} with one of at least three characters",
        )
    return _Pattern(file, entry, text, words)


def _grams(text: str) -> Iterator[str]:
    return (text[place : place + SHORTEST] for place in range(len(text) - SHORTEST + 1))


def _in_order(entries: Mapping[str, tuple[Entry, _Rank]], places: Mapping[str, str]) -> tuple[Entry, ...]:
    """The most specific first, as declared; without a declaration, by the length of the shortest required word."""
    waits = dict.fromkeys(entries, 0)
    for entry, _ in entries.values():
        for other in entry.before:
            if other not in entries:
                raise CatalogueError(
                    f"{places[entry.id]}, entry {entry.id}: `before` names {other}, which is not there",
                    "correct the id",
                )
            waits[other] += 1
    ready = [(entries[id_][1], id_) for id_, above in waits.items() if not above]
    heapq.heapify(ready)
    found: list[Entry] = []
    while ready:
        entry, _ = entries[heapq.heappop(ready)[1]]
        found.append(entry)
        for other in entry.before:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (entries[other][1], other))
    if len(found) < len(entries):
        circle = next(id_ for id_, above in waits.items() if above)
        raise CatalogueError(f"{places[circle]}, entry {circle}: `before` leads in a circle", "take one of them out")
    return tuple(found)


def _rank(entry: Entry, patterns: Collection[_Pattern]) -> _Rank:
    return _KNOWS[entry.knows], -min((len(word) for pattern in patterns for word in pattern.words), default=0)
