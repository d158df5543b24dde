"""said-by-child and contradicts: what the children of an object say, and what its controller does not find although it is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from argolint.application.app import App
from argolint.application.resource import Node
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.model import Object, Want
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, mentioned_objects
from argolint.relations.polarity import FINE_STATES, reports_fault
from argolint.values import dig, leaves, mapping, maps, number_at, parse_time, text_at
from argolint.values.kubernetes import kubectl_name, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import amount

_LOOKED_AT = 4
"""Most children of one object whose live state is read."""
_SILENT = frozenset(
    {
        "Pod",
        "ReplicaSet",
        "ControllerRevision",
        "EndpointSlice",
        "Endpoints",
        "Secret",
        "ConfigMap",
        "Event",
        "Lease",
        "Role",
    }
)
"""Kinds without conditions; pods have their own rules."""


def wanted_of_children(complaint: Complaint) -> Iterator[Want]:
    """The live state of the object's children that may show the reason: unhealthy ones first, then those without a health."""
    node = complaint.app.node(complaint.id) if complaint.id else None
    below = [n for n in complaint.app.descendants(node.uid) if n.id.kind not in _SILENT] if node else []
    full = complaint.first(_FULL) is not None
    speaking = [n for n in below if n.health.status != "Healthy" or (full and n.id.kind == "PersistentVolumeClaim")]
    for child in sorted(speaking, key=lambda n: (not n.health.status, n.id.kind != "Service"))[:_LOOKED_AT]:
        managed = complaint.app.resource(child.id.key)
        if managed is None or managed.live is None:
            yield Want("live", child.id)
        if _unaddressed(child):
            yield Want("events", child.id, child.uid)


def _unaddressed(child: Node) -> bool:
    """True for a Service without an address: only one of type LoadBalancer waits for something (gitops-engine pkg/health/health_service.go)."""
    return child.id.kind == "Service" and not child.id.group and child.health.status == "Progressing"


def template_of(complaint: Complaint) -> tuple[Object | None, str]:
    """The pod template that the complaint is about, and the name of the child workload that has it: empty for the object's own."""
    if complaint.manifest is not None and pod_spec(complaint.manifest)[1]:
        return complaint.manifest, ""
    node = complaint.app.node(complaint.id) if complaint.id else None
    for child in complaint.app.descendants(node.uid) if node else ():
        live = _live_child(complaint, child)
        if live is not None and child.id.kind not in _SILENT and pod_spec(live)[1]:
            return live, str(child.id)
    return complaint.manifest, ""


_FULL = regex(
    r"(not enough|insufficient|out of|no) (free )?(disk )?space|disk (is )?full|no space left|volume is full|ENOSPC",
    re.IGNORECASE,
)
_SIZES = frozenset({"size", "storage", "volumeSize", "storageSize", "diskSize"})


def full_volume(complaint: Complaint) -> Iterator[Explained]:
    """A full volume whose claim, below the object, is smaller than the object requests: nothing has expanded it."""
    app = complaint.app
    node = app.node(complaint.id) if complaint.id else None
    if node is None or complaint.manifest is None or complaint.first(_FULL) is None:
        return
    requested = [
        (amount(value), str(value))
        for pointer, value in leaves(complaint.manifest.get("spec"), "/spec")
        if pointer.rpartition("/")[2] in _SIZES and amount(value) is not None
    ]
    for child in app.descendants(node.uid):
        held = (
            dig(_live_child(complaint, child), "status", "capacity", "storage")
            if child.id.kind == "PersistentVolumeClaim"
            else None
        )
        has = amount(held)
        larger = [text for size, text in requested if size is not None and has is not None and size > has]
        if has is None:
            continue
        facts = {
            "claim": str(child.id),
            "name": child.id.name,
            "namespace": child.id.namespace,
            "has": str(held),
            "asked": larger[0] if larger else "",
        }
        but = f", although {complaint.id} asks for {larger[0]}" if larger else ""
        yield Explained(
            "said-by-child",
            app.ref,
            child.id,
            f"The volume of {child.id} is full: it holds {held}{but}.",
            evidence=(f"{child.id}: status.capacity.storage is {held}",),
            fixes=advice(__package__, "said-by-child/full", facts, complaint.id),
        )
        return


def child_condition(complaint: Complaint) -> Iterator[Explained]:
    """The unmet condition of a child, the deepest first: its controller knows more than its owner's."""
    app = complaint.app
    node = app.node(complaint.id) if complaint.id else None
    if node is None or complaint.id is None:
        return
    for child in reversed([n for n in app.descendants(node.uid) if n.id.kind not in _SILENT]):
        message, words = _child_message(_live_child(complaint, child))
        if not message and _unaddressed(child):
            message = words = _warned(app, child)
        if not message or any(message in text for text in complaint.texts):
            continue
        unserved = _unserved_ingress(app, child)
        shown = app.resource(complaint.id.key)
        ready = shown is not None and any(
            (c.get("type"), c.get("status")) == ("Ready", "True") for c in maps(shown.live, "status", "conditions")
        )
        state = f"is {shown.health.status}" if shown and ready and shown.health.status else "is not ready"
        facts = {
            "child": str(child.id),
            "command": Shell(kubectl_name(child.id)),
            "ingress": str(unserved.id) if unserved else "",
            "shown": Shell(kubectl_name(unserved.id)) if unserved else "",
        }
        yield Explained(
            "said-by-child",
            app.ref,
            child.id,
            f'{complaint.id} {state} because its {child.id.kind} {child.id.name} says: "{telling(message)}".',
            evidence=(
                f"{child.id}: {excerpt(words, 400)}",
                *((f"{unserved.id} of it has no address",) if unserved else ()),
            ),
            fixes=advice(__package__, "said-by-child/read", facts, complaint.id),
        )
        return


