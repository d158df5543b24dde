"""Exact edits of a workload, for what its pods lack or its own spec says: a key, a user by number, a scheduler, a gate."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Json, Object, ResourceId
from argolint.edits import set_fields
from argolint.values import maps, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import containers, data_keys, pod_spec

from .references import MountedKey, ReadKey, mounted_keys, near_key, read_keys

_OTHER_USER = 1000
"""For an image that names no user: any number but 0 will do for the kubelet."""


def lacking_keys(app: App, id_: ResourceId, obj: Object | None, key: str) -> Iterator[tuple[ReadKey, frozenset[str]]]:
    """Each reference of the manifest to this key in a ConfigMap or Secret of the application that lacks it, with the keys that it has."""
    for read in (*read_keys(obj), *(each.read for each in mounted_keys(obj))):
        holder = app.find("", read.kind, id_.namespace, read.name) if read.key == key else None
        keys = data_keys(holder.live) | data_keys(holder.desired) if holder else frozenset()
        if keys and key not in keys:
            yield read, keys


def key_edits(app: App, id_: ResourceId, obj: Object | None, key: str) -> tuple[str, list[Json]]:
    """The key that is nearly the one that pods lack, and the operations that read it; empty if there is none."""
    found = [(near_key(key, keys), read.pointer) for read, keys in lacking_keys(app, id_, obj, key)]
    near = next((name for name, _ in found if name), "")
    return near, [{"op": "replace", "path": pointer, "value": near} for name, pointer in found if near and name == near]


def mounted_at(app: App, id_: ResourceId, obj: Object | None, path: str) -> tuple[MountedKey, bool] | None:
    """The single key that is mounted at this path of a container, and whether its ConfigMap or Secret has it; None if the application does not show that."""
    for each in mounted_keys(obj):
        holder = app.find("", each.read.kind, id_.namespace, each.read.name)
        keys = data_keys(holder.live) | data_keys(holder.desired) if holder else frozenset()
        if keys and each.path.rstrip("/") == path.rstrip("/"):
            return each, each.read.key in keys
    return None


def sysctl_edits(obj: Object | None, name: str) -> list[Json]:
    """The operation that takes a sysctl out of the pod template."""
    at, spec = pod_spec(obj)
    names = [text_at(each, "name") for each in maps(spec, "securityContext", "sysctls")]
    last = "" if len(names) == 1 else f"/{names.index(name)}" if name in names else ""
    return [{"op": "remove", "path": f"{at}/securityContext/sysctls{last}"}] if name in names else []


def user_edits(obj: Object | None, container: str, user: str) -> tuple[int, list[Json]]:
    """The number of a user that is not root, and the operations that write it into the container; none for a name whose number is not known."""
    number = load(__package__, "image_users.yaml").get(user, 0 if user else _OTHER_USER)
    at = next((at for at, c in containers(obj) if text_at(c, "name") == container), "")
    return number, list(set_fields(obj, {f"{at}/securityContext/runAsUser": number})) if at and number else []


def own_scheduler(obj: Object | None) -> str:
    """The scheduler that the pods ask for, if it is not that of Kubernetes."""
    name = text_at(pod_spec(obj)[1], "schedulerName")
    return "" if name == "default-scheduler" else name


def own_gates(obj: Object | None) -> tuple[str, ...]:
    """The scheduling gates that the manifest writes."""
    return tuple(text_at(gate, "name") for gate in maps(pod_spec(obj)[1], "schedulingGates"))
