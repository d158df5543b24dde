"""What is new since the previous checks, from a small state file in the user's cache that `argolint check` maintains.

One file per Argo CD: for each run its time, a hash of the question, and hashes of its findings. It contains no name, message or value. It
may be lost at any time, and a check never fails because of it.
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
"""A run of this age belongs to another day; of today's runs only the first counts."""


_OF_CI = ("CI", "JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD")
"""Environment variables of CI systems."""


class Run(msgspec.Struct, frozen=True):
    """One check: its time, its question, and a hash for each finding."""

    at: str
    asked: str
    marks: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True):
    """The last checks of one Argo CD, oldest first."""

    schema: int = 1
    runs: tuple[Run, ...] = ()


def folder_of(environ: Mapping[str, str], home: Path) -> Path | None:
    """The folder of the state files; None in a CI job and for a user without a home folder."""
    if any(environ.get(name, "").lower() not in ("", "0", "false") for name in _OF_CI):
        return None
    cache = environ.get("XDG_CACHE_HOME", "")
    if cache and Path(cache).is_absolute():
        return Path(cache) / "argolint"
    return home / ".cache" / "argolint" if home.is_dir() else None


def news_sentence(report: Report, asked: str, folder: Path, *, offline: bool) -> str:
    """One sentence on what is new and gone since an earlier run; empty for the first run. Saves this run.

    A report that is incomplete or has too many findings is neither compared nor saved.
    """
    servers = "\n".join(sorted(server.url for server in report.servers))
    if not report.complete or not servers or len(report.findings) > MOST_FINDINGS:
        return ""
    key = hashlib.sha256(f"{'snapshot' if offline else 'server'}\n{servers}".encode()).hexdigest()[:20]
    file = folder / f"{key}.json"
    now = Run(report.started_at, asked, tuple(sorted(_mark(f) for f in worst_first(report))))
    state = _read(file)
    before = _earlier_run(state.runs, now)
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
    runs = sorted((*_thinned_runs(others, now), now), key=lambda run: run.at)[-MOST_RUNS:]
    files.write(file, msgspec.json.encode(State(runs=tuple(runs))))
    with contextlib.suppress(OSError):
        file.chmod(0o600)
    kept = sorted(file.parent.glob("*.json"), key=lambda other: other.stat().st_mtime)
    for old in kept[:-MOST_FILES]:
        old.unlink(missing_ok=True)


def _thinned_runs(runs: Sequence[Run], now: Run) -> list[Run]:
    """The runs with only the first of today for each question, so that today's runs do not push out yesterday's."""
    kept: list[Run] = []
    seen: set[str] = set()
    for run in sorted(runs, key=lambda run: run.at):
        today = _age(run, now) < _A_DAY
        if not today or run.asked not in seen:
            kept.append(run)
        if today:
            seen.add(run.asked)
    return kept


def _earlier_run(runs: Sequence[Run], now: Run) -> Run | None:
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
    since = f"Since {_age_text(_age(before, now))}: "
    if not fresh and not gone:
        return f"{since}nothing new, nothing gone."
    first = f", first {rule_name(fresh[0])} in {app_name(fresh[0].app)}" if fresh else ""
    return f"{since}{number(len(fresh), 'new finding')}{first}; {gone} gone."


def _age_text(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 90:
        return f"{number(max(1, minutes), 'minute')} ago"
    if minutes < 20 * 60:
        return f"{number(minutes // 60, 'hour')} ago"
    return "yesterday" if minutes < 36 * 60 else f"{number(round(minutes / 1440), 'day')} ago"


def environment() -> tuple[Mapping[str, str], Path]:
    """The arguments of `folder_of` for this process."""
    try:
        return os.environ, Path.home()
    except RuntimeError:
        return os.environ, Path("/nonexistent")
