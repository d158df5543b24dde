"""Finds a webhook that does not answer because the sync that it blocks brings its own workload."""

from __future__ import annotations

from dataclasses import dataclass

from argolint import App, Resource, ResourceId
from argolint.values import dig, mapping, parse_time, text_at
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

_SERVICE = regex(r"https://([\w-]+)\.([\w-]+)\.svc\b")


@dataclass(frozen=True, slots=True)
class WebhookWorkload:
    """The workload that makes the webhook's pods, with its `wave`, both in the blocked application; `up` if it is healthy by now."""

    workload: ResourceId
    wave: int
    up: bool


def webhook_service(message: str) -> tuple[str, str]:
    """(namespace, name) of the webhook's Service; empty if the message names none."""
    named = ((found[2], found[1]) for found in _SERVICE.finditer(message))
    return next((each for each in named if each != ("default", "kubernetes")), ("", ""))  # the API server's own Service


def own_webhook_workload(app: App, message: str) -> WebhookWorkload | None:
    """The workload of this application behind the webhook's Service, if it was not up when the sync began; None if another one serves it."""
    namespace, name = webhook_service(message)
    service = app.find("", "Service", namespace, name) if name else None
    selector = mapping(service.any, "spec", "selector") if service else {}
    for resource in app.resources if selector else ():
        at, _ = pod_spec(resource.desired)
        up = resource.health.status == "Healthy"
        if not at or resource.namespace != namespace or (up and not _began_with(app, resource)):
            continue
        above = tuple(token for token in at.removesuffix("/spec").split("/") if token)
        labels = mapping(resource.desired, *above, "metadata", "labels")
        if all(text_at({"v": labels.get(key)}, "v") == value for key, value in selector.items()):
            return WebhookWorkload(resource.id, resource.wave, up)
    return None


def _began_with(app: App, resource: Resource) -> bool:
    """Whether the failed sync itself created the object."""
    created = parse_time(dig(resource.live, "metadata", "creationTimestamp"))
    began = app.operation.started_at if app.operation else None
    return created is not None and began is not None and created >= began
