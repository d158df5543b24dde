"""Masks findings and failures before they leave the process, whatever a rule wrote into them.

Rules print values with `show` and `excerpt`; this is a second check. It masks their texts again, and searches for the known secrets of the
objects that they name. A fix that loses a value here is no longer verified.
"""

from __future__ import annotations

import base64
import binascii
import json
import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

from argolint.model import Edit, Failure, Finding, Fix, Follows, Json, Location, Related, Source
from argolint.redaction import HIDDEN, PRINTED, Redactor, in_name, in_place, without_secrets
from argolint.values import items, mapping
from argolint.values.patterns import regex

NOT_PRINTED = f"a secret is not printed: put the value that you want in the place of {HIDDEN}"
"""Why a fix with a masked value is not verified."""

T = TypeVar("T", Finding, Fix, Follows, Location, Related, Source)
_Read = tuple[str, frozenset[str]]

Within = Callable[[Finding, Fix], Iterable[Json]]
"""The objects that a JSON patch may edit: they give context for the values in it."""


_QUOTED = regex(r"[\x00-\x1f\x7f\"'\\]+")


def _spellings(value: str) -> Iterator[str]:
    """The forms of a secret: the password of `user:password`, its decoded base64, it quoted as in JSON and Python, or its largest unquoted part."""
    yield value
    yield json.dumps(value)[1:-1]
    yield repr(value)[1:-1]
    largest = max(_QUOTED.split(value), key=len)
    if len(largest) < len(value) <= 2 * len(largest) and "BEGIN " not in largest:
        yield largest.strip()
    if ":" in value:
        yield value.partition(":")[2]
    if re.fullmatch(r"[A-Za-z0-9+/]{8,}={0,2}", value) and len(value) % 4 == 0:
        try:
            yield base64.b64decode(value).decode()
        except (binascii.Error, ValueError):
            return


def _distinct(value: str) -> bool:
    """Whether a text can contain this only by quoting the secret: it is no word, name or number."""
    if not 6 <= len(value) <= 10_000 or "\n" in value:
        return False
    kinds = [bool(re.search(kind, value)) for kind in ("[0-9]", "[a-z]", "[A-Z]", r"[^\w.-]")]
    return sum(kinds) > 1 and not re.fullmatch(r"[A-Z]?[a-z]+|[\d.,:/-]+|[a-z]+(?:[-./][a-z]+)+|/[\w./-]+", value)


def secrets_of(*states: Json) -> frozenset[str]:
    """The secrets of an object's states that are distinct from ordinary words, in all their spellings.

    A value that is equal at one place in the first state and another one is read once.
    """
    finder = _Finder()
    for number, state in enumerate(states):
        finder.value(_alone(state, states[0]) if number else state)
    return frozenset(spelling for value in finder.hidden for spelling in _spellings(value) if _distinct(spelling))


def _alone(state: Json, first: Json) -> Json:
    """The state without the maps and lists that are equal in the first one.

    Their keys stay, and lists that differ stay whole: a sibling may name a value.
    """
    if not (isinstance(state, dict) and isinstance(first, dict)):
        return state
    return {
        key: child
        if not isinstance(child, (dict, list)) or key in _SAYS_MORE
        else None
        if child == (other := first.get(key))
        else _alone(child, other)
        for key, child in state.items()
    }


_SAYS_MORE = ("command",)
"""Lists that explain their siblings: `args` depends on it."""


def _values_of_schema(schema: Json) -> Iterator[dict[str, Json]]:
    """The values in a CRD's schema, each below its field name: everything else in a schema is names, types and descriptions.

    Fields without a value, which are nearly all, come in one map.
    """
    fields = {name: field for name, field in mapping(schema, "properties").items() if isinstance(field, dict)}
    yield dict.fromkeys(fields)
    for name, field in fields.items():
        if not _VALUED.isdisjoint(field):
            yield {name: [field.get("default"), field.get("example"), *items(field, "enum")]}
        yield from _values_of_schema(field)
    for within in ("items", "additionalProperties"):
        if isinstance(inner := mapping(schema).get(within), dict):
            yield from _values_of_schema(inner)


