"""Edits that let pods be created and placed, if the message of quota or scheduler contains all that matters; and their consequences.

A quota is arithmetic: its limit, its usage, and the requests of the missing pods. The scheduler names every resource that a node has too little
of, and only for nodes that passed all filters before. So the proof of an edit of one resource needs pods that no later filter checks. One pod
for each node always fits then.

Sources: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go; pkg/scheduler/apis/config/v1/default_plugins.go (the order of filters),
framework/plugins/noderesources/fit.go (insufficient resources, all of them); pkg/controller/statefulset/stateful_set_control.go (a pod
that never ran is not replaced; a new one has the update revision).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from argolint import Afterwards, App, Edit, Finding, Fix, Fleet, Json, Object, Resource, ResourceKey
from argolint.edits import manifest_patch, set_fields
from argolint.values import below, dig, get, items, join_pointer, joined, mapping, maps, sh, split_pointer
from argolint.values.kubernetes import containers, kubectl_name, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import countable, quantity

from ..shared.pods import Trouble, status_reason
from ._replicas import in_update

_QUOTA = regex(r"exceeded quota: ([\w.-]{1,253}), requested: ([\w./,=-]{1,500}), used:")
_ONE_LACKS = regex(r"0/(\d{1,6}) nodes are available: \1 Insufficient ephemeral-storage\.?")
_NONE_IS_ASKED = regex(r"0/(\d{1,6}) nodes are available: \1 node\(s\) didn't match Pod's node affinity/selector\.?")
_DISK = "ephemeral-storage"
_LOW_LIMIT = regex(
    r'spec\.(containers|initContainers)\[(\d{1,3})\]\.resources\.requests: Invalid value: "([^"]{1,63})": must be less than or equal to ([\w./-]{1,100}) limit of (\w{1,63})'
)
_SMALL = regex(r"minimum ([\w./-]{1,100}) usage per Container is (\w{1,63}), but request is (\w{1,63})")
_LITTLE = Decimal(2**30)
"""Nodes with less than this for a pod have none of it in effect: a larger request is intended."""
_MI = 2**20
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def fixes(app: App, resource: Resource, trouble: Trouble) -> Iterator[Fix]:
    """Exact edits that end the trouble, root cause first."""
    if trouble.cause == "quota" and (refused := _QUOTA.search(trouble.text)):
        yield from _quota_fixes(
            app, resource, refused[1], dict(part.split("=", 1) for part in refused[2].split(",") if "=" in part)
        )
    elif (
        trouble.cause == "resources" and _ONE_LACKS.fullmatch(trouble.text) and not _has_unscheduled_template(resource)
    ):
        yield from _no_disk_fixes(app, resource)
    elif trouble.cause == "limit" and (low := _LOW_LIMIT.search(trouble.whole)):
        yield from _limit_fixes(app, resource, *low.groups())
    elif trouble.cause == "limit" and (small := _SMALL.search(trouble.whole)):
        yield from _least_request_fixes(resource, *small.groups())


def _limit_fixes(
    app: App, resource: Resource, field: str, index: str, request: str, what: str, limit: str
) -> Iterator[Fix]:
    """A limit of its own for a container that requests more than a LimitRange's default limit; no more than the range's maximum, if it is known."""
    at = f"{pod_spec(resource.desired)[0]}/{field}/{index}/resources"
    amounts = mapping(get(resource.desired, at, {}))
    if dig(amounts, "requests", what) != request or dig(amounts, "limits", what) is not None:
        return
    asked, name = countable(request), join_pointer(what)
    for bound, place, most in _maxima(app, resource.namespace, what):
        greatest = countable(most)
        if asked is not None and greatest is not None and greatest < asked:
            steps = set_fields(resource.desired, {f"{at}/requests{name}": most, f"{at}/limits{name}": most})
            less = f"Request {most} of {what}, the most that {bound.id} takes, and write that limit"
            yield manifest_patch(resource.id, less, steps, "the container then has that much and no more")
            steps = set_fields(bound.desired, {f"{place}{name}": request})
            widened = f"Or raise the maximum of {bound.id} to {request}, and write a limit of its own"
            yield manifest_patch(bound.id, widened, steps, "it counts for every pod of the namespace")
            return
    title = f"Set a {what} limit of its own, of {request} or more"
    steps = set_fields(resource.desired, {f"{at}/limits{name}": request})
    caveat = f"a LimitRange of the namespace sets {limit} where there is none, and may have a maximum"
    yield manifest_patch(resource.id, title, steps, caveat)


def _maxima(app: App, namespace: str, what: str) -> Iterator[tuple[Resource, str, Json]]:
    """The greatest amounts that LimitRanges of the application take for one container: the range, the pointer of its maxima, and the amount."""
    for bound in app.of_kind("LimitRange", ""):
        for number, item in enumerate(maps(bound.live, "spec", "limits")):
            most = dig(item, "max", what)
            if bound.namespace == namespace and item.get("type") == "Container" and most is not None:
                yield bound, f"/spec/limits/{number}/max", most


def _least_request_fixes(resource: Resource, what: str, least: str, request: str) -> Iterator[Fix]:
    """The least request that a LimitRange takes, for the containers that ask for less."""
    small = {
        f"{pointer}/resources/requests{join_pointer(what)}": least
        for pointer, container in containers(resource.desired)
        if countable(dig(container, "resources", "requests", what)) == countable(request)
    }
    if steps := set_fields(resource.desired, small):
        yield manifest_patch(resource.id, f"Request {least} of {what}, the least that the LimitRange allows", steps)


def _has_unscheduled_template(resource: Resource) -> bool:
    """Whether Git has pods that the scheduler has not seen yet."""
    return any(below(change.pointer, pod_spec(resource.desired)[0]) for change in resource.changes)


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The effects of the edit on the workload's pods, by the rules of quota and scheduler."""
    resource = after.held(finding.at.resource)
    if resource is None or resource.live is None or fix.target != "manifest":
        return None
    if finding.cause == "quota":
        refused, unknown = next(_quota_refusals(after, fleet, resource), ("", ""))
    elif finding.cause in ("resources", "selector"):
        answer = _ONE_LACKS if finding.cause == "resources" else _NONE_IS_ASKED
        nodes = next((int(m[1]) for line in finding.evidence if (m := answer.search(line))), 0)
        refused, unknown = next(
            _placement_obstacles(resource, finding.cause, nodes, emptied=bool(fix.before)), ("", "")
        )
    else:
        return None
    return Afterwards(refused=refused, unknown=unknown, live={resource.key: resource.live})


