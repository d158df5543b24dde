"""The last sync failed

What it finds: an operation that failed, or an error condition, that no more specific rule explains. The server's reason is
sorted into a cause: `quota`, `admission` (a webhook or a policy refused), `forbidden` (RBAC or the project), `validation`
(the API server refused the object), `timeout`, `unknown`. A failure that is history, since all is in sync at another
revision now, is not told; one that comes from an object's health is told by that object's own finding.

Why it hurts: the cluster does not hold what Git says, and objects after the one that failed were not applied at all.

How to fix: repair what the message names, then sync again; automated sync does not try the same revision twice.

Example: a ResourceQuota of the namespace is used up, so the API server refuses the next pod's PersistentVolumeClaim.

Sources: gitops-engine/pkg/sync/sync_context.go, controller/sync.go of Argo CD; k8s.io/apiserver pkg/admission.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Condition, Edit, Finding, Fix, Fleet, Location, Related, ResourceId, Rule, Severity, Symptom
from argolint.consequences import consequences, failed_by_health
from argolint.model import EditKind
from argolint.redaction import excerpt
from argolint.values import sh

from ._failures import Failed, classify, failures

_NO_NAMESPACE = re.compile(r'namespaces "([^"]+)" not found')
_ANSWERED_ELSEWHERE = ("ComparisonError", "InvalidSpecError", "SyncError")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the operation, and one for each error condition that speaks of something else."""
    left = [f for f in failures(app) if f.rule == "sync-failed"]
    if left and not failed_by_health(app):  # else the object's own finding tells why
        yield _of_operation(app, left)
    elif not failures(app):
        yield from (_of_condition(app, c) for c in app.conditions if c.type == "SyncError" and not _passing(c))
    for condition in app.conditions:
        if condition.is_error and condition.type not in _ANSWERED_ELSEWHERE:
            yield _of_condition(app, condition)


def _of_operation(app: App, left: list[Failed]) -> Finding:
    first = left[0]
    operation = app.operation
    assert operation is not None  # failures come from an operation
    who = str(first.id) if first.id else f"application {app.ref}"
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    hook = f" ({first.hook} hook)" if first.hook else ""
    if operation.waiting_to_retry:
        waits = "Argo CD tries again"
    elif app.sync_status == "Synced":
        waits = "that sync was not completed, though nothing differs from Git now"
    else:
        waits = "the cluster does not hold what Git says"
    severity: Severity = "warning" if app.sync_status == "Synced" and not app.automated else "error"
    return Finding(
        message=f'The last sync failed at {who}{hook}{more}: "{excerpt(first.message)}", so {waits}.',
        at=Location(app.ref, first.id),
        cause=first.cause,
        severity=severity,
        evidence=tuple(_evidence(app, left)),
        related=tuple(Related(app.ref, f.id, role="symptom") for f in left[1:] if f.id),
        fixes=tuple(_fixes(app, first)),
        explains=tuple(consequences(app)) if len(left) == len(failures(app)) else tuple(_of_objects(left)),
    )


def _passing(condition: Condition) -> bool:
    """Argo CD's own race of two starts of one sync, which servers of 2.x wrote down (util/argo/argo.go, SetAppOperation)."""
    return "another operation is already in progress" in condition.message


def _of_objects(left: list[Failed]) -> Iterator[Symptom]:
    """Beside failures that other rules answer: only the objects, since the operation is theirs as well."""
    for failed in left:
        if failed.id:
            yield Symptom.change(failed.id)
            yield Symptom.missing(failed.id)


def _evidence(app: App, left: list[Failed]) -> Iterator[str]:
    operation = app.operation
    assert operation is not None
    yield f"operation {operation.phase}: {excerpt(operation.message, 600)}"
    for failed in left[:5]:
        yield f"{failed.id or app.ref}: {excerpt(failed.message, 400)}"
        hook = app.node(failed.id) if failed.hook and failed.id else None
        for pod in app.descendants(hook.uid) if hook else ():
            if pod.health.message:
                yield f"{pod.id}: {excerpt(pod.health.message, 400)}"
    if operation.retry_count:
        yield f"retried {operation.retry_count} times"


def _of_condition(app: App, condition: Condition) -> Finding:
    rule, cause = classify(condition.message)
    wipes = "auto-sync will wipe out all resources" in condition.message
    return Finding(
        message=f'Application {app.ref} has the condition {condition.type}: "{excerpt(condition.message)}", so '
        + (
            "automated sync refuses to go on." if condition.type == "SyncError" else "Argo CD cannot do its work on it."
        ),
        at=Location(app.ref),
        cause=cause if rule == "sync-failed" else "unknown",
        evidence=(f"condition {condition.type}: {excerpt(condition.message, 600)}",),
        fixes=tuple(_allow_empty(app) if wipes else _fixes(app, Failed(None, condition.message, rule, cause))),
        explains=(condition.symptom,),
    )


def _allow_empty(app: App) -> Iterator[Fix]:
    yield Fix(
        "Restore the manifests: the source renders nothing",
        "manifest",
        "the source's path",
        Edit("command", f"argocd app manifests {sh(app.ref)}"),
    )
    yield Fix(
        "Or allow an empty application, if all its objects shall go",
        "application",
        f"Application {app.ref}",
        Edit("json-patch", [{"op": "add", "path": "/spec/syncPolicy/automated/allowEmpty", "value": True}]),
        caveat="with prune on, every object of the application is deleted",
    )


