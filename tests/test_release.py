"""What `make release` is made of, with small inputs. The whole of it is run by hand: it takes minutes, and what it made checks itself."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint import DOCS, PACKAGE, __version__
from scripts.release import archives, bom, packagers, verify, version
from scripts.release import names as placeholders
from scripts.release.names import Refused
from tests.conftest import ROOT
from tests.gitops import commit, git

NAMES = placeholders.read()
CHANGELOG = """\
# Changelog

## [Unreleased]

### Added
- Something new.

### Changed

### Fixed
- Something broken.

## [0.1.0] - 2026-01-02

### Added
- The beginning.
"""
EXCEPTED = {
    "tests/test_release.py": "it invents names",
}


# Names


def test_the_changelog_is_whole() -> None:
    """A merge must neither empty it nor leave its marks."""
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert {"# Changelog", "### Added", "### Changed", "### Fixed", "### Security"} <= {*lines}
    assert [line for line in lines if line.startswith(("<<<<<<<", "=======", ">>>>>>>"))] == []


def test_names_are_written_where_they_are_needed_and_nowhere_else() -> None:
    assert [name for name, now, then in placeholders.texts() if now != then] == []
    assert placeholders.strays(allowed=EXCEPTED) == []


def test_every_file_that_is_stamped_holds_a_name() -> None:
    wanted = placeholders.pattern(placeholders.written())
    assert [n for n in NAMES.stamped if not wanted.search((ROOT / n).read_text())] == []


def test_another_owner_is_one_file_and_one_command(tmp_path: Path) -> None:
    """Every place follows, and a folder that is called like the action stays."""
    for name in (*NAMES.stamped, "release.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    text = (tmp_path / "release.toml").read_text()
    given = {"published": True, "repository": "https://git.example.com/ours/lint", "docs": "https://docs.example.com/"}
    given |= {
        "action": "ours/lint",
        "image": "images.example.com:5000/ours/lint",
        "charts": "images.example.com/charts",
    }
    lines = [
        f"{line.partition(' = ')[0]} = {json.dumps(given[key])}" if (key := line.partition(" = ")[0]) in given else line
        for line in text.splitlines()
    ]
    (tmp_path / "release.toml").write_text("\n".join(lines) + "\n")
    for name, _, then in placeholders.texts(tmp_path):
        (tmp_path / name).write_text(then)
        assert not placeholders.pattern(vars(NAMES)).search(then), name
    assert [name for name, now, then in placeholders.texts(tmp_path) if now != then] == []
    made = (tmp_path / "argolint/__init__.py").read_text()
    assert "PUBLISHED = True" in made
    assert 'DOCS = "https://docs.example.com/"' in made
    workflow = (tmp_path / "templates/github-workflow.yml").read_text()
    assert f"uses: ours/lint@v{__version__}" in workflow


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('repository = "', 'repository = "http', "repository is"),
        ('docs = "https', 'docs = "http', "docs is"),
        ('image = "registry', 'image = "Registry', "image is"),
        ('action = "', 'action = "https://x/', "action is"),
        ("published = false", "publish = false", "missing or unknown: publish"),
        ("\npackage", "\n[package", "cannot read"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "release.toml").write_text((ROOT / "release.toml").read_text().replace(old, new, 1))
    with pytest.raises(Refused, match=says):
        placeholders.read(tmp_path)


def test_the_package_says_where_it_comes_from() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == NAMES.package == PACKAGE
    assert project["urls"]["Source"] == NAMES.repository
    assert project["urls"]["Documentation"].startswith(DOCS)
    assert set(project["scripts"]) == {"argolint", "argocd-lint", "kubectl-argolint"}


# Version and changelog


def test_the_unreleased_section_becomes_the_versions() -> None:
    made, notes = version.cut(CHANGELOG, "1.0.0", "2026-12-01")
    assert notes == "### Added\n- Something new.\n\n### Fixed\n- Something broken.\n"
    assert "## [Unreleased]\n\n## [1.0.0] - 2026-12-01\n\n### Added\n- Something new." in made
    assert made.endswith("## [0.1.0] - 2026-01-02\n\n### Added\n- The beginning.\n")
    again, _ = version.cut(made.replace("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n"), "1.0.1", "2026-12-02")
    assert again.count("## [") == 4


@pytest.mark.parametrize(
    ("text", "wanted", "says"),
    [
        (CHANGELOG, "0.1.0", "has a section 0.1.0 already"),
        ("# Changelog\n", "1.0.0", "has no section"),
        ("# Changelog\n\n## [Unreleased]\n\n### Added\n\n### Fixed\n", "1.0.0", "says nothing under"),
    ],
)
def test_a_changelog_that_cannot_be_cut_is_refused(text: str, wanted: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        version.cut(text, wanted, "2026-12-01")


@pytest.mark.parametrize("wanted", ["1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "", "1.0.0 "])
def test_what_is_no_version_is_refused(wanted: str) -> None:
    with pytest.raises(Refused, match="is no version"):
        version.checked(wanted)


def test_the_tree_says_one_version() -> None:
    assert set(version.said(ROOT).values()) == {__version__}


def release(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _IN, str(root), *words], cwd=ROOT, capture_output=True, text=True, check=False
    )


_IN = """
import sys
from pathlib import Path
from scripts.release import __main__ as made
root, wanted, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
try:
    made.release(wanted, out, "", root)
