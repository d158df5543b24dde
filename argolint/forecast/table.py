"""The rows of upgrade tables: what changes in which release, who is affected, and what to do first.

A table is YAML: `product`, `name`, `lines` (its releases), `rows`. A row has

id       its name, which is the cause of its findings
in       the release with the change; several: the backports, and last the first release of the main line
until    the first release without it
effect   breaks, deletes or looks-different
severity only if it differs from the effect's
if       the condition: its name and arguments (argolint.forecast.conditions); absent if no API shows it
says     the sentence; the condition fills in names in braces
first    what to do before the upgrade: title, target, where, and text, command or yaml
source   where the change is documented
look     for a row without condition: how to find out
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from argolint.forecast.releases import Version
from argolint.model import EditKind, FixTarget, Json, Severity
from argolint.values import mapping, parse_version

RowEffect = Literal["breaks", "deletes", "looks-different"]
_USUAL: Mapping[str, Severity] = {"breaks": "error", "deletes": "error", "looks-different": "info"}
_KEYS = frozenset(("id", "in", "until", "effect", "severity", "if", "says", "first", "source", "look", "confidence"))


@dataclass(frozen=True)
class FirstStep:
    """What to do before the upgrade; the texts are templates like the row's sentence."""

    title: str
    target: FixTarget
    where: str
    kind: EditKind
    content: str
    caveat: str = ""


@dataclass(frozen=True)
class Row:
    product: str
    id: str
    since: tuple[Version, ...]
    effect: RowEffect
    severity: Severity
    says: str
    source: str
    condition: str = ""
    args: Mapping[str, Json] = field(default_factory=dict)
    first: tuple[FirstStep, ...] = ()
    look: str = ""
    likely: bool = False
    until: tuple[Version, ...] = ()


class TableError(ValueError):
    """An error in a table's file."""


def rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """The validated rows of one table."""
    product = str(table["product"])
    for raw in table.get("rows") or ():
        yield _row(product, raw)


def _row(product: str, raw: Mapping[str, Any]) -> Row:
    where = f"{product}/{raw.get('id')}"
    if extra := sorted(raw.keys() - _KEYS):
        raise TableError(f"{where}: unknown keys {extra}")
    if raw.get("effect") not in get_args(RowEffect):
        raise TableError(f"{where}: effect {raw.get('effect')!r}")
    condition = raw.get("if") or {}
    if len(condition) > 1 or bool(condition) == bool(raw.get("look")):
        raise TableError(f"{where}: a row has one condition, or `look`")
    name, args = next(iter(condition.items()), ("", {}))
    return Row(
        product,
        str(raw["id"]),
        tuple(_versions(raw["in"], where)),
        raw["effect"],
        raw.get("severity") or _USUAL[raw["effect"]],
        " ".join(str(raw["says"]).split()),
        " ".join(str(raw["source"]).split()),
        name,
        args if isinstance(args, Mapping) else {"value": args},
        tuple(_first_step(one) for one in _listed(raw.get("first"))),
        " ".join(str(raw.get("look") or "").split()),
        raw.get("confidence") == "likely",
        tuple(_versions(raw.get("until"), where)),
    )


def _versions(entry: Json, where: str) -> Iterator[Version]:
    for text in _listed(entry):
        found = parse_version(str(text))
        if found is None or len(found) < 3:
            raise TableError(f"{where}: `in` names whole versions, {text!r} is none")
        yield found


def _listed(entry: Any) -> Sequence[Any]:
    return entry if isinstance(entry, list) else [entry] if entry is not None else []


def _first_step(raw: Mapping[str, Any]) -> FirstStep:
    kinds: tuple[EditKind, ...] = ("command", "yaml", "text")
    kind = next(k for k in kinds if k in raw)
    return FirstStep(
        raw["title"], raw["target"], mapping(raw).get("where") or "", kind, str(raw[kind]), raw.get("caveat") or ""
    )
