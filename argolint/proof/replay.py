"""Replays an edit of a manifest, a live object or the Application in memory: patch, sync, compare and lint again.

These states are checked: now (live as it is), after the next sync, after the field's other writer has written its value again, and after a
hard refresh, which generates random values again, with the sync that follows. In none of them may a claimed difference remain or a new one
appear; no sync may remove another writer's value; no rule may have a new finding at the end. After a failed sync, only the state after the
next one counts: the fix must let it succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
from msgspec import structs

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison.compare import Strategy
from argolint.comparison.ignore import matches_object, without
from argolint.model import GONE, Effect, Finding, Fix, Json, Object, ResourceKey, Want
from argolint.proof import effects, losses
from argolint.proof.afterwards import SHOWN_BY_SYNC, Then, application_afterwards, without_object
from argolint.proof.moments import states_after, states_after_sync
from argolint.proof.outcomes import CannotReplay, Contradicted, Proven, SyncFails
from argolint.proof.pairs import Pair, pair_of
from argolint.proof.renders import Place, regenerated_places
from argolint.proof.requirements import (
    is_masked_claimed,
    require_dry_run,
    require_kept,
    require_no_differences,
    require_no_sync,
    require_render_alike,
)
from argolint.proof.syncs import (
    ApplicationCache,
    ObjectState,
    ReplayedObject,
    SyncTerms,
    application_after,
    object_state,
    shown_differences,
    sync_terms,
    synced_state,
)
from argolint.proof.touched import touched_objects
from argolint.values import below, mapping, owner_references
from argolint.values.decoding import json_value
from argolint.values.kubernetes import is_secret_data
from argolint.values.patterns import regex

Check = Callable[[App], Iterable[Finding]]
"""Runs rules on another state of the application."""

RENDERED_FROM = ("/spec/source", "/spec/sources", "/spec/sourceHydrator", "/spec/destination", "/spec/project")

_NOT_REPLAYED = {
    "yaml": "what is rendered from this fragment is not known here",
    "text": "advice cannot be replayed",
}
_READS = regex(
    r"kubectl (?:-n \S+ )?(?:get|describe|logs|explain|top|auth can-i|api-resources)\b|git (?:ls-tree|log|show)\b"
    r"|argocd (?:app|cluster|repo|proj) (?:get|list|diff|history|resources|manifests|logs)\b|helm (?:template|show)\b"
)
_ACTS = regex(
    r"\b(?:kubectl|argocd)\b[^|;&]*\s(?:annotate|apply|create|delete|edit|label|patch|replace|rollout|scale|set|sync|terminate-op)\s"
)
_FORCED = regex(r"kubectl (?:-n \S+ )?annotate .*\bforce-sync=")


def not_replayed_reason(fix: Fix) -> str:
    """Why a fix that is no patch is not replayed; empty for a patch."""
    if fix.edit.kind != "command":
        return _NOT_REPLAYED.get(fix.edit.kind, "")
    steps = [line.strip() for line in str(fix.edit.content).splitlines()]
    acts = [
        step for step in steps if step and not step.startswith("#") and (_ACTS.search(step) or not _READS.match(step))
    ]
    if not acts:
        return "it says where to look: what to change depends on what is there"
    if all(_FORCED.match(act) for act in acts):
        return "what the operator finds at the next sync is not known here"
    return "a command is not run"


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of the application after the fix."""

    check: Check | None = None
    """The finding's own rule."""
    others: Check | None = None
    """Findings of any rule that do not exist now."""
    then: Then | None = None
    """The own rule's prediction for symptoms that no comparison shows."""


NO_CHECKS = Checks()


