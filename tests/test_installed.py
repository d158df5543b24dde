"""Where argolint came from, and what is written and advised because of it: never a name that no one has published."""

from __future__ import annotations

import json
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
import yaml

from argolint import ACTION as OWN_ACTION
from argolint import __version__
from argolint.cli.init import filled
from argolint.host import installed
from argolint.host.installed import Origin
from tests.conftest import ROOT, run_argolint
from tests.gitops import git

COMMIT = "0123456789abcdef" * 2 + "01234567"
OURS = Origin("1.2.3", COMMIT, "https://github.com/shop/lint.git")


def uses(came: Origin) -> str:
    template = (ROOT / "templates" / "github-workflow.yml").read_text()
    steps = yaml.safe_load(filled(template, came))["jobs"]["gate"]["steps"]
    (one,) = [s["uses"] for s in steps if not s.get("uses", "actions/").startswith("actions/")]
    return str(one)


def package_of(came: Origin) -> str | None:
    template = (ROOT / "templates" / "gitlab-ci.yml").read_text()
    variables = yaml.safe_load(filled(template, came))["argolint"]["variables"]
    return variables.get("ARGOLINT_PACKAGE")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("came", "action", "package"),
    [
        (OURS, f"shop/lint@{COMMIT}", f"argolint @ git+https://github.com/shop/lint.git@{COMMIT}"),
        (
            Origin("1.2.3", COMMIT, "https://git.example.com/lint"),
            f"{OWN_ACTION}@{COMMIT}",
            f"argolint @ git+https://git.example.com/lint@{COMMIT}",
        ),
        (Origin("1.2.3", COMMIT), f"{OWN_ACTION}@{COMMIT}", None),
        (Origin("1.2.3"), f"{OWN_ACTION}@v1.2.3", None),
    ],
)
def test_ci_files_name_the_argolint_that_writes_them(came: Origin, action: str, package: str | None) -> None:
    assert uses(came) == action
    assert package_of(came) == package
    assert came.can_be_fetched is (came is OURS)


def test_a_published_argolint_is_named_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "PUBLISHED", True)
    came = Origin("1.2.3")
    assert (came.action, came.requirement, came.can_be_fetched) == (f"{OWN_ACTION}@v1.2.3", "argolint==1.2.3", True)


def _installed(folder: Path, direct: object) -> PathDistribution:
    info = folder / "argolint-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: argolint\nVersion: 1.2.3\nRequires-Dist: click>=8\n"
        "Requires-Dist: mcp<3,>=2.3; extra == 'mcp'\nRequires-Dist: a>=1; extra == \"two\"\nRequires-Dist: b; extra == 'two'\n"
    )
    (info / "direct_url.json").write_text(direct if isinstance(direct, str) else json.dumps(direct))
    return PathDistribution(info)


@pytest.mark.parametrize(
    ("direct", "commit", "url"),
    [
        (
            {"url": "https://a:b@github.com/shop/lint", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            COMMIT,
            "https://github.com/shop/lint",
        ),
        ({"url": "https://github.com/shop/lint", "vcs_info": {"commit_id": "main; rm -rf"}}, "", ""),
        ({"url": "file:///build/argolint.whl", "archive_info": {}}, "", ""),
        ("not json", "", ""),
        ("[1]", "", ""),
    ],
)
def test_what_the_installer_wrote_is_read_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direct: object, commit: str, url: str
) -> None:
    found = _installed(tmp_path, direct)
    monkeypatch.setattr(installed, "_distribution", lambda: found)
    monkeypatch.setattr(installed, "_checkout_commit", lambda root: "")
    assert installed.origin("1.2.3") == Origin("1.2.3", commit, url)


def test_a_checkout_knows_its_commit_and_a_folder_of_packages_does_not(tmp_path: Path) -> None:
    assert installed._checkout_commit(ROOT) == git(ROOT, "rev-parse", "HEAD").strip()
    git(tmp_path, "init", "--quiet")
    assert installed._checkout_commit(tmp_path) == ""


def test_an_extra_is_installed_by_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _installed(tmp_path, {})
    monkeypatch.setattr(installed, "_distribution", lambda: found)
    assert installed.for_extra("mcp") == "pip install 'mcp<3,>=2.3'"
    assert installed.for_extra("two") == "pip install 'a>=1' 'b'"
    monkeypatch.setattr(installed, "_distribution", lambda: None)
    assert installed.for_extra("mcp") == "pip install mcp"


def test_init_says_what_is_to_be_filled_in(tmp_path: Path) -> None:
    ran = run_argolint("init", "--ci", "github", cwd=tmp_path)
    assert ran.code == 0, ran.err
    text = (tmp_path / ".github/workflows/argolint.yml").read_text()
    assert "@COMMIT" not in text
    commit = git(ROOT, "rev-parse", "HEAD").strip()
    assert f"uses: {OWN_ACTION}@{commit} # argolint {__version__}" in text
    assert f"`uses: {OWN_ACTION}@{commit}` names no place yet" in ran.out
    ran = run_argolint("init", "--ci", "gitlab", cwd=tmp_path)
    assert "set the variable ARGOLINT_PACKAGE to git+https://HOST/PATH@COMMIT" in ran.out
