"""File and line of what a change brings, in a clone with real Git, in every report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from argolint.fixes.anchors import anchored
from argolint.fixes.site import Site
from argolint.reports import document as lint_report
from argolint.snapshots.http_server import ReplayServer
from argolint.sources.checkout import Named
from tests.checkouts import DEPLOYMENT, document, finding
from tests.checkouts import REPO as SHOP
from tests.conftest import Ran, run_argolint
from tests.fits import require_fit
from tests.gitops import REPO, GitServer, Manifest, commit, documents, git

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  MODE: fast\n"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - name: web
      image: web:1
      envFrom:
        - configMapRef: {name: settings}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  clusterIP: 10.0.0.1
  ports:
    - port: 80
"""
SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """`web` is applied from the repository whose remote is spelt otherwise; `feature` is checked out."""
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(
        root,
        {
            "web/config.yaml": CONFIG,
            "web/pod.yaml": POD,
            "web/service.yaml": SERVICE,
            "api/config.yaml": CONFIG.replace("settings", "api"),
        },
    )
    git(root, "remote", "add", "origin", "git@git.example.com:Shop/apps")
    git(root, "switch", "--quiet", "--create", "feature")
    return root


class Gate:
    def __init__(self, clone: Path, server: GitServer) -> None:
        self.clone, self.server = clone, server
        self.out = clone.parent / "out"
        self.out.mkdir()

    def __call__(self, *more: str, cwd: Path | None = None) -> Ran:
        names = ("json", "markdown", "sarif", "gitlab", "junit")
        outputs = [word for name in names for word in ("-o", f"{name}={self.out / name}")]
        with ReplayServer(self.server) as server:
            return run_argolint(
                *(
                    "gate",
                    "--server",
                    server.address,
                    "--plaintext",
                    "--repo",
                    REPO,
                    "--head",
                    "feature",
                    "--base",
                    "main",
                ),
                *(*outputs, "-o", "github", *more),
                cwd=cwd or self.clone.parent,
                env={"ARGOCD_AUTH_TOKEN": server.token()},
            )

    def text(self, name: str) -> str:
        return (self.out / name).read_text()

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.text("json"))["findings"]
        return found

    @property
    def places(self) -> set[tuple[str, str | None, int | None, bool | None]]:
        found = [(f["rule"], f["source"]) for f in self.findings]
        return {(rule, s["file"], s["line"], s["in_change"]) for rule, s in found}


def made(clone: Path, files: Mapping[str, str | None]) -> Gate:
    server = GitServer(clone)
    commit(clone, files)
    return Gate(clone, server)


IMMUTABLE = {"web/service.yaml": SERVICE.replace("10.0.0.1", "10.0.0.2")}


