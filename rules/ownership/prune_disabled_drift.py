"""Objects that left Git stay because nothing prunes them

What it finds: live objects with this Application's tracking data that are no longer among its manifests, while pruning is off. Pruning is off by
automated sync without `prune`, no automated sync at all, `Prune=false` on the object or for the whole Application, or an unconfirmed
`Prune=confirm`. Objects that an Argo CD applied after the last sync of this Application do not belong to it: another Argo CD has an Application
of the same name. In the gate also what an Application leaves behind on a cluster that is no longer its destination.

Why it hurts: the Application stays OutOfSync forever, so the next real difference stays unnoticed. The removed objects still run: old
Deployments take traffic and resources, old RBAC still grants.

How to fix: sync once with prune, or let automated sync prune. Check the list first: put objects that must stay back into Git, or set
`compare-options: IgnoreExtraneous`. First keep objects with data, CRDs, and objects with `Prune=false`. Never prune objects that another Argo CD
applies: give each its `installationID`.

Example: a Deployment and its Service were removed from Git; automated sync runs without prune, and both are still there.

Sources: gitops-engine/pkg/sync/sync_context.go (pruneObject), controller/state.go; docs/user-guide/sync-options.md;
argoproj/argo-cd issues 2352, 11402 and 13079 (two Argo CDs with an Application of one name).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import App, Edit, Finding, Fix, Fleet, Location, Related, Resource, ResourceId, Rule, Severity, Symptom
from argolint.application.applied import settled
from argolint.edits import application_patch, live_command, manifest_text, set_field
from argolint.edits.pruning import ignored_extraneous, keeping, prune_option
from argolint.values import dig, enumerated, parse_time, sh
from argolint.values.kubernetes import SYNC_OPTIONS, is_deleting, kubectl_name

from ..shared.references import users
from ._data import holds_data
from ._installations import installation_id_fix, label_key_fix
from ._tracking import has_copied_tracking, is_applied_elsewhere


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application; its extraneous objects are related."""
    if app.sync_status != "OutOfSync" or not app.desired_known or app.deleting:
        return
    extra = [r for r in app.resources if _is_extraneous(r) and not has_copied_tracking(app, r, fleet)]
    foreign = [r for r in extra if is_applied_elsewhere(app, r) or _is_of_unserved_namespace(fleet, r)]
    if foreign:  # a prune of its own objects would delete theirs too
        yield _other_argocd_finding(app, fleet, foreign)
        return
    kept = {r.id: reason for r in extra if (reason := _keep_reason(app, r, fleet))}
    if not kept:
        return
    only = not any(r.status == "OutOfSync" and r.id not in kept for r in app.resources)
    names = sorted(kept)
    listed = enumerated([str(id_) for id_ in names], "object", limit=1)
    verb = "is" if len(names) == 1 else "are"
    reasons = sorted(set(kept.values()))
    yield Finding(
        message=f"{app.name} stays OutOfSync{' only' if only else ''} over {listed}, which {verb} not in Git: {' and '.join(reasons)}.",
        at=Location(app.ref),
        severity=_severity(reasons, only=only),
        evidence=tuple(f"{id_} is live, not desired: {kept[id_]}" for id_ in names),
        related=tuple(Related(app.ref, id_, role="symptom") for id_ in names),
        fixes=tuple(_fixes(app, fleet, kept, [r.id for r in extra if r.id in kept and _is_precious(r)])),
        explains=tuple(Symptom.extra(id_) for id_ in names),
    )


def _is_of_unserved_namespace(fleet: Fleet, resource: Resource) -> bool:
    """Whether it is an Application or a set in a namespace where this Argo CD looks for none: another one has it, and made it."""
    kind = (resource.group, resource.kind) in (("argoproj.io", "Application"), ("argoproj.io", "ApplicationSet"))
    return kind and resource.live is not None and fleet.serves(resource.namespace) is False


