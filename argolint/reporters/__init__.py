"""Report formats: one `render(report, style) -> str` per module, and their names."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argolint import files
from argolint.errors import UsageError
from argolint.files import own_path
from argolint.git import safe_name
from argolint.report import App, Finding, Report, Resource
from argolint.values import plain

FORMATS: Mapping[str, str] = {
    "text": "for people, in a terminal",
    "json": "one versioned document, for programs",
    "markdown": "one comment on a pull request",
    "sarif": "SARIF 2.1.0, for code scanning",
    "junit": "JUnit XML, for test reports",
    "gitlab": "GitLab code quality",
    "github": "annotations of a GitHub workflow",
}


@dataclass(frozen=True)
class Style:
    """How a report for people may look."""

    width: int = 100
    color: bool = False
    quiet: bool = False
    verbose: bool = False

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Style:
        """Colour as --color says, else on a terminal unless NO_COLOR is set (no-color.org)."""
        wish = given["color"]
        on = wish == "always" or (wish == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
        return cls(shutil.get_terminal_size((100, 24)).columns, on, given["quiet"], given["verbose"])


@dataclass(frozen=True)
class Output:
    """A format and where it goes; no file means standard output."""

    format: str
    file: Path | None = None


def parse_outputs(texts: Sequence[str], configuration: Path | None = None) -> tuple[Output, ...]:
    """`text`, `json=report.json`; UsageError for an unknown format, a folder that is not there, two outputs in one place.

    Those of a `configuration` stay below the working directory: whoever wrote it may not choose any file of the user's.
    """
    found: list[Output] = []
    for text in texts or ("text",):
        name, named, file = text.partition("=")
        if name not in FORMATS:
            raise UsageError(f"-o {text}: there is no format {name!r}", f"formats: {', '.join(FORMATS)}")
        if named and not file:
            raise UsageError(f"-o {text} names no file", f"-o {name}=FILE, or -o {name} for standard output")
        output = Output(name, Path(file) if file else None)
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
        if output.file in [o.file for o in found]:
            raise UsageError(f"-o {text}: two reports cannot go to one place", "name a file: -o FORMAT=FILE")
        found.append(output)
    return tuple(found)


def _is_below(file: Path) -> bool:
    """True for a plain name or path below the working directory that leads through no link."""
    return safe_name(file.as_posix()) and not any(part.is_symlink() for part in (file, *file.parents))


def write(report: Report, outputs: Sequence[Output], style: Style) -> None:
    """Write every output."""
    for output in outputs:
        put(output.file, render(report, output.format, style if output.file is None else Style(verbose=True)))


def put(file: Path | None, text: str) -> None:
    """Text to standard output, or to a file that is replaced whole or not at all (`files.write`)."""
    if file is None:
        sys.stdout.write(text.encode(sys.stdout.encoding or "utf-8", "replace").decode(sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()
        return
    files.write(file, text.encode("utf-8", "replace"))


def render(report: Report, name: str, style: Style) -> str:
    """One report in one format."""
    module = importlib.import_module(f"argolint.reporters.{name.replace('-', '_')}")
    return str(module.render(report, style))


def app_name(app: App) -> str:
    """`namespace/name`, as every command takes it."""
    return plain(f"{app.namespace}/{app.name}")


def resource_name(resource: Resource) -> str:
    """`Kind namespace/name`, or `Kind name` for what has no namespace."""
    name = f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name
    return plain(f"{resource.kind} {name}")


def plain_lines(text: str) -> str:
    """Text without control characters but for its line ends."""
    return "\n".join(plain(line) for line in text.rstrip().splitlines())


def place(finding: Finding) -> tuple[str, int]:
    """File and line for formats that demand them: the manifest, else the folder it is made from, else the application.

    Code scanning refuses a report of which one result has no file, so an application from a chart stands for itself.
    """
    source = finding.source
    if source and source.file:
        return plain(source.file), source.line or 1
    if source and source.path.strip("./"):
        return plain(source.path).removeprefix("./").strip("/"), 1
    return f"applications/{app_name(finding.app)}", 1
