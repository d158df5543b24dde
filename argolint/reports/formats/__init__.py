"""Report formats: one `render(report, style)` per module, which returns the text or its parts, and their names."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""Formats whose lines are commands for a CI runner."""
_CARRY_ON = frozenset({"prometheus"})
"""Formats that read the file that they replace."""
_MAX_REPLACED_BYTES = 100_000_000


@dataclass(frozen=True)
class Style:
    """Options for the look of a report for people."""

    width: int = 100
    color: bool = False
    quiet: bool = False
    verbose: bool = False
    full: bool = False
    group_by: str = ""
    statistics: bool = False
    lines: int = 0
    """Most lines of the first screen; 0 for output without a screen."""
    since: str = ""
    """A sentence: what is new since the previous check."""
    again: str = ""
    """The command that prints the report in another form, for commands without such options."""
    snapshots: tuple[str, ...] = ()
    """What was read in place of a server: a command to go on with reads it too."""
    metrics: Metrics = field(default_factory=Metrics)
    replaces: str = ""
    """The previous content of the file, for formats that keep some of it."""

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
        """The style from the options; the terminal decides the rest."""
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
        """The same style for a file: everything, in a usual width, without colours."""
        return replace(self, width=100, color=False, quiet=False, lines=0)


SCREEN = 45
"""Lines of a first screen: this many fit most terminals and the log of a CI job."""


def colored(wish: str) -> bool:
    """Whether to use colour: --color decides, then NO_COLOR and FORCE_COLOR (no-color.org, force-color.org), then the terminal."""
    if wish != "auto" or os.environ.get("NO_COLOR"):
        return wish == "always"
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


@dataclass(frozen=True)
class Output:
    """A format and its file; no file means standard output."""

    format: str
    file: Path | None = None


def parse_outputs(texts: Sequence[str], configuration: Path | None = None) -> tuple[Output, ...]:
    """Outputs from texts such as `text` or `json=report.json`. UsageError for an unknown format, a missing folder, or two outputs to one place.

    Files that a `configuration` names must be below the working directory: its author must not choose other files of the user.
    """
    found: list[Output] = []
    for text in texts or ("text",):
        said = f"{configuration}: output {text}" if configuration is not None else f"-o {text}"
        name, named, file = text.partition("=")
        if name not in FORMATS:
            raise UsageError(f"{said}: there is no format {name!r}", f"formats: {', '.join(FORMATS)}")
        if named and not file:
            raise UsageError(f"{said} names no file", f"{name}=FILE, or {name} for standard output")
        output = Output(name, Path(file) if file and file != "-" else None)
        if configuration is not None and output.file is not None and not _is_below(output.file):
            raise UsageError(
                f"{said}: a configuration may name files below the working directory only",
                "name such a file, or pass -o on the command line",
            )
        if output.file is not None and not output.file.absolute().parent.is_dir():
            raise UsageError(f"{said}: the folder {output.file.parent} does not exist", "make it first")
        if output.file is not None and output.file.is_dir():
            raise UsageError(f"{said}: {output.file} is a directory", "name a file in it")
        if output.file is not None:
            own_path(output.file)  # refuses a symbolic link before the first request
        if any(_is_same_place(output.file, other.file) for other in found):
            raise UsageError(f"{said}: two reports cannot go to one place", "name a file: FORMAT=FILE")
        found.append(output)
    return tuple(found)


