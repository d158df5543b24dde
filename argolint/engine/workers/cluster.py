"""Workers of a Dask cluster.

Each chunk goes to one chosen worker, so that after a crash the chunk of that worker is known. Dask alone would try the chunk on three more
workers and report `KilledWorker` after they crashed, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import itertools
import logging
import os
import queue
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.plan import Plan
from argolint.engine.run import Look
from argolint.engine.workers.chunks import digest, equip, lint_chunk, packed
from argolint.engine.workers.context import Answer, decode
from argolint.engine.workers.spec import Server, Spec, rule_specs, versions
from argolint.engine.workers.spread import Chunk, Lost, spread
from argolint.errors import ArgolintError, ConnectError, UsageError
from argolint.host.addresses import is_loopback
from argolint.host.installed import for_extra
from argolint.model.results import AppResult
from argolint.server.limits import Pacing
from argolint.server.transport import Transport
from argolint.values import plain

T = TypeVar("T")
Client = Any
"""distributed.Client, which has types for some parts only."""

CONNECT_S = 20.0
ASK_S = 30.0
"""Most seconds for one answer of the scheduler, or of all workers."""
GONE_S = 30.0
"""A scheduler is lost after this time without an answer."""
SILENCE_S = 60.0
"""A worker is lost after this time without contact to the scheduler, and a chunk if Dask paused its worker that long."""
LOOK_S = 2.0
"""Seconds between two checks for workers."""
IN_FLIGHT = 2
"""Chunks of a worker: the current one and the next."""
_SILENT = ("it did not answer in time", "end the workers that hang, and run again")
_ENDED = "a Dask worker ended, as it does where memory runs out"
_ENCRYPTED = ("tls", "wss")
_PLAIN = ("tcp", "ws")


@dataclass
class _Worker:
    """A worker as the scheduler describes it. `heard_at`: when the description last changed; `well`: when it last took work, by our clock."""

    seen: float
    heard_at: float
    well: float
    paused: bool = False
    able: bool = True
    chunks: dict[str, tuple[Chunk, Any]] = field(default_factory=dict)

    def update(self, about: Mapping[str, Any], now: float) -> None:
        """Take over the scheduler's description."""
        if self.seen != about["last_seen"]:
            self.seen, self.heard_at = about["last_seen"], now
        self.paused = about["status"] != "running"
        self.well = self.well if self.paused else now
        self.able = not self.paused and now - self.heard_at <= SILENCE_S

    @property
    def tried(self) -> bool:
        return any(chunk.tries for chunk, _ in self.chunks.values())


