"""--helm-render with a real helm and real Git: what is run, what is refused, what two renders prove."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.load import read_fleet
from argolint.engine.plan import Plan
from argolint.engine.run import renderer
from argolint.errors import ArgolintError, ExportError, HelmError, UsageError
from argolint.model import Edit, Finding, Fix, Location, ResourceId, Want
from argolint.proof.replay import NO_CHECKS
from argolint.proof.verify import verify
from argolint.snapshots.http_server import ReplayServer
from argolint.sources import helm
from argolint.sources.chart_schemas import refers_outside
from argolint.sources.checkout import open_checkouts
from argolint.sources.export import export
from argolint.sources.helm import Template
from argolint.sources.local_renders import LocalRenders
from argolint.testing import FixtureTransport
from tests.conftest import ROOT, Ran, run_argolint
from tests.fleets import serving
from tests.gitops import REPO, commit, git
from tests.here import run_here

CHARTS = ROOT / "tests" / "charts"
SECRET = ResourceId("", "Secret", "shop", "web-session", "v1")
CHECKSUM = "/spec/template/metadata/annotations/checksum~1session"


@pytest.fixture(scope="session")
def binary() -> str:
    """A real helm: ARGOLINT_TEST_HELM, else the one on PATH."""
    found = os.environ.get("ARGOLINT_TEST_HELM") or shutil.which("helm")
    if not found:
        pytest.skip("no helm: put one on PATH or name it in ARGOLINT_TEST_HELM")
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the charts of tests/charts, and values outside of them."""
    place = tmp_path / "clone"
    shutil.copytree(CHARTS, place / "charts")
    (place / "env").mkdir()
    (place / "env" / "prod.yaml").write_text("replicas: 3\n")
    git(place, "init", "--quiet")
    git(place, "remote", "add", "origin", REPO)
    commit(place, {"README": "shop"})
    return place


@pytest.fixture
def local(binary: str, clone: Path, tmp_path: Path) -> LocalRenders:
    (tmp_path / "scratch").mkdir()
    return LocalRenders(binary, open_checkouts([str(clone)], "--checkout"), tmp_path / "scratch")


def one_app(
    source: Mapping[str, Any], *more: Mapping[str, Any], resources: list[Any] | None = None, revision: str = "main"
) -> tuple[App, Fleet, FixtureTransport]:
    sources = [{"repoURL": REPO, "targetRevision": "main", **s} for s in (source, *more)]
    spec = {"destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"}}
    where = {"sources": sources} if more else {"source": sources[0]}
    sync = {"revisions": ["main"] * len(sources)} if more else {"revision": revision}
    app = {"name": "web", "spec": {**spec, **where}, "status": {"sync": sync, "sourceType": "Helm"}}
    info = {"serverVersion": "1.31", "apiVersions": ["v1", "apps/v1"]}
    clusters = [{"server": "https://kubernetes.default.svc", "name": "in-cluster", "info": info}]
    t = FixtureTransport({"apps": [{**app, "resources": resources or []}], "server": {"clusters": clusters}})
    fleet, _ = read_fleet(t)
    return fleet.apps[0], fleet, t


def deployment_of(local: LocalRenders, source: Mapping[str, Any], *more: Mapping[str, Any]) -> Mapping[str, Any]:
    app, fleet, _ = one_app({"path": "charts/drawn", **source}, *more)
    made = local.render(app, fleet)
    assert made is not None
    return next(m for m in made if m["kind"] == "Deployment")


def test_the_command_is_argo_cds() -> None:
    template = Template(
        Path("/c"),
        Path("/"),
        "web",
        "shop",
        "v1.31.2-gke.100",
        ("v1", "apps/v1"),
        set=(("a", "1,2"), ("b", "{1,2}")),
        set_string=(("c", "3"),),
        set_file=(("d", Path("/f")),),
        values=(Path("/v.yaml"),),
        skip_tests=True,
    )
    assert helm.arguments(template) == (
        *("template", ".", "--name-template", "web", "--namespace", "shop", "--kube-version", "1.31.2"),
        *("--set", r"a=1\,2", "--set", "b={1,2}", "--set-string", "c=3", "--set-file", "d=/f", "--values", "/v.yaml"),
        *("--api-versions", "v1", "--api-versions", "apps/v1", "--include-crds", "--skip-tests"),
    )
    skipping = replace(template, skip_crds=True, skip_schema_validation=True, skip_tests=False)
    assert helm.arguments(skipping)[-1:] == ("--skip-schema-validation",)
    assert "--include-crds" not in helm.arguments(skipping)


