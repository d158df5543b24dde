"""An Application's source counts for nothing

What it finds: an Application with both `source` and `sources`.

Why it hurts: Argo CD reads `sources` alone. An edit of `source`, such as another version of a chart, changes nothing, and no condition says so.

How to fix: remove `source`, or move what it says into `sources`.

Example: `sources` is added for a values file, and `source` with the chart stays.

Sources: pkg/apis/application/v1alpha1/types.go of Argo CD (HasMultipleSources, GetSources).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.edits import application_place
from argolint.values import mapping, maps


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding."""
    if mapping(app.spec, "source").get("repoURL") and maps(app.spec, "sources") and not app.spec.get("sourceHydrator"):
        edit = Edit("json-patch", [{"op": "remove", "path": "/spec/source"}])
        yield Finding(
            message=f"Argo CD ignores the source of Application {app.ref}, since it has sources as well.",
            at=Location(app.ref, None, "/spec/source"),
            confidence="proven",
            fixes=(
                Fix("Remove the source that does not count", "application", application_place(app), edit, safe=True),
            ),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check)
