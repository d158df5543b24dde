"""Fixes for a field that a validation refuses: by the API server, or by an operator that writes InvalidSpec into a status."""

from __future__ import annotations

from difflib import get_close_matches

from argolint import Fix, Json, Object, ResourceId
from argolint.edits import removals, set_field
from argolint.edits.advice import advice
from argolint.messages import FieldError, field_errors
from argolint.redaction import excerpt
from argolint.values import dig, get, items, join_pointer, mapping
from argolint.values.kubernetes import containers, pod_spec
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
    facts: dict[str, Json] = {
        "object": str(id_),
        "pointer": first.pointer,
        "detail": excerpt(first.detail, 200) or _BARE.get(first.sort, first.sort),
        "others": f" (and {', '.join(sorted({e.pointer for e in errors[1:5]}))})" if len(errors) > 1 else "",
        "operations": operations or plain,
        "text": _quoted_value(manifest, first),
        "labels": ", ".join(f"{o['path'].rpartition('/')[2]}" for o in operations),
    }
    topic = topic or ("text" if facts["text"] else _topic(first, operations))
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


def _quoted_value(manifest: Object | None, error: FieldError) -> str:
    """The value in quotes, for a number or boolean where the schema has a text; empty if another fault is refused."""
    value = get(manifest, error.pointer, None) if "must be of type string" in error.detail else None
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else ""


def quoting_operations(manifest: Object | None) -> list[Json]:
    """Operations that quote the numbers and booleans in places for texts only: labels, annotations, data, environment."""
    if manifest is None:
        return []
    pod, spec = pod_spec(manifest)
    above = pod.removesuffix("/spec")
    maps = [f"{at}/metadata/{name}" for at in dict.fromkeys(("", above)) for name in ("labels", "annotations")]
    maps += ["/data"] if manifest.get("kind") == "ConfigMap" else []
    places = [at + join_pointer(key) for at in maps for key in _keys(get(manifest, at, None))]
    for at, container in containers(manifest) if spec else ():
        places += [f"{at}/env/{place}/value" for place, _ in enumerate(items(container, "env"))]
    wrong = ((place, get(manifest, place, None)) for place in places)
    return [
        {"op": "replace", "path": place, "value": str(value).lower() if isinstance(value, bool) else str(value)}
        for place, value in wrong
        if isinstance(value, bool | int | float)
    ]


def _keys(found: Json) -> list[str]:
    return list(found) if isinstance(found, dict) else []


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
