"""Applies JSON patches to the text of a YAML file and changes only the lines that must change.

A file is parsed into nodes with their positions in the text, and a patch cuts and inserts there; all else stays byte for byte: comments,
quotes, indentation and line ends. The result of each step is parsed again and must equal the result of RFC 6902, so a layout that this
module does not understand is refused and never damaged.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from argolint.model import Json
from argolint.values import get, index_of, join_pointer, manifests, split_pointer
from argolint.values.patterns import regex

Operation = Mapping[str, Json]


MAX_VALUE = 2_000_000
"""Most characters of a written value, as JSON. etcd stores no object of more than 1.5 MiB; PyYAML takes minutes for much more."""


class EditError(Exception):
    """The text cannot be read or edited; the message says why."""


@dataclass(frozen=True)
class Document:
    """One document of a YAML stream: its text, and its start and end in the stream."""

    text: str
    start: int
    end: int

    @cached_property
    def data(self) -> Any:
        """Plain JSON data; None for an empty document. EditError for invalid YAML."""
        return _read(self.text)

    @cached_property
    def root(self) -> yaml.Node | None:
        """The nodes with their positions; None for an empty document. EditError for invalid YAML."""
        _ = self.data  # checks the limits
        return _root(self.text)


_SEPARATOR = regex(r"^---(?=[ \t\r\n]|$)", re.MULTILINE)


def documents(text: str) -> tuple[Document, ...]:
    """The documents of a stream, empty ones included; each is parsed on first use."""
    starts = [m.start() for m in _SEPARATOR.finditer(text)]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    ends = [*starts[1:], len(text)]
    return tuple(Document(text[a:b], a, b) for a, b in zip(starts, ends, strict=True))


def patch(text: str, index: int, operations: Sequence[Operation]) -> str:
    """The stream with RFC 6902 operations applied to its document `index`.

    EditError if an operation does not apply, or cannot be written without touching more than its field.
    """
    document = documents(text)[index]
    part, style, data = document.text, _Style.of(text), document.data
    data = {} if data is None else data
    for operation in operations:
        size = len(json.dumps(operation.get("value")))
        if size > MAX_VALUE:
            raise EditError(f"the value at {operation['path']} has {size:,} characters, more than {MAX_VALUE:,}")
        for step in _smaller(operation, data):
            part, data = _Part(part, style).after(step), applied(data, [step])
            if _read(part) != data:
                raise EditError(f"the layout of the YAML at {step['path']} does not let one field be changed alone")
    return text[: document.start] + part + text[document.end :]


def applied(data: Json, operations: Sequence[Operation]) -> Any:
    """Plain data after the operations. EditError if one does not apply."""
    import jsonpatch  # only needed for a patch

    try:
        return jsonpatch.apply_patch(data, operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise EditError(f"the patch does not apply: {error}") from error


def _smaller(operation: Operation, data: Json) -> Iterator[Operation]:
    """The operation as add, replace, remove and key renames, each as deep in the tree as possible."""
    kind, path = operation["op"], operation["path"]
    if kind == "test":
        applied(data, [operation])
    elif kind == "move" and _renames(operation, data):
        yield operation
    elif kind in ("move", "copy"):
        value = get(data, operation["from"])
        applied(data, [operation])
        if kind == "move":
            yield {"op": "remove", "path": operation["from"]}
        yield {"op": "add", "path": path, "value": value}
    elif kind == "remove":
        yield operation
    else:
        parent = get(data, path.rpartition("/")[0])
        present = get(data, path, _ABSENT)
        if present is _ABSENT or (kind == "add" and isinstance(parent, list)):
            yield operation
        else:
            yield from _difference(path, present, operation["value"])


def _renames(operation: Operation, data: Json) -> bool:
    """True if a key of a map gets a name that the map does not have yet."""
    old, new = (operation[key].rpartition("/")[0] for key in ("from", "path"))
    return old == new and isinstance(get(data, old), Mapping) and get(data, operation["path"], _ABSENT) is _ABSENT


_ABSENT = object()


def _difference(path: str, old: Json, new: Json) -> Iterator[Operation]:
    """Operations that turn `old` into `new`, ordered so that each path is still valid."""
    if old == new and type(old) is type(new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old and new:
        for key in old:
            at = path + join_pointer(key)
            if key in new:
                yield from _difference(at, old[key], new[key])
        yield from ({"op": "add", "path": path + join_pointer(k), "value": v} for k, v in new.items() if k not in old)
        yield from ({"op": "remove", "path": path + join_pointer(k)} for k in old if k not in new)
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        for index, (a, b) in enumerate(zip(old, new, strict=False)):
            yield from _difference(f"{path}/{index}", a, b)
        yield from ({"op": "add", "path": f"{path}/-", "value": v} for v in new[len(old) :])
        yield from ({"op": "remove", "path": f"{path}/{i}"} for i in range(len(old) - 1, len(new) - 1, -1))
    else:
        yield {"op": "replace", "path": path, "value": new}


@dataclass(frozen=True)
class Span:
    """Lines of a file (from 1): from a field's key or a list item to the end of its value. `depth`: how many tokens of the pointer were found."""

    first: int
    last: int
    depth: int


