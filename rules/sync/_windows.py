"""The sync windows of a project: which of them apply to an application, and what Argo CD cannot read in one.

Source: pkg/apis/application/v1alpha1/types.go of Argo CD (SyncWindows.Matches, SyncWindow.Validate, SyncWindows.active).
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from argolint import App, Fleet, Json, Object, Symptom
from argolint.application.applied import not_yet_applied
from argolint.redaction import excerpt
from argolint.values import glob, items, mapping, maps, text_at
from argolint.values.patterns import regex

from ._cron import MAX_LENGTH, parse
from ._field_checks import form_problem, time_zones


def project_windows(app: App, fleet: Fleet) -> Iterator[Object]:
    """The project's windows that apply, for servers that do not list them (SyncWindows.Matches)."""
    to = mapping(app.spec, "destination")
    cluster = text_at(to, "name") or text_at(fleet.clusters.get(app.cluster), "name")
    for window in maps(fleet.projects.get(app.project), "spec", "syncWindows"):
        places = (
            ("applications", (app.ref.name,)),
            ("clusters", (app.cluster, cluster)),
            ("namespaces", (text_at(to, "namespace"),)),
        )
        fits = [
            any(glob.matches(str(pattern), value) for pattern in patterns for value in values if value)
            for field, values in places
            if (patterns := items(window, field))
        ]
        if fits and (all(fits) if window.get("andOperator") else any(fits)):
            yield window


def waiting_symptoms(app: App) -> Iterator[Symptom]:
    """Symptoms that the next sync ends: objects not made yet, fields that only Git moved, and objects to prune."""
    for resource in app.missing:
        yield Symptom.missing(resource.id)
        yield Symptom.health(resource.id)
    for resource in app.extra if app.prune else ():
        yield Symptom.extra(resource.id)
    for resource in app.changed:
        yield from (
            Symptom.change(resource.id, c.pointer) for c in resource.changes if not_yet_applied(app, resource, c)
        )


class WindowFault(NamedTuple):
    """A field of a window that Argo CD cannot read: why, the value that is meant (None where it is not plain), and whether all syncs stop by it."""

    field: str
    says: str
    meant: Json
    stops: bool


def window_faults(window: Object) -> Iterator[WindowFault]:
    """What is wrong with one window. Argo CD permits no sync by a window whose schedule or duration it cannot parse, and takes UTC for an unknown time zone."""
    schedule, duration, zone = (text_at(window, field) for field in ("schedule", "duration", "timeZone"))
    if len(schedule) <= MAX_LENGTH and parse(schedule) is None:
        yield WindowFault(
            "schedule", f'the schedule "{excerpt(schedule, 40)}"', _NAMED_SCHEDULES.get(schedule), stops=True
        )
    if not duration or form_problem("duration", duration):
        days = _DAYS.fullmatch(duration)
        meant = f"{int(days[1]) * 24}h" if days else None
        yield WindowFault("duration", f'the duration "{excerpt(duration, 40)}"', meant, stops=True)
    is_known = zone in ("", "Local") or time_zones().get(zone.casefold()) == zone
    near = [] if is_known else get_close_matches(zone[:60], sorted(time_zones().values()), 1, cutoff=0.9)
    if near:  # without one, the system may lack an old name that Argo CD knows
        yield WindowFault("timeZone", f'the time zone "{excerpt(zone, 40)}"', near[0], stops=False)


_DAYS = regex("([0-9]{1,3})d")
_NAMED_SCHEDULES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""What the named schedules of cron mean: Argo CD takes five fields alone."""
