"""A deletion waits for a finalizer

What it finds: an object (or the Application itself) that was deleted minutes ago and still exists, since a finalizer was not removed. The
finding names the program that should remove it, and the object that this program waits for.

Why it hurts: the object is Progressing forever, prunes and namespaces wait for it, and no object with its name can be created.

How to fix: bring back the controller that owns the finalizer, or remove the object that it waits for. If the controller will not return, remove
the finalizer by hand.

Example: a Service of type LoadBalancer after the cloud controller was removed: `service.kubernetes.io/load-balancer-cleanup`.

Sources: Kubernetes' documentation of finalizers; argoproj/argo-cd#5817, #4198, #19571. Reported after five minutes (option
`minutes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import (
    App,
    Condition,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
)
from argolint.messages import quoting
from argolint.redaction import excerpt
from argolint.values import age_text, dig, enumerated, items, maps, parse_time, sh, text_at
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from ._renewed import finalizer_removal, renewal_fixes, renewed_dependent


@dataclass(frozen=True)
class Options:
    """minutes: how long a deletion may take."""

    minutes: int = 5


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application is being deleted: Argo CD then no longer judges the health of its objects."""
    return app.deleting and bool(_finalizers(app.raw))


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each object, and one for the Application if it is itself being deleted."""
    patience = timedelta(minutes=options.minutes)
    deleted: list[Resource] = []
    for resource in app.resources:
        if resource.uid and resource.health.status in ("", "Healthy") and not app.deleting:
            continue  # an object that is being deleted is Progressing, whatever its kind (gitops-engine/pkg/health/health.go)
        if not resource.mentions('"deletionTimestamp"', "live"):
            continue
        since = parse_time(dig(resource.live, "metadata", "deletionTimestamp"))
        if (
            since is not None
            and app.observed_at - since > patience
            and _finalizers(resource.live)
            and resource.kind != "Namespace"
        ):
            deleted.append(resource)
            yield _object_finding(app, fleet, resource, since)
    since = parse_time(dig(app.raw, "metadata", "deletionTimestamp"))
    if since is not None and app.observed_at - since > patience and _finalizers(app.raw):
        yield _application_finding(app, fleet, deleted, since)


def _finalizers(obj: Object | None) -> tuple[str, ...]:
    return tuple(str(f) for f in items(obj, "metadata", "finalizers"))


def finalizer_entry(finalizer: str, kind: str) -> Object:
    """The entry of finalizers.yaml for an object of this kind; for an unknown finalizer, a guess by the owner of its domain."""
    entries = (e for e in load(__package__, "finalizers.yaml") if e.get("kind", kind) == kind)
    found: Object | None = next((e for e in entries if re.search(e["match"], finalizer)), None)
    owner = finalizer.partition("/")[0] if "/" in finalizer else kind
    return found or {"who": f"the controller of {owner}", "waits": "", "by_hand": True}


def _finalizer_lines(finalizers: tuple[str, ...], kind: str) -> Iterator[str]:
    """Each finalizer, with the program that removes it and the moment."""
    for finalizer in finalizers:
        entry = finalizer_entry(finalizer, kind)
        waits = f" once {entry['waits']}" if entry["waits"] else ""
        yield f"{finalizer}, which {entry['who']} removes{waits}"


def _awaited_program(finalizers: tuple[str, ...], kind: str) -> str:
    """The program that must remove the first finalizer."""
    more = f" and {len(finalizers) - 1} more" if len(finalizers) > 1 else ""
    return f"{finalizer_entry(finalizers[0], kind)['who']} to remove finalizer {finalizers[0]}{more}"


def _object_finding(app: App, fleet: Fleet, resource: Resource, since: datetime) -> Finding:
    finalizers = _finalizers(resource.live)
    refusal = _cleanup_refusal(resource, since)
    child = fleet.app(resource.name, resource.namespace) if resource.kind == "Application" else None
    made = renewed_dependent(app, resource.uid, resource.live)
    awaited = f"{made.id.kind} {made.id.name} to go" if made else _awaited_program(finalizers, resource.kind)
    so = "which is made again each time" if made else "so it is neither gone nor usable"
    subject = f"{resource.id}, deleted {age_text(app.observed_at - since)} ago, waits for {awaited}"
    return Finding(
        message=quoting(subject, refusal) if refusal and not made else f"{subject}, {so}.",
        at=Location(app.ref, resource.id, "/metadata/finalizers"),
        evidence=(
            f"metadata.deletionTimestamp {since:%Y-%m-%d %H:%M:%SZ}",
            *(f"finalizer {text}" for text in _finalizer_lines(finalizers, resource.kind)),
            *([f"it says: {excerpt(refusal, 600)}"] if refusal else []),
            *([f"{made.id} was created {made.created_at:%Y-%m-%d %H:%M:%SZ}, after the deletion"] if made else []),
            *_project_users(fleet, resource),
        ),
        fixes=tuple(
            renewal_fixes(app, fleet, resource.id, made) if made else _fixes(app, resource, finalizers, refusal)
        ),
        explains=(Symptom.health(resource.id), Symptom.extra(resource.id)),
        follows=(Follows(app=child.ref),) if child is not None and child.deleting else (),
    )


def _project_users(fleet: Fleet, resource: Resource) -> Iterator[str]:
    """The Applications of a project that is being deleted."""
    if resource.kind == "AppProject":
        names = [str(other.ref) for other in fleet.apps if other.ref.project == resource.name]
        if names:
            yield f"used by {enumerated(names, 'Applications')}"


def _cleanup_refusal(resource: Resource, since: datetime) -> str:
    """The reason that the object's controller gave since the deletion for a failed cleanup; empty if it gave none."""
    for condition in maps(resource.live, "status", "conditions"):
        changed = parse_time(condition.get("lastTransitionTime")) or parse_time(condition.get("lastUpdateTime"))
        text = text_at(condition, "message")
        failed = condition.get("status") == "False" or text_at(condition, "type") in _FAILURES
        if text and failed and (_DELETING.search(text) if changed is None or changed < since else True):
            return text
    return ""


