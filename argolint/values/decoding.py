"""Decodes JSON into values and types, as the only module that uses msgspec for it; the texts may be hostile.

msgspec publishes a struct type's information before it has read all of its fields. A second thread that decodes the same type at that time
follows a null pointer, and the process crashes (src/msgspec/_core.c, StructInfo_Convert;
docs/adr/0015-types-are-complete-before-they-decode.md). Here a type is completed under a lock before anything decodes it.

Every fault of a text raises msgspec.MsgspecError; msgspec itself raises two more kinds.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from argolint.model import Json
from argolint.values.patterns import regex

T = TypeVar("T")
Text = bytes | str


class TooDeepError(msgspec.DecodeError):
    """A value is nested more deeply than any real one."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {MAX_DEPTH} levels deep")


class TooLargeError(msgspec.DecodeError):
    """A text is larger than any object in a cluster."""

    def __init__(self, size: int) -> None:
        super().__init__(f"it has {size / 1e6:.0f} MB, and etcd keeps no object of more than {MAX_OBJECT / 1e6:.0f} MB")


MAX_OBJECT = 10 << 20
"""Most bytes. etcd allows 1.5 MiB by default, and warns about a larger limit than this (server/etcdserver/server.go, recommendedMaxRequestBytes)."""
MAX_DEPTH = 128
"""Most levels of maps and lists in a value. Real objects have at most 30; rules and libraries use up to four recursive calls per level, and Python allows a thousand."""

_COMPLETING = threading.Lock()
_ANY = msgspec.json.Decoder()


def decoder(kind: type[T]) -> Callable[[Text], T]:
    """A function that decodes JSON of one type, safe in any thread; it raises msgspec.MsgspecError.

    Create it at import, so that later calls cost nothing extra: `_tree = decoder(Tree)`.
    """
    with _COMPLETING:
        decode = msgspec.json.Decoder(kind).decode
    return lambda text: _decoded(decode, text)


def json_value(text: Text) -> Json:
    """Any JSON as maps, lists, texts and numbers. Raises msgspec.MsgspecError, also if it is nested too deeply."""
    value = _decoded(_ANY.decode, text)
    if _may_be_deeper(text) and _is_deeper(value, MAX_DEPTH):
        raise TooDeepError
    return value


def require_shallow(value: Json) -> None:
    """Raise TooDeepError for a part of a decoded type that is nested more deeply than `json_value` allows; a few levels around it are free."""
    if _is_deeper(value, MAX_DEPTH + 10):
        raise TooDeepError


def is_shallow(text: bytes) -> bool:
    """A cheap test without decoding: True if `json_value` accepts the text at any place of an object."""
    return not _may_be_deeper(text, MAX_DEPTH - 8)


def object_value(text: Text) -> Json:
    """The value of a cluster object's JSON. Raises msgspec.MsgspecError, also if no object could be so large."""
    if len(text) > MAX_OBJECT:
        raise TooLargeError(len(text))
    return json_value(text)


def _may_be_deeper(text: Text, levels: int = MAX_DEPTH) -> bool:
    """A cheap test: each level of the deepest value opens before it and closes after it.

    So the first half of the text opens enough brackets, or the second half closes enough. All but the innermost are not empty. Quotes
    are kept, so that brackets with a text in between are no empty pair.
    """
    marks = (text if isinstance(text, bytes) else text.encode()).translate(None, _UNMARKED)
    half = len(marks) // 2
    opened = sum(marks.count(sign, 0, half) for sign in (b"{", b"["))
    closed = sum(marks.count(sign, half) for sign in (b"}", b"]"))
    if max(opened, closed) <= levels:
        return False
    opened -= sum(marks.count(pair, 0, half) for pair in _EMPTY)
    closed -= sum(marks.count(pair, half) for pair in _EMPTY)
    return max(opened, closed) >= levels


_EMPTY = (b"{}", b"[]")
_UNMARKED = bytes(set(range(256)) - set(b'"{}[]'))


def converted(value: Any, kind: type[T]) -> T:
    """Decoded data as a type. Raises msgspec.ValidationError."""
    with _COMPLETING:
        return msgspec.convert(value, kind)


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a type. Its descriptions have no indentation of a docstring; msgspec itself removes that since 0.23."""
    made = msgspec.json.schema(kind)
    for definition in made["$defs"].values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return made


def kind_of(value: Json) -> str:
    """The type of a JSON value for a message: `a list`, `null`."""
    names = {type(None): "null", bool: "a boolean", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def items_apart(text: bytes) -> list[bytes]:
    """The entries of `{"items": [...]}`, each as its own text, however deeply one of them is nested.

    For a list that msgspec rejects as a whole because one entry is too deep. Other JSON has no entries.
    """
    found: list[bytes] = []
    depth, start, name = 0, -1, b""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in b"[{":
            depth += 1
            if depth == 2 and sign == b"[" and name == b'"items"':
                start = token.end()
        elif start >= 0 and depth == 2 and sign in b",]":
            found.append(text[start : token.start()])
            start = token.end()
            if sign == b"]":
                return found if any(entry.strip() for entry in found) else []
        elif sign in b"]}":
            depth -= 1
        elif depth == 1:
            name = sign if sign != b"," else b""
    return []


_TOKEN = regex(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},]')


def _decoded(decode: Callable[[Text], T], text: Text) -> T:
    try:
        return decode(text)
    except RecursionError:
        raise TooDeepError from None
    except (UnicodeError, msgspec.DecodeError) as error:
        if isinstance(error, UnicodeError) or "Invalid UTF-8" in str(error):  # since msgspec 0.23 a DecodeError
            raise msgspec.DecodeError("it holds bytes that are not UTF-8") from None
        raise


def _is_deeper(value: Json, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
