"""The plan to change an application's name, owner or cluster without deleting an object; or why there is none.

The order is that of the hand-over of a shared object (argolint.edits.handover): first the old owner must neither prune nor delete, then the
new owner syncs in full, and the old one is removed only after the live objects name the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from argolint.application.app import App
from argolint.application.application_sets import Controller, maker_or_name, preserves
from argolint.application.fleet import Fleet
from argolint.edits import manifest_yaml
from argolint.edits.handover import sync
from argolint.edits.pruning import cascades
from argolint.forecast.moves import argocd, cluster, generated, into, rename
from argolint.forecast.moves.owners import parent_of
from argolint.forecast.moves.plan import EFFECT, Plan, Step, Where, move_finding
from argolint.model import Edit, Finding, Fix, Object, Related, ResourceId
from argolint.values import enumerated, sh, text_at


def plan(app: App, fleet: Fleet, where: Where, target: str, sets: Controller | None = None) -> Plan:
    """The move of one application, already read, to a `target`: a name, an application, a set or a cluster.

    `sets`: the ApplicationSet controller's settings.
    """
    called, findings, steps = _WAYS[where]
    about = f"{app.ref} {called} {target}"
    findings_of_move = (*_common(app, fleet, where, target, sets or Controller()), *findings(app, fleet, target))
    if any(EFFECT[f.cause or ""] == "refuses" for f in findings_of_move):
        return Plan(about, (), findings_of_move)
    return Plan(about, tuple(steps(app, fleet, target)), findings_of_move)


def _creates_only(owner: Object, sets: Controller) -> bool:
    """True if the set certainly neither deletes the Application nor restores its finalizer; this needs the controller's policy."""
    return sets.policy is not None and sets.of(owner) == "create-only"


_Ask = Callable[[App, Fleet, str], Iterator[Finding]]
_Plan = Callable[[App, Fleet, str], Iterator[Step]]
_WAYS: Mapping[Where, tuple[str, _Ask, _Plan]] = {
    "rename": ("to the name", rename.findings, rename.steps),
    "to": ("into the application", into.findings, into.steps),
    "to-set": ("to the ApplicationSet", generated.findings, generated.steps),
    "to-cluster": ("to the cluster", cluster.findings, cluster.steps),
    "to-argocd": ("to the Argo CD", argocd.findings, argocd.steps),
}
"""The name of each kind of move, its checks, and its steps."""


def _common(app: App, fleet: Fleet, where: Where, target: str, sets: Controller) -> Iterator[Finding]:
    """Findings that forbid every kind of move: an owner that deletes, a deletion in progress, objects that another application claims."""
    if app.deleting:
        yield move_finding(
            "application-deleting", app, f"{app.ref} is being deleted, so there is nothing left to move."
        )
    owner = maker_or_name(app, fleet)
    if owner is not None and where != "to-cluster" and not (preserves(owner) or _creates_only(owner, sets)):
        name = text_at(owner, "metadata", "name")
        message = f"ApplicationSet {name} would delete {app.ref} with all of its objects as soon as its element goes."
        id_ = ResourceId("argoproj.io", "ApplicationSet", app.ref.namespace, name, "v1alpha1")
        keep = manifest_yaml(
            f"ApplicationSet {name}",
            "Let the set keep what its Applications deployed, then ask again",
            "spec:\n  syncPolicy:\n    preserveResourcesOnDeletion: true\n    applicationsSync: create-only\n",
            "the set then removes the finalizer from its Applications; check that it did before you go on",
        )
        yield move_finding("set-deletes-objects", app, message, id_, fixes=(keep,))
    parent = parent_of(app, fleet)
    if parent is not None and cascades(app) and where != "to-cluster" and owner is None:
        message = f"{parent.ref} would prune Application {app.name}, whose finalizer then deletes all of its objects."
        get = (
            f"kubectl get application {sh(app.name)} -n {sh(app.ref.namespace)} -o jsonpath='{{.metadata.finalizers}}'"
        )
        let_go = Fix(
            "Remove the finalizer from its manifest, sync the parent, then ask again",
            "manifest",
            f"the manifest of Application {app.name} in {parent.ref}",
            Edit("command", f"{sync(parent.ref)}\n{get}\n"),
            caveat="remove metadata.finalizers in Git before this sync; the second command then prints nothing",
        )
        related = (Related(parent.ref, None, "", "cause"),)
        yield move_finding("parent-deletes-objects", app, message, related=related, fixes=(let_go,))
    shared = fleet.contests(app.ref)
    claimants = {ref for key in shared for ref in fleet.claimants(key)} - {app.ref}
    others = sorted(ref for ref in claimants if target not in (str(ref), ref.name))
    if others:
        objects = enumerated([f"{k.kind} {k.name}" for k in shared])
        message = f"{enumerated([str(o) for o in others])} also renders {objects}, and the last sync of them owns it."
        yield move_finding(
            "shared-objects", app, message, related=tuple(Related(ref, None, "", "claimant") for ref in others)
        )