class Cluster:
    """The present workers, at most `most` at a time. Chunks of lost ones come back as `Lost`."""

    def __init__(
        self,
        client: Client,
        spec: bytes,
        fleet: bytes,
        most: int,
        warn: Callable[[str], None],
        silent: Sequence[str] = (),
    ) -> None:
        self._client, self._spec, self._fleet, self._most, self._warn = client, spec, fleet, most, warn
        self._workers: dict[str, _Worker] = {}
        """Workers that have received the fleet."""
        self._unfit: dict[str, tuple[str, str]] = {}
        for address in silent:
            self._leave_out(address, _SILENT)
        self._done: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._answered = self._staffed = time.monotonic()
        self._looked = 0.0
        self._lost: list[tuple[Chunk, Lost]] = []
        self._look(again=True)

    def takes(self, chunk: Chunk) -> bool:
        if chunk.tries:  # a chunk that was tried must not share a worker with another
            self._look(again=True)
        room = {
            a: w
            for a, w in self._workers.items()
            if w.able and len(w.chunks) < (1 if chunk.tries else IN_FLIGHT) and not w.tried
        }
        if not room:
            return False
        address = min(room, key=lambda a: len(room[a].chunks))
        name = f"argolint-{os.getpid()}-{id(self)}-{next(self._numbers)}"
        future = self._client.submit(lint_chunk, self._spec, chunk.names, key=name, workers=[address], pure=False)
        self._workers[address].chunks[name] = (chunk, future)
        future.add_done_callback(lambda _: self._done.put((address, name)))
        return True

    def returned(self) -> Iterator[tuple[Chunk, Answer | Lost]]:
        with contextlib.suppress(queue.Empty):
            address, name = self._done.get(timeout=LOOK_S)
            while True:
                yield from self._take(address, name)
                address, name = self._done.get_nowait()
        self._look()
        lost, self._lost = self._lost, []
        yield from lost

    def _take(self, address: str, name: str) -> Iterator[tuple[Chunk, Answer | Lost]]:
        """The result of one task; nothing for a task that was given up."""
        worker = self._workers.get(address)
        held = worker.chunks.pop(name, None) if worker else None
        if held is None:
            return
        chunk, future = held
        answer = self._fetched(address, future) if future.status == "finished" else None
        if answer is not None:
            yield chunk, answer
            return
        why = _ENDED
        if future.status == "error":
            why = f"a Dask worker could not look: {type(future.exception(timeout=ASK_S)).__name__}"
        if address in self._workers:  # the worker at this address may be a new one without the fleet
            self._give_up(self._workers.pop(address), why)
        yield chunk, Lost(why)

    def _fetched(self, address: str, future: Any) -> Answer | None:
        """The answer, from the worker's memory; None if it was lost with the worker."""
        until = time.monotonic() + ASK_S
        while address in self._workers and time.monotonic() < until:
            try:
                return decode(self._client.sync(future._result, callback_timeout=LOOK_S))
            except TimeoutError:
                self._look()
            except Exception:  # distributed raises many errors for a loss; present workers are checked above
                return None
        return None

    def _equip(self, addresses: list[str], present: Mapping[str, Any]) -> None:
        """Send the fleet to these workers; leave out one that cannot look at anything, with a warning."""
        answers = answers_of(self._client, addresses, equip, self._spec, self._fleet)
        now = time.monotonic()
        for address in addresses:
            answer = answers.get(address)
            if isinstance(answer, bytes) and (refusal := decode(answer).refusal) is None:
                self._workers[address] = _Worker(present[address]["last_seen"], now, now)
                continue
            if not isinstance(answer, bytes):
                refusal = _SILENT if answer is None else (f"it answers {type(answer).__name__}", "end it, or mend it")
            self._leave_out(address, refusal or ("", ""))

    def _leave_out(self, address: str, why: tuple[str, str]) -> None:
        self._unfit[address] = why
        self._warn(f"the Dask worker {address} is left out: {why[0]}")

    def _look(self, *, again: bool = False) -> None:
        """Update the list of workers. Raises ArgolintError if the scheduler, or all workers, are gone for too long."""
        now = time.monotonic()
        if now - self._looked < LOOK_S and not again:
            return
        self._looked = now
        try:
            present = known_workers(self._client)
            self._answered = now = time.monotonic()
        except (OSError, TimeoutError):
            if time.monotonic() - self._answered > GONE_S:
                raise ArgolintError(
                    f"the Dask scheduler did not answer for {GONE_S:.0f} s", "run again when it is up"
                ) from None
            return
        for address in [a for a in self._workers if a not in present]:
            self._give_up(self._workers.pop(address), _ENDED)
        for address, worker in self._workers.items():
            worker.update(present[address], now)
            if now - worker.heard_at > SILENCE_S:
                self._give_up(worker, f"a Dask worker was silent for {SILENCE_S:.0f} s")
            elif now - worker.well > SILENCE_S:
                self._give_up(worker, f"a Dask worker was paused for {SILENCE_S:.0f} s, as it is where memory runs out")
        new = [
            a
            for a, w in present.items()
            if a not in self._workers and a not in self._unfit and w["status"] == "running"
        ]
        if new := new[: self._most - sum(w.able for w in self._workers.values())]:
            self._equip(new, present)
        if any(w.able for w in self._workers.values()):
            self._staffed = time.monotonic()
        elif present and all(address in self._unfit for address in present):
            address, (why, hint) = next((a, w) for a, w in self._unfit.items() if a in present)
            raise ArgolintError(f"no Dask worker can look at anything; {address}: {why}", hint)
        elif now - self._staffed > SILENCE_S:
            raise _no_worker_error(present)

    def _give_up(self, worker: _Worker, why: str) -> None:
        for chunk, future in worker.chunks.values():
            future.cancel()
            self._lost.append((chunk, Lost(why)))
        worker.chunks.clear()


