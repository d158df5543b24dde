"""Masks secrets in everything that is printed, stored or shared: messages, fixes, reports, the gate and snapshots.

    names       names that stand for secrets, and exceptions for their values
    forms       secrets recognized by form; `words`: by the words before them; `commands`: by a program's arguments
    documents   JSON and YAML inside a text; `lines`: other files
    random_words  random-looking words, if nothing else decides
    redactor    objects, their places, and the texts in them
    sides       several values of one place: masked in one, masked in all
    findings    a second check of all findings

A masked value is `(masked)` in printed output, and a keyed hash in a snapshot.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from argolint.model import MISSING, Json, Object
from argolint.redaction import commands, words
from argolint.redaction.masks import MASK, agrees, stand_in
from argolint.redaction.names import is_secret
from argolint.redaction.redactor import HIDDEN, Redactor, Scope, is_core_secret
from argolint.redaction.sides import alike
from argolint.values import index_of, plain, shorten, split_pointer
from argolint.values.patterns import regex

__all__ = [
    "HIDDEN",
    "PRINTED",
    "Redactor",
    "agrees",
    "excerpt",
    "in_name",
    "in_place",
    "in_places",
    "is_hidden",
    "of_secret",
    "show",
    "show_sides",
    "stand_in",
    "without_secrets",
]

PRINTED = Redactor()
"""Masks printed values: the rest of a value shows that something was there."""
_SENTENCES = Redactor(userinfo=lambda value: "")
"""Masks sentences; a URL there reads better without its user."""


def without_secrets(text: str) -> str:
    """A text that may be printed; masks of a snapshot are printed in the same way."""
    return _redacted(text) if len(text) < _REPEATED else _redacted.__wrapped__(text)


@lru_cache(maxsize=8192)
def in_name(text: str) -> str:
    """The name of a file, a branch or a field that may be printed: a random-looking name is no secret."""
    return _SENTENCES.text(text, named=True)


_REPEATED = 1000  # characters: titles, caveats and other texts of a fault repeat in many findings


@lru_cache(maxsize=8192)
def _redacted(text: str) -> str:
    if "masked-" in text:
        text = MASK.sub(HIDDEN, text)
    return _SENTENCES.text(text)


def in_place(value: Json, within: Json, pointer: str) -> Json:
    """A value that may be printed; `pointer`: its place in the object, whose other fields may name it."""
    name, everything, node = "", False, within
    command: list[Json] = []
    *above, last = split_pointer(pointer) or ("",)
    for token in above:
        child = _child(node, token)
        name, everything = _called(node, name, token, child, everything)
        command = _command(node, token)
        node = child
    if isinstance(node, list) and isinstance(value, str) and not everything:
        index = len(node) if (at := index_of(last)) is None else min(at, len(node))
        if index or command:
            before = [*command, *node[max(0, index - commands.ARGUMENTS) : index]][-commands.ARGUMENTS :]
            return PRINTED.item([*before, value], len(before), value, name)
    elif isinstance(value, list) and not everything and (command := _command(node, last)):
        return PRINTED.arguments(value, command)
    name, everything = _called(node, name, last, value, everything)
    if words.names_a_key(pointer):
        name = ""
    return PRINTED.value(value, name, everything=everything)


Side = tuple[Json, Json]
"""A value (MISSING if there is none) and its object."""


def in_places(pointer: str, *sides: Side) -> list[Json]:
    """The values at one place in several objects, for printing: a part that is masked in one is masked in all."""
    values = [value for value, _ in sides]
    printed = [value if value is MISSING else in_place(value, within, pointer) for value, within in sides]
    return alike(values, printed)


def show_sides(pointer: str, *sides: Side, limit: int = 60) -> list[str]:
    """The values at one place in several objects for a message, in the form of `show`."""
    found = in_places(pointer, *sides)
    secret = any(of_secret(within, pointer) or value == HIDDEN for value, (_, within) in zip(found, sides, strict=True))
    return [show(value, pointer, limit, secret=secret) for value in found]


def _command(node: Json, token: str) -> list[Json]:
    """The command before the arguments of a container."""
    command = node.get("command") if isinstance(node, dict) and token == "args" else None  # noqa: S105  # a part of a pointer
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else []


def _child(node: Json, token: str) -> Json:
    if isinstance(node, dict):
        return node.get(token)
    index = index_of(token)
    return node[index] if isinstance(node, list) and index is not None and index < len(node) else None


def _called(node: Json, name: str, token: str, child: Json, everything: bool) -> tuple[str, bool]:
    if isinstance(node, dict):
        called, more = Scope(node, name).of(token, child)
        return called, everything or more
    return (name, everything) if isinstance(node, list) else (token, everything)


def of_secret(obj: Json, pointer: str) -> bool:
    """Whether this place is in the data of a core Secret, which Argo CD masks."""
    return isinstance(obj, dict) and is_core_secret(obj) and split_pointer(pointer)[:1] in (("data",), ("stringData",))


def is_hidden(value: Json, within: Json, pointer: str) -> bool:
    """Whether the value must be masked as a whole."""
    return value is not MISSING and in_place(value, within, pointer) == HIDDEN


def show(value: Json, pointer: str = "", limit: int = 60, within: Object | None = None, *, secret: bool = False) -> str:
    """A value for a message: JSON without secrets, cut at `limit` characters.

    `within`: the object that has it at `pointer`; `secret`: it is a secret in any case. A reference to a secret is none.
    """
    if value is MISSING:
        return "absent"
    refers = isinstance(value, str) and not is_secret("secret", value)
    if of_secret(within, pointer) or (secret and not refers):
        return HIDDEN
    found = in_place(value, within, pointer)
    if found == HIDDEN:
        return HIDDEN
    text = plain(MASK.sub(HIDDEN, json.dumps(found, ensure_ascii=False, sort_keys=True)))
    return shorten(text, limit)


# JSON, or Go's own syntax where the API server is older than 1.32: core.PodTemplateSpec{...}, []string{...}, map[...].
_REFUSED_VALUES = (
    ("}", regex(r"Invalid value: [\w.*&()\[\]]*\{.*", re.DOTALL)),
    ("]", regex(r"Invalid value: (?:map)?\[.*", re.DOTALL)),
    ('"', regex(r"Invalid value: \"(?:[^\"\\]|\\.){40,}\"", re.DOTALL)),
)
"""Patterns of refused values, each with its end mark. The text is cut after the last of these, so a list or a map ends with the text."""


def _without_refused(text: str) -> str:
    for last, value in _REFUSED_VALUES:
        end = text.rfind(last) + 1
        text = value.sub("Invalid value: (left out)", text[:end]) + text[end:]
    return text


_READ = 1 << 18  # characters


def excerpt(text: str, limit: int = 240) -> str:
    """A server's text for a message: one line without secrets, cut at `limit` characters.

    Long values that the API server refuses and repeats are cut, too: the pointer already identifies them. Only the start of a very long
    text is read.
    """
    safe = without_secrets(_without_refused(text[:_READ]))
    line = " ".join(plain(safe).split()).rstrip(" .:")
    return shorten(line, limit)
