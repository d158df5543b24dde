"""`argolint gate FILE...`, the pre-commit hook: nothing passes that was not judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.snapshots.http_server import ReplayServer
from argolint.testing import FixtureTransport
from tests.checkouts import repository
from tests.conftest import Ran, run_argolint
from tests.gitops import git

IN_CLUSTER = "https://kubernetes.default.svc"
REPO = "https://git.example.com/shop/apps.git"
FORMATS = ("json", "markdown", "sarif", "junit", "gitlab", "github", "text")


def spec(**more: Any) -> dict[str, Any]:
    source = {"repoURL": REPO, "path": "web", "targetRevision": "main"}
    return {
        "project": "shop",
        "source": source,
        "destination": {"server": IN_CLUSTER, "namespace": "shop"},
        **more,
    }


def application(name: str = "web", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "argocd"}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec(**more)}


class Server(FixtureTransport):
    """Fourteen applications of the project `shop`, which may deploy what lies under git.example.com/shop."""

    offline = False

    def __init__(self, foreign: str = "") -> None:
        names = ["web", *(f"app-{n}" for n in range(13))]
        project = {
            "metadata": {"name": "shop"},
            "spec": {
                "sourceRepos": ["https://git.example.com/shop/*", "https://charts.example.com"],
                "destinations": [{"server": IN_CLUSTER, "namespace": "shop*"}],
            },
        }
        super().__init__(
            {
                "apps": [
                    {
                        "name": name,
                        "spec": spec(**{"source": {"repoURL": foreign}} if name == "app-1" and foreign else {}),
                    }
                    for name in names
                ],
                "server": {
                    "clusters": [{"server": IN_CLUSTER, "name": "in-cluster"}],
                    "projects": [project],
                    "repositories": [{"repo": REPO}],
                },
            }
        )


@pytest.fixture(scope="module")
def server() -> Iterator[ReplayServer]:
    with ReplayServer(Server()) as started:
        yield started


class Hook:
    """Runs the hook on a file, as pre-commit does, with every report."""

    def __init__(self, server: ReplayServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def __call__(self, *files: Path | str, cwd: Path | None = None) -> Ran:
        outputs = [w for n in FORMATS for w in ("-o", n if n == "text" else f"{n}={self.folder / n}.out")]
        return run_argolint(
            *("gate", "--server", self.server.address, "--plaintext", *outputs, *map(str, files)),
            cwd=cwd or self.folder,
            env={"ARGOCD_AUTH_TOKEN": self.server.token()},
        )

    def write(self, name: str, *documents: Mapping[str, Any]) -> Path:
        file = self.folder / name
        file.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return file

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "json.out").read_text())
        return found

    @property
    def told(self) -> list[tuple[str, str | None, str, int]]:
        found = self.report["findings"]
        return [(f["rule"], f["cause"], f["source"]["file"], f["source"]["line"]) for f in found]

    @property
    def unjudged(self) -> list[str]:
        return [f["error"] for f in self.report["failures"] if f["stage"] == "not judged"]


@pytest.fixture
def hook(server: ReplayServer, tmp_path: Path) -> Hook:
    return Hook(server, tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kind: Application\nmetadata:\n  name: web\n bad: 1\n", "a.yaml:4"),
        ("kind: Application\nmetadata:\n\tname: web\n", "a.yaml:3"),
        ("apiVersion: v1\nkind: [Application\n", "a.yaml:3"),
        ("---\na: 1\n---\nb: *unknown\n", "a.yaml:4"),
    ],
)
def test_broken_yaml_is_an_error_with_file_and_line(hook: Hook, text: str, place: str) -> None:
    (hook.folder / "a.yaml").write_text(text)
    ran = hook("a.yaml")
    assert ran.code == 2
    assert f"{place}: no YAML that can be read: " in ran.err


@pytest.mark.parametrize(
    ("more", "code", "found"),
    [
        ({"project": "shpo"}, 1, ("invalid-spec", "project", "a.yaml", 7)),
        (
            {"destination": {"server": "https://10.0.0.1", "namespace": "shop"}},
            1,
            ("cluster-unknown", "unregistered", "a.yaml", 12),
        ),
        (
            {"destination": {"name": "porduction", "namespace": "shop"}},
            1,
            ("cluster-unknown", "unregistered", "a.yaml", 12),
        ),
        (
            {"destination": {"server": IN_CLUSTER, "namespace": "kube-system"}},
            1,
            ("invalid-spec", "destination", "a.yaml", 12),
        ),
        (
            {"source": {"repoURL": "https://evil.example/a.git", "path": "."}},
            1,
            ("invalid-spec", "repository", "a.yaml", 9),
        ),
        (
            {"source": {"repoURL": "https://git.example.com/shop/asp.git", "path": "."}},
            0,
            ("invalid-spec", "repository", "a.yaml", 9),
        ),
    ],
)
def test_an_unknown_project_cluster_or_repository_is_a_finding(hook: Hook, more: Any, code: int, found: Any) -> None:
    hook.write("a.yaml", application(**more))
    assert hook("--allow-incomplete", "a.yaml").code == code
    assert found in hook.told


def test_what_a_new_source_renders_is_not_judged_and_every_format_says_so(hook: Hook) -> None:
    source = {"repoURL": REPO, "path": "web", "targetRevision": "v2"}
    hook.write("a.yaml", application(source=source))
    ran = hook("a.yaml")
    assert ran.code == 3
    why = "a.yaml:1: Its source or destination changes: what it will render is not known before the merge."
    assert hook.unjudged == [why]
    assert "**Fails** because not everything could be judged" in (hook.folder / "markdown.out").read_text()
    for name in FORMATS[:-1]:
        assert "what it will render is not known before the merge" in (hook.folder / f"{name}.out").read_text(), name
    assert "not judged" in ran.out
    assert hook("--allow-incomplete", "a.yaml").code == 0


def test_what_cannot_be_judged_at_all_does_not_pass(hook: Hook) -> None:
    nameless = application()
    nameless["metadata"] = {"generateName": "web-"}
    without = application()
    del without["spec"]
    hook.write("a.yaml", nameless, without, application("brand-new"))
    (hook.folder / "t.yaml").write_text("apiVersion: argoproj.io/v1alpha1\nkind: Application\n{{ if x }}\n")
    assert hook("a.yaml", "t.yaml").code == 3
    assert sorted(hook.unjudged) == [
        "a.yaml:15: Its manifest has no spec that an API server accepts, so it is not judged.",
        "a.yaml:21: It is new: what it renders is not known before the merge.",
        "an Application in a.yaml has no metadata.name",
        "t.yaml is a template of Applications, which nothing has rendered",
    ]


def test_only_the_edited_applications_of_a_file_count(hook: Hook) -> None:
    """Of fourteen in one file, whether they are as they run, or as they were before in Git."""
    apps = [application("web"), *(application(f"app-{n}") for n in range(13))]
    hook.write("all.yaml", *apps)
    assert hook("all.yaml").code == 0
    assert hook.report["summary"]["apps"] == 0
    apps[3]["spec"]["project"] = "shpo"
    file = hook.write("all.yaml", *apps)
    assert hook("all.yaml").code == 1
    assert [(f["app"]["name"], f["source"]["line"]) for f in hook.report["findings"]] == [("app-2", 52)]

    root = repository(
        hook.folder / "clone", {"apps/all.yaml": file.read_text()}, url="git@git.example.com:shop/all.git"
    )
    apps[7]["spec"]["project"] = "default"
    (root / "apps/all.yaml").write_text(hook.write("all.yaml", *apps).read_text())
    assert hook("apps/all.yaml", cwd=root).code == 1
    assert [f["app"]["name"] for f in hook.report["findings"]] == ["app-6"]
    (found,) = hook.report["findings"]
    assert (found["source"]["repo"], found["source"]["file"]) == ("git@git.example.com:shop/all.git", "apps/all.yaml")
    git(root, "commit", "-aqm", "both")
    hook("apps/all.yaml", cwd=root)
    assert [f["app"]["name"] for f in hook.report["findings"]] == ["app-2", "app-6"]  # in CI, HEAD is the change


def test_a_project_that_comes_with_its_application_is_known(hook: Hook) -> None:
    project = {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "new"}, "spec": {}}
    hook.write("a.yaml", project, application(project="new"))
    assert hook("a.yaml").code == 0
    assert hook.told == []


def project(**more: Any) -> dict[str, Any]:
    said = {
        "sourceRepos": ["https://git.example.com/shop/*"],
        "destinations": [{"server": IN_CLUSTER, "namespace": "shop*"}],
    }
    metadata = {"name": "shop", "namespace": "argocd"}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": metadata, "spec": {**said, **more}}


@pytest.mark.parametrize(
    ("more", "code", "refused", "unjudged"),
    [
        (
            {"sourceRepos": ["*"], "clusterResourceWhitelist": [{"group": "*", "kind": "*"}], "description": "x"},
            0,
            0,
            "",
        ),
        ({"sourceRepos": ["https://charts.example.com"]}, 1, 14, ""),
        ({"destinations": [{"server": IN_CLUSTER, "namespace": "cart"}]}, 1, 14, ""),
        ({"syncWindows": [{"kind": "deny"}]}, 3, 0, "its syncWindows changes"),
        ({"namespaceResourceWhitelist": []}, 3, 0, "its namespaceResourceWhitelist changes"),
        (
            {"namespaceResourceBlacklist": [{"group": "", "kind": "Service"}], "signatureKeys": [{"keyID": "a"}]},
            3,
            0,
            "its namespaceResourceBlacklist and signatureKeys change",
        ),
    ],
)
def test_an_edited_project_reaches_its_applications(
    hook: Hook, more: dict[str, Any], code: int, refused: int, unjudged: str
) -> None:
    root = repository(hook.folder / "clone", {"project.yaml": yaml.safe_dump(project())})
    (root / "project.yaml").write_text(yaml.safe_dump(project(**more)))
    assert hook("project.yaml", cwd=root).code == code
    found = [f["app"]["name"] for f in hook.report["findings"] if f["rule"] == "invalid-spec"]
    assert len(set(found)) == len(found) == refused
    assert bool(unjudged) == any(unjudged in error for error in hook.unjudged)


def test_a_repaired_application_is_no_news(hook: Hook) -> None:
    """CRLF, anchors and several documents change nothing of it."""
    text = (
        "# apps\r\n---\r\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: x}\r\n---\r\n"
        "apiVersion: argoproj.io/v1alpha1\r\nkind: Application\r\nmetadata: {name: web, namespace: argocd}\r\nspec:\r\n"
        "  project: &p shpo\r\n  info: [{name: p, value: *p}]\r\n"
        f"  source: {{repoURL: {REPO}, path: web, targetRevision: main}}\r\n"
        f"  destination: {{server: {IN_CLUSTER}, namespace: shop}}\r\n"
    )
    (hook.folder / "a.yaml").write_bytes(text.encode())
    assert hook("a.yaml").code == 1
    assert hook.told == [("invalid-spec", "project", "a.yaml", 11)]
    (hook.folder / "a.yaml").write_bytes(
        text.replace("shpo", "shop").replace("  info: [{name: p, value: *p}]\r\n", "").encode()
    )
    assert hook("a.yaml").code == 0


def test_what_a_global_project_permits_is_not_refused(hook: Hook, tmp_path: Path) -> None:
    """Where an application runs that its project alone would forbid, the project says less than Argo CD knows."""
    widened = Server(foreign="https://elsewhere.example.com/x.git")
    with ReplayServer(widened) as server:
        own = Hook(server, tmp_path)
        own.write("a.yaml", application(source={"repoURL": "https://elsewhere.example.com/y.git", "path": "."}))
        assert own("--allow-incomplete", "a.yaml").code == 0
        assert [(rule, cause) for rule, cause, *_ in own.told] == [
            ("invalid-spec", "repository")
        ]  # known to nobody: a warning


def test_a_finding_about_an_object_has_the_line_of_its_application(hook: Hook, tmp_path: Path) -> None:
    """Of an object no named file holds the manifest."""
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"a": "1"}}
    apps = [{"name": "web", "spec": spec(), "resources": [{"desired": live, "live": live}]}]
    dead = [{"group": "", "kind": "ConfigMap", "jsonPointers": ["/data/a/x"]}]
    with ReplayServer(FixtureTransport({"apps": apps})) as server:
        own = Hook(server, tmp_path)
        own.write("a.yaml", application(ignoreDifferences=dead))
        own("a.yaml")
    assert own.told == [("ignore-rule-dead", "pointer", "a.yaml", 15)]
