"""Options and steps that several commands share: which source, which applications, which rules, which outputs."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from argolint import __version__
from argolint.app import App
from argolint.checkouts.checkout import Checkout, open_checkouts
from argolint.cli import complete, servers, timings
from argolint.config import file as config
from argolint.engine import pipeline as lint
from argolint.engine import suppress, trusted
from argolint.engine.load import load_fleet
from argolint.engine.plan import Chosen, Outcome, Plan
from argolint.engine.run import Look
from argolint.engine.shown import Shown
from argolint.engine.trusted import Trusted
from argolint.errors import UsageError
from argolint.fleet import Fleet
from argolint.host.leftovers import temporary_folder
from argolint.model import SEVERITIES, AppRef, Failure
from argolint.redaction import without_secrets
from argolint.renders import helm
from argolint.renders.local import LocalRenders
from argolint.reports import document as report
from argolint.reports import formats as reporters
from argolint.reports.causes import identity
from argolint.reports.document import Report
from argolint.rule import Rule
from argolint.server import api as argocd
from argolint.server.connection import connection_options
from argolint.server.transport import Transport
from argolint.snapshots.narrow import label_selector
from argolint.timing import charged, measured
from argolint.values import integer, labels_of, parse_time, plain, same_repository

if TYPE_CHECKING:
    from argolint.engine.several import Source
    from argolint.reports.history import History
    from argolint.server.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])


class Rate(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new versions of click only
    """`5`, `5/s` and `300/m` as requests a second."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        count, slash, unit = str(value).partition("/")
        try:
            rate = float(count) / {"s": 1, "m": 60}[unit.strip() if slash else "s"]
        except (ValueError, KeyError):
            rate = 0.0
        if not 1 / 60 <= rate <= 10_000:
            self.fail(f"{str(value)!r} is no rate such as 5/s or 30/m, from one a minute to 10000/s", param, ctx)
        return rate


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator of several, in reading order."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


source_options = options(
    connection_options,
    click.option(
        "--snapshot",
        "snapshots",
        multiple=True,
        metavar="PATH",
        help="Read a snapshot (directory, .tar.gz or .zip) in place of a server; repeated, later ones fill in what earlier ones lack.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(1, 3600),
        metavar="SECONDS",
        envvar="ARGOLINT_TIMEOUT",
        help="How long one answer of the server may take [default: 180].",
    ),
    click.option(
        "--max-answer",
        type=click.IntRange(1, 65536),
        metavar="MB",
        envvar="ARGOLINT_MAX_ANSWER",
        help="How large one answer may be, inflated, and all that are held at once [default: 1024].",
    ),
    click.option(
        "--rate",
        type=Rate(),
        metavar="N/s",
        envvar="ARGOLINT_RATE",
        help="How many requests may be sent in a second, or in a minute (N/m) [default: any number].",
    ),
)

selection_options = options(
    click.option(
        "-p", "--project", "projects", multiple=True, help="Only applications of this project (repeatable, glob)."
    ),
    click.option("-l", "--selector", metavar="LABELS", help="Only applications with these labels (a=b,c!=d,e,!f)."),
    click.option("-N", "--app-namespace", help="Only applications of this namespace."),
    click.option("-c", "--cluster", help="Only applications of this destination (name or URL)."),
    click.option("-r", "--repo", help="Only applications of this repository URL."),
)

rule_options = options(
    click.option(
        "--config-file",
        metavar="FILE",
        envvar="ARGOLINT_CONFIG_FILE",
        help="argolint's own configuration [default: .argolint.yaml].",
    ),
    click.option(
        "--trusted-config",
        metavar="REV",
        envvar="ARGOLINT_TRUSTED_CONFIG",
        help="Read configuration and baseline from this Git revision instead of the work tree [gate: the base].",
    ),
    click.option("--baseline", metavar="FILE", envvar="ARGOLINT_BASELINE", help="Findings accepted before: hide them."),
    click.option(
        "--select",
        multiple=True,
        shell_complete=complete.shown,
        envvar="ARGOLINT_SELECT",
        metavar="WHAT",
        help="Show only these findings: rule ids, families or severities (comma list).",
    ),
    click.option(
        "--ignore",
        multiple=True,
        shell_complete=complete.shown,
        envvar="ARGOLINT_IGNORE",
        metavar="WHAT",
        help="Do not show these findings: rule ids, families or severities (comma list).",
    ),
    click.option(
        "--min-severity",
        type=click.Choice(list(reversed(SEVERITIES))),
        envvar="ARGOLINT_MIN_SEVERITY",
        help="Show only findings that are at least this severe.",
    ),
)

