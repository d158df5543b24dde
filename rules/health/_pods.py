"""Why the pods of a workload do not run: from the resource tree, and from the Events of what is unhealthy in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from argolint import App, Edit, Event, Fix, Node, Object, Resource, ResourceId, Want
from argolint.knowledge import load
from argolint.values import containers, dig, excerpt, get

_WATCHED = 3  # objects below one workload whose Events are read: their pods fail alike
_TAINT = re.compile(r"taint\(?s?\)? \{([^:}]+): ?([^}]*)\}")
_ABSENT = re.compile(r'\b(secret|configmap|persistentvolumeclaim|serviceaccount) "([^"]+)" not found', re.IGNORECASE)
_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]+)")
_KEEP_RUNNING = ("ReplicaSet", "StatefulSet", "DaemonSet")  # their running pods are Progressing while not ready
_NOT_RUNNING = ("Degraded", "Progressing", "Unknown")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason. `cause` is pod-unschedulable's; empty when the pods start and then fail.

    `failed` is true for what is broken now, false for what may still come by itself; `since` is when the waiting began.
    """

    cause: str
    verb: str
    text: str
    node: Node
    since: datetime | None
    failed: bool


def below(app: App) -> Mapping[str, tuple[Node, ...]]:
    """By uid of a managed object: the pods, ReplicaSets and Jobs under it that are not well, in the tree's order."""
    found: dict[str, list[Node]] = defaultdict(list)
    managed = {r.uid for r in app.resources if r.uid}
    for node in app.nodes:
        if node.uid in managed or node.orphaned or not ailing(node):
            continue
        root = app.root(node)
        if root.uid in managed:
            found[root.uid].append(node)
    return {uid: tuple(nodes) for uid, nodes in found.items()}


def ailing(node: Node) -> bool:
    """Not well in Argo CD's eyes, except a pod that works: the pods of Jobs are Progressing until they end."""
    if node.health.status not in _NOT_RUNNING or status_reason(node) == "Completed":
        return False
    return status_reason(node) != "Running" or any(owner.kind in _KEEP_RUNNING for owner in node.owners)


def status_reason(node: Node) -> str:
    """What kubectl shows as STATUS of a pod; empty for other kinds."""
    return node.info.get("Status Reason", "")


def wanted_events(app: App, resource: Resource, ailing_nodes: tuple[Node, ...]) -> Iterator[Want]:
    """Events of the workload itself and of some of what is not well under it, pods first."""
    for node in _pods_first(ailing_nodes)[:_WATCHED]:
        yield Want("events", node.id, node.uid)
    if resource.uid:
        yield Want("events", resource.id, resource.uid)


def watched_below(app: App, node: Node) -> tuple[Node, ...]:
    """What is not well under one object of the tree, pods first, and no more of it than is worth reading Events of."""
    return tuple(_pods_first(tuple(n for n in app.descendants(node.uid) if ailing(n)))[:_WATCHED])


def troubles(app: App, resource: Resource, ailing_nodes: tuple[Node, ...]) -> tuple[Trouble, ...]:
    """What is known of these nodes and of the workload itself, one entry a node at most, the surest first."""
    own = app.node(resource.id) if resource.uid else None
    return _troubles(app, (*_pods_first(ailing_nodes), *([own] if own else [])))


def troubles_below(app: App, node: Node) -> tuple[Trouble, ...]:
    """The same for any object of the tree, a hook for instance."""
    return _troubles(app, (*watched_below(app, node), node))


def _troubles(app: App, nodes: tuple[Node, ...]) -> tuple[Trouble, ...]:
    found = [t for node in nodes if (t := _of(app, node, degraded=node.health.status == "Degraded"))]
    return tuple(sorted(found, key=lambda t: (t.cause in ("", "unknown"), not t.failed)))


def _pods_first(nodes: tuple[Node, ...]) -> list[Node]:
    return sorted(nodes, key=lambda n: n.id.kind != "Pod")


