"""An object is unhealthy for a reason that no other rule explains

What it finds: an object that Argo CD shows as Degraded or Unknown, Progressing for longer than allowed, or Suspended though its controller says that it
failed, with the best known reason: its own status conditions, its Events, the state of its pods. A custom resource that its controller reports as
failed, and whose kind has no health check in Argo CD, or one that does not look there, is a warning, as is a CronJob whose last run failed while Argo CD calls it Healthy.

Why it hurts: the application counts as broken, sync waves and hooks after the object wait, and automation that depends on health stops.

How to fix: follow the reason. If Argo CD's health check is wrong for the kind, correct the check, not the object.

Example: a Certificate that has been Progressing for an hour because no issuer answers.

Sources: gitops-engine/pkg/health, resource_customizations of Argo CD. An object that only waits is reported after five minutes (option
`minutes`), and after its own progressDeadlineSeconds and minReadySeconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from argolint import (
    App,
    Event,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Severity,
    Symptom,
    Want,
)
from argolint.comparison import writers
from argolint.edits import live_command
from argolint.edits.advice import advice
from argolint.messages import field_errors, quoting, telling
from argolint.redaction import excerpt
from argolint.relations import Complaint, related_wants, resolved
from argolint.relations.child import is_rolled_out
from argolint.relations.other_scope import twin_fixes, twin_of_missing
from argolint.relations.polarity import every_condition, may_report_fault, reports_fault, reports_success
from argolint.values import age_text, dig, enumerated, labels_of, mapping, maps, number_at, parse_time, sh, text_at
from argolint.values.kubernetes import is_of_current_spec, kubectl_name
from argolint.values.patterns import regex

from ..shared.age import Patience, allowed_wait, is_health_counted, is_overdue, waited_time, waiting_since
from ..shared.fields import refused_pointer
from ..shared.operators import approval_fixes, unapproved_plan
from ..shared.pods import (
    ENDS,
    Trouble,
    crash_of,
    has_crashing_container,
    has_own_reasons,
    troubles,
    unwell_below,
    wanted_events,
)
from . import _governing, _init_waits, _rolling
from ._composites import composite_facts, composition_wants
from ._grafanas import NO_FACTS, grafana_facts
from ._meaning import facts_of, is_silent, meaning, of_kind, of_reason, stopped_by_fault
from ._policies import policy_against_operator
from ._scripts import FAILS, script_facts
from ._trigger_auth import auth_facts, auth_wants
from ._unseen import failed_condition
from ._waiting import hook_fixes

_RUN_TO_THEIR_END = frozenset({"Job", "Workflow", "PipelineRun", "TaskRun", "AnalysisRun", "Application"})


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of unhealthy objects, and of the pods below them."""
    ailing = unwell_below(app)
    for resource in _unhealthy_objects(app, options, ailing):
        nodes = ailing.get(resource.uid, ())
        yield from wanted_events(app, resource, nodes)
        yield from (Want("live", node.id) for node in islice(filter(has_crashing_container, nodes), 1))
        yield from related_wants(_complaint(app, fleet, resource, _own_messages(resource)))
        yield from composition_wants(app, fleet, resource)
        yield from auth_wants(app, fleet, resource)
    if _is_unhealthy_alone(app, options):
        yield Want("app-events")


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each object; one for the application if it is unhealthy and none of its objects is."""
    ailing = unwell_below(app)
    for resource in _unhealthy_objects(app, options, ailing):
        if resource.kind == "Application" and fleet.app(resource.name, resource.namespace) is not None:
            yield _child_finding(app, fleet, resource)
        else:
            yield _finding(app, fleet, resource, ailing.get(resource.uid, ()))
    for resource in app.resources:
        if (condition := failed_condition(app, resource, options)) and not _idle_target(app, resource):
            yield _unseen_failure_finding(app, fleet, resource, condition)
    for resource in app.of_kind("CronJob", "batch"):
        if resource.health.status in ("", "Healthy") and (run := _failed_run(app, resource)) is not None:
            yield _failed_run_finding(app, fleet, resource, run)
    if _is_unhealthy_alone(app, options):
        yield _application_finding(app)


def _is_unhealthy_alone(app: App, options: Patience) -> bool:
    """Whether the application is unhealthy while none of its objects is."""
    return (
        app.health.status in ("Degraded", "Unknown")
        and app.desired_known
        and not _has_object_with_health(app, app.health.status)
        and not _has_just_turned(app, options)
    )


def _unseen_failure_finding(app: App, fleet: Fleet, resource: Resource, condition: Object) -> Finding:
    sentence = _condition_text(condition)
    facts = {**facts_of(resource), "what": text_at(condition, "type"), "sort": text_at(condition, "reason")}
    own = not resource.health.status and condition in maps(resource.live, "status", "conditions")
    own = own and condition.get("status") == "False"
    check = advice(__package__, "unhealthy/no-check", facts) if own and _REASON.fullmatch(facts["sort"]) else ()
    state = "has failed" if own else f"reports {facts['what']}={condition.get('status')}"
    said = f"{resource.id} {state}, which Argo CD does not show"
    why = "its health check does not look at that" if resource.health.status else "it has no health check of the kind"
    return Finding(
        message=quoting(said, _CONDITION.sub("", sentence)) if condition.get("message") else f"{said}.",
        at=Location(app.ref, resource.id, refused_pointer(resource.live, sentence)),
        cause=_cause(resource, sentence),
        severity="warning",
        confidence="likely",
        evidence=(excerpt(sentence, 400), f"Argo CD: {why}"),
        fixes=(*_reason_fixes(resource, sentence, around=_around(app, fleet, resource)), *check),
        explains=(Symptom.health(resource.id),),
    )


def _failed_run(app: App, cron: Resource) -> Node | None:
    """The newest Job of a CronJob that has ended, if it failed; None for a CronJob that is suspended."""
    jobs = (n for n in app.children(cron.uid) if n.id.kind == "Job" and n.health.status in ("Healthy", "Degraded"))
    newest = max(jobs, key=lambda n: (n.created_at is not None, n.created_at, n.id), default=None)
    counts = is_health_counted(cron) and dig(cron.live, "spec", "suspend") is not True
    return newest if counts and newest is not None and newest.health.status == "Degraded" else None


def _failed_run_finding(app: App, fleet: Fleet, cron: Resource, run: Node) -> Finding:
    """Argo CD calls a CronJob Healthy while a Job of it runs and as long as none has succeeded (resource_customizations/batch/CronJob); before 3.2 it has no health."""
    below = tuple(n for n in (run, *app.descendants(run.uid)) if n.health.status == "Degraded")
    found = _finding(app, fleet, cron, below)
    why = found.message.removeprefix(f"{cron.id} is {cron.health.status}")
    return replace(
        found,
        message=f"The last run of {cron.id} failed, which Argo CD does not count{why}",
        severity="warning",
        explains=tuple(Symptom.health(n.id) for n in below),
    )


_CONDITION = regex(r"^\w+=\w+(?: \w+)?: (?=\S)")


def _quote(reason: str) -> str:
    """The reason for a sentence: without the name and state of its condition."""
    return telling(_CONDITION.sub("", reason), 12)


_REASON = regex(r"\w+", re.ASCII)
"""A reason that needs no escape in a string of a health check."""


def _has_just_turned(app: App, options: Patience) -> bool:
    """Whether the health changed within the last minutes: the list of Applications and their objects are read one after the other."""
    since = parse_time(dig(app.raw, "status", "health", "lastTransitionTime"))
    return since is not None and app.observed_at - since <= options.span


def _unhealthy_objects(app: App, options: Patience, ailing: Mapping[str, tuple[Node, ...]]) -> Iterator[Resource]:
    if any(c.type == "InvalidSpecError" for c in app.conditions):
        return  # Argo CD no longer judges health: status.resources is old
    for resource in app.resources:
        status = resource.health.status
        if resource.hook or status in ("", "Healthy") or (status == "Suspended" and not stopped_by_fault(resource)):
            continue
        if status == "Missing" and (resource.missing or not resource.live_known or not app.desired_known):
            continue  # reported as a missing object, or by the comparison error
        if _has_recovered(app, resource, options) or _has_just_begun(app, resource, options):
            continue
        if _is_passing(app, resource, options):
            continue
        if status == "Progressing" and not _is_late(app, resource, options, ailing.get(resource.uid, ())):
            continue
        if is_health_counted(resource):
            yield resource


def _has_recovered(app: App, resource: Resource, options: Patience) -> bool:
    """Whether its controller reported within the last minutes that it is well: Argo CD still shows the earlier health."""
    if (since := _healthy_since(resource)) is not None and timedelta() <= app.observed_at - since <= options.span:
        return True
    conditions = maps(resource.live, "status", "conditions")
    if "." not in resource.group or any(text_at(c, "type") in _ILL and c.get("status") == "True" for c in conditions):
        return False
    verdicts = [c for c in conditions if text_at(c, "type") in _WELL]
    times = [parse_time(c.get("lastTransitionTime")) for c in verdicts]
    return (
        bool(verdicts)
        and all(c.get("status") == "True" and is_of_current_spec(resource.live, c) is not False for c in verdicts)
        and any(t is not None and timedelta() <= app.observed_at - t <= options.span for t in times)
    )


def _has_just_begun(app: App, resource: Resource, options: Patience) -> bool:
    """Whether its controller has begun within the last minutes and knows no state yet, which some health checks take for a failure, and others call Unknown."""
    made = parse_time(dig(resource.live, "metadata", "creationTimestamp"))
    conditions = maps(resource.live, "status", "conditions")
    young = made is not None and timedelta() <= app.observed_at - made <= options.span
    if not young or "." not in resource.group:
        return False
    faults = [c for c in conditions if reports_fault(c, ("False", "Unknown"))]
    return resource.health.status == "Unknown" or (bool(faults) and all(c.get("status") == "Unknown" for c in faults))


_PASSING = {
    ("keda.sh", "ScaledObject"): regex(r"HPAMetricsUnavailable: "),
    ("cert-manager.io", "Certificate"): regex(r"\w{1,60}: (?:Issuing|Renewing) certificate as "),
}
"""What a health check calls Degraded while the controller is at work: the reason and message of its condition.

