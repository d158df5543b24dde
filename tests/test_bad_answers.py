"""Answers that no Argo CD sends, over HTTP: told as failures, and everything else is looked at all the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from argolint.application.entry import Entry
from argolint.engine import pipeline as lint
from argolint.engine.pipeline import Part
from argolint.engine.plan import ChosenRule, Plan
from argolint.errors import ApiError, ConnectError
from argolint.model import AppRef, Failure, ResourceId
from argolint.plugins import load_rules
from argolint.server import api as argocd
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import run_argolint
from tests.here import run_here
from tests.raw_server import raw_server, whole
from tests.small import ANSWERS, APPS, Recorded, write_snapshot

LIST = "/api/v1/applications"
STATES = "/web/managed-resources"
TREE = "/web/resource-tree"
DEEP = "[" * 1200 + "]" * 1200


class Spoiled:
    """A snapshot that answers paths of these ends with other bytes."""

    offline = False

    def __init__(self, folder: Path, bodies: Mapping[str, bytes], status: int = 200) -> None:
        self._inner = SnapshotTransport([write_snapshot(folder)])
        self._bodies, self._status = bodies, status
        self.server, self.stats, self.now = self._inner.server, self._inner.stats, self._inner.now

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        for end, body in self._bodies.items():
            if path.endswith(end):
                return Answer(self._status, "application/json", body)
        return self._inner.get(path, query, anonymous=anonymous)


def looked_at(folder: Path, bodies: Mapping[str, bytes]) -> Part:
    """A check of the small fleet, of which these answers are spoiled."""
    rules = tuple(ChosenRule(r, r.default_options) for r in load_rules().values())
    with ReplayServer(Spoiled(folder, bodies)) as server:
        transport = HttpTransport(Connection(server.url, token=server.token()), retry_s=0.001)
        return lint.examine_shard(transport, Plan(rules, workers=4, deep=True))


def of_list(part: Part) -> list[str]:
    return [f.error for f in part.failures if f.stage == "applications"]


def of_web(part: Part, stage: str) -> list[Failure]:
    web = next(r for r in part.results if r.ref.name == "web")
    return [f for f in web.failures if f.stage == stage]


def listed(*more: Any) -> bytes:
    return json.dumps({"items": [*APPS, *more]}).encode()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([None, None], "2 entries of the application list cannot be read and left out: it is null and no object"),
        ([7], "1 entry of the application list cannot be read and left out: it is a number and no object"),
        ([{"spec": {}}, {"metadata": []}], "2 entries of the application list without a name left out"),
        (
            [APPS[1]],
            "1 entry of the application list left out, since an application of that name was listed before",
        ),
    ],
)
def test_entries_that_are_no_applications_are_told_and_the_others_looked_at(
    tmp_path: Path, more: list[Any], told: str
) -> None:
    part = looked_at(tmp_path, {LIST: listed(*more)})
    assert of_list(part) == [told]
    assert [r.ref.name for r in part.results] == ["web", "worker"]


def test_no_name_leads_to_another_path_of_the_server(tmp_path: Path) -> None:
    """Every HTTP client takes `..` for the way up, also as `%2E%2E`."""
    rules = tuple(ChosenRule(r, r.default_options) for r in load_rules().values())
    names = ("..", ".", "../../account", "%2e%2e", "web?x=1#")
    more = [{**APPS[0], "metadata": {"name": name, "namespace": "argocd"}} for name in names]
    with ReplayServer(Spoiled(tmp_path, {LIST: listed(*more)})) as server:
        transport = HttpTransport(Connection(server.url, token=server.token()), retry_s=0.001)
        part = lint.examine_shard(transport, Plan(rules, deep=True))
        asked = {seen.partition("?")[0] for seen in server.seen if "appNamespace" in seen}
    quoted = ("web", "worker", "..%2F..%2Faccount", "%252e%252e", "web%3Fx%3D1%23")
    assert {path.rpartition("/")[0] for path in asked} == {f"{LIST}/{name}" for name in quoted}
    failed = {f.app.name: f.error for r in part.results for f in r.failures if f.app and f.app.name in (".", "..")}
    assert failed == {name: f"nothing of the name {name!r} can be asked for" for name in (".", "..")}


def test_one_application_that_is_nested_too_deeply_is_told_and_the_others_looked_at(tmp_path: Path) -> None:
    for depth in (200, 1200):
        deep = {"metadata": {"name": "deep", "namespace": "argocd"}, "spec": {"source": "@"}}
        body = listed(deep).replace(b'"@"', b"[" * depth + b"]" * depth)
        part = looked_at(tmp_path / str(depth), {LIST: body})
        found = [f for f in part.failures if f.stage == "applications"]
        assert len(found) == 1
        assert "it is nested more than 128 levels deep" in found[0].error
        assert [r.ref.name for r in part.results] == ["web", "worker"]


def test_an_application_that_no_cluster_could_keep_is_told_and_the_others_looked_at(tmp_path: Path) -> None:
    large = {"metadata": {"name": "large", "namespace": "argocd"}, "status": {"x": "a" * 31_000_000}}
    part = looked_at(tmp_path, {LIST: listed(large)})
    assert of_list(part) == [
        "its entry of the list cannot be read: it has 31 MB, and etcd keeps no object of more than 10 MB"
    ]
    assert [r.ref.name for r in part.results] == ["web", "worker"]


def test_a_message_without_end_is_read_to_where_nobody_reads_on(tmp_path: Path) -> None:
    failed = {"conditions": [{"type": "ComparisonError", "message": "no such chart " * 300_000}]}
    spoiled = Spoiled(tmp_path, {LIST: listed({"metadata": {"name": "long"}, "status": failed})})
    *_, long = argocd.applications(spoiled)
    assert isinstance(long, Entry)
    (condition,) = long.raw["status"]["conditions"]
    assert condition["message"] == f"{'no such chart ' * 4681}…"


@pytest.mark.parametrize("end", [TREE, STATES])
def test_an_answer_of_nothing_but_tiny_objects_is_refused_and_the_others_looked_at(tmp_path: Path, end: str) -> None:
    body = b'{"items":[%s],"nodes":[%s]}' % (
        b",".join([b'{"kind":"A","name":"b"}'] * 20_000),
        b",".join([b"{}"] * 20_000),
    )
    part = looked_at(tmp_path, {end: body})
    (failure,) = of_web(part, end.rpartition("/")[2])
    assert f"{end} with 100,002 values in 0.5 MB, which is not how Argo CD answers" in failure.error
    assert [r.ref.name for r in part.results] == ["web", "worker"]


def test_one_application_that_is_no_utf8_is_told_and_the_others_looked_at(tmp_path: Path) -> None:
    part = looked_at(tmp_path, {LIST: listed({"metadata": {"name": "@"}}).replace(b'"@"', b'"\xff"')})
    assert of_list(part) == [
        "1 entry of the application list cannot be read and left out: it holds bytes that are not UTF-8"
    ]
    assert len(part.results) == 2


@pytest.mark.parametrize(
    "body", [b"[" * 1_000_000 + b"]" * 1_000_000, b"\xff\xfe", b"null", b"[]", b'{"items":{}}', b"", b"data: {}\n\n"]
)
def test_a_list_that_is_none_ends_the_check_with_a_clear_error(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(ConnectError) as caught:
        looked_at(tmp_path, {LIST: body})
    assert f"answered {LIST} with " in caught.value.message
    assert "check the server name" in caught.value.hint


@pytest.mark.parametrize("end", ["/api/version", "/projects", "/clusters", "/repositories", "/applicationsets"])
@pytest.mark.parametrize("body", [b"\xff", b"[", b"[]", b'{"items":[null],"Version":7}', b'{"items":5,"Version":[]}'])
def test_what_surrounds_the_list_may_be_rubbish(tmp_path: Path, end: str, body: bytes) -> None:
    part = looked_at(tmp_path, {end: body})
    path = end if end.startswith("/api") else f"/api/v1{end}"
    assert [f.error for f in part.failures if f"answered {path} with " in f.error]
    assert len(part.results) == 2


@pytest.mark.parametrize(
    ("end", "body", "stage", "told"),
    [
        (STATES, b'{"items":[{"kind":"A","name":"b","liveState":5}]}', "managed-resources", "another shape"),
        (STATES, b'{"items":[null]}', "managed-resources", "another shape"),
        (STATES, b'{"items":[{"kind":"A","name":"\xff"}]}', "managed-resources", "not UTF-8"),
        (STATES, b'{"items":[{"x":%s}]}' % (b"[" * 100_000), "managed-resources", "128 levels deep"),
        (TREE, b'{"nodes":[{"kind":"A","createdAt":"2026-13-45T99:00:00Z"}]}', "resource-tree", "another shape"),
        (TREE, b'{"nodes":[{"kind":"A","createdAt":"2026-01-01T00:00:00"}]}', "resource-tree", "another shape"),
        (STATES, b'{"items":[{"kind":"A","name":"b","liveState":"%s"}]}' % DEEP.encode(), "states", "128 levels deep"),
        (STATES, b'{"items":[{"kind":"A","name":"b","liveState":"[]"}]}', "states", "a list and no object"),
        (
            STATES,
            b'{"items":[{"kind":"A","name":"b","liveState":"%s"}]}' % (b"a" * 11_000_000),
            "states",
            "no object of more than 10 MB",
        ),
        (STATES, b'{"items":[{"kind":"A","name":"b","liveState":"{{"}]}', "states", "cannot be decoded"),
    ],
)
def test_rubbish_about_one_application_is_a_failure_of_that_one(
    tmp_path: Path, end: str, body: bytes, stage: str, told: str
) -> None:
    if stage == "states":  # a state is decoded when a rule or a suppression asks for it
        body = body.replace(b'"}]}', b' ","targetState":"{\\"argolint.dev/ignore.x\\":1}","modified":true}]}')
    part = looked_at(tmp_path, {end: body})
    found = of_web(part, stage)
    assert len(found) == 1
    assert told in found[0].error
    assert found[0].app is not None
    assert not any(told in f.error for r in part.results if r.ref.name == "worker" for f in r.failures)


def test_an_application_without_any_states_of_the_objects_it_lists_was_not_looked_at(tmp_path: Path) -> None:
    objects = [{"kind": "Service", "version": "v1", "namespace": "web", "name": "web", "status": "Synced"}]
    web = {**APPS[0], "status": {**APPS[0]["status"], "resources": objects}}
    part = looked_at(tmp_path, {LIST: json.dumps({"items": [web, APPS[1]]}).encode(), STATES: b'{"items":null}'})
    assert [f.error for f in of_web(part, "managed-resources")] == [
        "the server sent no states, and its list names objects of this application: 1"
    ]


NAMELESS = ['{"kind":[]}', '{"metadata":5}', '{"metadata":{"name":["a"]}}', '{"metadata":{"name":"a","namespace":{}}}']


@pytest.mark.parametrize("text", ["{{", "[1]", "5", '"x"', DEEP, *NAMELESS])
def test_a_manifest_that_is_no_object_is_told(tmp_path: Path, text: str) -> None:
    of_web = AppRef("argocd", "web", "shop")
    bodies = {
        "/manifests": json.dumps({"manifests": ['{"kind":"A"}', text]}).encode(),
        "/resource": json.dumps({"manifest": text}).encode(),
    }
    with ReplayServer(Spoiled(tmp_path, bodies)) as server:
        transport = HttpTransport(Connection(server.url, token=server.token()))
        for call in (
            lambda: argocd.manifests(transport, of_web),
            lambda: argocd.resource(transport, of_web, ResourceId("", "A", "", "a", "v1")),
        ):
            with pytest.raises(ConnectError, match=r"with a manifest (that is|whose .* is an? )"):
                call()


def test_what_the_server_repeats_of_an_applications_own_secret_is_not_told(tmp_path: Path) -> None:
    parameters = [{"name": "db.password", "value": "Correct-horse-9"}]
    app = {**APPS[0], "spec": {**APPS[0]["spec"], "source": {"helm": {"parameters": parameters}}}}
    said = {"message": "the tool failed: no Correct-horse-9 here"}
    answers: list[Recorded] = [
        (path, query, a, 400 if path.endswith(STATES) else status, said if path.endswith(STATES) else body)
        for path, query, a, status, body in (
            (p, q, a, s, {"items": [app]} if p == LIST else b) for p, q, a, s, b in ANSWERS
        )
    ]
    snapshot = write_snapshot(tmp_path / "snapshot", answers)
    for command in (("check", "--deep", "--full"), ("why", "web")):
        ran = run_here(*command, "--snapshot", snapshot, cwd=tmp_path)
        assert "the tool failed: no (masked) here" in " ".join((ran.out + ran.err).split())


def test_the_servers_words_are_told_in_one_line_without_control_characters(tmp_path: Path) -> None:
    words = "\x1b[2J\x9b31m\n::error::x " + "y" * 9000
    with ReplayServer(Spoiled(tmp_path, {LIST: json.dumps({"message": words}).encode()}, status=500)) as server:
        ran = run_argolint("check", "--server", server.address, "--plaintext", "--auth-token", server.token())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"argolint: {LIST}: 500 ")
    assert "::error::x yyy" in ran.err
    assert not set("\x1b\x9b") & set(ran.err)
    assert len(ran.err.splitlines()) == 1
    assert len(ran.err) < 1000


def test_a_rate_limit_is_told_from_the_message_limit(tmp_path: Path) -> None:
    hints = []
    for words in ("slow down", "grpc: trying to send message larger than max (233514532 vs. 209715200)"):
        body = json.dumps({"message": words}).encode()
        with ReplayServer(Spoiled(tmp_path / words[:4], {LIST: body}, status=429)) as server:
            transport = HttpTransport(Connection(server.url, token=server.token()))
            with pytest.raises(ApiError) as caught:
                argocd.applications(transport)
            hints.append(caught.value.hint)
    assert "with fewer --workers" in hints[0]
    assert "ARGOCD_GRPC_MAX_SIZE_MB" in hints[1]


def test_a_host_that_answers_everything_alike_is_told_to_be_no_argo_cd() -> None:
    with raw_server(whole(b'{"status":"ok"}')) as server:
        ran = run_argolint("check", "--server", server.url)
        assert (ran.code, ran.out) == (2, "")
        assert "with JSON of another shape than Argo CD's" in ran.err
        assert "missing required field `items`" in ran.err
        assert "check the server name" in ran.err
    with raw_server(whole(b"404 page not found", status="404 Not Found")) as server:
        ran = run_argolint("check", "--server", server.url)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"argolint: {LIST}: 404 404 page not found\n"
            "  → this may be no Argo CD: check the server name, its port and --grpc-web-root-path; "
            "a proxy or a login page may be in front of it\n"
        )
