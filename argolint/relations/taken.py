"""denied-by: another object, which the sentence names, already has what this one requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from argolint.edits.advice import advice
from argolint.model import ResourceId
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, mentioned_objects
from argolint.relations.makers import made_secrets
from argolint.values import mapping, text_at
from argolint.values.patterns import regex

_ALREADY = regex(
    r"\b(?:is|are|was|been|being)? ?already (?:being |been )?(?:managed|used|owned|scaled|targeted|claimed|taken|defined|handled|controlled|bound"
    r"|reconciled|referenced|registered|served|selected|assigned|allocated|configured|in use)\b",
    re.IGNORECASE,
)


_CALLS = regex(
    r'webhook "(?P<webhook>[^"]{1,253})":?[^\n]{0,300}?https://(?P<service>[a-z0-9-]{1,63})\.(?P<space>[a-z0-9-]{1,63})\.svc'
    r'[^\n]{0,400}?service "(?P=service)" not found'
)


def missing_service(complaint: Complaint) -> Iterator[Explained]:
    """A webhook calls a Service that does not exist and that no application here has: its configuration is left over, or has a wrong name."""
    found = complaint.first(_CALLS)
    if found is None or complaint.id is None:
        return
    cluster = complaint.app.cluster
    if any(
        (k.namespace, k.name) == (found["space"], found["service"])
        for k in complaint.fleet.of_kind(cluster, "", "Service")
    ):
        return
    service = f"Service {found['space']}/{found['service']}"
    facts = {"service": service, "name": found["service"], "space": found["space"], "webhook": found["webhook"]}
    yield Explained(
        "owner-ill",
        complaint.app.ref,
        ResourceId("", "Service", found["space"], found["service"], "v1", cluster),
        f"{complaint.id} is refused, since a webhook calls {service}, which does not exist and is in no Application.",
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(__package__, "owner-ill/gone-service", facts, complaint.id),
        likely=True,
    )


_ISSUED_FOR = regex(r'[Ss]ecret was issued for "(?P<name>[a-z0-9.-]{1,253})"')


def secret_of_another(complaint: Complaint) -> Iterator[Explained]:
    """cert-manager finds the certificate of another Certificate in the Secret: both name it, and each is issued again after the other."""
    found, app, id_ = complaint.first(_ISSUED_FOR), complaint.app, complaint.id
    secret = next(iter(made_secrets(complaint.manifest or {})), "")
    if found is None or id_ is None or not secret or found["name"] == id_.name:
        return
    other = ResourceId(id_.group, id_.kind, id_.namespace, found["name"], id_.version, id_.cluster)
    here = app.resource(other.key)
    owner = next(iter(complaint.fleet.owners(other.key)), None)
    if owner is None or (here is not None and secret not in made_secrets(here.any)):
        return  # a former Certificate: the next issuance ends it
    of_app = "" if owner == app.ref else f" of Application {owner}"
    new = id_.name if id_.name != secret else f"{id_.name}-tls"
    patch = [{"op": "replace", "path": "/spec/secretName", "value": new}]
    yield Explained(
        "denied-by",
        owner,
        other,
        f'{id_} and {other}{of_app} both write Secret "{secret}", so each is issued again after the other.',
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(
            __package__, "denied-by/secret", {"object": str(id_), "secret": secret, "new": new, "patch": patch}, id_
        ),
        pointer="/spec/secretName",
        likely=here is None,
    )


_NAME_IN_USE = regex(r'"(?P<name>[^"]{1,63})" is already in use')
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


def crd_names(complaint: Complaint) -> Iterator[Explained]:
    """A CRD takes a name that another CRD of its group has: the only one of the fleet, or one with the same singular."""
    app, id_ = complaint.app, complaint.id
    found = complaint.first(_NAME_IN_USE) if id_ and (id_.group, id_.kind) == _CRD else None
    if found is None or id_ is None:
        return
    group = id_.name.partition(".")[2]
    others = [
        key
        for key in complaint.fleet.of_kind(app.cluster, *_CRD)
        if key.name != id_.name and key.name.partition(".")[2] == group
    ]
    plural, held = id_.name.partition(".")[0], mapping(complaint.manifest, "spec", "names")
    near = [k for k in others if k.name.partition(".")[0].startswith(plural[:-1]) or found["name"].lower() in k.name]
    chosen = near if len(others) > 1 else others
    if len(chosen) != 1 or not held:
        return
    other = chosen[0]
    owner = complaint.fleet.owners(other)[0]
    of_app = "" if owner == app.ref else f" of Application {owner}"
    name = found["name"] if found["name"] != f"{text_at(held, 'kind')}List" else text_at(held, "kind")
    field = next((f for f in ("kind", "plural", "singular") if held.get(f) == name), "kind")
    facts = {
        "object": str(id_),
        "other": f"{other.id}{of_app}",
        "field": field,
        "held": name,
    }
    yield Explained(
        "denied-by",
        owner,
        other.id,
        f"{id_} is not accepted: {other.id}{of_app} already has {facts['field']} {facts['held']} in group {group}.",
        evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
        fixes=advice(__package__, "denied-by/crd-names", facts, id_),
        pointer=f"/spec/names/{facts['field']}",
        likely=True,
    )


def taken_object(complaint: Complaint) -> Iterator[Explained]:
    """Validation says that a known object already manages, uses or defines something."""
    app, id_ = complaint.app, complaint.id
    tails = tuple(t[found.end() :] for t in complaint.texts if (found := _ALREADY.search(t[:8000])))
    if id_ is None or not tails:
        return
    for mention, known in mentioned_objects(replace(complaint, texts=tails)):
        if known.how != "name" or (known.id.kind != id_.kind and not mention.kinds):
            continue
        same = known.app.ref == app.ref
        gone = same and known.resource.extra
        where = ", which left Git but is not pruned," if gone else "" if same else f" of Application {known.app.ref}"
        facts = {
            "app": str(app.ref),
            "object": str(id_),
            "holder": str(known.id),
            "picked": f"{known.id.group}:{known.id.kind}:{known.id.namespace + '/' if known.id.namespace else ''}{known.id.name}",
            "gone": gone,
            "same": same and not gone,
            "other": "" if same else str(known.app.ref),
        }
        yield Explained(
            "denied-by",
            known.app.ref,
            known.id,
            f"{id_} is refused, since {known.id}{where} already has what it asks for.",
            evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
            fixes=advice(__package__, "denied-by/taken", facts, id_),
        )
        return
