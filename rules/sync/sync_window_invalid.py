"""Argo CD cannot read a sync window

What it finds: a sync window of an AppProject whose schedule, duration or time zone Argo CD cannot parse; in the AppProject that an application brings, and at an application that waits
for a sync under such a window. `cause` is `schedule`, `duration` or `timeZone`.

Why it hurts: with a schedule or a duration that it cannot parse, Argo CD permits no sync of the applications that the window names, not even by hand, and no field of the application says why.
A misspelt time zone counts as UTC, so the window opens at another hour. Nothing refuses such a project: its definition takes any text.

How to fix: write five fields (no `@daily`, no seconds), a duration in hours and minutes (`24h`, not `1d`), and a time zone by its full name (`Europe/Berlin`).

Example: `duration: 1d` in an AppProject, and from then on its applications stay OutOfSync.

Sources: pkg/apis/application/v1alpha1/types.go (SyncWindows.active, scheduleOffsetByTimeZone), controller/appcontroller.go of Argo CD, 2.14 to 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule
from argolint.edits import manifest_patch, manifest_text
from argolint.values import maps

from ._windows import WindowFault, project_windows, waiting_symptoms, window_faults


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application lists an AppProject with such a window."""
    names = {row.name for row in app.rows if (row.group, row.kind) == ("argoproj.io", "AppProject")}
    return any(
        True
        for name in names
        for window in maps(fleet.projects.get(name), "spec", "syncWindows")
        for _ in window_faults(window)
    )


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each such window of an AppProject in the application, and one if a window stops its own sync."""
    for resource in app.of_kind("AppProject", "argoproj.io"):
        for number, window in enumerate(maps(resource.desired, "spec", "syncWindows")):
            yield from (_finding(app, resource, number, fault) for fault in window_faults(window))
    if app.sync_status == "OutOfSync" and (stopping := _stopping(app, fleet)):
        yield _finding_of_stopped(app, stopping)


def _stopping(app: App, fleet: Fleet) -> tuple[WindowFault, ...]:
    return tuple(fault for window in project_windows(app, fleet) for fault in window_faults(window) if fault.stops)


def _finding(app: App, resource: Resource, number: int, fault: WindowFault) -> Finding:
    effect = "none of its Applications syncs" if fault.stops else "the window opens by UTC"
    return Finding(
        message=f"Argo CD cannot read {fault.says} of sync window {number} of {resource.id}, so {effect}.",
        at=Location(app.ref, resource.id, f"/spec/syncWindows/{number}/{fault.field}"),
        cause=fault.field,
        severity=None if fault.stops else "warning",
        confidence="proven",
        fixes=(_window_fix(resource, number, fault),),
    )


def _window_fix(resource: Resource, number: int, fault: WindowFault) -> Fix:
    at = f"/spec/syncWindows/{number}/{fault.field}"
    if fault.meant is None:
        return manifest_text(resource.id, _TITLES[fault.field], f"{at}: {fault.says} has another form\n")
    step = {"op": "replace", "path": at, "value": fault.meant}
    return manifest_patch(resource.id, _TITLES[fault.field], [step], "the window counts then")


_TITLES = {
    "schedule": "Write the schedule in five fields",
    "duration": "Write the duration in hours and minutes",
    "timeZone": "Name the time zone as the IANA database does",
}


def _finding_of_stopped(app: App, stopping: tuple[WindowFault, ...]) -> Finding:
    first = stopping[0]
    return Finding(
        message=f"Application {app.ref} does not sync, since Argo CD cannot read {first.says} of a sync window of project {app.project}.",
        at=Location(app.ref),
        cause=first.field,
        confidence="likely",
        evidence=tuple(f"{fault.field}: {fault.says} cannot be parsed" for fault in stopping[:5]),
        fixes=(
            Fix(
                _TITLES[first.field],
                "argocd-settings",
                f"AppProject {app.project}",
                Edit("text", f"{first.says} of a sync window has another form\n"),
            ),
        ),
        explains=tuple(waiting_symptoms(app)),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    reads=reads,
    causes=("schedule", "duration", "timeZone"),
    rank=Rank.CAUSE,
)
