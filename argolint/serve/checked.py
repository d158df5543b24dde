"""What one check gave."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from argolint.reports.document import Report, ReportedApp


@dataclass(frozen=True)
class Checked:
    """The report of one check, and every application that it looked at."""

    report: Report
    apps: Collection[ReportedApp]


Check = Callable[[], Checked]
