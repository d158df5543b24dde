"""Finds a webhook that does not answer because the sync that it blocks brings its own workload."""

from __future__ import annotations

from argolint import App, ResourceId
from argolint.quick.patterns import regex
from argolint.quick.records import dataclass
from argolint.values import mapping, text_at
from argolint.values.kubernetes import pod_spec

_SERVICE = regex(r"https://([\w-]+)\.([\w-]+)\.svc\b")


@dataclass(frozen=True, slots=True)
class Served:
    """The workload that makes the webhook's pods, with its `wave`, both in the blocked application."""

    workload: ResourceId
    wave: int


def service_of(message: str) -> tuple[str, str]:
    """(namespace, name) of the webhook's Service; empty if the message names none."""
    named = ((found[2], found[1]) for found in _SERVICE.finditer(message))
    return next((each for each in named if each != ("default", "kubernetes")), ("", ""))  # the API server's own Service


def served_by_itself(app: App, message: str) -> Served | None:
    """The workload of this application behind the webhook's Service, if it is not up; None if another one serves it."""
    namespace, name = service_of(message)
    service = app.find("", "Service", namespace, name) if name else None
    selector = mapping(service.any, "spec", "selector") if service else {}
    for resource in app.resources if selector else ():
        at, _ = pod_spec(resource.desired)
        if not at or resource.namespace != namespace or resource.health.status == "Healthy":
            continue
        above = tuple(token for token in at.removesuffix("/spec").split("/") if token)
        labels = mapping(resource.desired, *above, "metadata", "labels")
        if all(text_at({"v": labels.get(key)}, "v") == value for key, value in selector.items()):
            return Served(resource.id, resource.wave)
    return None
