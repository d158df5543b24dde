"""Every way to reach a server, and what is read there. Nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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
    if "--plaintext" in os.environ.get("ARGOCD_OPTS", ""):
        pytest.skip("the server speaks no TLS")
    empty = tmp_path / "bundle.pem"
    empty.write_text("")
    found = argolint.check("-q", "--insecure", REQUESTS_CA_BUNDLE=str(empty))
    assert found["summary"]["apps"] > 0


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
