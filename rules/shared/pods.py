"""The reasons why a workload's pods do not run: from the resource tree, and from the Events of its unhealthy objects."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from argolint import App, Event, Fix, Fleet, Json, Node, Object, Resource, ResourceId, ResourceKey, Want
from argolint.edits import handover
from argolint.edits.advice import Shell, advice
from argolint.messages import shortened
from argolint.redaction import excerpt
from argolint.relations.later import NO_KEY
from argolint.relations.makers import maker_of
from argolint.values import dig, enumerated, get, items, mapping, maps, number_at, text_at
from argolint.values.knowledge import dump
from argolint.values.kubernetes import containers, kubectl_name, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import countable

from .messages import catalogue
from .operations import whole_sync_command
from .pod_edits import key_edits, lacking_keys, own_gates, own_scheduler, user_edits
from .references import near_names, read_keys, rename_operations
from .unmade import hook_job, policy_facts, silent_maker, vault_facts

_WATCHED = 3  # objects below one workload whose Events are read: their pods fail alike
_TAINT = regex(r"taint\(?s?\)? \{([^:{}]+): ?([^{}]*)\}")
_KARPENTER_TAINT = regex(r"did not tolerate (?:taint \(taint=)?([^=:\s)]+)(?:=([^:\s)]*))?:\w+")
_NODE_STATE = regex(r"^(node\.kubernetes|node\.cloudprovider\.kubernetes|node\.cilium|karpenter)\.|ClusterAutoscaler$")
_CONTROL_PLANE = "node-role.kubernetes.io/"
ABSENT = regex(r'\b(secret|configmap|persistentvolumeclaim|serviceaccount)s? "([^"]+)" not found', re.IGNORECASE)
"""Words of the kubelet, the scheduler and the controllers of workloads for a missing object of a pod."""
_SECURITY = regex(r"violates PodSecurity|unable to validate against any security context constraint", re.IGNORECASE)
_INSUFFICIENT = regex(r"Insufficient ([\w./-]+)")
_KEEP_RUNNING = ("ReplicaSet", "StatefulSet", "DaemonSet")  # their running pods are Progressing while not ready
_ENDED = regex(
    r"Evicted|OutOf\w+|(Predicate )?NodeAffinity|TaintToleration|UnexpectedAdmissionError|Terminated|(Node)?Shutdown"
    r"|NodeLost|ContainerStatusUnknown|Preempt\w+"
)
_INIT_FAILED = regex(r"Init:(Err.*|.*Error|.*BackOff)$")  # as health_pod.go judges containers, without init containers
_NOT_RUNNING = ("Degraded", "Progressing", "Unknown")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason. `cause` is pod-unschedulable's; empty if the pods start and then fail.

    `failed` is True for a present failure, False if a wait may end by itself; `since` is the start of the wait; `whole` is the text before it was cut.
    """

    cause: str
    verb: str
    text: str
    node: Node
    since: datetime | None
    failed: bool
    whole: str = ""


_PLURAL = {
    "do not ": "does not ",
    "start and fail": "starts and fails",
    "are refused ": "is refused ",
    "wait for ": "waits for ",
    "get no node": "gets no node",
    " their ": " its ",
}


def singular(verb: str) -> str:
    """A Trouble's verb, as said of one pod."""
    for several, one in _PLURAL.items():
        verb = verb.replace(several, one, 1)
    return verb


def unwell_below(app: App) -> Mapping[str, tuple[Node, ...]]:
    """By uid of a managed object: the pods, ReplicaSets and Jobs below it that are not well, in the tree's order."""
    return app.derive(_unwell_below)


def _unwell_below(app: App) -> Mapping[str, tuple[Node, ...]]:
    found: dict[str, list[Node]] = defaultdict(list)
    managed = {r.uid for r in app.resources if r.uid}
    for node in app.nodes:
        if node.uid in managed or node.orphaned or not is_ailing(node):
            continue
        root = app.root(node)
        if root.uid in managed:
            found[root.uid].append(node)
    return {uid: tuple(n for n in nodes if not _is_replaced(app, n)) for uid, nodes in found.items()}


def _is_replaced(app: App, node: Node) -> bool:
    """True for a pod that ended on its node and that its controller has replaced: it is history."""
    if node.id.kind != "Pod" or not _ENDED.match(status_reason(node)):
        return False
    others = (n for owner in node.owners if owner.kind in _KEEP_RUNNING for n in app.children(owner.uid))
    return any(n.created_at and node.created_at and n.created_at > node.created_at for n in others)


