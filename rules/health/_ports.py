"""The ports that pods and Services offer, and those that other objects use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from argolint import Json, Object
from argolint.values import dig, integer, items, maps, text_at
from argolint.values.knowledge import load

from ._surroundings import Member


@dataclass(frozen=True, slots=True)
class Port:
    """One port: its number (0 if it has none), name and protocol."""

    number: int
    name: str
    protocol: str

    def __str__(self) -> str:
        return f"{self.number}/{self.protocol}" + (f" ({self.name})" if self.name else "")


def number_or_name(found: Json) -> tuple[int, str]:
    """(number, "") or (0, name) of an IntOrString; (0, "") for an invalid value. Digits in quotes count as a number."""
    number = found if isinstance(found, int) and not isinstance(found, bool) else integer(found)
    if number is not None:
        return (number, "") if 0 < number < 65536 else (0, "")
    return (0, found) if isinstance(found, str) and 0 < len(found) <= 63 else (0, "")


def _entry_port(entry: Object, field: str) -> Port:
    return Port(number_or_name(entry.get(field))[0], text_at(entry, "name"), text_at(entry, "protocol") or "TCP")


def pod_ports(spec: Object) -> tuple[Port, ...]:
    """The ports that the containers of a pod spec declare; init containers may be sidecars."""
    return tuple(
        _entry_port(port, "containerPort")
        for field in ("initContainers", "containers")
        for container in maps(spec, field)
        for port in maps(container, "ports")
    )


def service_ports(spec: Object) -> tuple[Port, ...]:
    return tuple(_entry_port(port, "port") for port in maps(spec, "ports"))


@cache
def _injected_ports() -> tuple[frozenset[str | int], tuple[str, ...]]:
    known = load(__package__, "traffic.yaml")["injected"]
    return frozenset((*known["ports"], *known["numbers"])), tuple(known["marks"])


def may_be_injected(member: Member, port: str | int) -> bool:
    """Whether a container outside the template may have the port: an injector adds it only to the live pods."""
    ports, marks = _injected_ports()
    return port in ports or any(mark in key for key in (*member.annotations, *member.labels) for mark in marks)


def injected_container_ports(annotations: Mapping[str, str]) -> Mapping[str, Mapping[int, str]]:
    """By name of an injected container: its ports, each with the annotation of the template that sets it, if there is one."""
    known = load(__package__, "traffic.yaml")["injected"]
    found = {name: dict.fromkeys(ports, "") for name, ports in known["takes"].items()}
    for entry in known["gives"]:
        annotation = str(annotations.get(entry["annotation"]) or "")[:_MANY]
        keys = "|".join(entry.get("keys") or ())
        texts = (
            re.findall(rf"""(?:{keys})["']?\s{{0,9}}:\s{{0,9}}["']?(\d{{1,5}})(?!\d)""", annotation)
            if keys
            else [annotation]
        )
        for number in (number_or_name(text)[0] for text in texts):
            if number:
                found[entry["to"]][number] = entry["annotation"]
    return found


_MANY = 4_000
"""Most characters of an annotation that are read."""


def ports_text(ports: Sequence[Port]) -> str:
    """The ports for a sentence."""
    shown = [str(port) for port in ports[:6]]
    return ", ".join(shown) + (f" and {len(ports) - 6} more" if len(ports) > 6 else "")


def container_words(spec: Object) -> Iterator[str]:
    """The words in the containers' commands, arguments, environment, and the ports of their probes."""
    for field in ("initContainers", "containers"):
        for container in maps(spec, field):
            yield from (w for part in ("command", "args") for w in items(container, part) if isinstance(w, str))
            yield from (text_at(variable, "value") for variable in maps(container, "env"))
            for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
                for handler in ("httpGet", "tcpSocket", "grpc"):
                    yield str(dig(container, probe, handler, "port"))
