"""A rolling update that its own earlier pods hold up: they have the room that the new pods need, stay on a revision that does not start, or do not end.

Sources: k8s.io/kubernetes pkg/controller/deployment/rolling.go (an earlier pod goes only while more than replicas less maxUnavailable are available),
pkg/controller/statefulset/stateful_set_control.go (with OrderedReady a pod that is not ready is awaited, not replaced); Kubernetes 1.36.3, tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Location,
    Node,
    Object,
    Related,
    Resource,
    ResourceId,
    Symptom,
    Want,
)
from argolint.edits import live_command, manifest_patch, set_fields
from argolint.edits.advice import advice
from argolint.values import dig, enumerated, get, items, mapping, maps, number_at, parse_time, sh, text_at, texts
from argolint.values.kubernetes import kubectl_name, pod_spec
from argolint.values.patterns import regex

from ..shared.labels import label_selector, labels_at
from ..shared.pods import Trouble, status_reason
from ._host_ports import NO_PORT, host_ports
from ._replicas import in_update

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_QUOTA = regex(r"exceeded quota: ")
_APART = regex(r"didn't (?:match|satisfy)[^,]{0,40} anti-affinity")
_SPREAD = regex(r"didn't match pod topology spread constraints(?! \(missing)")
_ONE_POD = regex(r"ReadWriteOncePod access mode already in-use")
_ATTACHED = regex(r"Volume is already used by pod\(s\) (?P<pod>[a-z0-9][\w.-]{0,252})")


def is_held_by_earlier_pods(resource: Resource, trouble: Trouble) -> bool:
    """Whether new pods of a Deployment lack what its earlier pods have, and its strategy lets none of those go before."""
    return keeps_earlier_pods(resource) and _competes(resource, trouble)


def keeps_earlier_pods(resource: Resource) -> bool:
    """Whether a Deployment is in an update that ends no earlier pod before a new one is ready."""
    status = mapping(resource.live, "status")
    earlier = number_at(status, "replicas") - number_at(status, "updatedReplicas")
    wanted = number_at(resource.live, "spec", "replicas")
    return resource.kind == "Deployment" and earlier > 0 and in_update(resource.live, wanted).away == 0


_ALL = regex(
    r"0/(?P<all>\d{1,6}) nodes are available: (?P=all) node\(s\) didn't (?:have free ports|match pod anti-affinity rules)[^,]{0,60}$"
)


def one_for_each_node(resource: Resource, trouble: Trouble) -> int:
    """The number of nodes, if each of them has a pod of the workload, and none takes two; 0 otherwise."""
    terms = maps(pod_spec(resource.live)[1], "affinity", "podAntiAffinity", _REQUIRED)
    by_node = NO_PORT.search(trouble.text) or any(t.get("topologyKey") == "kubernetes.io/hostname" for t in terms)
    found = _ALL.search(trouble.text) if by_node and _competes(resource, trouble) else None
    ready = number_at(resource.live, "status", "readyReplicas")
    nodes = int(found["all"]) if found else 0
    return nodes if nodes and nodes <= ready < number_at(resource.live, "spec", "replicas") else 0


def fewer_fix(resource: Resource, nodes: int) -> Fix | None:
    """As many replicas as there are nodes; None where Git's manifest does not write their number."""
    if not isinstance(dig(resource.desired, "spec", "replicas"), int):
        return None
    step = {"op": "replace", "path": "/spec/replicas", "value": nodes}
    plural = "s" if nodes > 1 else ""
    return manifest_patch(resource.id, f"Run {nodes} replica{plural}, one for each node", [step], "or add nodes")


def _competes(resource: Resource, trouble: Trouble) -> bool:
    """Whether the sentence is about what an earlier pod of the same template takes too."""
    at, spec = pod_spec(resource.live)
    if trouble.cause == "quota":
        return _QUOTA.search(trouble.text) is not None
    if NO_PORT.search(trouble.text):
        return bool(host_ports(resource.live))
    if _ONE_POD.search(trouble.text):
        return any("persistentVolumeClaim" in volume for volume in maps(spec, "volumes"))
    if (attached := _ATTACHED.search(trouble.whole or trouble.text)) is not None:
        return attached["pod"].startswith(f"{resource.name}-")
    labels = labels_at(_metadata(resource.live, at))
    if _SPREAD.search(trouble.text):
        hard = (c for c in maps(spec, "topologySpreadConstraints") if c.get("whenUnsatisfiable") == "DoNotSchedule")
        return any(_selects_earlier_pods(c, labels) for c in hard)
    apart = maps(spec, "affinity", "podAntiAffinity", _REQUIRED) if _APART.search(trouble.text) else ()
    return any(_selects_earlier_pods(term, labels) for term in apart)


def _selects_earlier_pods(term: Object, labels: Mapping[str, str]) -> bool:
    """Whether a term of affinity or spread counts pods of every revision."""
    chosen = label_selector(term.get("labelSelector"))
    of_one = "pod-template-hash" in items(term, "matchLabelKeys")
    return chosen is not None and not chosen.empty and chosen.matches(labels) and not of_one


def _metadata(obj: Object | None, at: str) -> Object:
    return mapping(obj, *at.strip("/").split("/")[:-1], "metadata")


