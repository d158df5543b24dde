"""Waves of child Applications that order nothing

What it finds: an application that gives its child Applications different sync waves while Argo CD has no health check for
`argoproj.io/Application` (`resourceOverrides` of the settings).

Why it hurts: since 1.8 Argo CD treats a child as complete as soon as it is created. All waves start at once, and a later wave may start before
its needs are there.

How to fix: add the health check to argocd-cm, or remove the waves, since they have no effect.

Example: CRDs in wave 0, the operator in wave 1, its resources in wave 2, each a child Application.

Sources: Argo CD's documentation, health of Argo CD App; upgrading 1.7 to 1.8. With Argo CD 3.4 an application is Missing only if all its objects
are, so a check that waits for anything but Missing lets waves pass early.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Related, Rule
from argolint.relations.waits import has_own_check
from argolint.values import enumerated

_CHECK = """\
hs = {status = "Progressing", message = ""}
if obj.status ~= nil and obj.status.health ~= nil then
  hs.status = obj.status.health.status
  hs.message = obj.status.health.message or ""
end
return hs
"""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each parent."""
    if not fleet.settings or app.deleting:
        return
    children = [r for r in app.of_kind("Application", "argoproj.io") if r.claimed]
    waves = sorted({child.wave for child in children})
    if (
        len(waves) < 2
        or has_own_check(fleet, "argoproj.io", "Application")
        or any(child.health.status for child in children)
    ):
        return
    listed = enumerated([str(wave) for wave in waves])
    yield Finding(
        message=f"The waves {listed} of {len(children)} child Applications of {app.ref} order nothing, since Argo CD has no health check of Applications.",
        at=Location(app.ref),
        evidence=(
            "resourceOverrides of the settings has no health check for argoproj.io/Application, and the children have no health in the list",
        ),
        related=tuple(Related(app.ref, child.id) for child in children[:10]),
        fixes=(
            Fix(
                "Give Argo CD a health check of Applications",
                "argocd-settings",
                "ConfigMap argocd-cm, resource.customizations.health.argoproj.io_Application",
                Edit("text", _CHECK),
                caveat="a child that is not Healthy then stops the waves after it",
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, standing=True)