def has_room_now(app: App, resource: Resource, trouble: Trouble) -> bool:
    """Whether the quota that refused a pod has room for it by now: the controller of the pods tries again, less and less often."""
    refused = _QUOTA.search(trouble.text) if trouble.cause == "quota" else None
    quota = app.find("", "ResourceQuota", resource.namespace, refused[1]) if refused else None
    if refused is None or quota is None:
        return False
    for part in refused[2].split(","):
        held, _, text = part.partition("=")
        most, used = (countable(dig(quota.live, "status", side, held)) for side in ("hard", "used"))
        asked = countable(text)
        if most is None or used is None or asked is None or used + asked > most:
            return False
    return True


def _quota_fixes(app: App, resource: Resource, name: str, requested: dict[str, str]) -> Iterator[Fix]:
    quota = app.resource(ResourceKey(app.cluster, "", "ResourceQuota", resource.namespace, name))
    used = {held: _pod_usage(held, resource.live) for held in requested}
    if any(used[held] != countable(text) for held, text in requested.items()):
        return  # a LimitRange, or another pod
    lacking, existing = _missing_pod_count(app, resource), _pod_count(app, resource)
    if lacking is None or existing is None:
        return
    operations: tuple[dict[str, Json], ...] = ()
    if quota is not None and quota.desired and quota.live:
        operations = tuple(_raised_limits(quota.desired, quota.live, resource.live, lacking))
        if operations:
            words = ", ".join(f"{split_pointer(o['path'])[-1]} to {o['value']}" for o in operations)
            yield manifest_patch(
                quota.id,
                f"Raise {words} in the quota, so that all pods fit",
                list(operations),
                "the namespace may then use that much",
            )
    wanted = dig(resource.desired, "spec", "replicas")
    if existing and isinstance(wanted, int) and wanted > existing:
        yield Fix(
            f"{'Or run' if operations else 'Run'} {existing} replica{'s' if existing > 1 else ''}, which the quota admits",
            "manifest",
            str(resource.id),
            Edit("json-patch", [{"op": "replace", "path": "/spec/replicas", "value": existing}]),
        )


def _raised_limits(desired: Object, live: Object, workload: Object | None, lacking: int) -> Iterator[dict[str, Json]]:
    """The new limit of the quota, for each resource that it has too little of."""
    for name, held in mapping(desired, "spec", "hard").items():
        most, used, each = countable(held), countable(dig(live, "status", "used", name)), _known_usage(name, workload)
        if most is not None and used is not None and each is not None and used + lacking * each > most:
            value = _quantity_text(used + lacking * each, binary="i" in str(held) or most >= _MI)
            yield {"op": "replace", "path": f"/spec/hard{join_pointer(name)}", "value": value}


def _quantity_text(number: Decimal, *, binary: bool) -> str:
    if binary:
        return str(quantity(f"{-(-int(number) // _MI)}Mi"))
    return str(quantity(f"{int((number * 1000).to_integral_value('ROUND_CEILING'))}m"))