def room_fix(resource: Resource, *, perhaps: bool = False) -> Fix | None:
    """The strategy that ends an earlier pod before its successor starts; None where Git's manifest cannot be edited so.

    `perhaps`: the earlier pods may ask for less than the new ones.
    """
    path = "/spec/strategy/rollingUpdate"
    steps = set_fields(resource.desired, {f"{path}/maxSurge": 0, f"{path}/maxUnavailable": 1})
    if not steps:
        return None
    alone = number_at(resource.live, "spec", "replicas") == 1
    caveat = "no pod serves for a moment in each update" if alone else "one pod fewer serves while the update runs"
    if perhaps:
        title = "Or let an earlier pod go before its successor starts, if it asks for as much"
        return manifest_patch(resource.id, title, steps, caveat)
    return manifest_patch(resource.id, "End an earlier pod before its successor starts", steps, caveat)


def keeps_unready_pods(resource: Resource) -> bool:
    """Whether it is a StatefulSet that waits for a pod to be ready before it replaces it."""
    return resource.kind == "StatefulSet" and dig(resource.live, "spec", "podManagementPolicy") != "Parallel"


def with_next_step(
    resource: Resource, pod: ResourceId | None, fixes: tuple[Fix, ...], cause: str | None = None
) -> tuple[Fix, ...]:
    """The fixes, and what has to go after an edit of the pod template: a Job, which takes none, or the pod that a StatefulSet does not replace."""
    if pod is None or not fixes or (fixes[0].target, fixes[0].resource) != ("manifest", resource.id) or fixes[0].before:
        return fixes
    if resource.kind == "Job":
        title = "After the edit delete the Job, since its template cannot change in place"
        command = f"kubectl delete {kubectl_name(resource.id)}"
    elif cause == "reference" and fixes[0].edit.kind != "json-patch":
        return fixes  # what is missing is to be made: the kubelet then starts the same pod
    elif pod.kind == "Pod" and keeps_unready_pods(resource):
        title = "After the sync delete the pod, which its StatefulSet does not replace"
        command = f"kubectl -n {sh(pod.namespace)} delete pod {sh(pod.name)}"
    else:
        return fixes
    return (fixes[0], live_command(resource.id, title, command), *fixes[1:])


def stays_behind(resource: Resource, trouble: Trouble) -> bool:
    """Whether the pod belongs to an earlier revision of its StatefulSet, which waits for it instead of replacing it."""
    status = mapping(resource.live, "status")
    current = number_at(status, "observedGeneration") >= number_at(resource.live, "metadata", "generation")
    wanted = status.get("updateRevision")
    own = trouble.node.labels.get("controller-revision-hash")
    pending = any(change.pointer.startswith("/spec/template") for change in resource.changes)
    return keeps_unready_pods(resource) and current and not pending and bool(own) and bool(wanted) and own != wanted


def left_behind(finding: Finding, resource: Resource, trouble: Trouble) -> Finding:
    """The finding on such a pod: its successor gets the present template."""
    pod = trouble.node.id
    delete = Edit("command", f"kubectl -n {sh(pod.namespace)} delete pod {sh(pod.name)}")
    return replace(
        finding,
        message=f"{pod} keeps an earlier revision that does not run, and {resource.id} waits for it instead of replacing it.",
        at=replace(finding.at, pointer=""),
        cause="rollout",
        confidence="proven",
        evidence=(
            f"the pod has revision {trouble.node.labels['controller-revision-hash']}, {resource.id} wants {dig(resource.live, 'status', 'updateRevision')}",
            *finding.evidence,
        ),
        fixes=(
            Fix(
                "Delete the pod: its successor gets the present template",
                "live",
                str(pod),
                delete,
                caveat="its claims stay",
            ),
        ),
    )


def ending_pods(resource: Resource, nodes: Sequence[Node]) -> Iterator[Node]:
    """The pods that are being deleted, if the controller of the workload makes no successor before their end."""
    recreates = dig(resource.live, "spec", "strategy", "type") == "Recreate"
    if resource.kind in ("StatefulSet", "DaemonSet") or (resource.kind == "Deployment" and recreates):
        yield from (node for node in nodes if node.id.kind == "Pod" and status_reason(node) == "Terminating")


def not_ended(app: App, resource: Resource, nodes: Sequence[Node], patience: timedelta) -> Finding | None:
    """The finding on the first of these pods that should have ended some time ago."""
    for node in ending_pods(resource, nodes):
        live = app.evidence.get(Want("live", node.id))
        due = parse_time(dig(live, "metadata", "deletionTimestamp"))  # it has the time for the shutdown in it
        if isinstance(live, Mapping) and due is not None and app.observed_at - due > patience:
            return _not_ended(app, resource, node.id, live, due)
    return None


def _not_ended(app: App, resource: Resource, pod: ResourceId, live: Object, due: datetime) -> Finding:
    finalizers, host = texts(live, "metadata", "finalizers"), text_at(live, "spec", "nodeName")
    why = f"keeps the finalizer {finalizers[0]}" if finalizers else f"its node {host} does not confirm"
    facts = {"pod": pod.name, "namespace": pod.namespace, "host": host, "finalizers": enumerated(finalizers)}
    at = f"{pod_spec(resource.desired)[0].removesuffix('/spec')}/metadata/finalizers"
    written = bool(get(resource.desired, at, None))
    return Finding(
        message=f"{resource.id} waits for the end of {pod}, which {why}.",
        at=Location(app.ref, resource.id, at if written else ""),
        cause="rollout",
        confidence="proven",
        evidence=(f"{pod} should have ended at {due:%Y-%m-%d %H:%M:%SZ}", f"health: {resource.health.message}"),
        related=(Related(app.ref, pod, role="symptom"),),
        fixes=advice(__package__, "pod-not-ended", {**facts, "pointer": at if written else ""}, resource.id),
        explains=(Symptom.health(resource.id), Symptom.health(pod)),
    )