except made.Refused as error:
    sys.exit(f"refused: {error}")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, {"CHANGELOG.md": CHANGELOG, "release.toml": (ROOT / "release.toml").read_text()})
    return root


def test_a_release_is_refused_before_anything_is_made(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (checkout / "CHANGELOG.md").write_text(CHANGELOG + "more\n")
    (checkout / "new.txt").write_text("x")
    ran = release(checkout, "1.0.0", str(out))
    assert "changes that are in no commit: CHANGELOG.md, new.txt" in ran.stderr
    git(checkout, "checkout", "--", "CHANGELOG.md")
    (checkout / "new.txt").unlink()
    assert "has a section 0.1.0 already" in release(checkout, "0.1.0", str(out)).stderr
    git(checkout, "tag", "v1.0.0")
    assert "the tag v1.0.0 exists already" in release(checkout, "1.0.0", str(out)).stderr
    assert "'1.x' is no version" in release(checkout, "1.x", str(out)).stderr
    out.mkdir()
    (out / "old").write_text("x")
    assert "is there already and not empty" in release(checkout, "1.0.1", str(out)).stderr
    assert sorted(p.name for p in out.iterdir()) == ["old"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "root"]


def test_without_git_or_a_checkout_no_release_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.release.__main__ import require_clean

    with pytest.raises(Refused, match="is no Git checkout"):
        require_clean(tmp_path, "1.0.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="there is no git in PATH"):
        require_clean(ROOT, "1.0.0")


# Parts


def test_archives_depend_on_their_contents_alone(tmp_path: Path) -> None:
    entries = [("b/run", 0o755, b"x"), ("a", 0o644, b"y" * 10_000)]
    one, other = archives.tar_gz(entries, 1_700_000_000), archives.tar_gz(reversed(entries), 1_700_000_000)
    assert one == other
    (tmp_path / "one.tar.gz").write_bytes(one)
    assert sorted(archives.of_archive(tmp_path / "one.tar.gz")) == sorted(entries)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(one))) as made:
        assert {(m.uid, m.uname, m.mtime) for m in made} == {(0, "", 1_700_000_000)}


def test_the_chart_is_an_image_layout_whose_parts_are_named_by_their_sums() -> None:
    chart = {"name": "argolint", "version": "1.0.0", "description": "x"}
    held = {name: data for name, _, data in archives.chart_layout(chart, b"package", "2026-12-01T00:00:00Z")}
    for name, data in held.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"
    (listed,) = json.loads(held["index.json"])["manifests"]
    manifest = json.loads(held[f"blobs/{listed['digest'].replace(':', '/')}"])
    (layer,) = manifest["layers"]
    assert held[f"blobs/{layer['digest'].replace(':', '/')}"] == b"package"
    assert json.loads(held[f"blobs/{manifest['config']['digest'].replace(':', '/')}"]) == chart
    assert layer["size"] == len(b"package")


def _bom(*packages: str) -> dict[str, Any]:
    parts = (p.split("==") for p in packages)
    return {"components": [{"name": n, "version": v, "purl": f"pkg:pypi/{n.lower()}@{v}"} for n, v in parts]}


def test_the_images_bill_has_pythons_packages_and_debians() -> None:
    image = {"PyYAML": "6.0", "prometheus_client": "1"}
    debian = ["libc6 2.36-9+deb12u14 amd64", "git 1:2.39 amd64"]
    made = bom.of_image(_bom("PyYAML==6.0", "prometheus-client==1"), image, debian, "bookworm")
    assert [c["name"] for c in made["components"]] == ["PyYAML", "prometheus-client", "git", "libc6"]
    assert made["components"][2]["purl"] == "pkg:deb/debian/git@1%3A2.39?arch=amd64&distro=bookworm"


