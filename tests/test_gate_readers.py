"""What Go's readers find in a text and argolint's does not is never silent: texts of all kinds go through both."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
SCALARS = (
    *("010", "0o17", "0x1F", "0b11", "1_000", "190:20:30", "1e3", "1E+2", ".5", "5.", "+1", "-0", "-0.0", "0.1", "1.0", "1e22"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809", "123456789012345678", "1e400"),
    *("y", "n", "Y", "yes", "No", "on", "OFF", "true", "True", "tRUE", "~", "null", "Null", "", "nULL", "2026-01-02", "2026-01-02T03:04:05Z"),
    *(".nan", "-.inf", "0x", "0o8", "08", "1__0", "_1", "0x_1", "1:2", "=", "<<", "!!str 1", "!!float 1", "!!int 1.0", "!!bool yes", "! 1"),
    *("!!null ''", "!!timestamp 2026-01-02", "!!set {a}", "!!omap [a: 1]", "!x {a: 1}", "!!binary aGk=", "!!float 0x1", "!!str ~", "!!int '7'"),
    *("'1'", '"\\x41\\u00e9\\N\\_\\L\\P\\e"', "'it''s'", "a#b", "a #b", "a: b", "- a", "[a, b: c]", "{a: , b}", "[,]", "{a: 1, a: 2}"),
    *("|\n    ---\n    x\n", ">-\n    a\n     b\n\n    c\n", "|2-\n    x\n", "|+\n    x\n\n", ">1\n    x\n", "|\n\tx\n", "a\n    b\n", "a\tb"),
    *("&z {<<: *z}", "{<<: {a: 1}, a: 2}", "{a: 2, <<: {a: 1}}", "{<<: [{a: 1}, {a: 2, b: 3}]}", "{<<: 1}", "{<<: null}", "{<<: []}"),
    *("{1: a, 1.0: b}", "{true: a, yes: b}", "{null: a}", "{0x10: a, 16: b}", "{1e3: a}", "{? [a] : b}", "{-0: a}", "{.5: a}", "{? : a}"),
    *("{!!str 1: a}", "{'1': a, 1: b}", "{010: a}", "{12345678901234567890: a}", "{1.5: a, 1.50: b}", "{a: &q 1, b: *q}", "{1e21: a, 1.5e-7: b}"),
)  # fmt: skip
ESCAPES = (
    ("argoproj.io", ('"\\x61rgoproj.io', "argoproj.io\\/", "argoproj\\u002eio")),
    (
        "Application",
        ("\\u0041pplication", "Appli\\\n  cation", "!!binary QXBwbGljYXRpb24=", "!!str Application", "&x Application"),
    ),
    ("kind", ("!!str kind", '"\\x6bind"', "kind ", "? kind\n", "Kind")),
)


def field(draw: random.Random, number: int) -> str:
    key = draw.choice(
        (f"f{number}", f"f{number}", "f0", f"&k{number} f{number}", f"'f{number}'", f"? f{number}\n ", "<<", "1", "0o1")
    )
    value = draw.choice(SCALARS)
    before = draw.choice(("", "", "&v ", "# x\n    "))
    return f"  {key}: {before}{value}".removesuffix("\n") + "\n"


def text(draw: random.Random) -> str:
    """Applications and other documents, one after the other, with a few places spoilt or written otherwise."""
    parts = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        parts.append(draw.choice((PLAIN, FLOW, FLOW + "\n", FLOW.replace(": ", ":\t"), draw.choice(OTHERS))))
        parts.append(draw.choice(BETWEEN))
        if parts[-2] is PLAIN and draw.random() < 0.7:
            parts[-2] = PLAIN.replace(
                "{project: a}\n", "\n" + "".join(field(draw, n) for n in range(draw.choice((1, 2, 3))))
            )
    made = draw.choice(("", "", "", "\ufeff", "---\n", "# {{\n", "%YAML 1.1\n---\n", " ", "\n")) + "".join(parts)
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        word, others = draw.choice(ESCAPES)
        made = made.replace(word, draw.choice(others), 1)
    for _ in range(draw.choice((0, 0, 1, 2, 4))):
        at = draw.randrange(len(made) + 1)
        gone = draw.choice((0, 0, 0, 1, 5))
        made = made[:at] + draw.choice(INSIDE) + made[at + gone :]
    return made.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


TOKENS = (
    *"[]{},:?!&*|>-#'\"%@` \t=~<abc01.\\/^",
    *("\n    ", "!!", "!<", "? ", "- ", ": ", " #", "\r", "\x85", "\u2028", "&a ", "*a ", "!a!b ", "!<tag:yaml.org,2002:str> "),
    *("%41", "---", "...", "\ufeff", "!e!x "),
)  # fmt: skip
PLACES = ("f: %s", "f: [%s]", "f: {%s}", "%s: 1", "f: {a: %s}", 'f: "%s"', "- %s", "f: |%s\n    x", "? %s\n  : 1")
BEGINS = ("# {{\n", "# {{\n", "%TAG !e! tag:x,2000:\n---\n# {{\n", "%YAML 1.2\n---\n# {{\n")


def spoilt(draw: random.Random) -> str:
    """An Application with a few tokens of YAML in it that mean something to one reader and nothing to another, in what looks like a template."""
    tokens = "".join(draw.choice(TOKENS) for _ in range(draw.choice((1, 2, 3, 4, 6, 9))))
    return draw.choice(BEGINS) + PLAIN.replace(" {project: a}", "\n  " + draw.choice(PLACES) % tokens)


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


def asked(program: Path, texts: list[str]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    lines = "".join(f"{json.dumps(one)}\n" for one in texts)
    found = subprocess.run([str(program)], input=lines, capture_output=True, text=True, timeout=600, check=True).stdout
    return map(json.loads, found.removesuffix("\n").split("\n"))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: a number is a number, whatever its kind."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return float(one) == float(other)
    return bool(one == other)


def test_what_go_reads_and_argolint_does_not_is_never_silent(readers: Path) -> None:
    """Each Application that one of Go's readers finds is there by name; as a whole where the readers of manifests agree on it."""
    draw = random.Random(int(os.environ.get("ARGOLINT_SEED") or 30))
    texts = [draw.choice((text, spoilt))(draw) for _ in range(TEXTS)]
    silent, read, told, whole = [], 0, 0, 0
    for one, found in zip(texts, asked(readers, texts), strict=True):
        ours = declared(one)
        named = {str(m["metadata"].get("name")) for m in ours.objects if isinstance(m.get("metadata"), dict)}
        theirs = {app["metadata"]["name"] for apps in found.values() for app in apps}
        read += bool(theirs)
        told += bool(theirs and not ours.unread)
        manifests = [*found["split"], *found["decoded"]]
        whole += bool(manifests and not ours.unread)
        lacking = [app for app in manifests if not any(same(app, held) for held in ours.objects)]
        if (not theirs <= named or lacking) and not ours.unread:
            silent.append((one, lacking or found, ours.objects))
    assert silent == []
    assert read > TEXTS / 5, "hardly any of the texts is one that Go reads"
    assert told > read / 3, "hardly any of them is read whole"
    assert whole > TEXTS / 10, "hardly any of them has an Application to compare"
