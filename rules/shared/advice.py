"""Advice by cause (advice.yaml) as Fixes, with the names of the case at hand filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Template

from argolint import Edit, Fix
from argolint.knowledge import load
from argolint.values import sh

_COMMANDS = frozenset({"sync", "in_ns"})
"""Values that are parts of commands themselves."""
PLURAL = {"SecretStore": "secretstores", "ClusterSecretStore": "clustersecretstores"}


def advice(package: str, cause: str, values: Mapping[str, str]) -> tuple[Fix, ...]:
    """The fixes for a cause by the file of this package, root cause first; none when it knows no general one."""

    def fill(text: str, words: Mapping[str, str] = values) -> str:
        return Template(text.replace("\\n", "\n")).safe_substitute(words)

    typed = {name: word if name in _COMMANDS else sh(word) for name, word in values.items()}
    typed["name_in_log"] = sh(json.dumps(values.get("name", "")))

    return tuple(
        Fix(
            fill(entry["title"]),
            entry["target"],
            fill(entry["where"]),
            Edit(entry["kind"], fill(entry["content"], typed if entry["kind"] == "command" else values)),
            fill(entry.get("caveat", "")),
        )
        for entry in load(package, "advice.yaml").get(cause, ())
    )
