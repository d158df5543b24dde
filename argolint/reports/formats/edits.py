"""The edit of a fix as text to paste, and the notes on the fix."""

from __future__ import annotations

from typing import Any

import yaml

from argolint.reports.document import ReportedEdit, ReportedFix
from argolint.reports.formats import plain_lines
from argolint.values import index_of, split_pointer
from argolint.values.patterns import regex

_APPEND = "-"
"""The path token of a JSON patch that appends to a list."""


def as_text(edit: ReportedEdit) -> str:
    """The command, the YAML fragment, or a JSON patch as one YAML document; no control characters."""
    return plain_lines(_patch(edit.content) if edit.kind == "json-patch" else str(edit.content))


_EFFECTS = {
    "restarts": "restarts pods",
    "scales": "changes the number of replicas",
    "deletes": "deletes from the cluster",
    "hides": "hides later changes",
    "needs-sync": "takes hold with a sync by hand",
    "needs-force-sync": "takes hold when the operator is made to look again",
}


def effects_text(fix: ReportedFix) -> str:
    """The side effects of the fix in words; empty if there are none."""
    return ", ".join(_EFFECTS[effect] for effect in fix.effects)


def steps_before(fix: ReportedFix) -> list[str]:
    """The commands to run before the edit, one per line."""
    return [line for command in fix.before for line in plain_lines(command).splitlines()]


def proof_text(fix: ReportedFix) -> str:
    """How a verified fix was verified."""
    if not fix.verified:
        return ""
    first = " with its first step" if fix.before else ""
    return f"verified by two renders{first}" if fix.proof == "rendered-twice" else f"verified{first}"


def _patch(operations: list[dict[str, Any]]) -> str:
    """The operations as a YAML fragment that shows what they write and remove under its keys; if YAML cannot express them, as JSON patch operations."""
    merged: Any = {}
    for operation in operations:
        tokens = split_pointer(str(operation.get("path") or ""))
        removed = operation.get("op") == "remove"
        written = {"path": operation.get("path"), "value": _REMOVED} if removed else operation
        if operation.get("op") not in ("add", "replace", "remove") or not tokens or not _put(merged, tokens, written):
            return _yaml([dict(operation) for operation in operations])
    text = _yaml(merged).replace(f" {_REMOVED}", "  # remove this key")
    return _ADDED_TO.sub(":  # add to the list", text)


_REMOVED = "\ue000"
"""The value of a key that is removed: a character that no manifest contains."""
_ADDED = "\ue001"
"""The first item of a list that only the items after it are added to."""
_ADDED_TO = regex(rf":\n *- {_ADDED}")


def _put(tree: dict[str, Any], tokens: tuple[str, ...], operation: dict[str, Any]) -> bool:
    """Insert one operation into the tree; False if a fragment cannot express it: a list index, or a value below another operation's."""
    *above, last = tokens
    node = tree
    if any(token == _APPEND or index_of(token) is not None for token in above):
        return False
    appends = last == _APPEND
    if appends:
        last = above.pop()
    for token in above:
        node = node.setdefault(token, {})
        if not isinstance(node, dict):
            return False
    if index_of(last) is not None:
        return False
    if appends:
        items = node.setdefault(last, [_ADDED])
        if not isinstance(items, list):
            return False
        items.append(operation.get("value"))
        return True
    if last in node:
        return False
    node[last] = operation.get("value")
    return True


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**31).rstrip()