workers_option = click.option(
    "-j",
    "--workers",
    type=click.IntRange(1, 64),
    help="Requests in flight [default: 8; 1 with --snapshot, where threads only slow it down].",
)

run_options = options(
    click.option("--deep", is_flag=True, help="Read the states of every application, also of those that look fine."),
    click.option(
        "--manifests", is_flag=True, help="Ask the server for rendered manifests (cached; costs the repo-server)."
    ),
    click.option(
        "--render-twice",
        is_flag=True,
        help="Let the server render each chart twice, one at a time, and compare. This replaces the server's cache: "
        "an application with self-heal may deploy what comes out.",
    ),
    click.option(
        "--helm-render",
        is_flag=True,
        help="Render Helm applications here, twice, with the helm on PATH and from --checkout: proves what each render "
        "draws anew, and the Helm values that end it, at no cost for the server.",
    ),
    click.option(
        "--checkout",
        "checkouts",
        multiple=True,
        metavar="[URL=]DIR",
        help="A clone of an application's repository (repeatable), to tell file and line of findings and for --helm-render; "
        "URL when its remote is another one.",
    ),
    workers_option,
    click.option("--shard", metavar="I/N", help="Look at the I-th of N parts and write a shard for `argolint merge`."),
)

scale_options = options(
    click.option(
        "--processes",
        type=click.IntRange(1, 64),
        metavar="N",
        envvar="ARGOLINT_PROCESSES",
        help="Look at applications in N processes of this machine, which share --workers [default: 1].",
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        envvar="ARGOLINT_DASK",
        help="Look at applications on the workers of the Dask cluster with its scheduler there (tls://HOST:PORT).",
    ),
    click.option(
        "--dask-insecure",
        is_flag=True,
        help="Allow a Dask cluster without TLS beyond this machine.",
    ),
    click.option(
        "--worker-token",
        metavar="WHERE",
        envvar="ARGOLINT_WORKER_TOKEN",
        help="Where each Dask worker finds its token: env:NAME or file:/PATH [default: env:ARGOCD_AUTH_TOKEN].",
    ),
    click.option(
        "--fleet",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar="ARGOLINT_FLEET",
        help="Take the list of applications out of this file (`argolint snapshot --fleet-only`): one list call for all shards.",
    ),
)

state_option = click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ARGOLINT_STATE",
    help="Keep in this file since when each finding is there, and tell it (SQLite; made if it is not there).",
)

fail_options = options(
    click.option(
        "--fail-on",
        type=click.Choice([*reversed(SEVERITIES), "never"]),
        envvar="ARGOLINT_FAIL_ON",
        default=None,
        help="Exit 1 when a finding is at least this severe [default: error].",
    ),
    click.option("--allow-incomplete", is_flag=True, help="Do not exit 3 when something could not be looked at."),
)


def chosen(rules: Mapping[str, Rule], select: Iterable[str], ignore: Iterable[str], least: str | None) -> Shown:
    """What --select, --ignore and --min-severity show. UsageError names a word that is no rule, family or severity."""
    wanted, unwanted = _words(select), _words(ignore)
    families = {r.family for r in rules.values()}
    for word in (*wanted, *unwanted):
        if word not in rules and word not in families and word not in SEVERITIES:
            import difflib

            close = difflib.get_close_matches(word, [*rules, *families, *SEVERITIES], 1)
            raise UsageError(
                f"{word!r} is no rule, family or severity" + (f"; did you mean {close[0]!r}?" if close else ""),
                "`argolint rules` lists them",
            )
    return Shown(wanted, unwanted, next((s for s in SEVERITIES if s == least), SEVERITIES[0]))


