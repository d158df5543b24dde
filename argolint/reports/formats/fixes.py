"""A fix in a terminal: what to do, what it costs, then the text to paste, of which only the sentences are wrapped."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.redaction import HIDDEN
from argolint.reports.document import ReportedFix
from argolint.reports.formats import Style
from argolint.reports.formats.edits import as_text, effects_text, proof_text, steps_before
from argolint.reports.formats.layout import elided, paint, wrapped
from argolint.values.patterns import regex


def fix_lines(
    fix: ReportedFix,
    number: int,
    of: int,
    style: Style,
    indent: str = "           ",
    limit: int | None = None,
    above: str = "",
) -> Iterator[str]:
    """Title, place, caveat and edit. An edit with more than `limit` lines is left out: half of one must not be pasted.

    `above` is the finding that has shown this very fix before: a long edit is not repeated.
    """
    which = f"fix {number}: " if style.verbose and of > 1 else "fix: "
    checked = paint(f" ✓ {proof_text(fix)}", style, fg="green") if fix.verified else ""
    where = f" [{fix.where}]" if fix.where else ""
    title = fix.title if limit is None else elided(fix.title + where, style)
    yield from wrapped(
        paint(which, style, fg="green") + title + (where if limit is None else "") + checked,
        style,
        indent=indent,
        hang=indent + "  ",
    )
    if fix.effects:
        yield from wrapped("effects: " + effects_text(fix), style, indent=indent + "  ", hang=indent + "    ")
    if fix.caveat:
        yield from wrapped("caveat: " + fix.caveat, style, indent=indent + "  ", hang=indent + "    ")
    if style.verbose and (why := why_unverified(fix)):
        yield from wrapped(f"not verified: {why}", style, indent=indent + "  ", hang=indent + "    ")
    if is_masked(fix):
        yield from wrapped(f"by hand: {MASKED}", style, indent=indent + "  ", hang=indent + "    ")
        return
    paste = [line for text in as_text(fix.edit).splitlines() for line in _pasted(text, fix, style, indent + "    ")]
    if above and len(paste) > _REPEATED:
        yield from wrapped(f"… as above, of {above}", style, indent=indent + "    ")
    elif limit is None or len(paste) <= limit + 1:
        if fix.before:
            yield f"{indent}  first:"
            yield from (f"{indent}    {line}" for line in steps_before(fix))
        yield from paste
    else:
        yield paint(f"{indent}    … {len(paste)} lines with --full or -o json", style, dim=True)


_REPEATED = 3
"""Most lines of an edit that are shown again."""
MASKED = "its command holds a value that is hidden here, so there is none to paste"


def is_masked(fix: ReportedFix) -> bool:
    """True for a command with a masked part: it would write the mask."""
    return fix.edit.kind == "command" and HIDDEN in str(fix.edit.content)


def why_unverified(fix: ReportedFix) -> str:
    """Why a fix is not verified; empty for commands and advice, which no replay shows."""
    return fix.unverified if fix.verified is None and fix.edit.kind not in ("command", "text") else ""


def _pasted(line: str, fix: ReportedFix, style: Style, indent: str) -> list[str]:
    """The lines of the edit: sentences are wrapped, also those in the comments of a command; text to paste, such as template code in advice, stays on its line."""
    if "{{" in line:
        return [indent + line]
    if fix.edit.kind == "command" and _SENTENCE.match(line):
        return wrapped(line, style, indent=indent, hang=f"{indent}# ")
    return wrapped(line, style, indent=indent) if fix.edit.kind == "text" else [indent + line]


_SENTENCE = regex(r"# (?:\d\. )?[A-Z]")
"""A comment in words; a command that is commented out begins with a small letter."""
