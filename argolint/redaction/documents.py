"""JSON and YAML inside a text: parsed, and rewritten so that only the secrets in them change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from argolint.values.decoding import json_value
from argolint.values.patterns import regex

Walk = Callable[[Any], Any]
"""Takes a decoded document and returns it with secrets masked; the same object if there are none."""

_DEEPEST = 200
_LARGEST = 1 << 18


class _Scalar(str):
    """A YAML scalar with its position in the text."""

    __slots__ = ("end", "start", "style")
    start: int
    end: int
    style: str


class _SameKey(str):
    """A key that occurs twice in one map: both values are checked."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def in_json(text: str, walk: Walk) -> str | None:
    """The text with secrets masked; None if it is no JSON object or list."""
    try:
        document = json_value(text)
        found = walk(document)
        if found is document:
            return text
        if "\n" in text and (kept := in_yaml(text, walk)) is not None:
            return kept
        made = msgspec.json.encode(found)
        return (msgspec.json.format(made, indent=2) if "\n" in text.strip() else made).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def in_sentence(text: str, walk: Walk) -> str:
    """The text with secrets in its JSON objects masked: `error when applying patch: {"data":{…}}`."""
    parts, at, start = [], 0, text.find('{"')
    for _ in range(_MOST):
        if start < 0:
            break
        try:
            document, end = _JSON.raw_decode(text, start)
            found = walk(document)
        except (ValueError, RecursionError):
            start = text.find('{"', start + 1)
            continue
        if found != document:
            parts += [text[at:start], json.dumps(found, ensure_ascii=False, separators=(",", ":"))]
            at = end
        start = text.find('{"', end)
    return "".join([*parts, text[at:]])


_JSON = json.JSONDecoder()
_MOST = 50
"""Most objects of one text that are checked; each may cost time proportional to the text's length."""


def in_yaml(text: str, walk: Walk) -> str | None:
    """The text with only secrets masked; None if it is no YAML that can be parsed safely, or has no map or list."""
    if len(text) > _LARGEST:
        return None
    spans: list[tuple[int, int, str]] = []
    for document in _documents(text):
        if document is None:
            return None
        try:
            found = walk(document)
        except RecursionError:
            return None
        spans += [
            (old.start, old.end, _written(text[old.start : old.end], old, new))
            for old, new in _changed(document, found)
        ]
    return _spliced(text, spans)


def _spliced(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(set(spans)):
        if start >= at:
            parts += [text[at:start], new]
            at = end
    return "".join([*parts, text[at:]])


def _documents(text: str) -> Iterator[Any]:
    """Each document as maps and lists of scalars with positions; None, and the end, for a text that is no YAML or no document.

    It reads events and composes no nodes: libyaml's composer overflows the C stack on deeply nested text.
    """
    import yaml  # it costs 15 ms, and most texts are no YAML

    from argolint.values.knowledge import LOADER

    stack: list[tuple[Any, Any]] = []  # a collection, and the key whose value comes next
    anchors: dict[str, Any] = {}
    try:
        for event in yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                if len(stack) >= _DEEPEST:
                    yield None
                    return
                stack.append(({} if isinstance(event, yaml.MappingStartEvent) else [], _NO_KEY))
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                node = stack.pop()[0]
            elif isinstance(event, yaml.ScalarEvent):
                node = _scalar(event)
                if event.anchor:
                    anchors[event.anchor] = node
            elif isinstance(event, yaml.AliasEvent):
                node = anchors.get(event.anchor or "")  # only of scalars: collections are checked at their definition
            else:
                continue
            if stack:
                _put(stack, node)
            elif isinstance(node, (dict, list)):
                yield node
            else:
                yield None
                return
    except (yaml.YAMLError, UnicodeEncodeError, ValueError):
        yield None


_NO_KEY = object()


def _scalar(event: Any) -> _Scalar:
    node = _Scalar(event.value)
    node.start, node.end, node.style = event.start_mark.index, event.end_mark.index, event.style or ""
    return node


def _put(stack: list[tuple[Any, Any]], node: Any) -> None:
    holder, key = stack[-1]
    if isinstance(holder, list):
        holder.append(node)
    elif key is _NO_KEY:
        if not isinstance(node, str):
            raise ValueError("a map for a key: `{{ .Values.x }}` of a template")
        stack[-1] = (holder, _SameKey(node) if node in holder else node)
    else:
        holder[key] = node
        stack[-1] = (holder, _NO_KEY)


def _changed(old: Any, new: Any) -> Iterator[tuple[_Scalar, str]]:
    """Each scalar that the walk has changed."""
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for (_, one), other in zip(old.items(), new.values(), strict=True):
            yield from _changed(one, other)
    elif isinstance(old, list) and isinstance(new, list):
        for one, other in zip(old, new, strict=True):
            yield from _changed(one, other)
    elif isinstance(old, _Scalar) and isinstance(new, str) and old != new:
        yield old, new


_PROPERTIES = regex(r"(?:[&!]\S*[ \t]+)*")
_SIMPLE = regex(r"[A-Za-z(][\w.()-]*")


def _written(raw: str, old: _Scalar, new: str) -> str:
    """The new scalar in the style of the old one; anchor and tag stay."""
    properties = _PROPERTIES.match(raw)
    lead = properties[0] if properties else ""
    if old.style in ("|", ">"):
        header, _, body = raw[len(lead) :].partition("\n")
        if old.style == "|" and new.count("\n") > 0:
            indent = next((re.match(r"[ ]*", line)[0] for line in body.split("\n") if line.strip()), "  ")  # type: ignore[index]  # it matches every line
            lines = new.split("\n")
            return lead + header + "\n" + "\n".join(indent + line if line else line for line in lines)
        return lead + _quoted(new.strip("\n")) + "\n"
    if old.style == "'":
        return lead + "'" + new.replace("'", "''") + "'" if "\n" not in new else lead + json.dumps(new)
    if old.style == '"':
        return lead + json.dumps(new, ensure_ascii=False)
    return lead + _quoted(new)


def _quoted(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
