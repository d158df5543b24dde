"""The history of findings in one SQLite file: since when a finding exists, and how often it came back.

The file may be lost at any time; only the history is lost then, never a finding. A check is one transaction, so a crash leaves the state of
the check before. Never put the file on a network file system: SQLite cannot trust its locks.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from argolint.errors import UsageError
from argolint.model import SETTINGS
from argolint.reports.causes import identity
from argolint.reports.document import Counts, Point, Report, ReportedApp, ReportedFinding, counted
from argolint.reports.trend import apps_of, is_looked_at
from argolint.sources.files import own_path
from argolint.values import parse_time

_OURS = 0x6172676C  # "argl": PRAGMA application_id
_VERSION = 1
_DAYS = 90
_POINTS = 60
_WAIT_S = 20.0
_TABLES = """
CREATE TABLE runs (server TEXT, at TEXT, complete INTEGER, error INTEGER, warning INTEGER, info INTEGER, new INTEGER, gone INTEGER,
  PRIMARY KEY (server, at)) WITHOUT ROWID;
CREATE TABLE findings (server TEXT, fingerprint TEXT, rule TEXT, apps TEXT, first_seen TEXT, since TEXT, last_seen TEXT, gone_at TEXT,
  flaps INTEGER, PRIMARY KEY (server, fingerprint)) WITHOUT ROWID;
