"""The fix for an Application that names what the change moves: name the new place. Other fixes come after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from argolint.gate.verdict import Verdict
from argolint.reports.document import Report, ReportedEdit, ReportedFinding, ReportedFix
from argolint.sources.git import Changed
from argolint.values import get

_RULE = "comparison-error"


def moves(changes: Iterable[Changed]) -> Mapping[str, str]:
    """The new path of each file that the change moves as it is, by the earlier one; none of files of which several have the content."""
    listed = tuple(changes)
    coming: dict[str, list[str]] = {}
    for one in listed:
        if one.before is None and one.after is not None:
            coming.setdefault(one.after.id, []).append(one.path)
    gone = ((one.path, one.before.id) for one in listed if one.after is None and one.before is not None)
    return {path: coming[id_][0] for path, id_ in gone if len(coming.get(id_, ())) == 1}


def moved_first(report: Report, verdict: Verdict, moved: Mapping[str, str]) -> Report:
    """The report of a gate, in which the first fix of an Application that lacks its moved path or values file names the new one."""
    if not moved:
        return report
    raws = {(j.ref.server, j.ref.namespace, j.ref.name): j.after.raw for j in verdict.apps if j.after is not None}

    def fixed(finding: ReportedFinding) -> ReportedFinding:
        app = finding.app
        raw = raws.get((app.server, app.namespace, app.name))
        value = (
            get(raw, finding.pointer, None) if raw is not None and finding.rule == _RULE and finding.pointer else None
        )
        new = _new_value(value, moved) if isinstance(value, str) else None
        if new is None:
            return finding
        return msgspec.structs.replace(finding, fixes=(_fix(finding, new), *finding.fixes))

    return msgspec.structs.replace(report, findings=tuple(map(fixed, report.findings)))


def _new_value(value: str, moved: Mapping[str, str]) -> str | None:
    """A path or a values file, perhaps behind a `$ref/`, after the move; None if it stays, or goes to several places."""
    ref, slash, path = value.partition("/") if value.startswith("$") else ("", "", value.strip("/"))
    if path in moved:
        return f"{ref}{slash}{moved[path]}"
    folders = {
        new.removesuffix(old.removeprefix(path)) if new.endswith(old.removeprefix(path)) else ""
        for old, new in moved.items()
        if old.startswith(f"{path}/")
    }
    return f"{ref}{slash}{folders.pop()}" if len(folders) == 1 and "" not in folders else None


def _fix(finding: ReportedFinding, new: str) -> ReportedFix:
    return ReportedFix(
        title=f"Name {new}, where the change moves it",
        target="application",
        where=f"Application {finding.app.namespace}/{finding.app.name}",
        edit=ReportedEdit("json-patch", [{"op": "replace", "path": finding.pointer, "value": new}]),
    )
