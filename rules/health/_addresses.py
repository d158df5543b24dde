"""Addresses of Services in the environment of containers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from argolint import Fleet, Resource
from argolint.values import maps, text_at
from argolint.values.kubernetes import containers
from argolint.values.patterns import regex

from ._surroundings import shown_object


@dataclass(frozen=True, slots=True)
class Address:
    """A host in the cluster: its Service and namespace, and the port if it has one."""

    host: str
    service: str
    namespace: str
    port: int
    marked: bool


_HOST = regex(
    r"(?:(?P<scheme>[a-z][a-z0-9+]{1,20})://(?:[^/@\s]{0,200}@)?)?(?P<host>[a-z](?:[a-z0-9.-]{0,250}[a-z0-9])?)\.?(?::(?P<port>[0-9]{1,5}))?(?=[/?,;]|$)"
)
_NAMES_A_HOST = regex(
    r"(ADDR|ADDRESS|HOST|HOSTNAME|URL|URI|ENDPOINT|SERVER|SERVERS|BROKERS|HOSTS|ADDRS|UPSTREAM|TARGET|SERVICE|DSN)$"
)
_MANY = 2_000
"""Most characters of a value that are read."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable whose value looks like the address of a Service, and the place of that value."""

    pointer: str
    name: str
    value: str
    address: Address
    """Its namespace is empty for that of the pods."""
    guessed: bool
    """True if it is an address only in a namespace with Services."""


def variables(resource: Resource) -> tuple[Variable, ...]:
    """The variables of all containers of an object, as `shown_object` shows it."""
    return resource.derive(_variables)


def _variables(resource: Resource) -> tuple[Variable, ...]:
    return tuple(
        Variable(f"{place}/env/{index}/value", name, value, *found)
        for place, container in containers(shown_object(resource))
        for index, variable in enumerate(maps(container, "env"))
        for name, value in ((text_at(variable, "name"), text_at(variable, "value")),)
        if (found := _address_in(name, value)) is not None
    )


def _address_in(name: str, value: str) -> tuple[Address, bool] | None:
    """The first address in the value, and whether it is a guess; None if there is none."""
    if not (":" in value or "." in value or name.upper().endswith("HOST")):
        return None  # nearly every value: neither a scheme, nor a port, nor a domain
    found = _HOST.match(value[:_MANY])
    if found is None:
        return None
    host, scheme, port = found["host"], found["scheme"], int(found["port"] or 0)
    labels = host.split(".")
    if "svc" in labels[2:4]:
        before = labels[: labels.index("svc", 2)]
        after = labels[labels.index("svc", 2) + 1 :]
        whole = Address(host, before[-2], before[-1], port, True)
        return (whole, False) if before[-1] and after in ([], ["cluster", "local"]) else None
    named = _NAMES_A_HOST.search(name.upper()) is not None
    if len(labels) == 1 and (scheme or (named and (port or name.upper().endswith("HOST")))):
        return Address(host, host, "", port, bool(scheme)), False
    if len(labels) == 2 and (scheme or port) and (named or scheme):
        return Address(host, labels[0], labels[1], port, bool(scheme)), True
    return None


def address_of(variable: Variable, namespace: str, fleet: Fleet, cluster: str) -> Address | None:
    """The address, for pods of this namespace; None if it is not that of a Service."""
    address = variable.address
    if variable.guessed and not fleet.derive(has_services, cluster, address.namespace):
        return None
    return address if address.namespace else replace(address, namespace=namespace)


def has_services(fleet: Fleet, cluster: str, namespace: str) -> bool:
    """Whether applications have Services in the namespace."""
    return any(key.namespace == namespace for key in fleet.of_kind(cluster, "", "Service"))
