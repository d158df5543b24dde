"""Checks whether the API server can parse a manifest, by the fields of Kubernetes' and Argo CD's own types; admission and quotas are not checked.

The types are those of one release each (kubernetes_types.yaml, argocd_types.yaml). Sources: the OpenAPI of Kubernetes; k8s.io/apimachinery pkg/util/intstr,
pkg/api/resource (quantities); k8s.io/kubernetes pkg/apis/core/validation (enumerated values).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from argolint.model import Json, Object
from argolint.values import join_pointer
from argolint.values.knowledge import load
from argolint.values.patterns import regex
from argolint.values.quantities import amount

_QUANTITIES = ("limits", "requests", "hard", "capacity", "default", "defaultRequest", "max", "min", "overhead")
_ONE_OF: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("V1Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    ("V1PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    ("V1PodSpec", "dnsPolicy"): ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    ("V1ContainerPort", "protocol"): ("TCP", "UDP", "SCTP"),
    ("V1ServicePort", "protocol"): ("TCP", "UDP", "SCTP"),
    ("V1ServiceSpec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    ("V1TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("V1CronJobSpec", "concurrencyPolicy"): ("Allow", "Forbid", "Replace"),
    ("V1DeploymentStrategy", "type"): ("Recreate", "RollingUpdate"),
    ("V1HTTPIngressPath", "pathType"): ("Exact", "Prefix", "ImplementationSpecific"),
    ("V1Toleration", "operator"): ("Exists", "Equal"),
    ("V1Toleration", "effect"): ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    ("V1Container", "terminationMessagePolicy"): ("FallbackToLogsOnError", "File"),
    ("V1HostPathVolumeSource", "type"): ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
    ("V1SeccompProfile", "type"): ("Localhost", "RuntimeDefault", "Unconfined"),
    ("V1StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted"): ("Delete", "Retain"),
    ("V1StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled"): ("Delete", "Retain"),
    ("V1StorageClass", "reclaimPolicy"): ("Delete", "Retain"),
    ("V1StorageClass", "volumeBindingMode"): ("Immediate", "WaitForFirstConsumer"),
    ("V1PersistentVolumeClaimSpec", "volumeMode"): ("Block", "Filesystem"),
    ("V1PriorityClass", "preemptionPolicy"): ("Never", "PreemptLowerPriority"),
    ("V1NetworkPolicyPort", "protocol"): ("SCTP", "TCP", "UDP"),
    ("V2MetricSpec", "type"): ("ContainerResource", "External", "Object", "Pods", "Resource"),
    ("V2HPAScalingPolicy", "type"): ("Percent", "Pods"),
    ("V2HPAScalingRules", "selectPolicy"): ("Disabled", "Max", "Min"),
    ("V1RoleRef", "kind"): ("ClusterRole", "Role"),
    ("RbacV1Subject", "kind"): ("Group", "ServiceAccount", "User"),
}  # fmt: skip
_QUANTITY_FIELDS = (("V1EmptyDirVolumeSource", "sizeLimit"), ("V1ResourceFieldSelector", "divisor"))
"""Fields of one quantity, which the types have as texts."""
_POINTED = regex(r"([^!=]+)(!?)=(.+)")
_DEEP = 40


def known(obj: Object) -> bool:
    """Whether the types include this kind."""
    return _root(obj) is not None


def release(product: str = "kubernetes") -> str:
    """The release of Kubernetes, or of Argo CD (`argocd`), whose types are known here, such as `1.33`: an older one has no field that they lack."""
    return str(load(__package__, f"{product}_types.yaml")["version"])


@dataclass(frozen=True, slots=True)
class Fault:
    """A place that the API server cannot parse, and the fault: a clause that follows the pointer.

    `names`: the known fields, if the field is unknown; `type`: the type that has them, or that the value must have; `choices`: the values
    of which the text is none.
    """

    pointer: str
    says: str
    type: str = ""
    names: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.pointer} {self.says}"


def faults(obj: Object) -> Iterator[Fault]:
    """The invalid and missing fields in an object of a known kind."""
    root = _root(obj)
    if root is not None:
        yield from _of_type(obj, root, "", 0)


def has_field(obj: Object, tokens: Sequence[str]) -> bool:
    """Whether the types of the object's kind have a field there, be it set or not; False where they are not known."""
    type_ = _root(obj)
    for token in tokens:
        if type_ and type_.startswith("["):
            type_ = type_[1:-1]
        else:
            type_ = (_fields(type_ or "") or {}).get(token, ("", False))[0]
    return bool(type_)


