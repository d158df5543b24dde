"""The state after a fix for symptoms that no comparison shows: a failed operation, bad health, a condition.

The finding's own rule predicts what the API server or controller then says (`Rule.then`). For an operation this module checks the rest:
nothing else of it has failed, the API server can parse new manifests, and the sync does not wait for unknown health.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from msgspec import structs

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Health, Resource
from argolint.application.rule import Afterwards, Rule
from argolint.model import Finding, Fix, Json, Object, ResourceKey, Symptom
from argolint.proof.outcomes import CannotReplay, Contradicted
from argolint.sequence.order import place_of
from argolint.values import mapping, maps, schema, text_at

Then = Callable[[Fix, App], Afterwards | None]
"""The rule's prediction, for a fix and the application after it."""


def prediction_of(rule: Rule, finding: Finding, fleet: Fleet) -> Then | None:
    """The prediction of a finding's rule; None for a rule without one."""
    then = rule.then
    return (lambda fix, after: then(fix, finding, after, fleet)) if then else None


SHOWN_BY_SYNC = "only a sync shows whether this ends it"


def application_afterwards(fix: Fix, finding: Finding, before: App, after: App, then: Then) -> App:
    """The application after the API server or controller has looked again. Raises CannotReplay or Contradicted."""
    found = then(fix, after)
    if found is None:
        if all(symptom.kind == "change" for symptom in finding.explains):
            return after
        raise CannotReplay(SHOWN_BY_SYNC)
    if found.refused:
        raise Contradicted(found.refused)
    if found.unknown:
        raise CannotReplay(found.unknown)
    healed = frozenset(symptom.resource for symptom in finding.explains if symptom.kind == "health")
    left = replace(
        after, resources=tuple(_predicted_object(resource, found.live, healed) for resource in after.resources)
    )
    for resource in left.resources:
        if resource.key in healed and resource.health.status not in ("Healthy", ""):
            raise CannotReplay(f"whether {resource.id} becomes healthy then shows only on the cluster")
    ends_operation = any(symptom.kind == "operation" for symptom in finding.explains)
    if ends_operation:
        _require_success(fix, finding, before, left, frozenset(found.live))
    return left.with_raw({**left.raw, "status": _predicted_status(finding, left, ends_operation=ends_operation)})


def without_object(app: App, key: ResourceKey) -> App:
    """The application without this live object, whether it manages the object or only its tree shows it."""
    place = (key.group, key.kind, key.namespace, key.name)
    nodes = tuple(n for n in app.tree.nodes or () if (n.group, n.kind, n.namespace, n.name) != place)
    resources = tuple(r if r.key != key else structs.replace(r, live_state=None) for r in app.resources)
    return replace(app, resources=resources, tree=structs.replace(app.tree, nodes=nodes))


def _predicted_object(
    resource: Resource, live: Mapping[ResourceKey, Object], healed: frozenset[ResourceKey | None]
) -> Resource:
    if resource.key not in live:
        made = resource.live is not None and resource.health.status == "Missing"
        return structs.replace(resource, health=Health("Healthy")) if made else resource
    state = live[resource.key]
    health = Health("Healthy") if resource.key in healed else resource.health
    if resource.live is not None:
        return structs.replace(resource, live_state=state, health=health)
    return structs.replace(
        resource,
        live_state=state,
        normalized_state=state,
        predicted_state=state,
        live_known=True,
        health=health,
        status="Synced",
        modified=False,
    )


_ILL = ("Degraded", "Missing", "Progressing", "Unknown")


def _predicted_status(finding: Finding, app: App, *, ends_operation: bool) -> Object:
    """The Application's status without the conditions that the finding explains, and with a successful operation."""
    ended = [claim for claim in finding.explains if claim.kind == "condition"]
    ended += [Symptom.condition("SyncError")] if ends_operation else []
    conditions = zip(maps(app.status, "conditions"), app.conditions, strict=True)
    stay: Json = [raw for raw, condition in conditions if not any(claim.covers(condition.symptom) for claim in ended)]
    status = {**app.status, "conditions": stay}
    if ends_operation and app.operation is not None:
        rows = [{**row, "status": "Synced", "hookPhase": "Succeeded", "message": ""} for row in app.operation.results]
        status["operationState"] = {
            **app.operation.raw,
            "phase": "Succeeded",
            "message": "successfully synced (all tasks run)",
            "syncResult": {**mapping(app.operation.raw, "syncResult"), "resources": rows},
        }
    if not any(resource.health.status in _ILL for resource in app.resources):
        status["health"] = {**mapping(status, "health"), "status": "Healthy"}
    return status


def _require_success(fix: Fix, finding: Finding, before: App, after: App, taken: frozenset[ResourceKey]) -> None:
    """Raise CannotReplay unless the next sync completes, as far as the API shows."""
    operation = before.operation
    own = {r.key for r in (fix.resource, finding.at.resource) if r is not None} | taken
    if operation is None:
        raise CannotReplay(SHOWN_BY_SYNC)
    for row in operation.results:
        failed = row.get("status") == "SyncFailed" or row.get("hookPhase") in ("Failed", "Error")
        group, kind, name = text_at(row, "group"), text_at(row, "kind"), text_at(row, "name")
        if failed and not any((k.group, k.kind, k.name) == (group, kind, name) for k in own):
            raise CannotReplay(f"the last sync failed at {kind} {name} too")
    for resource in after.resources:
        if resource.desired is not None and resource.key not in taken:
            _require_read(resource.desired, resource, before.resource(resource.key))
    if waited := next(_sync_waits(before, after), ""):
        raise CannotReplay(f"a sync of {before.ref} also waits for {waited}, whose health then is not known")


def _require_read(desired: Object, resource: Resource, was: Resource | None) -> None:
    """Raise CannotReplay if the API server may refuse a manifest that it has not seen yet."""
    if was is not None and was.live is not None and was.desired == desired and not was.modified:
        return
    if not schema.known(desired):
        raise CannotReplay(f"the schema of {resource.id}, which the API server has not taken yet, is not known here")
    for fault in schema.faults(desired):
        raise CannotReplay(f"the API server may not take {resource.id} then: {fault}")


def _sync_waits(before: App, after: App) -> Iterator[str]:
    """What a sync waits for: hooks, and unhealthy objects of all waves except the last."""
    places = sorted({place_of(r.desired) for r in after.resources if r.desired is not None})
    for resource in after.resources:
        if resource.hook:
            yield str(resource.id)
        elif resource.desired is not None and len(places) > 1 and place_of(resource.desired) != places[-1]:
            was = before.resource(resource.key)
            if was is None or was.live is None or was.health.status not in ("Healthy", ""):
                yield str(resource.id)