def replay(
    fix: Fix,
    finding: Finding,
    app: App,
    fleet: Fleet,
    checks: Checks,
    cache: ApplicationCache,
    kept: Mapping[ResourceKey, Object],
    found: set[Effect],
) -> Proven:
    """Returns if the fix is verified. Raises CannotReplay or Contradicted.

    `kept`: live objects after the steps before the edit. Effects of the next sync are added to `found` in each case.
    """
    _require_replayable(fix, finding, checks.check)
    edit = repr(fix.edit.content)  # the key: equal edits of different findings share a result
    raw = _edited(edit, fix, app, cache) if fix.target == "application" else app.raw
    touched: dict[ResourceKey, ObjectState] = {}
    random = _random_places(app)
    elsewhere = _other_application_want(fix, app) if checks.then is not None else None
    failed_sync = fix.target != "live" and any(symptom.kind == "operation" for symptom in finding.explains)
    deleted = fix.resource if is_deletion(fix) else None
    objects: Sequence[Resource] = ()
    if fix.target == "application":
        objects = touched_objects(edit, app, raw, fleet, cache)
    elif deleted is None and elsewhere is None:
        objects = (_edited_object(fix, finding, app, checks.then),)
    for resource in objects:
        key = resource.key
        if resource.live is None:
            touched[key] = _created_object(fix, resource, raw, fleet)
            continue
        pair = pair_of(resource, finding, app, fleet, cache)
        if key in kept:
            pair = replace(pair, live=kept[key])
        judged = failed_sync and checks.then is not None
        play = partial(_final_state, fix, pair, app, raw, fleet, random, failed_sync=failed_sync, judged=judged)
        remembered = fix.target == "application" and not pair.claimed
        touched[key] = (
            _cached_final_state((key, failed_sync, _own_terms(raw, pair, fleet)), cache, play, found)
            if remembered
            else play(found)
        )
    if failed_sync and checks.then is not None:
        touched |= _waiting_objects(finding, app, raw, fleet, cache, touched)
    if checks.then is None and any(symptom.kind != "change" for symptom in finding.explains):
        raise CannotReplay(SHOWN_BY_SYNC)
    if any(symptom.resource not in touched for symptom in finding.explains if symptom.kind == "change"):
        raise CannotReplay("the differences themselves stay")
    if fix.target == "application":
        require_render_alike(finding, app, touched, random)
    after = application_after(app, raw, touched)
    if elsewhere is not None:
        after = after.with_evidence({elsewhere: _synced_in_other_application(fix, elsewhere, app, fleet, found)})
    if deleted is not None:
        after = without_object(after, deleted.key)
    if checks.then is not None:
        after = application_afterwards(fix, finding, app, after, checks.then)
    _require_no_finding(finding, after, checks.check)
    for other in _new_findings(after, touched, checks.others) if checks.others else ():
        raise CannotReplay(f"{other.rule} would then report: {other.message}")
    twice = bool(random) or (bool(app.evidence.get(Want("render"))) and is_masked_claimed(finding, app))
    return Proven("rendered-twice" if twice else "replayed")


def replay_removal(fix: Fix, finding: Finding, app: App, checks: Checks) -> Proven:
    """The manifest is removed from Git, and the object stays: Argo CD does not prune an object with an owner reference.

    Source: gitops-engine pkg/cache/cluster.go (GetManagedLiveObjs). Raises CannotReplay.
    """
    resource = app.held(finding.edits(fix))
    if resource is None or not app.desired_known or resource.desired is None or resource.live is None:
        raise CannotReplay("the states of the object are not known")
    if not owner_references(resource.live):
        raise CannotReplay(
            f"{resource.id} has no owner on the cluster: what is no longer in Git is pruned, or left behind"
        )
    if any(symptom.kind != "change" or symptom.resource != resource.key for symptom in finding.explains):
        raise CannotReplay(SHOWN_BY_SYNC)
    if app.operation is not None and app.operation.failed:
        raise SyncFails
    left = tuple(other for other in app.resources if other.key != resource.key)
    if not any(other.claimed for other in left):
        raise CannotReplay(f"it is the only object of {app.ref}, and automated sync refuses to leave none")
    after = application_after(replace(app, resources=left), app.raw, {})
    _require_no_finding(finding, after, checks.check)
    for other in _new_findings(after, {}, checks.others) if checks.others else ():
        raise CannotReplay(f"{other.rule} would then report: {other.message}")
    return Proven("replayed")