def test_values_files_inline_values_and_parameters_count_in_argo_cds_order(local: LocalRenders) -> None:
    files = {"valueFiles": ["values.yaml", "../../env/prod.yaml"]}
    assert deployment_of(local, {"helm": files})["spec"]["replicas"] == 3
    assert deployment_of(local, {"helm": {**files, "valuesObject": {"replicas": 4}}})["spec"]["replicas"] == 4
    assert deployment_of(local, {"helm": {**files, "values": "replicas: 5"}})["spec"]["replicas"] == 5
    parameters = [{"name": "replicas", "value": "6"}, {"name": "note", "value": "of $ARGOCD_APP_NAME, $$5"}]
    made = deployment_of(local, {"helm": {**files, "values": "replicas: 5", "parameters": parameters}})
    assert made["spec"]["replicas"] == 6
    assert made["metadata"]["annotations"]["note"] == "of web, $5"


def test_values_come_from_the_checkout_of_another_source(local: LocalRenders) -> None:
    made = deployment_of(local, {"helm": {"valueFiles": ["$values/env/prod.yaml"]}}, {"ref": "values"})
    assert made["spec"]["replicas"] == 3


def test_a_file_parameter_is_read_and_release_name_used(local: LocalRenders) -> None:
    parameters = [{"name": "note", "path": "../../README"}]
    made = deployment_of(local, {"helm": {"releaseName": "other", "fileParameters": parameters}})
    assert made["metadata"]["name"] == "other"
    assert made["metadata"]["annotations"]["note"] == "shop"


def test_a_source_file_beside_the_chart_overrides_the_source(local: LocalRenders, clone: Path) -> None:
    commit(clone, {"charts/drawn/.argocd-source-web.yaml": "helm: {parameters: [{name: replicas, value: '9'}]}\n"})
    assert deployment_of(local, {})["spec"]["replicas"] == 9


def test_a_missing_values_file_is_an_error_unless_it_may_be_missing(local: LocalRenders) -> None:
    with pytest.raises(HelmError, match=r"values file none\.yaml is not there"):
        deployment_of(local, {"helm": {"valueFiles": ["none.yaml"]}})
    made = deployment_of(local, {"helm": {"valueFiles": ["none.yaml"], "ignoreMissingValueFiles": True}})
    assert made["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"helm": {"valueFiles": ["../../../outside.yaml"]}}, "leads out of the repository"),
        ({"helm": {"valueFiles": ["https://example.com/v.yaml"]}}, "is remote, and nothing is downloaded"),
        ({"helm": {"valueFiles": ["$elsewhere/v.yaml"]}}, "is in no checkout"),
        ({"helm": {"fileParameters": [{"name": "note", "path": "../../../../etc/hostname"}]}}, "leads out of"),
        ({"path": "../charts"}, "leads out of the repository"),
        ({"helm": {"valueFiles": ["x,/etc/hostname"]}}, "would be more than one file for helm"),
        ({"helm": {"fileParameters": [{"name": "note", "path": r"x\\,note=/etc/hostname"}]}}, "more than one file"),
        ({"helm": {"fileParameters": [{"name": "a=/etc/hostname,note", "path": "Chart.yaml"}]}}, "more than one key"),
        ({"helm": {"releaseName": '{{ getHostByName "example.com" }}'}}, "is a template"),
        ({"targetRevision": "gone", "path": "charts/none"}, "there is no folder charts/none"),
    ],
)
def test_what_leads_elsewhere_is_refused(local: LocalRenders, source: Mapping[str, Any], why: str) -> None:
    with pytest.raises(HelmError, match=why):
        deployment_of(local, source)