KEDA 2.20.0 and 2.20.1 copy the autoscaler's ScalingActive to Ready, also while a rollout replaces the pods (pkg/scaling/executor). cert-manager writes
Ready before Issuing, for which Argo CD's check of Certificates looks (pkg/controller/certificates/trigger and readiness).
"""


def _is_passing(app: App, resource: Resource, options: Patience) -> bool:
    """Whether all that its conditions lack began within the last minutes, and passes as a rule."""
    passing = _PASSING.get((resource.group, resource.kind))
    conditions = maps(resource.live, "status", "conditions") if passing else ()
    if any((c.get("type"), c.get("status")) == ("Issuing", "True") for c in conditions):
        return False  # it says that it is at work, and an old health check does not see it
    faults = [c for c in conditions if reports_fault(c) or (c.get("type"), c.get("status")) == ("Fallback", "True")]
    return bool(faults) and all(
        passing is not None
        and passing.match(f"{text_at(c, 'reason')}: {text_at(c, 'message')}") is not None
        and (since := parse_time(c.get("lastTransitionTime"))) is not None
        and timedelta() <= app.observed_at - since <= options.span
        for c in faults
    )


def _healthy_since(resource: Resource) -> datetime | None:
    """Since when Argo CD's own check would call the status of a built-in kind Healthy (gitops-engine, pkg/health)."""
    live = resource.live or {}
    status = mapping(live, "status")
    conditions = maps(status, "conditions")
    match resource.group, resource.kind:
        case "apps", "Deployment" if is_rolled_out(live):
            times = [parse_time(c.get(at)) for c in conditions for at in ("lastTransitionTime", "lastUpdateTime")]
        case "batch", "Job" if {text_at(c, "type") for c in conditions if c.get("status") == "True"} & _ENDED == {
            "Complete"
        }:
            times = [parse_time(status.get("completionTime"))]
        case "", "PersistentVolumeClaim" if status.get("phase") == "Bound":
            times = [writer.time for writer in writers(live, "/status/phase")]
        case _:
            return None
    return max((time for time in times if time is not None), default=None)


