"""A version in the tree: the valid versions, and the files with it."""

from __future__ import annotations

import re
from pathlib import Path

from scripts import knowledge
from scripts.release.names import Names, Refused

UNRELEASED = "## [Unreleased]"
LISTS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
# The places of the version: file, pattern with the version as its second group.
_SAID = (
    ("argolint/__init__.py", r'^(__version__ = ")([^"]+)(")'),
    ("deploy/helm/argolint/Chart.yaml", r"^(version: )(\S+)()"),
    ("deploy/helm/argolint/Chart.yaml", r"^(appVersion: )(\S+)()"),
    ("docs/gate.md", r"^(  rev: v)(\S+)()"),
    ("docs/ci/github.md", r"(@v)(\d+\.\d+\.\d+)()"),
    ("docs/ci/argo-workflows.md", r"(image: \S+:)(\d+\.\d+\.\d+)()"),
    ("docs/ci/gitlab.md", r"(/gate@v)(\d+\.\d+\.\d+)()"),
    ("docs/ci/tekton.md", r"(image: \S+:)(\d+\.\d+\.\d+)()"),
    ("templates/github-workflow.yml", r"(@v)(\d+\.\d+\.\d+)()"),
)


def checked(version: str) -> str:
    """A version that is valid for Python's index, a chart and a tag."""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise Refused(f"{version!r} is no version", "it has three numbers: make release VERSION=1.2.3")
    return version


def cut(changelog: str, version: str, date: str) -> tuple[str, str]:
    """The changelog with [Unreleased] as the section of this version, and that section's text for the release notes."""
    if re.search(rf"^## \[?{re.escape(version)}\]?(\s|$)", changelog, re.MULTILINE):
        raise Refused(
            f"CHANGELOG.md has a section {version} already", "a released version is never made again: take the next"
        )
    before, found, after = changelog.partition(f"{UNRELEASED}\n")
    if not found:
        raise Refused(f"CHANGELOG.md has no section {UNRELEASED.removeprefix('## ')}", "write what users get into one")
    end = re.search(r"^## ", after, re.MULTILINE)
    section, rest = (after[: end.start()], after[end.start() :]) if end else (after, "")
    notes = _without_empty_lists(section).strip()
    if not notes:
        raise Refused("CHANGELOG.md says nothing under [Unreleased]", "a release without news is none")
    made = f"{before}{UNRELEASED}\n\n## [{version}] - {date}\n\n{notes}\n"
    return made + (f"\n{rest}" if rest else ""), notes + "\n"


def _without_empty_lists(section: str) -> str:
    parts = re.split(r"^(?=### )", section, flags=re.MULTILINE)
    return "".join(p for p in parts if not p.startswith("### ") or p.partition("\n")[2].strip())


def said(root: Path) -> dict[str, str]:
    """The version in the tree, by file."""
    found = {}
    for name, pattern in _SAID:
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if match is None:
            raise Refused(f"{name} says no version as {pattern}", "scripts/release/version.py lists where it is said")
        found[f"{name}: {match[1].strip()}"] = match[2]
    return found


def stamp(root: Path, version: str, names: Names) -> None:
    """Write the version into all its places, and the image into the chart if its name is registered."""
    said(root)
    for name, pattern in _SAID:
        file = root / name
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(pattern, lambda m: f"{m[1]}{version}{m[3]}", text, flags=re.MULTILINE), encoding="utf-8")
    known = root / "argolint/values/knowledge.py"
    text = known.read_text(encoding="utf-8")
    known.write_text(knowledge.stamped(text, knowledge.last_change(root)), encoding="utf-8")
    if names.published:
        values = root / "deploy/helm/argolint/values.yaml"
        text = values.read_text(encoding="utf-8")
        values.write_text(
            re.sub(r'^(  repository: )"".*$', rf"\g<1>{names.image}", text, count=1, flags=re.MULTILINE),
            encoding="utf-8",
        )
