"""An ignore rule that causes the difference it should hide

What it finds: an entry of `ignoreDifferences`, of the Application or of the server, that removes a field from only one side, so that Argo CD
compares a value with nothing. A replay of the comparison without the entry finds both sides equal.

Why it hurts: the object is OutOfSync forever although live equals Git. A sync changes nothing, and Argo CD shows a field as missing that exists.

How to fix: delete the path from the entry, since without it nothing differs. If it hides something elsewhere, name the field without a
condition.

Example: `select(.metadata.annotations["live"] == "yes") | .data`, while a controller writes that annotation into the live object.

Sources: util/argo/normalizers/diff_normalizer.go (each of live and desired loses its fields on its own).
"""

from collections.abc import Iterator
from dataclasses import replace

from argolint import App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.comparison import IgnoreRule, caused, matches_object, removed, rules_of, strategy_of
from argolint.edits import application_patch, removals

from ._fields import Drift, is_left_out, pointers, pointers_text
from ._ignored import hidden_by, own_entries, paths, settings_key


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each entry and object."""
    rules = rules_of(app.raw, fleet.settings, fleet.version) if app.changed else None
    if rules is None or not any(entry.json_pointers or entry.jq_paths for entry in rules.ignore):
        return
    for resource in app.changed:
        live, desired = resource.live, resource.desired
        if live is None or desired is None:
            continue
        for entry in rules.ignore:
            if not matches_object(entry, desired) or removed(live, entry) == removed(desired, entry):
                continue
            made = set(caused(entry, live, desired, rules, strategy_of(app.raw, desired, fleet.version)))
            left_empty = {change.pointer for change in resource.changes if change.live == {}}
            taken = frozenset(removed(live, entry))
            made |= {c.pointer for c in resource.changes if c.pointer in taken and is_left_out(resource, c)}
            changes = tuple(c for c in resource.changes if c.pointer in made - left_empty)
            if changes:
                yield _finding(app, fleet, resource, entry, changes)


def _finding(app: App, fleet: Fleet, resource: Resource, entry: IgnoreRule, changes: tuple[Change, ...]) -> Finding:
    places = set(removed(resource.live or {}, entry))
    side = "the live side" if any(change.pointer in places for change in changes) else "Git's side"
    of_server = entry not in own_entries(app)
    where = (
        f"{settings_key(entry.group, entry.kind)} of argocd-cm" if of_server else f"{entry.origin} of the Application"
    )
    guilty = tuple(
        path
        for path, alone in paths(app, entry)
        if removed(resource.live or {}, alone) != removed(resource.desired or {}, alone)
    )
    singles = tuple(alone for path, alone in paths(app, entry) if path in guilty)
    differing = tuple(c for alone in singles for c in hidden_by(app, fleet, alone).get(resource.key, ()))
    why = "since" if differing else "only because"
    return Drift(app, resource, changes).finding(
        f"{resource.id} differs at {pointers_text(changes)} {why} an ignore rule removes it from {side} only.",
        evidence=(
            f"{where}: {', '.join(repr(path) for path in guilty)}",
            "a condition of the path holds on one side and not on the other"
            if any("select" in path or "if " in path for path in guilty)
            else "what the path names is at another place on each side",
            *((f"without it the difference is at {pointers_text(differing)}",) if differing else ()),
        ),
        fixes=(
            _removal_fix(app, fleet, entry, guilty, of_server=of_server)
            or _narrowed_fix(app, fleet, resource, entry, guilty, pointers(differing), of_server=of_server)
            or narrowest_ignore(app, resource, tuple(change.pointer for change in changes)),
        ),
    )


def _narrowed_fix(
    app: App,
    fleet: Fleet,
    resource: Resource,
    entry: IgnoreRule,
    guilty: tuple[str, ...],
    differing: tuple[str, ...],
    *,
    of_server: bool,
) -> Fix | None:
    """The edit that ignores what really differs in place of these paths; None if they hide something of another object, or are the server's."""
    singles = tuple(one for path, one in paths(app, entry) if path in guilty)
    hidden = (found for one in singles for found in hidden_by(app, fleet, one).items())
    if of_server or any(changes for key, changes in hidden if key != resource.key):
        return None
    places = _places_of(entry, guilty)
    rest = _without_entry(app, entry) if places == [entry.origin] else app
    narrow = narrowest_ignore(rest, resource, differing) if differing else None
    if narrow is None:
        return None
    removal = removals(app.raw, places)
    operations = [*removal, *narrow.edit.content] if rest is not app else [*narrow.edit.content, *removal]
    title = "Ignore only what differs, in place of what names it on one side"
    return replace(narrow, title=title, edit=Edit("json-patch", operations), older=())


def _without_entry(app: App, entry: IgnoreRule) -> App:
    """The application without this entry of its own, nor an empty list."""
    left = [
        each
        for place, each in enumerate(app.spec["ignoreDifferences"])
        if entry.origin.rpartition("/")[2] != str(place)
    ]
    spec = {key: value for key, value in app.spec.items() if key != "ignoreDifferences"}
    return app.with_raw({**app.raw, "spec": {**spec, **({"ignoreDifferences": left} if left else {})}})


def _removal_fix(app: App, fleet: Fleet, entry: IgnoreRule, guilty: tuple[str, ...], *, of_server: bool) -> Fix | None:
    """The edit that removes these paths from the entry; None if they hide something of another object."""
    singles = (one for path, one in paths(app, entry) if path in guilty)
    if any(any(hidden_by(app, fleet, one).values()) for one in singles):
        return None
    title = f"Delete {', '.join(repr(path) for path in guilty)} from the ignore rule"
    if of_server:
        text = f"{settings_key(entry.group, entry.kind)}: delete {', '.join(guilty)}"
        return Fix(title, "argocd-settings", "ConfigMap argocd-cm", Edit("text", text), "applies to every application")
    operations = removals(app.raw, _places_of(entry, guilty))
    return application_patch(app, title, operations)


def _places_of(entry: IgnoreRule, guilty: tuple[str, ...]) -> list[str]:
    """The places of these paths in the Application; the entry's, if it holds nothing else."""
    whole = len(guilty) == len(entry.json_pointers) + len(entry.jq_paths) and not entry.managers
    return [entry.origin] if whole else [*_entry_pointers(entry, guilty)]


def _entry_pointers(entry: IgnoreRule, guilty: tuple[str, ...]) -> Iterator[str]:
    for field, entry_paths in (("jsonPointers", entry.json_pointers), ("jqPathExpressions", entry.jq_paths)):
        yield from (f"{entry.origin}/{field}/{index}" for index, path in enumerate(entry_paths) if path in guilty)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.ROOT)