_ENDED = frozenset({"Complete", "Failed", "Suspended"})
_WELL = frozenset({"Ready", "Available", "Healthy", "Synced", "Succeeded"})
"""Types of conditions that report the health of the whole object."""
_ILL = frozenset({"Stalled", "Degraded", "Failed", "Failure", "Error"})


def _is_late(app: App, resource: Resource, options: Patience, ailing: tuple[Node, ...]) -> bool:
    if resource.kind in _RUN_TO_THEIR_END or _awaits_a_run(app, resource):
        return False
    if any(has_crashing_container(node) and is_overdue(app, node.created_at, options.span) for node in ailing):
        return True  # a pod that starts between two crashes makes its workload's conditions look recent
    return is_overdue(app, _last_progress(app, resource), allowed_wait(resource, options.span))


def _awaits_a_run(app: App, resource: Resource) -> bool:
    """True while an analysis or a job of the object runs: a Rollout's step takes as long as that."""
    return any(
        node.id.kind in _RUN_TO_THEIR_END and node.health.status == "Progressing"
        for node in app.descendants(resource.uid)
    )


def _last_progress(app: App, resource: Resource) -> datetime | None:
    """The time of its last progress: its own times, or that of a new pod, so that a long rolling update is no standstill.

    No time of a workload shows that a pod has lost its readiness; the time when the application became Progressing does.
    """
    times = [node.created_at for node in app.descendants(resource.uid) if node.id.kind == "Pod"]
    if resource.group == "apps" and app.health.status == "Progressing":
        times.append(parse_time(dig(app.status, "health", "lastTransitionTime")))
    return max((t for t in (waiting_since(resource), *times) if t is not None), default=None)