def test_a_link_out_of_the_repository_is_refused(local: LocalRenders, clone: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (clone / "charts" / "drawn" / "templates" / "x.yaml").symlink_to("../../../../secret.txt")
    commit(clone, {"README": "link"})
    for _ in range(2):
        with pytest.raises(ExportError, match=r"charts/drawn/templates/x\.yaml is a symlink that leads out"):
            deployment_of(local, {})


def test_a_link_inside_the_repository_is_followed(local: LocalRenders, clone: Path) -> None:
    (clone / "charts" / "drawn" / "more.yaml").symlink_to("../../env/prod.yaml")
    commit(clone, {"README": "link"})
    assert deployment_of(local, {"helm": {"valueFiles": ["more.yaml"]}})["spec"]["replicas"] == 3


def test_the_commit_is_rendered_and_not_the_work_tree(local: LocalRenders, clone: Path) -> None:
    (clone / "charts" / "drawn" / "values.yaml").write_text("replicas: 77\n")
    assert deployment_of(local, {})["spec"]["replicas"] == 1


def test_a_revision_that_the_checkout_lacks_is_told(local: LocalRenders) -> None:
    app, fleet, _ = one_app({"path": "charts/drawn"})
    with pytest.raises(HelmError, match="lacks revision 0123456"):
        local.render(app, fleet, {1: "0123456789"})


def test_remote_dependencies_must_be_vendored(local: LocalRenders, clone: Path) -> None:
    dependency = "dependencies: [{name: redis, version: 1.0.0, repository: 'https://charts.example.com'}]\n"
    chart = (clone / "charts/kept/Chart.yaml").read_text()
    commit(clone, {"charts/kept/Chart.yaml": chart + dependency})
    with pytest.raises(HelmError, match="nothing is downloaded: redis") as refused:
        deployment_of(local, {"path": "charts/kept"})
    assert "helm dependency build" in refused.value.hint


def test_a_local_dependency_is_packed(local: LocalRenders, clone: Path) -> None:
    dependency = "dependencies: [{name: drawn, version: 1.0.0, repository: 'file://../drawn'}]\n"
    chart = (clone / "charts/kept/Chart.yaml").read_text()
    commit(clone, {"charts/kept/Chart.yaml": chart + dependency})
    assert deployment_of(local, {"path": "charts/kept"})["metadata"]["name"] == "web"


def test_a_local_dependency_out_of_the_repository_is_refused(local: LocalRenders, clone: Path) -> None:
    shutil.copytree(CHARTS / "drawn", local.scratch / "drawn")
    dependency = "dependencies: [{name: drawn, version: 1.0.0, repository: 'file://../../../drawn'}]\n"
    chart = (clone / "charts/kept/Chart.yaml").read_text()
    commit(clone, {"charts/kept/Chart.yaml": chart + dependency})
    with pytest.raises(HelmError, match="dependency drawn leads out of the repository"):
        deployment_of(local, {"path": "charts/kept"})


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A web server's address, and the paths that were asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parameter's name is inherited
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", paths
        server.shutdown()


def packed_chart(schema: str, schema_name: str = "sub/values.schema.json") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in (("sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n"), (schema_name, schema)):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


OUTSIDE = (
    '{"$ref": "URL/x.json"}',
    '{"\\u0024ref": "URL/x.json"}',
    '{"allOf": [{"properties": {"a": {"$ref": "URL/x.json#/a"}}}]}',
    '{"$schema": "URL/x.json"}',
    '{"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicRef": "URL/x.json"}',
    '{"$id": "URL/", "$ref": "x.json"}',
    '{"definitions": {"b": {"$schema": "URL/x.json", "$id": "b"}}, "$ref": "#/definitions/b"}',
    '{"$ref": "file:///etc/hostname"}',
    '{"$ref": "other.json"}',
)


@pytest.mark.parametrize("place", ["values.schema.json", "charts/sub/values.schema.json", "charts/sub.tgz"])
def test_a_schema_that_refers_elsewhere_is_not_loaded(
    local: LocalRenders, clone: Path, asked: tuple[str, list[str]], place: str
) -> None:
    url, paths = asked
    file = clone / "charts/kept" / place
    file.parent.mkdir(parents=True, exist_ok=True)
    (clone / "charts/kept/values.yaml").write_text("sub: {a: 1}\n")
    for schema in OUTSIDE:
        text = schema.replace("URL", url)
        if place.endswith(".tgz"):
            file.write_bytes(packed_chart(text))
        else:
            file.write_text(text)
            (file.parent / "Chart.yaml").write_text("apiVersion: v2\nname: sub\nversion: 1.0.0\n")
        commit(clone, {})
        app, fleet, _ = one_app({"path": "charts/kept"}, revision=git(clone, "rev-parse", "HEAD").strip())
        assert local.render(app, fleet), schema
        assert paths == [], schema


def test_a_schema_of_its_own_still_counts(local: LocalRenders, clone: Path, asked: tuple[str, list[str]]) -> None:
    url, paths = asked
    own = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"{url}/x.json",
        "definitions": {"whole": {"type": "integer"}},
        "properties": {"count": {"$ref": "#/definitions/whole"}},
    }
    commit(clone, {"charts/kept/values.schema.json": json.dumps(own), "charts/kept/values.yaml": "count: many\n"})
    with pytest.raises(HelmError, match="values don't meet the specifications of the schema"):
        deployment_of(local, {"path": "charts/kept"})
    assert paths == []


@pytest.mark.parametrize(
    "archive",
    [
        lambda: packed_chart("{}", "sub/charts/inner.tgz"),
        lambda: packed_chart("{}", "sub\\values.schema.json"),
        lambda: packed_chart("{}", "sub/notes-on-values.schema.json"),
        lambda: gzip.compress(b"no archive"),
        lambda: b"no gzip",
        lambda: gzip.compress(b"\0" * 100_000_001),
    ],
    ids=["nested", "backslash", "name elsewhere", "no tar", "no gzip", "bomb"],
)
def test_an_archive_that_helm_might_read_otherwise_is_taken_for_one_that_refers_elsewhere(
    tmp_path: Path, archive: Callable[[], bytes]
) -> None:
    (tmp_path / "charts").mkdir()
    assert not refers_outside(tmp_path)
    (tmp_path / "charts/sub.tgz").write_bytes(packed_chart('{"type": "object"}'))
    assert not refers_outside(tmp_path)
    (tmp_path / "charts/sub.tgz").write_bytes(archive())
    assert refers_outside(tmp_path)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": 1}' + " " * 4_000_000, b"\xff"], ids=lambda t: str(t)[:5])
def test_a_schema_that_cannot_be_read_is_taken_for_one_that_refers_elsewhere(tmp_path: Path, text: str | bytes) -> None:
    (tmp_path / "values.schema.json").write_bytes(text.encode() if isinstance(text, str) else text)
    assert refers_outside(tmp_path)


