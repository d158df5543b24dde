"""Functions that run on workers of other machines. Arguments and results are bytes and names."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from argolint.application.fleet import Fleet
from argolint.engine.pipeline import portable
from argolint.engine.workers import spec as specs
from argolint.engine.workers.context import Answer, Context
from argolint.errors import ArgolintError
from argolint.host.memory import expect_answers

_KEPT = 2
"""Contexts that a worker keeps: of the current and of the previous server."""
_contexts: OrderedDict[str, Context] = OrderedDict()
_lock = threading.Lock()
"""One chunk at a time per process, which already uses as many threads as the server allows."""


def lint_chunk(spec: bytes, names: Sequence[str]) -> bytes:
    """Look at the applications with these names (`namespace/name`): an `Answer` as JSON. LookupError if `equip` was not called."""
    with _lock:
        return _contexts[hashlib.sha256(spec).hexdigest()].chunk(names)


def equip(spec: bytes, fleet: bytes) -> bytes:
    """Prepare the chunks of a run: an `Answer` as JSON, with a refusal if this worker cannot look at anything.

    `fleet`: the result of `packed`.
    """
    try:
        _contexts[hashlib.sha256(spec).hexdigest()] = _context(spec, fleet)
    except ArgolintError as error:
        return msgspec.json.encode(Answer(refusal=(f"{error.message} ({specs.here()})", error.hint)))
    while len(_contexts) > _KEPT:
        _contexts.popitem(last=False)
    return msgspec.json.encode(Answer())


def packed(fleet: Fleet) -> bytes:
    """The fleet for a worker, without values that rules derived: they contain functions."""
    return zlib.compress(pickle.dumps(replace(fleet, apps=tuple(replace(app) for app in fleet.apps)), 5), 1)


def digest(fleet: bytes) -> str:
    return hashlib.sha256(fleet).hexdigest()


def _context(text: bytes, packed_fleet: bytes) -> Context:
    spec = specs.decode(text)
    own = specs.versions()
    if own != spec.versions:
        what = next(name for name in spec.versions if own.get(name) != spec.versions[name])
        raise ArgolintError(
            f"a worker has {what} {own.get(what, 'none')}, and {spec.versions[what]} is needed",
            "give every worker the versions that run here",
        )
    plan, transport = specs.plan_of(spec), specs.opened(spec, os.environ)
    fleet: Fleet = pickle.loads(zlib.decompress(packed_fleet))  # noqa: S301  # Dask runs what its clients send anyway
    expect_answers()
    return Context(lambda: transport, fleet, plan, portable)