def _has_object_with_health(app: App, status: str) -> bool:
    return any(r.health.status == status for r in app.resources) or any(n.health.status == status for n in app.nodes)


def _finding(app: App, fleet: Fleet, resource: Resource, ailing: tuple[Node, ...]) -> Finding:
    status = resource.health.status
    pod_troubles = troubles(app, resource, ailing)
    job = _failed_job(resource, ailing)
    reason, evidence = _reason(app, resource, pod_troubles, ailing, job)
    waits = status == "Progressing"
    crashing = min((n.created_at for n in ailing if has_crashing_container(n) and n.created_at), default=None)
    age = waited_time(app, crashing or _last_progress(app, resource))
    since = f" for {age_text(age)}" if waits and age else ""
    severity: Severity = "warning" if waits and not any(t.failed for t in pod_troubles) else "error"
    own_words = _init_waits.UNENDED.search(reason) is not None or reason.endswith((_LOST, _ASKS, _UNSET))
    failed = FAILS.match(reason)
    why = (
        f": {reason}"
        if own_words
        else f', since its health check fails in line {failed["line"]}: "{telling(failed["error"])}"'
        if failed
        else f': "{_quote(reason)}"'
        if reason
        else ", and neither its status nor its Events say why"
    )
    ends = ENDS.search(reason)
    around = _around(app, fleet, resource)
    finding = Finding(
        message=_ending(resource, reason, ends) if ends else f"{resource.id} is {_health_text(status)}{why}.",
        at=Location(app.ref, resource.id, refused_pointer(resource.live or resource.desired, reason)),
        severity=severity,
        cause="crash" if job and reason.startswith(f"{job}:") else _cause(resource, reason),
        confidence="likely" if reason else "possible",
        evidence=(
            *evidence,
            *((f"{status}{since}",) if since else ()),
            *((f"line {failed['line']} of it: {around['check_line']}",) if failed and around["check_line"] else ()),
        ),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in ailing[:5]),
        fixes=(
            *(() if pod_troubles else _named_pod_fixes(resource, reason, ailing)),
            *_reason_fixes(resource, reason, _pod_of(reason, pod_troubles), job, around),
            *(() if pod_troubles else hook_fixes(app, resource)),
            *(approval_fixes(resource.live) if reason.endswith(_ASKS) else ()),
        ),
        explains=(
            Symptom.health(resource.id),
            *(Symptom.health(n.id) for n in ailing),
            *(c.symptom for c in app.conditions if c.judges(resource.id)),
        ),
        follows=tuple(Follows.finding(rule, resource.id, mended=True) for rule in _RULES_OF.get(resource.kind, ())),
    )
    behind = next((t for t in pod_troubles if _rolling.stays_behind(resource, t)), None)
    if behind is not None:
        return _rolling.left_behind(finding, resource, behind)
    if (policy := _closing_policy(app, fleet, resource, finding.cause)) is not None:
        return _shut_out(finding, app, resource, policy)
    complaint = _complaint(app, fleet, resource, (reason, *evidence, *_own_messages(resource)))
    found = resolved(finding, complaint, ("health-check",))
    if found.relation is None and (begun := _init_waits.explained(app, fleet, resource, finding, reason)) is not None:
        return begun
    if answer := _init_waits.answered(app, fleet, resource, reason) if own_words else "":
        found = replace(found, evidence=(*found.evidence, answer))
    found = found if found.relation else _governing.unnamed(app, fleet, resource, found)
    return _by_child(app, fleet, resource, found)


_RULES_OF = {"ApplicationSet": ("appset-duplicate-application", "applicationset-error")}
"""Rules that explain objects of a kind which another application may have."""


def _ending(resource: Resource, reason: str, ends: re.Match[str]) -> str:
    """The sentence on a container that is started again and again, with its last words."""
    of = reason[: ends.start()].removesuffix(": ")
    container = f"container {ends['container']}{f' of {of}' if of else ''}"
    said = f"{resource.id} is {_health_text(resource.health.status)}: {container} ends with exit code {ends['code']}"
    return quoting(said, ends["words"]) if ends["words"] else f"{said}."


