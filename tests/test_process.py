"""Signals, lost readers, full disks and limits: the exit code tells what happened, and nothing is left behind."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from argolint.cli.demo import RECORDING
from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.checkouts import REPO, repository
from tests.conftest import ROOT, clean_environment
from tests.gitops import git
from tests.here import run_here
from tests.small import write_snapshot
from tests.waiting import PATIENCE_S, until

CHECK = f'"{sys.executable}" -m argolint check --snapshot "$SNAPSHOT"'
HANDLERS = "import signal; [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGTERM, signal.SIGHUP)]; "
HANDLERS += "signal.signal(signal.SIGINT, signal.default_int_handler); from argolint.cli import main; main()"


def environment(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    return {**clean_environment(), "HOME": str(folder), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(ROOT)}


def shell(folder: Path, script: str, snapshot: Path = RECORDING) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**environment(folder), "SNAPSHOT": str(snapshot)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


class Waiting:
    """The recording, but whoever asks for states waits until `left`."""

    offline = True

    def __init__(self) -> None:
        self._inner = SnapshotTransport([RECORDING])
        self.server, self.stats, self.now = self._inner.server, self._inner.stats, self._inner.now
        self.left = threading.Event()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith(("/managed-resources", "/manifests")):
            self.left.wait()
        return self._inner.get(path, query, anonymous=anonymous)


@contextmanager
def server_that_keeps_waiting() -> Iterator[ReplayServer]:
    transport = Waiting()
    with ReplayServer(transport) as server:
        try:
            yield server
        finally:
            transport.left.set()


@contextmanager
def started(folder: Path, *args: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """argolint with the handlers of a terminal, whatever this test was started under."""
    process = subprocess.Popen(
        [sys.executable, "-c", HANDLERS, *args],
        cwd=folder,
        env={**environment(folder), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(what: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Returns when it is so; fails with the output of a process that ended before, or that never does it."""

    def explain() -> object:
        process.kill()
        return process.communicate()

    until(lambda: process.poll() is not None or what(), explain)
    assert process.poll() is None, f"it ended: {explain()}"


ENDS = [
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 143, "ended by SIGTERM"),
    (signal.SIGHUP, 129, "ended by SIGHUP"),
]


@pytest.mark.parametrize(("number", "code", "told"), ENDS)
def test_a_signal_ends_a_check_that_waits_for_a_server_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, code: int, told: str
) -> None:
    (tmp_path / "old.json").write_text("old")
    with server_that_keeps_waiting() as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        with started(tmp_path, "check", *access, "-o", "json=old.json") as process:
            wait_for(lambda: any("managed-resources" in path for path in server.seen), process)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE_S)  # the server answers never
    assert (process.returncode, out, err.strip()) == (code, "", f"argolint: {told}")
    assert (tmp_path / "old.json").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.json", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("number", "code", "told"), ENDS[:1])
