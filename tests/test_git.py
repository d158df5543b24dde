"""git is run on clones that a stranger may have written: nothing of them is run, and nothing leads elsewhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from argolint.errors import UsageError
from argolint.host.programs import Limits
from argolint.sources.git import Entry, Git, has_repository, safe_name
from tests.gitops import commit, git


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, {"web/a.yaml": "a: 1\n", "docs/x.md": "x\n", ".gitattributes": "* filter=evil diff=evil\n"})
    git(folder, "switch", "--create", "feature", "--quiet")
    commit(folder, {"web/a.yaml": "a: 2\n"})
    return folder


def id_of(clone: Path, revision: str) -> str:
    return git(clone, "rev-parse", revision).strip()


@pytest.mark.parametrize(
    "tag", ["main", "refs/heads/main", "refs/remotes/main", "refs/remotes/origin/main", "refs/tags/main"]
)
def test_a_branch_is_a_branch_whatever_tags_there_are(clone: Path, tag: str) -> None:
    git(clone, "update-ref", f"refs/tags/{tag}", "feature")
    assert Git(clone).commit("main") == id_of(clone, "refs/heads/main")


def test_a_branch_of_the_remote_is_found(clone: Path) -> None:
    git(clone, "update-ref", "refs/remotes/origin/main", "main")
    main = id_of(clone, "refs/heads/main")
    git(clone, "branch", "--delete", "--force", "main")
    assert Git(clone).commit("main") == Git(clone).commit("origin/main") == main


@pytest.mark.parametrize("full", ["refs/remotes/origin/origin/main", "refs/heads/origin/main"])
def test_a_branch_called_like_one_of_the_remote_makes_the_name_ambiguous(clone: Path, full: str) -> None:
    """Anybody who may push can make the branch `origin/main`; fetched, it is refs/remotes/origin/origin/main."""
    git(clone, "update-ref", "refs/remotes/origin/main", "main")
    git(clone, "update-ref", full, "feature")
    with pytest.raises(UsageError) as caught:
        Git(clone).commit("origin/main")
    assert caught.value.hint == "name it in full: refs/remotes/origin/main"
    assert Git(clone).commit("refs/remotes/origin/main") == id_of(clone, "refs/heads/main")
    assert Git(clone).commit(full) == id_of(clone, "feature")


def test_a_branch_called_like_a_commit_is_refused(clone: Path) -> None:
    main = id_of(clone, "refs/heads/main")
    git(clone, "update-ref", f"refs/remotes/origin/{main}", "feature")
    with pytest.raises(UsageError, match="has a branch called"):
        Git(clone).commit(main)


def test_a_full_name_is_that_ref_or_none(clone: Path) -> None:
    """git itself would take the tag of the name for a branch that was not fetched."""
    git(clone, "update-ref", "refs/tags/refs/remotes/origin/main", "feature")
    with pytest.raises(UsageError, match="has no revision 'refs/remotes/origin/main'"):
        Git(clone).commit("refs/remotes/origin/main")


def test_other_names_of_a_revision_work_as_git_has_them(clone: Path) -> None:
    main, head = id_of(clone, "refs/heads/main"), id_of(clone, "HEAD")
    git(clone, "tag", "v1", "main")
    git(clone, "branch", "HEAD2", "main")
    for name in ("HEAD~1", "feature~", "feature^", "v1", main, main[:12], "refs/heads/main", "@~1", "HEAD2"):
        assert Git(clone).commit(name) == main, name
    assert Git(clone).commit("HEAD") == Git(clone).commit("@") == Git(clone).commit("feature") == head


@pytest.mark.parametrize(
    "name",
    ["", "--output=stolen", "-x", "..", "main...feature", "main:web", "main\n--x", "a\0b", "*", ":/x", "a" * 10_000],
)
def test_what_is_no_revision_is_told_and_no_option(clone: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        Git(clone).changes("main", name)
    assert "has no revision" in caught.value.message
    assert "\0" not in caught.value.message
    assert not (clone / "stolen").exists()


PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command"),
    *(
        "diff.external",
        "gpg.program",
        "pager.status",
        "alias.ls-tree",
        "core.alternateRefsCommand",
        "credential.helper",
    ),
)


def evil(clone: Path) -> Path:
    """A file that is there once a program that the clone's configuration, hooks or home name has run."""
    ran = clone.parent / "ran"
    script = clone.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\necho $0 $* >>{ran}\ncat\n")
    script.chmod(0o755)
    for key in PROGRAMS:
        git(clone, "config", key, str(script))
    git(clone, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        (clone / ".git/hooks").mkdir(exist_ok=True)
        (clone / ".git/hooks" / hook).symlink_to(script)
    os.utime(clone / "web/a.yaml", (1, 1))
    ran.unlink(missing_ok=True)
    return ran


def test_nothing_that_a_clone_configures_is_run(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = evil(clone)
    (clone / ".gitconfig").write_text((clone / ".git/config").read_text())
    monkeypatch.setenv("HOME", str(clone))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(clone.parent / "evil.sh"))
    found = Git(clone)
    assert [c.path for c in found.changes("main", "feature")] == ["web/a.yaml"]
    assert found.show("main", "web/a.yaml") == "a: 1\n"
    assert found.dirty() == frozenset()
    (clone / "web/a.yaml").write_text("a: 3\n")
    assert found.dirty() == {"web/a.yaml"}
    assert found.tracked("web") == ("web/a.yaml",)
    assert found.remotes() == ()
    assert found.top == clone
    assert not ran.exists()


def test_a_folder_of_diffs_inside_a_hostile_clone_runs_nothing(clone: Path) -> None:
    ran = evil(clone)
    folder = clone / "tmp"
    for side, text in (("a", "x: 1\n"), ("b", "x: 2\n")):
        (folder / side).mkdir(parents=True)
        (folder / side / "f.yaml").write_text(text)
    assert "-x: 1\n+x: 2\n" in Git(folder).difference()
    assert not ran.exists()


def test_a_file_that_the_clone_lacks_is_not_fetched(clone: Path) -> None:
    ran = clone.parent / "ran"
    blob = id_of(clone, "feature:web/a.yaml")
    (clone / ".git/objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {ran}",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }
    for key, value in settings.items():
        git(clone, "config", key, value)
    with pytest.raises(UsageError) as caught:
        Git(clone).show("feature", "web/a.yaml")
    assert "does not hold all files" in caught.value.message
    assert "partial clone" in caught.value.hint
    assert not ran.exists()


def test_no_graft_changes_the_history(clone: Path) -> None:
    before = Git(clone).changes("main", "feature")
    ids = [git(clone, "rev-parse", name).strip() for name in ("main", "feature")]
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/grafts").write_text(" ".join(ids) + "\n")
    assert Git(clone).changes("main", "feature") == before != ()


def test_no_object_is_replaced_by_another(clone: Path) -> None:
    git(clone, "replace", id_of(clone, "main:web/a.yaml"), id_of(clone, "feature:web/a.yaml"))
    assert Git(clone).show("main", "web/a.yaml") == "a: 1\n"


def test_a_work_tree_elsewhere_is_not_believed(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    git(clone, "config", "core.worktree", str(tmp_path / "home"))
    with pytest.raises(UsageError) as caught:
        assert Git(clone).top
    assert "is no part of the work tree that it names" in caught.value.message


def test_variables_of_a_hook_name_no_other_repository(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    commit(other, {"other.yaml": "x\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    assert Git(clone).tracked() == (".gitattributes", "docs/x.md", "web/a.yaml")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a clone to another user")
def test_a_clone_of_another_user_is_read(clone: Path) -> None:
    subprocess.run(["chown", "-R", "65534:65534", str(clone)], check=True)
    assert Git(clone).show("main", "web/a.yaml") == "a: 1\n"


@pytest.mark.parametrize("path", [":", ".:", "relative"])
def test_git_is_not_taken_from_the_working_directory(clone: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    ran = clone.parent / "ran"
    for folder in (clone, clone / "relative"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\ntouch {ran}\n")
        (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(clone)
    assert Git(clone).show("main", "web/a.yaml") == "a: 1\n"
    assert not ran.exists()
    monkeypatch.setenv("PATH", path)
    with pytest.raises(UsageError, match="there is none on PATH"):
        Git(clone).commit("main")


def test_links_submodules_and_large_files_have_no_text(clone: Path) -> None:
    (clone / "link.yaml").symlink_to("web/a.yaml")
    commit(clone, {"large.yaml": "x" * 32_000_001})
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(clone, "commit", "--message", "submodule")
    found = Git(clone)
    tree = found.tree("HEAD")
    assert list(found.texts([tree["link.yaml"], tree["sub"], tree["large.yaml"], tree["web/a.yaml"]])) == [
        *(None, None, None),
        "a: 2\n",
    ]
    assert found.too_large(tree) == ("large.yaml",)
    assert found.links("HEAD") == {"link.yaml": "web/a.yaml"}
    assert found.linked("HEAD", "link.yaml") == "a: 2\n"
    (clone / "out.yaml").symlink_to("/etc/passwd")
    commit(clone, {})
    assert Git(clone).linked("HEAD", "out.yaml") is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_text_is_read_in_the_encoding_that_it_is_marked_with(clone: Path, encoding: str) -> None:
    (clone / "x.yaml").write_bytes("kind: Ä\n".encode(encoding))
    commit(clone, {})
    assert (Git(clone).show("HEAD", "x.yaml") or "").lstrip("\ufeff") == "kind: Ä\n"


def test_names_with_line_breaks_and_bytes_that_are_no_text_are_read(clone: Path) -> None:
    names = ["web/a\nb.yaml", "web/ä b.yaml", "web/\udcff.yaml"]
    for name in names:
        (clone / name).write_text("n: 1\n")
    commit(clone, {})
    assert [Git(clone).show("HEAD", name) for name in names] == ["n: 1\n"] * 3
    assert {c.path for c in Git(clone).changes("main", "HEAD")} == {*names, "web/a.yaml"}


def test_histories_without_a_common_commit_are_told(clone: Path) -> None:
    git(clone, "switch", "--orphan", "other", "--quiet")
    commit(clone, {"x.yaml": "x\n"})
    with pytest.raises(UsageError) as caught:
        Git(clone).changes("main", "other")
    assert "have no commit in common" in caught.value.message
    assert "fetch-depth: 0" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        *(("a.yaml", True), ("web/a b.yaml", True), ("web/...", True), ("web/.gitignore", True)),
        *(("", False), ("/a", False), ("a//b", False), ("../a", False), ("a/../b", False), ("a/./b", False)),
        *((".git", False), ("web/.GIT/config", False), ("web/.git./x", False), ("a/", False), ("web/.git /x", False)),
    ],
)
def test_names_that_a_file_of_a_commit_may_have(name: str, safe: bool) -> None:
    assert safe_name(name) is safe


@pytest.mark.parametrize("file", ["config", "packed-refs", "HEAD"])
def test_a_pipe_in_the_place_of_a_file_of_git_is_not_waited_for(
    clone: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr("argolint.sources.git._QUICK", Limits(0.3, 1_000_000))
    git(clone, "pack-refs", "--all")
    (clone / ".git" / file).unlink()
    os.mkfifo(clone / ".git" / file)
    with pytest.raises(UsageError, match=r"git (rev-parse|show-ref) took longer than 0\.3 s in"):
        Git(clone).commit("feature")


def test_the_nearest_repository_is_found_without_git(clone: Path, tmp_path: Path) -> None:
    assert has_repository(clone / "web") == clone
    assert has_repository(tmp_path) is None


def test_sizes_of_a_blob_that_is_none_are_told(clone: Path) -> None:
    with pytest.raises(UsageError):
        list(Git(clone).texts([Entry("100644", "1" * 40)]))


def test_changed_lines_are_the_same_one_by_one_and_all_at_once(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    text = "".join(f"line {n}\n" for n in range(1, 11))
    names = ("a b.yaml", "ä\n.yaml", "crlf.yaml", "gone.yaml", "cut.yaml", "last.yaml", ".gitattributes")
    commit(
        tmp_path, {**dict.fromkeys(names, text), "crlf.yaml": text.replace("\n", "\r\n"), ".gitattributes": "* -diff\n"}
    )
    git(tmp_path, "switch", "--quiet", "--create", "feature")
    changed = {name: text.replace("line 3\n", "other\nmore\n") for name in names[:2]}
    commit(
        tmp_path,
        {
            **changed,
            "crlf.yaml": text.replace("\n", "\r\n").replace("line 4\r", "x\r"),
            "gone.yaml": None,
            "cut.yaml": text.replace("line 5\nline 6\n", ""),
            "last.yaml": text.removesuffix("\n"),
            "new.yaml": "diff --git a b\n@@ -1 +7 @@\n",
        },
    )
    clone = Git(tmp_path)
    one_by_one = {
        c.path: clone.changed_lines(c.before, c.after) for c in clone.changes("main", "feature") if c.after is not None
    }
    wanted = {"a b.yaml": (3, 5), "ä\n.yaml": (3, 5), "crlf.yaml": (4, 5), "cut.yaml": (4, 5), "last.yaml": (10, 11)}
    assert {path: (found[0].start, found[0].stop) for path, found in one_by_one.items() if path in wanted} == wanted
    assert 2 in one_by_one["new.yaml"][0]
    at_once = clone.all_changed_lines("main", "feature")
    assert {path: at_once[path] for path in wanted} == {path: one_by_one[path] for path in wanted}
    assert at_once["new.yaml"] == (range(1, 3),)
