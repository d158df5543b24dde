"""Something is paused or suspended

What it finds: an object that Argo CD shows as Suspended, or whose own field says that it is paused: a Deployment, a Rollout in
its steps, a CronJob, an autoscaler.

Why it hurts: nothing is broken, but new revisions do not roll out, or jobs do not run, for as long as nobody goes on.

How to fix: resume it, or take the field out of Git.

Example: a Deployment with `paused: true` in Git, left over from a debugging session.

Sources: gitops-engine/pkg/health, resource_customizations of Argo CD (the table suspended.yaml); kedacore/keda#6982.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Resource, Rule, Symptom
from argolint.knowledge import load
from argolint.values import excerpt, get, split_pointer


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object."""
    for resource in app.resources:
        found = _switch(resource) if (resource.group, resource.kind) in _switches() else None
        if found is not None or resource.health.status == "Suspended":
            yield _finding(app, resource, *(found or ("", "suspended")))


@cache
def _switches() -> Mapping[tuple[str, str], Sequence[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for entry in load(__package__, "suspended.yaml"):
        found.setdefault((entry["group"], entry["kind"]), []).append(entry)
    return found


def _switch(resource: Resource) -> tuple[str, str] | None:
    """(pointer, word) of what stops it; None when nothing does."""
    for entry in _switches()[resource.group, resource.kind]:
        if not resource.mentions(f'"{split_pointer(entry["pointer"])[-1]}"'):
            continue  # no such field: nearly all objects are told so without decoding them
        value = get(resource.live or resource.desired, entry["pointer"], None)
        if value not in (None, False, "false", {}, []):
            return entry["pointer"], entry["word"]
    return None


def _finding(app: App, resource: Resource, pointer: str, word: str) -> Finding:
    in_git = bool(pointer) and get(resource.desired, pointer, None) is not None
    told = f' ("{excerpt(resource.health.message)}")' if resource.health.message else ""
    by = "in Git" if in_git else "live"
    return Finding(
        message=f"{resource.id} is {word} {by}{told}, so it does nothing until somebody resumes it.",
        at=Location(app.ref, resource.id, pointer),
        evidence=(f"health {resource.health.status or 'not checked'}",),
        fixes=tuple(_fixes(app, resource, pointer, in_git=in_git)),
        explains=(Symptom.health(resource.id),) if resource.health.status == "Suspended" else (),
    )


def _fixes(app: App, resource: Resource, pointer: str, *, in_git: bool) -> Iterator[Fix]:
    if in_git:
        yield Fix(
            f"Remove {pointer} from Git",
            "manifest",
            str(resource.id),
            Edit("json-patch", [{"op": "remove", "path": pointer}]),
            caveat="it goes on at the next sync",
            resource=resource.id,
        )
    else:
        yield Fix(
            "Resume it",
            "live",
            str(resource.id),
            Edit(
                "command", f"argocd app actions list {app.ref} --kind {resource.kind} --resource-name {resource.name}"
            ),
        )


RULE = Rule(id="suspended", family="health", severity="info", doc=__doc__, check=check)
