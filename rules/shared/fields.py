"""Fixes for a field that a validation refuses: by the API server, or by an operator that writes InvalidSpec into a status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from argolint import Fix, Json, Object, ResourceId
from argolint.edits import removals, set_field
from argolint.edits.advice import advice
from argolint.messages import FieldError, field_errors
from argolint.redaction import excerpt
from argolint.values import dig, enumerated, get, join_pointer, mapping, schema
from argolint.values.patterns import regex

_TOPICS = {
    "Required value": "required",
    "Unsupported value": "unsupported",
    "Duplicate value": "duplicate",
    "Not found": "reference",
    "Internal error": "internal",
}

_BARE = {"Required value": "it is empty", "Internal error": "no reason is given"}
"""What a refused field says without a detail."""


def field_fixes(id_: ResourceId, manifest: Object | None, message: str) -> tuple[Fix, ...]:
    """The fixes for the first refused field in the message, with the names of the others; none if it names no field."""
    errors = field_errors(message)
    if not errors:
        return ()
    first, operations = errors[0], _label_operations(manifest, errors[0])
    topic, plain = _plain_edit(manifest, first) if len(errors) == 1 else ("", [])
    texts = [
        e.pointer for e in errors if "must be of type string" in e.detail and is_loose(get(manifest, e.pointer, None))
    ]
    if first.pointer in texts:
        topic, plain = "text", quoted(manifest, texts)
    wrong = [e.pointer for e in errors if _is_set_wrongly(e) and get(manifest, e.pointer, None) is not None]
    if len(wrong) == len(errors):
        topic, plain = "remove", [*removals(manifest, wrong)]
    facts: dict[str, Json] = {
        "object": str(id_),
        "pointer": first.pointer,
        "detail": excerpt(first.detail, 200) or _BARE.get(first.sort, first.sort),
        "others": f" (and {enumerated([e.pointer for e in errors[1:]], 'field', limit=4)})" if len(errors) > 1 else "",
        "operations": operations or plain,
        "texts": enumerated(texts, "field", limit=1),
        "spelling": spelling_caveat(plain),
        "labels": ", ".join(f"{o['path'].rpartition('/')[2]}" for o in operations),
    }
    topic = topic or _topic(first, operations)
    return advice(__package__, f"field/{topic}", facts, id_)


def _plain_edit(manifest: Object | None, error: FieldError) -> tuple[str, list[Json]]:
    """The topic and operations of a field that is forbidden, or has one right value; ("", []) where a person has to choose."""
    at, value = error.pointer, get(manifest, error.pointer, None)
    if value is None:
        return "", []
    if _is_set_wrongly(error):
        return "remove", [*removals(manifest, [at])]
    if only := _ONE_VALUE.fullmatch(error.detail):
        return "known", [{"op": "replace", "path": at, "value": int(only[1])}]
    if "must be of type integer" in error.detail and isinstance(value, str) and _WHOLE.fullmatch(value):
        return "number", [{"op": "replace", "path": at, "value": int(value)}]
    known = {one.lower(): one for one in _KNOWN_VALUES.findall(error.detail.partition("supported values: ")[2])}
    near = get_close_matches(str(value).lower(), known, 1, 0.75) if isinstance(value, str) else []
    return ("known", [{"op": "replace", "path": at, "value": known[near[0]]}]) if near else ("", [])


def is_answered(obj: Object, error: FieldError) -> bool | None:
    """Whether the object no longer has what the API server refused, by the server's own words; None where they do not say what is right."""
    value = get(obj, error.pointer, None)
    if _is_set_wrongly(error):
        return value is None
    if only := _ONE_VALUE.fullmatch(error.detail):
        return bool(value == int(only[1]))
    known = _KNOWN_VALUES.findall(error.detail.partition("supported values: ")[2])
    return value in known if known else None


def _is_set_wrongly(error: FieldError) -> bool:
    """Whether the field is right only where it is absent; so is an older form of another field that says the same, and may differ from it."""
    words = {"Forbidden": _SET_WRONGLY, "Invalid value": _SET_TWICE}.get(error.sort)
    return words is not None and words.match(error.detail) is not None


_SET_TWICE = regex(
    r"(?:can ?not|may not|must not) be (?:set|specified) (?:when|if)\b|may only be (?:set|used) (?:when|for)\b|must match `\w{1,60}` when both are"
)
_SET_WRONGLY = regex(
    r"may not be (?:used|specified|set)\b|may only be (?:set|used) (?:when|for)\b|\w{1,60} (?:in \w{1,60} )?is not Supported"
)
_WHOLE = regex(r"[0-9]{1,9}")
_ONE_VALUE = regex(r"must be ([0-9]{1,9})")
_KNOWN_VALUES = regex(r'"([^"]{1,100})"')