def _words(groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for group in groups for word in group.replace(",", " ").split())


@dataclass(frozen=True)
class Selection:
    """Which applications to lint; the whole fleet is read all the same, since ownership is a matter of the whole."""

    names: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    selector: str | None = None
    app_namespace: str | None = None
    cluster: str | None = None
    repo: str | None = None

    def takes(self, app: App, fleet: Fleet) -> bool:
        return (
            (not self.names or self.names_ref(app.ref))
            and (not self.projects or any(fnmatchcase(app.ref.project, p) for p in self.projects))
            and (not self.app_namespace or app.ref.namespace == self.app_namespace)
            and (not self.cluster or self._on_cluster(app, fleet))
            and (not self.repo or any(same_repository(self.repo, str(s.get("repoURL") or "")) for s in app.sources))
            and (not self.selector or label_selector(self.selector)(labels_of(app.raw)))
        )

    def names_ref(self, ref: AppRef) -> bool:
        """True when one of the names, `NAME` or `NAMESPACE/NAME` with globs, is this application's."""
        parts = (name.rpartition("/") for name in self.names)
        return any(
            fnmatchcase(ref.name, bare) and (not slash or fnmatchcase(ref.namespace, ns)) for ns, slash, bare in parts
        )

    def _on_cluster(self, app: App, fleet: Fleet) -> bool:
        named = (fleet.clusters.get(app.cluster) or {}).get("name")
        return self.cluster in (app.cluster, named, *(app.spec.get("destination") or {}).values())


def parse_shard(text: str | None) -> tuple[int, int]:
    """`2/3` as (2, 3); UsageError for anything else."""
    if text is None:
        return (1, 1)
    index, slash, count = text.partition("/")
    number, of = integer(index), integer(count)
    if not slash or number is None or of is None or not 1 <= number <= of:
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N", "for example --shard 1/3")
    return number, of


class Clock:
    """Seconds since it was made, for the report's stats."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)


look_options = options(
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
    click.option("-q", "--quiet", is_flag=True, help="Only the summary line; no progress."),
    click.option("-v", "--verbose", is_flag=True, help="Evidence, every fix, related objects."),
)

output_options = options(
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        shell_complete=complete.formats,
        envvar="ARGOLINT_OUTPUT",
        metavar="FORMAT[=FILE]",
        help="Report format, to a file if named, - is standard output; repeatable [default: text].",
    ),
    click.option("--full", is_flag=True, help="Show every finding, also where there are many."),
    click.option(
        "--group-by",
        type=click.Choice(["cause", "rule", "app", "project"]),
        help="How the text report is ordered [default: by application, above 30 findings by cause].",
    ),
    click.option("--statistics", is_flag=True, help="Show counts by rule in place of findings."),
    look_options,
)


def _names(decorator: Callable[[Any], Any]) -> frozenset[str]:
    """The parameters that a decorator of options adds."""

    def nothing() -> None: ...

    decorated = decorator(nothing)
    return frozenset(p.name for p in decorated.__click_params__ if p.name)


_SECTIONS: Mapping[str, frozenset[str]] = {
    "What is read": _names(source_options),
    "Which applications": _names(selection_options),
    "Which findings are shown": _names(rule_options),
    "How it is looked at": _names(run_options) | _names(scale_options),
    "How it ends": _names(fail_options),
    "How it is shown": _names(output_options),
}


class Sectioned(click.Command):
    """A command whose --help shows its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *_SECTIONS)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                title = next((t for t, names in _SECTIONS.items() if param.name in names), "Options")
                rows[title].append(record)
        for title in (*_SECTIONS, "Options"):
            if rows[title]:
                with formatter.section(title):
                    formatter.write_dl(rows[title])


