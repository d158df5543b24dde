"""An account that may see applications alone: empty lists that cannot be empty are said, and nothing is concluded from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.engine.load import read_fleet
from argolint.plugins import load_rules
from argolint.testing import Fixture, FixtureTransport

RULES = list(load_rules().values())
NIGHT = {"kind": "allow", "schedule": "0 22 * * *", "duration": "2h"}
FREEZE = {"kind": "deny", "schedule": "0 8 * * *", "duration": "10h", "manualSync": True}


def _app(**more: Any) -> dict[str, Any]:
    desired = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    return {"name": "shop", "spec": {"project": "retail"}, "resources": [{"desired": desired}], **more}


def _unseen(app: dict[str, Any], server: dict[str, Any], *, project: str = "") -> tuple[list[str], str]:
    t = FixtureTransport({"apps": [app], "server": server})
    t.project = project  # type: ignore[attr-defined]
    fleet, failures = read_fleet(t)
    assert fleet.apps
    return sorted(f.stage for f in failures), " ".join(fleet.remarks)


@pytest.mark.parametrize("version", ["v2.8.21", "v3.0.11", "v3.5.1", "v3.6.1+e0f5a1b", "latest", ""])
def test_null_lists_are_said_and_those_that_may_be_empty_are_not(version: str) -> None:
    made = _app(metadata={"ownerReferences": [{"kind": "ApplicationSet", "name": "shops"}]})
    none = {"projects": None, "clusters": None, "applicationsets": None, "repositories": None, "version": version}
    assert _unseen(made, none)[0] == ["applicationsets", "projects"]  # a fixture always has its cluster
    assert _unseen(_app(), none)[0] == ["projects"]
    assert _unseen(_app(), {"version": version})[0] == []
    stages, remarks = _unseen(made, none, project="retail")
    assert stages == []
    assert "the settings of projects" in remarks


@pytest.mark.parametrize(
    ("windows", "automated", "when"),
    [
        ({"assignedWindows": [NIGHT], "activeWindows": []}, False, "until a time that only the project's windows show"),
        ({"assignedWindows": [NIGHT], "activeWindows": [NIGHT]}, False, ""),
        ({"assignedWindows": [FREEZE, NIGHT], "activeWindows": [FREEZE, NIGHT]}, True, "until a time that only"),
        ({"assignedWindows": [FREEZE], "activeWindows": [FREEZE]}, False, ""),
        ({"assignedWindows": [], "activeWindows": []}, True, ""),
        ({"assignedWindows": None, "activeWindows": None}, True, ""),
    ],
)
def test_windows_of_a_project_that_is_not_shown_count_as_the_server_says(
    windows: dict[str, Any], automated: bool, when: str
) -> None:
    """The answer about one application leaves time zones out, so its schedules say nothing about now."""
    spec = {"project": "retail", **({"syncPolicy": {"automated": {}}} if automated else {})}
    fixture = Fixture(Path("shop.yaml"), {"apps": [_app(spec=spec, syncwindows=windows)], "server": {"projects": None}})
    found = testing.check(fixture, RULES)
    denied = [f.message for f in found.findings if f.rule == "sync-window-denies"]
    assert len(denied) == bool(when)
    assert all(when in message for message in denied)
    if when:
        assert not [f for f in found.findings if f.rule == "not-synced"]


def test_an_application_set_that_is_gone_is_not_hidden() -> None:
    """An application may outlive the ApplicationSet that its ownerReferences name."""
    orphan = _app(metadata={"ownerReferences": [{"kind": "ApplicationSet", "name": "gone"}]})
    assert _unseen(orphan, {"applicationsets": None})[0] == []
