"""Finds why a webhook does not answer: the sync that it blocks brings its own workload, or changes the CA that it is called with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint import App, Fleet, Resource, ResourceId, ResourceKey, Symptom
from argolint.values import dig, mapping, maps, parse_time, text_at
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


_MOST = 10
"""Most webhooks of one configuration of another application."""


def authority_changes(app: App, fleet: Fleet, message: str) -> Iterator[Symptom]:
    """Differences in the CA of the webhook that the API server does not trust: what makes them is why.

    The configurations of another application are known by name alone: those of the one that lists the webhook's Service.
    """
    service = webhook_service(message) if "certificate signed by unknown authority" in message else ("", "")
    key = ResourceKey(app.cluster, "", "Service", *service)
    makers = {*fleet.owners(key)} - {app.ref} if service[1] else set()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") if makers else ():
        for each in fleet.of_kind(app.cluster, "admissionregistration.k8s.io", kind):
            if not makers.isdisjoint(fleet.owners(each)):
                at = "/webhooks/{}/clientConfig/caBundle"
                yield from (Symptom.change(each.id, at.format(index)) for index in range(_MOST))
    for resource in app.resources if service[1] else ():
        for index, webhook in enumerate(maps(resource.desired, "webhooks")):
            asked = mapping(webhook, "clientConfig", "service")
            if (text_at(asked, "namespace"), text_at(asked, "name")) == service:
                yield Symptom.change(resource.id, f"/webhooks/{index}/clientConfig/caBundle")


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