_FAILURES = ("Error", "Failed", "ReconcileError", "DeletionFailed", "DeletionError", "Stalled")
_DELETING = regex(r"\b(delet|remov|destroy|deprovision|finali[sz])", re.IGNORECASE)


def _fixes(app: App, resource: Resource, finalizers: tuple[str, ...], refusal: str) -> Iterator[Fix]:
    entries = [finalizer_entry(f, resource.kind) for f in finalizers]
    kind = f"{resource.kind.lower()}.{resource.group}" if resource.group else resource.kind.lower()
    where = f"-n {sh(resource.namespace)} " if resource.namespace else ""
    harmful = [e for e in entries if not e["by_hand"]]
    if harmful:
        yield Fix(
            f"Let it come true that {harmful[0]['waits']}",
            "live",
            str(resource.id),
            Edit("command", f"kubectl {where}get pods,{sh(kind)} -o wide"),
        )
        return
    by_hand = finalizer_removal(where, kind, resource.name)
    if all(e.get("left") for e in entries):
        yield Fix(
            f"Remove the finalizer by hand, which {entries[0]['who']} has left behind",
            "live",
            str(resource.id),
            by_hand,
        )
        return
    if _is_operator(resource) and not refusal:
        yield Fix(
            "Remove the finalizer by hand, where the operator that should is this object",
            "live",
            str(resource.id),
            by_hand,
            caveat="next time delete what it manages first, and the operator after that",
        )
        return
    look = entries[0].get("look")
    gone = next((r for r in app.missing if _is_operator(r)), None) if app.deleting else None
    if gone and not refusal and "." in resource.group:
        yield Fix(
            f"Remove the finalizer by hand: {gone.id}, which may be its operator, is deleted already",
            "live",
            str(resource.id),
            by_hand,
            caveat="what the operator should have cleaned up stays behind; next time delete it last",
        )
        yield Fix(
            "Or apply the operator again until the deletion is done, where it has to clean up outside of the cluster",
            "operator",
            str(resource.id),
            Edit("command", f"kubectl {where}describe {sh(kind)} {sh(resource.name)}"),
        )
        return
    if look and not refusal:
        title, command = f"Let it come true that {entries[0]['waits']}", f"{look} {sh(resource.name)}"
    else:
        title = (
            f"Clear away what {entries[0]['who']} says stops it"
            if refusal
            else f"Bring back {entries[0]['who']}, so that it cleans up"
        )
        command = f"kubectl {where}describe {sh(kind)} {sh(resource.name)}"
    yield Fix(title, "operator", str(resource.id), Edit("command", command))
    yield Fix(
        "Or remove the finalizer by hand, when no one is left to do it",
        "live",
        str(resource.id),
        by_hand,
        caveat="the deletion ends then: what Git still holds is made again by the next sync"
        if look
        else "what it should have cleaned up stays behind",
    )


def _is_operator(resource: Resource) -> bool:
    """Whether the object is the workload of an operator, whose pods go with it."""
    named = any(word in resource.name.split("-") for word in ("operator", "controller"))
    return resource.kind == "Deployment" and resource.group == "apps" and named


