"""When to list all applications, when to look at some, when to open the stream: decided from hints and a clock, without I/O.

The list is the truth and the stream a hint. Whatever the stream drops, repeats or invents, the next list makes up for it; and
whatever it sends, the server is asked no more often than `Times` allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from argolint.serve.times import Times

Place = tuple[str, str]
"""Namespace and name of an application."""
_FEW = 20
_FEW_SHARE = 0.05
"""Up to that many applications are read one by one; of more, one list is cheaper."""
_DOUBLINGS = 10


@dataclass(frozen=True)
class Everything:
    """List all applications and look at what changed."""


@dataclass(frozen=True)
class Some:
    """Look at these applications; each with its project, as far as known."""

    projects: dict[Place, str]


Action = Everything | Some


@dataclass
class Watcher:
    """Events and moments in, actions out. `now` is any clock in seconds that only goes forward; `jitter` gives 0.5 to 1.5.

    One action is under way at a time: `next_action` gives it, `done` or `failed` ends it.
    """

    times: Times
    jitter: Callable[[], float]
    connected: bool = False
    reconnects: int = 0
    refused: bool = False
    """The token was not accepted, so nothing is asked until the next list is due anyway."""
    _dirty: dict[Place, tuple[float, str]] = field(default_factory=dict)
    _looked: dict[Place, float] = field(default_factory=dict)
    _overflow: bool = False
    _list_at: float | None = None
    """A list is due then; None while one is under way and no other is wanted."""
    _last_list: float | None = None
    _rest_until: float = 0.0
    """No look at single applications before: many changes are looked at together."""
    _began: float = 0.0
    _losses: int = 0
    _failures: int = 0
    _size: int = 0

    @property
    def dirty(self) -> int:
        """Applications that a hint names and that were not looked at since."""
        return len(self._dirty)

    def begin(self, now: float) -> None:
        """The stream is being opened."""
        self._list_at = now + self.times.patience_s

    def opened(self, now: float) -> None:
        """The stream has sent its first byte: a list now sees all that the stream no longer tells."""
        self.connected = True
        self.refused = False
        self._losses = 0
        self._want_list(now)

    def lost(self, now: float, *, refused: bool = False) -> float:
        """The stream ended or could not be opened, perhaps since the token is `refused`; returns when to open it again."""
        self.reconnects += self.connected
        self.connected = False
        self._losses += 1
        wait_s = self._backoff(self._losses)
        if refused:
            self.refused = True
            wait_s = self.times.list_s
        if self._last_list is None:
            self._list_at = now  # without a stream there are lists all the same
        return now + wait_s

    def changed(self, now: float, place: Place, project: str) -> bool:
        """The stream says that this application changed. True when that may bring the next moment forward."""
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
        """What to do now; None while there is nothing to do."""
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
        """When `next_action` may have something to do; None when only an event can bring it."""
        moments = [] if self._list_at is None else [self._list_at]
        if self._may_look():
            moments += [self._due(place) for place in self._dirty]
        return min(moments, default=None)

    def waits_for_first(self, now: float) -> bool:
        """Nothing was looked at yet, and nothing is due."""
        return self._last_list is None and (self._list_at is None or now < self._list_at)

    def done(self, now: float, action: Action, size: int) -> None:
        """The action succeeded; the fleet has `size` applications."""
        self._size = size
        self._failures = 0
        self.refused = False
        # Looks at a large fleet that changes all the time take half of the time at most.
        self._rest_until = now + max(self.times.debounce_s, now - self._began)
        if isinstance(action, Some):
            self._looked |= dict.fromkeys(action.projects, now)
            self._looked = {p: at for p, at in self._looked.items() if now - at < self.times.per_app_s}
        elif self._list_at is None:
            self._list_at = now + self.times.list_s

    def failed(self, now: float, *, refused: bool = False) -> None:
        """The action failed: everything is looked at again, later each time; with a `refused` token when a list is due anyway."""
        self._failures += 1
        self.refused = refused
        self._list_at = now + (self.times.list_s if refused else self._backoff(self._failures) + self.times.debounce_s)

    def _due(self, place: Place) -> float:
        looked = self._looked.get(place)
        soon = max(self._dirty[place][0] + self.times.debounce_s, self._rest_until)
        return soon if looked is None else max(soon, looked + self.times.per_app_s)

    def _may_look(self) -> bool:
        """There is a fleet to look at, and the last look at it succeeded."""
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
