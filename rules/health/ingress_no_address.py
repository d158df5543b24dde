"""An Ingress gets no address

What it finds: an Ingress that has been Progressing for minutes because its status gets no address.

Why it hurts: either no controller serves its class and the hosts do not work, or a controller serves it without publishing its address. Then
Argo CD shows a working Ingress as Progressing, and syncs that wait for it do not end.

How to fix: name a class that a controller serves. If traffic flows, let the controller publish (`publishService` of ingress-nginx,
`publishedService` of Traefik), or give Argo CD another health check.

Example: `ingressClassName: nginx` on a cluster without ingress-nginx.

Sources: gitops-engine/pkg/health/health_ingress.go; argoproj/argo-cd#14607, #28345; docs/faq.md. Reported after five minutes
(option `minutes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Object,
    Rank,
    Resource,
    ResourceKey,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import argocd_cm, manifest_patch, manifest_yaml, set_field
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.values import annotations_of, dig, items
from argolint.values.knowledge import load

from ..shared.age import Patience
from ..shared.labels import is_similar_name
from ._meaning import facts_of, of_kind
from ._waiting import event_wants, newest_warning, overdue_resources, waiting_evidence, waiting_time

_CLASS = "kubernetes.io/ingress.class"
_GROUPS = ("networking.k8s.io", "extensions")


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of the waiting Ingresses."""
    return event_wants(_waiting_ingresses(app, options))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each Ingress."""
    for ingress in _waiting_ingresses(app, options):
        named = _class_name(ingress)
        classes = fleet.of_kind(app.cluster, "networking.k8s.io", "IngressClass")
        known = sorted(k.name for k in classes)
        event = newest_warning(app, ingress)
        if not event and named not in known and any(is_similar_name(each, named) for each in known):
            continue  # a slip in the name: target-missing says it
        of_class = f"of class {named}" if named else "without a class"
        ill = None if event else _ill_controller(app, fleet, [key for key in classes if key.name == named])
        why = (
            f'"{telling(event)}"'
            if event
            else f"application {ill.ref}, which provides the class and its controller, is {ill.health.status}"
            if ill
            else "no controller of that class writes one"
            if named
            else "only the controller of a default class serves it"
        )
        yield Finding(
            message=f"{ingress.id} {of_class} has no address: {why}.",
            at=Location(
                app.ref, ingress.id, "/spec/ingressClassName" if dig(ingress.live, "spec", "ingressClassName") else ""
            ),
            confidence="proven" if event else "likely",
            evidence=(
                f"status.loadBalancer.ingress is empty for {waiting_time(app, ingress)}",
                *([f"classes that applications bring to this cluster: {', '.join(known)}"] if known else []),
                *waiting_evidence(app, ingress),
            ),
            fixes=of_kind(ingress, event) or advice(__package__, "ingress-no-address", facts_of(ingress))
            if event
            else advice(__package__, "ingress-no-address/controller", {"app": str(ill.ref)})
            if ill
            else tuple(_fixes(app, fleet, ingress, named, known, _served_classes(app, fleet, classes))),
            explains=(Symptom.health(ingress.id),),
            follows=(Follows(app=ill.ref),) if ill else () if event else (_no_controller_cause(app, of_class),),
        )


def _no_controller_cause(app: App, of_class: str) -> Follows:
    title = f"No controller gives Ingresses {of_class} of cluster {app.cluster} an address."
    return Follows.common(title, "ingresses", app.cluster, of_class)


def _waiting_ingresses(app: App, options: Patience) -> Iterator[Resource]:
    for ingress in overdue_resources(app, options, "Ingress", *_GROUPS):
        if not _has_address(ingress) and not dig(ingress.live, "metadata", "deletionTimestamp"):
            yield ingress


def _class_fixes(ingress: Resource, known: list[str], served: list[str]) -> Iterator[Fix]:
    """Fixes that name a class: without one, only a default class, or a controller for such Ingresses, serves it."""
    if len(served) == 1:
        yield manifest_patch(
            ingress.id,
            f"Set ingressClassName: {served[0]}",
            set_field(ingress.any, "/spec/ingressClassName", served[0]),
            "the controller of that class then serves the hosts",
        )
        return
    shown = ", ".join(served or known)
    yield manifest_yaml(
        ingress.id,
        "Set ingressClassName to a class that the cluster has" + (f" ({shown})" if shown else ""),
        "spec:\n  ingressClassName: <name from: kubectl get ingressclass>",
        "or make one the default (annotation ingressclass.kubernetes.io/is-default-class), which serves only Ingresses made later",
    )


def _served_classes(app: App, fleet: Fleet, classes: Iterable[ResourceKey]) -> list[str]:
    """The classes with a controller: it gave another Ingress of the application an address, or the class comes with it.

    A class alone may be a leftover. It counts only if its application also has a workload.
    """
    addressed = {c for other in app.of_kind("Ingress") if (c := _class_name(other)) and _has_address(other)}
    return sorted(
        addressed
        or {key.name for key in classes if any(map(_has_controller_workload, _bringing_applications(fleet, key)))}
    )


def _bringing_applications(fleet: Fleet, key: ResourceKey) -> Iterator[App]:
    return (fleet.by_ref[ref] for ref in fleet.owners(key))


def _has_controller_workload(app: App) -> bool:
    return any(row.kind in ("Deployment", "DaemonSet") and row.group == "apps" for row in app.rows)


def _ill_controller(app: App, fleet: Fleet, classes: Iterable[ResourceKey]) -> App | None:
    """Another application that brings the class and a workload, and is not well."""
    bringing = (each for key in classes for each in _bringing_applications(fleet, key))
    ill = (each for each in bringing if each.ref != app.ref and _has_controller_workload(each))
    return next((each for each in ill if each.health.status in ("Degraded", "Progressing", "Missing")), None)


def _class_name(ingress: Resource) -> str:
    named = dig(ingress.live, "spec", "ingressClassName") or annotations_of(ingress.live).get(_CLASS)
    return str(named or "")


def _has_address(ingress: Resource) -> bool:
    return bool(items(ingress.live, "status", "loadBalancer", "ingress"))


def _fixes(app: App, fleet: Fleet, ingress: Resource, named: str, known: list[str], served: list[str]) -> Iterator[Fix]:
    if not named:
        yield from _class_fixes(ingress, known, served)
    elif len(served) == 1 and named not in known and named not in served:
        yield manifest_patch(
            ingress.id,
            f"Name a class that a controller serves: {served[0]}",
            set_field(ingress.any, "/spec/ingressClassName", served[0]),
            "another controller then serves the hosts",
        )
    entry = _controller_of(ingress, named)
    running = _running_workload(app, fleet, entry) if entry else None
    yield Fix(
        f"Let {entry['name']} ({running}) serve class {named} and publish its address: {entry['setting']}"
        if entry and running
        else f"Install {entry['name']} for class {named}, or let it publish its address: {entry['setting']}"
        if entry
        else f"Install a controller for {named or 'this Ingress'}, or let the one that serves it publish its address",
        "operator",
        ingress.id.cluster,
        Edit("command", "kubectl get ingressclass && kubectl get pods -A | grep -i ingress"),
    )
    yield argocd_cm(
        "Or judge Ingresses healthy without an address",
        'resource.customizations.health.networking.k8s.io_Ingress: |\n  hs = {}\n  hs.status = "Healthy"\n  hs.message = "addresses are not published here"\n  return hs',
        "an Ingress that no one serves then counts as healthy, in every application",
    )


def _controller_of(ingress: Resource, named: str) -> Object | None:
    """The entry of the controller by the name of the class and by an annotation that only it reads."""
    notes = annotations_of(ingress.any)
    for entry in load(__package__, "ingress_controllers.yaml"):
        read = any(note.startswith(entry.get("annotation", "")) for note in notes) or not entry.get("annotation")
        if entry["match"] in named.lower() and read:
            return entry  # type: ignore[no-any-return]  # an entry of the knowledge file
    return None


def _running_workload(app: App, fleet: Fleet, entry: Object) -> ResourceKey | None:
    """A workload of the controller that an application brings to this cluster, by its name; None if none is known."""
    keys = (key for kind in ("Deployment", "DaemonSet") for key in fleet.of_kind(app.cluster, "apps", kind))
    return next((key for key in keys if all(word in key.name for word in entry["workload"])), None)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, options=Patience, rank=Rank.CAUSE)
