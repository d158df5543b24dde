"""denied-by: the object that this one names does not admit it, by its own manifest: a Gateway's listeners, or no ReferenceGrant of a namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from argolint.application.resource import Resource
from argolint.edits import application_place, set_field
from argolint.edits.advice import advice
from argolint.model import AppRef, Follows, Json, Object, ResourceId, Want
from argolint.redaction import excerpt
from argolint.relations.denied import namespace_owner
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, peer
from argolint.relations.polarity import every_condition
from argolint.values import enumerated, mapping, maps, text_at, texts
from argolint.values.kubernetes import is_of_current_spec

_GATEWAY_API = "gateway.networking.k8s.io"
_SPACE_LABEL = "kubernetes.io/metadata.name"
_KINDS, _SPACES, _HOSTS = "kinds", "namespaces", "hosts"
_OF_PROTOCOL: Mapping[str, tuple[str, ...]] = {
    "HTTP": ("HTTPRoute", "GRPCRoute"),
    "HTTPS": ("HTTPRoute", "GRPCRoute"),
    "TLS": ("TLSRoute", "TCPRoute"),
    "TCP": ("TCPRoute",),
    "UDP": ("UDPRoute",),
}
"""The kinds that a listener takes where allowedRoutes.kinds does not say it (gateway-api, AllowedRoutes)."""


@dataclass(frozen=True, slots=True)
class _Named:
    """The Gateway that a refused parentRef names: its owner, its id, its manifest and live state; the reference and its place in the route; the controller that refuses, and its reason."""

    app: AppRef
    id: ResourceId
    manifest: Object
    live: Object
    ref: Object
    pointer: str
    controller: str
    reason: str


def wanted_gateways(complaint: Complaint) -> Iterator[Want]:
    """The Gateways of other applications that a refused route names."""
    for id_, *_ in _refused_gateways(complaint):
        if complaint.app.resource(id_.key) is None:
            yield from (Want("peer", id_, app=owner) for owner in complaint.fleet.owners(id_.key)[:1])


def _refused_gateways(complaint: Complaint) -> Iterator[tuple[ResourceId, Object, str, str]]:
    """The Gateways whose controller has not accepted the route, each with its reference in the status, the controller and its reason."""
    id_ = complaint.id
    resource = complaint.app.held(id_)
    if id_ is None or resource is None or id_.group != _GATEWAY_API:
        return
    for parent in maps(resource.live, "status", "parents"):
        ref = mapping(parent, "parentRef")
        accepted = next((c for c in maps(parent, "conditions") if c.get("type") == "Accepted"), {})
        reason = text_at(accepted, "reason") if accepted.get("status") == "False" else ""
        if reason in _REASONS and (text_at(ref, "kind") or "Gateway") == "Gateway":
            space = text_at(ref, "namespace") or id_.namespace
            gateway = ResourceId(_GATEWAY_API, "Gateway", space, text_at(ref, "name"), "v1", complaint.app.cluster)
            yield gateway, ref, text_at(parent, "controllerName"), reason


_REASONS = ("NotAllowedByListeners", "NoMatchingParent", "NoMatchingListenerHostname")


def _named_gateways(complaint: Complaint) -> Iterator[_Named]:
    written = maps(complaint.manifest, "spec", "parentRefs")
    for id_, ref, controller, reason in _refused_gateways(complaint):
        held: Resource | None = complaint.app.resource(id_.key)
        owner = complaint.app.ref
        for ref_of_app in complaint.fleet.owners(id_.key)[:1] if held is None else ():
            other = complaint.fleet.by_ref.get(ref_of_app)
            held, owner = (peer(complaint.app, other, id_) if other else None), ref_of_app
        same = ("name", "namespace", "sectionName", "port")
        place = next((i for i, one in enumerate(written) if all(one.get(k) == ref.get(k) for k in same)), None)
        if place is None:  # a controller writes the namespace that the route leaves out
            place = next((i for i, one in enumerate(written) if one.get("name") == ref.get("name")), None)
        if held is not None and held.any and place is not None:
            pointer = f"/spec/parentRefs/{place}"
            yield _Named(owner, held.id, held.any, held.live or {}, written[place], pointer, controller, reason)


def refused_by_gateway(complaint: Complaint) -> Iterator[Explained]:
    """Why no listener of the Gateway takes the route: it has none of that name, or admits neither the kind nor the namespace."""
    id_ = complaint.id
    if id_ is None:
        return
    for named in _named_gateways(complaint):
        listeners = maps(named.manifest, "spec", "listeners")
        meant = [(i, one) for i, one in enumerate(listeners) if _is_meant(named.ref, one)]
        if not meant and listeners:
            yield _no_listener(complaint, named, listeners)
            return
        hosts = tuple(texts(complaint.manifest, "spec", "hostnames"))
        faults = [(i, one, _fault(one, id_, named.id.namespace, hosts)) for i, one in meant]
        if faults and all(fault for _, _, fault in faults):
            place, listener, fault = max(faults, key=lambda f: _ORDER.index(f[2]))
            yield from _EXPLAIN[fault](complaint, named, place, listener)
            return
        states = [(text_at(one, "name"), _listener_fault(named.live, text_at(one, "name"))) for _, one in meant]
        if states and all(said is not None for _, said in states):
            yield _ill_listener(complaint, named, *states[0])
            return
        takes = next((one for _, one, fault in faults if not fault), None)
        if takes is not None and named.reason in _JUDGED and _is_seen(named.live):
            yield _refused_before(complaint, named, text_at(takes, "name"))
            return


_JUDGED = ("NotAllowedByListeners", "NoMatchingListenerHostname")
"""Reasons that the listener's manifest alone confirms or denies."""


