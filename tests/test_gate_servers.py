"""A change judged on several Argo CDs at the same time: real servers, a real clone, and what their applications come to share."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from argolint.reports import document as report
from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import Faults
from argolint.testing import FixtureTransport
from tests.checkouts import repository
from tests.conftest import Ran
from tests.fits import require_fit
from tests.fleets import HOME, Fleet, Fleets, app, config_map, noted, serving
from tests.gitops import REPO, GitServer, commit, git
from tests.here import run_here
from tests.shop import APPLICATION, CONFIG, cloned, of
from tests.waiting import PATIENCE_S

RULE = "shared-between-servers"
ONE_CLUSTER = {"eu": {"in-cluster": "prod"}, "us": {HOME: "prod"}}
FLAGS = of(CONFIG, "flags")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return cloned(tmp_path / "clone", "web", "cart")


def gate(fleets: Fleets, clone: Path, *more: str | Path) -> Ran:
    out = clone.parent / "gate.json"
    out.unlink(missing_ok=True)
    return run_here(
        *("gate", "--servers", fleets.file, "--repo", REPO, "--head", "feature", "--checkout", clone),
        *("-o", f"json={out}", "-o", f"markdown={clone.parent / 'gate.md'}", "-o", "text", *more),
        cwd=clone.parent,
        env=fleets.environ,
    )


def told(clone: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((clone.parent / "gate.json").read_text())
    require_fit(found, report.schema())
    return found


def places(clone: Path) -> list[tuple[str, str, str]]:
    """The rule, the Argo CD and the object of each finding."""
    return [
        (
            f["rule"],
            f["app"]["server"].removeprefix("https://").removesuffix(".example.com"),
            (f.get("resource") or {}).get("name", ""),
        )
        for f in told(clone)["findings"]
    ]


def server(clone: Path, name: str, **more: Any) -> GitServer:
    return GitServer(clone, url=f"https://{name}.example.com", **more)


def test_a_change_is_judged_on_every_argo_cd_that_has_its_applications(clone: Path) -> None:
    scaled = {"Deployment/web": {"spec": {"replicas": 5}}}
    three: dict[str, Fleet] = {
        "eu": server(clone, "eu"),
        "us": server(clone, "us", live=scaled),
        "lab": [app("elsewhere")],
    }
    commit(clone, {"web/config.yaml": None})
    with serving(clone.parent, three) as fleets:
        ran = gate(fleets, clone)
        assert ran.code == 1, ran.err
        found = told(clone)
        assert places(clone) == [("pruned-while-referenced", n, "web-config") for n in ("eu", "us")]
        assert len({f["fingerprint"] for f in found["findings"]}) == 1
        assert found["gate"]["new"] == 2
        assert [(a["app"]["server"], a["app"]["name"]) for a in found["gate"]["apps"]] == [
            ("https://eu.example.com", "web"),
            ("https://us.example.com", "web"),
        ]
        assert [(s["name"], s["apps"]) for s in found["servers"]] == [("eu", 1), ("us", 1), ("lab", 0)]
        assert "us/argocd/web" in ran.out
        entries = json.loads(fleets.file.read_text())
        entries["servers"][0]["clusters"] = {"nowhere": "edge"}
        fleets.file.write_text(json.dumps(entries))
        ran = gate(fleets, clone, "--repo", "https://git.example.com/none")
        assert ran.code == 2
        assert "no application of eu, us, lab has a source in https://git.example.com/none\n" in ran.err


def test_the_same_bytes_whichever_server_answers_last(clone: Path) -> None:
    commit(clone, {"web/config.yaml": None, "cart/flags.yaml": FLAGS})
    two: dict[str, Fleet] = {"eu": server(clone, "eu"), "us": server(clone, "us")}
    found = []
    for slow in two:
        with serving(clone.parent, two, ONE_CLUSTER, {slow: Faults(slow_s=0.1)}) as fleets:
            ran = gate(fleets, clone)
        found.append((ran.code, told(clone) | {"stats": None}, (clone.parent / "gate.md").read_text()))
    assert found[0] == found[1]
    assert found[0][0] == 1


class Meeting(GitServer):
    """Renders head when the other one is asked to render head as well, and not before."""

    def __init__(self, clone: Path, name: str, both: threading.Barrier) -> None:
        super().__init__(clone, url=f"https://{name}.example.com")
        self.both = both

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith("/manifests") and dict(query).get("revision"):
            self.both.wait(PATIENCE_S)
        return super().get(path, query, anonymous=anonymous)


def test_the_servers_are_asked_at_the_same_time(clone: Path) -> None:
    both = threading.Barrier(2)
    commit(clone, {"web/config.yaml": FLAGS})
    with serving(clone.parent, {name: Meeting(clone, name, both) for name in ("eu", "us")}) as fleets:
        ran = gate(fleets, clone)
    assert (ran.code, ran.err) == (1, "")
    assert not both.broken


class Waiting(GitServer):
    """Answers no question about a render until it is left."""

    left = threading.Event()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith("/manifests"):
            self.left.wait()
        return super().get(path, query, anonymous=anonymous)


def test_one_that_is_down_or_hangs_is_its_failure_and_the_others_verdict_stands(clone: Path) -> None:
    commit(clone, {"web/config.yaml": None})
    hanging = Waiting(clone, url="https://us.example.com")
    four: dict[str, Fleet] = {
        "eu": server(clone, "eu"),
        "us": hanging,
        "old": server(clone, "old"),
        "down": [app("web")],
    }
    with serving(clone.parent, four, faults={"old": Faults(token_dies_after=8)}) as fleets:
        entries = json.loads(fleets.file.read_text())["servers"]
        entries[-1]["server"] = "127.0.0.1:1"
        fleets.file.write_text(json.dumps({"servers": entries}))
        try:
            ran = gate(fleets, clone, "--timeout", "5")
        finally:
            hanging.left.set()
    assert ran.code == 3, ran.err
    assert ("pruned-while-referenced", "eu", "web-config") in places(clone)
    failures = {f.get("server") or f["app"]["server"].split("//")[1].split(".")[0] for f in told(clone)["failures"]}
    assert failures == {"us", "old", "down"}
    assert "**Fails** because not everything could be judged" in (clone.parent / "gate.md").read_text()
    for token in fleets.tokens():
        assert token not in ran.out + ran.err


def test_no_server_gets_more_requests_at_once_than_its_limits_allow(tmp_path: Path) -> None:
    names = [f"web-{n}" for n in range(4)]
    clone = cloned(tmp_path / "clone", *names)
    commit(clone, {f"{name}/config.yaml": None for name in names})
    two: dict[str, Fleet] = {name: server(clone, name) for name in ("eu", "us")}
    with serving(tmp_path, two, faults={"us": Faults(slow_s=0.02)}) as fleets:
        entries = json.loads(fleets.file.read_text())["servers"]
        entries[1]["limits"] = {"workers": 1}
        fleets.file.write_text(json.dumps({"servers": entries}))
        sent = noted(fleets.servers["us"])
        assert gate(fleets, clone).code == 1
    assert len(sent.headers) > 20
    assert sent.most == 1


def test_the_clone_is_read_once_however_many_servers_judge_it(clone: Path) -> None:
    """argolint's processes of Git are those of one server (the servers run Git too, to render)."""
    commit(clone, {"web/config.yaml": None, "cart/flags.yaml": FLAGS, "apps/web.yaml": of(APPLICATION, "web")})
    log, program = clone.parent / "log", clone.parent / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$*" >>{log}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    ran = []
    for names in (("eu",), ("eu", "us", "lab")):
        log.write_text("")
        with serving(clone.parent, {name: server(clone, name) for name in names}) as fleets:
            fleets.environ["PATH"] = str(program.parent)
            assert gate(fleets, clone).code == 0
        ran.append(sorted(line for line in log.read_text().splitlines() if line.startswith("--no-pager")))
    assert ran[0] == ran[1]
    assert any("diff-tree" in line for line in ran[0])


