"""A fix in a terminal: what to do, what it costs, and then what to paste, which is never wrapped."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.reports.document import ReportedFix
from argolint.reports.formats import Style
from argolint.reports.formats.edits import as_text, steps_before, told_effects, told_proof
from argolint.reports.formats.layout import paint, wrapped


def fix_lines(
    fix: ReportedFix, number: int, of: int, style: Style, indent: str = "           ", limit: int | None = None
) -> Iterator[str]:
    """Title and place, caveat, and the edit, unless it has more lines than `limit`: half of one is not to be pasted."""
    which = f"fix {number}: " if style.verbose and of > 1 else "fix: "
    checked = paint(f" ✓ {told_proof(fix)}", style, fg="green") if fix.verified else ""
    where = f" [{fix.where}]" if fix.where else ""
    yield from wrapped(
        paint(which, style, fg="green") + fix.title + where + checked, style, indent=indent, hang=indent + "  "
    )
    if fix.before:
        yield f"{indent}  first:"
        yield from (f"{indent}    {line}" for line in steps_before(fix))
    if fix.effects:
        yield from wrapped("note: " + told_effects(fix), style, indent=indent + "  ", hang=indent + "    ")
    if fix.caveat:
        yield from wrapped("caveat: " + fix.caveat, style, indent=indent + "  ", hang=indent + "    ")
    if fix.unverified and style.verbose and fix.verified is None:
        yield from wrapped("not verified: " + fix.unverified, style, indent=indent + "  ", hang=indent + "    ")
    paste = [line for text in as_text(fix.edit).splitlines() for line in _pasted(text, fix, style, indent + "    ")]
    if limit is None or len(paste) <= limit + 1:
        yield from paste
    else:
        yield paint(f"{indent}    … {len(paste)} lines with --full or -o json", style, dim=True)


def _pasted(line: str, fix: ReportedFix, style: Style, indent: str) -> list[str]:
    """A sentence is wrapped; what is there to be pasted, template code in advice as well, stays on its line."""
    prose = fix.edit.kind == "text" and "{{" not in line
    return wrapped(line, style, indent=indent) if prose else [indent + line]
