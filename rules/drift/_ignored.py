"""Fields that ignoreDifferences entries remove from the comparison of one object, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from argolint import MISSING, App, Change, Fleet, Resource, ResourceKey
from argolint.application.applied import by_argocd, git_moved, last_applied
from argolint.comparison import (
    IgnoreRule,
    application_rules,
    change,
    disputed,
    hidden,
    matches,
    matches_object,
    removed,
    rules_of,
    server_rules,
    strategy_of,
    writer,
    writers,
)
from argolint.edits import RESPECT
from argolint.values import below, dig, get
from argolint.values.patterns import regex

_MOST_PATHS = 200
"""Most entries of an Application, and most paths of all of them: each one is evaluated on every object."""


def has_entries(app: App, fleet: Fleet, options: object = None) -> bool:
    """Whether the Application has ignoreDifferences: a rule's `reads`, since ignored fields are not visible elsewhere."""
    return bool(dig(app.spec, "ignoreDifferences"))


def server_entries(app: App, fleet: Fleet) -> tuple[IgnoreRule, ...]:
    """The server's own entries that select an object of this application, without the usual one for status."""
    return tuple(
        entry
        for entry in server_rules(fleet.settings)
        if (entry.json_pointers != ("/status",) or entry.jq_paths or entry.managers) and selected_resources(app, entry)
    )


def settings_key(group: str, kind: str) -> str:
    """The key of argocd-cm for a group and kind; where a name has wildcards, which no key may, its place in the older map (util/settings)."""
    if (group, kind) == ("*", "*"):
        return f"{_KEYS}.ignoreDifferences.all"
    if "*" in f"{group}{kind}":
        return f"{_KEYS}, {f'{group}/' if group else ''}{kind}, ignoreDifferences"
    return f"{_KEYS}.ignoreDifferences.{f'{group}_' if group else ''}{kind}"


_KEYS = "resource.customizations"


def own_entries(app: App) -> Iterator[IgnoreRule]:
    """The Application's own entries up to the limit; `origin` is their pointer in the Application."""
    return islice(application_rules(app.brief), _MOST_PATHS)


def paths(app: App, entry: IgnoreRule) -> Iterator[tuple[str, IgnoreRule]]:
    """Each pointer and jq path of an entry, with an entry that has only it, up to the Application's limit."""
    return islice(_paths(entry), max(0, _MOST_PATHS - app.derive(_paths_before).get(entry.origin, 0)))


def _paths_before(app: App) -> dict[str, int]:
    """By entry: the number of paths in the entries before it."""
    found, count = {}, 0
    for entry in own_entries(app):
        found[entry.origin] = count
        count += len(entry.json_pointers) + len(entry.jq_paths)
    return found


def _paths(entry: IgnoreRule) -> Iterator[tuple[str, IgnoreRule]]:
    bare = replace(entry, json_pointers=(), jq_paths=(), managers=())
    for pointer in entry.json_pointers:
        yield pointer, replace(bare, json_pointers=(pointer,))
    for path in entry.jq_paths:
        yield path, replace(bare, jq_paths=(path,))


def expression_pointer(entry: IgnoreRule, path: str) -> str:
    """The place in the Application of a pointer, a jq path or a field manager of the entry."""
    fields = (
        ("jsonPointers", entry.json_pointers),
        ("jqPathExpressions", entry.jq_paths),
        ("managedFieldsManagers", entry.managers),
    )
    return next(f"{entry.origin}/{field}/{held.index(path)}" for field, held in fields if path in held)


def selected_resources(app: App, entry: IgnoreRule) -> tuple[Resource, ...]:
    """The managed objects that the entry selects."""
    return tuple(r for r in app.resources if selects(entry, r))


def selects(entry: IgnoreRule, r: Resource) -> bool:
    """Whether the entry selects a managed object; an object to prune is not compared any more."""
    return not (r.hook or r.requires_pruning) and matches(entry, r.group, r.kind, r.namespace, r.name)


