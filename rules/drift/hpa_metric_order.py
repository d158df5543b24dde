"""The same metrics in another order

What it finds: a HorizontalPodAutoscaler whose live metrics are those of Git in another order; the API server or the
controller sorted them.

Why it hurts: Argo CD compares the list by position and stays OutOfSync, though nothing is different.

How to fix: write the metrics in the live order (for `autoscaling/v1` and `v2beta`: cpu last, as the conversion leaves them).

Sources: docs/user-guide/diffing.md; docs/faq.md (HorizontalPodAutoscaler metrics order).
"""

import json
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.values import below, dig

from ._edits import place
from ._fields import finding


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an autoscaler."""
    for resource in app.of_kind("HorizontalPodAutoscaler", "autoscaling"):
        changes = tuple(c for c in resource.changes if below(c.pointer, "/spec/metrics"))
        live = dig(resource.normalized, "spec", "metrics")
        if changes and _reordered(resource):
            yield finding(
                app,
                resource,
                changes,
                f"{resource.id} holds the {len(live)} metrics of Git in another order, so Argo CD compares unlike ones and shows it OutOfSync.",
                fixes=(
                    Fix(
                        "Write the metrics in the live order",
                        "manifest",
                        place(app),
                        Edit("json-patch", [{"op": "replace", "path": "/spec/metrics", "value": live}]),
                    ),
                    narrowest_ignore(app, resource, ("/spec/metrics",)),
                ),
            )


def _reordered(resource: Resource) -> bool:
    desired, live = (dig(side, "spec", "metrics") for side in (resource.predicted, resource.normalized))
    if not isinstance(desired, list) or not isinstance(live, list):
        return False
    return sorted(map(_text, desired)) == sorted(map(_text, live))


def _text(metric: object) -> str:
    return json.dumps(metric, sort_keys=True)


RULE = Rule(id="hpa-metric-order", family="drift", severity="info", doc=__doc__, check=check, rank=Rank.CAUSE)
