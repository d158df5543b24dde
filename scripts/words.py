"""Refuses words and turns of `words.yaml` in comments, docstrings, messages, advice and documentation, and some in names: `make lint`.

Quotations are skipped: text in backticks, in quotes within a text, and in blocks of code.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "scripts" / "words.yaml"
_QUOTED = re.compile(r"```.*?```|``.*?``|`[^`\n]*`|\"[^\"\n]*\"|“[^”]*”|'[^'\n]*'(?!\w)", re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LETTERS = re.compile(r"[A-Za-z]{2,} [A-Za-z]")


def main() -> int:
    listed = _list()
    refused = [(re.compile(rf"(?<![\w-])(?:{one['words']})(?![\w-])", re.IGNORECASE), one["instead"]) for one in listed]
    any_of_them = re.compile("|".join(str(one["words"]) for one in listed), re.IGNORECASE)
    words = "|".join(str(one["words"]) for one in listed if one.get("names"))
    in_names = re.compile(rf"(?:^|_)(?:{words})(?:_|$)", re.IGNORECASE)
    found = 0
    for file in _files():
        for line, name in _names(file, re.compile(words, re.IGNORECASE)):
            if hit := in_names.search(name):
                found += 1
                print(f"{file.relative_to(ROOT)}:{line}: {name!r}: {hit[0].strip('_')!r} is no word for a name")
        for line, text in _texts(file):
            plain = _QUOTED.sub(lambda quoted: re.sub(r"[^\n]", " ", quoted[0]), text)
            for pattern, instead in refused if any_of_them.search(plain) else ():
                for hit in pattern.finditer(plain):
                    found += 1
                    at = line + plain.count("\n", 0, hit.start())
                    print(f"{file.relative_to(ROOT)}:{at}: {hit[0]!r}: {instead}")
    return int(bool(found))


def _list() -> list[dict[str, Any]]:
    return list(yaml.safe_load(WORDS.read_text(encoding="utf-8")))


def _files() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".yaml") and path.is_file() and not _LEFT_ALONE.match(name):
            yield path


_LEFT_ALONE = re.compile(
    r"tests/|bench/|docs/rules/|docs/adr/|CHANGELOG|scripts/words|deploy/|contrib/|rules/shared/chart_data/|\."
)
"""Test data quotes others, generated pages repeat the rules, and decisions and releases are not reworded."""


_ADVICE = re.compile(r"\s*(?:- )?(?:title|says|caveat): (.*)")


def _texts(file: Path) -> Iterator[tuple[int, str]]:
    """Texts for a reader, with the line in which each begins."""
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        yield from _of_code(source)
    elif file.suffix == ".yaml":
        for number, line in enumerate(source.splitlines(), 1):
            advice = _ADVICE.match(line)
            yield number, advice[1] if advice else line.partition("#")[2] if line.lstrip().startswith("#") else ""
    else:
        yield 1, _FENCED.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), source)


def _names(file: Path, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The names in the code that may hold one of the words, and those of its modules."""
    if file.suffix == ".py":
        yield 1, file.stem
        source = file.read_text(encoding="utf-8")
        for token in _tokens(source) if words.search(source) else ():
            if token.type == tokenize.NAME:
                yield token.start[0], token.string


@lru_cache(maxsize=1)
def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def _of_code(source: str) -> Iterator[tuple[int, str]]:
    for token in _tokens(source):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING and "r" not in token.string[: token.string.find(token.string[-1])].lower():
            text = _placeholders(token.string) if "f" in token.string[:3].lower() else token.string
            text = re.sub(r'^[bfu]*("""|"|\'\'\'|\')|("""|"|\'\'\'|\')$', "", text, flags=re.IGNORECASE)
            if _LETTERS.search(text):
                yield token.start[0], text


def _placeholders(text: str) -> str:
    """An f-string without its expressions."""
    return re.sub(r"\{[^{}\n]*\}", lambda found: "_" * len(found[0]), text)


if __name__ == "__main__":
    sys.exit(main())
