"""An ApplicationSet that deletes data when an element disappears

What it finds: an Application of an ApplicationSet whose deletion also deletes data: a PersistentVolumeClaim, a StatefulSet that deletes its
claims, a Namespace, or an object whose operator deletes its volumes with it. Nothing prevents it: the set has no `preserveResourcesOnDeletion`,
no policy without deletion applies (`applicationsSync` of the set, or the controller's own, which takes precedence), and the object has no
`Delete=false`.

Why it hurts: the set deletes an Application as soon as its generators no longer give its name. A renamed element, a moved folder, a label that a
cluster loses or another field in the template's name is enough. No sync or prune option of the Application prevents it.

How to fix: set `preserveResourcesOnDeletion: true`, which keeps the deployed objects when an Application is deleted. Or keep the objects with
data by `argocd.argoproj.io/sync-options: Delete=false`. Sets of pull-request previews delete on purpose, and are not reported.

Example: a Git generator over folders, whose template deploys a PersistentVolumeClaim, and a folder that is renamed.

Sources: applicationset/controllers/applicationset_controller.go (deleteInCluster), applicationset/utils/policy.go (DefaultPolicy), controller/appcontroller.go (shouldBeDeleted) of Argo CD;
the kinds are in data_kinds.yaml, each with its source.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Object, Related, Resource, Rule, Want
from argolint.application.application_sets import (
    UNSEEN_POLICY,
    Controller,
    controller_seen,
    generators,
    maker,
    preserves,
    settings_want,
)
from argolint.edits import manifest_yaml
from argolint.edits.pruning import cascades, outlives
from argolint.values import enumerated, text_at

from ._data import holds_data, lost_data


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether a set may delete the application and it may have objects with data: only the live objects show whether they stay."""
    return _deleting_set(app, fleet) is not None and any(lost_data(row.group, row.kind) for row in app.rows)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The controller's policy, which applies to every set."""
    want = settings_want(fleet)
    if want is not None and want.app != app.ref and reads(app, fleet, options):
        yield want


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Application."""
    owner = _deleting_set(app, fleet)
    controller = controller_seen(app, fleet)
    deletes = owner is not None and controller.deletes(owner)
    data = [r for r in app.resources if _is_lost(r, app, fleet)] if deletes else []
    if owner is None or not data:
        return
    name = text_at(owner, "metadata", "name")
    yield Finding(
        message=f"ApplicationSet {name} deletes {enumerated([str(r.id) for r in data], limit=1)} as soon as its generators no longer give Application {app.name}.",
        at=Location(app.ref, data[0].id),
        confidence="likely" if controller.policy is None else "proven",
        evidence=(*(f"{r.id}: {lost_data(r.group, r.kind)}" for r in data[:5]), *_policy_evidence(controller, owner)),
        related=tuple(Related(app.ref, r.id, "", "other") for r in data[1:]),
        fixes=(
            manifest_yaml(
                f"the manifest of ApplicationSet {name}",
                "Let the set keep what its Applications deployed",
                "spec:\n  syncPolicy:\n    preserveResourcesOnDeletion: true\n",
                "an Application that should be deleted then leaves its objects as well",
            ),
            manifest_yaml(
                f"the manifest of {data[0].id}",
                "Keep the objects that hold data",
                "metadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Delete=false\n",
            ),
        ),
    )


def _deleting_set(app: App, fleet: Fleet) -> Object | None:
    """The set that deletes this Application when its element disappears; None if no object would be deleted with it."""
    if not cascades(app) or app.deleting:
        return None
    raw = maker(app, fleet)
    return raw if raw is not None and not (preserves(raw) or _makes_previews(raw)) else None


def _policy_evidence(controller: Controller, raw: Object) -> Iterator[str]:
    own = text_at(raw, "spec", "syncPolicy", "applicationsSync")
    if controller.policy is None:
        yield UNSEEN_POLICY
    elif own and controller.of(raw) != own:
        yield f"applicationsSync {own} does not count: the controller's own policy is {controller.policy}"


def _makes_previews(raw: Object) -> bool:
    return any("pullRequest" in generator for _, generator, _ in generators(raw.get("spec")))


def _is_lost(r: Resource, app: App, fleet: Fleet) -> bool:
    return r.live is not None and not r.hook and holds_data(r) and not outlives(app, r.live, fleet)


RULE = Rule(**Rule.page(__name__), severity="info", check=check, wants=wants, reads=reads, standing=True)