NO_SELECTION: Mapping[str, Any] = {
    "projects": (),
    "selector": None,
    "app_namespace": None,
    "cluster": None,
    "repo": None,
    "workers": 1,
    "deep": False,
    "manifests": False,
    "render_twice": False,
    "helm_render": False,
    "checkouts": (),
    "shard": None,
}
NO_FAILING: Mapping[str, Any] = {"fail_on": None, "allow_incomplete": False}


def open_transport(given: Mapping[str, Any]) -> Transport:
    """The snapshot or the server that options, environment, the user's settings and login file name, in this order."""
    if given["snapshots"]:
        from argolint.snapshots.reader import SnapshotTransport

        return SnapshotTransport([Path(p) for p in given["snapshots"]])
    from argolint.server.connection import connect

    return _connected(connect(given["connection"], os.environ, Path.home(), datetime.now(UTC)), given)


def _connected(connection: Connection, given: Mapping[str, Any]) -> Transport:
    from argolint.server.http import ANSWER_S, MAX_ANSWER_BYTES, HttpTransport

    return HttpTransport(
        connection,
        workers=workers(given),
        rate=given.get("rate"),
        answer_s=given["timeout"] or ANSWER_S,
        max_bytes=given["max_answer"] << 20 if given["max_answer"] else MAX_ANSWER_BYTES,
    )


def workers(given: Mapping[str, Any]) -> int:
    """How many applications are read at a time: beside a server's answers much can be done, beside a disk's nothing."""
    return int(given["workers"] or (1 if given.get("snapshots") else 8))


@dataclass(frozen=True)
class Run:
    """Everything a check needs, from the options, the environment and the configuration; checked before any request."""

    plan: Plan
    suppressions: suppress.Suppressions
    outputs: tuple[reporters.Output, ...]
    style: reporters.Style
    fail_on: str
    allow_incomplete: bool
    selection: Selection
    remarks: tuple[str, ...] = ()
    checkouts: tuple[Checkout, ...] = ()


def prepare(given: Mapping[str, Any], names: Sequence[str] = (), counts: Trusted | None = None) -> Run:
    """Read the configuration (unless given) and choose rules and outputs. UsageError tells the first thing that is wrong."""
    from argolint.plugins import load_rules, providers

    counts = trusted.read(given) if counts is None else counts
    loaded = counts.loaded
    known = load_rules()
    config.check_rules(loaded, known, providers())
    wanted = loaded.config
    shown = chosen(
        known, given["select"] or wanted.select, given["ignore"] or wanted.deselect, given.get("min_severity")
    )
    rules = []
    for rule in known.values():
        own = wanted.rules.get(rule.id, config.RuleSettings())
        rules.append(Chosen(rule, config.rule_options(rule, own.options, str(loaded.file)), own.severity))
    selection = Selection(
        tuple(names), given["projects"], given["selector"], given["app_namespace"], given["cluster"], given["repo"]
    )
    suppressions = suppress.Suppressions(
        loaded,
        counts.baseline,
        frozenset(known),
        whole=selection == Selection(),
        severities={c.rule.id: c.severity for c in rules if c.severity},
    )
    checkouts = _checkouts(given)
    plan = Plan(
        tuple(rules),
        selection.takes,
        workers=workers(given),
        deep=given["deep"],
        renders=given["render_twice"],
        manifests=given["manifests"],
        shard=parse_shard(given["shard"]),
        local=local_renders(given, checkouts),
        shown=shown,
        timings=bool(given.get("timings")),
    )
    return Run(
        plan,
        suppressions,
        reporters.parse_outputs(given["outputs"] or wanted.output, None if given["outputs"] else loaded.file),
        replace(reporters.Style.from_options(given), metrics=wanted.metrics),
        given["fail_on"] or wanted.fail_on or "error",
        given["allow_incomplete"],
        selection,
        counts.remarks,
        checkouts,
    )


def _checkouts(given: Mapping[str, Any]) -> tuple[Checkout, ...]:
    """The clones that --checkout names; what else --helm-render needs is looked for first."""
    if given["helm_render"]:
        if not given["checkouts"]:
            raise UsageError("--helm-render needs the charts' repositories", "name their clones: --checkout DIR")
        helm.find()
    return open_checkouts(given["checkouts"], "--checkout")


