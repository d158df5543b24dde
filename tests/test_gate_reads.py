"""What an application may read of its repository: whatever is not proven unread makes the gate look at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from argolint.application.app import App, app_from_list
from argolint.application.fleet import IN_CLUSTER
from argolint.gate.candidates import Candidate, ReadFiles, candidate_files
from argolint.gate.reads import OPEN, reach, whole_checkout_files
from argolint.sources.git import Git

from .gitops import REPO, commit, git
from .test_touched import app as application
from .test_touched import source

KUSTOMIZE = {"sourceType": "Kustomize"}
HELM = {"sourceType": "Helm"}
DIRECTORY = {"sourceType": "Directory"}


Make = Callable[[str], App]
"""An application of the folder that holds its shape."""


def app(status: Mapping[str, Any], path: str = "web", **more: Any) -> Make:
    def make(top: str) -> App:
        found = application("shop", source(f"{top}{path}", **json.loads(json.dumps(more).replace("TOP/", f"/{top}"))))
        return app_from_list(
            {**found.raw, "status": status},
            server="",
            cluster=IN_CLUSTER,
            control_plane="argocd",
            observed_at=found.observed_at,
        )

    return make


def kustomization(text: str) -> dict[str, str]:
    return {"web/kustomization.yaml": text}


BASE = "resources: [../base]\n"
# What the repository holds beside base/, lib/ and docs/; the application; files that count, and files that do not.
SHAPES: dict[str, tuple[Mapping[str, str | None], Make, tuple[str, ...], tuple[str, ...]]] = {
    "a base": (kustomization(BASE), app(KUSTOMIZE), ("base/x.yaml", "base/new"), ("lib/x.yaml", "docs/x.md")),
    "a second document": (kustomization(BASE + "---\na: 1\n"), app(KUSTOMIZE), ("base/x.yaml",), ("lib/x.yaml",)),
    "keys in capitals": (kustomization("Resources: [../base]\n"), app(KUSTOMIZE), ("base/x.yaml",), ("lib/x.yaml",)),
    "a key twice": (kustomization(BASE + "resources: [../lib]\n"), app(KUSTOMIZE), ("lib/x.yaml",), ("docs/x.md",)),
    "an anchor": (kustomization("x: &b [../base]\nresources: *b\n"), app(KUSTOMIZE), ("base/x.yaml",), ("lib/x.yaml",)),
    "base64": (kustomization("resources: [!!binary Li4vYmFzZQ==]\n"), app(KUSTOMIZE), ("base/x.yaml",), ("lib/x.yaml",)),
    "an escape": (kustomization('resources: ["..\\x2fbase"]\n'), app(KUSTOMIZE), ("base/x.yaml",), ("lib/x.yaml",)),
    "a key of a file": (
        kustomization("configMapGenerator: [{name: a, files: [x=../base/x.yaml]}]\n"),
        app(KUSTOMIZE),
        ("base/x.yaml",),
        ("base/y.yaml",),
    ),
    "a file that is not there yet": (kustomization("resources: [../new.yaml]\n"), app(KUSTOMIZE), ("new.yaml",), ()),
    "charts": (kustomization("helmGlobals: {chartHome: ../lib}\n"), app(KUSTOMIZE), ("lib/a/b",), ("base/x.yaml",)),
    "generators": (kustomization("generators: [g.yaml]\n"), app(KUSTOMIZE), ("docs/x.md",), ()),
    "transformers": (kustomization("tranſformers: [g.yaml]\n"), app(KUSTOMIZE), ("docs/x.md",), ()),
    "a tag that ends elsewhere": (
        kustomization("resources: [!a,../docs ../lib]\n"), app(KUSTOMIZE), ("lib/x.yaml",), ()),
    "no YAML": (kustomization("resources: [\n"), app(KUSTOMIZE), ("docs/x.md",), ()),
    "a pointer": (
        kustomization("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        app(KUSTOMIZE),
        ("docs/x.md",),
        (),
    ),
    "a large kustomization": (kustomization("#" * 1_000_001), app(KUSTOMIZE), ("docs/x.md",), ()),
    "a base of a base": (
        {**kustomization("resources: [../mid]\n"), "mid/kustomization.yml": BASE},
        app(KUSTOMIZE),
        ("base/x.yaml", "mid/y"),
        ("lib/x.yaml",),
    ),
    "a ring": ({**kustomization("resources: [../mid]\n"), "mid/Kustomization": "resources: [../web]\n"},
               app(KUSTOMIZE), ("mid/x",), ("base/x.yaml",)),
    "the commit's id in a line of variables": (
        {**kustomization("configMapGenerator: [{name: a, envs: [a.env]}]\n"), "web/a.env": "ARGOCD_APP_REVISION\n"},
        app(KUSTOMIZE),
        ("docs/x.md",),
        (),
    ),
    "the commit's id in an image": (
        kustomization(""), app({}, kustomize={"images": ["a:$ARGOCD_APP_REVISION"]}), ("docs/x.md",), ()),
    "components of the Application": (
        kustomization(""), app({}, kustomize={"components": ["../base"]}), ("base/x.yaml",), ("lib/x.yaml",)),
    "patches of the Application": (
        kustomization(""), app({}, kustomize={"patches": [{"path": "../lib/p.yaml"}]}), ("lib/p.yaml",), ("base/x",)),
    "an override": ({"web/.argocd-source-shop.yaml": "helm: {valueFiles: [../lib/x.yaml]}\n"}, app(HELM),
                    ("lib/x.yaml",), ("base/x.yaml",)),
    "an override with a plugin": ({"web/.argocd-source.yaml": "Plugin: {name: x}\n"}, app(HELM), ("docs/x.md",), ()),
    "an override from the top": ({"web/.argocd-source.yaml": "helm: {valueFiles: [TOP/lib/x.yaml]}\n"}, app(HELM),
                                 ("lib/x.yaml",), ("base/x.yaml",)),
    "an override with an unknown variable": ({"web/.argocd-source.yaml": "helm: {valueFiles: [$X]}\n"}, app(HELM),
                                             ("docs/x.md",), ()),
    "images of an override": ({"web/.argocd-source.yaml": "kustomize: {images: [a:1]}\n"}, app(KUSTOMIZE),
                              ("web/x",), ("docs/x.md",)),
    "a chart beside": ({"web/Chart.yaml": "dependencies: [{name: a, repository: 'file://../lib'}]\n---\n"}, app(HELM),
                       ("lib/x",), ("base/x.yaml",)),
    "a lock": ({"web/Chart.yaml": "name: a\n", "web/Chart.lock": "x: file://../lib\n"}, app(HELM), ("lib/x",), ("docs/x.md",)),
    "a schema": ({"web/values.schema.json": '{"$ref": "file://../lib/s.json"}'}, app(HELM), ("lib/s.json",), ()),
    "a closed schema": ({"web/values.schema.json": '{"$ref": "#/a"}'}, app(HELM), (), ("lib/s.json",)),
    "a pattern": ({}, app({}, helm={"valueFiles": ["../lib/*/v?.yaml"]}), ("lib/a/b.yaml",), ("base/x.yaml",)),
    "brackets": ({"w[x]/a": ""}, app({}, "w[x]", helm={"valueFiles": ["../lib/[v].yaml"]}), ("w[x]/a", "lib/[v].yaml"),
                 ("wx/a", "base/x.yaml")),
    "alternatives": ({}, app({}, helm={"valueFiles": ["../lib/{a,b}/*.yaml"]}), ("docs/x.md",), ()),
    "alternatives alone": ({}, app({}, helm={"valueFiles": ["../lib/{a,b}.yaml"]}), ("docs/x.md",), ()),
    "a chart that climbs": (kustomization("helmCharts: [{name: ../../lib}]\n"), app(KUSTOMIZE), ("web/charts/a", "lib/x"),
                            ("docs/x",)),
    "a chart that climbs from its folder": (
        kustomization("helmGlobals: {chartHome: a/b}\nHelmCharts: [{name: ../../../base}]\n"), app(KUSTOMIZE), ("base/x.yaml",),
        ("lib/x.yaml",)),
    "a scheme": ({}, app({}, helm={"valueFiles": ["secrets://../lib/x.yaml"]}), ("lib/x.yaml",), ()),
    "a web address": ({}, app({}, helm={"valueFiles": ["https://elsewhere.example/x.yaml"]}), (), ("lib/x.yaml",)),
    "the name of the application": ({}, app({}, helm={"valueFiles": ["../$ARGOCD_APP_NAME/${ARGOCD_APP_PROJECT_NAME}.yaml"]}),
                                    ("shop/default.yaml",), ("shop/x.yaml",)),
    "a namespace that it lacks": ({}, app({}, helm={"valueFiles": ["../base/x$ARGOCD_APP_NAMESPACE.yaml"]}), ("base/x.yaml",),
                                  ("base/y.yaml",)),
    "an unknown variable": ({}, app({}, helm={"valueFiles": ["../lib/$X.yaml"]}), ("docs/x.md",), ()),
    "a dollar": ({}, app({}, helm={"valueFiles": ["$/x.yaml"]}), ("docs/x.md",), ()),
    "Jsonnet below": ({"web/a/b.jsonnet": ""}, app(DIRECTORY), ("docs/x.md",), ()),
    "files of a plain folder": ({"web/a.yaml": ""}, app(DIRECTORY), ("web/a/b",), ("webs/x", "docs/x.md")),
    "no tool that is known": ({"web/a.yaml": ""}, app({}), ("docs/x.md",), ()),
    "a plugin": ({"web/a.yaml": ""}, app({"sourceType": "Plugin"}), ("docs/x.md",), ()),
    "a path above the top": ({}, app(DIRECTORY, "../../x"), ("docs/x.md",), ()),
    "an endless path": ({}, app(DIRECTORY, "a/" * 500_000), ("docs/x.md",), ()),
    "an endless name": ({}, app({}, helm={"valueFiles": ["${" * 100_000]}), ("docs/x.md",), ()),
    "attributes above": ({"web/a/b": ""}, app(DIRECTORY, "web/a"), (".gitattributes", "web/.gitattributes"),
                         ("lib/.gitattributes",)),
}  # fmt: skip
# Links, which lead from the first name to the second.
LINKS: dict[str, tuple[Mapping[str, str], Mapping[str, str | None], Make, tuple[str, ...], tuple[str, ...]]] = {
    "the path": ({"web": "over/prod"}, {"over/prod/kustomization.yaml": "resources: [../../base]\n"}, app(KUSTOMIZE),
                 ("base/x.yaml", "over/prod/y", "web"), ("lib/x.yaml",)),
    "a folder above the path": ({"a": "over"}, {"over/web/kustomization.yaml": "resources: [../../base]\n"},
                                app(KUSTOMIZE, "a/web"), ("base/x.yaml", "a"), ("lib/x.yaml",)),
    "the kustomization": ({"web/kustomization.yaml": "../common/k"}, {"common/k": BASE}, app(KUSTOMIZE),
                          ("base/x.yaml", "common/k"), ("lib/x.yaml",)),
    "a base": ({"mid": "base/deep"}, {**kustomization("resources: [../mid]\n"), "base/deep/kustomization.yaml": "resources: [../../lib]\n"},
               app(KUSTOMIZE), ("lib/x.yaml", "base/deep/x"), ("docs/x.md",)),
    "a chart": ({"web": "over/prod"}, {"over/prod/Chart.yaml": "x: file://../lib\n"}, app(HELM), ("lib/x.yaml",), ("docs/x.md",)),
    "a file of the folder": ({"web/x.yaml": "../docs/x"}, {"web/a": ""}, app(DIRECTORY), ("docs/x",), ("lib/x.yaml",)),
    "a link to a link": ({"web/x.yaml": "../one", "one": "docs"}, {"docs/a": ""}, app(DIRECTORY), ("docs/a", "one"), ("lib/x",)),
    "a circle": ({"web/x.yaml": "y.yaml", "web/y.yaml": "x.yaml"}, {}, app(DIRECTORY), ("web/x.yaml",), ("docs/x.md",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "init", "--quiet")
    return folder


def read(top: Path, one: App, changed: str, *revisions: str) -> ReadFiles:
    return candidate_files(Candidate(one, (1,)), [changed], Git(top), revisions or ("HEAD",), REPO, "main")


def holds(top: Path, files: Mapping[str, str | None], links: Mapping[str, str] | None = None) -> None:
    git(top, "checkout", "--quiet", "--orphan", "next")
    git(top, "rm", "-rf", "--quiet", "--ignore-unmatch", ".")
    for name, target in (links or {}).items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).symlink_to(target)
    commit(top, files)
    git(top, "branch", "--move", "--force", "main")


WEB = app(KUSTOMIZE)("")
BESIDE = {"base/x.yaml": "a: 1\n", "lib/x.yaml": "a: 1\n"}


def test_a_file_that_is_not_proven_unread_counts(top: Path) -> None:
    files: dict[str, str | None] = {}
    links: dict[str, str] = {}
    cases = [*((n, {}, *rest) for n, rest in SHAPES.items()), *((n, *rest) for n, rest in LINKS.items())]
    for number, (_, to, texts, *_) in enumerate(cases):
        links |= {f"s{number}/{link}": target for link, target in to.items()}
        held = {file: (text or "").replace("TOP/", f"/s{number}/") for file, text in texts.items()}
        files |= {f"s{number}/{file}": text for file, text in {**BESIDE, **held}.items()}
    holds(top, files, links)
    clone = Git(top)
    wrong, reasons = [], set()
    for number, (name, _, _, make, counted, left) in enumerate(cases):
        one = make(f"s{number}/")
        reasons.add(reach(one, one.sources, clone, "HEAD", REPO, "main").why)
        for changed, counts in (*((f, True) for f in counted), *((f, False) for f in left)):
            found = candidate_files(Candidate(one, (1,)), [f"s{number}/{changed}"], clone, ("HEAD",), REPO, "main")
            wrong += [f"{name}: {changed}"] if bool(found.files) is not counts else []
    assert wrong == []
    assert reasons - {""} == OPEN.keys() - {"large"}


@pytest.mark.parametrize(
    ("address", "counts"),
    [
        ("https://git.example.com/shop/apps//base?ref=main", True),
        ("https://git.example.com/shop/apps.git/base", True),
        ("git::ssh://git@git.example.com:22/shop/apps.git//base?ref=refs%2Fheads%2Fmain", True),
        ("git@git.example.com:shop/apps.git//base?ref=HEAD", True),
        ("https://git.example.com/shop/apps//base?ref=heads/main", True),
        ("https://git.example.com/shop/apps//base?ref=%2Bmain", True),
        ("https://git.example.com/shop/apps//base?ref=main:x", True),
        ("https://git.example.com/shop/apps//base?ref=v1&ref=main", True),
        ("https://git/shop/apps//base?ref=main", True),
        ("ssh://git@ssh.git.example.com/shop/apps//base?ref=main", True),
        ("https://git.example.com/api/v4/projects/shop%2Fapps/repository/files/base%2Fx.yaml/raw?ref=main", True),
        ("https://git.example.com/scm/shop/apps.git//base", True),
        ("https://git.example.com/shop/apps/-/archive/main/apps-main.tar.gz", True),
        ("git+https://git.example.com/shop/apps@base?ref=main", True),
        ("https://git.example.com/apps//base?ref=main", False),
        ("https://git.example.com/other/apps//base?ref=main", False),
        ("https://git.example.com/shop/apps//base?ref=release/other", False),
        ("registry.git.example.com/shop/apps:main", False),
        ("https://git.example.com/shop/%61pps/raw/main/base/x.yaml", True),
        ("https://git.example.com/shop/apps/-/raw/other/base/x.yaml", False),
        ("https://git.example.com/shop/apps//base?ref=v1", False),
        ("https://git.example.com/shop/apps//base?ref=" + "0" * 40, False),
        ("https://git.example.com/shop/apps2//base?ref=main", False),
        ("https://git.example.com/shop/apps//lib?ref=main", False),
    ],
)
def test_what_is_fetched_from_the_repository_s_own_address_is_known(top: Path, address: str, counts: bool) -> None:
    holds(top, kustomization(f"resources: ['{address}']\n"))
    assert bool(read(top, WEB, "base/x.yaml").fetched) is counts
    assert read(top, WEB, "base/x.yaml").files == ()


def test_variables_of_a_reference_are_those_of_the_source_that_names_it(top: Path) -> None:
    holds(top, {"charts/web/v.yaml": ""})
    chart = source("charts/web", "v1", "https://elsewhere.example/x.git")
    chart["helm"] = {"valueFiles": ["$v/$ARGOCD_APP_SOURCE_PATH/v.yaml"]}
    one = Candidate(application("shop", chart, source(ref="v")), (2,))
    assert candidate_files(one, ["charts/web/v.yaml"], Git(top), ("HEAD",), REPO, "main").files
    assert not candidate_files(one, ["v.yaml"], Git(top), ("HEAD",), REPO, "main").files


def test_history_that_ends_too_early_hides_no_change(top: Path) -> None:
    """Of a clone that is cut between the base and the change, git takes an older commit for the last that they have in common."""
    holds(top, {"web/x": "1"})
    old = git(top, "rev-parse", "HEAD").strip()
    commit(top, {"web/x": "2"})
    git(top, "switch", "--quiet", "--create", "cut")
    commit(top, {"docs/x": ""})
    end = git(top, "rev-parse", "HEAD").strip()
    commit(top, {"web/x": "1"})
    made = git(top, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-p", old, "-m", "merge").strip()
    git(top, "reset", "--quiet", "--hard", made)
    (top / ".git/shallow").write_text(f"{end}\n")
    try:
        assert git(top, "merge-base", "main", "cut").strip() == old
        assert "web/x" in [change.path for change in Git(top).changes("main", "cut")]
    finally:
        (top / ".git/shallow").unlink()


def test_a_branch_that_is_behind_the_remote_s_hides_no_change(top: Path) -> None:
    holds(top, {"web/x": "1"})
    git(top, "switch", "--quiet", "--create", "ahead")
    commit(top, {"web/x": "2"})
    git(top, "update-ref", "refs/remotes/origin/main", "HEAD")
    commit(top, {"web/x": "1"})
    try:
        assert [change.path for change in Git(top).changes("main", "ahead")] == ["web/x"]
    finally:
        git(top, "update-ref", "-d", "refs/remotes/origin/main")


def test_both_sides_count(top: Path) -> None:
    """What the base has come to name since the change left it, and what the change names itself."""
    holds(top, {**BESIDE, **kustomization("")})
    git(top, "switch", "--quiet", "--create", "feature")
    commit(top, kustomization("resources: [../lib]\n"))
    git(top, "switch", "--quiet", "main")
    commit(top, kustomization(BASE))
    one = WEB
    assert read(top, one, "base/x.yaml", "main", "feature").files == ("base/x.yaml",)
    assert read(top, one, "lib/x.yaml", "main", "feature").files == ("lib/x.yaml",)
    assert read(top, one, "docs/x.md", "main", "feature").files == ()


def test_what_decides_whether_the_repository_can_be_checked_out_counts_for_all(top: Path) -> None:
    holds(top, {"docs/a": ""})
    git(top, "switch", "--quiet", "--create", "links")
    for name, target in {
        "out": "../x",
        "round": "docs/../../x",
        "abs": "/etc",
        "in": "docs/a",
        "web/in": "../docs",
    }.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).symlink_to(target)
    commit(top, {".gitmodules": "", "README": ""})
    clone = Git(top)
    changes = clone.changes("main", "links")
    assert set(whole_checkout_files(changes, clone, ("main", "links"))) >= {"out", "round", "abs", ".gitmodules"}
    assert "README" not in set(whole_checkout_files(changes, clone, ("main", "links")))


def test_a_chain_of_kustomizations_has_an_end(top: Path) -> None:
    chain: dict[str, str | None] = {f"k{n}/kustomization.yaml": f"resources: [../k{n + 1}]\n" for n in range(1_200)}
    holds(top, {**chain, "k1200/x.yaml": "", **kustomization("resources: [../k0]\n")})
    assert read(top, WEB, "k1200/x.yaml").files
    assert not read(top, WEB, "docs/x.md").files
