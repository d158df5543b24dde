"""contradicts: the status of an object says that it is well, and Argo CD's health check does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Node, Resource
from argolint.edits.advice import Shell, advice
from argolint.model import Object
from argolint.redaction import excerpt
from argolint.relations.child import is_rolled_out
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.relations.polarity import FINE_STATES, every_condition, reports_fault, reports_success
from argolint.relations.waits import has_own_check
from argolint.values import dig, mapping, maps, number_at, parse_time, parse_version, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_of_current_spec, kubectl_name
from argolint.values.patterns import regex

_WHOLE = ("Ready", "Available", "Healthy")
"""Types by which a controller reports on the whole object."""


def contradicted_health(complaint: Complaint) -> Iterator[Explained]:
    """The status reports success for the current generation, but Argo CD's health check does not."""
    app, id_ = complaint.app, complaint.id
    resource = app.held(id_)
    if (
        resource is None
        or id_ is None
        or resource.live is None
        or resource.health.status not in ("Progressing", "Degraded")
    ):
        return
    live = resource.live
    conditions = every_condition(live)
    if id_.group == "apps":
        if is_rolled_out(live) and not any(reports_fault(c) for c in conditions):
            yield _stale(complaint, resource)
        elif _is_counted_otherwise(complaint.app, resource):
            yield _miscounted(complaint, resource)
        return
    if "." not in id_.group or is_of_current_spec(live) is False:
        return
    if (begun := _begun(complaint, resource, conditions)) is not None:
        yield begun
    if any(reports_fault(c) for c in conditions):
        return
    if any(
        _is_under_way(c) or (not reports_success(c) and _is_shown_message(resource.health.message, c))
        for c in conditions
    ):
        return  # the object itself reports what Argo CD shows
    states = _states(mapping(live, "status"))
    if (
        any("." not in path and value.lower() not in FINE_STATES for path, value in states.items())
        and resource.health.message
    ):
        return  # its phase says more than its conditions, and Argo CD's check follows that
    if conditions:
        ready = _success(resource, conditions)
        if ready is not None and is_of_current_spec(live, ready) is not False:
            yield _contradicted_by_condition(complaint, resource, ready)
    elif resource.health.status == "Progressing" and states and {v.lower() for v in states.values()} <= FINE_STATES:
        yield _contradicted_by_state(complaint, resource, states)


_BRIEFLY = timedelta(minutes=10)


def _begun(complaint: Complaint, resource: Resource, conditions: Sequence[Object]) -> Explained | None:
    """Why a Degraded object is none: its controller has begun lately, and its other conditions say no more than that."""
    working = next((c for c in conditions if _is_under_way(c)), None)
    since = parse_time((working or {}).get("lastTransitionTime"))
    if (
        working is None
        or resource.health.status != "Degraded"
        or since is None
        or complaint.app.observed_at - since > _BRIEFLY
    ):
        return None
    if any(reports_fault(c) and c.get("message") != working.get("message") for c in conditions):
        return None
    facts = {
        "kind": resource.kind,
        "type": text_at(working, "type"),
        "app": str(complaint.app.ref),
        "version": complaint.fleet.version,
        "newer": newer_script(complaint.fleet, resource.group, resource.kind),
    }
    return Explained(
        "contradicts",
        complaint.app.ref,
        resource.id,
        f"{resource.id} says {facts['type']}=True, so its controller works on it, and Argo CD shows it as Degraded meanwhile.",
        evidence=(f"condition {facts['type']}=True: {excerpt(text_at(working, 'message'), 200)}",),
        fixes=advice(__package__, "contradicts/begun", facts, resource.id),
        likely=True,
        cause="health-check",
    )


def _stale(complaint: Complaint, resource: Resource) -> Explained:
    health = resource.health
    return Explained(
        "contradicts",
        complaint.app.ref,
        resource.id,
        f"{resource.id} is rolled out completely, but Argo CD still shows it as {health.status}: it judges an old state.",
        evidence=(
            f"status: {excerpt(str(dict(mapping(resource.live, 'status'))), 300)}",
            f"Argo CD: {excerpt(health.message, 200)}",
        ),
        fixes=advice(__package__, "contradicts/stale", {"app": str(complaint.app.ref)}, resource.id),
        likely=True,
    )


