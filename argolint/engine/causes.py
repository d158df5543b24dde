"""Resolves `follows` of the findings to `caused_by`, over all applications.

A finding has at most one direct cause: the first of its `follows` that another finding explains, else the common cause whose key it shares
with a second finding. A cycle is cut at its worst finding, the first of these in the report's order.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from argolint.model import SEVERITIES, AppRef, Finding, Follows, Symptom
from argolint.model.fingerprint import Identity, identity
from argolint.model.results import Causes, apps_of


def with_causes(findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], Causes]:
    """The same findings, in the same order, with their causes."""
    followers = [index for index, finding in enumerate(findings) if finding.follows]
    if not followers:
        return tuple(findings), Causes()
    marks = [identity(finding) for finding in findings]
    known = _FindingIndex(findings, marks)
    parents: dict[int, int] = {}
    mended: dict[int, int] = {}
    shared: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for index in followers:
        for origin in findings[index].follows:
            if origin.key:
                shared[findings[index].at.app.server, origin.key].append((index, origin.title))
                break
            parent = known.worst_cause(origin, index)
            if parent is not None:
                parents[index] = parent
                mended |= {index: parent} if origin.mended else {}
                break
    _cut_cycles(parents, findings)
    causes = {index: marks[parent] for index, parent in parents.items()}
    titles = {marks[parent]: findings[parent].message for parent in parents.values()}
    for (server, key), group in shared.items():
        if len({marks[index] for index, _ in group}) > 1:
            mark = server, hashlib.sha256(f"cause\0{key}".encode()).hexdigest()[:32]
            titles[mark] = group[0][1]
            causes |= {index: mark for index, _ in group}
    explained = (replace(f, caused_by=causes[i][1]) if i in causes else f for i, f in enumerate(findings))
    ends = {i: fixes for i, at in mended.items() if (fixes := findings[at].fixes)}
    explained = (replace(f, fixes=ends.get(i, f.fixes)) for i, f in enumerate(explained))
    return tuple(explained), Causes({marks[i]: cause for i, cause in causes.items()}, titles)


class _FindingIndex:
    """An index of findings by the symptoms that they explain and the objects that they are about."""

    def __init__(self, findings: Sequence[Finding], marks: Sequence[Identity]) -> None:
        self._findings = findings
        self._marks = marks
        self._explained: dict[object, list[tuple[int, Symptom]]] = defaultdict(list)
        self._about: dict[object, list[int]] = defaultdict(list)
        for index, finding in enumerate(findings):
            apps = apps_of(finding)
            for claim in finding.explains:
                for place in _places(claim, apps):
                    self._explained[claim.kind, place].append((index, claim))
            self._about[finding.at.app].append(index)
            if finding.at.resource is not None:
                for server in {app.server for app in apps}:
                    self._about[finding.rule, server, finding.at.resource.key].append(index)

    def worst_cause(self, origin: Follows, follower: int) -> int | None:
        """The worst finding that `origin` names, as a position; None without one. `origin`: one of the follower's `follows`."""
        found = [i for i in self._candidates(origin, follower) if self._marks[i] != self._marks[follower]]
        return min(found, key=lambda i: _severity_order(self._findings[i], i), default=None)

    def _candidates(self, origin: Follows, follower: int) -> Iterator[int]:
        symptom = origin.symptom
        if symptom is not None:
            for place in _places(symptom, apps_of(self._findings[follower])):
                claims = self._explained.get((symptom.kind, place), ())
                yield from (index for index, claim in claims if claim.covers(symptom))
        elif origin.resource is not None:
            server = self._findings[follower].at.app.server
            yield from self._about.get((origin.rule, server, origin.resource), ())
        elif origin.app is not None:
            yield from self._about.get(origin.app, ())


def _places(symptom: Symptom, apps: Collection[AppRef]) -> Collection[object]:
    """Where a symptom shows: its object, keyed by cluster and Argo CD, since each has its own addresses; else the applications."""
    return {(app.server, symptom.resource) for app in apps} if symptom.resource else apps


def _severity_order(finding: Finding, index: int) -> tuple[int, int]:
    return -SEVERITIES.index(finding.severity or "info"), index


def _cut_cycles(parents: dict[int, int], findings: Sequence[Finding]) -> None:
    """Remove the cause of one finding in each cycle, so that every chain ends."""
    done: set[int] = set()
    for start in sorted(parents):
        path: list[int] = []
        here: int | None = start
        while here is not None and here not in done:
            done.add(here)
            path.append(here)
            here = parents.get(here)
        if here is not None and here in path:
            ring = path[path.index(here) :]
            del parents[min(ring, key=lambda i: _severity_order(findings[i], i))]