def _closing_policy(app: App, fleet: Fleet, resource: Resource, cause: str | None) -> Resource | None:
    """A policy that may keep the object's operator from its pods, if those are all well and nothing else says what it waits for."""
    below = [n for n in app.descendants(resource.uid) if n.id.kind == "Pod"] if "." in resource.group else []
    if cause not in ("waits", "unknown") or not below or any(n.health.status != "Healthy" for n in below):
        return None
    return policy_against_operator(app, fleet, below)


def _shut_out(finding: Finding, app: App, resource: Resource, policy: Resource) -> Finding:
    facts = {"policy": str(policy.id), "namespace": resource.namespace, "object": str(resource.id)}
    status = _health_text(resource.health.status)
    return replace(
        finding,
        message=f"{resource.id} is {status}, and {policy.id} admits nothing from other namespaces to its pods: an operator there cannot reach them.",
        confidence="possible",
        evidence=(finding.message, "its pods are healthy", *finding.evidence),
        related=(Related(app.ref, policy.id, role="cause"), *finding.related),
        fixes=(*advice(__package__, "operator-shut-out", facts), *finding.fixes),
    )


def _by_child(app: App, fleet: Fleet, resource: Resource, finding: Finding) -> Finding:
    """The finding with the fixes for what a child says, if a child says it."""
    relation = finding.relation
    if relation is None or relation.kind != "said-by-child" or relation.resource is None:
        return finding
    said = finding.evidence[0]
    of_child = (  # Git has the object, and not the child that its controller makes
        replace(fix, where=str(resource.id)) if (fix.target, fix.where) == ("manifest", str(relation.resource)) else fix
        for fix in of_kind(Resource(relation.resource), said)
    )
    manifest = resource.desired or {}
    twin = twin_of_missing(fleet, app.cluster, resource.namespace, manifest, said)
    named = twin_fixes(resource.id, twin) if twin else ()
    return replace(finding, fixes=(*named, *of_child, *finding.fixes))


def _complaint(app: App, fleet: Fleet, resource: Resource, texts: tuple[str, ...]) -> Complaint:
    return Complaint(app, fleet, resource.id, resource.desired or resource.live, tuple(filter(None, texts)))


def _own_messages(resource: Resource) -> tuple[str, ...]:
    """The messages of Argo CD and of the object's own conditions, without Events."""
    conditions = _fault_conditions(resource)
    return (resource.health.message, *map(_condition_text, conditions))


def _named_pod_fixes(resource: Resource, reason: str, ailing: tuple[Node, ...]) -> tuple[Fix, ...]:
    """Where to look if an operator waits for a pod below its object that it names and that is not well: in the log of that pod."""
    found = meaning(resource, reason)
    if "." not in resource.group or (found is not None and found.entry.cause not in ("deadline", "waits")):
        return ()
    named = {word.rstrip(".-") for word in _NAMES.findall(reason[:8000])}
    pod = next((n.id for n in ailing if n.id.kind == "Pod" and n.id.name in named), None)
    if pod is None or reason.startswith(f"{pod}: "):
        return ()
    return advice(__package__, "unhealthy/names-pod", {"what": pod.name, "logs": pod.name, "namespace": pod.namespace})


_NAMES = regex(r"[a-z0-9][a-z0-9.-]{1,252}")


def _pod_of(reason: str, pod_troubles: tuple[Trouble, ...]) -> str:
    """The name of the pod that the reason begins with, else of the first one in trouble; empty without pods."""
    pods = [t.node.id for t in pod_troubles if t.node.id.kind == "Pod"]
    return next((pod.name for pod in pods if reason.startswith(f"{pod}: ")), pods[0].name if pods else "")


def _failed_job(resource: Resource, ailing: tuple[Node, ...]) -> ResourceId | None:
    """The object itself or what is below it, if it is a Job that has failed for good."""
    if (resource.group, resource.kind) == ("batch", "Job") and resource.health.status == "Degraded":
        return resource.id
    jobs = [n for n in ailing if (n.id.group, n.id.kind) == ("batch", "Job") and n.health.status == "Degraded"]
    if resource.kind == "CronJob":
        jobs.sort(key=lambda n: (n.created_at is None, n.created_at), reverse=True)
    return jobs[0].id if jobs else None


