"""The result of one check."""

from __future__ import annotations

from collections.abc import Callable, Collection

from argolint.quick.records import dataclass
from argolint.reports.document import Report, ReportedApp


@dataclass(frozen=True)
class CheckResult:
    """The report of one check, and all applications that it looked at."""

    report: Report
    apps: Collection[ReportedApp]


Check = Callable[[], CheckResult]
