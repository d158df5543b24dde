"""An edit of a manifest, a live object or the Application is replayed in memory: patched, synced, compared and linted again.

The moments that count: now (live as it is), after the next sync, after the field's other writer has written its value again,
and after a hard refresh, which draws anew whatever a chart draws, with the sync that follows. In none of them may what the
finding claims differ, or anything newly differ; no sync may take away what another writer has set; no rule may find
anything at the end that was not there before. Where a sync has failed, only the one after it counts: the fix shall let it through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import structs

from argolint.app import App
from argolint.comparison import compare, diff
from argolint.comparison.compare import Comparison, Rules, Strategy
from argolint.comparison.ignore import IgnoreRule, matches, matches_object, removed, without
from argolint.decoding import json_value
from argolint.engine import effects, losses
from argolint.engine.render_proof import Place, drawn_anew, is_named, named_by
from argolint.engine.verdict import CannotReplay, Contradicted, Loses, Proven, SyncFails, TakesTwoSyncs
from argolint.fleet import Fleet
from argolint.kubernetes import is_secret_data
from argolint.model import MISSING, Effect, Finding, Fix, Json, Object, ResourceKey, Want
from argolint.resource import Resource
from argolint.values import annotations_of, below, get, index_of, items, mapping, split_pointer

Check = Callable[[App], Iterable[Finding]]
"""Rules, over another state of the application."""

RENDERED_FROM = ("/spec/source", "/spec/sources", "/spec/sourceHydrator", "/spec/destination", "/spec/project")

Today = dict[ResourceKey, "_Today | None"]
"""How the objects of one application compare today, filled as fixes ask for it: most objects have several fixes."""

NOT_REPLAYED = {
    "command": "a command is not run",
    "yaml": "what is rendered from this fragment is not known here",
    "text": "advice cannot be replayed",
}


@dataclass(frozen=True, slots=True)
class Looks:
    """Who is asked about the application after the fix."""

    check: Check | None = None
    """The finding's own rule."""
    others: Check | None = None
    """Findings of any rule that are not there today."""


@dataclass(frozen=True, slots=True)
class _Today:
    """The pointers that Argo CD shows of an object, and whether its controller compares server-side: inferred, no API tells."""

    shown: frozenset[str]
    server_side: bool