def _of(app: App, node: Node, *, degraded: bool) -> Trouble | None:
    events = [e for e in app.events(node.id, node.uid) or () if e.type != "Normal"]
    newest = next((e for e in events if e.reason == "FailedScheduling"), None)
    if newest is not None and status_reason(node) in ("", "Pending", "SchedulingGated"):
        cause, text = scheduling(newest.message)
        return Trouble(cause, "cannot be scheduled", text, node, node.created_at, degraded)
    told = [
        status_reason(node),
        node.health.message if degraded else "",
        *(f"{e.reason}: {e.message}" for e in events),
    ]
    for text in filter(None, told):
        known = _known(text)
        if known is not None:
            cause, verb = known
            better = text if " " in text else _sharper(events, cause) or text
            failed = degraded or cause == "quota"
            return Trouble(cause, verb, excerpt(better), node, node.created_at, failed)
    if node.id.kind == "Pod" and status_reason(node) in ("Pending", "ContainerCreating", "PodInitializing"):
        return Trouble(
            "unknown",
            "do not start",
            f"status {status_reason(node)}, and no Event tells why",
            node,
            node.created_at,
            failed=False,
        )
    return None


def _sharper(events: list[Event], cause: str) -> str:
    """An Event's sentence says more than the one word of a container's state."""
    told = [f"{e.reason}: {e.message}" for e in events]
    alike = [text for text in told if (known := _known(text)) and known[0] == cause]
    return next(iter((*alike, *(t for t in told if t.startswith("Failed:")))), "")


@cache
def _patterns(name: str) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (entry["cause"], entry.get("verb", ""), re.compile(entry["match"], re.IGNORECASE))
        for entry in load(__package__, "pod_reasons.yaml")[name]
    )


def _known(text: str) -> tuple[str, str] | None:
    return next(((cause, verb) for cause, verb, match in _patterns("reasons") if match.search(text)), None)


_ITEM = re.compile(r"^(\d+)\s+(.*)$", re.DOTALL)
_PREEMPTION = re.compile(r"\s*(no new claims to deallocate,?\s*)?preemption:.*$", re.DOTALL | re.IGNORECASE)


def scheduling(message: str) -> tuple[str, str]:
    """(cause, text) of a FailedScheduling message such as `0/3 nodes are available: 1 …, 2 …. preemption: …`.

    The item that stops most nodes decides; the scheduler's remark on preemption is left out of the text.
    """
    text = _PREEMPTION.sub("", message).strip()
    _, found, body = text.partition("nodes are available:")
    best, cause = -1, "unknown"
    for part in _parts(body if found else text):
        counted = _ITEM.match(part)
        weight = int(counted.group(1)) if counted else 0
        sort = next((c for c, _, match in _patterns("scheduling") if match.search(part)), "")
        if sort and weight > best:
            best, cause = weight, sort
    return cause, excerpt(text)


def _parts(body: str) -> list[str]:
    """The items between commas; a taint `{key: value}` may hold commas of its own."""
    return [part.strip().rstrip(".") for part in re.split(r",\s*(?=\d+ )", body)]


def pointer_of(obj: Object | None, trouble: Trouble) -> str:
    """The field of the workload that decides, as far as the manifest has one."""
    spec = "/spec" if dig(obj, "kind") == "Pod" else "/spec/template/spec"
    match trouble.cause:
        case "selector":
            return next(
                (
                    f"{spec}/{f}"
                    for f in ("nodeSelector", "affinity", "topologySpreadConstraints")
                    if get(obj, f"{spec}/{f}", None)
                ),
                "",
            )
        case "taint":
            return f"{spec}/tolerations" if get(obj, spec, None) else ""
        case "volume":
            return next((p for p in (f"{spec}/volumes", "/spec/volumeClaimTemplates") if get(obj, p, None)), "")
        case "quota":
            return "/spec/replicas" if get(obj, "/spec/replicas", None) is not None else ""
        case "resources":
            short = set(_INSUFFICIENT.findall(trouble.text))
            asked = [
                (p, set(dig(c, "resources", "requests") or dig(c, "resources", "limits") or {}))
                for p, c in containers(obj)
            ]
            return next((f"{p}/resources" for p, names in asked if names & short), "")
        case "image":
            return next((f"{p}/image" for p, c in containers(obj) if str(c.get("image")) in trouble.text), "")
    return ""


