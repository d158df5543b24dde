"""Computes when a sync window opens: cron schedules of five fields as robfig/cron parses them for Argo CD.

Argo CD's parser takes no descriptors such as `@daily` (pkg/apis/application/v1alpha1/types.go, SyncWindow.Validate). Source of the
grammar: robfig/cron v3 parser.go (getField, getRange) and spec.go (SpecSchedule.Next).
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache

from argolint.quick.records import dataclass
from argolint.values import integer

MAX_LENGTH = 400
"""Most characters of a schedule: a list of every minute, hour, day, month and weekday has 340."""
_MONTHS = dict(
    zip(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), range(1, 13), strict=True)
)
_DAYS = dict(zip(("sun", "mon", "tue", "wed", "thu", "fri", "sat"), range(7), strict=True))
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_YEARS = 5  # robfig/cron searches no further; 29 February comes within


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes, hours, days, months and weekdays of a schedule; with a star in one day field, only the other one counts."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool

    def on(self, day: date) -> bool:
        """True when it fires on this date. With both day fields given, either is enough, as in crontab(5)."""
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month and of_week if self.any_day else of_month or of_week

    def after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """The first time later than `moment`, in `zone`; None when there is none within five years."""
        start = moment.astimezone(zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        hour, minute = start.hour, start.minute
        day = self._day(start.date(), start.year + _YEARS)
        while day is not None:
            if day != start.date():
                hour = minute = 0
            for at in sorted(h for h in self.hours if h >= hour):
                found = min((m for m in self.minutes if m >= (minute if at == hour else 0)), default=None)
                if found is not None:
                    return datetime(day.year, day.month, day.day, at, found, tzinfo=zone)
            day = self._day(day + timedelta(days=1), start.year + _YEARS)
        return None

    def _day(self, day: date, last_year: int) -> date | None:
        """The first day from this one on that may match; months without a match are skipped as a whole."""
        if not (self.minutes and self.hours):
            return None
        while day.year <= last_year:
            if day.month not in self.months:
                day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
            elif self.on(day):
                return day
            else:
                day += timedelta(days=1)
        return None


@lru_cache(maxsize=1024)
def parse(schedule: str) -> Cron | None:
    """Five fields; None for anything else."""
    fields = schedule.split() if len(schedule) <= MAX_LENGTH else []
    if len(fields) != len(_FIELDS):
        return None
    try:
        sets = [_field(text, low, high, names) for text, (low, high, names) in zip(fields, _FIELDS, strict=True)]
    except ValueError:
        return None
    (minutes, _), (hours, _), (days, any_of_month), (months, _), (weekdays, any_of_week) = sets
    return Cron(minutes, hours, days, months, weekdays, any_of_month or any_of_week)


def _field(text: str, low: int, high: int, names: dict[str, int]) -> tuple[frozenset[int], bool]:
    """The numbers of a comma list of `*`, `n`, `a-b`, each with an optional `/step`, and whether a star matches every number.

    ValueError if the text is no such list.
    """
    found: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        span, *steps = part.split("/")
        first, *last = span.split("-")
        if first in ("*", "?"):
            begin, end = low, high
        else:
            begin = _number(first, names)
            end = _number(last[0], names) if last else begin
        step = _number(steps[0], {}) if steps else 1
        if steps and not last:
            end = high
        if (
            len(steps) > 1
            or (len(last) > 1 and first not in ("*", "?"))
            or step == 0
            or not low <= begin <= end <= high
        ):
            raise ValueError(f"{part} is no range from {low} to {high}")
        star |= first in ("*", "?") and step == 1
        found.update(range(begin, end + 1, step))
    return frozenset(found), star


def _number(word: str, names: dict[str, int]) -> int:
    found = names.get(word.lower(), integer(word))
    if found is None or found < 0:
        raise ValueError(f"{word} is no number")
    return found
