"""A SealedSecret is not unsealed, or has no status

What it finds: a SealedSecret without a status minutes after its creation. Also one whose condition Synced is False (`no key could decrypt
secret`, or a Secret with its name that it does not manage), and one without a status whose last Event says so. Also a new one with the data of
another, since the name and namespace are sealed with it, unless its scope is wider.

Why it hurts: without a status Argo CD shows Progressing forever. Either no controller runs (then there is no Secret), or it runs without
`--update-status`. After a decryption error the Secret has old data or does not exist; the error may be outdated if the key was restored later.

How to fix: run the controller with `--update-status` (the default since v0.18). Seal again with the certificate of this cluster, and for the
final name and namespace of the SealedSecret. Restart the controller if the sealing key was restored. The controller takes over an existing
Secret with the annotation `sealedsecrets.bitnami.com/managed: "true"`.

Example:

    SealedSecret shop/tls makes no Secret "tls": no sealed-secrets controller unseals it.

Sources: sealed-secrets README (scopes), pkg/apis/sealedsecrets/v1alpha1/sealedsecret_expansion.go, issues 378 and 739; Argo CD resource_customizations/bitnami.com/SealedSecret/health.lua, issue 5991.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from argolint import (
    App,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Want,
)
from argolint.edits.advice import Shell, advice
from argolint.messages import telling
from argolint.values import age_text, annotations_of, condition, dig, mapping, parse_time, sh
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from . import _external_secret as es
from ._sync_error_texts import cleaned_text

DETACHED = ("sealedsecrets.bitnami.com/skip-set-owner-references", "sealedsecrets.bitnami.com/patch")
"""Annotations of the template that give the Secret no owner, so that the tree does not show it."""
SCOPE = "sealedsecrets.bitnami.com"
FOREIGN = "already exists and is not managed by SealedSecret"


@dataclass(frozen=True)
class Options:
    """`waiting_minutes`: how long a SealedSecret may be without a status."""

    waiting_minutes: int = 5


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each SealedSecret without evidence that it is unsealed, and for each new one that was sealed for another name."""
    for resource in app.of_kind("SealedSecret", es.SEALED_GROUP):
        if resource.live is None and resource.desired is not None:
            yield from _moved_findings(app, resource)
        if resource.live is None or is_deleting(resource.live):
            continue
        synced = condition(resource.live, "Synced")
        if synced is not None and synced.get("status") == "False":
            message = cleaned_text(str(synced.get("message") or "no reason given"))
            if FOREIGN in message:
                yield _foreign_finding(app, resource)
            else:
                yield _outdated_finding(app, resource, message, synced) or _refused_finding(app, resource, message)
        elif _is_silent(app, resource, options):
            since = es.created_at(resource)
            message = _event_error(app, resource)
            if message:
                yield (
                    _foreign_finding(app, resource, "Event")
                    if FOREIGN in message
                    else _refused_finding(app, resource, message, "Event")
                )
            elif since is not None:
                yield _silent_finding(app, resource, age_text(app.observed_at - since))


def _moved_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """A finding for a new SealedSecret with the data of a live one of another name or namespace, which its scope forbids."""
    data, marks = _ciphertexts(resource.desired), annotations_of(resource.desired)
    if marks.get(f"{SCOPE}/cluster-wide") == "true":
        return
    for other in app.of_kind("SealedSecret", es.SEALED_GROUP):
        moved = other.namespace != resource.namespace
        renamed = other.name != resource.name and marks.get(f"{SCOPE}/namespace-wide") != "true"
        if data & _ciphertexts(other.live) and (moved or renamed):
            what = "name and namespace" if moved and renamed else "namespace" if moved else "name"
            yield Finding(
                message=f"{resource.id} has the sealed data of {other.id}, and its {what} is part of what was sealed: it cannot be decrypted.",
                at=Location(app.ref, resource.id, "/spec/encryptedData"),
                severity="error",
                confidence="likely",
                related=(Related(app.ref, other.id, role="other"),),
                fixes=_advised("unreadable", resource, moved=what, type=_type_option(resource)),
            )
            return


def _ciphertexts(sealed: Object | None) -> set[str]:
    return {
        text for text in mapping(sealed, "spec", "encryptedData").values() if isinstance(text, str) and len(text) > 200
    }


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """Events of SealedSecrets without a status, which a controller without --update-status writes, or with an error that may be outdated."""
    for resource in app.of_kind("SealedSecret", es.SEALED_GROUP):
        failed = (condition(resource.live, "Synced") or {}).get("status") == "False"
        if (
            resource.live is not None
            and not is_deleting(resource.live)
            and (failed or _is_silent(app, resource, options))
        ):
            yield Want("events", resource.id, resource.uid)