def span(document: Document, line: int, pointer: str) -> Span:
    """The lines of a field, or of its nearest existing parent, in a document that begins on this line. EditError for invalid YAML."""
    node = document.root
    if node is None:
        return Span(line, line, 0)
    start, depth = node.start_mark.index, 0
    for token in split_pointer(pointer) if pointer else ():
        if isinstance(node, yaml.MappingNode):
            pair = next((p for p in node.value if p[0].value == token), None)
            if pair is None:
                break
            start, node = pair[0].start_mark.index, pair[1]
        elif isinstance(node, yaml.SequenceNode):
            index = index_of(token)
            if index is None or index >= len(node.value):
                break
            node = node.value[index]
            start = node.start_mark.index
        else:
            break
        depth += 1
    held = document.text[start : max(start, _end_of(node, document.text))]
    first = line + document.text.count("\n", 0, start)
    return Span(first, first + held.rstrip().count("\n"), depth)


def _end_of(node: Any, text: str) -> int:
    """The end of the node's own text, without comments and blank lines after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and not _is_alias(node):
        return _end_of(node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1], text)
    end: int = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        body = text[node.start_mark.index : end]
        head = body.split("\n", 1)[0]
        return end if "+" in head.partition("#")[0] else node.start_mark.index + len(body.rstrip())
    return end


class _Loader(yaml.SafeLoader):
    """Composes nodes; an alias becomes a node with its own position in the text."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if not self.check_event(yaml.AliasEvent):
            return super().compose_node(parent, index)
        event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML has no types for it
        node: yaml.ScalarNode | None = copy.copy(super().compose_node(parent, index))  # type: ignore[assignment]  # it gets a style below
        assert node is not None
        node.start_mark, node.end_mark, node.style = event.start_mark, event.end_mark, "*"
        return node


def _root(part: str) -> yaml.Node | None:
    try:
        return _Loader(part).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1} of the document)" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise EditError(f"no valid YAML: {problem}{place}") from None
    except RecursionError:
        raise EditError("YAML nested too deeply") from None


def _read(part: str) -> Any:
    try:
        found = manifests.documents(part, for_editing=True)
    except manifests.ManifestError as error:
        raise EditError(f"no valid YAML: {error}") from None
    return found[0] if found else None


@dataclass(frozen=True)
class _Style:
    """The style of a file for new lines."""

    step: int
    dash: int
    quote: str
    newline: str

    @classmethod
    def of(cls, text: str) -> _Style:
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        steps, dashes = [], []
        for line, following in itertools.pairwise(lines):
            if _OPENS.fullmatch(line):
                more = _column(following) - _column(line.replace("- ", "  "))
                if following.lstrip().startswith("- "):
                    dashes.append(more)
                elif more > 0:
                    steps.append(more)
        return cls(
            _usual([s for s in steps if s in (2, 3, 4, 8)], 2),
            _usual([d for d in dashes if d in (0, 2, 4)], 2),
            '"' if text.count('"') > text.count("'") else "'",
            "\r\n" if "\r\n" in text else "\n",
        )

    def block(self, value: Json) -> str:
        """The value as block lines; scalars and empty containers stay on one line."""
        return "\n".join(self._block(value))

    def _block(self, value: Json) -> Iterator[str]:
        if _is_single(value):
            yield from _dump(value, self.quote).split("\n")
        elif isinstance(value, Mapping):
            for key, child in value.items():
                name = _dump(key, self.quote, flow=True)
                if _is_single(child):
                    first, *rest = self._block(child)
                    yield from (f"{name}: {first}", *rest)
                else:
                    yield f"{name}:"
                    column = self.dash if isinstance(child, list) else self.step
                    yield from (" " * column + line if line else line for line in self._block(child))
        else:
            for item in value:
                first, *rest = self._block(item)
                yield from (f"- {first}", *("  " + line if line else line for line in rest))

    def flow(self, value: Json) -> str:
        """The value on one line."""
        return _dump(value, self.quote, flow=True)


