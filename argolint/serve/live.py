"""The metrics of the service itself, made anew for each scrape: how the following of changes goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@dataclass(frozen=True)
class State:
    """How the following goes. `last_event` is seconds since 1970, 0 for none yet; the rest are numbers of applications or events."""

    connected: bool
    last_event: float
    dirty: int
    reused: int
    reconnects: int
    unreadable: int


def render(state: State, server: str) -> str:
    """In Prometheus' text format; `server` is the label `argocd`."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class Of(Collector):
        def collect(self) -> Iterator[Metric]:
            return _families(state, server)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Of())
    return generate_latest(registry).decode()


def _families(state: State, server: str) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    gauges: tuple[tuple[str, str, float | None], ...] = (
        ("connected", "1 while Argo CD's stream of changes is open.", int(state.connected)),
        (
            "last_event_timestamp_seconds",
            "When the stream last named an application. Old in a quiet fleet.",
            state.last_event or None,
        ),
        ("dirty_applications", "Applications that changed and are still to be looked at.", state.dirty),
        ("reused_applications", "Applications of the last check whose earlier result still stood.", state.reused),
    )
    for name, about, value in gauges:
        gauge = GaugeMetricFamily(f"argolint_watch_{name}", about, labels=("argocd",))
        if value is not None:
            gauge.add_metric((server,), value)
        yield gauge
    for name, about, count in (
        ("reconnects", "How often the stream broke off.", state.reconnects),
        ("unreadable_events", "Events of the stream that were none, or could not be read.", state.unreadable),
    ):
        counter = CounterMetricFamily(f"argolint_watch_{name}", about, labels=("argocd",))
        counter.add_metric((server,), count)
        yield counter
