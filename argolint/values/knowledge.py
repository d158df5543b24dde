"""YAML in and out of rules: knowledge files next to them, loaded once and when first asked for, and manifests to paste."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from argolint.values.decoding import json_value

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's safe loader, in C where that was built: ten times as fast. Its trees grow on the stack: for trusted files."""


@cache
def load(package: str, name: str) -> Any:
    """The decoded YAML file `name` of `package` (a rule passes its `__package__`). Shared: never change what it returns."""
    return parse(files(package).joinpath(name).read_bytes())


def parse(text: str | bytes) -> Any:
    """The data of one YAML document of a trusted file."""
    return yaml.load(text, Loader=LOADER)  # noqa: S506 - a safe loader


def dump(objects: Iterable[Any]) -> str:
    """YAML documents to paste, of JSON values: keys keep their order, documents are parted by `---`."""
    return _dumped(tuple(map(msgspec.json.encode, objects)))


@lru_cache(maxsize=256)
def _dumped(documents: tuple[bytes, ...]) -> str:
    """Slow, and asked for the same again: a chart's values for each application that renders it."""
    objects = map(json_value, documents)
    return str(yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True, width=1000)).rstrip() + "\n"
