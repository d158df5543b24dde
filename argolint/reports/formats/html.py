"""One HTML file that works offline, readable without scripts, with a search over all findings if scripts may run.

The HTML itself has the summary and the worst findings. All findings are in the file as compressed data: an index that the search needs at
once, and details in chunks that the script inflates on demand. The content security policy in the file allows its own script and style by
hash and nothing else, so it makes no network request.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote

import msgspec

from argolint.model import SEVERITIES
from argolint.model.fingerprint import Identity
from argolint.reports.causes import cause_order, identity, with_causes, worst_first
from argolint.reports.document import (
    ADDRESS,
    Point,
    Report,
    ReportedFailure,
    ReportedFinding,
    ReportedFix,
    docs_link,
    page,
)
from argolint.reports.formats import Style, app_name, link_of, resource_name
from argolint.reports.formats.edits import as_text, effects_text, steps_before
from argolint.reports.formats.ending import fine
from argolint.reports.formats.fixes import MASKED, is_masked, why_unverified
from argolint.reports.formats.frames import frame_lines
from argolint.reports.formats.prometheus import server_of
from argolint.reports.formats.table import Row, rows_of
from argolint.reports.ownership.findings import held
from argolint.reports.ownership.graph import parts, picture
from argolint.reports.ownership.svg import svg

MAX_FINDINGS = 20_000
"""The most findings in the file: browsers and proxies refuse larger files. The report counts the others."""
_CHUNK = 500  # the same number as in report.js
_STATIC = 200
_ROOTS = 10
_PICTURES = 20
_GONE = 100
_APPS = 500
_ORDER: dict[str, int] = {severity: -rank for rank, severity in enumerate(SEVERITIES)}
_SHAPES = {"error": "▲", "warning": "◆", "info": "●"}


def render(report: Report, style: Style) -> str:
    """The page of a report."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    css, js = _asset("report.css"), _asset("report.js")
    report = with_causes(report)
    ordered = (*worst_first(report), *(f for f in report.findings if f.suppressed is not None))
    kept = ordered[:MAX_FINDINGS]
    rows = rows_of(report)
    ill = [row for row in rows if row.findings]
    active = [f for f in report.findings if f.suppressed is None]
    new = _new(report)
    environment = Environment(
        loader=PackageLoader("argolint.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(
        "page.html.j2"
    ).render(
        report=report,
        counts=_counts(report),
        shapes=_SHAPES,
        policy=f"default-src 'none'; script-src '{_hash(js)}'; style-src '{_hash(css)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        css=Markup(css),  # noqa: S704  # files of this package
        js=Markup(js),  # noqa: S704  # the same
        failures=[_failure(f) for f in report.failures],
        left_out=len(ordered) - len(kept),
        total=len(kept),
        top=[_static(f) for f in kept[:_STATIC] if f.suppressed is None],
        by_rule=_by_rule(active),
        by_project=_by_project(active),
        fine=fine(report),
        ill=[_application(row) for row in ill[:_APPS]],
        more_ill=len(ill) - len(ill[:_APPS]),
        healthy=[app_name(row.app) for row in rows if not row.findings][:_APPS],
        servers=[
            {"name": s.name or "", "url": s.url, "version": s.version, "page": server_page(s.url)}
            for s in report.servers
        ],
        gate=report.gate or None,
        gone=[_static(f) for f in (report.gate.gone if report.gate else ())[:_GONE]],
        roots=list(_roots(report)),
        trend=report.trend,
        chart=_chart(report.trend),
        pictures=[Markup(svg([picture(part, 40)], alone=False)) for part in parts(held(report.findings))[:_PICTURES]],  # noqa: S704  # svg escapes texts
        index=_packed([_row(f, new=identity(f) in new) for f in kept]),
        chunks=[
            _packed([_detail(f) for f in chunk])
            for chunk in (kept[i : i + _CHUNK] for i in range(0, len(kept), _CHUNK))
        ],
    )


def _asset(name: str) -> str:
    return resources.files("argolint.reports").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(data: Any) -> str:
    return base64.b64encode(zlib.compress(msgspec.json.encode(data), 9)).decode()


def _counts(report: Report) -> str:
    found = report.summary.findings
    words = [
        f"{n} {word}{'' if n == 1 else 's'}" for word in ("error", "warning", "info") if (n := getattr(found, word))
    ]
    return ", ".join(words) or ("nothing found" if report.complete else "nothing found so far")


def _subject(f: ReportedFinding) -> str:
    return " ".join(filter(None, (resource_name(f.resource) if f.resource else "", f.pointer)))


def _cause(f: ReportedFinding) -> str:
    return getattr(f, "caused_by", None) or ""


def _row(f: ReportedFinding, *, new: bool) -> list[Any]:
    """One row of the index, in the order of FIELDS in report.js."""
    at = f.resource
    return [
        f.fingerprint,
        f.rule,
        f.family,
        f.severity,
        f.confidence,
        f.cause or "",
        server_of(f.app),
        f.app.project,
        f.app.namespace,
        f.app.name,
        at.kind if at else "",
        at.namespace if at else "",
        at.name if at else "",
        at.cluster if at else "",
        f.message,
        f.suppressed is not None,
        new,
        f.since or "",
        _cause(f),
        link_of(f),
    ]


def _new(report: Report) -> frozenset[Identity]:
    """The findings that only the newest of several reports or runs has."""
    first = {identity(f) for f in report.findings if f.since == report.started_at}
    earlier = len(report.trend) > 1 or len(first) < len(report.findings)
    return frozenset(first) if earlier else frozenset()


def _detail(f: ReportedFinding) -> dict[str, Any]:
    suppressed = f.suppressed or {}
    return {
        "pointer": f.pointer,
        "flaps": f.flaps,
        "evidence": f.evidence,
        "related": [
            " ".join(
                filter(
                    None, (f"{r.role}: {app_name(r.app)}", resource_name(r.resource) if r.resource else "", r.pointer)
                )
            )
            for r in f.related
        ],
        "fixes": [_fix(fix) for fix in f.fixes],
        "docs": f.docs,
        "argocd": node_page(f),
        "excerpt": list(frame_lines(f, Style(), "")),
        "source": " ".join(
            filter(None, (f.source.repo, f.source.revision, f.source.chart, f.source.path, f.source.file))
        )
        if f.source
        else "",
        "suppressed": " ".join(filter(None, (suppressed.get(key, "") for key in ("by", "where", "reason")))),
    }


def _fix(fix: ReportedFix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "where": fix.where,
        "text": "" if is_masked(fix) else as_text(fix.edit),
        "before": [] if is_masked(fix) else steps_before(fix),
        "caveat": fix.caveat,
        "effects": effects_text(fix),
        "verified": fix.verified is True,
        "unverified": MASKED if is_masked(fix) else why_unverified(fix),
    }


def _static(f: ReportedFinding) -> dict[str, Any]:
    """A finding as static HTML, for browsers without scripts."""
    return {
        "id": link_of(f),
        "severity": f.severity,
        "rule": f.rule + (f"/{f.cause}" if f.cause else ""),
        "app": app_name(f.app),
        "subject": _subject(f),
        "message": f.message,
        "since": f.since,
        "evidence": f.evidence,
        "fixes": [_fix(fix) for fix in f.fixes],
        "docs": docs_link(f),
        "argocd": node_page(f),
        "excerpt": list(frame_lines(f, Style(), "")),
    }


def node_page(f: ReportedFinding) -> str:
    """The page of the object, else of the application, in Argo CD's UI; empty if the server's address is no plain URL."""
    address, at = page(f.app), f.resource
    if not address or at is None:
        return address
    node = "/".join((at.group, at.kind, at.namespace, at.name, "0"))
    return f"{address}?node={quote(node, safe='')}"


def _failure(f: ReportedFailure) -> dict[str, str]:
    what = " ".join(filter(None, (app_name(f.app) if f.app else str(f.server or ""), f.rule, f.stage)))
    return {"what": what, "error": f.error, "hint": f.hint}


def _by_rule(active: Sequence[ReportedFinding]) -> list[tuple[str, str, int]]:
    """Rules with their worst severity and number of findings, the worst first."""
    counts = Counter(f.rule for f in active)
    worst: dict[str, str] = {}
    for f in sorted(active, key=lambda f: _ORDER[f.severity]):
        worst.setdefault(f.rule, f.severity)
    rows = [(rule, worst[rule], n) for rule, n in counts.items()]
    return sorted(rows, key=lambda row: (_ORDER[row[1]], -row[2], row[0]))


def _by_project(active: Sequence[ReportedFinding]) -> list[tuple[str, Counter[str]]]:
    counts: dict[str, Counter[str]] = {}
    for f in active:
        counts.setdefault(f.app.project, Counter())[f.severity] += 1
    return sorted(counts.items(), key=lambda item: (-item[1]["error"], -item[1]["warning"], -item[1]["info"], item[0]))


def _roots(report: Report) -> Iterator[dict[str, Any]]:
    """The first causes that have several findings or are no finding themselves; a link if the cause is a finding."""
    known = {identity(f): f for f in report.findings}
    alone = {f.fingerprint: f for f in report.findings}
    found = [(c, known.get((c.server, c.fingerprint)) if c.server else alone.get(c.fingerprint)) for c in report.causes]
    causes = [(cause, own) for cause, own in found if cause.findings > 1 or own is None]
    for cause, own in sorted(causes, key=lambda one: cause_order(one[0]))[:_ROOTS]:
        link = link_of(own) if own is not None else ""
        about = {name: getattr(cause, name) for name in ("title", "severity", "findings", "apps")}
        yield {**about, "link": link}


_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 550, 10, 130
"""The edges of the chart in a box of 640 by 160."""


def _chart(trend: Sequence[Point]) -> dict[str, Any]:
    """Axes with numbers and dates, and one line per severity with its last number."""
    top = _rounded(max((max(p.findings.error, p.findings.warning, p.findings.info) for p in trend), default=0))
    step = (_RIGHT - _LEFT) / max(1, len(trend) - 1)

    def height(n: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * n / top

    ticks = [{"y": f"{height(n):.1f}", "n": f"{n:g}"} for n in (0, top / 2, top)]
    lines = []
    placed = -99.0
    series = {severity: [int(getattr(p.findings, severity)) for p in trend] or [0] for severity in SEVERITIES}
    for severity, counts in sorted(series.items(), key=lambda one: -one[1][-1]):
        points = " ".join(f"{_LEFT + i * step:.1f},{height(n):.1f}" for i, n in enumerate(counts))
        placed = max(height(counts[-1]), placed + 13)  # labels of equal numbers go below each other
        lines.append({"severity": severity, "points": points, "y": f"{placed:.1f}", "last": counts[-1]})
    one_day = len({point.at[:10] for point in trend}) == 1
    days = [
        {"x": f"{_LEFT + i * step:.1f}", "day": trend[i].at[:16].replace("T", " ") if one_day else trend[i].at[:10]}
        for i in (sorted({0, len(trend) - 1}) if trend else ())
    ]
    return {"ticks": ticks, "lines": lines, "days": days, "left": _LEFT, "right": _RIGHT, "bottom": _BOTTOM}


def _rounded(most: int) -> int:
    """The next even number of one digit followed by zeros, at least 2."""
    unit = int(10 ** max(0, len(str(most)) - 1))
    return max(2, next(n * unit for n in (1, 2, 4, 6, 8, 10) if n * unit >= most))


def _application(row: Row) -> dict[str, Any]:
    return {
        "name": app_name(row.app),
        "query": f"app:{row.app.namespace}/{row.app.name}",
        "sync": row.sync,
        "health": row.health,
        "error": row.count("error"),
        "warning": row.count("warning"),
        "info": row.count("info"),
        "page": page(row.app),
    }


def server_page(url: str) -> str:
    """The list of applications in Argo CD's UI; empty if the address is no plain URL."""
    return f"{url}/applications" if ADDRESS.fullmatch(url) else ""
