"""Who claims which object, as a Mermaid picture: https://mermaid.js.org/syntax/flowchart.html. GitHub and GitLab draw it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from argolint.reports.document import Finding
from argolint.reports.formats import app_name, resource_name

MAX_EDGES = 30
"""A picture of more than this is not read."""
_CLAIMS = {"owner": "owns", "claimant": "claims"}
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ./:_-]")
_LONGEST = 120


def picture(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The lines of a flow chart: applications, and the objects that two or more of them claim. Empty when there are none."""
    edges = tuple(dict.fromkeys(edge for finding in findings for edge in _edges(finding)))
    if not edges:
        return ()
    names = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(n for e in edges for n in (e[0], e[2])))}
    objects = {object_ for _, _, object_ in edges}
    nodes = [f'  {id_}["{_label(n)}"]' if n in objects else f'  {id_}(["{_label(n)}"])' for n, id_ in names.items()]
    shown = [f"  {names[app]} -->|{claim}| {names[object_]}" for app, claim, object_ in edges[:MAX_EDGES]]
    drawn = {word for line in shown for word in line.split()}
    return ("flowchart LR", *(n for n in nodes if n.split("[")[0].split("(")[0].strip() in drawn), *shown)


def _edges(finding: Finding) -> Iterator[tuple[str, str, str]]:
    """(application, what it does, object), when another application than the finding's own has to do with its object."""
    object_ = finding.resource
    if object_ is None:
        return
    others = [r for r in finding.related if r.role in _CLAIMS and r.app != finding.app and r.resource == object_]
    for related in others:
        yield app_name(related.app), _CLAIMS[related.role], resource_name(object_)
    if others:
        yield app_name(finding.app), "claims", resource_name(object_)


def _label(name: str) -> str:
    """Nothing that Mermaid or HTML would take for more than a letter."""
    return _NOT_PLAIN.sub("?", name)[:_LONGEST]
