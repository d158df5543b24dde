"""What Argo CD deletes: objects that left the manifests, and objects of a deleted Application.

Sources: gitops-engine/pkg/sync/sync_context.go (isPruningDisabled, objRequiresPruneConfirmation), controller/appcontroller.go
(shouldBeDeleted) of Argo CD.
"""

from __future__ import annotations

from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.model import Object, ResourceId
from argolint.values import annotations_of, comma_list, dig, items
from argolint.values.kubernetes import COMPARE_OPTIONS, SYNC_OPTIONS, kubectl_name


def prunes(app: App, resource: Resource, fleet: Fleet) -> Literal["automatic", "manual", "never"]:
    """What prunes an object that left this application's manifests: the next automated sync, a person, or nothing."""
    option = prune_option(app, resource.live, fleet)
    if option == "false":
        return "never"
    return "automatic" if app.prune and not option else "manual"


def prune_option(app: App, live: Object | None, fleet: Fleet) -> str:
    """The `Prune=` option of a live object that left the manifests: `false`, `confirm`, or empty without a restriction.

    gitops-engine/pkg/sync/sync_context.go (isPruningDisabled, objRequiresPruneConfirmation).
    """
    value = _option("Prune", app, live, fleet)
    return value if value == "false" or (value == "confirm" and fleet.at_least(2, 14)) else ""


def refuses_to_empty(app: App) -> bool:
    """Whether automated sync prunes nothing, because nothing of the application is left in its manifests.

    controller/appcontroller.go (autoSync), unless `allowEmpty`.
    """
    own = [r for r in app.resources if r.status and not r.hook]
    is_wary = app.automated and app.prune and not dig(app.spec, "syncPolicy", "automated", "allowEmpty")
    return is_wary and bool(own) and all(r.requires_pruning for r in own)


def outlives(app: App, live: Object, fleet: Fleet) -> bool:
    """Whether an object remains after a cascading deletion of its Application: CRDs, `Delete=false`, Helm's `keep`.

    controller/appcontroller.go (shouldBeDeleted).
    """
    kept = comma_list(annotations_of(live).get("helm.sh/resource-policy"))
    return (
        live.get("kind") == "CustomResourceDefinition"
        or _option("Delete", app, live, fleet) == "false"
        or "keep" in kept
    )


def cascades(app: App) -> bool:
    """Whether deleting the Application deletes the objects that it owns: it has the resources finalizer."""
    finalizers = items(app.raw, "metadata", "finalizers")
    return any(str(name).startswith("resources-finalizer.argocd.argoproj.io") for name in finalizers)


def _option(name: str, app: App, live: Object | None, fleet: Fleet) -> str:
    """The value of a sync option: the object's own, else, since 3.4, the Application's; the first one counts."""
    own = comma_list(annotations_of(live).get(SYNC_OPTIONS))
    general = items(app.spec, "syncPolicy", "syncOptions") if fleet.at_least(3, 4) else ()
    for option in (*own, *general):
        key, sign, value = str(option).strip().partition("=")
        if sign and key == name:
            return value
    return ""


def ignored_extraneous(app: App, resource: Resource) -> bool:
    """True for an extra object that does not make the application OutOfSync (controller/state.go); a prune still deletes it."""
    own = comma_list(annotations_of(resource.live).get(COMPARE_OPTIONS))
    return "IgnoreExtraneous" in app.compare_options or "IgnoreExtraneous" in own


def keeping(resource: ResourceId) -> str:
    """The command by which no sync prunes an object that is not in Git, and none calls the application OutOfSync for it."""
    return f"kubectl annotate {kubectl_name(resource)} --overwrite {SYNC_OPTIONS}=Prune=false {COMPARE_OPTIONS}=IgnoreExtraneous"