def _is_same_place(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None:
        return one is other
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(one) == os.path.realpath(other)


def _is_below(file: Path) -> bool:
    """True for a path below the working directory without symbolic links."""
    return safe_name(file.as_posix()) and not any(part.is_symlink() for part in (file, *file.parents))


def write(report: Report, outputs: Sequence[Output], style: Style) -> None:
    """Write all outputs, files first; if some fail, raise the error of the first one after the others are written."""
    failed: ArgolintError | None = None
    for output in sorted(outputs, key=lambda o: o.file is None):
        try:
            parts = rendered(report, output.format, style if output.file is None else _for_file(output, style))
            put(output.file, parts, commands=output.format in _COMMANDS)
        except ArgolintError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _for_file(output: Output, style: Style) -> Style:
    replaces = ""
    if output.format in _CARRY_ON and output.file is not None:
        with contextlib.suppress(OSError, FileError):  # not there yet, or not from argolint
            replaces = files.read_text(own_path(output.file), _MAX_REPLACED_BYTES)
    return replace(style.for_file(), replaces=replaces)


def put(file: Path | None, text: str | Iterable[str], *, commands: bool = False) -> None:
    """Write a text, or its parts, to standard output, or replace a file atomically (`files.write`).

    `commands`: the lines are workflow commands for GitHub's runner.
    """
    parts = (text,) if isinstance(text, str) else text
    if file is None:
        write = getattr(sys.stdout, "write_commands", sys.stdout.write) if commands else sys.stdout.write
        for part in parts:
            write(_encoded(part, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()
        return
    files.write(file, (part.encode("utf-8", "replace") for part in parts))


_ASCII = str.maketrans({"·": "-", "…": "...", "✓": "ok", "→": "->", "—": "-"})


def _encoded(text: str, encoding: str) -> str:
    """The text in the encoding of the terminal: our own symbols get ASCII forms, other unsupported characters become question marks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def render(report: Report, name: str, style: Style) -> str:
    """One report in one format."""
    return "".join(rendered(report, name, style))


def rendered(report: Report, name: str, style: Style) -> Iterator[str]:
    """The parts of one report in one format, each of whole lines."""
    module = importlib.import_module(f"argolint.reports.formats.{name.replace('-', '_')}")
    given = report if name == "json" else with_server_names(for_people(report))
    made = module.render(given, style)
    for part in (made,) if isinstance(made, str) else made:
        yield harmless(part, commands=name in _COMMANDS, colors=style.color)


def for_people(node: T, clean: Callable[[str], str] = plain) -> T:
    """A copy of a report, or of a part, for people: each text is on one line and has no control characters; text to paste keeps its lines.

    Formats for people receive this copy. The JSON report keeps the texts as they are, for programs.
    """
    found: Any = node
    if isinstance(node, str):
        return cast(T, clean(node))
    if isinstance(node, msgspec.Struct):
        within = plain_lines if isinstance(node, ReportedEdit | ForecastStep) else clean
        values = {name: getattr(node, name) for name in node.__struct_fields__}
        cleaned = {name: for_people(value, within) for name, value in values.items()}
        changed = {name: value for name, value in cleaned.items() if value is not values[name]}
        found = msgspec.structs.replace(node, **changed) if changed else node
    elif isinstance(node, tuple | list):
        parts = [for_people(part, clean) for part in node]
        found = node if all(a is b for a, b in zip(parts, node, strict=True)) else type(node)(parts)
    elif isinstance(node, dict):
        found = {for_people(key, clean): for_people(value, clean) for key, value in node.items()}
    return cast(T, found)


class NamedApp(ReportedApp, frozen=True):
    """An application in a report of several Argo CDs, with the user's name for its Argo CD."""

    server_name: str = ""


def with_server_names(report: Report) -> Report:
    """The report; if it has several Argo CDs, each application and command names its Argo CD."""
    names = {server.url: server.name for server in report.servers if server.name}
    if not names:
        return report
    findings = tuple(
        msgspec.structs.replace(f, fixes=tuple(_meant_for(fix, names[f.app.server]) for fix in f.fixes))
        if f.app.server in names
        and all(r.app.server == f.app.server for r in f.related)  # otherwise the fix itself names the Argo CD
        else f
        for f in report.findings
    )
    return with_names(msgspec.structs.replace(report, findings=findings), names)


def _meant_for(fix: ReportedFix, name: str) -> ReportedFix:
    """The fix with a caveat that names the Argo CD: its command acts on the current context, and another Argo CD may have an application of that name."""
    if fix.edit.kind != "command" and not fix.before:
        return fix
    return msgspec.structs.replace(fix, caveat=joined(fix.caveat, f"`argocd` and `kubectl` have to point to {name}"))


def with_names(node: T, names: Mapping[str, str]) -> T:
    """A copy in which each application has the name of its Argo CD; `names` is keyed by URL."""
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
    """`namespace/name`, as commands accept it; `server/namespace/name` in a report of several Argo CDs."""
    server = server_name(app)
    return plain((f"{server}/" if server else "") + (f"{app.namespace}/{app.name}" if namespace else app.name))


def server_name(app: ReportedApp) -> str:
    """The name of the application's Argo CD in a report of several; otherwise empty."""
    return app.server_name if isinstance(app, NamedApp) else ""


def subject_of(failure: ReportedFailure) -> str:
    """The subject of a failure: an application, or in a report of several Argo CDs the Argo CD."""
    return app_name(failure.app) if failure.app else plain(failure.server or "")


def link_of(finding: ReportedFinding) -> str:
    """The target of a link: the fingerprint, with the server in a report of several."""
    app = finding.app
    return f"{finding.fingerprint}@{app.server_name}" if isinstance(app, NamedApp) else finding.fingerprint


def mark_of(finding: ReportedFinding) -> str:
    """An id that follows a finding through reports: the fingerprint, hashed with the server in a report of several."""
    if not isinstance(finding.app, NamedApp):
        return finding.fingerprint
    return hashlib.sha256(f"{finding.app.server}\0{finding.fingerprint}".encode()).hexdigest()[:32]


def resource_name(resource: ReportedResource) -> str:
    """`Kind namespace/name`, or `Kind name` for an object without a namespace."""
    name = f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name
    return plain(f"{resource.kind} {name}")


def plain_lines(text: str) -> str:
    """The text with `plain` applied to each line."""
    return "\n".join(map(plain, text.rstrip().split("\n"))) if "\n" in text else plain(text)


def place(finding: ReportedFinding) -> tuple[str, int]:
    """File and line for formats that require them: the manifest, else the folder of the source, else a made-up file for the application.

    Code scanning refuses a report in which one result has no file.
    """
    source = finding.source
    if source and source.file:
        return source.file, source.line or 1
    if source and source.path.strip("./"):
        return source.path.removeprefix("./").strip("/"), 1
    return f"applications/{app_name(finding.app)}", 1


OUTSIDE = "this line is outside of the change"


def is_outside(finding: ReportedFinding) -> bool:
    """True for a line that the change does not edit: a forge shows no mark there in its diff."""
    return finding.source is not None and finding.source.in_change is False


def line_of(finding: ReportedFinding) -> str:
    """`file:line` of a finding, with a note if the change does not edit the line; empty if the line is not known."""
    source = finding.source
    if source is None or not source.file:
        return ""
    return plain(f"{source.file}:{source.line or 1}") + (f" ({OUTSIDE})" if is_outside(finding) else "")
