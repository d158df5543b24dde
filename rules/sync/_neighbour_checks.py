"""What the API server refuses in its own kinds because two fields do not go together.

Single fields are the rows of validation.yaml. Names that a pod lists twice are `duplicate-env`'s. Source: pkg/apis/*/validation of k8s.io/kubernetes; tests/validation.yaml has
what that code says of each form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from argolint import Json, Object
from argolint.values import annotations_of, dig, get, items, join_pointer, mapping, maps, text_at, texts
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.quantities import amount

from ..shared.labels import label_selector, labels_at
from ._cron import parse
from ._field_checks import Refused, form_problem, invalid, key_refusals, label_refusals, required, too_long, unsupported

LARGEST = 1024 * 1024
"""Bytes of a ConfigMap's data (core/v1, MaxSecretSize)."""
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_TEMPLATED = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_FREE_NAMES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "APIService", "PodDisruptionBudget")


def neighbour_refusals(obj: Object, live: Object | None) -> Iterator[Refused]:
    """What is refused in an object; `live` is what the cluster has of it."""
    kind = str(obj.get("kind"))
    yield from _name(obj, kind)
    yield from label_refusals(mapping(obj, "metadata", "labels"), "/metadata/labels")
    lowered = {key.lower(): "" for key in annotations_of(obj)}  # as the API server checks them (ValidateAnnotations)
    yield from key_refusals(lowered, "/metadata/annotations")
    reselects = live is not None and "spec" in obj and dig(live, "spec", "selector") != dig(obj, "spec", "selector")
    for check in _CHECKS.get(kind, ()):
        if not (check is _selector and reselects):  # another selector cannot be set: immutable-field says so
            yield from check(obj)
    if kind == "PersistentVolumeClaim" and live is not None:
        yield from _shrunk(obj, live)
    if kind == "CustomResourceDefinition" and live is not None:
        yield from _dropped_versions(obj, live)


def _name(obj: Object, kind: str) -> Iterator[Refused]:
    name, at = text_at(obj, "metadata", "name"), "/metadata/name"
    if not name or kind in _FREE_NAMES:
        return
    if kind == "CronJob" and len(name) > 52:
        yield too_long(at, name, 52)
        return
    form = "DNS-1035 label" if kind == "Service" else "label" if kind == "Namespace" else "subdomain"
    if (problem := form_problem(form, name)) and not (kind == "Service" and not form_problem("label", name)):
        yield invalid(at, name, problem)  # since 1.36 the name of a Service may begin with a digit


def _selector(obj: Object) -> Iterator[Refused]:
    """A workload whose selector does not choose the pods of its own template."""
    selector, labels = dig(obj, "spec", "selector"), labels_at(dig(obj, "spec", "template", "metadata"))
    if selector is None:
        yield required("/spec/selector")
        return
    wanted = label_selector(selector)
    is_refused = any(label_refusals(mapping(selector, "matchLabels"), ""))
    if wanted is not None and wanted.empty and obj.get("kind") != "ReplicaSet":
        detail = f"{{}}: empty selector is invalid for {str(obj.get('kind')).lower()}"
        yield Refused("/spec/selector", "Invalid value", detail)
    elif wanted is not None and not is_refused and not wanted.matches(labels):
        shown = ",".join(f'"{key}":"{value}"' for key, value in sorted(labels.items()))
        detail = f"{{{shown}}}: `selector` does not match template `labels`"
        yield Refused("/spec/template/metadata/labels", "Invalid value", detail)


