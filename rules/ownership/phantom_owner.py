"""A SharedResourceWarning whose owner is no Application

What it finds: Argo CD warns that an object is part of another application, but no Application of that name can own it. The owner
in the warning is whatever the tracking label or tracking-id of the live object says, and several things write such data: a chart's
own instance label on a CustomResourceDefinition (CRDs get no tracking data from Argo CD, so the chart's label stays), a
release installed by Helm itself, an Application that was deleted without its objects or renamed, another Argo CD on the same
cluster, or metadata copied from another object.

Why it hurts: the warning hides real clashes, `FailOnSharedResource=true` fails every sync for it, and nobody can find the
"owner". Where another Argo CD owns the object, both really do overwrite each other.

How to fix: a full sync writes this Application's tracking data over stray data. Where label tracking mistakes a chart's label for an
owner, track by annotation. Where two Argo CD servers share a cluster, give each its `installationID`.

Example: after a move from Helm to Argo CD, `ConfigMap/settings is part of applications argocd/shop and shop-helm`: `shop-helm` is the old
Helm release.

Sources: controller/state.go (CompareAppState), util/argo/resource_tracking.go; argoproj/argo-cd issues 8503, 16213, 17965, 18565.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Resource, Rule, Symptom
from argolint.values import annotations_of, labels_of

from .handover import kubectl_name, sync
from .tracking import (
    TRACKING_ID,
    SharedWarning,
    is_tracking,
    owner_among,
    shared_warnings,
    tracking_of,
    warned_resources,
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that a warning gives to an owner that cannot be."""
    for warning in shared_warnings(app):
        resources = warned_resources(warning, app, fleet)
        if any(owner_among(fleet, r.key, warning.owner) for r in resources):
            continue
        if not resources:
            yield _finding(app, fleet, warning, None)
        for resource in resources:
            yield _finding(app, fleet, warning, resource)


def _finding(app: App, fleet: Fleet, warning: SharedWarning, resource: Resource | None) -> Finding:
    what = str(resource.id) if resource else f"{warning.kind} {warning.name}"
    live = resource.live if resource else None
    why, sure, fixes = _reason(app, fleet, warning.owner, resource, live)
    tracking = tracking_of(live, fleet)
    moved = [c.pointer for c in resource.changes if is_tracking(c.pointer, fleet)] if resource else []
    evidence = [f"condition SharedResourceWarning: {warning.condition.message}"]
    if tracking:
        evidence.append(f'{tracking.by} of the live object says "{tracking.instance}"')
    return Finding(
        message=f'{what} is said to belong to "{warning.owner}" too, which is no Application that could own it ({why}), so the warning stands for no clash inside this Argo CD.',
        at=Location(app.ref, resource.id if resource else None),
        confidence="proven" if sure else "likely",
        evidence=tuple(evidence),
        fixes=fixes,
        explains=(
            warning.condition.symptom,
            *(Symptom.change(resource.id, p) for p in moved if resource),
        ),
    )


def _reason(
    app: App, fleet: Fleet, owner: str, resource: Resource | None, live: Object | None
) -> tuple[str, bool, tuple[Fix, ...]]:
    """Where the tracking data comes from, whether that is certain, and what ends it."""
    by_label = fleet.tracking_method == "label"
    release = annotations_of(live).get("meta.helm.sh/release-name")
    named = fleet.app_of_instance(owner)
    if by_label and resource is not None and resource.kind == "CustomResourceDefinition":
        text = "Argo CD puts no tracking data on CRDs, and the chart's own instance label stays"
        return text, True, (_by_annotation(), _untrack(fleet, resource))
    if release and release == owner:
        where = annotations_of(live).get("meta.helm.sh/release-namespace") or app.destination_namespace
        text = f"it is the Helm release that installed the object in namespace {where}"
        return text, True, (_adopt(app), _by_annotation()) if by_label else (_adopt(app),)
    if named is not None and resource is not None and named.cluster != resource.id.cluster:
        text = f"the Application of that name deploys to cluster {named.cluster}; another Argo CD has one on this cluster, or it moved away and left the object"
        return text, False, (_adopt(app), _installation(fleet))
    if named is not None:
        text = "the Application of that name does not hold the object any more, or its metadata was copied"
        return text, False, (_adopt(app), _untrack(fleet, resource)) if resource else (_adopt(app),)
    if by_label:
        manager = labels_of(live).get("app.kubernetes.io/managed-by")
        text = f"the label {fleet.label_key} was written by {manager or 'another tool or a deleted Application'}"
        return text, False, (_adopt(app), _by_annotation())
    text = "it was deleted or renamed without its objects, belongs to another Argo CD on this cluster, or this account may not see it"
    return text, False, (_adopt(app), _installation(fleet))


def _adopt(app: App) -> Fix:
    return Fix(
        "Sync the Application in full, which writes its own tracking data over the stray data",
        "live",
        f"Application {app.ref}",
        Edit("command", sync(app.ref) + "\n"),
        caveat="helps for good only when the other writer is gone",
    )


def _by_annotation() -> Fix:
    content = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  application.resourceTrackingMethod: annotation\n"
    return Fix(
        "Track by annotation, which no chart writes",
        "argocd-settings",
        "ConfigMap argocd-cm",
        Edit("yaml", content),
        caveat="changes all Applications: sync each one once afterwards",
    )


def _installation(fleet: Fleet) -> Fix:
    content = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  installationID: <a name for this Argo CD>\n"
    return Fix(
        "Give each Argo CD that deploys to this cluster its own installationID",
        "argocd-settings",
        "ConfigMap argocd-cm",
        Edit("yaml", content),
        caveat="needs annotation tracking; objects without the id are untracked until their next sync",
    )


def _untrack(fleet: Fleet, resource: Resource) -> Fix:
    """Take the stray data off the live object."""
    if fleet.tracking_method == "label":
        command = f"kubectl label {kubectl_name(resource.id)} {fleet.label_key}-\n"
    else:
        command = f"kubectl annotate {kubectl_name(resource.id)} {TRACKING_ID}-\n"
    return Fix("Take the stray tracking data off the live object", "live", str(resource.id), Edit("command", command))


RULE = Rule(id="phantom-owner", family="ownership", severity="warning", doc=__doc__, check=check, rank=20)
