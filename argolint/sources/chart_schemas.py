"""Checks whether a chart's `values.schema.json` is self-contained. Helm loads whatever a schema refers to, from any host or file.

Through a schema with outside references, a chart could choose what this machine reads and requests.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

NAME = "values.schema.json"
_MAX_SCHEMA_BYTES = 4_000_000
_MAX_ARCHIVE_BYTES = 100_000_000
"""Most bytes, unpacked; Helm itself refuses larger ones (pkg/chart/loader/archive, MaxDecompressedChartSize)."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DRAFTS = {
    *(
        f"{scheme}://json-schema.org/draft-0{n}/schema{end}"
        for scheme in ("http", "https")
        for n in (4, 6, 7)
        for end in ("", "#")
    ),
    *(f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")),
}
"""Meta-schemas that every validator has built in."""


class _OutsideError(Exception):
    """The schema refers elsewhere, or may do so."""


def refers_outside(chart: Path) -> bool:
    """True if a schema of the chart or of a subchart has outside references, or cannot be read as Helm reads it."""
    try:
        for text in _schemas(chart):
            _require_whole(json.loads(text))
    except (_OutsideError, OSError, EOFError, ValueError, RecursionError, tarfile.TarError, zlib.error):
        return True
    return False


def _schemas(chart: Path) -> Iterator[bytes]:
    for folder, folders, names in os.walk(chart):
        for name in (*folders, *names):
            place = Path(folder, name)
            archive = name.endswith((".tgz", ".tar.gz"))
            if place.is_symlink() and (name == NAME or archive or place.is_dir()):
                raise _OutsideError
            if name == NAME:
                with place.open("rb") as file:
                    yield _bounded(file, _MAX_SCHEMA_BYTES)
            elif archive and Path(folder).name == "charts":
                yield from _packed(place)


def _packed(archive: Path) -> Iterator[bytes]:
    """The schemas in a packed chart. Raises if its file name occurs elsewhere, since Helm might find other files than we do."""
    with gzip.open(archive, "rb") as inflated:
        content = _bounded(inflated, _MAX_ARCHIVE_BYTES)
    found: list[bytes] = []
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as members:
        for member in members:
            name = member.name.rpartition("/")[2]
            if name.endswith((".tgz", ".tar.gz")):
                raise _OutsideError
            file = members.extractfile(member) if name == NAME and member.isfile() else None
            if file is not None:
                found.append(_bounded(file, _MAX_SCHEMA_BYTES))
    if content.count(NAME.encode()) != len(found):
        raise _OutsideError
    yield from found


def _bounded(file: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise _OutsideError
    return content


def _require_whole(schema: Any) -> None:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            targets = [node[key] for key in _REFERENCES if isinstance(node.get(key), str)]
            described = node.get("$schema")
            if any(not target.startswith("#") for target in targets) or (
                isinstance(described, str) and described not in _DRAFTS
            ):
                raise _OutsideError
