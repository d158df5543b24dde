"""Automated pruning deletes data

What it finds: an object that left the manifests, that automated pruning deletes at the next sync, and that takes data with it: a
PersistentVolumeClaim, a Namespace, a CustomResourceDefinition, a database of an operator.

Why it hurts: the sync asks no one, and a revert of the commit brings back the object, empty.

How to fix: keep the live object with `Prune=false` before the change is merged, unless its data may go.

Example: a values file turns `persistence.enabled` off, so the chart no longer renders the claim.

Not reported: objects that something still names (`pruned-while-referenced`), those of another Argo CD (`prune-disabled-drift`), and a prune that a person starts or confirms. The kinds
are in data_kinds.yaml, each with its source.

Sources: gitops-engine/pkg/sync/sync_context.go (pruneObject); kubernetes.io, Persistent Volumes, Reclaiming.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.edits.pruning import prunes

from ._data import holds_data, lost_data
from ._dropped import keep_fix, prunable_objects
from ._tracking import is_applied_elsewhere


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object whose data goes with it."""
    for resource in prunable_objects(app, fleet):
        loss = "" if is_applied_elsewhere(app, resource) else _loss(resource)
        if loss and prunes(app, resource, fleet) == "automatic":
            how = f"is deleted with application {app.ref}" if app.leaving else "left Git, so auto-sync prunes it"
            yield Finding(
                message=f"{resource.id} {how}: {loss}.",
                at=Location(app.ref, resource.id),
                fixes=(
                    keep_fix(app, resource, "once its data may go"),
                    *(() if app.leaving else (_manifest_fix(resource),)),
                ),
                explains=(Symptom.extra(resource.id),),
            )


def _loss(resource: Resource) -> str:
    if (resource.group, resource.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return "every object of its kind is deleted too"
    return lost_data(resource.group, resource.kind) if holds_data(resource) else ""


def _manifest_fix(resource: Resource) -> Fix:
    text = f"restore the manifest of {resource.id}, with the annotation argocd.argoproj.io/sync-options: Prune=false\n"
    return Fix("Restore it in Git", "manifest", f"the source that held {resource.id}", Edit("text", text), safe=True)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