_OPENS = regex(r"\s*+(- )*+[^\s#'\"][^#]*:\s*(#.*)?")


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _usual(found: Sequence[int], default: int) -> int:
    return max(sorted(set(found)), key=found.count) if found else default


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_NUMERIC = regex(r"[-+]?(0[xob][0-9a-fA-F_]+|(\d[\d_]*+)?+\.?\d*+([eE][-+]?\d+)?)|[yYnN]")
"""Text that Kubernetes' reader, unlike PyYAML, parses as a number or boolean (`1e3`, `y`)."""


def _dump(value: Json, quote: str, *, flow: bool = False) -> str:
    """A scalar or empty container, or with `flow` any value, as YAML."""

    class Dumper(_Dumper):
        pass

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
        tag = "tag:yaml.org,2002:str"
        if "\n" in data and not flow:
            return dumper.represent_scalar(tag, data, style="|")
        plain = yaml.safe_dump(data, width=10**6, allow_unicode=True)
        quoted = plain[0] in "'\"" or _NUMERIC.fullmatch(data) is not None
        special = quoted and quote == "'" and plain[0] == '"'
        return dumper.represent_scalar(tag, data, style='"' if special else quote if quoted else None)

    Dumper.add_representer(str, text)
    out = yaml.dump(
        value, Dumper=Dumper, sort_keys=False, default_flow_style=flow, width=10**6, allow_unicode=True, indent=2
    )
    return out.removesuffix("...\n").rstrip("\n")


