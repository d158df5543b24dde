"""Reads foreign YAML as Kubernetes and Argo CD do, within limits.

The result is JSON data for any input: keys are texts, dates stay texts, a number beyond 64 bits is a float or a text. YAML that is too
deep, expands to too much or refers to itself is refused before it is built; an alias counts at each use.

Sources: sigs.k8s.io/yaml (YAMLToJSON) and its go-yaml v2 (resolve.go, decode.go); gitops-engine pkg/utils/kube (SplitYAML).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from argolint.model import Json, Object
from argolint.values import knowledge
from argolint.values.kubernetes import misshapen
from argolint.values.patterns import regex

MAX_LENGTH = 64_000_000
"""Most characters of one text."""
MAX_VALUES = 2_000_000
"""Most values of one text, each alias counted with all its values. The largest charts render some 300,000."""
MAX_DEPTH = 128
"""Most nested maps and lists. The schemas of custom resources have up to 60."""
_TOO_DEEP = "exceeded maximum nesting depth"
"""libyaml's error for 1,000 open brackets. Go's readers allow 10,000, so not all readers refuse the text."""


class ManifestError(ValueError):
    """A text cannot be read: what and where, on one line, without its values."""


class NoYamlError(ManifestError):
    """The text is invalid YAML. Go's readers have the same grammar (go-yaml is libyaml in Go), so they refuse it, too."""


def documents(text: str, *, for_editing: bool = False) -> tuple[Json, ...]:
    """The documents of a stream, empty ones as None. Raises ManifestError.

    For a repeated key the last value counts, and `y: 1` has the key "true". With `for_editing`, keys stay as written, and a repeated key is
    refused.
    """
    if len(text) > MAX_LENGTH:
        raise ManifestError(f"it has {len(text):,} characters, more than {MAX_LENGTH:,}")
    with _explained():
        return tuple(_Reader(text, for_editing=for_editing).documents())


