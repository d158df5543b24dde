"""Objects that have been Progressing for too long, their Events, and the hook that a sync runs only after them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Fix, Object, Resource, Want
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.sequence.order import hook_phases
from argolint.values import age_text, items, maps, text_at
from argolint.values.kubernetes import containers, pod_spec

from ..shared.age import Patience, is_health_counted, is_overdue, waited_time, waiting_since


def overdue_resources(app: App, options: Patience, kind: str, *groups: str) -> Iterator[Resource]:
    """Managed objects of the kind that have been Progressing for longer than the option allows."""
    for resource in app.of_kind(kind):
        there = resource.live is not None or (resource.hook and resource.uid)  # hooks are not among the managed objects
        waits = resource.group in groups and resource.health.status == "Progressing" and there
        if (
            waits
            and is_overdue(app, waiting_since(resource), options.span)
            and (is_health_counted(resource) or app.is_awaiting(resource.id))
        ):
            yield resource


def event_wants(resources: Iterator[Resource]) -> Iterator[Want]:
    """Their Events."""
    return (Want("events", r.id, r.uid) for r in resources if r.uid)


def waiting_time(app: App, resource: Resource) -> str:
    """How long it has waited, as a text."""
    span = waited_time(app, waiting_since(resource))
    return age_text(span) if span else "an unknown time"


def newest_warning(app: App, resource: Resource) -> str:
    """The newest Warning Event; empty if there is none or Events could not be read."""
    found = next((e for e in app.events(resource.id, resource.uid) or () if e.type == "Warning"), None)
    return excerpt(f"{found.reason}: {found.message}", 600) if found else ""


def waiting_evidence(app: App, resource: Resource) -> tuple[str, ...]:
    """Evidence lines: its health, its newest Warning Event or that Events are missing, and that the operation waits for it."""
    lines = [f"health {resource.health.status} {resource.health.message}".rstrip()]
    event = newest_warning(app, resource)
    if event:
        lines.append(event)
    elif app.events(resource.id, resource.uid) is None:
        lines.append("its Events could not be read")
    if app.is_awaiting(resource.id):
        lines.append("the running operation waits for this object")
    return tuple(lines)


def hook_fixes(app: App, resource: Resource) -> tuple[Fix, ...]:
    """For a workload that the running sync waits for: the PostSync hook that calls it, and that may be what makes it ready; any, if no hook is known."""
    awaited = app.operation.awaited if app.operation else None
    waits = awaited is not None and awaited.reason == "healthy state of" and awaited.is_(resource.id)
    if not waits or not pod_spec(resource.any)[1]:
        return ()
    manifests = app.evidence.get(Want("manifests"))
    if manifests is None:
        return advice(__package__, "ready-by-hook", {"object": str(resource.id), "hook": ""})
    called = re.compile(rf"(?<![\w.-]){re.escape(resource.name)}(?:-\d{{1,3}})?(?![\w-])")
    for manifest in manifests:
        texts = (text for _, each in containers(manifest) for text in _said(each))
        if "PostSync" in hook_phases(manifest) and any(called.search(text) for text in texts):
            hook = f"{manifest.get('kind')} {text_at(manifest, 'metadata', 'name')}"
            return advice(__package__, "ready-by-hook", {"object": str(resource.id), "hook": hook})
    return ()


def _said(container: Object) -> Iterator[str]:
    """The command line of a container, and the values of its variables."""
    for field in ("command", "args"):
        yield from (str(word) for word in items(container, field))
    yield from (text_at(variable, "value") for variable in maps(container, "env"))
