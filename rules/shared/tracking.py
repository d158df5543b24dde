"""The fix that lets Argo CD track by annotation."""

from __future__ import annotations

from argolint import Edit, Fix


def annotation_tracking_fix(why: str) -> Fix:
    return Fix(
        f"Track by annotation, which {why}",
        "argocd-settings",
        "ConfigMap argocd-cm",
        Edit(
            "yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  application.resourceTrackingMethod: annotation\n",
        ),
        caveat="sync every Application once afterwards",
    )
