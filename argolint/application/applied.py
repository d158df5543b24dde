"""What Argo CD itself applied last, and whether that was the revision that it compares with."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from argolint.application.app import App
from argolint.application.operation import Operation
from argolint.application.resource import Resource
from argolint.comparison import compare, managed_fields, syncs_server_side
from argolint.comparison.scheme import GROUPS, builtin
from argolint.comparison.three_way import trim
from argolint.model import MISSING, Change, Json, Object, ResourceKey, Writer
from argolint.values import dig, get, index_of, items, join_pointer, maps, parse_time, split_pointer, text_at

_APPLIERS = frozenset({"argocd-controller", "argocd-application-controller", "gitops-controller"})


def by_argocd(writer: Writer | None) -> bool:
    """True for the field managers of Argo CD's application controller (common.ArgoCDSSAManager and older names)."""
    return writer is not None and writer.manager in _APPLIERS


def last_applied(resource: Resource) -> Object | None:
    """The configuration of the last client-side apply; None under server-side apply, which does not update an older one."""
    if resource.live is None or _applies_server_side(resource.live):
        return None
    return compare.last_applied(resource.live)


def _applies_server_side(live: Object) -> bool:
    """True if Argo CD's own latest entry in managedFields is a server-side apply."""
    own = [found for found in managed_fields.managers(live) if by_argocd(found) and not found.subresource]
    return bool(own) and own[-1].operation == "Apply"


def applied_value(resource: Resource, change: Change) -> Json:
    """The value of the last apply at this place; MISSING if it had none or is not known."""
    found = last_applied(resource)
    return MISSING if found is None else get(found, change.pointer)


def shown_with_another(app: App, resource: Resource) -> Mapping[str, str]:
    """The changes that show only because another one is in the same list, each with that list.

    Argo CD compares a list of a custom resource as a whole, but first takes out of live what last-applied lacks (threeWayMergePatch): a default
    in a list that is equal otherwise is no difference.
    """
    applied = last_applied(resource)
    server_side = syncs_server_side(app.raw, resource.desired) or "ServerSideDiff=true" in app.compare_options
    if applied is None or server_side or builtin(applied):
        return {}
    seen = trim(applied, resource.normalized)
    lists = {change.pointer: _outer_list(resource, change.pointer) for change in resource.changes}
    alone = {c.pointer for c in resource.changes if c.desired is not MISSING or get(seen, c.pointer) is not MISSING}
    differing = {place for pointer, place in lists.items() if place and pointer in alone}
    return {pointer: place for pointer, place in lists.items() if pointer not in alone and place in differing}


def _outer_list(resource: Resource, pointer: str) -> str:
    tokens = split_pointer(pointer)
    places = (join_pointer(*tokens[:depth]) for depth in range(1, len(tokens)))
    return next((place for place in places if isinstance(get(resource.normalized, place), list)), "")


def settled(app: App, resource: Resource | None = None) -> bool:
    """True if the revision that Argo CD compares with, and its parameters, were synced: by the last operation, or according to history
    (which has only complete and successful syncs). With a `resource`, only this object must have been synced. A comparison from before the
    end of that sync shows nothing of it.
    """
    return not outdated(app) and app.derive(_settled, resource and resource.key)


def outdated(app: App) -> bool:
    """True if Argo CD compared the application last before its last sync had ended, so that states and differences are older than the sync.

    status.reconciledAt is the second at which the comparison began; the end of a sync asks for the next one at once, but a busy controller is
    minutes behind (controller/appcontroller.go, processAppRefreshQueueItem and processRequestedAppOperation).
    """
    return app.derive(_outdated)


def _outdated(app: App) -> bool:
    compared = parse_time(app.status.get("reconciledAt"))
    ended = app.operation.finished_at if app.operation is not None and app.operation.phase == "Succeeded" else None
    return compared is not None and ended is not None and compared < ended


