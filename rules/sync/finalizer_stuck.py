"""A deletion waits for a finalizer

What it finds: an object (or the Application itself) that was deleted minutes ago and still exists, since a finalizer was not removed. The
finding names the program that should remove it, and the object that this program waits for. Also an Application whose sync still runs: its deletion
begins only after that.

Why it hurts: the object is Progressing forever, prunes and namespaces wait for it, and no object with its name can be created.

How to fix: restore the controller that owns the finalizer, or remove the object that it waits for. If the controller will not return, remove
the finalizer by hand.

Example: a Service of type LoadBalancer after the cloud controller was removed: `service.kubernetes.io/load-balancer-cleanup`.

Sources: Kubernetes' documentation of finalizers; argoproj/argo-cd#5817, #4198, #19571. Reported after five minutes (option
`minutes`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from argolint import (
    App,
    Condition,
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
    Symptom,
    Want,
)
from argolint.edits import live_command
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.messages import quoting
from argolint.redaction import excerpt
from argolint.values import (
    age_text,
    annotations_of,
    dig,
    enumerated,
    items,
    mapping,
    maps,
    parse_time,
    sh,
    text_at,
)
from argolint.values.knowledge import load
from argolint.values.kubernetes import HOOK, api_of, is_deleting, kubectl_kind, kubectl_name
from argolint.values.patterns import regex

from ..shared.hooks import live_hook_wants
from ._failures import refusal_match
from ._objects import is_operator
from ._renewed import FOREGROUND, finalizer_removal, renewal_fixes, renewed_dependent


@dataclass(frozen=True)
class Options:
    """minutes: how long a deletion may take."""

    minutes: int = 5


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application is being deleted: Argo CD then no longer judges the health of its objects."""
    return app.deleting and bool(_finalizers(app.raw))


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The live objects of hooks that are being deleted or, where the Application is, that are left: the server does not list them among the managed objects.

    Also dependents that an object waits for, which is deleted in the foreground.
    """
    yield from live_hook_wants(r for r in app.resources if app.deleting or r.health.status == "Progressing")
    for resource in app.stated:
        if resource.mentions(FOREGROUND, "live"):
            below = islice(app.descendants(resource.uid), _DEPENDENTS)
            yield from (Want("live", node.id) for node in below if app.resource(node.id.key) is None)


_DEPENDENTS = 6
"""Most dependents of one object that are looked at."""


def _kept_dependent(app: App, resource: Resource) -> Object | None:
    """The live dependent that is being deleted and keeps a finalizer of its own, for which a deletion in the foreground waits."""
    if FOREGROUND not in _finalizers(resource.live):
        return None
    below = [app.evidence.get(Want("live", node.id)) for node in islice(app.descendants(resource.uid), _DEPENDENTS)]
    kept = (obj for obj in below if is_deleting(obj))
    return next((obj for obj in kept if set(_finalizers(obj)) - {FOREGROUND}), None)


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each object, and one for the Application if it is itself being deleted."""
    patience = timedelta(minutes=options.minutes)
    deleted: list[Resource] = []
    for resource in (*app.stated, *(app.as_read(r) for r in app.resources if r.hook and r.live_state is None)):
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
    users = _project_users(fleet, resource)
    awaited = f"{users} to leave it" if users else awaited
    kept = None if made else _kept_dependent(app, resource)
    if kept is not None:
        own = tuple(f for f in _finalizers(kept) if f != FOREGROUND)
        awaited = f"{text_at(kept, 'kind')} {text_at(kept, 'metadata', 'name')}, which keeps finalizer {own[0]}"
    so = ", which is created again each time" if made else ", though Git holds it" if _wanted(app, resource) else ""
    subject = f"{resource.id}, deleted {age_text(app.observed_at - since)} ago, waits for {awaited}"
    return Finding(
        message=quoting(subject, refusal) if refusal and not made else f"{subject}{so}.",
        at=Location(app.ref, resource.id, "/metadata/finalizers"),
        evidence=(
            f"metadata.deletionTimestamp {since:%Y-%m-%d %H:%M:%SZ}",
            *(f"finalizer {text}" for text in _finalizer_lines(finalizers, resource.kind)),
            *(["the running operation waits for this object"] if app.is_awaiting(resource.id) else []),
            *([f"it says: {excerpt(refusal, 600)}"] if refusal else []),
            *(_finalizer_lines(_finalizers(kept), text_at(kept, "kind")) if kept else ()),
            *([f"{made.id} was created {made.created_at:%Y-%m-%d %H:%M:%SZ}, after the deletion"] if made else []),
        ),
        fixes=(
            *(_dependent_fixes(kept, resource) if kept else ()),
            *_object_fixes(app, fleet, resource, refusal, child, made),
        ),
        explains=(
            Symptom.health(resource.id),
            Symptom.extra(resource.id),
            *(Symptom.health(node.id) for node in (islice(app.descendants(resource.uid), _DEPENDENTS) if kept else ())),
        ),
        follows=(Follows(app=child.ref),) if child is not None and child.deleting else (),
    )


