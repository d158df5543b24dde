"""The program behind a field manager: a person's tool, a webhook, an autoscaler (data in writers.yaml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from argolint import Resource, Writer
from argolint.application.applied import by_argocd
from argolint.comparison import managers
from argolint.values.knowledge import load


@dataclass(frozen=True)
class KnownWriter:
    """sort: person, mutator, injector, autoscaler, crossplane or controller. tool: its usual name."""

    sort: str
    tool: str


@cache
def _known_writers() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    return tuple(
        (re.compile(entry["match"], re.IGNORECASE | re.DOTALL), entry["sort"], entry.get("tool", ""))
        for entry in load(__package__, "writers.yaml")["writers"]
    )


def known_writer(writer: Writer | None) -> KnownWriter | None:
    """The entry of the manager in writers.yaml; None without a writer or an entry. Scaling with kubectl is a person's."""
    return _writer_of_manager(writer.manager, scales=writer.subresource == "scale") if writer is not None else None


@lru_cache(maxsize=1024)
def _writer_of_manager(manager: str, *, scales: bool) -> KnownWriter | None:
    for pattern, sort, tool in _known_writers():
        found = pattern.fullmatch(manager)
        if found and not (scales and sort == "controller"):  # a manager that scales is an autoscaler
            return KnownWriter(sort, tool.format(*found.groups()) or manager)
    return KnownWriter("autoscaler", manager) if scales else None


def is_sort(writer: Writer | None, sort: str) -> bool:
    """True when the manager is known to be of this sort."""
    found = known_writer(writer)
    return found is not None and found.sort == sort


def is_reconciling_controller(resource: Resource, writer: Writer | None) -> bool:
    """True for a controller of the cluster, which restores the field after each other write: by its name, by the kind's group in its name, or
    because it also writes the object's status."""
    if writer is None or by_argocd(writer) or writer.subresource:
        return False
    found = known_writer(writer)
    if found is not None:
        return found.sort == "controller" or (found.sort == "mutator" and is_webhook_configuration(resource))
    own = writer.manager.lower() in resource.group.split(".")[:-1]
    return own or any(w.manager == writer.manager and w.subresource == "status" for w in managers(resource.live or {}))


def is_webhook_configuration(resource: Resource) -> bool:
    """True for the objects that the API server sends to no admission webhook: a writer named after one is the webhook's own server."""
    return resource.group == "admissionregistration.k8s.io" and resource.kind.endswith("WebhookConfiguration")
