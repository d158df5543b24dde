"""The gate from end to end: a real repository, a real server over HTTP, the command as CI runs it, the comment read back."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from argolint.application.fleet import IN_CLUSTER
from argolint.reports import document as report
from argolint.snapshots.http_server import ReplayServer
from tests.fits import require_fit

from .conftest import Ran, run_argolint
from .gitops import REPO, REVISION, GitServer, commit, git
from .shop import CONFIG, DEPLOYMENT, ROLE, cloned, files, of


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return cloned(tmp_path / "clone", "web", "cart", "admin", more={"admin/role.yaml": ROLE, "README.md": "shop\n"})


class Gate:
    """Runs the command against the repository's server; the reports of the last run."""

    def __init__(self, clone: Path, server: GitServer) -> None:
        self.clone, self.server, self.seen = clone, server, list[str]()
        self.out = clone.parent / "out"
        self.out.mkdir()

    def __call__(self, *arguments: str, cwd: Path | None = None) -> Ran:
        with ReplayServer(self.server) as server:
            ran = run_argolint(
                *("gate", "--server", server.address, "--plaintext", "--repo", REPO, "--head", "feature"),
                *("-o", f"json={self.out / 'gate.json'}", "-o", f"markdown={self.out / 'gate.md'}", "-o", "text"),
                *arguments,
                cwd=cwd or self.clone.parent,
                env={"ARGOCD_AUTH_TOKEN": server.token()},
            )
            self.seen = server.seen
        return ran

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "gate.json").read_text())
        require_fit(found, report.schema())
        return found

    @property
    def comment(self) -> str:
        return (self.out / "gate.md").read_text()

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [
            (f["rule"], f["app"]["name"], f["resource"]["name"] if f.get("resource") else "")
            for f in self.report["findings"]
        ]

    @property
    def changes(self) -> dict[str, list[tuple[str, str]]]:
        return {
            a["app"]["name"]: [(c["what"], c["resource"]["name"]) for c in a["changes"]]
            for a in self.report["gate"]["apps"]
        }


@pytest.fixture
def gate(clone: Path) -> Gate:
    return Gate(clone, GitServer(clone))


def test_a_harmless_change_brings_nothing_and_shows_what_it_does(gate: Gate) -> None:
    text = of(DEPLOYMENT, "web")
    commit(gate.clone, {"web/deployment.yaml": text.replace("web:1", "web:2"), "README.md": "more\n"})
    ran = gate()
    assert (ran.code, ran.err) == (0, "")
    assert gate.told == []
    assert gate.changes == {"web": [("changed", "web")]}
    told = gate.report["gate"]
    assert (told["base"], told["head"], told["new"], told["fixed"]) == ("main", "feature", 0, 0)
    assert told["apps"][0]["changes"][0]["fields"] == [
        {"pointer": "/spec/template/spec/containers/0/image", "base": '"web:1"', "head": '"web:2"'}
    ]
    assert "## argolint: nothing new ✅" in gate.comment
    assert "-           image: web:1\n+           image: web:2" in gate.comment
    assert "main → feature touches 1 application: 0 new, 0 fixed, " in ran.out


def test_dropping_what_a_workload_still_names_is_new_and_blocks(gate: Gate) -> None:
    commit(gate.clone, {"web/config.yaml": None})
    assert gate().code == 1
    assert gate.told == [("pruned-while-referenced", "web", "web-config")]
    assert gate.changes == {"web": [("removed", "web-config")]}
    gone = "1 object of argocd/web is deleted, by the next automated sync: 1 ConfigMap."
    assert gate.report["gate"]["deletes"] == [gone]
    assert gate.comment.index(f"- 🗑️ {gone}") < gate.comment.index("<details")
    assert re.search(r"<details open><summary>🔴 <b>pruned-while-referenced</b>", gate.comment)
    assert "- ConfigMap shop/web-config" in gate.comment
    assert gate("--fail-on", "never").code == 0


def test_an_object_that_another_application_owns_is_new_before_any_sync(gate: Gate) -> None:
    commit(gate.clone, {"web/role.yaml": ROLE})
    assert gate().code == 1
    assert gate.told == [("shared-resource", "admin", "shop-reader")]
    (finding,) = gate.report["findings"]
    assert finding["cause"] == "predicted"
    assert [r["app"]["name"] for r in finding["related"]] == ["web"]


