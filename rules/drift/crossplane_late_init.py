"""A provider fills in fields of a managed resource

What it finds: `spec.forProvider` fields of a Crossplane managed resource that the provider copied from the cloud (late initialisation), or other
fields of its spec that Crossplane wrote, and that Git lacks.

Why it hurts: the resource stays OutOfSync, and after a sync that removes the fields the provider sets them again.

How to fix: switch late initialisation off with `managementPolicies` (all except `LateInitialize`), or write the values.

Example: `spec.forProvider.storageType` appears after the database was created.

Sources: crossplane/crossplane#2773; https://docs.crossplane.io/latest/managed-resources/ (management policies).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.application.applied import by_argocd
from argolint.edits import manifest_yaml
from argolint.values import dig

from ._edits import source_place
from ._fields import drifts
from ._writers import is_sort

_ALL_BUT_LATE = ("Create", "Delete", "Observe", "Update")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each managed resource."""
    for drift in drifts(app, _is_late_initialised):
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, which its provider fills in.",
            fixes=(
                *(_no_late_init_fixes(app) if all(change.desired is MISSING for change in drift.changes) else ()),
                drift.write_live("Write the provider's values"),
                drift.ignore(),
            ),
        )


def _no_late_init_fixes(app: App) -> Iterator[Fix]:
    yield manifest_yaml(
        source_place(app),
        "Switch late initialisation off",
        f"spec:\n  managementPolicies: [{', '.join(_ALL_BUT_LATE)}]\n",
        "remove the fields that it has filled in once",
    )


def _is_late_initialised(resource: Resource, change: Change) -> bool:
    if not isinstance(dig(resource.live, "spec", "forProvider"), dict) or not change.pointer.startswith("/spec/"):
        return False
    if is_sort(change.writer, "crossplane"):
        return True
    foreign = change.writer is not None and not by_argocd(change.writer) and not is_sort(change.writer, "person")
    return change.pointer.startswith(("/spec/forProvider/", "/spec/initProvider/")) and (
        foreign or (change.writer is None and change.desired is MISSING)
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
