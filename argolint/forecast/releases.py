"""The product versions that a forecast knows, and the steps between two of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argolint.errors import UsageError
from argolint.values import parse_version
from argolint.values.patterns import regex

Version = tuple[int, ...]

LATEST = 1 << 20
"""The patch number of a version without one: the newest of its line."""
_WRITTEN = regex(r"v?[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True)
class Product:
    """`lines`: its releases as `major.minor`, oldest first; `id`: the name of the option."""

    id: str
    name: str
    lines: tuple[str, ...]

    @property
    def newest(self) -> str:
        return self.lines[-1]


def written(text: str, product: Product) -> Version:
    """The version in a user's spelling: `3.6` (its newest patch), `3.6.1` or `v3.6.1`. UsageError for any other text."""
    found = parse_version(text) if _WRITTEN.fullmatch(text.strip()) else None
    if found is None:
        raise UsageError(
            f"{text!r} is no version of {product.name}", f"write it as {product.newest} or {product.newest}.1"
        )
    line = f"{found[0]}.{found[1]}"
    if line not in product.lines:
        raise UsageError(
            f"no release {line} of {product.name} is known here (--{product.id})",
            f"known are {product.lines[0]} to {product.newest}; a newer argolint may know more",
        )
    return found if len(found) > 2 else (*found, LATEST)


def shown(version: Version) -> str:
    """The version for a sentence: `3.6`, or `3.6.1` if the patch matters."""
    return ".".join(str(part) for part in version if part != LATEST)


def has(version: Version, since: Sequence[Version]) -> bool:
    """Whether a version has a change; `since`: its first release, after the backports to older lines."""
    *backports, first = sorted(since)
    return version >= first or any(version[:2] == back[:2] and version >= back for back in backports)


@dataclass(frozen=True)
class Step:
    """The upgrade of one product to a later version."""

    product: Product
    of: Version
    to: Version

    def crosses(self, since: Sequence[Version]) -> bool:
        """True if the current version lacks the change and the next one has it."""
        return has(self.to, since) and not has(self.of, since)


def step(product: Product, today: str, wanted: str) -> Step:
    """The upgrade from the current version. UsageError for a version that is unknown or not newer."""
    to, of = written(wanted, product), parse_version(today)
    if of is None:
        raise UsageError(
            f"the version of {product.name} that runs today is not known ({today or 'the server does not tell it'})",
            "a forecast starts from it",
        )
    line_reached = of[:2] == to[:2] and to[2] == LATEST
    if of >= to or line_reached:
        raise UsageError(
            f"{wanted} is no upgrade: {product.name} {today} runs today",
            f"name a later version, up to {product.newest}; of a step back nothing is known here",
        )
    return Step(product, of, to)


def products(tables: Sequence[Mapping[str, object]]) -> Mapping[str, Product]:
    """The products of the tables, by id."""
    found = {}
    for table in tables:
        lines = table["lines"]
        assert isinstance(lines, list)
        product = Product(str(table["product"]), str(table["name"]), tuple(map(str, lines)))
        found[product.id] = product
    return found
