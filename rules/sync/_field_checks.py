"""What the API server refuses in single fields of its own kinds: the rows of validation.yaml.

A refusal has the words of the API server, so the catalogue and the advice for a failed sync explain it before the sync, too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from argolint import Json, Object
from argolint.redaction import excerpt
from argolint.values import below, get, join_pointer, mapping, split_pointer, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import api_of, containers, is_custom, pod_spec
from argolint.values.patterns import regex


class Refused(NamedTuple):
    """A refused field as a pointer, the sort of error, and the rest of the API server's words."""

    pointer: str
    sort: str
    detail: str = ""

    @property
    def text(self) -> str:
        """The error as the API server prints it."""
        return ": ".join(part for part in (path_of(self.pointer), self.sort, self.detail) if part)

    @property
    def reason(self) -> str:
        """Why it is refused."""
        detail = self.detail.removeprefix('"": ')
        bare = detail.replace('"', "")  # lists of known values
        is_missing = self.sort == "Required value" or (self.sort == "Unsupported value" and detail != self.detail)
        match self.sort:
            case _ if is_missing:
                return "; ".join(part for part in ("it is missing", bare) if part)
            case "Unsupported value":
                return bare
            case "Not found" | "Duplicate value":
                return f"{self.sort.lower()}: {detail}"
        return detail or self.sort.lower()


def required(at: str, detail: str = "") -> Refused:
    """A field that is missing or empty."""
    return Refused(at, "Required value", detail)


def invalid(at: str, value: Json, detail: str) -> Refused:
    """A value that the field does not take."""
    return Refused(at, "Invalid value", f"{shown(value)}: {detail}")


def unsupported(at: str, value: Json, choices: Sequence[str]) -> Refused:
    """None of the values that the field takes."""
    known = ", ".join(f'"{one}"' for one in sorted(choices))
    return Refused(at, "Unsupported value", f'"{value}": supported values: {known}')


def too_long(at: str, value: str, most: int) -> Refused:
    """More than `most` characters."""
    return invalid(at, value, f"must be no more than {most} characters")


def shown(value: Json) -> str:
    """A value as the API server prints it, masked and cut; nothing of what is in a map or list."""
    if isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    return f'"{excerpt(value, 80)}"' if isinstance(value, str) else str(value)


def path_of(pointer: str) -> str:
    """The pointer as the API server writes it: `spec.ports[0].name`."""
    path = ""
    for token in split_pointer(pointer):
        path += f"[{token}]" if token.isdecimal() or _KEYED.fullmatch(path) else f".{token}"
    return path.removeprefix(".")


def spot_of(obj: Object | None, pointer: str) -> str:
    """A field for a sentence next to its pointer: a short pointer as it is, a long one as `resources.limits of container main`."""
    for at, container in containers(obj):
        if pointer != at and below(pointer, at):
            return f"{path_of(pointer.removeprefix(at))} of container {shown(text_at(container, 'name')).strip(_QUOTE)}"
    if len(pointer) <= _SHORT:
        return pointer
    base = pod_spec(obj)[0]
    if base and below(pointer, base) and pointer != base:
        return f"{path_of(pointer.removeprefix(base))} of its pods"
    tokens = split_pointer(pointer)[-2:]
    return path_of(join_pointer(*tokens))


_SHORT, _QUOTE = 40, '"'
_KEYED = regex(r"\.(?:(?:data|metadata\.annotations|spec\.hard)|.*\.resources\.(?:limits|requests))")
"""Maps whose keys the API server writes in brackets."""


@dataclass(frozen=True, slots=True)
class _Check:
    """A row of validation.yaml: `name` and `wanted` of the check, and the places as tokens."""

    scope: str
    group: str
    kinds: frozenset[str]
    places: tuple[tuple[str, ...], ...]
    when: Mapping[str, Sequence[Json]]
    name: str
    wanted: Any
    says: str


def field_refusals(obj: Object) -> Iterator[Refused]:
    """What the rows refuse in an object."""
    group = api_of(obj)[0]
    own = group if is_custom(group) else ""
    nodes = {scope: [(at, get(obj, at, None)) for at in _bases(obj, scope)] for scope in _SCOPES}
    for check in _checks().get((own, str(obj.get("kind"))), _checks().get((own, ""), ())):
        if not nodes[check.scope] or not _holds(obj, check.when):
            continue
        for base, node in nodes[check.scope]:
            for place in check.places:
                for at, value in _fields(node, place, base):
                    yield from _REFUSALS[check.name](check, at, value)


_SCOPES = ("", "pod", "container", "init")


@cache
def _checks() -> Mapping[tuple[str, str], Sequence[_Check]]:
    """The rows by group and kind, in their order; those of Kubernetes' own kinds have no group, and those of all kinds with pods no kind."""
    rows = [_check(row) for row in load(__package__, "validation.yaml")]
    kinds = {(row.group, kind) for row in rows for kind in (*row.kinds, "")}
    return {
        (group, kind): [r for r in rows if r.group == group and (kind in r.kinds if r.kinds else r.scope)]
        for group, kind in kinds
    }


