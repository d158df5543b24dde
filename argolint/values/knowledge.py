"""Loads YAML knowledge files of rules, once and on first use, and writes manifests to paste.

If a knowledge pack is in use (`argolint.values.knowledge_pack`), it replaces argolint's own files. An installed argolint has the data of its files
as JSON, too (`setup.py` writes it): it counts for a file with the same digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from argolint.values.decoding import decoder, json_value

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's safe loader, in C if available: ten times as fast. It recurses on the stack: only for trusted files."""


@dataclass(frozen=True)
class About:
    """The version of the knowledge, and the date of its last change."""

    version: str
    date: str


BUILT_IN = About("2026.11.23", "2026-11-23")
"""The version of argolint's own files; `make release` writes the date of their last change."""


class _Used:
    """The pack in use: file (`package/name`) to data. Empty: argolint's own files are used."""

    about: About = BUILT_IN
    files: Mapping[str, Any] = {}


def about() -> About:
    """The version of the knowledge in use."""
    return _Used.about


def use(of: About, data: Mapping[str, Any]) -> None:
    """Use the files of a pack from now on. Data that is already loaded does not change: call it before rules are loaded."""
    _Used.about, _Used.files = of, data
    load.cache_clear()


@cache
def load(package: str, name: str) -> Any:
    """The decoded YAML file `name` of `package` (a rule passes its `__package__`). Shared: never change what it returns."""
    return read(package, name)


def read(package: str, name: str) -> Any:
    """Like `load`, but reads the file again each time."""
    place = f"{package}/{name}"
    if place in _Used.files:
        return _Used.files[place]
    text = files(package).joinpath(name).read_bytes()
    known = _compiled().get(hashlib.blake2b(text, digest_size=16).hexdigest())
    return parse(text) if known is None else json_value(bytes(known))


@cache
def _compiled() -> Mapping[str, msgspec.Raw]:
    """JSON by the digest of its YAML file; empty if nothing was built."""
    file = files(__package__).joinpath("compiled.json")
    return _RAWS(file.read_bytes()) if file.is_file() else {}


_RAWS = decoder(dict[str, msgspec.Raw])


def names(package: str, folder: str = "") -> list[str]:
    """The knowledge files of a package, or of a folder in it, sorted; including those of the pack in use."""
    place = files(package).joinpath(folder) if folder else files(package)
    brought = {file.name for file in place.iterdir() if file.name.endswith(".yaml")}
    before = f"{package}/{folder}/" if folder else f"{package}/"
    added = {name.removeprefix(before) for name in _Used.files if name.startswith(before)}
    return sorted(brought | {name for name in added if "/" not in name})


def parse(text: str | bytes) -> Any:
    """The data of one YAML document of a trusted file."""
    return yaml.load(text, Loader=LOADER)  # noqa: S506 - a safe loader


def dump(objects: Iterable[Any]) -> str:
    """YAML documents to paste, from JSON values: keys keep their order, documents are separated by `---`."""
    return _dumped(tuple(map(msgspec.json.encode, objects)))


@lru_cache(maxsize=256)
def _dumped(documents: tuple[bytes, ...]) -> str:
    """Cached, since it is slow and called repeatedly: for a chart's values of each application that renders it."""
    objects = map(json_value, documents)
    return str(yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True, width=1000)).rstrip() + "\n"
