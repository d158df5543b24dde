"""Two certificates for one Secret

What it finds: a Certificate of cert-manager, or an Ingress or Gateway with an annotation of its issuer, that a sync brings or changes, and whose Secret another one of the
namespace writes already. `cause` is `certificates`; it is `hosts` where two Ingresses ask for one Secret and for different hosts.

Why it hurts: cert-manager writes a Secret for one Certificate alone. The other one is never issued, or, before cert-manager 1.13, both write it again and again. Of two
Ingresses with one `secretName`, cert-manager reads the hosts of the first, so those of the second have no certificate.

How to fix: give each its own Secret. Where a Certificate is written by hand, remove the annotation from the Ingress.

Example: Certificate `shop` with `secretName: shop-tls`, and an Ingress with `cert-manager.io/cluster-issuer` and the same `secretName`.

At most a hundred objects of other applications in the namespace are read.

Sources: cert-manager internal/controller/certificates (CertificateOwnsSecret), pkg/controller/certificate-shim/sync.go (buildCertificates); cert-manager/cert-manager#6406.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import (
    Afterwards,
    App,
    AppRef,
    Finding,
    Fix,
    Fleet,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Want,
)
from argolint.edits import manifest_patch, manifest_text
from argolint.redaction import excerpt
from argolint.relations.makers import made_secrets
from argolint.values import maps, text_at, texts

from ..shared.peers import after_sync, peer_wants, peers

_CERTIFICATE = ("cert-manager.io", "Certificate")
_KINDS: Mapping[tuple[str, str], None] = dict.fromkeys(
    (_CERTIFICATE, ("networking.k8s.io", "Ingress"), ("gateway.networking.k8s.io", "Gateway"))
)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A Secret that cert-manager writes for an object: the place of its name, the Certificate's name, and the hosts of an Ingress."""

    secret: str
    pointer: str
    certificate: str
    hosts: frozenset[str] = frozenset()


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The certificates and doors of other applications, in the namespaces to which a sync brings one."""
    namespaces = {resource.namespace for resource, _ in app.of_kinds(_KINDS) if _coming(resource)}
    if namespaces:
        yield from peer_wants(app, fleet, _KINDS, lambda key: key.namespace in namespaces)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that asks for a Secret of another one."""
    for resource, _ in app.of_kinds(_KINDS):
        for claim in _coming(resource):
            if (found := _other(app, fleet, resource, claim)) is not None:
                yield _finding(app, resource, claim, *found)
                break


def _claims(obj: Object | None) -> Iterator[_Claim]:
    """The Secrets that cert-manager writes for an object."""
    if not obj:
        return
    made = made_secrets(obj)
    if obj.get("kind") == "Certificate":
        yield from (_Claim(name, "/spec/secretName", text_at(obj, "metadata", "name")) for name in made)
    elif obj.get("kind") == "Ingress" and made:
        for number, block in enumerate(maps(obj, "spec", "tls")):
            if (name := text_at(block, "secretName")) and (hosts := texts(block, "hosts")):
                yield _Claim(name, f"/spec/tls/{number}/secretName", name, frozenset(hosts))
    elif made:
        yield from (_Claim(name, "/spec/listeners", name) for name in made)


def _coming(resource: Resource) -> tuple[_Claim, ...]:
    """The claims that a sync brings or changes."""
    if resource.status != "OutOfSync" or resource.requires_pruning:
        return ()
    known = {(claim.secret, claim.certificate, claim.hosts) for claim in _claims(resource.live)}
    return tuple(c for c in _claims(resource.desired) if (c.secret, c.certificate, c.hosts) not in known)


def _other(app: App, fleet: Fleet, resource: Resource, claim: _Claim) -> tuple[AppRef, Resource, _Claim] | None:
    """The object that has the Secret today and keeps it, or, of this application, comes first; None if the two agree."""
    for owner, other, its in app.derive(_held, fleet).get((resource.namespace, claim.secret), ()):
        if other.key != resource.key and (other.live is not None or other.key < resource.key or owner != app.ref):
            return (owner, other, its) if _do_clash(claim, its) else None
    return None


