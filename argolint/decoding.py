"""JSON into values and types: the one place that decodes with msgspec, whoever wrote the text.

msgspec publishes what it knows of a struct type before it has read all of its fields. A second thread that decodes the
same type in that moment follows a null pointer, and the process dies (src/msgspec/_core.c, StructInfo_Convert;
docs/adr/0011-types-are-complete-before-they-decode.md). Here a type is completed under a lock before anything decodes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from argolint.model import Json

T = TypeVar("T")
Text = bytes | str | msgspec.Raw

_COMPLETING = threading.Lock()
_ANY = msgspec.json.Decoder()


def decoder(kind: type[T]) -> Callable[[Text], T]:
    """A function that decodes JSON of one type, safe in any thread; it raises msgspec.MsgspecError.

    Made once, when a module is imported, it costs nothing later: `_tree = decoder(Tree)`.
    """
    with _COMPLETING:
        return msgspec.json.Decoder(kind).decode


def json_value(text: Text) -> Json:
    """Any JSON as maps, lists, texts and numbers. Raises msgspec.MsgspecError."""
    return _ANY.decode(text)


def converted(value: Any, kind: type[T]) -> T:
    """Decoded data as a type. Raises msgspec.ValidationError."""
    with _COMPLETING:
        return msgspec.convert(value, kind)
