"""The closed set of conditions that rows of upgrade tables name."""

from __future__ import annotations

from collections.abc import Mapping

from argolint.forecast.conditions import charts, comparing, findings, fleetwide, health, objects, tracking
from argolint.forecast.conditions.condition import Condition

CONDITIONS: Mapping[str, Condition] = {
    **objects.CONDITIONS,
    **charts.CONDITIONS,
    **fleetwide.CONDITIONS,
    **comparing.CONDITIONS,
    **tracking.CONDITIONS,
    **health.CONDITIONS,
    **findings.CONDITIONS,
}
