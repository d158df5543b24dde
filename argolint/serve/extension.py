"""Answers Argo CD's own UI: the findings of one application, for a user with the right to see that application.

argocd-server's proxy extension (server/extension/extension.go) checks `applications, get` and `extensions, invoke` of the user and sends
Argocd-Application-Name and Argocd-Project-Name. Other clients could send them, too, so the bearer token is required, and the application is
read from the headers only. A request of the proxy can reach only this address of the service.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections.abc import Mapping
from email.message import Message
from typing import Any

import msgspec

from argolint.reports.causes import identity, with_causes, worst_first
from argolint.reports.document import ReportedApp, ReportedFailure, ReportedFinding, counted, plain_data
from argolint.serve.documents import JSON, Document, Documents, document
from argolint.serve.other_projects import Others
from argolint.values import shorten
from argolint.values.patterns import regex

PATH = "/api/v1/application"
MOST_FINDINGS = 100
MOST_BYTES = 256_000
_MOST_FAILURES = 10
_MOST_LINES, _MOST_FIXES = 20, 5
"""Most lines of evidence and related objects of one finding; most fixes."""
_FRAME_BYTES = 4_000
"""Bytes of the answer other than findings and failures."""
_TEXT, _LONG_TEXT = 1_000, 8_000
"""Most characters of a text, and of a text to paste."""
_APP, _PROJECT = "Argocd-Application-Name", "Argocd-Project-Name"
_NAME = regex(r"([a-z0-9][a-z0-9.-]{0,252}):([a-z0-9][a-z0-9.-]{0,252})", re.ASCII)
_UNKNOWN = "argolint has not looked at this application"

Answer = tuple[int, Document, Mapping[str, str]]
"""HTTP status, body, further headers."""


class Extension:
    """Answers requests of Argo CD's proxy. Without a `token` it answers none.

    `server`: the address of the Argo CD whose proxy has the token, if several are checked: its users must not see the others.
    """

    def __init__(self, token: str = "", *, show_other_projects: bool = False, server: str = "") -> None:
        self._token = token
        self._server = server
        self._show_others = show_other_projects
        self._lock = threading.Lock()
        self._index: _Index | None = None

    def claims(self, path: str, headers: Message) -> bool:
        """True for a request to the extension: by its path, its token, or headers of Argo CD's proxy, whatever it requests."""
        return path == PATH or headers.get(_APP) is not None or self._is_allowed(headers)

    def answer(self, path: str, headers: Message, documents: Documents, *, ready: bool) -> Answer:
        """The answer to a request of the extension."""
        if not self._token:
            return _refused(404, "this argolint serves no UI extension: start it with --extension-token-file")
        if not self._is_allowed(headers):
            return _refused(
                401, "Argo CD sent no valid token to argolint", {"WWW-Authenticate": 'Bearer realm="argolint"'}
            )
        if path != PATH:
            return _refused(404, "not found")
        names, projects = headers.get_all(_APP, []), headers.get_all(_PROJECT, [])
        name = _NAME.fullmatch(names[0]) if len(names) == 1 else None
        if name is None or len(projects) != 1 or not projects[0]:
            return _refused(400, f"{_APP} must be NAMESPACE:NAME and {_PROJECT} a project, once each")
        if not ready:
            return _refused(503, "no check has succeeded yet", {"Retry-After": "30"})
        index = self._current(documents)
        about = [a for a in index.named.get((name[1], name[2]), ()) if a.project == projects[0]]
        if self._server:
            about = [a for a in about if a.server == self._server]
        if len(about) != 1:
            return _refused(404, _UNKNOWN)
        return 200, document(JSON, self._body(about[0], index)), {}

    def _is_allowed(self, headers: Message) -> bool:
        scheme, _, given = (headers.get("Authorization") or "").partition(" ")
        return (
            bool(self._token)
            and scheme.lower() == "bearer"
            and hmac.compare_digest(given.strip().encode(), self._token.encode())
        )

    def _current(self, documents: Documents) -> _Index:
        with self._lock:
            if self._index is None or self._index.documents is not documents:
                self._index = _Index(documents)
            return self._index

    def _body(self, app: ReportedApp, index: _Index) -> bytes:
        report = index.documents.report
        found = [report.findings[n] for n in index.about.get(app, ())]
        active = [f for f in found if f.suppressed is None]
        here = {f.fingerprint for f in active}
        faults = [f for f in active if f.caused_by not in here]
        others = Others(app, () if self._show_others else index.documents.apps)
        failures = [self._failure(f, others) for f in report.failures if f.app == app][:_MOST_FAILURES]
        rows: list[msgspec.Raw] = []
        room = MOST_BYTES - len(msgspec.json.encode(failures)) - _FRAME_BYTES
        for finding in active[:MOST_FINDINGS]:
            row = msgspec.Raw(msgspec.json.encode(self._row(finding, others)))
            room -= len(bytes(row)) + 1
            if room < 0:
                break
            rows.append(row)
        return msgspec.json.encode(
            {
                "schema_version": report.schema_version,
                "app": app,
                "checked_at": report.started_at,
                "complete": report.complete,
                "counts": counted(active),
                "faults": counted(faults),
                "suppressed": len(found) - len(active),
                "left_out": len(active) - len(rows),
                "findings": rows,
                "failures": failures,
            }
        )

    def _row(self, finding: ReportedFinding, others: Others) -> dict[str, Any]:
        least = msgspec.structs.replace(
            finding, evidence=finding.evidence[:_MOST_LINES], fixes=finding.fixes[:_MOST_FIXES]
        )
        shown, hidden = (least, 0) if self._show_others else others.shown(least)
        data = plain_data(msgspec.structs.replace(shown, related=shown.related[:_MOST_LINES]))
        return {**_cut(data, _TEXT), "fixes_hidden": hidden}

    def _failure(self, failure: ReportedFailure, others: Others) -> dict[str, Any]:
        text = (lambda t: t) if self._show_others else others.text
        cleaned = msgspec.structs.replace(failure, error=text(failure.error), hint=text(failure.hint))
        return dict(_cut(plain_data(cleaned), _TEXT))


class _Index:
    """The findings by application, computed once per report."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.named: dict[tuple[str, str], list[ReportedApp]] = {}
        for app in documents.apps:
            self.named.setdefault((app.namespace, app.name), []).append(app)
        self.about: dict[ReportedApp, list[int]] = {}
        ordered = {identity(f): n for n, f in enumerate(worst_first(with_causes(documents.report)))}
        every = enumerate(documents.report.findings)
        for number, finding in sorted(every, key=lambda one: ordered.get(identity(one[1]), len(ordered))):
            for app in {finding.app, *(r.app for r in finding.related)}:
                self.about.setdefault(app, []).append(number)


def _cut(node: Any, most: int) -> Any:
    if isinstance(node, str):
        return shorten(node, most)
    if isinstance(node, dict):
        if "edit" in node:  # a cut fix would not work
            content = node["edit"]["content"]
            size = len(content) if isinstance(content, str) else len(msgspec.json.encode(content))
            edit = node["edit"] if size <= _LONG_TEXT else {"kind": "text", "content": "too long to be shown here"}
            return {**{k: _cut(v, most) for k, v in node.items()}, "edit": edit}
        return {key: _cut(value, most) for key, value in node.items()}
    return [_cut(value, most) for value in node] if isinstance(node, list | tuple) else node


def _refused(status: int, error: str, headers: Mapping[str, str] | None = None) -> Answer:
    return status, document(JSON, msgspec.json.encode({"error": error}) + b"\n"), headers or {}
