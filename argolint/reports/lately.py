"""What is new since the last checks: a small state in the user's cache, which `argolint check` keeps by itself.

One file an Argo CD: of each kept run its time, a mark of what was asked, and hashes of its findings. No name, message or value is in it.
It may be lost at any time, and a check never fails for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from argolint.errors import ArgolintError
from argolint.host.folder import FileError
from argolint.reports.causes import worst_first
from argolint.reports.document import Report, ReportedFinding
from argolint.reports.formats import app_name
from argolint.reports.formats.layout import number, rule_name
from argolint.sources import files
from argolint.values import parse_time
from argolint.values.decoding import converted, json_value

MOST_RUNS = 12
MOST_FINDINGS = 20_000
MOST_FILES = 50
_MOST_BYTES = 8 << 20
_A_DAY = timedelta(hours=12)
"""A run that is this old is one of another day; of today's only the first counts."""


_OF_CI = ("CI", "JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD")
"""Variables that CI systems set."""


class Run(msgspec.Struct, frozen=True):
    """One check: when, what was asked, and a hash for each finding."""

    at: str
    asked: str
    marks: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True):
    """The last checks of one Argo CD, oldest first."""

    schema: int = 1
    runs: tuple[Run, ...] = ()


def folder_of(environ: Mapping[str, str], home: Path) -> Path | None:
    """Where the states are; None where none is kept: in a CI job, and for a user without a home folder."""
    if any(environ.get(name, "").lower() not in ("", "0", "false") for name in _OF_CI):
        return None
    cache = environ.get("XDG_CACHE_HOME", "")
    if cache and Path(cache).is_absolute():
        return Path(cache) / "argolint"
    return home / ".cache" / "argolint" if home.is_dir() else None


def remembered(report: Report, asked: str, folder: Path, *, offline: bool) -> str:
    """What is new and gone since the runs before, in one sentence; empty for the first one. The run is kept.

    A report that is not complete, or has more findings than are kept, is neither compared nor kept.
    """
    servers = "\n".join(sorted(server.url for server in report.servers))
    if not report.complete or not servers or len(report.findings) > MOST_FINDINGS:
        return ""
    key = hashlib.sha256(f"{'snapshot' if offline else 'server'}\n{servers}".encode()).hexdigest()[:20]
    file = folder / f"{key}.json"
    now = Run(report.started_at, asked, tuple(sorted(_mark(f) for f in worst_first(report))))
    state = _read(file)
    before = _before(state.runs, now)
    with contextlib.suppress(OSError, ArgolintError, FileError):
        _write(file, now, state)
    return _sentence(report, before, now) if before is not None else ""


def _read(file: Path) -> State:
    try:
        found = converted(json_value(files.read_text(file, _MOST_BYTES).encode()), State)
    except (OSError, ArgolintError, FileError, msgspec.MsgspecError, ValueError, RecursionError):
        return State()
    return found if found.schema == State().schema else State()


def _write(file: Path, now: Run, state: State) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = [run for run in state.runs if run.at != now.at or run.asked != now.asked]
    runs = sorted((*_thinned(others, now), now), key=lambda run: run.at)[-MOST_RUNS:]
    files.write(file, msgspec.json.encode(State(runs=tuple(runs))))
    with contextlib.suppress(OSError):
        file.chmod(0o600)
    kept = sorted(file.parent.glob("*.json"), key=lambda other: other.stat().st_mtime)
    for old in kept[:-MOST_FILES]:
        old.unlink(missing_ok=True)


def _thinned(runs: Sequence[Run], now: Run) -> list[Run]:
    """The runs; of those of one question that are of today only the first, so that yesterday is not crowded out."""
    kept: list[Run] = []
    seen: set[str] = set()
    for run in sorted(runs, key=lambda run: run.at):
        today = _age(run, now) < _A_DAY
        if not today or run.asked not in seen:
            kept.append(run)
        if today:
            seen.add(run.asked)
    return kept


def _before(runs: Sequence[Run], now: Run) -> Run | None:
    """The run to compare with: the last one of another day, else the first one of today."""
    earlier = sorted((run for run in runs if run.asked == now.asked and run.at < now.at), key=lambda run: run.at)
    days = [run for run in earlier if _age(run, now) >= _A_DAY]
    return days[-1] if days else next(iter(earlier), None)


def _age(run: Run, now: Run) -> timedelta:
    then, today = parse_time(run.at), parse_time(now.at)
    return (today or datetime.now(UTC)) - (then or datetime.fromtimestamp(0, UTC))


def _mark(f: ReportedFinding) -> str:
    return hashlib.sha256(f"{f.app.server}\n{f.fingerprint}".encode()).hexdigest()[:16]


def _sentence(report: Report, before: Run, now: Run) -> str:
    fresh = [f for f in worst_first(report) if _mark(f) not in set(before.marks)]
    gone = len(set(before.marks) - set(now.marks))
    since = f"Since {_when(_age(before, now))}: "
    if not fresh and not gone:
        return f"{since}nothing new, nothing gone."
    first = f", first {rule_name(fresh[0])} in {app_name(fresh[0].app)}" if fresh else ""
    return f"{since}{number(len(fresh), 'new finding')}{first}; {gone} gone."


def _when(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 90:
        return f"{number(max(1, minutes), 'minute')} ago"
    if minutes < 20 * 60:
        return f"{number(minutes // 60, 'hour')} ago"
    return "yesterday" if minutes < 36 * 60 else f"{number(round(minutes / 1440), 'day')} ago"


def environment() -> tuple[Mapping[str, str], Path]:
    """What `folder_of` takes, of this process."""
    try:
        return os.environ, Path.home()
    except RuntimeError:
        return os.environ, Path("/nonexistent")