def test_a_signal_ends_a_gate_that_waits_for_several_servers(
    tmp_path: Path, number: signal.Signals, code: int, told: str
) -> None:
    with server_that_keeps_waiting() as one, server_that_keeps_waiting() as other:
        both = {"one": one, "other": other}
        tokens = {f"TOKEN_{name}": server.token() for name, server in both.items()}
        entries = [
            {"name": name, "server": server.address, "plaintext": True, "auth-token-env": f"TOKEN_{name}"}
            for name, server in both.items()
        ]
        (tmp_path / "servers.yaml").write_text(json.dumps({"servers": entries}))
        change = ("--repo", "http://git.example.com/payments.git", "--head", "feature", "-o", "markdown=gate.md")
        with started(tmp_path, "gate", "--servers", "servers.yaml", *change, **tokens) as process:
            wait_for(lambda: all(any("/manifests" in path for path in s.seen) for s in both.values()), process)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err.strip()) == (code, "", f"argolint: {told}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["servers.yaml", "tmp"]


def send_to_another_thread(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """As the system does now and then: the main thread is not told, and its wait goes on."""
    other = max(int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir())
    assert other != process.pid
    assert ctypes.CDLL(None, use_errno=True).tgkill(process.pid, other, number) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.skipif(sys.platform != "linux", reason="signals one thread of another process")
@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_signal_that_another_thread_gets_ends_a_command_all_the_same(tmp_path: Path, command: str) -> None:
    with server_that_keeps_waiting() as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        more = ("--listen", "127.0.0.1:0") if command == "serve" else ()
        with started(tmp_path, command, *access, *more) as process:
            wait_for(lambda: any("managed-resources" in path for path in server.seen), process)
            time.sleep(0.5)  # by now the main thread waits
            send_to_another_thread(process, signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
    ends = (0, "argolint: ended") if command == "serve" else (130, "argolint: interrupted")
    assert (process.returncode, err.strip().splitlines()[-1]) == ends


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_the_worker_processes_end_with_the_one_that_started_them(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with server_that_keeps_waiting() as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        with started(tmp_path, "check", *access, "--processes", "2") as process:
            wait_for(lambda: any("managed-resources" in path for path in server.seen), process)
            workers = children(process.pid)
            process.send_signal(number)
            process.wait(timeout=PATIENCE_S)
            until(lambda: not any(map(alive, workers)))
    assert process.returncode == code
    assert len(workers) == 2


@pytest.mark.parametrize(("number", "code", "told"), ENDS[1:2])
def test_a_signal_ends_the_helm_that_runs_and_removes_what_was_made_for_it(
    tmp_path: Path, number: signal.Signals, code: int, told: str
) -> None:
    alive, binary = tmp_path / "alive", tmp_path / "bin" / "helm"
    binary.parent.mkdir()
    binary.write_text(
        f"#!/bin/sh\nPATH=/usr/bin:/bin\nsleep 120 &\necho $$ $! >{alive}.new\nmv {alive}.new {alive}\nwait\n"
    )
    binary.chmod(0o755)
    clone = repository(tmp_path / "clone", {"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"})
    commit = git(clone, "rev-parse", "HEAD").strip()
    app = {
        "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"source": {"repoURL": REPO, "path": "web"}, "destination": {"namespace": "web"}},
        "status": {
            "sync": {"status": "OutOfSync", "revision": commit},
            "sourceType": "Helm",
            "health": {"status": "Healthy"},
        },
    }
    changed = {"group": "apps", "kind": "Deployment", "namespace": "web", "name": "web", "modified": True}
    states = {
        "targetState": '{"spec":{"a":1}}',
        "normalizedLiveState": '{"spec":{"a":2}}',
        "predictedLiveState": '{"spec":{"a":1}}',
    }
    items = [{**changed, **states, "liveState": '{"spec":{"a":2}}'}]
    of_web = (("appNamespace", "argocd"), ("project", "default"))
    snapshot = write_snapshot(
        tmp_path / "snapshot",
        [
            ("/api/v1/settings", (), False, 200, {}),
            ("/api/v1/applications", (), False, 200, {"items": [app]}),
            ("/api/v1/applications/web/managed-resources", of_web, False, 200, {"items": items}),
        ],
    )
    options = ("--snapshot", str(snapshot), "--helm-render", "--checkout", f"{REPO}={clone}")
    with started(tmp_path, "check", *options, PATH=f"{binary.parent}:{os.environ['PATH']}") as process:
        wait_for(alive.exists, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err.strip()) == (code, "", f"argolint: {told}")
    pids = alive.read_text().split()
    until(
        lambda: not any(_runs(pid, "helm", "sleep") for pid in pids)
    )  # a process that was killed takes a moment to go
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_that_comes_as_a_folder_is_made_leaves_no_folder(tmp_path: Path) -> None:
    code = """
import os, signal, tempfile

make = tempfile.mkdtemp

def and_a_signal(*args, **more):
    made = make(*args, **more)
    os.kill(os.getpid(), signal.SIGTERM)
    [None for _ in range(1000)]
    return made

tempfile.mkdtemp = and_a_signal
"""
    command = [sys.executable, "-c", code + HANDLERS, "snapshot", "-o", "copy.zip"]
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        access = ("--server", server.address, "--plaintext", "--auth-token", server.token())
        done = subprocess.run(
            [*command, *access], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr.strip()) == (143, "argolint: ended by SIGTERM")
    assert [p.name for p in tmp_path.iterdir()] == ["tmp"]


def _runs(pid: str, *names: str) -> bool:
    """Whether this process is alive and still the one of that name: numbers are given out again."""
    try:
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return False
    return name in names and state.split()[0] != "Z"


def test_a_hangup_that_is_ignored_stays_ignored(tmp_path: Path, pair: Path) -> None:
    done = shell(tmp_path, f'trap "" HUP; {CHECK} -q & sleep 0.3; kill -HUP $!; wait $!; echo "code $?"', pair)
    assert done.stdout.endswith("code 1\n")


def test_a_reader_that_leaves_changes_neither_the_exit_code_nor_the_other_reports(tmp_path: Path) -> None:
    done = shell(
        tmp_path, f'{CHECK} -v -o text -o json=a.json -o sarif=b.sarif | head -1; echo "code ${{PIPESTATUS[0]}}"'
    )
    assert (done.stdout.splitlines()[-1], done.stderr) == ("code 1", "")
    assert json.loads((tmp_path / "a.json").read_text())["findings"]
    assert json.loads((tmp_path / "b.sarif").read_text())["runs"]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (f"{CHECK} -q <&- >&- 2>&-", 1),
        (f"{CHECK} -o json=a.json >&-", 1),
        (f"{CHECK} -o json=a.json -o text >/dev/full", 2),
        (f"{CHECK} --no-such-option 2>/dev/full", 2),
        (f"{CHECK} --snapshot nowhere 2>/dev/full", 2),
    ],
)
def test_streams_that_are_closed_or_full_give_no_other_verdict(
    tmp_path: Path, pair: Path, script: str, code: int
) -> None:
    done = shell(tmp_path, script, pair)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if "json=" in script:
        assert json.loads((tmp_path / "a.json").read_text())["findings"]


@pytest.mark.parametrize("second", ["{cwd}/a.json", "sub/../a.json", "link.json", "hard.json"])
def test_two_reports_of_one_place_are_refused_however_it_is_written(tmp_path: Path, pair: Path, second: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "link.json").symlink_to("a.json")
    os.link(tmp_path / "a.json", tmp_path / "hard.json")
    two = ("-o", "json=a.json", "-o", f"sarif={second.format(cwd=tmp_path)}")
    ran = run_here("check", "--snapshot", pair, *two, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "two reports cannot go to one place" in ran.err
    assert (tmp_path / "a.json").read_text() == "old"


def test_a_report_that_cannot_be_written_costs_no_other(tmp_path: Path, pair: Path) -> None:
    three = ("-o", "json=/dev/full", "-o", "sarif=b.sarif", "-o", "text")
    ran = run_here("check", "--snapshot", pair, *three, cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("argolint: cannot write /dev/full: No space left on device\n")
    assert "applications, " in ran.out
    assert json.loads((tmp_path / "b.sarif").read_text())["runs"]


def test_too_little_memory_is_told_in_two_lines(tmp_path: Path) -> None:
    """Too little to import the command, and too little to load the rules."""
    limits = [30, 45]
    done = [shell(tmp_path, f"ulimit -v {mb * 1024}; {CHECK} -q") for mb in limits]
    assert [d.returncode for d in done if d.returncode in (0, -11)] == []
    assert [d.stderr for d in done if d.returncode in (1, 2, 3) and "Traceback" in d.stderr] == []
    assert {d.stderr.partition("\n")[0] for d in done if d.returncode == 2} == {"argolint: there is not enough memory"}


def test_few_files_that_may_be_open_are_told(tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        check = f'"{sys.executable}" -m argolint check "payments-*" --server {server.address} --plaintext -j 64 -q'
        done = shell(tmp_path, f"ulimit -n 16; ARGOCD_AUTH_TOKEN={server.token()} {check}")
    assert done.returncode in (1, 2, 3)
    assert "Traceback" not in done.stderr


PLUGIN = '''"""A rule that ends badly"""
import sys
from argolint import Rule

def check(app, fleet, options):
    {body}

RULE = Rule(id="{name}", family="drift", severity="error", doc="""Bad

What it finds: nothing.
""", check=check)
'''


def installed(folder: Path, *modules: str) -> Mapping[str, str]:
    """The environment in which these modules are a package of rules."""
    made = folder / "bad_rules-1.0.dist-info"
    made.mkdir()
    points = ""
    for number, text in enumerate(modules):
        (folder / f"bad_rules_{number}.py").write_text(text)
        points += f"bad-{number} = bad_rules_{number}\n"
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-rules\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(f"[argolint.rules]\n{points}")
    return {"PYTHONPATH": f"{folder}:{ROOT}"}


BAD = {
    "bad-exit": ("sys.exit()", "rule bad-exit failed: SystemExit: "),
    "bad-exit-0": ("raise SystemExit(0)", "rule bad-exit-0 failed: SystemExit: 0"),
    "bad-generator": ("raise GeneratorExit", "rule bad-generator failed: GeneratorExit: "),
    "bad-base": ("raise BaseException('x')", "rule bad-base failed: BaseException: x"),
    "bad-memory": ("raise MemoryError", "there was not enough memory for rule bad-memory"),
    "bad-recursion": ("return check(app, fleet, options)", "rule bad-recursion failed: RecursionError: "),
    "bad-value": ("yield 5", "rule bad-value failed: AttributeError: "),
}


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_rule_that_ends_badly_is_a_failure_and_the_other_rules_speak(
    tmp_path: Path, pair: Path, workers: str
) -> None:
    env = installed(tmp_path, *(PLUGIN.format(name=name, body=body) for name, (body, _) in BAD.items()))
    with started(tmp_path, "check", "--snapshot", str(pair), "-j", workers, "-o", "json", **env) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    made = json.loads(out)
    assert (process.returncode, err) == (3, "")
    failed = {(f["rule"], f["app"]["name"]): f["error"] for f in made["failures"]}
    assert sorted(failed) == sorted((name, app) for name in BAD for app in ("api", "web"))
    for (name, _), error in failed.items():
        assert BAD[name][1] in error
    assert {f["rule"] for f in made["findings"]} >= {"shared-resource"}


def test_a_package_of_rules_that_exits_at_import_is_named(tmp_path: Path, pair: Path) -> None:
    env = installed(tmp_path, "raise SystemExit(0)\n")
    with started(tmp_path, "check", "--snapshot", str(pair), **env) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("argolint: rules of bad-rules cannot be loaded: SystemExit: 0\n")


def test_a_rule_of_a_name_that_is_taken_is_told_in_two_lines(tmp_path: Path, pair: Path) -> None:
    env = installed(tmp_path, PLUGIN.format(name="shared-resource", body="yield"))
    with started(tmp_path, "check", "--snapshot", str(pair), **env) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, len(err.splitlines())) == (2, "", 2)
    assert err.startswith("argolint: rule shared-resource is defined by argolint and by bad-rules\n")


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([RECORDING])) as server:
        port = server.address.rpartition(":")[2]
        with started(tmp_path, "demo", "--serve", "--port", port) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"argolint: cannot serve on port {port}: Address already in use\n")


def test_a_crash_is_no_verdict_and_shows_no_values(tmp_path: Path) -> None:
    code = (
        "import argolint.cli.group as g; g.command_line = lambda: {}['password']; from argolint.cli import main; main()"
    )
    for trace in ("", "1"):
        env = {**environment(tmp_path), "ARGOLINT_TRACEBACK": trace}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert ("Traceback" in done.stderr) == bool(trace)
    assert done.stderr.splitlines()[-2].startswith("argolint: crashed: KeyError at ")


def test_a_signal_of_which_python_makes_another_error_is_a_signal_all_the_same(tmp_path: Path) -> None:
    code = """
import os, signal, argolint.cli.group as group

class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGTERM)
        [None for _ in range(1000)]

def command_line():
    type("Defined", (), {"field": Field()})

group.command_line = command_line
"""
    env = environment(tmp_path)
    command = [sys.executable, "-c", code + HANDLERS]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "argolint: ended by SIGTERM\n")


def test_a_signal_while_the_process_ends_shows_no_trace(tmp_path: Path) -> None:
    code = """
import atexit, os, signal, argolint.cli.group as group

group.command_line = lambda: 1
atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))
"""
    command = [sys.executable, "-c", code + HANDLERS]
    env = environment(tmp_path)
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "")
