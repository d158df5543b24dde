"""A container that must not be root has the user root

What it finds: a container that a sync brings, with `runAsNonRoot: true` and `runAsUser: 0`, each in its own securityContext or in that of the pod.

Why it hurts: the kubelet starts no such container: "container's runAsUser breaks non-root policy". The Deployment is accepted, the sync succeeds, and the pods stay in CreateContainerConfigError.

How to fix: name another user, or leave the user to the image; remove `runAsNonRoot` only if the process needs root.

Example: `securityContext: {runAsUser: 0}` in the values of a chart whose pods have `runAsNonRoot: true`.

Sources: k8s.io/kubernetes pkg/kubelet/kuberuntime/security_context.go (verifyRunAsNonRoot).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fix, Fleet, Location, Object, Rank, Resource, Rule
from argolint.edits import manifest_patch
from argolint.redaction import excerpt
from argolint.values import dig, text_at
from argolint.values.kubernetes import containers, pod_spec


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload that a sync brings so."""
    for resource in app.resources:
        if (
            resource.status != "OutOfSync"
            or resource.requires_pruning
            or not resource.mentions('"runAsNonRoot"', "desired")
        ):
            continue
        known = {place for place, _ in _contradictions(resource.live)}
        new = [found for found in _contradictions(resource.desired) if found[0] not in known]
        for place, name in new[:1]:
            yield _finding(app, resource, place, name)


def _contradictions(obj: Object | None) -> Iterator[tuple[str, str]]:
    """The pointer of the user and the name of each container that must not be root and is."""
    base, spec = pod_spec(obj)
    for at, container in containers(obj):
        forbids, user = (_effective(container, at, spec, base, field) for field in ("runAsNonRoot", "runAsUser"))
        if forbids[0] is True and user[0] == 0 and not isinstance(user[0], bool):
            yield user[1], text_at(container, "name")


def _effective(container: Object, at: str, spec: Object, base: str, field: str) -> tuple[object, str]:
    """The value that counts for the container, and its pointer: its own, else that of the pod."""
    own = dig(container, "securityContext", field)
    if own is not None:
        return own, f"{at}/securityContext/{field}"
    return dig(spec, "securityContext", field), f"{base}/securityContext/{field}"


def _finding(app: App, resource: Resource, place: str, name: str) -> Finding:
    return Finding(
        message=f"Container {excerpt(name, 63)} of {resource.id} must not run as root (runAsNonRoot) and has runAsUser 0, so no new pod starts.",
        at=Location(app.ref, resource.id, place),
        confidence="proven",
        fixes=_fixes(resource, place),
    )


def _fixes(resource: Resource, place: str) -> tuple[Fix, ...]:
    step = {"op": "remove", "path": place}
    caveat = "the image has to name a user by number that is not root"
    return (manifest_patch(resource.id, "Leave the user to the image", [step], caveat),)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