def _application_finding(app: App, fleet: Fleet, deleted: list[Resource], since: datetime) -> Finding:
    unknown = any(_NO_CLUSTER.search(c.message) for c in app.conditions)
    lost = unknown and bool(fleet.clusters) and app.cluster not in fleet.clusters
    errors = [c for c in app.conditions if c.type == "DeletionError"]
    more = f" and {len(deleted) - 1} more keep" if len(deleted) > 1 else " keeps"
    namespace = next((r for r in app.of_kind("Namespace", "") if r.mentions('"deletionTimestamp"', "live")), None)
    waits = (
        f" while {deleted[0].id}{more} a finalizer"
        if deleted
        else f" while {namespace.id} is terminating"
        if namespace
        else f": {app.cluster.removeprefix('name:')} is no cluster of this Argo CD"
        if lost
        else ""
    )
    left = sum(1 for r in app.resources if not r.hook)
    subject = f"Argo CD cannot finish deleting application {app.ref} ({left} object{'' if left == 1 else 's'} left after {age_text(app.observed_at - since)})"
    return Finding(
        message=f"{subject}{waits}." if waits or not errors else quoting(subject, errors[0].message),
        at=Location(app.ref, None, "/metadata/finalizers"),
        evidence=(
            f"metadata.finalizers: {', '.join(_finalizers(app.raw))}",
            *(f"condition DeletionError: {excerpt(c.message, 400)}" for c in errors),
        ),
        related=tuple(Related(app.ref, r.id, "/metadata/finalizers", role="cause") for r in deleted[:5]),
        fixes=(_lost_cluster_fix(app),) if lost else (_deletion_errors_fix(app, errors), _alone_fix(app)),
        explains=(
            *(c.symptom for c in app.conditions if c in errors or (lost and c.is_error)),
            *((Symptom.sync(), Symptom.health()) if lost else ()),
        ),
        follows=tuple(Follows(Symptom.health(r.id)) for r in (deleted or ((namespace,) if namespace else ()))[:1]),
    )


_NO_CLUSTER = regex(
    r"has not been configured|no clusters with this name|error getting cluster|cluster \S{1,253} (?:was |is )?not found"
)
"""Words of Argo CD for a cluster that it does not know; an account may see only some of those that it does."""


def _alone_fix(app: App) -> Fix:
    return Fix(
        "Or delete the Application alone and leave its objects",
        "live",
        f"Application {app.ref}",
        _own_finalizer_removal(app),
        caveat="its objects stay in the cluster, owned by no one",
    )


def _lost_cluster_fix(app: App) -> Fix:
    """Argo CD before 3.3 does not take the second finalizer of post-delete hooks off where the cluster is gone (controller/appcontroller.go)."""
    return Fix(
        "Remove the finalizers by hand: Argo CD can delete nothing in a cluster that it does not know",
        "live",
        f"Application {app.ref}",
        _own_finalizer_removal(app),
        caveat="if the cluster still runs, its objects stay there; register it first to have them deleted",
    )


def _own_finalizer_removal(app: App) -> Edit:
    return finalizer_removal(f"-n {sh(app.ref.namespace)} ", "applications.argoproj.io", app.ref.name)


_NO_PROJECT = regex(
    r'appprojects?(?:\.argoproj\.io)? "(?P<name>[^"]{1,253})" not found|project (?P<named>\S{1,253}) which does not exist'
)


_NO_NAMESPACE = regex(r'delete hooks: .{0,200}namespaces "(?P<name>[^"]{1,253})" not found')


def _deletion_errors_fix(app: App, errors: Sequence[Condition]) -> Fix:
    no_project = next((found for c in errors if (found := _NO_PROJECT.search(c.message))), None)
    if no_project:
        name = excerpt(no_project["name"] or no_project["named"])
        return Fix(
            f"Bring back project {name} until the deletion is done",
            "live",
            f"AppProject {name}",
            Edit(
                "text",
                "Apply it as Git had it last: Argo CD deletes only the objects that the project permits. Delete it after the Application.",
            ),
        )
    homeless = next((found for c in errors if (found := _NO_NAMESPACE.search(c.message))), None)
    if homeless:
        name = excerpt(homeless["name"])
        return Fix(
            f"Make namespace {name} again until the deletion is done: the hooks of the deletion run in it",
            "live",
            f"Namespace {name}",
            Edit("command", f"kubectl create namespace {sh(name)}"),
            caveat="delete it after the Application",
        )
    return Fix(
        "Repair what the deletion stops at: the cluster's connection, or the objects' own finalizers",
        "live",
        app.cluster,
        Edit("command", f"argocd app resources {sh(app.ref)}"),
    )


RULE = Rule(
    id="finalizer-stuck",
    family="sync",
    severity="error",
    doc=__doc__,
    check=check,
    options=Options,
    reads=reads,
    rank=Rank.CAUSE,
)
