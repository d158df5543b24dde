"""Runs the checks of the service one after the other in a thread, and publishes their results.

While Argo CD cannot be read, the last good report stays: it is marked as incomplete, has the reason, and its time shows its age.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Collection

import msgspec

from argolint.errors import ArgolintError, AuthError
from argolint.model import UNREAD
from argolint.redaction import without_secrets
from argolint.reports.document import Report, ReportedApp, ReportedFailure
from argolint.reports.formats import Style
from argolint.reports.formats.prometheus import short_name
from argolint.serve import live
from argolint.serve.check_result import Check, CheckResult
from argolint.serve.documents import METRICS, Document, Documents, document
from argolint.serve.followers import Followers

_FIRST_RETRY_S = 15.0


class Checker:
    """Runs `check` every `interval_s` seconds, sooner after a failure, and keeps the result.

    With a `follower` it runs that one's checks when they are due.

    `log` gets one line about every check that failed, and about the first success after it; with several Argo CDs also about each that
    cannot be read, and when it can be read again.
    """

    def __init__(
        self,
        check: Check,
        empty: Report,
        interval_s: float,
        style: Style,
        log: Callable[[str], None],
        follower: Followers | None = None,
    ) -> None:
        self._check = check
        self._empty = empty
        self._interval_s = interval_s
        self._style = style
        self._log = log
        self._follower = follower
        self._refused = False
        self._stop = threading.Event()
        self._good: CheckResult | None = None
        self._failed = 0
        self._down: dict[str, str] = {}
        self._documents = Documents(empty, (), style)
        self._thread = threading.Thread(target=self._run, name="argolint-checks", daemon=True)

    @property
    def documents(self) -> Documents:
        """The current answers. A reader may keep them while others are published."""
        return self._documents

    @property
    def ready(self) -> bool:
        """True after the first successful check."""
        return self._good is not None

    @property
    def trouble(self) -> str:
        """Why the service is not ready; empty if it is. It stays ready while Argo CD is down, but not if its token is refused."""
        if self._refused or (self._follower is not None and self._follower.refused):
            return "Argo CD does not accept the token"
        return "" if self.ready else "no check has succeeded yet"

    def at(self, path: str) -> Document | None:
        """The answer at a path; None if there is none."""
        if path != "/metrics" or self._follower is None:
            return self._documents.at(path)
        server = next(iter(self._documents.report.servers), None)
        alone = short_name(server.url) if server else ""
        own = live.render({name or alone: state for name, state in self._follower.states().items()})
        return document(METRICS, f"{self._documents.metrics}{own}".encode("utf-8", "replace"))

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        if self._follower is not None:
            self._follower.start()
        self._thread.start()

    def stop(self) -> None:
        """Begin no further check. A running one is not awaited, since it only reads."""
        self._stop.set()
        if self._follower is not None:
            self._follower.stop()

    def _run(self) -> None:
        follower = self._follower
        while follower is not None and (check := follower.next_check()) is not None:
            self.once(check)
            follower.ended(good=not self._failed, refused=self._refused)
        while not self._stop.is_set():
            self.once()
            gc.collect()  # a check raises the thresholds, and its data is large
            wait = (
                min(self._interval_s, _FIRST_RETRY_S * 2 ** min(self._failed - 1, 10))
                if self._failed
                else self._interval_s
            )
            self._stop.wait(wait)

    def once(self, check: Check | None = None) -> None:
        """Run one check and publish its result."""
        self._refused = False
        try:
            checked = (check or self._check)()
        except ArgolintError as error:
            self._refused = isinstance(error, AuthError)
            self._fail(error.message, error.hint)
        except Exception as error:  # a bug in one check must not end the service
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._fail(
                f"crashed: {type(error).__name__} at {place.filename}:{place.lineno}", "this is a bug: report it"
            )
        else:
            broken = _nothing_read(checked)
            if broken is not None:
                self._refused = broken.stage == "login"
                self._fail(broken.error, broken.hint)
                return
            if self._failed:
                self._log("a check succeeded again")
            self._failed = 0
            self._say_servers(checked.report)
            self._publish(checked.report, checked.apps)
            self._good = checked  # set last: a client that sees it ready requests the report

    def _say_servers(self, report: Report) -> None:
        """Log which Argo CDs became unreadable or readable."""
        unread = [f for f in report.failures if f.server and f.app is None and f.stage in UNREAD]
        down = {str(f.server): f.error + (f" ({f.hint})" if f.hint else "") for f in unread}
        for name, why in down.items():
            if self._down.get(name) != why:
                self._log(f"{name}: cannot be read: {why}")
        for name in self._down.keys() - down.keys():
            self._log(f"{name}: can be read again")
        self._down = down

    def _fail(self, message: str, hint: str) -> None:
        self._failed += 1
        failure = ReportedFailure("check", without_secrets(message), without_secrets(hint))
        self._log(f"check failed: {failure.error}" + (f" ({failure.hint})" if failure.hint else ""))
        report = self._good.report if self._good else self._empty
        apps = self._good.apps if self._good else ()
        kept = msgspec.structs.replace(
            report,
            complete=False,
            failures=(failure, *report.failures),
            summary=msgspec.structs.replace(report.summary, failures=len(report.failures) + 1),
        )
        self._publish(kept, apps)

    def _publish(self, report: Report, apps: Collection[ReportedApp]) -> None:
        self._documents = Documents(report, apps, self._style, self._documents.metrics)


def _nothing_read(checked: CheckResult) -> ReportedFailure | None:
    """The first failure if no application at all could be looked at: such a report has no content."""
    failures = checked.report.failures
    failed = {f.app for f in failures if f.app is not None}
    return failures[0] if failures and failed >= set(checked.apps) else None
