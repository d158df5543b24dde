"""A container that the pod template does not have, which a webhook adds to each pod and the API server refuses.

Sources: k8s.io/api admissionregistration/v1; open-telemetry/opentelemetry-operator (docs of auto-instrumentation; its webhook writes the default images).
"""

from __future__ import annotations

from dataclasses import replace

from argolint import Finding, Resource
from argolint.edits.advice import advice
from argolint.values import annotations_of, get, maps
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

_FIELD = regex(
    r"spec\.(?P<list>initContainers|containers)\[(?P<number>\d{1,3})\]\.(?P<field>\w{1,60}): (?P<why>[A-Z][\w ]{2,40})"
)
_INSTRUMENTED = "instrumentation.opentelemetry.io/inject-"


def added(finding: Finding, workload: Resource, said: str) -> Finding | None:
    """The finding where the refused container is behind the last one of the template; None for one that the template may have."""
    at, spec = pod_spec(workload.live)
    found = _FIELD.search(said)
    if not at or found is None or int(found["number"]) < len(maps(spec, found["list"])):
        return None
    template = get(workload.live, at.removesuffix("/spec"), {})
    asked = {k: v for k, v in annotations_of(template).items() if k.startswith(_INSTRUMENTED) and v != "false"}
    annotation, value = next(iter(asked.items()), ("", ""))
    space, _, name = value.rpartition("/")
    facts = {
        "object": str(workload.id),
        "annotation": annotation,
        "language": annotation.removeprefix(_INSTRUMENTED),
        "namespace": space or workload.namespace,
        "name": "" if value == "true" else name,
    }
    what = "an init container" if found["list"] == "initContainers" else "a container"
    who = "the OpenTelemetry operator" if annotation else "a webhook"
    return replace(
        finding,
        message=f"Pods of {workload.id} cannot be created: {who} adds {what}, and the API server refuses its {found['field']} ({found['why']}).",
        evidence=(
            *finding.evidence,
            f"the template has {len(maps(spec, found['list']))} {found['list']}",
            *map(": ".join, asked.items()),
        ),
        at=replace(finding.at, pointer=at if not annotation else f"{at.removesuffix('/spec')}/metadata/annotations"),
        cause="policy",
        confidence="likely",
        fixes=advice(__package__, "container-added", facts),
    )