_VALUED = frozenset({"default", "example", "enum"})


class _Finder(Redactor):
    """Collects the secrets that it masks. The states of an object, and the objects of a fleet, share most texts: each is read once."""

    def __init__(self) -> None:
        hidden: set[str] = set()

        def noted(value: str) -> str:
            hidden.add(value)
            return HIDDEN

        self.hidden = hidden
        super().__init__(noted, remember=False)

    def _node(self, node: Json, name: str, everything: bool) -> Json:
        if name == "openAPIV3Schema" and not everything:
            for value in _values_of_schema(node):
                super()._node(value, "", everything)
            return node
        if name != "spec" or everything or not node or not isinstance(node, dict):
            return super()._node(node, name, everything)
        try:
            content = blake2b(marshal.dumps(node, 2), digest_size=16).digest()
        except ValueError:  # something that JSON cannot have, such as a date, or too deep nesting
            return super()._node(node, name, everything)
        if (hidden := _IN_SPECS.get(content)) is None:
            hidden = _IN_SPECS[content] = _Finder().read_spec(node)
            if len(_IN_SPECS) > _MOST_SPECS:
                _IN_SPECS.pop(next(iter(_IN_SPECS)), None)
        self.hidden |= hidden
        return node

    def _leaf(self, text: str, name: str, everything: bool) -> str:
        if everything or len(text) >= _SHORT:
            return super()._leaf(text, name, everything)
        if name in _IDENTITIES:
            return text
        return self._known(text, _read_leaf(text, name))

    def _found_in(self, text: str, manner: str) -> str:
        return self._known(text, (_read_short if len(text) < _SHORT else _read_long)(text, manner))

    def _key(self, key: str) -> str:
        return self._known(key, _read_key(key))

    def _known(self, text: str, read: _Read) -> str:
        found, hidden = read
        if hidden:
            self.hidden |= hidden
        return text if found == text else found

    def read_leaf(self, text: str, name: str) -> _Read:
        """The text without its secrets, and its secrets; `name`: the key above it."""
        return super()._leaf(text, name, everything=False), frozenset(self.hidden)

    def read(self, text: str, manner: str) -> _Read:
        """The text without its secrets, and its secrets."""
        return super()._found_in(text, manner), frozenset(self.hidden)

    def read_spec(self, spec: dict[str, Json]) -> frozenset[str]:
        """The secrets below a field `spec`."""
        super()._node(spec, "spec", everything=False)
        return frozenset(self.hidden)

    def read_key(self, key: str) -> _Read:
        """The map's key without its secrets, and its secrets."""
        return super()._key(key), frozenset(self.hidden)


_SHORT = 400  # characters
_IDENTITIES = frozenset({"argocd.argoproj.io/tracking-id", "uid", "creationTimestamp"})
_MOST_SPECS = 4096
_IN_SPECS: dict[bytes, frozenset[str]] = {}
"""The secrets of specs by content digest: a fleet repeats the objects and CRDs of a chart, and a live object repeats its spec in `last-applied-configuration`."""


@lru_cache(maxsize=16384)
def _read_leaf(text: str, name: str) -> _Read:
    return _Finder().read_leaf(text, name)


@lru_cache(maxsize=16384)
def _read_short(text: str, manner: str) -> _Read:
    return _Finder().read(text, manner)


@lru_cache(maxsize=512)
def _read_long(text: str, manner: str) -> _Read:
    return _Finder().read(text, manner)


@lru_cache(maxsize=4096)
def _read_key(key: str) -> _Read:
    return _Finder().read_key(key)


