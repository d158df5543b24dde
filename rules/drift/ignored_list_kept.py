"""A list that no sync changes because one of its fields is ignored

What it finds: a difference inside a list that stays after each sync. The Application has `RespectIgnoreDifferences=true`, and an
`ignoreDifferences` entry ignores another field of the same list. argolint replays each sync with the option and without it: the difference stays
only with it.

Why it hurts: Argo CD keeps ignored values by a merge patch, and a merge patch replaces a list as a whole. So every sync sends live's list, syncs
succeed, and no commit to that list ever arrives. Since Argo CD 2.11, lists of built-in kinds are merged by their keys. Those of custom
resources, such as a Rollout's containers, are not; since 3.6 they are if the published schema names the keys. Since 3.3.13, 3.4.5 and 3.5 a list
arrives if the manifest has none of the ignored fields in it. From 2.11 until then, the selector of a PodDisruptionBudget is kept too, even
without any entry.

How to fix: write the missing change to the live object once, or remove the path from the ignore entry and let Git own the value.

Example: `.spec.template.spec.containers[].image` of a Rollout is ignored and respected, and a new environment variable never arrives.

Sources: argoproj/argo-cd#23283, #26588, #27480, #17694, #9678, #18232; controller/sync.go (normalizeTargetResources, getMergePatch).
"""

from collections.abc import Iterable, Iterator, Sequence

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Rank, Resource, Rule
from argolint.comparison import (
    IgnoreRule,
    Rules,
    apply,
    builtin,
    has_sync_option,
    matches_object,
    removed,
    rules_of,
    syncs_server_side,
)
from argolint.edits import RESPECT, application_place, live_patch
from argolint.redaction import is_hidden
from argolint.values import at_and_above, below, get, index_of, join_pointer, split_pointer