def _no_worker_error(present: Mapping[str, Mapping[str, Any]]) -> ArgolintError:
    """The error if no worker took work for SILENCE_S, with what the scheduler reports."""
    paused = sum(about["status"] != "running" for about in present.values())
    if not present:
        return ArgolintError(f"no Dask worker was there for {SILENCE_S:.0f} s", "start workers, and run again")
    return ArgolintError(
        f"none of {len(present)} Dask workers took work for {SILENCE_S:.0f} s"
        + (f"; {paused} of them are paused, as where memory runs out" if paused else ""),
        "give each worker more memory, or end those that hang, and run again",
    )


def known_workers(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """The scheduler's workers by address. Raises OSError or TimeoutError if it does not answer."""
    if client.status != "running":
        raise OSError("not connected")
    present: dict[str, Any] = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ASK_S)
    return dict(present["workers"])


def answers_of(client: Client, workers: Sequence[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """The function's result on each of these workers; None for one that does not answer within ASK_S.

    The first request is one message to all. If some do not answer, each gets its own request, at the same time.
    """

    async def asked(*some: str) -> dict[str, Any]:
        with contextlib.suppress(OSError, TimeoutError):
            call = client._run(function, *arguments, workers=list(some), on_error="return")
            return dict(await asyncio.wait_for(call, ASK_S))
        return {}

    async def all_asked() -> dict[str, Any]:
        found = await asked(*workers)
        for one in [] if found else await asyncio.gather(*map(asked, workers)):
            found |= one
        return found

    try:
        return dict(client.sync(all_asked, callback_timeout=3 * ASK_S))
    except (OSError, TimeoutError):
        return {}


def _worker_share(server: Server, workers: int, threads: int) -> Server:
    """The server's limits for one worker, with its share of the requests in flight."""
    pace = Pacing(workers, server.per_cluster, server.rate).part(threads)
    return msgspec.structs.replace(server, rate=pace.rate, per_cluster=pace.per_cluster)


def in_cluster(
    address: str, *, insecure: bool, snapshots: Sequence[str], server: Server | None, warn: Callable[[str], None]
) -> Look:
    """A look on the workers of the Dask cluster whose scheduler has this address."""
    if importlib.util.find_spec("distributed") is None:
        raise _not_installed_error()
    require_encrypted("the Dask scheduler", address, insecure=insecure)

    def look(t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App]) -> Iterator[AppResult]:
        with connected(address) as client:
            known = known_workers(client)
            if not known:
                raise ConnectError(f"the Dask cluster at {address} has no workers", "start some, and run again")
            for worker in known:
                require_encrypted("a Dask worker", worker, insecure=insecure)
            silent = require_versions(client, list(known))
            able = len(known) - len(silent)
            pace = Pacing(plan.workers, server.per_cluster, server.rate) if server else Pacing(able)
            most = pace.shared_by(able)
            blob = packed(fleet)
            spec = Spec(
                versions(),
                digest(blob),
                rule_specs(plan),
                server and _worker_share(server, plan.workers, plan.workers // most),
                tuple(snapshots),
                threads=1 if t.offline else plan.workers // most,
                deep=plan.deep,
                renders=plan.renders,
                manifests=plan.manifests,
                timings=plan.timings,
            )
            crew = Cluster(client, msgspec.json.encode(spec), blob, most, warn, silent)
            yield from spread(crew, most, apps, t.stats)

    return look


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster. Raises UsageError without the extra, ConnectError without a scheduler."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise _not_installed_error() from None
    if not os.environ.get("ARGOLINT_TRACEBACK"):  # the report has what they log of lost workers
        for name in ("asyncio", *(n for n in logging.root.manager.loggerDict if n.startswith("distributed"))):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on different versions: those are compared below
            importlib.import_module("dask").config.set(
                {"distributed.client.preload": []}
            )  # the configuration may run code
            client = _call_within(
                1.5 * CONNECT_S, lambda: distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
            )
    except (queue.Empty, OSError, TimeoutError) as error:
        raise _no_scheduler_error(address, error) from None
    except (TypeError, ValueError, RuntimeError) as error:
        scheme, _, place = address.rpartition("://")
        hint = "TLS files are named in Dask's own configuration: distributed.comm.tls.ca-file and client.cert and key"
        if scheme not in _ENCRYPTED and "encryption required" in str(error):
            hint = (
                f"write tls://{place}, since Dask's own configuration wants TLS (distributed.comm.require-encryption)"
            )
        raise UsageError(f"cannot connect to Dask at {address}: {plain(str(error))[:200]}", hint) from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):  # errors of a scheduler that is gone
            client.close(timeout=2)


def _no_scheduler_error(address: str, error: Exception) -> ConnectError:
    """The error, depending on whether nothing listens there or something else does: distributed may report both late."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), CONNECT_S).close()
    except OSError as refused:
        why = plain(str(error) or str(refused))[:200]
        return ConnectError(f"no Dask scheduler answers at {address}: {why}", "check the address and the network")
    return ConnectError(
        f"what listens at {address} does not speak as a Dask scheduler does",
        "check the address and its port; a scheduler that hangs has to be started again",
    )


def _not_installed_error() -> UsageError:
    return UsageError("--dask needs the package distributed", for_extra("dask"))


def _call_within(seconds: float, call: Callable[[], T]) -> T:
    """The result of the call. Raises queue.Empty after that time: distributed waits forever for a peer that accepts and stays silent."""
    done: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def run() -> None:
        try:
            found = call()
        except Exception as error:
            failed = error

            def fail() -> T:
                raise failed

            done.put(fail)
        else:
            done.put(lambda: found)

    threading.Thread(target=run, daemon=True, name="argolint-dask").start()
    return done.get(timeout=seconds)()


def require_encrypted(who: str, address: str, *, insecure: bool) -> None:
    """UsageError for an unencrypted address beyond this machine: others on the network could read it and send code."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in (*_ENCRYPTED, *_PLAIN) or not host or not port:
        raise UsageError(f"{address!r} is no address of a Dask scheduler", "write tls://HOST:PORT")
    if parts.scheme in _ENCRYPTED or insecure or is_loopback(host):
        return
    raise UsageError(
        f"{who} at {address} speaks without TLS: who is on the way can read the results, and run code on the workers",
        "set up TLS in Dask's configuration and use tls://, or pass --dask-insecure",
    )


def require_versions(client: Client, workers: Sequence[str]) -> tuple[str, ...]:
    """UsageError with a table if a worker has other versions than this process. Returns the workers that do not answer."""
    own = versions()
    present = answers_of(client, workers, versions)
    silent = tuple(address for address in workers if present.get(address) is None)
    if len(silent) == len(workers):
        try:
            known_workers(client)
        except (OSError, TimeoutError):
            raise ConnectError("the Dask scheduler does not answer any more", "run again when it is up") from None
        raise ConnectError(f"none of {len(workers)} Dask workers answered in time", _SILENT[1])
    present = {address: found for address, found in present.items() if address not in silent}
    wrong = {address: found for address, found in sorted(present.items()) if found != own}
    if not wrong:
        return silent
    rows = [["", *own], ["here", *own.values()]]
    for address, found in wrong.items():
        known = found if isinstance(found, dict) else {}
        rows.append([address, *(str(known.get(name, "?")) for name in own)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    raise UsageError(
        f"{len(wrong)} of {len(workers)} Dask workers run other versions than this process:\n{table}",
        "give all of them the same image; `?` is where argolint is not installed",
    )