def _quota_refusals(app: App, fleet: Fleet, resource: Resource) -> Iterator[tuple[str, str]]:
    """The reasons why a quota of the namespace still refuses pods, and the unknown facts."""
    lacking = _missing_pod_count(app, resource)
    if lacking is None:
        yield "", "how many pods the quota has to admit is not known here"
    if not lacking:
        return
    for key in fleet.of_kind(app.cluster, "", "ResourceQuota"):
        if key.namespace == resource.namespace and app.resource(key) is None:
            yield "", f"what ResourceQuota {key.name} of another application holds is not known here"
    for quota in app.of_kind("ResourceQuota", ""):
        if quota.namespace != resource.namespace:
            continue
        if quota.live is None or get(quota.live, "/spec/scopes", None) or get(quota.live, "/spec/scopeSelector", None):
            yield "", f"which pods {quota.id} counts is not known here"
            continue
        for name, held in mapping(quota.live, "spec", "hard").items():
            most, used, each = (
                countable(held),
                countable(dig(quota.live, "status", "used", name)),
                _known_usage(name, resource.live),
            )
            if most is None or used is None or each is None:
                yield "", f"what {quota.id} counts of {name} is not known here"
            elif used + lacking * each > most:
                yield f"{quota.id} has too little {name} for {lacking} more pods", ""


def _missing_pod_count(app: App, resource: Resource) -> int | None:
    """The number of pods that the controller still has to create; None if there are two versions of them, one has ended, or no number is set."""
    field = ("status", "desiredNumberScheduled") if resource.kind == "DaemonSet" else ("spec", "replicas")
    wanted, existing = dig(resource.live, *field), _pod_count(app, resource)
    return max(0, wanted - existing) if isinstance(wanted, int) and existing is not None else None


def _pod_count(app: App, resource: Resource) -> int | None:
    pods = [node for node in app.descendants(resource.uid) if node.id.kind == "Pod"] if resource.uid else []
    ends = any(pod.health.status == "Degraded" or status_reason(pod) == "Terminating" for pod in pods)
    return None if ends or len({owner.name for pod in pods for owner in pod.owners}) > 1 else len(pods)


def _known_usage(name: str, workload: Object | None) -> Decimal | None:
    """A pod's usage in a quota; None without a request: then a LimitRange has set it, or the quota admits no pod."""
    each = _pod_usage(name, workload)
    return None if each == 0 and name.rpartition(".")[2] in _PLAIN_RESOURCES else each


def _pod_usage(name: str, workload: Object | None) -> Decimal | None:
    """What one pod counts in a quota of this name; None if its spec does not show that: pod-level resources, or init containers that stay."""
    if name in ("pods", "count/pods"):
        return Decimal(1)
    claims = maps(workload, "spec", "volumeClaimTemplates")
    if name in ("persistentvolumeclaims", "count/persistentvolumeclaims"):
        return Decimal(len(claims))
    if name == "requests.storage":
        return sum(
            (countable(dig(c, "spec", "resources", "requests", "storage")) or Decimal() for c in claims), Decimal()
        )
    kind = "limits" if name.startswith("limits.") else "requests"
    if name.startswith("count/") or (
        kind == "requests" and not name.startswith("requests.") and name not in _PLAIN_RESOURCES
    ):
        return Decimal(0)
    _, spec = pod_spec(workload)
    if not spec or spec.get("resources") or any(c.get("restartPolicy") for c in maps(spec, "initContainers")):
        return None
    what = name.removeprefix("requests.").removeprefix("limits.")
    each = {
        field: [_container_request(c, kind, what) for c in maps(spec, field)]
        for field in ("containers", "initContainers")
    }
    return max(sum(each["containers"], Decimal(0)), *each["initContainers"], Decimal(0)) + (
        countable(dig(spec, "overhead", what)) or 0
    )


_PLAIN_RESOURCES = ("cpu", "memory", _DISK)


def _container_request(container: Object, kind: str, what: str) -> Decimal:
    limits, requests = mapping(container, "resources", "limits"), mapping(container, "resources", "requests")
    quantity = limits.get(what) if kind == "limits" else requests.get(what, limits.get(what))
    return countable(quantity) or Decimal(0)


