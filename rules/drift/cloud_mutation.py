"""The cloud provider rewrites the object

What it finds: requests, tolerations and security contexts that GKE Autopilot adjusted (its annotation says so), selectors
that AKS adds to webhook configurations, status annotations that ingress and network controllers of a cloud write.

Why it hurts: Git's values can never be live on this cluster; the object stays OutOfSync, and self-heal restarts pods without need.

How to fix: write the values that the provider requires, for this cluster; otherwise ignore the fields.

Example: `autopilot.gke.io/resource-adjustment` on a Deployment with other requests than in Git.

Sources: argoproj/argo-cd#4276, prometheus-operator/prometheus-operator#8049; see cloud.yaml.
"""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved
from argolint.values import annotations_of
from argolint.values.knowledge import load

from ._fields import drifts
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each provider that rewrote an object."""
    for provider in load(__package__, "cloud.yaml")["providers"]:

        def rewritten(resource: Resource, change: Change, provider: Any = provider) -> bool:
            if is_sort(change.writer, "person") or not _is_provider_rewrite(provider, resource, change):
                return False
            return not git_moved(app, resource, change)

        for drift in drifts(app, rewritten):
            yield drift.finding(
                f"{provider['name']} rewrites {drift.places()} of {drift.resource.id}, so Git's value never stays.",
                fixes=(
                    None
                    if provider.get("moves")
                    else drift.write_live(f"Accept what {provider['name']} writes", str(provider["advice"])),
                    drift.ignore(),
                ),
                evidence=(
                    *((str(provider["advice"]),) if provider.get("moves") else ()),
                    f"source: {provider['source']}",
                ),
            )


def _is_provider_rewrite(provider: Any, resource: Resource, change: Change) -> bool:
    if resource.kind not in provider.get("kinds", (resource.kind,)):
        return False
    marked = any(fnmatchcase(name, mark) for mark in provider["marks"] for name in annotations_of(resource.live))
    patterns = (*provider["always"], *(provider["fields"] if marked else ()))
    if change.writer is not None and re.fullmatch(provider.get("managers", ""), change.writer.manager):
        return True
    if not any(re.fullmatch(pattern, change.pointer, re.DOTALL) for pattern in patterns):
        return False
    text = json.dumps(None if change.live is MISSING else change.live)
    if "live" in provider and not (isinstance(change.live, str) and re.fullmatch(provider["live"], change.live)):
        return False
    words = provider.get("holds", ())
    return not words or any(f'"{word}"' in text for word in words)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
