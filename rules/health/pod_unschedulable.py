"""Pods cannot be scheduled, created, pulled or started

What it finds: a workload whose pods never run, with the cause from the Events of the pods and their controllers. Too few `resources` on the
nodes, a `selector` or affinity that no node meets, a `taint` that is not tolerated, a `volume` that does not exist or cannot be mounted, a
`quota` that is used up, an `image` that cannot be pulled, a `reference` to what is not there, a default `limit` below the request, a `policy` that denies the
pods, a webhook that the API server cannot call (`network`), a `scheduler` that does not look at them or must not yet, or `unknown`. One finding for each workload.

Why it hurts: the rollout never ends, later sync waves wait for it, and the old version (or nothing) keeps running.

How to fix: by cause; the message quotes the scheduler or kubelet.

Example: a Deployment with `nodeSelector: {accelerator: tpu}` on a cluster where no node has that label.

Sources: kube-scheduler (FailedScheduling), k8s.io/apiserver pkg/admission (resourcequota), kubelet events;
gitops-engine/pkg/health/health_pod.go. A pod that only waits is reported after five minutes (option `minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from argolint import (
    App,
    AppRef,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Node,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
    Want,
)
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.redaction import excerpt
from argolint.relations import Complaint, related_wants, resolved
from argolint.relations.later import NO_KEY
from argolint.relations.makers import maker_of, makers_within
from argolint.values import age_text, enumerated
from argolint.values.kubernetes import kubectl_name, pod_spec, reads
from argolint.values.patterns import regex

from ..shared import unmade
from ..shared.age import Patience, is_overdue
from ..shared.messages import catalogue
from ..shared.operations import with_end_of_wait
from ..shared.pod_edits import mounted_at
from ..shared.pod_fixes import fixes
from ..shared.pods import (
    ABSENT,
    Trouble,
    has_own_reasons,
    refused_claim,
    scale_up_refusal,
    scheduling_cause,
    singular,
    trouble_pointer,
    troubles,
    unwell_below,
    wanted_events,
)
from . import _host_ports, _injected, _own_webhook, _placing, _rolling, _sharing

_NO_CHECK = ""  # an operator's own object, of a kind without a health check in Argo CD


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of workloads that are not well and of unhealthy objects below them; the hooks after the awaited health."""
    awaited = app.operation.awaited if app.operation else None
    if awaited is not None and awaited.reason == "healthy state of":
        yield Want("manifests")
    for resource, nodes in _unhealthy_workloads(app):
        yield from wanted_events(app, resource, nodes)
        yield from (Want("live", node.id) for node in _rolling.ending_pods(resource, nodes))
        yield from unmade.event_wants(app, fleet, resource)
        yield from _host_ports.holder_wants(app, fleet, resource)
        if unmade.may_lack(app, resource, nodes):
            yield Want("manifests")
        if not pod_spec(resource.any)[1]:  # an operator's object: the pods' template is that of a workload below it
            yield from related_wants(Complaint(app, fleet, resource.id, resource.any, ()))
        yield from (Want("events", claim.id, claim.uid) for claim in _unbound_claims(app, resource))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each workload whose pods do not run."""
    for resource, nodes in _unhealthy_workloads(app):
        claims = (node for claim in _unbound_claims(app, resource) if (node := app.node(claim.id)) is not None)
        trouble = next((t for t in troubles(app, resource, (*nodes, *claims)) if t.cause), None)
        if trouble is None:
            if (late := _rolling.not_ended(app, resource, nodes, options.span)) is not None:
                yield late
        elif trouble.failed or resource.health.status == "Degraded" or is_overdue(app, trouble.since, options.span):
            found = _finding(app, fleet, resource, nodes, trouble)
            yield replace(found, fixes=with_end_of_wait(app, resource.id, found.fixes))


def _unhealthy_workloads(app: App) -> Iterator[tuple[Resource, tuple[Node, ...]]]:
    """Managed objects that are not Healthy and have an unhealthy child; hook-stuck checks hooks.

    The health of a CronJob does not cover its running job (resource_customizations/batch/CronJob).
    """
    ailing = unwell_below(app)
    for resource in app.resources:
        nodes = ailing.get(resource.uid, ())
        own = resource.kind in ("Pod", "StatefulSet", "DaemonSet", "Job") and resource.health.status in (
            "Progressing",
            "Degraded",
        )
        shown = resource.health.status in ("Progressing", "Degraded", "Unknown", _NO_CHECK)
        if not resource.hook and (own or nodes) and (shown or resource.kind == "CronJob"):
            yield resource, nodes


_SEEMS = "seems to make"
_NEVER_PLACED = ("cannot be scheduled", "cannot be created", "are refused by")


def _unbound_claims(app: App, resource: Resource) -> Iterator[Resource]:
    """Unbound claims of the application that the workload's pods mount."""
    obj = resource.live or resource.desired
    mounted = {read.name for read in reads(obj) if read.kind == "PersistentVolumeClaim"}
    for claim in app.of_kind("PersistentVolumeClaim", ""):
        if claim.name in mounted and claim.namespace == resource.namespace and claim.health.status == "Progressing":
            yield claim