def _is_silent(app: App, resource: Resource, options: Options) -> bool:
    since = es.created_at(resource)
    old = since is not None and app.observed_at - since >= timedelta(minutes=options.waiting_minutes)
    return old and condition(resource.live, "Synced") is None and not dig(resource.live, "status")


def _event_error(app: App, resource: Resource) -> str:
    """The error of the last unsealing by the Events; empty if it went well, or if no Event is left."""
    tried = [e for e in app.events(resource.id, resource.uid) or () if e.reason in ("ErrUnsealFailed", "Unsealed")]
    last = max(tried, key=lambda e: e.last or app.observed_at, default=None)
    if last is None or last.reason == "Unsealed":
        return ""
    return cleaned_text(last.message).removeprefix("Failed to unseal: ")


def _secret_in_tree(app: App, resource: Resource) -> tuple[str, bool | None]:
    """The Secret's name, which is the SealedSecret's own, and whether the tree shows it; None if it never would."""
    template = dig(resource.live, "spec", "template")
    name = resource.name
    found = any(_is_secret(n, resource.namespace, name) for n in app.nodes)
    detached = any(annotations_of(template).get(each) == "true" for each in DETACHED)
    return name, None if detached and not found else found


def _is_secret(node: Node, namespace: str, name: str) -> bool:
    return (node.id.kind, node.id.group, node.id.namespace, node.id.name) == ("Secret", "", namespace, name)


def _silent_finding(app: App, resource: Resource, age: str) -> Finding:
    name, is_in_tree = _secret_in_tree(app, resource)
    stays = "has no status" if resource.health.status in ("", "Healthy") else "stays Progressing"
    what = {
        True: f'{stays} though Secret "{name}" is there: its controller runs without --update-status',
        False: f'makes no Secret "{name}": no sealed-secrets controller unseals it',
        None: "has no status, and its Secret has no owner that would show whether a controller unsealed it",
    }[is_in_tree]
    return Finding(
        message=f"{resource.id} {what}.",
        at=Location(app.ref, resource.id),
        evidence=(f"no status {age} after its creation",),
        fixes=_advised("silent", resource, there=is_in_tree),
        explains=es.health_consequences(app, resource.id),
        follows=_missing_controller(app) if is_in_tree is False else (),
    )


def _missing_controller(app: App) -> tuple[Follows, ...]:
    title = f"No sealed-secrets controller serves cluster {app.cluster}."
    return (Follows.common(title, "sealed-secrets", app.cluster),)


def _foreign_finding(app: App, resource: Resource, place: str = "condition Synced=False") -> Finding:
    name, _ = _secret_in_tree(app, resource)
    node = next((n for n in app.nodes if _is_secret(n, resource.namespace, name) and n.owners), None)
    owner = node.owners[0] if node is not None else None
    maker = f"{owner.kind} {owner.namespace or resource.namespace}/{owner.name}" if owner else ""
    why = (
        f'its Secret "{name}" belongs to {maker}: that one decides the data'
        if maker
        else f'a Secret "{name}" that it does not manage keeps its old data'
    )
    return Finding(
        message=f"{resource.id} is not unsealed, since {why}.",
        at=Location(app.ref, resource.id),
        evidence=(f"{place}: {FOREIGN}",),
        fixes=_advised("one-writer" if maker else "take-over", resource, maker=maker),
        explains=es.health_consequences(app, resource.id),
    )


def _advised(topic: str, resource: Resource, **facts: object) -> tuple[Fix, ...]:
    """The fixes of a topic in advice.yaml. The Secret has the name of the SealedSecret."""
    own = {"object": str(resource.id), "ns": resource.namespace, "name": resource.name}
    return advice(__package__, f"sealed-secret/{topic}", {**own, **facts})