# What applications of two Argo CDs come to share


def other(*names: str, **more: Any) -> list[dict[str, Any]]:
    """The applications of an Argo CD that has none of the repository: `platform` lists these ConfigMaps."""
    return [app("platform", *(config_map(name) for name in names), **more)]


def test_an_object_that_another_argo_cd_has_is_news_and_fails_the_gate(clone: Path) -> None:
    commit(clone, {"web/flags.yaml": FLAGS})
    with serving(clone.parent, {"eu": server(clone, "eu"), "us": other("flags-config", "more")}, ONE_CLUSTER) as fleets:
        ran = gate(fleets, clone)
        lists = [path for path in fleets.servers["us"].seen if path.split("?")[0].endswith("/applications")]
        assert len(lists) == 1
    assert ran.code == 1, ran.err
    assert places(clone) == [(RULE, "us", "flags-config")]
    (found,) = told(clone)["findings"]
    assert (found["severity"], found["cause"]) == ("error", "both-deploy")
    assert found["message"] == (
        '"argocd/platform" of us and "argocd/web" of eu both deploy ConfigMap shop/flags-config of cluster prod: '
        "they overwrite each other, and deleting one deletes it."
    )
    assert [r["app"]["server"] for r in found["related"]] == ["https://eu.example.com"]
    assert found["source"]["file"] == "web/flags.yaml"
    assert (found["fixes"][0]["title"], found["fixes"][0]["edit"]["content"]) == (
        'Leave it to "argocd/platform" of us',
        'Before the change is merged, take out of what "argocd/web" of eu renders: ConfigMap shop/flags-config.',
    )
    assert told(clone)["gate"]["fails"] == (
        f"it brings {RULE} on ConfigMap shop/flags-config in us/argocd/platform and eu/argocd/web"
    )
    assert "us/argocd/platform" in (clone.parent / "gate.md").read_text()