def _around(app: App, fleet: Fleet, resource: Resource) -> Mapping[str, str]:
    """Facts of advice on a custom resource from other objects: one that its controller has made; whether a user's ACLs lack authorization in its Kafka; the only Kafka of its namespace, if it names none, and whether the one that it names is ill; the Grafanas that it may use; a target without replicas; the composite resource of a claim; where the Secret of its ClusterTriggerAuthentication is."""
    below = app.descendants(resource.uid) if resource.uid and "." in resource.group else ()
    made = next((str(n.id) for n in below if any(owner.uid == resource.uid for owner in n.owners)), "")
    acl = resource.kind == "KafkaUser" and dig(resource.any, "spec", "authorization") is not None
    kafkas = app.of_kind("Kafka", resource.group) if acl else ()
    cluster = labels_of(resource.any).get("strimzi.io/cluster")
    bare = any(
        (k.namespace, k.name) == (resource.namespace, cluster) and not dig(k.any, "spec", "kafka", "authorization")
        for k in kafkas
    )
    near = {k.name: k for k in fleet.of_kind(app.cluster, resource.group, "Kafka") if k.namespace == resource.namespace}
    alone = next(iter(near)) if cluster is not None and len(near) == 1 and cluster not in near else ""
    own = near.get(str(cluster))
    rows = [app.resource(own), *(fleet.resource(ref, own) for ref in fleet.owners(own))] if own else []
    waits = any(row is not None and row.health.status not in ("", "Healthy") for row in rows)
    return {
        "made": made,
        "acl": "yes" if bare else "",
        "kafka": alone,
        "ill": "yes" if waits else "",
        **(grafana_facts(app, fleet, resource) if resource.group.startswith("grafana.") else NO_FACTS),
        **composite_facts(app, fleet, resource),
        **auth_facts(app, fleet, resource),
        **script_facts(fleet, resource),
        "scaled": _version_of_target(app, resource),
        "idle": _idle_target(app, resource),
    }


def _idle_target(app: App, resource: Resource) -> str:
    """The workload that a VerticalPodAutoscaler measures, if its manifest gives it no pods."""
    ref = mapping(resource.any, "spec", "targetRef")
    group = text_at(ref, "apiVersion").rpartition("/")[0]
    found = app.find(group, text_at(ref, "kind"), resource.namespace, text_at(ref, "name")) if ref else None
    return str(found.id) if found is not None and dig(found.live, "spec", "replicas") == 0 else ""


def _version_of_target(app: App, resource: Resource) -> str:
    """The apiVersion that the target of a scaler has in the cluster, where the scaler names another one of its group."""
    ref = mapping(resource.any, "spec", "scaleTargetRef")
    named = text_at(ref, "apiVersion")
    same = (r for r in app.of_kind(text_at(ref, "kind"), named.partition("/")[0]) if r.name == text_at(ref, "name"))
    version = next((text_at(r.live, "apiVersion") for r in same if r.namespace == resource.namespace), "")
    return version if version != named else ""


def _reason_fixes(
    resource: Resource,
    reason: str,
    pod: str = "",
    job: ResourceId | None = None,
    around: Mapping[str, str] | None = None,
) -> tuple[Fix, ...]:
    """Fixes for a known reason, and always a place to read it."""
    title = f"Follow the reason that the {resource.kind} gives"
    return (
        *of_reason(resource, reason, pod, job, around),
        live_command(resource.id, title, f"kubectl describe {kubectl_name(resource.id)}"),
    )


def _cause(resource: Resource, reason: str) -> str:
    """The cause by the refused field, or by its controller's message."""
    if field_errors(reason):
        return "field"
    found = meaning(resource, reason)
    if is_silent(resource) and (found is None or found.entry.knows != "cause"):
        return "waits"
    return found.entry.cause if found else "unknown"


def _health_text(status: str) -> str:
    return "of unknown health" if status == "Unknown" else status


def _reason(
    app: App,
    resource: Resource,
    pod_troubles: tuple[Trouble, ...],
    ailing: tuple[Node, ...],
    job: ResourceId | None,
) -> tuple[str, tuple[str, ...]]:
    """(reason, evidence): the pods' trouble first, or a Job below it that has failed for good, then a failed condition, a Warning Event, Argo CD's own message."""
    events = app.events(resource.id, resource.uid)
    lines = [" ".join(f"health: {resource.health.status} {resource.health.message}".split())]
    stopped = stopped_by_fault(resource)
    candidates = [stopped] if stopped else []
    candidates += [
        text if t.node.uid == resource.uid else f"{t.node.id}: {text}"
        for t in pod_troubles
        for text in [crash_of(app, t) or t.text]
    ]
    if not pod_troubles and job is not None and job != resource.id:
        candidates = [f"{n.id}: {n.health.message}".rstrip(": ") for n in ailing if n.id == job]
    sentence = [_event_text(e) for e in events or () if e.type == "Warning"]
    sentence += () if pod_troubles else _pod_warnings(app, ailing)
    candidates += _unsaid_reason(app, resource)
    candidates += _status_faults(resource, sentence)
    candidates += _task_reason(resource)
    lines += [excerpt(c, 400) for c in candidates[:6] if c != stopped or c not in lines[0]]
    if events is None and resource.uid and has_own_reasons(app, resource, ailing):
        lines.append("its Events could not be read")
    message = resource.health.message or str(dig(resource.live, "status", "message") or "")
    newest = next((_event_text(e) for e in events or ()), "")  # for claims, a fault is a Normal Event
    best = next(iter(candidates), message or newest)
    return best, tuple(lines)