def is_ailing(node: Node) -> bool:
    """Whether Argo CD shows it as not well, except for a working pod: the pods of Jobs are Progressing until they end."""
    if node.health.status not in _NOT_RUNNING or status_reason(node) == "Completed":
        return False
    return status_reason(node) != "Running" or any(owner.kind in _KEEP_RUNNING for owner in node.owners)


def status_reason(node: Node) -> str:
    """A pod's STATUS in kubectl; empty for other kinds."""
    return node.info.get("Status Reason", "")


def has_crashing_container(node: Node) -> bool:
    """True for a pod with a container that the kubelet restarts again and again."""
    return status_reason(node).removeprefix("Init:") == "CrashLoopBackOff"


def wanted_events(app: App, resource: Resource, ailing_nodes: tuple[Node, ...]) -> Iterator[Want]:
    """Events of the workload itself and of some of its unhealthy descendants, pods first."""
    watched = _pods_first(ailing_nodes)[:_WATCHED]
    claim = next((node for node in ailing_nodes if node.id.kind == _CLAIM and node not in watched), None)
    for node in (*watched, *([claim] if claim else [])):
        yield Want("events", node.id, node.uid)
    if resource.uid and has_own_reasons(app, resource, ailing_nodes):
        yield Want("events", resource.id, resource.uid)


def has_own_reasons(app: App, resource: Resource, ailing_nodes: tuple[Node, ...]) -> bool:
    """Whether Events of the workload itself may say more than those below it.

    A Deployment's name ReplicaSets, and its conditions say which it could not make. A StatefulSet's name the pods that it could not make.
    """
    if not ailing_nodes or resource.group != "apps":
        return True
    if resource.kind == "StatefulSet":
        made = sum(node.id.kind == "Pod" for node in app.children(resource.uid))
        wanted = dig(resource.live, "spec", "replicas")
        return not isinstance(wanted, int) or made < wanted
    return resource.kind != "Deployment"


def watched_below(app: App, node: Node) -> tuple[Node, ...]:
    """The unhealthy objects below one object of the tree, pods first, up to the number whose Events are read."""
    return tuple(_pods_first(tuple(n for n in app.descendants(node.uid) if is_ailing(n)))[:_WATCHED])


def troubles(app: App, resource: Resource, ailing_nodes: tuple[Node, ...]) -> tuple[Trouble, ...]:
    """The troubles of these nodes and of the workload itself, at most one for each node, the most certain first."""
    own = app.node(resource.id) if resource.uid else None
    return _troubles(app, (*_pods_first(ailing_nodes), *([own] if own else [])))


def troubles_below(app: App, node: Node) -> tuple[Trouble, ...]:
    """The same for any object of the tree, such as a hook."""
    return _troubles(app, (*watched_below(app, node), node))


def _troubles(app: App, nodes: tuple[Node, ...]) -> tuple[Trouble, ...]:
    found = [t for node in nodes if (t := _node_trouble(app, node, degraded=node.health.status == "Degraded"))]
    claimless = any(t.node.id.kind == _CLAIM for t in found)
    return tuple(
        sorted(found, key=lambda t: (t.cause in ("", "unknown"), _waits_for_claim(t) and claimless, not t.failed))
    )


_CLAIM = "PersistentVolumeClaim"


def _waits_for_claim(trouble: Trouble) -> bool:
    """True if the scheduler only says that a claim is not bound: then the claim has the reason."""
    return "unbound immediate PersistentVolumeClaims" in trouble.text


def _pods_first(nodes: tuple[Node, ...]) -> list[Node]:
    return sorted(nodes, key=lambda n: n.id.kind != "Pod")


# the middle one is a Normal Event, too
_UNPROVISIONED = ("ProvisioningFailed", "ExternalProvisioning", "FailedBinding")


def _claim_trouble(app: App, node: Node) -> Trouble | None:
    """The reason why a claim is not bound, unless it only waits for its pod."""
    event = next((e for e in app.events(node.id, node.uid) or () if e.reason in _UNPROVISIONED), None)
    if event is None or node.health.status != "Progressing":
        return None
    text = excerpt(f"{event.reason}: {event.message}")
    return Trouble("volume", f"wait for the claim {node.id.name}", text, node, node.created_at, failed=False)