def local_renders(given: Mapping[str, Any], checkouts: tuple[Checkout, ...]) -> LocalRenders | None:
    """What --helm-render asks for. Its folder lives as long as the command."""
    if not given["helm_render"]:
        return None
    return LocalRenders(helm.find(), checkouts, click.get_current_context().with_resource(temporary_folder()))


Reads = Callable[[Transport], tuple[Fleet, tuple[Failure, ...]]]


def collect(
    run: Run, given: Mapping[str, Any], t: Transport | None = None, read: Reads = load_fleet, look: Look | None = None
) -> lint.Part:
    """Read and examine, from `t` or from where the options point; the stats say what it cost.

    `read` and `look` stand in for the reading of the fleet and of applications, where earlier checks are known.
    """
    return _read(run, given, t, read, look)[0]


def _read(
    run: Run, given: Mapping[str, Any], t: Transport | None = None, read: Reads = load_fleet, look: Look | None = None
) -> tuple[lint.Part, tuple[Fleet, ...]]:
    """The part, and the fleets of all servers that the options mean."""
    several = _sources(given) if t is None else None
    if several is not None:
        return _collected_of(*several, run, given)
    part, fleet = collected(run, given, t, read, look)
    return part, (fleet,)


def collected(
    run: Run, given: Mapping[str, Any], t: Transport | None = None, read: Reads = load_fleet, look: Look | None = None
) -> tuple[lint.Part, Fleet]:
    """As `collect` of a single server, and the fleet. The one way to read for every command, with its guards and warnings."""
    clock = Clock()
    _leave_garbage()
    t = t or open_transport(given)
    look = look or _look(given, t)
    t = with_fleet(given, t)
    if run.plan.renders and not t.offline:
        _warn_of_renders(t)
    told = progress(given)
    told.say("reading the snapshot" if t.offline else f"connecting to {t.server} and listing applications")
    with told:
        with measured(run.plan.timings) as ledger, charged("list"):
            fleet, failures = read(t)
        _require_named(run.selection, [fleet])
        part = lint.collect(t, run.plan, told.count, fleet, look)
    part = msgspec.structs.replace(
        part,
        failures=(*failures, *part.failures),
        remarks=(*run.remarks, *part.remarks),
        stats=report.Stats(t.stats.requests, t.stats.bytes, clock.seconds, t.stats.slowed or msgspec.UNSET),
        spent=ledger.costs,
    )
    return part, fleet


def _leave_garbage() -> None:
    """Decoded JSON holds no cycles and is dropped application by application: looking for some costs a third of the time."""
    if not gc.get_freeze_count():  # once: what a service drops between its checks must be found again
        gc.freeze()
    gc.set_threshold(200_000, 20, 20)


def with_fleet(given: Mapping[str, Any], t: Transport) -> Transport:
    """The transport, and the file of --fleet in place of the server's own list."""
    if not given.get("fleet"):
        return t
    if t.offline:
        raise UsageError("--fleet and --snapshot exclude each other: a snapshot holds its list", "pass one of them")
    from argolint.snapshots.fleet_file import OLD, FleetTransport, spoken

    found = FleetTransport(given["fleet"], t)
    if found.age > OLD:
        click.echo(
            f"warning: the fleet in {given['fleet']} was read {spoken(found.age)} ago, and states are read now",
            err=True,
        )
    return found


