"""A knowledge pack: newer knowledge files in one JSON file, for an unchanged argolint.

It contains only data. It may replace argolint's files, and add files to folders with one file per chart or kind of message. Its data must
have the shape of the replaced data, and no pattern in it may nest repetitions. A pack that is altered, truncated or of a newer form is
refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]  # the parser of `re` knows its own syntax best
from typing import Any

import msgspec

from argolint.errors import UsageError
from argolint.host.folder import named_bytes, readable
from argolint.values import knowledge
from argolint.values.decoding import converted, json_value
from argolint.values.knowledge import About

SCHEMA = 1
"""The form of a pack. A pack of another form is for another argolint."""
MAX_BYTES = 32 << 20
MAX_FILES = 5000
PACKAGES = ("argolint", "argolint_rules")
_GROWING = ("/chart_data/", ".messages/")
"""Folders that are read as a whole, to which a pack may add files."""
_AGAIN = "get it again from where it was published, or run without --knowledge"


class _Pack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    argolint_knowledge: int
    version: str
    date: str
    sha256: str
    files: dict[str, Any]


@cache
def own_files() -> Mapping[str, Any]:
    """Every knowledge file of argolint: `package/name` to data."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        for place, file in _below(files(package), package):
            found[place] = knowledge.parse(file.read_bytes())
    return found


def _below(folder: Traversable, package: str) -> Iterator[tuple[str, Traversable]]:
    """File names as rules use them: a folder with modules is a package of its own, other folders belong to the package above."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in ("__pycache__", "snapshots"):
            if entry.joinpath("__init__.py").is_file():
                yield from _below(entry, f"{package}.{entry.name}")
            else:
                yield from (
                    (f"{package}/{entry.name}/{f.name}", f) for f in entry.iterdir() if f.name.endswith(".yaml")
                )
        elif entry.name.endswith(".yaml"):
            yield f"{package}/{entry.name}", entry


def pack(version: str, day: str, data: Mapping[str, Any]) -> bytes:
    """The file of a pack. Raises TypeError for types that JSON does not have, such as a date without quotes."""
    about = {"argolint_knowledge": SCHEMA, "version": version, "date": day, "sha256": digest(data)}
    return msgspec.json.format(msgspec.json.encode({**about, "files": data}, order="sorted"), indent=1) + b"\n"


def digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of the pack's content, independent of formatting."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted", enc_hook=_no_more)).hexdigest()


def _no_more(value: object) -> object:
    raise TypeError(f"{value!r} is no JSON: put it in quotes")


def use(file: Path) -> About:
    """Use a pack from now on. UsageError says why it cannot be used."""
    found = read(file)
    about = About(found.version, found.date)
    knowledge.use(about, found.files)
    return about


def read(file: Path) -> _Pack:
    """The pack, validated."""
    with readable(f"the knowledge pack {file}", _AGAIN):
        text = named_bytes(file, MAX_BYTES)
    try:
        head = json_value(text)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{file} is no knowledge pack, or a part of one: {error}", _AGAIN) from None
    form = head.get("argolint_knowledge") if isinstance(head, Mapping) else None
    if not isinstance(form, int):
        raise UsageError(f"{file} is no knowledge pack: it does not say argolint_knowledge", _AGAIN)
    if form != SCHEMA:
        raise UsageError(
            f"{file} is a knowledge pack of form {form}, and this argolint reads form {SCHEMA}", "upgrade argolint"
        )
    try:
        found = converted(head, _Pack)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file} is a damaged knowledge pack: {error}", _AGAIN) from None
    _require_whole(found, file)
    own = own_files()
    for place, data in found.files.items():
        for problem in _problems(place, data, own):
            raise UsageError(
                f"{file}, {place}: {problem}", "inform its author; run without --knowledge until it is corrected"
            )
    return found


def _require_whole(found: _Pack, file: Path) -> None:
    if digest(found.files) != found.sha256:
        raise UsageError(f"{file} was altered or damaged: its contents do not have the sum that it names", _AGAIN)
    try:
        date.fromisoformat(found.date)
        new, own = _ordered(found.version), _ordered(knowledge.BUILT_IN.version)
    except ValueError:
        raise UsageError(f"{file} has version {found.version!r} of {found.date!r}: these are no days", _AGAIN) from None
    if new < own:
        raise UsageError(
            f"{file} has the knowledge of {found.date}, and this argolint brings that of {knowledge.BUILT_IN.date}",
            "leave out --knowledge, or take a later pack",
        )
    if not found.files or len(found.files) > MAX_FILES:
        raise UsageError(f"{file} holds {len(found.files)} files: between 1 and {MAX_FILES} are read", _AGAIN)


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _problems(place: str, data: Any, own: Mapping[str, Any]) -> Iterator[str]:
    """The reasons why a file of a pack cannot be used."""
    models = [own[place]] if place in own else _alike(place, own)
    if not models:
        yield "this argolint has no such file, and does not read it"
        return
    yield from _misfits(data, _Shape(models), "")
    known = {text for model in models for text in _texts(model)}
    for text in _texts(data):
        if text not in known and (problem := _bad_pattern(text)):
            yield problem


def _alike(place: str, own: Mapping[str, Any]) -> list[Any]:
    folder, _, name = place.rpartition("/")
    if not any(mark in f"{folder}/" for mark in _GROWING) or not re.fullmatch(r"[\w.-]+\.yaml", name):
        return []
    return [data for other, data in own.items() if other.rpartition("/")[0] == folder]


class _Shape:
    """The shape of the values at one place: their types, the keys that all or some of them have, and the shapes below."""

    def __init__(self, models: list[Any]) -> None:
        self.kinds = {_kind(model) for model in models}
        self._maps = [m for m in models if isinstance(m, Mapping)]
        self._items = [item for model in models if isinstance(model, list) for item in model]
        self.always = set.intersection(*(set(m) for m in self._maps)) if len(self._maps) > 1 else set()
        self._known: dict[str | None, _Shape | None] = {}

    def of(self, key: str | None) -> _Shape | None:
        """The shape of this key's values; of all keys if no model has it; of list items for None; None if unknown."""
        if key not in self._known:
            below = self._items if key is None else [m[key] for m in self._maps if key in m]
            if not below and key is not None:
                below = [value for m in self._maps for value in m.values()]
            self._known[key] = _Shape(below) if below else None
        return self._known[key]


