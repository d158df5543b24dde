"""Several pods for a volume that one node, or one pod, may have

What it finds: a Deployment or StatefulSet that a sync brings or changes, whose pods mount one claim with ReadWriteOnce or ReadWriteOncePod, and of which there will be more than
one. With ReadWriteOncePod also a Deployment that starts the new pod before the old one ends. `cause` is `node` or `pod`.

Why it hurts: a ReadWriteOnce volume is attached to one node. A pod that is scheduled to another one waits in ContainerCreating with "Multi-Attach error". With ReadWriteOncePod
the second pod is never scheduled.

How to fix: run one pod with `strategy.type: Recreate`, or use a claim with ReadWriteMany, or a StatefulSet with `volumeClaimTemplates`, of which each pod has its own volume.

Example: a Deployment with a claim of its own is scaled from one to three.

Not reported: pods that a rule of affinity or a node's name brings together, and classes that are known to share (NFS, files of a cloud) or to bind pods to the node of the volume (local
ones).

Sources: kubernetes.io, Persistent Volumes, access modes; k8s.io/kubernetes pkg/scheduler/framework/plugins/volumerestrictions; pkg/controller/volume/attachdetach/reconciler.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import (
    Afterwards,
    App,
    Finding,
    Fix,
    Fleet,
    Location,
    Rank,
    Related,
    Resource,
    Rule,
    Want,
)
from argolint.values import dig

from ..shared.peers import peer_wants
from ._replicas import SCALED
from ._sharing import SharedClaim, claims_of, shared_claim, sharing_fixes, starts_first


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The claims and autoscalers of other applications that a workload of this one names."""
    named = {(r.namespace, name) for r in _coming(app) for name, _ in claims_of(r.desired)}
    yield from peer_wants(
        app, fleet, [("", "PersistentVolumeClaim")], lambda key: (key.namespace, key.name) in named, most=20
    )


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for workload in _coming(app):
        after = shared_claim(app, fleet, workload, workload.desired)
        if after is not None and not _was_so(app, workload, after):
            yield _finding(app, workload, after)


def _coming(app: App) -> Iterator[Resource]:
    for resource in app.with_pods("desired"):
        if (
            (resource.group, resource.kind) in SCALED
            and resource.status == "OutOfSync"
            and not resource.requires_pruning
        ):
            yield resource


def _was_so(app: App, workload: Resource, after: SharedClaim) -> bool:
    """Whether that many pods, or a rollout in that order, mount the claim today."""
    live = workload.live
    if live is None or after.claim.live is None:
        return False
    names = {name for name, _ in claims_of(live)}
    count = dig(live, "spec", "replicas")
    many = isinstance(count, int) and count > 1
    return after.claim.name in names and (many or (after.pods == 1 and starts_first(workload, live)))


def _finding(app: App, workload: Resource, found: SharedClaim) -> Finding:
    claim = found.claim
    if found.one_pod and found.pods == 1:
        message = f"The next rollout of {workload.id} waits forever: its new pod needs {claim.id} (ReadWriteOncePod) before the old one ends."
    elif found.one_pod:
        message = (
            f"{workload.id} will have {found.pods} pods, and only one of them may mount {claim.id} (ReadWriteOncePod)."
        )
    else:
        message = f"{workload.id} will have {found.pods} pods with {claim.id} (ReadWriteOnce): those on another node than the first do not start."
    return Finding(
        message=message,
        at=Location(app.ref, workload.id, found.pointer),
        cause="pod" if found.one_pod else "node",
        severity=None if found.one_pod else "warning",
        confidence="likely" if found.one_pod else "possible",
        related=(Related(app.ref, claim.id, "/spec/accessModes", "cause"),) if app.resource(claim.key) else (),
        fixes=tuple(sharing_fixes(workload, claim.id)),
    )


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """Whether the pods still share a volume that they may not."""
    workload = after.held(finding.at.resource)
    if workload is None or workload.desired is None:
        return None
    left = shared_claim(after, fleet, workload, workload.desired)
    return Afterwards(refused="too many pods would mount the claim all the same" if left is not None else "")


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("node", "pod"),
    rank=Rank.CAUSE,
)