def _final_state(
    fix: Fix,
    pair: Pair,
    app: App,
    raw: Object,
    fleet: Fleet,
    random: frozenset[Place],
    found: set[Effect],
    *,
    failed_sync: bool,
    judged: bool,
) -> ObjectState:
    """The last state of one object; `raw`: the Application after the fix; `judged`: a rule predicts the end of a refusal. See replay."""
    desired = patched(fix, pair.desired) if fix.target == "manifest" else pair.desired
    live = patched(fix, pair.live) if fix.target == "live" else pair.live
    if _identity(desired) != _identity(pair.desired):
        raise CannotReplay("the edit makes another object of it")
    if losses.removed_pointers(fix) and _hollow_count(desired) > _hollow_count(pair.desired):
        raise Contradicted("the edit leaves an empty item in a list, or empty annotations")
    terms = sync_terms(raw, desired, pair.today.server_side, fleet)
    before = sync_terms(app.raw, pair.desired, pair.today.server_side, fleet)
    if fix.target == "live":
        found.update(effects.sync_effects(pair.resource.kind, pair.live, live, lambda: pair.live))
    else:
        found.update(_sync_effects(pair, live, desired, terms, before))
        if terms.strategy is Strategy.SERVER_SIDE and before.strategy is not Strategy.SERVER_SIDE:
            require_dry_run(app, pair, terms, judged=judged)
    if _merges_by_schema(terms) and (place := losses.repeated_item_list(live) or losses.repeated_item_list(desired)):
        raise CannotReplay(f"two items of {place} of {pair.resource.id} have one key, which a merge by schema refuses")
    for last in (
        states_after_sync(live, desired, terms)
        if failed_sync
        else states_after(fix, pair, live, desired, terms, random)
    ):
        require_no_differences(last, pair)
    if fix.target != "live":
        require_kept(fix, pair, live, desired, terms, before)
    if fix.target == "manifest" and not failed_sync and app.operation is not None and app.operation.failed:
        require_no_sync(pair, live, desired, terms)
    return last


_REMEMBERED = 4096
"""Most cached objects after an edit, of one application."""


def _own_terms(raw: Object, pair: Pair, fleet: Fleet) -> SyncTerms:
    """The terms with the ignore rules of this object alone: an edit of a rule for one object leaves those of all others as they are."""
    terms = sync_terms(raw, pair.desired, pair.today.server_side, fleet)
    own = (r for r in terms.rules.ignore if matches_object(r, pair.desired) or matches_object(r, pair.live))
    return replace(terms, rules=replace(terms.rules, ignore=tuple(own)))


def _cached_final_state(
    place: tuple[ResourceKey, bool, SyncTerms],
    cache: ApplicationCache,
    play: Callable[[set[Effect]], ObjectState],
    found: set[Effect],
) -> ObjectState:
    """The last state of an object without claimed differences: equal for all edits of the Application that lead to the same terms."""
    if place not in cache.played:
        if len(cache.played) >= _REMEMBERED:
            cache.played.clear()
        done: set[Effect] = set()
        outcome: ObjectState | CannotReplay | Contradicted
        try:
            outcome = play(done)
        except (CannotReplay, Contradicted) as error:
            outcome = error
        cache.played[place] = ReplayedObject(frozenset(done), outcome)
    played = cache.played[place]
    found |= played.effects
    if isinstance(played.outcome, ObjectState):
        return played.outcome
    raise played.outcome.with_traceback(None)


def _edited(edit: str, fix: Fix, app: App, cache: ApplicationCache) -> Object:
    """The Application after the edit: one object, so that caches by identity find it again."""
    if edit not in cache.edited:
        cache.edited[edit] = patched(fix, app.raw)
    return cache.edited[edit]


def _hollow_count(node: Json) -> int:
    """The number of empty maps in lists, and of annotations and labels without a value; an API server treats each as a setting."""
    below_: Iterable[Json] = node if isinstance(node, list) else node.values() if isinstance(node, Mapping) else ()
    empty = [item for item in below_ if item == {}] if isinstance(node, list) else []
    named = [n for n in ("annotations", "labels") if isinstance(node, Mapping) and node.get(n) == {}]
    return len(empty) + len(named) + sum(_hollow_count(child) for child in below_ if isinstance(child, Mapping | list))


