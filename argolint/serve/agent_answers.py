"""Answers of the tools for agents: one JSON document of at most 20 kB, which says what it leaves out.

Messages, names and values come from clusters and manifests. They are in separate fields, escaped, and never in a sentence of argolint's, so
that a message that reads like an instruction is recognizable as a message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from argolint.reports.causes import with_causes, worst_first
from argolint.reports.document import Report, ReportedFinding, plain_data
from argolint.reports.formats import app_name, link_of, resource_name
from argolint.values import shorten

MOST_BYTES = 20_000
MOST_FINDINGS = 50
_TEXT = 2000


def listed(report: Report, chosen: Sequence[ReportedFinding], cursor: int, limit: int) -> str:
    """A page of findings, and the cursor of the next one."""
    limit = max(1, min(limit, MOST_FINDINGS))
    page = [_row(f) for f in chosen[cursor : cursor + limit]]
    return _fitted(
        lambda rows: {
            "complete": report.complete,
            "total": len(chosen),
            "shown": len(rows),
            "next_cursor": cursor + len(rows) if cursor + len(rows) < len(chosen) else None,
            "findings": rows,
        },
        page,
    )


def chosen(report: Report, wanted: Mapping[str, str]) -> list[ReportedFinding]:
    """The findings that match all given filters: severity, family, rule, project, application, or a part of the message; worst first."""
    return [f for f in worst_first(with_causes(report)) if all(_fits(f, k, v) for k, v in wanted.items() if v)]


def _fits(finding: ReportedFinding, key: str, value: str) -> bool:
    match key:
        case "severity" | "family" | "rule":
            return bool(getattr(finding, key) == value)
        case "project":
            return finding.app.project == value
        case "application":
            return value in (finding.app.name, f"{finding.app.namespace}/{finding.app.name}", app_name(finding.app))
        case _:
            return value.lower() in finding.message.lower()


def _row(finding: ReportedFinding) -> dict[str, Any]:
    return {
        "fingerprint": link_of(finding),
        "severity": finding.severity,
        "rule": finding.rule,
        "cause": finding.cause,
        "application": app_name(finding.app) if finding.app.name else "",
        "object": resource_name(finding.resource) if finding.resource else "",
        "message": shorten(finding.message, 400),
        "first_fix": shorten(finding.fixes[0].title, 200) if finding.fixes else "",
    }


def whole(finding: ReportedFinding) -> str:
    """One finding with evidence and fixes."""
    data = plain_data(finding)
    fixes = data.pop("fixes", [])
    return _fitted(lambda rows: {**_shortened(data), "fixes": rows, "fixes_left_out": len(fixes) - len(rows)}, fixes)


def document(data: Any) -> str:
    """Any JSON data; if it is too large, the longest top-level lists are cut, and `left_out` has the numbers of dropped entries."""
    text = json.dumps(_shortened(data), ensure_ascii=True)
    if len(text) <= MOST_BYTES:
        return text
    kept = _shortened(data) if isinstance(data, dict) else {}
    left_out: dict[str, int] = {}
    while lists := {key: value for key, value in kept.items() if isinstance(value, list) and value}:
        longest = max(lists, key=lambda key: len(json.dumps(lists[key], ensure_ascii=True)))
        half = len(lists[longest]) // 2
        left_out[longest] = left_out.get(longest, 0) + len(lists[longest]) - half
        kept[longest] = lists[longest][:half]
        text = json.dumps({**kept, "left_out": left_out}, ensure_ascii=True)
        if len(text) <= MOST_BYTES:
            return text
    return json.dumps({"left_out": "the answer is too large: ask for less", "begins": text[: MOST_BYTES // 4]})


def _fitted(made: Callable[[list[Any]], Any], rows: Iterable[Any]) -> str:
    kept = [_shortened(row) for row in rows]
    while len(text := json.dumps(made(kept), ensure_ascii=True)) > MOST_BYTES and kept:
        kept.pop()
    return text if len(text) <= MOST_BYTES else document(made(kept))


def _shortened(node: Any) -> Any:
    if isinstance(node, str):
        return shorten(node, _TEXT)
    if isinstance(node, dict):
        return {key: _shortened(value) for key, value in node.items()}
    return [_shortened(value) for value in node] if isinstance(node, list) else node
