"""A key that a pod reads and its ConfigMap or Secret lacks

What it finds: a variable or a file of a pod that comes from a key which the ConfigMap or Secret of the same application does not have in Git. In
the gate also the change that takes the key out, or asks for another one.

Why it hurts: no new pod of the workload starts (CreateContainerConfigError, or a volume that cannot be mounted). Running pods go on, so the fault
shows at the next rollout or when a node goes. In place of a file that is mounted alone (`subPath`), the container gets an empty directory.

How to fix: read the key that is there, or put the missing one back.

Example: `configMapKeyRef: {name: web, key: LOG_LEVEL}`, and ConfigMap `web` has `LOGLEVEL`.

Not reported: optional references, keys that the live object has and the sync leaves alone, objects that a controller fills (no data in Git, or a
label that asks for an injection), and workloads that are unwell, whose pods say it themselves. Keys that an ExternalSecret writes are
`external-secret-key-not-written`'s.

Sources: core/v1 EnvVarSource and KeyToPath; kubelet, pkg/kubelet/kubelet_pods.go and pkg/volume/configmap.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import MISSING, App, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule
from argolint.edits import manifest_patch, manifest_text
from argolint.values import annotations_of, enumerated, join_pointer, mapping, text_at
from argolint.values.kubernetes import DATA_FIELDS, data_keys

from ..shared.labels import labels_at
from ..shared.references import ReadKey, mounted_keys, near_key, read_keys
from ..shared.triage import worth_reading


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each key and workload."""
    for workload in app.with_pods("desired"):
        if (
            workload.hook
            or workload.health.status not in ("", "Healthy", "Missing")
            or not (workload.mentions('"key"', "desired") or workload.mentions('"subPath"', "desired"))
        ):
            continue
        reported: set[tuple[str, str, str]] = set()
        for read in (*read_keys(workload.desired), *_mounted_alone(app, workload)):
            holder = app.find("", read.kind, workload.namespace, read.name)
            who = (read.kind, read.name, read.key)
            if holder is None or who in reported or not _is_lacking(holder, read.key):
                continue
            reported.add(who)
            yield _finding(app, workload, read, holder)


def _mounted_alone(app: App, workload: Resource) -> Iterator[ReadKey]:
    """The files that are mounted alone; not those that the pods lack already, unless a key has nearly the name: the directory there may be meant."""
    live = {each.read[1:] for each in mounted_keys(workload.live)}
    for read in (each.read for each in mounted_keys(workload.desired)):
        holder = app.find("", read.kind, workload.namespace, read.name)
        keys = data_keys(holder.live) if holder is not None else frozenset()
        if read[1:] not in live or read.key in keys or near_key(read.key, keys):
            yield read


def _is_lacking(holder: Resource, key: str) -> bool:
    """True if Git shows all keys of the object but not this one, and the live object will not have it either."""
    keys = data_keys(holder.desired)
    if holder.desired is None or not keys or key in keys or _is_filled(holder):
        return False
    if holder.live is None:
        return True
    removed = {c.pointer for c in (*holder.changes, *holder.pending) if c.desired is MISSING}
    return key not in data_keys(holder.live) or any(f"/{field}{join_pointer(key)}" in removed for field in DATA_FIELDS)


def _is_filled(holder: Resource) -> bool:
    """True if a controller adds keys: the token of a service account, a bundle of certificates."""
    marks = (*annotations_of(holder.desired), *labels_at(mapping(holder.desired, "metadata")))
    typed = text_at(holder.desired, "type") == "kubernetes.io/service-account-token"
    return typed or any("inject" in mark for mark in marks)


def _finding(app: App, workload: Resource, read: ReadKey, holder: Resource) -> Finding:
    keys = data_keys(holder.desired)
    then = "new pods get a directory in its place" if read.pointer.endswith("/subPath") else "new pods will not start"
    return Finding(
        message=f'{workload.id} reads key "{read.key}" of {read.kind} {read.name}, which Git does not define: {then}.',
        at=Location(app.ref, workload.id, read.pointer),
        confidence="likely",
        evidence=(f"{holder.id} has {enumerated([f'{key!r}' for key in sorted(keys)], limit=8)}",),
        related=(Related(app.ref, holder.id, role="cause"),),
        fixes=tuple(_fixes(workload, read, holder, keys)),
    )


def _fixes(workload: Resource, read: ReadKey, holder: Resource, keys: frozenset[str]) -> Iterator[Fix]:
    value = mapping(holder.live, "data").get(read.key)
    if read.kind == "ConfigMap" and isinstance(value, str):
        edit = {"op": "add", "path": f"/data{join_pointer(read.key)}", "value": value}
        yield manifest_patch(holder.id, f'Keep key "{read.key}"', [edit])
    if name := near_key(read.key, keys):
        edit = {"op": "replace", "path": read.pointer, "value": name}
        yield manifest_patch(workload.id, f'Read key "{name}"', [edit], "if that is the value that is meant")
    yield manifest_text(
        holder.id,
        f'Give {read.kind} {read.name} the key "{read.key}", or read one that it has',
        f"{holder.id} has {enumerated(sorted(keys), limit=20)}"
        + ("" if read.pointer.endswith("/subPath") else "; `optional: true` lets pods start without the key"),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=worth_reading, rank=Rank.CAUSE)
