"""jq programs of strangers: which ones Argo CD would run, and what they can reach and take when argolint runs them."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from argolint.comparison import jq
from argolint.comparison.jq import builtins, re2
from argolint.comparison.jq.grammar import program
from argolint.comparison.jq.outcome import Outcome
from argolint.comparison.jq.sandbox import Sandbox, shared
from tests.waiting import until

WEB: dict[str, Any] = {
    "kind": "VirtualMachine",
    "spec": {
        "replicas": 3,
        "limit": 1,
        "range": {"input": 2},
        "devices": {"inputs": [{"name": "tablet"}, {"name": "mouse"}]},
        "env": [{"name": "A", "value": "1"}, {"name": "B"}],
    },
}


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        (".spec.limit", [("limit",)]),
        (".spec.range.input", [("range", "input")]),
        ('.spec["range"]', [("range",)]),
        (".spec.devices.inputs[].name", [("devices", "inputs", 0, "name"), ("devices", "inputs", 1, "name")]),
        ('.spec.devices.inputs[] | select(.name == "debug" or .name == "mouse")', [("devices", "inputs", 1)]),
        ('.spec.env[] | select(.name | test("^(A|env)$")).value', [("env", 0, "value")]),
        (".spec | {limit: .limit} as {$limit} | select($limit == 1) | .range", [("range",)]),
        ("limit(1; .spec.env[])", [("env", 0)]),
        ("def env: .spec; env.limit", [("limit",)]),
        ("# input\n.spec.limit", [("limit",)]),
        ('.spec["\\("lim" + "it")"]?', [("limit",)]),
        (".spec.limit, .spec.replicas", [("limit",), ("replicas",)]),
        (".spec.limit) | del(.spec.replicas", [("limit",), ("replicas",)]),
    ],
)
def test_a_field_may_be_named_like_a_function(path: str, gone: list[tuple[Any, ...]]) -> None:
    expected = json.loads(json.dumps(WEB))
    for *parents, last in reversed(gone):
        node = expected["spec"]
        for step in parents:
            node = node[step]
        del node[last]
    assert jq.refusal(path) == ""
    assert jq.deleted(WEB, [path]) == expected


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".spec[", 'unexpected token ")"'),
        (".spec # all of it", "unexpected EOF"),
        ("", 'unexpected token ")"'),
        (".spec.a ?// 1", 'unexpected token "?//"'),
        (".spec == 1 == 2", 'unexpected token "=="'),
        ('.spec["a', "unterminated string literal"),
        ('.spec["\\x"]', 'invalid escape sequence "\\x" in string literal'),
        ("1.2.3", 'invalid token "1.2."'),
        ("input", "input(s)/0 is not allowed"),
        ("[inputs]", "input(s)/0 is not allowed"),
        (".spec | debug", "function not defined: debug/0"),
        ("stderr", "function not defined: stderr/0"),
        ("input_filename", "function not defined: input_filename/0"),
        ("get_search_list", "function not defined: get_search_list/0"),
        ("$__loc__", "variable not defined: $__loc__"),
        ("$__prog_args", "variable not defined: $__prog_args"),
        ("{$name}", "variable not defined: $name"),
        ("break $out", "label not defined: $out"),
        ("a::b", "function not defined: a::b/0"),
        ('import "a" as a; .', 'unexpected token "import"'),
        (".spec.containers[name=app]", "function not defined: name/0"),
        ("app | .[", 'unexpected token ")"'),
    ],
)
def test_what_argo_cd_cannot_parse_is_refused_in_its_words(path: str, why: str) -> None:
    assert jq.refusal(path) == why
    assert jq.deleted(WEB, [path]) == WEB


@pytest.mark.parametrize("path", [".spec.none | [nth(0; .[]?)]", ".spec as [$a] ?// {replicas: $a} | .spec.replicas"])
def test_what_c_jq_alone_fails_at_is_not_said_to_fail(path: str) -> None:
    assert jq.refusal(path) == ""
    assert jq.unknown(WEB, path)
    assert jq.skipped(WEB, path).startswith("argolint does not know what it does")


@pytest.mark.parametrize("path", ["[" * 200 + "." + "]" * 200, "." + " | ." * 20_000, "_match(1; 2; 3)"])
def test_what_argolint_does_not_run_is_no_error_of_the_path(path: str) -> None:
    assert jq.refusal(path) == ""
    assert jq.skipped(WEB, path).startswith("argolint does not run it, since it ")
    assert jq.unknown(WEB, path)
    assert jq.deleted(WEB, [path]) == WEB


@pytest.mark.parametrize(
    "question",
    [
        "env",
        "$ENV",
        "[env[]]",
        "{$ENV}.ENV",
        "(def f: env; f)",
        "([env, $ENV] | add)",
    ],
)
def test_a_program_finds_no_environment(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGOCD_AUTH_TOKEN", "eyJhbGciOi")
    assert jq.deleted(WEB, [f".spec | select({question} | length > 0)"]) == WEB
    assert jq.skipped(WEB, f".spec | select({question} | length > 0)") == ""


def test_the_process_holds_no_environment_and_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("shown by /proc")
    monkeypatch.setenv("ARGOCD_AUTH_TOKEN", "eyJhbGciOi")
    monkeypatch.chdir(tmp_path)
    sandbox = Sandbox(1)
    with (tmp_path / "open").open("w") as other:
        os.set_inheritable(other.fileno(), True)
        assert sandbox.run([program(".spec").text], WEB).outcomes == (Outcome.DONE,)
    process = Path(f"/proc/{sandbox._idle[0]._process.pid}")
    assert (process / "environ").read_bytes() == b""
    assert (process / "cwd").resolve() == Path("/")
    assert {fd.name for fd in (process / "fd").iterdir()} == {"0", "1", "2"}
    sandbox.close()
    assert not process.exists()


@pytest.mark.parametrize(
    "path",
    [
        "error(.spec.env[0].value)",
        '.spec | error("the value is \\(.env[0].value)")',
        '.spec["\\(.spec.env[0].value | error)"]',
        "getpath([.spec])",
        ".kind.VirtualMachine",
    ],
)
def test_what_a_failing_program_says_is_not_repeated(path: str) -> None:
    assert jq.skipped(WEB, path) == "it fails, and Argo CD skips it"


def test_a_program_that_computes_too_long_or_takes_too_much_is_ended_and_not_run_again() -> None:
    sandbox = Sandbox(1)
    endless, large = (program(path).text for path in ("def f: f; f", ".spec | [.[]] | .[500000000] = 1"))
    plain = program(".spec.limit").text
    result = sandbox.run([endless, plain, large], WEB)
    assert result.outcomes == (Outcome.TIME, Outcome.DONE, Outcome.MEMORY)
    assert "limit" not in result.object["spec"]
    sandbox.close()
    assert sandbox.run([endless], {}).outcomes == (Outcome.TIME,)
    assert sandbox._idle == []  # no process was started for it


def test_slow_programs_end_by_and_by_for_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jq.sandbox, "_SLOW_S", 0.5)
    sandbox = Sandbox(1)
    assert sandbox.run([program("repeat(.)").text], WEB).outcomes == (Outcome.TIME,)
    assert sandbox.run([program(".spec.limit").text], WEB).outcomes == (Outcome.REFUSED,)
    sandbox.close()


def test_the_process_ends_with_the_check_even_in_the_middle_of_a_program() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("shown by /proc")
    check = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from argolint.comparison import jq; print(jq.deleted({}, ['.a']), flush=True); jq.deleted({}, ['repeat(.)'])",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert check.stdout is not None
    assert check.stdout.readline() == "{}\n"
    [child] = Path(f"/proc/{check.pid}/task/{check.pid}/children").read_text().split()
    check.send_signal(signal.SIGKILL)
    check.wait()
    check.stdout.close()
    until(lambda: not Path(f"/proc/{child}").exists())


def test_no_process_is_started_without_a_program() -> None:
    script = (
        "import sys; from argolint.comparison.ignore import IgnoreRule, normalize\n"
        "normalize({'kind': 'A'}, [IgnoreRule('', 'A', json_pointers=('/a',))])\n"
        "print('subprocess' in sys.modules, 'jq' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"^(?!web).*$", "look-ahead"),
        (r"(?<=a)b", "look-behind"),
        (r"(?>a)", "atomic group"),
        (r"a++", "possessive"),
        (r"a|*b", "repetition of nothing"),
        (r"(a)\1", "back-reference"),
        (r"a\Z", "no such escape"),
        (r"(?x)a b", "no such flag"),
        (r"a{1001}", "too many"),
        (r"[b-a]", "wrong way round"),
        (r"a)", "no group"),
    ],
)
def test_a_regular_expression_that_go_does_not_know_makes_the_rule_fail(pattern: str, why: str) -> None:
    path = f".spec.env[] | select(.name | test({json.dumps(pattern)}))"
    assert jq.refusal(path) == ""
    assert jq.skipped(WEB, path) == (
        f"it fails, and Argo CD skips it: Go's regular expressions (RE2) cannot be written {pattern!r}"
    )
    assert jq.skipped({"spec": {"env": []}}, path) == ""


@pytest.mark.parametrize("arguments", ['["A", "g"]', '"A"; "x"', "1", '"A"; 1'])
def test_regular_expressions_take_a_text_and_the_flags_that_go_knows(arguments: str) -> None:
    assert jq.skipped(WEB, f".spec.env[] | select(.name | test({arguments}))").startswith("it fails")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", False),
        ("(?m)a$", "a\nb", True),
        ("(?P<x>a)", "a", True),
        (r"\Qa.b\E", "a.b", True),
        ("[]a]", "]", True),
    ],
)
def test_regular_expressions_find_what_go_finds(pattern: str, text: str, found: bool) -> None:
    path = f".a | select(test({json.dumps(pattern)}))"
    assert ("a" not in jq.deleted({"a": text}, [path])) is found


_PARTS = (
    ". .. .a .[] [ ] ( ) { } | , // ?// ? = == |= + - * / % and or not as $x $ENV if then elif else end try catch reduce foreach label "
    'break def f g : ; "a" "\\( 1 2.5 .5e3 env input limit select test error path recurse range until @base64 @x # a::b $__loc__ \\ \0 é'
).split(" ")
PROGRAMS = st.lists(st.sampled_from(_PARTS), max_size=12).map(" ".join) | st.text(max_size=40)


@given(PROGRAMS)
@example("$__loc__")
def test_any_text_is_judged_and_only_known_names_are_written(path: str) -> None:
    made = program(path)
    assert [bool(made.text), bool(made.refusal), bool(made.unsupported)].count(True) == 1
    bare = re.sub(r'"(?:[^"\\]|\\[^(])*"', '""', made.text)
    known = {s.partition("/")[0] for s in builtins.SIGNATURES} | set(builtins.FORMATS)
    words = set(re.findall(r"[A-Za-z_]\w*", bare))
    keywords = "del and or as def if then elif else end try catch reduce foreach label break null true false error value before type tojson e".split()
    assert {w for w in words if not w.startswith(("u_", "r_", "e")) and w not in known} <= set(keywords)
    assert set(re.findall(r"\$\w+", bare)) <= {
        v for v in re.findall(r"\$\w+", bare) if v.startswith(("$u_", "$value", "$before"))
    }


@given(PROGRAMS)
def test_any_program_leaves_an_object(path: str) -> None:
    made = program(path)
    if made.text:
        result = shared().run([made.text], WEB)
        assert isinstance(result.object, dict)
        assert result.object == WEB or result.outcomes == (Outcome.DONE,)


@given(st.text(alphabet="ab()[]{}?*+|^$\\.-:<>P!=imsUQEdwpxzZ0129,\n", max_size=20))
def test_any_pattern_is_translated_or_refused(pattern: str) -> None:
    translated = re2.for_oniguruma(pattern)
    assert translated is None or isinstance(translated, str)
