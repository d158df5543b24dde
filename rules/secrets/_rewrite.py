"""The results of an ExternalSecret's rewrite for keys, by the rules of Go's regexp.

`$name` in a target takes the longest run of letters, digits and underscores: `$1_URL` names a group "1_URL". A group that the source does not
have is empty, so the key loses its name. `${1}_URL` names group 1.

Sources: Go regexp, Regexp.Expand; external-secrets runtime/esutils/utils.go (RewriteMap).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from argolint import Edit, Fix, Json, Object, ResourceId
from argolint.values import items, mapping, text_at
from argolint.values.patterns import regex

_REFERENCE = regex(r"\$(?:\$|\{(?P<braced>\w{1,100})\}|(?P<bare>\w{1,100}))", re.ASCII)
_GROUP = regex(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<(?P<name>\w{1,100})>", re.DOTALL)


@dataclass(frozen=True)
class LostGroup:
    """A target with a group that its source does not have; `corrected` uses the probable group, if there is one."""

    pointer: str
    target: str
    group: str
    corrected: str

    @property
    def says(self) -> str:
        return f'"{self.target}" of its rewrite reads group "{self.group}", which the source does not have'


def lost_groups(manifest: Object | None) -> Iterator[LostGroup]:
    """Each regexp rewrite of spec.dataFrom whose target uses no group of its source."""
    for index, entry in enumerate(items(manifest, "spec", "dataFrom")):
        for number, rewrite in enumerate(items(entry, "rewrite")):
            regexp = mapping(rewrite, "regexp")
            source, target = text_at(regexp, "source"), text_at(regexp, "target")
            known = _group_names(source)
            missing = [name for name in _referenced_groups(target) if name not in known]
            if missing:
                pointer = f"/spec/dataFrom/{index}/rewrite/{number}/regexp/target"
                yield LostGroup(pointer, target, missing[0], _with_braces(target, known))


_WHOLE = regex(r"\^?\((?P<any>\.[*+])\)\$?")
_FORM = regex(r"(?P<before>[^$]*)\$(?:\{1\}|1(?![0-9A-Za-z_]))(?P<behind>[^$]*)")


def may_rewrite_to(entry: Json, key: str) -> bool:
    """Whether the rewrites may turn a key of the provider into this one; without a known form any key is possible."""
    form = rewrite_affixes(entry)
    return form is None or (
        len(key) > len(form[0]) + len(form[1]) and key.startswith(form[0]) and key.endswith(form[1])
    )


def rewrite_affixes(entry: Json) -> tuple[str, str] | None:
    """The prefix and suffix that the last rewrite of a dataFrom entry adds to each whole key; None if that is unknown."""
    last = mapping(next(iter(items(entry, "rewrite")[-1:]), None), "regexp")
    form = _FORM.fullmatch(text_at(last, "target")) if _WHOLE.fullmatch(text_at(last, "source")) else None
    return (form["before"], form["behind"]) if form is not None and form["before"] + form["behind"] else None


def braces_fix(lost: LostGroup, where: str, resource: ResourceId | None = None) -> Fix:
    """The edit with the probable group; a text about the correction if that is uncertain."""
    if lost.corrected:
        edit = Edit("json-patch", [{"op": "replace", "path": lost.pointer, "value": lost.corrected}])
        return Fix(
            f'Write "{lost.corrected}", whose braces end the name of the group',
            "manifest",
            where,
            edit,
            resource=resource,
        )
    text = f"{lost.pointer}: `${{1}}` is the first pair of parentheses in `source`, `${{name}}` one that begins with `(?P<name>`; give the source the group that the target reads."
    return Fix(
        f'Read a group that the source has in place of "{lost.group}"',
        "manifest",
        where,
        Edit("text", text),
        resource=resource,
    )


def _group_names(source: str) -> frozenset[str]:
    """Numbers and names of its groups; 0 is the whole match."""
    named = [found["name"] for found in _GROUP.finditer(source) if found[0].startswith("(")]
    return frozenset({*map(str, range(len(named) + 1)), *(name for name in named if name)})


def _referenced_groups(target: str) -> Iterator[str]:
    for found in _REFERENCE.finditer(target):
        if name := found["braced"] or found["bare"]:
            yield name


def _with_braces(target: str, known: frozenset[str]) -> str:
    """Braces around the longest known group at the beginning of the name; empty if there is none."""

    def braced(found: re.Match[str]) -> str:
        name = found["bare"] or ""
        meant = max((group for group in known if name.startswith(group)), key=len, default="")
        return f"${{{meant}}}{name.removeprefix(meant)}" if meant and name not in known else found[0]

    mended = _REFERENCE.sub(braced, target)
    return mended if all(name in known for name in _referenced_groups(mended)) else ""