def _look(given: Mapping[str, Any], t: Transport, opened: Callable[[int], Transport] | None = None) -> Look | None:
    """Who looks at the applications, when it is not this process. UsageError for what cannot be divided."""
    count, dask = given.get("processes") or 1, given.get("dask")
    if count == 1 and not dask:
        return None
    option = "--dask" if dask else "--processes"
    if dask and count > 1:
        raise UsageError("--dask and --processes both say who looks at applications", "pass one of them")
    if given["render_twice"] and not t.offline:
        raise UsageError(
            "--render-twice renders one application at a time", f"leave {option} out: it would gain nothing"
        )
    if dask:
        return _look_in_cluster(given, t)
    if sys.platform != "linux":
        hint = "divide the work with --shard I/N, and join it with `argolint merge`"
        raise UsageError("--processes needs Linux", hint)
    if not t.offline and count > workers(given):
        raise UsageError(
            f"{count} processes need {count} requests in flight at least, and --workers allows {workers(given)}",
            f"pass --workers {count} if the server may be asked so much, or fewer --processes",
        )
    from argolint.workers.processes import in_processes

    return in_processes(count, opened or (lambda threads: open_transport(_shared(given, threads))))


def _shared(given: Mapping[str, Any], threads: int | None) -> Mapping[str, Any]:
    """The options of one of several workers: its threads, and its part of --rate. Without `threads` it is the only one."""
    if threads is None:
        return given
    rate = given["rate"] * threads / workers(given) if given.get("rate") else None
    return {**given, "workers": threads, "rate": rate}


def _look_in_cluster(given: Mapping[str, Any], t: Transport) -> Look:
    """Look on a Dask cluster. What is secret of the connection stays here: each worker has its own token."""
    from argolint.workers.cluster import in_cluster
    from argolint.workers.spec import TOKEN, Server, require_place

    if given["helm_render"]:
        raise UsageError(
            "--helm-render needs the checkouts, which the Dask workers do not have", "leave one of both out"
        )
    server = None
    if not t.offline:
        from argolint.server.connection import connect
        from argolint.server.http import ANSWER_S, MAX_ANSWER_BYTES

        flags = given["connection"]
        found = connect(flags, os.environ, Path.home(), datetime.now(UTC))
        for what, there in (
            ("headers", found.headers),
            ("client certificate", found.client_pem and not flags.client_crt),
        ):
            if there:
                hint = (
                    "with --dask, name a client certificate by files that are on every worker; headers cannot be sent"
                )
                raise UsageError(f"the {what} of this connection would have to travel to the Dask workers", hint)
        server = Server(
            found.url,
            require_place(given["worker_token"] or TOKEN),
            found.insecure,
            found.ca_pem,
            flags.client_crt,
            flags.client_crt_key,
            given["timeout"] or ANSWER_S,
            given["max_answer"] << 20 if given["max_answer"] else MAX_ANSWER_BYTES,
            given.get("rate"),
        )
    return in_cluster(
        given["dask"],
        insecure=given["dask_insecure"],
        snapshots=[str(Path(path).absolute()) for path in given["snapshots"]],
        server=server,
        warn=lambda text: click.echo(f"warning: {plain(text)}", err=True),
    )


def _sources(given: Mapping[str, Any]) -> tuple[tuple[Source, ...], tuple[str, ...]] | None:
    return servers.sources(given, lambda connection, threads: _connected(connection, _shared(given, threads)))


def _collected_of(
    sources: Sequence[Source], remarks: Sequence[str], run: Run, given: Mapping[str, Any]
) -> tuple[lint.Part, tuple[Fleet, ...]]:
    """The same over several Argo CDs."""
    from argolint.engine import several

    if given.get("fleet"):
        raise UsageError("--fleet is the list of a single server", "pass it with --server, or leave it out")
    if given.get("dask"):
        raise UsageError("--dask reads a single server", "run once for each server")
    clock = Clock()
    _leave_garbage()
    looks = {id(t): _look(given, t, s.opened) for s in sources if (t := s.transport) is not None}
    told = progress(given)
    told.say(f"listing the applications of {len(sources)} servers")
    with told:
        with measured(run.plan.timings) as ledger, charged("list"):
            read, failures, more = several.load(sources)
        _require_named(run.selection, [one.fleet for one in read])
        for one in read if run.plan.renders else ():
            if not one.transport.offline:
                _warn_of_renders(one.transport)
        part = several.examine(
            read, failures, (*run.remarks, *remarks, *more), run.plan, told.of, lambda t: looks.get(id(t))
        )
    stats = msgspec.structs.replace(part.stats, seconds=clock.seconds)
    part = msgspec.structs.replace(part, stats=stats, spent=ledger.costs)
    return part, tuple(one.fleet for one in read)


