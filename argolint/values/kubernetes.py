"""Facts about Kubernetes objects that several parts use: which hold secrets, which field names an item, what a pod reads.

Sources: k8s.io/kubernetes pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames), gitops-engine pkg/sync/syncwaves/waves.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from argolint.model import Json, Object, ResourceId
from argolint.values import annotations_of, below, dig, get, integer, items, mapping, sh, text_at
from argolint.values.decoding import kind_of
from argolint.values.memo import by_identity
from argolint.values.patterns import regex

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
ARGOCD_ANNOTATION = regex(r"argocd\.argoproj\.io/(?!(?:tracking-id|installation-id)\")")
"""In the text of every object with an annotation of Argo CD other than those that it writes itself."""
COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"
SKIP_RECONCILE = "argocd.argoproj.io/skip-reconcile"
HOOK = "argocd.argoproj.io/hook"
_HOOK_WEIGHT = "helm.sh/hook-weight"

ITEM_NAMES = (
    "name",
    "key",
    "secretKey",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "ip",
    "type",
    "topologyKey",
)
"""The fields by which people distinguish list items, the clearest first: for pairing and for selecting items.

For how the API server merges a list see `comparison.scheme.MERGE_KEYS` (strategic merge patch) and
`comparison.managed_fields.LIST_MAP_KEYS` (server-side apply).
"""

CLUSTER_SCOPED = frozenset(
    (group, kind)
    for group, kinds in {
        "": "Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "policy": "PodSecurityPolicy",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
)
"""Built-in kinds without a namespace (kubectl api-resources --namespaced=false)."""


DATA_FIELDS = ("data", "stringData", "binaryData")
"""The maps of a Secret or ConfigMap whose keys pods read; one key is in at most one of them, or in `data` and `stringData`."""


def data_keys(obj: Object | None) -> frozenset[str]:
    """The keys of a Secret or ConfigMap."""
    return frozenset(key for field in DATA_FIELDS for key in mapping(obj, field))


def has_data(obj: Object | None, key: str = "") -> bool:
    """True if a Secret or ConfigMap has the key, or any key if none is given. Takes the same time for any number of keys."""
    return any(key in data if key else data for data in (mapping(obj, field) for field in DATA_FIELDS))


def without_hash(name: str) -> str | None:
    """The name of a ConfigMap or Secret that Kustomize generates, without the hash of its content; None for another name."""
    found = _HASHED.fullmatch(name)
    return found[1] if found else None


_HASHED = regex(r"(.+)-[2456789bcdfghkmt]{10}")
"""kustomize api/hasher, encode: ten hexadecimal digits, of which 0, 1, 3, a and e are written otherwise."""


class Typed(Protocol):
    """Anything with a group and a kind: a Resource, a ResourceId, a ResourceKey."""

    @property
    def group(self) -> str: ...

    @property
    def kind(self) -> str: ...


def group_of(obj: Object) -> str:
    """The API group of a decoded object; empty for the core group."""
    return api_of(obj)[0]


def is_custom(group: str) -> bool:
    """True for the groups of CRDs, Gateway API's among them."""
    return "." in group and group not in _BUILTIN_GROUPS


_BUILTIN_GROUPS = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)


def api_of(obj: Object | None) -> tuple[str, str]:
    """(group, version) of a decoded object; both empty if it has no apiVersion."""
    group, _, version = text_at(obj, "apiVersion").rpartition("/")
    return group, version


def is_secret(what: Typed | Object | None) -> bool:
    """True for a Secret of the core group: custom kinds may have the name Secret, too."""
    if what is None or isinstance(what, Mapping):
        return text_at(what, "kind") == "Secret" and text_at(what, "apiVersion") == "v1"
    return (what.group, what.kind) == ("", "Secret")


def is_secret_data(what: Typed | Object | None, pointer: str) -> bool:
    """True if the pointer leads into the data of a Secret, which the server masks and no one may print."""
    return is_secret(what) and (below(pointer, "/data") or below(pointer, "/stringData"))


def wave(obj: Object | None) -> int:
    """The sync wave of a manifest: Argo CD's annotation, else the weight of a Helm hook, else 0."""
    annotations = annotations_of(obj)
    own = integer(annotations.get(SYNC_WAVE))
    return (integer(annotations.get(_HOOK_WEIGHT)) or 0) if own is None else own


def is_deleting(obj: Object | None) -> bool:
    """Whether the API server has accepted a deletion of the object, which nothing stops any more."""
    return bool(dig(obj, "metadata", "deletionTimestamp"))


def is_of_current_spec(obj: Object | None, condition: Object | None = None) -> bool | None:
    """Whether the status, or this condition of it, is about the current spec; None if neither it nor the object says (observedGeneration, generation).

    A Rollout has it as text (argoproj.io/v1alpha1, RolloutStatus).
    """
    generation = dig(obj, "metadata", "generation")
    observed = dig(condition, "observedGeneration") or dig(obj, "status", "observedGeneration")
    return None if generation is None or observed is None else str(observed) == str(generation)


PODS = '"containers"'
"""In the text of every object with a pod spec."""


def pod_spec(obj: Object | None) -> tuple[str, Object]:
    """The pod spec of a workload, Pod, CronJob or pod template, with its pointer; ("", {}) if there is none."""
    for pointer in ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"):
        spec = get(obj, pointer, None)
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            return pointer, spec
    return "", {}


def containers(obj: Object | None) -> Iterator[tuple[str, Object]]:
    """Each container of the pod spec, init containers first, with its pointer in the object."""
    base, spec = pod_spec(obj)
    return _containers(base, spec, "initContainers", "containers")


def images(obj: Object | None) -> list[str]:
    """The image of each container of the pod spec, init containers first; empty for a container without one."""
    return [text_at(container, "image") for _, container in containers(obj)]


