"""An operation waits for something that does not come

What it finds: a sync that has been running for minutes because it waits for a hook to complete, for an object to become healthy, for a deletion
or for a confirmation. Also one that was terminated and does not end. The finding names the awaited object and the reason for the wait, from pods, finalizers and Events. If a more specific
rule explains the object, only that rule reports it.

Why it hurts: an operation without timeout runs forever, and no other sync can start meanwhile. New commits do not arrive, and the objects of
later waves stay missing.

How to fix: remove the obstacle to the hook or the object. Then terminate the operation and sync again.

Example: a PreSync Job whose pod asks for a node label that no node has.

Sources: gitops-engine/pkg/sync/sync_context.go (the messages); argoproj/argo-cd#6880, #27507. Reported after five minutes (option `minutes`);
for a hook with a running pod, after `running_minutes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from argolint import (
    App,
    Awaited,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Node,
    Object,
    Operation,
    Rank,
    Related,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import live_command
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.messages import WORDS, quoting
from argolint.redaction import excerpt
from argolint.relations import Complaint, related_wants, resolved
from argolint.relations.waits import has_own_check
from argolint.sequence.order import delete_policies, hook_phases
from argolint.values import age_text, dig, items, mapping, maps, number_at, parse_time, sh, text_at
from argolint.values.kubernetes import is_of_current_spec, kubectl_name, pod_spec
from argolint.values.patterns import regex

from .. import shared
from ..shared import age, pod_fixes, pods
from ..shared.operations import has_revision_moved, sync_again_command
from ..shared.operators import approval_fixes, unapproved_plan
from . import _hooks
from ._failures import Failed, result_failure
from ._refusals import refusal_fixes
from ._renewed import renewal_fixes, renewed_dependent

_SELF_RUNNING_KINDS = frozenset({"AnalysisRun", "Application", "PipelineRun", "TaskRun", "Workflow"})


@dataclass(frozen=True)
class Options:
    """minutes: how long an operation may wait; running_minutes: how long while the awaited hook's pod runs."""

    minutes: int = 5
    running_minutes: int = 60


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """Events of the awaited object and of its pods; the live object of an awaited hook."""
    operation = app.operation
    awaited = operation.awaited if operation else None
    if operation is None or awaited is None or not _is_overdue(app, operation, options.minutes):
        return
    node = _awaited_node(app, awaited)
    if node is None and awaited.reason == "completion of hook":
        yield Want("manifests")  # an object that is gone cannot be read; its manifest may show why it went
    if node is not None:
        yield Want("events", node.id, node.uid)
        for child in pods.watched_below(app, node):
            yield Want("events", child.id, child.uid)
        yield from related_wants(_complaint(app, fleet, node, None))
    if node is not None and awaited.reason in ("completion of hook", "deletion of"):
        yield Want("live", node.id)  # hooks are not among the managed objects


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """At most one finding, for the running operation."""
    operation = app.operation
    if operation is None or app.deleting or not _is_overdue(app, operation, options.minutes):
        return  # finalizer-stuck says what the operation of an Application that is being deleted keeps up
    if operation.phase == "Terminating":
        yield _unended_finding(app, operation)
        return
    awaited = operation.awaited
    node = _awaited_node(app, awaited) if awaited else None
    if node is None and operation.retry_count and not _is_overdue(app, operation, options.running_minutes):
        return  # startedAt is that of the first attempt; no field has the start of this one
    if awaited is None:
        yield _finding(app, fleet, operation, None, None, "", None)
        return
    troubles = pods.troubles_below(app, node) if node else ()
    trouble = next((t for t in troubles if t.failed or _is_older(app, t.since, options.minutes)), None)
    sidecar = _hooks.sidecar_of(app, node, _hooks.manifest_of(app, node.id)) if node else None
    if sidecar is not None and pods.status_reason(sidecar.pod) == "NotReady":
        trouble = None  # the hook's own container has ended: the Events are about the sidecar
    running = node is not None and trouble is None and _is_running(app, node) and not _made_in_silence(app, node)
    if sidecar is not None and trouble is None and pods.status_reason(sidecar.pod) == "NotReady":
        running = False  # the hook's own container has ended
    if running and node and (not _is_overdue(app, operation, options.running_minutes) or _may_take_long(app, node)):
        return
    if node is not None and not (trouble and trouble.failed) and _is_recent(app, node, options.minutes):
        return
    if node is not None and trouble is None and _has_come(app, awaited, node):
        ended = _completed_at(_live_object(app, node))
        if ended is not None and not _is_older(app, ended, options.minutes):
            return  # it has ended only now, and Argo CD will see it
    running = running and node is not None and _is_task(app, node)
    child = fleet.app(awaited.name, node.id.namespace) if node and awaited.kind == "Application" else None
    if child is not None:
        why = f"which is {child.health.status or 'without health'} itself"
    else:
        why = _reason(app, awaited, node, trouble, None if trouble else sidecar, running=running)
        if trouble is None and _rests_by_own_check(app, fleet, node):
            why = why.replace("which is", "which a health check of Argo CD's settings calls", 1)
    finding = _finding(app, fleet, operation, node, trouble, why, None if trouble else sidecar, running=running)
    yield replace(finding, related=(Related(child.ref, role="cause"),)) if child else finding