def asked(given: Mapping[str, Any]) -> tuple[report.Server, ...]:
    """The Argo CDs that the options mean, before they are read."""
    several = _sources(given)
    if several is None:
        return (report.Server(without_secrets(open_transport(given).server), "", 0),)
    return tuple(
        report.Server(without_secrets(s.transport.server) if s.transport else "", "", 0, s.name) for s in several[0]
    )


def _require_named(selection: Selection, fleets: Sequence[Fleet]) -> None:
    """UsageError for a plain name on the command line that is no application's, with the nearest one that is."""
    for name in sorted(n for n in selection.names if not set("*?[") & set(n)):
        if any(Selection((name,)).names_ref(app.ref) for fleet in fleets for app in fleet.apps):
            continue
        import difflib

        known = {text: None for fleet in fleets for app in fleet.apps for text in (app.ref.name, str(app.ref))}
        close = difflib.get_close_matches(name, known, 1)
        raise UsageError(
            f"there is no application {name!r} on {', '.join(fleet.server for fleet in fleets)}, or the account may not see it"
            + (f"; did you mean {close[0]!r}?" if close else ""),
            "`argocd app list` shows what it may see",
        )


def _anchored(made: Report, run: Run, fleets: Sequence[Fleet]) -> Report:
    """The report with file and line from the checkouts."""
    if not run.checkouts:
        return made
    from argolint.fixes.anchors import anchored
    from argolint.fixes.placement import Site

    sites = {f.server: {(a.ref.namespace, a.ref.name): a.raw for a in f.apps} for f in fleets}
    if len(fleets) == 1:
        return anchored(made, Site(run.checkouts, sites[fleets[0].server]))
    findings = {identity(f): f for f in made.findings}
    for server, apps in sites.items():
        own = msgspec.structs.replace(made, findings=tuple(f for f in made.findings if f.app.server == server))
        findings |= {identity(f): f for f in anchored(own, Site(run.checkouts, apps)).findings}
    return msgspec.structs.replace(made, findings=tuple(findings.values()))


def _warn_of_renders(t: Transport) -> None:
    """Say aloud what fresh renders do. UsageError when the server would answer them from its cache."""
    if not argocd.renders_afresh(t):
        raise UsageError(
            f"{t.server} does not know noCache, so it would answer both renders from its cache and all would look alike",
            "leave --render-twice out: Argo CD 2.14 and older cannot render past the cache",
        )
    click.echo(
        "warning: --render-twice renders each chart anew on the server, one at a time, and replaces its manifest cache; "
        "where a chart draws random values the application turns OutOfSync, and self-heal may deploy them",
        err=True,
    )


