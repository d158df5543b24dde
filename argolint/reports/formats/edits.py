"""A fix's edit as text to paste, and what is told of the fix."""

from __future__ import annotations

from typing import Any

import yaml

from argolint.reports.document import Edit, Fix
from argolint.reports.formats import plain_lines
from argolint.values import index_of, split_pointer

_APPEND = ("-",)
"""The step of a JSON patch that appends to a list."""


def as_text(edit: Edit) -> str:
    """The command, the YAML fragment, or a JSON patch shown as the YAML that it writes; no control characters."""
    text = "\n".join(_operation(op) for op in edit.content) if edit.kind == "json-patch" else str(edit.content)
    return plain_lines(text)


_EFFECTS = {
    "restarts": "restarts pods",
    "scales": "changes the number of replicas",
    "deletes": "deletes from the cluster",
    "hides": "hides later changes",
    "needs-sync": "takes hold with a sync by hand",
    "needs-force-sync": "takes hold when the operator is made to look again",
}


def told_effects(fix: Fix) -> str:
    """What the fix does besides, in words; empty when there is nothing to tell."""
    return ", ".join(_EFFECTS[effect] for effect in fix.effects)


def steps_before(fix: Fix) -> list[str]:
    """The commands that come before the edit, one a line."""
    return [line for command in fix.before for line in plain_lines(command).splitlines()]


def told_proof(fix: Fix) -> str:
    """How a verified fix was proven."""
    if not fix.verified:
        return ""
    return "verified by two renders" if fix.proof == "rendered-twice" else "verified"


def _operation(op: dict[str, Any]) -> str:
    """`remove /x`, or the value under its keys; an index of a list is told, since YAML cannot say it."""
    if op["op"] in ("remove", "test", "move", "copy"):
        return f"{op['op']} {op.get('from', '')}{' -> ' if 'from' in op else ''}{op['path']}"
    tokens = split_pointer(op["path"])
    value: Any = op.get("value")
    places = []
    for position in range(len(tokens) - 1, -1, -1):
        step = tokens[position]
        if step in _APPEND:
            value = [value]
        elif index_of(step) is not None:
            value = [value]
            places.append("/" + "/".join(tokens[: position + 1]))
        else:
            value = {step: value}
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100).rstrip()
    return f"# {op['op']} at {', '.join(reversed(places))}\n{text}" if places else text