def _pod(obj: Object) -> Iterator[Refused]:
    base, spec = pod_spec(obj)
    if not spec:
        yield from _no_containers(obj)
        return
    template = base.removesuffix("/spec")
    if template:
        yield from label_refusals(
            mapping(get(obj, f"{template}/metadata", None), "labels"), f"{template}/metadata/labels"
        )
    yield from _restart_policy(obj, f"{base}/restartPolicy", spec)
    yield from _several_sources(f"{base}/volumes", maps(spec, "volumes"))
    for number, volume in enumerate(maps(spec, "volumes")):
        if (amount(dig(volume, "emptyDir", "sizeLimit")) or 0) < 0:
            detail = "SizeLimit field must be a valid resource quantity"
            yield Refused(f"{base}/volumes/{number}/emptyDir/sizeLimit", "Forbidden", detail)
    claims = (text_at(claim, "metadata", "name") for claim in maps(obj, "spec", "volumeClaimTemplates"))
    mountable = {*(text_at(volume, "name") for volume in maps(spec, "volumes")), *claims}
    for at, container in containers(obj):
        yield from _container(at, container, mountable, on_host=spec.get("hostNetwork") is True)
    yield from _same_name(base, spec)
    yield from _tolerations(f"{base}/tolerations", maps(spec, "tolerations"))
    yield from _node_terms(base, spec)
    if spec.get("dnsPolicy") == "None" and not mapping(spec, "dnsConfig"):
        yield required(f"{base}/dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")


def _no_containers(obj: Object) -> Iterator[Refused]:
    for at in ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec"):
        if isinstance(get(obj, at, None), dict):
            yield required(f"{at}/containers")


