"""The inputs of a worker on another machine, as JSON: the plan, and the way to the server. It has the place of the token, never the token."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from argolint.engine.plan import ChosenRule, Plan
from argolint.errors import ArgolintError, UsageError
from argolint.model import Severity
from argolint.plugins import load_rules, providers
from argolint.server.connection import Connection
from argolint.server.pace import PER_CLUSTER
from argolint.server.token import check_token
from argolint.server.transport import Transport
from argolint.values import knowledge
from argolint.values.decoding import converted, decoder

TOKEN = "env:ARGOCD_AUTH_TOKEN"  # noqa: S105  # where it is, not what it is
_NO_TOKEN = "give every worker the token there, or say where it is: --worker-token env:NAME or file:PATH"  # noqa: S105  # a hint


class Server(msgspec.Struct, frozen=True):
    """A connection without secrets. `token` says where a worker finds its own: `env:NAME` or `file:PATH`.

    Paths are on the worker; times are seconds, `rate` is requests per second of one worker, `per_cluster` its requests in flight for one
    cluster.
    """

    url: str
    token: str
    insecure: bool = False
    ca_pem: str = ""
    client_crt: str = ""
    client_crt_key: str = ""
    answer_s: float = 180.0
    max_bytes: int = 1 << 30
    rate: float | None = None
    per_cluster: int = PER_CLUSTER


class RuleSpec(msgspec.Struct, frozen=True):
    """One rule with the user's options."""

    id: str
    options: dict[str, Any] = {}
    severity: Severity | None = None


class Spec(msgspec.Struct, frozen=True):
    """A run, for a worker. `versions`: the versions that it must have; `fleet`: the SHA-256 of the fleet's bytes.

    One of `server` and `snapshots` is set.
    """

    versions: dict[str, str]
    fleet: str
    rules: tuple[RuleSpec, ...]
    server: Server | None = None
    snapshots: tuple[str, ...] = ()
    threads: int = 1
    deep: bool = False
    renders: bool = False
    manifests: bool = False
    timings: bool = False


decode = decoder(Spec)


def versions() -> dict[str, str]:
    """What must be the same on all machines of a run: otherwise results differ, or cannot be read."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": ".".join(platform.python_version_tuple()[:2]), "knowledge": knowledge.about().version}
    for name in ("argolint", "msgspec", "distributed", *providers()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def rule_specs(plan: Plan) -> tuple[RuleSpec, ...]:
    return tuple(RuleSpec(c.rule.id, msgspec.to_builtins(c.options), c.severity) for c in plan.rules)


def plan_of(spec: Spec) -> Plan:
    """The plan for a worker. Raises ArgolintError for a rule that is not installed there."""
    known = load_rules()
    missing = [rule.id for rule in spec.rules if rule.id not in known]
    if missing:
        raise ArgolintError(f"rule {missing[0]} is not installed", "install the same rule packages on every worker")
    rules = (ChosenRule(known[r.id], converted(r.options, known[r.id].options), r.severity) for r in spec.rules)
    return Plan(
        tuple(rules),
        workers=spec.threads,
        deep=spec.deep,
        renders=spec.renders,
        manifests=spec.manifests,
        timings=spec.timings,
    )


def opened(spec: Spec, environ: Mapping[str, str]) -> Transport:
    """The worker's own transport to the server or the snapshots. Raises ArgolintError that says what is missing, and where."""
    if spec.server is None:
        from argolint.snapshots.reader import SnapshotTransport

        return SnapshotTransport([Path(path) for path in spec.snapshots])
    from argolint.server.connection import client_pair
    from argolint.server.http import HttpTransport

    server = spec.server
    token = _token(server.token, environ)
    check_token(token, server.token, None, datetime.now(UTC))
    connection = Connection(
        server.url,
        token,
        insecure=server.insecure,
        ca_pem=server.ca_pem,
        client_pem=client_pair(server.client_crt, server.client_crt_key),
    )
    return HttpTransport(
        connection,
        workers=spec.threads,
        rate=server.rate,
        per_cluster=server.per_cluster,
        answer_s=server.answer_s,
        max_bytes=server.max_bytes,
    )


def require_place(token: str) -> str:
    """`env:NAME` or `file:PATH`; UsageError for any other text."""
    kind, _, place = token.partition(":")
    if kind not in ("env", "file") or not place or (kind == "file" and not Path(place).is_absolute()):
        raise UsageError(
            f"--worker-token {token!r} does not say where the workers find the token",
            "write env:NAME for a variable, or file:/PATH for a file, of each worker",
        )
    return token


def _token(where: str, environ: Mapping[str, str]) -> str:
    kind, _, place = where.partition(":")
    if kind == "env":
        if found := environ.get(place, "").strip():
            return found
        raise ArgolintError(f"the variable {place} is not set", _NO_TOKEN)
    try:
        return Path(place).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "it is no text"
        raise ArgolintError(f"cannot read the token file {place}: {reason}", _NO_TOKEN) from None


def here() -> str:
    """The name of this process, for messages of workers."""
    return f"{platform.node()}, process {os.getpid()}"
