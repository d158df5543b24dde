"""What the API server refuses in an object of Kubernetes' own kinds, as far as the manifest alone decides it.

Each refusal has the words of the API server, so the catalogue and the advice for a failed sync explain it before the sync, too. The checks
are those that hold in every release that Argo CD supports; names that a pod lists twice are `duplicate-env`'s. Source: pkg/apis/*/validation of k8s.io/kubernetes; tests/validation.yaml has
what that code says of each form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from argolint import App, Json, Object, Resource
from argolint.redaction import excerpt
from argolint.values import below, dig, get, items, join_pointer, mapping, maps, schema, split_pointer, text_at, texts
from argolint.values.kubernetes import api_of, containers, is_custom, pod_spec
from argolint.values.patterns import regex
from argolint.values.quantities import amount

from ..shared.crds import child_schema, definitions, schema_in
from ..shared.labels import label_selector, labels_at
from ._cron import parse

_MOST = 5
"""Most refusals of one object in a message: the API server names all, a reader needs the first."""
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = regex(rf"{_LABEL}(\.{_LABEL})*")
_DNS_LABEL = regex(_LABEL)
_SERVICE_NAME = regex("[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = regex("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_DATA_KEY = regex("[-._a-zA-Z0-9]+")
_ENVIRONMENT_NAME = regex(
    r"[ -<>-~]+"
)  # printable ASCII without `=`, as since Kubernetes 1.32; older releases permit less
_LIKE_A_QUANTITY = regex(r"(?=\D*\d).{1,60}|")
"""Letters alone are zero to the decoder, and a number of a hundred digits is one."""
_PORT_NAME = regex("(?=[0-9-]*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
LARGEST = 1024 * 1024
"""Bytes of a ConfigMap's data (core/v1, MaxSecretSize)."""
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_TEMPLATED = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


class Refused(NamedTuple):
    """A refused field as a pointer, the sort of error, and the rest of the API server's words."""

    pointer: str
    sort: str
    detail: str = ""

    @property
    def text(self) -> str:
        """The error as the API server prints it."""
        return ": ".join(part for part in (_path(self.pointer), self.sort, self.detail) if part)

    @property
    def reason(self) -> str:
        """Why it is refused."""
        bare = self.detail.replace('"', "")  # lists of known values
        match self.sort:
            case "Required value":
                return "; ".join(part for part in ("it is missing", bare) if part)
            case "Unsupported value":
                return bare
            case "Not found":
                return f"not found: {self.detail}"
        return self.detail or self.sort.lower()


def coming_refusals(app: App, resource: Resource) -> tuple[Refused, ...]:
    """The fields that the API server will refuse at the next sync, at most five.

    An object that exists was accepted once, so only what a change in the gate brings is looked at. A custom kind is held against its
    CustomResourceDefinition, if the application has it or another rule asked for it.
    """
    desired, places = resource.desired, [change.pointer for change in resource.pending]
    if desired is None or not (resource.live is None or places):
        return ()
    coming = (
        one
        for one in (_refused_custom(app, desired) if is_custom(resource.group) else _refused(desired, resource.live))
        if resource.live is None or any(below(one.pointer, at) or below(at, one.pointer) for at in places)
    )
    return tuple(islice(coming, _MOST))


def server_message(resource: Resource, refusals: Sequence[Refused]) -> str:
    """The API server's message on these fields (apimachinery, NewInvalid)."""
    texts_of_all = [one.text for one in refusals]
    whole = f"[{', '.join(texts_of_all)}]" if len(texts_of_all) > 1 else "".join(texts_of_all)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return f'{kind} "{resource.name}" is invalid: {whole}'


def _refused(obj: Object, live: Object | None) -> Iterator[Refused]:
    kind = str(obj.get("kind"))
    yield from _name(obj, kind)
    yield from _labels(labels_at(dig(obj, "metadata")), "/metadata/labels")
    for fault in schema.faults(obj):
        value = get(obj, fault.pointer, None)
        if fault.choices:
            yield _unsupported(fault.pointer, value, fault.choices)
        elif fault.type == "quantity" and value is not None and _LIKE_A_QUANTITY.fullmatch(str(value)):
            yield _invalid(fault.pointer, value, _NO_QUANTITY)
    for check in _CHECKS.get(kind, ()):
        yield from check(obj)
    if kind == "PersistentVolumeClaim" and live is not None:
        yield from _shrunk(obj, live)


