"""Which objects a manifest needs by name, and which Secrets it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import App, AppRef, Json, Object, Resource, ResourceId
from argolint.values import dig, get, items, join_pointer

_POD_SPECS = ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec")
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, order=True)
class Reference:
    """A name in a manifest: the object that it means and the field that says so. `namespace` is empty for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str
    pointer: str


@dataclass(frozen=True, order=True)
class User:
    """An object of an application that names another one, and where."""

    app: AppRef
    id: ResourceId
    pointer: str


def users(app: App) -> Mapping[tuple[str, str, str, str], Sequence[User]]:
    """(group, kind, namespace, name) -> who names it: desired objects of the application, and those that were looked up in others."""
    found: dict[tuple[str, str, str, str], list[User]] = {}
    mine = [(app.ref, r) for r in app.resources]
    peers = [(w.app, r) for w, r in app.evidence.items() if w.kind == "peer" and w.app and isinstance(r, Resource)]
    for ref, resource in (*mine, *peers):
        for named in references(resource.desired) if resource.desired else ():
            namespace = named.namespace or (resource.namespace if named.kind in _NAMESPACED else "")
            user = User(ref, resource.id, named.pointer)
            found.setdefault((named.group, named.kind, namespace, named.name), []).append(user)
    return found


_NAMESPACED = frozenset(
    ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim", "Role", "Service", "SecretStore")
)


def references(obj: Object) -> Iterator[Reference]:
    """Every object that this one cannot do without: pod specs, ingresses, gateways, bindings, claims and secret stores."""
    namespace = str(dig(obj, "metadata", "namespace") or "")
    kind = obj.get("kind")
    for pointer in _POD_SPECS:
        spec = get(obj, pointer, None)
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            yield from _of_pod(spec, pointer, namespace)
            break
    if kind == "Ingress":
        for index, tls in enumerate(items(obj, "spec", "tls")):
            yield from _named("", "Secret", namespace, tls.get("secretName"), f"/spec/tls/{index}/secretName")
        yield from _named(
            "networking.k8s.io", "IngressClass", "", dig(obj, "spec", "ingressClassName"), "/spec/ingressClassName"
        )
        for i, rule in enumerate(items(obj, "spec", "rules")):
            for j, path in enumerate(items(rule, "http", "paths")):
                place = f"/spec/rules/{i}/http/paths/{j}/backend/service/name"
                yield from _named("", "Service", namespace, dig(path, "backend", "service", "name"), place)
    elif kind == "Gateway":
        for i, listener in enumerate(items(obj, "spec", "listeners")):
            for j, ref in enumerate(items(listener, "tls", "certificateRefs")):
                place = f"/spec/listeners/{i}/tls/certificateRefs/{j}/name"
                if ref.get("kind", "Secret") == "Secret":
                    yield from _named("", "Secret", ref.get("namespace") or namespace, ref.get("name"), place)
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        role = dig(obj, "roleRef", "kind")
        where = namespace if role == "Role" else ""
        yield from _named(_RBAC, str(role), where, dig(obj, "roleRef", "name"), "/roleRef/name")
        for i, subject in enumerate(items(obj, "subjects")):
            if subject.get("kind") == "ServiceAccount":
                place = f"/subjects/{i}/name"
                yield from _named(
                    "", "ServiceAccount", subject.get("namespace") or namespace, subject.get("name"), place
                )
    elif kind == "ServiceAccount":
        for i, ref in enumerate(items(obj, "imagePullSecrets")):
            yield from _named("", "Secret", namespace, ref.get("name"), f"/imagePullSecrets/{i}/name")
    elif kind == "PersistentVolumeClaim":
        yield from _storage_class(obj.get("spec") or {}, "/spec")
    elif kind == "ExternalSecret" and str(obj.get("apiVersion") or "").startswith("external-secrets.io/"):
        store = dig(obj, "spec", "secretStoreRef") or {}
        where = "" if store.get("kind") == "ClusterSecretStore" else namespace
        store_kind = store.get("kind") or "SecretStore"
        yield from _named("external-secrets.io", store_kind, where, store.get("name"), "/spec/secretStoreRef/name")
    elif kind in ("SecretStore", "ClusterSecretStore"):
        yield from _secret_refs(obj.get("spec"), "/spec", namespace)
    for i, claim in enumerate(items(obj, "spec", "volumeClaimTemplates")):
        yield from _storage_class(claim.get("spec") or {}, f"/spec/volumeClaimTemplates/{i}/spec")


