"""A SharedResourceWarning whose owner is no Application

What it finds: Argo CD warns that an object is part of another application, but no Application of that name can own it. Argo CD takes the owner
in the warning from the tracking label or tracking-id of the live object. Several things write such data: a chart's own instance label on a
CustomResourceDefinition (CRDs get no tracking data from Argo CD, so the chart's label stays), a release installed by Helm itself, an Application
that was deleted without its objects or renamed, another Argo CD on the same cluster, or metadata copied from another object.

Why it hurts: the warning hides real conflicts, `FailOnSharedResource=true` fails every sync because of it, and the "owner" cannot be found. If
another Argo CD owns the object, both really overwrite each other.

How to fix: where an object of the other Application makes it, leave it out of this one. Else a full sync replaces stray data by this Application's tracking data. If label tracking mistakes a chart's label for an owner, track
by annotation. If two Argo CD servers share a cluster, give each its `installationID`.

Causes: `no-owner`; `made-there` (an object of that Application makes this one, such as an ExternalSecret a Secret, and copies its own metadata onto it); `two-clusters` (the owner in the live object's tracking data deploys an object of the same name to another cluster: one
cluster under two addresses, one object behind an aggregated API, or copied metadata).

Example: after a move from Helm to Argo CD, `ConfigMap/settings is part of applications argocd/shop and shop-helm`: `shop-helm` is the old
Helm release.

Sources: controller/state.go (CompareAppState), util/argo/resource_tracking.go; argoproj/argo-cd issues 8503, 16213, 17965, 18565.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint import App, Finding, Fix, Fleet, Location, Object, Rank, Resource, Rule, Symptom
from argolint.application.shared_warnings import SharedWarning, shared_warnings
from argolint.application.tracked import Tracking, tracking_of
from argolint.comparison import TRACKING_ID
from argolint.edits import live_command, manifest_text
from argolint.edits.consequences import consequences
from argolint.edits.handover import sync, untrack
from argolint.values import annotations_of, labels_of, owner_references, text_at
from argolint.values.kubernetes import group_of, kubectl_name

from ..shared.tracking import annotation_tracking_fix
from ._installations import installation_id_fix
from ._tracking import is_sync_refused_for, is_tracking, owner_of, warned_resources


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object whose warning names an impossible owner."""
    for warning in shared_warnings(app):
        resources = warned_resources(warning, app, fleet)
        if any(owner_of(r, fleet, warning.owner) for r in resources):
            continue
        if not resources:
            yield _finding(app, fleet, warning, None)
        for resource in resources:
            yield _finding(app, fleet, warning, resource)


def _finding(app: App, fleet: Fleet, warning: SharedWarning, resource: Resource | None) -> Finding:
    what = str(resource.id) if resource else f"{warning.kind} {warning.name}"
    live = resource.live if resource else None
    refused = is_sync_refused_for(app, warning.condition.message)
    blocks = refused or "FailOnSharedResource=true" in app.sync_options
    why, sure, fixes = _reason(app, fleet, warning.owner, resource, live)
    tracking = tracking_of(live, fleet)
    other = _owner_on_other_cluster(fleet, warning.owner, resource)
    if other is not None and resource is not None:
        found = _two_clusters_finding(app, other, warning, resource)
        return replace(found, explains=(*found.explains, *(consequences(app) if refused else ())))
    moved = [c.pointer for c in resource.changes if is_tracking(c.pointer, fleet)] if resource else []
    evidence = [why, f"condition SharedResourceWarning: {warning.condition.message}"]
    if tracking:
        evidence.append(f'{tracking.by} of the live object says "{tracking.instance}"')
    is_made = bool(tracking and not tracking.own and live and _is_owned_by(live, tracking))
    return Finding(
        message=f'Argo CD warns that "{warning.owner}" owns {what} too, {_explanation(tracking, is_made, blocks)}.',
        at=Location(app.ref, resource.id if resource else None),
        cause="made-there" if is_made else "no-owner",
        severity="error" if refused else None,
        confidence="proven" if sure else "likely",
        evidence=tuple(evidence),
        fixes=fixes,
        explains=(
            warning.condition.symptom,
            *(Symptom.change(resource.id, p) for p in moved if resource),
            *(consequences(app) if refused else ()),
        ),
    )


def _explanation(tracking: Tracking | None, is_made: bool, blocks: bool) -> str:
    """What completes `Argo CD warns that ... owns ... too, ...`."""
    if blocks:
        return "which is impossible, yet FailOnSharedResource refuses every sync"
    if tracking is None or tracking.own:
        return "which is impossible, so nothing clashes"
    named = f"{tracking.kind} {tracking.namespace}/{tracking.name}"
    return (
        f"since {named} of that application makes it"
        if is_made
        else f"since something copied the metadata of {named} onto it"
    )


def _is_owned_by(live: Object, tracking: Tracking) -> bool:
    """Whether an owner reference names the object of the tracking-id, which then makes this one."""
    wanted = (tracking.group, tracking.kind, tracking.name)
    return any((group_of(o), o.get("kind"), o.get("name")) == wanted for o in owner_references(live))


def _one_maker_fixes(tracking: Tracking, resource: Resource) -> tuple[Fix, ...]:
    """The fixes for an object of Git that an object of another Application makes."""
    maker = f"{tracking.kind} {tracking.namespace}/{tracking.name}"
    return (
        manifest_text(
            resource.id,
            f"Leave {resource.id} out of this Application, since {maker} makes it",
            f"Or let {maker} of Application {tracking.shown} make an object of another name.",
            "sync without pruning, so that the live object stays",
        ),
    )


