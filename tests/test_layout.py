"""What the folders promise: names that mean one thing."""

from __future__ import annotations

from pathlib import Path

import argolint

PACKAGE = Path(argolint.__file__).parent


def test_no_public_name_is_the_name_of_a_module() -> None:
    """Importing the module would put it in the place of the name: `from argolint import name` then gives a module."""
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted(set(argolint.__all__) & modules) == []
