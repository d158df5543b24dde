"""The inputs of a worker, and how it looks at one chunk of applications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.plan import Plan
from argolint.engine.run import in_this_process, unread_result
from argolint.errors import ArgolintError
from argolint.model import Failure
from argolint.model.results import AppResult
from argolint.server.transport import Transport
from argolint.values.decoding import decoder


class Answer(msgspec.Struct, frozen=True):
    """A worker's answer to one chunk: one result per application, the cost in requests and bytes, and how often it was slowed down.

    `refusal`: (what, what to do) if the worker cannot look at anything.
    """

    results: tuple[AppResult, ...] = ()
    requests: int = 0
    bytes: int = 0
    slowed: int = 0
    refusal: tuple[str, str] | None = None


decode = decoder(Answer)


@dataclass
class Context:
    """The fleet, the plan, and the way to the server: each worker opens its own connection or snapshot.

    `outgoing` transforms results before they leave the worker.
    """

    open: Callable[[], Transport]
    fleet: Fleet
    plan: Plan
    outgoing: Callable[[Sequence[AppResult]], Iterable[AppResult]] = field(default=tuple)

    @cached_property
    def transport(self) -> Transport:
        return self.open()

    @cached_property
    def apps(self) -> dict[str, App]:
        """By `namespace/name`."""
        return {str(app.ref): app for app in self.fleet.apps}

    def chunk(self, names: Sequence[str]) -> bytes:
        """An Answer as JSON."""
        try:
            t = self.transport
        except ArgolintError as error:
            return msgspec.json.encode(Answer(refusal=(error.message, error.hint)))
        apps = [self.apps[name] for name in names]
        before = t.stats.requests, t.stats.bytes, t.stats.slowed
        results = tuple(self.outgoing(list(in_this_process(t, self.fleet, self.plan, apps))))
        now = t.stats.requests, t.stats.bytes, t.stats.slowed
        requests, size, slowed = (after - earlier for after, earlier in zip(now, before, strict=True))
        try:
            return msgspec.json.encode(Answer(results, requests, size, slowed))
        except (ValueError, OverflowError, TypeError):  # usually caused by one result: the others can be sent
            return msgspec.json.encode(Answer(tuple(map(self._sendable, results)), requests, size, slowed))

    def _sendable(self, result: AppResult) -> AppResult:
        try:
            msgspec.json.encode(result)
        except (ValueError, OverflowError, TypeError) as error:
            what = f"its result cannot be written as JSON: {type(error).__name__}"
            failure = Failure("worker", what, "look at it alone, without --processes and --dask", result.ref)
            return unread_result(self.apps[str(result.ref)], failure)
        return result
