"""When a sync window opens: cron schedules as robfig/cron's standard parser reads them, which Argo CD uses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

_MONTHS = {
    name: n
    for n, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_DAYS = {name: n for n, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_HORIZON_DAYS = 366 * 5  # the 29th of February comes within


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes, hours, days, months and weekdays of a schedule; a star in one day field makes the other one decide."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool

    def on(self, day: datetime) -> bool:
        """True when it fires on this date. With both day fields given, either is enough, as in crontab(5)."""
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month and of_week if self.any_day else of_month or of_week

    def after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """The first time later than `moment`, in `zone`; None when there is none within five years."""
        start = moment.astimezone(zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for offset in range(_HORIZON_DAYS):
            day = (start + timedelta(days=offset)).replace(hour=0, minute=0) if offset else start
            if not self.on(day):
                continue
            for hour in sorted(h for h in self.hours if h >= day.hour):
                first = day.minute if hour == day.hour else 0
                minute = min((m for m in self.minutes if m >= first), default=None)
                if minute is not None:
                    return day.replace(hour=hour, minute=minute)
        return None


def parse(schedule: str) -> Cron | None:
    """Five fields or a descriptor such as @daily; None for anything else."""
    fields = _NAMED.get(schedule.strip(), schedule).split()
    if len(fields) != len(_FIELDS):
        return None
    try:
        sets = [_field(text, low, high, names) for text, (low, high, names) in zip(fields, _FIELDS, strict=True)]
    except ValueError:
        return None
    any_day = any(f.startswith(("*", "?")) for f in (fields[2], fields[4]))
    return Cron(sets[0], sets[1], sets[2], sets[3], sets[4], any_day)


def _field(text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    """Comma lists of `*`, `n`, `a-b`, each with an optional `/step`. ValueError when it is none of these."""

    def number(word: str) -> int:
        value = names[word.lower()] if word.lower() in names else int(word)
        if not low <= value <= high:
            raise ValueError(f"{word} is not between {low} and {high}")
        return value

    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span in ("*", "?"):
            begin, end = low, high
        elif dash:
            begin, end = number(first), number(last)
        else:
            begin = number(first)
            end = high if slash else begin
        found.update(range(begin, end + 1, int(step) if slash else 1))
    return frozenset(found)
