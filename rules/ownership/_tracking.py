"""Whose object is it: tracking data on live objects, and the warnings that Argo CD derives from it.

Sources: util/argo/resource_tracking.go (GetAppName, getAppInstanceValue, SetAppInstance) and CompareAppState in
controller/state.go of Argo CD.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from argolint import App, Edit, Fix, Fleet, Object, Resource, ResourceKey
from argolint.application.applied import by_argocd
from argolint.application.shared_warnings import SharedWarning
from argolint.application.tracked import INSTALLATION_ID, tracking_of
from argolint.comparison import LAST_APPLIED, TRACKING_ID, managers
from argolint.values import annotations_of, dig, json_in

_REFUSED = re.compile(r"Shared resour?ce found: (?:%s)?")
"""How the message of a sync under FailOnSharedResource=true begins; the first SharedResourceWarning follows (controller/sync.go).

`resouce` up to 2.10, and a `%s` that stayed in from 3.0.10 and 3.1.0 on.
"""
LABEL_LIMIT = 63
"""Longest value of a Kubernetes label."""


def by_annotation(why: str) -> Fix:
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


def refused_for(app: App, warning: str) -> bool:
    """Whether the last sync failed by FailOnSharedResource for a warning that begins so."""
    operation = app.operation
    found = _REFUSED.match(operation.message) if operation is not None and operation.failed else None
    return found is not None and operation is not None and operation.message.startswith(warning, found.end())


def own_names(app: App, fleet: Fleet) -> Callable[[Resource], bool]:
    """A cheap look at live objects that are still text: their tracking-id names this application, as nearly all of them do, or
    they have none.

    False says nothing. An instance label may stand in selectors and pod templates too, so label tracking is never recognised so.
    """
    if fleet.tracking_method == "label" or fleet.settings.get("installationID"):
        return lambda resource: False
    begins, namespace = f'"{TRACKING_ID}":"{app.instance}:', app.destination_namespace
    return lambda r: (
        r.mentions(f'{begins}{r.group}/{r.kind}:{r.namespace or namespace}/{r.name}"', "live")
        or not r.mentions(TRACKING_ID, "live")
    )


def is_tracking(pointer: str, fleet: Fleet) -> bool:
    """Whether a changed field is tracking data."""
    fields = [f"/metadata/annotations/{name.replace('/', '~1')}" for name in (TRACKING_ID, INSTALLATION_ID)]
    if "label" in fleet.tracking_method:
        fields.append(f"/metadata/labels/{fleet.label_key.replace('/', '~1')}")
    return pointer in fields


def warned_resources(warning: SharedWarning, app: App, fleet: Fleet) -> tuple[Resource, ...]:
    """The objects a warning may mean, when several have its kind and name.

    Those whose live tracking data names its owner; where that is not known those that the owner lists too, else those that
    are OutOfSync, since the tracking data of such an object differs. A hook, where nothing else has the name.
    """
    named = [r for r in app.resources if (r.kind, r.name) == (warning.kind, warning.name)]
    found = [r for r in named if not r.hook] or named
    tracked = [r for r in found if (t := tracking_of(r.live, fleet)) is not None and t.shown == warning.owner]
    owner = fleet.app_of_instance(warning.owner) if len(found) > 1 and not tracked else None
    listed = [r for r in found if owner is not None and listed_by(owner, r.key) is not None]
    out = [r for r in found if r.status == "OutOfSync"]
    return tuple(tracked or listed or out or found)


def owner_of(resource: Resource, fleet: Fleet, instance: str) -> App | None:
    """As owner_among; metadata that was copied from another object makes an owner only of an Application that wants this one too."""
    owner = owner_among(fleet, resource.key, instance)
    tracking = tracking_of(resource.live, fleet)
    if owner is None or tracking is None or tracking.own:
        return owner
    listed = listed_by(owner, resource.key)
    return owner if listed is not None and listed.claimed else None


def owner_among(fleet: Fleet, key: ResourceKey, instance: str) -> App | None:
    """The Application that tracking data names, when it can own this object: same cluster, and its list, hooks too, does not deny it.

    A list that is empty, or that Argo CD could not compute again, denies nothing.
    """
    app = fleet.app_of_instance(instance)
    if app is None:
        return None
    listed = listed_by(app, key)
    if listed is not None:
        return app
    return app if app.cluster == key.cluster and not (app.resources and app.desired_known) else None


_UNRESOLVED = "name:"
"""How the cluster of a destination begins that names one which the account may not see (Fleet.cluster_of)."""


def listed_by(app: App, key: ResourceKey) -> Resource | None:
    """The application's own entry for the object.

    A cluster that one Application gives by name and another by server may be one: without the right to list clusters no one
    can tell, and then an entry of that identity decides.
    """
    if app.cluster != key.cluster and app.cluster.startswith(_UNRESOLVED) != key.cluster.startswith(_UNRESOLVED):
        key = key._replace(cluster=app.cluster)
    return app.resource(key)


_DEPLOYERS = (
    "helm",
    "kubectl",
    "Terraform",
    "terraform",
    "pulumi",
    "kustomize-controller",
    "helm-controller",
)
"""Field managers of tools that write whole manifests: what they write is no one's copy."""


