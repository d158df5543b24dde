"""Why Go refuses a template before it runs it: text/template/parse, with the functions of the operator's engine v2.

Only what is certain is a fault: a sign that is not known here ends the look at a text. Values and types decide at the run, and are not looked at.
Sources: text/template/parse of Go (lex.go, parse.go); template_engine.yaml and template_functions.yaml have the functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache

from argolint.redaction import excerpt
from argolint.relations.operator_version import OperatorVersion
from argolint.values.knowledge import load
from argolint.values.patterns import regex

_LONGEST = 100_000
"""Characters of a template that is looked at."""
_TOKEN = regex(
    r"(?P<space>[ \t\r\n]+)"
    r'|(?P<text>"(?:[^"\\\n]|\\.)*+"|`[^`]*+`)'
    r"|(?P<char>'(?:[^'\\\n]|\\.)*+')"
    r"|(?P<number>[-+]?[0-9][0-9A-Za-z_.]*+)"
    r"|(?P<variable>\$[A-Za-z_0-9]*+)"
    r"|(?P<field>\.[A-Za-z_][A-Za-z_0-9]*+|\.(?![A-Za-z_0-9]))"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*+)"
    r"|(?P<mark>:=|[=|(),])"
)
_TRIM_BEFORE, _TRIM_AFTER = regex(r"-[ \t\r\n]"), regex(r"[ \t\r\n]-\}\}")
_BLOCKS = ("if", "range", "with", "define", "block")
_CONTROL = (*_BLOCKS, "else", "end", "template", "break", "continue")
_WORDS = (*_CONTROL, "true", "false", "nil")
_Token = tuple[str, str]


@dataclass(frozen=True)
class Fault:
    """Why a template does not parse, as the end of "its template ...", and what mends it; `function`: the called function that the engine lacks."""

    says: str
    mends: str
    function: str = ""


def _lacks(function: str, version: OperatorVersion) -> Fault | None:
    """The fault if the engine of this operator lacks the function; None if it has it, or if its version decides that and is not known."""
    since, gone = _functions().get(function, ("", ""))
    if function not in _functions() or (gone and version.at_least(gone)):
        near = get_close_matches(function[:_SHOWN], sorted({*_functions()} - {function}), 1, cutoff=0.75)
        mends = f'Call "{near[0]}" in the template' if near else "Use a function that the operator's engine knows"
        name = excerpt(function, _SHOWN)
        return Fault(f'calls the function "{name}", which the operator does not know', mends, function)
    if since and version.at_least(since) is False:
        says = f'calls the function "{function}", which the operator knows from {since}'
        return Fault(says, f"Upgrade External Secrets to {since} or later", function)
    return None


_SHOWN = 40


@cache
def _functions() -> Mapping[str, tuple[str, str]]:
    """The functions of all releases of engine v2, with the first release that has each, and the first without it; empty: all, none."""
    engine = load(__package__, "template_engine.yaml")
    since: Mapping[str, str] = load(__package__, "template_functions.yaml")
    names = (*engine["go"], *engine["sprig"], *engine["operator"], *since)
    return {name: (since.get(name, ""), engine["gone"].get(name, "")) for name in names}


def actions(text: str) -> Iterator[str]:
    """What is between `{{` and `}}`, without trim marks and comments, up to an action or a comment without an end."""
    return (found for found in _parts(text) if isinstance(found, str))


def faults(text: str, version: OperatorVersion) -> Iterator[Fault]:
    """The faults of a template for this operator, in the order of its text; Go names the first."""
    if len(text) > _LONGEST or "{{" not in text:
        return
    blocks: list[_Block] = [_Block("")]
    for action in _parts(text):
        if isinstance(action, Fault):
            yield action
            return
        tokens = _tokens(action)
        if tokens is None:
            return
        found = tuple(_faults_of(tokens, blocks, version))
        yield from found
        if any(not fault.function for fault in found):
            return
    if len(blocks) > 1:
        yield Fault(f"never ends its {{{{ {blocks[-1].word} }}}}", _BALANCE)


@dataclass
class _Block:
    """An open control structure: its word, and the variables that it knows."""

    word: str
    variables: set[str] = field(default_factory=lambda: {"$"})
    has_else: bool = False


def _parts(text: str) -> Iterator[str | Fault]:
    """The actions of a template; a fault for an action or a comment without an end."""
    at = text.find("{{")
    while at >= 0:
        start = at + (3 if _TRIM_BEFORE.match(text, at + 2) else 2)
        if text.startswith("/*", start) or text.startswith("/*", start + 1):
            end = text.find("*/", start)
            if end < 0:
                yield Fault("opens a comment and never closes it", "Close the comment with */}}")
                return
            at = text.find("{{", end)
            continue
        end = _end(text, start)
        if end < 0:
            yield Fault("opens {{ and never closes it", "Close the action with }}")
            return
        body = text[start:end]
        yield body[:-1] if _TRIM_AFTER.match(text, end - 2) else body
        at = text.find("{{", end)


def _end(text: str, at: int) -> int:
    """Where the action ends that is open at `at`: a `}}` outside of quotes; -1 if there is none."""
    quote = ""
    while at < len(text):
        sign = text[at]
        if not quote:
            if text.startswith("}}", at):
                return at
            quote = sign if sign in "\"`'" else ""
        elif sign == "\\" and quote != "`":
            at += 1
        elif sign == quote or (sign == "\n" and quote != "`"):
            quote = ""
        at += 1
    return -1


def _tokens(body: str) -> tuple[_Token, ...] | None:
    """Kind and text of each token, without spaces; None if one is not known here."""
    found: list[_Token] = []
    at = 0
    while at < len(body):
        token = _TOKEN.match(body, at)
        if token is None:
            return None
        kind = str(token.lastgroup)
        if kind == "field" and found and not body[at - 1].isspace() and found[-1][0] in ("field", "variable"):
            kind = "chained"
        if kind != "space":
            found.append((kind, token[0]))
        at = token.end()
    return tuple(found)


def _faults_of(tokens: tuple[_Token, ...], blocks: list[_Block], version: OperatorVersion) -> Iterator[Fault]:
    """The faults of one action; opens and closes blocks."""
    for function in dict.fromkeys(text for kind, text in tokens if kind == "word" and text not in _WORDS):
        if fault := _lacks(function, version):
            yield fault
    kind, word = tokens[0] if tokens else ("", "")
    rest = tokens[1:]
    if kind != "word" or word not in _CONTROL:
        yield from _pipeline(tokens, blocks[-1].variables, "")
    elif word == "end":
        if len(blocks) == 1:
            yield Fault("has an {{ end }} too many", _BALANCE)
        else:
            blocks.pop()
    elif word == "else":
        yield from _else(rest, blocks)
    elif word in ("break", "continue"):
        if all(block.word != "range" for block in blocks):
            yield Fault(f"has {{{{ {word} }}}} outside of a range", f"Put {word} into a range")
    elif word == "template":
        yield from _pipeline(rest[1:], blocks[-1].variables, word) if rest[1:] else ()
    else:
        outer, own = blocks[-1].variables, {"$"} if word in ("define", "block") else {*blocks[-1].variables}
        blocks.append(_Block(word, own))
        if word == "block":
            yield from _pipeline(rest[1:], outer, word)
        elif word != "define":
            yield from _pipeline(rest, own, word)


def _else(rest: tuple[_Token, ...], blocks: list[_Block]) -> Iterator[Fault]:
    block = blocks[-1]
    if block.word not in ("if", "range", "with") or block.has_else:
        yield Fault("has an {{ else }} that belongs to no if, range or with", _BALANCE)
        return
    block.has_else = not rest
    if rest:
        yield from _pipeline(rest[1:], block.variables, f"else {rest[0][1]}")


def _pipeline(tokens: tuple[_Token, ...], variables: set[str], word: str) -> Iterator[Fault]:
    """The faults of a pipeline; adds what it declares to the variables."""
    declared, tokens = _declared(tokens)
    depth, before = 0, "("
    for kind, text in tokens:
        mark = text if kind == "mark" else ""
        depth += {"(": 1, ")": -1}.get(mark, 0)
        if depth < 0:
            yield Fault("closes a parenthesis that it never opened", _PARENTHESES)
            return
        if (mark in ("|", ")") and before == "(") or (mark == before == "|"):  # Go permits a bar at the end
            yield _no_value(word)
            return
        if kind == "variable" and text not in variables | declared:
            says = f'reads the variable "{excerpt(text, _SHOWN)}", which it never sets'
            yield Fault(says, f"Write {{{{ .{excerpt(text[1:], _SHOWN)} }}}} for a fetched value")
            return
        before = mark
    if depth:
        yield Fault("opens a parenthesis and never closes it", _PARENTHESES)
    elif not tokens:
        yield _no_value(word)
    variables.update(declared)


_BALANCE = "Give each if, range, with and define one {{ end }}"
_PARENTHESES = "Close each parenthesis once"


def _no_value(word: str) -> Fault:
    says = f"has {{{{ {word} }}}} without a value" if word else "has an action, or a part of a pipe, without a value"
    return Fault(says, "Write the value that is missing")


def _declared(tokens: tuple[_Token, ...]) -> tuple[set[str], tuple[_Token, ...]]:
    """The variables that a pipeline declares (`$a := …`, `$k, $v := …`), and the rest of it."""
    for length in (2, 4):
        if len(tokens) >= length and tokens[length - 1] == ("mark", ":="):
            return {text for kind, text in tokens[:length] if kind == "variable"}, tokens[length:]
        if len(tokens) >= length and tokens[length - 1] == ("mark", "="):
            return set(), tokens[length:]
    return set(), tokens
