"""The commands around a check: what the README says works as written; init, help, completion, and the line on a terminal."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from argolint.engine import config
from tests.conftest import recording, run_argolint
from tests.few import named_applications

README = (Path(__file__).parents[1] / "README.md").read_text()
GOLDEN = Path(__file__).parent / "golden" / "demo-80-columns.txt"
COST = re.compile(r"·\s\d+ requests(?:,\s[\d.]+ MB,\s[\d.]+ s)?")


def test_every_command_of_the_readme_works(tmp_path: Path) -> None:
    commands = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for line in README.splitlines()
        if line.startswith("$ argolint")
    ]
    assert len(commands) >= 8
    with named_applications() as env:
        for command in commands:
            ran = run_argolint(*command[1:], cwd=tmp_path, env=env)
            assert ran.code in (0, 1), (command, ran.err)
            assert ran.out, command


def test_the_readme_shows_what_the_demo_says() -> None:
    golden = COST.sub("", GOLDEN.read_text())
    shown = COST.sub("", README)
    end = golden[golden.index(next(line for line in golden.splitlines() if "applications are fine" in line)) :]
    assert end.strip() in shown


def test_init_writes_a_configuration_that_is_valid_and_leaves_what_is_there(tmp_path: Path) -> None:
    snapshot = ("--snapshot", recording("seeds/1-stuck"))
    first = run_argolint("init", "--ci", "github", "--baseline", *snapshot, cwd=tmp_path)
    assert first.code == 0
    assert "argolint-baseline.json: 16 findings accepted\n.argolint.yaml: written\n" in first.out
    assert "argolint check" in first.out
    text = (tmp_path / ".argolint.yaml").read_text()
    assert config.parse(text, tmp_path).config.baseline == "argolint-baseline.json"
    keys = {name.strip("# ").partition(":")[0] for name in text.splitlines() if re.match(r"(# )?[a-z-]+:", name)}
    assert keys >= {"select", "deselect", "fail-on", "output", "rules", "ignore", "baseline"}
    uncommented = re.sub(r"(?m)^# (?=[a-z-]+:|- |  )", "", text)
    assert config.parse(uncommented, tmp_path).config.fail_on == "error"
    workflow = (tmp_path / ".github/workflows/argolint.yml").read_text()
    assert "gate" in yaml.safe_load(workflow)["jobs"]
    assert run_argolint("check", *snapshot, cwd=tmp_path).code == 0
    (tmp_path / ".argolint.yaml").write_text("fail-on: never\n")
    again = run_argolint("init", cwd=tmp_path)
    assert ".argolint.yaml: there already, left as it is\n" in again.out
    assert (tmp_path / ".argolint.yaml").read_text() == "fail-on: never\n"


def test_help_shows_options_in_sections() -> None:
    lines = run_argolint("check", "--help").out.splitlines()
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == [
        "What is read:",
        "Which applications:",
        "Which findings are shown:",
        "How it is looked at:",
        "Who looks:",
        "How it ends:",
        "How it is shown:",
        "Options:",
    ]
    assert lines.index("Which findings are shown:") < next(i for i, line in enumerate(lines) if "--select WHAT" in line)


def test_a_shell_completes_rules_causes_and_formats() -> None:
    def completed(*words: str) -> list[str]:
        asked = {"COMP_WORDS": shlex.join(words), "COMP_CWORD": str(len(words) - 1)}
        script = Path(sys.executable).with_name("argolint")  # a shell asks the command of that name
        env = {**os.environ, **asked, "_ARGOLINT_COMPLETE": "bash_complete"}
        ran = subprocess.run([script], env=env, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        return [line.removeprefix("plain,") for line in ran.stdout.splitlines()]

    assert "shared-resource/predicted" in completed("argolint", "explain", "shared-resource/")
    assert completed("argolint", "check", "-o", "sar") == ["sarif"]
    assert completed("argolint", "check", "--select", "drift,kes-l") == ["drift,kes-leftover"]


@pytest.mark.parametrize("words", ["check --sel", "check --select ", "forecast ", "check -o "])
def test_a_completion_imports_no_command_and_no_rule(words: str) -> None:
    asked = {
        "COMP_WORDS": f"argolint {words}",
        "COMP_CWORD": str(words.count(" ") + 1),
        "_ARGOLINT_COMPLETE": "bash_complete",
    }
    run = "import sys; sys.argv[0] = 'argolint'; from argolint.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", run],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "argolint.cli.complete" in imported
    assert ran.stdout
    assert not {
        name for name in imported if name.startswith(("argolint_rules", "argolint.model", "argolint.cli.check"))
    }
    assert ("importlib.metadata" in imported) == (not words.endswith("--sel") and not words.startswith("forecast"))


def test_a_start_imports_neither_helm_nor_what_completions_need() -> None:
    run = "import sys; import argolint.cli.check; from argolint.plugins import load_rules; load_rules(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert not {"argolint.sources.helm", "argolint.sources.local_renders", "deepdiff"} & set(ran.stdout.split())


def test_a_start_compiles_few_of_its_patterns() -> None:
    run = """
import re._compiler as compiler, re
made, compiling = [], compiler.compile
re._compiler.compile = lambda *of: made.append(of) or compiling(*of)
import argolint.cli.check
from argolint.plugins import load_rules
load_rules()
print(sum(isinstance(text, str) for text, *_ in made))
"""
    ran = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 100


def test_a_terminal_shows_what_is_going_on_and_then_nothing_of_it() -> None:
    leader, follower = pty.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "argolint", "check", "--snapshot", recording("seeds/1-stuck"), "-o", "json"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        check=False,
        cwd="/",
    )
    os.close(follower)
    told = os.read(leader, 100_000).decode()
    os.close(leader)
    assert ran.returncode == 1
    steps = [step.strip() for step in told.split("\r") if step.strip()]
    assert steps[0] == "listing the applications of https://argocd.example.com…"
    assert steps[-1] == "looking at applications: 8/8…"
    assert told.endswith(" \r")
    assert "\x1b" not in told
    assert "\\u" not in told
