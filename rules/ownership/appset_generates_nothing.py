"""An ApplicationSet that generates no Application

What it finds: an ApplicationSet without an error and without an Application, because a selector fits no cluster or no element of its list, or
because no folder or file in Git matches its paths. Sets that may well be empty (pull requests, repositories of an organization, plugins) are
not reported.

Why it hurts: the status of the set says that all went well, and nothing is deployed.

How to fix: correct the label or the path; the fix names a label or a folder that is there and nearly the same.

Example: a cluster generator that selects `env: prod`, while the clusters are labelled `env: production`.

Sources: applicationset/generators/cluster.go, list.go, git.go and generator_spec_processor.go (the selector of a generator) of Argo CD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Finding, Fleet, Location, Object, Rule
from argolint.application.application_sets import owned_applications, set_id
from argolint.edits.advice import advice
from argolint.values import maps, parse_version, text_at
from argolint.values.kubernetes import is_deleting

from ..shared.application_sets import place_of, reporter
from ._dead_paths import dead_paths
from ._empty_generators import Empty, empty_generators

_LISTS_RESOURCES = (2, 13)
"""From this release on `status.resources` lists what a set generated, even where an account may not see it."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each set, reported like a set that fails."""
    for raw, reasons in fleet.derive(_empty_by_application).get(app.ref, ()):
        yield _finding(app, fleet, raw, reasons)


def _empty_by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[tuple[Object, Sequence[Empty]]]]:
    found: dict[AppRef, list[tuple[Object, Sequence[Empty]]]] = {}
    version = parse_version(fleet.version)
    for raw in fleet.application_sets if version is not None and version >= _LISTS_RESOURCES else ():
        reasons = empty_generators(fleet, raw) if _is_empty(fleet, raw) else ()
        if reasons and (at := reporter(fleet, raw)) is not None:
            found.setdefault(at, []).append((raw, reasons))
    return found


def _is_empty(fleet: Fleet, raw: Object) -> bool:
    """Whether the controller has gone through the set without an error, and nothing came out."""
    done = {(text_at(c, "type"), text_at(c, "status")) for c in maps(raw, "status", "conditions")}
    went_well = ("ParametersGenerated", "True") in done and ("ErrorOccurred", "False") in done
    generated = maps(raw, "status", "resources") or owned_applications(fleet, raw) or any(dead_paths(raw))
    return went_well and not generated and not is_deleting(raw)


def _finding(app: App, fleet: Fleet, raw: Object, reasons: Sequence[Empty]) -> Finding:
    first, id_ = reasons[0], set_id(fleet, raw)
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return Finding(
        message=f"{id_} generates no Application: {first.says}{more}.",
        at=Location(place_of(fleet, raw), id_, first.pointer),
        severity="warning" if first.near else "info",
        evidence=("its status reports no error and no Application", *(f"{r.pointer}: {r.says}" for r in reasons)),
        fixes=advice(__package__, f"appset-generates-nothing/{first.kind}", {"set": str(id_), **first.facts}),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, standing=True)
