"""What Kubernetes' own Go types do to a manifest: print it canonically, fill defaults, merge lists by key.

Argo CD reads every built-in kind into its Go struct and prints it again before it compares (gitops-engine pkg/diff/diff.go, `remarshal`),
runs the scheme's defaulters on both sides (`generateSchemeDefaultPatch`) and merges by the struct tags. The tables below have the relevant
facts on those types: k8s.io/api `types.go` tags, kubernetes `pkg/apis/*/v1/defaults.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from argolint.comparison.kinds import OF_KIND, each, one_line, one_lines
from argolint.model import Json, Object
from argolint.values import parse_duration
from argolint.values.kubernetes import group_of
from argolint.values.memo import by_identity
from argolint.values.quantities import NANO, quantity

GROUPS = frozenset({
    "", "admissionregistration.k8s.io", "apps", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
    "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions",
    "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
    "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
})  # fmt: skip
"""The groups of client-go's scheme. CustomResourceDefinition and APIService are not among them: Argo CD treats them as custom."""

MERGE_KEYS = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name", "volumes": "name",
    "secrets": "name", "schedulingGates": "name", "resourceClaims": "name", "webhooks": "name",
    "matchConditions": "name", "variables": "name", "drivers": "name", "volumeMounts": "mountPath",
    "volumeDevices": "devicePath", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
    "ownerReferences": "uid", "conditions": "type",
}  # fmt: skip
"""patchMergeKey by field name: how a strategic merge patch pairs items. A list that neither this table nor the next has is replaced as a whole."""

_KEYS_BY_PARENT = {
    "ports": {
        "containers": "containerPort", "initContainers": "containerPort", "ephemeralContainers": "containerPort", "spec": "port",
    },
    "imagePullSecrets": {"spec": "name"},
    "addresses": {"status": "type"},
}  # fmt: skip
"""The same for lists that merge below some parents only: a pod's pull secrets do, a ServiceAccount's do not."""

MERGED_SCALARS = frozenset({"finalizers", "podCIDRs"})
REPLACED_BELOW = frozenset({("spec", "finalizers")})
"""Lists of plain values that merge, by name; and exceptions that are replaced as a whole, by parent and name."""
RETAIN_KEYS = frozenset({"strategy", "volumes", "resourceClaims"})
"""patchStrategy retainKeys: a change drops live's other keys, so that a new union member replaces the old one."""

_STRING_MAPS = frozenset({
    "annotations", "binaryData", "capacity", "data", "default", "defaultRequest", "deprecatedTopology", "hard", "labels",
    "limits", "matchLabels", "max", "maxLimitRequestRatio", "min", "nodeSelector", "options", "parameters",
    "podFixed", "requests", "stringData", "userAnnotations", "volumeAttributes",
})  # fmt: skip
_QUANTITY_MAPS = frozenset({
    "capacity", "default", "defaultRequest", "hard", "limits", "max", "maxLimitRequestRatio", "min", "overhead",
    "podFixed", "requests",
})  # fmt: skip
_QUANTITIES = frozenset({"sizeLimit", "averageValue", "divisor", "capacity", "maximumVolumeSize"})
_MAPS_BELOW = frozenset({("spec", "extra"), ("spec", "overhead")})
_STRUCTS_BELOW = frozenset({("spec", "parameters")})
"""Exceptions by parent and name: plain maps whose name is a struct elsewhere, and structs whose name is a plain map elsewhere."""
_QUANTITIES_BELOW = frozenset({("target", "value"), ("scaleUp", "tolerance"), ("scaleDown", "tolerance")})
"""The same for quantities, by parent and name."""
_BY_VALUE = frozenset({
    "chapAuthDiscovery", "chapAuthSession", "clusterScope", "failureThreshold", "globalDefault", "healthCheckNodePort", "hostIPC",
    "hostNetwork", "hostPID", "hostPort", "initialDelaySeconds", "minReadySeconds", "nodePort", "paused",
    "periodSeconds", "publishNotReadyAddresses", "readOnly", "sslEnabled", "stdin", "stdinOnce", "successThreshold",
    "timeoutSeconds", "tty", "unschedulable",
})  # fmt: skip
"""Numbers and flags held by value with `omitempty`: 0 and false are not printed. Pointers (`replicas: 0`) are."""
_POINTERS = frozenset({("clientIP", "timeoutSeconds"), ("csi", "readOnly"), ("webhooks", "timeoutSeconds")})
"""Fields of the same names that are pointers, by parent."""
_KEPT_EMPTY = frozenset({
    "ingressClassName", "key", "name", "runtimeClassName", "storageClassName", "timeZone", "topologyKey",
})  # fmt: skip
"""Strings behind a pointer or without `omitempty`: the empty string is printed."""
_DROPPED_EMPTY = frozenset({
    ("configMap", "name"), ("configMapKeyRef", "name"), ("configMapRef", "name"), ("imagePullSecrets", "name"),
    ("options", "name"), ("paramRef", "name"), ("parentRef", "name"), ("port", "name"), ("port", "number"), ("ports", "name"), ("secretKeyRef", "name"), ("secret", "name"), ("secretRef", "name"), ("targetRef", "name"),
    ("tolerations", "key"),
    ("awsElasticBlockStore", "partition"), ("gcePersistentDisk", "partition"),
})  # fmt: skip
"""Fields by parent and name whose zero is not printed, contrary to the tables above."""