def _is_overdue(app: App, operation: Operation, minutes: int) -> bool:
    if operation.phase not in ("Running", "Terminating") or operation.waiting_to_retry:
        return False
    return _is_older(app, operation.started_at, minutes)


def _unended_finding(app: App, operation: Operation) -> Finding:
    """The finding for an operation that was asked to end: the controller ends one in its next pass, whatever it waits for.

    gitops-engine/pkg/sync/sync_context.go (Terminate). No field has the time of the request.
    """
    began = f", begun {age_text(app.observed_at - operation.started_at)} ago," if operation.started_at else ""
    facts = {"app": str(app.ref), "name": app.ref.name, "namespace": app.ref.namespace}
    return Finding(
        message=f"The operation of application {app.ref}{began} was asked to end and has not, so no other sync starts.",
        at=Location(app.ref),
        confidence="likely",
        evidence=tuple(_evidence(app, operation, None, None)),
        fixes=advice(__package__, "hook-stuck/unended", facts),
        explains=tuple(consequences(app)),
    )


def _is_older(app: App, since: datetime | None, minutes: int) -> bool:
    """True if it began more than `minutes` ago, or if the time is unknown."""
    return since is None or app.observed_at - since > timedelta(minutes=minutes)


def _is_running(app: App, node: Node) -> bool:
    """True if one of its pods runs, or if it is Progressing and itself a run (of a workflow, an analysis) or an Application."""
    own = node.id.kind in _SELF_RUNNING_KINDS and node.health.status == "Progressing"
    return own or any(map(_runs, app.descendants(node.uid)))


def _runs(node: Node) -> bool:
    return node.id.kind == "Pod" and pods.status_reason(node) == "Running"


def _is_unwell(node: Node) -> bool:
    return node.health.status not in ("", "Healthy")


_SERVERS = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def _is_task(app: App, node: Node) -> bool:
    """Whether what runs below it may end: the pods of a server run on, and those of a task are not Healthy while they run."""
    below = (node, *app.descendants(node.uid))
    return not any(n.id.kind in _SERVERS for n in below) and not any(
        _runs(n) and n.health.status == "Healthy" for n in below
    )


def _may_take_long(app: App, node: Node) -> bool:
    """Whether a hook that runs is within its own deadline, or takes no more than twice as long as an earlier sync did."""
    live = _live_object(app, node) or {}
    began = parse_time(text_at(live, "status", "startTime")) or node.created_at
    took = app.observed_at - began if began else timedelta()
    past = [
        ended - started
        for entry in maps(app.status, "history")
        if (started := parse_time(entry.get("deployStartedAt"))) and (ended := parse_time(entry.get("deployedAt")))
    ]
    return took < max(
        timedelta(seconds=number_at(live, "spec", "activeDeadlineSeconds")), 2 * max(past, default=timedelta())
    )


_UNREADY = regex(r"(?:Unhealthy: )?Readiness probe (?:failed|errored)")


def _is_unready(trouble: pods.Trouble) -> bool:
    """Whether its containers run, and only the readiness probe of one fails."""
    return trouble.verb == "start and fail" and _UNREADY.match(trouble.text) is not None


