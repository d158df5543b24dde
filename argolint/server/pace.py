"""Limits requests in flight and per second: an argocd-server has no limits of its own, and reads have killed some.

Argo CD limits only logins; each destination cluster answers at most 50 requests per second (ARGOCD_K8S_CLIENT_QPS). So requests that read a
cluster (`/resource`, `/events` of an object) are also limited per cluster. A server that refuses (429, 502, 503, 504), gives no answer, or
becomes slow gets half as many from then on, and one more for every fifty good answers. After a Retry-After, no request is sent until then.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from argolint.host.inflate import Aside

PER_CLUSTER = 4
HOLDS_S = 120.0
"""Most seconds in total during which the server can hold all requests; after that, only the refused request waits."""
_RISE = 50  # good answers
_SLOWER = 4.0  # times as slow as usual
_RECENT, _USUAL = 8, 64  # answers
_CLUSTER: ContextVar[str] = ContextVar("cluster", default="")


@contextmanager
def reading_cluster(cluster: str) -> Iterator[None]:
    """Requests in this block make the server read this cluster."""
    token = _CLUSTER.set(cluster)
    try:
        yield
    finally:
        _CLUSTER.reset(token)


@dataclass
class Reply:
    """How one request ended; the sender fills it in."""

    seconds: float | None = None
    """Seconds until the answer began; None if there was none."""
    refused: bool = False
    aside: Aside = nullcontext
    """A block in which the request waits for something other than the server, so that others may use its slot: it may depend on them."""


_BLINK_S = 0.25
"""Smaller differences are no sign of the server: threads that read answers also wait for one another."""


class _Times:
    """How long answers of one kind took to begin."""

    def __init__(self) -> None:
        self._usual: deque[float] = deque(maxlen=_USUAL)
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def slower_with(self, seconds: float) -> bool:
        """Whether several recent answers, not only this one, took far longer than earlier ones: a single large application is no sign."""
        if len(self._recent) == _RECENT:
            self._usual.append(self._recent[0])
        self._recent.append(seconds)
        if len(self._usual) < _RECENT:
            return False
        return _middle(self._recent) > _SLOWER * _middle(self._usual) + _BLINK_S


def _middle(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


@dataclass
class _Window:
    """The requests in flight to one server or cluster."""

    most: int
    limit: int = 0
    in_flight: int = 0
    good: int = 0
    halved_at: float = float("-inf")
    times: defaultdict[str, _Times] = field(default_factory=lambda: defaultdict(_Times))

    def __post_init__(self) -> None:
        self.limit = self.most

    @property
    def free(self) -> bool:
        return self.in_flight < self.limit

    def ended(self, kind: str, reply: Reply, began: float, now: float) -> bool:
        """Record one answer; True if the limit was halved."""
        bad = reply.refused or reply.seconds is None or self.times[kind].slower_with(reply.seconds)
        if not bad:
            self.good += 1
            if self.good >= _RISE and self.limit < self.most:
                self.limit, self.good = self.limit + 1, 0
            return False
        self.good = 0
        if began <= self.halved_at or self.limit == 1:
            return False  # it was sent before the limit was halved: it shows nothing about requests since
        self.limit, self.halved_at = self.limit // 2, now
        self.times.clear()
        return True


class Pace:
    """Limits the requests of any number of threads.

    At most `most` are in flight to the server, `per_cluster` of them to one cluster; `rate` limits how many begin per second. `slowed` is
    called whenever an answer lowers the limit.
    """

    def __init__(
        self,
        most: int,
        rate: float | None = None,
        per_cluster: int = PER_CLUSTER,
        slowed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = _Window(most)
        self._clusters: defaultdict[str, _Window] = defaultdict(lambda: _Window(min(most, per_cluster)))
        self._apart_s = 1.0 / rate if rate else 0.0
        self._next = self._held_until = float("-inf")
        self._patience_s = HOLDS_S
        self._clock = clock
        self._sleep = sleep
        self._changed = threading.Condition()
        self._slowed = slowed

    @contextmanager
    def request(self, kind: str) -> Iterator[Reply]:
        """Wait for a slot; the caller records in the Reply how the request ended. Answers of one kind take about the same time."""
        windows, began = self._entered()
        self._wait_to_begin()
        reply = Reply(aside=lambda: self._aside(windows))
        try:
            yield reply
        finally:
            with self._changed:
                now = self._clock()
                for window in windows:
                    window.in_flight -= 1
                halved = [window.ended(kind, reply, began, now) for window in windows]
                self._changed.notify_all()
            if any(halved):
                self._slowed()

    @contextmanager
    def _aside(self, windows: Sequence[_Window]) -> Iterator[None]:
        """In this block the request does not count, and continues without waiting for a slot."""
        with self._changed:
            for window in windows:
                window.in_flight -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                for window in windows:
                    window.in_flight += 1

    def _entered(self) -> tuple[tuple[_Window, ...], float]:
        cluster = _CLUSTER.get()
        with self._changed:
            windows = (self._server, self._clusters[cluster]) if cluster else (self._server,)
            self._changed.wait_for(lambda: all(window.free for window in windows))
            for window in windows:
                window.in_flight += 1
            return windows, self._clock()

    def hold(self, seconds: float) -> None:
        """Start no request for this time, as the server asks. The total is limited."""
        with self._changed:
            now = self._clock()
            until = min(now + seconds, max(now, self._held_until) + self._patience_s)
            self._patience_s -= max(0.0, until - max(now, self._held_until))
            self._held_until = max(self._held_until, until)

    def _wait_to_begin(self) -> None:
        with self._changed:
            now = self._clock()
            begins = max(now, self._next, self._held_until)
            self._next = begins + self._apart_s if self._apart_s else self._next
        if begins > now:
            self._sleep(begins - now)