@dataclass(frozen=True, slots=True)
class _Pair:
    """One managed object before the fix."""

    resource: Resource
    live: Object
    desired: Object
    today: _Today
    claimed: tuple[str, ...]
    """The pointers whose differences the finding explains."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """An object at one moment after the fix."""

    live: Object
    desired: Object
    comparison: Comparison
    redrawn: bool = False
    """After a hard refresh whose render drew other values."""
    next_sync: Comparison | None = None
    """What differs after one more sync, where something differs after the first."""


def replay(
    fix: Fix,
    finding: Finding,
    app: App,
    fleet: Fleet,
    looks: Looks,
    today: Today,
    kept: Mapping[ResourceKey, Object],
    found: set[Effect],
) -> Proven:
    """Returns when the fix is proven. Raises CannotReplay or Contradicted.

    `kept` are live objects as the steps before the edit leave them. What the next sync does because of the fix is added to
    `found`, whatever the verdict.
    """
    _require_replayable(fix, finding, looks.check)
    raw = patched(fix, app.raw) if fix.target == "application" else app.raw
    touched: dict[ResourceKey, _Moment] = {}
    drawn = _drawn(app)
    failed_sync = fix.target != "live" and any(symptom.kind == "operation" for symptom in finding.explains)
    for pair in _pairs(fix, finding, app, raw, fleet, today):
        pair = replace(pair, live=kept.get(pair.resource.key, pair.live))  # noqa: PLW2901
        desired = patched(fix, pair.desired) if fix.target == "manifest" else pair.desired
        live = patched(fix, pair.live) if fix.target == "live" else pair.live
        if _identity(desired) != _identity(pair.desired):
            raise CannotReplay("the edit makes another object of it")
        if losses.given_up(fix) and _hollow(desired) > _hollow(pair.desired):
            raise Contradicted("the edit leaves an empty item in a list, or empty annotations")
        terms = _terms(raw, desired, pair, fleet)
        if fix.target != "live":
            before = _terms(app.raw, pair.desired, pair, fleet)
            found.update(_sync_effects(pair, live, desired, terms, before))
        moments = _after_sync(live, desired, terms) if failed_sync else _moments(fix, pair, live, desired, terms, drawn)
        for moment in moments:
            touched[pair.resource.key] = moment
            _require_quiet(moment, pair)
        if fix.target != "live":
            _require_kept(fix, pair, live, desired, terms, before)
        if fix.target == "manifest" and not failed_sync and app.operation is not None and app.operation.failed:
            _require_no_sync(pair, live, desired, terms)
    if any(symptom.kind != "change" for symptom in finding.explains):
        raise CannotReplay("only a sync shows whether this ends it")
    if any(symptom.resource not in touched for symptom in finding.explains):
        raise CannotReplay("the differences themselves stay")
    if fix.target == "application":
        _require_render_alike(finding, app, touched, drawn)
    after = _after(app, raw, touched)
    _require_silence(finding, after, looks.check)
    for other in _news(app, raw, touched, looks.others) if looks.others else ():
        raise CannotReplay(f"{other.rule} would speak then: {other.message}")
    twice = bool(drawn) or (bool(app.evidence.get(Want("render"))) and _claims_masked(finding, app))
    return Proven("rendered-twice" if twice else "replayed")


def _claims_masked(finding: Finding, app: App) -> bool:
    claims = ((app.resource(claim.resource), claim.detail) for claim in finding.explains if claim.resource)
    return any(resource is not None and is_secret_data(resource, pointer) for resource, pointer in claims)


def _hollow(node: Json) -> int:
    """How many items of lists are empty maps, and how many annotations and labels; an API server reads each as a wish."""
    below_: Iterable[Json] = node if isinstance(node, list) else node.values() if isinstance(node, Mapping) else ()
    empty = [item for item in below_ if item == {}] if isinstance(node, list) else []
    named = [n for n in ("annotations", "labels") if isinstance(node, Mapping) and node.get(n) == {}]
    return len(empty) + len(named) + sum(_hollow(child) for child in below_ if isinstance(child, Mapping | list))


def _require_quiet(moment: _Moment, pair: _Pair) -> None:
    """Nothing that the finding claims differs, and nothing newly."""
    for pointer in moment.comparison.pointers:
        claimed = any(below(pointer, claim) for claim in pair.claimed)
        if not claimed and pointer in pair.today.shown:
            continue
        if moment.next_sync is not None and pointer not in moment.next_sync.pointers:
            raise TakesTwoSyncs(pair.resource, pointer)
        if claimed:
            raise Contradicted(f"{pointer} of {pair.resource.id} would differ all the same")
        if moment.redrawn:
            raise CannotReplay(f"another render changes {pointer} of {pair.resource.id} as well")
        raise Contradicted(f"{pointer} of {pair.resource.id} would newly differ")


def _require_kept(fix: Fix, pair: _Pair, live: Object, desired: Object, terms: _Terms, before: _Terms) -> None:
    """Raises Loses or CannotReplay where the next sync, or a later commit, is not kept from another writer's value."""
    synced = _synced(live, desired, terms)
    gone = tuple(losses.lost(fix, pair.desired, desired, live, synced)) if fix.target == "manifest" else ()
    if gone:
        raise Loses(pair.resource, gone)
    if fix.target != "application":
        return
    if terms.rules.ignore != before.rules.ignore:
        shown = compare.compare(live, desired, terms.rules, terms.strategy).pointers
        for pointer in sorted(pair.today.shown.difference(shown)):
            if get(live, pointer) != get(synced, pointer):
                raise CannotReplay(f"the next sync overwrites {pointer} of {pair.resource.id} all the same")
    newly = _newly_respected(pair, live, desired, terms, before)
    if newly and (closed := losses.closed_list(newly, desired, lambda d: _synced(synced, d, terms))):
        raise CannotReplay(
            f"no later commit to {closed} of {pair.resource.id} would arrive: RespectIgnoreDifferences keeps such a list whole"
        )


def _newly_respected(pair: _Pair, live: Object, desired: Object, terms: _Terms, before: _Terms) -> frozenset[str]:
    """The fields whose live value a sync keeps from now on: also those of rules that stood there without the option."""
    if not terms.respect_ignored:
        return frozenset()
    known = before.rules.ignore if before.respect_ignored else ()
    rules = [
        rule for rule in terms.rules.ignore if rule not in known and _effective(rule) and matches_object(rule, desired)
    ]
    kept = {pointer for rule in rules for side in (live, desired) for pointer in removed(rule, side)}
    return frozenset(kept.union(pair.claimed if rules else ()))


def _sync_effects(pair: _Pair, live: Object, desired: Object, terms: _Terms, before: _Terms) -> frozenset[Effect]:
    """What the next sync does because of the fix."""
    without_fix = _synced(pair.live, pair.desired, before)
    return frozenset(effects.of_sync(pair.resource.kind, pair.live, without_fix, _synced(live, desired, terms)))


