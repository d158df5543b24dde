"""A large fleet is not read whole, and the report says how much of it was not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from argolint.cli.group import cli
from tests.small import ANSWERS, application, write_snapshot

REPO = "https://git.example.com/apps.git"
FINE = 202


def _fleet(folder: Path) -> Path:
    """More applications than are read whatever they show: most look fine, one has nothing, one is OutOfSync."""
    apps = [application(f"app-{number:03}", "argocd", "shop", REPO) for number in range(FINE + 2)]
    for number, app in enumerate(apps):
        row = {"kind": "ConfigMap", "version": "v1", "namespace": f"ns-{number}", "name": "web", "status": "Synced"}
        app["status"]["resources"] = [row]
    apps[0]["status"]["resources"] = []
    apps[1]["status"]["sync"]["status"] = "OutOfSync"
    listed: Any = ("/api/v1/applications", (), False, 200, {"metadata": {}, "items": apps})
    others = [answer for answer in ANSWERS if answer[0] != "/api/v1/applications"]
    return write_snapshot(folder, [listed, *others])


def test_the_summary_says_how_many_applications_were_not_read(tmp_path: Path) -> None:
    snapshot, saved = _fleet(tmp_path / "large"), tmp_path / "report.json"
    options = ["--snapshot", str(snapshot), "-q", "--fail-on", "never", "--allow-incomplete"]
    written = tmp_path / "report.md"
    done = CliRunner().invoke(
        cli, ["check", *options, "-o", "text", "-o", f"json={saved}", "-o", f"markdown={written}"]
    )
    assert done.exit_code == 0, done.output
    assert (
        f"· {FINE} that look fine were not read (--deep reads them, two requests each, for what only their manifests show) ·"
        in done.stdout
    )
    assert f" · {FINE} that look fine were not read</sub>" in written.read_text()
    made = json.loads(saved.read_text())
    assert made["summary"]["unread"] == FINE
    asked = [f["app"]["name"] for f in made["failures"] if f["stage"] == "managed-resources"]
    assert asked == ["app-001"]


def test_with_deep_every_application_is_asked_for_and_nothing_is_said(tmp_path: Path) -> None:
    snapshot = _fleet(tmp_path / "large")
    options = ["--snapshot", str(snapshot), "--fail-on", "never", "--allow-incomplete", "--deep", "-o", "json"]
    made = json.loads(CliRunner().invoke(cli, ["check", *options]).stdout)
    assert "unread" not in made["summary"]
    asked = [f["app"]["name"] for f in made["failures"] if f["stage"] == "managed-resources"]
    assert len(asked) == FINE + 2