def _containers(base: str, spec: Object, *fields: str) -> Iterator[tuple[str, Object]]:
    for field in fields:
        for index, container in enumerate(items(spec, field)):
            if isinstance(container, dict):
                yield f"{base}/{field}/{index}", container


@dataclass(frozen=True, slots=True)
class PodReference:
    """A reference of a pod spec to an object.

    needed  False if the pod starts without it: the reference is optional, or in an ephemeral container
    by      environment and volume: the containers use it; pull: the kubelet reads it; pod: the pod itself refers to it
    """

    group: str
    kind: str
    name: str
    pointer: str
    needed: bool = True
    by: Literal["environment", "volume", "pull", "pod"] = "pod"


@by_identity(64)
def reads(obj: Object | None) -> tuple[PodReference, ...]:
    """All references of this object's pods: Secrets, ConfigMaps, claims, classes and the service account."""
    return tuple(_reads(*pod_spec(obj)))


def _reads(base: str, spec: Object) -> Iterator[PodReference]:
    for at, container in _containers(base, spec, "initContainers", "containers", "ephemeralContainers"):
        yield from _environment(at, container, starts=f"{base}/ephemeralContainers/" not in at)
    for index, volume in enumerate(items(spec, "volumes")):
        yield from _volume(f"{base}/volumes/{index}", volume)
    for index, pull in enumerate(items(spec, "imagePullSecrets")):
        yield from _read("", "Secret", pull, "name", f"{base}/imagePullSecrets/{index}", by="pull")
    yield from _read("", "ServiceAccount", spec, "serviceAccountName", base)
    yield from _read("scheduling.k8s.io", "PriorityClass", spec, "priorityClassName", base)


def _environment(at: str, container: Object, *, starts: bool) -> Iterator[PodReference]:
    for index, variable in enumerate(items(container, "env")):
        source = mapping(variable, "valueFrom")
        for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")) if source else ():
            ref = mapping(source, field)
            yield from _read("", kind, ref, "name", f"{at}/env/{index}/valueFrom/{field}", starts, "environment")
    for index, source in enumerate(items(container, "envFrom")):
        for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
            yield from _read(
                "", kind, mapping(source, field), "name", f"{at}/envFrom/{index}/{field}", starts, "environment"
            )


_SECRET_OF_DRIVER = (
    ("csi", "nodePublishSecretRef"),
    *((driver, "secretRef") for driver in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")),
)


def _volume(at: str, volume: Json) -> Iterator[PodReference]:
    yield from _read("", "Secret", mapping(volume, "secret"), "secretName", f"{at}/secret", by="volume")
    yield from _read("", "ConfigMap", mapping(volume, "configMap"), "name", f"{at}/configMap", by="volume")
    claim = mapping(volume, "persistentVolumeClaim")
    yield from _read("", "PersistentVolumeClaim", claim, "claimName", f"{at}/persistentVolumeClaim", by="volume")
    attributes = mapping(volume, "csi", "volumeAttributes")
    provider = ("secrets-store.csi.x-k8s.io", "SecretProviderClass")
    yield from _read(*provider, attributes, "secretProviderClass", f"{at}/csi/volumeAttributes", by="volume")
    for index, source in enumerate(items(volume, "projected", "sources")):
        for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            place = f"{at}/projected/sources/{index}/{field}"
            yield from _read("", kind, mapping(source, field), "name", place, by="volume")
    for driver, field in _SECRET_OF_DRIVER:
        yield from _read("", "Secret", mapping(volume, driver, field), "name", f"{at}/{driver}/{field}", by="volume")
    yield from _read("", "Secret", mapping(volume, "azureFile"), "secretName", f"{at}/azureFile", by="volume")
    made = mapping(volume, "ephemeral", "volumeClaimTemplate", "spec")
    place = f"{at}/ephemeral/volumeClaimTemplate/spec"
    yield from _read("storage.k8s.io", "StorageClass", made, "storageClassName", place, by="volume")


def _read(
    group: str,
    kind: str,
    ref: Json,
    field: str,
    at: str,
    needed: bool = True,
    by: Literal["environment", "volume", "pull", "pod"] = "pod",
) -> Iterator[PodReference]:
    if name := text_at(ref, field):
        yield PodReference(group, kind, name, f"{at}/{field}", needed and dig(ref, "optional") is not True, by)


def kubectl_kind(resource: ResourceId) -> str:
    """The kind for kubectl, with its group: another group may have a kind of the same name."""
    return resource.kind.lower() + (f".{resource.group}" if resource.group else "")


def kubectl_name(resource: ResourceId) -> str:
    """The object for kubectl. Names of roles may contain any character except `/` and `%`, so the name is quoted for the shell."""
    return f"{sh(kubectl_kind(resource))} {sh(resource.name)}" + (
        f" -n {sh(resource.namespace)}" if resource.namespace else ""
    )


def argocd_name(resource: ResourceId) -> str:
    """The object in the form of `argocd app sync --resource`, for the shell: GROUP:KIND:[NAMESPACE/]NAME."""
    namespaced = f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name
    return sh(f"{resource.group}:{resource.kind}:{namespaced}")


def misshapen(manifest: Object) -> str:
    """The part of a manifest's identity that no API server accepts, such as `metadata.name is a list`; empty for a valid one."""
    for place, kind in _IDENTITY.items():
        if not isinstance(value := dig(manifest, *place), kind | None):
            return f"{'.'.join(place)} is {kind_of(value)}"
    return ""


_IDENTITY: Mapping[tuple[str, ...], type] = {
    ("apiVersion",): str,
    ("kind",): str,
    ("metadata",): dict,
    ("metadata", "name"): str,
    ("metadata", "namespace"): str,
}