def _other_argocd_finding(app: App, fleet: Fleet, foreign: list[Resource]) -> Finding:
    """The finding for objects that another Argo CD applies for an Application of the same name: a prune would delete its deployment."""
    names = sorted(r.id for r in foreign)
    listed, one = enumerated([str(id_) for id_ in names], "object", limit=1), len(names) == 1
    ended = app.operation.finished_at if app.operation is not None else None
    spaces = sorted({r.namespace for r in foreign if _is_of_unserved_namespace(fleet, r)})
    return Finding(
        message=f"{listed} {'belongs' if one else 'belong'} to another Argo CD's Application {app.name}; pruning here deletes"
        f" {'it' if one else 'them'}.",
        at=Location(app.ref, names[0]),
        cause="another-argocd",
        severity="error" if app.automated and app.prune else "warning",
        confidence="likely",
        evidence=(
            f"its Application is called {app.name} too, so its objects look extraneous here",
            *([f"this Argo CD looks for no Application in namespace {enumerated(spaces)}"] if spaces else []),
            *(
                [
                    f"the last sync of this Application ended at {ended:%Y-%m-%d %H:%M}Z, and an Argo CD applied {'it' if one else 'them'} after that"
                ]
                if ended and not spaces
                else []
            ),
        ),
        related=tuple(Related(app.ref, id_, role="symptom") for id_ in names[1:]),
        fixes=(
            label_key_fix() if fleet.tracking_method == "label" else installation_id_fix(),
            Fix(
                "Rename one of the two Applications",
                "application",
                f"Application {app.ref}",
                Edit(
                    "text",
                    "The name of an Application cannot change: create it again under another one, and delete the old one without its objects (argocd app delete --cascade=false).",
                ),
                caveat="until then sync neither of them with prune",
            ),
        ),
        explains=tuple(Symptom.extra(id_) for id_ in names),
    )


_AUTOMATIC_OFF = "auto-sync does not prune"
_MANUAL = "no one synced with prune"
_LEFT = "left by a prune"
_BACK = "made after a prune"
_FORBIDDEN = "Prune=false forbids it"
_UNCONFIRMED = "Prune=confirm waits for a person"
_SOON = "# when the operation waits for the confirmation; one from before its start does not count:"


def _is_extraneous(resource: Resource) -> bool:
    return not resource.hook and (resource.extra or (resource.requires_pruning and resource.status == "OutOfSync"))


def _keep_reason(app: App, resource: Resource, fleet: Fleet) -> str:
    """The reason why no sync prunes the object; empty if automated sync will."""
    if ignored_extraneous(app, resource) or is_deleting(resource.live):
        return ""
    option = prune_option(app, resource.live, fleet)
    if option:
        return _FORBIDDEN if option == "false" else _UNCONFIRMED
    if app.automated and not app.prune:
        return _AUTOMATIC_OFF
    return "" if app.automated else _pruned_in_vain(app, resource) or _MANUAL


def _pruned_in_vain(app: App, resource: Resource) -> str:
    """What the last sync with prune, of this very revision, did not change; empty if there was none."""
    operation = app.operation
    if operation is None or not settled(app, resource) or operation.revisions != app.revisions:
        return ""
    if not dig(operation.raw, "operation", "sync", "prune"):
        return ""
    made, ended = parse_time(dig(resource.live, "metadata", "creationTimestamp")), operation.finished_at
    return (_BACK if made >= ended else _LEFT) if made and ended else ""


def _deploys_the_same(app: App, fleet: Fleet, old: ResourceId) -> str:
    """The Application in Git that deploys objects of this one of another name, so that it was renamed; empty if there is none."""
    gone = fleet.app(old.name, old.namespace) if (old.group, old.kind) == ("argoproj.io", "Application") else None
    rivals = {ref for key in (fleet.contests(gone.ref) if gone else ()) for ref in fleet.claimants(key)}
    places = {(ref.namespace, ref.name) for ref in rivals}
    peers = (r for r in app.of_kind("Application", "argoproj.io") if r.id != old and r.desired is not None)
    return next((r.name for r in peers if (r.namespace, r.name) in places), "")


