"""A sync window forbids the sync

What it finds: an application that is OutOfSync, or was never deployed, while the sync windows of its project forbid a sync; and the time when
they allow it again.

Why it hurts: it is intended, for a time. But a schedule without a gap, or a forgotten window, blocks syncs forever.

How to fix: wait until it opens, sync by hand where the window allows that, or change the window.

Example: a deny window `0 0 * * *` of 24 hours.

Sources: pkg/apis/application/v1alpha1/types.go (SyncWindows.CanSync); docs/user-guide/sync_windows.md of Argo CD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from argolint import App, Finding, Fix, Fleet, Location, Object, Rank, Rule, Symptom, Want
from argolint.edits.advice import advice
from argolint.values import items, maps, parse_duration, text_at

from ._cron import Cron, parse
from ._windows import project_windows, waiting_symptoms

_HORIZON = timedelta(days=60)
_LOOKS = 20_000
"""Most checks of windows for all applications with the same ones: windows that open and close every minute have no end."""


_Name = tuple[str, str, str]
"""Kind, schedule and duration of a window: unique in a project."""


@dataclass(frozen=True, slots=True)
class _Window:
    kind: str
    schedule: str
    text: str
    duration: timedelta
    manual: bool
    zone: tzinfo
    cron: Cron

    @property
    def name(self) -> _Name:
        return self.kind, self.schedule, self.text

    def end(self, moment: datetime) -> datetime | None:
        """The time when the window that is open at `moment` closes; None while it is closed (SyncWindow.active)."""
        start = self.cron.after(moment - self.duration, self.zone)
        return start + self.duration if start is not None and start <= moment else None


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The windows that apply to an application that waits for a sync."""
    project = fleet.projects.get(app.project)
    if _waits_for_sync(app) and (project is None or items(project, "spec", "syncWindows")):
        yield Want("sync-windows")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding."""
    answer = app.evidence.get(Want("sync-windows"))
    if not _waits_for_sync(app):
        return
    manual = not _is_automated(app)
    zones = _time_zones(fleet, app)
    assigned = maps(answer, "assignedWindows") if answer is not None else project_windows(app, fleet)
    windows = [w for raw in assigned if (w := _window(raw, zones))]
    if not windows and _is_blocked_by_window(app):
        yield _unread_windows_finding(app)
    if app.project not in fleet.projects:
        now = _OpenByServer(frozenset(map(_name, maps(answer, "activeWindows"))))
        if windows and not is_sync_allowed(windows, now.is_open, manual=manual):
            yield _finding(app, windows, now.is_open, None, "until a time that only the project's windows show")
        return
    at = _OpenAtMoment(app.observed_at)
    if not windows or is_sync_allowed(windows, at.is_open, manual=manual):
        return
    opening, certain = next_opening(tuple(windows), app.observed_at, manual=manual)
    gap = (
        f"and leaves no gap within {_HORIZON.days} days"
        if certain
        else "while windows open and close too often to tell when one ends"
    )
    when = f"until {opening:%Y-%m-%d %H:%M} UTC" if opening else gap
    yield _finding(app, windows, at.is_open, opening, when)


def _waits_for_sync(app: App) -> bool:
    return app.sync_status == "OutOfSync" or _is_blocked_by_window(app)


def _is_blocked_by_window(app: App) -> bool:
    """True if the running operation itself reports it (controller/sync.go, SyncAppState)."""
    return app.operation is not None and "sync window" in app.operation.message


def _is_held(app: App) -> bool:
    """True if a sync that has begun waits for a window, be it for its end: until then Argo CD accepts no other one (SyncAppState looks at the window first)."""
    return (
        _is_blocked_by_window(app) and app.operation is not None and app.operation.phase in ("Running", "Terminating")
    )


def _is_automated(app: App) -> bool:
    """Whether the sync that waits is an automated one: of a held operation its initiator decides, which may be an ApplicationSet's controller."""
    return app.operation.automated if app.operation is not None and _is_held(app) else app.automated


def _time_zones(fleet: Fleet, app: App) -> dict[_Name, str]:
    """The time zones of windows, from the project: the server's list for the application lacks them."""
    windows = maps(fleet.projects.get(app.project), "spec", "syncWindows")
    return {_name(window): text_at(window, "timeZone") for window in windows}


def _name(raw: Object) -> _Name:
    return text_at(raw, "kind"), text_at(raw, "schedule"), text_at(raw, "duration")


