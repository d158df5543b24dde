"""The objects that an edit of the Application touches: those that it compares or syncs in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import compare
from argolint.comparison.ignore import IgnoreRule, matches, matches_object
from argolint.model import Object
from argolint.proof.outcomes import CannotReplay
from argolint.proof.syncs import ApplicationCache
from argolint.values import annotations_of, items


def touched_objects(edit: str, app: App, after: Object, fleet: Fleet, cache: ApplicationCache) -> tuple[Resource, ...]:
    """The objects whose comparison an edit of the Application can change; `after` is the Application with it."""
    if not app.read or not app.desired_known:
        raise CannotReplay("the states of the application's objects are not known")
    if edit not in cache.touched:
        cache.touched[edit] = tuple(_objects_with_other_settings(app, after, fleet))
    return cache.touched[edit]


def _objects_with_other_settings(app: App, after: Object, fleet: Fleet) -> Iterator[Resource]:
    ignored = tuple(_rules_without_origin(compare.rules_of(raw, fleet.settings).ignore) for raw in (app.raw, after))
    touches = _touch_test(app.raw, after, ignored)
    for resource in app.resources:
        if touches(resource) and resource.live and resource.desired:
            ways = [
                _settings_of_object(raw, rules, resource.desired, fleet.version)
                for raw, rules in zip((app.raw, after), ignored, strict=True)
            ]
            if ways[0] != ways[1]:
                yield resource


def _rules_without_origin(rules: Iterable[IgnoreRule]) -> tuple[IgnoreRule, ...]:
    """The rules without their position: an entry of the Application may have another index."""
    return tuple(replace(rule, origin="") for rule in rules)


def _touch_test(before: Object, after: Object, ignored: Sequence[tuple[IgnoreRule, ...]]) -> Callable[[Resource], bool]:
    """A cheap test before an object is decoded: a rule matches it, or the Application's other options change."""
    if _settings_of_all(after) != _settings_of_all(before):
        return lambda resource: True
    effective = {rule for rules in ignored for rule in rules if is_effective(rule)}
    return lambda r: any(matches(rule, r.group, r.kind, r.namespace, r.name) for rule in effective)


def is_effective(rule: IgnoreRule) -> bool:
    """False for the server's own rule that ignores every `/status`."""
    return bool(rule.jq_paths or rule.managers or set(rule.json_pointers) - {"/status"})


def _settings_of_all(raw: Object) -> tuple[object, ...]:
    """The Application's settings on comparison and sync of all objects, except respected ignore rules."""
    set_options = {o for o in items(raw, "spec", "syncPolicy", "syncOptions") if isinstance(o, str)}
    options = set_options - {"RespectIgnoreDifferences=true"}
    return options, annotations_of(raw)


def _settings_of_object(raw: Object, rules: Iterable[IgnoreRule], desired: Object, version: str) -> tuple[object, ...]:
    """All settings of the Application on comparison and sync of this object. Respecting `/status` alone has no effect."""
    own = {rule for rule in rules if matches_object(rule, desired)}
    effective = any(is_effective(rule) for rule in own)
    return (
        own,
        compare.strategy_of(raw, desired, version),
        compare.syncs_server_side(raw, desired),
        effective and compare.has_sync_option(raw, desired, "RespectIgnoreDifferences=true"),
    )
