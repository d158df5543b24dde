"""What Argo CD cannot read in a line of an RBAC policy, and what it reads but can never match.

Source: util/rbac/rbac.go of Argo CD (loadPolicyLine, PolicyCSV, Resources, Actions), assets/model.conf; encoding/csv of Go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from argolint import Json
from argolint.redaction import excerpt
from argolint.values.patterns import regex

RESOURCES = (
    *("accounts", "applications", "applicationsets", "certificates", "clusters", "exec", "extensions", "gpgkeys"),
    *("logs", "projects", "repositories", "write-repositories"),
)
_IN_PROJECT = ("applications", "applicationsets", "logs", "exec")
"""Resources whose object is `PROJECT/NAME`, perhaps with a namespace between."""
_ACTIONS = ("get", "create", "update", "delete", "sync", "override", "rollback", "action", "invoke")
_EFFECTS = ("allow", "deny")
_SIZES = {"p": 6, "g": 3}
_MOST_LINES = 5000
"""Most lines of one policy that are looked at."""


class LineFault(NamedTuple):
    """A line's number from 1, what is wrong with it, the line that is meant (empty if it is not plain), and whether the whole policy is refused by it."""

    number: int
    says: str
    meant: str
    stops: bool


def policy_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a policy that count, each with its number."""
    for number, line in enumerate(text.split("\n", _MOST_LINES)[:_MOST_LINES], 1):
        if (stripped := line.strip()) and not stripped.startswith("#"):
            yield number, stripped


def policy_keys(data: Mapping[str, Json]) -> Sequence[str]:
    """The keys of argocd-rbac-cm that hold lines."""
    return [key for key in data if key.startswith("policy.") and key.endswith(".csv") and isinstance(data[key], str)]


def line_faults(text: str, *, by_pattern: bool = False) -> Iterator[LineFault]:
    """What is wrong with the lines of a policy; `by_pattern`: whether its values are regular expressions, which are not judged."""
    for number, line in policy_lines(text):
        found = _fields(line)
        if found is None or not found[0] or found[0] not in _SIZES or len(found) != _SIZES[found[0]]:
            yield LineFault(number, _why_unread(found), _completed(found), stops=True)
        elif found[0] == "p" and not by_pattern:
            yield from _never_matches(number, found)


def _why_unread(found: Sequence[str] | None) -> str:
    if found is None:
        return "a quote that is not closed, or inside of a value"
    if found[0] not in _SIZES:
        return f'"{excerpt(found[0], 20)}" where p or g begins a line'
    return f"{len(found)} fields where {found[0]} takes {_SIZES[found[0]]}"


def _completed(found: Sequence[str] | None) -> str:
    """The line with the effect that it lacks."""
    if found and found[0] == "p" and len(found) == 5 and found[-1] not in _EFFECTS:
        return ", ".join((*found, "allow"))
    return ""


def _never_matches(number: int, found: Sequence[str]) -> Iterator[LineFault]:
    resource, action, obj, effect = found[2:]
    for value in found:
        if value != value.rstrip():
            meant = ", ".join(one.rstrip() for one in found)
            yield LineFault(number, f'a space behind "{excerpt(value.rstrip(), 40)}", which counts', meant, stops=False)
            return
    if not _is_glob(resource) and resource not in RESOURCES:
        near = get_close_matches(resource[:40], RESOURCES, 1, cutoff=0.8)
        if near:
            yield _other(number, found, 2, near[0], f'"{excerpt(resource, 40)}" is no resource')
            return
    if not _is_glob(action) and action.partition("/")[0] not in _ACTIONS:
        near = get_close_matches(action[:40], _ACTIONS, 1, cutoff=0.7)
        yield _other(number, found, 3, near[0] if near else "", f'"{excerpt(action, 40)}" is no action')
    elif resource in _IN_PROJECT and "/" not in obj and not _is_glob(obj):
        yield _other(number, found, 4, f"{obj}/*", f'"{excerpt(obj, 40)}" is no PROJECT/NAME')
    elif effect not in _EFFECTS:
        near = get_close_matches(effect[:40].lower(), _EFFECTS, 1, cutoff=0.7)
        yield _other(number, found, 5, near[0] if near else "", f'"{excerpt(effect, 40)}" is neither allow nor deny')


def _other(number: int, found: Sequence[str], place: int, meant: str, says: str) -> LineFault:
    line = ", ".join((*found[:place], meant, *found[place + 1 :])) if meant else ""
    return LineFault(number, says, line, stops=False)


def _is_glob(value: str) -> bool:
    return any(character in value for character in "*?[{\\")


def _fields(line: str) -> list[str] | None:
    """The fields of a line as Go's CSV reader takes them apart, without spaces before each; None for a quote in a wrong place."""
    found: list[str] = []
    rest = line
    while True:
        rest = rest.lstrip()
        if rest.startswith('"'):
            quoted = _QUOTED.match(rest)
            if quoted is None:
                return None
            found.append(quoted[1].replace('""', '"'))
            rest = rest[quoted.end() :]
            if rest and not rest.startswith(","):
                return None
            value, comma, rest = "", rest[:1], rest[1:]
        else:
            value, comma, rest = rest.partition(",")
            if '"' in value:
                return None
            found.append(value)
        if not comma or len(found) > 20:
            return found


_QUOTED = regex('"((?:[^"]|"")*)"')


def roles_of(texts: Sequence[str]) -> frozenset[str]:
    """The roles that the lines give something, and those that are built in."""
    found = {"role:readonly", "role:admin"}
    for text in texts:
        for _, line in policy_lines(text):
            fields = _fields(line)
            if fields and len(fields) == _SIZES.get(fields[0]):
                found.add(fields[1])
    return frozenset(found)