class Known:
    """Known secrets, for texts that do not mark them as secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        texts = sorted(set(secrets), key=lambda value: (-len(value), value))
        self._pattern = (
            re.compile(
                rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=[\s\"'\[]-[A-Za-z])|(?<=\A-[A-Za-z]))(?:{'|'.join(map(re.escape, texts))})(?![A-Za-z0-9])"
            )
            if texts
            else None
        )

    def without(self, text: str) -> str:
        """The text without these secrets, and without all recognizable ones."""
        text = without_secrets(text)
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def value(self, node: Json) -> Json:
        """The JSON value without these and other secrets in its texts."""
        if isinstance(node, str):
            return self._pattern.sub(HIDDEN, node) if self._pattern else node
        if isinstance(node, Mapping):
            return {key: self.value(child) for key, child in node.items()}
        return [self.value(child) for child in node] if isinstance(node, (list, tuple)) else node


NOTHING_KNOWN = Known()


def guarded(finding: Finding, known: Known = NOTHING_KNOWN, within: Within = lambda finding, fix: ()) -> Finding:
    """The finding with all secrets masked; the same object if there are none."""
    return _with(
        finding,
        at=_with(finding.at, pointer=in_name(finding.at.pointer)),
        related=tuple(_with(one, pointer=in_name(one.pointer)) for one in finding.related),
        message=known.without(finding.message),
        evidence=tuple(map(known.without, finding.evidence)),
        fixes=tuple(_fix(fix, known, tuple(within(finding, fix))) for fix in finding.fixes),
        follows=tuple(_with(f, title=known.without(f.title)) if f.title else f for f in finding.follows),
        source=finding.source and _source(finding.source),
        suppressed=finding.suppressed and {key: known.without(text) for key, text in finding.suppressed.items()},
    )


def _with(texts: T, **fields: Any) -> T:
    """The object with new texts; the same object if nothing changed: most texts have no secret."""
    changed = {name: value for name, value in fields.items() if getattr(texts, name) != value}
    return replace(texts, **changed) if changed else texts


def _source(source: Source) -> Source:
    """The source, masked: a token may be in the branch name or another field."""
    return _with(
        source,
        repo=in_name(source.repo),
        revision=in_name(source.revision),
        path=in_name(source.path),
        chart=in_name(source.chart),
        file=source.file and in_name(source.file),
    )


def _fix(fix: Fix, known: Known, objects: tuple[Json, ...]) -> Fix:
    content = _content(fix.edit, known, objects)
    found = _with(
        fix,
        title=known.without(fix.title),
        where=known.without(fix.where),
        caveat=known.without(fix.caveat),
        unverified=known.without(fix.unverified),
        before=tuple(map(known.without, fix.before)),
    )
    if content == fix.edit.content:
        return found
    return replace(found, edit=replace(fix.edit, content=content), verified=None, unverified=NOT_PRINTED, proof=None)


def _content(edit: Edit, known: Known, objects: tuple[Json, ...]) -> Any:
    if edit.kind == "json-patch":
        return [_operation(operation, known, objects) for operation in edit.content]
    text = str(edit.content)
    return known.value((_printed if len(text) < _REPEATED else _printed.__wrapped__)(edit.kind, text))


_REPEATED = 1000
"""Characters of an edit that is masked twice: when found, and when reported."""


@lru_cache(maxsize=4096)
def _printed(kind: str, text: str) -> str:
    return PRINTED.document(text) if kind == "yaml" else PRINTED.text(text)


def _operation(operation: Mapping[str, Json], known: Known, objects: tuple[Json, ...]) -> Mapping[str, Json]:
    """One patch operation, masked; its path gives the name of its value."""
    texts: dict[str, Json] = {name: _name_text(str(operation[name])) for name in ("path", "from") if name in operation}
    if "value" in operation:
        value = operation["value"]
        for obj in objects or (None,):
            value = in_place(value, obj, str(operation.get("path") or ""))
        texts["value"] = known.value(value)  # last: the rest of a key without its first line would not be recognized
    return {**operation, **texts} if any(operation[name] != text for name, text in texts.items()) else operation


def _name_text(text: str) -> str:
    return _printed_name(text) if len(text) < _REPEATED else _printed_name.__wrapped__(text)


@lru_cache(maxsize=4096)
def _printed_name(text: str) -> str:
    return PRINTED.text(text, named=True)


def guarded_failure(failure: Failure, known: Known = NOTHING_KNOWN) -> Failure:
    """The failure with all secrets in its text masked."""
    return replace(failure, error=known.without(failure.error), hint=known.without(failure.hint))