def _waiting_claims(app: App, resource: Resource, trouble: Trouble) -> Iterator[Resource]:
    """Claims that wait for these pods, as those of a WaitForFirstConsumer class do until a pod is placed.

    A claim that waits for something else stops the scheduler before any other filter (volumebinding, PreFilter).
    """
    if trouble.verb.startswith(_NEVER_PLACED) and trouble.cause != "volume":
        for claim in _unbound_claims(app, resource):
            if not any(e.type == "Warning" for e in app.events(claim.id, claim.uid) or ()):
                yield claim


def _finding(app: App, fleet: Fleet, resource: Resource, nodes: tuple[Node, ...], trouble: Trouble) -> Finding:
    claims = tuple(_waiting_claims(app, resource, trouble))
    pods = [n for n in nodes if n.id.kind == "Pod"]
    subject = f"{len(pods)} pods of {resource.id}" if len(pods) > 1 else f"Pods of {resource.id}"
    age = f" for {age_text(app.observed_at - trouble.since)}" if trouble.since and not trouble.failed else ""
    reason = (
        _unmade_secret(app, fleet, resource, trouble)
        or _wrong_mount(app, resource, trouble)
        or _reason_text(trouble, "fits" if resource.kind == "Pod" else "fit")
    )
    named = _rolling.is_held_by_earlier_pods(resource, trouble)
    earlier = _sharing.earlier_holder(app, fleet, resource, trouble) if _rolling.keeps_earlier_pods(resource) else None
    held = named or earlier is not None
    if held:
        lack = "fit on no node" if trouble.verb == "cannot be scheduled" else trouble.verb
        next_to = f"while {earlier.id.name} has their claim on another node" if earlier else "next to its earlier pods"
        reason = f"{lack} {next_to}, and its strategy ends none of those first"
    taken = 0 if held else _rolling.one_for_each_node(resource, trouble)
    if taken:
        each = "the only node has one of them" if taken == 1 else f"each of the {taken} nodes has one of them"
        reason = f"fit on no node: {each} already, and takes no second one"
    finding = Finding(
        message=f"{resource.id if resource.kind == 'Pod' else subject} {reason}.",
        at=Location(app.ref, resource.id, trouble_pointer(resource.desired or resource.live, trouble)),
        cause=trouble.cause,
        confidence="likely" if trouble.cause == "unknown" or reason.endswith(_SEEMS) or held != named else "proven",
        evidence=(*_evidence(app, resource, nodes, trouble), *((f"{trouble.verb}{age}",) if age else ())),
        related=tuple(
            Related(app.ref, id_, role="symptom") for id_ in (*(n.id for n in nodes[:5]), *(c.id for c in claims))
        )
        + ((Related(app.ref, earlier.id, role="cause"),) if earlier else ()),
        fixes=_rolling.with_next_step(
            resource, trouble.node.id, _fixes(app, fleet, resource, trouble, held=held, taken=taken), trouble.cause
        ),
        explains=(
            Symptom.health(resource.id),
            *(Symptom.health(n.id) for n in nodes),
            *(Symptom.health(c.id) for c in claims),
        ),
        follows=tuple(_follows(app, fleet, resource, trouble)),
    )
    if _placing.has_room_now(app, resource, trouble):
        return replace(
            finding,
            message=f"{subject} were refused by a quota that has room by now; the controller tries again.",
            severity="warning",
            confidence="likely",
            fixes=advice(__package__, "quota-has-room", {"object": str(resource.id), "namespace": resource.namespace}),
            follows=(),
        )
    if (holds := _host_ports.holder(app, fleet, resource, trouble)) is not None and not (held or taken):
        return _port_taken(finding, resource, *holds)
    if (served := _host_ports.balanced(app, resource, trouble)) is not None:
        return _port_balanced(finding, resource, *served)
    if not held and (sibling := _sharing.held_by_sibling(app, fleet, resource, trouble)) is not None:
        return _volume_shared(finding, resource, sibling)
    said = trouble.whole or trouble.text
    if trouble.cause == "network" and (webhook := _own_webhook.own_webhook(app, resource, said)) is not None:
        return _admits_itself(finding, resource, webhook)
    if trouble.verb == "cannot be created" and (added := _injected.added(finding, resource, said)) is not None:
        return added
    if _rolling.stays_behind(resource, trouble):
        return _rolling.left_behind(finding, resource, trouble)
    return resolved(finding, Complaint(app, fleet, resource.id, resource.desired or resource.live, (said,)))


