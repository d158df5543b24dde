"""Claim templates without apiVersion and kind

What it finds: `volumeClaimTemplates` of a StatefulSet whose live items have `apiVersion`, `kind` and other defaults that the manifest omits. The
list is atomic: a server-side apply compares it as a whole.

Why it hurts: the StatefulSet is OutOfSync forever. The list cannot be changed on a live StatefulSet, so it is easy to miss that only the
spelling differs.

How to fix: write `apiVersion: v1` and `kind: PersistentVolumeClaim` in each template, or let the API server compare
(`ServerSideDiff=true`).

Example: a claim template with `metadata` and `spec` only.

Sources: argoproj/argo-cd#11106, #16707; minio/operator and charts of the same fault, minio/minio#18770.
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.values import split_pointer

from ._edits import server_side_diff_fix
from ._fields import Drift, drifts
from ._grammar import is_hollow_difference

_FILLED = (("apiVersion",), ("kind",), ("spec", "volumeMode"))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each StatefulSet, with all its claim templates."""
    for drift in drifts(app, _is_filled_in_type):
        written = tuple(change for change in drift.changes if split_pointer(change.pointer)[3:] in _FILLED)
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, which the API server fills in.",
            evidence=("the list of claim templates is compared as a whole",),
            fixes=(
                Drift(app, drift.resource, written).write_live("Write apiVersion and kind in the claim template")
                if written
                else None,
                server_side_diff_fix(app),
            ),
        )


def _is_filled_in_type(resource: Resource, change: Change) -> bool:
    tokens = split_pointer(change.pointer)
    if resource.kind != "StatefulSet" or tokens[:2] != ("spec", "volumeClaimTemplates") or len(tokens) < 4:
        return False
    server_set = tokens[3] == "status" or tokens[3:] == ("metadata", "creationTimestamp")
    if change.desired is MISSING:
        return tokens[3:] in _FILLED or server_set
    return server_set and is_hollow_difference(change.desired, change.live)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
