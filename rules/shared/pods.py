"""The reasons why a workload's pods do not run: from the resource tree, and from the Events of its unhealthy objects."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from argolint import App, Event, Node, Object, Resource, ResourceId, Want
from argolint.messages import shortened
from argolint.redaction import excerpt
from argolint.relations.later import NO_KEY
from argolint.values import dig, get, items, mapping, maps, number_at, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import countable

from .messages import catalogue
from .pod_edits import own_gates, own_scheduler

_WATCHED = 3  # objects below one workload whose Events are read: their pods fail alike
TAINT = regex(r"taint\(?s?\)? \{([^:{}]+): ?([^{}]*)\}")
ABSENT = regex(r'\b(secret|configmap|persistentvolumeclaim|serviceaccount)s? "([^"]+)" not found', re.IGNORECASE)
"""Words of the kubelet, the scheduler and the controllers of workloads for a missing object of a pod."""
INSUFFICIENT = regex(r"Insufficient ([\w./-]+)")
_KEEP_RUNNING = ("ReplicaSet", "StatefulSet", "DaemonSet")  # their running pods are Progressing while not ready
_OF_READINESS = regex(r"Readiness probe ")
"""What never ends a container: the kubelet restarts it by the other two probes alone."""
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


POLICY = "PodSecurityPolicy"
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
    if has_crashing_container(node):
        events = [e for e in events if not _OF_READINESS.match(e.message)]
    words = (status_reason(node), message, *(f"{e.reason}: {e.message}" for e in events), *states)
    texts = [text for text in words if text]
    for text in texts:
        known = _known_trouble(text)
        if known is not None:
            cause, verb = known
            failed = degraded or cause == "quota" or _INIT_FAILED.match(status_reason(node)) is not None
            whole = _most_specific(texts, cause) or message or text
            late = verb.startswith(_REASON_AT_END) or "runtime create failed" in whole
            cut = shortened if late else excerpt  # long names before a refused pod, image, volume or program
            if cause == "unknown":
                cause, verb = _cause_in(whole) or known
            said = cut(whole)
            if POLICY in text and POLICY not in said:
                said = f"{POLICY}: {said}"
            if cause == "image" and (secrets := unread_pull_secrets(events)):
                verb = f"{verb}, and the kubelet finds no pull Secret {secrets[0]}"
            return Trouble(cause, verb, said, node, node.created_at, failed, whole)
    if node.id.kind == "Pod" and (waits := _unlooked(app, node) or _in_init(app, node)) is not None:
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


_IN_INIT = regex(r"Init:(\d{1,3})/(\d{1,3})")
"""What Argo CD shows of a pod while an init container runs: those before it, and all (controller/cache/info.go)."""


def _in_init(app: App, node: Node) -> Trouble | None:
    """The init container that has not ended; without its name where the pod has others than the manifest."""
    found = _IN_INIT.fullmatch(status_reason(node))
    if found is None:
        return None
    steps, at = maps(pod_spec(_workload(app, node))[1], "initContainers"), int(found[1])
    name = text_at(steps[at], "name") if len(steps) == int(found[2]) and at < len(steps) else ""
    text = f"init container {name} has not ended" if name else "an init container has not ended"
    return Trouble("", "wait for an init container", f"{text} ({found[0]})", node, node.created_at, failed=False)


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


def scale_up_refusal(app: App, node: Node) -> str:
    """Why the cluster autoscaler adds no node for the pod, by its newest word; empty where it says nothing, or has added one since."""
    said = [
        e
        for e in app.events(node.id, node.uid) or ()
        if e.reason in ("NotTriggerScaleUp", "TriggeredScaleUp") and e.last
    ]
    newest = max(said, key=lambda e: e.last or app.observed_at, default=None)
    return newest.message if newest is not None and newest.reason == "NotTriggerScaleUp" else ""


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
_STARTING = ("Pulling", "Pulled", "Created", "Started")
_OVERCOME_BY = {
    "FailedCreate": ("SuccessfulCreate",),
    **dict.fromkeys(("FailedMount", "FailedCreatePodSandBox"), _STARTING),
    "FailedAttachVolume": ("SuccessfulAttachVolume", *_STARTING),
}
"""Events that end the fault of an older Warning."""
_VOLUME = regex(r'\bvolume "([^"]{1,253})"')


def volumes_named(text: str) -> list[str]:
    """The volumes that the kubelet or the attach-detach controller names."""
    return _VOLUME.findall(text)


def _current_warnings(events: Sequence[Event], *, degraded: bool) -> list[Event]:
    """The Warnings without a newer Event that ends them; all of them while the object's own health shows a failure."""

    def over(event: Event) -> bool:
        of = volumes_named(event.message)
        better = (e for e in events if e.reason in _OVERCOME_BY.get(event.reason, ()))
        of_it = (e.last for e in better if e.reason != "SuccessfulAttachVolume" or volumes_named(e.message) == of)
        return any(event.last and last and last > event.last for last in of_it)

    return [e for e in events if e.type != "Normal" and (degraded or not over(e))]