class _Part:
    """The text of one document with its nodes."""

    def __init__(self, text: str, style: _Style) -> None:
        self.text, self.style = text, style
        self.root = _root(text)

    def after(self, step: Operation) -> str:
        """The text after one operation."""
        *above, last = split_pointer(step["path"]) or (None,)
        if last is None:
            raise EditError("a whole document is no field that could be changed alone")
        if self.root is None and not above and "value" in step:
            return self._insert_after(len(self.text), self.style.block({last: step["value"]}))
        parent, in_flow = self._walk(above)
        if isinstance(parent, yaml.MappingNode):
            return self._in_mapping(parent, last, step, in_flow)
        if isinstance(parent, yaml.SequenceNode):
            return self._in_sequence(parent, last, step, in_flow)
        raise EditError(f"the file holds nothing at {join_pointer(*above) or 'the top'}")

    def _walk(self, tokens: Sequence[str]) -> tuple[yaml.Node | None, bool]:
        """The node at these tokens, and whether it is part of a flow collection."""
        node, in_flow = self.root, False
        for position, token in enumerate(tokens):
            if isinstance(node, yaml.CollectionNode):
                self._own(node, tokens[:position])
                in_flow = in_flow or bool(node.flow_style)
            if isinstance(node, yaml.MappingNode):
                node = next((v for k, v in node.value if k.value == token), None)
            elif (
                isinstance(node, yaml.SequenceNode)
                and (index := index_of(token)) is not None
                and index < len(node.value)
            ):
                node = node.value[index]
            else:
                node = None
            if node is None:
                at = join_pointer(*tokens[: position + 1])
                raise EditError(f"the file holds nothing at {at} of its own")
        if node is not None:
            self._own(node, tokens)
        return node, in_flow or (isinstance(node, yaml.CollectionNode) and bool(node.flow_style))

    @staticmethod
    def _own(node: yaml.Node, tokens: Sequence[str]) -> None:
        if _is_alias(node):
            raise EditError(f"{join_pointer(*tokens)} is shared with another place through a YAML anchor")

    def _in_mapping(self, node: yaml.MappingNode, key: str, step: Operation, in_flow: bool) -> str:
        if step["op"] == "move":
            old = split_pointer(step["from"])[-1]
            found = next((k for k, _ in node.value if k.value == old), None)
            if found is None:
                raise EditError(f"the file holds nothing at {step['from']} of its own")
            return self.text[: found.start_mark.index] + self.style.flow(key) + self.text[found.end_mark.index :]
        index = next((i for i, (k, _) in enumerate(node.value) if k.value == key), None)
        if step["op"] == "add" and index is None:
            return self._add_member(node, key, step["value"], in_flow)
        if index is None:
            raise EditError(f"the file holds nothing at {step['path']} of its own")
        pair = node.value[index]
        if step["op"] == "remove":
            return self._remove(node, [(k.start_mark.index, self._end(v)) for k, v in node.value], index, in_flow)
        colon = _colon(self.text, pair[0])
        return self._replace(pair[1], step["value"], colon + 1, pair[0].start_mark.column, in_flow)

    def _in_sequence(self, node: yaml.SequenceNode, token: str, step: Operation, in_flow: bool) -> str:
        last = len(node.value)
        given = index_of(token)
        index = given if given is not None else last if step["op"] == "add" else last + 1
        if index > last or (index == last and step["op"] != "add"):
            raise EditError(f"the list in the file has {last} items, none at {step['path']}")
        if step["op"] == "add":
            return self._add_item(node, index, step["value"], in_flow)
        if step["op"] == "remove":
            spans = [(v.start_mark.index if in_flow else self._dash(node, v), self._end(v)) for v in node.value]
            return self._remove(node, spans, index, in_flow)
        item = node.value[index]
        after_dash = item.start_mark.index if in_flow else self._dash(node, item) + 1
        return self._replace(item, step["value"], after_dash, node.start_mark.column, in_flow)

    # places

    def _end(self, node: Any) -> int:
        return _end_of(node, self.text)

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        if at and self.text[at - 1] == "\n":
            return at
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def _dash(self, node: yaml.SequenceNode, item: yaml.Node) -> int:
        """The column of an item's dash: in the list's column, on the item's line or above."""
        column, line = node.start_mark.column, self._line_start(item.start_mark.index)
        while True:
            at = line + column
            if self.text[at : at + 1] == "-":
                return at
            if line <= self._line_start(node.start_mark.index):
                raise EditError("the list in the file is laid out in a way that is not understood")
            line = self._line_start(line - 1)

    # edits

    def _replace(self, node: Any, value: Json, after: int, column: int, in_flow: bool) -> str:
        """The text with another value for the node; `after`: the end of its colon or dash, `column`: of its key or dash."""
        start, end = node.start_mark.index, self._end(node)
        one_token = isinstance(node, yaml.ScalarNode) and node.style not in ("|", ">") and end > start
        if in_flow or (one_token and _is_single(value)):
            quoted = isinstance(value, str) and isinstance(node, yaml.ScalarNode) and "\n" not in value
            if quoted and node.style == '"':
                new = json.dumps(value, ensure_ascii=False)
            elif quoted and node.style == "'":
                new = "'" + str(value).replace("'", "''") + "'"
            else:
                new = self.style.flow(value)
            return self.text[:start] + new + self.text[end:]
        return self._rewrite(end, value, after, column)

    def _rewrite(self, end: int, value: Json, after: int, column: int) -> str:
        """Everything from the colon or dash to `end` rewritten in block style."""
        if _is_single(value):
            return self.text[:after] + " " + self._lines(self.style.block(value), column) + self.text[end:]
        if self.text[after - 1] == "-":
            return self.text[:after] + " " + self._lines(self.style.block(value), column + 2) + self.text[end:]
        rest = self.text[after : self._next_line(after)].rstrip("\r\n")
        comment = rest if rest.strip().startswith("#") else ""
        deeper = column + (self.style.dash if isinstance(value, list) else self.style.step)
        block = " " * deeper + self._lines(self.style.block(value), deeper)
        return self.text[:after] + comment + self.style.newline + block + self.text[max(end, after + len(comment)) :]

    def _lines(self, block: str, column: int) -> str:
        """The block with every line except the first indented to the column."""
        lines = block.split("\n")
        return self.style.newline.join([lines[0], *(" " * column + line if line else line for line in lines[1:])])

    def _remove(self, node: yaml.CollectionNode, spans: Sequence[tuple[int, int]], index: int, in_flow: bool) -> str:
        start, end = spans[index]
        if len(spans) == 1:
            return self._refill(node, {} if isinstance(node, yaml.MappingNode) else [])
        if in_flow:
            if index + 1 < len(spans):
                return self.text[:start] + self.text[spans[index + 1][0] :]
            return self.text[: spans[index - 1][1]] + self.text[end:]
        line = self._line_start(start)
        if not self.text[line:start].strip():
            return self.text[:line] + self.text[self._next_line(end) :]
        if index + 1 == len(spans) or self.text[self._next_line(end) : spans[index + 1][0]].strip():
            raise EditError("the first line of a list item cannot be taken out alone")
        return self.text[:start] + self.text[spans[index + 1][0] :]

    def _add_member(self, node: yaml.MappingNode, key: str, value: Json, in_flow: bool) -> str:
        if not node.value and in_flow:
            return self._refill(node, {key: value})
        if in_flow:
            end = self._end(node.value[-1][1])
            return self.text[:end] + ", " + self.style.flow({key: value})[1:-1] + self.text[end:]
        column: int = node.value[0][0].start_mark.column
        block = self.style.block({key: value})
        head = key in _HEAD and any(k.value in _HEAD for k, _ in node.value)
        after = [i for i, (k, _) in enumerate(node.value) if k.value in _HEAD[: _HEAD.index(key)]] if head else []
        if head and not after:
            first: int = node.value[0][0].start_mark.index
            return (
                self.text[:first] + self._lines(block, column) + self.style.newline + " " * column + self.text[first:]
            )
        last = node.value[after[-1] if after else -1]
        return self._insert_after(self._end(last[1]), " " * column + self._lines(block, column))

    def _add_item(self, node: yaml.SequenceNode, index: int, value: Json, in_flow: bool) -> str:
        if not node.value and in_flow:
            return self._refill(node, [value])
        if in_flow:
            inner = self.style.flow([value])[1:-1]
            if index < len(node.value):
                at = node.value[index].start_mark.index
                return self.text[:at] + inner + ", " + self.text[at:]
            end = self._end(node.value[-1])
            return self.text[:end] + ", " + inner + self.text[end:]
        column = node.start_mark.column
        block = " " * column + "- " + self._lines(self.style.block(value), column + 2)
        if index == len(node.value):
            return self._insert_after(self._end(node.value[-1]), block)
        dash = self._dash(node, node.value[index])
        if self.text[self._line_start(dash) : dash].strip():
            raise EditError("the list in the file is laid out in a way that is not understood")
        at = self._line_start(dash)
        return self.text[:at] + block + self.style.newline + self.text[at:]

    def _insert_after(self, end: int, block: str) -> str:
        at = self._next_line(end)
        before = self.text[:at]
        if before and not before.endswith("\n"):
            return before + self.style.newline + block
        return before + block + self.style.newline + self.text[at:]

    def _refill(self, node: yaml.CollectionNode, value: Json) -> str:
        """All content of a collection replaced; `{}` or `[]` becomes block style unless it is inside other braces."""
        path = self._path_to(node)
        parent, in_flow = self._walk(path[:-1])
        if not path or in_flow:
            return self.text[: node.start_mark.index] + self.style.flow(value) + self.text[self._end(node) :]
        if isinstance(parent, yaml.MappingNode):
            key = next(k for k, v in parent.value if v is node)
            after, column = _colon(self.text, key) + 1, key.start_mark.column
        else:
            assert isinstance(parent, yaml.SequenceNode)
            after, column = self._dash(parent, node) + 1, parent.start_mark.column
        return self._rewrite(self._end(node), value, after, column)

    def _path_to(self, wanted: yaml.Node) -> tuple[str, ...]:
        def search(node: yaml.Node | None, path: tuple[str, ...]) -> tuple[str, ...] | None:
            if node is wanted:
                return path
            pairs: Sequence[tuple[str, yaml.Node]] = ()
            if isinstance(node, yaml.MappingNode):
                pairs = [(k.value, v) for k, v in node.value]
            elif isinstance(node, yaml.SequenceNode):
                pairs = [(str(i), v) for i, v in enumerate(node.value)]
            return next((p for key, v in pairs if (p := search(v, (*path, key))) is not None), None)

        return search(self.root, ()) or ()


_HEAD = ("apiVersion", "kind", "metadata")
"""Keys that come first in an object, in this order."""


def _colon(text: str, key: yaml.Node) -> int:
    """The position of the colon after a key; a key of a flow map may have none: `{"a"}`."""
    found = text.find(":", key.end_mark.index)
    if found < 0:
        raise EditError(f"the key {key.value!r} has no colon")
    return found


def _is_alias(node: yaml.Node) -> bool:
    return getattr(node, "style", None) == "*"


def _is_single(value: Json) -> bool:
    """True for a value on the line of its key: a scalar (block text, too) or an empty container."""
    return not isinstance(value, dict | list) or not value