def _wrong_mount(app: App, resource: Resource, trouble: Trouble) -> str:
    """Why a file or directory is mounted over the other, if the manifests show it; else empty."""
    said = catalogue().match(trouble.whole or trouble.text, "pod")
    if said is None or said.entry.id != "pod/mount-kind":
        return ""
    mount = mounted_at(app, resource.id, resource.live or resource.desired, said.facts["what"])
    if mount is None:
        return ""
    read, there = mount[0].read, mount[1]
    if there:
        return f"cannot start: file {read.key} of {read.kind} {read.name} is mounted at {mount[0].path}, where the container has a directory"
    return f"cannot start: {read.kind} {read.name} has no key {read.key}, and a directory in its place cannot replace file {mount[0].path}"


def _volume_shared(finding: Finding, resource: Resource, found: _sharing.HeldClaim) -> Finding:
    """The finding where another pod of the workload has the volume on its node."""
    return replace(
        finding,
        message=f"Pods of {resource.id} cannot mount their volumes: they share claim {found.claim.name}, which one node alone may have, and {found.holder.id.name} holds it.",
        at=replace(finding.at, pointer=found.pointer),
        confidence="proven" if found.named else "likely",
        related=(*finding.related, Related(finding.at.app, found.holder.id, role="cause")),
        fixes=tuple(_sharing.sharing_fixes(resource, found.claim)),
    )


def _admits_itself(finding: Finding, resource: Resource, webhook: _own_webhook.OwnWebhook) -> Finding:
    """The finding where the pods serve the webhook that has to admit them."""
    holder = webhook.holder.id
    facts = {
        "namespace": resource.namespace,
        "holder": str(holder),
        "command": Shell(kubectl_name(holder)),
        "patch": webhook.edit,
    }
    return replace(
        finding,
        message=f"Pods of {resource.id} cannot be created: webhook {excerpt(webhook.name, 80)} has to admit them, and they serve it themselves.",
        confidence="likely",
        related=(Related(finding.at.app, holder, webhook.pointer, role="cause"), *finding.related),
        fixes=advice(__package__, "webhook-of-its-own", facts, holder),
    )


def _port_balanced(finding: Finding, resource: Resource, service: Resource, port: int) -> Finding:
    """The finding where k3s has the port on each node for a Service."""
    steps = _host_ports.without_port(resource.desired, port)
    facts = {"object": str(resource.id), "service": str(service.id), "port": port, "patch": steps}
    return replace(
        finding,
        message=f"Pods of {resource.id} fit on no node: k3s has host port {port} of each node for {service.id}.",
        confidence="likely",
        related=(Related(finding.at.app, service.id, role="cause"), *finding.related),
        fixes=advice(__package__, "host-port-balanced", facts, resource.id),
    )


def _port_taken(finding: Finding, resource: Resource, owner: AppRef, other: Resource, port: int) -> Finding:
    """The finding where a DaemonSet has the port of the nodes that the pods ask for."""
    facts = {"object": str(resource.id), "other": str(other.id), "app": str(owner), "port": port}
    return replace(
        finding,
        message=f"Pods of {resource.id} fit on no node: {other.id} of application {owner} has host port {port} there.",
        confidence="likely",
        related=(Related(owner, other.id, role="cause"), *finding.related),
        fixes=advice(__package__, "host-port-taken", facts, resource.id),
    )