class Progress:
    """One line on a terminal's standard error that says what is going on, from the first second; it is gone at the end."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._shown = 0
        self._lock = threading.Lock()

    def say(self, what: str) -> None:
        """What goes on now."""
        if not self._wanted:
            return
        text = f"{plain(what)}…"
        with self._lock:
            sys.stderr.write("\r" + text.ljust(self._shown))
            sys.stderr.flush()
            self._shown = len(text)

    def count(self, done: int, total: int) -> None:
        """How many applications were looked at."""
        self.say(f"looking at applications: {done}/{total}")

    def of(self, server: str) -> Callable[[int, int], None]:
        """The same of one of several servers."""
        return lambda done, total: self.say(f"{server}: looking at applications: {done}/{total}")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._wanted:
            sys.stderr.write("\r" + " " * self._shown)
            sys.stderr.write("\r")
            sys.stderr.flush()


def progress(given: Mapping[str, Any]) -> Progress:
    """Silent where standard error is piped, and with -q."""
    return Progress(wanted=not given["quiet"] and sys.stderr.isatty())


def conclude(part: lint.Part, run: Run) -> Report:
    """The report of a run or of merged shards."""
    urls = {server.url: server.name for server in part.servers}
    if run.suppressions.baseline is not None and not any(f.server for f in part.failures):
        suppress.require_servers(run.suppressions.baseline, urls)
    suppressions = replace(run.suppressions, now=parse_time(part.started_at), servers=urls)
    costs = part.costs
    with measured(bool(costs)) as ledger, charged("join"):
        outcome = lint.conclude(part, run.plan.rules, suppressions)
        made = _built(part, outcome)
    stats = timings.with_costs(part.stats, costs, ledger.costs)
    ran = (report.RanRule(c.rule.id, c.rule.family, c.severity or c.rule.severity) for c in run.plan.rules)
    shown = (
        r for r in ran if run.plan.shown.takes(r.id, r.family, r.severity)
    )  # a hidden one is not one without findings
    return msgspec.structs.replace(made, rules=tuple(shown), stats=stats)


def _built(part: lint.Part, outcome: Outcome) -> Report:
    return report.build(
        outcome,
        servers=part.servers,
        started_at=part.started_at,
        stats=part.stats,
        tool_version=__version__,
        remarks=part.remarks,
    )


def check(names: Sequence[str], given: Mapping[str, Any]) -> int:
    """Run a check and write its outputs; returns the exit code."""
    run = prepare(given, names)
    with history(given) as known:
        return _check(names, given, run, known)


@contextmanager
def history(given: Mapping[str, Any]) -> Iterator[History | None]:
    """The file of --state, opened before anything is asked."""
    if not given.get("state"):
        yield None
        return
    if given.get("shard"):
        raise UsageError("--state belongs to a whole check, and --shard makes a part", "pass one of them")
    from argolint.reports.history import opened

    with opened(given["state"]) as known:
        yield known


def _check(names: Sequence[str], given: Mapping[str, Any], run: Run, known: History | None) -> int:
    part, fleets = _read(run, given)
    if run.plan.shard != (1, 1):
        return write_shard(part, run)
    if not part.results and run.selection != Selection(tuple(names)):
        raise UsageError(
            f"no application of {', '.join(server.url for server in part.servers)} fits this selection, or the account may not see it",
            "check --project, --selector, --app-namespace, --cluster and --repo; `argocd app list` shows what it may see",
        )
    made = _anchored(conclude(part, run), run, fleets)
    if known is not None:
        made = remember(made, part, run, known)
    with measured(run.plan.timings) as ledger, charged("report"):
        code = publish(made, run)
    timings.tell(made.stats, ledger.costs)
    return code


def remember(made: Report, part: lint.Part, run: Run, known: History, *, whole: bool = True) -> Report:
    """The report with the ages of its findings. What was not asked for is neither gone nor there. See History for `whole`."""
    looked = None if run.selection == Selection() else {report.app(r.ref) for r in part.results if not r.beside}
    return known.remember(made, looked, whole=whole)


def write_shard(part: lint.Part, run: Run) -> int:
    """A shard is data for `merge`: it goes where `-o json` says."""
    if len(run.outputs) != 1 or run.outputs[0].format != "json":
        raise UsageError("--shard writes a shard for `argolint merge`, not a report", "add -o json=FILE")
    reporters.put(run.outputs[0].file, lint.to_json(part).decode())
    return 3 if part.failures and not run.allow_incomplete else 0


def publish(made: Report, run: Run) -> int:
    """Write the report where it is wanted, and decide the exit code."""
    reporters.write(made, run.outputs, run.style)
    return exit_code(made, run.fail_on, allow_incomplete=run.allow_incomplete)


def exit_code(made: Report, fail_on: str, *, allow_incomplete: bool) -> int:
    """0 clean, 1 findings at or above `fail_on`, 3 incomplete; 3 before 1."""
    if not made.complete and not allow_incomplete:
        return 3
    if fail_on == "never":
        return 0
    bad = SEVERITIES[SEVERITIES.index(fail_on) :]
    return int(any(f.severity in bad and f.suppressed is None for f in made.findings))