def _unserved_ingress(app: App, child: Node) -> Node | None:
    """An Ingress that the child made and that got no address: where its controller writes addresses, none serves it."""
    below = (n for n in app.descendants(child.uid) if n.id.kind == "Ingress")
    return next((n for n in below if n.health.status == "Progressing"), None)


def _warned(app: App, child: Node) -> str:
    """The newest Warning Event of a child; empty if there is none or Events could not be read."""
    return next((f"{e.reason}: {e.message}" for e in app.events(child.id, child.uid) or () if e.type == "Warning"), "")


_STATED = ("message", "reason", "errorMessage", "failureMessage", "lastError", "error")
_STATES = ("state", "phase", "status")


def _child_message(live: Object | None) -> tuple[str, str]:
    """(message, evidence) of a live object's complaint: a condition, or a status that is a text (an ACME challenge, an analysis run); both empty if there is none."""
    for condition in maps(live, "status", "conditions"):
        message = text_at(condition, "message")
        if reports_fault(condition) and len(message) >= _SHORTEST:
            reason = text_at(condition, "reason")
            return message, f"{text_at(condition, 'type')}={text_at(condition, 'status')} {reason}: {message}".replace(
                " :", ":"
            )
    state = next((s for field in _STATES if (s := text_at(live, "status", field))), "")
    for field in _STATED if state.lower() not in FINE_STATES else ():
        message = text_at(live, "status", field)
        if len(message) >= _SHORTEST and " " in message:
            return message, f"status.{field}{f' ({state})' if state else ''}: {message}"
    return "", ""


_SHORTEST = 8
"""Fewest characters of a useful message."""


def _live_child(complaint: Complaint, child: Node) -> Object | None:
    managed = complaint.app.resource(child.id.key)
    found: Object | None = managed.live if managed else None
    return found or complaint.app.evidence.get(Want("live", child.id))


_NOT_FOUND = regex(
    r"[\"'](?:[\w.-]{1,63}/)?([a-z0-9][\w.-]{0,252})[\"'][^\"'\n]{0,20}?\b(?:not found|does not exist)", re.IGNORECASE
)
_SETTLED = timedelta(minutes=10)
_BRIEFLY = timedelta(minutes=1)


def present_object(complaint: Complaint) -> Iterator[Explained]:
    """A controller says that an object of this application is not found, though it has long existed: it looks elsewhere, or has not retried.

    Only for custom resources, whose controllers retry; a Secret or ConfigMap of that name may be the provider's.
    """
    app, id_ = complaint.app, complaint.id
    if id_ is None or "." not in id_.group or id_.group == "apps":
        return
    absent = {name for text in complaint.texts for name in _NOT_FOUND.findall(text[:8000])}
    for mention, known in mentioned_objects(complaint, fleet=False) if absent else ():
        made = parse_time(dig(known.resource.live, "metadata", "creationTimestamp"))
        settled = known.resource.live is not None and (made is None or app.observed_at - made > _SETTLED)
        if mention.name in absent and known.how == "name" and settled and known.id.kind not in ("Secret", "ConfigMap"):
            late = _came_late(complaint, made)
            facts = {
                "object": str(id_),
                "there": str(known.id),
                "command": Shell(kubectl_name(known.id)),
                "own": Shell(kubectl_name(id_)),
                "late": late,
                "wave": str(complaint.place.wave - 1) if late and known.place >= complaint.place else "",
            }
            why = (
                f"its controller did not find {known.id}, which came after it, and has not looked again"
                if late
                else f"its controller does not find {known.id}, which is there: it looks elsewhere or has not looked again"
            )
            yield Explained(
                "contradicts",
                app.ref,
                known.id,
                f"{id_} is not ready because {why}.",
                evidence=(f"the message calls {mention.name} not found; {known.id} is live",),
                fixes=advice(__package__, "contradicts/there", facts, id_),
                likely=True,
            )
            return


def _came_late(complaint: Complaint, made: datetime | None) -> bool:
    """True if what was not found was made after the object that names it, and nothing was found wrong a minute later."""
    resource = complaint.app.held(complaint.id)
    live = resource.live if resource else None
    own = parse_time(dig(live, "metadata", "creationTimestamp"))
    said = [
        when
        for c in maps(dig(live, "status", "conditions"))
        if _NOT_FOUND.search(text_at(c, "message")) and (when := parse_time(c.get("lastTransitionTime")))
    ]
    return bool(own and made and own <= made and all(when <= made + _BRIEFLY for when in said))


def is_rolled_out(live: Object) -> bool:
    """True if Argo CD's own check calls this workload Healthy (gitops-engine pkg/health/health_deployment.go, health_statefulset.go, health_daemonset.go)."""
    status, wanted = mapping(live, "status"), dig(live, "spec", "replicas")
    kind = live.get("kind")
    current = number_at(status, "observedGeneration") >= number_at(live, "metadata", "generation") > 0
    if kind == "DaemonSet":
        counts = [number_at(status, field) for field in ("updatedNumberScheduled", "numberAvailable", "numberReady")]
        wanted = number_at(status, "desiredNumberScheduled")
        return current and wanted > 0 and counts == [wanted] * 3
    if not isinstance(wanted, int) or not current or kind not in ("Deployment", "StatefulSet") or wanted < 1:
        return False
    counts = [number_at(status, field) for field in ("replicas", "updatedReplicas", "readyReplicas")]
    if kind == "StatefulSet" and status.get("currentRevision") != status.get("updateRevision"):
        return False
    return counts == [wanted] * 3 and (kind == "StatefulSet" or number_at(status, "availableReplicas") == wanted)
