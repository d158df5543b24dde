"""Applications cut into chunks, handed out to workers, and their results as they come.

A worker that ends, or falls silent, loses the chunk that it holds. The chunk is cut in halves and handed out again, down to a
single application: that one becomes a Failure when it ends a second worker. So nothing is lost but what cannot be looked at,
and a worker that someone else ended costs one chunk's time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from argolint.application.app import App
from argolint.engine.run import unread
from argolint.engine.workers.context import Answer
from argolint.errors import ArgolintError
from argolint.model import Failure
from argolint.model.results import AppResult
from argolint.server.transport import Stats

LARGEST = 50
"""Applications of a chunk: fewer cost more messages, more are lost with a worker."""
LEAST = 4
"""Applications of the last chunks: the workers end together, and the threads of each have work."""
_TURNS = 4
"""A chunk is no more than the share of one worker in that many turns of what is left."""
_HINT = "look at it alone, with more memory for a worker; the other applications were looked at"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Names (`namespace/name`) that one worker looks at. `tries` counts the workers that ended with it.

    A chunk that was tried is given to a worker that holds no other, so that no other is blamed.
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
    """A chunk without an answer: what became of its worker."""

    why: str


class Crew(Protocol):
    """Workers, however many there are."""

    def takes(self, chunk: Chunk) -> bool:
        """Hands the chunk to a worker, if one has room for it. Raises ArgolintError when there are no workers any more."""
        ...

    def returned(self) -> Iterable[tuple[Chunk, Answer | Lost]]:
        """What came back since the last call; waits some seconds for it at most. Raises ArgolintError, as `takes` does."""
        ...


def cut(names: Sequence[str], workers: int) -> deque[Chunk]:
    """The names in chunks, smaller and smaller ones."""
    chunks: deque[Chunk] = deque()
    least = min(LEAST, -(-len(names) // workers))
    at = 0
    while at < len(names):
        size = min(LARGEST, max(least, (len(names) - at) // (workers * _TURNS)))
        chunks.append(Chunk(tuple(names[at : at + size])))
        at += size
    return chunks


def spread(crew: Crew, workers: int, apps: Sequence[App], stats: Stats) -> Iterator[AppResult]:
    """One result an application. When the workers are gone, what they did not look at is a Failure each."""
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
                    yield unread(app, Failure("worker", f"{answer.why}, twice with this application", _HINT, app.ref))
                else:
                    waiting.extend(chunk.halves())
    except ArgolintError as error:
        for name in sorted(left):
            yield unread(by_name[name], Failure("worker", error.message, error.hint, by_name[name].ref))
