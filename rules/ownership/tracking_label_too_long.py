"""The Application's name does not fit into the tracking label

What it finds: label tracking (the only method before 2.2, the default up to 2.14) and an Application whose instance name is longer than the
63 characters of a label's value. Outside the control plane the instance name is `<namespace>_<name>`.

Why it hurts: Kubernetes refuses every object of the Application: `metadata.labels: Invalid value: must be no more than 63 characters`.

How to fix: track by annotation, whose values may be long, or give the Application a shorter name. Templates often cut a generated name: `{{
.name | trunc 63 }}` makes two long names equal, so shorten with care.

Example: `iclhk8s-prod-data-lake-operations-airflow-smart-data-quality-development` has 72 characters.

Sources: util/argo/resource_tracking.go (SetAppInstance), docs/user-guide/resource_tracking.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Rule
from argolint.edits import application_place
from argolint.edits.consequences import consequences

from ..shared.tracking import annotation_tracking_fix
from ._tracking import LABEL_LIMIT

_REFUSED = "must be no more than 63 "


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application whose name does not fit."""
    name = app.instance
    if fleet.tracking_method != "label" or len(name) <= LABEL_LIMIT:
        return
    operation = app.operation
    texts = [operation.message, *(str(r.get("message", "")) for r in operation.results)] if operation else []
    refused = operation is not None and operation.failed and any(_REFUSED in text for text in texts)
    yield Finding(
        message=f"{app.name} is too long for label tracking ({len(name)} of {LABEL_LIMIT} characters), so Kubernetes refuses all its objects.",
        at=Location(app.ref),
        evidence=(
            f'the instance name is "{name}"',
            f"trackingMethod of the server is label, written to {fleet.label_key}",
        ),
        fixes=(
            annotation_tracking_fix("has no such limit"),
            Fix(
                "Give the Application a shorter name",
                "application",
                application_place(app),
                Edit("text", f"at most {LABEL_LIMIT - (len(name) - len(app.name))} characters for metadata.name\n"),
                caveat="delete the old one with --cascade=false, or its objects go with it",
            ),
        ),
        explains=tuple(consequences(app)) if refused else (),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.ROOT)
