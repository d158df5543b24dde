"""Prepares a check from options, environment and configuration; errors come before any request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from argolint.cli.given import CommandOptions
from argolint.cli.knowledge import take_settings
from argolint.cli.selection import Selection, check_words, chosen, parse_shard
from argolint.engine import config, trusted
from argolint.engine.plan import ChosenRule, Plan
from argolint.engine.trusted import Trusted
from argolint.errors import UsageError
from argolint.host.temporary import temporary_folder
from argolint.reports import formats
from argolint.server.limits import NONE, Limits, Pacing
from argolint.server.user import read_settings
from argolint.sources.checkout import Checkout, open_checkouts
from argolint.suppression import suppress

if TYPE_CHECKING:
    from argolint.sources.local_renders import LocalRenders


@dataclass(frozen=True)
class Run:
    """The inputs of a check, from options, environment and configuration; they were checked before any request."""

    plan: Plan
    suppressions: suppress.Suppressions
    outputs: tuple[formats.Output, ...]
    style: formats.Style
    fail_on: str
    allow_incomplete: bool
    selection: Selection
    remarks: tuple[str, ...] = ()
    checkouts: tuple[Checkout, ...] = ()

    @property
    def asked(self) -> str:
        """A text that changes with everything that affects an application's findings or the choice of applications."""
        plan = self.plan
        rules = [(c.rule.id, c.options) for c in plan.rules]
        asked = (self.selection, plan.deep, plan.renders, plan.manifests, plan.local is not None, rules)
        return hashlib.blake2b(msgspec.json.encode(asked, order="sorted", enc_hook=str), digest_size=8).hexdigest()


def prepare(
    opts: CommandOptions, names: Sequence[str] = (), configured: Trusted | None = None, *, settings: bool = True
) -> Run:
    """Read the configuration (unless `configured` has it) and choose rules and outputs. UsageError for the first error.

    Without `settings` the knowledge pack of the user's settings is not read.
    """
    from argolint.plugins import load_rules, providers

    if settings:
        take_settings()
    configured = trusted.read(opts.named) if configured is None else configured
    loaded = configured.loaded
    known = load_rules()
    config.check_rules(loaded, known, providers())
    wanted = loaded.config
    check_words(known, wanted.select, lambda n: f"{loaded.place('select', n)}: ")
    check_words(known, wanted.deselect, lambda n: f"{loaded.place('deselect', n)}: ")
    shown = chosen(
        known,
        opts.select or wanted.select,
        opts.ignore or wanted.deselect,
        opts.min_severity,
        pedantic=opts.pedantic or wanted.pedantic,
    )
    rules = []
    for rule in known.values():
        own = wanted.rules.get(rule.id, config.RuleSettings())
        rules.append(ChosenRule(rule, config.rule_options(rule, loaded), own.severity))
    selection = Selection(tuple(names), opts.projects, opts.selector, opts.app_namespace, opts.cluster, opts.repo)
    suppressions = suppress.Suppressions(
        loaded.entries,
        configured.baseline,
        frozenset(known),
        whole=selection == Selection() and not opts.only,
        severities={c.rule.id: c.severity for c in rules if c.severity},
        across=frozenset(c.rule.id for c in rules if c.rule.across),
    )
    checkouts = _checkouts(opts)
    plan = Plan(
        tuple(rules),
        selection.takes,
        workers=workers(opts),
        deep=opts.deep,
        renders=opts.render_twice,
        manifests=opts.manifests,
        shard=parse_shard(opts.shard),
        local=local_renders(opts, checkouts),
        shown=shown,
        app_labels=wanted.metrics.app_labels,
        timings=bool(opts.timings),
    )
    return Run(
        plan,
        suppressions,
        formats.parse_outputs(opts.outputs or wanted.output, None if opts.outputs else loaded.file),
        replace(opts.style, metrics=wanted.metrics),
        opts.fail_on or wanted.fail_on or "error",
        opts.allow_incomplete,
        selection,
        configured.remarks,
        checkouts,
    )


def _checkouts(opts: CommandOptions) -> tuple[Checkout, ...]:
    """The clones that --checkout names. Errors of --helm-render come first."""
    if opts.helm_render:
        if not opts.checkouts:
            raise UsageError("--helm-render needs the charts' repositories", "name their clones: --checkout DIR")
        from argolint.sources import helm

        helm.find(*map(Path, opts.checkouts))
    return open_checkouts(opts.checkouts, "--checkout")


def local_renders(opts: CommandOptions, checkouts: tuple[Checkout, ...]) -> LocalRenders | None:
    """The local rendering of --helm-render. Its folder lives as long as the command."""
    if not opts.helm_render:
        return None
    from argolint.sources import helm
    from argolint.sources.local_renders import LocalRenders

    return LocalRenders(
        helm.find(*(c.root for c in checkouts)),
        checkouts,
        click.get_current_context().with_resource(temporary_folder()),
    )


def pacing(opts: CommandOptions, own: Limits = NONE) -> Pacing:
    """The request limits for a server: from the options, within the user's settings and the server's `own` limits.

    Requests to a server run in parallel; a snapshot on disk gains nothing from it.
    """
    limits = read_settings(os.environ, Path.home()).limits if opts.connection else NONE
    return Pacing(wanted_workers(opts), rate=opts.rate).within(limits, own)


def wanted_workers(opts: CommandOptions) -> int:
    """The requests in flight that the options ask for, before any limit."""
    return int(opts.workers or (1 if opts.snapshots else 8))


def workers(opts: CommandOptions) -> int:
    """The number of applications to read at a time."""
    return pacing(opts).workers
