"""Fixes that let several Argo CDs on one cluster tell their objects apart (util/argo/resource_tracking.go of Argo CD)."""

from __future__ import annotations

from argolint import Fix
from argolint.edits import argocd_cm


def installation_id_fix(caveat: str = "") -> Fix:
    """The fix for Argo CDs that track by annotation."""
    content = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  installationID: NAME_OF_THIS_ARGO_CD\n"
    )
    return argocd_cm(
        "Give each Argo CD its own installationID",
        content,
        caveat or "needs annotation tracking; sync every Application once, without prune",
    )


def label_key_fix(
    title: str = "Give each Argo CD its own instance label", key: str = "argocd.argoproj.io/NAME_OF_THIS_ARGO_CD"
) -> Fix:
    """The fix for Argo CDs that track by label, where installationID has no effect."""
    content = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  application.instanceLabelKey: {key}\n"
    )
    return argocd_cm(title, content, "sync every Application of that Argo CD once, without prune")
