"""The lines of an ApplicationSet that end an error, where the set and Argo CD's projects show them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from argolint import Edit, Fix, Fleet, Object
from argolint.redaction import excerpt
from argolint.values import dig, enumerated, items
from argolint.values.knowledge import dump, load

from ..shared.messages import catalogue
from ._lacking import NO_KEY

_OF_PATH = ("path", "basename", "basenameNormalized", "segments", "filename", "filenameNormalized")
"""Fields of `.path` (applicationset/generators/git.go); the last two only of files."""


def edit_fix(
    fleet: Fleet, raw: Object, generators: Sequence[tuple[str, Object]], where: str, message: str
) -> Fix | None:
    """The fix with its lines, if they are known."""
    found = catalogue().match(message, "generate")
    what = str(found.facts.get("what") or "") if found else ""
    name = found.entry.name if found else ""
    if name == "project":
        return _near_project_fix(fleet, raw, where, what)
    return _parameter_fix(generators, where, message) if name == "parameter" else None


def _near_project_fix(fleet: Fleet, raw: Object, where: str, absent: str) -> Fix | None:
    near = get_close_matches(absent, sorted(fleet.projects), 1, 0.75)
    if not near or dig(raw, "spec", "template", "spec", "project") != absent:
        return None
    lines = dump([{"spec": {"template": {"spec": {"project": near[0]}}}}])
    return Fix(f"Name project {near[0]}, which exists, in the template", "application", where, Edit("yaml", lines))


def _parameter_fix(generators: Sequence[tuple[str, Object]], where: str, message: str) -> Fix | None:
    """The parameter of the only generator that is meant; else the line that makes the generator give it."""
    found = NO_KEY.search(message)
    if found is None or len(generators) != 1:
        return None
    (kind, body), path = generators[0], found["path"].split(".")
    if path[0] == "path" and kind == "git":
        near = get_close_matches(path[-1], _OF_PATH, 1, 0.75)
        title = (
            f"Write .path.{near[0]}, which the generator gives, for .{found['path']}" if near and len(path) == 2 else ""
        )
        return (
            Fix(title, "application", where, Edit("text", f"spec.template: {{{{.path.{near[0]}}}}}")) if title else None
        )
    givers = load(__package__, "generator_parameters.yaml").get(path[0])
    if len(path) > 1 or givers or kind not in _GIVE_VALUES or items(body, "files"):
        return None
    key = excerpt(path[0], 60)
    gives = enumerated([f".{name}" for name, kinds in _parameters() if kind in kinds], "parameter", 4)
    return Fix(
        f"Let the generator give {key} by its values, and read it as .values.{key}",
        "application",
        where,
        Edit("yaml", dump([{"spec": {"generators": [{kind: {"values": {key: "VALUE"}}}]}}])),
        caveat=f"it has one value for all of them, or one made of what the generator gives: {gives}",
    )


_GIVE_VALUES = ("git", "clusters", "scmProvider", "pullRequest")
"""Generators with `values` (pkg/apis/application/v1alpha1/applicationset_types.go)."""


def _parameters() -> list[tuple[str, Sequence[str]]]:
    return [(str(name), kinds) for name, kinds in load(__package__, "generator_parameters.yaml").items()]