def test_an_image_that_holds_something_else_is_refused() -> None:
    with pytest.raises(Refused, match="does not hold what its lock names: more, pyyaml"):
        bom.of_image(_bom("PyYAML==6.0"), {"PyYAML": "6.1", "more": "1"}, ["git 1 amd64"], "bookworm")
    with pytest.raises(Refused, match="names no package of its base"):
        bom.of_image(_bom(), {}, [], "bookworm")


def test_what_package_managers_take_is_filled_in() -> None:
    lock = (ROOT / "deploy/requirements.lock").read_text()
    values = dict.fromkeys(("version", "repository", "docs", "package", "sdist", "plugin"), "x")
    values |= {"sdist_sha256": "ab", "plugin_sha256": "cd", "resources": packagers.resources(lock)}
    formula = packagers.filled((ROOT / "contrib/homebrew/argolint.rb").read_text(), values)
    assert formula.count("==") == lock.count("==")
    manifest = yaml.safe_load(packagers.filled((ROOT / "contrib/krew/argolint.yaml").read_text(), values))
    assert manifest["spec"]["platforms"][0]["bin"] == manifest["spec"]["platforms"][0]["files"][0]["from"]
    with pytest.raises(Refused, match="asks for nothing_of_ours"):
        packagers.filled("a @nothing_of_ours@", values)


def test_links_of_the_notes_lead_somewhere_from_any_page() -> None:
    made = packagers.notes("See [a](docs/b.md#c), [d](E.md) and [f](https://g.example/h.md).\n", "1.0.0", "abc", NAMES)
    first = made.splitlines()[0]
    assert (
        first
        == f"See [a]({NAMES.docs}b.md#c), [d]({NAMES.repository}/blob/v1.0.0/E.md) and [f](https://g.example/h.md)."
    )
    assert f"{NAMES.action}@abc" in made


def test_the_plugin_runs_the_argolint_that_is_there(tmp_path: Path) -> None:
    plugin = ROOT / "contrib/krew/kubectl-argolint"
    (tmp_path / "argolint").write_text('#!/bin/sh\necho "ran $*"\n')
    (tmp_path / "argolint").chmod(0o755)
    ran = subprocess.run(
        [plugin, "check", "a b"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "ran check a b\n"
    (tmp_path / "argolint").unlink()
    ran = subprocess.run([plugin], env={"PATH": f"{tmp_path}:/bin"}, capture_output=True, text=True, check=False)
    assert (ran.returncode, "there is no argolint in PATH" in ran.stderr) == (2, True)


def test_shell_files_are_those_of_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/shell_files.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# Verify


def released(folder: Path, **files: bytes) -> Path:
    facts = {"version": "1.0.0", "package": "argolint", "created": "2026-12-01T00:00:00Z", "commit": "c"}
    made = {"release.json": json.dumps(facts).encode(), **files}
    for name, data in made.items():
        (folder / name).write_bytes(data)
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in made.items()]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return folder


def test_sums_tell_what_is_altered_missing_or_more(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    folder = tmp_path / "release"
    folder.mkdir()
    made = verify.Verify(released(folder, wheel=b"one"), tmp_path / "work", "", "")
    assert made.checksums() == "2 files"
    (folder / "wheel").write_bytes(b"two")
    with pytest.raises(verify.Wrong, match="it was altered or is damaged"):
        made.checksums()
    (folder / "wheel").unlink()
    with pytest.raises(verify.Wrong, match="listed and not there: wheel"):
        made.checksums()
    (folder / "wheel").write_bytes(b"one")
    (folder / "more").write_bytes(b"x")
    with pytest.raises(verify.Wrong, match="not in the list"):
        made.checksums()


def test_verify_says_each_part_and_ends_with_what_is_wrong(tmp_path: Path) -> None:
    """It runs alone, with nothing of the checkout: a stranger has only the files of the release."""
    released(tmp_path, wheel=b"one")
    script = ROOT / "scripts/release/verify.py"
    command = [sys.executable, "-I", str(script), "--folder", str(tmp_path), "--only", "checksums", "--only", "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert [line.split()[:2] for line in lines] == [
        ["ok", "checksums"],
        ["WRONG", "tag"],
        ["WRONG", "wheel"],
        ["WRONG", "site"],
    ]
    nothing = subprocess.run([*command[:4], "/no-such-folder"], capture_output=True, text=True, check=False)
    assert (nothing.returncode, "holds no release.json" in nothing.stdout) == (1, True)
