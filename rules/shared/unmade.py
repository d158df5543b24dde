"""Why the maker of a missing Secret makes none: what its conditions or its Events say, for kinds without a health check in Argo CD."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Fleet, Json, Resource, Want
from argolint.relations.makers import maker_of
from argolint.relations.polarity import reports_fault
from argolint.values import enumerated, items, mapping, maps, text_at
from argolint.values.kubernetes import reads
from argolint.values.patterns import regex

_LOGIN = regex(r"/login\b.{0,200}\bCode: 40[03]\b", re.DOTALL)
_MOST = 3  # makers of one workload whose Events are read


def event_wants(app: App, fleet: Fleet, workload: Resource) -> Iterator[Want]:
    """The Events of the objects that should make Secrets for these pods and show no fault of their own."""
    made = {(node.id.namespace, node.id.name) for node in app.nodes_of("Secret", "")}
    needed = dict.fromkeys(
        read.name for read in reads(workload.live or workload.desired) if read.kind == "Secret" and read.needed
    )
    makers = (
        maker
        for name in needed
        if (workload.namespace, name) not in made
        and (maker := silent_maker(app, fleet, workload.namespace, name)) is not None
        and not _condition_text(maker)
    )
    for maker, _ in zip(makers, range(_MOST), strict=False):
        yield Want("events", maker.id, maker.uid)


def silent_maker(app: App, fleet: Fleet, namespace: str, secret: str) -> Resource | None:
    """The object of this application that makes the Secret, where Argo CD shows it as well or has no health check for it."""
    maker = maker_of(app, fleet, namespace, secret)
    made = app.resource(maker.id.key) if maker else None
    return made if made is not None and made.health.status in ("", "Healthy") else None


def said_of(app: App, maker: Resource) -> str:
    """Why it makes nothing: its condition, else its newest Event if that is a Warning; empty if it gives no reason."""
    newest = next(iter(app.events(maker.id, maker.uid) or ()), None)
    return _condition_text(maker) or (newest.message if newest is not None and newest.type == "Warning" else "")


def _condition_text(maker: Resource) -> str:
    return next((text_at(c, "message") for c in maps(maker.live, "status", "conditions") if reports_fault(c)), "")


def login_facts(app: App, maker: Resource) -> dict[str, Json]:
    """The facts on a login of the Vault Secrets Operator that Vault refuses; empty if that is not the fault.

    The ServiceAccount is in the namespace of the object that asks for the Secret (api/v1beta1/vaultauth_types.go).
    """
    if maker.group != "secrets.hashicorp.com" or not _LOGIN.search(said_of(app, maker)):
        return {}
    space, _, name = text_at(maker.any, "spec", "vaultAuthRef").rpartition("/")
    auth = app.find("secrets.hashicorp.com", "VaultAuth", space or maker.namespace, name)
    settings = mapping(auth.any, "spec", "kubernetes") if auth is not None else {}
    role = text_at(settings, "role")
    if auth is None or not role:
        return {}
    mount = text_at(auth.any, "spec", "mount") or "kubernetes"
    audiences = enumerated([str(each) for each in items(settings, "audiences")], limit=4)
    return {
        "auth": str(auth.id),
        "role": role,
        "mount": mount,
        "account": text_at(settings, "serviceAccount") or "default",
        "account_ns": maker.namespace,
        "audiences": f" ({audiences})" if audiences else "",
    }