def made_secret(obj: Object) -> str:
    """The name of the Secret that an operator makes from this object; empty for objects that make none."""
    group, kind = str(obj.get("apiVersion") or "").partition("/")[0], obj.get("kind")
    name = str(dig(obj, "metadata", "name") or "")
    if (group, kind) == ("external-secrets.io", "ExternalSecret"):
        return str(dig(obj, "spec", "target", "name") or name)
    if (group, kind) == ("cert-manager.io", "Certificate"):
        return str(dig(obj, "spec", "secretName") or "")
    return (
        name if (group, kind) in (("bitnami.com", "SealedSecret"), ("kubernetes-client.io", "ExternalSecret")) else ""
    )


def _of_pod(spec: Object, at: str, namespace: str) -> Iterator[Reference]:
    for field in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(field) or ()):
            base = f"{at}/{field}/{i}"
            for j, env in enumerate(items(container, "env")):
                for key, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                    ref = dig(env, "valueFrom", key) or {}
                    yield from _needed(kind, namespace, ref, "name", f"{base}/env/{j}/valueFrom/{key}")
            for j, source in enumerate(items(container, "envFrom")):
                for key, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                    yield from _needed(kind, namespace, source.get(key) or {}, "name", f"{base}/envFrom/{j}/{key}")
    for i, volume in enumerate(spec.get("volumes") or ()):
        base = f"{at}/volumes/{i}"
        yield from _needed("Secret", namespace, volume.get("secret") or {}, "secretName", f"{base}/secret")
        yield from _needed("ConfigMap", namespace, volume.get("configMap") or {}, "name", f"{base}/configMap")
        claim = dig(volume, "persistentVolumeClaim", "claimName")
        yield from _named("", "PersistentVolumeClaim", namespace, claim, f"{base}/persistentVolumeClaim/claimName")
        for j, source in enumerate(items(volume, "projected", "sources")):
            for key, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
                place = f"{base}/projected/sources/{j}/{key}"
                yield from _needed(kind, namespace, source.get(key) or {}, "name", place)
    for i, ref in enumerate(spec.get("imagePullSecrets") or ()):
        yield from _named("", "Secret", namespace, ref.get("name"), f"{at}/imagePullSecrets/{i}/name")
    account = spec.get("serviceAccountName")
    yield from _named("", "ServiceAccount", namespace, account, f"{at}/serviceAccountName")
    priority = spec.get("priorityClassName")
    yield from _named("scheduling.k8s.io", "PriorityClass", "", priority, f"{at}/priorityClassName")


def _needed(kind: str, namespace: str, ref: Object, field: str, at: str) -> Iterator[Reference]:
    """A reference that is not marked optional."""
    if not ref.get("optional"):
        yield from _named("", kind, namespace, ref.get(field), f"{at}/{field}")


def _named(group: str, kind: str, namespace: str, name: Json, pointer: str) -> Iterator[Reference]:
    if isinstance(name, str) and name:
        yield Reference(group, kind, namespace, name, pointer)


def _storage_class(spec: Object, at: str) -> Iterator[Reference]:
    yield from _named("storage.k8s.io", "StorageClass", "", spec.get("storageClassName"), f"{at}/storageClassName")


def _secret_refs(node: Json, at: str, namespace: str) -> Iterator[Reference]:
    """`...SecretRef: {name, namespace}` at any depth: how secret stores name their credentials."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            place = at + join_pointer(key)
            if key.endswith("ecretRef") and isinstance(child, Mapping) and isinstance(child.get("name"), str):
                where = child.get("namespace") or namespace
                yield Reference("", "Secret", str(where), child["name"], f"{place}/name")
            else:
                yield from _secret_refs(child, place, namespace)
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _secret_refs(child, f"{at}/{index}", namespace)
