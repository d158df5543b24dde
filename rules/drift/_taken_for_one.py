"""Entries that a client-side apply takes for one: its patch pairs them by one key, and the API server tells them apart by more.

Two ports of one number and two protocols, two spread constraints over one topology, two host aliases of one address. The first apply creates
them all; a later one merges the change of any into the first. Source: patchMergeKey and listMapKey of k8s.io/api; kubernetes/kubernetes#39188, #105610.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from argolint import App, Edit, Finding, Fix, Location, Object, Resource
from argolint.application.applied import by_argocd, settled
from argolint.comparison import has_sync_option, syncs_server_side
from argolint.edits import annotation_option, manifest_patch, removals
from argolint.values import below, get, items, join_pointer, maps, text_at, texts
from argolint.values.kubernetes import SYNC_OPTIONS, containers, pod_spec

from ._edits import source_place
from ._fields import Drift

_ALIASES = "hostAliases"
_POD_KEYS = {_ALIASES: "ip", "topologySpreadConstraints": "topologyKey"}


def taken_for_one(app: App) -> Iterator[Finding]:
    """One finding for each such list that has not arrived as Git has it."""
    for resource in app.changed:
        desired = resource.desired
        if desired is None or not settled(app, resource) or not _patches(app, desired):
            continue
        for place, key in _lists(desired):
            changes = tuple(
                c for c in resource.changes if below(c.pointer, place) and (c.writer is None or by_argocd(c.writer))
            )
            if changes and (shared := _shared(desired, place, key)):
                yield Drift(app, resource, changes).finding(
                    f"{resource.id} has several entries with {key} {shared[0]} in {place}: a client-side apply takes them for one, so they never arrive as Git has them.",
                    pointer=place,
                    fixes=(_fix(app, resource, place),),
                )


def _patches(app: App, desired: Object) -> bool:
    """Whether a sync patches the object on the client's side."""
    return not (syncs_server_side(app.raw, desired) or has_sync_option(app.raw, desired, "Replace=true"))


def _lists(manifest: Object) -> Iterator[tuple[str, str]]:
    """The pointers of the lists, each with the key by which a patch pairs their entries."""
    if manifest.get("kind") == "Service":
        yield "/spec/ports", "port"
    base, spec = pod_spec(manifest)
    yield from ((f"{base}/{field}", key) for field, key in _POD_KEYS.items() if field in spec)
    yield from ((f"{at}/ports", "containerPort") for at, _ in containers(manifest))


def _shared(manifest: Object, place: str, key: str) -> tuple[str, ...]:
    """The values of the key that several entries have, if the API server takes these for several."""
    entries = list(maps(get(manifest, place, None)))
    times = Counter(str(entry.get(key)) for entry in entries)
    kinds = Counter((str(entry.get(key)), _protocol(entry)) for entry in entries)
    refused = place.endswith("/ports") and any(n > 1 for n in kinds.values())
    return () if refused else tuple(value for value, n in times.items() if n > 1)


def _fix(app: App, resource: Resource, place: str) -> Fix:
    operations = annotation_option(resource.desired, SYNC_OPTIONS, "ServerSideApply=true")
    title = "Apply the object server-side, which pairs entries by all of their keys"
    if place.endswith(_ALIASES):
        operations += _one_alias_each(resource.desired or {}, place)
        title = "Write one entry for each address, and apply the object server-side"
    return Fix(title, "manifest", source_place(app), Edit("json-patch", operations))


def _one_alias_each(manifest: Object, place: str) -> list[dict[str, Any]]:
    """Operations that give the first entry of each address the names of the later ones, and remove those."""
    first: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    later = []
    for index, entry in enumerate(maps(get(manifest, place, None))):
        address = str(entry.get("ip"))
        names.setdefault(address, []).extend(texts(entry, "hostnames"))
        if first.setdefault(address, index) != index:
            later.append(f"{place}/{index}")
    several = {get(manifest, f"{at}/ip", None) for at in later}
    return [
        *(
            {"op": "replace", "path": f"{place}/{at}" + join_pointer("hostnames"), "value": names[address]}
            for address, at in first.items()
            if address in several
        ),
        *removals(manifest, later),
    ]


def merged_port_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """A finding for a Service or workload that Git gives a second protocol for a port that is live with one."""
    desired, live = resource.desired, resource.live
    if not desired or not live or not _patches(app, desired) or (settled(app, resource) and not resource.pending):
        return
    lists = [("/spec/ports", "port", maps(desired, "spec", "ports"), maps(live, "spec", "ports"))]
    if resource.kind != "Service":
        held = {text_at(container, "name"): container for _, container in containers(live)}
        lists = [
            (f"{at}/ports", "containerPort", maps(one, "ports"), maps(held.get(text_at(one, "name")), "ports"))
            for at, one in containers(desired)
            if len(items(one, "ports")) > 1
        ]
    for at, key, wanted, has in lists:
        by_number, live_by_number = _protocols(wanted, key), _protocols(has, key)
        for number, port in enumerate(wanted):
            same = live_by_number.get(str(port.get(key)), set())
            if same and same <= by_number[str(port.get(key))] - {_protocol(port)}:
                yield _finding(app, resource, f"{at}/{number}", f"{port.get(key)}/{_protocol(port)}", sorted(same))
                return


def _protocols(ports: Sequence[Object], key: str) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for port in ports:
        found.setdefault(str(port.get(key)), set()).add(_protocol(port))
    return found


def _protocol(port: object) -> str:
    return text_at(port, "protocol") or "TCP"


def _finding(app: App, resource: Resource, pointer: str, coming: str, has: list[str]) -> Finding:
    operations = [*annotation_option(resource.desired, SYNC_OPTIONS, "ServerSideApply=true")]
    return Finding(
        message=f"Client-side apply merges the ports of {resource.id} by number: of {coming} and the live {has[0]} only one is left, and Argo CD shows it as Synced.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"live has this number for {', '.join(has)} alone",),
        fixes=(manifest_patch(resource.id, "Apply it server-side, which tells protocols apart", operations),),
    )
