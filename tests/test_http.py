"""The HTTP client against a real server on loopback that misbehaves in every way a real one may."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import certifi
import pytest

from argolint.engine.load import read_fleet
from argolint.errors import ConnectError, UsageError
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import recording
from tests.small import OF_WEB, WEB, write_snapshot
from tests.waiting import until

CLUSTERS = "/api/v1/clusters"


@pytest.fixture
def small(tmp_path: Path) -> SnapshotTransport:
    return SnapshotTransport([write_snapshot(tmp_path / "small")])


@contextmanager
def served(
    snapshot: SnapshotTransport, faults: Faults | None = None, **connection: object
) -> Iterator[tuple[HttpTransport, ReplayServer]]:
    with ReplayServer(snapshot, faults=faults) as server:
        made = Connection(server.url, token=server.token(), **connection)  # type: ignore[arg-type]  # fields by name
        yield HttpTransport(made, workers=4, retry_s=0.001, max_bytes=8 << 20), server


def refusal(transport: HttpTransport, path: str = CLUSTERS) -> ConnectError:
    """The one error of a request; every one names the server, says what to do, and holds no token."""
    with pytest.raises(ConnectError) as caught:
        transport.get(path)
    assert transport.server in caught.value.message
    assert caught.value.hint
    assert "eyJ" not in caught.value.message + caught.value.hint
    return caught.value


def test_every_answer_of_a_recording_is_the_same_over_http() -> None:
    folder = recording("seeds/1-stuck")
    snapshot = SnapshotTransport([folder])
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    with ReplayServer(snapshot) as server:
        transport = HttpTransport(Connection(server.url, token=server.token()))

        def both(r: dict[str, object]) -> bool:
            query, path, anonymous = [(k, v) for k, v in r["query"]], str(r["path"]), bool(r["anonymous"])  # type: ignore[attr-defined]
            return transport.get(path, query, anonymous=anonymous) == snapshot.get(path, query, anonymous=anonymous)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(both, requests))
        assert transport.stats.requests == len(requests)


def test_now_is_the_servers_clock_from_its_first_answer(small: SnapshotTransport) -> None:
    with served(small) as (transport, _):
        transport.get("/api/version")
        assert transport.now() == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_without_any_answer_now_is_the_local_clock_and_stays() -> None:
    transport = HttpTransport(Connection("http://127.0.0.1:1"))
    before = datetime.now(UTC)
    assert before <= transport.now() <= datetime.now(UTC)
    assert transport.now() == transport.now()


def test_gateway_errors_are_tried_again_and_counted(small: SnapshotTransport) -> None:
    with served(small, Faults(unavailable=3)) as (transport, server):
        assert transport.get(CLUSTERS).status == 200
        assert len(server.seen) == transport.stats.requests == 4


def test_a_gateway_error_that_stays_is_the_answer(small: SnapshotTransport) -> None:
    with served(small, Faults(unavailable=99)) as (transport, server):
        assert transport.get(CLUSTERS).status == 503
        assert len(server.seen) == 4


@pytest.mark.parametrize(("missing", "status", "requests"), [(1, 200, 2), (9, 500, 2)])
def test_a_missing_cache_key_is_tried_again_once(
    small: SnapshotTransport, missing: int, status: int, requests: int
) -> None:
    with served(small, Faults(keys_missing=missing)) as (transport, server):
        assert transport.get(f"{WEB}/managed-resources", OF_WEB).status == status
        assert len(server.seen) == requests


@pytest.mark.parametrize(
    ("faults", "path", "status"),
    [
        (Faults(too_big=True), "/api/v1/applications", 429),
        (Faults(forbidden=("web",)), WEB, 403),
        (Faults(vanished=("web",)), f"{WEB}?project=shop", 404),
        (Faults(token_dies_after=0), CLUSTERS, 401),
    ],
)
def test_refusals_are_answers_and_are_not_tried_again(
    small: SnapshotTransport, faults: Faults, path: str, status: int
) -> None:
    with served(small, faults) as (transport, server):
        assert transport.get(path).status == status
        assert len(server.seen) == 1


def test_a_page_of_a_proxy_is_told_from_argo_cd(small: SnapshotTransport) -> None:
    with served(small, Faults(html=(CLUSTERS,))) as (transport, _):
        assert f"answered {CLUSTERS} with an HTML page (status 200)" in refusal(transport).message


def test_a_wrong_root_path_meets_the_user_interface_and_names_the_option(small: SnapshotTransport) -> None:
    with ReplayServer(small, root_path="/cd") as server:
        found = refusal(HttpTransport(Connection(server.url.removesuffix("/cd"), token=server.token())))
        assert "HTML page" in found.message
        assert "--grpc-web-root-path" in found.hint
        assert HttpTransport(Connection(server.url, token=server.token())).get(CLUSTERS).status == 200


def test_a_cut_body_is_tried_again_and_then_told(small: SnapshotTransport) -> None:
    with served(small, Faults(cut=(CLUSTERS,))) as (transport, server):
        assert "gave no whole answer" in refusal(transport).message
        assert len(server.seen) == 4


def test_a_server_that_keeps_us_waiting_is_told_and_not_asked_again(small: SnapshotTransport) -> None:
    with ReplayServer(small, faults=Faults(slow_s=1.0)) as server:
        transport = HttpTransport(Connection(server.url, token=server.token()), idle_s=0.05)
        assert "did not answer in time" in refusal(transport).message
        until(lambda: server.seen)  # the client may give up before the server has read what it asks
        assert server.seen == [CLUSTERS]


def test_a_huge_answer_is_refused_before_it_fills_the_memory(small: SnapshotTransport) -> None:
    with served(small, Faults(huge=(CLUSTERS,))) as (transport, server):
        assert "larger than 8 MB" in refusal(transport).message
        assert len(server.seen) == 1


def test_a_redirect_to_https_names_the_option_to_drop(small: SnapshotTransport) -> None:
    with served(small, Faults(redirect_to="https://127.0.0.1")) as (transport, _):
        found = refusal(transport)
        assert "redirects to https" in found.message
        assert "--plaintext" in found.hint


def test_a_redirect_to_another_host_is_not_followed_and_its_query_not_shown(small: SnapshotTransport) -> None:
    with ReplayServer(small) as other, served(small, Faults(redirect_to=f"{other.url}/x?state=abc")) as (transport, _):
        assert "redirects to http://127.0.0.1; the token was not sent there" in refusal(transport).message
        assert other.seen == []


def test_an_anonymous_request_carries_no_token(small: SnapshotTransport) -> None:
    with served(small) as (transport, _):
        assert json.loads(transport.get("/api/v1/session/userinfo", anonymous=True).body) == {}
        assert json.loads(transport.get("/api/v1/session/userinfo").body)["loggedIn"] is True


def test_an_own_authorization_header_goes_to_the_proxy_and_the_token_to_argo_cd(small: SnapshotTransport) -> None:
    with served(small, headers=(("Authorization", "Basic cHJveHk6eA=="),)) as (transport, _):
        assert transport.get(CLUSTERS).status == 200


def test_a_netrc_file_does_not_replace_the_token(
    small: SnapshotTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with served(small) as (transport, _):
        assert transport.get(CLUSTERS).status == 200


def test_a_proxy_of_the_environment_is_not_asked_for_a_loopback_address(
    small: SnapshotTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with served(small) as (transport, _):
        assert transport.get(CLUSTERS).status == 200


def test_a_port_where_nothing_listens_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        transport = HttpTransport(Connection(f"http://127.0.0.1:{port}"), retry_s=0.001)
        assert "connection refused" in refusal(transport).message


def test_an_unknown_server_is_told_at_once() -> None:
    transport = HttpTransport(Connection("https://argocd.invalid"), retry_s=0.001)
    found = refusal(transport)
    assert "the name of https://argocd.invalid is not known" in found.message
    assert transport.stats.requests == 1


def test_a_server_that_is_gone_is_not_asked_for_ever() -> None:
    transport = HttpTransport(Connection("http://127.0.0.1:1"), workers=1, retry_s=0.001)
    for _ in range(6):
        refusal(transport)
    assert transport.stats.requests == 3 * 4 + 3, "after three requests in vain each further one is tried once"


def test_tls_to_a_plain_port_names_plaintext(small: SnapshotTransport) -> None:
    with ReplayServer(small) as server:
        found = refusal(HttpTransport(Connection(f"https://{server.address}"), retry_s=0.001))
        assert "does not speak TLS" in found.message
        assert "--plaintext" in found.hint


def test_something_else_on_the_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            for _ in range(4):
                peer, _ = listener.accept()
                with peer:
                    peer.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
                    peer.recv(1 << 16)

        threading.Thread(target=greet, daemon=True).start()
        transport = HttpTransport(Connection(f"http://127.0.0.1:{listener.getsockname()[1]}"), retry_s=0.001)
        assert "gave no whole answer" in refusal(transport).message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-made certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*made, *files], check=True, capture_output=True)
    return cert, key


@contextmanager
def served_over_tls(
    small: SnapshotTransport, certificate: tuple[Path, Path], *, mutual: bool = False
) -> Iterator[ReplayServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificate[0])
    with ReplayServer(small, tls=context) as server:
        yield server


def test_a_self_made_certificate_is_refused_and_the_options_named(
    small: SnapshotTransport, certificate: tuple[Path, Path]
) -> None:
    with served_over_tls(small, certificate) as server:
        found = refusal(HttpTransport(Connection(server.url, token=server.token())))
        assert "self-signed certificate" in found.message.replace("self signed", "self-signed")
        assert "--server-crt" in found.hint
        assert "--insecure" in found.hint
        assert server.seen == []


def test_server_crt_and_insecure_let_a_self_made_certificate_pass(
    small: SnapshotTransport, certificate: tuple[Path, Path]
) -> None:
    with served_over_tls(small, certificate) as server:
        pem = certificate[0].read_text()
        assert HttpTransport(Connection(server.url, token=server.token(), ca_pem=pem)).get(CLUSTERS).status == 200
        assert HttpTransport(Connection(server.url, token=server.token(), insecure=True)).get(CLUSTERS).status == 200


def test_insecure_holds_whatever_authorities_the_environment_names(
    small: SnapshotTransport, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`127.1` is loopback under a name for which requests reads its environment."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", certifi.where())
    monkeypatch.setenv("NO_PROXY", "*")
    with served_over_tls(small, certificate) as server:
        url = server.url.replace("127.0.0.1", "127.1")
        transport = HttpTransport(Connection(url, token=server.token(), insecure=True), retry_s=0.001)
        assert transport.get(CLUSTERS).status == 200


def test_a_server_on_ipv6_answers() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")

    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(1 << 16)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with listener:
        threading.Thread(target=answer, daemon=True).start()
        assert HttpTransport(Connection(f"http://[::1]:{listener.getsockname()[1]}")).get(CLUSTERS).body == b"{}"


def test_a_client_certificate_is_shown_to_a_server_that_asks_for_one(
    small: SnapshotTransport, certificate: tuple[Path, Path]
) -> None:
    cert, key = (path.read_text() for path in certificate)
    with served_over_tls(small, certificate, mutual=True) as server:
        with_pair = Connection(server.url, token=server.token(), ca_pem=cert, client_pem=f"{cert}\n{key}")
        assert HttpTransport(with_pair).get(CLUSTERS).status == 200
        refusal(HttpTransport(Connection(server.url, token=server.token(), ca_pem=cert), retry_s=0.001))


def test_an_encrypted_key_is_an_error_and_asks_no_terminal(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    locked = tmp_path / "locked.pem"
    locking: list[str | Path] = [
        "openssl",
        "rsa",
        "-aes128",
        "-passout",
        "pass:open-sesame",
        "-in",
        certificate[1],
        "-out",
        locked,
    ]
    subprocess.run(locking, check=True, capture_output=True)
    with pytest.raises(UsageError, match="the key of --client-crt-key is encrypted"):
        HttpTransport(Connection("https://127.0.0.1", client_pem=certificate[0].read_text() + locked.read_text()))


def test_what_is_no_certificate_is_told_without_showing_it() -> None:
    with pytest.raises(UsageError) as caught:
        HttpTransport(Connection("https://127.0.0.1", client_pem="-----BEGIN secret"))
    assert "a TLS certificate or key cannot be used" in caught.value.message
    assert "secret" not in caught.value.message


def test_no_text_of_a_transport_or_connection_shows_the_token(small: SnapshotTransport) -> None:
    with served(small) as (transport, server):
        made = Connection(server.url, token="a.b.c", headers=(("Authorization", "Basic x"),), client_pem="key")
        assert "a.b.c" not in repr(made)
        assert "Basic" not in repr(made)
        transport.get(CLUSTERS)
        assert server.seen == [CLUSTERS]


def test_a_token_of_one_project_says_that_others_are_unseen(small: SnapshotTransport) -> None:
    with ReplayServer(small) as server:
        ours = Connection(f"http://{server.address}", token=server.token(subject="proj:shop:ci"))
        fleet, _ = read_fleet(HttpTransport(ours, retry_s=0.001))
    assert fleet.remarks == (
        "The token is of project shop alone: applications of other projects, what they own, and the settings of projects are not seen.",
    )
