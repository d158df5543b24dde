"""A rule of a role names a resource under a wrong API group

What it finds: a Role or ClusterRole that a sync brings, with a rule whose resource belongs to another of Kubernetes' API groups than the rule names; and no rule of the role has the right one.

Why it hurts: the API server takes the rule, and it grants nothing. The controller or job that needs it is refused at run time.

How to fix: name the group of the resource.

Example: `apiGroups: [""]` with `resources: [deployments]`, which belong to `apps`.

Not reported: rules that also name a group which Kubernetes does not have, or `extensions`, which charts keep for old clusters.

Sources: api_resources.yaml; kubernetes.io, Using RBAC Authorization.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from argolint import App, Finding, Fleet, Location, Object, Rank, Resource, Rule
from argolint.edits import manifest_patch
from argolint.redaction import excerpt
from argolint.values import items, maps
from argolint.values.knowledge import load

_KINDS = ("Role", "ClusterRole")


class _Misplaced(NamedTuple):
    """A resource that a rule names under groups that do not have it."""

    rule: int
    place: int
    resource: str
    group: str


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each role."""
    for kind in _KINDS:
        for role in app.of_kind(kind, "rbac.authorization.k8s.io"):
            if role.status == "OutOfSync" and not role.requires_pruning:
                known = {one.resource for one in _misplaced(role.live)}
                new = [one for one in _misplaced(role.desired) if one.resource not in known]
                if new:
                    yield _finding(app, role, new)


def _misplaced(obj: Object | None) -> list[_Misplaced]:
    """The resources that no rule of the role grants, since their rules name other groups."""
    rules = maps(obj, "rules")
    granted = {
        (group, _plain(resource)) for rule in rules for group in _groups(rule) for resource in items(rule, "resources")
    }
    found = []
    for number, rule in enumerate(rules):
        groups = _groups(rule)
        if not groups or not all(group in _resources() for group in groups):
            continue
        for place, resource in enumerate(items(rule, "resources")):
            name = _plain(resource)
            of = _groups_of().get(name, ())
            reached = any((group, what) in granted for group in (*of, "*") for what in (name, "*"))
            if of and not set(of) & set(groups) and not reached:
                found.append(_Misplaced(number, place, str(resource), of[0]))
    return found


def _groups(rule: Object) -> list[str]:
    return [str(group) for group in items(rule, "apiGroups")]


def _plain(resource: object) -> str:
    """The resource without its subresource."""
    return str(resource).partition("/")[0]


@cache
def _resources() -> Mapping[str, list[str]]:
    found: Mapping[str, list[str]] = load(__package__, "api_resources.yaml")
    return found


@cache
def _groups_of() -> Mapping[str, tuple[str, ...]]:
    names = {name for some in _resources().values() for name in some}
    return {name: tuple(group for group, some in _resources().items() if name in some) for name in names}


def _finding(app: App, role: Resource, found: list[_Misplaced]) -> Finding:
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    groups = ", ".join(dict.fromkeys(f'"{one.group}"' for one in found))
    return Finding(
        message=f"{role.id} grants nothing on {excerpt(first.resource, 60)}{more}: the API group is {groups}, which its rule does not name.",
        at=Location(app.ref, role.id, f"/rules/{first.rule}/resources/{first.place}"),
        confidence="proven",
        evidence=tuple(f'{excerpt(one.resource, 60)} belongs to "{one.group}"' for one in found[:8]),
        fixes=(
            manifest_patch(
                role.id,
                "Name the API group of the resource",
                [
                    {"op": "add", "path": f"/rules/{number}/apiGroups/-", "value": group}
                    for number, group in dict.fromkeys((one.rule, one.group) for one in found)
                ],
                "holders of the role may then do what the rule says",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
