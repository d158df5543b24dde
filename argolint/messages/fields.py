"""Parses the object that a message is about, and the fields that a validation refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint.values import join_pointer
from argolint.values.patterns import regex


@dataclass(frozen=True, slots=True)
class Named:
    """The object that a message names; missing parts are empty. `group` is None if the message does not name it."""

    kind: str
    name: str
    namespace: str = ""
    group: str | None = None


_INVALID = regex(
    r'\b([A-Z]\w{0,100})(?:\.([\w.-]{1,200}))? "([^"\s]{1,253})" (?:is|was) (?:invalid|forbidden|not found)'
)
_DRY_RUN = regex(r"for resource ([A-Z]\w{0,100})/([^\s:]{1,253})")
_TYPED = regex(
    r"\((?:([^/;()\s]{1,253})/)?([^/;()\s]{1,253}); (?:([^,()/\s]{1,253})/)?[^,()/\s]{1,100}, Kind=(\w{1,100})\)"
)


def named(message: str) -> Named | None:
    """The object that the message is about, in the formats of the API server and the diff."""
    if found := _TYPED.search(message):
        return Named(found[4], found[2], found[1] or "", found[3] or "")
    if found := _INVALID.search(message):
        return Named(found[1], found[3], "", found[2] or "")
    if found := _DRY_RUN.search(message):
        return Named(found[1], found[2])
    return None


@dataclass(frozen=True, slots=True)
class FieldError:
    """A refused field: its path as written (`spec.containers[0].image`), as a pointer, the type of error and the rest."""

    path: str
    pointer: str
    sort: str
    detail: str


# k8s.io/apimachinery pkg/util/validation/field, ErrorType.String. `Reason: Not found` of a condition has the same form without a path.
_FIELD = regex(
    r"(?<![\w.\]])(?!(?:[A-Z]\w{0,100}|error|reason|message|response): )([a-zA-Z][\w-]{0,100}(?:\.[\w/-]{1,100}|\[[^\[\]]{0,200}\]){0,30}): "
    r"(?!Internal error occurred)(?:((?:Required|Duplicate|Invalid|Unsupported) value|Internal error)(?::\s|(?=[,\]\s])|$)"
    r"|(Not found|Forbidden|Too long|Too many|Too few)(?::\s|(?=[,\]\n])|$))"
)
# k8s.io/kube-openapi pkg/util/proto/validation, which kubectl runs before a request
_UNSENT = regex(r'ValidationError\(\w{1,100}\.?([\w.\[\]-]{0,500})\): missing required field "([^"]{1,200})" in ')
_STEP = regex(r"\[([^\[\]]*)\]|([^.\[\]]+)")
_MARK = regex(r"(?:([\w.\[\]-]{0,500}\bmetadata)\.)?(annotations|labels)\.([\w./-]{1,317})")
_VALUE = regex(r'^(?:"(?:[^"\\]|\\.)*+"|map\[[^\n]{0,2000}?\](?:\{[^{}]*+\})?|\S{1,2000}):\s')
_ALONE = regex(r'"(?:[^"\\]|\\.)*+"')
"""A value without a reason."""

_RETRIED = regex(r"\(retried \d{1,9} times\)\.?")


def field_errors(message: str) -> tuple[FieldError, ...]:
    """The fields that a validation refuses, in the format of Kubernetes and most operators; empty without any."""
    return tuple(_fields(message)) or tuple(
        FieldError(path, join_pointer(*_tokens(path)), "Required value", "its schema asks for it")
        for path in (f"{above}.{name}".lstrip(".") for above, name in _UNSENT.findall(message))
    )


def _tokens(path: str) -> list[str]:
    """The steps of the path. A key of labels or annotations is one step, though it has dots; some checks leave out the `metadata` before them."""
    if found := _MARK.fullmatch(path):
        return [*_tokens(found[1] or "metadata"), found[2], found[3]]
    return [key if key else name for key, name in _STEP.findall(path)]


def _fields(message: str) -> Iterator[FieldError]:
    found = list(_FIELD.finditer(message))
    for place, one in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(message)
        sort = one[2] or one[3]
        rest = _without_list_end(_RETRIED.sub("", message[one.end() : end]))
        detail = _VALUE.sub("", rest, count=1) if sort in ("Invalid value", "Unsupported value") else rest
        detail = f"{sort}: {detail}" if sort == "Invalid value" and _ALONE.fullmatch(detail) else detail
        yield FieldError(one[1], join_pointer(*_tokens(one[1])), sort, detail)


def _without_list_end(text: str) -> str:
    """The text without what ends a list of errors: a bracket that the text itself has opened stays."""
    bare = text.strip(" \n,.")
    while bare.endswith("]") and bare.count("]") > bare.count("["):
        bare = bare[:-1].rstrip(" \n,.")
    return bare
