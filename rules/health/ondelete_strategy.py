"""A new revision never rolls out by itself

What it finds: a StatefulSet or DaemonSet with the update strategy OnDelete and pods of an older revision.

Why it hurts: Argo CD shows Synced and Healthy, but the change in Git reaches no pod before someone deletes it.

How to fix: RollingUpdate, or delete the old pods.

Example: a log collector with `updateStrategy: {type: OnDelete}` after a new image was synced.

Sources: gitops-engine/pkg/health/health_daemonset.go and health_statefulset.go; Kubernetes' documentation of update strategies.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Resource, Rule
from argolint.edits import live_command, manifest_patch
from argolint.values import dig, mapping, number_at, sh

_KINDS = ("StatefulSet", "DaemonSet")


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has such kinds: the list has neither the strategy nor the number of old pods."""
    return any(any(app.of_kind(kind, "apps")) for kind in _KINDS)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload with old pods."""
    for kind in _KINDS:
        for resource in app.of_kind(kind, "apps"):
            if dig(resource.live, "spec", "updateStrategy", "type") == "OnDelete":
                old, total = _old_and_wanted_pods(resource)
                if old > 0:
                    yield _finding(app, resource, old, total)


def _old_and_wanted_pods(resource: Resource) -> tuple[int, int]:
    """(pods of an older revision, wanted pods), from the object's own status."""
    status = mapping(resource.live, "status")
    if resource.kind == "DaemonSet":
        total = number_at(status, "desiredNumberScheduled")
        return total - number_at(status, "updatedNumberScheduled"), total
    total = number_at(status, "replicas")
    current, update = status.get("currentRevision"), status.get("updateRevision")
    if not update or current == update:
        return 0, total
    return total - number_at(status, "updatedReplicas"), total


def _finding(app: App, resource: Resource, old: int, total: int) -> Finding:
    in_git = dig(resource.desired, "spec", "updateStrategy", "type") == "OnDelete"
    namespace = f"-n {sh(resource.namespace)} " if resource.namespace else ""
    labels = mapping(resource.live, "spec", "selector", "matchLabels")
    selector = ",".join(f"{k}={v}" for k, v in sorted(labels.items()))
    patch = [{"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "RollingUpdate"}}]
    return Finding(
        message=f"{old} of {total} pods of {resource.id} run an older revision: under OnDelete they change only when they are deleted.",
        at=Location(app.ref, resource.id, "/spec/updateStrategy/type"),
        fixes=(
            *(
                [
                    manifest_patch(
                        resource.id,
                        "Let the pods roll",
                        patch,
                        "the old pods are replaced at once, one after the other",
                    )
                ]
                if in_git
                else []
            ),
            live_command(
                resource.id,
                "Or delete the old pods when it suits",
                f"kubectl {namespace}delete pod -l {sh(selector)}",
                "all of them are deleted at once",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="info", check=check, reads=reads)