def test_a_field_that_cannot_change_is_told_before_the_sync_fails(gate: Gate) -> None:
    text = of(DEPLOYMENT, "web").replace("{app: web}", "{app: shop}")
    commit(gate.clone, {"web/deployment.yaml": text})
    assert gate().code == 1
    assert gate.told == [("immutable-field", "web", "web")]
    assert gate.report["findings"][0]["pointer"] == "/spec/selector"


def test_a_field_that_no_container_has_is_told_before_the_sync_drops_it(gate: Gate) -> None:
    text = of(DEPLOYMENT, "web").replace('image: "web:1",', 'image: "web:1", resourcez: {limits: {cpu: 1}},')
    commit(gate.clone, {"web/deployment.yaml": text, "web/new.yaml": text.replace("{name: web}", "{name: new}")})
    assert gate("--checkout", str(gate.clone)).code == 0
    assert {(f["rule"], f["resource"]["name"], f["pointer"].rpartition("/")[2]) for f in gate.report["findings"]} == {
        ("schema-field-unknown", name, "resourcez") for name in ("web", "new")
    }


@pytest.mark.parametrize(
    ("kind", "said"),
    [("apiVersion: keda.sh/v1\nkind: Scaled", ["Scaled (keda.sh)"]), ("apiVersion: v1\nkind: ConfigMap", [])],
)
def test_fields_that_a_crd_may_drop_are_said_to_be_unknown_once(gate: Gate, kind: str, said: list[str]) -> None:
    text = f"{kind}\nmetadata: {{name: NAME, namespace: shop}}\ndata: {{mode: a}}\n"
    commit(gate.clone, {f"web/{name}.yaml": text.replace("NAME", name) for name in ("one", "two")})
    assert gate("--checkout", str(gate.clone)).code == 0
    lines = gate.report["gate"]["unlisted"]
    assert [
        line.removeprefix("fields of ").partition(": whether the API server keeps each of them")[0] for line in lines
    ] == said


def test_drift_that_the_change_writes_down_is_fixed_and_drift_that_stays_is_only_counted(clone: Path) -> None:
    gate = Gate(
        clone,
        GitServer(
            clone, {"Deployment/web": {"spec": {"replicas": 5}}, "ConfigMap/web-config": {"data": {"MODE": "slow"}}}
        ),
    )
    commit(clone, {"web/deployment.yaml": of(DEPLOYMENT, "web").replace("replicas: 2", "replicas: 5")})
    assert gate().code == 0
    told = gate.report["gate"]
    assert (told["new"], told["fixed"]) == (0, 1)
    assert told["unchanged"] == 1
    assert [(f["resource"]["name"], f["pointer"]) for f in told["gone"]] == [("web", "/spec/replicas")]
    assert "✅ fixed:" in gate.comment


def test_a_change_that_does_not_render_says_so_first(gate: Gate) -> None:
    commit(gate.clone, {"web/config.yaml": "kind: [\n"})
    assert gate().code == 1
    assert gate.told == [("comparison-error", "web", "")]
    assert "does not render" in gate.comment
    assert gate.report["gate"]["unlisted"] == []


def test_what_rendered_neither_before_nor_after_is_no_failure_of_the_change(clone: Path) -> None:
    server = GitServer(clone)
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"cart/config.yaml": "kind: [\n"})
    git(clone, "switch", "feature", "--quiet")
    git(clone, "merge", "main", "--quiet")
    commit(clone, {"web/config.yaml": of(CONFIG, "web").replace("fast", "slow")})
    gate = Gate(clone, server)
    assert gate().code == 0
    assert gate.told == []
    assert list(gate.changes) == ["web"]
    assert any("cart: renders neither at base nor at head" in line for line in gate.report["gate"]["unlisted"])


def test_a_change_that_makes_an_application_render_again_is_a_repair(clone: Path) -> None:
    message = "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = yaml"
    broken = {"sync": {"status": "Unknown"}, "conditions": [{"type": "ComparisonError", "message": message}]}
    server = GitServer(clone, more={"cart": {"status": broken}})
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"cart/config.yaml": "kind: [\n"})
    git(clone, "switch", "--create", "repair", "--quiet")
    commit(clone, files("cart"))
    gate = Gate(clone, server)
    assert gate("--head", "repair").code == 0
    assert gate.told == []
    assert [f["rule"] for f in gate.report["gate"]["gone"]] == ["comparison-error"]
    assert "It does not render at base" in gate.comment