_PRINTED_EMPTY = frozenset({("containers", "resources"), ("initContainers", "resources")})
"""Structs by parent and name that Go prints even if the manifest has none; here they are removed on both sides."""


def builtin(obj: Object) -> bool:
    """True for kinds that Argo CD has as Go types; everything else is merged as plain JSON."""
    return group_of(obj) in GROUPS


def merge_key(parent: str, field: str) -> str | None:
    """The key by which a built-in list under `parent` merges, or None if it is replaced as a whole."""
    if field in _KEYS_BY_PARENT:
        return _KEYS_BY_PARENT[field].get(parent)
    return MERGE_KEYS.get(field)


@by_identity(16)
def canonical(obj: Object) -> Object:
    """A built-in object as its Go type prints it: canonical quantities, no null or empty `omitempty` field.

    `status` is left alone: Argo CD ignores it, or it comes from the API server, canonical already.
    """
    if not builtin(obj):
        return obj
    rest = {key: value for key, value in obj.items() if key != "status"}
    made = _canonical_map(rest)
    special = OF_KIND.get((group_of(obj), str(obj.get("kind"))))
    made = special(made) if special else made
    return obj if made is rest else {**made, **({"status": obj["status"]} if "status" in obj else {})}


def _canonical_map(node: Mapping[str, Json], parent: str = "") -> Mapping[str, Json]:
    """The canonical map; the same object if it is canonical already, as nearly all are, so that equal sides stay identical."""
    found: dict[str, Json] | None = None
    for key, value in node.items():
        if type(value) is str:  # the type of nearly all values
            made: Json = value
            if key in _QUANTITIES or (parent, key) in _QUANTITIES_BELOW:
                made = quantity(value, NANO)
            elif key == "caBundle":
                made = one_line(value)
            omitted = not value and (key not in _KEPT_EMPTY or (parent, key) in _DROPPED_EMPTY)
        else:
            # the API server prints managedFields itself
            made = value if key == "managedFields" else _canonical(key, value, parent)
            omitted = _omitted(key, made, parent)
        if made is not value or omitted:
            found = dict(node) if found is None else found
            found[key] = made
            if omitted:
                del found[key]
    return node if found is None else found


def _canonical(field: str, value: Json, parent: str = "") -> Json:
    if isinstance(value, dict):
        if field in _QUANTITY_MAPS and not (field == "overhead" and "podFixed" in value):
            return {name: quantity(amount) for name, amount in value.items()}
        if field == "binaryData":
            return one_lines(value)
        plain = _plain_map(field, parent) or (field == "selector" and all(isinstance(v, str) for v in value.values()))
        return value if plain else _canonical_map(value, field)
    if isinstance(value, list):
        return each(value, partial(_canonical_map, parent=field))
    return quantity(value, NANO) if field in _QUANTITIES or (parent, field) in _QUANTITIES_BELOW else value