def is_loose(value: Json) -> bool:
    """Whether YAML took a value without quotes for something else than a text."""
    return isinstance(value, bool | int | float)


def quoted(manifest: Object | None, places: Iterable[str]) -> list[Json]:
    """Operations that write the values at these places as texts."""
    return [{"op": "replace", "path": at, "value": corrected(get(manifest, at), "string")[1]} for at in places]


def spelling_caveat(operations: Iterable[Json]) -> str:
    """The part of a caveat for values that YAML may have changed: a fraction or a boolean."""
    written = [str(dig(step, "value")) for step in operations]
    lossy = any("." in text or text in ("true", "false") for text in written)
    return "keep Git's spelling, since 1.10 without quotes arrives as 1.1 and yes as true; " if lossy else ""


def corrected(value: Json, type_: str) -> tuple[str, Json]:
    """What to do with a value, and the value as a field of this type takes it; ("", None) where that is not plain."""
    if type_ == "string" and is_loose(value):
        return "quote-at", str(value).lower() if isinstance(value, bool) else str(value)
    if type_ == "boolean" and value in ("true", "false"):
        return "unquote-at", value == "true"
    if type_ == "integer" and isinstance(value, str) and _WHOLE.fullmatch(value):
        return "unquote-at", int(value)
    return "", None


def retyped(manifest: Object | None) -> tuple[str, list[Json]]:
    """What to do with the values of a manifest that have another type than their fields, and the operations; ("", []) where one is not plain.

    Of a kind that is not known here only the marks are.
    """
    right = {fault.pointer: corrected(get(manifest, fault.pointer), fault.type) for fault in _mistyped(manifest or {})}
    topics = {topic for topic, _ in right.values()}
    if len(topics) != 1 or topics == {""}:
        return "", []
    return topics.pop(), [{"op": "replace", "path": at, "value": value} for at, (_, value) in right.items()]


def first_mistyped(manifest: Object | None) -> schema.Fault | None:
    """The first value of a manifest that has another type than its field."""
    return next((fault for fault in _mistyped(manifest or {}) if fault.type in EXPECTED), None)


EXPECTED = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "a boolean",
    "list": "a list",
    "map": "a map",
}
"""The types of `schema.Fault`, in words."""
_JSON_TYPES = {
    "str": "a string",
    "int": "a number",
    "float": "a number",
    "bool": "a boolean",
    "list": "a list",
    "dict": "a map",
}


def type_words(value: Json) -> str:
    """The JSON type of a value, in words."""
    return _JSON_TYPES[type(value).__name__]


def _mistyped(manifest: Object) -> Iterator[schema.Fault]:
    """The values of another type than their fields, or than a text in labels and annotations."""
    if schema.known(manifest):
        yield from (fault for fault in schema.faults(manifest) if fault.type and not fault.names)
        return
    for name in ("labels", "annotations"):
        for key, value in mapping(manifest, "metadata", name).items():
            if is_loose(value):
                yield schema.Fault(join_pointer("metadata", name, key), "is no string", "string")


def refused_pointer(manifest: Object | None, message: str) -> str:
    """The field of the manifest that the message refuses first, or its nearest existing parent; empty without any."""
    errors = field_errors(message)
    tokens = errors[0].pointer.split("/")[1:] if errors else []
    while tokens and get(manifest, "/" + "/".join(tokens), None) is None:
        tokens.pop()
    return "/" + "/".join(tokens) if tokens else ""


def _topic(error: FieldError, operations: list[Json]) -> str:
    if operations:
        return "selector"
    if error.sort in _TOPICS:
        return _TOPICS[error.sort]
    return "reference" if error.detail.lower().endswith("not found") and len(error.detail.split()) <= 6 else "invalid"


def _label_operations(manifest: Object | None, error: FieldError) -> list[Json]:
    """Operations that give the Pod template the labels of its own selector; none if another fault is refused."""
    if "selector" not in f"{error.path} {error.detail}" or "label" not in f"{error.path} {error.detail}":
        return []
    wanted, labels = (
        mapping(manifest, "spec", "selector", "matchLabels"),
        dig(manifest, "spec", "template", "metadata", "labels"),
    )
    missing = {k: v for k, v in wanted.items() if not isinstance(labels, dict) or labels.get(k) != v}
    if not isinstance(labels, dict):
        return [*set_field(manifest, "/spec/template/metadata/labels", missing)] if missing else []
    return [
        {
            "op": "replace" if key in labels else "add",
            "path": "/spec/template/metadata/labels" + join_pointer(key),
            "value": value,
        }
        for key, value in sorted(missing.items())
    ]