def test_a_local_dependency_is_packed_and_no_remote_one_is_asked_for(
    local: LocalRenders, clone: Path, asked: tuple[str, list[str]]
) -> None:
    url, paths = asked
    dependencies = f"- {{name: drawn, version: 1.0.0, repository: 'file://../drawn'}}\n- {{name: kept2, version: 1.0.0, repository: {url}}}\n"
    chart = (clone / "charts/kept/Chart.yaml").read_text()
    vendored = "apiVersion: v2\nname: kept2\nversion: 1.0.0\n"
    commit(
        clone,
        {
            "charts/kept/Chart.yaml": f"{chart}dependencies:\n{dependencies}",
            "charts/kept/charts/kept2/Chart.yaml": vendored,
        },
    )
    assert deployment_of(local, {"path": "charts/kept"})["metadata"]["name"] == "web"
    assert paths == []


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exec yes 'a: b'", "helm template printed more than 64,000,000 bytes"),
        ("exec yes >&2", "helm template printed more than 64,000,000 bytes"),
        ("kill -9 $$", "helm template ended with -9"),
        ("echo 'fatal error: runtime: out of memory' >&2; exit 2", "helm template needs more than 2,000,000,000 bytes"),
        (
            "echo 'Error: unknown flag: --skip-schema-validation' >&2; exit 1",
            "the chart's values.schema.json refers to what is outside of it",
        ),
    ],
)
def test_a_helm_that_misbehaves_is_told(local: LocalRenders, tmp_path: Path, script: str, told: str) -> None:
    stand_in = tmp_path / "helm"
    stand_in.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    stand_in.chmod(0o755)
    app, fleet, _ = one_app({"path": "charts/kept"})
    with pytest.raises(HelmError) as failed:
        replace(local, binary=str(stand_in)).render(app, fleet)
    assert told in failed.value.message


def raw_tree(clone: Path, *entries: tuple[str, str, str]) -> str:
    """A tree of (mode, name, id), as git itself would never make it."""
    data = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(id_) for mode, name, id_ in entries)
    command = ["git", "hash-object", "-t", "tree", "--literally", "-w", "--stdin"]
    return subprocess.run(command, cwd=clone, input=data, capture_output=True, check=True).stdout.decode().strip()


def blob(clone: Path, text: str) -> str:
    command = ["git", "hash-object", "-w", "--stdin"]
    done = subprocess.run(command, cwd=clone, input=text, text=True, capture_output=True, check=True)
    return done.stdout.strip()


def exported(clone: Path, into: Path, *entries: tuple[str, str, str]) -> None:
    commit_ = git(clone, "commit-tree", raw_tree(clone, *entries), "-m", "crafted").strip()
    export(clone, commit_, into)


def test_a_link_and_a_folder_of_one_name_create_nothing_outside(clone: Path, tmp_path: Path) -> None:
    victim, inner = tmp_path / "victim", raw_tree(clone, ("120000", "planted", blob(clone, "/etc/passwd")))
    victim.mkdir()
    with pytest.raises(ExportError, match="a is a link"):
        exported(clone, tmp_path / "out", ("120000", "a", blob(clone, str(victim))), ("40000", "a", inner))
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("name", ["..", "../evil", "a/../../evil", ".git", ".GIT", ".", "/abs", "a//b", ".git "])
@pytest.mark.parametrize("mode", ["100644", "120000"])
def test_a_name_that_leads_elsewhere_is_refused(clone: Path, tmp_path: Path, name: str, mode: str) -> None:
    with pytest.raises(ExportError):
        exported(clone, tmp_path / "out", (mode, name, blob(clone, "evil")))
    assert not list(tmp_path.glob("**/evil"))
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_tree_of_trees_without_end_is_refused(clone: Path, tmp_path: Path) -> None:
    """Ten levels of ten folders: ten thousand million files out of eleven objects."""
    level = raw_tree(clone, ("100644", "f", blob(clone, "x")))
    for _ in range(10):
        level = raw_tree(clone, *(("40000", f"d{n}", level) for n in range(10)))
    with pytest.raises(ExportError, match=r"git ls-tree printed more than .* bytes|has more than .* files"):
        exported(clone, tmp_path / "out", ("40000", "d", level))
    assert not (tmp_path / "out").exists()