def _dependent_fixes(kept: Object, owner: Resource) -> tuple[Fix, ...]:
    """The fixes for a dependent that keeps a finalizer of its own."""
    group, version = api_of(kept)
    name, space = text_at(kept, "metadata", "name"), text_at(kept, "metadata", "namespace")
    id_ = ResourceId(group, text_at(kept, "kind"), space, name, version, owner.id.cluster)
    first = next(f for f in _finalizers(kept) if f != FOREGROUND)
    facts = {
        "object": str(id_),
        "finalizer": first,
        "who": finalizer_entry(first, id_.kind)["who"],
        "by_hand": Shell(finalizer_removal(id_)),
    }
    return advice(__package__, "finalizer-stuck/dependent", facts)


def _project_users(fleet: Fleet, resource: Resource) -> str:
    """The Applications of a project that is being deleted; empty if it is another object, or nothing uses it."""
    if resource.kind != "AppProject":
        return ""
    names = [str(other.ref) for other in fleet.apps if other.ref.project == resource.name]
    return f"Application{'s' if len(names) > 1 else ''} {enumerated(names)}" if names else ""


def _wanted(app: App, resource: Resource) -> bool:
    """Whether the next sync makes the object again once its deletion has ended."""
    return resource.desired is not None and not app.deleting


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


def _object_fixes(
    app: App, fleet: Fleet, resource: Resource, refusal: str, child: App | None, made: Node | None
) -> tuple[Fix, ...]:
    """Fixes for a dependent that is made again, for a child whose own deletion has an error, or for the finalizer itself."""
    if made:
        return tuple(renewal_fixes(app, fleet, resource.id, made))
    if child and child.deleting and (of_child := _named_error_fixes(child, _deletion_errors(child))):
        return (*of_child, _alone_fix(child))
    return _finalizer_fixes(app, resource, refusal)


def _finalizer_fixes(app: App, resource: Resource, refusal: str) -> tuple[Fix, ...]:
    entries = [finalizer_entry(f, resource.kind) for f in _finalizers(resource.live)]
    decisive = next((e for e in entries if not e["by_hand"]), entries[0])
    where = f" -n {sh(resource.namespace)}" if resource.namespace else ""
    look = str(decisive.get("look") or "").replace(" -n $namespace", where)
    gone = next((r for r in app.missing if is_operator(r)), None) if app.deleting and "." in resource.group else None
    facts = {
        "object": str(resource.id),
        "app": str(app.ref),
        "who": entries[0]["who"],
        "waits": decisive["waits"],
        "then": str(decisive.get("then") or ""),
        "pods": Shell(f"kubectl get pods,{sh(kubectl_kind(resource.id))}{where} -o wide"),
        "describe": Shell(f"kubectl describe {kubectl_name(resource.id)}"),
        "by_hand": Shell(finalizer_removal(resource.id)),
        "look": Shell(f"{look} {sh(resource.name)}") if look else "",
        "refusal": refusal,
        "gone": str(gone.id) if gone else "",
    }
    kept = resource.kind == "AppProject" and _wanted(app, resource)
    return advice(
        __package__, f"finalizer-stuck/{'project' if kept else _topic(entries, resource, refusal, gone)}", facts
    )


def _topic(entries: Sequence[Object], resource: Resource, refusal: str, gone: Resource | None) -> str:
    """What is known of the finalizers: one does harm if it goes, all are left behind, or who removes them is gone or is this object."""
    if any(not entry["by_hand"] for entry in entries):
        return "harmful"
    if all(entry.get("left") for entry in entries):
        return "left"
    if refusal:
        return "rest"
    return "operator" if is_operator(resource) else "operator-gone" if gone else "rest"


