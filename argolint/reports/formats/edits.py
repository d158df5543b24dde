"""A fix's edit as text to paste."""

from __future__ import annotations

from typing import Any

import yaml

from argolint.reports.document import Edit
from argolint.reports.formats import plain_lines
from argolint.values import index_of, split_pointer

_APPEND = ("-",)
"""The step of a JSON patch that appends to a list."""


def as_text(edit: Edit) -> str:
    """The command, the YAML fragment, or a JSON patch shown as the YAML that it writes; no control characters."""
    text = "\n".join(_operation(op) for op in edit.content) if edit.kind == "json-patch" else str(edit.content)
    return plain_lines(text)


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