def test_helm_gets_nothing_of_the_callers_environment(
    local: LocalRenders, clone: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A plugin in the caller's HELM_PLUGINS and a broken KUBECONFIG would be seen, and a token in the environment printed."""
    spy = tmp_path / "spy"
    spy.write_text('#!/bin/sh\n/usr/bin/env >"$HOME/../seen"\necho "kind: Seen"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("ARGOCD_AUTH_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com")
    app, fleet, _ = one_app({"path": "charts/kept"})
    assert replace(local, binary=str(spy)).render(app, fleet) == ({"kind": "Seen"},)
    names = {line.partition("=")[0] for line in (local.scratch / "seen").read_text().splitlines()}
    assert not names & {"ARGOCD_AUTH_TOKEN", "HTTPS_PROXY", "USER"}
    assert {"HELM_CACHE_HOME", "HELM_PLUGINS", "KUBECONFIG"} <= names


def test_helms_own_words_tell_why_a_chart_does_not_render(local: LocalRenders, clone: Path) -> None:
    commit(clone, {"charts/kept/templates/fail.yaml": '{{ fail "a database is required" }}\n'})
    with pytest.raises(HelmError, match="a database is required") as failed:
        deployment_of(local, {"path": "charts/kept"})
    assert str(local.scratch) not in failed.value.message


def test_text_that_is_no_yaml_and_bombs_are_told() -> None:
    with pytest.raises(HelmError, match="invalid YAML"):
        helm.manifests("a: [")
    bomb = "kind: A\na: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n"
        for before, name in zip("abcdefg", "bcdefgh", strict=True)
    )
    with pytest.raises(HelmError, match="more than"):
        helm.manifests(bomb)
    assert helm.manifests("kind: A\nday: 2026-01-01\n---\n---\nkind: BList\nitems: [{kind: B}]\n") == (
        {"kind": "A", "day": "2026-01-01"},
        {"kind": "B"},
    )


def test_no_helm_is_one_clear_error(clone: Path) -> None:
    ran = run_argolint(
        *("check", "--snapshot", clone, "--helm-render", "--checkout", clone), env={"PATH": "/nonexistent"}
    )
    assert ran.code == 2
    assert "--helm-render needs helm, and there is none on PATH" in ran.err


# What two renders prove


def test_two_renders_mask_secrets_as_a_pair(local: LocalRenders) -> None:
    app, fleet, _ = one_app({"path": "charts/drawn"})
    pair = local.twice(app, fleet)
    assert pair is not None
    one, two = (next(m for m in side if m["kind"] == "Secret")["data"] for side in pair)
    assert one == {"password": "++++++++", "user": "++++++++"}
    assert two == {"password": "+++++++++", "user": "++++++++"}


def test_a_chart_that_asks_the_cluster_renders_alike(local: LocalRenders) -> None:
    app, fleet, _ = one_app({"path": "charts/kept"})
    one, two = local.twice(app, fleet) or ((), ())
    assert one == two != ()


def _pinned(local: LocalRenders, values: str) -> Fix:
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-session", "namespace": "shop"}}
    app, fleet, _ = one_app({"path": "charts/drawn"}, resources=[{"desired": live, "live": live}])
    app = replace(app, evidence={Want("render"): local.twice(app, fleet)})
    finding = Finding("it is drawn", Location(app.ref, structs.replace(SECRET, cluster=app.cluster), "/data"))
    fix = Fix("Pin it", "helm-values", "values.yaml", Edit("yaml", values))
    return verify(fix, finding, app, fleet, NO_CHECKS, lambda rendered, more: local.twice(rendered, fleet, more))


def test_values_that_end_the_difference_are_verified(local: LocalRenders) -> None:
    fix = _pinned(local, "auth:\n  password: <a password>\n")
    assert (fix.verified, fix.unverified) == (True, "")


def test_values_that_do_not_are_contradicted(local: LocalRenders) -> None:
    fix = _pinned(local, "auth:\n  pasword: typo\n")
    assert fix.verified is False
    assert fix.unverified == "two renders with these values still differ in /data/password of Secret web-session"


def test_values_with_which_the_chart_does_not_render_prove_nothing(local: LocalRenders) -> None:
    fix = _pinned(local, "auth: text\n")
    assert fix.verified is None
    assert fix.unverified.startswith("the chart does not render with these values as they are: ")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"repoURL": "https://git.example.com/other.git", "path": "charts/drawn"}, "no --checkout is a clone of https"),
        ({"chart": "drawn"}, "chart drawn is in no Git repository, and nothing is downloaded"),
        ({"path": "charts/drawn", "kustomize": {"namePrefix": "x-"}}, "rendered by kustomize and not by Helm"),
        ({"path": "charts/drawn", "helm": {"parameters": [{"name": "auth", "value": "text"}]}}, "even without these"),
    ],
)
def test_a_source_that_is_not_rendered_here_says_why_nothing_is_proven(
    local: LocalRenders, source: Mapping[str, Any], why: str
) -> None:
    app, fleet, _ = one_app(source)
    plan = Plan((), local=local)
    finding = Finding("it is drawn", Location(app.ref, structs.replace(SECRET, cluster=app.cluster), "/data"))
    fix = Fix("Pin it", "helm-values", "values.yaml", Edit("yaml", "auth:\n  password: <a password>\n"))
    found = verify(fix, finding, app, fleet, NO_CHECKS, renderer(plan, fleet))
    assert found.verified is None
    assert why in found.unverified