def test_a_checkout_spares_the_server_what_the_files_do_not_touch(gate: Gate) -> None:
    commit(gate.clone, {"web/config.yaml": of(CONFIG, "web").replace("fast", "slow")})
    assert gate("--checkout", str(gate.clone), "--base", "main").code == 0
    rendered = {path.split("/")[4] for path in gate.seen if "/manifests" in path}
    assert rendered == {"web"}
    assert gate.changes == {"web": [("changed", "web-config")]}
    assert gate("--checkout", str(gate.clone), "--base", "main", "--all").code == 0
    assert {path.split("/")[4] for path in gate.seen if "/manifests" in path} == {"web", "cart", "admin"}


def test_only_reads_are_sent_and_nothing_is_refreshed(gate: Gate) -> None:
    commit(gate.clone, {"web/config.yaml": of(CONFIG, "web").replace("fast", "slow")})
    gate()
    assert gate.seen
    assert not [path for path in gate.seen if "refresh" in path or "noCache" in path]


STAMP = "    metadata: {labels: {app: web}}\n"
STAMPED = "    metadata: {labels: {app: web}, annotations: {checksum/secret: RANDOM}}\n"
HELM = {"web": {"status": {"sourceType": "Helm", "sync": {"revision": REVISION}}}}


def test_values_drawn_anew_are_no_change_and_said_once(clone: Path) -> None:
    text = of(DEPLOYMENT, "web").replace(STAMP, STAMPED)
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"web/deployment.yaml": text})
    gate = Gate(clone, GitServer(clone, more=HELM))
    git(clone, "switch", "--create", "later", "--quiet")
    commit(clone, {"README.md": "more\n"})
    assert gate("--head", "later").code == 0
    assert (gate.told, gate.changes) == ([], {})
    (line,) = gate.report["gate"]["unlisted"]
    assert line.startswith("argocd/web: differs only in values that no two renders share")


def test_a_second_render_finds_a_value_that_the_change_starts_to_draw(clone: Path) -> None:
    gate = Gate(clone, GitServer(clone, more=HELM))
    commit(clone, {"web/deployment.yaml": of(DEPLOYMENT, "web").replace(STAMP, STAMPED)})
    assert gate().code == 0
    assert gate.told == []
    assert gate("--render-twice").code == 1
    assert gate.told == [("nondeterministic-checksum", "web", "web")]
    fresh = [path for path in gate.seen if "noCache" in path]
    assert fresh
    assert all("revision=feature" in path for path in fresh)


def test_renders_made_elsewhere_take_the_place_of_the_servers(gate: Gate, tmp_path: Path) -> None:
    folder = tmp_path / "rendered"
    (folder / "web").mkdir(parents=True)
    (folder / "web" / "all.yaml").write_text(of(DEPLOYMENT, "web"))
    (folder / "cart.yaml").write_text(of(DEPLOYMENT + "---\n" + CONFIG, "cart"))
    assert gate("--rendered", str(folder)).code == 1
    assert gate.told == [("pruned-while-referenced", "web", "web-config")]
    assert gate.changes == {"web": [("removed", "web-config")]}
    assert not [path for path in gate.seen if "revision=" in path]
    secret = tmp_path / "outside.yaml"
    secret.write_text(of(CONFIG, "stolen"))
    (folder / "web" / "link.yaml").symlink_to(secret)
    (folder / "cart.yaml").write_text(of(DEPLOYMENT, "cart"))
    assert gate("--rendered", str(folder)).code == 3
    assert gate.told == [("pruned-while-referenced", "cart", "cart-config")]
    (failure,) = gate.report["failures"]
    assert (failure["app"]["name"], failure["error"]) == ("web", f"{folder}/web/link.yaml is a link")