def _owner_on_other_cluster(fleet: Fleet, owner: str, resource: Resource | None) -> App | None:
    """The Application of another cluster that the live object's tracking data names, and that lists an object of the same name too.

    None if both objects were read and have different uids.
    """
    named = fleet.app_of_instance(owner)
    if named is None or resource is None or named.cluster == resource.id.cluster:
        return None
    listed = named.resource(resource.key._replace(cluster=named.cluster))
    if listed is None or not listed.claimed:
        return None
    uids = {uid for side in (listed, resource) if (uid := text_at(side.live, "metadata", "uid"))}
    return named if len(uids) < 2 else None


def _two_clusters_finding(app: App, other: App, warning: SharedWarning, resource: Resource) -> Finding:
    """The finding for two addresses of one cluster, or an aggregated API that serves one object on both."""
    command = "".join(
        f"# on cluster {cluster}:\nkubectl get {kubectl_name(resource.id)} -o jsonpath='{{.metadata.uid}}'\n"
        for cluster in (resource.id.cluster, other.cluster)
    )
    return Finding(
        message=f'{resource.id} names "{other.name}" of another cluster as its owner: both clusters hold one object, or its metadata was'
        " copied.",
        at=Location(app.ref, resource.id),
        cause="two-clusters",
        confidence="likely",
        evidence=(
            f'the live object on {resource.id.cluster} names "{warning.owner}", which deploys to {other.cluster} and lists it too',
            "one cluster under two addresses or an aggregated API shows one object twice; a copy or a move leaves metadata behind",
            f"condition SharedResourceWarning: {warning.condition.message}",
        ),
        fixes=(
            live_command(
                resource.id,
                "Compare the uids; if they are one, deploy it from one Application",
                command,
                "other uids mean that the metadata was copied: then sync this Application in full",
            ),
        ),
        explains=(
            warning.condition.symptom,
            *(Symptom.change(resource.id, c.pointer) for c in resource.changes if c.pointer.startswith("/metadata/")),
        ),
    )


def _reason(
    app: App, fleet: Fleet, owner: str, resource: Resource | None, live: Object | None
) -> tuple[str, bool, tuple[Fix, ...]]:
    """The origin of the tracking data, whether it is certain, and the fixes."""
    by_label = fleet.tracking_method == "label"
    release = annotations_of(live).get("meta.helm.sh/release-name")
    named = fleet.app_of_instance(owner)
    adopt = _adopt_fix(app, fleet, resource)
    if by_label and resource is not None and resource.kind == "CustomResourceDefinition":
        text = "Argo CD puts no tracking data on CRDs, and the chart's own instance label stays"
        rendered = labels_of(resource.desired).get(fleet.label_key)
        return (
            text,
            True,
            (annotation_tracking_fix("no chart writes"),)
            if rendered
            else (annotation_tracking_fix("no chart writes"), _untrack_fix(fleet, resource)),
        )
    if release and release == owner:
        where = annotations_of(live).get("meta.helm.sh/release-namespace") or app.destination_namespace
        text = f"it is the Helm release that installed the object in namespace {where}"
        return text, True, (adopt, annotation_tracking_fix("no chart writes")) if by_label else (adopt,)
    tracking = tracking_of(live, fleet)
    if tracking is not None and not tracking.own and resource is not None and live and _is_owned_by(live, tracking):
        text = f"its owner reference and its tracking-id name {tracking.kind} {tracking.namespace}/{tracking.name}"
        return text, True, _one_maker_fixes(tracking, resource)
    if tracking is not None and not tracking.own:
        text = "its tracking-id names another object, whose metadata was copied"
        return text, True, tuple(dict.fromkeys((adopt, _untrack_fix(fleet, resource)))) if resource else (adopt,)
    if named is not None and resource is not None and named.cluster != resource.id.cluster:
        text = f"the Application of that name deploys to cluster {named.cluster}; another Argo CD has one on this cluster, or it moved away and left the object"
        return text, False, (adopt, installation_id_fix())
    if named is not None:
        text = "the Application of that name does not hold the object any more, or its metadata was copied"
        return text, False, tuple(dict.fromkeys((adopt, _untrack_fix(fleet, resource)))) if resource else (adopt,)
    if by_label:
        manager = labels_of(live).get("app.kubernetes.io/managed-by")
        text = f"the label {fleet.label_key} was written by {manager or 'another tool or a deleted Application'}"
        return text, False, (adopt, annotation_tracking_fix("no chart writes"))
    text = "it was deleted or renamed without its objects, belongs to another Argo CD on this cluster, or this account may not see it"
    return text, False, (adopt, installation_id_fix())


def _adopt_fix(app: App, fleet: Fleet, resource: Resource | None) -> Fix:
    """The fix by a sync, which takes the object over unless FailOnSharedResource refuses it because of the stray data."""
    if resource is not None and "FailOnSharedResource=true" in app.sync_options:
        return _untrack_fix(fleet, resource)
    return live_command(
        f"Application {app.ref}",
        "Sync the Application in full, which writes its own tracking data",
        sync(app.ref) + "\n",
        "lasts only when the other writer is gone",
    )


def _untrack_fix(fleet: Fleet, resource: Resource) -> Fix:
    """The fix that removes the stray data from the live object."""
    key = fleet.label_key if fleet.tracking_method == "label" else TRACKING_ID
    return live_command(
        resource.id,
        "Remove the stray tracking data from the live object, then sync",
        f"{untrack(resource.id, key)}\n",
        "lasts only when the other writer is gone",
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    causes=("made-there", "no-owner", "two-clusters"),
    rank=Rank.ROOT,
)
