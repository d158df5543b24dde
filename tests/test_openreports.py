"""OpenReports: what is written to a cluster, what is left alone, and what is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import yaml

from argolint.model.stats import Stats
from argolint.reports import assemble
from argolint.reports import document as r
from argolint.reports.formats import Style, openreports, render
from tests.fits import require_fit

from .conftest import run_argolint

TOKEN = "kube-token-of-the-test"


def app(name: str = "web") -> r.ReportedApp:
    return r.ReportedApp("https://argocd.example.com", "argocd", name, "default")


def found(name: str = "web", **more: Any) -> r.ReportedFinding:
    given: dict[str, Any] = {
        "rule": "shared-resource",
        "family": "ownership",
        "severity": "error",
        "confidence": "proven",
        "app": app(name),
        "message": f"ConfigMap shop/common of {name} has two owners",
        "docs": "https://example.com/shared-resource",
        "fingerprint": f"fp-{name}",
        "resource": r.ReportedResource("", "v1", "ConfigMap", "shop", "common", "https://kubernetes.default.svc"),
    }
    return r.ReportedFinding(**{**given, **more})


def report(*findings: r.ReportedFinding, names: tuple[str, ...] = ("web", "api"), complete: bool = True) -> r.Report:
    made = r.Application(app(), "Synced", "Healthy", 1, r.Counts())
    return r.Report(
        schema_version=r.SCHEMA_VERSION,
        tool=r.Tool("argolint", "0"),
        started_at="2026-01-01T00:00:00Z",
        complete=complete,
        servers=(r.Server("https://argocd.example.com", "v3.5.1", len(names)),),
        summary=assemble.summarise(findings, 0, apps=len(names), resources=1),
        findings=findings,
        failures=(),
        stats=Stats(),
        applications=tuple(msgspec.structs.replace(made, app=app(name)) for name in names),
    )


class Api:
    """As much of a Kubernetes API server as server-side apply of Reports needs."""

    def __init__(self) -> None:
        self.store: dict[str, dict[str, Any]] = {}
        self.owner: dict[str, str] = {}
        self.version = 0
        self.installed = self.selects = True
        self.cookies: set[str] = set()
        self.seen: list[tuple[str, str]] = []

    def answer(self, method: str, path: str, body: Any, token: str) -> tuple[int, Any]:
        parts = urlsplit(path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.seen.append((method, parts.path))
        if token != f"Bearer {TOKEN}":
            return 401, {"message": "Unauthorized"}
        if not self.installed:
            return 404, {"message": "the server could not find the requested resource"}
        place = "/".join(parts.path.split("/namespaces/")[-1].split("/reports/")) if "/namespaces/" in path else ""
        if method == "GET":
            chosen = [
                m
                for m in self.store.values()
                if not self.selects or openreports.LABEL in m["metadata"].get("labels", {})
            ]
            return 200, {"items": [{"metadata": m["metadata"]} for m in chosen], "metadata": {}}
        if method == "DELETE":
            return (200, {}) if self.store.pop(place, None) else (404, {"details": {"name": place}})
        if self.owner.get(place, "argolint") != "argolint" and query["force"] != "true":
            return 409, {"message": f'conflict with "{self.owner[place]}": .results, password=hunter2x'}
        before = self.store.get(place)
        if before is None or {**before, "metadata": {**before["metadata"], "resourceVersion": ""}} != {
            **body,
            "metadata": {**body["metadata"], "resourceVersion": ""},
        }:
            self.version += 1
            body["metadata"]["resourceVersion"] = str(self.version)
            self.store[place] = body
        return 200, self.store[place]


@pytest.fixture
def api() -> Iterator[tuple[Api, str]]:
    held = Api()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            held.cookies.update(self.headers.get_all("Cookie") or ())
            status, answer = held.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Set-Cookie", "session=of-a-server; Path=/")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PATCH = do_DELETE = handle_any  # noqa: N815  # names of the protocol

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield held, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def publish(folder: Path, url: str, made: r.Report, *options: str, token: str = TOKEN) -> Any:
    (folder / "report.json").write_bytes(r.to_json(made))
    (folder / "token").write_text(token)
    given = ("--kube-api", url, "--kube-token-file", str(folder / "token"))
    return run_argolint("publish", "openreports", str(folder / "report.json"), *given, *options)


def test_each_application_with_findings_is_one_report() -> None:
    other = found("api", severity="warning", cause="same-content", suppressed={"by": "baseline", "reason": "known"})
    documents = list(yaml.safe_load_all(render(report(found(), other), "openreports", Style())))
    assert [d["scope"]["name"] for d in documents] == ["api", "web"]
    web = documents[1]
    assert (web["apiVersion"], web["kind"], web["source"]) == ("openreports.io/v1alpha1", "Report", "argolint")
    assert web["metadata"]["namespace"] == "argocd"
    assert web["summary"] == {"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0}
    (result,) = web["results"]
    assert (result["policy"], result["category"], result["severity"]) == ("shared-resource", "ownership", "high")
    assert result["message"] == "ConfigMap shop/common of web has two owners"
    assert result["resources"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "common", "namespace": "shop"}]
    assert documents[0]["results"][0]["result"] == "skip"
    assert documents[0]["results"][0]["rule"] == "same-content"


def test_a_thousand_findings_stay_a_small_report_that_says_what_it_leaves_out() -> None:
    many = report(*(found(message="x" * 5000, fingerprint=f"f{n}") for n in range(1000)))
    (made,) = openreports.reports(many)
    assert made["summary"]["fail"] == 1000
    assert len(made["results"]) == openreports.MOST + 1
    assert made["results"][-1]["message"].startswith("950 more results")
    assert len(json.dumps(made)) < 200_000


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_STATE = {"enum": ["pass", "fail", "warn", "error", "skip"]}
_REFERENCE = _object(
    apiVersion=_TEXT, fieldPath=_TEXT, kind=_TEXT, name=_TEXT, namespace=_TEXT, resourceVersion=_TEXT, uid=_TEXT
)
V1ALPHA1 = _object(
    ("apiVersion", "kind", "metadata"),
    apiVersion={"const": "openreports.io/v1alpha1"},
    kind={"const": "Report"},
    metadata={"type": "object"},
    source=_TEXT,
    scope=_REFERENCE,
    summary=_object((), **dict.fromkeys(_STATE["enum"], _NUMBER)),
    results={
        "type": "array",
        "items": _object(
            ("policy",),
            policy=_TEXT,
            rule=_TEXT,
            category=_TEXT,
            message=_TEXT,
            source=_TEXT,
            scored={"type": "boolean"},
            result=_STATE,
            severity={"enum": ["critical", "high", "low", "medium", "info"]},
            properties={"type": "object", "additionalProperties": _TEXT},
            resources={"type": "array", "items": _REFERENCE},
            timestamp=_object(("seconds", "nanos"), seconds=_NUMBER, nanos=_NUMBER),
        ),
    },
)
"""What the CRD reports.openreports.io (reports-api, v1alpha1) lets a Report hold; an API server drops or refuses anything else."""


def test_every_report_fits_the_schema_of_the_crd(demo_files: Path) -> None:
    since = found("api", since="2026-01-01T00:00:00Z", severity="info", cause="c", suppressed={"by": "a", "reason": ""})
    many = report(*(found(fingerprint=f"f{n}") for n in range(openreports.MOST + 1)), since)
    failed = msgspec.structs.replace(many, failures=(r.ReportedFailure("manifests", "no", app=app("far")),))
    made = [*openreports.reports(failed), *openreports.reports(r.read(demo_files / "report.json"))]
    assert len(made) > 20
    for one in made:
        require_fit(one, V1ALPHA1)


def test_names_fit_kubernetes_and_tell_servers_apart() -> None:
    names = {openreports.name_of(server, "a" * 253) for server in ("https://one", "https://two")}
    assert len(names) == 2
    assert all(len(name) <= 253 for name in names)


def test_a_second_publish_changes_nothing_and_what_is_gone_is_deleted(api: tuple[Api, str], tmp_path: Path) -> None:
    held, url = api
    both = report(found(), found("api"))
    assert publish(tmp_path, url, both).out == "2 written, 0 unchanged, 0 deleted\n"
    version = held.version
    assert publish(tmp_path, url, both).out == "0 written, 2 unchanged, 0 deleted\n"
    assert held.version == version
    assert publish(tmp_path, url, report(found())).out == "0 written, 1 unchanged, 1 deleted\n"
    assert len(held.store) == 1


def test_what_was_not_looked_at_and_what_is_not_ours_is_left(api: tuple[Api, str], tmp_path: Path) -> None:
    held, url = api
    held.store["argocd/of-somebody"] = {"metadata": {"namespace": "argocd", "name": "of-somebody"}}
    publish(tmp_path, url, report(found(), found("api")))
    part = report(names=("web",))
    assert publish(tmp_path, url, part).out == "0 written, 0 unchanged, 1 deleted\n"
    assert sorted(held.store) == sorted(["argocd/of-somebody", f"argocd/{openreports.name_of(app().server, 'api')}"])
    refused = publish(tmp_path, url, report(names=("web",), complete=False), "--prune-all")
    assert refused.code == 2
    assert "--prune-all would delete what is only not known" in refused.err
    assert publish(tmp_path, url, part, "--prune-all").out == "0 written, 0 unchanged, 1 deleted\n"
    assert sorted(held.store) == ["argocd/of-somebody"]


def test_a_server_that_ignores_the_selector_and_sets_cookies_loses_nothing_and_gets_none_back(
    api: tuple[Api, str], tmp_path: Path
) -> None:
    held, url = api
    assert publish(tmp_path, url, report(found("web"))).code == 0
    ours = next(iter(held.store))
    for name, labels in (("a", {}), ("b", {openreports.LABEL: "false"}), ("c", {"team": "x"})):
        held.store[f"argocd/{name}"] = {"metadata": {"namespace": "argocd", "name": name, "labels": labels}}
    held.selects = False
    done = publish(tmp_path, url, report(), "--prune-all")
    assert (done.code, done.out) == (0, "0 written, 0 unchanged, 1 deleted\n"), done.err
    assert ours not in held.store
    assert set(held.store) == {"argocd/a", "argocd/b", "argocd/c"}
    assert held.cookies == set()


def test_a_report_that_somebody_edited_is_left_unless_forced(api: tuple[Api, str], tmp_path: Path) -> None:
    held, url = api
    place = f"argocd/{openreports.name_of(app().server, 'web')}"
    held.owner[place] = "kubectl-edit"
    ran = publish(tmp_path, url, report(found()))
    assert (ran.code, ran.out) == (3, "0 written, 0 unchanged, 0 deleted\n")
    assert f'not written: {place}: conflict with "kubectl-edit": .results, password=(masked)' in ran.err
    assert publish(tmp_path, url, report(found()), "--force").out == "1 written, 0 unchanged, 0 deleted\n"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://kube.example.com", "is no https address"),
        ("ftp://127.0.0.1", "is no https address"),
        ("https://[kube", "is no https address"),
    ],
)
def test_a_token_is_not_sent_in_clear(tmp_path: Path, url: str, told: str) -> None:
    ran = publish(tmp_path, url, report(found()))
    assert ran.code == 2
    assert told in ran.err
    assert TOKEN not in ran.err


def test_a_cluster_without_the_crd_and_a_wrong_token_are_told(api: tuple[Api, str], tmp_path: Path) -> None:
    held, url = api
    ran = publish(tmp_path, url, report(found()), token="another-token")
    assert ran.code == 2
    assert "the API server refuses: Unauthorized" in ran.err
    assert "another-token" not in ran.out + ran.err
    held.installed = False
    ran = publish(tmp_path, url, report(found()))
    assert ran.code == 2
    assert "install the CRDs of OpenReports first" in ran.err


def test_the_setup_prints_role_and_exclusion() -> None:
    out = run_argolint("explain", "--setup", "openreports").out
    assert "resources: [reports], verbs: [get, list, create, patch, delete]" in out
    assert "- apiGroups: [openreports.io]" in out