def _outdated_finding(app: App, resource: Resource, message: str, synced: Object) -> Finding | None:
    """The finding for an error older than the Secret of this SealedSecret, or than its last unsealing; None if it is not, or if the times are unknown."""
    failed = parse_time(synced.get("lastUpdateTime")) or parse_time(synced.get("lastTransitionTime"))
    own = (
        n
        for n in app.nodes
        if _is_secret(n, resource.namespace, resource.name) and any(o.kind == "SealedSecret" for o in n.owners)
    )
    made = next((n.created_at for n in own), None)
    unsealed = max(
        (e.last for e in app.events(resource.id, resource.uid) or () if e.reason == "Unsealed" and e.last), default=None
    )
    if failed is None:
        return None
    if unsealed is not None and unsealed > failed:
        since, seen = "it was unsealed after it", f"Event Unsealed of {unsealed:%Y-%m-%d %H:%M}Z"
    elif made is not None and made > failed:
        since = f'its Secret "{resource.name}" was made after it'
        seen = f"Secret {resource.namespace}/{resource.name} made at {made:%Y-%m-%d %H:%M}Z"
    else:
        return None
    return Finding(
        message=f"{resource.id} still shows an old error, though {since}.",
        at=Location(app.ref, resource.id),
        evidence=(f"condition Synced=False of {failed:%Y-%m-%d %H:%M}Z: {message}", seen),
        fixes=_advised("outdated", resource),
        explains=es.health_consequences(app, resource.id),
    )


def _refused_finding(app: App, resource: Resource, message: str, place: str = "condition Synced=False") -> Finding:
    name, is_in_tree = _secret_in_tree(app, resource)
    loss = {
        True: f'Secret "{name}" keeps old data',
        False: f'there is no Secret "{name}"',
        None: f'Secret "{name}" stays as it was',
    }[is_in_tree]
    mangled = _mangled(resource, message)
    moved = _moved_phrase(resource) if _UNREADABLE.search(message) and not mangled else ""
    said = f"the value of {mangled} is not what kubeseal wrote" if mangled else moved or telling(message, 8)
    return Finding(
        message=f"{resource.id} cannot be unsealed: {said}, so {loss}.",
        at=Location(app.ref, resource.id, "/spec/encryptedData"),
        evidence=(
            f"{place}: {message}",
            *(("a seal fits the name and namespace that kubeseal wrote into spec.template.metadata",) if moved else ()),
        ),
        fixes=_advised("mangled", resource, app=str(app.ref))
        if mangled
        else _advised("unreadable", resource, moved=moved, type=_type_option(resource))
        if _UNREADABLE.search(message)
        else _advised("refused", resource),
        explains=es.health_consequences(app, resource.id),
    )


def _type_option(resource: Resource) -> Shell:
    """The option of kubectl for the Secret's type; empty where that is Opaque. A seal without it makes a Secret that no pull uses."""
    type_ = str(dig(resource.any, "spec", "template", "type") or "Opaque")
    return Shell("" if type_ == "Opaque" else f" --type={sh(type_)}")


_UNREADABLE = regex(r"decrypt|no key could|illegal base64|private key|registry has no keys|unseal", re.IGNORECASE)
"""Errors of a seal for another certificate, name or namespace; every other error is about the resulting Secret or the controller."""


_NO_BASE64 = regex(r"illegal base64 data at input byte \d{1,9}(?: \((?P<key>[\w.-]{1,253})\))?")


def _mangled(resource: Resource, message: str) -> str:
    """The key whose value a template or an editor has changed: it is no base64, or base64 of base64. Empty if none is seen to be."""
    found = _NO_BASE64.search(message)
    if found:
        return found["key"] or "a key"
    sealed = mapping(resource.live, "spec", "encryptedData")
    return next((key for key, value in sealed.items() if _UNREADABLE.search(message) and _twice(value)), "")


def _twice(value: object) -> bool:
    """Whether a sealed value was encoded once more. It begins with the length of an RSA-encrypted session key (pkg/crypto/crypto.go): as base64 `AQ` or `Ag`."""
    try:
        inner = b64decode(str(value), validate=True)
        return inner[:2] in (b"AQ", b"Ag") and len(b64decode(inner, validate=True)) > _SHORTEST
    except ValueError:
        return False


_SHORTEST = 258
"""Bytes of a length and of a session key that RSA with 2048 bits has encrypted."""


def _moved_phrase(resource: Resource) -> str:
    """A phrase with the name for which kubeseal sealed it, if a later prefix or namespace changed it; otherwise empty."""
    own = annotations_of(resource.live)
    if own.get(f"{SCOPE}/cluster-wide") == "true":
        return ""
    sealed = dig(resource.live, "spec", "template", "metadata")
    name, namespace = str(dig(sealed, "name") or resource.name), str(dig(sealed, "namespace") or resource.namespace)
    wide = own.get(f"{SCOPE}/namespace-wide") == "true"
    if namespace == resource.namespace and (wide or name == resource.name):
        return ""
    return f"it was sealed for {f'namespace {namespace}' if wide else f'{namespace}/{name}'}"


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether there are SealedSecrets: an outdated error is not always visible in the health."""
    return es.SEALED_GROUP in app.groups


RULE = Rule(
    **Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads, options=Options, rank=Rank.CAUSE
)