def _refused_custom(app: App, obj: Object) -> Iterator[Refused]:
    """What each known schema of the kind refuses: those of the live CRD and of the one in Git."""
    (group, version), kind = api_of(obj), str(obj.get("kind"))
    sides = [crd for found in definitions(app, group, kind) for crd in (found.desired, found.live) if crd is not None]
    schemas = [schema for crd in sides if (schema := schema_in(crd, version)) is not None]
    found = [
        list(islice(_misfits(obj.get("spec"), dig(schema, "properties", "spec"), "/spec"), 20)) for schema in schemas
    ]
    if found:
        others = [{(one.pointer, one.sort) for one in each} for each in found[1:]]  # their known values may differ
        yield from (one for one in found[0] if all((one.pointer, one.sort) in each for each in others))


def _misfits(value: Json, schema: Json, at: str) -> Iterator[Refused]:
    """Values of another type than their field, or none of its enum; what a webhook may still fill in is no fault."""
    if not isinstance(schema, dict) or value is None or schema.get("x-kubernetes-int-or-string") is True:
        return
    wanted, known = text_at(schema, "type"), items(schema, "enum")
    if wanted in _JSON_TYPES and not _is_of_type(value, wanted):
        has = next(name for name, types in _JSON_TYPES.items() if isinstance(value, types))
        yield _invalid(at, has, f"{_path(at)} in body must be of type {wanted}")
    elif known and value not in known:
        yield Refused(at, "Unsupported value", f"{_shown(value)}: supported values: {', '.join(map(_shown, known))}")
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _misfits(child, child_schema(schema, key), at + join_pointer(key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from _misfits(child, dig(schema, "items"), f"{at}/{number}")


_JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
}


def _is_of_type(value: Json, wanted: str) -> bool:
    if isinstance(value, bool) or wanted == "boolean":
        return isinstance(value, bool) and wanted == "boolean"
    if isinstance(value, float) and wanted == "integer":
        return value.is_integer()
    return isinstance(value, _JSON_TYPES[wanted])


def _name(obj: Object, kind: str) -> Iterator[Refused]:
    name, at = text_at(obj, "metadata", "name"), "/metadata/name"
    if not name or kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "APIService"):
        return
    of_service = kind == "Service"
    most = 63 if of_service else 52 if kind == "CronJob" else 253
    if len(name) > most:
        yield _too_long(at, name, most)
    elif not (_SERVICE_NAME if of_service else _SUBDOMAIN).fullmatch(name):
        yield _invalid(at, name, _DNS_1035 if of_service else _RFC_1123)


_RFC_1123 = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
_RFC_1123_LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
_DNS_1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
_VALID_LABEL = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def _labels(labels: Mapping[str, str], at: str) -> Iterator[Refused]:
    for value in labels.values():
        if len(value) > 63:
            yield _too_long(at, value, 63)
        elif not _LABEL_VALUE.fullmatch(value):
            yield _invalid(at, value, _VALID_LABEL)


def _selector(obj: Object) -> Iterator[Refused]:
    """A workload whose selector does not choose the pods of its own template."""
    selector, labels = dig(obj, "spec", "selector"), labels_at(dig(obj, "spec", "template", "metadata"))
    if selector is None:
        yield Refused("/spec/selector", "Required value")
        return
    wanted = label_selector(selector)
    if wanted is not None and not wanted.empty and not wanted.matches(labels):
        shown = ",".join(f'"{key}":"{value}"' for key, value in sorted(labels.items()))
        detail = f"{{{shown}}}: `selector` does not match template `labels`"
        yield Refused("/spec/template/metadata/labels", "Invalid value", detail)