def _check(row: Mapping[str, Any]) -> _Check:
    name = next(key for key in row if key in _REFUSALS)
    places = tuple(tuple(place.split("/")[1:]) for place in row["at"])
    kinds = frozenset(row.get("of", ()))
    return _Check(
        row.get("in", ""),
        row.get("group", ""),
        kinds,
        places,
        row.get("when", {}),
        name,
        row[name],
        row.get("says", ""),
    )


def _bases(obj: Object, scope: str) -> Iterator[str]:
    base, spec = pod_spec(obj)
    if not scope:
        yield ""
    elif scope == "pod" and spec:
        yield base
    for at, container in containers(obj) if scope in ("container", "init") else ():
        if scope == "container" or ("/initContainers/" in at and text_at(container, "restartPolicy") != "Always"):
            yield at


def _holds(obj: Object, when: Mapping[str, Sequence[Json]]) -> bool:
    return all(get(obj, pointer, None) in values for pointer, values in when.items())


def _fields(node: Json, place: Sequence[str], at: str) -> Iterator[tuple[str, Json]]:
    """The pointers and values below a node that a place names; a field that is absent has the value None."""
    if not place:
        yield at, node
        return
    if place[0] == "*":
        for number, entry in enumerate(node) if isinstance(node, list) else ():
            yield from _fields(entry, place[1:], f"{at}/{number}")
        return
    for token in place[0].removesuffix("!").split("|") if isinstance(node, dict) or node is None else ():
        key = token.replace("~1", "/")
        value = mapping(node).get(key)
        if value not in _ABSENT or place[0].endswith("!"):
            yield from _fields(value, place[1:], at + join_pointer(key))