def _is_seen(gateway: Object) -> bool:
    """Whether the controller has judged the Gateway as it is now."""
    return any(is_of_current_spec(gateway, c) is True for c in maps(gateway, "status", "conditions"))


def _refused_before(complaint: Complaint, named: _Named, listener: str) -> Explained:
    """The listener takes the route by now, and the controller has not judged the route since (envoyproxy/gateway#8861)."""
    facts = {**_facts(complaint, named), "controller": named.controller}
    return Explained(
        "contradicts",
        named.app,
        named.id,
        f'{complaint.id} counts as refused ({named.reason}), though listener "{listener}" of {named.id}{facts["owner"]} takes it by now.',
        evidence=(f"the controller has seen the present spec of {named.id}",),
        fixes=advice(__package__, "contradicts/refused-before", facts, complaint.id),
        likely=True,
        pointer=named.pointer,
    )


def _listener_fault(live: Object, name: str) -> str | None:
    """What the controller says of a listener that it has not accepted; None if it has, or says nothing of it."""
    for listener in maps(live, "status", "listeners"):
        for condition in maps(listener, "conditions") if listener.get("name") == name else ():
            if (condition.get("type"), condition.get("status")) == ("Accepted", "False"):
                return text_at(condition, "message") or text_at(condition, "reason")
    return None


def _ill_listener(complaint: Complaint, named: _Named, listener: str, said: str | None) -> Explained:
    """The Gateway's own listener is not accepted, so no route of it is."""
    facts = {**_facts(complaint, named), "listener": listener}
    return Explained(
        "denied-by",
        named.app,
        named.id,
        f'{complaint.id} is refused since listener "{listener}" of {named.id}{facts["owner"]} is not accepted itself.',
        evidence=(f"the controller of {named.id} says of listener {listener}: {excerpt(said or '', 300)}",),
        fixes=advice(__package__, "denied-by/listener-ill", facts, named.id),
        follows=(Follows.finding("unhealthy", named.id, mended=True),),
        pointer=named.pointer,
    )


def _is_meant(ref: Object, listener: Object) -> bool:
    section, port = text_at(ref, "sectionName"), ref.get("port")
    return (not section or listener.get("name") == section) and (port is None or listener.get("port") == port)


def _fault(listener: Object, route: ResourceId, gateway_namespace: str, hosts: tuple[str, ...]) -> str:
    """The part of the listener that keeps the route out; empty if nothing does. A label selector does if nothing else does, since the controller has refused."""
    kinds, source = _kinds(listener), text_at(listener, "allowedRoutes", "namespaces", "from") or "Same"
    if kinds and route.kind not in kinds:
        return _KINDS
    if source == "Same" and route.namespace != gateway_namespace:
        return _SPACES
    own = text_at(listener, "hostname")
    if own and hosts and not any(_meet(own, host) for host in hosts):
        return _HOSTS
    return _SPACES if source in ("Selector", "None") else ""


def _meet(one: str, other: str) -> bool:
    """Whether two host names, each perhaps with a wildcard as its first label, have a host in common."""
    for wild, plain in ((one, other), (other, one)):
        if wild.startswith("*.") and plain.endswith(wild[1:]):
            return True
    return one == other


def _kinds(listener: Object) -> tuple[str, ...]:
    said = tuple(text_at(one, "kind") for one in maps(listener, "allowedRoutes", "kinds"))
    return said or _OF_PROTOCOL.get(text_at(listener, "protocol"), ())


def _facts(complaint: Complaint, named: _Named) -> dict[str, Json]:
    assert complaint.id is not None  # the callers have checked it
    return {
        "object": str(complaint.id),
        "gateway": str(named.id),
        "owner": "" if named.app == complaint.app.ref else f" of Application {named.app}",
        "space": complaint.id.namespace,
    }


