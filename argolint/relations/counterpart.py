"""The deciding field is in an object that the complaining one relies on: a Rollout's Service, the maker of an issuer's Secret, a broker that admits namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argolint.edits import set_field
from argolint.edits.advice import Shell, advice
from argolint.model import Object, ResourceId, Want
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, objects_of_fleet, own_objects, peer
from argolint.values import annotations_of, comma_list, enumerated, labels_of, mapping, text_at
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex

_UNMATCHED = regex(r'Service "(?P<service>[a-z0-9-]{1,63})" has unmatch label "(?P<label>[^"]{1,317})" in rollout')
_HASH = "rollouts-pod-template-hash"


def unselecting_service(complaint: Complaint) -> Iterator[Explained]:
    """The controller of Rollouts refuses a Service whose selector asks for labels that the pods do not have."""
    app, id_ = complaint.app, complaint.id
    found = complaint.first(_UNMATCHED)
    if found is None or id_ is None or complaint.manifest is None:
        return
    service = app.find("", "Service", id_.namespace, found["service"])
    if service is None or service.desired is None:
        return
    labels = labels_of(mapping(complaint.manifest, "spec", "template"))
    selector = mapping(service.desired, "spec", "selector")
    wrong = {k: v for k, v in selector.items() if k != _HASH and labels.get(k) != v}
    if not wrong:
        return
    new: Object = {k: labels.get(k, v) for k, v in selector.items() if k not in wrong or k in labels}
    facts = {
        "object": str(id_),
        "service": str(service.id),
        "patch": list(set_field(service.desired, "/spec/selector", new)),
    }
    asked = enumerated([f"{k}={v}" for k, v in wrong.items()])
    held = enumerated([f"{k}={labels[k]}" for k in wrong if k in labels]) or "none of them"
    yield Explained(
        "spec-says",
        app.ref,
        service.id,
        f"{id_} is refused, since its {service.id} selects {asked}, and its pods have {held}.",
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(__package__, "spec-says/service-labels", facts, service.id) if new else (),
    )


_SECRET_ABSENT = regex(r'secrets? "(?P<name>[a-z0-9][a-z0-9.-]{0,252})" not found')
_CERT_MANAGER = "cert-manager.io"
_MOVED = {
    "Certificate": "the Certificate is made again there; an issuer that it names must be a ClusterIssuer",
    "ExternalSecret": "the store that it names must be a ClusterSecretStore",
    "Secret": "what else reads it in its present namespace needs it there, too",
}
"""What to know before one of these objects, which write the Secret or are it, gets another namespace."""


def secret_in_other_namespace(complaint: Complaint) -> Iterator[Explained]:
    """A ClusterIssuer reads Secrets of cert-manager's own namespace, and this one, or what writes it, is elsewhere."""
    app, id_ = complaint.app, complaint.id
    found = (
        complaint.first(_SECRET_ABSENT) if id_ and (id_.group, id_.kind) == (_CERT_MANAGER, "ClusterIssuer") else None
    )
    if found is None or id_ is None:
        return
    homes = {
        key.namespace
        for key in complaint.fleet.of_kind(app.cluster, "apps", "Deployment")
        if key.name.endswith("cert-manager")
    }
    home = homes.pop() if len(homes) == 1 else "cert-manager"
    known = [*own_objects(app, found["name"]), *objects_of_fleet(complaint, found["name"])]
    makers = [k for k in known if k.id.kind in _MOVED and (k.how == "makes" or k.id.kind == "Secret")]
    if not makers or any(k.id.namespace == home for k in makers):
        return
    maker = makers[0]
    owner = "" if maker.app.ref == app.ref else f" of Application {maker.app.ref}"
    place = f"{maker.id}{owner} writes {found['name']} into" if maker.how == "makes" else f"{maker.id}{owner} is in"
    facts = {"secret": found["name"], "maker": str(maker.id), "home": home, "moved": _MOVED[maker.id.kind]}
    yield Explained(
        "made-by",
        maker.app.ref,
        maker.id,
        f"{id_} reads Secrets of namespace {home} alone, and {place} {maker.id.namespace}.",
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(__package__, "made-by/other-namespace", facts, maker.id),
        likely=True,
    )


_NOT_ALLOWED = regex(r"not allowed to reference defined cluster reference")
_ALLOWED = "rabbitmq.com/topology-allowed-namespaces"


def wanted_brokers(complaint: Complaint) -> Iterator[Want]:
    """The RabbitmqCluster of another application that refuses the object's namespace."""
    broker = _broker(complaint)
    if broker is not None and complaint.app.resource(broker.key) is None:
        yield from (Want("peer", broker, app=owner) for owner in complaint.fleet.owners(broker.key)[:1])


def _broker(complaint: Complaint) -> ResourceId | None:
    ref = mapping(complaint.manifest, "spec", "rabbitmqClusterReference")
    if complaint.id is None or not ref or not complaint.first(_NOT_ALLOWED):
        return None
    space = text_at(ref, "namespace") or complaint.namespace
    return ResourceId("rabbitmq.com", "RabbitmqCluster", space, text_at(ref, "name"), "v1beta1", complaint.app.cluster)


def refusing_broker(complaint: Complaint) -> Iterator[Explained]:
    """A RabbitmqCluster admits objects of other namespaces only if its annotation names them; the operator does not ask again by itself."""
    app, id_, broker = complaint.app, complaint.id, _broker(complaint)
    if id_ is None or broker is None:
        return
    owner = next(iter(complaint.fleet.owners(broker.key)), None)
    other = complaint.fleet.by_ref.get(owner) if owner else None
    held = app.resource(broker.key) or (peer(app, other, broker) if other else None)
    manifest = held.any if held is not None else {}
    of_app = f" of Application {owner}" if owner and owner != app.ref else ""
    names = [*comma_list(annotations_of(manifest).get(_ALLOWED, "")), id_.namespace]
    facts: dict[str, Any] = {
        "broker": str(broker),
        "space": id_.namespace,
        "known": bool(manifest),
        "patch": list(set_field(manifest, f"/metadata/annotations/{_ALLOWED.replace('/', '~1')}", ",".join(names))),
        "object": str(id_),
        "names": ",".join(names),
        "again": Shell(kubectl_name(id_)),
    }
    yield Explained(
        "denied-by",
        owner or app.ref,
        broker,
        f"{id_} is refused: {broker}{of_app} does not admit objects of namespace {id_.namespace}.",
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(__package__, "denied-by/broker", facts, broker),
        pointer="/spec/rabbitmqClusterReference",
    )
