"""Which fixes may be written: what is proven, what is harmless, and what the user names all the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argolint.errors import UsageError
from argolint.fixes.site import Choice

_MARK_DIGITS = 7
"""Digits of a fingerprint that stand for all of it, as those of a commit do."""


def split(choices: Sequence[Choice], unverified: Sequence[str]) -> tuple[list[Choice], list[Choice]]:
    """Edits that are held back, and everything else: edits that may be written, and what is no edit anyway."""
    held: list[Choice] = []
    wanted: list[Choice] = []
    for choice in choices:
        free = choice.fix.edit.kind not in ("json-patch", "yaml") or _is_allowed(choice, unverified)
        (wanted if free else held).append(choice)
    return held, wanted


def _is_allowed(choice: Choice, unverified: Sequence[str]) -> bool:
    """A fix that needs a step first does harm without it: who names that very finding is taken to have done it."""
    finding, fix = choice.finding, choice.fix
    if any(_is_mark(word, finding.fingerprint) for word in unverified):
        return True
    named = not fix.before and any(word in ("all", finding.rule) for word in unverified)
    return fix.verified is True or fix.safe or named


def require_known(unverified: Iterable[str], choices: Sequence[Choice], rules: Iterable[str]) -> None:
    """UsageError for a word that stands for nothing: a typo would leave out what was meant."""
    known = {"all", *rules, *(c.finding.rule for c in choices)}
    for word in unverified:
        if word not in known and not any(_is_mark(word, c.finding.fingerprint) for c in choices):
            raise UsageError(
                f"--unverified {word}: there is no rule and no finding of this name",
                "`all`, a rule's id, or the first digits of a finding's fingerprint (-o json shows them)",
            )


def _is_mark(word: str, fingerprint: str) -> bool:
    return len(word) >= _MARK_DIGITS and fingerprint.startswith(word)