def _window(raw: Object, zones: dict[_Name, str]) -> _Window | None:
    kind, schedule, text = _name(raw)
    duration, cron = parse_duration(text), parse(schedule)
    if duration is None or cron is None:
        return None
    try:
        zone: tzinfo = ZoneInfo(zones.get((kind, schedule, text)) or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones as a name is an OSError
        zone = UTC
    return _Window(kind, schedule, text, duration, bool(raw.get("manualSync")), zone, cron)


@dataclass(frozen=True, slots=True)
class _OpenAtMoment:
    """The windows that are open at a moment, by their schedules."""

    moment: datetime

    def is_open(self, window: _Window) -> bool:
        return window.end(self.moment) is not None


@dataclass(frozen=True, slots=True)
class _OpenByServer:
    """The windows that the server calls open: for an account without access to the project, which alone has their time zones."""

    active: frozenset[_Name]

    def is_open(self, window: _Window) -> bool:
        return window.name in self.active


def is_sync_allowed(windows: Sequence[_Window], is_open: Callable[[_Window], bool], *, manual: bool) -> bool:
    """SyncWindows.CanSync: no open deny window, and an open allow window if there is any; manualSync allows a manual sync."""
    denies = [w for w in windows if w.kind == "deny" and is_open(w)]
    if denies:
        return manual and all(w.manual for w in denies)
    allows = [w for w in windows if w.kind == "allow"]
    if not allows or any(map(is_open, allows)):
        return True
    return manual and all(w.manual for w in allows)


@lru_cache(maxsize=256)
def next_opening(windows: tuple[_Window, ...], moment: datetime, *, manual: bool) -> tuple[datetime | None, bool]:
    """The first moment after `moment` at which a sync is allowed, and whether that is certain.

    None if there is none within sixty days; uncertain if windows open and close too often for a check of each time.
    """
    limit = moment + _HORIZON
    at = moment
    for _ in range(_LOOKS // len(windows)):
        if at >= limit:
            return None, True
        if is_sync_allowed(windows, _OpenAtMoment(at).is_open, manual=manual):
            return at.astimezone(UTC), True
        ends = [end for w in windows if w.kind == "deny" and (end := w.end(at))]
        starts = [start for w in windows if w.kind == "allow" and (start := w.cron.after(at, w.zone))]
        later_times = [t for t in (*ends, *starts) if t > at]
        if not later_times:
            return None, True
        at = min(later_times)
    return None, False


def _finding(
    app: App, windows: list[_Window], is_open: Callable[[_Window], bool], at: datetime | None, when: str
) -> Finding:
    by_hand = is_sync_allowed(windows, is_open, manual=True)
    ending = app.operation is not None and app.operation.phase == "Terminating"
    begun = (
        f"holds up a sync of application {app.ref} that {'is to end' if ending else 'has begun'},"
        if _is_held(app)
        else ""
    )
    return Finding(
        message=f"A sync window of project {app.project} {begun} {when}."
        if begun
        else f"Application {app.ref} is {app.sync_status}, and a sync window of project {app.project} forbids syncs {when}.",
        at=Location(app.ref),
        evidence=(
            *(
                f"{w.kind} window {w.schedule!r}, duration {w.text}, manualSync {str(w.manual).lower()}"
                for w in windows[:5]
            ),
        ),
        fixes=_fixes(app, at, by_hand=by_hand),
        explains=tuple(_claims(app)),
    )


def _unread_windows_finding(app: App) -> Finding:
    """The finding from the operation's message, if the windows cannot be read."""
    return Finding(
        message=f"A sync window of project {app.project} holds up the sync of application {app.ref}; its end is not known.",
        at=Location(app.ref),
        evidence=("the sync windows of the application could not be read",),
        fixes=_fixes(app, None, by_hand=False),
        explains=tuple(_claims(app)),
    )


def _claims(app: App) -> Iterator[Symptom]:
    """Symptoms that the next sync ends, and the refusal itself."""
    if _is_blocked_by_window(app):
        yield Symptom.operation()
        yield Symptom.condition("SyncError")
    yield from waiting_symptoms(app)


def _fixes(app: App, at: datetime | None, *, by_hand: bool) -> tuple[Fix, ...]:
    held = _is_held(app)
    ending = app.operation is not None and app.operation.phase == "Terminating"
    facts = {
        "app": str(app.ref),
        "project": app.project,
        "namespace": app.ref.namespace,
        "name": app.ref.name,
        "by_hand": by_hand and not held,
        "freed": by_hand and held,
        "at": f"{at:%Y-%m-%d %H:%M} UTC" if at else "",
        "goes_on": f"a sync that {'is to end ends' if ending else 'has begun goes on'} then; until then Argo CD starts no other one"
        if held
        else "",
    }
    return advice(__package__, "sync-window-denies", facts)


RULE = Rule(**Rule.page(__name__), severity="info", check=check, wants=wants, rank=Rank.CAUSE, standing=True)
