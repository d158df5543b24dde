"""Which Applications an ApplicationSet generated, which set generated an Application, and what its controller may do to them.

Sources: applicationset/utils/policy.go (DefaultPolicy) of Argo CD; --policy and --enable-policy-override of its ApplicationSet controller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.model import AppRef, Json, Object, ResourceId, Want
from argolint.values import dig, items, mapping, owner_references, text_at

_KIND = "ApplicationSet"


def set_namespace(fleet: Fleet, raw: Object) -> str:
    return text_at(raw, "metadata", "namespace") or fleet.control_plane


def set_id(fleet: Fleet, raw: Object) -> ResourceId:
    return ResourceId("argoproj.io", _KIND, set_namespace(fleet, raw), text_at(raw, "metadata", "name"), "v1alpha1")


def generators(node: Json, pointer: str = "/spec", depth: int = 0) -> Iterator[tuple[str, Object, int]]:
    """Every generator of a set's spec, with its pointer and nesting depth."""
    for index, generator in enumerate(items(node, "generators")):
        if not isinstance(generator, dict):
            continue
        place = f"{pointer}/generators/{index}"
        yield place, generator, depth
        for kind in ("matrix", "merge"):
            if kind in generator and depth < _DEEPEST:
                yield from generators(generator[kind], f"{place}/{kind}", depth + 1)


_DEEPEST = 8
"""Argo CD allows two levels."""


def owned_applications(fleet: Fleet, raw: Object) -> Sequence[App]:
    """The Applications that a set owns, in the order of the fleet."""
    return fleet.derive(_applications_by_set).get((set_namespace(fleet, raw), text_at(raw, "metadata", "name")), ())


def set_at(fleet: Fleet, namespace: str, name: str) -> Object | None:
    return fleet.derive(_sets_by_name).get((namespace or fleet.control_plane, name))


def maker(app: App, fleet: Fleet) -> Object | None:
    """The set that owns this Application; None if no such set is known."""
    known = fleet.derive(_sets_by_name)
    found = (known.get((app.ref.namespace, name)) for name in _owner_sets(app))
    return next((raw for raw in found if raw is not None), None)


def maker_or_name(app: App, fleet: Fleet) -> Object | None:
    """Like `maker`; if the account cannot see the set, an object with only its name."""
    return maker(app, fleet) or next(({"metadata": {"name": name}} for name in _owner_sets(app)), None)


def preserves(raw: Object) -> bool:
    return dig(raw, "spec", "syncPolicy", "preserveResourcesOnDeletion") is True


UNSEEN_POLICY = (
    "applicationsetcontroller.policy in ConfigMap argocd-cmd-params-cm may forbid it, which no application shows"
)
"""Evidence for a finding about an ApplicationSet whose controller's policy is not known."""


@dataclass(frozen=True)
class Controller:
    """The settings for all sets: `policy` is empty if the controller sets none, None if unknown."""

    policy: str | None = None
    overridden: bool = False

    def of(self, raw: Object) -> str:
        """The effective policy of a set, `sync` by default."""
        own = text_at(raw, "spec", "syncPolicy", "applicationsSync")
        return (own if own and (not self.policy or self.overridden) else self.policy) or "sync"

    def updates(self, raw: Object) -> bool:
        """Whether the set updates existing Applications."""
        return self.of(raw) in ("sync", "create-update")

    def deletes(self, raw: Object) -> bool:
        """Whether it deletes Applications that its generators no longer produce."""
        return self.of(raw) in ("sync", "create-delete")


def settings_want(fleet: Fleet) -> Want | None:
    """The want for the controller's settings: a ConfigMap in the application that manages Argo CD itself."""
    wanted = ResourceId("", "ConfigMap", fleet.control_plane, "argocd-cmd-params-cm", "v1", IN_CLUSTER)
    owner = next(iter(fleet.owners(wanted.key)), None)
    return Want("peer", wanted, app=owner) if owner is not None else None


def controller_seen(app: App, fleet: Fleet) -> Controller:
    """The controller's settings in an application that was read: as its own object, or as the evidence of `settings_want`."""
    want = settings_want(fleet)
    if want is None or want.resource is None:
        return Controller()
    found = app.resource(want.resource.key) if want.app == app.ref else app.evidence.get(want)
    return controller_of(found.live if found is not None else None)


def controller_of(config: Object | None) -> Controller:
    """The settings in the ConfigMap of `settings_want`; unknown without one."""
    if config is None:
        return Controller()
    data = mapping(config, "data")
    policy = text_at(data, "applicationsetcontroller.policy")
    override = text_at(data, "applicationsetcontroller.enable.policy.override").lower() in ("true", "1", "t")
    return Controller(policy, override)


def _owner_sets(app: App) -> list[str]:
    return sorted({str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == _KIND})


def _sets_by_name(fleet: Fleet) -> Mapping[tuple[str, str], Object]:
    found: dict[tuple[str, str], Object] = {}
    for raw in fleet.application_sets:
        found.setdefault((set_namespace(fleet, raw), text_at(raw, "metadata", "name")), raw)
    return found


def _applications_by_set(fleet: Fleet) -> Mapping[tuple[str, str], Sequence[App]]:
    found: dict[tuple[str, str], list[App]] = defaultdict(list)
    for app in fleet.apps:
        for name in _owner_sets(app):
            found[app.ref.namespace, name].append(app)
    return found


def reporting_ref(fleet: Fleet, raw: Object) -> AppRef:
    """The place of a finding about a set: its first Application in order, else the set's own name."""
    project = text_at(raw, "spec", "template", "spec", "project") or "default"
    own = AppRef(set_namespace(fleet, raw), text_at(raw, "metadata", "name"), project, fleet.server)
    return min((app.ref for app in owned_applications(fleet, raw)), default=own)
