"""Advice by cause (advice.yaml) as Fixes, with the names of the case at hand filled in."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from argolint import Edit, Fix
from argolint.knowledge import load

PLURAL = {"SecretStore": "secretstores", "ClusterSecretStore": "clustersecretstores"}


def advice(cause: str, values: Mapping[str, str]) -> tuple[Fix, ...]:
    """The fixes for a cause, root cause first; none when the file knows no general one."""

    def fill(text: str) -> str:
        return Template(text.replace("\\n", "\n")).safe_substitute(values)

    return tuple(
        Fix(
            fill(entry["title"]),
            entry["target"],
            fill(entry["where"]),
            Edit(entry["kind"], fill(entry["content"])),
            fill(entry.get("caveat", "")),
        )
        for entry in load(__package__, "advice.yaml").get(cause, ())
    )