def _merges_by_schema(terms: SyncTerms) -> bool:
    return terms.server_side or terms.strategy is not Strategy.THREE_WAY


def _sync_effects(pair: Pair, live: Object, desired: Object, terms: SyncTerms, before: SyncTerms) -> frozenset[Effect]:
    """The effects of the fix on the next sync."""
    with_fix = synced_state(live, desired, terms)
    found = effects.sync_effects(
        pair.resource.kind, pair.live, with_fix, lambda: synced_state(pair.live, pair.desired, before)
    )
    return frozenset(found)


def _random_places(app: App) -> frozenset[Place]:
    """The places where two fresh renders differ; empty without such renders."""
    pair = app.evidence.get(Want("render"))
    return frozenset(regenerated_places(pair, app)) if pair else frozenset()


def _require_replayable(fix: Fix, finding: Finding, check: Check | None) -> None:
    if fix.edit.kind != "json-patch":
        raise CannotReplay(not_replayed_reason(fix))
    if not fix.edit.content:
        raise Contradicted("the edit changes nothing: what it would write is there already")
    if fix.target not in ("manifest", "application", "live"):
        raise CannotReplay("what is made of this setting cannot be replayed")
    if not finding.explains and check is None:
        raise CannotReplay("nothing shows whether the fault is gone")
    paths = [str(operation.get(field, "")) for operation in fix.edit.content for field in ("path", "from")]
    if fix.target == "application" and any(below(path, root) for path in paths for root in RENDERED_FROM):
        raise CannotReplay("the edit changes what is rendered, and nothing is rendered here")


def is_deletion(fix: Fix) -> bool:
    """Whether the fix deletes the live object `fix.resource`."""
    return fix.target == "live" and fix.resource is not None and fix.edit.content == GONE.content


def _other_application_want(fix: Fix, app: App) -> Want | None:
    """The want for the object of another application that a manifest fix edits."""
    key = fix.resource.key if fix.resource and fix.target == "manifest" else None
    if key is None or app.resource(key) is not None:
        return None
    peers = (want for want in app.evidence if want.kind == "peer" and want.resource and want.resource.key == key)
    return next((want for want in peers if isinstance(app.evidence[want], Resource)), None)


def _synced_in_other_application(fix: Fix, want: Want, app: App, fleet: Fleet, found: set[Effect]) -> Resource:
    """That object after its own application has synced the edit. Raises CannotReplay."""
    resource: Resource = app.evidence[want]
    other = fleet.by_ref.get(want.app) if want.app else None
    if other is None or resource.live is None or resource.desired is None:
        raise CannotReplay("the states of the object are not known")
    if other.operation is not None and other.operation.failed:
        raise CannotReplay(f"the last sync of {other.ref}, which brings the edit, failed")
    found.update(() if other.automated else ("needs-sync",))
    cache = shown_differences(resource, resource.live, resource.desired, other, fleet)
    if cache is None:
        raise CannotReplay(f"argolint's own comparison of {resource.id} does not agree with Argo CD's")
    desired = patched(fix, resource.desired)
    if _identity(desired) != _identity(resource.desired):
        raise CannotReplay("the edit makes another object of it")
    terms = sync_terms(other.raw, desired, cache.server_side, fleet)
    last = object_state(synced_state(resource.live, desired, terms), desired, terms)
    for pointer in last.comparison.pointers:
        raise CannotReplay(f"{pointer} of {resource.id} would differ after a sync of {other.ref}")
    return structs.replace(resource, desired_state=desired, live_state=last.live, modified=False, pending=())


