"""The inputs of placing fixes, and the selected fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from argolint.model import Object
from argolint.quick.records import dataclass
from argolint.reports.document import ReportedApp, ReportedFinding, ReportedFix, ReportedResource
from argolint.sources.checkout import Checkout

Place = tuple[str, str, str]
"""An Application: its Argo CD, namespace and name."""
Rendered = Callable[[ReportedApp, ReportedResource], Object | None]
"""Argo CD's render of an object, if known."""


@dataclass(frozen=True)
class Site:
    """The inputs of placing: the checkouts, the Applications by server, namespace and name, and Argo CD's renders."""

    checkouts: tuple[Checkout, ...]
    apps: Mapping[Place, Object] = field(default_factory=dict)
    rendered: Rendered = lambda app, resource: None
    owners: Callable[[ReportedApp, ReportedResource], Iterable[ReportedApp]] = lambda app, resource: ()
    """The owners of an object, on the Argo CD of an application."""


def place_of(app: ReportedApp) -> Place:
    return app.server, app.namespace, app.name


@dataclass(frozen=True)
class Choice:
    """One alternative of a finding; `number`: its position in the report, from 1."""

    finding: ReportedFinding
    fix: ReportedFix
    number: int