_SETTLED = timedelta(minutes=10)


def _is_counted_otherwise(app: App, resource: Resource) -> bool:
    """Whether a Deployment has been short of available pods for minutes, by its status, while the tree has all of them running and ready for as long."""
    wanted, status = dig(resource.live, "spec", "replicas"), mapping(resource.live, "status")
    short = next(
        (c for c in maps(status, "conditions") if (c.get("type"), c.get("status")) == ("Available", "False")), {}
    )
    since = parse_time(short.get("lastTransitionTime"))
    pods = [n for n in app.descendants(resource.uid) if n.id.kind == "Pod"] if resource.kind == "Deployment" else []
    least = timedelta(seconds=number_at(resource.live, "spec", "minReadySeconds")) + _SETTLED
    return (
        since is not None
        and app.observed_at - since > least
        and wanted == len(pods) > number_at(status, "availableReplicas")
        and all(_is_ready(n) and n.created_at is not None and app.observed_at - n.created_at > least for n in pods)
    )


def _is_ready(pod: Node) -> bool:
    """Whether Argo CD shows the pod as Healthy, with all of its containers ready (controller/cache/info.go)."""
    ready, _, of = pod.info.get("Containers", "").partition("/")
    return pod.health.status == "Healthy" and bool(of) and ready == of


def _miscounted(complaint: Complaint, resource: Resource) -> Explained:
    facts = {
        "app": str(complaint.app.ref),
        "object": str(resource.id),
        "command": Shell(kubectl_name(resource.id)),
        "controller": complaint.fleet.control_plane,
    }
    pods, available = dig(resource.live, "spec", "replicas"), number_at(resource.live, "status", "availableReplicas")
    return Explained(
        "contradicts",
        complaint.app.ref,
        resource.id,
        f"{resource.id} counts {available} available pods, and all of its {pods} are ready: the status that Argo CD judges is old.",
        evidence=(
            f"Argo CD: {excerpt(resource.health.message, 200)}",
            "its pods in the resource tree are Healthy, with all containers ready",
        ),
        fixes=advice(__package__, "contradicts/miscounted", facts, resource.id),
        likely=True,
    )


def _success(resource: Resource, conditions: Sequence[Object]) -> Object | None:
    """The condition by which its controller says that the whole object is well. Of a Degraded one, the first of several that all report success.

    A Progressing object may have reported success of its first steps only.
    """
    whole = next((c for c in conditions if c.get("type") in _WHOLE and c.get("status") == "True"), None)
    if whole is not None or resource.health.status != "Degraded" or not all(reports_success(c) for c in conditions):
        return whole
    return next((c for c in conditions if c.get("status") == "True"), None)


def _contradicted_by_condition(complaint: Complaint, resource: Resource, ready: Object) -> Explained:
    says = f"{text_at(ready, 'type')}=True"
    seen = f"condition {says} {text_at(ready, 'reason')}: {excerpt(text_at(ready, 'message'), 200)}".rstrip(": ")
    facts = {"type": text_at(ready, "type"), "path": "", "state": ""}
    return _contradicted(complaint, resource, says, seen, facts)


_STATE = regex(r"(?:[a-z]P|^p)hase$|(?:[a-z]S|^s)tate$|(?:[a-z]H|^h)ealth$|(?:[a-z]S|^s)tatus$")


def _states(status: Object) -> Mapping[str, str]:
    """The states that a status without conditions has at its top and one level below, by their path; the most telling one first."""
    nested = {f"{outer}.{key}": value for outer, part in status.items() for key, value in mapping(part).items()}
    found = {
        path: value
        for path, value in {**status, **nested}.items()
        if isinstance(value, str) and value and len(value) < 40 and _STATE.search(path.rpartition(".")[2])
    }
    ranks = ("phase", "state", "health", "status")
    return dict(sorted(found.items(), key=lambda pair: (pair[0].count("."), _rank(pair[0], ranks), pair[0])))


def _rank(path: str, ranks: Sequence[str]) -> int:
    return next(n for n, word in enumerate(ranks) if path.lower().endswith(word))


