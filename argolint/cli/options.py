"""Options that several commands share, and their sections in --help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from argolint.cli import complete
from argolint.cli.servers import servers_options
from argolint.model import SEVERITIES
from argolint.server.connection import connection_options
from argolint.server.limits import MOST_WORKERS, parse_rate

F = TypeVar("F", bound=Callable[..., Any])


class Rate(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new versions of click only
    """Parses `5`, `5/s` and `300/m` as requests per second."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_rate(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Combines several decorators into one, in reading order."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _take_knowledge(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    """Take the pack before anything that depends on it is loaded."""
    if value is not None and not ctx.resilient_parsing:
        from argolint.cli.knowledge import take

        take(value)


source_options = options(
    connection_options,
    servers_options,
    click.option(
        "--knowledge",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar="ARGOLINT_KNOWLEDGE",
        is_eager=True,
        expose_value=False,
        callback=_take_knowledge,
        help="Use the knowledge on charts, versions and messages in this newer pack.",
    ),
    click.option(
        "--snapshot",
        "snapshots",
        multiple=True,
        metavar="PATH",
        help="Read a snapshot (directory, .tar.gz or .zip) instead of a server; repeatable, later ones complete earlier ones.",
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
        help="Most MiB of one decompressed answer, and of all answers in memory [default: 1024].",
    ),
    click.option(
        "--rate",
        type=Rate(),
        metavar="N/s",
        envvar="ARGOLINT_RATE",
        help="Most requests per second, or per minute (N/m) [default: unlimited].",
    ),
)


place_options = options(
    click.option(
        "-p", "--project", "projects", multiple=True, help="Only applications of this project (repeatable, glob)."
    ),
    click.option("-l", "--selector", metavar="LABELS", help="Only applications with these labels (a=b,c!=d,e,!f)."),
    click.option("-N", "--app-namespace", help="Only applications of this namespace."),
    click.option("-c", "--cluster", help="Only applications of this destination (name or URL)."),
)
selection_options = options(
    place_options, click.option("-r", "--repo", help="Only applications of this repository URL.")
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
    click.option(
        "--pedantic",
        is_flag=True,
        envvar="ARGOLINT_PEDANTIC",
        help="Also show advice on GitOps itself, such as floating-revision (or name such a rule with --select).",
    ),
)


workers_option = click.option(
    "-j",
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    help="Requests in flight [default: 8; 1 with --snapshot, where threads only slow it down].",
)


run_options = options(
    click.option("--deep", is_flag=True, help="Read the states of every application, even of healthy and synced ones."),
    click.option(
        "--manifests", is_flag=True, help="Ask the server for rendered manifests (cached; costs the repo-server)."
    ),
    click.option(
        "--render-twice",
        is_flag=True,
        help="Let the server render each chart twice, one at a time, and compare. This replaces the server's cache: "
        "an application with self-heal may deploy the result.",
    ),
    click.option(
        "--helm-render",
        is_flag=True,
        help="Render Helm applications here, twice, with the helm on PATH and from --checkout: proves what each render "
        "generates again, and the Helm values that end it, at no cost for the server.",
    ),
    click.option(
        "--checkout",
        "checkouts",
        multiple=True,
        metavar="[URL=]DIR",
        help="A clone of an application's repository (repeatable), to show file and line of findings and for --helm-render; "
        "URL if its remote is another one.",
    ),
    workers_option,
    click.option("--shard", metavar="I/N", help="Check the I-th of N parts and write a shard for `argolint merge`."),
)


scale_options = options(
    click.option(
        "--processes",
        type=click.IntRange(1, 64),
        metavar="N",
        envvar="ARGOLINT_PROCESSES",
        help="Check applications in N processes of this machine, which share --workers [default: 1].",
    ),
    click.option(
        "--dask",
        metavar="ADDRESS",
        envvar="ARGOLINT_DASK",
        help="Check applications on the workers of the Dask cluster with this scheduler (tls://HOST:PORT).",
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
        "fleets",
        multiple=True,
        metavar="[NAME=]FILE",
        envvar="ARGOLINT_FLEET",
        help="Read the list of applications from this file (`argolint snapshot --fleet-only`): one list call for all shards. "
        "With --servers repeated, NAME being an entry; a folder that `snapshot --servers` made serves all of them.",
    ),
)


state_option = click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ARGOLINT_STATE",
    help="Record in this file when each finding appeared, and report it (SQLite; created if missing).",
)


fail_options = options(
    click.option(
        "--fail-on",
        type=click.Choice([*reversed(SEVERITIES), "never"]),
        envvar="ARGOLINT_FAIL_ON",
        default=None,
        help="Exit 1 when a finding is at least this severe [default: error].",
    ),
    click.option("--allow-incomplete", is_flag=True, help="Do not exit 3 if something could not be checked."),
)


_NO_COLOR = "argolint.no-color"


def _without(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[_NO_COLOR] = value


def _color(ctx: click.Context, param: click.Parameter, value: str) -> str:
    return "never" if ctx.meta.get(_NO_COLOR) else value


color_options = options(
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        callback=_color,
        help="Colours; NO_COLOR and FORCE_COLOR apply, too.",
    ),
    click.option(
        "--no-color",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_without,
        help="The same as --color never.",
    ),
)


look_options = options(
    color_options,
    click.option("-q", "--quiet", is_flag=True, help="Only the summary line; no progress."),
    click.option("-v", "--verbose", is_flag=True, help="Evidence, every fix, related objects."),
)


history_option = click.option(
    "--no-history",
    is_flag=True,
    envvar="ARGOLINT_NO_HISTORY",
    help="Store nothing in the user's cache, and do not report what is new since earlier checks. The default if CI=true.",
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
    click.option("--full", is_flag=True, help="Show every finding, even if there are many."),
    click.option(
        "--group-by",
        type=click.Choice(["cause", "rule", "app", "project"]),
        help="How the text report is grouped [default: by cause, as many as fit on a screen].",
    ),
    click.option("--statistics", is_flag=True, help="Show counts by rule instead of findings."),
    look_options,
)


def _names(decorator: Callable[[Any], Any]) -> frozenset[str]:
    """The names of the parameters that a decorator of options adds."""

    def nothing() -> None: ...

    decorated = decorator(nothing)
    return frozenset(p.name for p in decorated.__click_params__ if p.name)


_SECTIONS: Mapping[str, frozenset[str]] = {
    "What is read": _names(source_options),
    "Which applications": _names(selection_options),
    "Which findings are shown": _names(rule_options),
    "How it is looked at": _names(run_options) - {"workers", "shard"},
    "Who looks": _names(workers_option) | _names(scale_options) | {"shard"},
    "How it ends": _names(fail_options),
    "How it is shown": _names(output_options) | _names(state_option) | _names(history_option) | {"timings", "no_color"},
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
