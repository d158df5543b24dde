"""Cuts the applications into chunks, hands them to workers, and yields results as they come.

If a worker ends or falls silent, its chunk is cut in halves and handed out again, down to a single application, which becomes a Failure if
it ends a second worker. So only applications that cannot be looked at are lost, and the loss of a worker costs the time of one chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from argolint.application.app import App
from argolint.engine.run import unread_result
from argolint.engine.workers.context import Answer
from argolint.errors import ArgolintError
from argolint.model import Failure
from argolint.model.results import AppResult
from argolint.server.transport import Stats

LARGEST = 50
"""Applications of a chunk: smaller ones cost more messages, larger ones lose more with a worker."""
LEAST = 4
"""Applications of the last chunks: small, so that workers finish together, but enough for the threads of each."""
_TURNS = 4
"""A chunk is at most one worker's share of the rest, divided by this."""
_HINT = "look at it alone, with more memory for a worker; the other applications were looked at"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Names (`namespace/name`) for one worker. `tries`: the number of workers that ended with it.

    A chunk that was tried goes to a worker without another chunk, so that the cause of a second crash is clear.
    """

    names: tuple[str, ...]
    tries: int = 0

    def halves(self) -> Iterator[Chunk]:
        half = (len(self.names) + 1) // 2
        for names in (self.names[:half], self.names[half:]):
            if names:
                yield Chunk(names, self.tries + 1)


@dataclass(frozen=True, slots=True)
class Lost:
    """A chunk without an answer: what happened to its worker."""

    why: str


class Crew(Protocol):
    """A set of workers."""

    def takes(self, chunk: Chunk) -> bool:
        """Hand the chunk to a worker with room for it; False if there is none. Raises ArgolintError if no workers are left."""
        ...

    def returned(self) -> Iterable[tuple[Chunk, Answer | Lost]]:
        """What came back since the last call, after a wait of at most some seconds. Raises ArgolintError, as `takes` does."""
        ...


def cut(names: Sequence[str], workers: int) -> deque[Chunk]:
    """The names in chunks of decreasing size."""
    chunks: deque[Chunk] = deque()
    least = min(LEAST, -(-len(names) // workers))
    at = 0
    while at < len(names):
        size = min(LARGEST, max(least, (len(names) - at) // (workers * _TURNS)))
        chunks.append(Chunk(tuple(names[at : at + size])))
        at += size
    return chunks


def spread(crew: Crew, workers: int, apps: Sequence[App], stats: Stats) -> Iterator[AppResult]:
    """One result per application. If all workers are gone, each remaining application is a Failure."""
    by_name = {str(app.ref): app for app in apps}
    waiting = cut(list(by_name), workers)
    left = set(by_name)
    try:
        while left:
            while waiting and crew.takes(waiting[0]):
                waiting.popleft()
            for chunk, answer in crew.returned():
                if isinstance(answer, Answer):
                    stats.count_all(answer.requests, answer.bytes, answer.slowed)
                    for result in answer.results:
                        left.discard(str(result.ref))
                        yield result
                elif len(chunk.names) == 1 and chunk.tries:
                    left.discard(chunk.names[0])
                    app = by_name[chunk.names[0]]
                    yield unread_result(
                        app, Failure("worker", f"{answer.why}, twice with this application", _HINT, app.ref)
                    )
                else:
                    waiting.extend(chunk.halves())
    except ArgolintError as error:
        for name in sorted(left):
            yield unread_result(by_name[name], Failure("worker", error.message, error.hint, by_name[name].ref))
