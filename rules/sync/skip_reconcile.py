"""An Application that Argo CD does not reconcile

What it finds: an Application, or its cluster, with the annotation `argocd.argoproj.io/skip-reconcile: "true"`.

Why it hurts: the controller ignores the Application. Its status stays as it was on the day of the annotation: Argo CD notices neither commits
nor drift, nothing is synced or healed, and a deletion waits forever. Other findings on it may be long outdated.

How to fix: remove the annotation once its purpose is over. If another controller writes the status on purpose (Open Cluster Management's pull
integration), there is nothing to do, and no finding.

Example: an annotation that was left after a migration between two clusters.

Sources: controller/appcontroller.go (canProcessApp), controller/sharding/cache.go; docs/user-guide/skip_reconcile.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.edits import application_place
from argolint.values import annotations_of, join_pointer, labels_of, mapping, parse_time, sh, text_at
from argolint.values.kubernetes import SKIP_RECONCILE

_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # strconv.ParseBool
_PULLED = "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"
"""The annotation of Applications whose status Open Cluster Management writes."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Application that is skipped, by itself or by its cluster."""
    if _PULLED in labels_of(app.raw) or _PULLED in annotations_of(app.raw):
        return
    own = annotations_of(app.raw).get(SKIP_RECONCILE) in _TRUE
    cluster = mapping(fleet.clusters.get(app.cluster), "annotations").get(SKIP_RECONCILE) in _TRUE
    if not (own or cluster):
        return
    reconciled = parse_time(app.status.get("reconciledAt"))
    since = f"dates from {reconciled:%Y-%m-%d %H:%M} UTC" if reconciled else "is not kept up"
    whose = "" if own else f" of its cluster {app.cluster}"
    yield Finding(
        message=f"Argo CD skips application {app.ref} (annotation skip-reconcile{whose}): its status {since}, and no commit is synced.",
        at=Location(app.ref, None, join_pointer("metadata", "annotations", SKIP_RECONCILE) if own else ""),
        fixes=(_resume_fix(app) if own else _resume_cluster_fix(app, fleet),),
    )


def _resume_fix(app: App) -> Fix:
    operation = {"op": "remove", "path": join_pointer("metadata", "annotations", SKIP_RECONCILE)}
    patch = Edit("json-patch", [operation])
    caveat = "Argo CD then compares it again, and syncs it at once if it is allowed to"
    return Fix("Remove the annotation", "application", application_place(app), patch, caveat)


def _resume_cluster_fix(app: App, fleet: Fleet) -> Fix:
    name = text_at(fleet.clusters.get(app.cluster), "name") or app.cluster
    command = f"kubectl -n {sh(app.ref.namespace)} annotate secret <secret of cluster {name}> {SKIP_RECONCILE}-"
    caveat = "every Application of that cluster is then compared again"
    return Fix(
        "Remove the annotation from the cluster's Secret",
        "argocd-settings",
        f"cluster {name}",
        Edit("text", command),
        caveat,
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, intent=True)
