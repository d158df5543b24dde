"""What of a server's text a sentence quotes: its innermost telling part, in few words. The whole text is evidence."""

from __future__ import annotations

import re

from argolint.messages.fields import field_errors
from argolint.messages.wrapping import unwrap
from argolint.redaction import excerpt

WORDS = 25
"""The most words of a finding's message."""
_QUOTED = 10
"""Words of a quotation; more are read in the evidence."""
_LEAST = 3
"""A quotation of fewer words tells nothing that the sentence does not."""
_NO_SENTENCE = ("Duplicate value", "Not found")
"""Sorts of refused fields that are followed by the value alone."""
_WORTH = 8
"""A quotation that must be cut to fewer is left to the evidence, where the sentence is whole without it."""
_READ = 10_000

# What programs put before a reason without saying one; wrappers.yaml holds what no entry of a catalogue needs to see.
_BEFORE = re.compile(
    r"^(?:error|fatal|ERROR|Error|execution error at \([^()]{1,200}\)|parse error at \([^()]{1,200}\)|Internal error occurred"
    r"|admission webhook \"[^\"]{1,253}\" denied the request|[\w.-]{1,200} \"[^\"]{1,253}\" is (?:forbidden|invalid)|(?:from server for: )?\"/dev/shm/\d{1,20}\"|error when \w{1,20} \"[^\"]{0,400}\""
    r"|(?:Get|Post|Put|Patch|Head|GET|POST) \"[^\"]{1,500}\"):\s+(?=\S)"
)
_TEMPLATE = re.compile(r"^template: [^\s:]{1,300}:\d{1,6}(?::\d{1,6})?: (?:executing \"[^\"]{1,300}\" at (?=<))?")
_EMPTY = " \t:,."
"""What a text may end in that says nothing."""
_WHO = re.compile(r"^[\w.-]{1,200}(?: \"[^\"]{1,253}\")? is forbidden: User \"[^\"]{1,253}\" (?=cannot)")
_WHERE = re.compile(r" in API group \"[^\"]{0,253}\"")
_ENDED = re.compile(r":? ?exit status \d{1,3}$")
_LIST = re.compile(r"(?:[^\s,]{1,100}, ){1,50}(?:(?:and|or) )?[^\s,]{1,100}")
"""`tags, name, path`: says nothing without the sentence before it."""
_SENTENCE = re.compile(r"(?<![\w./:-])[a-z]{3,}(?![\w/:-])")
"""A word that a sentence has and a time or a number has not."""
_RETRIED = re.compile(r" ?\(retried \d{1,9} times\)\.?$")
_HINTS = re.compile(
    r" (?:Please make sure you have the correct access rights|\(is 'helm' installed|Use --debug|a: [^\n]{0,400} ,b: |in '\{).*$| You may need to run [^:]*:?"
)


def telling(text: str, words: int = _QUOTED) -> str:
    """The innermost part of a text that says what is wrong, in at most `words` words; of a refused field its path and the reason."""
    refused = field_errors(text)
    if refused:
        first = refused[0]
        why = f"{first.sort}: {first.detail}" if first.sort in _NO_SENTENCE else first.detail or first.sort
        return _cut(excerpt(f"{first.path}: {why}", _READ), words).replace('"', "'")
    line = _RETRIED.sub("", excerpt(unwrap(text).innermost, _READ))
    line = _WHERE.sub("", _WHO.sub("", _ENDED.sub("", line)))
    while (found := _BEFORE.match(line)) is not None:
        line = line[found.end() :]
    line = _TEMPLATE.sub("", _HINTS.sub("", line)).rstrip(_EMPTY).removesuffix("<nil>").rstrip(_EMPTY)
    return _end(line, words).replace('"', "'")


def _end(line: str, words: int) -> str:
    """The last parts that fit; programs write what they did before why it failed."""
    tail = ""
    for part in reversed(line.split(": ")):
        longer = f"{part}: {tail}" if tail else part
        if len(longer.split()) > words:
            before = part.split()
            break
        tail = longer
    else:
        return line
    if not tail:
        return _cut(" ".join(before), words)
    if len(tail.split()) >= _LEAST:
        alone = _SENTENCE.search(tail) and not _LIST.fullmatch(tail)
        return tail if alone else _cut(f"{' '.join(before)}: {tail}", words)
    left = before[len(tail.split()) - words :]
    return f"{'…' if len(left) < len(before) else ''}{' '.join(left)}: {tail}"


def quoting(said: str, text: str, after: str = "") -> str:
    """A finding's sentence: what is said, the telling part of a text as far as there is room for it, and what comes of it.

    `said` and `after` are written as they are; where fewer than three words are left for the text it is not quoted.
    """
    quote = _fitting(said, text, after, _LEAST + 2)
    return f"{said}{': ' if quote else ''}{quote}{after}."


def in_passing(said: str, text: str, after: str = "") -> str:
    """As `quoting`, for a sentence that is whole without the text: the quotation stands in brackets."""
    quote = _fitting(said, text, after, _WORTH)
    return f"{said}{f' ({quote})' if quote else ''}{after}."


def _fitting(said: str, text: str, after: str, worth: int) -> str:
    """The telling part in quotes as far as the sentence has room for it; empty where it has none, or would be cut to fewer words than `worth`."""
    room = min(_QUOTED, WORDS - len(said.split()) - len(after.split()))
    quote = telling(text, room) if room >= _LEAST else ""
    return f'"{quote}"' if quote and not (quote.endswith("…") and room < worth) else ""


def _cut(text: str, words: int) -> str:
    held = text.split()
    return text if len(held) <= words else " ".join(held[:words]).rstrip(",;:") + "…"
