"""YAML as a person's configuration: every value knows its line; duplicate keys, tabs and alias bombs are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from argolint.errors import UsageError
from argolint.manifests import ManifestError, scalar

MAX_BYTES = 1_000_000
MAX_NODES = 50_000
"""A configuration or baseline of this size is a mistake or an attack (aliases count each time they are used)."""

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """Plain data, and the 1-based line of each value by its path (keys and indexes from the root)."""

    data: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of the value at `path`, else of the nearest value above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(text: str, where: str) -> Document:
    """The document; UsageError says what, in which file and line, and why it is refused."""
    if len(text) > MAX_BYTES:
        raise UsageError(f"{where} has {len(text):,} characters, more than {MAX_BYTES:,}", "is it the right file?")
    try:
        root = yaml.SafeLoader(text).get_single_node()
        lines: dict[Path, int] = {}
        return Document(_build(root, (), lines, where) if root else None, lines)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{where}:{line}: a character that YAML does not allow", "remove it") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        hint = "indent with spaces: YAML allows no tabs" if "\\t" in str(problem) else "correct the YAML there"
        raise UsageError(f"{place}: {problem}", hint) from None
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply", "a configuration needs a few levels only") from None


def _build(node: yaml.Node, path: Path, lines: dict[Path, int], where: str) -> Any:
    if len(lines) > MAX_NODES:
        raise UsageError(
            f"{where} expands to more than {MAX_NODES:,} values",
            "aliases are expanded where they are used: remove them",
        )
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_build(child, (*path, index), lines, where) for index, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = key_node.value, key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise UsageError(f"{where}:{line}: a key must be plain text", "write `key: value`")
            if key in found:
                raise UsageError(
                    f"{where}:{line}: key {key!r} stands twice (first on line {lines[*path, key]})", "keep one of them"
                )
            found[key] = _build(value_node, (*path, key), lines, where)
            lines[*path, key] = line
        return found
    if node.tag == "tag:yaml.org,2002:str":
        return node.value
    try:
        return scalar(node.value)
    except ManifestError as error:
        raise UsageError(f"{where}:{lines[path]}: {error}", "quote it if it is meant as text") from None
