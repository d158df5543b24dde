"""Finds an object's owner: tracking data on live objects, and Argo CD's warnings based on it.

Sources: util/argo/resource_tracking.go (GetAppName, getAppInstanceValue, SetAppInstance) and CompareAppState in
controller/state.go of Argo CD.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from argolint import App, Fleet, Object, Resource, ResourceKey, Writer
from argolint.application.applied import by_argocd
from argolint.application.shared_warnings import SharedWarning
from argolint.application.tracked import INSTALLATION_ID, tracking_of
from argolint.comparison import LAST_APPLIED, TRACKING_ID, managers
from argolint.values import annotations_of, dig, json_in, maps, parse_time, text_at
from argolint.values.patterns import regex

_REFUSED = regex(r"Shared resour?ce found: (?:%s)?")
"""The beginning of the message of a sync under FailOnSharedResource=true; the first SharedResourceWarning follows (controller/sync.go).

`resouce` up to 2.10, and an unfilled `%s` from 3.0.10 and 3.1.0 on.
"""
LABEL_LIMIT = 63
"""Longest value of a Kubernetes label."""


def is_sync_refused_for(app: App, warning: str) -> bool:
    """Whether FailOnSharedResource failed the last sync with a warning that begins with this text."""
    operation = app.operation
    found = _REFUSED.match(operation.message) if operation is not None and operation.failed else None
    return found is not None and operation is not None and operation.message.startswith(warning, found.end())


def own_tracking_test(app: App, fleet: Fleet) -> Callable[[Resource], bool]:
    """A cheap test of live objects that are not decoded: True if their tracking-id names this application, as in nearly all of them, or if they
    have none.

    False proves nothing. An instance label may also be in selectors and pod templates, so the test never uses label tracking.
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
    """The objects that a warning may mean, if several have its kind and name.

    First those whose live tracking data names the warning's owner; without such data, those that the owner also lists; else those that are
    OutOfSync, since the tracking data of such an object differs. A hook, if nothing else has the name.
    """
    named = [r for r in app.resources if (r.kind, r.name) == (warning.kind, warning.name)]
    found = [r for r in named if not r.hook] or named
    tracked = [r for r in found if (t := tracking_of(r.live, fleet)) is not None and t.shown == warning.owner]
    owner = fleet.app_of_instance(warning.owner) if len(found) > 1 and not tracked else None
    listed = [r for r in found if owner is not None and listed_resource(owner, r.key) is not None]
    out_of_sync = [r for r in found if r.status == "OutOfSync"]
    return tuple(tracked or listed or out_of_sync or found)


def owner_of(resource: Resource, fleet: Fleet, instance: str) -> App | None:
    """Like owner_among; but for metadata copied from another object, only an Application that also renders this one is an owner."""
    owner = owner_among(fleet, resource.key, instance)
    tracking = tracking_of(resource.live, fleet)
    if owner is None or tracking is None or tracking.own:
        return owner
    listed = listed_resource(owner, resource.key)
    return owner if listed is not None and listed.claimed else None


def owner_among(fleet: Fleet, key: ResourceKey, instance: str) -> App | None:
    """The Application in the tracking data, if it can own this object: same cluster, and its list, with hooks, does not contradict it.

    A list that is empty, or that Argo CD could not compute again, contradicts nothing.
    """
    app = fleet.app_of_instance(instance)
    if app is None:
        return None
    listed = listed_resource(app, key)
    if listed is not None:
        return app
    return app if app.cluster == key.cluster and not (app.resources and app.desired_known) else None


_UNRESOLVED = "name:"
"""The prefix of a destination's cluster that the account may not see (Fleet.cluster_of)."""


def listed_resource(app: App, key: ResourceKey) -> Resource | None:
    """The application's own entry for the object.

    One cluster may appear by name in one Application and by server in another. Without the right to list clusters, an entry with this identity
    decides.
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
"""Field managers of tools that write whole manifests: their objects are no copies."""


_BY_HAND = tuple(f"kubectl-{verb}" for verb in ("annotate", "create", "edit", "label", "patch", "set"))
"""kubectl's own field managers; Argo CD since 2.5 always sets another one."""
MACHINE_MADE = frozenset({("cilium.io", "CiliumIdentity"), ("cilium.io", "CiliumEndpoint")})
"""Kinds that people do not write by hand: a program makes them from the labels of pods."""


