"""What the API server refuses in an object of Kubernetes' own kinds, as far as the manifest alone decides it.

Each refusal has the words of the API server, so the catalogue and the advice for a failed sync explain it before the sync, too. The checks
are those that hold in every release that Argo CD supports; names that a pod lists twice are `duplicate-env`'s. Source: pkg/apis/*/validation of k8s.io/kubernetes; tests/validation.yaml has
what that code says of each form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from argolint import Afterwards, App, Finding, Fix, Json, Object, Resource
from argolint.messages import field_errors
from argolint.values import below, dig, get, items, join_pointer, schema, text_at
from argolint.values.kubernetes import api_of, is_custom
from argolint.values.patterns import regex

from ..shared.crds import child_schema, definitions, schema_in
from ..shared.fields import is_answered
from ._failures import failures
from ._field_checks import Refused, field_refusals, invalid, path_of, required, shown, unsupported
from ._neighbour_checks import neighbour_refusals
from ._operator_checks import webhook_refusals

_MOST = 5
"""Most refusals of one object in a message: the API server names all, a reader needs the first."""
_LIKE_A_QUANTITY = regex(r"(?=\D*\d).{1,60}|")
"""Letters alone are zero to the decoder, and a number of a hundred digits is one."""


def coming_refusals(app: App, resource: Resource) -> tuple[Refused, ...]:
    """The fields that the API server will refuse at the next sync, at most five.

    An object that exists was accepted once, so only what its differences bring is looked at: not what the live one has too. A field that Git lacks may stay as it
    is, so it counts if the change in the gate removes it, or Git has it empty. A custom kind is held against its CustomResourceDefinition, if the application has it or another
    rule asked for it. A hook is made by each sync, from Git alone.
    """
    desired, live = resource.desired, resource.live
    if desired is None or not (live is None or resource.pending or resource.changes or resource.hook):
        return ()
    refused = _refusals(app, desired, live)
    first = tuple(islice(refused, _MOST if live is None else 1))
    if live is None or not first:
        return first
    accepted = {(one.pointer, one.sort) for one in _refusals(app, live, None)}
    emptied = [change for change in resource.changes if get(desired, change.pointer, None) in ("", [], {})]
    removed = [change.pointer for change in (*resource.pending, *emptied)]
    coming = (
        one
        for one in chain(first, refused)
        if (one.pointer, one.sort) not in accepted
        and (one.sort != "Required value" or resource.hook or any(_touch(one.pointer, at) for at in removed))
    )
    return tuple(islice(coming, _MOST))


def validated(fix: Fix, finding: Finding, after: App) -> Afterwards | None:
    """The API server's answer to the object with an edit: by its own words on the failed sync, and by what is known of its validation."""
    resource = after.held(finding.edits(fix))
    if finding.cause != "validation" or fix.target != "manifest" or resource is None or resource.desired is None:
        return None
    errors = [e for f in failures(after) if f.id and f.id.key == resource.key for e in field_errors(f.message)]
    answers = [is_answered(resource.desired, error) for error in errors]
    if None in answers:
        return Afterwards(unknown=f"what the API server takes at {errors[answers.index(None)].pointer} is not known")
    still = [error.pointer for error, answered in zip(errors, answers, strict=True) if not answered]
    still += [one.pointer for one in _refusals(after, resource.desired, resource.live)]
    return Afterwards(refused=f"the API server would refuse {still[0]} all the same" if still else "")


def _touch(one: str, other: str) -> bool:
    return below(one, other) or below(other, one)


def server_message(resource: Resource, refusals: Sequence[Refused]) -> str:
    """The API server's message on these fields (apimachinery, NewInvalid)."""
    texts_of_all = [one.text for one in refusals]
    whole = f"[{', '.join(texts_of_all)}]" if len(texts_of_all) > 1 else "".join(texts_of_all)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return f'{kind} "{resource.name}" is invalid: {whole}'


def _refusals(app: App, obj: Object, live: Object | None) -> Iterator[Refused]:
    return _refused_custom(app, obj) if is_custom(api_of(obj)[0]) else _refused(obj, live)