@contextmanager
def _explained() -> Iterator[None]:
    """Turns libyaml's errors into ManifestError."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP:
            raise ManifestError(f"it is nested more than {MAX_DEPTH} levels deep{_place(error.problem_mark)}") from None
        kind = ManifestError if _OTHERS_READ.search(f"{error.problem} {error.context}") else NoYamlError
        raise kind(f"{error.problem or error.context}{_place(error.problem_mark)}") from None
    except (yaml.YAMLError, UnicodeError):
        raise ManifestError("it holds characters that YAML does not allow") from None


_OTHERS_READ = regex(r"\btag\b|unexpected ':'|unknown escape character")
"""Input that newer C libraries refuse and Go's readers accept: more characters in a tag, `[a:]`, and `\\'` in double quotes."""


@dataclass(frozen=True)
class Stream:
    """The readable documents of a text, and for the unreadable parts: the part and the reason."""

    documents: tuple[Json, ...]
    unread: tuple[tuple[str, ManifestError], ...] = ()


def stream(text: str) -> Stream:
    """Every document that any reader of Kubernetes may find in a text.

    kubectl and Argo CD split it at lines of `---` first, and stop at the end of a part's first document; text that begins with a brace is
    JSON, one object after the other, followed by YAML (apimachinery util/yaml, YAMLOrJSONDecoder; gitops-engine SplitYAML). So a part may
    be readable if the whole is not.
    """
    return _stream(text, _MAX_TURNS)


_MAX_TURNS = 20
"""How often a text may switch from JSON to YAML."""


def _stream(text: str, turns: int) -> Stream:
    whole = _part(text, turns)
    if not whole.unread and _BOM not in text[1:]:
        return whole
    parts = [p.removeprefix(_BOM) for p in _SEPARATOR.split(text)]
    if parts == [text]:
        return whole
    found = [_part(part, turns) for part in parts]
    return Stream(
        (*whole.documents, *(d for one in found for d in one.documents)), tuple(u for one in found for u in one.unread)
    )


_BOM = "\ufeff"
_SEPARATOR = regex(r"^---[ \t\r\f\v]*(?:#[^\n]*)?(?:\n|\Z)", re.MULTILINE)


def _part(text: str, turns: int) -> Stream:
    found: list[Json] = []
    unread: tuple[tuple[str, ManifestError], ...] = ()
    try:
        if text.lstrip(_BLANK)[:1] == "{" and (end := _take_json(text, found)):
            if not turns:
                raise ManifestError("it turns from JSON to YAML too often")
            after = _stream(text[end:], turns - 1)
            found += after.documents
            unread = after.unread
            if not unread and not _FOLDED.search(text):
                return Stream(tuple(found))
        _require_one_reading(text)
        if len(text) > MAX_LENGTH:
            raise ManifestError(f"it has {len(text):,} characters, more than {MAX_LENGTH:,}")
        with _explained():
            for document in _Reader(text, for_editing=False).documents():
                found.append(document)
    except ManifestError as error:
        return Stream(tuple(found), unread or ((text, error),))
    return Stream(tuple(found))


def _require_one_reading(text: str) -> None:
    """Refuse text that libyaml and Go's readers, which derive from an older version, both accept but read differently."""
    if _BOM in text[1:]:
        raise ManifestError("it has a byte order mark in the middle")
    if _LONG_TAG.search(text):
        raise ManifestError("it may have a tag with a comma or bracket in it, which ends there for some readers")


_LONG_TAG = regex(r"(?:^|[\s\[{,])![^\s\"'<]*[,\[\]{}]", re.MULTILINE)
_FOLDED = regex("[\x85\u2028\u2029]")
"""Line ends in YAML but not in JSON: the two read such a text differently."""
_BLANK = " \t\r\n\ufeff"


def _take_json(text: str, found: list[Json]) -> int:
    """Add the JSON objects at the beginning of a text; return their end. ManifestError for too deep nesting."""
    at, end = 0, len(text)
    try:
        while True:
            while at < end and text[at] in _BLANK:
                at += 1
            if text[at : at + 1] != "{":
                return at if found else 0
            value, at = _JSON.raw_decode(text, at)
            found.append(_whole(value))
    except RecursionError:
        raise ManifestError(f"it is nested more than {MAX_DEPTH} levels deep") from None
    except ManifestError:
        raise
    except ValueError:
        return at if found else 0


_JSON = json.JSONDecoder()


def _whole(value: Json, depth: int = 0) -> Json:
    """The value with lone surrogates replaced, as Go does."""
    if depth > MAX_DEPTH:
        raise ManifestError(f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return {_HALVES.sub("\ufffd", key): _whole(child, depth + 1) for key, child in value.items()}
    if isinstance(value, list):
        return [_whole(child, depth + 1) for child in value]
    return _HALVES.sub("\ufffd", value) if isinstance(value, str) else value


_HALVES = regex("[\ud800-\udfff]")


def scalars(text: str) -> Iterator[str]:
    """Every scalar of every document as written, and decoded base64. Raises ManifestError if some cannot be read."""
    _require_one_reading(text)
    with _explained():
        events: Any = knowledge.LOADER(text)
        while not isinstance(event := events.get_event(), yaml.StreamEndEvent | None):
            if isinstance(event, yaml.ScalarEvent):
                yield event.value
                if event.tag and not event.tag.endswith((":str", ":int", ":bool")):
                    yield str(scalar(event.value, event.tag, plain=False))


def objects(found: Iterable[Json]) -> Iterator[Object]:
    """The manifests among documents: maps with a kind.

    A map with a list of `items` is replaced by these, whatever its kind (apimachinery, Unstructured.IsList; Argo CD reposerver/repository,
    GenerateManifests).
    """
    for document in found:
        if not isinstance(document, dict) or not document.get("kind"):
            continue
        listed = document.get("items")
        if isinstance(listed, list):
            yield from (item for item in listed if isinstance(item, dict) and item.get("kind"))
        else:
            yield document


def sound_objects(text: str) -> tuple[Object, ...]:
    """The manifests of a rendered text. Raises ManifestError, also for a name that is no text."""
    found = tuple(objects(documents(text)))
    if flaw := next(filter(None, map(misshapen, found)), ""):
        raise ManifestError(f"of a manifest in it {flaw}")
    return found


def mapping_of(text: str | None) -> Object:
    """The map in a text with one document; an empty one for any other content. Raises ManifestError."""
    found = documents(text or "")
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else {}


def scalar(text: str, tag: str | None = None, *, plain: bool = True) -> Json:
    """The value of a scalar; `plain`: without quotes. Raises ManifestError if it is no JSON value."""
    kind = (tag or "").removeprefix("tag:yaml.org,2002:")
    if kind == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise ManifestError("!!binary is no base64") from None
    if kind not in ("", "null", "bool", "int", "float") or not (plain or kind):
        return text
    found = _resolved(text)
    if isinstance(found, float) and not math.isfinite(found):
        raise ManifestError("a number is infinite or none, which JSON cannot say")
    if kind and _KINDS.get(type(found)) != kind and not (kind == "float" and isinstance(found, int)):
        raise ManifestError(f"what is tagged !!{kind} is none")
    return found


_KINDS = {type(None): "null", bool: "bool", int: "int", float: "float"}
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")},
}
_NUMBER = regex(r"[-+]?[.0-9][0-9a-fA-FxXoO_.eE+-]*+")
_INTEGER = regex(r"([-+]?)(?:0[xX]([0-9a-fA-F]{1,32})|0[bB]([01]{1,80})|0[oO]?([0-7]{1,40})|(0|[1-9][0-9]{0,40}))")
_FLOAT = regex(r"[-+]?(?:\.[0-9]{1,400}|[0-9]{1,400}(?:\.[0-9]{0,400})?)(?:[eE][-+]?[0-9]{1,9})?")
_BASES = (16, 2, 8, 10)


def _resolved(text: str) -> Json:
    if text in _WORDS:
        return _WORDS[text]
    if not _NUMBER.fullmatch(text):
        return text
    digits = text.replace("_", "")
    whole = _INTEGER.fullmatch(digits)
    if whole:
        base, number = next((b, d) for b, d in zip(_BASES, whole.groups()[1:], strict=True) if d is not None)
        value = int(whole[1] + number, base)
        if -(2**63) <= value < 2**64:
            return value
    if not _FLOAT.fullmatch(digits):
        return text
    found = float(digits)
    if math.isinf(found):  # Go cannot parse it, and keeps the text
        return text
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


_MERGE = "tag:yaml.org,2002:merge"


@dataclass(slots=True)
class _Frame:
    """A list or map during reading; `start`: the number of values before it."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    start: int
    depth: int = 1
    key: str | None = None
    merging: bool = False
    merged: dict[str, Any] = field(default_factory=dict)
    untyped: set[str] = field(default_factory=set)
    """Keys that are no text, as written."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Json
    values: int
    depth: int


class _Reader:
    """Builds data from events without recursion: the C library's own trees grow on the stack, and can crash the process."""

    def __init__(self, text: str, *, for_editing: bool) -> None:
        self._events: Any = knowledge.LOADER(text)
        self._for_editing = for_editing
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        """By name; None while the anchored value is being read."""
        self._values = 0

    def documents(self) -> Iterator[Json]:
        while not isinstance(event := self._events.get_event(), yaml.StreamEndEvent | None):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._document()

    def _document(self) -> Json:
        while True:
            event = self._events.get_event()
            if isinstance(event, yaml.ScalarEvent):
                placed = self._scalar(event)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._open(event)
                continue
            elif isinstance(event, yaml.AliasEvent):
                placed = self._alias(event)
            else:
                placed = self._closed()
            if not self._frames:
                return placed.value
            self._place(placed, event)

    def _scalar(self, event: Any) -> _Anchored:
        plain = event.implicit[0]
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and isinstance(frame.value, dict) and frame.key is None
        if frame and is_key and event.value == "<<" and (plain or event.tag == _MERGE):
            frame.merging = True
            return _Anchored("<<", 1, 0)
        as_text = is_key and self._for_editing
        try:
            found = _Anchored(event.value if as_text else scalar(event.value, event.tag, plain=plain), 1, 0)
        except ManifestError as error:
            raise _refused(str(error), event) from None
        if event.anchor:
            self._anchors[event.anchor] = found
        self._count(1, event)
        return found

    def _open(self, event: Any) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise _refused(f"it is nested more than {MAX_DEPTH} levels deep", event)
        of_map = isinstance(event, yaml.MappingStartEvent)
        self._count(1, event)
        self._frames.append(_Frame({} if of_map else [], event.anchor, self._values))
        if event.anchor:
            self._anchors[event.anchor] = None

    def _closed(self) -> _Anchored:
        frame = self._frames.pop()
        value = frame.value
        if isinstance(value, dict) and frame.merged:
            value = {**frame.merged, **value}
        found = _Anchored(value, self._values - frame.start + 1, frame.depth)
        if frame.anchor:
            self._anchors[frame.anchor] = found
        return found

    def _alias(self, event: Any) -> _Anchored:
        if event.anchor not in self._anchors:
            raise _forbidden("it uses an alias that names nothing", event)
        found = self._anchors[event.anchor]
        if found is None:
            raise _forbidden("it uses an alias within what the alias names", event)
        if len(self._frames) + found.depth > MAX_DEPTH:
            raise _refused(f"it is nested more than {MAX_DEPTH} levels deep", event)
        self._count(found.values, event)
        return replace(found, value=_copied(found.value))

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise _refused(f"it expands to more than {MAX_VALUES:,} values", event)

    def _place(self, placed: _Anchored, event: Any) -> None:
        frame = self._frames[-1]
        frame.depth = max(frame.depth, placed.depth + 1)
        if isinstance(frame.value, list):
            frame.value.append(placed.value)
        elif frame.key is None:
            frame.key = self._key(placed.value, frame.value, frame.untyped, event)
        elif frame.merging:
            self._merge(frame, placed.value, event)
            frame.key, frame.merging = None, False
        else:
            frame.value[frame.key] = placed.value
            frame.key = None

    def _key(self, value: Json, present: dict[str, Any], untyped: set[str], event: Any) -> str:
        """The key in JSON's form: `1: a` and `true: b` have the keys "1" and "true". Next to `"1": c` Go's readers choose one at random."""
        if isinstance(value, list | dict):
            raise _forbidden("a key is neither text nor a number", event)
        if value is None:
            raise _refused("a key is null", event)
        key = str(value).lower() if isinstance(value, bool) else str(value)
        if key in present and (self._for_editing or key in untyped or not isinstance(value, str)):
            raise _refused(f"the key {key[:80]!r} occurs twice", event)
        if not isinstance(value, str):
            untyped.add(key)
        return key

    def _merge(self, frame: _Frame, value: Json, event: Any) -> None:
        """`<<`: the map's own keys win, then the maps of a list in order.

        In go-yaml 2, which kubectl and Argo CD use, the later of two equal keys wins; in go-yaml 3 the map's own.
        """
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in maps):
            raise _forbidden("what << merges is no map", event)
        assert isinstance(frame.value, dict)
        merged: dict[str, Any] = {}
        for one in reversed(maps):
            merged |= one
        known = (frame.value, frame.merged)
        if twice := next((k for k, v in merged.items() if any(k in held and held[k] != v for held in known)), None):
            raise _refused(
                f"<< comes after the key {twice[:80]!r}, and readers differ in which of the two counts", event
            )
        frame.merged |= merged


def _copied(value: Json) -> Json:
    """A copy of the value's lists and maps: a patch of one place must not change another."""
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    return [_copied(child) for child in value] if isinstance(value, list) else value


def _refused(why: str, event: Any) -> ManifestError:
    return ManifestError(f"{why}{_place(event.start_mark)}")


def _forbidden(why: str, event: Any) -> ManifestError:
    """An error for YAML that Go's readers refuse, too (go-yaml decode.go; sigs.k8s.io/yaml, convertToJSONableObject)."""
    return NoYamlError(f"{why}{_place(event.start_mark)}")


def _place(mark: Any) -> str:
    return f" (line {mark.line + 1})" if mark else ""