def foreign_release(app: App, live: Object | None) -> str:
    """The Helm release that installed the object into another namespace than the Application's, as `"db" of namespace a`; else empty.

    A chart writes the release's name into app.kubernetes.io/instance, which label tracking reads.
    """
    notes = annotations_of(live)
    name, namespace = notes.get("meta.helm.sh/release-name"), notes.get("meta.helm.sh/release-namespace")
    return f'"{name}" of namespace {namespace}' if name and namespace not in (None, app.destination_namespace) else ""


def own_managers(live: Object) -> tuple[Writer, ...]:
    """Every field manager of this object: a restore or a copy also brings those of another one, which are older than the object."""
    created = parse_time(text_at(live, "metadata", "creationTimestamp"))
    return tuple(w for w in managers(live) if not (created and w.time and w.time < created))


def has_copied_tracking(app: App, resource: Resource, fleet: Fleet) -> bool:
    """Whether a live object that is not desired has tracking data copied from another object.

    An object that Argo CD applied has its field manager, or its own last-applied annotation. A controller that makes a child from a tracked
    object copies labels and annotations, and leaves neither.
    """
    live = resource.live
    tracking = tracking_of(live, fleet)
    if live is None or tracking is None or not resource.extra:
        return False
    if not tracking.own:
        return True
    written = own_managers(live)
    by_hand = _BY_HAND if fleet.at_least(2, 5) else ()
    deployed = (w.manager.startswith(_DEPLOYERS) and w.manager not in by_hand for w in written)
    if any(by_argocd(w) or w.manager == "argocd" for w in written):
        return False  # argocd-operator is not one of Argo CD's own managers
    if foreign_release(app, live):
        return True
    if any(deployed):
        return False
    applied = annotations_of(live).get(LAST_APPLIED)
    if applied:
        origin = json_in(applied)
        if not isinstance(origin, dict):
            return False
        written_in = dig(origin, "metadata", "namespace") if resource.namespace else ""
        namespace = written_in or resource.namespace  # a restore may choose another one
        applied_to = (origin.get("kind"), namespace, dig(origin, "metadata", "name"))
        return applied_to != (resource.kind, resource.namespace, resource.name)
    return bool(managers(live)) or (resource.group, resource.kind) in MACHINE_MADE or is_made_volume(app, resource)


def is_made_volume(app: App, resource: Resource) -> bool:
    """Whether it is a claim of one of the application's StatefulSets, or a volume that a provisioner made for a claim."""
    if (resource.group, resource.kind) == ("", "PersistentVolume"):
        return _PROVISIONER in annotations_of(resource.live)
    if (resource.group, resource.kind) != ("", "PersistentVolumeClaim"):
        return False
    return any(
        _ORDINAL.fullmatch(resource.name.removeprefix(f"{template}-{owner.name}"))
        for owner in app.of_kind("StatefulSet", "apps")
        if owner.namespace == resource.namespace
        for template in (text_at(t, "metadata", "name") for t in maps(owner.any, "spec", "volumeClaimTemplates"))
        if resource.name.startswith(f"{template}-{owner.name}-")
    )


_PROVISIONER = "pv.kubernetes.io/provisioned-by"
_ORDINAL = regex(r"-\d{1,9}")


_SYNCERS = ("argocd-controller", "argocd-application-controller")
_LAG = timedelta(minutes=2)
"""Tolerance for two machines' clocks, and for a status that is written after the last object."""


def is_applied_elsewhere(app: App, resource: Resource) -> bool:
    """Whether another Argo CD applied the object: after the last sync of this Application had ended.

    The status has each sync of this Argo CD as its operation, so the last one to end is its last apply. Into its own objects the application
    controller writes their status, too.
    """
    operation = app.operation
    ended = operation.finished_at if operation is not None and operation.phase != "Running" else None
    if ended is None or resource.live is None:
        return False
    syncers = _SYNCERS[:1] if resource.group == "argoproj.io" else _SYNCERS
    applied = [w.time for w in managers(resource.live) if w.manager in syncers and not w.subresource and w.time]
    return bool(applied) and max(applied) > ended + _LAG
