"""Report formats: one `render(report, style) -> str` per module, and their names."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from argolint.engine.config import Metrics
from argolint.errors import ArgolintError, UsageError
from argolint.host.folder import FileError
from argolint.host.plain_text import harmless
from argolint.reports.document import (
    ForecastStep,
    Report,
    ReportedApp,
    ReportedEdit,
    ReportedFailure,
    ReportedFinding,
    ReportedFix,
    ReportedResource,
)
from argolint.sources import files
from argolint.sources.files import own_path
from argolint.sources.git import safe_name
from argolint.values import joined, plain

T = TypeVar("T")

FORMATS: Mapping[str, str] = {
    "text": "for people, in a terminal",
    "concise": "for people, one cause a block",
    "table": "for people, an application a line",
    "lines": "one finding a line: severity rule app object: message",
    "name": "the names of applications with findings",
    "json": "one versioned document, for programs",
    "markdown": "one comment on a pull request",
    "sarif": "SARIF 2.1.0, for code scanning",
    "junit": "JUnit XML, for test reports",
    "gitlab": "GitLab code quality",
    "github": "annotations of a GitHub workflow",
    "html": "one page to search and to share, offline",
    "openreports": "one OpenReports Report an application, as YAML",
    "prometheus": "metrics, for the textfile collector of Prometheus' node exporter",
}

_COMMANDS = frozenset({"github"})
"""Formats whose lines are commands for a CI's runner."""
_CARRY_ON = frozenset({"prometheus"})
"""Formats that look at the file that they replace."""
_MAX_REPLACED_BYTES = 100_000_000


@dataclass(frozen=True)
class Style:
    """How a report for people may look."""

    width: int = 100
    color: bool = False
    quiet: bool = False
    verbose: bool = False
    full: bool = False
    group_by: str = ""
    statistics: bool = False
    lines: int = 0
    """How many a first screen may have; 0 where no one reads a screen."""
    since: str = ""
    """What is new since the checks before, in a sentence."""
    again: str = ""
    """The command to type for another form of the same report, where it takes no options."""
    metrics: Metrics = field(default_factory=Metrics)
    replaces: str = ""
    """The text that is in the file now, for formats that carry something of it on."""

    @classmethod
    def for_terminal(
        cls,
        color: str,
        *,
        quiet: bool = False,
        verbose: bool = False,
        full: bool = False,
        group_by: str = "",
        statistics: bool = False,
    ) -> Style:
        """As the options say, else as the terminal is."""
        size = shutil.get_terminal_size((100, 24))
        return cls(
            size.columns,
            colored(color),
            quiet,
            verbose,
            full,
            group_by,
            statistics,
            max(SCREEN, size.lines) if sys.stdout.isatty() else SCREEN,
        )

    def for_file(self) -> Style:
        """The same report in a file: whole, in a usual width, without colours."""
        return replace(self, width=100, color=False, quiet=False, lines=0)


SCREEN = 45
"""Lines of a first screen: on most terminals, and in the log of a CI job."""


def colored(wish: str) -> bool:
    """Colour as --color says; else NO_COLOR and FORCE_COLOR count (no-color.org, force-color.org), then what the terminal can."""
    if wish != "auto" or os.environ.get("NO_COLOR"):
        return wish == "always"
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


@dataclass(frozen=True)
class Output:
    """A format and where it goes; no file means standard output."""

    format: str
    file: Path | None = None


def parse_outputs(texts: Sequence[str], configuration: Path | None = None) -> tuple[Output, ...]:
    """`text`, `json=report.json`; UsageError for an unknown format, a folder that is not there, two outputs in one place.

    Those of a `configuration` stay below the working directory: its author may not choose any file of the user's.
    """
    found: list[Output] = []
    for text in texts or ("text",):
        name, named, file = text.partition("=")
        if name not in FORMATS:
            raise UsageError(f"-o {text}: there is no format {name!r}", f"formats: {', '.join(FORMATS)}")
        if named and not file:
            raise UsageError(f"-o {text} names no file", f"-o {name}=FILE, or -o {name} for standard output")
        output = Output(name, Path(file) if file and file != "-" else None)
        if configuration is not None and output.file is not None and not _is_below(output.file):
            raise UsageError(
                f"{configuration}: output {text}: a configuration may name files below the working directory only",
                "name such a file, or pass -o on the command line",
            )
        if output.file is not None and not output.file.absolute().parent.is_dir():
            raise UsageError(f"-o {text}: the folder {output.file.parent} does not exist", "make it first")
        if output.file is not None and output.file.is_dir():
            raise UsageError(f"-o {text}: {output.file} is a directory", "name a file in it")
        if output.file is not None:
            own_path(output.file)  # refuses a link before anything is asked
        if any(_is_same_place(output.file, other.file) for other in found):
            raise UsageError(f"-o {text}: two reports cannot go to one place", "name a file: -o FORMAT=FILE")
        found.append(output)
    return tuple(found)


