"""The Service by which the pods of a StatefulSet find each other (spec.serviceName), where no application has it.

Kubernetes runs the pods without it; only their names are unknown (kubernetes.io, StatefulSet, Stable Network ID).
"""

from __future__ import annotations

import re
from dataclasses import replace

from argolint import App, Finding, Fleet, Object, Resource, ResourceKey
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.values import dig, mapping, text_at
from argolint.values.knowledge import dump
from argolint.values.kubernetes import pod_spec

from ._ports import container_words, pod_ports
from ._surroundings import may_have_service

_STARTS = ("crash", "waits", "deadline", "unknown")
"""Causes of a workload whose containers run, and fail for a reason that they alone know."""


def unnamed(app: App, fleet: Fleet, resource: Resource, finding: Finding) -> Finding:
    """The finding with the missing Service, where the containers of a failing StatefulSet use names below it."""
    name = text_at(resource.any, "spec", "serviceName")
    if (resource.group, resource.kind) != ("apps", "StatefulSet") or not name or finding.cause not in _STARTS:
        return finding
    key = ResourceKey(app.cluster, "", "Service", resource.namespace, name)
    spec = pod_spec(resource.any)[1]
    below = re.compile(rf"[\w)}}-]\.{re.escape(name)}(?![\w-])")
    if may_have_service(app, fleet, key) or not any(below.search(word) for word in container_words(spec)):
        return finding
    facts = {"service": name, "manifest": dump([_service(resource, name, spec)]).rstrip(), "object": str(resource.id)}
    return replace(
        finding,
        message=f"{resource.id} is {resource.health.status}, and its containers use names below Service {excerpt(name, 63)} (serviceName), which no application has.",
        at=replace(finding.at, pointer="/spec/serviceName"),
        cause="reference",
        confidence="likely",
        evidence=(finding.message, *finding.evidence),
        fixes=(*advice(__package__, "no-governing-service", facts), *finding.fixes),
    )


def _service(resource: Resource, name: str, spec: Object) -> Object:
    ports = [{"name": p.name or f"port-{p.number}", "port": p.number} for p in pod_ports(spec) if p.protocol == "TCP"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": resource.namespace},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(mapping(dig(resource.any, "spec", "selector"), "matchLabels")),
            **({"ports": ports} if ports else {}),
        },
    }
