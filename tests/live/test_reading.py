"""Every way to reach a server, and what is read there. Nothing is changed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from .conftest import Argolint

WITHOUT = {"ARGOCD_SERVER": "", "ARGOCD_AUTH_TOKEN": ""}


def fingerprints(report: dict[str, Any]) -> set[str]:
    return {f["fingerprint"] for f in report["findings"]}


def login(home: Path, server: str, token: str) -> Path:
    """A file as `argocd login` writes it."""
    file = home / "config"
    insecure = "--insecure" in os.environ.get("ARGOCD_OPTS", "")
    plaintext = "--plaintext" in os.environ.get("ARGOCD_OPTS", "")
    content = {
        "contexts": [{"name": "live", "server": server, "user": "live"}],
        "current-context": "live",
        "servers": [{"server": server, "insecure": insecure, "plain-text": plaintext}],
        "users": [{"name": "live", "auth-token": token}],
    }
    file.write_text(yaml.safe_dump(content))
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("form", ["environment", "options", "login-file", "context"])
def test_every_form_of_connection_reads_the_same_applications(argolint: Argolint, tmp_path: Path, form: str) -> None:
    server, token = os.environ["ARGOCD_SERVER"], os.environ["ARGOCD_AUTH_TOKEN"]
    expected = argolint.check("-q")
    match form:
        case "environment":
            found = argolint.check("-q")
        case "options":
            found = argolint.check("-q", "--server", server, "--auth-token", token, **WITHOUT)
        case "login-file":
            found = argolint.check("-q", "--config", str(login(tmp_path, server, token)), **WITHOUT)
        case _:
            file = str(login(tmp_path, server, token))
            found = argolint.check("-q", "--config", file, "--argocd-context", "live", **WITHOUT)
    assert found["summary"]["apps"] == expected["summary"]["apps"]
    assert found["complete"] == expected["complete"]


def test_insecure_holds_beside_a_bundle_of_the_environment(argolint: Argolint, tmp_path: Path) -> None:
    connection()
    empty = tmp_path / "bundle.pem"
    empty.write_text("")
    found = argolint.check("-q", "--insecure", REQUESTS_CA_BUNDLE=str(empty))
    assert found["summary"]["apps"] > 0


def connection() -> tuple[str, int]:
    """Host and port of the server; skipped for one that speaks no TLS."""
    if "--plaintext" in os.environ.get("ARGOCD_OPTS", ""):
        pytest.skip("the server speaks no TLS")
    host, _, port = os.environ["ARGOCD_SERVER"].partition(":")
    return host, int(port or 443)


def test_the_certificate_of_the_server_is_enough(argolint: Argolint, tmp_path: Path) -> None:
    file = tmp_path / "server.pem"
    file.write_text(ssl.get_server_certificate(connection()))
    ran = argolint("check", "-q", "-o", "json", "--server-crt", str(file), ARGOCD_OPTS="")
    if ran.code == 2 and "host" in ran.err.lower():
        pytest.skip(f"the certificate is of another host: {ran.err.strip()}")
    assert ran.report["summary"]["apps"] > 0, ran.err


def test_the_root_path_is_where_the_server_is(argolint: Argolint) -> None:
    """With ARGOCD_OPTS=--grpc-web-root-path=PATH the whole suite goes through it; a wrong one finds nobody."""
    ran = argolint("check", "-q", "--grpc-web-root-path", "/there-is-no-such-place")
    assert ran.code == 2
    assert "Traceback" not in ran.err


RIGHTS = {"READONLY": "a role like role:readonly", "PROJECT": "a project role", "NARROW": "`applications, get` alone"}


@pytest.mark.parametrize("right", RIGHTS)
def test_each_set_of_rights_sees_what_it_may_and_says_what_it_may_not(argolint: Argolint, right: str) -> None:
    token = os.environ.get(f"ARGOLINT_LIVE_{right}_TOKEN", "")
    if not token:
        pytest.skip(f"no token with {RIGHTS[right]}: ARGOLINT_LIVE_{right}_TOKEN")
    whole = argolint.check("-q")
    found = argolint.check("-q", ARGOCD_AUTH_TOKEN=token)
    apps = {(a["app"]["namespace"], a["app"]["name"]): a["app"]["project"] for a in found["applications"]}
    assert apps
    assert token not in json.dumps(found)
    if right == "PROJECT":
        assert len(set(apps.values())) == 1
        assert set(apps) < {(a["app"]["namespace"], a["app"]["name"]) for a in whole["applications"]} | set(apps)
        return
    assert len(apps) == whole["summary"]["apps"]
    if right == "READONLY":
        assert found["complete"] == whole["complete"]
        assert found["remarks"] == whole["remarks"]
    else:
        assert found["remarks"], "what it could not read is named"


def test_a_service_follows_the_server(argolint: Argolint, tmp_path: Path) -> None:
    """`serve --watch` is ready, answers with the findings of a check, and ends well."""
    command = [sys.executable, "-m", "argolint", "serve", "--watch", "--interval", "1h", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stderr is not None
            listening = re.search(r"http://\S+:\d+", process.stderr.readline())
            assert listening, process.stderr.read()
            for _ in range(300):
                with contextlib.suppress(OSError), urlopen(f"{listening[0]}/readyz", timeout=10):
                    break
                time.sleep(1)
            with urlopen(f"{listening[0]}/report.json", timeout=60) as answer:
                served = json.load(answer)
            moving = fingerprints(argolint.check("-q")) ^ fingerprints(argolint.check("-q"))
            assert fingerprints(served) ^ fingerprints(argolint.check("-q")) <= moving
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_a_wrong_token_is_refused_and_not_repeated(argolint: Argolint) -> None:
    ran = argolint("check", "-q", ARGOCD_AUTH_TOKEN="not-the-token-of-anybody")
    assert ran.code == 2
    assert "not-the-token-of-anybody" not in ran.out + ran.err


def test_a_snapshot_gives_the_findings_of_the_server(argolint: Argolint, tmp_path: Path) -> None:
    saved = tmp_path / "live.tar.gz"
    ran = argolint("snapshot", "-o", str(saved))
    assert ran.code in (0, 3), ran.err
    assert os.environ["ARGOCD_AUTH_TOKEN"].encode() not in saved.read_bytes()
    there = argolint.check("-q")
    here = argolint.check("-q", "--snapshot", str(saved))
    moving = fingerprints(argolint.check("-q")) ^ fingerprints(there)  # what changed on the server meanwhile
    assert fingerprints(here) ^ fingerprints(there) <= moving