def _fixes(app: App, failed: Failed) -> Iterator[Fix]:
    namespace = (failed.id.namespace if failed.id else "") or app.destination_namespace or "default"
    again = Edit("command", f"argocd app sync {sh(app.ref)}")
    absent = _NO_NAMESPACE.search(failed.message)
    if absent and absent.group(1) == app.destination_namespace:
        yield Fix(
            f"Let the sync create namespace {absent.group(1)}",
            "application",
            f"Application {app.ref}",
            Edit("yaml", "spec:\n  syncPolicy:\n    syncOptions:\n    - CreateNamespace=true"),
        )
        return
    if failed.hook and failed.id and failed.cause == "unknown":
        pods = f"logs job/{sh(failed.id.name)} --all-containers --tail=100"
        yield Fix(
            "Repair what makes the hook fail, then sync again",
            "manifest",
            str(failed.id),
            Edit(
                "command", f"kubectl -n {sh(namespace)} " + (pods if failed.id.kind == "Job" else _describe(failed.id))
            ),
        )
        return
    match failed.cause:
        case "quota":
            yield Fix(
                "Raise the ResourceQuota or LimitRange, or request less",
                "live",
                f"namespace {namespace}",
                Edit("command", f"kubectl -n {sh(namespace)} describe resourcequota,limitrange"),
            )
        case "admission":
            yield _admission(app, failed)
        case "forbidden":
            yield _grant(app, failed)
        case "validation":
            yield Fix(
                "Correct the field that the API server refuses",
                "manifest",
                str(failed.id or app.ref),
                Edit("text", excerpt(failed.message, 600)),
            )
        case "timeout":
            yield Fix(
                "Sync again when the API server answers, and look at what made it slow", "live", app.cluster, again
            )
        case _:
            yield Fix("Repair what the message names, then sync again", "live", f"Application {app.ref}", again)


def _describe(id_: ResourceId) -> str:
    return f"describe {sh(id_.kind.lower() + ('.' + id_.group if id_.group else ''))} {sh(id_.name)}"


_SILENT = re.compile(r'failed calling webhook "([^"]+)"|conversion webhook for (\S+)')
_SERVICE = re.compile(r"https://([\w-]+)\.([\w-]+)\.svc\b")


def _admission(app: App, failed: Failed) -> Fix:
    """A webhook that does not answer refuses everything alike; one that answers refuses this object."""
    silent = _SILENT.search(failed.message)
    if silent is None:
        return Fix(
            "Change the object so that the policy admits it",
            "manifest",
            str(failed.id or app.ref),
            Edit("text", excerpt(failed.message, 600)),
        )
    service = _SERVICE.search(failed.message)
    return Fix(
        "Repair the webhook that does not answer, or delete its configuration where its operator is gone",
        "operator",
        f"Service {service[2]}/{service[1]}" if service else f"webhook {silent[1] or silent[2]}",
        Edit(
            "command",
            f"kubectl -n {sh(service[2])} get service,endpoints,pods"
            if service
            else "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ),
        caveat="without the configuration objects are admitted unchecked and unchanged",
    )


# What the message misses: the pattern, the title of the fix, and its edit; a command is one of the project.
_GRANTS: tuple[tuple[str, str, EditKind, str], ...] = (
    (
        r"resource (?P<group>[^:\s]*):(?P<kind>\S+) is not permitted in project",
        "Permit {kind} in project {project}, or take it out of Git",
        "command",
        "argocd proj allow-{scope}-resource {project} {group} {kind}",
    ),
    (
        r"namespace (?P<namespace>\S+) is not permitted in project",
        "Permit namespace {namespace} in project {project}, or correct the manifest's namespace",
        "command",
        "argocd proj add-destination {project} {cluster} {namespace}",
    ),
    (
        r"service account to impersonate|matching service account",
        "Name the service account for this destination in project {project}",
        "command",
        "argocd proj add-destination-service-account {project} {cluster} {namespace} <service account>",
    ),
    (
        r'User "(?P<user>[^"]+)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"',
        "Grant {user} the right on the destination",
        "yaml",
        'rules:\n- apiGroups: ["{group}"]\n  resources: ["{resource}"]\n  verbs: [get, list, watch, create, patch, update, delete]',
    ),
    (
        r"provide credentials|Unauthorized$",
        "Renew the credentials that Argo CD holds for the cluster",
        "text",
        "argocd cluster get {cluster}",
    ),
)


def _grant(app: App, failed: Failed) -> Fix:
    words = {
        "project": app.ref.project,
        "cluster": app.cluster,
        "namespace": app.destination_namespace or "*",
        "scope": "namespace" if failed.id and failed.id.namespace else "cluster",
    }
    for pattern, title, kind, content in _GRANTS:
        if found := re.search(pattern, failed.message):
            words |= found.groupdict()
            of_project = kind == "command"
            typed = {name: sh(word) for name, word in words.items()} if of_project else words
            return Fix(
                title.format(**words),
                "argocd-settings" if of_project else "live",
                f"AppProject {app.ref.project}" if of_project else app.cluster,
                Edit(kind, content.format(**typed)),
                caveat="every application of the project may then do it" if of_project else "",
            )
    said = Edit("text", excerpt(failed.message, 600))
    return Fix("Grant Argo CD the right on the destination", "live", app.cluster, said)


RULE = Rule(
    id="sync-failed",
    family="sync",
    severity="error",
    doc=__doc__,
    check=check,
    causes=("quota", "admission", "forbidden", "validation", "timeout", "unknown"),
    rank=-40,  # below every rule that knows a reason, above not-synced, which only says that nothing happened
)