def _misfits(data: Any, shape: _Shape, at: str) -> Iterator[str]:
    """Where the data differs from the shape of the replaced data: another type, or a missing key that all models have."""
    if _kind(data) not in shape.kinds:
        yield f"{at or 'the file'} is {_kind(data)}, and {' or '.join(sorted(shape.kinds))} is read there"
    elif isinstance(data, Mapping):
        if missing := sorted(map(str, shape.always - data.keys())):
            yield f"{at or 'the file'} lacks {missing[0]}"
        for key, value in data.items():
            if (below := shape.of(key)) is not None:
                yield from _misfits(value, below, f"{at}/{key}")
    elif isinstance(data, list) and (each := shape.of(None)) is not None:
        for number, item in enumerate(data):
            yield from _misfits(item, each, f"{at}/{number}")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {Mapping: "a map", list: "a list", str: "a text", int | float: "a number"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "nothing")


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            yield from (str(key), *_texts(value))
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item)


def _bad_pattern(text: str) -> str:
    """Why a pattern is not safe to search with in linear time; empty for a safe one, and for a text that is no pattern."""
    if not re.search(r"[*+}]", text):
        return ""
    try:
        parsed = parser.parse(text)
    except (re.error, OverflowError, RecursionError):
        return ""  # plain text; if a pattern is required, its compilation fails with a message
    return f"the pattern {text[:80]!r} repeats what repeats" if _nested(parsed, within=False) else ""


def _nested(items: Iterable[Any], *, within: bool) -> bool:
    for op, argument in items:
        repeats = str(op) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[1] > 10
        if repeats and within:
            return True
        if any(_nested(body, within=within or repeats) for body in _bodies(argument)):
            return True
    return False


def _bodies(argument: Any) -> Iterator[Iterable[Any]]:
    """The patterns inside a pattern, at any place in the parser's output."""
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from _bodies(part)
