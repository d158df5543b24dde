"""The answers of the service, made from one report as bytes that many requests share."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from urllib.parse import unquote

import msgspec

from argolint.quick.records import dataclass
from argolint.reports import formats
from argolint.reports.assemble import summarise
from argolint.reports.document import Counts, Report, ReportedApp, ReportedFinding, to_json
from argolint.reports.formats import Style

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
APPLICATIONS = "/api/v1/applications"
_MANY_BYTES = 1024


@dataclass(frozen=True)
class Document:
    """One answer; `packed`: the gzip of the body, empty if that does not help."""

    content_type: str
    body: bytes
    packed: bytes = b""


def document(content_type: str, body: bytes) -> Document:
    """An answer with its compressed form."""
    return Document(content_type, body, gzip.compress(body, 5, mtime=0) if len(body) > _MANY_BYTES else b"")


class Documents:
    """All answers about one report. The metrics are made at once, others on their first request.

    `apps`: the applications that were looked at; `metrics_before`: the text that these metrics replace.
    """

    def __init__(self, report: Report, apps: Collection[ReportedApp], style: Style, metrics_before: str = "") -> None:
        self.report = report
        self.apps = sorted(apps, key=lambda a: (a.namespace, a.name, a.server))
        self._lock = threading.Lock()
        self._made: dict[str, Document] = {}
        self.metrics = formats.render(
            report, "prometheus", Style(metrics=style.metrics, replaces=metrics_before, verbose=True)
        )
        self._makers: Mapping[str, Callable[[], Document]] = {
            "/metrics": lambda: document(METRICS, self.metrics.encode("utf-8", "replace")),
            "/report.json": lambda: document(JSON, to_json(report)),
            "/report.html": lambda: document(HTML, formats.render(report, "html", Style()).encode("utf-8", "replace")),
            APPLICATIONS: self._applications,
        }

    def at(self, path: str) -> Document | None:
        """The answer at a path; None if there is none."""
        maker = self._makers.get(path)
        if maker is None:
            return self._application(path)
        with self._lock:  # a page of many findings is made once for all requests
            if path not in self._made:
                self._made[path] = maker()
            return self._made[path]

    def _applications(self) -> Document:
        about: dict[ReportedApp, list[ReportedFinding]] = {app: [] for app in self.apps}
        for finding in self.report.findings:
            for app in {finding.app, *(r.app for r in finding.related)} & about.keys():
                about[app].append(finding)
        items = [{"app": app, "findings": _counts(found)} for app, found in about.items()]
        return document(JSON, self._encoded({"applications": items}))

    def _application(self, path: str) -> Document | None:
        """One application: its findings, and others that name it. If several Argo CDs have one of this name, the name of its Argo CD precedes it."""
        parts = [unquote(part) for part in path.removeprefix(APPLICATIONS + "/").split("/")]
        if not path.startswith(APPLICATIONS + "/") or len(parts) not in (2, 3):
            return None
        *server, namespace, name = parts
        urls = {s.url for s in self.report.servers if [s.name] == server}
        named = [a for a in self.apps if (a.namespace, a.name) == (namespace, name)]
        named = [a for a in named if a.server in urls] if server else named
        if len(named) != 1:
            return None
        (app,) = named
        found = [f for f in self.report.findings if app == f.app or any(app == r.app for r in f.related)]
        names = {s.name for s in self.report.servers if s.url == app.server}
        failures = [
            f for f in self.report.failures if f.app == app or (f.app is None and (not f.server or f.server in names))
        ]
        data = {"app": app, "counts": _counts(found), "findings": found, "failures": failures}
        return Document(JSON, self._encoded(data))

    def _encoded(self, data: Mapping[str, object]) -> bytes:
        head = {"started_at": self.report.started_at, "complete": self.report.complete}
        return msgspec.json.format(msgspec.json.encode({**head, **data}), indent=1) + b"\n"


def _counts(findings: Sequence[ReportedFinding]) -> Counts:
    return summarise(findings, 0, apps=0, resources=0).findings