def test_no_option_is_named_that_could_not_prove_it() -> None:
    finding = Finding("it is drawn", Location(one_app({})[0].ref, SECRET, "/data"))
    fix = Fix("Pin it", "helm-values", "values.yaml", Edit("yaml", "auth:\n  password: <a password>\n"))
    told = [verify(fix, finding, *one_app(source)[:2]).unverified for source in ({"path": "x"}, {"chart": "drawn"})]
    assert [text.partition("; ")[2] for text in told] == [
        "--helm-render can prove it",
        "chart drawn is in no Git repository, and nothing is downloaded",
    ]


# The command


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ReplayServer]:
    _, _, t = one_app({"path": request.param}, resources=[{"desired": _state(k), "live": _state(k)} for k in KINDS])
    with ReplayServer(t) as running:
        yield running


KINDS = ("Secret", "Deployment")


def _state(kind: str) -> dict[str, Any]:
    metadata = {"namespace": "shop", "labels": {"helm.sh/chart": "drawn-1.0.0"}}
    if kind == "Secret":
        data = {"password": "++++++++", "user": "++++++++"}
        return {"apiVersion": "v1", "kind": kind, "metadata": {**metadata, "name": "web-session"}, "data": data}
    template = {"metadata": {"annotations": {"checksum/session": "1" * 64}}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {**metadata, "name": "web"},
        "spec": {"template": template},
    }