"""


class History:
    """An open history file. `remark` says what happened to a damaged file, otherwise it is empty."""

    def __init__(self, file: Path, connection: sqlite3.Connection, remark: str) -> None:
        self.file = file
        self.remark = remark
        self._db = connection

    def remember(self, report: Report, apps: Collection[ReportedApp] | None = None, *, whole: bool = True) -> Report:
        """Record the report; return it with the known age of its findings (`since`, `flaps`) and the counts of earlier days (`trend`).

        `apps`: the applications that were looked at, None for all; then findings of deleted applications are gone. A report older than the
        last recorded one is not recorded, nor is one whose settings were not read and whose server is then unknown here. A check of a few
        applications (not `whole`) updates the counts of the run before it, since such a check may come every ten seconds.
        """
        try:
            with self._transaction():
                return self._remember(report, apps, whole=whole)
        except sqlite3.Error as error:
            return _remarked(report, f"{self.file} cannot be written, so the ages of findings are not known: {error}")

    def _remember(self, report: Report, apps: Collection[ReportedApp] | None, *, whole: bool) -> Report:
        own = [server.url for server in report.servers] or [""]
        at = report.started_at
        last = max(filter(None, map(self._last, own)), default=None)
        named = last is not None or not any(f.stage == SETTINGS and f.app is None for f in report.failures)
        keeps = named and (last is None or last <= at)
        now = {identity(f): f for f in report.findings}
        servers = {*own, *(owner for owner, _ in now)}
        known = {(row[0], row[1]): row for name in servers for row in self._known(name)}
        new, gone = Counter[str](), Counter[str]()
        for mark, f in now.items():
            row = known.get(mark)
            came_back = row is not None and row[7] is not None
            new[_run_of(mark[0], own)] += row is None or came_back
            if keeps:
                self._keep(f, at, row, came_back=came_back)
        for mark, row in known.items():
            if keeps and mark not in now and row[7] is None and _is_gone(row, report, apps):
                gone[_run_of(mark[0], own)] += 1
                self._db.execute("UPDATE findings SET gone_at = ? WHERE server = ? AND fingerprint = ?", (at, *mark))
        if keeps:
            for server in own:
                counts = counted(
                    f for f in report.findings if f.suppressed is None and _run_of(f.app.server, own) == server
                )
                run = (server, at, _is_whole(server, report), counts.error, counts.warning, counts.info)
                self._count(run, (new[server], gone[server]), whole=whole)
            if whole or last is None:
                self._forget(at)
        earlier = {(row[0], row[1]): row for name in servers for row in self._known(name)}
        findings = tuple(_aged(f, earlier.get(identity(f))) for f in report.findings)
        return msgspec.structs.replace(_remarked(report, self.remark), findings=findings, trend=self._trend(own, at))

    def _count(self, run: tuple[Any, ...], changes: tuple[int, int], *, whole: bool) -> None:
        """Insert a row for a whole check; a partial check updates the last row."""
        last = self._last(run[0])
        if whole or last is None:
            self._db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*run, *changes))
        else:
            counted = "complete = ?, error = ?, warning = ?, info = ?, new = new + ?, gone = gone + ?"
            values = (*run[2:], *changes, run[0], last)
            self._db.execute(f"UPDATE runs SET {counted} WHERE server = ? AND at = ?", values)  # noqa: S608  # no value in it

    def _last(self, server: str) -> str | None:
        row: tuple[str | None] = self._db.execute("SELECT max(at) FROM runs WHERE server = ?", (server,)).fetchone()
        return row[0]

    def _known(self, server: str) -> Iterator[tuple[str, ...]]:
        columns = "server, fingerprint, rule, apps, first_seen, since, last_seen, gone_at, flaps"
        return iter(self._db.execute(f"SELECT {columns} FROM findings WHERE server = ?", (server,)).fetchall())  # noqa: S608  # no value in it

    def _keep(self, f: ReportedFinding, at: str, row: tuple[str, ...] | None, *, came_back: bool) -> None:
        first = row[4] if row else at
        since = row[5] if row and not came_back else at
        flaps = (int(row[8]) if row else 0) + came_back
        apps = json.dumps(
            [
                [a.server, a.namespace, a.name, a.project]
                for a in sorted(apps_of(f), key=lambda a: (a.server, a.namespace, a.name))
            ]
        )
        values = (*identity(f), f.rule, apps, first, since, at, None, flaps)
        self._db.execute("INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _forget(self, at: str) -> None:
        """Delete runs and gone findings older than the limit."""
        now = parse_time(at)
        if now is not None:
            old = (now - timedelta(days=_DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._db.execute("DELETE FROM runs WHERE at < ?", (old,))
            self._db.execute("DELETE FROM findings WHERE gone_at < ?", (old,))

    def _trend(self, servers: Sequence[str], at: str) -> tuple[Point, ...]:
        """One point per day, up to this run: its last counts, with all new and gone findings of that day; several servers are summed."""
        days: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for server in servers:
            rows = self._db.execute(
                "SELECT max(at), complete, error, warning, info, sum(new), sum(gone) FROM runs WHERE server = ? AND at <= ? "
                "GROUP BY substr(at, 1, 10) ORDER BY 1 DESC LIMIT ?",
                (server, at, _POINTS),
            )
            for row in rows:
                days[row[0][:10]].append(row)
        points = []
        for day in sorted(days)[-_POINTS:]:
            ats, whole, *numbers = zip(*days[day], strict=True)
            errors, warnings, infos, new, gone = map(sum, numbers)
            points.append(Point(max(ats), all(whole), Counts(errors, warnings, infos), new, gone))
        return tuple(points)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


@contextmanager
def opened(file: Path) -> Iterator[History]:
    """The history file, created if it does not exist. A damaged file is renamed and a new one begun.

    UsageError if it cannot be written, belongs to a newer argolint, or is another program's database.
    """
    place = own_path(file)
    remark = ""
    try:
        connection = _ready(place, file)
    except sqlite3.DatabaseError as error:
        # locked, disk full or no permission: the file itself may be intact
        if isinstance(error, sqlite3.OperationalError):
            raise UsageError(
                f"the state file {file} cannot be used: {error}", "name a file in a folder that you may write"
            ) from None
        aside = _put_aside(place)
        remark = f"the state file {file} was damaged ({error}); it is kept as {aside.name}, and history begins again"
        connection = _ready(place, file)
    with closing(connection):
        yield History(file, connection, remark)


def _ready(place: Path, file: Path) -> sqlite3.Connection:
    """A connection to an intact file with our tables; sqlite3.DatabaseError for a damaged one."""
    connection = sqlite3.connect(place, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
        (ours,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and ours != _OURS:
            raise UsageError(f"{file} is a database of another program", "name a file of its own with --state")
        if version > _VERSION:
            raise UsageError(
                f"the state file {file} comes from a newer argolint", "upgrade argolint, or name another file"
            )
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        if not tables:
            for statement in _TABLES.strip().rstrip(";").split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_OURS}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _put_aside(place: Path) -> Path:
    """Rename the damaged file and its journal: SQLite must never apply that journal to a new file."""
    number = next(n for n in range(1, 1_000_000) if not place.with_name(f"{place.name}.damaged-{n}").exists())
    aside = place.with_name(f"{place.name}.damaged-{number}")
    for suffix in ("-journal", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            place.with_name(place.name + suffix).rename(aside.with_name(aside.name + suffix))
    place.rename(aside)
    return aside


def _run_of(server: str, own: Sequence[str]) -> str:
    """The server whose run counts a finding. A finding about the configuration has no server and counts for the first."""
    return server if server in own else own[0]


def _is_whole(server: str, report: Report) -> bool:
    """Whether the report has no failure of this server."""
    names = {s.url: s.name for s in report.servers if s.name}
    if not names:
        return report.complete
    return not any(
        f.app.server == server if f.app is not None else f.server in (names[server], msgspec.UNSET)
        for f in report.failures
    )


def _is_gone(row: tuple[str, ...], report: Report, apps: Collection[ReportedApp] | None) -> bool:
    about = {ReportedApp(*fields) for fields in json.loads(row[3])}
    return (apps is None or about <= set(apps)) and is_looked_at(row[2], about, report)


def _aged(f: ReportedFinding, row: tuple[str, ...] | None) -> ReportedFinding:
    return f if row is None else msgspec.structs.replace(f, since=row[5], flaps=int(row[8]))


def _remarked(report: Report, remark: str) -> Report:
    return msgspec.structs.replace(report, remarks=(*report.remarks, remark)) if remark else report