def _pod(obj: Object) -> Iterator[Refused]:
    base, spec = pod_spec(obj)
    if not spec:
        return
    template = base.removesuffix("/spec")
    if template:
        yield from _labels(labels_at(get(obj, f"{template}/metadata", None)), f"{template}/metadata/labels")
    yield from _restart_policy(obj, f"{base}/restartPolicy", spec)
    volumes = [*maps(spec, "volumes")]
    for number, volume in enumerate(volumes):
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if len(sources) > 1:
            yield Refused(
                f"{base}/volumes/{number}/{sources[1]}", "Forbidden", "may not specify more than 1 volume type"
            )
    claims = (text_at(claim, "metadata", "name") for claim in maps(obj, "spec", "volumeClaimTemplates"))
    mountable = {*(text_at(volume, "name") for volume in volumes), *claims}
    for at, container in containers(obj):
        yield from _container(at, container, mountable, on_host=spec.get("hostNetwork") is True)
    for number, toleration in enumerate(maps(spec, "tolerations")):
        if toleration.get("operator") == "Exists" and (value := text_at(toleration, "value")):
            detail = "value must be empty when `operator` is 'Exists'"
            yield _invalid(f"{base}/tolerations/{number}/operator", value, detail)


def _restart_policy(obj: Object, at: str, spec: Object) -> Iterator[Refused]:
    policy, kind = text_at(spec, "restartPolicy"), obj.get("kind")
    if kind in _TEMPLATED and policy not in ("", "Always"):
        yield _unsupported(at, policy, ("Always",))
    elif kind in ("Job", "CronJob") and policy in ("", "Always"):
        yield Refused(at, "Required value", 'valid values: "OnFailure", "Never"')


def _container(at: str, container: Object, mountable: set[str], *, on_host: bool) -> Iterator[Refused]:
    name = text_at(container, "name")
    if not name:
        yield Refused(f"{at}/name", "Required value")
    elif len(name) > 63:
        yield _too_long(f"{at}/name", name, 63)
    elif not _DNS_LABEL.fullmatch(name):
        yield _invalid(f"{at}/name", name, _RFC_1123_LABEL)
    if not text_at(container, "image"):
        yield Refused(f"{at}/image", "Required value")
    yield from _resources(f"{at}/resources", mapping(container, "resources"))
    yield from _environment(f"{at}/env", items(container, "env"))
    for number, mount in enumerate(maps(container, "volumeMounts")):
        volume = text_at(mount, "name")
        if volume and volume not in mountable:
            yield Refused(f"{at}/volumeMounts/{number}/name", "Not found", f'"{volume}"')
    yield from _container_ports(f"{at}/ports", maps(container, "ports"), on_host=on_host)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        given = mapping(container, probe)
        ways = [way for way in ("exec", "httpGet", "tcpSocket", "grpc") if given.get(way) is not None]
        if container.get(probe) is not None and not ways:
            yield Refused(f"{at}/{probe}", "Required value", "must specify a handler type")
        elif len(ways) > 1:
            yield Refused(f"{at}/{probe}/{ways[1]}", "Forbidden", "may not specify more than 1 handler type")


def _resources(at: str, resources: Mapping[str, Json]) -> Iterator[Refused]:
    limits = mapping(resources, "limits")
    for name, value in mapping(resources, "requests").items():
        asked, most = amount(value), amount(limits.get(name))
        if asked is not None and most is not None and asked > most:
            yield _invalid(
                f"{at}/requests", str(value), f"must be less than or equal to {name} limit of {limits[name]}"
            )


_NO_QUANTITY = "quantities must match the regular expression"
"""The first of the decoder's words, which name no field (apimachinery, ParseQuantity)."""


def quantity_operations(obj: Object | None) -> list[Json]:
    """Operations that write each refused quantity in the unit that is meant; empty if that of one is not plain."""
    refused = [one.pointer for one in _refused(obj, None) if one.detail.endswith(_NO_QUANTITY)] if obj else []
    values = [_in_known_unit(get(obj, pointer)) for pointer in refused]
    if not all(values):
        return []
    return [{"op": "replace", "path": at, "value": value} for at, value in zip(refused, values, strict=True)]


def _in_known_unit(value: Json) -> str:
    """`1GB` as `1G`, `1 gib` as `1Gi`; empty for another unit."""
    found = _NUMBER_AND_UNIT.fullmatch(str(value))
    if found is None:
        return ""
    number, unit, binary = found[1], found[2].upper(), "i" if found[3] else ""
    if found[2] == "m" and not (found[3] or found[4]):
        return f"{number}m"  # thousandths
    return f"{number}{'k' if unit == 'K' and not binary else unit}{binary}"


_NUMBER_AND_UNIT = regex(r"([0-9]{1,15}(?:[.][0-9]{1,9})?) ?([KMGTkmgt])([iI]?)([bB]?)")