def _workload(app: App, node: Node) -> Object | None:
    """The managed object that the node belongs to."""
    resource = app.resource(app.root(node).id.key)
    return (resource.live or resource.desired) if resource else None


_NO_PULL_SECRET = regex(r"Unable to retrieve some image pull secrets \(([^()\s,]{1,253})")


def unread_pull_secrets(events: Sequence[Event]) -> tuple[str, ...]:
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
    return min(
        alike,
        key=lambda t: 3 if _BARE.match(t) else 2 if _BACK_OFF.match(t) else 1 if _only_waits(t, cause) else 0,
        default="",
    )


def _only_waits(text: str, cause: str) -> bool:
    """Whether the kubelet only says that a volume does not come."""
    found = catalogue().match(text, "volume") if cause == "volume" else None
    return found is not None and found.entry.knows == "stage"


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


_OF_KARPENTER = "Failed to schedule pod, "


def _is_full(clause: str) -> bool:
    said = catalogue().match(clause, "scheduling")
    return said is not None and said.entry.id == "scheduling/pool-limit"


def scheduling_cause(message: str, workload: Object | None = None) -> tuple[str, str]:
    """(cause, text) of a FailedScheduling message such as `0/3 nodes are available: 1 …, 2 …. preemption: …`.

    The scheduler reports for each node the first filter that refused it (framework/runtime, RunFilterPlugins), so an item of a later filter is
    about nodes that passed the earlier ones. That item decides; among equals, the one with the most nodes. The scheduler's remark on preemption
    is left out of the text.
    """
    text = _PREEMPTION.sub("", message).strip()
    clauses = text.removeprefix(_OF_KARPENTER).split("; ") if text.startswith(_OF_KARPENTER) else []
    if full := next(
        filter(_is_full, clauses), ""
    ):  # one clause for each pool: one that fits the pod, and is only full, counts
        text = full
    _, found, body = text.partition("nodes are available:")
    best, cause = (-1, -1), "unknown"
    for part in message_parts(body if found else text):
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
    return any(key.strip() in labels or value.strip() in labels for key, value in TAINT.findall(part))


def message_parts(body: str) -> list[str]:
    """The items between commas; a taint `{key: value}` may contain commas."""
    return [part.strip().rstrip(".") for part in re.split(r",\s*(?=\d+ )", body)]


_HASH = "[bcdf-hj-np-tv-xz2456789]"
"""The alphabet of the hashes in the names of pods (apimachinery, util/rand)."""
_HOLDERS = regex(r"already used by pod\(s\) ((?:[a-z0-9.-]{1,253}, ){0,20}[a-z0-9.-]{1,253})")


def holders(text: str) -> list[str]:
    """The pods that have a volume, according to the attach-detach controller."""
    return [name for found in _HOLDERS.findall(text) for name in found.split(", ")]