def _no_listener(complaint: Complaint, named: _Named, listeners: Sequence[Object]) -> Explained:
    """The reference names a listener that the Gateway does not have."""
    id_ = complaint.id
    assert id_ is not None  # the caller has checked it
    field = "sectionName" if named.ref.get("sectionName") else "port"
    held, key = str(named.ref[field]), "name" if field == "sectionName" else "port"
    offered = {str(one.get(key)): one for one in listeners}
    fitting = [k for k, one in offered.items() if not _fault(one, id_, named.id.namespace, ())] or list(offered)
    near = get_close_matches(held, list(offered) if key == "name" else fitting, 1, 0.6)
    secure = [k for k in fitting if text_at(offered[k], "protocol") in ("HTTPS", "TLS")]
    new = (near or secure or fitting)[0]
    facts = {
        **_facts(complaint, named),
        "field": field,
        "new": offered[new].get(key),
        "named": new,
        "pointer": f"{named.pointer}/{field}",
        "others": ", ".join(k for k in offered if k != new),
    }
    shown = enumerated([f'"{k}"' if key == "name" else k for k in offered])
    what = f'listener "{held}"' if key == "name" else f"port {held}"
    return Explained(
        "denied-by",
        named.app,
        named.id,
        f"{id_} names {what}, and {named.id}{facts['owner']} has {shown}.",
        evidence=(f"{named.pointer}/{field} is {held}",),
        fixes=advice(__package__, "denied-by/no-listener", facts, id_),
        pointer=f"{named.pointer}/{field}",
    )


def _other_kind(complaint: Complaint, named: _Named, place: int, listener: Object) -> Iterator[Explained]:
    id_ = complaint.id
    assert id_ is not None  # the caller has checked it
    at = f"/spec/listeners/{place}/allowedRoutes/kinds"
    said = maps(listener, "allowedRoutes", "kinds")
    facts = {
        **_facts(complaint, named),
        "listener": text_at(listener, "name"),
        "kind": id_.kind,
        "patch": list(set_field(named.manifest, at, [*said, {"kind": id_.kind}])) if said else [],
        "protocol": text_at(listener, "protocol"),
    }
    yield Explained(
        "denied-by",
        named.app,
        named.id,
        f'{id_} is refused: listener "{facts["listener"]}" of {named.id}{facts["owner"]} takes only {enumerated(_kinds(listener))}.',
        evidence=(f"allowedRoutes of listener {facts['listener']}: {_shown(listener)}",),
        fixes=advice(__package__, "denied-by/route-kind", facts, named.id),
        pointer=named.pointer,
    )


def _other_namespace(complaint: Complaint, named: _Named, place: int, listener: Object) -> Iterator[Explained]:
    id_, app = complaint.id, complaint.app
    assert id_ is not None  # the caller has checked it
    spaces = mapping(listener, "allowedRoutes", "namespaces")
    asked, names = _asked(mapping(spaces, "selector")) if text_at(spaces, "from") == "Selector" else ({}, [])
    if asked is None or (asked and names) or id_.namespace in names:
        return  # more than one label decides, or the listener admits it by now
    owner = namespace_owner(complaint.fleet, app.cluster, id_.namespace)
    same = (text_at(spaces, "from") or "Same") == "Same"
    names = [named.id.namespace] if same else names
    admits = {
        "from": "Selector",
        "selector": {"matchExpressions": [{"key": _SPACE_LABEL, "operator": "In", "values": [*names, id_.namespace]}]},
    }
    facts: dict[str, Json] = {
        **_facts(complaint, named),
        "listener": text_at(listener, "name"),
        "patch": list(set_field(named.manifest, f"/spec/listeners/{place}/allowedRoutes/namespaces", admits)),
        "asked": ", ".join(f"{k}={v}" for k, v in asked.items()),
        "yaml": "\n".join(f'{k}: "{v}"' for k, v in asked.items()),
        "words": [f"{k}={v}" for k, v in asked.items()],
        "place": application_place(app),
        "created": "CreateNamespace=true" in app.sync_options
        and id_.namespace == app.destination_namespace
        and not owner,
        "owned": str(owner[0]) if owner else "",
    }
    only = (
        f"namespaces with label {facts['asked']}"
        if asked
        else "its own namespace"
        if same
        else f"namespace {enumerated(names) or 'none'}"
    )
    yield Explained(
        "denied-by",
        named.app,
        named.id,
        f'{id_} is refused: listener "{facts["listener"]}" of {named.id}{facts["owner"]} admits routes of {only} alone.',
        evidence=(f"allowedRoutes of listener {facts['listener']}: {_shown(listener)}",),
        fixes=advice(__package__, "denied-by/route-label" if asked else "denied-by/route-namespace", facts, named.id),
        pointer=named.pointer,
    )