_POLICY = "PodSecurityPolicy"
_OF_KUBELET = ("Unhealthy", "BackOff", "Failed", "Error")
"""Reasons with another meaning in Events of a custom resource's controller."""


def _node_trouble(app: App, node: Node, *, degraded: bool) -> Trouble | None:
    if node.id.kind == "PersistentVolumeClaim":
        return _claim_trouble(app, node)
    if status_reason(node) == "Terminating":
        return None  # it is being deleted, so its reason does not matter
    custom = "." in node.id.group
    own = tuple(e for e in app.events(node.id, node.uid) or () if not custom or e.reason not in _OF_KUBELET)
    events = _current_warnings(own, degraded=degraded)
    newest = next((e for e in events if e.reason == "FailedScheduling"), None)
    said = newest.message if newest is not None else _scheduler_message(app, node)
    if said and status_reason(node) in ("", "Pending", "SchedulingGated"):
        cause, text = scheduling_cause(said, _workload(app, node))
        return Trouble(cause, "cannot be scheduled", text, node, node.created_at, degraded)
    message = node.health.message if degraded else ""
    states = () if events else _kubelet_messages(app, node)
    words = (status_reason(node), message, *(f"{e.reason}: {e.message}" for e in events), *states)
    texts = [text for text in words if text]
    for text in texts:
        known = _known_trouble(text)
        if known is not None:
            cause, verb = known
            failed = degraded or cause == "quota" or _INIT_FAILED.match(status_reason(node)) is not None
            cut = (
                shortened if verb.startswith(_REASON_AT_END) else excerpt
            )  # long names before a refused pod, image or volume
            whole = _most_specific(texts, cause) or message or text
            if cause == "unknown":
                cause, verb = _cause_in(whole) or known
            said = cut(whole)
            if _POLICY in text and _POLICY not in said:
                said = f"{_POLICY}: {said}"
            if cause == "image" and (secrets := _pull_secrets(events)):
                verb = f"{verb}, and the kubelet finds no pull Secret {secrets[0]}"
            return Trouble(cause, verb, said, node, node.created_at, failed, whole)
    if node.id.kind == "Pod" and (waits := _unlooked(app, node)) is not None:
        return waits
    if node.id.kind == "Pod" and status_reason(node) in ("Pending", "ContainerCreating", "PodInitializing"):
        got_on = next((e for e in app.events(node.id, node.uid) or () if e.reason in ("Scheduled", *_STARTING)), None)
        last = f"the last Event is {got_on.reason}: {excerpt(got_on.message)}" if got_on else "no Event says why"
        since = got_on.last if got_on and got_on.last else node.created_at
        return Trouble(
            "unknown", "do not start", f"status {status_reason(node)}, and {last}", node, since, failed=False
        )
    return None


def _unlooked(app: App, node: Node) -> Trouble | None:
    """Why no scheduler looks at a pod: a gate holds it, or it asks for a scheduler that does not say a word of it."""
    workload, state = _workload(app, node), status_reason(node)
    if state == "SchedulingGated":
        gates = own_gates(workload)
        verb = (
            f"wait for the scheduling gate {gates[0]}" if gates else "wait for a scheduling gate that Git does not have"
        )
        text = "status SchedulingGated: no node is looked for before the gates of the pod are taken away"
    elif state == "Pending" and app.events(node.id, node.uid) == () and (scheduler := own_scheduler(workload)):
        verb, text = f"get no node from scheduler {scheduler}", "status Pending, and no Event of that scheduler"
    else:
        return None
    return Trouble("scheduler", verb, text, node, node.created_at, failed=False)


def _own_status(app: App, node: Node) -> Object | None:
    """The status of a pod that the application manages itself; that of others is unknown."""
    found = app.resource(node.id.key) if node.id.kind == "Pod" else None
    return found.live if found else None


