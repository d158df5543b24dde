"""Pruning deletes an object that another Application still needs

What it finds: an object that left this Application's manifests and still has its tracking data, while another Application of the cluster renders
it too. The same for an Application that is being deleted with all its objects.

Why it hurts: pruning considers only this Application and deletes the object. The other one runs without it until its next sync: that is at once
for a self-healing one, at the next commit or by hand for the others. A Namespace, a CRD or a volume claim permanently loses its content.

How to fix: let the other Application take the object over first: guard it with `Prune=false`, sync the other one in full, then remove it from
this one. After that the object no longer belongs to this Application and nothing prunes it.

Example: a ConfigMap moves from the Application `ingest` to `normalizer`; `ingest` owned the live one and prunes it after `normalizer`
has synced.

Sources: gitops-engine/pkg/sync/sync_context.go (pruneObject), controller/state.go; argoproj/argo-cd issues 2600, 17965.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule, Symptom
from argolint.application.shared_warnings import shared_warnings
from argolint.application.tracked import tracking_of
from argolint.comparison import TRACKING_ID
from argolint.edits import live_command
from argolint.edits.handover import released, sync, take_over
from argolint.edits.pruning import cascades, outlives, prunes
from argolint.values.kubernetes import is_deleting, kubectl_name

from ._sharing import has_in_manifests
from ._tracking import warned_resources


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application is being deleted with its objects: an annotation may keep one of these."""
    return app.deleting and cascades(app)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that this application would delete and another one renders."""
    app_goes = app.deleting and cascades(app)
    if not (app_goes or app.desired_known):
        return
    for resource in app.resources:
        if resource.hook or not (app_goes or resource.extra or (resource.requires_pruning and resource.status)):
            continue
        others = _claimants(app, resource, fleet)
        if not others or not _is_ours(app, resource, fleet):
            continue
        if outlives(app, resource.live or {}, fleet) if app_goes else prunes(app, resource, fleet) == "never":
            continue
        names = " and ".join(f'"{other.name}"' for other in others)
        still = f"{names} {'renders' if len(others) == 1 else 'render'} it"
        back = _recreation_time(others, fleet)
        if is_deleting(resource.live):
            fact = f"is being deleted{' with this Application' if app_goes else ''}, though {still}"
            end = f"it is gone {back}"
        elif app_goes or app.leaving:
            fact = f"goes with this Application, though {still}"
            end = f"it is gone {back}"
        else:
            fact = f"left its owner, though {still}"
            pruned_by = "auto-sync" if prunes(app, resource, fleet) == "automatic" else "a sync with prune"
            end = f"{pruned_by} deletes it{_taken_along(resource, fleet)} {back}"
        yield Finding(
            message=f"{resource.id} {fact}: {end}.",
            at=Location(app.ref, resource.id),
            severity="error" if app_goes or prunes(app, resource, fleet) == "automatic" else "warning",
            confidence="proven" if resource.live_known else "likely",
            evidence=tuple(_evidence(app, resource, others, fleet)),
            related=tuple(Related(other, resource.id, role="claimant") for other in others),
            fixes=(
                (
                    _after_fix(resource, others[0])
                    if is_deleting(resource.live)
                    else _handover_fix(app, resource, others[0], fleet)
                ),
            ),
            explains=(
                *(() if app_goes else (Symptom.extra(resource.id),)),
                *(_warnings(resource, others, fleet) if is_deleting(resource.live) else ()),
            ),
        )


def _claimants(app: App, resource: Resource, fleet: Fleet) -> tuple[AppRef, ...]:
    """The other applications whose manifests hold the object."""
    found = []
    for ref in fleet.owners(resource.key):
        other = fleet.by_ref[ref]
        listed = other.resource(resource.key)
        if ref != app.ref and listed is not None and has_in_manifests(other, listed):
            found.append(ref)
    return tuple(found)


def _is_ours(app: App, resource: Resource, fleet: Fleet) -> bool:
    """Whether the live object's tracking data names this application, as pruning and deletion check it; by the list if the object is not read.

    Pruning skips objects with a tracking-id of another object (controller/state.go, isSelfReferencedObj).
    """
    if not resource.live_known:
        return True
    tracking = tracking_of(resource.live, fleet)
    owner = fleet.app_of_instance(tracking.instance) if tracking else None
    return owner is not None and owner.ref == app.ref and (app.deleting or (tracking is not None and tracking.own))


def _recreation_time(others: tuple[AppRef, ...], fleet: Fleet) -> str:
    healing = [fleet.by_ref[ref] for ref in others]
    if any(a.self_heal for a in healing):
        return "until self-heal makes it again"
    return "until the next commit" if any(a.automated for a in healing) else "until the next sync by hand"


def _evidence(app: App, resource: Resource, others: tuple[AppRef, ...], fleet: Fleet) -> Iterator[str]:
    tracking = tracking_of(resource.live, fleet)
    if tracking:
        yield f'{tracking.by} of the live object names "{tracking.instance}"'
    if app.deleting:
        yield f"the Application is being deleted since {app.raw['metadata']['deletionTimestamp']}, with its objects"
    else:
        yield "the list shows it as requiring pruning" if resource.requires_pruning else "it is live and not desired"
    for ref in others:
        yield f'"{ref.name}" lists it among its own objects'


def _taken_along(resource: Resource, fleet: Fleet) -> str:
    """The end of a sentence on an Application whose finalizer deletes its own objects too."""
    is_app = (resource.group, resource.kind) == ("argoproj.io", "Application")
    child = fleet.app(resource.name, resource.namespace) if is_app else None
    return " with all its objects" if child is not None and cascades(child) else ""


def _warnings(resource: Resource, others: tuple[AppRef, ...], fleet: Fleet) -> Iterator[Symptom]:
    """The others' warnings of the object, which shared-resource leaves to this rule once nothing is handed over any more."""
    for other in (fleet.by_ref[ref] for ref in others):
        for warning in shared_warnings(other):
            if resource.key in [each.key for each in warned_resources(warning, other, fleet)]:
                yield warning.condition.symptom


def _after_fix(resource: Resource, taker: AppRef) -> Fix:
    is_namespace = resource.id.kind == "Namespace"
    once = (
        "# Then let no manifest hold the Namespace (syncOption CreateNamespace=true): no Application deletes it then\n"
    )
    return live_command(
        resource.id,
        f'Wait for the end of the deletion, then sync "{taker.name}"',
        f"kubectl get {kubectl_name(resource.id)}   # until it is not found\n{sync(taker)}\n{once if is_namespace else ''}",
        "nothing stops a deletion that the API server has accepted"
        + ("; what no Application renders of its contents is lost" if is_namespace else ""),
    )


def _handover_fix(app: App, resource: Resource, taker: AppRef, fleet: Fleet) -> Fix:
    tracking = tracking_of(resource.live, fleet)
    keeper = fleet.by_ref[taker]
    key = tracking.by if tracking else TRACKING_ID
    release = released(resource.id, [keeper.instance], key)
    guarded = "FailOnSharedResource=true" in keeper.sync_options
    return live_command(
        resource.id,
        f'Hand it over to "{taker.name}" first',
        take_over(resource.id, taker, release, key if tracking and guarded else ""),
        "the deletion runs already: guard the object at once"
        if app.deleting
        else "run it before the next sync with prune",
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, rank=Rank.ROOT)