def test_every_report_names_the_line_that_the_change_edits(clone: Path) -> None:
    gate = made(clone, IMMUTABLE)
    ran = gate("--checkout", str(clone))
    assert gate.places == {("immutable-field", "web/service.yaml", 6, True)}
    assert "::error file=web/service.yaml,line=6,title=immutable-field in argocd/web::" in ran.out
    sarif = json.loads(gate.text("sarif"))
    require_fit(sarif, json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
    (result,) = sarif["runs"][0]["results"]
    place = {"artifactLocation": {"uri": "web/service.yaml"}, "region": {"startLine": 6}}
    assert result["locations"][0]["physicalLocation"] == place
    assert result["properties"]["inChange"] is True
    (issue,) = json.loads(gate.text("gitlab"))
    assert issue["location"] == {"path": "web/service.yaml", "lines": {"begin": 6}}
    case = next(ET.fromstring(gate.text("junit")).iter("testcase"))
    assert (case.get("file"), case.get("line")) == ("web/service.yaml", "6")
    head = git(clone, "rev-parse", "feature").strip()
    assert f"(https://git.example.com/shop/apps/blob/{head}/web/service.yaml#L6)" in gate.text("markdown")
    assert "**Fails** because it brings immutable-field on Service shop/web in argocd/web" in gate.text("markdown")


def test_the_clone_that_one_stands_in_is_enough_and_no_other_is(clone: Path, tmp_path: Path) -> None:
    gate = made(clone, IMMUTABLE)
    gate(cwd=clone)
    assert gate.places == {("immutable-field", "web/service.yaml", 6, True)}
    git(clone, "remote", "set-url", "origin", "https://git.example.com/other/apps.git")
    gate(cwd=clone)
    assert gate.places == {("immutable-field", None, None, None)}


def test_a_file_that_the_branch_deletes_is_never_named(clone: Path) -> None:
    """What still names the object is: outside of the change, and said to be."""
    gate = made(clone, {"web/config.yaml": None})
    ran = gate("--checkout", str(clone))
    assert gate.places == {("pruned-while-referenced", "web/pod.yaml", 10, False)}
    assert "This line is outside of the change." in ran.out.replace("%0A", "\n")
    assert "web/pod.yaml:10`](" in gate.text("markdown")
    assert "), this line is outside of the change" in gate.text("markdown")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SERVICE.replace("\n", "\r\n"), 6),
        ("# one\n---\n" + CONFIG.replace("settings", "more") + "---\n# two\n" + SERVICE, 16),
        (SERVICE.replace("  clusterIP: 10.0.0.1", "  clusterIP: &ip 10.0.0.1\n  externalName: *ip"), 6),
        (
            SERVICE.replace(
                "  clusterIP: 10.0.0.1\n  ports:\n    - port: 80", "  {clusterIP: 10.0.0.1, ports: [{port: 80}]}"
            ),
            6,
        ),
        (
            "\n".join(
                (
                    "{",
                    '"apiVersion": "v1",',
                    '"kind": "Service",',
                    '"metadata": {"name": "web"},',
                    '"spec": {',
                    '"clusterIP": "10.0.0.1",',
                    '"ports": [{"port": 80}]}}',
                )
            ),
            6,
        ),
    ],
)
def test_lines_count_in_any_layout(tmp_path: Path, clone: Path, text: str, line: int) -> None:
    git(clone, "switch", "--quiet", "main")
    (clone / "web/service.yaml").write_bytes(text.encode())
    git(clone, "commit", "-qam", "layout")
    git(clone, "switch", "--quiet", "feature")
    git(clone, "reset", "-q", "--hard", "main")
    server = GitServer(clone)
    (clone / "web/service.yaml").write_bytes(text.replace("10.0.0.1", "10.0.0.2").encode())
    git(clone, "commit", "-qam", "change")
    gate = Gate(clone, server)
    gate("--checkout", str(clone))
    assert {("immutable-field", "web/service.yaml", line, True)} <= gate.places


def test_what_has_no_manifest_stands_at_the_changed_line_that_touches_the_application(clone: Path) -> None:
    """A render that fails: the file that the message names, else the first one."""
    gate = made(clone, {"api/config.yaml": "kind: x\n", "web/pod.yaml": POD + "\n: [\n"})
    gate("--checkout", str(clone))
    assert ("comparison-error", "web/pod.yaml", 11, True) in gate.places