def _refused(obj: Object, live: Object | None) -> Iterator[Refused]:
    for fault in schema.faults(obj):
        value = get(obj, fault.pointer, None)
        if fault.choices:
            yield unsupported(fault.pointer, value, fault.choices)
        elif fault.type == "quantity" and value is not None and _LIKE_A_QUANTITY.fullmatch(str(value)):
            yield invalid(fault.pointer, value, _NO_QUANTITY)
    yield from field_refusals(obj)
    yield from neighbour_refusals(obj, live)


def _refused_custom(app: App, obj: Object) -> Iterator[Refused]:
    """What the schema of the kind refuses: the one in Git, since a sync applies it first, else the live one."""
    (group, version), kind = api_of(obj), str(obj.get("kind"))
    found = next(definitions(app, group, kind), None)
    schema = schema_in(found.desired or found.live, version) if found else None
    yield from field_refusals(obj)
    yield from webhook_refusals(obj)
    yield from islice(_misfits(obj.get("spec"), dig(schema, "properties", "spec"), "/spec"), 20)


def _misfits(value: Json, schema: Json, at: str) -> Iterator[Refused]:
    """Values of another type than their field, none of its enum or out of its bounds, and fields that are missing and have no default."""
    if not isinstance(schema, dict) or value is None or schema.get("x-kubernetes-int-or-string") is True:
        return
    wanted, known = text_at(schema, "type"), items(schema, "enum")
    if wanted in _JSON_TYPES and not _is_of_type(value, wanted):
        has = next(name for name, types in _JSON_TYPES.items() if isinstance(value, types))
        yield invalid(at, has, f"{path_of(at)} in body must be of type {wanted}")
    elif known and value not in known:
        yield Refused(at, "Unsupported value", f"{shown(value)}: supported values: {', '.join(map(shown, known))}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _out_of_bounds(value, schema, at)
    elif isinstance(value, dict):
        for key in items(schema, "required"):
            if isinstance(key, str) and key not in value and dig(schema, "properties", key, "default") is None:
                yield required(at + join_pointer(key))
        for key, child in value.items():
            yield from _misfits(child, child_schema(schema, key), at + join_pointer(key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from _misfits(child, dig(schema, "items"), f"{at}/{number}")


def _out_of_bounds(value: float, schema: Json, at: str) -> Iterator[Refused]:
    least, most = dig(schema, "minimum"), dig(schema, "maximum")
    if isinstance(least, int | float) and value < least and not dig(schema, "exclusiveMinimum"):
        yield invalid(at, value, f"{path_of(at)} in body should be greater than or equal to {least}")
    elif isinstance(most, int | float) and value > most and not dig(schema, "exclusiveMaximum"):
        yield invalid(at, value, f"{path_of(at)} in body should be less than or equal to {most}")


_JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
}


def _is_of_type(value: Json, wanted: str) -> bool:
    if isinstance(value, bool) or wanted == "boolean":
        return isinstance(value, bool) and wanted == "boolean"
    if isinstance(value, float) and wanted == "integer":
        return value.is_integer()
    return isinstance(value, _JSON_TYPES[wanted])


_NO_QUANTITY = "quantities must match the regular expression"
"""The first of the decoder's words, which name no field (apimachinery, ParseQuantity)."""


def quantity_operations(obj: Object | None) -> list[Json]:
    """Operations that write each refused quantity in the unit that is meant; empty if that of one is not plain."""
    refused = [one.pointer for one in _refused(obj, None) if one.detail.endswith(_NO_QUANTITY)] if obj else []
    values = [_in_known_unit(get(obj, pointer)) for pointer in refused]
    if not all(values):
        return []
    return [{"op": "replace", "path": at, "value": value} for at, value in zip(refused, values, strict=True)]


def _in_known_unit(value: Json) -> str:
    """`1GB` as `1G`, `1 gib` as `1Gi`; empty for another unit."""
    found = _NUMBER_AND_UNIT.fullmatch(str(value))
    if found is None:
        return ""
    number, unit, binary = found[1], found[2].upper(), "i" if found[3] else ""
    if found[2] == "m" and not (found[3] or found[4]):
        return f"{number}m"  # thousandths
    return f"{number}{'k' if unit == 'K' and not binary else unit}{binary}"


_NUMBER_AND_UNIT = regex(r"([0-9]{1,15}(?:[.][0-9]{1,9})?) ?([KMGTkmgt])([iI]?)([bB]?)")
