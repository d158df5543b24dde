"""The fix for a refused change: undo it. Other fixes come after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from argolint.redaction import HIDDEN
from argolint.reports.document import (
    GateField,
    Report,
    ReportedApp,
    ReportedEdit,
    ReportedFinding,
    ReportedFix,
    ReportedResource,
)
from argolint.values.decoding import json_value

_FAMILY = "sync"
"""The rules on what a sync refuses."""

Fields = Mapping[tuple[ReportedApp, ReportedResource, str], GateField]


def undo_first(report: Report) -> Report:
    """The report of a gate, in which the first fix of a refused field restores base's value."""
    if not report.gate:
        return report
    fields = {
        (app.app, change.resource, field.pointer): field
        for app in report.gate.apps
        for change in app.changes
        if change.what == "changed"
        for field in change.fields
    }
    specs = {
        (change.resource.namespace, change.resource.name): (change.resource, change.fields)
        for app in report.gate.apps
        for change in app.changes
        if change.what == "changed" and (change.resource.group, change.resource.kind) == ("argoproj.io", "Application")
    }
    findings = tuple(_with_fields(f, fields) if f.resource else _with_spec(f, specs) for f in report.findings)
    return msgspec.structs.replace(report, findings=findings)


Specs = Mapping[tuple[str, str], tuple[ReportedResource, Sequence[GateField]]]


def _with_spec(finding: ReportedFinding, specs: Specs) -> ReportedFinding:
    """The finding on an Application whose spec the change edits in one field, with that as its first fix to leave."""
    resource, fields = specs.get((finding.app.namespace, finding.app.name), (None, ()))
    if finding.family != _FAMILY or finding.severity != "error" or resource is None or len(fields) != 1:
        return finding
    if any(_is_edit_of(fix, fields[0].pointer) for fix in finding.fixes[:1]):
        return finding
    undone = msgspec.structs.replace(_undo_fix(finding, fields[0]), target="application", resource=resource)
    return msgspec.structs.replace(finding, fixes=(undone, *finding.fixes))


def _with_fields(finding: ReportedFinding, fields: Fields) -> ReportedFinding:
    if finding.family != _FAMILY or finding.severity != "error" or finding.resource is None or not finding.pointer:
        return finding
    field = fields.get((finding.app, finding.resource, finding.pointer))
    if field is None or any(_is_edit_of(fix, finding.pointer) for fix in finding.fixes[:1]):
        return finding
    return msgspec.structs.replace(finding, fixes=(_undo_fix(finding, field), *finding.fixes))


def _is_edit_of(fix: ReportedFix, pointer: str) -> bool:
    """True for a fix that edits the field of the change."""
    content = fix.edit.content
    if fix.edit.kind != "json-patch" or not isinstance(content, list | tuple):
        return False
    return any(isinstance(o, Mapping) and str(o.get("path") or "") == pointer for o in content)


def _undo_fix(finding: ReportedFinding, field: GateField) -> ReportedFix:
    return ReportedFix(
        title=f"Leave {field.pointer} as it is on the base" if field.base is not None else f"Leave {field.pointer} out",
        target="manifest",
        where="the change",
        edit=_edit(field),
        resource=finding.resource,
    )


def _edit(field: GateField) -> ReportedEdit:
    if field.base is None:
        return ReportedEdit("json-patch", [{"op": "remove", "path": field.pointer}])
    try:
        value: Any = json_value(field.base.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        value = None  # the value was cut
    if value is None or HIDDEN in field.base:
        return ReportedEdit("text", "Revert the edit of this field.")
    return ReportedEdit("json-patch", [{"op": "replace", "path": field.pointer, "value": value}])