_KNOWS = ("cause", "sort", "stage")


def _status_faults(resource: Resource, sentence: list[str]) -> list[str]:
    """The faults in the object's conditions and Events, the most specific sentence first.

    A condition of an earlier spec, one that only reports a consequence, and an unknown Event come last. Among equally specific ones, conditions go before
    Events, and the newest transition goes first.
    """
    conditions = _fault_conditions(resource)
    conditions.sort(key=lambda c: text_at(c, "lastTransitionTime"), reverse=True)
    ranked = [(_condition_order(resource, c), _condition_text(c)) for c in conditions]
    if (own := _status_message(resource)) and not any(own in text for _, text in ranked):
        ranked.append(((False, False, _text_order(resource, own)), own))
    levels = [(text, _text_order(resource, text)) for text in sentence]
    ranked += [((False, level == len(_KNOWS), level), text) for text, level in levels]
    return [text for _, text in sorted(ranked, key=lambda pair: pair[0])]


def _status_message(resource: Resource) -> str:
    """An operator's message on a fault outside the conditions; empty if Argo CD already shows it."""
    status = mapping(resource.live, "status") if "." in resource.group else {}
    message = next((text for field in _MESSAGE_FIELDS if (text := text_at(status, field))), "")
    return (
        f"{text_at(status, 'phase')}: {message}".lstrip(": ")
        if message and message not in resource.health.message
        else ""
    )


_MESSAGE_FIELDS = ("phaseReason", "errorMessage", "lastError", "error")


def _pod_warnings(app: App, ailing: tuple[Node, ...]) -> Iterator[str]:
    """The Warning Events of the pods among these nodes."""
    for node in ailing:
        if node.id.kind == "Pod":
            yield from (
                f"{node.id}: {_event_text(e)}" for e in app.events(node.id, node.uid) or () if e.type == "Warning"
            )


def _condition_order(resource: Resource, condition: Object) -> tuple[bool, bool, int]:
    """Sort key: how unspecific a condition is; the least first."""
    of_now = is_of_current_spec(resource.live, condition) is not False
    message = text_at(condition, "message")
    follows = condition.get("reason") in _CONSEQUENCES or message.endswith(_NO_MORE) or bool(_NOT_READY.match(message))
    return not of_now, follows, _text_order(resource, _condition_text(condition))


def _text_order(resource: Resource, text: str) -> int:
    """0 for a known cause, 1 for a form that many programs share, 2 for a stage, 3 for an unknown text."""
    if field_errors(text):
        return 0
    found = meaning(resource, text)
    return _KNOWS.index(found.entry.knows) if found else len(_KNOWS)


_ASKS = "awaits approval"
_LOST = "no pod or claim is left, so its operator makes none"
_UNSET = "its status lacks observedGeneration, which Argo CD compares with its generation"


def _unsaid_reason(app: App, resource: Resource) -> Iterator[str]:
    """The reason of a Subscription of OLM that waits for a person, of a workload whose status names no generation, or of a CloudNativePG Cluster that has had instances and has none: older operators say it in its log alone (internal/controller/cluster_create.go)."""
    if plan := unapproved_plan(resource.live) if resource.kind == "Subscription" else "":
        yield f"its InstallPlan {plan} {_ASKS}"
    made = number_at(resource.live, "status", "latestGeneratedNode") if resource.group == "postgresql.cnpg.io" else 0
    if made and not any(n.id.kind in ("Pod", "PersistentVolumeClaim", "Job") for n in app.descendants(resource.uid)):
        yield f"its status counts instances up to {made}, and {_LOST}"
    status = mapping(resource.live, "status") if "observed" in resource.health.message else {}
    if resource.group == "apps" and "observedGeneration" not in status and number_at(status, "readyReplicas"):
        yield _UNSET


