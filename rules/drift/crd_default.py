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

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule, Want
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
from ._edits import rename, server_side_diff_fix
from ._fields import Drift, drifts, side_text


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The CRDs of custom resources that have live-only fields."""
    for _, resource, _ in drifts(app, _may_be_default):
        if is_custom(resource.group):
            yield from wanted_crds(app, fleet, resource)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object and certainty, and one for the zeros of an object."""
    for _, resource, zeros in drifts(app, replaces_zero):
        yield _zeros_finding(Drift(app, resource, zeros))
    for drift in drifts(app, partial(is_default, "assigned")):
        yield _assigned_finding(drift)
    for drift in drifts(app, lambda resource, change: renamed(app, resource, change) is not None):
        yield from (_renamed(app, drift.resource, old) for old in drift.changes)
    for _, resource, found in drifts(app, _may_be_default):
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
            yield _finding(Drift(app, resource, known), what, "proven")
        if guessed:
            yield _finding(Drift(app, resource, guessed), "most likely a default", "likely")


def _renamed(app: App, resource: Resource, old: Change) -> Finding:
    new = renamed(app, resource, old)
    assert new is not None
    return Drift(app, resource, (old, new)).finding(
        f"The cluster stores {old.pointer} of {resource.id} as {new.pointer}, so Git's name of the field never stays.",
        fixes=(rename(app, resource, old, new), server_side_diff_fix(app)),
        evidence=("it appeared when Argo CD itself wrote the object",),
        confidence="likely",
    )


def _assigned_finding(drift: Drift) -> Finding:
    """The finding for a value that the API server or the volume controller chooses, and that does not belong into Git."""
    return drift.finding(
        f"{drift.resource.id} stays OutOfSync over {drift.places()}, which Kubernetes assigns.",
        fixes=(
            drift.drop("Leave the empty field out of the manifest")
            if all(get(drift.resource.desired, change.pointer) in ("", None) for change in drift.changes)
            else None,
            server_side_diff_fix(drift.app),
            drift.ignore(),
        ),
        confidence="proven",
    )


def _zeros_finding(drift: Drift) -> Finding:
    first = drift.changes[0]
    return drift.finding(
        f"{drift.resource.id} stays OutOfSync over {drift.places()}: the API server replaces Git's {side_text(first, first.desired)} by its default.",
        fixes=(
            drift.write_live("Write the default, or leave the field out"),
            server_side_diff_fix(drift.app),
        ),
        evidence=(() if len(drift.changes) == 1 else ("each of these zeros has a default of its own",)),
        confidence="proven",
    )


def _finding(drift: Drift, what: str, confidence: str) -> Finding:
    return drift.finding(
        f"{drift.resource.id} stays OutOfSync over {drift.places()}, {what} that Git leaves out.",
        fixes=(drift.write_live("Write the default"), server_side_diff_fix(drift.app)),
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