def _environment(at: str, entries: Iterable[Json]) -> Iterator[Refused]:
    for number, entry in enumerate(entries):
        name = text_at(entry, "name")
        if not name:
            yield Refused(f"{at}/{number}/name", "Required value")
        elif not _ENVIRONMENT_NAME.fullmatch(name):
            yield _invalid(
                f"{at}/{number}/name",
                name,
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            )
        if text_at(entry, "value") and mapping(entry, "valueFrom"):
            yield Refused(
                f"{at}/{number}/valueFrom", "Invalid value", '"": may not be specified when `value` is not empty'
            )


def _container_ports(at: str, ports: Sequence[Object], *, on_host: bool) -> Iterator[Refused]:
    yield from _twice(at, ports, "name")
    for number, port in enumerate(ports):
        name, value = text_at(port, "name"), port.get("containerPort")
        if len(name) > 15:
            yield _too_long(f"{at}/{number}/name", name, 15)
        elif name and not _PORT_NAME.fullmatch(name):
            yield _invalid(
                f"{at}/{number}/name", name, "must contain only a-z, 0-9 and single hyphens between them, and a letter"
            )
        if not value:
            yield Refused(f"{at}/{number}/containerPort", "Required value")
        elif isinstance(value, int) and not 0 < value < 65536:
            yield _invalid(f"{at}/{number}/containerPort", value, "must be between 1 and 65535, inclusive")
        host = port.get("hostPort")
        if on_host and isinstance(host, int) and host and host != value:
            yield _invalid(f"{at}/{number}/hostPort", host, "must match `containerPort` when `hostNetwork` is true")


def _twice(at: str, entries: Iterable[Object], key: str) -> Iterator[Refused]:
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        name = text_at(entry, key)
        if name and name in seen:
            yield Refused(f"{at}/{number}/{key}", "Duplicate value", f'"{name}"')
        seen.add(name)


