"""Metrics of the service itself, created for each scrape: the state of following changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from argolint.quick.records import dataclass

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@dataclass(frozen=True)
class State:
    """The state of following. `last_event`: seconds since 1970, 0 for none yet; the others are numbers of applications or events."""

    connected: bool
    last_event: float
    dirty: int
    reused: int
    reconnects: int
    unreadable: int


def render(states: Mapping[str, State]) -> str:
    """The states in Prometheus' text format, with the label `argocd`."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Of(Collector):
        def collect(self) -> Iterator[Metric]:
            return _families(states)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Of())
    return generate_latest(registry).decode()


def _families(states: Mapping[str, State]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    gauges: tuple[tuple[str, str, Callable[[State], float | None]], ...] = (
        ("connected", "1 while Argo CD's stream of changes is open.", lambda state: int(state.connected)),
        (
            "last_event_timestamp_seconds",
            "When the stream last named an application. Old in a quiet fleet.",
            lambda state: state.last_event or None,
        ),
        ("dirty_applications", "Applications that changed and are still to be looked at.", lambda state: state.dirty),
        (
            "reused_applications",
            "Applications of the last check whose earlier result was still valid.",
            lambda state: state.reused,
        ),
    )
    for name, about, value_of in gauges:
        gauge = GaugeMetricFamily(f"argolint_watch_{name}", about, labels=("argocd",))
        for server, state in states.items():
            if (value := value_of(state)) is not None:
                gauge.add_metric((server,), value)
        yield gauge
    counters: tuple[tuple[str, str, Callable[[State], int]], ...] = (
        ("reconnects", "How often the stream broke off.", lambda state: state.reconnects),
        (
            "unreadable_events",
            "Events of the stream that were none, or could not be read.",
            lambda state: state.unreadable,
        ),
    )
    for name, about, count_of in counters:
        counter = CounterMetricFamily(f"argolint_watch_{name}", about, labels=("argocd",))
        for server, state in states.items():
            counter.add_metric((server,), count_of(state))
        yield counter
