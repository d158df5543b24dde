"""The same metrics in another order

What it finds: a HorizontalPodAutoscaler with Git's metrics in another order, because the API server or the controller sorted them.

Why it hurts: Argo CD compares the list by position and stays OutOfSync although the metrics are the same.

How to fix: write the metrics in the live order (for `autoscaling/v1` and `v2beta`: cpu last, as the conversion leaves them).

Sources: docs/user-guide/diffing.md; docs/faq.md (HorizontalPodAutoscaler metrics order).
"""

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Rank, Rule

from ._fields import Drift
from ._grammar import is_reordered_list


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each autoscaler."""
    for resource in app.of_kind("HorizontalPodAutoscaler", "autoscaling"):
        changes = tuple(c for c in resource.changes if c.pointer == "/spec/metrics" and is_reordered_list(c))
        if changes:
            drift = Drift(app, resource, changes)
            yield drift.finding(
                f"{resource.id} stays OutOfSync: it holds Git's metrics in another order.",
                fixes=(drift.write_live("Write the metrics in the live order"), drift.ignore()),
            )


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.CAUSE)
