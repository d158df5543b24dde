"""A container gets what was meant for its neighbour

What it finds: a workload in whose new manifest one container has the command, arguments, environment, image, mounts or probe that another
container has today, while that one, which stays, has lost them.

Why it hurts: the manifest is valid and is applied; then one program starts with the arguments of another, and the other one without its own.

How to fix: name the container in a strategic merge patch. A JSON patch finds it by its index, which counts the containers above it.

Example: the second of four containers leaves the base, and the overlay's patch of `/spec/template/spec/containers/2/args` now meets the last one.

Not reported: containers of one image, a container that comes new or leaves, and values that both containers have.

Sources: RFC 6902; kubernetes-sigs/kustomize docs, patches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import App, Finding, Fleet, Location, Object, Rank, Resource, Rule
from argolint.edits import manifest_patch, set_field
from argolint.redaction import excerpt
from argolint.values import get, items
from argolint.values.kubernetes import pod_spec

_FIELDS = ("command", "args", "env", "image", "volumeMounts", "livenessProbe", "readinessProbe")
_LISTS = ("initContainers", "containers")
_KINDS = (
    ("Deployment", "apps"),
    ("StatefulSet", "apps"),
    ("DaemonSet", "apps"),
    ("CronJob", "batch"),
    ("Job", "batch"),
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for kind, group in _KINDS:
        for resource in app.of_kind(kind, group):
            if resource.desired is not None and resource.live is not None:
                found = next(_exchanges(resource, resource.desired, resource.live), None)
                if found is not None:
                    yield _finding(app, resource, resource.desired, *found)


def _exchanges(resource: Resource, desired: Object, live: Object) -> Iterator[tuple[str, str, str, str, Object]]:
    """A field, the container that lost it, the one that has it now, the list of both, and the latter's live form."""
    for place in _LISTS:
        before, after = _named(live, place), _named(desired, place)
        staying = [name for name in after if name in before]
        for field in _FIELDS:
            moved = [n for n in staying if (had := before[n].get(field)) and after[n].get(field) != had]
            for loser in moved:
                had = before[loser][field]
                if _holds(after[loser].get(field), had):
                    continue
                for taker in moved:
                    alike = _program(before[loser]) == _program(before[taker])
                    if taker != loser and after[taker].get(field) == had and not alike:
                        yield field, loser, taker, place, before[taker]


def _named(obj: Object, place: str) -> Mapping[str, Object]:
    return {str(c.get("name")): c for c in items(pod_spec(obj)[1], place) if isinstance(c, dict)}


def _holds(now: object, had: object) -> bool:
    """Whether a list keeps all that it had, next to what is new."""
    return isinstance(now, list) and isinstance(had, list) and all(entry in now for entry in had)


def _program(container: Object) -> str:
    """The image without tag and digest."""
    return str(container.get("image")).partition("@")[0].rpartition("/")[2].partition(":")[0]


def _finding(
    app: App, resource: Resource, desired: Object, field: str, loser: str, taker: str, place: str, live: Object
) -> Finding:
    base, spec = pod_spec(desired)
    names = [str(c.get("name")) for c in items(spec, place) if isinstance(c, dict)]
    at, other = (f"{base}/{place}/{names.index(name)}/{field}" for name in (taker, loser))
    steps = [*set_field(desired, other, get(desired, at)), *set_field(desired, at, live[field])]
    one, two = excerpt(taker, 63), excerpt(loser, 63)
    it = "them" if field.endswith("s") or field == "env" else "it"
    return Finding(
        message=f"Container {one} of {resource.id} gets the {field} of container {two}, which loses {it}.",
        at=Location(app.ref, resource.id, at),
        confidence="likely",
        evidence=(f"today container {two} has what Git gives {one} at {at}",),
        fixes=(
            manifest_patch(
                resource.id,
                f"Give the {field} back to container {two}",
                steps,
                f"where a JSON patch sets {it}, correct its index, or name the container in a strategic merge patch",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
