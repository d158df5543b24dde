"""A clone of the repository, read through Git alone: never through its work tree, whose links and filters a change controls."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from argolint.errors import UsageError


@dataclass(frozen=True)
class Git:
    """A clone of the repository, bare or not. Raises UsageError when git or the clone cannot be used."""

    path: Path

    def is_clone(self) -> bool:
        """True inside a repository, bare or not; False where git is not installed."""
        try:
            return self._try("rev-parse", "--git-dir") is not None
        except UsageError:
            return False

    def changed_files(self, base: str, head: str) -> tuple[str, ...]:
        """Files that head changes since it left base, renames as both names."""
        text = self._run(
            "diff", "--name-only", "-z", "--no-renames", f"{self.commit(base)}...{self.commit(head)}", "--"
        )
        return tuple(name for name in text.split("\0") if name)

    def commit(self, revision: str) -> str:
        """The commit of a branch, tag or hash; a branch of the remote when there is no local one."""
        for name in (revision, f"origin/{revision}"):
            found = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            if found is not None:
                return found.strip()
        raise UsageError(
            f"{self.path} has no revision {revision!r}",
            "fetch it first: a shallow clone lacks the base (actions/checkout: `fetch-depth: 0`)",
        )

    def show(self, revision: str, file: str) -> str | None:
        """A file's text at a revision; None where it is not a file of it."""
        return self._try("show", "--end-of-options", f"{self.commit(revision)}:{file}")

    def files(self, revision: str, folder: str = "") -> tuple[str, ...]:
        """Every file below a folder at a revision; links are not followed."""
        text = self._try(
            "ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit(revision), "--", folder or "."
        )
        return tuple(name for name in (text or "").split("\0") if name)

    def _run(self, *arguments: str) -> str:
        found = self._try(*arguments)
        if found is None:
            raise UsageError(
                f"git {arguments[0]} failed in {self.path}", "pass --checkout DIR of a clone with both revisions"
            )
        return found

    def _try(self, *arguments: str) -> str | None:
        command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager", *arguments]
        if arguments[0] == "diff":
            command[7:7] = ["--no-ext-diff", "--no-textconv"]
        try:
            done = subprocess.run(command, cwd=self.path, capture_output=True, check=False)  # noqa: S603  # fixed program
        except OSError as error:
            raise UsageError(f"cannot run git in {self.path}: {error.strerror}", "check --checkout DIR") from None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
