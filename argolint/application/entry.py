"""An Application in the list. Parts that only checks of a single application need are decoded on demand.

Half of a list describes the last sync and the writers of fields: a check of one application of ten thousand needs the former for a handful
of them, and the latter never.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from argolint.application.resource import Row, listed_row, listed_rows
from argolint.errors import UnreadableStateError
from argolint.model import Object
from argolint.values import mapping, maps, text_at
from argolint.values.decoding import MAX_OBJECT, decoder, is_shallow, json_value

_LEFT_OUT = {"metadata": "managedFields", "status": "resources"}
"""No rule uses the writers of an Application's fields, and its objects are rows (`argolint.application.resource`)."""
_LATER = ("operationState", "history")
_parts = decoder(dict[str, msgspec.Raw])
_any = decoder(Any)
_NOTHING: Mapping[str, bytes] = {}


class Entry:
    """One Application of the list, decoded as far as it was needed.

    `raw`: the whole Application; `brief`: the same, possibly without `status.operationState` and `status.history`.
    """

    __slots__ = ("_later", "_rows", "brief")

    def __init__(
        self, brief: Object, later: Mapping[str, bytes] = _NOTHING, rows: tuple[Row, ...] | None = None
    ) -> None:
        """`later`: the texts of the missing status fields; `rows`: its objects, where `status.resources` is missing, too."""
        self.brief = brief
        self._later = later
        self._rows = rows

    @property
    def rows(self) -> tuple[Row, ...]:
        """The objects of an entry as the list has it."""
        return tuple(map(listed_row, maps(self.brief, "status", "resources"))) if self._rows is None else self._rows

    @property
    def raw(self) -> Object:
        """Raises UnreadableStateError for a number out of range: all other faults show when the list is read."""
        later = self._later  # before `brief`: another thread may decode it meanwhile
        if later:
            try:
                decoded = {name: _any(text) for name, text in later.items()}
            except msgspec.MsgspecError as error:
                problem = (
                    f"the server's list entry of {text_at(self.brief, 'metadata', 'name')} cannot be decoded: {error}"
                )
                raise UnreadableStateError(problem, "a proxy may be altering responses") from None
            self.brief = {**self.brief, "status": {**mapping(self.brief, "status"), **decoded}}
            self._later = _NOTHING
        return self.brief

    def apart(self) -> Entry:
        """A copy: data that it decodes is freed with it."""
        return Entry(self.brief, self._later)

    def trimmed(self) -> Entry:
        """A copy without unused fields, and without the objects."""
        if self._rows is not None:
            return self.apart()
        kept = {
            part: {k: v for k, v in mapping(self.brief, part).items() if k != name} for part, name in _LEFT_OUT.items()
        }
        return Entry({**self.brief, **kept}, self._later)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]  # equal by content, which may be decoded later


def entry_of(text: bytes) -> Entry | None:
    """The Application in a text; None if only decoding it as a whole shows its fault."""
    if len(text) > MAX_OBJECT:
        return None
    try:
        if not text.isascii():
            text.decode()
        top = _parts(text)
        of_parts = {"metadata": _parts(top["metadata"]), "status": _parts(top["status"])}
        of_parts["metadata"].pop("managedFields", None)
        status = of_parts["status"]
        rows = listed_rows(bytes(status.pop("resources", b"null")))
        later = {name: bytes(status.pop(name)) for name in _LATER if name in status and is_shallow(bytes(status[name]))}
        written: list[bytes | msgspec.Raw] = []
        for name, part in top.items():
            written += (b"," if written else b"{", msgspec.json.encode(name), b":")
            if name in of_parts:
                _append_object(of_parts[name], written)
            else:
                written.append(part)
        written.append(b"}")
        return Entry(json_value(b"".join(written)), later, rows)
    except (msgspec.MsgspecError, UnicodeError, KeyError):
        return None


def _append_object(fields: Mapping[str, msgspec.Raw], written: list[bytes | msgspec.Raw]) -> None:
    opening = b"{"
    for name, text in fields.items():
        written += (opening, msgspec.json.encode(name), b":", text)
        opening = b","
    written.append(b"}" if fields else b"{}")