def _require_no_sync(pair: _Pair, live: Object, desired: Object, terms: _Terms) -> None:
    """Raises SyncFails unless the edit ends the differences by itself."""
    shown = _moment(live, desired, terms).comparison.pointers
    if any(below(pointer, claim) for pointer in shown for claim in pair.claimed) or not pair.claimed:
        raise SyncFails


def _drawn(app: App) -> frozenset[Place]:
    """What two fresh renders drew differently; empty when there are none."""
    pair = app.evidence.get(Want("render"))
    return frozenset(drawn_anew(pair, app)) if pair else frozenset()


def _require_render_alike(
    finding: Finding, app: App, touched: Mapping[ResourceKey, _Moment], drawn: frozenset[Place]
) -> None:
    """What the finding names as drawn anew must be covered too, and what Argo CD masks is judged by two renders only."""
    for key, pointer in sorted(place for place in drawn if is_named(place, named_by(finding, app))):
        if key not in touched:
            raise CannotReplay(f"another render changes {pointer} of {key.kind} {key.name} as well")
    if app.evidence.get(Want("render")):
        return
    if _claims_masked(finding, app):
        raise CannotReplay(
            "Argo CD masks the values, and what follows from them shows in two renders only: --render-twice"
        )


def _require_replayable(fix: Fix, finding: Finding, check: Check | None) -> None:
    if fix.edit.kind != "json-patch":
        raise CannotReplay(NOT_REPLAYED[fix.edit.kind])
    if not fix.edit.content:
        raise Contradicted("the edit changes nothing: what it would write stands there already")
    if fix.target not in ("manifest", "application", "live"):
        raise CannotReplay("what is made of this setting cannot be replayed")
    if not finding.explains and check is None:
        raise CannotReplay("nothing tells whether the fault is gone")
    paths = [str(operation.get(field, "")) for operation in fix.edit.content for field in ("path", "from")]
    if fix.target == "application" and any(below(path, root) for path in paths for root in RENDERED_FROM):
        raise CannotReplay("the edit changes what is rendered, and nothing is rendered here")


def _pairs(fix: Fix, finding: Finding, app: App, after: Object, fleet: Fleet, today: Today) -> Iterator[_Pair]:
    """The objects whose comparison the fix can change; `after` is the Application object with it."""
    if fix.target == "application":
        if not app.read or not app.desired_known:
            raise CannotReplay("the states of the application's objects are not known")
        ignored = tuple(compare.rules_of(raw, fleet.settings).ignore for raw in (app.raw, after))
        touches = _touching(app.raw, after, ignored)
        for resource in app.resources:
            if touches(resource) and resource.live and resource.desired:
                ways = [
                    _way(raw, rules, resource.desired) for raw, rules in zip((app.raw, after), ignored, strict=True)
                ]
                if ways[0] != ways[1]:
                    yield _pair(resource, finding, app, fleet, today)
        return
    target = fix.resource or finding.at.resource
    resource_ = app.resource(target.key) if target else None
    if resource_ is None or not resource_.live or not resource_.desired:
        raise CannotReplay("the states of the object are not known")
    if any(symptom.resource != resource_.key for symptom in finding.explains if symptom.kind == "change"):
        raise CannotReplay("it works through another object")
    if any(is_secret_data(resource_, str(o.get("path", ""))) for o in fix.edit.content):
        raise CannotReplay("Argo CD masks the data of Secrets")
    yield _pair(resource_, finding, app, fleet, today)


def _touching(before: Object, after: Object, ignored: Sequence[tuple[IgnoreRule, ...]]) -> Callable[[Resource], bool]:
    """A cheap look before an object is decoded: some rule speaks of it, or the Application's other options change."""
    if _way_of_all(after) != _way_of_all(before):
        return lambda resource: True
    effective = {rule for rules in ignored for rule in rules if _effective(rule)}
    return lambda r: any(matches(rule, r.group, r.kind, r.namespace, r.name) for rule in effective)


def _effective(rule: IgnoreRule) -> bool:
    """False for the server's own rule that ignores every `/status`."""
    return bool(rule.jq_paths or rule.managers or set(rule.json_pointers) - {"/status"})


def _way_of_all(raw: Object) -> tuple[object, ...]:
    """What the Application says about comparing and syncing all of its objects, respected ignore rules aside."""
    given = {o for o in items(raw, "spec", "syncPolicy", "syncOptions") if isinstance(o, str)}
    options = given - {"RespectIgnoreDifferences=true"}
    return options, annotations_of(raw)


