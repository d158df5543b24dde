"""not-in-git: the container in the message is in no manifest, since a webhook adds it to the pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from argolint.edits.advice import advice
from argolint.model import Object, ResourceId
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import mapping, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import containers
from argolint.values.patterns import regex

_CONTAINER = regex(
    r"\bcontainers?(?: named)? [\"'`]([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)[\"'`]"
    r"|\bcontainer[ =]([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?= (?:of|in) (?:the )?[Pp]od\b| pod=)"
)
"""How the kubelet, the autoscaler and admission name a container of a pod: in quotes, or before the pod."""
_ABOUT = regex(r"missing request for ([\w./-]{1,100})|\b(cpu|memory|ephemeral-storage)\b", re.IGNORECASE)


@cache
def _injectors() -> tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]:
    return tuple((re.compile(entry["name"]), entry) for entry in load(__package__, "injectors.yaml"))


def foreign(complaint: Complaint) -> Iterator[Explained]:
    """A container that the sentence names and the pod template in Git does not contain."""
    workload = _workload(complaint)
    if workload is None:
        return
    id_, manifest = workload
    own = {text_at(container, "name") for _, container in containers(manifest)}
    if not own:
        return
    for text in complaint.texts:
        for found in _CONTAINER.finditer(text[:8000]):
            name = found[1] or found[2]
            if name not in own:
                yield _explained(complaint, id_, name, text)
                return


def _workload(complaint: Complaint) -> tuple[ResourceId, Object] | None:
    """The workload with the pod template that the complaint is about: the object, or the target of an autoscaler."""
    if complaint.id is None or complaint.manifest is None:
        return None
    if any(True for _ in containers(complaint.manifest)):
        return complaint.id, complaint.manifest
    target = mapping(complaint.manifest, "spec", "scaleTargetRef")
    for resource in complaint.app.of_kind(text_at(target, "kind")):
        if (
            resource.name == text_at(target, "name")
            and resource.namespace == complaint.id.namespace
            and resource.desired
        ):
            return resource.id, resource.desired
    return None


def _explained(complaint: Complaint, workload: ResourceId, name: str, text: str) -> Explained:
    product: Mapping[str, str] = next((entry for match, entry in _injectors() if match.fullmatch(name)), {})
    about = _ABOUT.search(text)
    resource = (about[1] or about[2]).lower() if about else ""
    key = product.get(resource, "")
    by = f"{product['product']} injects" if product else "a webhook injects"
    facts = {
        "object": str(complaint.id),
        "workload": str(workload),
        "container": name,
        "product": product.get("product", ""),
        "key": key,
        "resource": resource,
        "value": {"cpu": "100m", "memory": "128Mi"}.get(resource, ""),
        "autoscaler": complaint.id is not None and complaint.id.kind == "HorizontalPodAutoscaler",
    }
    return Explained(
        "not-in-git",
        complaint.app.ref,
        workload,
        f"{complaint.subject} fails at container {name}, which {by}: Git does not hold it.",
        evidence=(f"{workload} in Git has no container {name}",),
        fixes=advice(__package__, "not-in-git/container", facts, workload),
        likely=not product,
    )
