"""Where the live suite finds its server, and what it may do there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from . import steps


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--apply` lets the suite make and change its own applications."""
    parser.addoption(
        "--apply", action="store_true", help="make applications labelled argolint.dev/live, and apply fixes"
    )
    parser.addoption(
        "--restart-server", action="store_true", help="with --apply: restart argocd-server in the middle of a check"
    )


@dataclass(frozen=True)
class Ran:
    """How a run of argolint ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Its JSON report."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Argolint:
    """Runs argolint as a user does."""

    def __call__(self, *arguments: str, **environment: str) -> Ran:
        ran = subprocess.run(
            [sys.executable, "-m", "argolint", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={**os.environ, **environment},
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def check(self, *arguments: str, **environment: str) -> dict[str, Any]:
        """The report of a check that could start."""
        ran = self("check", "-o", "json", *arguments, **environment)
        assert ran.code in (0, 1, 3), ran.err
        return ran.report


@pytest.fixture(scope="session")
def argolint() -> Argolint:
    """argolint against the server of the environment."""
    if not os.environ.get("ARGOCD_SERVER") or not os.environ.get("ARGOCD_AUTH_TOKEN"):
        pytest.skip("no running Argo CD: set ARGOCD_SERVER and ARGOCD_AUTH_TOKEN")
    return Argolint()


@pytest.fixture(scope="session")
def namespace() -> str:
    """Argo CD's own namespace."""
    return os.environ.get("ARGOCD_NAMESPACE", "argocd")


class Cluster:
    """kubectl on its current context."""

    def __init__(self, folder: Path, namespace: str) -> None:
        self.folder, self.namespace = folder, namespace

    def __call__(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        ran = subprocess.run(
            ["kubectl", *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=300
        )
        assert not check or ran.returncode == 0, ran.stderr
        return ran.stdout

    def apply(self, objects: Sequence[steps.Object]) -> None:
        """Apply objects, each with the suite's label, and none in the place of somebody else's."""
        assert all(o["metadata"]["labels"][steps.LABEL] == "true" for o in objects)
        for obj in objects:
            place = ("-n", obj["metadata"]["namespace"]) if "namespace" in obj["metadata"] else ()
            kind = obj["kind"].lower() + (".argoproj.io" if obj["apiVersion"].startswith("argoproj.io/") else "")
            found = self(*place, "get", kind, obj["metadata"]["name"], "--ignore-not-found", "-o", "json")
            if found.strip() and not steps.is_ours(json.loads(found)):
                pytest.exit(
                    f"{kind} {obj['metadata']['name']} is there without the label {steps.LABEL}=true: it is not the suite's, and stays as it is",
                    returncode=2,
                )
        self("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def state(self, name: str) -> tuple[str, str]:
        """(sync, health) of an Application of the suite."""
        found = json.loads(self("-n", self.namespace, "get", "applications.argoproj.io", name, "-o", "json"))
        status = found.get("status", {})
        return status.get("sync", {}).get("status", ""), status.get("health", {}).get("status", "")

    def refresh(self, name: str) -> None:
        """Ask Argo CD to render and compare anew."""
        note = "argocd.argoproj.io/refresh=hard"
        self("-n", self.namespace, "annotate", "applications.argoproj.io", name, note, "--overwrite")

    def wait(self, what: str, until: Callable[[], bool], seconds: float = 180) -> None:
        """Until it is so; a failure that says what was waited for."""
        deadline = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
            time.sleep(3)

    def push(self, message: str, branch: str = "main") -> None:
        """Commit the work tree and push it to where Argo CD reads it."""
        git = ("git", "-C", str(self.folder), "-c", "user.name=live", "-c", "user.email=live@example.com")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", message], check=True)
        with self._repository() as url:
            subprocess.run([*git, "push", "--quiet", "--force", url, f"HEAD:refs/heads/{branch}"], check=True)

    @contextlib.contextmanager
    def _repository(self) -> Iterator[str]:
        """The repository as this machine reaches it: a shared folder, or the suite's Git server through a port-forward."""
        if folder := steps.shared_folder():
            subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", folder], check=True)
            yield folder
            return
        forward = subprocess.Popen(
            ["kubectl", "-n", steps.NAMESPACE, "port-forward", "service/git", f":{steps.GIT_PORT}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert forward.stdout is not None
            port = forward.stdout.readline().split("127.0.0.1:")[1].split()[0]
            yield f"git://127.0.0.1:{port}/live.git"
        finally:
            forward.terminate()
            forward.wait()


@pytest.fixture(scope="session")
def cluster(
    argolint: Argolint, namespace: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The cluster with the suite's Git server and Applications in it; all of it is removed afterwards."""
    if not request.config.getoption("--apply", default=False):
        pytest.skip("changes nothing without --apply")
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on PATH")
    restarts = request.config.getoption("--restart-server", default=False)
    sys.stderr.write(
        f"\nThe live suite makes, changes and deletes what carries {steps.LABEL}=true, and nothing else"
        + (", but it restarts argocd-server (--restart-server).\n" if restarts else ".\n")
    )
    folder = tmp_path_factory.mktemp("live") / "repository"
    shutil.copytree(steps.REPOSITORY, folder)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    found = Cluster(folder, namespace)
    try:
        found.apply([steps.namespace(), steps.project(namespace)])
        if not steps.shared_folder():
            image = found("-n", namespace, "get", "deployments", "-l", "app.kubernetes.io/component=repo-server", "-o",
                          "jsonpath={.items[0].spec.template.spec.containers[0].image}")  # fmt: skip
            found.apply([*steps.git_server(image)])
            found("-n", steps.NAMESPACE, "rollout", "status", "deployment/git", "--timeout=180s")
        found.push("Begin")
        yield found
    finally:
        for command in steps.clean_up(namespace):  # by label: what an earlier run left as well
            found(*command, check=False)
