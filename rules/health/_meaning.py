"""What a sentence about an unhealthy object means, and the fixes for it: by the catalogue of messages and `advice.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import Fix, Resource, ResourceId
from argolint.edits.advice import Shell, advice
from argolint.messages import Match
from argolint.redaction import excerpt
from argolint.values import dig, labels_of, mapping, maps, number_at, text_at
from argolint.values.kubernetes import kubectl_kind, kubectl_name
from argolint.values.patterns import regex

from ..shared.fields import field_fixes
from ..shared.messages import catalogue
from ._composites import NO_COMPOSITE
from ._grafanas import NO_FACTS
from ._scripts import NO_SCRIPT
from ._trigger_auth import NO_AUTH

_HAS_LOGS = frozenset({"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"})
"""Kinds with logs in kubectl."""


def meaning(resource: Resource, reason: str) -> Match | None:
    """The entry of the catalogue that answers the sentence."""
    return catalogue().match(reason, "health", kind=resource.kind, group=resource.group)


def of_reason(
    resource: Resource,
    reason: str,
    pod: str = "",
    job: ResourceId | None = None,
    around: Mapping[str, str] | None = None,
) -> tuple[Fix, ...]:
    """Fixes for the object's reason: by its kind's messages, by the refused field, or by any controller's messages.

    `job`: a Job that has failed for good, the object itself or below it: its containers are not started again.
    `around`: facts on other objects of its application.
    """
    found = meaning(resource, reason)
    known = found.entry if found is not None and found.entry.knows == "cause" else None
    own = known is not None and (bool(known.when.kinds) or known.cause == "controller")
    if not own and (fixes := field_fixes(resource.id, resource.desired or resource.live, reason)):
        return fixes
    if is_silent(resource) and (found is None or found.entry.knows != "cause"):
        found = None  # no controller has written a message: the text of Argo CD's check shows no cause
    elif found is None and not (job and reason.startswith(f"{job}:")):
        return ()
    name, words = (found.entry.advice, found.facts) if found else ("no-status", {})
    if name == "no-status" and not is_silent(resource):
        name = "status-unread"
    named = {"what": "", "sort": "", **{key: _bare(excerpt(word)) for key, word in words.items()}}
    if name in _OF_NAMES and not _is_name(words.get("what") or ""):
        named["what"] = ""  # the form of the sentence shows the kind of fault, not the name in it
    logs = {"logs": pod} if pod else {}
    below = job if job and job != resource.id else None
    if below and reason.startswith(f"{below}:"):
        name, logs = "crash", {"logs": f"job/{below.name}"}  # no pod of the Job says more than the Job
    ends = {
        "ended": str(job or ""),
        "job": str(below or "") if resource.kind != "CronJob" else "",  # a CronJob makes the next one all the same
        "job_command": Shell(kubectl_name(below)) if below else "",
    }
    facts = {**facts_of(resource), **logs, **ends, **(around or {}), "reason": excerpt(reason, 400)}
    return advice(__package__, f"unhealthy/{name}", {**facts, **named})


def of_kind(resource: Resource, said: str) -> tuple[Fix, ...]:
    """Fixes for what the controllers of this kind say; none for a sentence that any controller may write."""
    found = meaning(resource, said)
    known = found is not None and found.entry.knows == "cause" and (found.entry.when.kinds or found.entry.when.groups)
    return of_reason(resource, said) if known else ()


def stopped_by_fault(resource: Resource) -> str:
    """What the controller of an object says that Argo CD shows as Suspended though it has failed; empty for a pause, and for what no entry knows."""
    if resource.health.status != "Suspended" or "." not in resource.group or not resource.health.message:
        return ""
    status = mapping(resource.live, "status")
    message = resource.health.message
    of_phase = f"{text_at(status, 'phase')}: {message}" if text_at(status, "phaseReason") == message else ""
    for said in filter(None, (message, of_phase)):
        found = meaning(resource, said)
        if found is not None and found.entry.knows == "cause" and found.entry.when.groups:
            return said
    return ""


_OF_NAMES = frozenset({"field-wrong", "field-unsupported", "object-named"})
"""Topics of sentences that any controller may write, whose advice uses a name from the sentence."""
_NAME = regex(r"\w[./_:\[-]\w|\d|[a-z][A-Z]|^\s*[\"'`]")


def _is_name(word: str) -> bool:
    """Whether a word of a sentence has the form of a name, or is in quotes."""
    return _NAME.search(word) is not None


def _bare(word: str) -> str:
    """A word of a sentence without its quotes."""
    bare = word.strip(" ,")
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'`" else bare


def is_silent(resource: Resource) -> bool:
    """Whether the controller of a custom resource has written no status, so that a health check has nothing to wait for."""
    written = any(value for key, value in mapping(resource.live, "status").items() if key != "observedGeneration")
    return (
        resource.health.status == "Progressing" and "." in resource.group and resource.live is not None and not written
    )


def _gateway_facts(resource: Resource) -> Mapping[str, str]:
    """The first Gateway that a route names (Gateway API), and its namespace; empty without one."""
    parents = maps(resource.live, "spec", "parentRefs")
    gateway = next((p for p in parents if (text_at(p, "kind") or "Gateway") == "Gateway"), {})
    return {
        "gateway": text_at(gateway, "name"),
        "gateway_namespace": text_at(gateway, "namespace") or resource.namespace,
    }


def _listener_facts(resource: Resource) -> Mapping[str, str]:
    """Two listeners of a Gateway that conflict: the name and place of the later one, the name of the other, and what both have; else empty."""
    rows = maps(resource.live, "status", "listeners")
    bad = {
        text_at(row, "name")
        for row in rows
        if any(c.get("reason") == "HostnameConflict" and c.get("status") == "True" for c in maps(row, "conditions"))
    }
    first: dict[tuple[str, str], str] = {}
    for place, one in enumerate(maps(resource.live, "spec", "listeners")):
        name, port, host = text_at(one, "name"), str(one.get("port")), text_at(one, "hostname")
        if name in bad and (twin := first.setdefault((port, host), name)) != name:
            both = f"hostname {host}" if host else "no hostname"
            return {"listener": name, "twin": twin, "both": f"{both} on port {port}", "place": str(place)}
    return dict.fromkeys(("listener", "twin", "both", "place"), "")


def _backend_facts(resource: Resource) -> Mapping[str, str]:
    """What the backendRefs of a route name (Gateway API): its kind, with namespace and name if it is only one; a Service without any."""
    rules = maps(resource.live or resource.desired, "spec", "rules")
    refs = [ref for rule in rules for ref in maps(rule, "backendRefs")]
    named = {
        (text_at(ref, "group"), text_at(ref, "kind") or "Service", text_at(ref, "namespace"), text_at(ref, "name"))
        for ref in refs
    }
    kinds = {(group, kind) for group, kind, _, _ in named} or {("", "Service")}
    if len(kinds) > 1:
        return {"backend": "object", "backend_kind": "services", "backend_namespace": resource.namespace}
    group, kind = next(iter(kinds))
    command = f"{kind}.{group}".rstrip(".").lower()
    one = next(iter(named)) if len(named) == 1 else None
    namespace = (one[2] if one else "") or resource.namespace
    backend = f"{kind} {namespace}/{one[3]}" if one else kind
    return {"backend": backend, "backend_kind": command, "backend_namespace": namespace or "default"}


def _keda_facts(resource: Resource) -> Mapping[str, str]:
    """Of a ScaledObject: whether none of its triggers fails by its own count, and the kind that it scales, if a CRD defines that."""
    counts = [number_at(health, "numberOfFailures") for health in mapping(resource.live, "status", "health").values()]
    target = mapping(resource.any, "spec", "scaleTargetRef")
    group = text_at(target, "apiVersion").partition("/")[0]
    return {
        "answering": "yes" if counts and not any(counts) else "",
        "custom": text_at(target, "kind") if "." in group and not group.endswith("k8s.io") else "",
    }


def _delay_facts(resource: Resource) -> Mapping[str, str]:
    """A Rollout's progressDeadlineSeconds and a longer scaleDownDelaySeconds, where all pods of the new version are up; else empty.

    Until the old pods go, the controller sees no progress (argoproj/argo-rollouts#3414).
    """
    spec, status = mapping(resource.live, "spec"), mapping(resource.live, "status")
    delay = max(number_at(spec, "strategy", way, "scaleDownDelaySeconds") for way in ("canary", "blueGreen"))
    deadline, wanted = number_at(spec, "progressDeadlineSeconds") or 600, number_at(spec, "replicas")
    up = min(number_at(status, "updatedReplicas"), number_at(status, "availableReplicas")) >= wanted > 0
    holds = resource.kind == "Rollout" and up and delay > deadline
    return {"deadline": str(deadline) if holds else "", "delay": str(delay) if holds else "", "above": str(delay + 600)}


def facts_of(resource: Resource) -> Mapping[str, str]:
    """The facts of advice on the object: the head of `advice.yaml` lists them."""
    group = f"{resource.group}_" if resource.group else ""
    return {
        **_gateway_facts(resource),
        **_listener_facts(resource),
        **_delay_facts(resource),
        "object": str(resource.id),
        "kind": kubectl_kind(resource.id),
        "name": resource.name,
        "namespace": resource.namespace or "default",
        "cluster": text_at(resource.any, "spec", "cluster", "name") or resource.name,
        "service": "/".join(text_at(resource.any, "spec", "service", field) for field in ("namespace", "name")).strip(
            "/"
        ),
        "acme": text_at(resource.any, "spec", "acme", "server") or "https://acme-v02.api.letsencrypt.org/directory",
        "customization": f"resource.customizations.health.{group}{resource.kind}",
        "program": resource.group.partition(".")[0] or "manager",
        "credential": text_at(resource.any, "spec", "credential", "name"),
        "ended": "",
        "job": "",
        "job_command": "",
        "made": "",
        "logs": f"{resource.kind.lower()}/{resource.name}" if resource.kind in _HAS_LOGS else "",
        **_backend_facts(resource),
        **_keda_facts(resource),
        "served": labels_of(resource.any).get("strimzi.io/cluster", "") or "CLUSTER",
        "labelled": labels_of(resource.any).get("strimzi.io/cluster", ""),
        "ill": "",
        "acl": "",
        "kafka": "",
        "zookeeper": "yes" if resource.kind == "Kafka" and dig(resource.any, "spec", "zookeeper") else "",
        **NO_FACTS,
        **NO_COMPOSITE,
        **NO_AUTH,
        **NO_SCRIPT,
        "scaled": "",
        "idle": "",
    }