def _omitted(field: str, value: Json, parent: str = "") -> bool:
    if value is None:
        return field != "rules"
    if value == "" and isinstance(value, str):
        return field not in _KEPT_EMPTY
    if isinstance(value, bool | int) and not value:
        return (field in _BY_VALUE and (parent, field) not in _POINTERS) or (parent, field) in _DROPPED_EMPTY
    if value == []:
        # a Role's own rules are printed
        return (field != "rules" or bool(parent)) and (parent, field) != ("spec", "drivers")
    return value == {} and (_plain_map(field, parent) or (parent, field) in _PRINTED_EMPTY)


def _plain_map(field: str, parent: str) -> bool:
    return (parent, field) in _MAPS_BELOW or (field in _STRING_MAPS and (parent, field) not in _STRUCTS_BELOW)


def duration(value: Json) -> Json:
    """A duration as Go prints it (`8760h` is `8760h0m0s`); any other value unchanged."""
    span = parse_duration(value)
    if span is None or span.total_seconds() < 1:
        return "0s" if span is not None and not span else value
    minutes, seconds = divmod(span.total_seconds(), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{tail}" if hours else f"{minutes}m{tail}" if minutes else tail


KNOWN_TYPES: Mapping[str, Callable[[Json], Json]] = {
    "core/Quantity": lambda value: quantity(value, NANO),
    "core/v1/Quantity": lambda value: quantity(value, NANO),
    "meta/v1/Duration": duration,
    "core/v1/ResourceList": lambda value: _canonical("limits", value),
}
"""How `knownTypeFields` types print a field; every other type is a struct and prints as `_canonical_map` does."""


def as_known_type(value: Json, kind: str) -> Json:
    """A custom resource's field as the built-in type `kind` (`core/v1/PodSpec`) prints it."""
    if kind in KNOWN_TYPES:
        return KNOWN_TYPES[kind](value)
    return _canonical_map(value) if isinstance(value, dict) else value


_HTTP = {"path": "/", "scheme": "HTTP"}
_PROBE = {
    "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
    "httpGet": _HTTP, "grpc": {"service": ""},
}  # fmt: skip
_FIELD_REF = {"fieldRef": {"apiVersion": "v1"}, "fileKeyRef": {"optional": False}}
_CONTAINER: dict[str, Any] = {
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "ports": [{"protocol": "TCP"}], "env": [{"valueFrom": _FIELD_REF}],
    "livenessProbe": _PROBE, "readinessProbe": _PROBE, "startupProbe": _PROBE,
    "lifecycle": {"postStart": {"httpGet": _HTTP}, "preStop": {"httpGet": _HTTP}},
    "imagePullPolicy": lambda c: "Always" if _tag(c.get("image")) == "latest" else "IfNotPresent",
}  # fmt: skip
_CLAIM = {"spec": {"volumeMode": "Filesystem"}, "status": lambda c: {"phase": "Pending", **_map(c, "status")}}
_VOLUME: dict[str, Any] = {
    "configMap": {"defaultMode": 420}, "secret": {"defaultMode": 420},
    "downwardAPI": {"defaultMode": 420, "items": [_FIELD_REF]}, "hostPath": {"type": ""},
    "projected": {
        "defaultMode": 420,
        "sources": [{"serviceAccountToken": {"expirationSeconds": 3600}, "downwardAPI": {"items": [_FIELD_REF]}}],
    },
    "ephemeral": {"volumeClaimTemplate": _CLAIM},
    "emptyDir": lambda volume: None if any(key != "name" for key, value in volume.items() if value is not None) else {},
}  # fmt: skip
_POD: dict[str, Any] = {
    "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30, "securityContext": {},
    "schedulerName": "default-scheduler", "containers": [_CONTAINER], "initContainers": [_CONTAINER], "volumes": [_VOLUME],
}  # fmt: skip
_TEMPLATE = {"spec": _POD}
_RBAC = "rbac.authorization.k8s.io"
_BINDING = {
    "roleRef": {"apiGroup": _RBAC},
    "subjects": [{"apiGroup": lambda s: _RBAC if s.get("kind") in ("User", "Group") else None}],
}
_WEBHOOK: dict[str, Any] = {
    "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    "timeoutSeconds": 10, "rules": [{"scope": "*"}], "clientConfig": {"service": {"port": 443}},
}  # fmt: skip
_PEERS = [{"ports": [{"protocol": "TCP"}]}]
_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
_DOWN = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
_UP = [{"type": "Pods", "value": 4, "periodSeconds": 15}, *_DOWN]
_MATCHED: dict[str, Any] = {
    "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    "resourceRules": [{"scope": "*"}], "excludeResourceRules": [{"scope": "*"}],
}  # fmt: skip


def _limited(item: Mapping[str, Json]) -> Mapping[str, Json]:
    """A LimitRange's item: for containers, max is the default limit, and the default limit, else min, is the default request."""
    if item.get("type") != "Container":
        return item
    default = {**_map(item, "max"), **_map(item, "default")}
    return {
        **item,
        "default": default,
        "defaultRequest": {**_map(item, "min"), **default, **_map(item, "defaultRequest")},
    }


DEFAULTS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("", "Pod"): {"spec": {**_POD, "enableServiceLinks": True}},
    ("", "Secret"): {"type": "Opaque"},
    ("", "Service"): {
        "spec": {
            "type": "ClusterIP", "sessionAffinity": "None",
            "internalTrafficPolicy": lambda s: None if s.get("type") == "ExternalName" else "Cluster",
            "externalTrafficPolicy": lambda s: "Cluster" if s.get("type") in ("NodePort", "LoadBalancer") else None,
            "allocateLoadBalancerNodePorts": lambda s: True if s.get("type") == "LoadBalancer" else None,
            "ports": [{"protocol": "TCP", "targetPort": lambda p: p.get("port")}],
            "sessionAffinityConfig": lambda s: {"clientIP": {"timeoutSeconds": 10800}} if s.get("sessionAffinity") == "ClientIP" else None,
        }
    },
    ("", "PersistentVolume"): {"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}},
    ("", "PersistentVolumeClaim"): _CLAIM,
    ("apps", "Deployment"): {
        "spec": {
            "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "template": _TEMPLATE,
            "strategy": lambda s: _rolling(s.get("strategy"), {"maxSurge": "25%", "maxUnavailable": "25%"}),
        }
    },
    ("apps", "DaemonSet"): {
        "spec": {
            "revisionHistoryLimit": 10, "template": _TEMPLATE,
            "updateStrategy": lambda s: _rolling(s.get("updateStrategy"), {"maxSurge": 0, "maxUnavailable": 1}),
        }
    },
    ("apps", "StatefulSet"): {
        "spec": {
            "replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady", "template": _TEMPLATE,
            "persistentVolumeClaimRetentionPolicy": lambda s: {
                "whenDeleted": "Retain", "whenScaled": "Retain", **_map(s, "persistentVolumeClaimRetentionPolicy")
            },
            "updateStrategy": lambda s: _rolling(s.get("updateStrategy"), {"partition": 0}, only_new=True),
            "volumeClaimTemplates": [_CLAIM],
        }
    },
    ("apps", "ReplicaSet"): {"spec": {"replicas": 1, "template": _TEMPLATE}},
    ("batch", "Job"): {
        "spec": {
            "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False, "template": _TEMPLATE,
            "completions": lambda s: 1 if s.get("parallelism") is None else None, "parallelism": 1, "manualSelector": False,
            "podReplacementPolicy": lambda s: "Failed" if s.get("podFailurePolicy") else "TerminatingOrFailed",
            "podFailurePolicy": {"rules": [{"onPodConditions": [{"status": "True"}]}]},
        }
    },
    ("batch", "CronJob"): {
        "spec": {
            "concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": _TEMPLATE}},
        }
    },
    ("autoscaling", "HorizontalPodAutoscaler"): {
        "spec": {
            "minReplicas": 1, "metrics": lambda _: [_CPU],
            "behavior": {
                "scaleUp": lambda b: {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": _UP, **_map(b, "scaleUp")},
                "scaleDown": lambda b: {"selectPolicy": "Max", "policies": _DOWN, **_map(b, "scaleDown")},
            },
        }
    },
    ("", "LimitRange"): {"spec": {"limits": [_limited]}},
    ("", "Namespace"): {"metadata": {"labels": lambda m: {**_map(m, "labels"), "kubernetes.io/metadata.name": m.get("name")}}},
    ("networking.k8s.io", "NetworkPolicy"): {
        "spec": {
            "ingress": _PEERS, "egress": _PEERS,
            "policyTypes": lambda s: ["Ingress", "Egress"] if s.get("egress") else ["Ingress"],
        }
    },
    ("networking.k8s.io", "IngressClass"): {"spec": {"parameters": {"scope": "Cluster"}}},
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): {"webhooks": [_WEBHOOK]},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): {
        "webhooks": [{**_WEBHOOK, "reinvocationPolicy": "Never"}]
    },
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): {
        "spec": {"failurePolicy": "Fail", "matchConstraints": _MATCHED}
    },
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): {"spec": {"matchResources": _MATCHED}},
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): {
        "spec": {"failurePolicy": "Fail", "matchConstraints": _MATCHED}
    },
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): {"spec": {"matchResources": _MATCHED}},
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    ("storage.k8s.io", "StorageClass"): {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): {
        "spec": {
            "limited": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
            "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
        }
    },
    ("storage.k8s.io", "CSIDriver"): {
        "spec": {
            "seLinuxMount": False,
            "attachRequired": True, "podInfoOnMount": False, "storageCapacity": False, "requiresRepublish": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": lambda _: ["Persistent"],
        }
    },
    ("scheduling.k8s.io", "PriorityClass"): {"preemptionPolicy": "PreemptLowerPriority"},
    ("discovery.k8s.io", "EndpointSlice"): {"ports": [{"name": "", "protocol": "TCP"}]},
}  # fmt: skip
"""Scheme defaults by group and kind. A map fills an existing map; a one-element list applies to every item (a function in it makes the
whole item); a function gets the map that it fills; None is no default.
"""