def _path(binary: str, tmp_path: Path) -> str:
    """A PATH on which this helm is the first."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "helm").symlink_to(Path(binary).resolve())
    return f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"


def _check(server: ReplayServer, binary: str, clone: Path, tmp_path: Path) -> tuple[Ran, dict[str, Any]]:
    login = ("--server", server.address, "--plaintext", "--auth-token", server.token(timedelta(hours=1)))
    wanted = (
        "--helm-render",
        "--checkout",
        clone,
        "--select",
        "nondeterministic-secret,nondeterministic-checksum",
        "--deep",
        "-o",
        "json=report.json",
    )
    ran = run_argolint("check", *login, *wanted, cwd=tmp_path, env={"PATH": _path(binary, tmp_path)})
    return ran, json.loads((tmp_path / "report.json").read_text())


@pytest.mark.parametrize("server", ["charts/drawn"], indirect=True)
def test_a_random_secret_is_proven_without_asking_the_server_for_a_render(
    server: ReplayServer, binary: str, clone: Path, tmp_path: Path
) -> None:
    ran, report = _check(server, binary, clone, tmp_path)
    (found,) = [f for f in report["findings"] if f["rule"] == "nondeterministic-secret"]
    assert found["confidence"] == "proven"
    assert [r["pointer"] for r in found["related"]] == [CHECKSUM]
    assert [path for path in server.seen if "/manifests" in path] == []
    assert report["failures"] == []
    assert ran.code in (0, 1)


@pytest.mark.parametrize("server", ["charts/kept"], indirect=True)
def test_a_chart_with_lookup_is_not_accused(server: ReplayServer, binary: str, clone: Path, tmp_path: Path) -> None:
    _, report = _check(server, binary, clone, tmp_path)
    assert (report["findings"], report["failures"]) == ([], [])


@pytest.mark.parametrize("server", ["charts/kept"], indirect=True)
def test_what_cannot_be_rendered_here_makes_the_run_incomplete(
    server: ReplayServer, binary: str, clone: Path, tmp_path: Path
) -> None:
    chart = (clone / "charts/kept/Chart.yaml").read_text()
    remote = "dependencies: [{name: redis, version: 1.0.0, repository: 'https://charts.example.com'}]\n"
    commit(clone, {"charts/kept/Chart.yaml": chart + remote})
    ran, report = _check(server, binary, clone, tmp_path)
    assert ran.code == 3
    (failure,) = report["failures"]
    assert (failure["stage"], failure["app"]["name"]) == ("helm-render", "web")
    assert (
        failure["hint"]
        == "vendor them: `helm dependency build`, and commit charts/; or let the server render: leave out --helm-render"
    )


def test_the_pins_of_a_known_chart_are_verified(binary: str, clone: Path, tmp_path: Path) -> None:
    metadata = {"name": "web-rabbitmq", "namespace": "shop", "labels": {"helm.sh/chart": "rabbitmq-16.0.16"}}
    data = {"rabbitmq-password": "++++++++", "rabbitmq-erlang-cookie": "++++++++"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    template = {"metadata": {"annotations": {"checksum/secret": "1" * 64}}}
    workload = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"template": template}}
    states = [{"desired": state, "live": state} for state in (secret, workload)]
    _, _, t = one_app({"path": "charts/rabbitmq"}, resources=states)
    with ReplayServer(t) as server:
        _, report = _check(server, binary, clone, tmp_path)
    (found,) = report["findings"]
    verdicts = {fix["title"]: fix["verified"] for fix in found["fixes"] if fix["target"] == "helm-values"}
    new = "Create Secret web-rabbitmq-pinned and name it in"
    assert verdicts == {
        f'{new} "auth.existingErlangSecret" and "auth.existingPasswordSecret"': True,  # with its first step
        'Give "auth.erlangCookie" and "auth.password" a fixed value': True,
    }


def test_a_folder_that_is_no_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--checkout .* is no Git checkout"):
        open_checkouts([str(tmp_path)], "--checkout")
    assert issubclass(HelmError, ArgolintError)


# The gate


def _running(path: str, kinds: Iterable[str], clone: Path) -> FixtureTransport:
    """What runs is what main holds."""
    revision = git(clone, "rev-parse", "main").strip()
    return one_app(
        {"path": path}, resources=[{"desired": _state(k), "live": _state(k)} for k in kinds], revision=revision
    )[2]


def _gate(t: FixtureTransport, binary: str, clone: Path, tmp_path: Path) -> tuple[Ran, dict[str, Any], list[str]]:
    with ReplayServer(t) as server:
        login = ("--server", server.address, "--plaintext", "--auth-token", server.token(timedelta(hours=1)))
        wanted = ("--repo", REPO, "--base", "main", "--head", "change", "--checkout", clone, "--helm-render")
        env = {"PATH": _path(binary, tmp_path)}
        ran = run_argolint("gate", *login, *wanted, "-o", "json=report.json", cwd=tmp_path, env=env)
        assert ran.code in (0, 1), ran.err
        return ran, json.loads((tmp_path / "report.json").read_text()), server.seen


def _branch(clone: Path, files: Mapping[str, str | None]) -> None:
    git(clone, "checkout", "--quiet", "-b", "change")
    commit(clone, files)
    git(clone, "checkout", "--quiet", "main")


def test_the_gate_renders_both_sides_here_and_names_what_the_change_starts_to_draw(
    binary: str, clone: Path, tmp_path: Path
) -> None:
    commit(clone, {"charts/drawn/values.yaml": "auth: {password: fixed}\nreplicas: 1\nnote: ''\n"})
    _branch(clone, {"charts/drawn/values.yaml": "auth: {password: ''}\nreplicas: 1\nnote: ''\n"})
    _, report, seen = _gate(_running("charts/drawn", KINDS, clone), binary, clone, tmp_path)
    told = [(f["rule"], f["confidence"], f["pointer"]) for f in report["findings"] if f["family"] == "nondeterminism"]
    assert told == [("nondeterministic-secret", "proven", "/data/password")]
    assert [path for path in seen if "/manifests" in path] == []


def test_what_base_draws_already_is_not_the_authors(binary: str, clone: Path, tmp_path: Path) -> None:
    _branch(clone, {"charts/drawn/values.yaml": "auth: {password: ''}\nreplicas: 2\nnote: ''\n"})
    _, report, _ = _gate(_running("charts/drawn", KINDS, clone), binary, clone, tmp_path)
    assert [f["message"] for f in report["findings"] if f["family"] == "nondeterminism"] == []
    (app,) = report["gate"]["apps"]
    changed = [(c["resource"]["kind"], [f["pointer"] for f in c["fields"]]) for c in app["changes"]]
    assert changed == [("Deployment", ["/spec/replicas"])]


def test_helm_runs_once_for_all_servers_whose_applications_render_alike(
    binary: str, clone: Path, tmp_path: Path
) -> None:
    _branch(clone, {"charts/drawn/values.yaml": "auth: {password: ''}\nreplicas: 2\nnote: ''\n"})
    log, program = tmp_path / "log", tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1" >>{log}\nexec {binary} "$@"\n')
    program.chmod(0o755)
    wanted = ("--repo", REPO, "--base", "main", "--head", "change", "--checkout", clone, "--helm-render")
    runs = []
    for names in (("eu",), ("eu", "us", "lab")):
        log.write_text("")
        with serving(tmp_path, {name: _running("charts/drawn", KINDS, clone) for name in names}) as fleets:
            env = {**fleets.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
            ran = run_here("gate", "--servers", fleets.file, *wanted, "-o", "json", cwd=tmp_path, env=env)
        assert ran.code in (0, 1), ran.err
        assert len(json.loads(ran.out)["gate"]["apps"]) == len(names)
        runs.append(log.read_text().splitlines().count("template"))
    assert runs[0] == runs[1] >= 3


def test_a_chart_that_breaks_at_head_alone_is_the_changes_failure(binary: str, clone: Path, tmp_path: Path) -> None:
    _branch(clone, {"charts/kept/templates/fail.yaml": '{{ fail "a database is required" }}\n'})
    ran, report, _ = _gate(_running("charts/kept", ["Secret"], clone), binary, clone, tmp_path)
    assert ran.code == 1
    assert [f["rule"] for f in report["findings"]] == ["comparison-error"]
    assert "a database is required" in json.dumps(report["findings"])


@pytest.mark.parametrize("values", [(), ("/env/none.yaml",)], ids=["a chart", "no values file"])
def test_the_chart_of_a_new_application_is_rendered_here(
    values: tuple[str, ...], binary: str, clone: Path, tmp_path: Path
) -> None:
    source = {"repoURL": REPO, "path": "charts/drawn", "targetRevision": "main", "helm": {"valueFiles": [*values]}}
    spec = {"project": "default", "source": source, "destination": {"name": "in-cluster", "namespace": "shop"}}
    new = {"kind": "Application", "metadata": {"name": "more", "namespace": "argocd"}, "spec": spec}
    _branch(clone, {"charts/kept/templates/app.yaml": json.dumps({"apiVersion": "argoproj.io/v1alpha1", **new})})
    _, report, _ = _gate(_running("charts/kept", ["Secret"], clone), binary, clone, tmp_path)
    mine = {f["rule"] for f in report["findings"] if f["app"]["name"] == "more"}
    assert mine >= {"comparison-error" if values else "nondeterministic-secret"}
    assert report["failures"] == []


@pytest.mark.parametrize("where", ["values.yaml", "a values file", "the Application"])
def test_a_chart_that_fails_with_a_secret_of_its_values_tells_it_to_nobody(
    local: LocalRenders, clone: Path, where: str
) -> None:
    secret = "Correct-horse-9-battery"
    values = yaml.safe_dump({"db": {"password": secret}})
    file = "env/prod.yaml" if where == "a values file" else "charts/kept/values.yaml"
    fails = {"charts/kept/templates/fail.yaml": '{{ fail (printf "no %s here" .Values.db.password) }}\n'}
    commit(clone, fails if where == "the Application" else {**fails, file: values})
    own = {"values": values} if where == "the Application" else {}
    source = {"path": "charts/kept", "helm": {**own, "valueFiles": ["/env/prod.yaml"]}}
    with pytest.raises(HelmError, match=r"no \(masked\) here") as caught:
        deployment_of(local, source)
    assert secret not in caught.value.message


def test_helm_render_of_the_gate_needs_the_clone(tmp_path: Path) -> None:
    ran = run_argolint("gate", "--repo", REPO, "--head", "change", "--helm-render", cwd=tmp_path)
    assert ran.code == 2
    assert "--helm-render renders from --checkout" in ran.err


CLASS = """\
{{- if .Values.controller.ingressClassResource.enabled }}
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx, labels: {helm.sh/chart: ingress-nginx-4.15.1}}
spec: {controller: k8s.io/ingress-nginx}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-options", labels: {helm.sh/chart: ingress-nginx-4.15.1}}
data: {a: b}
"""


def test_leaving_a_shared_object_is_proven_by_a_render_with_the_charts_switch(
    binary: str, clone: Path, tmp_path: Path
) -> None:
    chart = {
        "Chart.yaml": "apiVersion: v2\nname: ingress-nginx\nversion: 4.15.1\n",
        "values.yaml": "controller: {ingressClassResource: {enabled: true}}\n",
        "templates/all.yaml": CLASS,
    }
    commit(clone, {f"charts/ingress-nginx/{name}": text for name, text in chart.items()})
    labels = {"helm.sh/chart": "ingress-nginx-4.15.1"}
    apps = []
    for name in ("inside", "public"):
        tracked = {"argocd.argoproj.io/tracking-id": "public:networking.k8s.io/IngressClass:public/nginx"}
        kind = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "spec": {"controller": "k8s.io/ingress-nginx"},
        }
        live = {**kind, "metadata": {"name": "nginx", "labels": labels, "annotations": tracked}}
        own = {"argocd.argoproj.io/tracking-id": f"{name}:networking.k8s.io/IngressClass:{name}/nginx"}
        desired = {**kind, "metadata": {"name": "nginx", "labels": labels, "annotations": own}}
        options = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-options", "namespace": name, "labels": labels},
            "data": {"a": "b"},
        }
        source = {"repoURL": REPO, "path": "charts/ingress-nginx", "targetRevision": "main"}
        warned = {
            "type": "SharedResourceWarning",
            "message": "IngressClass/nginx is part of applications argocd/inside and public",
        }
        status = {
            "sourceType": "Helm",
            "sync": {"revision": "main"},
            "history": [{"id": 0}],
            "conditions": [warned] if name == "inside" else [],
        }
        spec = {"source": source, "destination": {"namespace": name}}
        resources = [{"desired": desired, "live": live}, {"desired": options, "live": options}]
        apps.append({"name": name, "spec": spec, "status": status, "resources": resources})
    with ReplayServer(FixtureTransport({"apps": apps})) as server:
        login = ("--server", server.address, "--plaintext", "--auth-token", server.token(timedelta(hours=1)))
        wanted = ("--helm-render", "--checkout", clone, "--deep", "-o", "json=report.json")
        run_argolint("check", *login, *wanted, cwd=tmp_path, env={"PATH": _path(binary, tmp_path)})
    report = json.loads((tmp_path / "report.json").read_text())
    assert [f["error"] for f in report["failures"]] == []
    findings = report["findings"]
    (fix,) = (f["fixes"][0] for f in findings if f["rule"] == "shared-resource")
    assert "enabled: false" in fix["edit"]["content"]
    assert (fix["verified"], fix["unverified"]) == (True, "")