def _task_reason(resource: Resource) -> tuple[str, ...]:
    """The reason of a running Pod that is not always restarted: Argo CD treats it as a task and waits for its end (gitops-engine, pkg/health)."""
    policy = text_at(resource.live, "spec", "restartPolicy") or "Always"
    runs = (resource.group, resource.kind) == ("", "Pod") and dig(resource.live, "status", "phase") == "Running"
    return (
        (f"restartPolicy {policy}: a task to Argo CD, which waits for its end",) if runs and policy != "Always" else ()
    )


_CONSEQUENCES = (
    "ContainersNotReady",
    "ProgressDeadlineExceeded",
    "MinimumReplicasUnavailable",
    "ReplicaSetUpdated",
    "ListenersNotValid",
)
"""Messages of workload controllers on any fault of their pods; another condition shows which one it is."""
_NO_MORE = "retries exhausted"
"""The messages with which Flux ends a release; another condition has the cause."""
_NOT_READY = regex(r"(?:the )?[\w-]{1,60}(?: \w{1,60})? is not (?:yet )?(?:ready|healthy|available)\.?$", re.IGNORECASE)
"""A sentence with no more information than the type of its condition."""


def _fault_conditions(resource: Resource) -> list[Object]:
    """The conditions with words that report a fault, or that a state is not known; without one, and if Degraded, those that may report one."""
    conditions = [c for c in every_condition(resource.live) if c.get("message") or c.get("reason")]
    faults = [c for c in conditions if reports_fault(c, ("False", "Unknown")) or _is_counted(resource, c)]
    if faults or resource.health.status != "Degraded":
        return faults
    return [c for c in conditions if may_report_fault(c)]


def _is_counted(resource: Resource, condition: Object) -> bool:
    """Whether Argo CD's health check has failed the object for this condition, as its message shows, and the condition reports no success."""
    message = text_at(condition, "message").strip()
    shown = resource.health.status == "Degraded" and bool(message) and message in resource.health.message
    return shown and not reports_success(condition)


def _condition_text(condition: Object) -> str:
    head = f"{condition.get('type')}={condition.get('status')} {condition.get('reason') or ''}".rstrip()
    return f"{head}: {condition.get('message') or ''}".rstrip(": ")


def _event_text(event: Event) -> str:
    return f"{event.reason}: {event.message}"


def _child_finding(app: App, fleet: Fleet, resource: Resource) -> Finding:
    child = fleet.app(resource.name, resource.namespace)
    assert child is not None  # the caller looked
    return Finding(
        message=f"Application {child.ref} is {resource.health.status}, so application {app.ref}, which manages it, is as well.",
        at=Location(app.ref, resource.id),
        severity="info",
        related=(Related(child.ref, role="cause"),),
        explains=(Symptom.health(resource.id),),
        follows=(Follows(app=child.ref),),
    )


def _application_finding(app: App) -> Finding:
    why = f' ("{telling(app.health.message)}")' if app.health.message else ", though none of its objects is"
    event, causes = _health_event(app)
    if causes:
        why = f", and Argo CD's event names {excerpt(causes, 160)} as the cause"
    return Finding(
        message=f"Application {app.ref} is {app.health.status}{why}, so automation that looks at its health stops.",
        at=Location(app.ref),
        confidence="possible",
        evidence=(event,) if event else (),
        fixes=(
            live_command(
                f"Application {app.ref}",
                "Refresh the application, so that its health is computed again",
                f"argocd app get {sh(app.ref)} --refresh",
            ),
        ),
        explains=(Symptom.health(),),
    )


_CAUSED_BY = regex(r"Caused by (?P<all>[^()]{1,400})")


def _health_event(app: App) -> tuple[str, str]:
    """The newest event of the change to the present health, and the objects that it names as its cause, in Argo CD 3.6's form."""
    for event in app.evidence.get(Want("app-events")) or ():
        if "Updated health status" in event.message and f"-> {app.health.status}" in event.message:
            found = _CAUSED_BY.search(event.message)
            parts = [part.strip().partition(":") for part in found["all"].split(",")] if found else []
            named = [f"{kind.rpartition('/')[2]} {name}" for kind, _, name in parts if name]
            return excerpt(event.message, 400), enumerated(named) if named else ""
    return "", ""


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    options=Patience,
    causes=(
        *("field", "reference", "credentials", "rights", "policy", "quota", "limit", "network", "certificate"),
        *("crash", "storage", "waits", "deadline", "analysis", "release", "rollout", "controller", "health-check"),
        "unknown",
    ),
    rank=Rank.CATCH_ALL,
)
