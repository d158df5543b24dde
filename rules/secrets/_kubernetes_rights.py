"""The Role that lets a store of the provider kubernetes read Secrets of its remoteNamespace, and what that Role does not allow.

Sources: external-secrets providers/v1/kubernetes (the store reads as its ServiceAccount); kubernetes.io, RBAC (a rule with resourceNames allows
those names alone, and rules only add up).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from argolint import App, AppRef, Edit, Fix, Fleet, Json, Resource, ResourceId, Want
from argolint.redaction import excerpt
from argolint.values import enumerated, items, mapping, maps, text_at

from . import _stores as stores
from ._provider import credentials
from ._store_hints import Hint

_RBAC = "rbac.authorization.k8s.io"
_MOST = 6  # bindings, and Roles, of other applications that are read in one namespace


def rights_wants(app: App, fleet: Fleet, store: stores.Store, namespace: str) -> Iterator[Want]:
    """The bindings and Roles of other applications in the namespace whose Secrets the store reads."""
    remote = _remote_namespace(store)
    for kind in ("RoleBinding", "Role") if remote and _account(store, namespace) else ():
        keys = (key for key in fleet.of_kind(app.cluster, _RBAC, kind) if key.namespace == remote)
        owned = ((key, owner) for key in keys for owner in fleet.owners(key)[:1] if owner != app.ref)
        for key, owner in islice(owned, _MOST):
            yield Want("peer", ResourceId(*key[1:], "v1", key.cluster), app=owner)


def rights_hints(app: App, fleet: Fleet, store: stores.Store, namespace: str, key: str) -> Iterator[Hint]:
    """The Role that is bound to the store's ServiceAccount and allows other Secrets alone, or no reading."""
    remote, account = _remote_namespace(store), _account(store, namespace)
    if not remote or not account or not key:
        return
    bindings = [binding for _, binding in _objects(app, "RoleBinding", remote) if _binds(binding, account)]
    roles = [found for binding in bindings if (found := _role(app, binding, remote))]
    if any(_allows(rule, key) for _, role in roles for rule in items(role.live or role.any, "rules")):
        return  # it was let in since
    for owner, role in roles:
        for index, rule in enumerate(items(role.any, "rules")):
            names = [str(each) for each in items(rule, "resourceNames")]
            if names and key not in names and _is_read_of_secrets(rule):
                yield _hint(app, owner, role, index, key, names)
                return


def _hint(app: App, owner: AppRef, role: Resource, index: int, key: str, names: list[str]) -> Hint:
    of = f" of application {owner}" if owner != app.ref else ""
    shown = excerpt(enumerated(names, limit=4), 200)
    fix = Fix(
        f'Add "{key}" to resourceNames of {role.id}{of}',
        "manifest",
        str(role.id),
        Edit("json-patch", [{"op": "add", "path": f"/rules/{index}/resourceNames/-", "value": key}]),
        "the Secret itself must be there too: without the right, the API server does not say so",
        resource=role.id,
        effects=("needs-force-sync",),
    )
    says = f'{role.id} lets its store read other Secrets than "{key}"'
    return Hint(says, (fix,), evidence=f"{role.id}{of} allows get of {shown} alone")


def _remote_namespace(store: stores.Store) -> str:
    settings = mapping(store.manifest, "spec", "provider", "kubernetes")
    return stores.remote_namespace(store) if settings and not _is_elsewhere(store) else ""


def _is_elsewhere(store: stores.Store) -> bool:
    """Whether the store asks another cluster, whose Roles no application of this one shows."""
    url = text_at(store.manifest, "spec", "provider", "kubernetes", "server", "url")
    return bool(url) and "kubernetes.default" not in url


def _account(store: stores.Store, namespace: str) -> tuple[str, str] | None:
    """Namespace and name of the ServiceAccount that the store logs in as."""
    found = next((each for each in credentials(store) if each.kind == "ServiceAccount"), None)
    return (found.namespace or namespace, found.name) if found else None


def _objects(app: App, kind: str, namespace: str) -> Iterator[tuple[AppRef, Resource]]:
    own = ((app.ref, resource) for resource in app.of_kind(kind, _RBAC))
    for owner, resource in (*own, *app.peers()):
        if (resource.group, resource.kind, resource.namespace) == (_RBAC, kind, namespace):
            yield owner, resource


def _binds(binding: Resource, account: tuple[str, str]) -> bool:
    return any(
        each.get("kind") == "ServiceAccount" and (text_at(each, "namespace"), text_at(each, "name")) == account
        for each in maps(binding.any, "subjects")
    )


def _role(app: App, binding: Resource, namespace: str) -> tuple[AppRef, Resource] | None:
    name = text_at(binding.any, "roleRef", "name")
    return next(((owner, role) for owner, role in _objects(app, "Role", namespace) if role.name == name), None)


def _allows(rule: Json, key: str) -> bool:
    names = items(rule, "resourceNames")
    return _is_read_of_secrets(rule) and (not names or key in names)


def _is_read_of_secrets(rule: Json) -> bool:
    """Whether the rule lets one get Secrets, of some name at least."""
    wanted = (("apiGroups", ""), ("resources", "secrets"), ("verbs", "get"))
    return all(each in items(rule, field) or "*" in items(rule, field) for field, each in wanted)
