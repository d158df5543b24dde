"""Finds rules by id: the built-in ones, and those of the entry-point group `argolint.rules`.

Both name a module or a package, and load in the same way: every module of a package is imported, and every Rule in it is collected. Rules
are never loaded from a path in a repository: argolint runs on untrusted pull requests with access to an API token.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from argolint.application.rule import Rule
from argolint.errors import ArgolintError, lacks_memory
from argolint.values.knowledge import load

GROUP = "argolint.rules"
OWN = "argolint"
BUILTIN = ("argolint_rules", "argolint.suppression.suppress")


class PluginError(ArgolintError):
    """A rule package cannot be loaded; the message names it."""


@cache
def load_rules() -> Mapping[str, Rule]:
    """Every installed rule by id, sorted, as of the first call; PluginError names the package that fails or the id that two packages use."""
    found: dict[str, tuple[str, Rule]] = {}
    for provider, module in _modules():
        for rule in _rules(provider, module):
            if rule.id in found and found[rule.id][1] is not rule:
                raise PluginError(
                    f"rule {rule.id} is defined by {found[rule.id][0]} and by {provider}",
                    "uninstall one of them, or rename its rule",
                )
            found[rule.id] = (provider, rule)
    return {id_: found[id_][1] for id_ in sorted(found)}


def providers() -> tuple[str, ...]:
    """The names of the packages that provide rules, for `require-plugins`."""
    return tuple(sorted({provider for provider, _ in _entry_points()}))


def upgrade_tables() -> tuple[Mapping[str, Any], ...]:
    """The tables of changes by release; argolint/forecast/table.py defines their form."""
    return tuple(load(f"{BUILTIN[0]}.shared.upgrades", f"{name}.yaml") for name in _UPGRADES)


_UPGRADES = ("argocd", "external-secrets", "helm", "kubernetes")


def chart_changes() -> Mapping[str, Any]:
    """Changes in major releases of charts; argolint/forecast/charts.py turns them into rows."""
    table: Mapping[str, Any] = load(f"{BUILTIN[0]}.shared.upgrades", "charts.yaml")
    return table


def removed_apis() -> tuple[Mapping[str, Any], ...]:
    """The API versions that products no longer serve, one entry per product."""
    return tuple(load(f"{BUILTIN[0]}.shared", "removed_apis.yaml"))


def _entry_points() -> tuple[tuple[str, str], ...]:
    """(distribution, module) of the built-in rules and of each entry point of others."""
    found = sorted((e.dist.name if e.dist else e.name, e.value) for e in entry_points(group=GROUP))
    return (*((OWN, module) for module in BUILTIN), *(entry for entry in found if entry[0] != OWN))


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for provider, name in _entry_points():
        module = _imported(provider, name)
        yield provider, module
        for below in _below(provider, module, name):
            yield provider, _imported(provider, below)


def _imported(provider: str, name: str) -> ModuleType:
    with _import_errors(provider):
        return importlib.import_module(name)


def _below(provider: str, module: ModuleType, name: str) -> Iterator[str]:
    """The names of all modules of a package. Packages are imported to list their modules."""
    with _import_errors(provider):
        found = list(pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}.", onerror=_fail))
    return (info.name for info in found)


@contextmanager
def _import_errors(provider: str) -> Iterator[None]:
    """Raise PluginError for whatever a plugin raises at import, even an exit; not for Ctrl-C or too little memory."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if lacks_memory(error):
            raise MemoryError from error
        raise _unloadable(provider, error) from error


def _unloadable(provider: str, error: BaseException) -> PluginError:
    return PluginError(
        f"rules of {provider} cannot be loaded: {type(error).__name__}: {error}", f"upgrade or uninstall {provider}"
    )


def _fail(name: str) -> None:
    raise ImportError(f"cannot import {name}")


def _rules(provider: str, module: ModuleType) -> Iterator[Rule]:
    for name, value in sorted(vars(module).items()):
        if isinstance(value, Rule) and not name.startswith("_"):
            if not value.doc or not value.doc.strip():
                raise PluginError(f"rule {value.id} of {provider} has no documentation", "give its module a docstring")
            yield value