_ABSENT = (None, "")
"""Values that the API server takes for an absent field."""


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _required(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    if value in (None, "", [], {}):
        yield required(at, check.says)


def _least(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    given = 0 if value is None else value
    if _is_number(given) and given < check.wanted:
        yield invalid(at, given, check.says or f"must be greater than or equal to {check.wanted}")


def _between(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    least, most = check.wanted
    given = 0 if value is None else value
    if _is_number(given) and not least <= given <= most:
        yield invalid(at, given, check.says or f"must be between {least} and {most}, inclusive")


def _is(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    if value not in (0, check.wanted):  # zero is no value
        yield invalid(at, value, f"must be {check.wanted}")


def _one_of(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    given = value or ""
    if given not in check.wanted:
        yield invalid(at, given, check.says) if check.says else unsupported(at, given, check.wanted)


def _forbidden(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    yield Refused(at, "Forbidden", check.wanted)


def _one_way(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    ways = [way for way in check.wanted if mapping(value).get(way) is not None]
    if not ways:
        yield required(at, f"must specify a {check.says}")
    elif len(ways) > 1:
        yield Refused(f"{at}/{ways[1]}", "Forbidden", f"may not specify more than 1 {check.says}")


def _labels(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    yield from label_refusals(mapping(value), at)


def label_refusals(labels: Mapping[str, Json], at: str) -> Iterator[Refused]:
    """Keys and values of labels that no label may have."""
    yield from key_refusals(labels, at)
    for value in labels.values():
        if isinstance(value, str) and len(value) > 63:
            yield too_long(at, value, 63)
        elif isinstance(value, str) and not _LABEL_VALUE.fullmatch(value):
            yield invalid(at, value, _VALID_LABEL)


def key_refusals(entries: Mapping[str, Json], at: str) -> Iterator[Refused]:
    """Keys of labels or annotations that are no qualified name (apimachinery, IsQualifiedName)."""
    for key in entries:
        prefix, slash, name = key.rpartition("/")
        if slash and not prefix:
            yield invalid(at, key, "prefix part must be non-empty")
        elif prefix and "/" not in prefix and not _SUBDOMAIN.fullmatch(prefix):
            yield invalid(at, key, f"prefix part {_RFC_1123}")
        elif "/" in prefix:
            yield invalid(at, key, _QUALIFIED)
        elif len(name) > 63:
            yield invalid(at, key, "name part must be no more than 63 characters")
        elif not _NAME_PART.fullmatch(name):
            yield invalid(at, key, f"name part {_NAME_CHARACTERS}")


def _https_address(value: Json) -> str:
    """See ValidateWebhookURL (k8s.io/apiserver pkg/util/webhook); silent where Go may read an address in another way."""
    try:
        address = urlsplit(str(value))
    except ValueError:
        return ""
    form = "desired format: https://host[/path]"
    faults = {
        f"'https' is the only allowed URL scheme; {form}": address.scheme != "https",
        f"host must be specified; {form}": not address.netloc,
        "user information is not permitted in the URL": "@" in address.netloc,
        "query parameters are not permitted in the URL": address.query,
        "fragments are not permitted in the URL": address.fragment,
    }
    return next((says for says, is_so in faults.items() if is_so), "")


def _form(check: _Check, at: str, value: Json) -> Iterator[Refused]:
    given = "" if value is None else value
    if problem := _FORMS[check.wanted](given):
        yield invalid(at, 0 if given == "" and check.wanted == "port" else given, check.says or problem)


_Refusal = Callable[[_Check, str, Json], Iterator[Refused]]
_REFUSALS: Mapping[str, _Refusal] = {
    "required": _required,
    "least": _least,
    "between": _between,
    "is": _is,
    "one_of": _one_of,
    "forbidden": _forbidden,
    "one_way": _one_way,
    "labels": _labels,
    "form": _form,
}

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = regex(rf"{_LABEL}(\.{_LABEL})*")
_LABEL_VALUE = regex("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NAME_PART = regex("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PERCENT = regex("[0-9]+%")
_OFFSET = regex("[^A-Za-z]")
_DURATION = regex(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+)")
_RFC_1123 = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
_RFC_1123_LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
_DNS_1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
_NAME_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALID_LABEL = f"a valid label must be an empty string or {_NAME_CHARACTERS.removeprefix('must ')}"
_QUALIFIED = f"a qualified name {_NAME_CHARACTERS}"


def _matches(pattern: str, problem: str, most: int = 0) -> Callable[[Json], str]:
    compiled = regex(pattern)

    def form(value: Json) -> str:
        if not isinstance(value, str):
            return ""
        if most and len(value) > most:
            return f"must be no more than {most} characters"
        return "" if compiled.fullmatch(value) else problem

    return form


def _port(value: Json) -> str:
    return _port_number(value or 0) if _is_number(value) or value == "" else form_problem("port name", value)


def _port_number(value: Json) -> str:
    in_range = not _is_number(value) or 0 < value < 65536
    return "" if in_range else "must be between 1 and 65535, inclusive"


def _count_or_percent(value: Json) -> str:
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value)
        return "" if percent else "a valid percent string must be a numeric string followed by an ending '%'"
    return "must be greater than or equal to 0" if _is_number(value) and value < 0 else ""


def _count_or_part(value: Json) -> str:
    above = isinstance(value, str) and value[:-1].isdecimal() and int(value[:-1][:9]) > 100
    return _count_or_percent(value) or ("must not be greater than 100%" if above else "")


def _address(parse: Callable[[str], object], problem: str) -> Callable[[Json], str]:
    def form(value: Json) -> str:
        try:
            parse(str(value))
        except ValueError:
            return problem
        return ""

    return form


def _cidr(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ipaddress.ip_network(text, strict=False)


def _time_zone(value: Json) -> str:
    if value == "Local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    zones = time_zones().get(
        str(value).casefold(), value
    )  # a system may lack old names of zones, which the API server knows
    is_offset = _OFFSET.match(str(value)) is not None
    return f"unknown time zone {excerpt(str(value), 60)}" if is_offset or value != zones else ""


@cache
def time_zones() -> Mapping[str, str]:
    """The time zones that this system knows, by their names in lower case."""
    return {zone.casefold(): zone for zone in available_timezones()}


def _duration(value: Json) -> str:
    """Go's time.ParseDuration: the units are h, m, s and smaller ones."""
    if not isinstance(value, str) or _DURATION.fullmatch(value):
        return ""
    unit = "missing unit" if value[-1:].isdigit() else "unknown unit"
    return f"time: {unit} in duration, which has h, m and s"


def form_problem(form: str, value: Json) -> str:
    """Why a value has not this form, in the API server's words; empty if it has, or has a type that the form is not about."""
    return _FORMS[form](value)


_FORMS: Mapping[str, Callable[[Json], str]] = {
    "label": _matches(f"{_LABEL}|", _RFC_1123_LABEL, 63),
    "DNS-1035 label": _matches("([a-z]([-a-z0-9]*[a-z0-9])?)?", _DNS_1035, 63),
    "subdomain": _matches(_SUBDOMAIN.pattern, _RFC_1123, 253),
    "data key": _matches(
        "[-._a-zA-Z0-9]*", "a valid config key must consist of alphanumeric characters, '-', '_' or '.'", 253
    ),
    "environment name": _matches(
        "[ -<>-~]*",  # printable ASCII without `=`, as since Kubernetes 1.32; older releases permit less
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ),
    "port name": _matches(
        "((?=[0-9-]*[a-z])[a-z0-9]+(-[a-z0-9]+)*)?",
        "must contain only a-z, 0-9 and single hyphens between them, and a letter",
        15,
    ),
    "port": _port,
    "port number": _port_number,
    "count or percent": _count_or_percent,
    "count or part": _count_or_part,
    "absolute path": _matches("/.*|", "must be an absolute path"),
    "relative path": _matches(r"(?!/|\.\./).*", "must be a relative path, without '..'"),
    "https address": _https_address,
    "common name": _matches("(?s:.*)", "", 64),
    "path segment": _matches("[^/]*", "may not contain '/'"),
    "domain-prefixed path": _matches("[^/]+/.+|", 'must be a domain-prefixed path (such as "acme.io/foo")'),
    "ip": _address(ipaddress.ip_address, "must be a valid IP address"),
    "cidr": _address(_cidr, "must be a valid CIDR value"),
    "time zone": _time_zone,
    "duration": _duration,
    "one entry": lambda value: "more than one" if isinstance(value, dict) and len(value) > 1 else "",
    "nothing": lambda value: "may not be set",
}
