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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

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
from argolint.edits import argocd_cm, live_command, manifest_patch, manifest_yaml, set_field
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.relations.look_up import peer
from argolint.values import annotations_of, dig, items, maps, sh, text_at, texts
from argolint.values.knowledge import load
from argolint.values.kubernetes import containers, is_deleting, kubectl_name

from ..shared.age import Patience
from ..shared.labels import is_similar_name
from ._meaning import facts_of, of_kind
from ._waiting import event_wants, newest_warning, overdue_resources, waiting_evidence, waiting_time

_PEERS = 3
"""Most workloads of other applications that are read: an application with a controller has few."""
_CLASS = "kubernetes.io/ingress.class"
_GROUPS = ("networking.k8s.io", "extensions")


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of the waiting Ingresses, and the workloads of other applications that bring their classes."""
    waiting = tuple(_waiting_ingresses(app, options))
    yield from event_wants(iter(waiting))
    named = {_class_name(ingress) for ingress in waiting}
    classes = fleet.of_kind(app.cluster, "networking.k8s.io", "IngressClass") if waiting else ()
    serving = _serving(app, fleet, [key for key in classes if key.name in named])
    foreign = ((owner, workload) for owner, workload in serving if owner.ref != app.ref)
    yield from (Want("peer", workload.id, app=owner.ref) for owner, workload in islice(foreign, _PEERS))


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
        own = [key for key in classes if key.name == named]
        ill = None if event else _ill_controller(app, fleet, own)
        serving = tuple(_serving(app, fleet, own))
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
            else tuple(
                _fixes(
                    ingress,
                    named,
                    known,
                    _served_classes(app, fleet, classes),
                    serving,
                    _waiting_service(app),
                    _running_workload(app, fleet, ingress, named),
                )
            ),
            explains=(Symptom.health(ingress.id),),
            follows=(Follows(app=ill.ref),) if ill else () if event else (_no_controller_cause(app, of_class),),
        )


def _no_controller_cause(app: App, of_class: str) -> Follows:
    title = f"No controller gives Ingresses {of_class} of cluster {app.cluster} an address."
    return Follows.common(title, "ingresses", app.cluster, of_class)


def _waiting_ingresses(app: App, options: Patience) -> Iterator[Resource]:
    for ingress in overdue_resources(app, options, "Ingress", *_GROUPS):
        if not _has_address(ingress) and not is_deleting(ingress.live):
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


def _fixes(
    ingress: Resource,
    named: str,
    known: list[str],
    served: list[str],
    serving: Sequence[tuple[App, Resource]],
    waiting: Resource | None,
    running: ResourceKey | None,
) -> Iterator[Fix]:
    if not named:
        yield from _class_fixes(ingress, known, served)
    elif len(served) == 1 and named not in known and named not in served:
        yield manifest_patch(
            ingress.id,
            f"Name a class that a controller serves: {served[0]}",
            set_field(ingress.any, "/spec/ingressClassName", served[0]),
            "another controller then serves the hosts",
        )
    publish = _publishing_fix(ingress, named, serving, waiting, running)
    silent = named and serving and not _controller_of(ingress, named)
    if not silent:
        yield publish
    yield argocd_cm(
        f"Judge Ingresses healthy without an address, if the controller of application {serving[0][0].ref} writes none"
        if silent
        else "Or judge Ingresses healthy without an address",
        'resource.customizations.health.networking.k8s.io_Ingress: |\n  hs = {}\n  hs.status = "Healthy"\n  hs.message = "addresses are not published here"\n  return hs',
        "an Ingress that no one serves then counts as healthy, in every application",
    )
    if silent:
        yield replace(publish, title="Or let that controller publish its address, by a setting or a later version")


def _publishing_fix(
    ingress: Resource,
    named: str,
    serving: Sequence[tuple[App, Resource]],
    waiting: Resource | None,
    running: ResourceKey | None,
) -> Fix:
    """How the controller writes its address; where to look if its own arguments name one."""
    entry = _controller_of(ingress, named)
    name = entry["name"] if entry else "its controller"
    publishing = next((w for _, w in serving if entry and _mentions(w, entry.get("words", ()))), None)
    if publishing is not None and waiting is not None:
        title = f"Get an address for {waiting.id} first, which {name} publishes"
        return live_command(ingress.id, title, f"kubectl describe {kubectl_name(waiting.id)} | tail -20")
    if publishing is not None:
        logs = f"{publishing.kind.lower()}/{publishing.name}"
        return live_command(
            ingress.id,
            f"Find why {name} gives this Ingress no address, though its arguments say which one",
            f"kubectl describe {kubectl_name(ingress.id)} | tail -20\nkubectl -n {sh(publishing.namespace)} logs {sh(logs)} --tail=50",
        )
    setting = f": {entry['setting']}" if entry else ""
    title = f"Install {name} for class {named}, or let it publish its address{setting}"
    if not entry:
        title = f"Install a controller for {named or 'this Ingress'}, or let the one that serves it publish its address"
    elif serving:
        title = f"Let {name} of application {serving[0][0].ref} publish its address{setting}"
    elif running:
        title = f"Let {name} ({running}) serve class {named} and publish its address{setting}"
    command = "kubectl get ingressclass && kubectl get pods -A | grep -i ingress"
    return Fix(title, "operator", ingress.id.cluster, Edit("command", command))


def _waiting_service(app: App) -> Resource | None:
    """A load balancer of the application that has no address itself."""
    services = (s for s in app.of_kind("Service", "") if dig(s.live, "spec", "type") == "LoadBalancer")
    return next((s for s in services if not _has_address(s)), None)


def _mentions(workload: Resource, words: Sequence[str]) -> bool:
    """Whether an argument or a variable of its containers has one of the words."""
    said = (
        text.lower()
        for _, container in containers(workload.any)
        for text in (
            *texts(container, "command"),
            *texts(container, "args"),
            *(text_at(variable, "name") for variable in maps(container, "env")),
        )
    )
    return any(word in text for text in said for word in words)


def _serving(app: App, fleet: Fleet, classes: Iterable[ResourceKey]) -> Iterator[tuple[App, Resource]]:
    """The workloads of the applications that bring the class, each with its application."""
    for owner in (each for key in classes for each in _bringing_applications(fleet, key)):
        own = owner.ref == app.ref
        for row in (app if own else owner).resources:
            if row.kind in ("Deployment", "DaemonSet") and row.group == "apps":
                yield owner, (row if own else peer(app, owner, row.id) or row)


def _running_workload(app: App, fleet: Fleet, ingress: Resource, named: str) -> ResourceKey | None:
    """A workload of the controller that an application brings to this cluster, by its name; None if none is known."""
    entry = _controller_of(ingress, named)
    keys = (key for kind in ("Deployment", "DaemonSet") for key in fleet.of_kind(app.cluster, "apps", kind))
    return next((key for key in keys if entry and all(word in key.name for word in entry["workload"])), None)


def _controller_of(ingress: Resource, named: str) -> Object | None:
    """The entry of the controller by the name of the class and by an annotation that only it reads."""
    notes = annotations_of(ingress.any)
    for entry in load(__package__, "ingress_controllers.yaml"):
        read = any(note.startswith(entry.get("annotation", "")) for note in notes) or not entry.get("annotation")
        if entry["match"] in named.lower() and read:
            return entry  # type: ignore[no-any-return]  # an entry of the knowledge file
    return None


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, options=Patience, rank=Rank.CAUSE)
