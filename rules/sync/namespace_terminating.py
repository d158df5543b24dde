"""The destination namespace is being deleted

What it finds: a sync that the API server refuses since the namespace is being terminated, and a managed Namespace that has been terminating for
minutes. The finding names the Application that renders the namespace and is being deleted too. If Kubernetes reports them, it names the remaining objects and the owners of their finalizers.

Why it hurts: nothing can be created in the namespace, so self-heal and every sync fail until it is gone.

How to fix: find the remaining objects and remove the finalizer that no controller serves. Then let Argo CD create the namespace again
(CreateNamespace=true), or delete the application.

Example: an operator was removed before its objects, whose finalizers then keep the namespace forever.

Sources: k8s.io/apiserver pkg/admission (namespace lifecycle); Namespace conditions NamespaceContentRemaining and
NamespaceFinalizersRemaining. A terminating Namespace alone is reported after five minutes (option `minutes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from argolint import App, Finding, Fleet, Follows, Location, Object, Rank, Related, Resource, ResourceId, Rule, Symptom
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.messages import in_passing
from argolint.redaction import excerpt
from argolint.values import age_text, dig, items, mapping, parse_time, texts
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex

from ._failures import Failed, failures_explained_by

_NAMESPACE = regex(r"\bnamespace (\S+) (?:because it )?is being terminated")


_REMAINING = regex(r"\b([a-z0-9][a-z0-9.-]{0,252}?)\.? has \d{1,9} resource instances")
"""Plurals of the kinds that are left, as the namespace controller counts them (pkg/controller/namespace/deletion)."""


@dataclass(frozen=True)
class Options:
    """minutes: the time that a namespace may take until it is gone."""

    minutes: int = 5


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each namespace."""
    refused = failures_explained_by(app, "namespace-terminating")
    names = sorted({_terminating_namespace(app, f) for f in refused})
    for name in names:
        of_it = [f for f in refused if _terminating_namespace(app, f) == name]
        yield _finding(app, fleet, name, of_it, _live_namespace(app, name))
    for resource in app.of_kind("Namespace", ""):
        since = parse_time(dig(resource.live, "metadata", "deletionTimestamp"))
        if (
            since is not None
            and resource.name not in names
            and app.observed_at - since > timedelta(minutes=options.minutes)
        ):
            yield _finding(app, fleet, resource.name, [], resource.live, since)


def _terminating_namespace(app: App, failed: Failed) -> str:
    found = _NAMESPACE.search(failed.message)
    return found.group(1) if found else (failed.id.namespace if failed.id else "") or app.destination_namespace


def _live_namespace(app: App, name: str) -> Object | None:
    resource = app.find("", "Namespace", "", name)
    return resource.live if resource else None


def _finding(
    app: App, fleet: Fleet, name: str, refused: list[Failed], live: Object | None, since: datetime | None = None
) -> Finding:
    id_ = ResourceId("", "Namespace", "", name, "v1", app.cluster)
    with_finalizer = [
        str(c.get("message"))
        for type_ in ("NamespaceFinalizersRemaining", "NamespaceContentRemaining")  # the telling one first
        for c in items(live, "status", "conditions")
        if c.get("type") == type_ and c.get("status") == "True"
    ]
    state = f"has been terminating for {age_text(app.observed_at - since)}" if since else "is terminating"
    effect = (
        f"the sync of application {app.ref} fails"
        if refused
        else f"the deletion of application {app.ref} does not end"
        if app.deleting
        else f"nothing of application {app.ref} can be created in it"
    )
    held = () if with_finalizer else tuple(_held_objects(app, name))
    maker = next((ref for ref in fleet.owners(id_.key) if ref != app.ref and fleet.by_ref[ref].deleting), None)
    state += f' with application "{maker.name}", which renders it' if maker else ""
    waits = (
        f"{',' if maker else ''} and waits for finalizer {held[0][1]} of {held[0][0].kind} {held[0][0].name}"
        if held
        else ""
    )
    left = list(dict.fromkeys(kind for message in with_finalizer for kind in _REMAINING.findall(message)))
    facts = {"name": name, "app": str(app.ref), "left": Shell(",".join(left))}
    facts |= {"object": str(held[0][0].id), "command": Shell(kubectl_name(held[0][0].id))} if held else {}
    return Finding(
        message=in_passing(f"Namespace {name} {state}, so {effect}", with_finalizer[0])
        if with_finalizer
        else f"Namespace {name} {state}{waits}, so {effect}.",
        at=Location(app.ref, id_),
        confidence="proven" if with_finalizer else "likely",
        evidence=(
            *(f"{f.id or app.ref}: {excerpt(f.message, 300)}" for f in refused[:3]),
            *with_finalizer,
            *(f"{r.id} is being deleted, and finalizer {finalizer} holds it" for r, finalizer in held[:5]),
            *(() if with_finalizer or held else ("what is left in the namespace cannot be seen through Argo CD",)),
        ),
        related=(
            *([Related(maker, id_, role="cause")] if maker else []),
            *(Related(app.ref, f.id, role="symptom") for f in refused if f.id),
        ),
        fixes=advice(__package__, "namespace-terminating/held" if held else "namespace-terminating", facts),
        explains=(*(consequences(app) if refused else ()), Symptom.health(id_), Symptom.extra(id_)),
        follows=(
            Follows.finding("shared-resource-pruned", id_),
            Follows.common(f"{id_} of cluster {app.cluster} is being deleted.", "namespace", app.cluster, name),
        ),
    )


def _held_objects(app: App, namespace: str) -> Iterator[tuple[Resource, str]]:
    """The application's objects that are being deleted there, each with its first finalizer."""
    for resource in app.resources:
        metadata = mapping(resource.live, "metadata") if resource.namespace == namespace else {}
        finalizers = texts(metadata, "finalizers")
        if metadata.get("deletionTimestamp") and finalizers:
            yield resource, finalizers[0]


RULE = Rule(**Rule.page(__name__), severity="error", check=check, options=Options, rank=Rank.CAUSE)