def _is_recent(app: App, node: Node, minutes: int) -> bool:
    """True for an object that a late wave touched only recently: the operation is old, the wait for this object is not."""
    patience, resource = timedelta(minutes=minutes), app.resource(node.id.key)
    if resource is None or resource.live is None:
        return node.created_at is not None and app.observed_at - node.created_at <= patience
    return not age.is_overdue(app, age.waiting_since(resource), age.allowed_wait(resource, patience))


def _awaited_node(app: App, awaited: Awaited) -> Node | None:
    return next((n for n in app.nodes if awaited.is_(n.id)), None)


def _reason(
    app: App,
    awaited: Awaited,
    node: Node | None,
    trouble: pods.Trouble | None,
    sidecar: _hooks.Sidecar | None,
    *,
    running: bool,
) -> str:
    """The rest of the sentence: the reason why it does not come."""
    if node is None and awaited.reason == "deletion of":
        failed = _failed_peer(app)
        return f"which is gone already, while {failed.id} has failed" if failed else "which is gone already"
    if _is_deleted(app, awaited):
        return "which was deleted after it was applied"
    if node is None:
        found = _hooks.rendered_hook(app, awaited)
        seconds = _hooks.seconds_kept(found[1]) if found else None
        if seconds is not None:
            return f"which removes itself {seconds} s after its end (ttlSecondsAfterFinished)"
        return "which the resource tree does not hold"
    if sidecar is not None:
        if sidecar.product:
            return f"whose Pod runs on with an injected sidecar of {sidecar.product}"
        return f"whose Pod still runs {excerpt(sidecar.image, 120)}, which Git does not have"
    if _hooks.is_held(app, node):
        return "which has ended, but keeps Argo CD's own finalizer"
    if trouble is not None:
        subject = "it" if trouble.node.uid == node.uid else f"its {trouble.node.id.kind}"
        does = "does not become ready" if _is_unready(trouble) else _hooks.of_one_pod(trouble)
        if trouble.node.uid == node.uid and node.id.kind == "PersistentVolumeClaim":
            does = "is not bound"
        return f'since {subject} {does}: "{trouble.text}"'
    if awaited.reason == "deletion of":
        made = renewed_dependent(app, node.uid, _live_object(app, node))
        if made is not None:
            return f"whose {made.id.kind} is made again meanwhile"
        finalizers = ", ".join(items(_live_object(app, node), "metadata", "finalizers")) or "a finalizer"
        return f"which keeps the finalizer {finalizers}"
    if awaited.reason == "pruning confirmation of":
        return ""
    if running:
        return "whose pod still runs"
    if _has_come(app, awaited, node):
        ended = _completed_at(_live_object(app, node))
        return (
            f"which ended at {ended:%H:%M:%S}Z, unnoticed by Argo CD" if ended else "which it is, unnoticed by Argo CD"
        )
    if plan := unapproved_plan(_live_object(app, node)):
        return f"whose InstallPlan {plan} awaits approval"
    warning = next((e for e in app.events(node.id, node.uid) or () if e.type == "Warning"), None)
    if warning is not None:
        return f'of which an Event says: "{warning.reason}: {warning.message}"'
    why = f': "{node.health.message}"' if node.health.message else ""
    return f"which is {node.health.status or 'without health'}{why}"


def _has_come(app: App, awaited: Awaited, node: Node | None) -> bool:
    """Whether the only object that the sync waits for is Healthy, which ends the wait for a hook and for an object alike (gitops-engine pkg/sync)."""
    ends = awaited.reason in ("completion of hook", "healthy state of") and not awaited.others
    return ends and node is not None and node.health.status == "Healthy"


def _completed_at(live: Object | None) -> datetime | None:
    return parse_time(dig(live, "status", "completionTime"))


def _is_deleted(app: App, awaited: Awaited) -> bool:
    """Whether the running sync has applied the object, and the cluster does not have it any more: then its health never comes."""
    if app.operation is None or awaited.reason != "healthy state of":
        return False
    return any(r.missing and awaited.is_(r.id) and app.operation.applied(r.id) for r in app.resources)


def _rests_by_own_check(app: App, fleet: Fleet, node: Node | None) -> bool:
    """Whether the controller of a custom resource is up to date with it, and a health check of Argo CD's settings calls it Progressing."""
    live = _live_object(app, node) if node else None
    if node is None or live is None or node.health.status != "Progressing" or "." not in node.id.group:
        return False
    return is_of_current_spec(live) is True and fleet.derive(has_own_check, node.id.group, node.id.kind)


