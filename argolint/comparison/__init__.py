"""Argo CD's comparison in memory. Rules may use the names here; `argolint.comparison.compare` compares a whole pair."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argolint.comparison.compare import (
        LAST_APPLIED,
        TRACKING_ID,
        Comparison,
        Rules,
        Strategy,
        apply,
        caused,
        compared_by,
        differing,
        has_sync_option,
        hidden,
        last_applied,
        rules_of,
        strategy_of,
        syncs_server_side,
    )
    from argolint.comparison.diff import change, differences, reordered
    from argolint.comparison.ignore import (
        IgnoreRule,
        application_rules,
        disputed,
        locate,
        matches,
        matches_object,
        removed,
        server_rules,
    )
    from argolint.comparison.managed_fields import managers, writer, writers
    from argolint.comparison.scheme import builtin, duration

# Names are imported on first use, as in argolint itself.
_HOME = {
    "compare": "LAST_APPLIED TRACKING_ID Comparison Rules Strategy apply caused compared_by differing has_sync_option hidden last_applied rules_of strategy_of syncs_server_side",
    "diff": "change differences reordered",
    "ignore": "IgnoreRule application_rules disputed locate matches matches_object removed server_rules",
    "managed_fields": "managers writer writers",
    "scheme": "builtin duration",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'argolint.comparison' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"argolint.comparison.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "LAST_APPLIED",
    "TRACKING_ID",
    "Comparison",
    "IgnoreRule",
    "Rules",
    "Strategy",
    "application_rules",
    "apply",
    "builtin",
    "caused",
    "change",
    "compared_by",
    "differences",
    "differing",
    "disputed",
    "duration",
    "has_sync_option",
    "hidden",
    "last_applied",
    "locate",
    "managers",
    "matches",
    "matches_object",
    "removed",
    "reordered",
    "rules_of",
    "server_rules",
    "strategy_of",
    "syncs_server_side",
    "writer",
    "writers",
]