def _settled(app: App, resource: ResourceKey | None) -> bool:
    if not app.revisions:
        return False
    operation = app.operation
    reached = operation is not None and operation.phase == "Succeeded" and _has_synced(operation, resource)
    if operation is not None and reached and operation.revisions == app.revisions:
        return _is_of_compared_sources(app, operation.raw.get("syncResult"))
    latest = maps(app.status, "history")[-1:]
    return _last_whole_revisions(app) == app.revisions and all(_is_of_compared_sources(app, e) for e in latest)


def _is_of_compared_sources(app: App, recorded: object) -> bool:
    """Whether this record belongs to a sync of the sources that Argo CD compares with; True if the server does not show them."""
    synced, compared = _sources(recorded), _sources(dig(app.status, "sync", "comparedTo"))
    return bool(not synced or synced == (compared or synced))


def _has_synced(operation: Operation, resource: ResourceKey | None) -> bool:
    """Whether the operation synced the resource: a sync may be of selected objects only, or a dry run.

    Self-heal also selects objects, but after a complete sync of the same revision.
    """
    if dig(operation.raw, "operation", "sync", "dryRun"):
        return False
    picked = maps(operation.raw, "operation", "sync", "resources")
    if operation.automated or not picked:
        return True
    return resource is not None and any(
        (text_at(p, "group"), text_at(p, "kind"), text_at(p, "name")) == (resource.group, resource.kind, resource.name)
        and text_at(p, "namespace") in ("", resource.namespace)
        for p in picked
    )


def _last_whole_revisions(app: App) -> tuple[str, ...]:
    """The revisions of the last complete and successful sync; empty if there was none."""
    latest = maps(app.status, "history")[-1:]
    return next((items(entry, "revisions") or (text_at(entry, "revision"),) for entry in latest), ())


def _sources(recorded: object) -> Json:
    """The rendered sources with Helm values and image overrides; None if the server does not show them."""
    return dig(recorded, "sources") or dig(recorded, "source")


def confirmed(resource: Resource, change: Change) -> bool:
    """True if Argo CD's own last apply had the live value: Git had the same value then, whichever manager owns it.

    An object that kubectl or Helm created before its adoption keeps them as writers of unchanged fields.
    """
    if resource.live is None or change.masked or change.live is MISSING:
        return False
    noted = managed_fields.writer(resource.live, join_pointer("metadata", "annotations", compare.LAST_APPLIED))
    return by_argocd(noted) and bool(applied_value(resource, change) == change.live)


def adopts(app: App, resource: Resource) -> bool:
    """True if others created the object and the application was never synced: no value of Argo CD was edited."""
    return app.operation is None and not maps(app.status, "history") and made_by_others(resource)


def made_by_others(resource: Resource) -> bool:
    """True if Argo CD has not written the live object, and others have."""
    makers = [found for found in managed_fields.managers(resource.live or {}) if not found.subresource]
    return bool(makers) and not any(by_argocd(found) for found in makers)


def rewritten_on_arrival(app: App, resource: Resource, change: Change) -> bool:
    """True if Argo CD applied the desired value and the API server stored another one in the same request.

    Argo CD still owns the field, so no one wrote it later: a default, a conversion or an admission webhook changed it.
    """
    if change.masked or lacks(resource, change) or not (change.writer is None or by_argocd(change.writer)):
        return False
    if git_moved(app, resource, change):
        return False
    if last_applied(resource) is not None:
        return bool(applied_value(resource, change) == change.desired)
    return settled(app, resource)


def not_stored(resource: Resource, change: Change) -> bool:
    """True if Argo CD applied the field and the live object does not have it."""
    sent = change.desired is not MISSING and not change.masked
    return sent and lacks(resource, change) and bool(applied_value(resource, change) == change.desired)


