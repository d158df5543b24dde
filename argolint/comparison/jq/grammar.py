"""The jq language as Argo CD runs it: what its gojq parses and compiles, rewritten for the C jq of the sandbox.

Argo CD parses `del(<path>)` with gojq and compiles it without environment, modules and inputs. C jq knows more functions, reads files, and
parses a few things differently. So no foreign text reaches it: each program is parsed here with gojq's grammar, and C jq gets new text
written from the parse result, with new names (a user's `f` is `u_f`).

Sources: argoproj/argo-cd util/argo/normalizers/diff_normalizer.go; itchyny/gojq 0.12.19 lexer.go, parser.go.y, compiler.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from argolint.comparison.jq import builtins, re2
from argolint.values.patterns import regex

MAX_LENGTH = 20_000
"""Most characters of one path. The longest of 1,000 real paths has 300."""
MAX_DEPTH = 100
"""Most nested parentheses, brackets and blocks. Real paths have 5."""


@dataclass(frozen=True, slots=True)
class Program:
    """The result for one path: a program for C jq, or why there is none."""

    text: str = ""
    """The program in C jq's language; empty if there is none."""
    refusal: str = ""
    """Why Argo CD cannot parse or compile the path, in gojq's words. It then compares nothing of the application."""
    unsupported: str = ""
    """Why argolint does not run it although Argo CD does."""
    bad_regexes: tuple[str, ...] = ()
    """Regular expressions of the path that Go cannot compile. The program fails when it reaches one."""
    unlike: str = ""
    """A word of the path with which C jq may fail while gojq does not."""


class _RefusedError(Exception):
    """gojq does not accept the path."""


class _UnsupportedError(Exception):
    """gojq may accept the path; argolint does not run it."""


@lru_cache(maxsize=4096)
def program(path: str) -> Program:
    """The program that deletes what the path names. Never raises."""
    if len(path) > MAX_LENGTH:
        return Program(unsupported=f"it is longer than {MAX_LENGTH:,} characters")
    parser = _Parser(f"del({_LONE.sub(_REPLACEMENT, path)})")
    try:
        text = parser.program()
    except _RefusedError as refused:
        return Program(refusal=str(refused))
    except _UnsupportedError as unsupported:
        return Program(unsupported=str(unsupported))
    return Program(
        builtins.preamble(parser.used) + _ANSWER.format(text),
        bad_regexes=tuple(parser.bad_regexes),
        unlike=parser.unlike,
    )


_ANSWER = '. as $before | ({}) | if type != "object" then false elif . == $before then true else tojson end'
"""Each result of a program: false for a non-object, true for the unchanged object, else the object's JSON."""


_LONE, _REPLACEMENT = regex("[\ud800-\udfff]"), "\N{REPLACEMENT CHARACTER}"
"""Go's strings have no lone surrogates."""

_SPACE = regex(r"(?:[ \t\n\r]|#(?:\\(?:\\|\n|\r\n?)|[^\n\r\0])*+)*+")
_TOKEN = regex(
    r"""(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)?)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
      | (?P<variable>\$[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)?)
      | (?P<format>@[A-Za-z0-9_]+)
      | (?P<sign>\.\.|\?//|//=|[|+\-*/%=!<>]=|//|.)""",
    re.VERBOSE | re.DOTALL,
)
_STRING_PART = regex(r'(?P<text>(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|["/\\bfnrt]))++)|(?P<query>\\\()|(?P<end>")')
_ESCAPE = regex(r"\\(?:u[0-9a-fA-F]{0,3}|.?)", re.DOTALL)

_KEYWORDS = frozenset(
    "or and module import include def as label break null true false if then elif else end try catch reduce foreach".split()
)
_UPDATES = frozenset({"=", "|=", "+=", "-=", "*=", "/=", "%=", "//="})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_OPERATORS = _UPDATES | _COMPARISONS | {"//", "or", "and", "+", "-", "*", "/", "%"}
_END = "end of the program"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The pattern after `as`: its text, and each variable's path in the value."""

    text: str
    leaves: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.leaves)

    def below(self, step: str) -> _Pattern:
        return _Pattern(self.text, tuple((step + place, name) for place, name in self.leaves))


