"""The values of command-line options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from argolint.engine.trusted import Named
from argolint.gate.branch_wait import USUAL_S
from argolint.model import Severity
from argolint.reports.formats import Style
from argolint.server.connection import Flags


class ServersFile(NamedTuple):
    """The file of --servers, and whether it is from the command line or from an environment variable."""

    file: Path
    by_option: bool


@dataclass(frozen=True)
class CommandOptions:
    """The options that several commands share, with defaults for commands without them.

    A command that reads no server has no `connection`. Files and folders are as the user wrote them; `timeout` is in seconds, `max_answer`
    in MiB, `rate` in requests per second.
    """

    connection: Flags | None = None
    servers: ServersFile | None = None
    all_contexts: bool = False
    only: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    fleets: tuple[str, ...] = ()
    timeout: float | None = None
    max_answer: int | None = None
    rate: float | None = None

    projects: tuple[str, ...] = ()
    selector: str | None = None
    app_namespace: str | None = None
    cluster: str | None = None
    repo: str | None = None

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity | None = None
    pedantic: bool = False
    config_file: str | None = None
    trusted_config: str | None = None
    baseline: str | None = None
    no_baseline: bool = False

    workers: int | None = None
    deep: bool = False
    manifests: bool = False
    render_twice: bool = False
    helm_render: bool = False
    checkouts: tuple[str, ...] = ()
    shard: str | None = None
    processes: int | None = None
    dask: str | None = None
    dask_insecure: bool = False
    worker_token: str | None = None
    timings: bool = False
    state: Path | None = None
    no_history: bool = False

    head: str | None = None
    base: str | None = None
    checkout: Path | None = None
    rendered: Path | None = None
    everything: bool = False
    wait: float = USUAL_S

    fail_on: str | None = None
    allow_incomplete: bool = False
    outputs: tuple[str, ...] = ()
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    full: bool = False
    group_by: str | None = None
    statistics: bool = False

    @property
    def flags(self) -> Flags:
        """The connection options, if there are any."""
        return self.connection or Flags()

    @property
    def named(self) -> Named:
        """The files that decide which findings count."""
        return Named(self.config_file, self.baseline, self.trusted_config, no_baseline=self.no_baseline)

    @property
    def style(self) -> Style:
        style = Style.for_terminal(
            self.color,
            quiet=self.quiet,
            verbose=self.verbose,
            full=self.full,
            group_by=self.group_by or "",
            statistics=self.statistics,
        )
        return replace(style, snapshots=self.snapshots)
