"""Fields that Argo CD Image Updater drops from the Applications that it writes."""

from __future__ import annotations

from argolint import MISSING, Change, Edit, Finding, Fix, Resource
from argolint.edits import manifest_yaml

from ._fields import Drift

_MANAGER = "argocd-image-updater"
_KEPT = ("/spec/source/helm/parameters", "/spec/source/kustomize/images")
"""What it writes on purpose: Git's entries there are not lost but replaced."""


def dropped_by_updater(resource: Resource, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The fields in Git that Image Updater wrote the Application without: its release does not know them."""
    if (resource.group, resource.kind) != ("argoproj.io", "Application"):
        return ()
    gone = (c for c in changes if c.live is MISSING and c.writer is not None and c.writer.manager == _MANAGER)
    return tuple(c for c in gone if c.pointer.startswith("/spec/") and not c.pointer.startswith(_KEPT))


def updater_finding(drift: Drift) -> Finding:
    """The finding for such fields; no fix hides them, since the Application needs them."""
    return drift.finding(
        f"Argo CD Image Updater writes {drift.resource.id} without {drift.places()}, which its release does not know, so each new image drops it.",
        fixes=(
            manifest_yaml(
                drift.resource.id,
                "Let Image Updater write back to Git",
                "metadata:\n  annotations:\n    argocd-image-updater.argoproj.io/write-back-method: git\n",
                "it needs the right to push; sync once more, so that Git's fields are back",
            ),
            Fix(
                "Or update Argo CD Image Updater to a release that knows the field",
                "live",
                "the Deployment of Argo CD Image Updater",
                Edit(
                    "text",
                    "Its release must be built with an Argo CD that has the field; then sync, and compare after the next image.",
                ),
            ),
        ),
        severity="warning",
        confidence="likely",
    )