def _scheduler_message(app: App, node: Node) -> str:
    """The scheduler's message in the pod, if there is no Event left."""
    conditions = maps(_own_status(app, node), "status", "conditions")
    scheduled = next(
        (c for c in conditions if c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable"), {}
    )
    return text_at(scheduled, "message")


def _kubelet_messages(app: App, node: Node) -> tuple[str, ...]:
    """The kubelet's messages on waiting containers, if there is no Event left."""
    status = mapping(_own_status(app, node), "status")
    waiting = (
        mapping(each, "state", "waiting")
        for field in ("initContainerStatuses", "containerStatuses")
        for each in maps(status, field)
    )
    return tuple(f"{text_at(w, 'reason')}: {text_at(w, 'message')}".rstrip(": ") for w in waiting if w)


_REASON_AT_END = ("cannot be created", "are refused by", "cannot pull their image", "cannot mount their volumes")
_PULLING = "the last Event is Pulling: "
_STARTING = ("Pulling", "Pulled", "Created", "Started")
_OVERCOME_BY = {
    "FailedCreate": ("SuccessfulCreate",),
    **dict.fromkeys(("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"), _STARTING),
}
"""Events that end the fault of an older Warning."""


def _current_warnings(events: Sequence[Event], *, degraded: bool) -> list[Event]:
    """The Warnings without a newer Event that ends them; all of them while the object's own health shows a failure."""

    def over(event: Event) -> bool:
        better = (e.last for e in events if e.reason in _OVERCOME_BY.get(event.reason, ()))
        return any(event.last and last and last > event.last for last in better)

    return [e for e in events if e.type != "Normal" and (degraded or not over(e))]


def _workload(app: App, node: Node) -> Object | None:
    """The managed object that the node belongs to."""
    resource = app.resource(app.root(node).id.key)
    return (resource.live or resource.desired) if resource else None


_NO_PULL_SECRET = regex(r"Unable to retrieve some image pull secrets \(([^()\s,]{1,253})")


def _pull_secrets(events: Sequence[Event]) -> tuple[str, ...]:
    """The pull Secrets that the kubelet does not get (pkg/kubelet, FailedToRetrieveImagePullSecret), one of each Event."""
    return tuple(m[1] for e in events if (m := _NO_PULL_SECRET.search(e.message)))


_BARE = regex(r"^\w+: Error: \w+$")
_BACK_OFF = regex(r"^(\w+: )?back-off (pulling image \"[^\"]*\"$|.*restarting failed container)", re.IGNORECASE)


def _most_specific(texts: Sequence[str], cause: str) -> str:
    """The first sentence on one cause with more than the name of a state or the kubelet's wait; empty without any."""
    if killed := next((t for t in texts if "OOMKilled" in t), ""):
        return killed  # the reason for the restart, with or without other messages
    kinds = {t: _known_trouble(t) for t in texts if " " in t}
    alike = [t for t, known in kinds.items() if (known and known[0] == cause) or t.startswith("Failed: ")]
    return min(alike, key=lambda t: 2 if _BARE.match(t) else 1 if _BACK_OFF.match(t) else 0, default="")


def _cause_in(sentence: str) -> tuple[str, str] | None:
    """The cause and the verb that a sentence on the start of a container has in itself."""
    if ABSENT.search(sentence) or NO_KEY.search(sentence):
        return "reference", "cannot start"
    found = catalogue().match(sentence, "pod")
    return (found.entry.cause, found.says) if found and found.entry.knows == "cause" else None


def _known_trouble(text: str) -> tuple[str, str] | None:
    found = catalogue().match(text, "pod")
    return (found.entry.cause, found.says) if found else None


_ITEM = regex(r"^(\d{1,9})\s+(.*)$", re.DOTALL)
_PREEMPTION = regex(r"(?<!\s)\s*(no new claims to deallocate,?\s*)?preemption:.*$", re.DOTALL | re.IGNORECASE)


def scheduling_cause(message: str, workload: Object | None = None) -> tuple[str, str]:
    """(cause, text) of a FailedScheduling message such as `0/3 nodes are available: 1 …, 2 …. preemption: …`.

    The scheduler reports for each node the first filter that refused it (framework/runtime, RunFilterPlugins), so an item of a later filter is
    about nodes that passed the earlier ones. That item decides; among equals, the one with the most nodes. The scheduler's remark on preemption
    is left out of the text.
    """
    text = _PREEMPTION.sub("", message).strip()
    _, found, body = text.partition("nodes are available:")
    best, cause = (-1, -1), "unknown"
    for part in _message_parts(body if found else text):
        refused = catalogue().match(part, "scheduling")
        sort, place = (refused.entry.cause, refused.entry.place) if refused else ("", 0)
        if sort == "selector" and place == 1 and dig(workload, "kind") == "DaemonSet":
            place = 0  # each of its pods is bound to one node, and so refused by all others
        counted = _ITEM.match(part)
        weight = int(counted.group(1)) if counted else 0
        if sort == "taint" and _is_taint_required(workload, part):
            weight += 10_000
        if sort and (place, weight) > best:
            best, cause = (place, weight), sort
    return cause, excerpt(text)


def _is_taint_required(workload: Object | None, part: str) -> bool:
    """True if the pods require the nodes with this taint: its key or value is one of their node labels."""
    _, spec = pod_spec(workload)
    terms = items(
        spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )
    wanted_labels = dict(mapping(spec, "nodeSelector"))
    labels = {*wanted_labels, *(v for v in wanted_labels.values() if isinstance(v, str))}
    for expression in (e for term in terms for e in maps(term, "matchExpressions") if e.get("operator") == "In"):
        labels |= {str(expression.get("key")), *map(str, items(expression, "values"))}
    return any(key.strip() in labels or value.strip() in labels for key, value in _TAINT.findall(part))


def _message_parts(body: str) -> list[str]:
    """The items between commas; a taint `{key: value}` may contain commas."""
    return [part.strip().rstrip(".") for part in re.split(r",\s*(?=\d+ )", body)]


def container_ends(pod: Object) -> Iterator[tuple[str, Object]]:
    """(container, terminated) of each container's present or last end."""
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in maps(pod.get("status"), field):
            for state in ("state", "lastState"):
                found = (status.get(state) or {}).get("terminated") if isinstance(status.get(state), dict) else None
                if isinstance(found, dict):
                    yield text_at(status, "name"), found
                    break


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pod that runs to its end has failed. `words`: the last line that it left behind; `code` is 0 and `container` empty if only that is known."""

    pod: Node
    container: str
    code: int
    reason: str
    words: str


def failed_pod(app: App, node: Node) -> Node | None:
    """The newest pod at or below an object that has failed at its work; None if no pod is left."""
    below = (n for n in (node, *app.descendants(node.uid)) if n.id.kind == "Pod" and n.health.status == "Degraded")
    return max(below, key=lambda n: (n.created_at is not None, n.created_at, n.id), default=None)


def end_of(app: App, pod: Node) -> Ended | None:
    """The end of the pod's first container that failed, from its live state; else what Argo CD says of the pod (gitops-engine, pkg/health/health_pod.go)."""
    found = app.evidence.get(Want("live", pod.id))
    for name, end in container_ends(found) if isinstance(found, Mapping) else ():
        if number_at(end, "exitCode") or end.get("reason") == "OOMKilled":
            words = _last_line(text_at(end, "message"))
            return Ended(pod, name, number_at(end, "exitCode"), text_at(end, "reason"), words)
    known = _FAILED_CONTAINER.fullmatch(pod.health.message)
    if known:
        return Ended(pod, known[1], int(known[2]), "", "")
    words = _last_line(pod.health.message)
    return Ended(pod, "", 0, words if words == "OOMKilled" else "", words) if words else None


_FAILED_CONTAINER = regex(r'container "([^"]{1,63})" failed with exit code (\d{1,5})')


def _last_line(text: str) -> str:
    """The last line with a word in it: a program writes there why it gives up."""
    return next((line.strip() for line in reversed(text.splitlines()) if any(map(str.isalpha, line))), "")


def trouble_pointer(obj: Object | None, trouble: Trouble) -> str:
    """The deciding field of the workload, or its nearest parent in the manifest."""
    at, spec = pod_spec(obj)
    match trouble.cause:
        case "selector":
            return next((f"{at}/{f}" for f in _scheduling_fields(trouble.text) if get(spec, f"/{f}", None)), "")
        case "taint":
            return f"{at}/tolerations" if spec else ""
        case "scheduler":
            field = "schedulingGates" if own_gates(obj) else "schedulerName"
            return f"{at}/{field}" if get(spec, f"/{field}", None) else ""
        case "volume":
            return next((p for p in (f"{at}/volumes", "/spec/volumeClaimTemplates") if get(obj, p, None)), "")
        case "quota":
            return "/spec/replicas" if get(obj, "/spec/replicas", None) is not None else ""
        case "resources":
            short = _INSUFFICIENT.findall(trouble.text)
            requests = [
                (f"{p}/resources", wanted) for p, c in containers(obj) for wanted in _container_requests(c, short)
            ]
            return max(requests, key=lambda found: found[1], default=("",))[0]
        case "image":
            images = [(f"{p}/image", str(c.get("image"))) for p, c in containers(obj)]
            return next((p for p, image in images if image in trouble.text), images[0][0] if len(images) == 1 else "")
    return ""


def _scheduling_fields(text: str) -> tuple[str, ...]:
    """The fields of a pod spec that the scheduler's message is about."""
    if "topology spread" in text:
        return ("topologySpreadConstraints",)
    if "anti-affinity" in text:
        return ("affinity/podAntiAffinity",)
    return ("affinity/podAffinity",) if "pod affinity" in text else ("nodeSelector", "affinity/nodeAffinity")


def _container_requests(container: Object, names: Sequence[str]) -> Iterator[Decimal]:
    """A container's requests of these resources; a limit without a request counts as one."""
    resources = {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}
    return (wanted for name in names if (wanted := countable(resources.get(name))) is not None)


def fixes(app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, trouble: Trouble) -> tuple[Fix, ...]:
    """Fixes that let the pods run, for the workload `id_` with manifest `obj` (None: unknown)."""
    absent, keyless = ABSENT.search(trouble.text), NO_KEY.search(trouble.text)
    topic, said = _topic(trouble)
    unknown = dict.fromkeys(("missing_kind", "missing_name", "missing_key", "bringer", "brought"), "")
    facts = {**_facts(app, id_, obj, trouble), **unknown, **said}
    pull_secrets = _pull_secrets(app.events(trouble.node.id, trouble.node.uid) or ()) if topic == "image-auth" else ()
    if absent:
        facts |= {"missing_kind": absent[1].lower(), "missing_name": absent[2]}
        topic, more = _absent_facts(app, fleet, id_, obj, absent[1].lower(), absent[2])
        facts |= more
    elif keyless:
        topic = "missing-key"
        facts |= {"missing_kind": keyless[2].lower(), "missing_name": keyless[4], "missing_key": keyless[1]}
        facts |= {"bringer": _maker_text(app, fleet, id_, keyless[2].lower(), keyless[4])}
        facts |= {"brought": _brought(app, fleet, id_.namespace, keyless[4]) if facts["bringer"] else ""}
    elif pull_secrets:
        topic = "image-secret"
        maker = maker_of(app, fleet, id_.namespace, pull_secrets[0])
        facts |= {"missing_name": pull_secrets[0], "maker": str(maker.id) if maker else ""}
        facts |= {"command": Shell(kubectl_name(maker.id))} if maker else {}
        facts |= _near_facts(app, fleet, id_, obj, pull_secrets[0], "Secret")
    elif topic == "scheduler":
        gated = status_reason(trouble.node) == "SchedulingGated"
        facts |= {"gated": gated, "gates": enumerated(own_gates(obj)), "scheduler": own_scheduler(obj)}
    elif topic == "non-root":
        facts["uid"], facts["patch"] = user_edits(obj, said["sort"], said.get("what", ""))
    elif topic == "volume-class":
        spaces = _namespaces_with(fleet, app.cluster, _PROVIDER_CLASS, str(facts["what"]), id_.namespace)
        facts |= {"elsewhere": f" One of this name is in namespace {enumerated(spaces, limit=4)}." if spaces else ""}
    if lost := keyless[1] if keyless else said.get("what", "") if topic == "volume-key" else "":
        facts |= _key_facts(app, id_, obj, lost)
    return advice(__package__, f"pods/{topic}", facts, id_)


def _absent_facts(
    app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, kind: str, name: str
) -> tuple[str, dict[str, Json]]:
    """The topic and the facts of a Secret, ConfigMap or other object that is not there: who makes it, or was to."""
    if kind == "secret" and (maker := maker_of(app, fleet, id_.namespace, name)):
        made: dict[str, Json] = {"maker": str(maker.id), "command": Shell(kubectl_name(maker.id))}
        made |= {"there": maker.live is not False, "auth": "", "login": False, "denied": ""}
        silent = silent_maker(app, fleet, id_.namespace, name)
        return "missing-made", {**made, **(vault_facts(app, silent) if silent is not None else {})}
    if _is_gone_hook(app, id_.namespace, kind, name):
        return "missing-hook", {"command": Shell(handover.sync(app.ref)), "app": str(app.ref)}
    awaited = app.operation.awaited if app.operation else None
    waits = awaited is not None and awaited.reason == "healthy state of"
    hook = hook_job(app, id_.namespace, kind, name)
    return "missing", {
        "unseen": not hook and waits and app.evidence.get(Want("manifests")) is None,
        **_asked_of(app, fleet, obj, kind, name),
        **policy_facts(app, fleet, kind, name),
        **_near_facts(app, fleet, id_, obj, name, {"secret": "Secret", "configmap": "ConfigMap"}.get(kind, "")),
        "hook": hook,
        "command": Shell(whole_sync_command(app)),
        "app": str(app.ref),
    }


def _key_facts(app: App, id_: ResourceId, obj: Object | None, key: str) -> dict[str, Json]:
    """The keys of the object that lacks this one, and the edit that reads the nearest."""
    near, patch = key_edits(app, id_, obj, key)
    keys = sorted({each for _, have in lacking_keys(app, id_, obj, key) for each in have})
    found: dict[str, Json] = {"near": near, "patch": patch, "has": enumerated(keys, limit=8)}
    return {**found, "bringer": ""} if keys else found


_PROVIDER_CLASS = ("secrets-store.csi.x-k8s.io", "SecretProviderClass")


def _namespaces_with(fleet: Fleet, cluster: str, kind: tuple[str, str], name: str, but: str) -> list[str]:
    """The other namespaces in which applications have an object of this kind and name."""
    found = (key.namespace for key in fleet.of_kind(cluster, *kind) if key.name == name and fleet.owners(key))
    return sorted({namespace for namespace in found if namespace != but})


_KEY = regex(r"[\w.-]{1,253}")
_OF_CERTIFICATE = {"tls.crt", "tls.key"}


def _asked_of(app: App, fleet: Fleet, obj: Object | None, kind: str, name: str) -> dict[str, Json]:
    """The keys that the pods read of the missing Secret or ConfigMap, and whether cert-manager could make it."""
    read = [r.key for r in read_keys(obj) if (r.kind.lower(), r.name) == (kind, name) and _KEY.fullmatch(r.key)]
    issuers = (("cert-manager.io", each) for each in ("ClusterIssuer", "Issuer", "Certificate"))
    issued = kind == "secret" and set(read) >= _OF_CERTIFICATE
    return {
        "keys": enumerated(list(dict.fromkeys(read)), limit=8),
        "certificate": issued and any(fleet.of_kind(app.cluster, *each) for each in issuers),
    }


def _near_facts(app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, name: str, kind: str) -> dict[str, Json]:
    """An object of the kind whose name is nearly the one that is missing, and the edit that names it; what Kustomize made of the name."""
    near, hashed = near_names(app, fleet, kind, id_.namespace, name) if kind else ("", "")
    patch = rename_operations(obj, kind, name, near) if near else []
    return {"near": near if patch else "", "patch": patch, "hashed": hashed}


def _is_gone_hook(app: App, namespace: str, kind: str, name: str) -> bool:
    """Whether the last sync made the object as a hook: no comparison misses it, and only a sync makes it again."""
    operation = app.operation
    wanted = (kind, namespace, name)
    return (
        operation is not None
        and operation.phase == "Succeeded"
        and any(
            r.get("hookType") and (text_at(r, "kind").lower(), r.get("namespace"), r.get("name")) == wanted
            for r in operation.results
        )
    )


def _maker_text(app: App, fleet: Fleet, id_: ResourceId, kind: str, name: str) -> str:
    """The object that makes the Secret or ConfigMap, or the application that manages it; empty if unknown."""
    if kind == "secret" and (maker := maker_of(app, fleet, id_.namespace, name)):
        return str(maker.id)
    key = ResourceKey(app.cluster, "", "Secret" if kind == "secret" else "ConfigMap", id_.namespace, name)
    owner = next(iter(fleet.owners(key)), None)
    return f"application {owner}" if owner else ""


def _brought(app: App, fleet: Fleet, namespace: str, secret: str) -> str:
    """How an ExternalSecret of this application names the keys that it fetches together; empty for every other maker."""
    maker = maker_of(app, fleet, namespace, secret)
    made = app.resource(maker.id.key) if maker is not None else None
    for number, entry in enumerate(maps(made.any if made else {}, "spec", "dataFrom")):
        place = f"spec.dataFrom[{number}]"
        if (rewrites := maps(entry, "rewrite")) and (regexp := mapping(rewrites[-1], "regexp")):
            source, target = excerpt(text_at(regexp, "source"), 200), excerpt(text_at(regexp, "target"), 200)
            return f"{place} renames each key that it fetches: {source} becomes {target}, and two that become one lose a value."
        if mapping(entry, "find"):
            return f"{place}.find writes one key for each secret that it finds, with the secret's name: single values of a secret come by `extract`, or by spec.data with `property`."
    return ""


def _topic(trouble: Trouble) -> tuple[str, Mapping[str, str]]:
    """The topic of advice and its facts: by the cause, and by the message of the kubelet or of the scheduler's deciding filter."""
    if trouble.cause in ("image", "volume"):
        match = catalogue().match(trouble.whole or trouble.text, trouble.cause)
        return (
            (match.entry.advice, {k: excerpt(v, 253) for k, v in match.facts.items()}) if match else (trouble.cause, {})
        )
    if trouble.cause in ("selector", "resources", "taint", "quota"):
        parts = (
            catalogue().match(part, "scheduling")
            for part in _message_parts(trouble.text.rpartition("nodes are available:")[2])
        )
        entries = [part.entry for part in parts if part and part.entry.cause == trouble.cause]
        return max(entries, key=lambda entry: entry.place).advice if entries else trouble.cause, {}
    if trouble.cause == "scheduler":
        return trouble.cause, {}
    match = catalogue().match(trouble.whole or trouble.text, "pod")
    if match is not None and match.entry.knows == "cause":
        return match.entry.advice, {k: excerpt(v, 253) for k, v in match.facts.items()}
    return _unknown_topic(trouble.text), {}


def _unknown_topic(text: str) -> str:
    if text.startswith(_POLICY):
        return "policy"
    if _CONSTRAINT.search(text):
        return "constraint"
    if _SECURITY.search(text):
        return "security"
    if _LONG_LABEL.search(text):
        return "long-name"
    if _REFUSED_POD.search(text):
        return "refused"
    if _NO_PROGRAM.search(text):
        return "no-program"
    return "pulling" if _PULLING in text else "unknown"


_LONG_LABEL = regex(r"metadata\.labels: Invalid value: .{0,400}?must be no more than 63 (?:characters|bytes)")
_CONSTRAINT = regex(
    r"security context constraint|(?<!\w)\.(?:spec\.)?(?:\w{1,20}\[\d{1,3}\]\.)?securityContext\.\S{1,60}: (?:Forbidden|Invalid value)|seccomp may not be set|not usable by user or serviceaccount|: must be in the ranges: \["
)
"""What OpenShift's constraints say; the head of their long sentence may be cut."""
_NO_PROGRAM = regex(r"exec: .{1,300}?: (?:executable file not found|no such file or directory)")
_REFUSED_POD = regex(r'\bPod "[^"]{1,253}" is invalid: ')


def _facts(app: App, id_: ResourceId, obj: Object | None, trouble: Trouble) -> dict[str, Json]:
    pointer = trouble_pointer(obj, trouble)
    selector = get(obj, pointer, None) if pointer.endswith("nodeSelector") else None
    tolerations, away = _taint_tolerations(trouble.text)
    return {
        "object": str(id_),
        "rolls": id_.kind == "Deployment",
        "namespace": id_.namespace or "default",
        "cluster": app.cluster,
        "pointer": pointer,
        "node": trouble.node.id.name,
        "node_kind": trouble.node.id.kind.lower(),
        "short": ", ".join(sorted(set(_INSUFFICIENT.findall(trouble.text)))) or "resources",
        "labels": [f"{k}={v}" for k, v in sorted(selector.items())] if isinstance(selector, dict) else [],
        "tolerations": dump([{"tolerations": tolerations}]).rstrip() if tolerations else "",
        "away": away,
        "what": "",
        "elsewhere": "",
    }


def _taint_tolerations(text: str) -> tuple[list[Json], bool]:
    """Tolerations of the taints that the scheduler names, and whether nodes are unavailable: cordoned, or not ready."""
    named = (*_TAINT.findall(text), *_KARPENTER_TAINT.findall(text))
    taints = [t for t in named if not _NODE_STATE.search(t[0])]
    taints = [t for t in taints if not t[0].startswith(_CONTROL_PLANE)] or taints
    tolerations = [
        {"key": key.strip(), "operator": "Equal", "value": value.strip()}
        if value.strip()
        else {"key": key.strip(), "operator": "Exists"}
        for key, value in taints
    ]
    return tolerations, len(taints) < len(named) or "unschedulable" in text or "not ready" in text