def _restart_policy(obj: Object, at: str, spec: Object) -> Iterator[Refused]:
    policy, kind = text_at(spec, "restartPolicy"), obj.get("kind")
    if kind in _TEMPLATED and policy not in ("", "Always"):
        yield unsupported(at, policy, ("Always",))
    elif kind in ("Job", "CronJob") and policy in ("", "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')


def _several_sources(at: str, volumes: Sequence[Object]) -> Iterator[Refused]:
    for number, volume in enumerate(volumes):
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if len(sources) > 1:
            yield Refused(f"{at}/{number}/{sources[1]}", "Forbidden", "may not specify more than 1 volume type")


def _same_name(base: str, spec: Object) -> Iterator[Refused]:
    """An init container that has the name of a container."""
    names = {text_at(container, "name") for container in maps(spec, "containers")}
    for number, container in enumerate(maps(spec, "initContainers")):
        if (name := text_at(container, "name")) and name in names:
            yield Refused(f"{base}/initContainers/{number}/name", "Duplicate value", f'"{name}"')


def _tolerations(at: str, tolerations: Sequence[Object]) -> Iterator[Refused]:
    for number, toleration in enumerate(tolerations):
        operator, value = text_at(toleration, "operator"), text_at(toleration, "value")
        if operator == "Exists" and value:
            yield invalid(f"{at}/{number}/operator", value, "value must be empty when `operator` is 'Exists'")
        elif not text_at(toleration, "key") and operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{at}/{number}/operator", operator, detail)
        effect = text_at(toleration, "effect")
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(f"{at}/{number}/effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")


def _node_terms(base: str, spec: Object) -> Iterator[Refused]:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    at = f"{base}/affinity/nodeAffinity/{field}/nodeSelectorTerms"
    for number, term in enumerate(maps(spec, "affinity", "nodeAffinity", field, "nodeSelectorTerms")):
        for place, one in enumerate(maps(term, "matchExpressions")):
            where, operator = f"{at}/{number}/matchExpressions/{place}", text_at(one, "operator")
            if operator in ("In", "NotIn") and not items(one, "values"):
                yield required(f"{where}/values", "must be specified when `operator` is 'In' or 'NotIn'")
            elif operator in ("Exists", "DoesNotExist") and items(one, "values"):
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield Refused(f"{where}/values", "Forbidden", detail)


def _container(at: str, container: Object, mountable: set[str], *, on_host: bool) -> Iterator[Refused]:
    yield from _resources(f"{at}/resources", mapping(container, "resources"))
    yield from _environment(f"{at}/env", items(container, "env"))
    for source in maps(container, "envFrom"):
        named = [field for field in ("configMapRef", "secretRef") if field in source]
        if len(named) != 1:
            detail = "may not have more than one field specified at a time" if named else _NO_SOURCE
            yield Refused(f"{at}/envFrom", "Invalid value", f'"": {detail}')
    for number, mount in enumerate(maps(container, "volumeMounts")):
        volume = text_at(mount, "name")
        if volume and volume not in mountable:
            yield Refused(f"{at}/volumeMounts/{number}/name", "Not found", f'"{volume}"')
    yield from _container_ports(f"{at}/ports", maps(container, "ports"), on_host=on_host)
    context = mapping(container, "securityContext")
    if context.get("privileged") is True and context.get("allowPrivilegeEscalation") is False:
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield Refused(f"{at}/securityContext", "Invalid value", detail)


_NO_SOURCE = "must specify one of: `configMapRef` or `secretRef`"
_STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""Resources of a container without a domain in their names; huge pages have a prefix (core/v1, IsStandardContainerResourceName)."""


def _resources(at: str, resources: Mapping[str, Json]) -> Iterator[Refused]:
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name in amounts:
            if "/" not in name and name not in _STANDARD_RESOURCES and not name.startswith("hugepages-"):
                yield invalid(f"{at}/{field}{join_pointer(name)}", name, "must be a standard resource for containers")
            if (amount(amounts[name]) or 0) < 0:
                detail = "must be greater than or equal to 0"
                yield invalid(f"{at}/{field}{join_pointer(name)}", str(amounts[name]), detail)
    for name, value in requests.items():
        asked, most = amount(value), amount(limits.get(name))
        if asked is not None and most is not None and asked > most:
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid(f"{at}/requests", str(value), detail)
        elif "/" in name and name not in limits and not name.partition("/")[0].endswith("kubernetes.io"):
            yield required(f"{at}/limits", "Limit must be set for non overcommitable resources")


def _environment(at: str, entries: Iterable[Json]) -> Iterator[Refused]:
    for number, entry in enumerate(entries):
        sources = [key for key, value in mapping(entry, "valueFrom").items() if value is not None]
        if len(sources) > 1:
            detail = '"": may not have more than one field specified at a time'
            yield Refused(f"{at}/{number}/valueFrom", "Invalid value", detail)
        if text_at(entry, "value") and sources:
            detail = '"": may not be specified when `value` is not empty'
            yield Refused(f"{at}/{number}/valueFrom", "Invalid value", detail)


def _quota(obj: Object) -> Iterator[Refused]:
    for name, value in mapping(obj, "spec", "hard").items():
        if "/" not in name and not name.startswith(("hugepages-", "requests.hugepages-")) and name not in _QUOTAS:
            yield invalid(f"/spec/hard{join_pointer(name)}", name, "must be a standard resource for quota")
        if (amount(value) or 0) < 0:
            yield invalid(f"/spec/hard{join_pointer(name)}", str(value), "must be greater than or equal to 0")


_QUOTAS = {
    *("cpu", "memory", "ephemeral-storage", "pods", "services", "replicationcontrollers", "resourcequotas", "secrets"),
    *("configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers", "requests.storage"),
    *(f"{side}.{name}" for side in ("requests", "limits") for name in _STANDARD_RESOURCES),
}
"""Resources of a quota without a domain in their names (core/v1, IsStandardQuotaResourceName)."""


def _container_ports(at: str, ports: Sequence[Object], *, on_host: bool) -> Iterator[Refused]:
    yield from _twice(at, ports, "name")
    for number, port in enumerate(ports):
        value, host = port.get("containerPort"), port.get("hostPort")
        if not value:
            yield required(f"{at}/{number}/containerPort")
        elif problem := form_problem("port number", value):
            yield invalid(f"{at}/{number}/containerPort", value, problem)
        if on_host and isinstance(host, int) and host and host != value:
            yield invalid(f"{at}/{number}/hostPort", host, "must match `containerPort` when `hostNetwork` is true")


def _twice(at: str, entries: Iterable[Object], key: str) -> Iterator[Refused]:
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        name = text_at(entry, key)
        if name and name in seen:
            yield Refused(f"{at}/{number}/{key}", "Duplicate value", f'"{name}"')
        seen.add(name)


def _deployment(obj: Object) -> Iterator[Refused]:
    strategy, at = mapping(obj, "spec", "strategy"), "/spec/strategy/rollingUpdate"
    rolling = mapping(strategy, "rollingUpdate")
    if [rolling.get(key) in (0, "0%") for key in ("maxSurge", "maxUnavailable")] == [True, True]:
        yield invalid(f"{at}/maxUnavailable", rolling.get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")
    ready, deadline = dig(obj, "spec", "minReadySeconds"), dig(obj, "spec", "progressDeadlineSeconds")
    most = 600 if deadline is None else deadline  # the default (apps/v1, SetDefaults_Deployment)
    if isinstance(most, int) and most <= (ready if isinstance(ready, int) else 0):
        yield invalid("/spec/progressDeadlineSeconds", most, "must be greater than minReadySeconds")


def _daemon_set(obj: Object) -> Iterator[Refused]:
    rolling, at = mapping(obj, "spec", "updateStrategy", "rollingUpdate"), "/spec/updateStrategy/rollingUpdate"
    fewer, more = rolling.get("maxUnavailable", 1), rolling.get("maxSurge", 0)
    if fewer in (0, "0%") and more in (0, "0%"):
        yield required(f"{at}/maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif fewer not in (0, "0%") and more not in (0, "0%"):
        yield invalid(f"{at}/maxSurge", more, "may not be set when maxUnavailable is non-zero")


def _scaler(obj: Object) -> Iterator[Refused]:
    least, most = dig(obj, "spec", "minReplicas"), dig(obj, "spec", "maxReplicas")
    if isinstance(least, int) and isinstance(most, int) and most < least:
        yield invalid("/spec/maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _budget(obj: Object) -> Iterator[Refused]:
    if all(dig(obj, "spec", key) is not None for key in ("minAvailable", "maxUnavailable")):
        yield Refused("/spec", "Invalid value", "minAvailable and maxUnavailable cannot be both set")


def _service(obj: Object) -> Iterator[Refused]:
    spec, ports = mapping(obj, "spec"), maps(obj, "spec", "ports")
    kind = text_at(spec, "type") or "ClusterIP"
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        yield required("/spec/ports")
    yield from _twice("/spec/ports", ports, "name")
    numbers: set[object] = set()
    for number, port in enumerate(ports):
        if len(ports) > 1 and not text_at(port, "name"):
            yield required(f"/spec/ports/{number}/name")
        socket = (port.get("port"), text_at(port, "protocol") or "TCP")
        if socket in numbers:
            yield Refused(f"/spec/ports/{number}", "Duplicate value", f"{socket[0]}/{socket[1]}")
        numbers.add(socket)
    if kind == "ClusterIP" and spec.get("externalTrafficPolicy") and not spec.get("externalIPs"):
        detail = "may only be set for externally-accessible services"
        yield invalid("/spec/externalTrafficPolicy", spec["externalTrafficPolicy"], detail)


def _ingress(obj: Object) -> Iterator[Refused]:
    spec = mapping(obj, "spec")
    if not maps(spec, "rules") and not mapping(spec, "defaultBackend"):
        yield Refused("/spec", "Invalid value", "either `defaultBackend` or `rules` must be specified")
    for number, rule in enumerate(maps(spec, "rules")):
        at, host = f"/spec/rules/{number}", text_at(rule, "host")
        if problem := form_problem("subdomain", host.removeprefix("*.")) if host else "":
            yield invalid(f"{at}/host", host, problem)
        elif host and not form_problem("ip", host):
            yield invalid(f"{at}/host", host, "must be a DNS name, not an IP address")
        for place, path in enumerate(maps(rule, "http", "paths")):
            yield from _path(f"{at}/http/paths/{place}", path)
    for number, block in enumerate(maps(spec, "tls")):
        for place, host in enumerate(texts(block, "hosts")):
            if problem := form_problem("subdomain", host.removeprefix("*.")):
                yield invalid(f"/spec/tls/{number}/hosts/{place}", host, problem)
    named, old = text_at(spec, "ingressClassName"), annotations_of(obj).get("kubernetes.io/ingress.class", "")
    if named and old and named != old:
        detail = "must match `ingressClassName` when both are specified"
        yield Refused("/metadata/annotations/kubernetes.io~1ingress.class", "Invalid value", f'"{old}": {detail}')


def _path(at: str, path: Object) -> Iterator[Refused]:
    sort, given, backend = text_at(path, "pathType"), text_at(path, "path"), mapping(path, "backend")
    if sort in ("Exact", "Prefix"):
        if not given.startswith("/"):
            yield invalid(f"{at}/path", given, "must be an absolute path")
        for part in ("//", "/./", "/../"):
            if part in given:
                yield invalid(f"{at}/path", given, f"must not contain '{part}'")
    port = mapping(backend, "service", "port")
    if not mapping(backend, "service") and not mapping(backend, "resource"):
        yield Refused(f"{at}/backend", "Invalid value", '"": resource or service backend is required')
    elif mapping(backend, "service") and not port.get("name") and not port.get("number"):
        yield required(f"{at}/backend", "port name or number is required")
    elif port.get("name") and port.get("number"):
        yield Refused(f"{at}/backend", "Invalid value", '"": cannot set both port name & port number')


def _rules(obj: Object) -> Iterator[Refused]:
    for number, rule in enumerate(maps(obj, "rules")):
        if not items(rule, "nonResourceURLs"):
            if not items(rule, "apiGroups"):
                yield required(f"/rules/{number}/apiGroups", "resource rules must supply at least one api group")
            if not items(rule, "resources"):
                yield required(f"/rules/{number}/resources", "resource rules must supply at least one resource")
        elif items(rule, "resources"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"/rules/{number}/nonResourceURLs", items(rule, "nonResourceURLs"), detail)


def _subjects(obj: Object) -> Iterator[Refused]:
    in_namespace = obj.get("kind") == "RoleBinding"
    for number, subject in enumerate(maps(obj, "subjects")):
        if subject.get("kind") == "ServiceAccount":
            if not in_namespace and not text_at(subject, "namespace"):
                yield required(f"/subjects/{number}/namespace")
            if subject.get("apiGroup"):
                yield Refused(
                    f"/subjects/{number}/apiGroup",
                    "Unsupported value",
                    f'"{subject["apiGroup"]}": supported values: ""',
                )
        elif subject.get("apiGroup") not in (None, "", "rbac.authorization.k8s.io"):
            yield unsupported(f"/subjects/{number}/apiGroup", subject["apiGroup"], ("rbac.authorization.k8s.io",))


def _peers(obj: Object) -> Iterator[Refused]:
    for way, field in (("ingress", "from"), ("egress", "to")):
        for number, rule in enumerate(maps(obj, "spec", way)):
            for place, peer in enumerate(maps(rule, field)):
                at = f"/spec/{way}/{number}/{field}/{place}"
                if not any(key in peer for key in ("podSelector", "namespaceSelector", "ipBlock")):
                    yield required(at, "must specify a peer")
                elif "ipBlock" in peer and len(peer) > 1:
                    yield Refused(at, "Forbidden", "may not specify both ipBlock and another peer")


def _webhooks(obj: Object) -> Iterator[Refused]:
    for number, webhook in enumerate(maps(obj, "webhooks")):
        at, client, name = f"/webhooks/{number}", mapping(webhook, "clientConfig"), text_at(webhook, "name")
        if bool(client.get("url")) == bool(client.get("service")):
            yield required(f"{at}/clientConfig", "exactly one of url or service is required")
        if name.count(".") < 2:
            yield invalid(f"{at}/name", name, "should be a domain with at least three segments separated by dots")


def _schedule(obj: Object) -> Iterator[Refused]:
    schedule, at = text_at(obj, "spec", "schedule"), "/spec/schedule"
    fields = len(schedule.split())
    if "TZ=" in schedule:
        yield invalid(at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif not schedule or schedule.startswith("@") or parse(schedule) is not None:
        return
    elif fields == 5:
        yield invalid(at, schedule, "a field is out of its range, or no list of numbers")
    else:
        yield invalid(at, schedule, f"expected exactly 5 fields, found {fields}: [{' '.join(schedule.split())}]")


def _data(obj: Object) -> Iterator[Refused]:
    texts_of_data = [*mapping(obj, "data").values(), *mapping(obj, "binaryData").values()]
    if sum(len(text.encode()) for text in texts_of_data if isinstance(text, str)) > LARGEST:
        yield Refused("", "Too long", f"must have at most {LARGEST} bytes")
    for key in mapping(obj, "data"):
        if problem := form_problem("data key", key):
            yield invalid(f"/data{join_pointer(key)}", key, problem)


_KEYS_OF_TYPE: Mapping[str, Sequence[str]] = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _secret_keys(obj: Object) -> Iterator[Refused]:
    """A Secret without the keys of its type, or with a key that no Secret may have."""
    keys = {*mapping(obj, "data"), *mapping(obj, "stringData")}
    for key in sorted(keys):
        if problem := form_problem("data key", key):
            yield invalid(f"/data{join_pointer(key)}", key, problem)
    for key in _KEYS_OF_TYPE.get(text_at(obj, "type"), ()):
        if key not in keys:
            yield required(f"/data{join_pointer(key)}")


def _claim_modes(obj: Object) -> Iterator[Refused]:
    modes, at = texts(obj, "spec", "accessModes"), "/spec/accessModes"
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported(at, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield Refused(at, "Forbidden", "may not use ReadWriteOncePod with other access modes")


def _shrunk(obj: Object, live: Object) -> Iterator[Refused]:
    """A claim below the size that its volume has already."""
    wanted = amount(dig(obj, "spec", "resources", "requests", "storage"))
    has = amount(dig(live, "status", "capacity", "storage"))
    if wanted is not None and has is not None and wanted < has:
        detail = "field can not be less than status.capacity"
        yield Refused("/spec/resources/requests/storage", "Forbidden", detail)


def _dropped_versions(obj: Object, live: Object) -> Iterator[Refused]:
    """A version that objects were stored in, and that the definition no longer has (apiextensions, ValidateUpdate)."""
    versions = {text_at(version, "name") for version in maps(obj, "spec", "versions")}
    for number, stored in enumerate(texts(live, "status", "storedVersions")):
        if versions and stored not in versions:
            yield invalid(f"/status/storedVersions/{number}", stored, "missing from spec.versions")


_Check = Callable[[Object], Iterator[Refused]]
_CHECKS: Mapping[str, tuple[_Check, ...]] = {
    "Deployment": (_selector, _deployment, _pod),
    "DaemonSet": (_selector, _daemon_set, _pod),
    **dict.fromkeys(("StatefulSet", "ReplicaSet"), (_selector, _pod)),
    **dict.fromkeys(("Job", "Pod"), (_pod,)),
    "CronJob": (_schedule, _pod),
    "HorizontalPodAutoscaler": (_scaler,),
    "PodDisruptionBudget": (_budget,),
    "Service": (_service,),
    "Ingress": (_ingress,),
    **dict.fromkeys(("Role", "ClusterRole"), (_rules,)),
    **dict.fromkeys(("RoleBinding", "ClusterRoleBinding"), (_subjects,)),
    "NetworkPolicy": (_peers,),
    **dict.fromkeys(("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"), (_webhooks,)),
    "ConfigMap": (_data,),
    "Secret": (_secret_keys,),
    "ResourceQuota": (_quota,),
    "PersistentVolumeClaim": (_claim_modes,),
}