_BY_HAND = tuple(f"kubectl-{verb}" for verb in ("annotate", "create", "edit", "label", "patch", "set"))
"""Field managers of kubectl that no Argo CD since 2.5 writes as: it names its own."""
_MACHINE_MADE = {("cilium.io", "CiliumIdentity"), ("cilium.io", "CiliumEndpoint")}
"""Kinds that no one writes by hand."""


def foreign_release(app: App, live: Object | None) -> str:
    """The Helm release that installed the object into another namespace than the Application's: `"db" of namespace a`; empty for none.

    A chart writes the release's name into app.kubernetes.io/instance, which label tracking reads.
    """
    notes = annotations_of(live)
    name, namespace = notes.get("meta.helm.sh/release-name"), notes.get("meta.helm.sh/release-namespace")
    return f'"{name}" of namespace {namespace}' if name and namespace not in (None, app.destination_namespace) else ""


def copied_tracking(app: App, resource: Resource, fleet: Fleet) -> bool:
    """Whether a live object that is not desired carries tracking data that someone copied from another object.

    What Argo CD applied bears its field manager, or its own last-applied annotation; a controller that makes a child from a
    tracked object copies labels and annotations, and leaves neither.
    """
    live = resource.live
    tracking = tracking_of(live, fleet)
    if live is None or tracking is None or not resource.extra:
        return False
    if not tracking.own:
        return True
    written = managers(live)
    by_hand = _BY_HAND if fleet.at_least(2, 5) else ()
    deployed = (w.manager.startswith(_DEPLOYERS) and w.manager not in by_hand for w in written)
    if any(by_argocd(w) or w.manager == "argocd" for w in written):
        return False  # argocd-operator is none of Argo CD's own managers
    if foreign_release(app, live):
        return True
    if any(deployed):
        return False
    applied = annotations_of(live).get(LAST_APPLIED)
    if applied:
        origin = json_in(applied)
        if not isinstance(origin, dict):
            return False
        return (origin.get("kind"), dig(origin, "metadata", "name")) != (resource.kind, resource.name)
    return bool(written) or (resource.group, resource.kind) in _MACHINE_MADE


_SYNCERS = ("argocd-controller", "argocd-application-controller")
_LAG = timedelta(minutes=2)
"""Clocks of two machines, and a status that is written after the last object."""


def applied_elsewhere(app: App, resource: Resource) -> bool:
    """Whether an Argo CD applied the object after the last sync of this Application had ended: then another Argo CD did.

    Each sync of this one is the operation of its status, so the last one to end is the last that applied anything.
    """
    operation = app.operation
    ended = operation.finished_at if operation is not None and operation.phase != "Running" else None
    if ended is None or resource.live is None:
        return False
    applied = [w.time for w in managers(resource.live) if w.manager in _SYNCERS and not w.subresource and w.time]
    return bool(applied) and max(applied) > ended + _LAG
