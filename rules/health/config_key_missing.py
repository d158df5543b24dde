"""A key that a pod reads and its ConfigMap or Secret lacks

What it finds: a variable or a file of a pod that comes from a key which the ConfigMap or Secret of the same application does not have in Git. In
the gate also the change that takes the key out, or asks for another one. A key that a sync takes out, while a
workload of another application, or a store or another custom resource, reads it, is found too.

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

from collections.abc import Iterator, Sequence, Set

from argolint import MISSING, App, AppRef, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule, Want
from argolint.edits import manifest_patch, manifest_text
from argolint.values import annotations_of, enumerated, join_pointer, mapping, text_at
from argolint.values.kubernetes import DATA_FIELDS, data_keys, is_custom

from ..shared.labels import labels_at
from ..shared.peers import peer_wants, peers
from ..shared.references import ReadKey, mounted_keys, named_keys, near_key, read_keys
from ..shared.triage import worth_reading
from ._callers import caller_wants, workloads_of_others


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The workloads of other applications in the namespace of an object from which a sync takes keys."""
    losing = {holder.namespace for holder in _holders(app) if _lost_keys(holder)}
    if losing:
        yield from caller_wants(app, fleet, losing, within=True)
        yield from peer_wants(app, fleet, _STORES, lambda key: key.namespace in ("", *losing), most=20)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each key and workload, and for each object that loses keys which other applications read."""
    for changed in _holders(app):
        if lost := _lost_keys(changed):
            yield from _lost_key_findings(app, fleet, changed, lost)
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


def _holders(app: App) -> Iterator[Resource]:
    for kind in ("ConfigMap", "Secret"):
        yield from (r for r in app.of_kind(kind, "") if r.status == "OutOfSync" and r.namespace)


def _lost_keys(holder: Resource) -> frozenset[str]:
    """The live keys that the next sync takes out."""
    keys = data_keys(holder.live) if holder.live is not None and holder.desired is not None else frozenset()
    return frozenset(key for key in keys if _is_lacking(holder, key))


_Reader = tuple[AppRef, Resource, ReadKey]


def _readers(app: App, fleet: Fleet, holder: Resource, lost: Set[str]) -> Iterator[_Reader]:
    """What reads a lost key: pods of other applications, and custom resources of all; those of this one have findings of their own."""
    for owner, workload in workloads_of_others(app, fleet):
        for read in read_keys(workload.any) if workload.namespace == holder.namespace else ():
            if (read.kind, read.name) == (holder.kind, holder.name) and read.key in lost:
                yield owner, workload, read
    custom = [(app.ref, r) for r in app.resources if is_custom(r.group) and r.desired and not r.requires_pruning]
    for owner, resource in (*custom, *peers(app, fleet, *(kind for _, kind in _STORES))):
        for read, namespace in named_keys(resource.any) if resource.mentions('"key"') else ():
            there = (namespace or resource.namespace) == holder.namespace
            if there and (read.kind, read.name) == (holder.kind, holder.name) and read.key in lost:
                yield owner, resource, read


_STORES = (
    ("external-secrets.io", "SecretStore"),
    ("external-secrets.io", "ClusterSecretStore"),
    ("cert-manager.io", "Issuer"),
    ("cert-manager.io", "ClusterIssuer"),
)
"""Kinds of other applications that read keys with their credentials."""


def _lost_key_findings(app: App, fleet: Fleet, holder: Resource, lost: Set[str]) -> Iterator[Finding]:
    readers = list(_readers(app, fleet, holder, lost))
    if not readers:
        return
    keys = sorted({read.key for _, _, read in readers})
    named = list(dict.fromkeys(str(r.id) if o == app.ref else f'{r.id} of "{o.name}"' for o, r, _ in readers))
    verb, it = ("reads", "it") if len(named) == 1 else ("read", "them")
    loses = f"keys {_quoted(keys)}" if keys[1:] else f"key {_quoted(keys)}"
    places = "".join(f"{w.id} reads {r.key} at {r.pointer}\n" for _, w, r in readers[:20])
    is_pod = any(not is_custom(r.group) for _, r, _ in readers)
    then = f"no new pod of {it} starts" if is_pod else f"{'it finds' if it == 'it' else 'they find'} nothing there"
    yield Finding(
        message=f"{holder.id} loses {loses}, which {enumerated(named, limit=2)} {verb}: {then}.",
        at=Location(app.ref, holder.id, "/data"),
        confidence="likely",
        related=tuple(Related(o, w.id, r.pointer, "dependent") for o, w, r in readers[:20]),
        fixes=(
            *_keep_fixes(holder, *keys),
            manifest_text(f"the source of {named[0]}", "Or read keys that stay", places),
        ),
    )


def _quoted(keys: Sequence[str]) -> str:
    return enumerated([f'"{key}"' for key in keys], limit=4)


def _keep_fixes(holder: Resource, *keys: str) -> Iterator[Fix]:
    values = mapping(holder.live, "data")
    if holder.kind == "ConfigMap" and all(isinstance(values.get(key), str) for key in keys):
        steps = [{"op": "add", "path": f"/data{join_pointer(key)}", "value": values[key]} for key in keys]
        yield manifest_patch(holder.id, f"Keep key {_quoted(keys)}", steps)


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
    yield from _keep_fixes(holder, read.key)
    if name := near_key(read.key, keys):
        edit = {"op": "replace", "path": read.pointer, "value": name}
        yield manifest_patch(workload.id, f'Read key "{name}"', [edit], "if that is the value that is meant")
    yield manifest_text(
        holder.id,
        f'Give {read.kind} {read.name} the key "{read.key}", or read one that it has',
        f"{holder.id} has {enumerated(sorted(keys), limit=20)}"
        + ("" if read.pointer.endswith("/subPath") else "; `optional: true` lets pods start without the key"),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=worth_reading, wants=wants, rank=Rank.CAUSE)
