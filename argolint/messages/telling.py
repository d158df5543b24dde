"""Quotes a server's text in a message: its innermost useful part, in few words. The whole text becomes evidence."""

from __future__ import annotations

from argolint.messages.fields import field_errors
from argolint.messages.wrapping import unwrap
from argolint.redaction import excerpt
from argolint.values.patterns import regex

WORDS = 25
"""The most words of a finding's message."""
_QUOTED = 10
"""Most words of a quotation; the evidence has the rest."""
_LEAST = 3
"""Fewest words of a useful quotation."""
_NO_SENTENCE = ("Duplicate value", "Not found")
"""Types of refused fields that are followed by the value only."""
_WORTH = 8
"""A quotation that must be cut to fewer words is left to the evidence, if the sentence is complete without it."""
_READ = 10_000

# Phrases before a reason that contain none; wrappers.yaml has those that no entry of a catalogue needs to see.
_BEFORE = regex(
    r"^(?:error|fatal|ERROR|Error|execution error at \([^()]{1,200}\)|parse error at \([^()]{1,200}\)|Internal error occurred"
    r"|admission webhook \"[^\"]{1,253}\" denied the request|[\w.-]{1,200} \"[^\"]{1,253}\" is (?:forbidden|invalid)|(?:from server for: )?\"/dev/shm/\d{1,20}\"|error when \w{1,20} \"[^\"]{0,400}\""
    r"|(?:Get|Post|Put|Patch|Head|GET|POST) \"[^\"]{1,500}\"):\s+(?=\S)"
)
_TEMPLATE = regex(r"^template: [^\s:]{1,300}:\d{1,6}(?::\d{1,6})?: (?:executing \"[^\"]{1,300}\" at (?=<))?")
_EMPTY = " \t:,."
"""Empty phrases at the end of a text."""
_WHO = regex(r"^[\w.-]{1,200}(?: \"[^\"]{1,253}\")? is forbidden: User \"[^\"]{1,253}\" (?=cannot)")
_WHERE = regex(r" in API group \"[^\"]{0,253}\"")
_ENDED = regex(r":? ?exit status \d{1,3}$| \(pod: \"[^\"\s]{1,600}\", container: [a-z0-9-]{1,63}\)$")
_LIST = regex(r"(?:[\w./\"'-]{1,100}, ){1,50}(?:(?:and|or) )?[\w./\"'-]{1,100}")
"""`tags, name, path`: says nothing without the sentence before it."""
_TIME = regex(r"(?:\w{3}, )?\d{1,4}[ -]\w{2,3}[ -]\d{2,4}\b[^:]{0,20}(?::\d\d){0,2}.{0,40}")
"""`Mon, 02 Nov 2026 03:00:00 UTC`: says nothing without the sentence before it either."""
_RETRIED = regex(r" ?\(retried \d{1,9} times\)\.?$")
_HINTS = regex(
    r" (?:Please make sure you have the correct access rights|This may be caused by |\(is 'helm' installed|Use --debug|a: [^\n]{0,400} ,b: |in '\{).*$| You may need to run [^:]*:?"
)


def telling(text: str, words: int = _QUOTED) -> str:
    """The innermost part of a text that says what is wrong, in at most `words` words; for a refused field its path and the reason."""
    refused = field_errors(text)
    if refused:
        first = refused[0]
        alone = first.sort in _NO_SENTENCE and not first.detail.startswith(first.sort)
        why = f"{first.sort}: {first.detail}" if alone else first.detail or first.sort
        return _cut(excerpt(f"{first.path}: {why}", _READ), words).replace('"', "'")
    line = _RETRIED.sub("", excerpt(unwrap(text).innermost, _READ))
    line = _WHERE.sub("", _WHO.sub("", _ENDED.sub("", line)))
    while (found := _BEFORE.match(line)) is not None:
        line = line[found.end() :]
    line = _TEMPLATE.sub("", _HINTS.sub("", line)).rstrip(_EMPTY).removesuffix("<nil>").rstrip(_EMPTY)
    return _last_parts(line, words).replace('"', "'")


def _last_parts(line: str, words: int) -> str:
    """The last parts that fit; programs write the failed step before the reason."""
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
        alone = not _LIST.fullmatch(tail) and not _TIME.fullmatch(tail)
        return tail if alone else _cut(f"{' '.join(before)}: {tail}", words)
    left = before[len(tail.split()) - words :]
    return f"{'…' if len(left) < len(before) else ''}{' '.join(left)}: {tail}"


def quoting(said: str, text: str, after: str = "") -> str:
    """A finding's sentence: `said`, as much of the text's useful part as fits, and the consequence `after`.

    `said` and `after` are kept as they are; the text is not quoted if fewer than three words are left for it.
    """
    quote = _fitting_quote(said, text, after, _LEAST + 2)
    return f"{said}{': ' if quote else ''}{quote}{after}."


def in_passing(said: str, text: str, after: str = "") -> str:
    """Like `quoting`, for a sentence that is complete without the text: the quotation is in brackets."""
    quote = _fitting_quote(said, text, after, _WORTH)
    return f"{said}{f' ({quote})' if quote else ''}{after}."


def _fitting_quote(subject: str, text: str, after: str, worth: int) -> str:
    """The useful part in quotes, as long as it fits; empty if there is no room, or if it would be cut to fewer words than `worth`."""
    room = min(_QUOTED, WORDS - len(subject.split()) - len(after.split()))
    quote = telling(text, room) if room >= _LEAST else ""
    return f'"{quote}"' if quote and not (quote.endswith("…") and room < worth) else ""


def _cut(text: str, words: int) -> str:
    words_found = text.split()
    return text if len(words_found) <= words else " ".join(words_found[:words]).rstrip(",;:") + "…"