def _is_same_place(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None:
        return one is other
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _is_below(file: Path) -> bool:
    """True for a plain name or path below the working directory that leads through no link."""
    return safe_name(file.as_posix()) and not any(part.is_symlink() for part in (file, *file.parents))


def write(report: Report, outputs: Sequence[Output], style: Style) -> None:
    """Write every output that can be written, files first, and then raise what the first other one raised."""
    failed: ArgolintError | None = None
    for output in sorted(outputs, key=lambda o: o.file is None):
        try:
            text = render(report, output.format, style if output.file is None else _for_file(output, style))
            put(output.file, text, commands=output.format in _COMMANDS)
        except ArgolintError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _for_file(output: Output, style: Style) -> Style:
    replaces = ""
    if output.format in _CARRY_ON and output.file is not None:
        with contextlib.suppress(OSError, FileError):  # not there yet, or none of ours
            replaces = files.read_text(own_path(output.file), _MAX_REPLACED_BYTES)
    return replace(style.for_file(), replaces=replaces)


def put(file: Path | None, text: str, *, commands: bool = False) -> None:
    """Text to standard output, or to a file that is replaced whole or not at all (`files.write`).

    `commands` are meant for GitHub's runner.
    """
    if file is None:
        encoded = _encoded(text, sys.stdout.encoding or "utf-8")
        write = getattr(sys.stdout, "write_commands", sys.stdout.write) if commands else sys.stdout.write
        write(encoded)
        sys.stdout.flush()
        return
    files.write(file, text.encode("utf-8", "replace"))


_ASCII = str.maketrans({"·": "-", "…": "...", "✓": "ok", "→": "->", "—": "-"})


def _encoded(text: str, encoding: str) -> str:
    """The text in what a terminal without a locale can show: our own signs by others, everything else by a question mark."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def render(report: Report, name: str, style: Style) -> str:
    """One report in one format."""
    module = importlib.import_module(f"argolint.reports.formats.{name.replace('-', '_')}")
    given = report if name == "json" else with_server_names(shown(report))
    return harmless(str(module.render(given, style)), commands=name in _COMMANDS, colors=style.color)


def shown(node: T, clean: Callable[[str], str] = plain) -> T:
    """A report, or a part of one, in which every text is on one line and acts on nothing; what is to be pasted keeps its lines.

    Formats for people get this and need no care of their own. The JSON report keeps texts as they are: programs read it.
    """
    found: Any = node
    if isinstance(node, str):
        return cast(T, clean(node))
    if isinstance(node, msgspec.Struct):
        within = plain_lines if isinstance(node, ReportedEdit | ForecastStep) else clean
        values = {name: getattr(node, name) for name in node.__struct_fields__}
        cleaned = {name: shown(value, within) for name, value in values.items()}
        changed = {name: value for name, value in cleaned.items() if value is not values[name]}
        found = msgspec.structs.replace(node, **changed) if changed else node
    elif isinstance(node, tuple | list):
        parts = [shown(part, clean) for part in node]
        found = node if all(a is b for a, b in zip(parts, node, strict=True)) else type(node)(parts)
    elif isinstance(node, dict):
        found = {shown(key, clean): shown(value, clean) for key, value in node.items()}
    return cast(T, found)


class NamedApp(ReportedApp, frozen=True):
    """An application in a report of several Argo CDs, with the name that the user gave to its own."""

    server_name: str = ""


def with_server_names(report: Report) -> Report:
    """The same report; where it is about several Argo CDs, every application and every command says on which one it is."""
    names = {server.url: server.name for server in report.servers if server.name}
    if not names:
        return report
    findings = tuple(
        msgspec.structs.replace(f, fixes=tuple(_meant_for(fix, names[f.app.server]) for fix in f.fixes))
        if f.app.server in names
        and all(r.app.server == f.app.server for r in f.related)  # else the fix itself says where
        else f
        for f in report.findings
    )
    return with_names(msgspec.structs.replace(report, findings=findings), names)


def _meant_for(fix: ReportedFix, name: str) -> ReportedFix:
    """A command does its work where its tools point to, and another Argo CD may have an application of that name."""
    if fix.edit.kind != "command" and not fix.before:
        return fix
    return msgspec.structs.replace(fix, caveat=joined(fix.caveat, f"`argocd` and `kubectl` have to point to {name}"))


def with_names(node: T, names: Mapping[str, str]) -> T:
    """The same with each application as one of its Argo CD, which `names` has by its URL."""
    found: Any = node
    if isinstance(node, ReportedApp):
        values = {field: getattr(node, field) for field in ReportedApp.__struct_fields__}
        found = NamedApp(**values, server_name=names.get(node.server, ""))
    elif isinstance(node, msgspec.Struct):
        values = {field: with_names(getattr(node, field), names) for field in node.__struct_fields__}
        found = msgspec.structs.replace(node, **values)
    elif isinstance(node, tuple):
        found = tuple(with_names(part, names) for part in node)
    return cast(T, found)


def app_name(app: ReportedApp, *, namespace: bool = True) -> str:
    """`namespace/name`, as every command takes it; `server/namespace/name` in a report of several Argo CDs."""
    server = server_name(app)
    return plain((f"{server}/" if server else "") + (f"{app.namespace}/{app.name}" if namespace else app.name))


def server_name(app: ReportedApp) -> str:
    """What a report of several Argo CDs calls its own; empty in others."""
    return app.server_name if isinstance(app, NamedApp) else ""


def subject_of(failure: ReportedFailure) -> str:
    """What could not be looked at: an application, else the Argo CD where the report is about several."""
    return app_name(failure.app) if failure.app else plain(failure.server or "")


def link_of(finding: ReportedFinding) -> str:
    """What a link names: the fingerprint, and the server where there are several."""
    app = finding.app
    return f"{finding.fingerprint}@{app.server_name}" if isinstance(app, NamedApp) else finding.fingerprint


def mark_of(finding: ReportedFinding) -> str:
    """One text that follows a finding through reports: its fingerprint, hashed with its server where there are several."""
    if not isinstance(finding.app, NamedApp):
        return finding.fingerprint
    return hashlib.sha256(f"{finding.app.server}\0{finding.fingerprint}".encode()).hexdigest()[:32]


def resource_name(resource: ReportedResource) -> str:
    """`Kind namespace/name`, or `Kind name` for what has no namespace."""
    name = f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name
    return plain(f"{resource.kind} {name}")


def plain_lines(text: str) -> str:
    """Each line of a text as `plain` has it."""
    return "\n".join(map(plain, text.rstrip().split("\n"))) if "\n" in text else plain(text)


def place(finding: ReportedFinding) -> tuple[str, int]:
    """File and line for formats that demand them: the manifest, else the folder it is made from, else the application.

    Code scanning refuses a report of which one result has no file, so an application from a chart stands for itself.
    """
    source = finding.source
    if source and source.file:
        return source.file, source.line or 1
    if source and source.path.strip("./"):
        return source.path.removeprefix("./").strip("/"), 1
    return f"applications/{app_name(finding.app)}", 1


OUTSIDE = "this line is outside of the change"


def is_outside(finding: ReportedFinding) -> bool:
    """True for a line that the change under judgement leaves alone: a forge shows no mark there in its diff."""
    return finding.source is not None and finding.source.in_change is False


def line_of(finding: ReportedFinding) -> str:
    """`file:line` of a finding, with a word on lines outside of the change; empty where no line is known."""
    source = finding.source
    if source is None or not source.file:
        return ""
    return plain(f"{source.file}:{source.line or 1}") + (f" ({OUTSIDE})" if is_outside(finding) else "")
