"""Failures that end without a change: the cause ended or the object was edited within the last minutes, and the next attempt is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from argolint import App, Resource
from argolint.comparison import managers
from argolint.values import dig, parse_time
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores
from ._sync_error_texts import Diagnosis, current_warnings

_MISSING = regex(r'(?<![\w.-])([A-Za-z]+)(?:\.[\w.-]+)? "([^"]+)" not found')
_OPERATOR = ("external-secrets", "externalsecrets")
PATIENCE = timedelta(minutes=5)
_LAG = timedelta(seconds=10)


def is_passing(app: App, resource: Resource, found: Diagnosis) -> bool:
    """True if the failure is older than an edit of the object or of its generator, or than the object that its text misses."""
    return (
        _is_edit_untried(app, resource)
        or _is_generator_edited(app, resource, found)
        or _has_missing_object_appeared(app, resource, found)
    )


def _is_generator_edited(app: App, resource: Resource, found: Diagnosis) -> bool:
    """Whether the generator that failed was edited a moment ago, after the last attempt: the operator does not watch it."""
    attempt = last_attempt_at(app, resource) if found.cause == "generator" else None
    refs = es.generator_refs(resource.live) if attempt is not None else ()
    own = (app.find(es.GENERATORS, kind, _space(kind, resource), name) for kind, name, _ in refs)
    return attempt is not None and any(each is not None and is_just_edited(app, each, attempt) for each in own)


def _space(kind: str, resource: Resource) -> str:
    return "" if kind == "ClusterGenerator" else resource.namespace


def _is_edit_untried(app: App, resource: Resource) -> bool:
    """Whether it was edited a moment ago, after the last attempt: the operator reacts to an edit at once, without back-off."""
    attempt = last_attempt_at(app, resource)
    return attempt is not None and is_just_edited(app, resource, attempt)


def is_just_edited(app: App, resource: Resource, after: datetime) -> bool:
    """Whether someone other than the operator wrote to the object within the last minutes, and after that time."""
    edits = [
        w.time
        for w in managers(resource.live or {})
        if w.time is not None and not w.subresource and not w.manager.startswith(_OPERATOR)
    ]
    return bool(edits) and after < max(edits) and app.observed_at - max(edits) < PATIENCE


def _has_missing_object_appeared(app: App, resource: Resource, found: Diagnosis) -> bool:
    """Whether the missing object (a generator, a ConfigMap of the template) was created within the last minutes, after the attempt."""
    missing = found.cause in ("generator", "template", "store-credential")
    names = {(kind.lower().rstrip("s"), name) for kind, name in _MISSING.findall(found.text)} if missing else set()
    attempt = last_attempt_at(app, resource) if names else None
    return attempt is not None and any(
        node.created_at is not None and attempt <= node.created_at and app.observed_at - node.created_at < PATIENCE
        for node in app.nodes
        if (node.id.kind.lower().rstrip("s"), node.id.name) in names and node.id.namespace in ("", resource.namespace)
    )


def last_attempt_at(app: App, resource: Resource) -> datetime | None:
    """The time of the operator's last failure, by the newest Warning of the present failure."""
    return next((e.last for e in current_warnings(app, resource)), None)


def has_store_recovered(app: App, resource: Resource, store: stores.Store) -> bool:
    """Whether the store turned Ready within the last minutes, after the attempt that failed because of it."""
    attempt = last_attempt_at(app, resource)
    if store.since is None or app.observed_at - store.since >= PATIENCE:
        return False
    return attempt is None or attempt <= store.since + _LAG


def has_raced(resource: Resource) -> bool:
    """The lasting sign of the first-sync race: this generation was synced, and the refresh is not due yet."""
    synced, _, _ = str(dig(resource.live, "status", "syncedResourceVersion") or "").partition("-")
    return bool(synced) and synced == str(dig(resource.live, "metadata", "generation") or "")


def is_race_unrepaired(app: App, resource: Resource) -> bool:
    """Whether a race has left the status False, and the refresh that repairs it is not due yet."""
    refreshed = parse_time(dig(resource.live, "status", "refreshTime"))
    due = refreshed + es.refresh_interval(resource.live) if refreshed else None
    return has_raced(resource) and due is not None and app.observed_at < due
