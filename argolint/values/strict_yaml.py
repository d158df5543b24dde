"""Parses YAML of a user's configuration: every value has its line; duplicate keys, tabs and alias bombs are refused."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from argolint.errors import UsageError
from argolint.values.manifests import ManifestError, scalar
from argolint.values.patterns import regex

MAX_BYTES = 1_000_000
MAX_NODES = 50_000
"""Most nodes; aliases count at each use. A larger configuration or baseline is a mistake or an attack."""

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """Plain data, and the line (from 1) of each value by its path (keys and indexes from the root)."""

    data: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of the value at `path`, else of its nearest parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(text: str, where: str) -> Document:
    """The document; UsageError says what is refused, in which file and line, and why."""
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


@dataclass(frozen=True)
class Misfit:
    """A part of a document that does not match its type: its path and line. `known`: the valid keys in place of `unknown`."""

    path: Path
    line: int
    message: str
    unknown: str = ""
    known: tuple[str, ...] = ()

    def refused(self, where: str, hint: str) -> UsageError:
        """The error for the user; `hint` is for an invalid value."""
        if self.unknown:
            refusal = f"{where}:{self.line}: unknown key {self.unknown!r}{nearest(self.unknown, self.known)}"
            return UsageError(refusal, f"known keys here: {', '.join(self.known)}")
        key = ".".join(map(str, self.path)) or "the file"
        return UsageError(f"{where}:{self.line}: {key}: {self.message}", hint)


def misfit(error: msgspec.ValidationError, document: Document, kind: Any) -> Misfit:
    """The misfit in msgspec's error for a document that should be of this kind, a struct."""
    text = str(error)
    found = _AT.search(text)
    path = tuple(_steps(found.group(1))) if found else ()
    message = _TYPES.sub(_expected, _AT.sub("", text))
    if unknown := _UNKNOWN.search(message):
        name = unknown.group(1)
        path = _concrete(document.data, path, lambda held: isinstance(held, dict) and name in held)
        known = _keys(msgspec.inspect.type_info(kind), path)
        return Misfit((*path, name), document.line((*path, name)), message, name, known)
    field = str(path[-1]) if path else ""

    def value(held: Any) -> Any:
        return held.get(field) if isinstance(held, dict) and field != "..." else held

    quoted = [
        lambda held: value(held) is not None and repr(value(held)) in message,
        lambda held: value(held) is not None,
    ]
    path = _concrete(document.data, path, *quoted)
    return Misfit(path, document.line(path), message)


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, empty without a similar name."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


_AT = regex(r" - at `(?:key in )?\$([^`]*)`$")
_TYPES = regex(r"\AExpected `([a-z| ]+)`(?:, got `([a-z]+)`| ([<>]=? -?[\d.]+)\Z)")
_KINDS = {
    "array": "a list",
    "object": "a mapping",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_STEP = regex(r"\.([\w-]+)|\[(\d+)\]|\[\.\.\.\]")
_UNKNOWN = regex(r"\AObject contains unknown field `(.+?)`")


def _expected(found: re.Match[str]) -> str:
    """What msgspec says of a type, in words of YAML."""
    wanted, got, limit = found.groups()
    kinds = " or ".join(_KINDS.get(kind, kind) for kind in wanted.split(" | ") if kind != "null")
    return f"{kinds} {limit} is expected" if limit else f"{kinds} is expected, not {_KINDS.get(got, got)}"


def _steps(text: str) -> Iterable[str | int]:
    for name, index in _STEP.findall(text):
        yield name if name else int(index) if index else "..."


def _concrete(data: Any, steps: Path, *fits: Callable[[Any], bool]) -> Path:
    """The path with the real map keys: msgspec writes `...`, which stands for the first key whose value has the fault."""
    if "..." not in steps:
        return steps
    at = steps.index("...")
    node = data
    for step in steps[:at]:
        node = node[step]
    found = next((key for fit in fits for key, held in node.items() if fit(held)), "...")
    return (*steps[:at], found, *steps[at + 1 :])


def _keys(kind: Any, path: Path) -> tuple[str, ...]:
    """The keys of the struct at the path."""
    for step in path:
        fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
        kind = fields.get(str(step)) or getattr(kind, "item_type", None) or getattr(kind, "value_type", None)
    return tuple(sorted(field.encode_name for field in getattr(kind, "fields", ())))


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
                    f"{where}:{line}: key {key!r} occurs twice (first on line {lines[*path, key]})", "keep one of them"
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
