"""The review of a branch of fixes: title and body of its pull request, and the commands of each forge. Nothing is run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from argolint.cli import fix_text
from argolint.errors import UsageError
from argolint.fixes.placement import Outcome
from argolint.host.folder import Folder
from argolint.reports import formats
from argolint.reports.formats.markdown import MARKER, code, text
from argolint.sources.checkout import Checkout
from argolint.sources.files import read_text
from argolint.values import plain, sh, shorten

Forge = Literal["github", "gitlab", "gitea", "bitbucket", "azure", "other"]
_HOSTS: tuple[tuple[str, Forge], ...] = (
    ("github", "github"),
    ("gitlab", "gitlab"),
    ("gitea", "gitea"),
    ("forgejo", "gitea"),
    ("codeberg", "gitea"),
    ("bitbucket", "bitbucket"),
    ("dev.azure.com", "azure"),
    ("visualstudio.com", "azure"),
)
_TITLE = 72
_NAME = "ARGOLINT_PULL_REQUEST.md"
_MAX_BYTES = 10_000_000


@dataclass(frozen=True)
class Opening:
    """A branch that is ready for review: its checkout, the target branch, and the file with title and text."""

    where: Checkout
    branch: str
    base: str
    file: Path

    @property
    def forge(self) -> Forge:
        return forge_of(sorted(self.where.urls))

    def lines(self) -> Iterator[str]:
        yield f"To open it for review, with the title and text in {plain(str(self.file))}:"
        yield from (f"  {line}" for line in commands(self.forge, self.branch, self.base, self.file, self.where))

    def as_json(self) -> dict[str, Any]:
        fix_text = list(commands(self.forge, self.branch, self.base, self.file, self.where))
        place = {"checkout": str(self.where.root), "file": str(self.file), "base": self.base}
        return {**place, "forge": self.forge, "commands": fix_text}


def forge_of(urls: Sequence[str]) -> Forge:
    """The forge, recognized by the host names in a clone's addresses; otherwise an unknown one."""
    hosts = [_host(url) for url in urls]
    return next((forge for word, forge in _HOSTS for host in hosts if word in host), "other")


def _host(url: str) -> str:
    if "://" in url:
        return (urlsplit(url).hostname or "").lower()
    before, colon, _ = url.partition(":")  # git@host:path
    return before.rpartition("@")[2].lower() if colon else url.partition("/")[0].lower()


def page(outcomes: Sequence[Outcome]) -> str:
    """Title on the first line, an empty line, and the body: what is wrong, what changes, whether it was verified, and what to check afterwards."""
    causes = fix_text.by_cause([o.choice for o in outcomes])
    first = causes[0][0]
    number = f" and {len(causes) - 1} more" if len(causes) > 1 else ""
    lines = [shorten(plain(f"{first.finding.rule}: {first.fix.title}"), _TITLE - len(number)) + number, "", MARKER, ""]
    for group in causes:
        of_group = [o for o in outcomes if o.choice in group]
        finding = group[0].finding
        named = finding.rule + (f"/{finding.cause}" if finding.cause else "")
        lines += [f"### {text(named)}", ""]
        for outcome in of_group:
            finding, fix = outcome.choice.finding, outcome.choice.fix
            lines += [
                f"- {code(fix_text.subject(finding))}: {text(plain(finding.message))}",
                f"  - {text(plain(fix.title))}",
            ]
            lines += [f"  - {text(line)}" for line in fix_text.doubts(fix)]
            lines += [f"  - in {code(plain(file))}" for _, file in outcome.files]
        lines.append("")
    lines += ["After it is merged and synced, see that the faults are gone:", "", "```sh"]
    return "\n".join((*lines, "argolint watch-fix REPORT.json", "```", ""))


def require_free(file: Path | None) -> None:
    """UsageError if the name that the user gave is taken by something else."""
    if file is not None and file.exists() and MARKER not in read_text(file, _MAX_BYTES)[:400]:
        raise UsageError(
            f"{file} is there already, and is no text of argolint", "name another with --pull-request FILE"
        )


def write(file: Path | None, text: str, where: Checkout) -> Path:
    """Write the file: to the user's path, else to Git's own folder outside of the work tree. Return its path."""
    if file is not None:
        formats.put(file, text)
        return file
    place = where.git.folder()
    with Folder.open(place) as folder:
        staged = folder.stage(_NAME, text.encode("utf-8", "replace"))
        try:
            staged.place()
        finally:
            staged.close()
    return place / _NAME


def commands(forge: Forge, branch: str, base: str, file: Path, where: Checkout) -> Iterator[str]:
    """The commands that push the branch and open it for review. They contain no text of a finding: the shell reads the file."""
    name, page = sh(branch), sh(str(file))
    push = f"git -C {sh(str(where.root))} push"
    title, body = f'"$(head -n 1 {page})"', f'"$(tail -n +3 {page})"'
    if forge == "github":
        yield f"{push} --set-upstream origin {name}"
        yield f"gh pr create --head {name} --base {sh(base)} --title {title} --body {body}"
    elif forge == "gitlab":
        options = f"-o merge_request.create -o merge_request.target={sh(base)} -o merge_request.title={title}"
        yield f"{push} {options} --set-upstream origin {name}"
        yield f"or: {push} --set-upstream origin {name}"
        yield f"    glab mr create --source-branch {name} --target-branch {sh(base)} --title {title} --description {body}"
    elif forge == "gitea":
        yield f"{push} origin {name}:{sh(f'refs/for/{base}')} -o topic={name} -o title={title}"
        yield f"or: {push} --set-upstream origin {name}"
        yield f"    tea pr create --head {name} --base {sh(base)} --title {title} --description {body}"
    elif forge == "azure":
        yield f"{push} --set-upstream origin {name}"
        yield f"az repos pr create --source-branch {name} --target-branch {sh(base)} --title {title} --description {body}"
    else:
        yield f"{push} --set-upstream origin {name}"
        yield f"then open {name} for review into {sh(base)}: {page} has the title on its first line, and the text below"