def test_a_fork_needs_no_token_given_a_snapshot_and_renders(gate: Gate, tmp_path: Path) -> None:
    saved, folder = tmp_path / "saved.tar.gz", tmp_path / "rendered"
    with ReplayServer(gate.server) as server:
        env = {"ARGOCD_AUTH_TOKEN": server.token()}
        ran = run_argolint(
            "snapshot", "--deep", "-o", saved, "--server", server.address, "--plaintext", cwd=tmp_path, env=env
        )
        assert ran.code == 0, ran.err
    for name in ("web", "cart"):
        (folder / name).mkdir(parents=True)
        (folder / name / "all.yaml").write_text((DEPLOYMENT + "---\n" + CONFIG).replace("NAME", name))
    told = ("-o", f"json={gate.out / 'gate.json'}", "--snapshot", saved, "--rendered", folder)
    assert run_argolint("gate", "--repo", REPO, "--head", "fork", *told, cwd=tmp_path).code == 0
    assert (gate.told, gate.changes) == ([], {})
    (folder / "web" / "all.yaml").write_text(of(DEPLOYMENT, "web").replace("web:1", "web:2"))
    assert run_argolint("gate", "--repo", REPO, "--head", "fork", *told, cwd=tmp_path).code == 1
    assert gate.told == [("pruned-while-referenced", "web", "web-config")]
    assert gate.changes == {"web": [("removed", "web-config"), ("changed", "web")]}
    assert run_argolint("gate", "--repo", REPO, "--head", "fork", *told[:4], cwd=tmp_path).code == 3
    said = {(failure["error"], failure["hint"].partition(",")[0]) for failure in gate.report["failures"]}
    given = "pass the manifests of the change with --rendered DIR"
    assert said == {("the snapshot has no render of its sources", given)}


def test_a_masked_value_of_a_snapshot_is_no_change_and_what_stands_beside_it_is(clone: Path, tmp_path: Path) -> None:
    secret = of(CONFIG, "web").replace("{MODE: fast}", '{app.properties: "a=1\\ndb.password=hunter2\\n", TOKEN: x1y2}')
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"web/config.yaml": secret})
    gate, saved, folder = Gate(clone, GitServer(clone)), tmp_path / "saved", tmp_path / "rendered" / "web"
    with ReplayServer(gate.server) as server:
        options = ("--server", server.address, "--plaintext")
        env = {"ARGOCD_AUTH_TOKEN": server.token()}
        assert run_argolint("snapshot", "--deep", "-o", saved, *options, cwd=tmp_path, env=env).code == 0
    assert "hunter2" not in "".join(gzip.decompress(f.read_bytes()).decode() for f in saved.rglob("*.gz"))
    folder.mkdir(parents=True)
    told = ("-o", f"json={gate.out / 'gate.json'}", "--snapshot", saved, "--rendered", folder.parent)
    deployment = of(DEPLOYMENT, "web") + "---\n"
    (folder / "all.yaml").write_text(deployment + secret)
    assert run_argolint("gate", "--repo", REPO, "--head", "fork", *told, cwd=tmp_path).code == 0
    assert "web" not in gate.changes
    (folder / "all.yaml").write_text(deployment + secret.replace("a=1", "a=2"))
    run_argolint("gate", "--repo", REPO, "--head", "fork", *told, cwd=tmp_path)
    assert gate.changes["web"] == [("changed", "web-config")]
    (field,) = gate.report["gate"]["apps"][0]["changes"][0]["fields"]
    assert field == {
        "pointer": "/data/app.properties",
        "base": '"a=1\\ndb.password=(masked)\\n"',
        "head": '"a=2\\ndb.password=(masked)\\n"',
    }


def test_a_child_application_is_inspected_with_its_changed_spec(clone: Path) -> None:
    ignoring = {"ignoreDifferences": [{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]}
    child = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd"},
    }
    source = {"repoURL": REPO, "path": "web", "targetRevision": "main"}
    spec = {
        "project": "default",
        "source": source,
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
        "syncPolicy": {"automated": {"prune": True}},
    }
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"apps/web.yaml": json.dumps({**child, "spec": {**spec, **ignoring}})})
    server = GitServer(clone, {"Deployment/web": {"spec": {"replicas": 5}}}, {"web": {"spec": ignoring}})
    git(clone, "switch", "--create", "unignore", "--quiet")
    commit(clone, {"apps/web.yaml": json.dumps({**child, "spec": spec})})
    gate = Gate(clone, server)
    for more in ((), ("--checkout", str(clone), "--base", "main")):
        ran = gate("--head", "unignore", *more)
        assert ran.code == 0, ran.err
        assert [(app, name) for _, app, name in gate.told] == [("web", "web")]
        assert gate.report["findings"][0]["pointer"] == "/spec/replicas"


