"""The checkout that argolint stands in, which may be a stranger's change: no code comes out of it.

Imports as little as it can: while the Python path holds the checkout, an import may look there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

Place = str | os.PathLike[str]


def is_strangers(place: Place, *checkouts: Place) -> bool:
    """Does this file or folder lie in the checkout that one stands in, or in one of these? Links are followed."""
    return _lies_in(place, _trees(checkouts))


def others(folders: Iterable[str], *checkouts: Place) -> list[str]:
    """Those of a search path that are absolute and lie in no checkout."""
    trees = _trees(checkouts)
    return [folder for folder in folders if os.path.isabs(folder) and not _lies_in(folder, trees)]


def _lies_in(place: Place, trees: Iterable[str]) -> bool:
    found = os.path.realpath(place)
    return any(found == tree or found.startswith(tree + os.sep) for tree in trees)


def _trees(checkouts: Iterable[Place]) -> set[str]:
    """The work trees of the folder that one stands in, and of these."""
    return {_tree(os.path.realpath(folder)) for folder in (_here(), *checkouts) if folder} - {""}


def python_path() -> list[str]:
    """Python's path without what lies in the checkout because PYTHONPATH, or the way Python was started, says so.

    What an installed package brings stays: a virtual environment in the checkout, `pip install -e .` in the repository of a rule.
    """
    places = {os.path.normpath(os.path.join(_here(), folder)) for folder in _unwanted()}
    started = sys.path[1:] if sys.path[:1] in ([""], [_here()]) else sys.path  # `python -m` puts it there
    return [folder for folder in started if os.path.isabs(folder) and folder not in places]


def leave_out() -> list[str]:
    """Make `python_path` Python's path. Returns the folders that this leaves out, as PYTHONPATH names them."""
    sys.path[:] = python_path()
    return [folder for folder in _unwanted() if folder]


def _unwanted() -> list[str]:
    named = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = set(others(named))
    return [folder for folder in named if folder not in kept]


def _here() -> str:
    """Where this process runs; empty when the folder was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _tree(folder: str) -> str:
    """The work tree that a folder lies in, else the folder, as a change may be downloaded without `.git`. Empty for what is no checkout."""
    place = folder
    while not os.path.lexists(os.path.join(place, ".git")):
        if place == os.path.dirname(place):
            return "" if folder in (place, os.path.realpath(os.path.expanduser("~"))) else folder
        place = os.path.dirname(place)
    return "" if place == os.path.dirname(place) else place
