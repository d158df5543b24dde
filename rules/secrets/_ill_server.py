"""What is wrong behind the Service of this fleet that an error of the operator names as the provider's address."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Fleet, Resource, Want
from argolint.relations.explained import Explained
from argolint.relations.ill import unanswered_service, wanted_of_peers
from argolint.relations.look_up import Complaint
from argolint.values.patterns import regex

_SHORT_HOST = regex(r"(?<=//)([a-z0-9-]{1,63}\.[a-z0-9-]{1,63})(?=[:/\s\"]|$)")


def ill_server(app: App, fleet: Fleet, resource: Resource, text: str) -> Explained | None:
    """The relation to what does not answer, by `name.namespace` or with `.svc`; None if the fleet has no such Service, or it is well."""
    return next(unanswered_service(_complaint(app, fleet, resource, text)), None)


def server_wants(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The workloads behind the Service that the newest Warning of the object names."""
    found = app.events(resource.id, resource.uid) or ()
    for event in [e for e in found if e.type == "Warning"][:1]:
        yield from wanted_of_peers(_complaint(app, fleet, resource, event.message))


def _complaint(app: App, fleet: Fleet, resource: Resource, text: str) -> Complaint:
    return Complaint(app, fleet, resource.id, resource.live, (_SHORT_HOST.sub(r"\1.svc", text),))
