"""CRD fields that the API server drops or sets

What it finds: differences of a CustomResourceDefinition without any effect: `preserveUnknownFields: false` (which the v1 API drops), `status`,
the default `conversion`, names that the server derives.

Why it hurts: the CRD is OutOfSync forever, so a real change of its schema stays unnoticed.

How to fix: leave these fields out of the manifest.

Example: `spec.preserveUnknownFields: false` from an old generator.

Sources: docs/user-guide/diffing.md; docs/operator-manual/upgrading/2.14-3.0.md (`preserveUnknownFields` is no longer ignored).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.values import below

from ._defaults import is_default
from ._fields import Drift, drifts
from ._grammar import is_hollow_difference

_DROPPED = ("/status", "/spec/preserveUnknownFields", "/spec/version", "/spec/additionalPrinterColumns")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each CRD."""
    for drift in drifts(app, _is_noise):
        in_git = tuple(change for change in drift.changes if change.desired is not MISSING)
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, which the API server drops or sets by itself.",
            fixes=(
                Drift(app, drift.resource, in_git).drop("Leave these fields out of the CRD") if in_git else None,
                drift.write_live("Write what the API server sets") if not in_git else None,
                drift.ignore(),
            ),
        )


def _is_noise(resource: Resource, change: Change) -> bool:
    if resource.kind != "CustomResourceDefinition":
        return False
    if below(change.pointer, "/status") and "status" in (resource.desired or {}):
        return False  # server-field-in-git removes it as a whole
    dropped = change.live is MISSING or is_hollow_difference(change.desired, change.live)
    return is_default("crd-noise", resource, change) or (
        dropped and any(below(change.pointer, place) for place in _DROPPED)
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