def _pair(resource: Resource, finding: Finding, app: App, fleet: Fleet, today: Today) -> _Pair:
    live, desired = resource.live, resource.desired
    assert live is not None
    assert desired is not None
    if resource.key not in today:
        today[resource.key] = _compared(resource, live, desired, app, fleet)
    found = today[resource.key]
    if found is None:
        raise CannotReplay(f"argolint's own comparison of {resource.id} does not agree with Argo CD's")
    claimed = tuple(symptom.detail for symptom in finding.explains if symptom.resource == resource.key)
    return _Pair(resource, live, desired, found, claimed)


def _compared(resource: Resource, live: Object, desired: Object, app: App, fleet: Fleet) -> _Today | None:
    """None when argolint's own comparison does not come to what Argo CD shows."""
    lasting = Comparison(resource.normalized, resource.predicted, resource.modified).pointers
    shown = tuple(sorted({*lasting, *(change.pointer for change in resource.pending)}))
    rules = compare.rules_of(app.raw, fleet.settings)
    for server_side in (False, True):
        strategy = compare.strategy_of(app.raw, desired, server_side=server_side)
        if resource.normalized and compare.compare(live, desired, rules, strategy).pointers == shown:
            return _Today(frozenset(shown), server_side)
    return None


def _way(raw: Object, rules: Iterable[IgnoreRule], desired: Object) -> tuple[object, ...]:
    """All that the Application says about comparing and syncing this object. To respect `/status` alone means nothing."""
    own = {replace(rule, origin="") for rule in rules if matches_object(rule, desired)}
    effective = any(_effective(rule) for rule in own)
    return (
        own,
        compare.strategy_of(raw, desired),
        compare.syncs_server_side(raw, desired),
        effective and compare.has_sync_option(raw, desired, "RespectIgnoreDifferences=true"),
    )


@dataclass(frozen=True, slots=True)
class _Terms:
    """How one object is compared and synced under one version of the Application."""

    rules: Rules
    strategy: Strategy
    server_side: bool
    respect_ignored: bool
    replaced: bool


def _terms(raw: Object, desired: Object, pair: _Pair, fleet: Fleet) -> _Terms:
    return _Terms(
        compare.rules_of(raw, fleet.settings),
        compare.strategy_of(raw, desired, server_side=pair.today.server_side),
        compare.syncs_server_side(raw, desired),
        compare.has_sync_option(raw, desired, "RespectIgnoreDifferences=true"),
        compare.has_sync_option(raw, desired, "Replace=true"),
    )


def _moments(
    fix: Fix, pair: _Pair, live: Object, desired: Object, terms: _Terms, drawn: frozenset[Place]
) -> Iterator[_Moment]:
    if fix.target != "manifest":
        yield _moment(live, desired, terms)
    if fix.target == "live":
        return
    synced = _synced(live, desired, terms)
    yield _with_next(_moment(synced, desired, terms), terms)
    later = _rewritten(synced, pair)
    if later != synced:
        yield _moment(later, desired, terms)
    anew = _redrawn(desired, pair, drawn) if fix.target == "application" else desired
    if anew != desired:
        yield replace(_moment(later, anew, terms), redrawn=True)
        yield replace(_moment(_synced(later, anew, terms), anew, terms), redrawn=True)


def _after_sync(live: Object, desired: Object, terms: _Terms) -> Iterator[_Moment]:
    """What counts where a sync has failed: what differs now waits for the next one, and nobody has written it again."""
    yield _moment(_synced(live, desired, terms), desired, terms)


def _with_next(moment: _Moment, terms: _Terms) -> _Moment:
    if not moment.comparison.modified:
        return moment
    again = _synced(moment.live, moment.desired, terms)
    return replace(moment, next_sync=_moment(again, moment.desired, terms).comparison)


def _moment(live: Object, desired: Object, terms: _Terms) -> _Moment:
    return _Moment(live, desired, compare.compare(live, desired, terms.rules, terms.strategy))


def _synced(live: Object, desired: Object, terms: _Terms) -> Object:
    found = compare.apply(
        live,
        desired,
        terms.rules,
        server_side=terms.server_side,
        respect_ignored=terms.respect_ignored,
        replaced=terms.replaced,
    )
    assert found is not None
    return found