class _Parser:
    """A recursive descent that reads gojq and writes C jq. Each returned part is valid between pipes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0
        self._scope: frozenset[str] = frozenset()
        """Definitions of the program that are in scope: `name/arity`, `$variable`, `*label`."""
        self.used: set[str] = set()
        self.unlike = ""
        """See Program."""
        self.bad_regexes: list[str] = []
        self._undefined = ""
        """The first undefined name, as a message."""
        self._kind = self._token = ""
        self._next()

    # What is read

    def _next(self) -> None:
        space = _SPACE.match(self._source, self._at)
        self._at = space.end() if space else self._at
        found = _TOKEN.match(self._source, self._at)
        if found is None or found[0] == "\0":  # goyacc takes a NUL for the end
            self._kind, self._token = _END, ""
            return
        self._kind, self._token = str(found.lastgroup), found[0]
        self._at = found.end()
        if self._kind == "name" and self._token in _KEYWORDS:
            self._kind = "keyword"
        elif self._kind == "number":
            self._whole_number()

    def _whole_number(self) -> None:
        following = self._source[self._at : self._at + 1]
        second_point = following == "." and "." in self._token and not re.search("[eE]", self._token)
        if second_point or re.match("[A-Za-z_]", following):
            raise _RefusedError(f"invalid token {json.dumps(self._token + following)}")

    def _is(self, token: str) -> bool:
        return self._token == token and self._kind in ("sign", "keyword")

    def _accept(self, token: str) -> bool:
        if self._is(token):
            self._next()
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._unexpected()

    def _take(self, kind: str) -> str:
        if self._kind != kind:
            raise self._unexpected()
        token = self._token
        self._next()
        return token

    def _missing(self, message: str) -> str:
        self._undefined = self._undefined or message
        return "null"

    def _unexpected(self) -> _RefusedError:
        if self._kind == _END:
            return _RefusedError("unexpected EOF")
        return _RefusedError(f"unexpected token {json.dumps(self._token, ensure_ascii=False)}")

    @contextmanager
    def _deeper(self, *names: str) -> Iterator[None]:
        """One level deeper; definitions there, and `names`, leave the scope afterwards."""
        if self._depth >= MAX_DEPTH:
            raise _UnsupportedError(f"it is nested deeper than {MAX_DEPTH} levels")
        scope = self._scope
        self._depth += 1
        self._scope |= frozenset(names)
        yield
        self._depth -= 1
        self._scope = scope

    # Queries: pipes, commas, bindings, definitions

    def program(self) -> str:
        text = self._query()
        if self._kind != _END:
            raise self._unexpected()
        if self._undefined:  # gojq parses everything before it resolves names
            raise _RefusedError(self._undefined)
        return text

    def _query(self, *names: str) -> str:
        with self._deeper(*names):
            pipes: list[str] = []
            commas: list[str] = []
            more = True
            while more:
                operand, more = self._operand()
                commas.append(operand)
                if more and self._accept("|"):
                    pipes.append(", ".join(commas))
                    commas = []
                elif not more or not self._accept(","):
                    more = False
            return " | ".join([*pipes, ", ".join(commas)])

    def _operand(self) -> tuple[str, bool]:
        """The operand between pipes and commas, and whether an operator may follow: a binding extends to the end."""
        if self._accept("def"):
            definition, name = self._definition()
            return f"({definition} {self._query(name)})", False
        if self._accept("label"):
            self.unlike = "label"
            label = self._take("variable")
            self._expect("|")
            return f"(label {_renamed(label)} | {self._query('*' + label)})", False
        left = self._expression()
        if not self._accept("as"):
            return left, True
        patterns = [self._pattern()]
        while self._accept("?//"):
            self.unlike = "?//"
            patterns.append(self._pattern())
        self._expect("|")
        body = self._query(*(name for pattern in patterns for name in pattern.names))
        return f"({_bound(left, patterns)} | {body})", False

    def _definition(self) -> tuple[str, str]:
        name = self._plain_name()
        parameters: list[str] = []
        if self._accept("("):
            parameters.append(self._parameter())
            while self._accept(";"):
                parameters.append(self._parameter())
            self._expect(")")
        self._expect(":")
        own = f"{name}/{len(parameters)}"
        reach = {own, *(f"{p.lstrip('$')}/0" for p in parameters), *(p for p in parameters if p.startswith("$"))}
        body = self._query(*reach)
        self._expect(";")
        written = f"({'; '.join(map(_renamed, parameters))})" if parameters else ""
        return f"def {_renamed(name)}{written}: {body};", own

    def _plain_name(self) -> str:
        if "::" in self._token:
            raise self._unexpected()
        return self._take("name")

    def _parameter(self) -> str:
        return self._take("variable") if self._kind == "variable" else self._plain_name()

    def _pattern(self) -> _Pattern:
        with self._deeper():
            if self._kind == "variable":
                name = self._take("variable")
                return _Pattern(_renamed(name), (("", name),))
            if self._accept("["):
                parts = [self._pattern().below("[0]")]
                while self._accept(","):
                    parts.append(self._pattern().below(f"[{len(parts)}]"))
                self._expect("]")
                return _Pattern(
                    f"[{', '.join(p.text for p in parts)}]", tuple(leaf for p in parts for leaf in p.leaves)
                )
            self._expect("{")
            parts = [self._entry_pattern()]
            while self._accept(","):
                parts.append(self._entry_pattern())
            self._expect("}")
            return _Pattern(f"{{{', '.join(p.text for p in parts)}}}", tuple(leaf for p in parts for leaf in p.leaves))

    def _entry_pattern(self) -> _Pattern:
        if self._kind == "variable":
            name = self._take("variable")
            key = json.dumps(name[1:])
            whole = _Pattern(f"{key}: {_renamed(name)}", ((f"[{key}]", name),))
            if not self._accept(":"):
                return whole
            inner = self._pattern().below(f"[{key}]")
            return _Pattern(f"{whole.text}, {key}: {inner.text}", (*whole.leaves, *inner.leaves))
        if self._accept("("):
            key = f"({self._query()})"
            self._expect(")")
        elif self._is('"'):
            key = f"({self._string()})"
        elif self._kind in ("name", "keyword") and "::" not in self._token:
            key = f"({json.dumps(self._take(self._kind))})"
        else:
            raise self._unexpected()
        self._expect(":")
        inner = self._pattern().below(f"[{key}]")
        return _Pattern(f"{key}: {inner.text}", inner.leaves)

    # Expressions: operators have the same ranks in both languages

    def _expression(self) -> str:
        parts = [self._term()]
        compared = updated = False
        while self._kind in ("sign", "keyword") and (operator := self._token) in _OPERATORS:
            if (operator in _COMPARISONS and compared) or (operator in _UPDATES and updated):
                raise self._unexpected()  # neither may follow another one
            if operator in _COMPARISONS:
                compared = True
            elif operator in _UPDATES or operator in ("//", "or", "and"):
                compared = False
                updated = operator in _UPDATES or (updated and operator != "//")
            self._next()
            parts += [operator, self._term()]
        return " ".join(parts)

    def _term(self) -> str:
        with self._deeper():
            sign = self._token if self._kind == "sign" else ""
            if sign in ("-", "+"):
                self._next()
                operand = self._term()
                return f"(-({operand}))" if sign == "-" else f"(({operand}) | {self._builtin('_plus')})"
            return self._suffixes(self._base())

    def _suffixes(self, text: str) -> str:
        while True:
            if self._kind == "field":
                text += f"[{json.dumps(self._take('field')[1:])}]"
            elif self._accept("?"):
                text += "?"
            elif self._is("["):
                text += self._bracket()
            elif self._accept("."):
                if self._is("["):
                    text += self._bracket()
                elif self._is('"'):
                    text += f"[{self._string()}]"
                else:
                    raise self._unexpected()
            else:
                return text

    def _bracket(self) -> str:
        self._expect("[")
        if self._accept("]"):
            return "[]"
        if self._accept(":"):
            end = self._query()
            self._expect("]")
            return f"[:({end})]"
        start = self._query()
        if not self._accept(":"):
            self._expect("]")
            return f"[{start}]"
        if self._accept("]"):
            return f"[({start}):]"
        end = self._query()
        self._expect("]")
        return f"[({start}):({end})]"

    def _base(self) -> str:
        match self._kind:
            case "field":
                return f".[{json.dumps(self._take('field')[1:])}]"
            case "number":
                return self._take("number")
            case "format":
                return self._format()
            case "variable":
                return self._variable(self._take("variable"))
            case "name":
                return self._call(self._take("name"))
            case "keyword":
                return self._block(self._token)
            case "sign":
                return self._sign(self._token)
        raise self._unexpected()

    def _sign(self, sign: str) -> str:
        if sign == '"':
            return self._string()
        if sign not in (".", "..", "(", "[", "{"):
            raise self._unexpected()
        self._next()
        match sign:
            case ".":
                return f".[{self._string()}]" if self._is('"') else "."
            case "..":
                return "(..)"
            case "{":
                return self._object()
        if sign == "[" and self._accept("]"):
            return "[]"
        inner = self._query()
        self._expect(")" if sign == "(" else "]")
        return f"({inner})" if sign == "(" else f"[{inner}]"

    def _variable(self, name: str) -> str:
        if name in self._scope:
            return _renamed(name)
        if name == "$ENV":
            return "({})"  # Argo CD compiles without an environment
        return self._missing(f"variable not defined: {name}")

    def _block(self, keyword: str) -> str:
        if keyword not in ("null", "true", "false", "if", "try", "reduce", "foreach", "break"):
            raise self._unexpected()
        self._next()
        match keyword:
            case "if":
                return self._if()
            case "try":
                self.unlike = "try"
                body = self._term()
                return f"(try ({body}) catch ({self._term()}))" if self._accept("catch") else f"(try ({body}))"
            case "reduce" | "foreach":
                return self._loop(keyword)
            case "break":
                label = self._take("variable")
                if "*" + label not in self._scope:
                    return self._missing(f"label not defined: {label}")
                return f"(break {_renamed(label)})"
        return keyword

    def _if(self) -> str:
        text = f"if {self._query()} "
        self._expect("then")
        text += f"then {self._query()} "
        while self._accept("elif"):
            text += f"elif {self._query()} "
            self._expect("then")
            text += f"then {self._query()} "
        text += f"else {self._query() if self._accept('else') else '.'} end"
        self._expect("end")
        return f"({text})"

    def _loop(self, keyword: str) -> str:
        source = self._expression()
        self._expect("as")
        pattern = self._pattern()
        self._expect("(")
        steps = [self._query()]
        self._expect(";")
        steps.append(self._query(*pattern.names))
        if keyword == "foreach" and self._accept(";"):
            steps.append(self._query(*pattern.names))
        self._expect(")")
        return f"({keyword} ({source}) as {pattern.text} ({'; '.join(steps)}))"

    def _object(self) -> str:
        entries: list[str] = []
        while not self._is("}"):
            entries.append(self._entry())
            if not self._accept(","):
                break
        self._expect("}")
        return f"{{{', '.join(entries)}}}"

    def _entry(self) -> str:
        if self._accept("("):
            key = f"({self._query()})"
            self._expect(")")
            self._expect(":")
            return f"{key}: {self._entry_value()}"
        if self._kind == "variable":
            name = self._take("variable")
            value = self._variable(name)
            return f"({value}): {self._entry_value()}" if self._accept(":") else f"{json.dumps(name[1:])}: {value}"
        if self._is('"'):
            key = f"({self._string()})"
        elif self._kind in ("name", "keyword") and "::" not in self._token:
            key = f"({json.dumps(self._take(self._kind))})"
        else:
            raise self._unexpected()
        return f"{key}: {self._entry_value()}" if self._accept(":") else f"{key}: .[{key}]"

    def _entry_value(self) -> str:
        parts = [self._expression()]
        while self._accept("|"):
            parts.append(self._expression())
        return f"({' | '.join(parts)})"

    # Strings and formats

    def _string(self, piped: str = "") -> str:
        """The string that begins here; each query in it is piped through `piped`."""
        parts: list[str] = []
        while True:
            found = _STRING_PART.match(self._source, self._at)
            if found is None:
                raise self._bad_string()
            self._at = found.end()
            if found["end"]:
                self._next()
                return f'"{"".join(parts)}"'
            if found["text"]:
                parts.append(_written(found["text"]))
                continue
            self._next()
            inner = self._query()
            if not self._is(")"):
                raise self._unexpected()
            parts.append(f"\\({inner})" if not piped else f"\\(({inner}) | {piped})")

    def _bad_string(self) -> _RefusedError:
        rest = self._source[self._at :]
        if rest.startswith("\\") and len(rest) > 1:
            escape = _ESCAPE.match(rest)
            return _RefusedError(f'invalid escape sequence "{escape[0] if escape else rest[:2]}" in string literal')
        return _RefusedError("unterminated string literal")

    def _format(self) -> str:
        name = self._take("format")
        known = name[1:] in builtins.FORMATS
        if not self._is('"'):
            return name if known else self._failure("format")
        return f"({name} {self._string()})" if known else f"({self._string(self._failure('format'))})"

    # Functions

    def _call(self, name: str) -> str:
        arguments: list[str] = []
        if self._accept("("):
            arguments.append(self._query())
            while self._accept(";"):
                arguments.append(self._query())
            self._expect(")")
        signature = f"{name}/{len(arguments)}"
        if signature in self._scope:
            return _called(_renamed(name), arguments)
        if signature == "env/0":
            return "({})"
        if signature in ("input/0", "inputs/0"):
            return self._missing("input(s)/0 is not allowed")
        if signature in builtins.FAILING:
            return self._failure(name)
        if signature not in builtins.SIGNATURES:
            if name.startswith("_"):
                raise _UnsupportedError(f"it calls {signature}, which is not for programs")
            return self._missing(f"function not defined: {signature}")
        if signature in builtins.WITH_REGEX:
            arguments = self._regex_arguments(signature, arguments)
        return _called(self._builtin(name, len(arguments)), arguments)

    def _builtin(self, name: str, arity: int = 0) -> str:
        """The function's name in the program: its own name, or that of the preamble's version."""
        signature = f"{name}/{arity}"
        if signature in builtins.UNLIKE:
            self.unlike = name
        if signature in builtins.REPLACED:
            self.used.add(signature)
            return f"r_{name.lstrip('_')}"
        return name

    def _failure(self, why: str) -> str:
        return f"(error({json.dumps(why)}))"

    def _regex_arguments(self, signature: str, arguments: list[str]) -> list[str]:
        """The arguments with a regular expression, and flags, as Go accepts them: only texts, and the flags g, i and m."""
        at = builtins.WITH_REGEX[signature]
        flags = arguments[at] if at is not None else None
        regex = self._regex(arguments[0], dot_all=flags is not None and "m" in (_literal(flags) or ""))
        found = [regex, *arguments[1:]]
        if at is not None and flags is not None:
            plain = _literal(flags)
            if plain is None:
                found[at] = f"({flags}) | {self._builtin('_flags')}"
            elif set(plain) <= set("gim"):
                found[at] = json.dumps(plain.replace("m", ""))
            else:
                found[at] = self._failure("flags")
        return found

    def _regex(self, argument: str, *, dot_all: bool) -> str:
        plain = _literal(argument)
        if plain is None:
            return f"({argument}) | {self._builtin('_regex')}"
        translated = re2.for_oniguruma(plain)
        if translated is None:
            self.bad_regexes.append(plain)
            return self._failure("regex")
        return json.dumps(("(?s)" if dot_all else "") + translated)


def _bound(source: str, patterns: Sequence[_Pattern]) -> str:
    """`source as patterns`. A single pattern becomes several steps, since C jq cannot follow paths through a pattern."""
    if len(patterns) > 1:
        return f"({source}) as {' ?// '.join(p.text for p in patterns)}"
    if patterns[0].leaves[0][0] == "":
        return f"({source}) as {patterns[0].text}"
    steps = [f"$value{place} as {_renamed(name)}" for place, name in patterns[0].leaves]
    return f"({source}) as $value | {' | '.join(steps)}"


def _renamed(name: str) -> str:
    return f"$u_{name[1:]}" if name.startswith("$") else f"u_{name}"


def _called(name: str, arguments: list[str]) -> str:
    return f"{name}({'; '.join(arguments)})" if arguments else name


def _written(text: str) -> str:
    """The content of a string literal: escapes resolved and rewritten."""
    value = json.loads(f'"{text}"', strict=False)
    return json.dumps(_LONE.sub(_REPLACEMENT, value))[1:-1]


def _literal(written: str) -> str | None:
    """The text of an argument that is a plain string without queries."""
    try:
        value = json.loads(written) if written.startswith('"') else None
    except ValueError:
        return None
    return value if isinstance(value, str) else None
