"""Fixes are proven before they are printed: applied in memory, synced in memory, compared and linted again.

Three moments count: now (live as it is), after a sync, and after the field's other writer has written its value again; where
a sync has failed, only the one after it: the fix shall let it through, and what differs now is what it could not write. A
manifest or Application edit is verified when the differences that the finding claims are gone in them, nothing new differs,
and the rule itself is silent about the result. Helm values are verified where the chart can be rendered here: two renders
with them no longer differ in what the finding names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import structs

from argolint.app import App, Resource
from argolint.comparison import compare, diff
from argolint.comparison.compare import Comparison, Rules, Strategy
from argolint.comparison.ignore import IgnoreRule, matches, matches_object, without
from argolint.decoding import json_value
from argolint.errors import ArgolintError
from argolint.fleet import Fleet
from argolint.kubernetes import group_of, is_secret_data
from argolint.manifests import ManifestError, mapping_of
from argolint.model import MISSING, Finding, Fix, Json, Object, ResourceKey, Want
from argolint.values import annotations_of, below, dig, get, index_of, items, mapping, split_pointer

Check = Callable[[App], Iterable[Finding]]
"""The finding's own rule, over another state of the application."""
Render = Callable[[App, Object], tuple[Sequence[Object], Sequence[Object]] | None]
"""Two renders with these Helm values over the application's own; None when it is none that can be rendered here."""

RENDERED_FROM = ("/spec/source", "/spec/sources", "/spec/sourceHydrator", "/spec/destination", "/spec/project")


class _CannotReplay(Exception):
    """Why a fix can be neither proven nor contradicted here."""


class _Contradicted(Exception):
    """Why a fix does not work."""


Today = dict[ResourceKey, "_Today | None"]
"""How the objects of one application compare today, filled as fixes ask for it: most objects have several fixes."""


def verify(
    fix: Fix,
    finding: Finding,
    app: App,
    fleet: Fleet,
    check: Check | None = None,
    render: Render | None = None,
    today: Today | None = None,
) -> Fix:
    """The fix with its verdict: verified True, False (`unverified` says what contradicts it), or None (says why not replayed).

    `app` is the application whose manifest or Application object the fix edits, with its states; whoever verifies several
    fixes of it passes the same `today`. Helm values are proven with `render`: what two renders drew differently must then
    come out equal.
    """
    try:
        if render is not None and fix.target == "helm-values" and fix.edit.kind == "yaml":
            _render_again(fix, finding, app, render)
        else:
            _replay(fix, finding, app, fleet, check, {} if today is None else today)
    except _CannotReplay as reason:
        return replace(fix, verified=None, unverified=str(reason))
    except _Contradicted as fault:
        return replace(fix, verified=False, unverified=str(fault))
    return replace(fix, verified=True, unverified="")


def unreplayed(fix: Fix) -> Fix:
    """A fleet finding's fix: no one application's states could prove it, and it says so."""
    why = _NOT_REPLAYED.get(fix.edit.kind, "a finding about several applications is not replayed")
    return replace(fix, verified=None, unverified=why)


_Place = tuple[ResourceKey, str]


def _render_again(fix: Fix, finding: Finding, app: App, render: Render) -> None:
    """Returns when the values end the differences that the finding names. Raises _CannotReplay or _Contradicted."""

    named = {(claim.resource, claim.detail) for claim in finding.explains if claim.kind == "change" and claim.resource}
    if finding.at.resource is not None:
        named.add((finding.at.resource.key, finding.at.pointer))
    named |= {(r.resource.key, r.pointer) for r in finding.related if r.app == app.ref and r.resource is not None}
    before = _drawn_anew(app.evidence.get(Want("render")) or ((), ()), app)
    drawn = {place for place in before if _is_named(place, named)}
    if not drawn:
        raise _CannotReplay("two renders do not differ in what the finding names even without these values")
    try:
        values = mapping_of(str(fix.edit.content))
        pair = render(app, values) if values else None
    except ManifestError as error:
        raise _Contradicted(f"the values are no YAML: {error}") from error
    except ArgolintError as error:
        raise _CannotReplay(f"the chart does not render with these values as they stand: {error.message}") from None
    if pair is None:
        raise _CannotReplay("what is rendered from this fragment is not known here")
    after = _drawn_anew(pair, app)
    if new := sorted(after - before):
        raise _Contradicted(f"two renders with these values newly differ in {_told(new[0])}")
    if left := sorted(place for place in after if _is_named(place, named)):
        if drawn <= set(left):
            raise _Contradicted(f"two renders with these values still differ in {_told(left[0])}")
        raise _CannotReplay(f"it ends a part: two renders with these values still differ in {_told(left[0])}")