def _application_finding(app: App, fleet: Fleet, deleted: list[Resource], since: datetime) -> Finding:
    unknown = any(_NO_CLUSTER.search(c.message) for c in app.conditions)
    lost = unknown and bool(fleet.clusters) and app.cluster not in fleet.clusters
    errors = _deletion_errors(app)
    more = f" and {len(deleted) - 1} more keep" if len(deleted) > 1 else " keeps"
    syncing = bool(mapping(app.raw, "operation"))
    dull = None if deleted else _hook_without_health(app, fleet)
    namespace = next((r for r in app.of_kind("Namespace", "") if r.mentions('"deletionTimestamp"', "live")), None)
    waits = (
        ": it begins only when the running sync has ended"
        if syncing
        else f" while {deleted[0].id}{more} a finalizer"
        if deleted
        else f": PostDelete hook {dull.id} has no health, on which this release stops"
        if dull
        else f" while {namespace.id} is terminating"
        if namespace
        else f": {app.cluster.removeprefix('name:')} is no cluster of this Argo CD"
        if lost
        else ""
    )
    left = sum(1 for r in app.resources if not (r.hook or r.missing))
    subject = f"Argo CD cannot finish deleting application {app.ref} ({left} object{'' if left == 1 else 's'} left after {age_text(app.observed_at - since)})"
    return Finding(
        message=f"{subject}{waits}." if waits or not errors else quoting(subject, errors[0].message),
        at=Location(app.ref, None, "/metadata/finalizers"),
        evidence=(
            f"metadata.finalizers: {', '.join(_finalizers(app.raw))}",
            *(
                [f"operation {app.operation.phase}: {excerpt(app.operation.message, 400)}"]
                if syncing and app.operation
                else []
            ),
            *(f"condition {c.type}: {excerpt(c.message, 400)}" for c in errors),
        ),
        related=tuple(Related(app.ref, r.id, "/metadata/finalizers", role="cause") for r in deleted[:5]),
        fixes=_end_of_sync_fixes(app)
        if syncing
        else (_lost_cluster_fix(app),)
        if lost
        else _dull_hook_fixes(app, fleet)
        if dull
        else _deletion_fixes(app, errors, deleted, is_empty=not (left or waits)),
        explains=(
            *(c.symptom for c in app.conditions if c in errors or (lost and c.is_error)),
            *((Symptom.sync(), Symptom.health()) if lost else ()),
            *(consequences(app) if syncing else ()),
        ),
        follows=tuple(Follows(Symptom.health(r.id)) for r in (deleted or ((namespace,) if namespace else ()))[:1]),
    )


def _end_of_sync_fixes(app: App) -> tuple[Fix, ...]:
    """The end of an operation, without which the controller begins no deletion (controller/appcontroller.go, processAppOperationQueueItem)."""
    facts = {"app": str(app.ref), "name": app.ref.name, "namespace": app.ref.namespace}
    ending = app.operation is not None and app.operation.phase == "Terminating"
    return advice(__package__, "hook-stuck/unended" if ending else "finalizer-stuck/syncing", facts)


def _deletion_errors(app: App) -> list[Condition]:
    """The conditions of an Application that say why its deletion does not end."""
    return [c for c in app.conditions if c.type == "DeletionError" or (c.is_error and _NO_PROJECT.search(c.message))]


_DULL = ((2, 10), (2, 12))
"""Releases that take the health of each PostDelete hook for given, and fail at one of a kind without a check (controller/hook.go)."""


def _hook_without_health(app: App, fleet: Fleet) -> Resource | None:
    """A PostDelete hook that is there, and whose kind has no health in Argo CD, if its release stops at that."""
    first, mended = _DULL
    if not fleet.at_least(*first) or fleet.at_least(*mended) or not _only_last(_finalizers(app.raw)):
        return None
    found = (app.as_read(r) for r in app.resources if r.uid and r.hook and not r.health.status)
    hooks = (r for r in found if _is_last(annotations_of(r.live)))
    return next(hooks, None)


def _only_last(finalizers: Sequence[str]) -> bool:
    """Whether a deletion is at the PostDelete hooks: its objects go first."""
    return any(map(_is_of_last, finalizers)) and not any(f.startswith("resources-finalizer.") for f in finalizers)


def _is_of_last(finalizer: str) -> bool:
    return finalizer.startswith("post-delete-finalizer.")


