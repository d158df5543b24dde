"""A child Application or ApplicationSet lies in a namespace that Argo CD does not serve

What it finds: an application that brings a child Application or ApplicationSet into another namespace, where it has had no status for minutes. This
Argo CD shows none of that namespace either. Also a child that the next sync will make, if this Argo CD looks for Applications in its own namespace alone.

Why it hurts: no controller looks at the child, so nothing of it is deployed. The parent of an Application is Synced and Healthy all the same.

How to fix: put the child into the namespace of Argo CD. Or let Argo CD serve the other namespace, and the child's project accept Applications from there.

Example: `metadata.namespace: team-a` of a child, written for the namespace that the child deploys to.

Sources: Argo CD's documentation, Applications in any namespace (application.namespaces, spec.sourceNamespaces) and ApplicationSet in any namespace
(applicationsetcontroller.namespaces); tried with Argo CD 3.6.1. Children younger than five minutes (option `minutes`), those in other clusters, and a
new one next to live ones or another Argo CD, are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rank, Resource, Rule, Symptom
from argolint.application.fleet import IN_CLUSTER
from argolint.edits.advice import advice
from argolint.values import parse_time, text_at

from ..shared.age import Patience, is_overdue


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether a child lies where this Argo CD shows nothing: its live state then says whether another one serves it."""
    return any(_children(app, fleet))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each child."""
    settled = {child.namespace for child in _children(app, fleet) if not child.absent}
    for child in _children(app, fleet):
        made = parse_time(text_at(child.live, "metadata", "creationTimestamp"))
        is_ahead = (
            child.kind == "Application"
            and child.desired is not None
            and child.absent
            and fleet.serves(child.namespace) is False
        )
        if is_ahead and child.namespace not in settled and not _has_argo_cd(app, fleet, child.namespace):
            why = "will lie in a namespace where Argo CD looks for no Application"
            evidence = f"Argo CD looks for Applications in namespace {fleet.control_plane}"
        elif made is not None and "status" not in (child.live or {}) and is_overdue(app, made, options.span):
            why = f"has no status, and Argo CD shows no {child.kind} of namespace {child.namespace}"
            evidence = f"created {made:%Y-%m-%d %H:%M:%SZ}"
        else:
            continue
        is_set = child.kind == "ApplicationSet"
        spec = ("spec", "template", "spec", "project") if is_set else ("spec", "project")
        facts = {
            "child": str(child.id),
            "kind": f"{child.kind.lower()}s.argoproj.io",
            "name": child.name,
            "namespace": child.namespace,
            "served": fleet.control_plane if is_ahead else app.ref.namespace,
            "project": text_at(child.any, *spec) or "default",
            "is_set": is_set,
            "live": not child.absent,
        }
        yield Finding(
            message=f"{child.id} {why}: nothing of it is deployed.",
            at=Location(app.ref, child.id, "/metadata/namespace"),
            confidence="likely",
            evidence=(evidence, f"application {app.ref} deploys it"),
            fixes=advice(__package__, "child-app-unserved", facts),
            explains=(Symptom.health(child.id),),
        )


def _has_argo_cd(app: App, fleet: Fleet, namespace: str) -> bool:
    """Whether an application deploys another Argo CD there, or another application has a child there."""
    return any(
        (key.kind == "Application" and app.resource(key) is None)
        or key.name == "argocd-cm"
        or key.name.endswith("application-controller")
        for key in fleet.in_namespace(app.cluster, namespace)
    )


def _children(app: App, fleet: Fleet) -> Iterator[Resource]:
    if app.deleting or app.cluster != IN_CLUSTER:
        return
    for kind in ("Application", "ApplicationSet"):
        for child in app.of_kind(kind, "argoproj.io"):
            elsewhere = child.claimed and child.namespace not in ("", app.ref.namespace)
            if elsewhere and child.namespace not in fleet.derive(_shown_namespaces)[kind]:
                yield child


def _shown_namespaces(fleet: Fleet) -> dict[str, frozenset[str]]:
    """The namespaces from which this Argo CD shows Applications, and ApplicationSets."""
    return {
        "Application": frozenset(app.ref.namespace for app in fleet.apps),
        "ApplicationSet": frozenset(text_at(raw, "metadata", "namespace") for raw in fleet.application_sets),
    }


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, options=Patience, rank=Rank.CAUSE)