def _made_in_silence(app: App, node: Node | None) -> str:
    """An object that the controller of a custom resource has made, where it has written no status and the health check waits for one; else empty."""
    live = _live_object(app, node) if node else None
    if node is None or live is None or node.health.status != "Progressing" or "." not in node.id.group:
        return ""
    if any(value for key, value in mapping(live, "status").items() if key != "observedGeneration"):
        return ""
    below = tuple(app.descendants(node.uid))
    if any(n.health.status not in ("", "Healthy") for n in below):
        return ""
    return next((str(n.id) for n in below if any(owner.uid == node.uid for owner in n.owners)), "")


def _complaint(app: App, fleet: Fleet, node: Node, trouble: pods.Trouble | None) -> Complaint:
    """The messages of the awaited object, its pods and their Events."""
    messages = [trouble.text] if trouble else []
    below = (node, *pods.watched_below(app, node))
    messages += [e.message for n in below for e in app.events(n.id, n.uid) or () if e.type == "Warning"]
    messages += [n.health.message for n in below if n.health.message]
    return Complaint(app, fleet, node.id, _hooks.manifest_of(app, node.id), tuple(messages))


def _live_object(app: App, node: Node) -> Object | None:
    resource = app.resource(node.id.key)
    found: Object | None = app.evidence.get(Want("live", node.id))
    return (resource.live if resource else None) or found


def _pointer(manifest: Object | None, trouble: pods.Trouble | None) -> str:
    """The field that stops the pods; their whole spec if the manifest is unknown."""
    if trouble is None or not trouble.cause:
        return ""
    if manifest is None:
        return "/spec/template/spec"
    return pods.trouble_pointer(manifest, trouble)


def _finding(
    app: App,
    fleet: Fleet,
    operation: Operation,
    node: Node | None,
    trouble: pods.Trouble | None,
    why: str,
    sidecar: _hooks.Sidecar | None,
    *,
    running: bool = False,
) -> Finding:
    awaited = operation.awaited
    began = operation.started_at
    if operation.retry_count and awaited and awaited.reason == "completion of hook" and node and node.created_at:
        began = node.created_at  # startedAt is that of the first attempt
    waited = age_text(app.observed_at - began) if began else "an unknown time"
    if awaited is None:
        what, why = (
            f"has been running for {waited}",
            f': "{operation.message}"' if operation.message else "",
        )
    else:
        others = f" and {awaited.others} more" if awaited.others else ""
        goal = _GOALS.get(awaited.reason, "for {}").format(f"{awaited.kind} {awaited.name}{others}")
        what, why = f"has waited {waited} {goal}", f", {why}" if why else ""
    rendered = _hooks.rendered_hook(app, awaited) if awaited and node is None else None
    manifest = _hooks.manifest_of(app, node.id) if node else rendered[1] if rendered else None
    named = node.id if node else rendered[0] if rendered else None
    busy = next((n.id for n in (node, *app.descendants(node.uid)) if _runs(n)), None) if node and running else None
    causes = (
        advice(__package__, "hook-stuck/runs-on", {"namespace": busy.namespace, "pod": busy.name})
        if busy
        else tuple(_cause_fixes(app, fleet, awaited, node, named, manifest, trouble, sidecar))
    )
    deleting = awaited is not None and awaited.reason == "deletion of"
    pointer = "/spec/ttlSecondsAfterFinished" if rendered and _hooks.seconds_kept(manifest) is not None else ""
    finding = Finding(
        message=_wait_message(app, what, why),
        at=Location(app.ref, named, pointer or _pointer(manifest, trouble)),
        confidence="proven" if trouble or not awaited else "likely",
        evidence=tuple(_evidence(app, operation, node, trouble)),
        fixes=causes,
        explains=(*consequences(app), *_health_symptoms(app, node)),
        follows=(Follows.finding("finalizer-stuck", node.id),) if node and deleting else (),
    )
    apart = awaited is None or deleting or _is_deleted(app, awaited)
    if node is not None and not (apart or sidecar or running):
        finding = resolved(finding, _complaint(app, fleet, node, trouble))
    runs = trouble is None or not trouble.cause  # else what the pods lack is known
    pulls = trouble is not None and trouble.cause == "image"
    healthy = awaited is not None and awaited.reason == "healthy state of"
    healthy = healthy and (node is None or node.health.status != "Suspended")  # else the newer revision waits again
    stopped = (pulls or (runs and healthy)) and finding.fixes == causes
    if stopped and has_revision_moved(app, operation):  # what Git holds by now may have repaired it
        return replace(
            finding,
            fixes=(_terminate_fix(app, "Terminate the operation, so that the newer revision is synced"), *causes),
        )
    is_task = awaited is not None and awaited.reason == "completion of hook" and awaited.kind in ("Job", "Pod")
    if is_task and node is None and manifest is None and finding.fixes:
        title = "Terminate the operation and sync again: it cannot see the end of a hook that is gone"
        return replace(finding, fixes=(_terminate_fix(app, title), *finding.fixes))
    if not finding.fixes and awaited is not None and trouble is None and _has_come(app, awaited, node):
        return replace(
            finding, fixes=(_terminate_fix(app, "Terminate the operation and sync again"), _restart_fix(fleet))
        )
    begin = "If it hangs, terminate" if busy else "Then terminate" if finding.fixes else "Terminate"
    return replace(finding, fixes=(*finding.fixes, _terminate_fix(app, f"{begin} the operation and sync again")))