CHART = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: PORT, port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {version: "TAG"}}
data: {a: b}
"""


class Chart(GitServer):
    """The application web is a chart with two values."""

    def _rendered(self, app: str, revision: str, render: str = "") -> list[Manifest]:
        (values,) = documents(self._clone, revision, app)
        text = CHART.replace("PORT", values["port"]).replace("TAG", values["tag"])
        return [self._tracked(app, manifest) for manifest in yaml.safe_load_all(text)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tag: 1.0.2\nport: http-web\n", 2),
        ("{tag: 1.0.2,\n port: http-web}\n", 2),
        ("tag: 1.0.2\n'port': \"http-web\"\n", 2),
    ],
)
def test_of_changed_values_that_is_named_which_the_object_has_newly(text: str, line: int, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    commit(clone, {"web/values.yaml": "tag: 1.0.1\nport: http\n"})
    git(clone, "switch", "--quiet", "--create", "feature")
    server = Chart(clone)
    commit(clone, {"web/values.yaml": text})
    gate = Gate(clone, server)
    gate("--checkout", str(clone))
    assert gate.places == {("port-not-offered", "web/values.yaml", line, True)}


def test_what_goes_with_its_file_has_no_line_where_nothing_names_a_field(clone: Path) -> None:
    """The first line of what needs it shows nothing."""
    git(clone, "switch", "--quiet", "main")
    commit(clone, {"web/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"})
    git(clone, "switch", "--quiet", "feature")
    git(clone, "reset", "-q", "--hard", "main")
    gate = made(clone, {"web/namespace.yaml": None})
    gate("--checkout", str(clone))
    found = [f.get("source") for f in gate.findings if f["rule"] == "pruned-while-referenced"]
    assert [(source or {}).get("file") for source in found] == [None]


def test_links_of_a_change_are_not_followed(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(SERVICE)
    server = GitServer(clone)
    (clone / "web/service.yaml").unlink()
    (clone / "web/service.yaml").symlink_to(tmp_path / "outside.yaml")
    git(clone, "add", "--all")
    git(clone, "commit", "-qm", "link")
    gate = Gate(clone, server)
    gate("--checkout", str(clone))
    assert "outside.yaml" not in gate.text("json")


def test_what_went_wrong_takes_the_place_of_the_comment(clone: Path) -> None:
    gate = made(clone, IMMUTABLE)
    gate("--checkout", str(clone))
    assert gate("--checkout", str(clone), "--trusted-config", "nowhere").code == 2
    told = gate.text("markdown")
    assert told.startswith("<!-- argolint -->\n## argolint: no verdict ⚠️\n\n**Could not judge this change:** ")
    assert "nowhere" in told
    assert "immutable-field" not in told


def test_a_check_names_lines_of_the_checkouts_that_it_is_given(clone: Path, tmp_path: Path) -> None:
    """Of the work tree, as a person has it open; the indexes of lists are those of the file."""
    live = {"Service/web": {"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 81}]}}}
    saved = tmp_path / "r.json"
    with ReplayServer(GitServer(clone, live)) as server:
        for more, place in (((), (None, None, None)), (("--checkout", str(clone)), ("web/service.yaml", 8, None))):
            run_argolint(
                *("check", "--server", server.address, "--plaintext", "-o", f"json={saved}", *more),
                env={"ARGOCD_AUTH_TOKEN": server.token()},
            )
            found = json.loads(saved.read_text())["findings"]
            sources = [f["source"] for f in found if f["pointer"].startswith("/spec/ports")]
            assert [(s["file"], s["line"], s["in_change"]) for s in sources] == [place]


class Patching(GitServer):
    """Renders no change: its kustomize misses the place that a patch names."""

    def _rendered(self, app: str, revision: str, render: str = "") -> list[Manifest]:
        if revision != "main":
            raise ValueError(
                'Error: remove operation does not apply: doc is missing path: "/spec/a/2/b": missing value'
            )
        return super()._rendered(app, revision, render)


@pytest.mark.parametrize("others", [0, 1])
def test_a_patch_that_meets_nothing_is_named_by_the_path_in_the_error(clone: Path, others: int) -> None:
    """If one file alone has it; else the first changed line."""
    server = Patching(clone)
    patch = "- op: remove\n  path: /spec/a/1/b\n- op: remove\n  path: '/spec/a/2/b'\n"
    files = {"web/config.yaml": CONFIG.replace("fast", "slow"), "web/patches/remove.yaml": patch}
    commit(clone, files | {f"web/patches/{n}.yaml": patch for n in range(others)})
    gate = Gate(clone, server)
    gate("--checkout", str(clone))
    place = ("web/config.yaml", 6) if others else ("web/patches/remove.yaml", 4)
    assert gate.places == {("comparison-error", *place, True)}


@pytest.mark.parametrize(
    ("path", "pointer", "line"),
    [
        ("/spec/template/spec/containers/0/args", "/spec/template/spec/containers/0/args", 3),
        ("/spec/template", "/spec/template/spec/containers/0/args", 1),
        ("/spec/replicas", "/spec/template/spec/containers/0/args", None),
    ],
    ids=("the field", "what holds it", "another field"),
)
def test_a_field_that_a_json_patch_sets_is_named_at_its_operation(path: str, pointer: str, line: int | None) -> None:
    given = {
        "web/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: Deployment}}]\n",
        "web/a.yaml": DEPLOYMENT,
        "web/p.yaml": f"- op: replace\n  path: {path}\n  value: [a]\n",
    }
    checkout = Named(Path("/nowhere"), frozenset({SHOP}), given=given)
    made = lint_report.from_json(json.dumps(document(finding(pointer=pointer))).encode(), "a report")
    spec = {"source": {"repoURL": SHOP, "path": "web"}, "destination": {"namespace": "shop"}}
    site = Site((checkout,), {(made.findings[0].app.server, "argocd", "web"): {"spec": spec}})
    (found,) = anchored(made, site).findings
    assert found.source is not None
    assert (found.source.file, found.source.line if line else None) == ("web/p.yaml" if line else "web/a.yaml", line)
