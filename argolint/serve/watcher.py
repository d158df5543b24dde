"""Decides when to list all applications, when to look at some, and when to open the stream: from hints and a clock, without I/O.

The list is reliable and the stream is a hint. The next list corrects whatever the stream drops, repeats or invents; and whatever it sends,
the server gets no more requests than `Times` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from argolint.quick.records import dataclass
from argolint.serve.times import Times

Place = tuple[str, str]
"""Namespace and name of an application."""
_FEW = 20
_FEW_SHARE = 0.05
"""Largest share of the applications that are read one by one; for more, one list is cheaper."""
_DOUBLINGS = 10


@dataclass(frozen=True)
class Everything:
    """List all applications and look at the changed ones."""


@dataclass(frozen=True)
class Some:
    """Look at these applications; each with its project, if known."""

    projects: dict[Place, str]


Action = Everything | Some


@dataclass
class Watcher:
    """Turns events and times into actions. `now` is any clock in seconds that never goes back; `jitter` returns 0.5 to 1.5.

    One action runs at a time: `next_action` returns it, `done` or `failed` ends it.
    """

    times: Times
    jitter: Callable[[], float]
    connected: bool = False
    reconnects: int = 0
    refused: bool = False
    """The token was refused, so there is no request until the next regular list."""
    _dirty: dict[Place, tuple[float, str]] = field(default_factory=dict)
    _looked: dict[Place, float] = field(default_factory=dict)
    _overflow: bool = False
    _list_at: float | None = None
    """When a list is due; None while one is running and no other is wanted."""
    _last_list: float | None = None
    _rest_until: float = 0.0
    """No look at single applications before that time, so that many changes share a look."""
    _began: float = 0.0
    _losses: int = 0
    _failures: int = 0
    _size: int = 0

    @property
    def dirty(self) -> int:
        """Applications with a hint that were not looked at since."""
        return len(self._dirty)

    def begin(self, now: float) -> None:
        """Record that the stream is being opened."""
        self._list_at = now + self.times.patience_s

    def opened(self, now: float) -> None:
        """Record the first byte of the stream: a list from now on includes all changes that the stream missed."""
        self.connected = True
        self.refused = False
        self._losses = 0
        self._want_list(now)

    def lost(self, now: float, *, refused: bool = False) -> float:
        """Record that the stream ended or could not be opened (`refused`: for its token); return when to open it again."""
        self.reconnects += self.connected
        self.connected = False
        self._losses += 1
        wait_s = self._backoff(self._losses)
        if refused:
            self.refused = True
            wait_s = self.times.list_s
        if self._last_list is None:
            self._list_at = now  # without a stream, lists go on
        return now + wait_s

    def changed(self, now: float, place: Place, project: str) -> bool:
        """Record that this application changed. True if that may move the next due time forward."""
        if self._overflow:
            return False
        known = self._dirty.get(place)
        self._dirty[place] = (known[0] if known else now), project
        if len(self._dirty) > self._few():
            self._dirty.clear()
            self._overflow = True
            self._want_list(now + self.times.debounce_s)
        return known is None

    def next_action(self, now: float) -> Action | None:
        """The action for now; None if there is none."""
        if self._list_at is not None and now >= self._list_at:
            self._list_at = None
            self._dirty.clear()
            self._overflow = False
            self._last_list = self._began = now
            return Everything()
        due = [place for place in self._dirty if self._due(place) <= now]
        if not due or not self._may_look():
            return None
        self._began = now
        return Some({place: self._dirty.pop(place)[1] for place in due})

    def next_moment(self) -> float | None:
        """When `next_action` may return an action; None if only an event can change that."""
        moments = [] if self._list_at is None else [self._list_at]
        if self._may_look():
            moments += [self._due(place) for place in self._dirty]
        return min(moments, default=None)

    def waits_for_first(self, now: float) -> bool:
        """Whether nothing was looked at yet and nothing is due."""
        return self._last_list is None and (self._list_at is None or now < self._list_at)

    def done(self, now: float, action: Action, size: int) -> None:
        """Record the success of an action; `size`: applications of the fleet."""
        self._size = size
        self._failures = 0
        self.refused = False
        # Looks at a large fleet with constant changes take at most half of the time.
        self._rest_until = now + max(self.times.debounce_s, now - self._began)
        if isinstance(action, Some):
            self._looked |= dict.fromkeys(action.projects, now)
            self._looked = {p: at for p, at in self._looked.items() if now - at < self.times.per_app_s}
        elif self._list_at is None:
            self._list_at = now + self.times.list_s

    def failed(self, now: float, *, refused: bool = False) -> None:
        """Record a failed action: everything is looked at again, with growing delays; with a `refused` token at the next regular list."""
        self._failures += 1
        self.refused = refused
        self._list_at = now + (self.times.list_s if refused else self._backoff(self._failures) + self.times.debounce_s)

    def _due(self, place: Place) -> float:
        looked = self._looked.get(place)
        soon = max(self._dirty[place][0] + self.times.debounce_s, self._rest_until)
        return soon if looked is None else max(soon, looked + self.times.per_app_s)

    def _may_look(self) -> bool:
        """Whether there is a fleet to look at and its last look succeeded."""
        return self._last_list is not None and not self._failures

    def _want_list(self, moment: float) -> None:
        if self._last_list is not None:
            moment = max(moment, self._last_list + self.times.relist_s)
        self._list_at = moment if self._list_at is None else min(self._list_at, moment)

    def _few(self) -> float:
        return max(_FEW, _FEW_SHARE * self._size)

    def _backoff(self, times: int) -> float:
        wait_s: float = self.times.first_retry_s * 2 ** min(times - 1, _DOUBLINGS)
        return min(wait_s, self.times.last_retry_s) * self.jitter()