def _drawn_anew(pair: tuple[Sequence[Object], Sequence[Object]], app: App) -> set[_Place]:
    """Where two renders differ. An object that only one of them holds differs in its name."""
    one, two = ({_key(m, app): m for m in side} for side in pair)
    apart = {(key, "/metadata/name") for key in one.keys() ^ two.keys()}
    return apart | {
        (key, pointer)
        for key in one.keys() & two.keys()
        if one[key] != two[key]
        for pointer, _, _ in diff.differences(one[key], two[key])
    }


def _key(manifest: Object, app: App) -> ResourceKey:
    """The identity under which the application lists it: without a namespace of its own it may get the destination's."""
    group = group_of(manifest)
    own = str(dig(manifest, "metadata", "namespace") or "")
    name = str(dig(manifest, "metadata", "name") or "")
    key = ResourceKey(app.cluster, group, str(manifest.get("kind") or ""), own, name)
    placed = key._replace(namespace=app.destination_namespace)
    return placed if not own and app.resource(placed) is not None else key


def _is_named(place: _Place, named: Iterable[_Place]) -> bool:
    """A name that is drawn anew belongs to whatever object of the kind the finding names by its name."""
    key, pointer = place
    return any(
        (key == other and below(pointer, claim)) or (pointer == claim == "/metadata/name" and key[:3] == other[:3])
        for other, claim in named
    )


def _told(place: _Place) -> str:
    key, pointer = place
    return f"{pointer} of {key.kind} {key.name}"


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


def _replay(fix: Fix, finding: Finding, app: App, fleet: Fleet, check: Check | None, today: Today) -> None:
    """Returns when the fix is proven. Raises _CannotReplay or _Contradicted."""
    _require_replayable(fix, finding, check)
    raw = _patched(fix, app.raw) if fix.target == "application" else app.raw
    touched: dict[ResourceKey, _Moment] = {}
    failed_sync = fix.target != "live" and any(symptom.kind == "operation" for symptom in finding.explains)
    for pair in _pairs(fix, finding, app, raw, fleet, today):
        desired = _patched(fix, pair.desired) if fix.target == "manifest" else pair.desired
        live = _patched(fix, pair.live) if fix.target == "live" else pair.live
        if _identity(desired) != _identity(pair.desired):
            raise _CannotReplay("the edit makes another object of it")
        terms = _terms(raw, desired, pair, fleet)
        moments = _after_sync(live, desired, terms) if failed_sync else _moments(fix, pair, live, desired, terms)
        for moment in moments:
            touched[pair.resource.key] = moment
            for pointer in moment.comparison.pointers:
                if any(below(pointer, claim) for claim in pair.claimed):
                    raise _Contradicted(f"{pointer} of {pair.resource.id} would differ all the same")
                if pointer not in pair.today.shown:
                    raise _Contradicted(f"{pointer} of {pair.resource.id} would newly differ")
    if any(symptom.kind != "change" for symptom in finding.explains):
        raise _CannotReplay("only a sync shows whether this ends it")
    if any(symptom.resource not in touched for symptom in finding.explains):
        raise _CannotReplay("the differences themselves stay")
    _require_silence(finding, _after(app, raw, touched), check)


def _require_replayable(fix: Fix, finding: Finding, check: Check | None) -> None:
    if fix.edit.kind != "json-patch":
        raise _CannotReplay(_NOT_REPLAYED[fix.edit.kind])
    if not fix.edit.content:
        raise _Contradicted("the edit changes nothing: what it would write stands there already")
    if fix.target not in ("manifest", "application", "live"):
        raise _CannotReplay("what is made of this setting cannot be replayed")
    if not finding.explains and check is None:
        raise _CannotReplay("nothing tells whether the fault is gone")
    paths = [str(operation.get(field, "")) for operation in fix.edit.content for field in ("path", "from")]
    if fix.target == "application" and any(below(path, root) for path in paths for root in RENDERED_FROM):
        raise _CannotReplay("the edit changes what is rendered, and nothing is rendered here")


