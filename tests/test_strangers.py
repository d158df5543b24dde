"""Nothing of the folder that argolint stands in runs: no module, no rule, no program."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from argolint.host import programs
from argolint.host.programs import Limits
from tests.conftest import ROOT, run_argolint

LIMITS = Limits(60, 1_000_000)
PROGRAM = "#!/bin/sh\ntouch {mark}\n"
MODULE = "import pathlib\npathlib.Path({mark!r}).touch()\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone that would run something wherever its code ran: as argolint, as a rule, as git or as helm. `ran` shows it."""
    folder, mark = tmp_path / "change", str(tmp_path / "ran")
    (folder / ".git").mkdir(parents=True)
    for module in ("argolint/__init__", "argolint_rules/__init__", "click", "jq", "planted"):
        file = folder / f"{module}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(MODULE.format(mark=mark))
    info = folder / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[argolint.rules]\nplanted = planted\n")
    for program in ("git", "helm"):
        for place in (folder, folder / "bin"):
            place.mkdir(exist_ok=True)
            (place / program).write_text(PROGRAM.format(mark=mark))
            (place / program).chmod(0o755)
    return folder


def test_a_tool_for_agents_takes_argolint_from_where_this_process_has_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("PYTHONPATH", f"{checkout}{os.pathsep}.{os.pathsep}")
    monkeypatch.setattr(sys, "path", ["", str(checkout), *sys.path])
    ended = programs.run_argolint(("rules",), LIMITS)
    assert (ended.code, ended.err) == (0, b"")
    assert b"shared-resource" in ended.out
    assert not (checkout.parent / "ran").exists()


@pytest.mark.parametrize("path", ["", ".", "{}", "nowhere/.."])
def test_no_rule_comes_from_the_checkout(checkout: Path, path: str) -> None:
    """Python imports what it needs to start before argolint can say anything, so what is planted here is no part of that."""
    for name in ("argolint", "argolint_rules"):
        (checkout / name / "__init__.py").unlink()
        (checkout / name).rmdir()
    (checkout / "click.py").unlink()
    found = os.pathsep.join((str(checkout.parent), path.format(checkout)))
    ran = run_argolint("rules", cwd=checkout, env={"PYTHONPATH": found})
    assert (ran.code, "shared-resource" in ran.out) == (0, True), ran.err
    assert not (checkout.parent / "ran").exists()
    named = path.format(checkout)
    assert (f"no code is loaded from {named!r} of PYTHONPATH" in ran.err) == bool(named)


def test_no_program_comes_from_the_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(checkout)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "helm").symlink_to(checkout / "helm")
    usual = os.environ["PATH"]
    planted = ("", ".", "bin", str(checkout), str(checkout / "bin"), f"{tmp_path}/link/bin", str(tmp_path / "links"))
    monkeypatch.setenv("PATH", os.pathsep.join((*planted, usual)))
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join(("", "lib", str(checkout / "lib"), "/opt/lib")))
    git = programs.find("git", checkout)
    assert git is not None
    for where, named in ((checkout, ()), (checkout / "bin", ()), (tmp_path, (checkout,))):
        monkeypatch.chdir(where)
        assert programs.find("git", *named) == git
        assert programs.find("helm", *named) not in (str(checkout / "helm"), str(tmp_path / "links" / "helm"))
    monkeypatch.chdir(checkout)
    assert programs.inherited()["LD_LIBRARY_PATH"] == "/opt/lib"
    assert not {*planted[:-1]} & {*programs.inherited()["PATH"].split(os.pathsep)}
    for program in ("git", "./git", str(checkout / "git")):
        with pytest.raises(OSError, match=r"is not an absolute path|lies in the checkout"):
            programs.run((program,), name="it", env={}, limits=LIMITS, cwd=checkout)


STARTING = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"system", "popen", "fork", "forkpty", "startfile", "posix_spawn", "posix_spawnp"},
    "multiprocessing": {"Process", "Pool", "get_context", "Manager", "set_executable"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "anyio": {"open_process", "run_process", "to_process"},
    "concurrent.futures": {"ProcessPoolExecutor"},
    "distributed": {"LocalCluster", "Nanny"},
    "click": {"edit", "launch", "pager", "echo_via_pager"},
    "platform": {"platform", "processor", "uname", "architecture", "libc_ver"},
    "uuid": {"uuid1", "getnode"},
    "ctypes.util": {"find_library"},
    "pty": {"spawn", "fork"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
}
"""What starts a process, some of it beside the point: `platform.uname` may ask `uname`, and finds it on any PATH."""
PREFIXES = ("os.exec", "os.spawn", "multiprocessing.pool", "concurrent.futures.process", "runpy.")


NAMED = re.compile(rf"\b(?:{'|'.join({name.partition('.')[0] for name in (*STARTING, *PREFIXES)})})\b")
"""A word in each file that imports one of those modules."""


def starting(source: str) -> Iterator[int]:
    """The lines that start a process, or name what does."""
    if not NAMED.search(source):
        return
    tree = ast.parse(source)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {
                (a.asname or a.name.partition(".")[0]): (a.name if a.asname else a.name.partition(".")[0])
                for a in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            known |= {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}
    types = {
        id(part)
        for node in ast.walk(tree)
        for field in ("annotation", "returns")
        if isinstance(kind := getattr(node, field, None), ast.expr)
        for part in ast.walk(kind)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in types:
            named = dotted(node, known)
            module, _, name = named.rpartition(".")
            if name in STARTING.get(module, ()) or named.startswith(PREFIXES):
                yield node.lineno


def dotted(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, known)}.{node.attr}"
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def test_one_module_starts_processes() -> None:
    for source in (
        "import os as o\no.execv('a', [])",
        "from subprocess import run\nrun([])",
        "import subprocess\nx = subprocess.Popen",
    ):
        assert list(starting(source)) == [2]
    assert not list(starting("import subprocess\nx: subprocess.Popen[bytes]"))
    found = {
        f"{file.relative_to(ROOT).as_posix()}:{line}"
        for folder in ("argolint", "rules")
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line in starting(file.read_text())
    }
    assert {place.partition(":")[0] for place in found} == {"argolint/host/programs.py"}, sorted(found)
    text = (ROOT / "argolint/host/programs.py").read_text().splitlines()
    lines = [text[int(place.rpartition(":")[2]) - 1].strip() for place in found]
    assert sorted(line.partition("(")[0] for line in lines) == [
        "process = multiprocessing.get_context",
        "return subprocess.Popen",
    ]


def test_what_is_run_has_been_found_or_is_this_python() -> None:
    """Where `run` is called, its first word comes from `find`."""
    callers = {
        file.relative_to(ROOT).as_posix()
        for file in sorted((ROOT / "argolint").rglob("*.py"))
        if any(word in file.read_text() for word in ("bounded.run(", "programs.run("))
    }
    assert callers == {"argolint/host/installed.py", "argolint/sources/git.py", "argolint/sources/helm.py"}
    assert all(re.search(r"(bounded|programs)\.find\(", (ROOT / caller).read_text()) for caller in callers)
