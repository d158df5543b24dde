"""The comparison and sync of one object under one version of its Application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import structs

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import compare
from argolint.comparison.compare import Comparison, Rules, Strategy
from argolint.model import Effect, Object, ResourceKey
from argolint.proof.outcomes import CannotReplay, Contradicted
from argolint.values import mapping
from argolint.values.kubernetes import api_of


@dataclass(frozen=True, slots=True)
class ShownDifferences:
    """The pointers that Argo CD shows for an object, and whether its controller compares server-side: inferred, since no API shows it."""

    shown: frozenset[str]
    server_side: bool


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object in one state after the fix."""

    live: Object
    desired: Object
    comparison: Comparison
    rerendered: bool = False
    """After a hard refresh whose render generated other values."""
    next_sync: Comparison | None = None
    """The comparison after one more sync, if something differs after the first."""


@dataclass(frozen=True, slots=True)
class ReplayedObject:
    """The result for an object without claimed differences: its last state, or why the fix does not work."""

    effects: frozenset[Effect]
    outcome: ObjectState | CannotReplay | Contradicted


class ApplicationCache:
    """Cached facts on one application, filled on demand: most objects have several fixes, and many findings share a fix."""

    def __init__(self) -> None:
        self.shown: dict[ResourceKey, ShownDifferences | None] = {}
        """The current comparison of its objects."""
        self.edited: dict[str, Object] = {}
        """The Application after each edit, by the edit's content."""
        self.touched: dict[str, tuple[Resource, ...]] = {}
        """The objects whose comparison each edit of the Application can change."""
        self.played: dict[tuple[ResourceKey, bool, SyncTerms], ReplayedObject] = {}
        """Their results, by object, whether the sync has failed, and the object's own terms; only the most recent ones."""


@dataclass(frozen=True, slots=True)
class SyncTerms:
    """How one object is compared and synced under one version of the Application."""

    rules: Rules
    strategy: Strategy
    server_side: bool
    respect_ignored: bool
    replaced: bool


def sync_terms(raw: Object, desired: Object, server_side_diff: bool, fleet: Fleet) -> SyncTerms:
    """The terms of the object under this version of the Application; `server_side_diff` is inferred, see ShownDifferences."""
    return SyncTerms(
        compare.rules_of(raw, fleet.settings, fleet.version),
        compare.strategy_of(raw, desired, fleet.version, server_side=server_side_diff),
        compare.syncs_server_side(raw, desired),
        compare.has_sync_option(raw, desired, "RespectIgnoreDifferences=true"),
        compare.has_sync_option(raw, desired, "Replace=true"),
    )


def shown_differences(
    resource: Resource, live: Object, desired: Object, app: App, fleet: Fleet
) -> ShownDifferences | None:
    """The current comparison; None if argolint's own does not reproduce what Argo CD shows."""
    lasting = (change.pointer for change in resource.changes if not compare.is_nothing(change.desired, change.live))
    shown = tuple(sorted({*lasting, *(change.pointer for change in resource.pending)}))
    rules = compare.rules_of(app.raw, fleet.settings, fleet.version)
    for server_side in (False, True):
        strategy = compare.strategy_of(app.raw, desired, fleet.version, server_side=server_side)
        if resource.compared and compare.compare(live, desired, rules, strategy).pointers == shown:
            return ShownDifferences(frozenset(shown), server_side)
    return None


def object_state(live: Object, desired: Object, terms: SyncTerms) -> ObjectState:
    return ObjectState(live, desired, compare.compare(live, desired, terms.rules, terms.strategy))


_NO_RULES = Rules()


def synced_state(live: Object, desired: Object, terms: SyncTerms) -> Object:
    """Live after a sync; the same object if nothing changes, so that its comparison is known."""
    found = compare.apply(
        live,
        desired,
        terms.rules if terms.respect_ignored else _NO_RULES,  # otherwise a sync ignores them
        server_side=terms.server_side,
        respect_ignored=terms.respect_ignored,
        replaced=terms.replaced,
    )
    assert found is not None
    return live if found == live else found


def application_after(app: App, raw: Object, touched: Mapping[ResourceKey, ObjectState]) -> App:
    """The application as the server would show it in the last state."""
    resources = []
    for resource in app.resources:
        state = touched.get(resource.key)
        if state is not None:
            resource = structs.replace(  # noqa: PLW2901  the same object, later
                resource,
                id=structs.replace(resource.id, version=api_of(state.desired)[1]),
                status="OutOfSync" if state.comparison.modified else "Synced",
                modified=state.comparison.modified,
                desired_state=state.desired,
                live_state=state.live,
                normalized_state=state.comparison.normalized,
                predicted_state=state.comparison.predicted,
                pending=(),
            )
        resources.append(resource)
    still = app.sync_status != "OutOfSync" or any(resource.status == "OutOfSync" for resource in resources)
    sync = {**mapping(app.status, "sync"), "status": app.sync_status if still else "Synced"}
    raw = {**raw, "status": {**app.status, "sync": sync}}
    return app.with_raw(raw, resources=tuple(resources))
