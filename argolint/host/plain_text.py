"""Makes text harmless: for a terminal, for a reader's eyes, and for the runner of a CI job.

Names, messages and values are foreign. Control characters move a terminal's cursor, invisible ones hide or reorder text (bidi), a line that
begins with `::name` is a command for GitHub's runner, and `##[`, `##vso[`, `##teamcity[` anywhere are commands for others. Each is replaced
by its character number.

    plain      at the source: one line for a message, a name, a value
    harmless   on output: whole texts, in case something was missed; JSON stays equivalent
    Stream     the output filter for standard output and standard error
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO, Any

_FORMAT = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
"""Unicode's format characters and line separators (Cf, Zl, Zp), and unassigned ones among them."""
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\U000e0100-\U000e01ef"
"""Invisible letters and marks: fillers of Hangul, joiners, the selectors that can smuggle text."""
_UNSEEN = re.compile(f"[\x00-\x1f\x7f-\x9f{_FORMAT}{_BLANK}\ud800-\udfff]")
_NOT_LINES = re.compile(f"\x1b\\[(?:0|[12]|3[0-7]|9[0-7])m|[\x00-\x08\x0b-\x1f\x7f-\x9f{_FORMAT}{_BLANK}\ud800-\udfff]")
_LOGGING = re.compile(r"#(?=#\w{0,20}\[)")
_BLOCK = 1 << 16
_COMMAND = re.compile(r"^(\s*):(?=:[A-Za-z])", re.MULTILINE)


def plain(text: str) -> str:
    """The text on one line, without control or invisible characters: a manifest must not control the terminal."""
    if _is_plain(text) and "##" not in text:
        return text  # nearly every text
    return _LOGGING.sub(_number, _UNSEEN.sub(_one_line, text))


def _is_plain(line: str) -> bool:
    return line.isascii() and line.isprintable()


def _one_line(found: re.Match[str]) -> str:
    return " " if found[0] in "\n\t\r" else _number(found)


def _number(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def harmless(text: str, *, commands: bool = False, colors: bool = False) -> str:
    """A whole text with its lines, without control or invisible characters; `commands` and `colors` allow these.

    Replacements have JSON's form (`\\u202e`), so that JSON stays equivalent.
    """
    shown = _colored if colors else _escaped
    text = "".join(_lines_shown(block, shown) for block in _blocks(text))
    text = _LOGGING.sub(r"\\u0023", text)
    return text if commands or "::" not in text else _COMMAND.sub(r"\1\\u003a", text)


def _blocks(text: str) -> Iterator[str]:
    """The text in blocks of whole lines: a report has a million of them, and separate texts take three times its memory."""
    at = 0
    while at < len(text):
        end = text.find("\n", at + _BLOCK) + 1 or len(text)
        yield text[at:end]
        at = end


def _lines_shown(block: str, shown: Callable[[re.Match[str]], str]) -> str:
    """Plain blocks are tested and not searched: that costs a third, and nearly all are plain."""
    if _is_plain(block.replace("\n", "")):
        return block
    return "\n".join(line if _is_plain(line) else _NOT_LINES.sub(shown, line) for line in block.split("\n"))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for c in found[0] for unit in _units(c))


def _colored(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else _escaped(found)


def _units(character: str) -> list[int]:
    """The character in UTF-16 units, as in JSON's escapes."""
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


class Stream:
    """A stream that makes its text harmless; our own colours and progress line pass."""

    def __init__(self, behind: IO[str]) -> None:
        self._behind = behind
        self._begins = True
        """True while only blanks were written since the last line end."""

    def write(self, text: str) -> int:
        self._write(text, commands=False)
        return len(text)

    def write_commands(self, text: str) -> None:
        """Write text whose `::` lines are intended commands for GitHub's runner."""
        self._write(text, commands=True)

    def _write(self, text: str, *, commands: bool) -> None:
        back = text.startswith("\r")
        shown = harmless(text[back:], commands=commands, colors=True)
        if not self._begins and not commands:  # the first line continues an earlier one
            first, end, rest = text[back:].partition("\n")
            shown = harmless(first, commands=True, colors=True) + end + harmless(rest, colors=True)
        self._begins = not shown.rpartition("\n")[2].strip() and ("\n" in shown or self._begins)
        self._behind.write("\r" * back + shown)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)