def _strategy(obj: Object) -> Iterator[Refused]:
    strategy, at = mapping(obj, "spec", "strategy"), "/spec/strategy/rollingUpdate"
    rolling = mapping(strategy, "rollingUpdate")
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        yield Refused(at, "Forbidden", "may not be specified when strategy `type` is 'Recreate'")
    elif [rolling.get(key) in (0, "0%") for key in ("maxSurge", "maxUnavailable")] == [True, True]:
        yield _invalid(f"{at}/maxUnavailable", rolling.get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")


def _scaler(obj: Object) -> Iterator[Refused]:
    least, most = dig(obj, "spec", "minReplicas"), dig(obj, "spec", "maxReplicas")
    if isinstance(least, int) and isinstance(most, int) and most < least:
        yield _invalid("/spec/maxReplicas", most, "must be greater than or equal to `minReplicas`")


def _budget(obj: Object) -> Iterator[Refused]:
    if all(dig(obj, "spec", key) is not None for key in ("minAvailable", "maxUnavailable")):
        yield Refused("/spec", "Invalid value", "minAvailable and maxUnavailable cannot be both set")


def _service(obj: Object) -> Iterator[Refused]:
    spec, ports = mapping(obj, "spec"), maps(obj, "spec", "ports")
    kind = text_at(spec, "type") or "ClusterIP"
    if kind == "ExternalName":
        if not text_at(spec, "externalName"):
            yield Refused("/spec/externalName", "Required value")
    elif not ports and spec.get("clusterIP") != "None":
        yield Refused("/spec/ports", "Required value")
    yield from _twice("/spec/ports", ports, "name")
    for number, port in enumerate(ports):
        if len(ports) > 1 and not text_at(port, "name"):
            yield Refused(f"/spec/ports/{number}/name", "Required value")
        if kind == "ClusterIP" and port.get("nodePort"):
            yield Refused(f"/spec/ports/{number}/nodePort", "Forbidden", "may not be used when `type` is 'ClusterIP'")


def _ingress(obj: Object) -> Iterator[Refused]:
    for number, rule in enumerate(maps(obj, "spec", "rules")):
        at, host = f"/spec/rules/{number}", text_at(rule, "host")
        if host and not _SUBDOMAIN.fullmatch(host.removeprefix("*.")):
            yield _invalid(f"{at}/host", host, _RFC_1123)
        for place, path in enumerate(maps(rule, "http", "paths")):
            sort, given = text_at(path, "pathType"), text_at(path, "path")
            if not sort:
                yield Refused(f"{at}/http/paths/{place}/pathType", "Required value", "pathType must be specified")
            elif sort in ("Exact", "Prefix") and not given.startswith("/"):
                yield _invalid(f"{at}/http/paths/{place}/path", given, "must be an absolute path")


def _subjects(obj: Object) -> Iterator[Refused]:
    for number, subject in enumerate(maps(obj, "subjects")):
        if subject.get("kind") == "ServiceAccount" and not text_at(subject, "namespace"):
            yield Refused(f"/subjects/{number}/namespace", "Required value")


def _schedule(obj: Object) -> Iterator[Refused]:
    schedule = text_at(obj, "spec", "schedule")
    fields = len(schedule.split())
    if not schedule or schedule.startswith("@") or "TZ=" in schedule or parse(schedule) is not None:
        return
    if fields == 5:
        yield _invalid("/spec/schedule", schedule, "a field is out of its range, or no list of numbers")
    else:
        yield _invalid(
            "/spec/schedule", schedule, f"expected exactly 5 fields, found {fields}: [{' '.join(schedule.split())}]"
        )


def _data(obj: Object) -> Iterator[Refused]:
    texts_of_data = [*mapping(obj, "data").values(), *mapping(obj, "binaryData").values()]
    if sum(len(text.encode()) for text in texts_of_data if isinstance(text, str)) > LARGEST:
        yield Refused("", "Too long", f"must have at most {LARGEST} bytes")
    for key in mapping(obj, "data"):
        if not _DATA_KEY.fullmatch(key):
            yield _invalid(
                f"/data{join_pointer(key)}",
                key,
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            )


def _claim_modes(obj: Object) -> Iterator[Refused]:
    for mode in texts(obj, "spec", "accessModes"):
        if mode not in _ACCESS_MODES:
            yield _unsupported("/spec/accessModes", mode, _ACCESS_MODES)


def _shrunk(obj: Object, live: Object) -> Iterator[Refused]:
    """A claim below the size that its volume has already."""
    wanted = amount(dig(obj, "spec", "resources", "requests", "storage"))
    has = amount(dig(live, "status", "capacity", "storage"))
    if wanted is not None and has is not None and wanted < has:
        detail = "field can not be less than status.capacity"
        yield Refused("/spec/resources/requests/storage", "Forbidden", detail)


def _unsupported(at: str, value: Json, choices: Sequence[str]) -> Refused:
    known = ", ".join(f'"{one}"' for one in sorted(choices))
    return Refused(at, "Unsupported value", f'"{value}": supported values: {known}')


_Check = Callable[[Object], Iterator[Refused]]
_CHECKS: Mapping[str, tuple[_Check, ...]] = {
    "Deployment": (_selector, _strategy, _pod),
    **dict.fromkeys(("StatefulSet", "DaemonSet", "ReplicaSet"), (_selector, _pod)),
    **dict.fromkeys(("Job", "Pod"), (_pod,)),
    "CronJob": (_schedule, _pod),
    "HorizontalPodAutoscaler": (_scaler,),
    "PodDisruptionBudget": (_budget,),
    "Service": (_service,),
    "Ingress": (_ingress,),
    "ClusterRoleBinding": (_subjects,),
    "ConfigMap": (_data,),
    "PersistentVolumeClaim": (_claim_modes,),
}


def _invalid(at: str, value: Json, detail: str) -> Refused:
    return Refused(at, "Invalid value", f"{_shown(value)}: {detail}")


def _shown(value: Json) -> str:
    return f'"{excerpt(value, 80)}"' if isinstance(value, str) else str(value)


def _too_long(at: str, value: str, most: int) -> Refused:
    return _invalid(at, value, f"must be no more than {most} characters")


def _path(pointer: str) -> str:
    """The pointer as the API server writes it: `spec.ports[0].name`."""
    path = ""
    for token in split_pointer(pointer):
        path += f"[{token}]" if token.isdecimal() or path in _KEYED else f".{token}"
    return path.removeprefix(".")


_KEYED = (".data",)
"""Maps whose keys the API server writes in brackets."""
