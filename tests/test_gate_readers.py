"""What Go's readers find in a text and argolint's does not is never silent: texts of all kinds go through both."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from argolint.gate.declared import declared
from tests.conftest import PROFILE

TEXTS = int(os.environ.get("ARGOLINT_CASES") or (20_000 if PROFILE == "long" else 1_500))
HERE = Path(__file__).parent / "readers"

PLAIN = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {project: a}\n"
FLOW = '{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "api"}, "spec": {}}'
OTHERS = (
    *("a: 1\n", "", "{}\n", "[]\n", "a: {{ .x }}\n", "{{- if x }}\n", "# {{\n", "- 1\n", "x: |\n  ---\n  y\n", '"a\n\n---\n b"\n'),
    *('{"kind": "ConfigMap"}\n', "{{ x\n", "kind: List\nitems: [" + FLOW + "]\n", "%YAML 1.1\n", "\ufeff", "a: [\n", "null\n"),
    *("x: " + "[" * 130 + "]" * 130 + "\n", '{"a": ' + "[" * 140 + "]" * 140 + "}\n", "? [a]\n: b\n", "? {a: b}\n: c\n"),
    *("a: &a [1]\nb: *a\n", "b: *none\n", "<<: {kind: Application}\n", "<<: [1]\n", "a: 1\na: 2\n", "~: 1\n", "a: !!int x\n"),
    *("a: .inf\n", "a: !!binary x\n", "!!binary a2luZA==: Application\n", "a: !x y\n", "a: 0o7\n", "a: 1e999\n", "a: 2026-99-99\n"),
)  # fmt: skip
BETWEEN = (
    "---\n",
    "--- \n",
    "---\t# x\n",
    "--- # x\n",
    "...\n",
    "---\r\n",
    "\n",
    "--- {}\n",
    "--- |\n",
    "----\n",
    "---x\n",
    "",
)
INSIDE = (
    *("\ufeff", "\x85", "\u2028", "\r", "\t", "\x00", "\x01", "\x7f", "\xa0", "\ud7ff", "\U0001f600", "\\", '"', "'", "{{", "}}"),
    *(" ", "\n", "#", ":", "- ", "&a ", "*a", "!", "|", ">", "%", "@", "`", ",", "]", "}", "\\ud800", "\\/", "\\x61", "~", "\n ---\n"),
)  # fmt: skip
ESCAPES = (
    ("argoproj.io", ('"\\x61rgoproj.io', "argoproj.io\\/", "argoproj\\u002eio")),
    (
        "Application",
        ("\\u0041pplication", "Appli\\\n  cation", "!!binary QXBwbGljYXRpb24=", "!!str Application", "&x Application"),
    ),
    ("kind", ("!!str kind", '"\\x6bind"', "kind ", "? kind\n", "Kind")),
)


def text(draw: random.Random) -> str:
    """Applications and other documents, one after the other, with a few places spoilt or written otherwise."""
    parts = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        parts.append(draw.choice((PLAIN, FLOW, FLOW + "\n", FLOW.replace(": ", ":\t"), draw.choice(OTHERS))))
        parts.append(draw.choice(BETWEEN))
    made = draw.choice(("", "", "", "\ufeff", "---\n", "# {{\n", "%YAML 1.1\n---\n", " ", "\n")) + "".join(parts)
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        word, others = draw.choice(ESCAPES)
        made = made.replace(word, draw.choice(others), 1)
    for _ in range(draw.choice((0, 0, 1, 2, 4))):
        at = draw.randrange(len(made) + 1)
        gone = draw.choice((0, 0, 0, 1, 5))
        made = made[:at] + draw.choice(INSIDE) + made[at + gone :]
    return made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no go on PATH: Go's readers are not asked")
    program = tmp_path_factory.mktemp("readers") / "readers"
    made = subprocess.run(
        [go, "build", "-o", str(program), "."],
        cwd=HERE, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "CGO_ENABLED": "0"},
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"Go's readers cannot be built here, so they are not asked: {made.stderr.strip()[-300:]}")
    return program


def asked(program: Path, texts: list[str]) -> Iterator[dict[str, list[str]]]:
    lines = "".join(f"{json.dumps(one)}\n" for one in texts)
    found = subprocess.run([str(program)], input=lines, capture_output=True, text=True, timeout=600, check=True).stdout
    return map(json.loads, found.removesuffix("\n").split("\n"))


def test_what_go_reads_and_argolint_does_not_is_never_silent(readers: Path) -> None:
    draw = random.Random(int(os.environ.get("ARGOLINT_SEED") or 30))
    texts = [text(draw) for _ in range(TEXTS)]
    silent, read, told = [], 0, 0
    for one, found in zip(texts, asked(readers, texts), strict=True):
        ours = declared(one)
        named = {str(m["metadata"].get("name")) for m in ours.objects if isinstance(m.get("metadata"), dict)}
        theirs = {name for names in found.values() for name in names}
        read += bool(theirs)
        told += bool(theirs and not ours.unread)
        if not theirs <= named and not ours.unread:
            silent.append((one, found))
    assert silent == []
    assert read > TEXTS / 5, "hardly any of the texts is one that Go reads"
    assert told > read / 3, "hardly any of them is read whole"
