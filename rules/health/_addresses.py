"""Addresses of Services in the environment of containers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from argolint import Fleet


@dataclass(frozen=True, slots=True)
class Address:
    """A host in the cluster: the Service and namespace that it names, and the port if it has one."""

    host: str
    service: str
    namespace: str
    port: int
    marked: bool


_HOST = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+]{1,20})://(?:[^/@\s]{0,200}@)?)?(?P<host>[a-z](?:[a-z0-9.-]{0,250}[a-z0-9])?)\.?(?::(?P<port>[0-9]{1,5}))?(?=[/?,;]|$)"
)
_NAMES_A_HOST = re.compile(
    r"(ADDR|ADDRESS|HOST|HOSTNAME|URL|URI|ENDPOINT|SERVER|SERVERS|BROKERS|HOSTS|ADDRS|UPSTREAM|TARGET|SERVICE|DSN)$"
)
_MANY = 2_000
"""Characters of a value that are looked at."""


def address_of(name: str, value: str, namespace: str, fleet: Fleet, cluster: str) -> Address | None:
    """The first address of the value, where it is one of a Service; None for anything else."""
    found = _HOST.match(value[:_MANY])
    if found is None:
        return None
    host, scheme, port = found["host"], found["scheme"], int(found["port"] or 0)
    labels = host.split(".")
    if "svc" in labels[2:4]:
        before = labels[: labels.index("svc", 2)]
        after = labels[labels.index("svc", 2) + 1 :]
        return Address(host, before[-2], before[-1], port, True) if after in ([], ["cluster", "local"]) else None
    named = _NAMES_A_HOST.search(name.upper()) is not None
    if len(labels) == 1 and (scheme or (named and (port or name.upper().endswith("HOST")))):
        return Address(host, host, namespace, port, bool(scheme))
    if len(labels) == 2 and (scheme or port) and (named or scheme) and fleet.derive(serves, cluster, labels[1]):
        return Address(host, labels[0], labels[1], port, bool(scheme))
    return None


def serves(fleet: Fleet, cluster: str, namespace: str) -> bool:
    """Whether applications have Services in the namespace."""
    return any(key.namespace == namespace for key in fleet.of_kind(cluster, "", "Service"))
