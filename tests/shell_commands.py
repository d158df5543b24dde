"""The commands in fixes, taken apart: do they parse, do the programs know these verbs and flags, is a namespace named."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from argolint.knowledge import parse
from argolint.reports.document import Fix

_MARKED = re.compile(r"\s*#\s+(?:\$ )?((?:kubectl|argocd|helm|jq) (?!.*\bis\b).*)")
_QUOTED = re.compile(r"`((?:kubectl|argocd|helm) [^`]+)`")
_TALK = re.compile(r"\s+#(\s|$).*")


@cache
def known() -> dict[str, Any]:
    """The table of verbs, flags and programs."""
    found: dict[str, Any] = parse((Path(__file__).parent / "shell_commands.yaml").read_text("utf-8"))
    return found


def commands(fix: Fix) -> Iterator[str]:
    """Every command of a fix: its own, the steps before it, and those in its comments and caveat."""
    yield from fix.before
    lines = str(fix.edit.content).splitlines() if fix.edit.kind in ("command", "yaml") else []
    for line in lines:
        if marked := _MARKED.match(line):
            yield marked[1]
        elif fix.edit.kind == "command" and line.strip() and not line.lstrip().startswith("#"):
            yield line
    yield from (found[1] for found in _QUOTED.finditer(fix.caveat))


def faults(fixes: Iterable[Fix]) -> list[str]:
    """What is wrong with the commands of these fixes, a line each; empty when nothing is."""
    lines = list(dict.fromkeys(line for fix in fixes for line in commands(fix)))
    if not lines:
        return []
    parsed = subprocess.run(["bash", "-n"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if parsed.returncode:
        return [parsed.stderr]
    return [f"{fault}: {line}" for line in lines for fault in _faults(line)]


def _faults(line: str) -> Iterator[str]:
    for words in _simple(_TALK.sub("", line).partition(" -- ")[0]):
        program = words[0]
        if program in ("kubectl", "argocd"):
            yield from _of_program(program, words[1:])
        elif program not in known()["programs"]:
            yield f"{program} is no program of the table"


def _simple(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, in pipes, lists and substitutions."""
    inner = re.findall(r"\$\(([^()]*)\)", line)
    yield from (words for text in inner for words in _simple(text))
    lexer = shlex.shlex(re.sub(r"\$\([^()]*\)", "X", line), posix=True, punctuation_chars="|&;<>")
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;"):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def _of_program(program: str, words: list[str]) -> Iterator[str]:
    table = known()[program]
    plain = list(_without_values(words))
    verb = next((v for n in (3, 2, 1) if (v := " ".join(plain[:n])) in table), None)
    if verb is None:
        yield f"{program} has no verb {' '.join(plain[:2])!r} in the table"
        return
    flags = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    removal = {w for w in words if w.endswith("-") and not w.startswith("-")}  # `annotate x key-`
    for flag in sorted(flags - removal - set(table[verb]) - set(table[""])):
        yield f"{program} {verb} has no flag {flag} in the table"
    if program == "kubectl":
        yield from _unplaced(verb, plain[len(verb.split()) :], words)


_VALUED = (
    "-n",
    "--namespace",
    "-l",
    "--selector",
    "-o",
    "--output",
    "-f",
    "--filename",
    "-p",
    "-c",
    "--kind",
    "--resource",
)


def _without_values(words: list[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if not skip and not word.startswith("-"):
            yield word
        skip = not skip and word in _VALUED


def _unplaced(verb: str, objects: list[str], words: list[str]) -> Iterator[str]:
    """A command about objects of a namespace names it; placeholders and what is read from a file need none."""
    if verb in (
        "api-resources",
        "api-versions",
        "version",
        "explain",
        "create namespace",
        "apply",
        "replace",
        "auth can-i",
    ):
        return
    if any(w in ("-n", "--namespace", "-A", "--all-namespaces", "-f", "--raw") for w in words) or not objects:
        return
    resource = objects[0].partition("/")[0].partition(".")[0].lower()
    if not {resource, resource.removesuffix("s"), resource.removesuffix("es")} & set(known()["cluster_scoped"]):
        yield f"kubectl {verb} names no namespace for {objects[0]}"
