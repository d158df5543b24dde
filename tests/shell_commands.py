"""Runs the commands in fixes in a shell whose programs record their arguments: are these valid, do they have a namespace.

So quotes, pipes, lists and substitutions are the shell's own. All programs succeed, which shows the commands after `&&`; for those after `||`
they all fail in a second run.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from argolint.reports.document import ReportedFix
from argolint.values.knowledge import parse

_MARKED = re.compile(r"\s*#\s+(?:\$ )?((?:kubectl|argocd|helm|jq) (?!.*\bis\b).*)")
_TOLD = re.compile(r"\s*#\s+[^`]*: ((?:kubectl|argocd) [^,;]+)")
_QUOTED = re.compile(r"`((?:kubectl|argocd|helm) [^`]+)`")


@cache
def known() -> dict[str, Any]:
    """The table of verbs, flags and programs."""
    found: dict[str, Any] = parse((Path(__file__).parent / "shell_commands.yaml").read_text("utf-8"))
    return found


def commands(fix: ReportedFix) -> Iterator[str]:
    """Every command of a fix: its own, the steps before it, and those in its comments and caveat."""
    yield from fix.before
    lines = str(fix.edit.content).splitlines() if fix.edit.kind in ("command", "yaml") else []
    for line in lines:
        if marked := _MARKED.match(line) or _TOLD.match(line):
            yield marked[1]
        elif fix.edit.kind == "command" and line.strip() and not line.lstrip().startswith("#"):
            yield line
    yield from (found[1] for found in _QUOTED.finditer(fix.caveat))


def faults(fixes: Iterable[ReportedFix]) -> list[str]:
    """The faults of these fixes' commands, a line each; empty if there are none."""
    lines = list(dict.fromkeys(line for fix in fixes for line in commands(fix)))
    unknown = [line for line in lines if line not in _SEEN]
    _SEEN.update(zip(unknown, called(unknown), strict=True))
    return [f"{fault}: {line}" for line in lines for fault in _faults(_SEEN[line])]


_SEEN: dict[str, list[tuple[str, ...]]] = {}
"""Results by lines: fixtures and recordings repeat each other."""


_BROKEN = "!"
_SCRIPT = r"""
note() { local words; printf -v words '%s\x1f' "$NR" "$@"; printf '%s\x1e' "$words" >> "$NOTES"; }
command_not_found_handle() { note "$@"; return $RC; }
for name in $PROGRAMS; do eval "$name() { note $name \"\$@\"; return \$RC; }"; done
for RC in 0 1; do
  NR=0
  for line in "$@"; do
    [ $RC -eq 0 ] || [[ $line == *"||"* ]] || line=
    eval "$line" < /dev/null > /dev/null 2>&1
    code=$?
    [ $RC -gt 0 ] || [ $code -eq 0 ] || note ! $code
    NR=$((NR+1))
  done
done
"""


_ONE_CALL = re.compile(r"(?:kubectl|argocd|helm)(?: (?:[A-Za-z0-9_./:,@%+=-]|'[^'\n\0]*')+)+(?: +#[^\n\0]*)?")
"""A line with one program and nothing that a shell reads otherwise than `shlex`."""


def called(lines: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """The arguments that each line gives to programs; `!` if the shell itself cannot run it. Most lines need no shell to tell."""
    found = {line: [tuple(shlex.split(line, comments=True))] for line in lines if _ONE_CALL.fullmatch(line)}
    others = [line for line in lines if line not in found]
    found.update(zip(others, called_by_a_shell(others), strict=True))
    return [found[line] for line in lines]


def called_by_a_shell(lines: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """The same, from a shell without these programs."""
    found: list[list[tuple[str, ...]]] = [[] for _ in lines]
    if not lines:
        return found
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        programs = " ".join(("kubectl", "argocd", *known()["programs"]))
        environ = {"PATH": folder, "NOTES": str(notes), "PROGRAMS": programs, "LC_ALL": "C.UTF-8"}
        subprocess.run(["/bin/bash", "-c", _SCRIPT, "bash", *lines], cwd=folder, env=environ, check=True)
        assert list(Path(folder).iterdir()) == [notes], "a command writes a file"
        for note in notes.read_text("utf-8").split("\x1e")[:-1]:
            number, *words = note.split("\x1f")[:-1]
            if tuple(words) not in found[int(number)]:
                found[int(number)].append(tuple(words))
    return found


def _faults(calls: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for program, *words in calls:
        if program == _BROKEN:
            yield "bash cannot run it"
        elif program == "xargs":
            yield from _faults([tuple(words[1:] if words[0].startswith("-") else words)])
        elif program in ("kubectl", "argocd"):
            yield from _of_program(program, words)
        elif program not in known()["programs"]:
            yield f"{program} is no program of the table"


def _of_program(program: str, words: list[str]) -> Iterator[str]:
    """Faults by the program's own parser (github.com/spf13/pflag): a flag's value may be the next word."""
    table = known()[program]
    verb = next((v for n in (3, 2, 1) if (v := " ".join(_leading(words, table[""])[:n])) in table), None)
    if verb is None:
        yield f"{program} has no verb {' '.join(_leading(words, table[''])[:2])!r} in the table"
        return
    count, *flags = str(table[verb]).split()
    takes = dict(_flag(flag) for flag in (*flags, *table[""].split()))
    plain, unknown = _parsed(words, takes)
    yield from (f"{program} {verb} has no flag {flag} in the table" for flag in unknown)
    given = plain[len(verb.split()) :]
    least = int(count.removesuffix("+"))
    if not (len(given) >= least if count.endswith("+") else len(given) == least):
        yield f"{program} {verb} takes {count} words and gets {len(given)} ({' '.join(given)})"
    elif program == "kubectl":
        yield from _of_kubectl(verb, given, words)


def _flag(text: str) -> tuple[str, bool]:
    return text.removesuffix("="), text.endswith("=")


def _leading(words: Sequence[str], common: str) -> list[str]:
    return _parsed(words, dict(map(_flag, common.split())))[0]


def _parsed(words: Sequence[str], takes: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """The words that are no flags, and the flags that the program does not have; after `--` all are words of another program."""
    plain: list[str] = []
    unknown: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, joined, _ = word.partition("=")
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
        elif flag not in takes:
            unknown.append(flag)
        elif takes[flag] and not joined and next(rest, None) is None:
            unknown.append(f"{flag} without a value")
    return plain, unknown


def _of_kubectl(verb: str, given: list[str], words: list[str]) -> Iterator[str]:
    """A command on objects of a namespace must name it, except with placeholders and for objects from a file."""
    if verb in ("annotate", "label"):
        pairs = [w for w in given[1:] if "=" in w or w.endswith("-")]
        if len(given) - len(pairs) not in (1, 2) or not pairs:
            yield f"kubectl {verb} gets no KEY=VALUE or KEY- after its object"
        elif any("=" in pair for pair in pairs) and "--overwrite" not in words and verb == "annotate":
            yield "kubectl annotate refuses to change what is there without --overwrite"
    placed = {"-n", "--namespace", "-A", "--all-namespaces", "-f", "--raw"}.intersection(words)
    if verb in known()["kubectl_anywhere"] or placed or not given:
        return
    for resource in given[0].partition("/")[0].split(","):
        name = resource.partition(".")[0].lower()
        if not {name, name.removesuffix("s"), name.removesuffix("es")} & set(known()["cluster_scoped"]):
            yield f"kubectl {verb} names no namespace for {resource}"
