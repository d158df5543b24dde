"""The same items in another order

What it finds: a list with exactly Git's items in another order. The API server, a conversion or a webhook sorted them, or a writer whose field
manager names no controller.

Why it hurts: Argo CD compares a list by position if its type names no key for the items. So the object is OutOfSync although its content equals
Git's; if each write is sorted again, no sync ends that.

How to fix: write the list in Git in the live order. If the live order varies, ignore the list. If the order has a meaning (arguments, rules of
which the first match applies), Git's may be the right one: then sync.

Example: `values: [spot, on-demand]` in Git, `[on-demand, spot]` live.

Sources: docs/user-guide/diffing.md; kubernetes-sigs/structured-merge-diff (atomic lists); aws-controllers-k8s/community#2053.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved, rewritten_on_arrival

from ._fields import drifts
from ._grammar import is_reordered_list
from ._writers import is_reconciling_controller, is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""

    def sorted_(resource: Resource, change: Change) -> bool:
        known = is_sort(change.writer, "person") or is_sort(change.writer, "mutator")
        is_unexplained = (
            is_reordered_list(change) and not known and not is_reconciling_controller(resource, change.writer)
        )
        return is_unexplained and not git_moved(app, resource, change)

    for drift in drifts(app, sorted_):
        arrived = all(rewritten_on_arrival(app, drift.resource, change) for change in drift.changes)
        stays = "stays" if arrived else "is"
        yield drift.finding(
            f"{drift.resource.id} {stays} OutOfSync over {drift.places('list')}: Git's items in another order.",
            evidence=("the API server or a webhook sorted them in the very request that brought them",)
            if arrived
            else (),
            fixes=(
                drift.write_order(),
                drift.ignore(),
            ),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.SPELLING)
