"""Built-in kinds whose Go types print fields differently from the tables of scheme.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from operator import is_

from argolint.model import Json, Object
from argolint.values import mapping, text_at
from argolint.values.quantities import NANO, quantity


def each(found: list[Json], change: Callable[[Mapping[str, Json]], Mapping[str, Json]]) -> list[Json]:
    """The list with `change` applied to every map in it; the same list if nothing changed."""
    made = [change(item) if isinstance(item, dict) else item for item in found]
    return found if all(map(is_, made, found)) else made


def one_line(text: Json) -> Json:
    """Base64 as Go prints a []byte: without line breaks, which its decoder ignores."""
    return (
        text.replace("\n", "").replace("\r", "") if isinstance(text, str) and ("\n" in text or "\r" in text) else text
    )


def one_lines(found: Mapping[str, Json]) -> Mapping[str, Json]:
    """The map's base64 values as Go prints a []byte."""
    made = {key: one_line(value) for key, value in found.items()}
    return found if made == found else made


def _secret(obj: Mapping[str, Json]) -> Mapping[str, Json]:
    data = obj.get("data")
    made = one_lines(data) if isinstance(data, dict) else data
    return obj if made is data else {**obj, "data": made}


def endpoints(obj: Object) -> Object:
    """Addresses, ports and subsets in one order on both sides, ports with their protocol (gitops-engine, normalizeEndpoint)."""
    subsets = obj.get("subsets")
    if not isinstance(subsets, list):
        return obj
    made = _sorted([_subset(subset) if isinstance(subset, dict) else subset for subset in subsets])
    rest = {key: value for key, value in obj.items() if key != "subsets"}
    return {**rest, "subsets": made} if made else rest


def _subset(subset: Mapping[str, Json]) -> Mapping[str, Json]:
    lists = {
        field: _sorted(
            [{"protocol": "TCP", **item} if field == "ports" and isinstance(item, dict) else item for item in found]
        )
        for field in ("addresses", "notReadyAddresses", "ports")
        if isinstance(found := subset.get(field), list)
    }
    return {**subset, **lists}


def _sorted(found: list[Json]) -> list[Json]:
    """Addresses by IP, everything else by content: Argo CD sorts by a hash, but any order works if both sides use it."""
    return sorted(found, key=lambda item: (text_at(item, "ip"), json.dumps(item, sort_keys=True)))


def _devices(obj: Mapping[str, Json]) -> Mapping[str, Json]:
    """Quantities of dynamic resource allocation, whose field names are no quantities elsewhere (k8s.io/api resource/v1)."""
    spec = obj.get("spec")
    made = _measured(spec) if isinstance(spec, dict) else spec
    return obj if made is spec else {**obj, "spec": made}


_AMOUNTS = frozenset({"allocationMultiplier", "default", "max", "min", "step"})


def _measured(node: Mapping[str, Json], *, amounts: bool = False) -> Mapping[str, Json]:
    """The node with canonical quantities; `amounts`: below a device's capacity or counters, where `value` is a quantity, too."""
    found = dict(node)
    for key, value in node.items():
        below = amounts or key in ("capacity", "counters", "nodeAllocatableResourceMappings")
        if isinstance(value, str) and below and (key == "value" or key in _AMOUNTS):
            found[key] = quantity(value, NANO)
        elif below and key == "requests" and isinstance(value, dict):
            found[key] = {name: quantity(amount, NANO) for name, amount in value.items()}
            if not value:
                del found[key]
        elif below and key == "validValues" and isinstance(value, list):
            found[key] = [quantity(amount, NANO) for amount in value]
        elif isinstance(value, dict) and key != "parameters":  # parameters have the driver's own format
            found[key] = _measured(value, amounts=below)
        elif isinstance(value, list):
            found[key] = each(value, partial(_measured, amounts=below))
    return node if found == node else found


def _service(obj: Mapping[str, Json]) -> Mapping[str, Json]:
    """The Service without the settings of a disabled session affinity, which the defaulter removes."""
    obj = _without_empty("selector")(obj)
    spec = obj.get("spec")
    if (
        not isinstance(spec, dict)
        or "sessionAffinityConfig" not in spec
        or spec.get("sessionAffinity") not in (None, "", "None")
    ):
        return obj
    return {**obj, "spec": {key: value for key, value in spec.items() if key != "sessionAffinityConfig"}}


def _volume(obj: Mapping[str, Json]) -> Mapping[str, Json]:
    """A volume's CSI source has `readOnly` by value; a pod's has a pointer."""
    obj = _without_empty("storageClassName")(obj)
    spec, driver = obj.get("spec"), mapping(obj, "spec", "csi")
    if not isinstance(spec, dict) or driver.get("readOnly") is not False:
        return obj
    return {**obj, "spec": {**spec, "csi": {key: value for key, value in driver.items() if key != "readOnly"}}}


def _without_empty(field: str) -> Callable[[Mapping[str, Json]], Mapping[str, Json]]:
    """A function that removes a zero value of this spec field, which this kind holds by value."""

    def change(obj: Mapping[str, Json]) -> Mapping[str, Json]:
        spec = obj.get("spec")
        if not isinstance(spec, dict) or spec.get(field, None) not in ("", {}) or field not in spec:
            return obj
        return {**obj, "spec": {key: value for key, value in spec.items() if key != field}}

    return change


OF_KIND: Mapping[tuple[str, str], Callable[[Mapping[str, Json]], Mapping[str, Json]]] = {
    ("", "Secret"): _secret,
    ("", "PersistentVolume"): _volume,
    ("", "Service"): _service,
    ("", "ReplicationController"): _without_empty("selector"),
    **dict.fromkeys(
        (("resource.k8s.io", kind) for kind in ("DeviceClass", "ResourceClaim", "ResourceSlice")), _devices
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): _devices,
}
"""How single kinds print fields, if the field name alone does not decide."""
