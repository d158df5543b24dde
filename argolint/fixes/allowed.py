"""Selects the fixes that may be written: verified ones, harmless ones, and those that the user names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from argolint.application.rule import Rule
from argolint.errors import UsageError
from argolint.fixes.site import Choice

_MARK_DIGITS = 7
"""Digits of a fingerprint that identify it, as for a commit."""


def without_known_causes(
    choices: Sequence[Choice], rules: Mapping[str, Rule], named: Container[str], *, infos: bool
) -> tuple[list[tuple[Choice, str]], list[Choice]]:
    """Edits that a write leaves alone, each with the reason, and everything else. Left alone are infos (unless `infos`) and faults that
    someone stated on purpose. `named`: rules that the user names; their edits are written.
    """
    left: list[tuple[Choice, str]] = []
    others: list[Choice] = []
    for choice in choices:
        finding = choice.finding
        rule = rules.get(finding.rule)
        why = ""
        if finding.rule not in named and choice.fix.edit.kind in ("json-patch", "yaml"):
            if rule is not None and rule.intent:
                why = "it is stated on purpose"
            elif finding.severity == "info" and not infos:
                why = "it only informs"
        if why:
            left.append((choice, why))
        else:
            others.append(choice)
    return left, others


def split(choices: Sequence[Choice], unverified: Sequence[str]) -> tuple[list[Choice], list[Choice]]:
    """Edits that are held back, and everything else: edits that may be written, and fixes that are no edit."""
    held: list[Choice] = []
    wanted: list[Choice] = []
    for choice in choices:
        free = choice.fix.edit.kind not in ("json-patch", "yaml") or _is_allowed(choice, unverified)
        (wanted if free else held).append(choice)
    return held, wanted


def _is_allowed(choice: Choice, unverified: Sequence[str]) -> bool:
    """Whether the edit may be written. A fix that needs a step first does harm without it: the user confirms the step by naming that finding."""
    finding, fix = choice.finding, choice.fix
    if is_named(choice, unverified):
        return True
    named = any(word in ("all", finding.rule) for word in unverified)
    return not fix.before and (fix.verified is True or fix.safe or named)


def is_named(choice: Choice, words: Iterable[str]) -> bool:
    """True if one of the words is the beginning of that finding's fingerprint."""
    return any(_is_mark(word, choice.finding.fingerprint) for word in words)


def require_known(unverified: Iterable[str], choices: Sequence[Choice], rules: Iterable[str]) -> None:
    """UsageError for a word that matches no finding or rule: a typo would leave out the intended ones."""
    known = {"all", *rules, *(c.finding.rule for c in choices)}
    for word in unverified:
        if word not in known and not any(_is_mark(word, c.finding.fingerprint) for c in choices):
            raise UsageError(
                f"--unverified {word}: there is no rule and no finding of this name",
                "`all`, a rule's id, or the first digits of a finding's fingerprint (-o json shows them)",
            )


def _is_mark(word: str, fingerprint: str) -> bool:
    return len(word) >= _MARK_DIGITS and fingerprint.startswith(word)
