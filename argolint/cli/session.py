"""Steps that several commands share: source, applications, rules, outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from argolint import __version__
from argolint.cli import timings
from argolint.cli.given import CommandOptions
from argolint.cli.prepare import Run, prepare
from argolint.cli.reading import examine_sources, places, unread_note
from argolint.cli.selection import Selection
from argolint.engine import pipeline
from argolint.engine.servers import Listing
from argolint.errors import UsageError
from argolint.host.timing import charged, measured
from argolint.model import SETTINGS, SEVERITIES, UNREAD
from argolint.model.results import Outcome
from argolint.reports import assemble, document, formats
from argolint.reports.document import Report
from argolint.suppression.baseline import require_servers
from argolint.values import parse_time

if TYPE_CHECKING:
    from argolint.reports.history import History  # SQLite: only --state needs it


def check(names: Sequence[str], opts: CommandOptions) -> int:
    """Run a check and write its outputs; returns the exit code."""
    run = prepare(opts, names)
    with history(opts) as known:
        return _check(opts, run, known)


def _check(opts: CommandOptions, run: Run, known: History | None) -> int:
    if opts.shard:
        _require_shard_file(run)
    part, read = examine_sources(run, opts)
    if not run.checkouts:
        read = ()  # only places in checkouts need the list, which takes some 300 MB for ten thousand applications
    if opts.shard:
        code = write_shard(part, run)
        timings.show(timings.with_costs(part.stats, part.costs))
        return code
    if not part.results and run.selection != Selection():
        raise UsageError(
            f"no application of {places(s.name or s.url for s in part.servers)} fits this selection, or the account may not see it"
            + unread_note([f.server for f in part.failures if f.stage in UNREAD]),
            "check the names, --project, --selector, --app-namespace, --cluster and --repo; `argocd app list` shows what it may see",
        )
    made = _anchored(report_of(part, run), run, read)
    if known is not None:
        made = remember(made, part, run, known)
    run = _with_history(made, run, opts)
    with measured(run.plan.timings) as ledger, charged("report"):
        code = publish(made, run)
    timings.show(made.stats, ledger.costs)
    return code


def _require_shard_file(run: Run) -> None:
    """UsageError unless the run names a file for its shard: `merge` reads it, so it goes where `-o json` says."""
    if len(run.outputs) != 1 or run.outputs[0].format != "json":
        raise UsageError("--shard writes a shard for `argolint merge`, not a report", "add -o json=FILE")


def write_shard(part: pipeline.Part, run: Run) -> int:
    """Write the shard; 3 if it has failures, else 0."""
    formats.put(run.outputs[0].file, pipeline.to_json(part).decode())
    incomplete = bool(part.failures) or any(result.failures for result in part.results)
    return 3 if incomplete and not run.allow_incomplete else 0


def report_of(part: pipeline.Part, run: Run) -> Report:
    """The report of a run or of merged shards."""
    urls = {server.url: server.name for server in part.servers}
    if run.suppressions.baseline is not None and not any(f.server or f.stage == SETTINGS for f in part.failures):
        require_servers(run.suppressions.baseline, urls)
    whole = run.suppressions.whole and part.whole
    suppressions = replace(run.suppressions, now=parse_time(part.started_at), servers=urls, whole=whole)
    costs = part.costs
    with measured(bool(costs)) as ledger, charged("join"):
        outcome = pipeline.conclude(part, run.plan.rules, suppressions)
        made = _built_report(part, outcome)
    stats = timings.with_costs(part.stats, costs, ledger.costs)
    ran = (document.RanRule(c.rule.id, c.rule.family, c.severity or c.rule.severity) for c in run.plan.rules)
    # a rule whose findings are hidden is not one without findings: as a metric it would be 0
    shown = (r for r in ran if run.plan.shown.takes(r.id, r.family, r.severity))
    return msgspec.structs.replace(made, rules=tuple(shown), stats=stats)


def _built_report(part: pipeline.Part, outcome: Outcome) -> Report:
    return assemble.build(
        outcome,
        servers=part.servers,
        started_at=part.started_at,
        stats=part.stats,
        tool_version=__version__,
        remarks=part.remarks,
    )


def _anchored(made: Report, run: Run, read: Sequence[Listing]) -> Report:
    """The report with file and line from the checkouts."""
    if not run.checkouts:
        return made
    from argolint.fixes.anchors import anchored
    from argolint.fixes.site import Site

    apps = {(one.fleet.server, a.ref.namespace, a.ref.name): a.raw for one in read for a in one.fleet.apps}
    return anchored(made, Site(run.checkouts, apps))


@contextmanager
def history(opts: CommandOptions) -> Iterator[History | None]:
    """The file of --state, opened before any request."""
    if not opts.state:
        yield None
        return
    if opts.shard:
        raise UsageError("--state belongs to a whole check, and --shard makes a part", "pass one of them")
    from argolint.reports.history import opened

    with opened(opts.state) as known:
        yield known


def remember(made: Report, part: pipeline.Part, run: Run, known: History, *, whole: bool = True) -> Report:
    """The report with the ages of its findings. Findings that were not looked for stay as they are. `whole`: see History."""
    looked = None if run.selection == Selection() else {assemble.app(r.ref) for r in part.results if not r.alongside}
    return known.remember(made, looked, whole=whole)


def _with_history(made: Report, run: Run, opts: CommandOptions) -> Run:
    """The run with a sentence on what is new since earlier checks; these are stored in the user's cache."""
    if opts.no_history or run.selection != Selection() or opts.only:
        return run
    from argolint.reports import whats_new

    folder = whats_new.folder_of(*whats_new.environment())
    if folder is None:
        return run
    asked = hashlib.blake2b(msgspec.json.encode((run.asked, run.plan.shown)), digest_size=8).hexdigest()
    since = whats_new.news_sentence(made, asked, folder, offline=bool(opts.snapshots))
    return replace(run, style=replace(run.style, since=since))


def publish(made: Report, run: Run) -> int:
    """Write the report to its outputs, and return the exit code."""
    formats.write(made, run.outputs, run.style)
    return exit_code(made, run.fail_on, allow_incomplete=run.allow_incomplete)


def exit_code(made: Report, fail_on: str, *, allow_incomplete: bool) -> int:
    """0 clean, 1 findings at or above `fail_on`, 3 incomplete; 3 wins over 1."""
    if not made.complete and not allow_incomplete:
        return 3
    if fail_on == "never":
        return 0
    bad = SEVERITIES[SEVERITIES.index(fail_on) :]
    return int(any(f.severity in bad and f.suppressed is None for f in made.findings))
