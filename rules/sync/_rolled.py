"""Syncs of one revision that an ApplicationSet's RollingSync starts again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import takewhile

from argolint import App, Edit, Finding, Fix, Fleet, Follows, Location, Object, Resource, Symptom
from argolint.application.application_sets import maker, set_id
from argolint.edits import live_command
from argolint.edits.pruning import prune_option
from argolint.values import dig, enumerated, items, maps, parse_time, parse_version, sh, text_at

_CONTROLLER = "applicationset-controller"
_MENDED = (3, 3)
"""Since this release a set syncs an Application when its revision or spec changes, and no longer whenever it is OutOfSync.

applicationset_controller.go, updateApplicationSetApplicationStatus; argoproj/argo-cd#24507.
"""


def rolled_finding(app: App, fleet: Fleet, attempts: int) -> Iterator[Finding]:
    """A finding for an application that its set has synced several times at one revision, and that is OutOfSync all the same."""
    version, made_by = parse_version(fleet.version), maker(app, fleet)
    rolls = text_at(made_by, "spec", "strategy", "type") == "RollingSync"
    if made_by is None or not rolls or version is None or version >= _MENDED or app.sync_status != "OutOfSync":
        return
    times = _syncs_in_a_row(app)
    remaining = [r for r in app.resources if r.status == "OutOfSync" and not r.hook]
    if len(times) < attempts or not remaining:
        return
    by = set_id(fleet, made_by)
    what = enumerated(sorted(str(r.id) for r in remaining), "object", limit=1)
    yield Finding(
        message=f"{by} syncs application {app.ref} again and again, {len(times)} times so far, and {what} stays OutOfSync each time.",
        at=Location(app.ref, remaining[0].id if len(remaining) == 1 else None),
        evidence=(
            f"syncs of {', '.join(r[:12] for r in app.revisions)} by its RollingSync: {', '.join(f'{t:%H:%M:%S}Z' for t in reversed(times[:5]))}",
            "before 3.3 a set with RollingSync starts a sync whenever an application is OutOfSync",
        ),
        fixes=tuple(_fixes(app, fleet, made_by, by.namespace, by.name, remaining)),
        follows=tuple(_symptom(r) for r in remaining[:1]),
    )


def _syncs_in_a_row(app: App) -> list[datetime]:
    """The ends of the last syncs that the set's controller started at the present revision within an hour, newest first."""
    now = [*app.revisions]

    def is_again(entry: Mapping[str, object]) -> bool:
        of = [str(r) for r in items(entry, "revisions")] or [text_at(entry, "revision")]
        return of == now and text_at(entry, "initiatedBy", "username") == _CONTROLLER

    again = takewhile(is_again, reversed(maps(app.status, "history")))
    ended = [time for entry in again if (time := parse_time(entry.get("deployedAt")))]
    return [time for time in ended if app.observed_at - time <= timedelta(hours=1)]


def _symptom(resource: Resource) -> Follows:
    if resource.extra:
        return Follows(Symptom.extra(resource.id))
    return Follows(Symptom.change(resource.id, resource.changes[0].pointer if resource.changes else ""))


def _fixes(
    app: App, fleet: Fleet, made_by: Object, namespace: str, name: str, remaining: list[Resource]
) -> Iterator[Fix]:
    place = f"ApplicationSet {namespace}/{name}"
    if all(r.extra and not prune_option(app, r.live, fleet) for r in remaining):
        yield live_command(
            f"Application {app.ref}",
            "Sync it once with prune, which ends the loop",
            f"argocd app sync {sh(app.ref)} --prune",
            f"deletes {enumerated([str(r.id) for r in remaining], 'object')}: look for data first",
        )
        if dig(made_by, "spec", "template", "spec", "syncPolicy", "automated", "prune") is not True:
            yield Fix(
                "Let the syncs of the set prune",
                "application",
                place,
                Edit(
                    "yaml",
                    "spec:\n  template:\n    spec:\n      syncPolicy:\n        automated:\n          prune: true\n",
                ),
                caveat="every object that leaves Git is then deleted; the set still does the syncs, step by step",
            )
    else:
        yield live_command(
            f"Application {app.ref}",
            "End what makes it OutOfSync again: the finding on that difference has its fix",
            f"argocd app diff {sh(app.ref)}",
        )
    yield Fix(
        "Or upgrade Argo CD to 3.3, where a set syncs only what has changed",
        "argocd-settings",
        "the Argo CD installation",
        Edit("command", "argocd version"),
    )