_STRUCTS = frozenset(
    {"scaleUp", "scaleDown", "strategy", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "status", "labels"}
)
"""Fields held by value: their function also completes existing ones."""


def defaulted(obj: Object) -> Object:
    """The object with the API server's defaults for missing fields."""
    table = DEFAULTS.get((group_of(obj), str(obj.get("kind")))) if builtin(obj) else None
    return _fill(obj, table) if table else obj


def _fill(node: Mapping[str, Json], table: Mapping[str, Any]) -> Mapping[str, Json]:
    """The map with its defaults; the same map if nothing is missing."""
    found: Mapping[str, Json] = node
    for field, default in table.items():
        value = found.get(field)
        made = value
        if isinstance(default, dict) and default:
            if isinstance(value, dict):
                made = _fill(value, default)
        elif isinstance(default, list):
            if isinstance(value, list):
                item = default[0] if callable(default[0]) else partial(_fill, table=default[0])
                made = each(value, item)
        elif value in (None, "") or field in _STRUCTS:
            computed = default(found) if callable(default) else default
            made = value if computed is None else computed
        if made is not value:
            found = {**found, field: made}
    return found


def _map(node: Mapping[str, Json], field: str) -> Mapping[str, Json]:
    found = node.get(field)
    return found if isinstance(found, dict) else {}


def _rolling(strategy: Json, bounds: Mapping[str, Json], *, only_new: bool = False) -> dict[str, Json]:
    """A strategy with its type and bounds. `only_new`: a type that is written without bounds gets none (StatefulSet)."""
    given = strategy if isinstance(strategy, dict) else {}
    found = {"type": "RollingUpdate", **given}
    if found["type"] == "RollingUpdate" and not (only_new and "type" in given and "rollingUpdate" not in given):
        found["rollingUpdate"] = {**bounds, **_map(found, "rollingUpdate")}
    return found


def _tag(image: Json) -> str:
    """The tag of an image reference by kubernetes' ParseImageName: `latest` without tag and digest."""
    name = str(image or "").rpartition("/")[2]
    return name.partition(":")[2] or ("" if "@" in name else "latest")
