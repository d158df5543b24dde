"""Guards that other tests pass by: each of these was removed once, and nothing noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.errors import ExportError
from argolint.fixes.compose import composed_operations
from argolint.plugins import load_rules
from argolint.sources.export import export
from argolint.sources.yaml_text import EditError

from .checkouts import DEPLOYMENT, finding, repository
from .conftest import ROOT
from .gitops import git
from .test_edit import REPLICAS, left, only, placed, spec


@pytest.mark.parametrize(
    "before", [{"op": "remove", "path": "/items/0"}, {"op": "add", "path": "/items/0", "value": 9}]
)
@pytest.mark.parametrize("path", ["/items/1", "/items/2/name"])
def test_a_later_item_is_not_edited_by_its_former_index(before: dict[str, Any], path: str) -> None:
    """With three items, the index of the second one names the third after the first is gone."""
    after: Any = {"items": [{"name": "b"}, {"name": "c"}, {"name": "d"}]}
    later = {"op": "replace", "path": path, "value": "x"}
    with pytest.raises(EditError, match="it contradicts another fix of this run: Drop the first"):
        list(composed_operations([later], after, [(before, "Drop the first")]))


def test_a_field_beside_a_shifted_list_is_still_edited() -> None:
    later = {"op": "replace", "path": "/name", "value": "x"}
    before = {"op": "remove", "path": "/items/0"}
    assert list(composed_operations([later], {"name": "a", "items": [1]}, [(before, "Drop the first")])) == [later]


def test_a_manifest_without_a_namespace_is_in_the_applications_own(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    assert "replicas: 5" in only(placed(root, finding(REPLICAS), apps=spec()))
    elsewhere = {key: {"spec": {**app["spec"], "destination": {"namespace": "other"}}} for key, app in spec().items()}
    assert left(placed(root, finding(REPLICAS), apps=elsewhere))[0] == "no file in web holds Deployment shop/web"


@pytest.mark.parametrize("target", ["/etc", "../../outside", "../../../etc/passwd"])
def test_a_commit_with_a_link_out_of_the_repository_is_not_exported(tmp_path: Path, target: str) -> None:
    clone = repository(tmp_path / "clone", {"web/a.yaml": "a: 1\n"})
    (clone / "web" / "out").symlink_to(target)
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "link")
    with pytest.raises(ExportError, match="web/out is a symlink that leads out of the repository"):
        export(clone, git(clone, "rev-parse", "HEAD").strip(), tmp_path / "into")


def test_a_link_inside_the_repository_is_exported(tmp_path: Path) -> None:
    clone = repository(tmp_path / "clone", {"web/a.yaml": "a: 1\n"})
    (clone / "web" / "in.yaml").symlink_to("../web/a.yaml")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "link")
    export(clone, git(clone, "rev-parse", "HEAD").strip(), tmp_path / "into")
    assert (tmp_path / "into/web/in.yaml").read_text() == "a: 1\n"


def test_a_rule_reads_for_itself_the_applications_that_look_fine() -> None:
    """Other rules ask for the same states; alone, the rule must still see an application between two turns."""
    fixture = testing.load_fixture(ROOT / "tests/rules/self-heal-loop/bad-two-writers.yaml")
    alone = testing.check(fixture, [load_rules()["self-heal-loop"]])
    assert "d-owner-one" in {found.app.name for found in alone.findings if found.app}