def _is_last(annotations: Mapping[str, str]) -> bool:
    """Whether an object is a PostDelete hook alone; these releases know no other form."""
    return annotations.get(HOOK) == "PostDelete" or annotations.get("helm.sh/hook") == "post-delete"


def _dull_hook_fixes(app: App, fleet: Fleet) -> tuple[Fix, ...]:
    own = [f for f in _finalizers(app.raw) if not _is_of_last(f)]
    facts = {"app": str(app.ref), "name": app.ref.name, "namespace": app.ref.namespace, "version": fleet.version}
    return advice(
        __package__, "finalizer-stuck/dull-hook", {**facts, "left": json.dumps({"metadata": {"finalizers": own}})}
    )


_NO_CLUSTER = regex(
    r"has not been configured|no clusters with this name|error getting cluster|cluster \S{1,253} (?:was |is )?not found"
)
"""Words of Argo CD for a cluster that it does not know; an account may see only some of those that it does."""


def _alone_fix(app: App) -> Fix:
    if _only_last(_finalizers(app.raw)):
        title = "Or delete the Application without its PostDelete hooks"
        return _own_finalizers_fix(app, title, "what the hooks would clean up stays")
    title = "Or delete the Application alone and leave its objects"
    return _own_finalizers_fix(app, title, "its objects stay in the cluster, owned by no one")


def _lost_cluster_fix(app: App) -> Fix:
    """Argo CD before 3.3 does not take the second finalizer of post-delete hooks off where the cluster is gone (controller/appcontroller.go)."""
    title = "Remove the finalizers by hand: Argo CD can delete nothing in a cluster that it does not know"
    caveat = "if the cluster still runs, its objects stay there; register it first to have them deleted"
    return _own_finalizers_fix(app, title, caveat)


def _own_finalizers_fix(app: App, title: str, caveat: str) -> Fix:
    own = ResourceId("argoproj.io", "Application", app.ref.namespace, app.ref.name)
    return live_command(f"Application {app.ref}", title, finalizer_removal(own), caveat)


_NO_PROJECT = regex(
    r'appprojects?(?:\.argoproj\.io)? "(?P<name>[^"]{1,253})" not found|project (?P<named>\S{1,253}) which does not exist'
)


_NO_NAMESPACE = regex(r'(?:delete hooks: .{0,200}|^)namespaces "(?P<name>[^"]{1,253})" not found')
"""Said of a PreDelete hook after words of Argo CD, of a PostDelete hook as the API server puts it (controller/appcontroller.go)."""


def _deletion_fixes(
    app: App, errors: Sequence[Condition], deleted: Sequence[Resource], *, is_empty: bool
) -> tuple[Fix, ...]:
    """Fixes by what the deletion lacks: what an error names, an object that it waits for, or who sets the finalizer again where nothing is left."""
    if is_empty and not errors and not _only_last(_finalizers(app.raw)):
        facts = {"name": app.ref.name, "namespace": app.ref.namespace}
        return advice(__package__, "finalizer-stuck/renewed", facts)
    if named := _named_error_fixes(app, errors):
        return (*named, _alone_fix(app))
    first = deleted[0].id if deleted and not errors else None
    facts = {"cluster": app.cluster, "app": str(app.ref), "first": str(first or "")}
    command = {"describe": Shell(f"kubectl describe {kubectl_name(first)}") if first else ""}
    return (*advice(__package__, "finalizer-stuck/deletion", facts | command), _alone_fix(app))


def _named_error_fixes(app: App, errors: Sequence[Condition]) -> tuple[Fix, ...]:
    """The fixes for an error that names what the deletion lacks: a hook that fails, a project, a namespace."""
    no_project = next((found for c in errors if (found := _NO_PROJECT.search(c.message))), None)
    homeless = next((found for c in errors if (found := _NO_NAMESPACE.search(c.message))), None)
    failing = next((m for c in errors if (m := refusal_match(c.message)) and m.entry.id == "sync/deletion-hook"), None)
    if failing is not None:
        return advice(__package__, "sync-failed/deletion-hook", failing.facts)
    if no_project:
        topic, name = "no-project", no_project["name"] or no_project["named"]
    elif homeless:
        topic, name = "no-namespace", homeless["name"]
    else:
        return ()
    facts = {"name": excerpt(name), "cluster": app.cluster, "app": str(app.ref)}
    return advice(__package__, f"finalizer-stuck/{topic}", facts)


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=wants, options=Options, reads=reads, rank=Rank.CAUSE
)
