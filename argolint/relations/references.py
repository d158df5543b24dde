"""Objects that a manifest requires by name: in pod specs, ingresses, bindings, claims, and the fields of references.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from argolint.application.resource import Resource
from argolint.model import Json, Object
from argolint.relations.makers import made_secrets, places
from argolint.values import annotations_of, dig, items, join_pointer, split_pointer
from argolint.values.knowledge import load
from argolint.values.kubernetes import group_of, reads

_RBAC = "rbac.authorization.k8s.io"
_PROVIDER_CLASS = ("secrets-store.csi.x-k8s.io", "SecretProviderClass")


@dataclass(frozen=True, order=True)
class Reference:
    """A name in a manifest: the object, and the field that names it. `namespace` is empty for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str
    pointer: str


_NAMESPACED = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim", "Role", "Service", _PROVIDER_CLASS[1])


@cache
def namespaced() -> frozenset[str]:
    """The namespaced kinds that a reference may name."""
    references = (
        kind for fields in _fields().values() for f in fields for kind, scope in f.kinds.items() if scope != "cluster"
    )
    return frozenset((*_NAMESPACED, *references))


@dataclass(frozen=True)
class _Field:
    """An entry of references.yaml: the field's place, and the kinds that it may name, the default first; none if the field must state the kind. `unless`: see references.yaml."""

    at: tuple[str, ...]
    group: str
    kinds: Mapping[str, str]
    says: bool
    unless: Sequence[str]


@cache
def _fields() -> Mapping[tuple[str, str], Sequence[_Field]]:
    """The fields of references.yaml, by group and kind of the object that has them."""
    found: dict[tuple[str, str], list[_Field]] = {}
    for entry in load(__package__, "references.yaml"):
        for holder in entry["by"]:
            group, _, kind = holder.partition("/")
            fields = [
                _Field(
                    split_pointer(at), entry["group"], entry["kinds"], entry.get("says", False), entry.get("unless", ())
                )
                for at in entry["at"]
            ]
            found.setdefault((group, kind), []).extend(fields)
    return found


def holders(kind: str) -> Iterator[tuple[str, str]]:
    """(group, kind) of the custom resources that may refer to an object of this kind."""
    return (holder for holder, fields in _fields().items() if any(kind in f.kinds for f in fields))


def may_refer(resource: Resource) -> bool:
    """False for a CRD whose text has no webhook: CRDs are the largest objects, and this is all that they refer to."""
    return resource.kind != "CustomResourceDefinition" or resource.mentions('"clientConfig"')


def references(obj: Object) -> Iterator[Reference]:
    """Every object that this one requires: in pod specs, ingresses, bindings, claims and fields of custom resources."""
    namespace = str(dig(obj, "metadata", "namespace") or "")
    group, kind = group_of(obj), str(obj.get("kind"))
    for field in _fields().get((group, kind), ()):
        if any(name in annotations_of(obj) for name in field.unless):
            continue
        for pointer, node in places(obj, field.at):
            yield from _of_field(field, node, pointer, namespace)
    if "." in group and not group.endswith(".k8s.io"):
        made = made_secrets(obj)
        yield from (
            r for r in _of_custom(obj.get("spec"), "/spec", namespace) if r.kind != "Secret" or r.name not in made
        )
    for read in reads(obj):
        if read.needed:
            where = namespace if read.kind in namespaced() else ""
            yield Reference(read.group, read.kind, where, read.name, read.pointer)
    if kind == "Ingress":
        for index, tls in enumerate(items(obj, "spec", "tls")):
            yield from _named("", "Secret", namespace, tls.get("secretName"), f"/spec/tls/{index}/secretName")
        yield from _named(
            "networking.k8s.io", "IngressClass", "", dig(obj, "spec", "ingressClassName"), "/spec/ingressClassName"
        )
        fallback = "/spec/defaultBackend/service/name"
        yield from _named("", "Service", namespace, dig(obj, "spec", "defaultBackend", "service", "name"), fallback)
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
    elif kind == "ServiceAccount":
        for i, ref in enumerate(items(obj, "imagePullSecrets")):
            yield from _named("", "Secret", namespace, ref.get("name"), f"/imagePullSecrets/{i}/name")
    elif kind == "PersistentVolumeClaim":
        yield from _storage_class(obj.get("spec") or {}, "/spec")
    for i, claim in enumerate(items(obj, "spec", "volumeClaimTemplates")):
        yield from _storage_class(claim.get("spec") or {}, f"/spec/volumeClaimTemplates/{i}/spec")


def _needed(kind: str, namespace: str, ref: Object, field: str, at: str) -> Iterator[Reference]:
    """A reference that is not marked optional."""
    if not ref.get("optional"):
        yield from _named("", kind, namespace, ref.get(field), f"{at}/{field}")


def _named(group: str, kind: str, namespace: str, name: Json, pointer: str) -> Iterator[Reference]:
    if isinstance(name, str) and name:
        yield Reference(group, kind, namespace, name, pointer)


def _storage_class(spec: Object, at: str) -> Iterator[Reference]:
    yield from _named("storage.k8s.io", "StorageClass", "", spec.get("storageClassName"), f"{at}/storageClassName")


def _of_field(field: _Field, node: Json, at: str, namespace: str) -> Iterator[Reference]:
    """The references in the field of an entry of references.yaml."""
    reference: Object = node if isinstance(node, Mapping) else {"name": node}
    kind = reference.get("kind") or ("" if field.says else next(iter(field.kinds)))
    group = reference.get("group") or group_of(reference) or field.group
    if isinstance(kind, str) and kind in field.kinds and group == field.group:
        where = (reference.get("namespace") or namespace) if field.kinds[kind] == "namespaced" else ""
        yield from _named(field.group, kind, where, reference.get("name"), f"{at}/name" if reference is node else at)


_CUSTOM = (
    (("ecretRef", "ecretKeyRef", "ecretTargetRef", "magePullSecrets"), "Secret"),
    (("onfigMapRef", "onfigMapKeyRef"), "ConfigMap"),
    (("erviceAccountRef",), "ServiceAccount"),
)
"""Suffixes of custom resource fields with `{name}`, or a list of such, as in the core types."""
_NAMES = {"secretName": "Secret", "serviceAccountName": "ServiceAccount"}
_OUTPUT = "privateKeySecretRef"
"""The account key that cert-manager's issuers write themselves."""


def _of_custom(node: Json, at: str, namespace: str) -> Iterator[Reference]:
    """Required names of Secrets, ConfigMaps and service accounts at any depth of a custom resource."""
    if isinstance(node, list):
        for index, child in enumerate(node):
            yield from _of_custom(child, f"{at}/{index}", namespace)
    elif isinstance(node, Mapping):
        for key, child in node.items():
            place = at + join_pointer(key)
            if key in _NAMES and not node.get("optional"):
                yield from _named("", _NAMES[key], namespace, child, place)
            kind = next((kind for ends, kind in _CUSTOM if key.endswith(ends)), "") if key != _OUTPUT else ""
            for pointer, ref in _either(child, place) if kind else ():
                where = str(ref.get("namespace") or namespace)
                yield from _needed(kind, where, ref, "name", pointer)
            yield from _of_custom(child, place, namespace)


def _either(node: Json, at: str) -> Iterator[tuple[str, Object]]:
    """The map, or the maps of the list, with their pointers."""
    for pointer, one in ((f"{at}/{i}", n) for i, n in enumerate(node)) if isinstance(node, list) else ((at, node),):
        if isinstance(one, Mapping):
            yield pointer, one