def test_in_clusters_of_two_argo_cds_without_an_alias_share_nothing(clone: Path) -> None:
    commit(clone, {"web/flags.yaml": FLAGS})
    with serving(clone.parent, {"eu": server(clone, "eu"), "us": other("flags-config")}) as fleets:
        assert gate(fleets, clone).code == 0
    assert places(clone) == []


def test_what_is_shared_at_the_base_is_not_new_and_one_object_more_is(clone: Path) -> None:
    two: dict[str, Fleet] = {"eu": server(clone, "eu"), "us": other("web-config", "flags-config")}
    commit(clone, {"web/config.yaml": of(CONFIG, "web").replace("fast", "slow")})
    with serving(clone.parent, two, ONE_CLUSTER) as fleets:
        ran = gate(fleets, clone)
        assert (ran.code, places(clone)) == (0, []), ran.out
        assert told(clone)["gate"]["unchanged"] == 1
        commit(clone, {"web/flags.yaml": FLAGS})
        ran = gate(fleets, clone)
    assert (ran.code, places(clone)) == (1, [(RULE, "us", "flags-config")]), ran.out
    assert told(clone)["gate"]["gone"] == []


def test_an_object_that_the_change_makes_one_prune_under_another_is_news(clone: Path) -> None:
    """Shared before as well: what is new is that one of the two will delete it."""
    commit(clone, {"web/config.yaml": None, "web/deployment.yaml": FLAGS})
    two: dict[str, Fleet] = {"eu": server(clone, "eu"), "us": other("web-config")}
    with serving(clone.parent, two, ONE_CLUSTER) as fleets:
        ran = gate(fleets, clone)
    assert (ran.code, places(clone)) == (1, [(RULE, "us", "web-config")]), ran.out
    (found,) = told(clone)["findings"]
    assert (found["cause"], found["severity"]) == ("left-behind", "error")
    assert found["message"].endswith("still owns it and its auto-sync prunes it.")


def test_one_party_less_is_no_news(clone: Path) -> None:
    """Three applications share an object; the change takes it from one of them, which does not own it."""
    git(clone, "switch", "--quiet", "main")
    commit(clone, {"cart/more.yaml": of(CONFIG, "web")})
    owned = {"annotations": {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:shop/web-config"}}
    two: dict[str, Fleet] = {
        "eu": server(clone, "eu", live={"ConfigMap/web-config": {"metadata": owned}}),
        "us": other("web-config"),
    }
    git(clone, "switch", "--quiet", "feature")
    git(clone, "merge", "--quiet", "main")
    commit(clone, {"cart/more.yaml": None})
    with serving(clone.parent, two, ONE_CLUSTER) as fleets:
        ran = gate(fleets, clone)
    assert (ran.code, places(clone)) == (0, []), ran.out
    assert RULE in [f["rule"] for f in told(clone)["gate"]["gone"]]


def test_both_argo_cds_of_a_repository_come_to_share_what_it_brings(clone: Path) -> None:
    commit(clone, {"web/flags.yaml": FLAGS})
    two: dict[str, Fleet] = {name: server(clone, name) for name in ("eu", "us")}
    with serving(clone.parent, two, {"eu": {"in-cluster": "prod"}}) as fleets:
        assert gate(fleets, clone).code == 0
    with serving(clone.parent, two, ONE_CLUSTER) as fleets:
        ran = gate(fleets, clone)
    assert (ran.code, places(clone)) == (1, [(RULE, "eu", "flags-config")]), ran.out
    assert told(clone)["findings"][0]["fixes"][0]["title"] == 'Leave it to "argocd/web" of eu'


# Files of Applications


def argo_cd(name: str, folder: str, *clusters: str) -> FixtureTransport:
    """An Argo CD with an application `web` of its own folder, and these clusters beside its own."""
    spec = {
        "project": "shop",
        "source": {"repoURL": REPO, "path": folder, "targetRevision": "main"},
        "destination": {"server": HOME, "namespace": "shop"},
    }
    permits = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}
    about = {
        "settings": {"url": f"https://{name}.example.com"},
        "clusters": [{"server": url, "name": url} for url in (HOME, *clusters)],
        "projects": [{"metadata": {"name": "shop"}, "spec": permits}],
    }
    return FixtureTransport({"apps": [{"name": "web", "spec": spec}], "server": about})


def manifest(name: str = "web", path: str = "eu", project: str = "shop", cluster: str = HOME) -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
        f"metadata: {{name: {name}, namespace: argocd}}\nspec:\n  project: {project}\n"
        f"  source: {{repoURL: '{REPO}', path: {path}, targetRevision: main}}\n"
        f"  destination: {{server: '{cluster}', namespace: shop}}\n"
    )


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Fleets]:
    two = {"eu": argo_cd("eu", "eu", "https://a.example.com"), "us": argo_cd("us", "us", "https://b.example.com")}
    with serving(tmp_path, two) as fleets:
        yield fleets