from ._fields import Drift, pointers_text, shifted_list
from ._ignored import (
    expression_pointer,
    hidden_by,
    own_entries,
    paths,
    server_entries,
    settings_key,
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""
    rules = rules_of(app.raw, fleet.settings, fleet.version) if app.changed else None
    if rules is None or not has_sync_option(app.raw, None, RESPECT):
        return
    for resource in app.changed:
        live, desired = resource.live, resource.desired
        if live is None or desired is None:
            continue
        ignored = _ignored_pointers(rules, resource)
        lists = {place for pointer in ignored for place in _lists_above(resource, pointer)}
        if (resource.group, resource.kind) == _REPLACED:
            lists.add(_SELECTOR)
        in_lists = [c for c in resource.changes if not lists.isdisjoint(at_and_above(c.pointer)) and not c.masked]
        changes = tuple(c for c in in_lists if _is_kept_by_option(app, rules, resource, c)) if in_lists else ()
        if changes:
            yield _finding(app, fleet, resource, changes, lists)


_REPLACED, _SELECTOR = ("policy", "PodDisruptionBudget"), "/spec/selector"
"""The map that Kubernetes' schema marks to be replaced: every strategic merge patch has it, with or without an entry."""


def _ignored_pointers(rules: Rules, resource: Resource) -> tuple[str, ...]:
    """The pointers that ignore entries remove from the live object."""
    live = resource.live or {}
    return tuple(p for entry in rules.ignore if matches_object(entry, live) for p in removed(live, entry))


def _lists_above(resource: Resource, pointer: str) -> Iterator[str]:
    """The lists of the live object on the way to the pointer."""
    tokens = split_pointer(pointer)
    for depth, token in enumerate(tokens):
        place = join_pointer(*tokens[:depth])
        if index_of(token) is not None and isinstance(get(resource.live, place), list):
            yield place


def _is_kept_by_option(app: App, rules: Rules, resource: Resource, change: Change) -> bool:
    """True if a sync leaves the difference with RespectIgnoreDifferences and ends it without."""
    server_side = syncs_server_side(app.raw, resource.desired)
    kept = apply(resource.live, resource.desired, rules, server_side=server_side, respect_ignored=True)
    free = apply(resource.live, resource.desired, server_side=server_side)
    live, with_option, without = (get(side, change.pointer) for side in (resource.live, kept, free))
    return bool(live == with_option != without)


def _finding(app: App, fleet: Fleet, resource: Resource, changes: Sequence[Change], lists: set[str]) -> Finding:
    places = [p for p in at_and_above(changes[0].pointer) if p in lists]
    place = next((p for p in places if all(below(c.pointer, p) for c in changes)), places[-1])
    guilty = tuple(_guilty_paths(app, own_entries(app), resource, place))
    of_server = tuple(_guilty_paths(app, server_entries(app, fleet), resource, place))
    kept = "map" if place == _SELECTOR else "list"
    if kept == "map":
        by_entry: tuple[str, ...] = ("Kubernetes marks that map to be replaced (patchStrategy), so each patch has it",)
    else:
        by_entry = ("an ignore entry takes a field of that list out by its field manager",)
    return Drift(app, resource, tuple(changes)).finding(
        f"No sync brings {pointers_text(changes)} to {resource.id}: {RESPECT} keeps the whole live {kept} at {place}.",
        evidence=(
            *(f"{entry.origin} of the Application ignores {path} in that list" for path, entry in guilty),
            *(
                f"{settings_key(entry.group, entry.kind)} of argocd-cm ignores {path} in that list"
                for path, entry in of_server
            ),
            *(() if guilty or of_server else by_entry),
            "replayed: a sync leaves the difference with the option, and ends it without",
        ),
        confidence="likely" if fleet.at_least(3, 6) and not builtin(resource.any) else "proven",
        fixes=(
            _write_command_fix(resource, changes, kept),
            _removal_fix(app, fleet, guilty, of_server),
            _upgrade_fix(app, fleet, resource, changes),
        ),
    )


def _upgrade_fix(app: App, fleet: Fleet, resource: Resource, changes: Sequence[Change]) -> Fix | None:
    """The advice to upgrade to the first release of which a sync brings all of these changes in spite of the entries; None without any."""
    for first, releases in _RELEASES.items():
        rules = rules_of(app.raw, fleet.settings, first)
        if not any(_is_kept_by_option(app, rules, resource, change) for change in changes):
            title = f"Or upgrade Argo CD to {releases}: a sync then brings the change"
            return Fix(title, "argocd-settings", "the Argo CD installation", Edit("command", "argocd version"))
    return None


_RELEASES = {"v2.11.0": "2.11 or later", "v3.3.13": "3.3.13, 3.4.5, 3.5 or later"}
"""The releases since which RespectIgnoreDifferences keeps fewer lists as they are, by the first of each."""


def _guilty_paths(
    app: App, entries: Iterable[IgnoreRule], resource: Resource, place: str
) -> Iterator[tuple[str, IgnoreRule]]:
    """The paths of these entries that reach into the list."""
    for entry in entries:
        for path, single in paths(app, entry):
            if matches_object(single, resource.any) and any(
                below(p, place) for p in removed(resource.live or {}, single)
            ):
                yield path, entry


_MOST = 20
"""Most differences in one command."""


def _write_command_fix(resource: Resource, changes: Sequence[Change], kept: str) -> Fix | None:
    """A command that writes the change to the live object: Argo CD then finds both sides equal."""
    if len(changes) > _MOST or any(is_hidden(c.desired, resource.desired, c.pointer) for c in changes):
        return None
    operations = []
    for change in sorted(changes, key=lambda c: split_pointer(c.pointer), reverse=True):
        if shifted := shifted_list(resource, change.pointer):
            if change.live is not MISSING or change.pointer.rpartition("/")[0] != shifted:
                return None  # the item has another index in the live list
            operations.append({"op": "add", "path": f"{shifted}/-", "value": change.desired})
        elif change.desired is MISSING:
            operations.append({"op": "remove", "path": change.pointer})
        else:
            is_live = get(resource.live, change.pointer) is not MISSING
            operations.append({"op": "replace" if is_live else "add", "path": change.pointer, "value": change.desired})
    caveat = f"the next change of this {kept} needs it again"
    return live_patch(resource.id, "Write the change to the live object once", operations, caveat)


def _removal_fix(
    app: App, fleet: Fleet, guilty: Sequence[tuple[str, IgnoreRule]], of_server: Sequence[tuple[str, IgnoreRule]]
) -> Fix | None:
    """The advice to take the paths out of their entries, if they hide no other difference: syncs then send Git's list."""
    entries = dict.fromkeys(entry for _, entry in (*guilty, *of_server))
    if not entries or any(any(hidden_by(app, fleet, entry).values()) for entry in entries):
        return None
    lines = [
        *(f"{expression_pointer(entry, path)} of Application {app.ref}: {path}" for path, entry in guilty),
        *(f"{settings_key(entry.group, entry.kind)} of argocd-cm: {path}" for path, entry in of_server),
    ]
    caveat = "the next sync sends Git's list; name in Git what the cluster fills in there"
    return Fix(
        "Stop ignoring fields of that list: nothing is hidden by it now",
        "argocd-settings" if of_server else "application",
        "ConfigMap argocd-cm" if of_server else application_place(app),
        Edit("text", "\n".join(lines)),
        f"{caveat}; argocd-cm applies to every application: check what it hides there" if of_server else caveat,
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.ROOT)