def child(name: str, **metadata: Any) -> str:
    source = {"repoURL": REPO, "path": name, "targetRevision": "main"}
    spec = {"project": "default", "source": source, "destination": {"server": IN_CLUSTER, "namespace": "shop"}}
    whole = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": spec}
    return json.dumps({**whole, "metadata": {"name": name, "namespace": "argocd", **metadata}})


def test_a_jq_program_of_a_change_finds_no_token_and_is_told_for_what_it_is(clone: Path) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"apps/web.yaml": child("web")})
    gate = Gate(clone, GitServer(clone))
    git(clone, "switch", "--create", "curious", "--quiet")
    asking = json.loads(child("web"))
    paths = [".spec[error(env.ARGOCD_AUTH_TOKEN)]", ".spec | error($ENV|tostring)", "repeat(.spec)", ".spec["]
    asking["spec"]["ignoreDifferences"] = [{"group": "apps", "kind": "Deployment", "jqPathExpressions": paths}]
    commit(clone, {"apps/web.yaml": json.dumps(asking)})
    ran = gate("--head", "curious", "--checkout", str(clone), "--base", "main", "--fail-on", "info")
    assert ran.code == 1
    assert "eyJ" not in ran.out + ran.err + gate.comment + json.dumps(gate.report)
    said = [f["message"].partition(" names nothing: ")[2] for f in gate.report["findings"]]
    assert said == [
        "Argo CD cannot parse it and compares nothing.",
        "Argo CD skips it.",
    ]


def test_a_file_that_expands_without_end_and_one_without_a_spec_end_the_gate_in_time(clone: Path) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"apps/web.yaml": child("web")})
    gate = Gate(clone, GitServer(clone))
    git(clone, "switch", "--create", "odd", "--quiet")
    laugh = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in itertools.pairwise("abcdefghij")
    )
    empty = json.loads(child("web")) | {"spec": "none"}
    commit(
        clone,
        {
            "apps/laugh.yaml": "kind: Application\n" + laugh,
            "apps/deep.yaml": "Application: " + "[" * 50_000,
            "apps/web.yaml": json.dumps(empty),
        },
    )
    ran = gate("--head", "odd", "--checkout", str(clone), "--base", "main")
    assert ran.code == 3, ran.err
    assert "apps/deep.yaml is no YAML that can be read (it is nested more than 128 levels deep" in " ".join(
        ran.out.split()
    )
    assert "Its manifest has no spec that an API server accepts, so it is not judged." in gate.comment


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 50_000, "it is nested more than 128 levels deep (line 1)"),
        ("kind: A\nx: .inf\n", "a number is infinite or none, which JSON cannot say (line 2)"),
        ("kind: A\nx: !!int y\n", "what is tagged !!int is none (line 2)"),
        ("kind: A\nmetadata: {name: [b]}\n", "of a manifest in it metadata.name is a list"),
    ],
)
def test_a_render_that_cannot_be_read_is_refused_with_the_reason(
    gate: Gate, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "web.yaml").write_text(text)
    ran = gate("--rendered", str(tmp_path))
    assert ran.code == 3
    assert f"cannot read the manifests in {tmp_path / 'web.yaml'}: {why}" in " ".join(ran.out.split())


def test_a_finding_that_grows_worse_is_new(clone: Path) -> None:
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "minReplicas": 4,
            "maxReplicas": 8,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"web/hpa.yaml": json.dumps(scaler), "apps/web.yaml": child("web")})
    gate = Gate(clone, GitServer(clone))
    git(clone, "switch", "--create", "heal", "--quiet")
    healing = json.loads(child("web"))
    healing["spec"]["syncPolicy"] = {"automated": {"prune": True, "selfHeal": True}}
    commit(clone, {"apps/web.yaml": json.dumps(healing)})
    assert gate("--head", "heal").code == 1
    assert [(f["rule"], f["severity"]) for f in gate.report["findings"]] == [("autoscaler-replicas", "error")]
    assert gate.report["gate"]["fixed"] == 0


