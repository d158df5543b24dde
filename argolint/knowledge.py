"""YAML in and out of rules: knowledge files beside them, loaded once and when first asked for, and manifests to paste."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def load(package: str, name: str) -> Any:
    """The decoded YAML file `name` of `package` (a rule passes its `__package__`). Shared: never change what it returns."""
    return yaml.load(files(package).joinpath(name).read_bytes(), Loader=_LOADER)  # noqa: S506 - a safe loader


def dump(objects: Iterable[Any]) -> str:
    """YAML documents to paste: keys keep their order, documents are parted by `---`."""
    return str(yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True, width=1000)).rstrip() + "\n"
