"""Removes the names of other projects' applications from findings: the reader has a right to one application only.

Argo CD says which application its user may see (`applications, get`), and nothing about others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, cast

import msgspec

from argolint.reports.document import ReportedApp, ReportedFinding, ReportedFix, ReportedRelated
from argolint.values.patterns import regex

_WORD = regex(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_TRACKING = regex(r":[A-Za-z0-9.]*/[A-Za-z]")
"""The text after the name in a tracking id: `name:group/Kind:namespace/name`."""
_QUOTES = frozenset("\"'`")


def stranger(app: ReportedApp) -> str:
    """The placeholder for an application of another project."""
    return f"an application of project {app.project}" if app.project else "an application of another project"


class Others:
    """The applications related to one whose names its readers must not learn."""

    def __init__(self, own: ReportedApp, apps: Iterable[ReportedApp]) -> None:
        self._own = own
        known = frozenset(apps)
        self._ours = frozenset(a.name for a in known if not self.hides(a)) | {own.name}
        self._by_name: dict[str, list[ReportedApp]] = {}
        for app in known:
            if self.hides(app):
                self._by_name.setdefault(app.name, []).append(app)

    def hides(self, app: ReportedApp) -> bool:
        """True for an application of another project, or of another server."""
        return bool(app.name) and (app.server, app.project) != (self._own.server, self._own.project)

    def shown(self, finding: ReportedFinding) -> tuple[ReportedFinding, int]:
        """The finding for its readers, and the number of fixes that were left out because they name another application."""
        if self.hides(finding.app):
            return self._of_another(finding), len(finding.fixes)
        close = {r.app.name: r.app for r in finding.related if self.hides(r.app)}
        text = partial(self._text, close=close, keep=_keep(finding))
        fixes = tuple(f for f in finding.fixes if not _changes(f, text))
        return msgspec.structs.replace(
            finding,
            message=text(finding.message),
            evidence=tuple(map(text, finding.evidence)),
            related=tuple(map(self._related, finding.related)),
            fixes=fixes,
        ), len(finding.fixes) - len(fixes)

    def text(self, text: str) -> str:
        """The text without those names, if they certainly refer to an application."""
        return self._text(text, {}, ())

    def _of_another(self, finding: ReportedFinding) -> ReportedFinding:
        """A finding of another project's application that names this one: its rule, and the part about this one."""
        own = tuple(r for r in finding.related if not self.hides(r.app))
        part = next((r for r in own if r.app == self._own), None)
        role = part.role if part and part.role != "other" else "part"
        return msgspec.structs.replace(
            finding,
            app=self._blank(finding.app),
            message=f"{finding.rule} of {stranger(finding.app)}, in which this application is a {role}.",
            resource=part.resource if part else None,
            pointer=part.pointer if part else "",
            evidence=(),
            related=own,
            fixes=(),
            source=None,
            caused_by=None,
        )

    def _related(self, related: ReportedRelated) -> ReportedRelated:
        return ReportedRelated(self._blank(related.app), related.role) if self.hides(related.app) else related

    def _blank(self, app: ReportedApp) -> ReportedApp:
        return ReportedApp(app.server if app.server == self._own.server else "", "", "", app.project)

    def _text(self, text: str, close: Mapping[str, ReportedApp], keep: Collection[str]) -> str:
        """The text with a word in place of each application of another project.

        `close`: related applications by name, masked at every place. `keep`: namespace/name pairs that stay.
        """
        pieces: list[str] = []
        end, last = 0, cast("re.Match[str] | None", None)
        for word in _WORD.finditer(text):
            joined = last is not None and last.end() + 1 == word.start() and text[last.end()] in "/_"
            before, last = last if joined else None, word
            namespace = before[0] if before else ""
            if word[0] not in self._by_name or f"{namespace}/{word[0]}" in keep:
                continue
            exact = next((a for a in self._by_name[word[0]] if a.namespace == namespace), None)
            app = exact or self._bare(word, close)
            if app is not None:
                start = before.start() if before and exact else word.start()
                pieces += [text[end : max(end, start)], stranger(app)]
                end = word.end()
        return "".join((*pieces, text[end:])) if pieces else text

    def _bare(self, word: re.Match[str], close: Mapping[str, ReportedApp]) -> ReportedApp | None:
        """The application that a name without namespace refers to: a related one, or any if the text calls it an application."""
        if word[0] in self._ours:
            return None
        around = word.string[max(0, word.start() - 1) : word.start()], word.string[word.end() : word.end() + 1]
        sure = _QUOTES.issuperset(around) or _TRACKING.match(word.string, word.end())
        return close.get(word[0]) or (self._by_name[word[0]][0] if sure else None)


def _keep(finding: ReportedFinding) -> frozenset[str]:
    """The finding's own object, which its readers see anyway, though an application may have the same name."""
    own = finding.resource
    return frozenset({f"{own.namespace}/{own.name}"} if own else ())


def _changes(fix: ReportedFix, text: Any) -> bool:
    """True if a fix names a masked application: without the name it would not work."""
    return any(text(part) != part for part in _strings(msgspec.to_builtins(fix)))


def _strings(node: Any) -> Iterable[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(key)
            yield from _strings(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _strings(value)