def _is_precious(resource: Resource) -> bool:
    """Whether more is lost than the object itself: data, all objects of a kind, what a claim is bound to or an Application deploys."""
    if (resource.group, resource.kind) == ("", "PersistentVolume"):
        return bool(dig(resource.live, "spec", "claimRef"))
    if (resource.group, resource.kind) == ("argoproj.io", "Application"):
        return True  # what it deploys goes with it, or stays with no one
    if (resource.group, resource.kind) == ("argoproj.io", "ApplicationSet"):
        return dig(resource.live, "spec", "syncPolicy", "preserveResourcesOnDeletion") is not True
    return holds_data(resource) or resource.kind == "CustomResourceDefinition"


def _severity(reasons: list[str], *, only: bool) -> Severity:
    """Information for a deliberate option or a sync that is still due; a warning for drift that stays."""
    return "warning" if only and _AUTOMATIC_OFF in reasons else "info"


def _fixes(app: App, fleet: Fleet, kept: Mapping[ResourceId, str], data: list[ResourceId]) -> Iterator[Fix]:
    names, reasons = sorted(kept), set(kept.values())
    forbidden = [id_ for id_ in names if kept[id_] == _FORBIDDEN]
    named = users(app)
    needed = [str(i) for i in names if named.get((i.group, i.kind, i.namespace, i.name))]
    if needed:
        yield manifest_text(
            f"Application {app.ref}",
            f"Restore {enumerated(needed)} in Git, or stop naming {'it' if len(needed) == 1 else 'them'}",
            "Only then is there nothing left that a sync with prune would break.",
        )
        return
    renamed = {id_: twin for id_ in names if (twin := _deploys_the_same(app, fleet, id_))}
    for old, new in renamed.items():
        yield live_command(
            str(old),
            f"Delete {old} without its objects, which Application {new} deploys too",
            f"argocd app delete {sh(f'{old.namespace}/{old.name}')} --cascade=false",
            "until then each of the two takes the objects over from the other one",
        )
    if len(renamed) == len(names):
        return  # a prune would take the objects with it
    if protected := sorted({*forbidden, *data} - set(renamed)):
        yield Fix(
            f"Keep {enumerated([str(id_) for id_ in protected], 'object', limit=1)}, and leave {'it' if len(protected) == 1 else 'them'} out of the sync status",
            "live",
            ", ".join(str(id_) for id_ in protected),
            Edit("command", "".join(f"{keeping(id_)}\n" for id_ in protected)),
            caveat="what is meant to stay goes back into Git",
            safe=True,
        )
    if in_vain := [id_ for id_ in names if kept[id_] in (_LEFT, _BACK)]:
        yield from _without_sync(app, kept, in_vain)
        if len(in_vain) == len(names):
            return
    caveat = "deletes every object listed: look for data first"
    free = [f"kubectl annotate {kubectl_name(id_)} --overwrite {SYNC_OPTIONS}=Prune=true" for id_ in forbidden]
    waits = _UNCONFIRMED in reasons
    sync = f"argocd app sync {sh(app.ref)} --prune{' --async' if waits else ''}"  # else it waits for the confirmation
    confirm = [_SOON, f"argocd app confirm-deletion {sh(app.ref)}"] if waits else []
    yield live_command(
        f"Application {app.ref}",
        ("Remove Prune=false and sync" if free else "Sync")
        + f" once with prune{', and confirm it' if confirm else ''}",
        "\n".join((*free, sync, *confirm)) + "\n",
        caveat,
    )
    if _AUTOMATIC_OFF in reasons:
        yield application_patch(
            app,
            "Let automated sync prune what leaves Git",
            set_field(app.raw, "/spec/syncPolicy/automated/prune", True),
            "every object that leaves Git is then deleted at once",
        )


def _without_sync(app: App, kept: Mapping[ResourceId, str], in_vain: list[ResourceId]) -> Iterator[Fix]:
    """What to do with objects that a sync with prune does not take away."""
    for id_ in in_vain:
        if kept[id_] == _BACK:
            command = (
                f"kubectl get {kubectl_name(id_)} -o yaml --show-managed-fields | grep -E 'manager:|operation:|time:'"
            )
            yield live_command(str(id_), "See who makes it again, and stop that", command)
        else:
            command = f"kubectl delete {kubectl_name(id_)}"
            yield live_command(str(id_), "Delete it by hand", command, "look for data first")


RULE = Rule(**Rule.page(__name__), severity="warning", check=check)
