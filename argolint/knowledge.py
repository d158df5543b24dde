"""Knowledge files: YAML beside the rules that read them, loaded once and when first asked for."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def load(package: str, name: str) -> Any:
    """The decoded YAML file `name` of `package` (a rule passes its `__package__`). Shared: never change what it returns."""
    return yaml.load(files(package).joinpath(name).read_bytes(), Loader=_LOADER)  # noqa: S506 - a safe loader
