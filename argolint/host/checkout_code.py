"""Keeps code of the checkout in the working directory from being run: it may be a foreign change.

Imports as little as possible: while the Python path has the checkout, an import may load from there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

Place = str | os.PathLike[str]


def is_in_checkout(place: Place, *checkouts: Place) -> bool:
    """Whether this file or folder is in the working directory's checkout, or in one of these. Links are followed."""
    return _lies_in(place, _trees(checkouts))


def outside_checkout(folders: Iterable[str], *checkouts: Place) -> list[str]:
    """The absolute entries of a search path that are in no checkout."""
    trees = _trees(checkouts)
    return [folder for folder in folders if os.path.isabs(folder) and not _lies_in(folder, trees)]


def _lies_in(place: Place, trees: Iterable[str]) -> bool:
    found = os.path.realpath(place)
    return any(found == tree or found.startswith(tree + os.sep) for tree in trees)


def _trees(checkouts: Iterable[Place]) -> set[str]:
    """The work trees of the working directory and of these."""
    return {_tree(os.path.realpath(folder)) for folder in (_here(), *checkouts) if folder} - {""}


def python_path() -> list[str]:
    """Python's path without entries in the checkout that come from PYTHONPATH or from the way Python was started.

    Entries of installed packages stay: a virtual environment in the checkout, `pip install -e .` in the repository of a rule.
    """
    places = {os.path.normpath(os.path.join(_here(), folder)) for folder in _unwanted()}
    started = sys.path[1:] if sys.path[:1] in ([""], [_here()]) else sys.path  # `python -m` adds it
    return [folder for folder in started if os.path.isabs(folder) and folder not in places]


def leave_out_checkout() -> list[str]:
    """Set Python's path to `python_path`. Returns the removed folders, as PYTHONPATH names them."""
    sys.path[:] = python_path()
    return [folder for folder in _unwanted() if folder]


def _unwanted() -> list[str]:
    named = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = set(outside_checkout(named))
    return [folder for folder in named if folder not in kept]


def _here() -> str:
    """The working directory; empty if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _tree(folder: str) -> str:
    """The work tree of a folder, else the folder itself, since a change may be downloaded without `.git`. Empty if it is no checkout."""
    place = folder
    while not os.path.lexists(os.path.join(place, ".git")):
        if place == os.path.dirname(place):
            return "" if folder in (place, os.path.realpath(os.path.expanduser("~"))) else folder
        place = os.path.dirname(place)
    return "" if place == os.path.dirname(place) else place