def fixes(app: App, id_: ResourceId, obj: Object | None, trouble: Trouble) -> Iterator[Fix]:
    """Ways to let the pods run, for the workload `id_` whose manifest is `obj` (None: not known)."""
    where, namespace = str(id_), id_.namespace or "default"
    pointer = pointer_of(obj, trouble)
    absent = _ABSENT.search(trouble.text)
    if absent:
        kind, name = absent.group(1).lower(), absent.group(2)
        yield Fix(
            f'Create the {kind} "{name}" in namespace {namespace}, or name one that is there',
            "manifest",
            where,
            Edit("command", f"kubectl -n {namespace} get {kind}"),
            resource=id_,
        )
        return
    match trouble.cause:
        case "selector" if pointer and obj is not None:
            yield Fix(
                f"Remove {pointer}, or write what the nodes have",
                "manifest",
                where,
                Edit("json-patch", [{"op": "remove", "path": pointer}]),
                caveat="the pods may then run on any node",
                resource=id_,
            )
            selector = get(obj, pointer, None) if pointer.endswith("nodeSelector") else None
            if isinstance(selector, dict):
                labels = " ".join(f"{k}={v}" for k, v in sorted(selector.items()))
                yield Fix(
                    "Or label a node", "live", app.cluster, Edit("command", f"kubectl label node <node> {labels}")
                )
        case "selector":
            yield Fix(
                "Ask for labels that the nodes have (nodeSelector, affinity, topology spread)",
                "manifest",
                where,
                Edit("command", "kubectl get nodes --show-labels"),
                resource=id_,
            )
        case "resources":
            short = ", ".join(sorted(set(_INSUFFICIENT.findall(trouble.text)))) or "resources"
            yield Fix(
                f"Request less {short} than a node has free, or none of it where nodes do not offer it",
                "manifest",
                where,
                Edit("command", "kubectl describe nodes | grep -A8 -e Allocatable -e 'Allocated resources'"),
                resource=id_,
            )
            yield Fix(
                "Or add nodes that offer it",
                "live",
                app.cluster,
                Edit("command", "kubectl get nodes"),
                caveat="costs nodes",
            )
        case "taint":
            taints = _TAINT.findall(trouble.text)
            tolerations = "".join(
                f"\n- key: {key.strip()}\n  operator: {'Equal' if value.strip() else 'Exists'}"
                + (f"\n  value: {value.strip()}" if value.strip() else "")
                for key, value in taints
            )
            if tolerations:
                yield Fix(
                    "Tolerate the taint, if the pods belong on those nodes",
                    "manifest",
                    where,
                    Edit("yaml", f"tolerations:{tolerations}"),
                    resource=id_,
                )
            yield Fix(
                "Or free a node of the taint",
                "live",
                app.cluster,
                Edit("command", "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints"),
            )
        case "quota":
            yield Fix(
                "Raise the quota, or lower replicas or requests until they fit",
                "manifest",
                f"the ResourceQuota of namespace {namespace}, or {where}",
                Edit("command", f"kubectl -n {namespace} describe resourcequota,limitrange"),
            )
        case "image":
            yield Fix(
                "Correct the image's name or tag, or give the pods credentials (imagePullSecrets)",
                "manifest",
                where,
                Edit("command", f"kubectl -n {namespace} describe pod {trouble.node.id.name} | tail -20"),
                resource=id_,
            )
        case "volume":
            yield Fix(
                "Provide what the pods mount: the claim, its volume, the Secret or the ConfigMap",
                "manifest",
                where,
                Edit(
                    "command",
                    f"kubectl -n {namespace} get pvc,secret,configmap; kubectl -n {namespace} describe pod {trouble.node.id.name} | tail -20",
                ),
                resource=id_,
            )
        case _:
            yield Fix(
                "Read what stops the pod",
                "live",
                where,
                Edit(
                    "command",
                    f"kubectl -n {namespace} describe {trouble.node.id.kind.lower()} {trouble.node.id.name} | tail -20",
                ),
            )
