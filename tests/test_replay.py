"""The server behind the demo refuses and answers as Argo CD does: checked with a bare HTTP client, not with ours."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from argolint.snapshots.http_server import USERNAME, Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.small import OF_WEB, WEB, write_snapshot
from tests.waiting import PATIENCE_S

SESSION = "/api/v1/session"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def small(tmp_path: Path) -> SnapshotTransport:
    return SnapshotTransport([write_snapshot(tmp_path / "small")])


@pytest.fixture
def server(small: SnapshotTransport) -> Iterator[ReplayServer]:
    with ReplayServer(small) as running:
        yield running


def ask(
    server: ReplayServer,
    path: str,
    headers: dict[str, str] | None = None,
    *,
    method: str = "GET",
    body: bytes | None = None,
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(server.address, timeout=PATIENCE_S)
    try:
        connection.request(method, server.root_path + path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def bearer(server: ReplayServer, lifetime: timedelta = timedelta(hours=1)) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token(lifetime)}"}


def message(body: bytes) -> str:
    found = json.loads(body)
    assert found["error"] == found["message"]
    return str(found["message"])


def query(*pairs: tuple[str, str]) -> str:
    return "?" + "&".join(f"{k}={v}" for k, v in pairs)


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, "no session information"),
        ({"Authorization": "Bearer opaque"}, "no session information"),
        ({"Authorization": "Bearer a.b.c"}, "invalid session: token signature is invalid: signature is invalid"),
        ({"Cookie": "argocd.token=a.b.c"}, "invalid session: token signature is invalid: signature is invalid"),
    ],
)
def test_a_request_without_a_good_token_is_refused_in_argo_cds_words(
    server: ReplayServer, headers: dict[str, str], why: str
) -> None:
    status, _, body = ask(server, "/api/v1/clusters", headers)
    assert (status, message(body)) == (401, why)


def test_an_expired_token_is_refused(server: ReplayServer) -> None:
    status, _, body = ask(server, "/api/v1/clusters", bearer(server, timedelta(hours=-1)))
    assert (status, message(body)) == (401, "invalid session: token has invalid claims: token is expired")


def test_a_token_may_come_in_any_of_three_places(server: ReplayServer) -> None:
    token = server.token()
    for headers in (
        {"Authorization": f"Bearer {token}"},
        {"Cookie": f"argocd.token={token}"},
        {"Grpc-Metadata-Token": token},
    ):
        assert ask(server, "/api/v1/clusters", headers)[0] == 200


def test_the_open_paths_answer_less_to_strangers(server: ReplayServer) -> None:
    def told(path: str, headers: dict[str, str]) -> Any:
        return json.loads(ask(server, path, headers)[2])

    assert told("/api/v1/session/userinfo", {}) == {}
    assert told("/api/v1/session/userinfo", bearer(server))["loggedIn"] is True
    assert "controllerNamespace" not in told("/api/v1/settings", {})
    assert told("/api/v1/settings", bearer(server))["controllerNamespace"] == "argocd"
    assert told("/api/version", {}) == {"Version": "v3.1.0"}


def test_a_login_with_the_printed_password_gives_a_token_that_works(server: ReplayServer) -> None:
    credentials = json.dumps({"username": USERNAME, "password": server.password}).encode()
    status, headers, body = ask(server, SESSION, JSON, method="POST", body=credentials)
    token = json.loads(body)["token"]
    assert status == 200
    assert headers["Set-Cookie"].startswith(f"argocd.token={token};")
    assert ask(server, "/api/v1/clusters", {"Authorization": f"Bearer {token}"})[0] == 200


@pytest.mark.parametrize(
    ("credentials", "status", "why"),
    [
        (b'{"username": "admin", "password": "guess"}', 401, "Invalid username or password"),
        (b'{"username": "admin"}', 401, "no credentials supplied"),
        (b"not json", 400, "invalid JSON"),
    ],
)
def test_a_login_that_fails_says_why(server: ReplayServer, credentials: bytes, status: int, why: str) -> None:
    found, _, body = ask(server, SESSION, JSON, method="POST", body=credentials)
    assert (found, message(body)) == (status, why)


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain"])
def test_a_post_needs_the_exact_content_type(server: ReplayServer, content_type: str) -> None:
    status, _, body = ask(server, SESSION, {"Content-Type": content_type}, method="POST", body=b"{}")
    assert (status, body) == (415, b"Invalid content type\n")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (WEB, 200),
        (WEB + query(("project", "ops")), 404),
        ("/api/v1/applications/gone", 403),
        ("/api/v1/applications/gone" + query(("project", "shop")), 404),
        ("/api/v1/applications" + query(("selector", "a in b")), 400),
        ("/api/v1/nothing", 501),
        (f"{WEB}/events" + query(*OF_WEB), 501),
    ],
)
def test_statuses_tell_missing_from_forbidden_as_argo_cd_does(server: ReplayServer, path: str, status: int) -> None:
    assert ask(server, path.replace(" ", "%20"), bearer(server))[0] == status


def test_filters_and_fields_are_honoured(server: ReplayServer) -> None:
    path = "/api/v1/applications" + query(("projects", "ops"), ("fields", "items.metadata.name"))
    found = json.loads(ask(server, path, bearer(server))[2])
    assert found == {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "worker"}}]}


def test_large_answers_are_gzipped_for_those_who_take_it_and_the_date_is_the_recordings(server: ReplayServer) -> None:
    plain = ask(server, "/api/v1/applications", bearer(server))
    packed = ask(server, "/api/v1/applications", {**bearer(server), "Accept-Encoding": "gzip"})
    assert packed[1]["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed[2]) == plain[2]
    assert plain[1]["Date"] == "Sun, 01 Mar 2026 12:00:00 GMT"


def test_under_a_root_path_the_api_stands_there_alone(small: SnapshotTransport) -> None:
    with ReplayServer(small, root_path="cd/") as server:
        assert server.url == f"http://{server.address}/cd"
        assert json.loads(ask(server, "/api/version")[2]) == {"Version": "v3.1.0"}
        assert b"<title>Argo CD</title>" in ask(server, "/../api/version")[2]
        assert server.seen == ["/cd/api/version", "/cd/../api/version"]


def test_every_other_page_is_the_user_interface(server: ReplayServer) -> None:
    status, headers, body = ask(server, "/applications/web")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>Argo CD</title>" in body


def test_a_redirecting_server_keeps_path_and_query(small: SnapshotTransport) -> None:
    with ReplayServer(small, faults=Faults(redirect_to="https://cd.example.com")) as server:
        status, headers, _ = ask(server, "/api/version?x=1")
        assert (status, headers["Location"]) == (307, "https://cd.example.com/api/version?x=1")


def test_a_token_dies_after_its_number_of_requests(small: SnapshotTransport) -> None:
    with ReplayServer(small, faults=Faults(token_dies_after=2)) as server:
        assert [ask(server, "/api/v1/clusters", bearer(server))[0] for _ in range(4)] == [200, 200, 401, 401]


def test_faults_hit_the_paths_they_name_and_no_other(small: SnapshotTransport) -> None:
    managed = f"{WEB}/managed-resources" + query(*OF_WEB)
    with ReplayServer(
        small, faults=Faults(invalid_json=("/clusters",), vanished=("web",), forbidden=("worker",))
    ) as server:
        assert ask(server, "/api/v1/clusters", bearer(server))[2].endswith(b"],")
        assert ask(server, managed, bearer(server))[0] == 404
        assert ask(server, "/api/v1/applications/worker?project=ops", bearer(server))[0] == 403
        assert len(json.loads(ask(server, "/api/v1/applications", bearer(server))[2])["items"]) == 2


def test_an_answer_over_the_message_limit_can_be_had_project_by_project(small: SnapshotTransport) -> None:
    with ReplayServer(small, faults=Faults(too_big=True)) as server:
        status, _, body = ask(server, "/api/v1/applications", bearer(server))
        assert status == 429
        assert "larger than max" in message(body)
        assert ask(server, "/api/v1/applications?projects=shop", bearer(server))[0] == 200


def test_what_was_asked_is_seen_in_order(server: ReplayServer) -> None:
    for path in ("/api/version", "/api/v1/settings"):
        ask(server, path)
    assert server.seen == ["/api/version", "/api/v1/settings"]
