"""The store that an ExternalSecret refers to: its place, its controller, its admission of a namespace and its readiness.

The checks follow the operator's own order: exists, controller class, conditions, ready
(pkg/controllers/secretstore/client_manager.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from argolint import App, AppRef, Fleet, Object, Resource, Want
from argolint.values import dig, items, mapping, maps, parse_time, text_at
from argolint.values.patterns import regex

from . import _external_secret as es

_PLAIN = regex(r"[\w^$.*+?|-]{1,100}")
_QUANTIFIERS = 3


@dataclass(frozen=True)
class Store:
    """A store. `app` manages it; `live` is None if no application shows it (it may still exist).

    `wanted`: Git's manifest counts, since the cluster refused it.
    """

    ref: es.StoreRef
    app: AppRef | None = None
    resource: Resource | None = None
    wanted: bool = False

    @property
    def live(self) -> Object | None:
        return self.resource.live if self.resource else None

    @property
    def manifest(self) -> Object:
        """The live store, else Git's; empty if neither is visible."""
        if self.resource is None:
            return {}
        return (self.resource.desired if self.wanted else self.resource.live) or self.resource.any

    @property
    def namespace(self) -> str:
        """The namespace of a SecretStore; empty for a ClusterSecretStore."""
        return self.resource.namespace if self.resource and self.ref.kind == "SecretStore" else ""

    @property
    def absent(self) -> bool:
        """Whether an application renders it while its cluster does not have it."""
        return self.resource is not None and self.resource.missing

    @property
    def controller(self) -> str:
        """A controller class, not the default one, that no operator serves, as the store has no status; else empty."""
        name = str(dig(self.live, "spec", "controller") or "")
        return name if name not in ("", "default") and not es.ready_condition(self.live) else ""

    @property
    def is_ready(self) -> bool | None:
        status = es.ready_condition(self.live).get("status")
        return None if status is None else status == "True"

    @property
    def since(self) -> datetime | None:
        """The time when its condition Ready last changed, else when the store was created."""
        turned = parse_time(es.ready_condition(self.live).get("lastTransitionTime"))
        return turned or (es.created_at(self.resource) if self.resource else None)

    @property
    def provider(self) -> str:
        """The first key of spec.provider: aws, vault, gcpsm, azurekv, kubernetes, fake, webhook and so on."""
        return next(iter(mapping(self.manifest, "spec", "provider")), "")

    def admits(self, namespace: str) -> bool | None:
        """By spec.conditions of a ClusterSecretStore; None if labels of the Namespace or a complex expression decide."""
        return admits(self.live, namespace) if self.ref.kind == "ClusterSecretStore" else True


def admits(store: Object | None, namespace: str) -> bool | None:
    """Whether the conditions of a ClusterSecretStore admit a namespace; None if labels of the Namespace or a complex expression decide."""
    conditions = items(store, "spec", "conditions")
    unknown = False
    for each in conditions:
        if namespace in items(each, "namespaces"):
            return True
        matched = [_matches(str(pattern), namespace) for pattern in items(each, "namespaceRegexes")]
        if True in matched:
            return True
        unknown = unknown or None in matched or bool(dig(each, "namespaceSelector"))
    return True if not conditions else None if unknown else False


def _matches(pattern: str, namespace: str) -> bool | None:
    """Whether a pattern matches; None for any complex expression, since Go matches in linear time and Python does not."""
    if _PLAIN.fullmatch(pattern) is None or sum(pattern.count(sign) for sign in "*+?") > _QUANTIFIERS:
        return None
    try:
        return re.search(pattern, namespace) is not None
    except re.error:
        return False  # the operator's webhook refuses it


def store_wants(app: App, fleet: Fleet, obj: Object | None, namespace: str) -> Iterator[Want]:
    """The stores that another application manages: the referred ones, and those with the same name and the other kind."""
    yield from reference_wants(app, fleet, es.store_refs(obj), namespace)


def reference_wants(app: App, fleet: Fleet, refs: Iterable[es.StoreRef], namespace: str) -> Iterator[Want]:
    """The same for given references."""
    for ref in refs:
        for candidate in (ref, _other_kind(ref)):
            want = _peer_want(app, fleet, candidate, namespace)
            if want is not None:
                yield want