_NOT_REPLAYED = {
    "command": "a command is not run",
    "yaml": "what is rendered from this fragment is not known here",
    "text": "advice cannot be replayed",
}


def _pairs(fix: Fix, finding: Finding, app: App, after: Object, fleet: Fleet, today: Today) -> Iterator[_Pair]:
    """The objects whose comparison the fix can change; `after` is the Application object with it."""
    if fix.target == "application":
        if not app.read or not app.desired_known:
            raise _CannotReplay("the states of the application's objects are not known")
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
        raise _CannotReplay("the states of the object are not known")
    if any(symptom.resource != resource_.key for symptom in finding.explains if symptom.kind == "change"):
        raise _CannotReplay("it works through another object")
    if any(is_secret_data(resource_, str(o.get("path", ""))) for o in fix.edit.content):
        raise _CannotReplay("Argo CD masks the data of Secrets")
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
        raise _CannotReplay(f"argolint's own comparison of {resource.id} does not agree with Argo CD's")
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


def _terms(raw: Object, desired: Object, pair: _Pair, fleet: Fleet) -> _Terms:
    return _Terms(
        compare.rules_of(raw, fleet.settings),
        compare.strategy_of(raw, desired, server_side=pair.today.server_side),
        compare.syncs_server_side(raw, desired),
        compare.has_sync_option(raw, desired, "RespectIgnoreDifferences=true"),
    )


def _moments(fix: Fix, pair: _Pair, live: Object, desired: Object, terms: _Terms) -> Iterator[_Moment]:
    if fix.target != "manifest":
        yield _moment(live, desired, terms)
    if fix.target == "live":
        return
    synced = _synced(live, desired, terms)
    yield _moment(synced, desired, terms)
    later = _rewritten(synced, pair)
    if later != synced:
        yield _moment(later, desired, terms)


def _after_sync(live: Object, desired: Object, terms: _Terms) -> Iterator[_Moment]:
    """What counts where a sync has failed: what differs now waits for the next one, and nobody has written it again."""
    yield _moment(_synced(live, desired, terms), desired, terms)


def _synced(live: Object, desired: Object, terms: _Terms) -> Object:
    synced = compare.apply(
        live, desired, terms.rules, server_side=terms.server_side, respect_ignored=terms.respect_ignored
    )
    assert synced is not None
    return synced


def _moment(live: Object, desired: Object, terms: _Terms) -> _Moment:
    return _Moment(live, desired, compare.compare(live, desired, terms.rules, terms.strategy))


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
            raise _CannotReplay("the list that it edits has another shape after a sync")
        if len(tokens) == 1:
            return node if insert and value in node else [*node[:index], value, *node[index + (not insert) :]]
        return [*node[:index], _put(node[index], tokens[1:], value, insert=insert), *node[index + 1 :]]
    base = node if isinstance(node, dict) else {}
    return {**base, tokens[0]: _put(base.get(tokens[0]), tokens[1:], value, insert=insert)}


def _patched(fix: Fix, document: Object) -> Any:
    import jsonpatch  # needed only where a finding has a patch

    copied = json_value(msgspec.json.encode(document))  # a tenth of what deepcopy takes
    try:
        return jsonpatch.JsonPatch(fix.edit.content).apply(copied, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise _Contradicted(f"the patch does not apply: {error}") from error


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


def _require_silence(finding: Finding, app: App, check: Check | None) -> None:
    """The rule must not find the same fault again. An entry of the Application may have moved up to another's place.

    A rule that speaks all the same contradicts nothing: it may look at an operator's or an operation's record.
    """
    for other in check(app) if check else ():
        if (other.at, other.cause) == (finding.at, finding.cause) and (
            finding.at.resource is not None or other.message == finding.message
        ):
            raise _CannotReplay("the rule looks at more than is replayed here, and would still speak")
