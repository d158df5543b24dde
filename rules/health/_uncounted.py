"""The way to leave an object as it is: its health does not count for its application."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import Fix, Fleet, Resource
from argolint.edits import manifest_yaml


def uncounted(fleet: Fleet, resource: Resource, state: str) -> Iterator[Fix]:
    """The fix for as long as the object is in this state; Argo CD reads the annotation from 2.14 on."""
    if not fleet.is_older(2, 14):
        yield manifest_yaml(
            resource.id,
            f"Or keep it out of the application's health as long as {state}",
            'metadata:\n  annotations:\n    argocd.argoproj.io/ignore-healthcheck: "true"',
            "a sync with later waves waits for it all the same; a health check of your own ends that",
        )