def judged(fleets: Fleets, root: Path, *files: str) -> tuple[Ran, dict[str, Any]]:
    out = root.parent / "gate.json"
    ran = run_here(
        "gate", "--servers", fleets.file, "-o", f"json={out}", "-o", "text", *files, cwd=root, env=fleets.environ
    )
    return ran, json.loads(out.read_text())


@pytest.mark.parametrize("edited", ["eu", "us"])
def test_a_file_is_judged_on_the_argo_cd_that_has_its_application(both: Fleets, tmp_path: Path, edited: str) -> None:
    """Both have one of this name: where it deploys from and to tells them apart, and each finding is in its own file."""
    files = {f"apps/{name}.yaml": manifest(path=name) for name in ("eu", "us")}
    root = repository(tmp_path / "clone", files)
    (root / f"apps/{edited}.yaml").write_text(manifest(path=edited, project="shpo"))
    ran, found = judged(both, root, *files)
    assert ran.code == 1, ran.out + ran.err
    assert [(f["rule"], f["app"]["server"], f["source"]["file"], f["source"]["line"]) for f in found["findings"]] == [
        ("invalid-spec", f"https://{edited}.example.com", f"apps/{edited}.yaml", 5)
    ]
    assert [a["app"]["server"] for a in found["gate"]["apps"]] == [f"https://{edited}.example.com"]


def test_a_file_that_several_argo_cds_apply_is_judged_on_each(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web.yaml": manifest()})
    (root / "web.yaml").write_text(manifest(project="shpo"))
    with serving(tmp_path, {name: argo_cd(name, "eu") for name in ("eu", "us")}) as fleets:
        ran, found = judged(fleets, root, "web.yaml")
    assert ran.code == 1, ran.out + ran.err
    assert [f["app"]["server"] for f in found["findings"]] == ["https://eu.example.com", "https://us.example.com"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (manifest("new", cluster="https://b.example.com"), "argocd/new: a.yaml:1: It is new: what it renders is"),
        (manifest("new"), "a.yaml: Application new is new, and eu and us would take it"),
        (
            manifest("new", project="shpo"),
            "a.yaml: Application new is new, and no Argo CD would accept it: eu and us: Application referencing project shpo",
        ),
        (
            manifest("new", cluster="https://c.example.com"),
            "a.yaml: Application new is new, and no Argo CD would accept it: eu and us: cluster",
        ),
        (
            manifest(path="lab", cluster="https://a.example.com"),
            "a.yaml: eu and us have Applications of this name, and none",
        ),
    ],
)
def test_a_file_of_nobody_is_not_judged_and_says_why(both: Fleets, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    ran, found = judged(both, tmp_path, "a.yaml")
    assert ran.code == 3, ran.out + ran.err
    (failure,) = found["failures"]
    about = f"{failure['app']['namespace']}/{failure['app']['name']}: " if failure.get("app") else ""
    assert f"{about}{failure['error']}".startswith(told)
    assert failure["stage"] == "not judged"
    assert "name the one that it is for: --only, --server or --argocd-context" in ran.out or about


def test_a_file_as_it_runs_on_one_of_them_is_no_edit(both: Fleets, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(manifest(path="us"))
    ran, found = judged(both, tmp_path, "a.yaml")
    assert (ran.code, found["gate"]["apps"], found["failures"]) == (0, [], []), ran.out