def remote_namespace(store: Store) -> str:
    """The namespace that a store of the provider kubernetes reads."""
    return text_at(store.manifest, "spec", "provider", "kubernetes", "remoteNamespace") or "default"


def is_pushed_to(app: App, ref: es.StoreRef) -> bool:
    """Whether a PushSecret of this application writes to the store."""
    return any(
        (text_at(each, "kind") or "SecretStore", text_at(each, "name")) == (ref.kind, ref.name)
        for push in app.of_kind("PushSecret", es.GROUP)
        for each in maps(push.any, "spec", "secretStoreRefs")
    )


def find(app: App, fleet: Fleet, ref: es.StoreRef, namespace: str) -> Store:
    """The store in this application, else in another one (if it was requested)."""
    key = ref.id(namespace, app.cluster).key
    own = app.resource(key)
    if own is not None:
        return Store(ref, app.ref, own)
    want = _peer_want(app, fleet, ref, namespace)
    if want is None:
        return Store(ref)
    return Store(ref, want.app, app.evidence.get(want))


def other_kind_store(app: App, fleet: Fleet, ref: es.StoreRef, namespace: str) -> Store | None:
    """The store with the same name and the other kind, if an application manages it on this cluster.

    Ready ExternalSecrets of this application that read it are also evidence for it.
    """
    other = _other_kind(ref)
    key = other.id(namespace, app.cluster).key
    if app.resource(key) is not None or fleet.owners(key):
        return find(app, fleet, other, namespace)
    for each in es.external_secrets(app):
        near = other.kind == "ClusterSecretStore" or each.namespace == namespace
        if (
            near
            and es.ready_condition(each.live).get("status") == "True"
            and any((r.kind, r.name) == (other.kind, other.name) for r in es.store_refs(each.live))
        ):
            return Store(other)
    return None


def store_names(app: App, fleet: Fleet, kind: str, namespace: str) -> tuple[str, ...]:
    """The stores of a kind that applications manage on this cluster and that are available to the namespace."""
    own = "" if kind == "ClusterSecretStore" else namespace
    return tuple(key.name for key in fleet.of_kind(app.cluster, es.GROUP, kind) if key.namespace == own)


def other_namespaces(app: App, fleet: Fleet, kind: str, name: str, namespace: str) -> tuple[str, ...]:
    """Other namespaces of this cluster with a SecretStore of this name in an application."""
    if kind != "SecretStore":
        return ()
    keys = fleet.of_kind(app.cluster, es.GROUP, kind)
    return tuple(key.namespace for key in keys if key.name == name and key.namespace != namespace)


_ASKED = 8
"""Most ExternalSecrets of other applications that are read for one that its store does not admit."""


def reader_wants(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """ExternalSecrets elsewhere that may read the same keys of a ClusterSecretStore that does not admit this one's namespace."""
    for ref in es.store_refs(resource.live):
        store = find(app, fleet, ref, resource.namespace)
        if store.live is None or store.admits(resource.namespace) is not False:
            continue
        keys = fleet.of_kind(app.cluster, es.GROUP, "ExternalSecret")
        others = ((key, owner) for key in keys if store.admits(key.namespace) for owner in fleet.owners(key)[:1])
        well = (
            Want("peer", listed.id, app=owner)
            for key, owner in others
            if owner != app.ref and (listed := fleet.resource(owner, key)) and listed.health.status in ("Healthy", "")
        )
        yield from islice(well, _ASKED)


def _other_kind(ref: es.StoreRef) -> es.StoreRef:
    kind = "ClusterSecretStore" if ref.kind == "SecretStore" else "SecretStore"
    return es.StoreRef(kind, ref.name, ref.pointer)


def _peer_want(app: App, fleet: Fleet, ref: es.StoreRef, namespace: str) -> Want | None:
    wanted = ref.id(namespace, app.cluster)
    owner = next((other for other in fleet.owners(wanted.key) if other != app.ref), None)
    return Want("peer", wanted, app=owner) if owner is not None else None
