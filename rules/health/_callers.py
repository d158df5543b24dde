"""Objects of other applications that call or name a Service of an application while a sync changes it, and the ports that it loses."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from argolint import App, AppRef, Fix, Fleet, Object, Resource, ResourceId, Want
from argolint.edits import manifest_patch
from argolint.values import dig, mapping, maps, text_at

from ..shared.peers import peer_keys, peer_want, peers
from ._ports import number_or_name, service_ports

_KINDS = (
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("argoproj.io", "Rollout"),
    ("batch", "CronJob"),
)
_MOST = 40
"""Most workloads that are read, those of the same namespaces first."""


def caller_wants(
    app: App,
    fleet: Fleet,
    namespaces: Collection[str],
    kinds: Collection[tuple[str, str]] = _KINDS,
    *,
    within: bool = False,
) -> Iterator[Want]:
    """Wants for workloads, or objects of other kinds, that may call or name objects of these namespaces; `within`: those in them alone."""
    keys = peer_keys(app, fleet, kinds, lambda key: key.namespace in namespaces if within else bool(key.namespace))
    for key in sorted(keys, key=lambda key: (key.namespace not in namespaces, key))[:_MOST]:
        yield from peer_want(fleet, key.id)


def workloads_of_others(app: App, fleet: Fleet) -> Iterator[tuple[AppRef, Resource]]:
    """Those that were read, as their own application leaves them."""
    for owner, found in peers(app, fleet, *(kind for _, kind in _KINDS)):
        if not found.requires_pruning:
            yield owner, found


def callers(app: App, fleet: Fleet) -> Iterator[tuple[AppRef, Resource]]:
    """Those of them that have an environment."""
    return ((owner, found) for owner, found in workloads_of_others(app, fleet) if found.mentions('"env"'))


def lost_ports(service: Resource) -> tuple[Object, ...]:
    """The live entries whose number or name the next sync takes from the Service; none of a Service without an address or pods of its own."""
    if service.status != "OutOfSync" or not service.desired or not service.live:
        return ()
    if not dig(service.desired, "spec", "selector") or dig(service.live, "spec", "clusterIP") == "None":
        return ()
    kept = service_ports(mapping(service.desired, "spec"))
    numbers, names = {p.number for p in kept}, {p.name for p in kept}
    entries = maps(service.live, "spec", "ports")
    return tuple(e for e in entries if number_of(e) not in numbers or text_at(e, "name") not in names)


def keeping_fixes(app: App, service: ResourceId, number: int, name: str) -> Iterator[Fix]:
    """The fix for a port of the application's own Service, by number or name, that only the next sync takes."""
    own = app.resource(service.key)
    for entry in lost_ports(own) if own is not None else ():
        if number_of(entry) == number if number else text_at(entry, "name") == name:
            yield from keep_port_fixes(own, entry) if own is not None else ()
            return


def number_of(entry: Object) -> int:
    return number_or_name(entry.get("port"))[0]


def keep_port_fixes(service: Resource, entry: Object) -> Iterator[Fix]:
    """The fix that keeps a lost port: under its name again, or next to the others."""
    has = service_ports(mapping(service.desired, "spec"))
    number, name = number_of(entry), text_at(entry, "name")
    at = next((n for n, port in enumerate(has) if port.number == number), None)
    if at is not None:
        edit: dict[str, object] = {
            "op": "replace" if has[at].name else "add",
            "path": f"/spec/ports/{at}/name",
            "value": name,
        }
        yield manifest_patch(service.id, f"Keep the name {name} of port {number}", [edit])
    elif name and all(port.name for port in has):  # several ports need names
        named = {"name": f"port-{number}"} if name in {port.name for port in has} else {}
        kept = {k: v for k, v in entry.items() if k != "nodePort"} | named
        edit = {"op": "add", "path": "/spec/ports/-", "value": kept}
        yield manifest_patch(service.id, f"Keep port {number} while others use it", [edit])