def _contradicted_by_state(complaint: Complaint, resource: Resource, states: Mapping[str, str]) -> Explained:
    path, state = next(iter(states.items()))
    says = f"{path} {excerpt(state, 40)}"
    seen = "status: " + ", ".join(f"{at} is {excerpt(value, 40)}" for at, value in list(states.items())[:6])
    plain = bool(_PLAIN.fullmatch(state) and _PLAIN.fullmatch(path))
    facts = {"type": "", "path": path if plain else "", "state": state if plain else ""}
    return _contradicted(complaint, resource, says, seen, facts)


_PLAIN = regex(r"\w+(?:\.\w+)?", re.ASCII)
"""A path or a state that needs no escape in a health check."""


def _contradicted(
    complaint: Complaint, resource: Resource, says: str, seen: str, facts: Mapping[str, str]
) -> Explained:
    fleet, health, id_ = complaint.fleet, resource.health, resource.id
    outer, _, _ = facts["path"].rpartition(".")
    given = {
        **facts,
        "object": str(id_),
        "kind": id_.kind,
        "customization": f"resource.customizations.health.{id_.group}_{id_.kind}",
        "guard": f"obj.status ~= nil and obj.status.{outer} ~= nil" if outer else "obj.status ~= nil",
        "newer": newer_script(complaint.fleet, resource.group, resource.kind),
        "version": fleet.version,
        "app": str(complaint.app.ref),
    }
    fixes = advice(__package__, "contradicts/health", given, id_)
    why = "the health check is wrong, not the object"
    if not given["newer"] and not fleet.derive(has_own_check, id_.group, id_.kind) and _is_of_the_past(resource):
        why = "it judged an old state, or its health check is wrong"
        fixes = (*advice(__package__, "contradicts/stale", given, id_), *fixes)
    return Explained(
        "contradicts",
        complaint.app.ref,
        id_,
        f"{id_} says {says}, but Argo CD shows it as {health.status}: {why}.",
        evidence=(seen, f"Argo CD: {health.status} {excerpt(health.message, 200)}".rstrip()),
        fixes=fixes,
        likely=True,
        cause="health-check",
    )


def _is_of_the_past(resource: Resource) -> bool:
    """Whether Argo CD's message says of a state that the object no longer shows: neither words of a condition of now, nor those of a check that has found nothing."""
    shown = resource.health.message
    words = (text_at(c, field) for c in every_condition(resource.live) for field in ("type", "reason", "message"))
    return bool(shown) and _WAITING.match(shown) is None and not any(word and word in shown for word in words)


_WAITING = regex(r"\W*(?:waiting|pending|initiali[sz]ing|unknown)\b", re.IGNORECASE)


def newer_script(fleet: Fleet, group: str, kind: str) -> str:
    """The first release of Argo CD after the server's whose health script of the kind is another one, such as `3.1.8`.

    Empty if none is known, or the settings have a check of their own for the kind.
    """
    if fleet.derive(has_own_check, group, kind):
        return ""
    name = f"{group}/{kind}"
    points: Mapping[str, int] = next(
        (p for key, p in load(__package__, "health_scripts.yaml").items() if fnmatchcase(name, key)), {}
    )
    running = parse_version(fleet.version)
    if running is None:
        return ""
    by_version = sorted((version, number, text) for text, number in points.items() if (version := parse_version(text)))
    now = max((point for point in by_version if point[0] <= running), default=None)
    return next((text for version, number, text in by_version if now and version > running and number > now[1]), "")


_UNDER_WAY = regex(
    r"(?:Progress|Reconcil|Issu|Renew|Updat|Upgrad|Roll|Scal|Migrat|Restor|Creat|Delet|Terminat|Provision)ing$"
)


def _is_under_way(condition: Object) -> bool:
    """True for a condition that says that its controller is working."""
    return text_at(condition, "status") == "True" and _UNDER_WAY.search(text_at(condition, "type")) is not None


def _is_shown_message(shown: str, condition: Object) -> bool:
    """True if Argo CD's message is the condition's message."""
    message = text_at(condition, "message")
    return bool(message) and message.strip() in shown