def _asked(selector: Object) -> tuple[dict[str, str] | None, list[str]]:
    """The labels that meet a namespace selector, None if it also excludes some; and the namespaces that it names one by one."""
    labels = {key: str(value) for key, value in mapping(selector, "matchLabels").items()}
    names = [labels.pop(_SPACE_LABEL)] if _SPACE_LABEL in labels else []
    for one in maps(selector, "matchExpressions"):
        key, values = text_at(one, "key"), list(texts(one, "values"))
        match text_at(one, "operator"):
            case "In" if key == _SPACE_LABEL:
                names += values
            case "In" if values:
                labels[key] = values[0]
            case "Exists":
                labels[key] = "true"
            case _:
                return None, names
    return labels, names


def _no_host(complaint: Complaint, named: _Named, place: int, listener: Object) -> Iterator[Explained]:
    hosts = enumerated(list(texts(complaint.manifest, "spec", "hostnames")))
    own = text_at(listener, "hostname")
    facts = {**_facts(complaint, named), "listener": text_at(listener, "name"), "own": own, "hosts": hosts}
    yield Explained(
        "denied-by",
        named.app,
        named.id,
        f'{complaint.id} serves {hosts}, and listener "{facts["listener"]}" of {named.id}{facts["owner"]} only {own}.',
        evidence=(f"/spec/listeners/{place}/hostname is {own}",),
        fixes=advice(__package__, "denied-by/route-host", facts, named.id),
        pointer="/spec/hostnames",
    )


_EXPLAIN = {_KINDS: _other_kind, _HOSTS: _no_host, _SPACES: _other_namespace}
_ORDER = (_KINDS, _HOSTS, _SPACES)


def _shown(listener: Object) -> str:
    allowed = mapping(listener, "allowedRoutes")
    kinds = ", ".join(text_at(k, "kind") for k in maps(allowed, "kinds"))
    return f"namespaces from {text_at(allowed, 'namespaces', 'from') or 'Same'}" + (f", kinds {kinds}" if kinds else "")


def not_granted(complaint: Complaint) -> Iterator[Explained]:
    """A Gateway or route names an object of another namespace, where no ReferenceGrant permits it."""
    id_ = complaint.id
    resource = complaint.app.held(id_)
    if id_ is None or resource is None or id_.group != _GATEWAY_API or complaint.manifest is None:
        return
    refused = [
        c for c in every_condition(resource.live) if c.get("reason") == "RefNotPermitted" and c.get("status") == "False"
    ]
    foreign = list(_foreign_references(complaint.manifest, id_)) if refused else []
    said = " ".join(text_at(c, "message") for c in refused)
    foreign = [one for one in foreign if one[0].name in said] or foreign
    if not foreign:
        return
    target, pointer = foreign[0]
    facts = {
        "object": str(id_),
        "kind": id_.kind,
        "space": id_.namespace,
        "target": str(target),
        "there": target.namespace,
        "group": target.group,
        "target_kind": target.kind,
        "name": target.name,
        "grant": f"{id_.kind.lower()}-{id_.namespace}",
    }
    yield Explained(
        "denied-by",
        complaint.app.ref,
        target,
        f"{id_} names {target}, and no ReferenceGrant of namespace {target.namespace} permits that.",
        evidence=(f"the message: {said[:400]}",),
        fixes=advice(__package__, "denied-by/not-granted", facts, id_),
        pointer=pointer,
    )


def _foreign_references(manifest: Object, id_: ResourceId) -> Iterator[tuple[ResourceId, str]]:
    """The objects of other namespaces that certificateRefs of a Gateway, or backendRefs of a route, name; each with its place."""
    lists = (
        [
            (f"/spec/listeners/{i}/tls/certificateRefs", maps(one, "tls", "certificateRefs"), "Secret")
            for i, one in enumerate(maps(manifest, "spec", "listeners"))
        ]
        if id_.kind == "Gateway"
        else [
            (f"/spec/rules/{i}/backendRefs", maps(rule, "backendRefs"), "Service")
            for i, rule in enumerate(maps(manifest, "spec", "rules"))
        ]
    )
    for at, refs, usual in lists:
        for j, ref in enumerate(refs):
            space = text_at(ref, "namespace")
            if space and space != id_.namespace:
                kind = text_at(ref, "kind") or usual
                yield ResourceId(text_at(ref, "group"), kind, space, text_at(ref, "name"), "", id_.cluster), f"{at}/{j}"
