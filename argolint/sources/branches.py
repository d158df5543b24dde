"""Commits fixes to a new branch by writing Git objects: work tree, index and current branch stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from argolint.errors import ArgolintError, UsageError
from argolint.quick.records import dataclass
from argolint.sources.checkout import Checkout, Committed
from argolint.sources.git import Git


@dataclass(frozen=True)
class Step:
    """One commit: the new texts of the files that it changes, and its message."""

    texts: Mapping[str, str]
    message: str


def at_head(checkouts: Sequence[Checkout], name: str) -> tuple[Committed, ...]:
    """The checkouts at their last commits. UsageError if one cannot have a new branch of this name."""
    for checkout in checkouts:
        checkout.git.require_new_branch(name)
    return tuple(Committed(c.root, c.urls, revision=c.git.commit("HEAD")) for c in checkouts)


def write(steps: Mapping[Committed, Sequence[Step]], name: str, environ: Mapping[str, str], home: Path) -> None:
    """Create the branch in every checkout that has steps, or in none. UsageError if git knows no author."""
    tips = {}
    for checkout, commits in steps.items():
        author = _author(checkout.git, environ, home)
        tip = checkout.revision
        for step in commits:
            contents = {file: text.encode("utf-8") for file, text in step.texts.items()}
            tip = checkout.git.commit_files(tip, contents, step.message, author)
        if commits:
            tips[checkout] = tip
    made: list[tuple[Git, str]] = []
    try:
        for checkout, tip in tips.items():
            checkout.git.make_branch(name, tip)
            made.append((checkout.git, tip))
    except ArgolintError:
        for git, tip in made:
            git.drop_branch(name, tip)
        raise


def _author(git: Git, environ: Mapping[str, str], home: Path) -> tuple[str, str]:
    """The author of the commits, from the environment, the clone or the user's own configuration."""
    own = (Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config", home / ".gitconfig")

    def found(variable: str, setting: str) -> str:
        named = environ.get(variable, "").strip() or git.setting(setting)
        for file in reversed(own):
            named = named or (git.setting(setting, file) if file.is_file() else "")
        return " ".join(named.replace("<", "").replace(">", "").split())

    name, mail = found("GIT_AUTHOR_NAME", "user.name"), found("GIT_AUTHOR_EMAIL", "user.email")
    if not (name and mail):
        raise UsageError(
            f"git knows no author for commits in {git.path}", "git config user.name NAME; git config user.email MAIL"
        )
    return name, mail
