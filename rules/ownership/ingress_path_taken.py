"""Two Ingresses claim one host and path

What it finds: an Ingress that a sync brings or changes, with a host and path that an Ingress of another application, or another one of the same application, has for another Service.

Why it hurts: one of the two gets no requests. Ingress NGINX's webhook refuses the younger one, so its sync fails; other controllers let the older one win, or serve either.

How to fix: give one of them another host or path, or leave the host to one application.

Example: a service is copied to another application, and its Ingress with it.

Not reported: Ingresses of different classes, a canary, merged Ingresses, one Service behind both, and Ingresses that share it today. Applications whose hosts the list shows are asked
first; at most a hundred Ingresses are read.

Sources: kubernetes/ingress-nginx internal/ingress/controller (checkOverlap); pkg/apis/application/v1alpha1 of Argo CD (ApplicationSummary.ExternalURLs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from argolint import (
    App,
    AppRef,
    Finding,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceKey,
    Rule,
    Want,
)
from argolint.edits import manifest_text
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, mapping, maps, text_at, texts

from ..shared.peers import after_sync, peer_wants, peers

_GROUP, _KIND = "networking.k8s.io", "Ingress"
_MERGED = (
    "nginx.ingress.kubernetes.io/canary",
    "nginx.org/mergeable-ingress-type",
    "alb.ingress.kubernetes.io/group.name",
)
"""Annotations of Ingresses that share a host and path on purpose, or with rules of their own."""


class _Claim(NamedTuple):
    """A host and path of an Ingress."""

    host: str
    path: str
    sort: str


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Ingresses of other applications: those of applications with one of the hosts, where the list shows hosts at all."""
    hosts = {claim.host for ingress in app.of_kind(_KIND, _GROUP) for claim in _coming(ingress)}
    if not hosts:
        return
    by_app = fleet.derive(_hosts_of_applications, app.cluster)

    def is_chosen(key: ResourceKey) -> bool:
        return any(ref not in by_app or hosts & by_app[ref] for ref in fleet.owners(key)[:1])

    yield from peer_wants(app, fleet, [(_GROUP, _KIND)], is_chosen)


def _hosts_of_applications(fleet: Fleet, cluster: str) -> Mapping[AppRef, frozenset[str]]:
    """The hosts that the list shows, for the applications of a cluster that have some."""
    found = {
        app.ref: frozenset(_host(url) for url in texts(app.brief, "status", "summary", "externalURLs"))
        for app in fleet.on_cluster(cluster)
    }
    return {ref: hosts for ref, hosts in found.items() if hosts}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Ingress with such a host and path."""
    own = [(app.ref, ingress) for ingress in app.of_kind(_KIND, _GROUP)]
    others = [*own, *peers(app, fleet, _KIND)]
    for ingress in app.of_kind(_KIND, _GROUP):
        coming = _coming(ingress)
        for owner, other in others if coming else ():
            is_self = other.key == ingress.key
            is_later = (
                owner == app.ref and other.key > ingress.key and bool(_coming(other))
            )  # said once, of the other one
            shared = [] if is_self or is_later else [one for one in _shared(ingress, other) if one in coming]
            if shared:
                yield _finding(app, ingress, owner, other, shared[0])
                break


def _claims(obj: Object | None) -> Mapping[_Claim, tuple[str, object]]:
    """The Service and port behind each host and path; nothing for an Ingress that shares them on purpose."""
    marks = annotations_of(obj)
    if obj is None or any(mark in marks for mark in _MERGED):
        return {}
    found: dict[_Claim, tuple[str, object]] = {}
    for rule in maps(obj, "spec", "rules"):
        for path in maps(rule, "http", "paths"):
            service = mapping(path, "backend", "service")
            port = mapping(service, "port")
            claim = _Claim(text_at(rule, "host"), text_at(path, "path") or "/", text_at(path, "pathType"))
            if claim.host:
                found[claim] = (text_at(service, "name"), port.get("number") or port.get("name"))
    return found


def _coming(resource: Resource) -> frozenset[_Claim]:
    """The hosts and paths that a sync brings."""
    if resource.status != "OutOfSync" or resource.hook:
        return frozenset()
    return frozenset(_claims(after_sync(resource))) - frozenset(_claims(resource.live))


def _class(obj: Object | None) -> str:
    return text_at(obj, "spec", "ingressClassName") or annotations_of(obj).get("kubernetes.io/ingress.class", "")


def _shared(one: Resource, other: Resource) -> list[_Claim]:
    """The hosts and paths that both have for different Services, in one class."""
    mine, theirs = _claims(after_sync(one)), _claims(after_sync(other))
    if _class(after_sync(one)) != _class(after_sync(other)):
        return []
    same_place = one.namespace == other.namespace
    return sorted(claim for claim in mine if claim in theirs and not (same_place and mine[claim] == theirs[claim]))


def _finding(app: App, ingress: Resource, owner: AppRef, other: Resource, claim: _Claim) -> Finding:
    of = "" if owner == app.ref else f' of "{owner.name}"'
    return Finding(
        message=f"{ingress.id} takes {excerpt(claim.host + claim.path, 80)}, which {other.id}{of} has already, so one of them gets no requests.",
        at=Location(app.ref, ingress.id, _pointer(ingress.desired, claim)),
        confidence="likely",
        evidence=(
            f"both have host {excerpt(claim.host, 80)}, path {excerpt(claim.path, 80)}, class {_class(after_sync(other)) or 'of the cluster'}",
        ),
        related=(Related(owner, other.id, role="other"),),
        fixes=(
            manifest_text(
                ingress.id,
                "Give one of them another host or path",
                f"{excerpt(claim.host + claim.path, 80)}: {ingress.id} or {other.id}\n",
            ),
        ),
    )


def _pointer(obj: Object | None, claim: _Claim) -> str:
    for number, rule in enumerate(maps(obj, "spec", "rules")):
        for place, path in enumerate(maps(rule, "http", "paths")):
            if (text_at(rule, "host"), text_at(path, "path") or "/") == (claim.host, claim.path):
                return f"/spec/rules/{number}/http/paths/{place}" + ("/path" if dig(path, "path") else "")
    return ""


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CAUSE)
