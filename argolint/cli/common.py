"""Options and steps that several commands share: which source, which applications, which rules, which outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import click

from argolint import __version__, reporters
from argolint.app import App
from argolint.engine import Chosen, Plan
from argolint.errors import UsageError
from argolint.model import SEVERITIES
from argolint.report import Report
from argolint.rule import Rule
from argolint.transport import Transport

F = TypeVar("F", bound=Callable[..., Any])


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator of several, in reading order."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


source_options = options(
    click.option(
        "--snapshot",
        "snapshots",
        multiple=True,
        metavar="PATH",
        help="Read a snapshot (directory, .tar.gz or .zip) in place of a server; repeated, later ones fill in what earlier ones lack.",
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
        "--select", multiple=True, metavar="WHAT", help="Only these rules: ids, families or severities (comma list)."
    ),
    click.option(
        "--ignore", multiple=True, metavar="WHAT", help="Not these rules: ids, families or severities (comma list)."
    ),
)

run_options = options(
    click.option("--deep", is_flag=True, help="Read the states of every application, also of those that look fine."),
    click.option(
        "--manifests", is_flag=True, help="Ask the server for rendered manifests (cached; costs the repo-server)."
    ),
    click.option(
        "-j", "--workers", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests in flight."
    ),
    click.option("--shard", metavar="I/N", help="Look at the I-th of N parts and write a shard for `argolint merge`."),
)

fail_options = options(
    click.option(
        "--fail-on",
        type=click.Choice([*reversed(SEVERITIES), "never"]),
        default=None,
        help="Exit 1 when a finding is at least this severe [default: error].",
    ),
    click.option("--allow-incomplete", is_flag=True, help="Do not exit 3 when something could not be looked at."),
)


def chosen_rules(rules: Mapping[str, Rule], select: Iterable[str], ignore: Iterable[str]) -> tuple[Rule, ...]:
    """The rules left by --select and --ignore. UsageError names a word that is no rule, family or severity."""
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

    def named(rule: Rule, words: Sequence[str]) -> bool:
        return any(word in (rule.id, rule.family, rule.severity) for word in words)

    return tuple(r for r in rules.values() if (not wanted or named(r, wanted)) and not named(r, unwanted))


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

    def takes(self, app: App) -> bool:
        return (
            (not self.names or any(self._named(app, n) for n in self.names))
            and (not self.projects or any(fnmatchcase(app.ref.project, p) for p in self.projects))
            and (not self.app_namespace or app.ref.namespace == self.app_namespace)
            and (not self.cluster or self._on_cluster(app))
            and (not self.repo or any(_same_repo(self.repo, str(s.get("repoURL") or "")) for s in app.sources))
            and (not self.selector or matches_selector(self.selector, app.raw.get("metadata", {}).get("labels") or {}))
        )

    @staticmethod
    def _named(app: App, name: str) -> bool:
        namespace, slash, bare = name.rpartition("/")
        return fnmatchcase(app.ref.name, bare) and (not slash or fnmatchcase(app.ref.namespace, namespace))

    def _on_cluster(self, app: App) -> bool:
        destination = app.spec.get("destination") or {}
        return self.cluster in (app.cluster, destination.get("server"), destination.get("name"))


def _same_repo(one: str, other: str) -> bool:
    def bare(url: str) -> str:
        return url.rstrip("/").removesuffix(".git").lower()

    return bare(one) == bare(other)


def matches_selector(selector: str, labels: Mapping[str, str]) -> bool:
    """Kubernetes' equality selectors: a=b, a==b, a!=b, a, !a, joined by commas."""
    for term in filter(None, (t.strip() for t in selector.split(","))):
        if "!=" in term:
            key, _, value = term.partition("!=")
            fits = labels.get(key.strip()) != value.strip()
        elif "=" in term:
            key, _, value = term.partition("=")
            fits = labels.get(key.strip()) == value.lstrip("=").strip()
        elif term.startswith("!"):
            fits = term[1:].strip() not in labels
        else:
            fits = term in labels
        if not fits:
            return False
    return True


def parse_shard(text: str | None) -> tuple[int, int]:
    """`2/3` as (2, 3); UsageError for anything else."""
    if text is None:
        return (1, 1)
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)):
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N", "for example --shard 1/3")
    return int(index), int(count)


class Clock:
    """Seconds since it was made, for the report's stats."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)


TOOL_VERSION = __version__


output_options = options(
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        metavar="FORMAT[=FILE]",
        help="Report format, to a file if named; repeatable [default: text].",
    ),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
    click.option("-q", "--quiet", is_flag=True, help="Only the summary line."),
    click.option("-v", "--verbose", is_flag=True, help="Evidence, every fix, related objects."),
)


def open_transport(given: Mapping[str, Any]) -> Transport:
    """The snapshot or server that the options name."""
    from argolint.snapshot import SnapshotTransport

    return SnapshotTransport([Path(p) for p in given["snapshots"]])


def make_plan(given: Mapping[str, Any], names: Sequence[str]) -> Plan:
    """What to look at and how, from the options."""
    from argolint.plugins import load_rules

    rules = chosen_rules(load_rules(), given["select"], given["ignore"])
    selection = Selection(
        tuple(names), given["projects"], given["selector"], given["app_namespace"], given["cluster"], given["repo"]
    )
    return Plan(
        tuple(Chosen(rule, rule.default_options) for rule in rules),
        selection.takes,
        workers=given["workers"],
        deep=given["deep"],
        manifests=given["manifests"],
        shard=parse_shard(given["shard"]),
    )


def check(names: Sequence[str], given: Mapping[str, Any]) -> int:
    """Run a check and write its outputs; returns the exit code."""
    from argolint import lint, report

    outputs = reporters.parse_outputs(given["outputs"])
    clock = Clock()
    t = open_transport(given)
    plan = make_plan(given, names)
    started_at = t.now()
    part = lint.collect(t, plan)
    outcome = lint.conclude(part, plan)
    stats = report.Stats(t.stats.requests, t.stats.bytes, clock.seconds)
    made = report.build(part.fleet, outcome, started_at=started_at, stats=stats, tool_version=TOOL_VERSION)
    reporters.write(made, outputs, reporters.Style.from_options(given))
    return exit_code(made, given["fail_on"] or "error", allow_incomplete=given["allow_incomplete"])


def exit_code(made: Report, fail_on: str, *, allow_incomplete: bool) -> int:
    """0 clean, 1 findings at or above `fail_on`, 3 incomplete; 3 before 1."""
    if not made.complete and not allow_incomplete:
        return 3
    if fail_on == "never":
        return 0
    bad = SEVERITIES[SEVERITIES.index(fail_on) :]
    return int(any(f.severity in bad and f.suppressed is None for f in made.findings))