_GOALS = {
    "completion of hook": "for hook {} to finish",
    "healthy state of": "for {} to be healthy",
    "deletion of": "for {} to be deleted",
    "pruning confirmation of": "for someone to confirm the pruning of {}",
}


def _wait_message(app: App, what: str, why: str) -> str:
    """The reason why the sync waits; a server's message is cut to its important part."""
    before, _, quoted = why.partition(': "')
    subject = f"The sync of application {app.ref} {what}{before}"
    sentence = quoting(subject, quoted.removesuffix('"')) if quoted else f"{subject}."
    then = f"{sentence[:-1]}, so no other sync starts."
    return then if len(then.split()) <= WORDS else sentence


def _health_symptoms(app: App, node: Node | None) -> Iterator[Symptom]:
    if node is not None:
        yield Symptom.health(node.id)
        yield from (Symptom.health(child.id) for child in pods.watched_below(app, node))


def _evidence(app: App, operation: Operation, node: Node | None, trouble: pods.Trouble | None) -> Iterator[str]:
    since = f" since {operation.started_at:%Y-%m-%d %H:%M:%SZ}" if operation.started_at else ""
    yield f"operation {operation.phase}{since}: {excerpt(operation.message, 400)}"
    if operation.retry_count:
        yield f"it is attempt {operation.retry_count + 1}"
    if has_revision_moved(app, operation):
        yield f"the operation applies {', '.join(operation.revisions)}, and Git is at {', '.join(app.revisions)}"
    if node is not None:
        wave = next((r.wave for r in app.resources if r.key == node.id.key), 0)
        yield f"{node.id}: wave {wave}, health {node.health.status or 'none'} {node.health.message}".rstrip()
    if trouble is not None:
        yield f"{trouble.node.id}: {trouble.text}"
        if node is not None and _hooks.runs_again(app, _hooks.manifest_of(app, node.id)):
            yield _hooks.RUNS_AGAIN
    elif node is not None and app.events(node.id, node.uid) is None:
        yield f"Events of {node.id} could not be read"