def is_pod_of(id_: ResourceId, name: str) -> bool:
    """Whether the controller of the workload names its pods so."""
    end = {"StatefulSet": r"\d{1,9}", "Deployment": rf"{_HASH}{{1,10}}-{_HASH}{{5}}"}.get(id_.kind, rf"{_HASH}{{5}}")
    return re.fullmatch(rf"{re.escape(id_.name)}-{end}", name) is not None


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


_CRASHES = regex(
    r"(?:\w+: )?(?:Init:)?(?:CrashLoopBackOff$|back-off .{0,80}restarting failed container)", re.IGNORECASE
)


def crash_of(app: App, trouble: Trouble) -> str:
    """How the container ends that the kubelet starts again and again, in the form of `ENDS`; empty where another text says more."""
    found = app.evidence.get(Want("live", trouble.node.id))
    if trouble.cause or not _CRASHES.match(trouble.text) or not isinstance(found, Mapping):
        return ""
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in maps(found.get("status"), field):
            end = mapping(status, "lastState", "terminated")
            if text_at(status, "state", "waiting", "reason") == "CrashLoopBackOff" and end.get("reason") != "OOMKilled":
                words = _last_line(text_at(end, "message"))
                how = f"container {text_at(status, 'name')} ends with exit code {number_at(end, 'exitCode')}"
                return f"{how}: {words}" if words else how
    return ""


ENDS = regex(
    r"container (?P<container>[a-z0-9-]{1,63}) ends with exit code (?P<code>\d{1,9})(?:: (?P<words>.+))?$", re.DOTALL
)


_FAILED_CONTAINER = regex(r'container "([^"]{1,63})" failed with exit code (\d{1,5})')


def _last_line(text: str) -> str:
    """The last line with a word in it, apart from a stack: a program writes there why it gives up."""
    lines = _STACK.split(text, maxsplit=1)[0].splitlines() or text.splitlines()
    said = [line.strip() for line in lines if any(map(str.isalpha, line)) and not _FRAME.match(line)]
    return said[-1] if said else ""


_STACK = regex(r"^goroutine \d{1,9} \[", re.MULTILINE)
_FRAME = regex(r"\s{1,16}at \S|\s{0,16}\.\.\. \d{1,6} more$|Node\.js v\d")
"""Lines of a stack of Java or Node.js, and what Node.js writes below it."""


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
        case "quota" if at := _size_refused(obj, trouble):
            return at
        case "quota":
            return "/spec/replicas" if get(obj, "/spec/replicas", None) is not None else ""
        case "resources":
            short = INSUFFICIENT.findall(trouble.text)
            requests = [
                (f"{p}/resources", wanted) for p, c in containers(obj) for wanted in _container_requests(c, short)
            ]
            return max(requests, key=lambda found: found[1], default=("",))[0]
        case "image":
            images = [(f"{p}/image", str(c.get("image"))) for p, c in containers(obj)]
            return next((p for p, image in images if image in trouble.text), images[0][0] if len(images) == 1 else "")
    return ""


_NO_CLAIM = regex(r'persistentvolumeclaims "([^"]{1,253})" is forbidden')


def refused_claim(trouble: Trouble) -> str:
    """The claim of a StatefulSet's pod that the API server refuses; empty if it refuses the pod itself."""
    found = _NO_CLAIM.search(trouble.whole or trouble.text)
    return found[1] if found else ""


def _size_refused(obj: Object | None, trouble: Trouble) -> str:
    """The size that the template of the refused claim asks for; empty where a quota refuses it by its number."""
    claim = refused_claim(trouble) if "requests.storage=" in (trouble.whole or trouble.text) else ""
    for number, template in enumerate(maps(obj, "spec", "volumeClaimTemplates")):
        at = f"/spec/volumeClaimTemplates/{number}/spec/resources/requests/storage"
        if claim and claim.startswith(f"{text_at(template, 'metadata', 'name')}-") and get(obj, at, None) is not None:
            return at
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
