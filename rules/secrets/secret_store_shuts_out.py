"""A ClusterSecretStore that shuts out a namespace which uses it

What it finds: a ClusterSecretStore whose `conditions` a sync changes, so that it no longer admits a namespace in which an ExternalSecret or PushSecret names it.

Why it hurts: External Secrets refuses them at the next refresh ("using cluster store is not allowed from namespace"). The Secrets stay as they are, and are no longer refreshed.

How to fix: admit the namespace, or give it a store of its own first.

Example: `conditions: [{namespaces: [payments]}]` in a store that ExternalSecrets of namespace shop name.

Namespaces that a selector of labels or a complex expression may admit are not reported. At most a hundred objects of other applications are read.

Sources: external-secrets pkg/controllers/secretstore/client_manager.go (shouldProcessNamespace); apis/externalsecrets/v1, ClusterSecretStoreCondition.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Finding, Fleet, Location, Rank, Related, Resource, Rule, Want
from argolint.edits import manifest_patch
from argolint.values import enumerated, items, maps, text_at

from ..shared.peers import after_sync, peer_wants, peers
from . import _external_secret as es
from ._stores import admits

_USERS = ("ExternalSecret", "PushSecret")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The ExternalSecrets and PushSecrets of other applications in namespaces that a store will no longer admit."""
    stores = tuple(_coming(app))
    if stores:
        kinds = [(es.GROUP, kind) for kind in _USERS]
        yield from peer_wants(app, fleet, kinds, lambda key: any(_is_shut_out(one, key.namespace) for one in stores))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each store."""
    for store in _coming(app):
        own = ((app.ref, r) for r in app.resources if r.group == es.GROUP and r.kind in _USERS)
        found = [
            (owner, user)
            for owner, user in (*own, *peers(app, fleet, *_USERS))
            if _is_shut_out(store, user.namespace) and _names(user, store.name)
        ]
        if found:
            yield _finding(app, store, sorted(found, key=lambda one: one[1].key))


def _coming(app: App) -> Iterator[Resource]:
    """The stores whose conditions a sync changes."""
    for store in app.of_kind("ClusterSecretStore", es.GROUP):
        is_coming = store.status == "OutOfSync" and store.desired and store.live and not store.requires_pruning
        if is_coming and items(store.desired, "spec", "conditions") != items(store.live, "spec", "conditions"):
            yield store


def _is_shut_out(store: Resource, namespace: str) -> bool:
    return admits(store.desired, namespace) is False and admits(store.live, namespace) is not False


def _names(user: Resource, store: str) -> bool:
    obj = after_sync(user)
    refs = [(ref.kind, ref.name) for ref in es.store_refs(obj)] if user.kind == "ExternalSecret" else []
    refs += [(text_at(ref, "kind"), text_at(ref, "name")) for ref in maps(obj, "spec", "secretStoreRefs")]
    return ("ClusterSecretStore", store) in refs


def _finding(app: App, store: Resource, found: list[tuple[AppRef, Resource]]) -> Finding:
    namespaces = sorted({user.namespace for _, user in found})
    owner, first = found[0]
    of = "" if owner == app.ref else f' of "{owner.name}"'
    more = f" and {len(found) - 1} more" if found[1:] else ""
    step = {"op": "add", "path": "/spec/conditions/-", "value": {"namespaces": [*namespaces]}}
    return Finding(
        message=f"{store.id} will no longer admit {enumerated(namespaces, limit=1)}, so {first.id}{of}{more} will not be refreshed.",
        at=Location(app.ref, store.id, "/spec/conditions"),
        confidence="likely",
        evidence=tuple(f'{user.id} of "{ref.name}" names it' for ref, user in found[:8]),
        related=tuple(Related(ref, user.id, "/spec/secretStoreRef", "dependent") for ref, user in found[:5]),
        fixes=(manifest_patch(store.id, "Admit the namespaces that use it", [step], safe=True),),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CAUSE)