def _fixes(app: App, fleet: Fleet, resource: Resource, trouble: Trouble, *, held: bool, taken: int) -> tuple[Fix, ...]:
    """Exact edits if there are any, and then the other options. `taken`: how many there are, if each has one of the pods."""
    room = _rolling.room_fix(resource) if held else _rolling.fewer_fix(resource, taken) if taken else None
    exact = (*([room] if room else []), *_placing.fixes(app, resource, trouble))
    if exact and (held or taken or trouble.cause in ("quota", "limit")):
        return exact
    found = (*exact, *fixes(app, fleet, resource.id, resource.desired, trouble))
    lacks = trouble.cause == "resources" and _INSUFFICIENT.search(trouble.text) is not None
    room = _rolling.room_fix(resource, perhaps=True) if lacks and _rolling.keeps_earlier_pods(resource) else None
    return (*found, room) if room else found


def _reason_text(trouble: Trouble, fit: str) -> str:
    """The reason why the pods do not run: for nodes, the decisive filter's message; otherwise the innermost sentence."""
    nodes = _NODES.match(trouble.text)
    verb = singular(trouble.verb) if fit == "fits" else trouble.verb
    if claim := refused_claim(trouble):
        verb = f"get no claim {claim}"
    if trouble.cause == "scheduler":
        return verb
    if nodes is None:
        return f'{verb}: "{telling(trouble.text, min(12, 20 - len(verb.split())))}"'
    part = next((p for p in _ITEMS.split(nodes["each"]) if scheduling_cause(p)[0] == trouble.cause), nodes["each"])
    if "ReadWriteOncePod access mode already in-use" in part:
        return f"{fit} on no node: another pod has their claim, which one pod alone may mount (ReadWriteOncePod)"
    counted = _COUNTED.match(part)
    if counted is None:
        return f'{fit} on no node: "{telling(part)}"'
    some, all_ = counted["some"], nodes["all"]
    which = "the only node" if all_ == "1" else "all nodes" if some == all_ else f"{some} of {all_} nodes"
    has = "has" if some == "1" else "have"
    other = "" if some == all_ else ", and other filters refuse the rest"
    if short := _INSUFFICIENT.match(part):
        return f"{fit} on no node: {which} {has} too little {short[2]}{other}"
    if "taint" in part and (taint := _TAINT.search(part)):
        return f"{fit} on no node: {which} {has} the taint {taint[1]}, which they do not tolerate"
    if "affinity/selector" in part:
        return f"{fit} on no node: {which} {'lacks' if has == 'has' else 'lack'} the labels they ask for"
    return f'{fit} on no node: "{telling(part)}"'


_NODES = regex(r"0/(?P<all>\d{1,6}) nodes are available: (?P<each>.+)", re.DOTALL)
_ITEMS = regex(r",\s*(?=\d+ )")
_COUNTED = regex(r"(?P<some>\d{1,6}) ")
_TAINT = regex(r"\{([^:{}]{1,253}): ?[^{}]{0,63}\}")
_INSUFFICIENT = regex(r"(?<!\d)(\d{1,6}) Insufficient ([\w./-]{1,100})")
_NO_SECRET = regex(r'secrets? "([^"]{1,253})" not found')
_NO_PULL_SECRET = regex(r"finds no pull Secret (\S{1,253})$")
_QUOTA = regex(r"exceeded quota: ([\w.-]{1,253})")


def _follows(app: App, fleet: Fleet, resource: Resource, trouble: Trouble) -> Iterator[Follows]:
    """The shared cause: the maker of the missing Secret, or a lack that affects many workloads: resources of the cluster's nodes, or the namespace's quota."""
    for name in (*_NO_SECRET.findall(trouble.text), *_NO_PULL_SECRET.findall(trouble.verb)):
        maker = maker_of(app, fleet, resource.namespace, name)
        if maker is not None:
            yield Follows(Symptom.health(maker.id))
            yield Follows.finding("external-secret-ready-but-empty", maker.id)
        elif (program := _program(app, fleet, resource, name)) is not None:
            yield Follows(Symptom.health(program.id))
    if (keyless := NO_KEY.search(trouble.text)) is not None and keyless[2].lower() == "secret":
        yield Follows.finding("external-secret-key-not-written", resource.id, mended=True)
        for maker in makers_within(app, resource.namespace, keyless[4]):
            yield Follows.finding("external-secret-duplicate-target", maker.id, mended=True)
    if trouble.node.id.kind == "PersistentVolumeClaim":
        yield Follows.finding("claim-unbound", trouble.node.id, mended=True)
        yield Follows(Symptom.health(trouble.node.id))
    claims = _sharing.claims_of(resource.any) if trouble.cause == "volume" else ()
    for name, _ in claims:
        if (claim := app.find("", "PersistentVolumeClaim", resource.namespace, name)) is not None:
            yield Follows.finding("claim-unbound", claim.id, mended=True)
    lacking = sorted(((-int(nodes), what) for nodes, what in _INSUFFICIENT.findall(trouble.text)))
    quota = _QUOTA.search(trouble.text)
    if trouble.cause == "resources" and lacking:
        what = lacking[0][1]
        title = f"The nodes of cluster {app.cluster} have too little {what} for what the pods request."
        yield Follows.common(title, "nodes", app.cluster, what)
    elif trouble.cause == "quota" and quota:
        title = f"ResourceQuota {resource.namespace}/{quota.group(1)} of cluster {app.cluster} is used up."
        yield Follows.common(title, "quota", app.cluster, resource.namespace, quota.group(1))