def renamed(app: App, resource: Resource, old: Change) -> Change | None:
    """The field under which a webhook or a conversion stored the value of this one, which live lacks; None if no field is certain.

    It is in the same map, and no other field there has the value. Only texts, maps and lists count: flags and numbers are equal by chance.
    """
    if not isinstance(old.desired, str | dict | list) or not old.desired or old.masked or not lacks(resource, old):
        return None
    wanted, kept = resource.derive(_by_map_and_value)
    place = _map_and_value(old, old.desired)
    new = kept.get(place, ())
    found = new[0] if len(new) == wanted[place] == 1 and rewritten_on_arrival(app, resource, new[0]) else None
    return found if not_stored(resource, old) or settled(app, resource) else None


_Place = tuple[str, str]


def _by_map_and_value(resource: Resource) -> tuple[Mapping[_Place, int], Mapping[_Place, Sequence[Change]]]:
    """By the map that holds a field and its value: how many fields Git has, and those that only live has."""
    wanted = Counter(_map_and_value(c, c.desired) for c in resource.changes if c.desired is not MISSING)
    kept = defaultdict[_Place, list[Change]](list)
    for change in resource.changes:
        if change.desired is MISSING and change.live is not MISSING:
            kept[_map_and_value(change, change.live)].append(change)
    return wanted, kept


def _map_and_value(change: Change, value: Json) -> _Place:
    return change.pointer.rpartition("/")[0], json.dumps(value, sort_keys=True)


def lacks(resource: Resource, change: Change) -> bool:
    """True when the live object does not hold the field; Argo CD may compare a default in its place, which its own library knows."""
    listed = any(index_of(token) is not None for token in split_pointer(change.pointer))
    return change.live is MISSING or (not listed and get(resource.live, change.pointer) is MISSING)


def not_yet_applied(app: App, resource: Resource, change: Change) -> bool:
    """True if only Git, or the Application's own parameters, have changed: live still has what the last apply sent, or what the server set without it."""
    if adopts(app, resource):
        return True
    if not (change.writer is None or by_argocd(change.writer)):
        return confirmed(resource, change)
    if last_applied(resource) is None or change.masked:
        return not settled(app, resource)
    return bool(applied_value(resource, change) == change.live) or git_moved(app, resource, change)


def git_moved(app: App, resource: Resource, change: Change) -> bool:
    """True if Git certainly has another value now than the last apply, and no sync has applied it yet.

    A client-side apply records its values; a custom resource's list with moved entries counts as a whole, as a merge patch replaces it. A
    server-side apply records only its ownership of the live value: then the last sync must have been of another revision.
    """
    if settled(app, resource) or change.masked:
        return False
    applied = last_applied(resource)
    if applied is None:
        both = change.live is not MISSING and change.desired is not MISSING
        return both and by_argocd(change.writer) and _is_synced_at_another(app, resource)
    whole = next(_lists_above(resource, change), "") if resource.group not in GROUPS else ""
    return bool(
        get(applied, whole) != get(resource.desired, whole) if whole else get(applied, change.pointer) != change.desired
    )


def _lists_above(resource: Resource, change: Change) -> Iterator[str]:
    """The pointers of the manifest's lists that contain this change, the outermost first."""
    tokens = split_pointer(change.pointer)
    for length, token in enumerate(tokens):
        above = join_pointer(*tokens[:length])
        if index_of(token) is not None and isinstance(get(resource.desired, above), list):
            yield above


def _is_synced_at_another(app: App, resource: Resource) -> bool:
    """True if the object's last sync was certainly of another revision than the compared one."""
    operation = app.operation
    if operation is None or not app.revisions:
        return False
    last = operation.revisions if _has_synced(operation, resource.key) else _last_whole_revisions(app)
    return bool(last) and last != app.revisions


def new_in_git(app: App, resource: Resource, change: Change) -> bool:
    """True if live lacks the field since no sync has applied it yet: only Argo CD writes the object, so no one dropped it. Fields that the
    API server drops from its own types are no difference in Argo CD.
    """
    if change.live is not MISSING or last_applied(resource) is not None or not _is_synced_at_another(app, resource):
        return False
    found = [w for w in managed_fields.managers(resource.live or {}) if not w.subresource]
    return bool(found) and all(by_argocd(w) for w in found)