def homes(fault: Fault) -> tuple[str, ...]:
    """Where the kind has a field of this name one level below: /spec/syncPolicy/syncOptions for /spec/syncOptions of an Application."""
    above, _, name = fault.pointer.rpartition("/")
    siblings = (_fields(fault.type) or {}).items()
    return tuple(f"{above}/{each}/{name}" for each, (type_, _) in siblings if name in (_fields(type_) or {}))


def api_of_kind(kind: str) -> str:
    """The apiVersion under which Kubernetes serves this kind of its own; empty where that is not known here."""
    kinds = _known("kinds")
    return next((str(of).rpartition(" ")[0] for of in kinds if str(of).rpartition(" ")[2] == kind), "")


@cache
def _known(part: str) -> Mapping[str, str]:
    files = ("kubernetes_types.yaml", "argocd_types.yaml")
    return {key: text for file in files for key, text in load(__package__, file)[part].items()}


def _root(obj: Object) -> str | None:
    found = _known("kinds").get(f"{obj.get('apiVersion')} {obj.get('kind')}")
    return str(found) if found else None


@cache
def _fields(type_: str) -> Mapping[str, tuple[str, bool]] | None:
    """Name to type and whether it is required; None for an unknown type, which may have any content."""
    text = _known("types").get(type_)
    parts = [match for word in str(text).split() if (match := _POINTED.fullmatch(word))] if text else None
    return None if parts is None else {m[1]: (m[3], bool(m[2])) for m in parts}


def _of_type(value: Json, type_: str, pointer: str, depth: int) -> Iterator[Fault]:
    if value is None or type_ == "any" or depth > _DEEP:
        return
    if type_.startswith("["):
        if not isinstance(value, list):
            yield Fault(pointer, "is no list", "list")
            return
        for index, item in enumerate(value):
            yield from _of_type(item, type_[1:-1], f"{pointer}/{index}", depth + 1)
    elif type_.startswith("{"):
        yield from _of_map(value, type_[1:-1], pointer, depth)
    elif type_ in _SIMPLE:
        wanted = _SIMPLE[type_]
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            yield Fault(pointer, f"is no {type_}", type_)
    else:
        yield from _of_struct(value, type_, pointer, depth)


_SIMPLE: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
}  # fmt: skip


def _of_map(value: Json, type_: str, pointer: str, depth: int) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(pointer, "is no map", "map")
        return
    amounts = pointer.rpartition("/")[2] in _QUANTITIES
    for key, held in value.items():
        place = pointer + join_pointer(key)
        if amounts:
            if amount(held) is None:
                yield Fault(place, "is no quantity", "quantity")
        else:
            yield from _of_type(held, type_, place, depth + 1)


def _of_struct(value: Json, type_: str, pointer: str, depth: int) -> Iterator[Fault]:
    fields = _fields(type_)
    if fields is None:
        return
    if not isinstance(value, dict):
        yield Fault(pointer, "is no map", "map")
        return
    for name, held in value.items():
        place = pointer + join_pointer(name)
        if name not in fields:
            yield Fault(place, "is no field", type_, tuple(fields))
            continue
        yield from _of_type(held, fields[name][0], place, depth + 1)
        if (type_, name) in _QUANTITY_FIELDS and held is not None and amount(held) is None:
            yield Fault(place, "is no quantity", "quantity")
        choice = _ONE_OF.get((type_, name))
        if choice and isinstance(held, str) and held and held not in choice:  # an empty one is filled in
            yield Fault(place, f"is not one of {', '.join(choice)}", choices=choice)
    for name, (_, required) in fields.items():
        if required and value.get(name) is None:
            yield Fault(pointer + join_pointer(name), "is missing")
