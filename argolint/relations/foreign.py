"""not-in-git: the container in the message is in no manifest: a webhook adds it to the pods, or someone has edited the live template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from argolint.comparison import writer
from argolint.edits.advice import Shell, advice
from argolint.model import Object, ResourceId
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import annotations_of, get, labels_of, mapping, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import containers, kubectl_name, pod_spec
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
                yield _explained(complaint, id_, manifest, name, text)
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


def _explained(complaint: Complaint, workload: ResourceId, manifest: Object, name: str, text: str) -> Explained:
    product: Mapping[str, str] = next((entry for match, entry in _injectors() if match.fullmatch(name)), {})
    about = _ABOUT.search(text)
    resource = (about[1] or about[2]).lower() if about else ""
    origin, evidence = _origin(complaint, workload, manifest, name, product)
    key = "" if origin == "live" else product.get(resource, "")
    facts = {
        "object": str(complaint.id),
        "workload": str(workload),
        "container": name,
        "product": product.get("product", ""),
        "key": key,
        "resource": resource,
        "value": {"cpu": "100m", "memory": "128Mi"}.get(resource, ""),
        "autoscaler": complaint.id is not None and complaint.id.kind == "HorizontalPodAutoscaler",
        "command": Shell(kubectl_name(workload)),
        "live": origin == "live",
        "injected": origin == "injected",
    }
    which = {
        "live": "which the live pod template has and Git has not",
        "injected": f"which {evidence}: Git does not hold it",
    }
    return Explained(
        "not-in-git",
        complaint.app.ref,
        workload,
        f"{complaint.subject} fails at container {name}, {which.get(origin, 'which Git does not have')}.",
        evidence=(f"{workload} in Git has no container {name}", *((evidence,) if origin == "live" else ())),
        fixes=advice(__package__, "not-in-git/container", facts, workload),
        likely=not product and origin != "live",
    )


def _origin(
    complaint: Complaint, workload: ResourceId, manifest: Object, name: str, product: Mapping[str, str]
) -> tuple[str, str]:
    """Where the container comes from, and what shows it: `live`, an edit of the live template; `injected`, a webhook; empty if nothing shows it."""
    resource = complaint.app.resource(workload.key)
    live = resource.live if resource else None
    for pointer, container in containers(live):
        if text_at(container, "name") == name:
            found = writer(live or {}, pointer)
            return (
                "live",
                f"{pointer} of the live object was written by {excerpt(found.manager) if found else 'an unknown manager'}",
            )
    if product:
        return "injected", f"{product['product']} injects"
    at, _ = pod_spec(manifest)
    template = get(manifest, at.removesuffix("/spec"), {})
    marks = {**labels_of(template), **annotations_of(template)}
    asked = next((key for key, value in marks.items() if _ASKS.search(key) and value.lower() not in _OFF), "")
    return ("injected", f"an injector adds by {excerpt(asked)}") if asked else ("", "")


_ASKS = regex(r"inject|sidecar", re.IGNORECASE)
"""Names of labels and annotations of a template that ask a webhook for a container."""
_OFF = ("false", "disabled", "no", "off", "")
