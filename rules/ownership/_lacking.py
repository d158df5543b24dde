"""What an ApplicationSet lacks: elements or clusters a parameter that its template reads, the template a namespace, its controller a right or another look."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from argolint import Edit, Fleet, Object
from argolint.application.permissions import permits_destination
from argolint.redaction import excerpt
from argolint.values import dig, enumerated, mapping, maps, sh, text_at
from argolint.values.knowledge import dump
from argolint.values.patterns import regex

from ._application_sets import element_name, selected_clusters

NO_KEY = regex(r'at <\.(?P<path>[\w.-]{1,300})>: map has no entry for key "(?P<key>[^"]{1,200})"')
Given = Sequence[tuple[str, Object]]
"""What a generator gives: parameters, each with the name of its element or cluster."""


@dataclass(frozen=True)
class Lack:
    """A clause on who lacks what, what ends that, and where; or the lines that the set then has."""

    says: str
    remedy: str
    place: str
    lines: str = ""
    command: str = ""

    def edit(self) -> Edit:
        if self.command:
            return Edit("command", self.command)
        return Edit("yaml", self.lines) if self.lines else Edit("text", self.place)


_NOWHERE = regex(
    r"destination (?:\{\S{0,300} \} is not permitted|server '[^']{0,300}' and namespace '' do not match any of the allowed destinations)"
    r" in project '(?P<project>[^']{1,253})'"
)
"""The refusal of a destination without a namespace (util/argo/argo.go, ValidatePermissions; the first wording before 2.8)."""


def placeless_template(fleet: Fleet, raw: Object, message: str) -> Lack | None:
    """A template without a destination namespace, whose project permits only named ones; else None."""
    found = _NOWHERE.search(message)
    project = fleet.projects.get(found["project"]) if found else None
    if found is None or project is None or dig(raw, "spec", "template", "spec", "destination", "namespace"):
        return None
    permitted = sorted({text_at(d, "namespace") for d in maps(project, "spec", "destinations")} - {""})
    if not permitted or any(name.startswith("!") for name in permitted):
        return None
    names = enumerated([excerpt(name, 63) for name in permitted])
    only = len(permitted) == 1 and "*" not in names
    return Lack(
        f'it names no namespace of project "{found["project"]}"',
        f"Give the template a destination namespace{'' if only else ', one'} that the project permits: {names}",
        f"spec.template.spec.destination.namespace: one that project {found['project']} permits ({names})",
        dump([{"spec": {"template": {"spec": {"destination": {"namespace": permitted[0]}}}}}]) if only else "",
    )


_REFUSED = regex(
    r"destination (?:\{(?P<at>\S{1,300}) (?P<in>\S{1,63})\} is not permitted|"
    r"server '(?P<server>[^']{1,300})' and namespace '(?P<space>[^']{1,63})' do not match any of the allowed destinations)"
    r" in project '(?P<project>[^']{1,253})'"
)
_NO_PROJECT = regex(r"references project (?P<project>\S{1,253}) which does not exist")
_NEVER_AGAIN = frozenset({"clusters", "list", "matrix", "merge"})
"""Generators that wait for an event: their set is not looked at again by the clock (applicationset/generators, GetRequeueAfter)."""


def outdated_refusal(fleet: Fleet, raw: Object, generators: Sequence[tuple[str, Object]], message: str) -> Lack | None:
    """A refusal by a project that accepts the Application by now: before 2.8 a change of a project made no set look again (fixed in 2.8.2)."""
    if not fleet.is_older(2, 8) or not generators or not _NEVER_AGAIN.issuperset(kind for kind, _ in generators):
        return None
    refused, absent = _REFUSED.search(message), _NO_PROJECT.search(message)
    found = refused or absent
    project = fleet.projects.get(found["project"]) if found else None
    if found is None or project is None:
        return None
    to = (
        {"server": refused["at"] or refused["server"], "namespace": refused["in"] or refused["space"]}
        if refused
        else {}
    )
    if refused and not permits_destination(project, {"destination": to}, fleet):
        return None
    name, space = text_at(raw, "metadata", "name"), text_at(raw, "metadata", "namespace") or "argocd"
    return Lack(
        f'it missed that project "{excerpt(found["project"], 63)}" {"permits it" if refused else "exists"}',
        "Make the controller look again: this release does not when a project changes",
        "",
        command=f"kubectl -n {sh(space)} annotate applicationset {sh(name)} argocd.argoproj.io/application-set-refresh=true --overwrite",
    )


_FINALIZERS = regex(
    r"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
)


def missing_right(raw: Object, message: str) -> Lack | None:
    """A right on the set itself, which a cluster that checks owner references wants of who makes an owned Application; else None."""
    if not _FINALIZERS.search(message):
        return None
    space = text_at(raw, "metadata", "namespace")
    where = f"in namespace {space}" if space else "in its namespace"
    return Lack(
        "its controller lacks update on applicationsets/finalizers",
        f"Grant the ApplicationSet controller update on applicationsets/finalizers {where}",
        "",
        dump(
            [
                {
                    "rules": [
                        {"apiGroups": ["argoproj.io"], "resources": ["applicationsets/finalizers"], "verbs": ["update"]}
                    ]
                }
            ]
        ),
    )


def lack_of(fleet: Fleet, generators: Sequence[tuple[str, Object]], message: str) -> Lack | None:
    """Who lacks the parameter, if the same generator gives it to others, or the set has no other generator; else None."""
    found = NO_KEY.search(message)
    path = found["path"].split(".") if found else []
    if found is None or found["key"] not in path:
        return None
    missing = path[: path.index(found["key"]) + 1]
    for kind, body in generators:
        given = _given(fleet, kind, body)
        lacking = [(name, each) for name, each in given if dig(each, *missing) is None]
        if lacking and (len(lacking) < len(given) or len(generators) == 1):
            return (_of_list if kind == "list" else _of_clusters)(lacking, path)
    return None


def _given(fleet: Fleet, kind: str, body: Object) -> Given:
    if body.get("elementsYaml") or body.get("flatList"):
        return ()
    if kind == "list":
        return [(element_name(each, number), each) for number, each in enumerate(maps(body, "elements"))]
    return [*selected_clusters(fleet, body)] if kind == "clusters" else ()


def _of_list(lacking: Given, path: Sequence[str]) -> Lack:
    several, key = len(lacking) > 1, ".".join(path)
    names = f"element{'s' if several else ''} {enumerated([repr(excerpt(name, 40)) for name, _ in lacking])}"
    has = [*map(str, mapping(lacking[0][1], *path[:-1]))]
    near = [] if several else difflib.get_close_matches(path[-1], has, 1, 0.75)
    remedy = f"Rename {excerpt(near[0], 40)} to {path[-1]} in {names}" if near else f"Give {key} to {names}"
    place = (
        f"spec.generators, list.elements: each element needs {key}, or the template must do without it (dig, hasKey)"
    )
    return Lack(f"{names} of its list lack{'' if several else 's'} {key}", remedy, place)


def _of_clusters(lacking: Given, path: Sequence[str]) -> Lack:
    several, names = len(lacking) > 1, enumerated([excerpt(name, 40) for name, _ in lacking])
    sort = path[1].removesuffix("s") if path[0] == "metadata" and len(path) > 2 else ""
    what = f"{sort} {'.'.join(path[2:])}" if sort else ".".join(path)
    place = (
        f"metadata.{path[1]} of the cluster's Secret of Argo CD: {path[-1]}"
        if sort
        else "spec.generators, clusters.values"
    )
    return Lack(
        f"cluster{'s' if several else ''} {names} lack{'' if several else 's'} {what}",
        f"Give {names} {what}, or leave {'them' if several else 'it'} out with the generator's selector",
        f"{place}; a selector reads labels of such Secrets, and leaves out a local cluster without one",
    )