def _redrawn(desired: Object, pair: _Pair, drawn: frozenset[Place]) -> Object:
    """The manifest of another render: what is known to be drawn anew, and masked values that differ, hold other words."""
    key = pair.resource.key
    places = {pointer for at, pointer in drawn if at == key}
    places |= {pointer for pointer in pair.claimed if is_secret_data(pair.resource, pointer)}
    for pointer in sorted(places):
        if isinstance(value := get(desired, pointer), str):
            desired = _put(desired, split_pointer(pointer), f"{value}+", insert=False)
    return desired


def _rewritten(synced: Object, pair: _Pair) -> Object:
    """The synced object after whoever wrote live's differing values has written them again.

    What live holds exactly as it was applied last was written by Argo CD itself, and nobody writes it again.
    """
    before = compare.last_applied(pair.live)
    result = synced
    for change in diff.changes(pair.resource.predicted or {}, pair.resource.normalized or {}):
        if not any(below(change.pointer, claim) for claim in pair.claimed):
            continue
        if before is not None and get(before, change.pointer) == change.live:
            continue
        if change.live is not MISSING:
            result = _put(result, split_pointer(change.pointer), change.live, insert=change.desired is MISSING)
        elif get(result, change.pointer) == change.desired:
            result = without(result, change.pointer)
    return result


def _put(node: Json, tokens: tuple[str, ...], value: Json, *, insert: bool) -> Json:
    """The node with the value at these tokens; maps that lack are made.

    `insert` is for a list's item that only live had: the others move up for it, unless it stands there already.
    """
    if not tokens:
        return value
    if isinstance(node, list):
        index = len(node) if (at := index_of(tokens[0])) is None else at
        if index >= len(node) + (len(tokens) == 1):
            raise CannotReplay("the list that it edits has another shape after a sync")
        if len(tokens) == 1:
            return node if insert and value in node else [*node[:index], value, *node[index + (not insert) :]]
        return [*node[:index], _put(node[index], tokens[1:], value, insert=insert), *node[index + 1 :]]
    base = node if isinstance(node, dict) else {}
    return {**base, tokens[0]: _put(base.get(tokens[0]), tokens[1:], value, insert=insert)}


def patched(fix: Fix, document: Object) -> Any:
    import jsonpatch  # needed only where a finding has a patch

    copied = json_value(msgspec.json.encode(document))  # a tenth of what deepcopy takes
    try:
        return jsonpatch.JsonPatch(fix.edit.content).apply(copied, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise Contradicted(f"the patch does not apply: {error}") from error


def _identity(obj: Object) -> tuple[Json, ...]:
    metadata = mapping(obj, "metadata")
    return obj.get("apiVersion"), obj.get("kind"), metadata.get("namespace"), metadata.get("name")


def _after(app: App, raw: Object, touched: Mapping[ResourceKey, _Moment]) -> App:
    """The application as the server would answer it at the last moment."""
    resources = []
    for resource in app.resources:
        moment = touched.get(resource.key)
        if moment is not None:
            resource = structs.replace(  # noqa: PLW2901  the same object, later
                resource,
                status="OutOfSync" if moment.comparison.modified else "Synced",
                modified=moment.comparison.modified,
                desired_state=moment.desired,
                live_state=moment.live,
                normalized_state=moment.comparison.normalized,
                predicted_state=moment.comparison.predicted,
                pending=(),
            )
        resources.append(resource)
    still = app.sync_status != "OutOfSync" or any(resource.status == "OutOfSync" for resource in resources)
    sync = {**mapping(app.status, "sync"), "status": app.sync_status if still else "Synced"}
    raw = {**raw, "status": {**app.status, "sync": sync}}
    return replace(app, raw=raw, resources=tuple(resources))


def _news(app: App, raw: Object, touched: Mapping[ResourceKey, _Moment], others: Check) -> Iterator[Finding]:
    """What any rule finds then and not today. What rests on an object's status is left out: its operator, which is not
    replayed, wrote it before the edit."""
    found = list(others(_after(app, raw, touched)))
    if not found:
        return
    bare = {key: replace(moment, live=without(moment.live, "/status")) for key, moment in touched.items()}
    lasting = {(other.rule, other.at, other.cause) for other in others(_after(app, raw, bare))}
    yield from (other for other in found if (other.rule, other.at, other.cause) in lasting)


def _require_silence(finding: Finding, app: App, check: Check | None) -> None:
    """The rule must not find the same fault again. An entry of the Application may have moved up to another's place.

    A rule that speaks all the same contradicts nothing: it may look at an operator's or an operation's record.
    """
    for other in check(app) if check else ():
        if (other.at, other.cause) == (finding.at, finding.cause) and (
            finding.at.resource is not None or other.message == finding.message
        ):
            raise CannotReplay("the rule looks at more than is replayed here, and would still speak")