def _no_disk_fixes(app: App, resource: Resource) -> Iterator[Fix]:
    """Fixes that remove the requests and limits of local disk: a limit without a request counts as one."""
    own = resource.desired or {}
    requested = _pod_usage(_DISK, own)
    if requested is None or not 0 < requested < _LITTLE:
        return
    operations = [
        {"op": "remove", "path": path}
        for place, container in containers(own)
        for path in _disk_pointers(f"{place}/resources", container)
    ]
    caveat = "the kubelet then counts no disk of these pods"
    before: tuple[str, ...] = ()
    if stays := _kept_pod_note(resource):
        before = tuple(_pod_delete_commands(app, resource))
        pods = " ".join(sh(node.id.name) for node in app.descendants(resource.uid) if node.id.kind == "Pod")
        self_heal_note = "switch self-heal on again when the edit is synced" if app.self_heal else ""
        delete = f"{stays}: delete it when the edit is synced (`kubectl -n {sh(resource.namespace)} delete pod {pods}`)"
        caveat = joined(caveat, self_heal_note if before else delete)
    yield Fix(
        f"Leave {_DISK} out of requests and limits, since no node offers enough of it",
        "manifest",
        str(resource.id),
        Edit("json-patch", operations),
        caveat=caveat,
        before=before,
    )


def _pod_delete_commands(app: App, resource: Resource) -> Iterator[str]:
    """Commands that delete the pods that never ran; the sync of the edit creates them again from the new template."""
    pods = [node for node in app.descendants(resource.uid) if node.id.kind == "Pod"]
    idle = all(status_reason(pod) in ("Pending", "") and pod.health.status == "Progressing" for pod in pods)
    ready = dig(resource.live, "status", "readyReplicas") or dig(resource.live, "status", "availableReplicas")
    if pods and idle and not ready and isinstance(dig(resource.desired, "spec", "replicas"), int):
        if app.self_heal:
            yield f"argocd app set {sh(f'{app.ref.namespace}/{app.ref.name}')} --self-heal=false"
        yield f"kubectl scale {kubectl_name(resource.id)} --replicas=0"


def _disk_pointers(place: str, container: Object) -> Iterator[str]:
    """The pointers of the container's requests and limits of local disk; of the whole map if it has nothing else, since an empty map is valid."""
    resources = mapping(container, "resources")
    asking = [field for field, values in resources.items() if isinstance(values, dict) and _DISK in values]
    only_disk = [field for field in asking if len(resources[field]) == 1]
    if asking and len(only_disk) == len(resources):
        yield place
        return
    yield from (f"{place}/{field}" + ("" if field in only_disk else join_pointer(_DISK)) for field in asking)


def _kept_pod_note(resource: Resource) -> str:
    in_order = dig(resource.live, "spec", "podManagementPolicy") != "Parallel"
    return "a StatefulSet does not replace a pod that never ran" if resource.kind == "StatefulSet" and in_order else ""


_PLAIN_VOLUMES = ("configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath")


def _placement_obstacles(resource: Resource, cause: str, nodes: int, *, emptied: bool) -> Iterator[tuple[str, str]]:
    """The reasons that still keep the pods from nodes, or may do so. `nodes`: the number that refused them for this cause alone, which is all of them."""
    _, spec = pod_spec(resource.live)
    if not nodes or not spec:
        yield "", "whether a node takes the pods shows only on the cluster"
        return
    if cause == "resources" and _pod_usage(_DISK, resource.live) != 0:
        yield f"the pods ask for {_DISK} all the same", ""
    if cause == "selector" and (spec.get("nodeSelector") or dig(spec, "affinity", "nodeAffinity", _REQUIRED)):
        yield "", "whether a node has what the pods still ask for shows only on the cluster"
    if cause == "selector" and any(_pod_usage(what, resource.live) != 0 for what in _PLAIN_RESOURCES):
        yield "", "whether a node has room for the pods shows only on the cluster"
    if not emptied and (stays := _kept_pod_note(resource)):
        yield "", stays
    if resource.kind not in ("Deployment", "StatefulSet") or spec.get("schedulerName") not in (
        None,
        "default-scheduler",
    ):
        yield "", "who places these pods is not known here"
    volumes = [*maps(resource.live, "spec", "volumeClaimTemplates")]
    volumes += [v for v in maps(spec, "volumes") if not any(kind in v for kind in _PLAIN_VOLUMES)]
    if volumes or items(spec, "resourceClaims"):
        yield "", "whether a node has the volumes or devices of the pods shows only on the cluster"
    near = [dig(spec, "affinity", kind, _REQUIRED) for kind in ("podAffinity", "podAntiAffinity")]
    if any(near) or any(
        c.get("whenUnsatisfiable") != "ScheduleAnyway" for c in maps(spec, "topologySpreadConstraints")
    ):
        yield "", "whether the other pods of a node suit these shows only on the cluster"
    wanted = dig(resource.live, "spec", "replicas")
    surge = resource.kind == "Deployment" and isinstance(wanted, int) and in_update(resource.live, wanted).more
    if not isinstance(wanted, int) or wanted + surge > nodes:
        yield "", "whether a node takes two of the pods shows only on the cluster"