def _unmade_secret(app: App, fleet: Fleet, resource: Resource, trouble: Trouble) -> str:
    """Why the maker of the missing Secret does not make it, where Argo CD has no health check that shows it, or the hook that only a sync makes; else empty."""
    for name in _NO_SECRET.findall(trouble.text)[:1]:
        made = unmade.silent_maker(app, fleet, resource.namespace, name)
        if made is not None and (said := unmade.said_of(app, made)):
            return f'{trouble.verb}: {made.id} does not make Secret "{name}" ("{telling(said, 9)}")'
        if (program := _program(app, fleet, resource, name)) is not None:
            state = f" ({program.health.status})" if program.health.status not in ("", "Healthy") else ""
            return f'{trouble.verb} without Secret "{name}", which {program.id}{state} {_SEEMS}'
    absent = ABSENT.search(trouble.text)
    gone = unmade.gone_hook(app, fleet, resource.namespace, absent[1].lower(), absent[2]) if absent else None
    if absent is None or gone is None:
        return ""
    sort = {"configmap": "ConfigMap"}.get(absent[1].lower(), absent[1].capitalize())
    return f'{trouble.verb} without {sort} "{absent[2]}": {gone[1]} is a hook of Application {gone[0]}, which only its sync makes'


def _program(app: App, fleet: Fleet, resource: Resource, secret: str) -> Resource | None:
    """Another workload whose program makes the missing Secret, where no object of the cluster makes it."""
    if maker_of(app, fleet, resource.namespace, secret) is not None:
        return None
    found = unmade.making_workload(app, resource.namespace, "secret", secret)
    return found if found is not None and found.id != resource.id else None


def _evidence(app: App, resource: Resource, nodes: tuple[Node, ...], trouble: Trouble) -> Iterator[str]:
    if resource.health.status:
        yield f"health of {resource.id}: {resource.health.status} {resource.health.message}".rstrip()
    yield f"{trouble.node.id}: {trouble.text}"
    if refusal := scale_up_refusal(app, trouble.node) if trouble.verb == "cannot be scheduled" else "":
        yield f"cluster autoscaler: {excerpt(refusal)}"
    asked = trouble.node.uid != resource.uid or has_own_reasons(app, resource, nodes)
    if asked and app.events(trouble.node.id, trouble.node.uid) is None:
        yield f"Events of {trouble.node.id} could not be read"
    yield from _namespaces_with_secret(app, resource, trouble)
    if app.is_awaiting(resource.id):
        yield "the running operation waits for this object"


def _namespaces_with_secret(app: App, resource: Resource, trouble: Trouble) -> Iterator[str]:
    """Namespaces in which the application shows a Secret of the missing name, such as one that an ExternalSecret makes there."""
    for name in dict.fromkeys(_NO_SECRET.findall(trouble.text)):
        spaces = sorted({node.id.namespace for node in app.nodes_of("Secret", "") if node.id.name == name})
        if spaces and resource.namespace not in spaces:
            yield f'a Secret "{name}" is in namespace {enumerated(spaces)}, and pods read those of their own namespace alone'


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=_placing.then,
    options=Patience,
    causes=(
        "resources",
        "selector",
        "taint",
        "volume",
        "quota",
        "image",
        "reference",
        "limit",
        "policy",
        "network",
        "scheduler",
        "rollout",
        "unknown",
    ),
    rank=Rank.CAUSE,
)
