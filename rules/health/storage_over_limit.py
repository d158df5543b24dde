"""Pods are evicted again and again for more storage than they may use

What it finds: a workload of which the kubelet has evicted two pods or more within a week for a limit of their own: a container's `limits.ephemeral-storage` (`container`),
the sum of those (`pod`), or the `sizeLimit` of an emptyDir (`volume`).

Why it hurts: each eviction ends the pod and what it has written. Its successor fills the same limit; between two evictions the workload is Healthy.

How to fix: raise the limit above what a pod writes in its life, or let it write less: rotate files, clean up, write to a claim.

Example: a container with `limits: {ephemeral-storage: 100Mi}` that writes a log file into /tmp.

Sources: k8s.io/kubernetes pkg/kubelet/eviction/eviction_manager.go (localStorageEviction); gitops-engine/pkg/health/health_pod.go, which shows the message of a failed pod.
What a node evicts because it is itself short of disk is another fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from argolint import App, Finding, Fleet, Location, Node, Object, Rank, Related, Resource, Rule, Symptom
from argolint.edits.advice import advice
from argolint.values import dig, get, maps, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.pods import status_reason

_OVER = regex(
    r"Usage of EmptyDir volume \"(?P<volume>[^\"]{1,63})\" exceeds the limit \"(?P<size>[^\"]{1,40})\""
    r"|Container (?P<container>[a-z0-9-]{1,63}) exceeded its local ephemeral storage limit \"(?P<most>[^\"]{1,40})\""
    r"|Pod ephemeral local storage usage exceeds the total limit of containers (?P<sum>\w{1,40})"
)
_LATELY = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class _Limit:
    """What is too small: the sort of limit, its amount, the name of the container or volume, and its place in the workload."""

    cause: str
    most: str
    name: str
    pointer: str


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    if not any(_OVER.search(node.health.message) for node in app.nodes_of("Pod", "")):
        return
    for resource in app.with_pods():
        evicted = _evicted_lately(app, resource) if resource.uid and not resource.hook else ()
        if len(evicted) > 1 and (limit := _limit(resource.live or resource.any, evicted[0])) is not None:
            yield _finding(app, resource, evicted, limit)


def _evicted_lately(app: App, resource: Resource) -> Sequence[Node]:
    """The pods of the present template that were evicted for a limit of their own, the newest first."""
    made = [(n.created_at, n) for n in app.descendants(resource.uid) if n.id.kind == "Pod" and n.created_at]
    pods = sorted(made, key=lambda pair: pair[0], reverse=True)
    present = _template(pods[0][1]) if pods else ""
    return [
        node
        for at, node in pods
        if status_reason(node) == "Evicted"
        and _OVER.search(node.health.message)
        and _template(node) == present
        and app.observed_at - at <= _LATELY
    ]


def _template(pod: Node) -> str:
    """The hash of the template of which the pod was made; empty if its controller writes none."""
    labels = pod.labels
    return labels.get("pod-template-hash") or labels.get("controller-revision-hash") or ""


def _limit(obj: Object | None, pod: Node) -> _Limit | None:
    said = _OVER.search(pod.health.message)
    if said is None:
        return None
    limited = [(at, c) for at, c in containers(obj) if dig(c, "resources", "limits", "ephemeral-storage") is not None]
    if said["volume"]:
        base, spec = pod_spec(obj)
        names = [text_at(volume, "name") for volume in maps(spec, "volumes")]
        at = f"{base}/volumes/{names.index(said['volume'])}/emptyDir/sizeLimit" if said["volume"] in names else ""
        return _Limit("volume", said["size"], said["volume"], at if get(obj, at, None) is not None else "")
    if said["container"]:
        limited = [(at, c) for at, c in limited if c.get("name") == said["container"]]
    at = f"{limited[0][0]}/resources/limits/ephemeral-storage" if len(limited) == 1 else ""
    name = text_at(limited[0][1], "name") if len(limited) == 1 else said["container"] or ""
    return _Limit("container" if said["container"] else "pod", said["most"] or said["sum"], name, at)


def _finding(app: App, resource: Resource, evicted: Sequence[Node], limit: _Limit) -> Finding:
    over = {
        "volume": f"volume {limit.name} held more than its sizeLimit of {limit.most}",
        "container": f"container {limit.name} wrote more than its ephemeral-storage limit of {limit.most}",
        "pod": f"they wrote more than {limit.most}, the ephemeral-storage limit of their containers",
    }[limit.cause]
    shown = resource.health.status not in ("", "Healthy")
    return Finding(
        message=f"{len(evicted)} pods of {resource.id} were evicted within a week, since {over}.",
        at=Location(app.ref, resource.id, limit.pointer),
        cause=limit.cause,
        severity="error" if shown else "warning",
        evidence=(
            *(
                f"{node.id}, created {node.created_at:%Y-%m-%d %H:%MZ}: {node.health.message.strip()}"
                for node in evicted[:3]
            ),
            *_COUNTED.get(limit.cause, ()),
        ),
        related=tuple(Related(app.ref, node.id, role="symptom") for node in evicted[:5]),
        fixes=advice(
            __package__,
            f"storage-over-limit/{'volume' if limit.cause == 'volume' else 'storage'}",
            {
                "object": str(resource.id),
                "name": limit.name,
                "container": limit.name or "...",
                "node": evicted[0].id.name,
            },
        ),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in evicted)) if shown else (),
    )


_COUNTED = {
    "container": ("its logs count too",),
    "pod": ("emptyDir volumes on disk and the logs of its containers count too",),
}
"""What the kubelet counts (podEphemeralStorageLimitEviction, containerEphemeralStorageLimitEviction)."""


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    causes=("container", "pod", "volume"),
    rank=Rank.CAUSE,
)