def _cause_fixes(
    app: App,
    fleet: Fleet,
    awaited: Awaited | None,
    node: Node | None,
    id_: ResourceId | None,
    manifest: Object | None,
    trouble: pods.Trouble | None,
    sidecar: _hooks.Sidecar | None,
) -> Iterator[Fix]:
    if awaited is not None and node is None and awaited.reason == "deletion of":
        failed = _failed_peer(app)
        yield from refusal_fixes(app, fleet, failed) if failed else ()
        return
    if awaited is not None and node is None and awaited.reason == "completion of hook":
        yield from _hooks.vanished_hook_fixes(id_, manifest, awaited)
        return
    if id_ is None or awaited is None or _is_deleted(app, awaited):
        return
    live = _live_object(app, node) if node else None
    made = renewed_dependent(app, node.uid, live) if node else None
    if made is not None:
        yield from renewal_fixes(app, fleet, id_, made)
        return
    if awaited.reason == "deletion of" and _is_kept_hook(live or manifest):
        yield from advice(
            __package__, "hook-stuck/kept", {"hook": str(id_), "keeps": id_.kind == "PersistentVolumeClaim"}, id_
        )
    if node is not None and _hooks.is_held(app, node):
        yield from advice(__package__, "hook-stuck/held", {"hook": str(id_), "command": Shell(kubectl_name(id_))}, id_)
        return
    if sidecar is not None:
        yield from _hooks.sidecar_fixes(id_, manifest, sidecar)
        return
    if trouble is None and _has_come(app, awaited, node):
        return
    if trouble is not None and trouble.cause:
        yield from pod_fixes.fixes(app, fleet, id_, manifest, trouble)
    elif awaited.reason == "pruning confirmation of":
        yield from advice(__package__, "hook-stuck/confirmation", {"app": str(app.ref)})
    elif trouble is not None and trouble.node.id.kind == "Pod" and trouble.verb == "start and fail":
        pod = trouble.node.id
        stays = text_at(pod_spec(manifest)[1], "restartPolicy") == "Never"  # then there is no container before this one
        facts = {
            "hook": str(id_),
            "namespace": pod.namespace,
            "pod": pod.name,
            "previous": Shell("" if stays else " --previous"),
            "again": _hooks.runs_again(app, manifest),
        }
        yield from advice(__package__, f"hook-stuck/{'unready' if _is_unready(trouble) else 'ended'}", facts)
    else:
        if _rests_by_own_check(app, fleet, node):
            facts = {"kind": id_.kind, "group": id_.group, "state": node.health.message if node else ""}
            yield from advice(__package__, "hook-stuck/own-check", facts)
        if plan := unapproved_plan(live):
            yield from advice(__package__, "hook-stuck/approval", {"plan": plan, "namespace": id_.namespace})
            yield from approval_fixes(live)
            return
        if node is not None and node.health.status == "Suspended":
            facts = {"app": str(app.ref), "kind": id_.kind, "name": id_.name}
            yield from (
                *advice(shared.__name__, f"stopped/{id_.kind}", {}),
                *advice(__package__, "hook-stuck/suspended", facts),
            )
            return
        if trouble is None and (maker := _made_in_silence(app, node)):
            facts = {
                "hook": str(id_),
                "made": maker,
                "command": Shell(f"get {kubectl_name(id_)}"),
                "customization": f"resource.customizations.health.{id_.group}_{id_.kind}",
            }
            yield from advice(__package__, "hook-stuck/no-status", facts, id_)
            return
        unready = next((n.id for n in app.descendants(node.uid) if _runs(n) and _is_unwell(n)), None) if node else None
        if unready is not None:
            facts = {"hook": str(id_), "namespace": unready.namespace, "pod": unready.name}
            yield from advice(__package__, "hook-stuck/unready", facts)
        yield live_command(
            id_,
            f"{'Otherwise remove' if _rests_by_own_check(app, fleet, node) else 'Remove'} what stops {id_.kind} {id_.name}",
            f"kubectl describe {kubectl_name(id_)}",
        )


_RUNS = frozenset({"Job", "Pod", "Workflow", "PipelineRun", "TaskRun", "AnalysisRun"})


def _is_kept_hook(obj: Object | None) -> bool:
    """Whether the object is a hook that runs nothing, as a claim or a Secret, and that each sync deletes before it makes it again."""
    return (
        bool(hook_phases(obj))
        and obj is not None
        and obj.get("kind") not in _RUNS
        and "BeforeHookCreation" in delete_policies(obj)
    )


def _failed_peer(app: App) -> Failed | None:
    """The failure of the running operation: it then creates no deleted hook again, and waits for it (argoproj/argo-cd#27507)."""
    for result in app.operation.results if app.operation else ():
        if result.get("status") == "SyncFailed":
            return result_failure(app, result)
    return None


def _terminate_fix(app: App, title: str) -> Fix:
    return live_command(f"Application {app.ref}", title, sync_again_command(app), "what was applied so far stays")


def _restart_fix(fleet: Fleet) -> Fix:
    return live_command(
        "the application controller of Argo CD",
        "If that does not end it, restart the application controller, which reads the cluster again",
        f"kubectl -n {sh(fleet.control_plane)} rollout restart statefulset argocd-application-controller\n",
        "all applications are compared again",
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, options=Options, rank=Rank.WAITING)
