"""The API server fills in a default that Git omits

What it finds: a field that only the live object has and whose value is the default of its schema. The default comes from the CRD itself, if an
Application manages the CRD, else from a table of well-known ones. Otherwise a field that appeared when Argo CD itself wrote the object is a
likely default. Also a zero (`0`, `""`, `null`) in Git that the API server treats as unset and replaces by its default: a probe's
`timeoutSeconds: 0` becomes 1. And a field that is stored under another name on admission, with its value. Argo CD ignores such fields in most places, but not inside lists that are compared as a whole, above all with
`ServerSideApply=true`.

Why it hurts: the application is OutOfSync forever although it was not changed, and a sync changes nothing.

How to fix: write the default in Git, or let the API server compare (`ServerSideDiff=true`).

Example: `stages[].pause` with `default: 15m` in the CRD.

Sources: argoproj/argo-cd#11074; docs/user-guide/diff-strategies.md.
"""

from collections.abc import Iterator
from functools import partial

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule, Want, narrowest_ignore
from argolint.application.applied import renamed, rewritten_on_arrival
from argolint.values import below, get
from argolint.values.kubernetes import is_custom

from ._defaults import (
    is_default,
    is_kubernetes_default,
    is_schema_default,
    replaces_zero,
    schema_of,
    wanted_crds,
)
from ._edits import drop_fix, rename, server_side_diff_fix, write_live_fix
from ._fields import finding, matching_changes, pointers, pointers_text, side_text


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The CRDs of custom resources that have live-only fields."""
    for resource, _ in matching_changes(app, _may_be_default):
        if is_custom(resource.group):
            yield from wanted_crds(app, fleet, resource)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object and certainty, and one for the zeros of an object."""
    for resource, zeros in matching_changes(app, replaces_zero):
        yield _zeros_finding(app, resource, zeros)
    for resource, changes in matching_changes(app, partial(is_default, "assigned")):
        yield _assigned_finding(app, resource, changes)
    for resource, changes in matching_changes(app, lambda resource, change: renamed(app, resource, change) is not None):
        yield from (_renamed(app, resource, old) for old in changes)
    for resource, found in matching_changes(app, _may_be_default):
        moved = {id(renamed(app, resource, change)) for change in resource.changes}
        changes = tuple(change for change in found if id(change) not in moved)
        schema = schema_of(app, resource) if is_custom(resource.group) else None
        known = tuple(
            c
            for c in changes
            if is_kubernetes_default(resource, c)
            or is_default("crd-default", resource, c)
            or (schema is not None and is_schema_default(schema, c))
        )
        guessed = tuple(
            c for c in changes if schema is None and c not in known and _is_filled_on_arrival(app, resource, c)
        )
        if known:
            built_in = all(is_kubernetes_default(resource, change) for change in known)
            what = "a default of Kubernetes" if built_in else "a default of its schema"
            yield _finding(app, resource, known, what, "proven")
        if guessed:
            yield _finding(app, resource, guessed, "most likely a default", "likely")


def _renamed(app: App, resource: Resource, old: Change) -> Finding:
    new = renamed(app, resource, old)
    assert new is not None
    return finding(
        app,
        resource,
        (old, new),
        f"The cluster stores {old.pointer} of {resource.id} as {new.pointer}, so Git's name of the field never stays.",
        fixes=(rename(app, resource, old, new), server_side_diff_fix(app)),
        evidence=("it appeared when Argo CD itself wrote the object",),
        confidence="likely",
    )


def _assigned_finding(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    """The finding for a value that the API server or the volume controller chooses, and that does not belong into Git."""
    return finding(
        app,
        resource,
        changes,
        f"{resource.id} stays OutOfSync over {pointers_text(changes)}, which Kubernetes assigns.",
        fixes=(
            drop_fix(app, resource, changes, "Leave the empty field out of the manifest")
            if all(get(resource.desired, change.pointer) in ("", None) for change in changes)
            else None,
            server_side_diff_fix(app),
            narrowest_ignore(app, resource, pointers(changes)),
        ),
        confidence="proven",
    )


def _zeros_finding(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    first = changes[0]
    return finding(
        app,
        resource,
        changes,
        f"{resource.id} stays OutOfSync over {pointers_text(changes)}: the API server replaces Git's {side_text(first, first.desired)} by its default.",
        fixes=(
            write_live_fix(app, resource, changes, "Write the default, or leave the field out"),
            server_side_diff_fix(app),
        ),
        evidence=(() if len(changes) == 1 else ("each of these zeros has a default of its own",)),
        confidence="proven",
    )


def _finding(app: App, resource: Resource, changes: tuple[Change, ...], what: str, confidence: str) -> Finding:
    return finding(
        app,
        resource,
        changes,
        f"{resource.id} stays OutOfSync over {pointers_text(changes)}, {what} that Git leaves out.",
        fixes=(write_live_fix(app, resource, changes, "Write the default"), server_side_diff_fix(app)),
        evidence=("it appeared when Argo CD itself wrote the object",) if confidence == "likely" else (),
        confidence=confidence,
    )


def _may_be_default(resource: Resource, change: Change) -> bool:
    if change.desired is not MISSING or change.masked or below(change.pointer, "/metadata"):
        return False
    return not is_default("assigned", resource, change)


def _is_filled_on_arrival(app: App, resource: Resource, change: Change) -> bool:
    return is_custom(resource.group) and rewritten_on_arrival(app, resource, change)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, rank=Rank.DEFAULTED)