def _edited_object(fix: Fix, finding: Finding, app: App, then: Then | None) -> Resource:
    """The object that a fix of a manifest, or of a live object, edits; it may not exist yet if a rule predicts what follows."""
    resource = app.held(finding.edits(fix))
    makes = then is not None and fix.target == "manifest" and resource is not None and resource.missing
    if resource is None or not (resource.live or makes) or not resource.desired:
        raise CannotReplay("the states of the object are not known")
    if any(symptom.resource != resource.key for symptom in finding.explains if symptom.kind == "change"):
        raise CannotReplay("it works through another object")
    gone = fix.target == "live"  # a key of the live Secret is removed with any value
    written = (o for o in fix.edit.content if not (gone and o.get("op") == "remove"))
    if any(is_secret_data(resource, str(o.get("path", ""))) for o in written):
        raise CannotReplay("Argo CD masks the data of Secrets")
    return resource


def _created_object(fix: Fix, resource: Resource, raw: Object, fleet: Fleet) -> ObjectState:
    """A missing object after a sync has created it from its edited manifest."""
    desired = patched(fix, resource.desired or {})
    if _identity(desired)[1:] != _identity(resource.desired or {})[1:]:
        raise CannotReplay("the edit makes another object of it")
    if losses.removed_pointers(fix) and _hollow_count(desired) > _hollow_count(resource.desired or {}):
        raise Contradicted("the edit leaves an empty item in a list, or empty annotations")
    return object_state(desired, desired, sync_terms(raw, desired, False, fleet))


def _waiting_objects(
    finding: Finding,
    app: App,
    raw: Object,
    fleet: Fleet,
    cache: ApplicationCache,
    touched: Mapping[ResourceKey, ObjectState],
) -> dict[ResourceKey, ObjectState]:
    """All other waiting objects after the successful sync."""
    found: dict[ResourceKey, ObjectState] = {}
    for resource in app.resources:
        if resource.key in touched or not (resource.missing or resource.modified) or not resource.desired:
            continue  # most objects wait for nothing, and are not decoded
        if resource.missing:
            terms = sync_terms(raw, resource.desired, False, fleet)
            found[resource.key] = object_state(resource.desired, resource.desired, terms)
        else:
            pair = pair_of(resource, finding, app, fleet, cache)
            terms = sync_terms(raw, pair.desired, pair.today.server_side, fleet)
            found[resource.key] = object_state(synced_state(pair.live, pair.desired, terms), pair.desired, terms)
            require_no_differences(found[resource.key], pair)
    return found


def patched(fix: Fix, document: Object) -> Any:
    import jsonpatch  # only needed for a finding with a patch

    copied = json_value(msgspec.json.encode(document))  # a tenth of deepcopy's time
    try:
        return jsonpatch.JsonPatch(fix.edit.content).apply(copied, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise Contradicted(f"the patch does not apply: {error}") from error


def _identity(obj: Object) -> tuple[Json, ...]:
    metadata = mapping(obj, "metadata")
    return obj.get("apiVersion"), obj.get("kind"), metadata.get("namespace"), metadata.get("name")


def _new_findings(after: App, touched: Mapping[ResourceKey, ObjectState], others: Check) -> Iterator[Finding]:
    """New findings of any rule after the edit.

    Findings that depend on an object's status are left out: its operator, which is not replayed, wrote it before the edit.
    """
    found = list(others(after))
    if not found:
        return
    bare = tuple(
        structs.replace(r, live_state=without(r.live, "/status")) if r.key in touched and r.live else r
        for r in after.resources
    )
    lasting = {(other.rule, other.at, other.cause) for other in others(replace(after, resources=bare))}
    yield from (other for other in found if (other.rule, other.at, other.cause) in lasting)


def _require_no_finding(finding: Finding, app: App, check: Check | None) -> None:
    """Raise if the rule finds the same fault again.

    Another finding of the rule contradicts nothing: it may depend on an operator's or an operation's record.
    """
    if check is not None and any(same_fault(other, finding) for other in check(app)):
        raise CannotReplay("the rule also looks at what is not replayed here, and would still report it")


def same_fault(other: Finding, finding: Finding) -> bool:
    """Whether it is the same finding. An entry of the Application may have another index."""
    return (other.at, other.cause) == (finding.at, finding.cause) and (
        finding.at.resource is not None or other.message == finding.message
    )
