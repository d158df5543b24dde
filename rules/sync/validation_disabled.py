"""Manifests without validation

What it finds: the sync option `Validate=false`, of an Application or of one object.

Why it hurts: a sync then runs `kubectl apply --validate=false`. The API server silently drops a misspelt field or one at the wrong depth. The
sync succeeds, and the field has no effect: a limit that does not limit, a probe that is not run.

How to fix: remove the option, and correct the fields that the next sync refuses. If one object cannot be validated (a field that a newer API
server knows), set the option only on that object.

Example: the option came years ago with a chart whose CRDs had no schema; since then `resource:` for `resources:` stays unnoticed.

Sources: docs/user-guide/sync-options.md; gitops-engine pkg/sync/sync_context.go (applyObject).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rule
from argolint.edits import application_patch
from argolint.values import annotations_of, comma_list, items, join_pointer
from argolint.values.kubernetes import ARGOCD_ANNOTATION, SYNC_OPTIONS

OPTION = "Validate=false"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the Application, and one for each object with the option that another rule read."""
    listed = items(app.spec, "syncPolicy", "syncOptions")
    if OPTION in listed:
        place = f"/spec/syncPolicy/syncOptions/{listed.index(OPTION)}"
        operations = [{"op": "test", "path": place, "value": OPTION}, {"op": "remove", "path": place}]
        yield Finding(
            message=f"Application {app.ref} is synced with {OPTION}: a misspelt field of any of its objects is dropped without a word.",
            at=Location(app.ref, None, place),
            fixes=(
                application_patch(
                    app,
                    f"Remove {OPTION} from the Application",
                    operations,
                    "the next sync fails on fields that the API server does not know; correct these, or set the option only on the object",
                ),
            ),
        )
    for resource in app.mentioning(ARGOCD_ANNOTATION, "desired"):
        if resource.mentions(OPTION, "desired") and OPTION in comma_list(
            annotations_of(resource.desired).get(SYNC_OPTIONS)
        ):
            yield Finding(
                message=f"{resource.id} is applied with {OPTION}: a misspelt field of it is dropped without a word.",
                at=Location(app.ref, resource.id, join_pointer("metadata", "annotations", SYNC_OPTIONS)),
            )


RULE = Rule(**Rule.page(__name__), severity="info", check=check)