def _held(app: App, fleet: Fleet) -> Mapping[tuple[str, str], Sequence[tuple[AppRef, Resource, _Claim]]]:
    """By namespace and Secret: the known objects that ask for it after the sync, those that are live first."""
    found: dict[tuple[str, str], list[tuple[AppRef, Resource, _Claim]]] = {}
    own = [(app.ref, other) for other, _ in app.of_kinds(_KINDS)]
    for owner, other in (*own, *peers(app, fleet, *(kind for _, kind in _KINDS))):
        for its in _claims(after_sync(other)):
            found.setdefault((other.namespace, its.secret), []).append((owner, other, its))
    for each in found.values():
        each.sort(key=lambda one: (one[1].live is None, one[1].key))
    return found


def _do_clash(one: _Claim, other: _Claim) -> bool:
    return one.certificate != other.certificate or bool(other.hosts and _uncovered(one, other))


def _uncovered(one: _Claim, other: _Claim) -> list[str]:
    """The hosts of one that a certificate for the hosts of the other does not have, by name or by wildcard."""
    return sorted(h for h in one.hosts if h not in other.hosts and f"*.{h.partition('.')[2]}" not in other.hosts)


def _finding(app: App, resource: Resource, claim: _Claim, owner: AppRef, other: Resource, its: _Claim) -> Finding:
    of = "" if owner == app.ref else f' of "{owner.name}"'
    secret = excerpt(claim.secret, 63)
    if claim.certificate == its.certificate:
        missing = excerpt(_uncovered(claim, its)[0], 80)
        message = (
            f"{resource.id} asks for Secret {secret} of {other.id}{of}, whose certificate does not have {missing}."
        )
    else:
        message = f"{resource.id} and {other.id}{of} both ask for Secret {secret}, and cert-manager writes it for only one of them."
    return Finding(
        message=message,
        at=Location(app.ref, resource.id, claim.pointer),
        cause="hosts" if claim.certificate == its.certificate else "certificates",
        confidence="likely",
        evidence=tuple(
            f"{one.id}: " + (f"hosts {', '.join(sorted(c.hosts)[:8])}" if c.hosts else f"Certificate {c.certificate}")
            for one, c in ((resource, claim), (other, its))
        ),
        related=(Related(owner, other.id, its.pointer, "claimant"),),
        fixes=tuple(_fixes(app, resource, claim, other)),
    )


def _fixes(app: App, resource: Resource, claim: _Claim, other: Resource) -> Iterator[Fix]:
    if "Certificate" in (resource.kind, other.kind) and resource.kind != other.kind:
        text = "remove the annotation of the issuer from the Ingress or Gateway, or the Certificate from Git\n"
        yield manifest_text(resource.id, "Let only one of the two request the certificate", text)
    elif claim.pointer.endswith("/secretName"):
        taken = {c.secret for r, _ in app.of_kinds(_KINDS) for c in _claims(r.desired)}
        name = next(
            n for n in (f"{resource.name}-tls", *(f"{resource.name}-tls-{i}" for i in range(2, 99))) if n not in taken
        )
        step = {"op": "replace", "path": claim.pointer, "value": name}
        caveat = "what reads the certificate has to name the new Secret" if resource.kind == "Certificate" else ""
        yield manifest_patch(resource.id, f"Use Secret {name}", [step], caveat)


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """Whether another one still has the Secret after the edit."""
    resource = after.held(finding.at.resource)
    if resource is None or resource.desired is None:
        return None
    left = [claim for claim in _claims(resource.desired) if _other(after, fleet, resource, claim) is not None]
    return (
        Afterwards(unknown=f"Secret {left[0].secret} has another writer all the same")
        if left
        else Afterwards(refused="")
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    causes=("certificates", "hosts"),
    rank=Rank.CAUSE,
)
