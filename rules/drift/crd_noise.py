"""CRD fields that the API server drops or sets

What it finds: differences of a CustomResourceDefinition without any effect: `preserveUnknownFields: false` (which the v1 API drops), `status`,
the default `conversion`, names that the server derives.

Why it hurts: the CRD is OutOfSync forever, so a real change of its schema stays unnoticed.

How to fix: leave these fields out of the manifest.

Example: `spec.preserveUnknownFields: false` from an old generator.

Sources: docs/user-guide/diffing.md; docs/operator-manual/upgrading/2.14-3.0.md (`preserveUnknownFields` is no longer ignored).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.values import below

from ._defaults import is_default
from ._fields import Drift, by_definition, drifts, is_of_published_chart, objects_text
from ._grammar import is_hollow_difference

_DROPPED = ("/status", "/spec/preserveUnknownFields", "/spec/version", "/spec/additionalPrinterColumns")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each CRD."""
    for first, *others in by_definition(drifts(app, _is_noise)):
        ignored = first.ignore_in_all() if others else first.ignore()
        yield first.finding(
            f"{objects_text([first, *others])} OutOfSync over {first.places()}, which the API server drops or sets by itself.",
            fixes=(ignored,) if is_of_published_chart(first) else (*_edits(first), ignored),
            others=others,
        )


def _edits(drift: Drift) -> Iterator[Fix | None]:
    in_git = tuple(change for change in drift.changes if change.desired is not MISSING)
    yield (
        Drift(drift.app, drift.resource, in_git).drop("Leave these fields out of the CRD")
        if in_git
        else drift.write_live("Write what the API server sets")
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
