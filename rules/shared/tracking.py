"""The fix that lets Argo CD track by annotation."""

from __future__ import annotations

from argolint import Fix
from argolint.edits import argocd_cm


def annotation_tracking_fix(why: str) -> Fix:
    return argocd_cm(
        f"Track by annotation, which {why}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  application.resourceTrackingMethod: annotation\n",
        "sync every Application once afterwards",
    )
