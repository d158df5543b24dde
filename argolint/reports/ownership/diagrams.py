"""Ownership as text that other programs draw: Mermaid (in comments on GitHub or GitLab) and Graphviz dot."""

from __future__ import annotations

from collections.abc import Sequence

from argolint.reports.ownership.graph import Picture, Role
from argolint.values import plain

_MERMAID: dict[Role, str] = {"owner": "==>|owns|", "claimant": "-.->|claims|", "phantom": "-.-"}
MERMAID_NODES = 15
"""Most nodes of a flowchart: larger ones are unreadable."""
_DOT: dict[Role, str] = {"owner": "solid", "claimant": "dashed", "phantom": "dotted"}


def mermaid(pictures: Sequence[Picture]) -> str:
    """One flowchart; each connected part is a subgraph."""
    lines = ["flowchart LR"]
    for number, picture in enumerate(pictures):
        lines += [f'  a{number}_{i}["{_mermaid(label)}"]' for i, label in enumerate(picture.apps)]
        lines += [f'  o{number}_{i}("{_mermaid(label)}")' for i, label in enumerate(picture.objects)]
        lines += [f"  a{number}_{app} {_MERMAID[role]} o{number}_{obj}" for app, obj, role in picture.edges]
        if picture.left_out:
            lines.append(f'  m{number}["and {picture.left_out} more"]')
    return "\n".join(lines) + "\n"


def dot(pictures: Sequence[Picture]) -> str:
    """One graph from left to right."""
    lines = ["digraph owners {", "  rankdir=LR;", "  node [shape=box];"]
    for number, picture in enumerate(pictures):
        lines += [f"  a{number}_{i} [label={_quoted(label)}];" for i, label in enumerate(picture.apps)]
        lines += [
            f"  o{number}_{i} [label={_quoted(label)}, style=rounded];" for i, label in enumerate(picture.objects)
        ]
        lines += [f"  a{number}_{app} -> o{number}_{obj} [style={_DOT[role]}];" for app, obj, role in picture.edges]
        if picture.left_out:
            lines.append(f"  m{number} [label={_quoted(f'and {picture.left_out} more')}, shape=plaintext];")
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid(label: str) -> str:
    """The label with entity codes for characters that Mermaid or HTML would interpret: `#35;` is Mermaid's form."""
    return "".join(c if c.isalnum() or c in " /-_.:" else f"#{ord(c)};" for c in plain(label))


def _quoted(label: str) -> str:
    return '"' + plain(label).replace("\\", "\\\\").replace('"', '\\"') + '"'
