"""A new revision never rolls out by itself

What it finds: a StatefulSet or DaemonSet with the update strategy OnDelete and pods of an older revision.

Why it hurts: Argo CD shows Synced and Healthy, but the change in Git reaches no pod before someone deletes it.

How to fix: RollingUpdate, or delete the old pods one after the other; neither while a pod of the new revision does not run. Some workloads are meant so (`ondelete.yaml`): a program deletes their pods, or each new pod needs a person.

Example: a log collector with `updateStrategy: {type: OnDelete}` after a new image was synced.

Sources: gitops-engine/pkg/health/health_daemonset.go and health_statefulset.go; Kubernetes' documentation of update strategies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from argolint import App, Finding, Fix, Fleet, Location, Node, Object, Resource, Rule, Symptom
from argolint.edits import live_command, manifest_patch
from argolint.redaction import excerpt
from argolint.values import dig, labels_of, mapping, number_at, sh, text_at
from argolint.values.knowledge import load

from ..shared.pods import status_reason, unwell_below

_KINDS = ("StatefulSet", "DaemonSet")
_REVISION = "controller-revision-hash"


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has such kinds: the list has neither the strategy nor the number of old pods."""
    return any(any(app.of_kind(kind, "apps")) for kind in _KINDS)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload with old pods."""
    for kind in _KINDS:
        for resource in app.of_kind(kind, "apps"):
            if dig(resource.live, "spec", "updateStrategy", "type") == "OnDelete":
                old, total = _old_and_wanted_pods(resource)
                if old > 0:
                    yield _finding(app, resource, old, total)


def _old_and_wanted_pods(resource: Resource) -> tuple[int, int]:
    """(pods of an older revision, wanted pods), from the object's own status."""
    status = mapping(resource.live, "status")
    if resource.kind == "DaemonSet":
        total = number_at(status, "desiredNumberScheduled")
        return total - number_at(status, "updatedNumberScheduled"), total
    total = number_at(status, "replicas")
    current, update = status.get("currentRevision"), status.get("updateRevision")
    if not update or current == update:
        return 0, total
    return total - number_at(status, "updatedReplicas"), total


def _meant_so(resource: Resource) -> Object:
    """The entry of a workload that is meant to have this strategy; empty for others."""
    labels = {**mapping(resource.live, "spec", "template", "metadata", "labels"), **labels_of(resource.live)}
    entries: list[Object] = load(__package__, "ondelete.yaml")
    for entry in entries:
        wanted = mapping(entry, "labels")
        if all(key in labels and value in ("", labels[key]) for key, value in wanted.items()):
            return entry
    return {}


def _finding(app: App, resource: Resource, old: int, total: int) -> Finding:
    known = _meant_so(resource)
    program = text_at(known, "by")
    if (failing := _failing_new_pod(app, resource)) is not None:
        reason = excerpt(failing.health.message.rstrip("."), 160) or status_reason(failing) or failing.health.status
        return Finding(
            message=f"{old} of {total} pods of {resource.id} run an older revision, and {failing.id} of the new one is not well: {reason}.",
            at=Location(app.ref, resource.id, "/spec/updateStrategy/type"),
            fixes=(
                live_command(
                    failing.id,
                    f"Repair what keeps {failing.id} from running, before other pods follow",
                    f"kubectl {_in_namespace(resource)}describe pod {sh(failing.id.name)}",
                ),
            ),
        )
    how = (
        f"{program} deletes them, and has not yet"
        if program
        else "under OnDelete they change only when they are deleted"
    )
    shown = resource.health.status == "Progressing" and "rolling update" in resource.health.message
    return Finding(
        message=f"{old} of {total} pods of {resource.id} run an older revision: {how}.",
        at=Location(app.ref, resource.id, "/spec/updateStrategy/type"),
        severity="warning" if shown else None,
        evidence=(f"{resource.health.status}: {excerpt(resource.health.message)}",) if shown else (),
        fixes=tuple(_fixes(app, resource, known)),
        explains=(Symptom.health(resource.id),) if shown else (),
    )


def _fixes(app: App, resource: Resource, known: Object) -> Iterator[Fix]:
    namespace = _in_namespace(resource)
    if program := text_at(known, "by"):
        command = (
            f"kubectl {namespace}get pods -o wide\nkubectl {namespace}get events --sort-by=.lastTimestamp | tail -20"
        )
        yield live_command(
            resource.id, f"Find why {program} does not go on: its log, and pods that are not ready", command
        )
        return
    in_git = dig(resource.desired, "spec", "updateStrategy", "type") == "OnDelete"
    if in_git and not known:
        patch = [{"op": "replace", "path": "/spec/updateStrategy", "value": {"type": "RollingUpdate"}}]
        caveat = "the old pods are replaced at once, one after the other"
        yield manifest_patch(resource.id, "Let the pods roll", patch, caveat)
    labels = mapping(resource.live, "spec", "selector", "matchLabels")
    selector = sh(",".join(f"{k}={v}" for k, v in sorted(labels.items())))
    yield live_command(
        resource.id,
        f"{'Or delete' if in_git and not known else 'Delete'} the old pods one after the other when it suits",
        f"kubectl {namespace}get pods -l {selector} -L controller-revision-hash\nkubectl {namespace}delete pod {_first_old(app, resource)}",
        f"wait until each new pod is ready{'; ' + text_at(known, 'needs') if known else ''}",
    )


def _in_namespace(resource: Resource) -> str:
    return f"-n {sh(resource.namespace)} " if resource.namespace else ""


def _failing_new_pod(app: App, resource: Resource) -> Node | None:
    """A pod of the new revision that is not well; None where the tree does not show which revision is new."""
    new = _new_revision(app, resource)
    unwell = unwell_below(app).get(resource.uid, ()) if new else ()
    return next((n for n in unwell if n.id.kind == "Pod" and n.labels.get(_REVISION) == new), None)


def _new_revision(app: App, resource: Resource) -> str:
    """The revision that new pods get: a StatefulSet says it; a DaemonSet's is that of its youngest pod, if as many pods have it as its status says."""
    if resource.kind == "StatefulSet":
        return text_at(resource.live, "status", "updateRevision")
    pods = [n for n in app.children(resource.uid) if n.id.kind == "Pod" and n.created_at]
    if not pods:
        return ""
    of_youngest = max(pods, key=lambda n: n.created_at or datetime.min.replace(tzinfo=UTC)).labels.get(_REVISION, "")
    have = Counter(n.labels.get(_REVISION, "") for n in pods)[of_youngest]
    return of_youngest if have == number_at(mapping(resource.live, "status"), "updatedNumberScheduled") else ""


def _first_old(app: App, resource: Resource) -> str:
    """The first pod of an older revision, the last one of a StatefulSet; a word for it where the tree does not show it."""
    wanted = text_at(resource.live, "status", "updateRevision")
    pods = [n for n in app.descendants(resource.uid) if n.id.kind == "Pod"] if wanted else []
    old = [n.id.name for n in pods if n.labels.get(_REVISION) not in (None, wanted)]
    return sh(max(old, key=lambda name: (len(name), name))) if old else "POD"


RULE = Rule(**Rule.page(__name__), severity="info", check=check, reads=reads)
