"""Finds the managed object that an error message is about: by name, or by a value that only one object has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from argolint import App, Object, Resource, Symptom
from argolint.messages import named
from argolint.values import maps
from argolint.values.patterns import regex


def object_named(app: App, message: str) -> Resource | None:
    """The managed object that the message names; None if it names none, or if several match."""
    named_object = named(message)
    if named_object is None:
        return _unconvertible_object(app, message)
    found = [
        r
        for r in app.of_kind(named_object.kind)
        if r.name == named_object.name
        and (not named_object.namespace or r.namespace in ("", named_object.namespace))
        and (not named_object.group or r.group == named_object.group)
    ]
    return found[0] if len(found) == 1 else None


_CONVERTING = regex(r"converting \((?:\w{1,40}\.)?(\w{1,100})\) to ")


def _unconvertible_object(app: App, message: str) -> Resource | None:
    """The object of the kind that cannot be converted, if one of its field managers has written another version."""
    found = _CONVERTING.search(message)
    if found is None:
        return None
    kind = found[1]

    def mixed(obj: Object) -> bool:
        versions = {str(entry.get("apiVersion")) for entry in maps(obj, "metadata", "managedFields")}
        return obj.get("kind") == kind and bool(versions - {obj.get("apiVersion")})

    return only_object(app, mixed)


def only_object(app: App, is_meant: Callable[[Object], bool], side: str = "live") -> Resource | None:
    """The only object whose live (or desired) state satisfies `is_meant`; None if there are none or several."""
    found = list(_objects_satisfying(app, is_meant, side))
    return found[0] if len(found) == 1 else None


def _objects_satisfying(app: App, is_meant: Callable[[Object], bool], side: str) -> Iterator[Resource]:
    for resource in app.resources:
        state = resource.live if side == "live" else resource.desired
        if state is not None and is_meant(state):
            yield resource


def missing_symptoms(app: App) -> Iterator[Symptom]:
    """The Missing objects of an application that cannot be compared: nothing is applied, so they stay missing."""
    return (Symptom.health(r.id) for r in app.resources if r.health.status == "Missing")


def is_operator(resource: Resource) -> bool:
    """Whether the object is the workload of an operator, by its name."""
    named = any(word in resource.name.split("-") for word in ("operator", "controller"))
    return resource.kind == "Deployment" and resource.group == "apps" and named
