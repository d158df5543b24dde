"""The old names of modules and functions, for case collections that were written before they moved.

Such a collection runs this file first: afterwards `import argolint.compare` gives `argolint.comparison.compare` itself, with its private names.
Nothing in the project imports it.
"""

from __future__ import annotations

import importlib
import sys

from argolint.comparison import compare, ignore, jq
from argolint.model import Object
from argolint.values import glob

MOVED = {
    "argolint.app": "argolint.application.app",
    "argolint.fleet": "argolint.application.fleet",
    "argolint.ignore_fix": "argolint.edits.narrowest_ignore",
    "argolint.compare": "argolint.comparison.compare",
    "argolint.connection": "argolint.server.connection",
    "argolint.gate.manifests": "argolint.sources.rendered",
    "argolint.ignore": "argolint.comparison.ignore",
    "argolint.login": "argolint.server.login",
    "argolint.operations": "argolint.edits.pruning",
    "argolint.scheme": "argolint.comparison.scheme",
    "argolint.three_way": "argolint.comparison.three_way",
    "argolint_rules.ownership.tracking": "argolint_rules.ownership._tracking",
    "argolint_rules.secrets.kes": "argolint_rules.secrets._kes",
}


def jq_failure(path: str, obj: Object) -> str:
    """Why the path has no effect on the object."""
    return jq.skipped(obj, path)


def strategy_of(
    application: Object, desired: Object | None, version: str = "v3.5.1", *, server_side: bool = False
) -> compare.Strategy:
    """The strategy of the Argo CD that answered the cases, if they name no version."""
    return _strategy_of(application, desired, version, server_side=server_side)


def removed(of: Object | ignore.IgnoreRule, *more: Object | ignore.IgnoreRule) -> tuple[str, ...]:
    """Accept the rule first, the old order, or the object first."""
    first, *rest = (*more, of) if isinstance(of, ignore.IgnoreRule) else (of, *more)
    return _removed(first, *rest)  # type: ignore[arg-type]


_removed = ignore.removed
_strategy_of = compare.strategy_of
compare.strategy_of = strategy_of
ignore.removed = removed  # type: ignore[assignment]
ignore.jq_failure = jq_failure  # type: ignore[attr-defined]
ignore.glob_match = glob.matches  # type: ignore[attr-defined]

for old, new in MOVED.items():
    module = importlib.import_module(new)
    sys.modules[old] = module
    package, _, name = old.rpartition(".")
    setattr(importlib.import_module(package), name, module)

waves = importlib.import_module("argolint_rules.secrets.external_secret_wave_order")
setattr(waves, "_runs_before", importlib.import_module("argolint.sequence.order").runs_before)  # noqa: B010  # as above