def test_an_application_that_its_parent_lets_go_takes_its_objects_along(clone: Path) -> None:
    finalizers = {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}
    git(clone, "switch", "main", "--quiet")
    gone = {"apps/admin.yaml": child("admin", **finalizers), "apps/cart.yaml": child("cart")}
    commit(clone, {**gone, "apps/web.yaml": child("web"), "web/role.yaml": ROLE})
    gate = Gate(clone, GitServer(clone, more={"admin": {"metadata": finalizers}}))
    git(clone, "switch", "--create", "fewer", "--quiet")
    commit(clone, dict.fromkeys(gone))
    assert gate("--head", "fewer").code == 1
    assert gate.told == [("shared-resource-pruned", "admin", "shop-reader")]
    assert gate.changes["admin"] == [("removed", "shop-reader"), ("removed", "admin-config"), ("removed", "admin")]
    assert gate.changes["cart"] == []
    assert "<code>argocd/admin</code> · application removed · 3 removed" in gate.comment
    assert gate.report["gate"]["deletes"] == [
        "Application argocd/admin is deleted, as an object of argocd/apps, with its 3 objects.",
        "Application argocd/cart is deleted, as an object of argocd/apps, and its 2 objects stay in the cluster.",
        "3 objects of argocd/admin are deleted: 1 ClusterRole, 1 ConfigMap and 1 Deployment.",
    ]
    assert "It has no resources finalizer, so its objects stay, unmanaged." in gate.comment.replace("\\", "")


@pytest.mark.parametrize("copies", [1, 2], ids=["one", "several"])
def test_a_values_file_that_the_change_moves_is_named_where_it_goes(clone: Path, copies: int) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"apps/web.yaml": child("web"), ".values/a.yaml": "mode: fast\n"})
    gate = Gate(clone, GitServer(clone))
    git(clone, "switch", "--create", "more", "--quiet")
    chart = {"repoURL": "https://charts.example.com", "chart": "extra", "targetRevision": "1.0.0"}
    extra = json.loads(child("extra"))
    named = {**chart, "helm": {"valueFiles": ["$ours/.values/a.yaml"]}}
    extra["spec"]["sources"] = [named, {"repoURL": REPO, "targetRevision": "main", "ref": "ours"}]
    del extra["spec"]["source"]
    moved = {f".config/{n}.yaml": "mode: fast\n" for n in range(copies)}
    commit(clone, {"apps/extra.yaml": json.dumps(extra), ".values/a.yaml": None, **moved})
    assert gate("--head", "more", "--checkout", str(clone)).code == 1
    (finding,) = (f for f in gate.report["findings"] if f["app"]["name"] == "extra")
    assert (finding["rule"], finding["pointer"]) == ("comparison-error", "/spec/sources/0/helm/valueFiles/0")
    first = finding["fixes"][0]["edit"]["content"]
    edit = [{"op": "replace", "path": finding["pointer"], "value": "$ours/.config/0.yaml"}]
    assert (first == edit) is (copies == 1)


def test_a_new_application_is_judged_as_far_as_it_is_rendered(clone: Path, tmp_path: Path) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"apps/web.yaml": child("web")})
    gate = Gate(clone, GitServer(clone))
    git(clone, "switch", "--create", "more", "--quiet")
    commit(clone, {"apps/extra.yaml": child("extra")})
    assert gate("--head", "more").code == 0
    assert gate.changes == {"apps": [("added", "extra")], "extra": []}
    assert "<code>argocd/extra</code> · new application" in gate.comment
    folder = tmp_path / "rendered"
    (folder / "extra").mkdir(parents=True)
    (folder / "extra" / "role.yaml").write_text(ROLE)
    (folder / "apps").mkdir()
    (folder / "apps" / "all.yaml").write_text(f"{child('web')}\n---\n{child('extra')}\n")
    assert gate("--head", "more", "--rendered", str(folder)).code == 1
    assert ("shared-resource", "admin", "shop-reader") in gate.told
    assert gate.changes == {"apps": [("added", "extra")], "extra": [("added", "shop-reader")]}


TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def test_a_change_cannot_excuse_itself(gate: Gate) -> None:
    ignore = "ignore:\n- {rule: pruned-while-referenced, reason: trust me}\n"
    git(gate.clone, "switch", "main", "--quiet")
    commit(gate.clone, {"base.txt": "base\n"})
    git(gate.clone, "switch", "feature", "--quiet")
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": {"argolint.dev/ignore.autoscaler-replicas": "trust me"}},
        "spec": {"minReplicas": 4, "maxReplicas": 8, "scaleTargetRef": TARGET},
    }
    annotated = of(DEPLOYMENT, "web").replace(
        "metadata: {name: web}",
        'metadata: {name: web, annotations: {argolint.dev/ignore.autoscaler-replicas: "trust me"}}',
        1,
    )
    files = {"web/config.yaml": None, "web/deployment.yaml": annotated, "web/hpa.yaml": json.dumps(scaler)}
    commit(gate.clone, {".argolint.yaml": ignore, **files})
    warn = ("--fail-on", "warning")
    assert gate("--checkout", str(gate.clone), "--base", "main").code == 1
    assert gate("--base", "main", *warn, cwd=gate.clone).code == 1
    assert gate.told == [("pruned-while-referenced", "web", "web-config"), ("autoscaler-replicas", "web", "web")]
    assert [f.get("suppressed") for f in gate.report["findings"]] == [None, None]
    said = [
        f["message"].partition("The change itself adds a suppression of this (")[2] for f in gate.report["findings"]
    ]
    assert [one.partition(" ")[0] for one in said] == ["configuration", "annotation"]
    refused = gate(cwd=gate.clone)
    assert refused.code == 2
    assert "--trusted-config" in refused.err
    assert gate("--base", "main", "--trusted-config", "feature", cwd=gate.clone).code == 0
    by = {f["rule"]: (f.get("suppressed") or {}).get("by") for f in gate.report["findings"]}
    assert by == {"pruned-while-referenced": "configuration", "autoscaler-replicas": None}


def test_the_base_decides_what_is_accepted(clone: Path) -> None:
    git(clone, "switch", "main", "--quiet")
    commit(clone, {".argolint.yaml": "ignore:\n- {rule: pruned-while-referenced, reason: known}\n"})
    server = GitServer(clone)
    git(clone, "switch", "--create", "later", "--quiet")
    commit(clone, {"web/config.yaml": None, ".argolint.yaml": None})
    gate = Gate(clone, server)
    assert gate("--head", "later", "--checkout", str(clone), "--base", "main").code == 0
    assert gate.report["findings"][0]["suppressed"]["reason"] == "known"


def test_hostile_manifests_stay_text_in_the_comment(gate: Gate) -> None:
    evil = "</details><img src=x onerror=alert(1)> @everyone ```\n::error::x \x1b[31m"
    config = of(CONFIG, "web").replace("fast", json.dumps(evil))
    commit(gate.clone, {"web/config.yaml": config})
    ran = gate()
    assert ran.code == 0
    assert gate.comment.count("<details") == gate.comment.count("</details>") - gate.comment.count("</details><img")
    assert "\x1b" not in gate.comment + ran.out
    fences = re.findall(r"(?m)^(`{3,})", gate.comment)
    assert fences == [fences[0], fences[0]]
    assert len(fences[0]) > 3


def test_what_cannot_start_says_why(gate: Gate) -> None:
    ran = gate("--repo", "https://git.example.com/none.git")
    assert ran.code == 2
    assert "no application of https://argocd.example.com has a source in https://git.example.com/none.git" in ran.err
    ran = gate("--checkout", str(gate.clone), "--base", "nowhere")
    assert ran.code == 2
    assert "has no revision 'nowhere'" in ran.err
    ran = gate("-o", "sarif=/not/there/x.sarif")
    assert ran.code == 2
    assert gate.seen == []


def test_an_account_that_sees_nothing_and_filters_that_leave_nothing_are_told_from_another_repository(
    gate: Gate,
) -> None:
    commit(gate.clone, {"README.md": "more\n"})
    other = "no application of https://argocd.example.com has a source in https://git.example.com/other.git"
    assert (other in gate("--repo", "https://git.example.com/other.git").err) is True
    assert "leave out each application with a source in" in gate("--project", "none").err
    gate.server._apps.clear()
    ran = gate()
    assert (ran.code, "shows this account no application at all" in ran.err) == (2, True)