def removed_pointers(entry: IgnoreRule, resource: Resource) -> tuple[str, ...]:
    """The pointers that the entry's pointers and jq paths remove from the live or the desired object."""
    sides = [side for side in (resource.live, resource.desired) if side is not None]
    return tuple(dict.fromkeys(pointer for side in sides for pointer in removed(side, entry)))


_WHOLE = regex(r"/spec(/template(/spec(/containers(/\d+)?)?)?)?")


def whole_parts(entry: IgnoreRule, resource: Resource) -> tuple[str, ...]:
    """The essential parts of an object that the entry ignores as a whole: a commit to one is no difference either."""
    return tuple(place for place in removed_pointers(entry, resource) if _WHOLE.fullmatch(place))


def hidden_by(app: App, fleet: Fleet, entry: IgnoreRule) -> Mapping[ResourceKey, tuple[Change, ...]]:
    """The differences that only this entry hides, of each object that it selects; found once for all rules and findings."""
    return app.derive(_hidden_by, fleet, entry)


def _hidden_by(app: App, fleet: Fleet, entry: IgnoreRule) -> Mapping[ResourceKey, tuple[Change, ...]]:
    return {r.key: _hidden_changes(app, fleet, r, entry) for r in selected_resources(app, entry)}


def _hidden_changes(app: App, fleet: Fleet, resource: Resource, entry: IgnoreRule) -> tuple[Change, ...]:
    live, desired = resource.live, resource.desired
    if live is None or desired is None or not (entry.managers or removed_pointers(entry, resource)):
        return ()
    found = hidden(
        entry,
        live,
        desired,
        rules_of(app.raw, fleet.settings, fleet.version),
        strategy_of(app.raw, desired, fleet.version),
    )
    return tuple(
        change(p, get(desired, p), get(live, p), desired, live, writer(live, p))
        for p in found
        if not below(p, "/status")
    )


def is_waiting_commit(app: App, resource: Resource, change: Change) -> bool:
    """True for a change in Git since the last apply. Never with RespectIgnoreDifferences: a sync then applies the live values."""
    noticed = app.automated and app.changed
    known = RESPECT not in app.sync_options and last_applied(resource) is not None
    return known and not noticed and git_moved(app, resource, change)


def is_kept_image(app: App, resource: Resource, change: Change) -> bool:
    """True for an image of another tag in Git that no sync brings, since it keeps the live one: Argo CD alone wrote that, of an earlier commit."""
    owners = writers(resource.live or {}, change.pointer)
    alone = bool(owners) and all(by_argocd(owner) for owner in owners)
    tags = [tag_of(image) for image in (change.desired, change.live)]
    return (
        RESPECT in app.sync_options and change.pointer.endswith("/image") and alone and all(tags) and tags[0] != tags[1]
    )


def tag_of(image: object) -> str:
    """The tag of an image, without a digest behind it; empty if it has none."""
    name = image.partition("@")[0].rpartition("/")[2] if isinstance(image, str) else ""
    return name.partition(":")[2]


def lists_over_commits(
    app: App, resource: Resource, entry: IgnoreRule, changes: Sequence[Change]
) -> Iterator[tuple[str, list[Change]]]:
    """The lists that a manager of the entry owns as one field, each with what Git has in it and live does not have yet."""
    for place in disputed(resource.live or {}, resource.desired or {}, (entry,)) if changes else ():
        lost = [
            c for c in changes if below(c.pointer, place) and (c.live is MISSING or is_waiting_commit(app, resource, c))
        ]
        if lost and isinstance(get(resource.desired, place), list):
            yield place, lost


def is_field_ignored(app: App, fleet: Fleet, resource: Resource, pointer: str, coming: str) -> bool:
    """True if an entry of the Application or of the server removes this field from the comparison, or will once the field manager `coming`
    writes it."""
    for entry in rules_of(app.raw, fleet.settings).ignore:
        if not matches_object(entry, resource.any):
            continue
        if any(below(pointer, p) for p in removed_pointers(entry, resource)):
            return True
        if coming in entry.managers:
            return True
        if resource.live is not None and any(w.manager in entry.managers for w in writers(resource.live, pointer)):
            return True
    return False
