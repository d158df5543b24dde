"""YAML in and out of rules: knowledge files next to them, loaded once and when first asked for, and manifests to paste.

A knowledge pack that is in use (`argolint.values.knowledge_pack`) answers in place of the files that argolint brings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from argolint.values.decoding import json_value

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's safe loader, in C where that was built: ten times as fast. Its trees grow on the stack: for trusted files."""


@dataclass(frozen=True)
class About:
    """Which knowledge it is: a version, and the day of its last change."""

    version: str
    date: str


BUILT_IN = About("2026.11.23", "2026-11-23")
"""Of the files that argolint brings; `make release` writes the day on which one of them was last changed."""


class _Used:
    """The pack in use: file (`package/name`) to data. Empty: the files that argolint brings answer."""

    about: About = BUILT_IN
    files: Mapping[str, Any] = {}


def about() -> About:
    """Which knowledge is in use."""
    return _Used.about


def use(of: About, data: Mapping[str, Any]) -> None:
    """Take the files of a pack from now on. What was loaded before stays with who has it: call it before rules are loaded."""
    _Used.about, _Used.files = of, data
    load.cache_clear()


@cache
def load(package: str, name: str) -> Any:
    """The decoded YAML file `name` of `package` (a rule passes its `__package__`). Shared: never change what it returns."""
    return read(package, name)


def read(package: str, name: str) -> Any:
    """As `load`, read again each time."""
    place = f"{package}/{name}"
    return _Used.files[place] if place in _Used.files else parse(files(package).joinpath(name).read_bytes())


def names(package: str, folder: str = "") -> list[str]:
    """The knowledge files of a package, or of a folder in it, sorted; with those that the pack in use adds."""
    place = files(package).joinpath(folder) if folder else files(package)
    brought = {file.name for file in place.iterdir() if file.name.endswith(".yaml")}
    before = f"{package}/{folder}/" if folder else f"{package}/"
    added = {name.removeprefix(before) for name in _Used.files if name.startswith(before)}
    return sorted(brought | {name for name in added if "/" not in name})


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
