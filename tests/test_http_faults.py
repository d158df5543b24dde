"""Answers that break HTTP, last for ever, or want to fill the memory, from a real server on loopback."""

from __future__ import annotations

import gzip
import itertools
import json
import logging
import threading
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argolint.errors import ApiError, ConnectError
from argolint.host.inflate import SMALL_BYTES, Room, TooLargeError, held_together
from argolint.redaction import without_secrets
from argolint.server import api
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport, retry_after_s
from argolint.server.transport import Answer
from tests.raw_server import CLUSTERS, OK, Sender, raw_server, trickle, whole
from tests.waiting import until

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJhcmdvY2QifQ.c2lnbmF0dXJl"
LIST = b'{"items":[]}'


def transport(url: str, *, answer_s: float = 60.0, token: str = TOKEN) -> HttpTransport:
    return HttpTransport(
        Connection(url, token=token), workers=2, retry_s=0.001, answer_s=answer_s, idle_s=60.0, max_bytes=2 << 20
    )


def refusal(*answers: bytes | Sender, answer_s: float = 60.0) -> tuple[str, int]:
    """The one error of a request, and how many requests were made before it was told."""
    with raw_server(*answers) as server:
        with pytest.raises(ConnectError) as caught:
            transport(server.url, answer_s=answer_s).get(CLUSTERS)
        assert server.url in caught.value.message
        assert caught.value.hint
        assert TOKEN not in caught.value.message
        assert caught.value.message.isprintable()
        until(lambda: server.seen)  # the client may give up before the server has read what it asks
        return caught.value.message.replace(server.url, "SERVER"), len(server.seen)


@pytest.mark.parametrize("length", ["-5", "abc", "1e3", "5, 7", "+5", "0x10", ""])
def test_a_content_length_that_is_no_number_is_no_whole_answer(length: str) -> None:
    message, requests = refusal(whole(LIST, length=length))
    assert "damaged body: its Content-Length is" in message or "gave no whole answer" in message
    assert requests == 4


@pytest.mark.parametrize("length", ["13", "999999999999999999999999999999"])
def test_a_body_that_is_shorter_than_told_is_no_whole_answer(length: str) -> None:
    assert refusal(whole(LIST, length=length))[0].startswith("SERVER gave no whole answer to /api/v1/")


@pytest.mark.parametrize(
    "chunks",
    [b"c\r\n" + LIST + b"\r\n", b"c\r\n" + LIST[:6], b"ZZ\r\n" + LIST, b"-c\r\n" + LIST, b"", b"c" * 70_000],
)
def test_chunks_that_break_off_are_no_whole_answer(chunks: bytes) -> None:
    message, requests = refusal(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert message.startswith(
        ("SERVER gave no whole answer to /api/v1/", f"SERVER answered {CLUSTERS} with a damaged body: ")
    )
    assert requests == 4


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "\x9b31m"])
def test_an_encoding_that_was_not_asked_for_is_told(encoding: str) -> None:
    message, _ = refusal(whole(zlib.compress(LIST), f"Content-Encoding: {encoding}"))
    assert message.startswith(f"SERVER answered {CLUSTERS} with a damaged body: its Content-Encoding is ")


def spoiled(packed: bytes) -> Iterator[bytes]:
    yield packed[:-9]
    yield b"\x1f\x8b\x08\x00" + b"no gzip at all" * 4
    yield packed[:-6] + bytes([packed[-6] ^ 0xFF]) + packed[-5:]
    yield packed + b"garbage"
    yield gzip.compress(b"", mtime=0) * 50_000 + packed


@pytest.mark.parametrize("body", list(spoiled(gzip.compress(LIST * 50, mtime=0))))
def test_gzip_that_is_cut_or_damaged_is_told(body: bytes) -> None:
    message, _ = refusal(whole(body, "Content-Encoding: gzip"))
    assert message.startswith(f"SERVER answered {CLUSTERS} with a damaged body: it ")


@pytest.mark.parametrize(
    "slow",
    [
        trickle(OK + b"Content-Length: 100000\r\n\r\n", b"["),
        trickle(OK, b"x"),
        trickle(OK, b"X: y\r\n", every_s=0.01),
        trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        trickle(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n[\r\n"),
        trickle(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
    ],
    ids=["body", "header", "headers", "continue", "chunks", "trailer"],
)
def test_an_answer_that_never_ends_is_given_up_and_not_asked_for_again(slow: Sender) -> None:
    message, requests = refusal(slow, answer_s=0.3)
    assert message == f"SERVER did not end its answer to {CLUSTERS} within 0.3 s"
    assert requests == 1


def endless() -> Iterator[bytes]:
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"
    yield from itertools.repeat(b"[" * (1 << 20))


def bomb() -> Iterator[bytes]:
    yield whole(gzip.compress(b" " * (64 << 20), mtime=0), "Content-Encoding: gzip")


@pytest.mark.parametrize(
    "huge",
    [
        whole(b" " * (3 << 20)),
        bomb,
        whole(gzip.compress(b" " * (1 << 20), mtime=0) * 3, "Content-Encoding: x-gzip"),
        endless,
    ],
    ids=["plain", "bomb", "members", "endless chunk"],
)
def test_an_answer_that_is_too_large_is_given_up_and_not_asked_for_again(huge: bytes | Sender) -> None:
    message, requests = refusal(huge)
    assert message == f"the answer of SERVER to {CLUSTERS} cannot be read: it is larger than 2 MB"
    assert requests == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304, 399])
def test_no_redirect_is_followed_and_its_body_never_read(status: int) -> None:
    with raw_server(whole(LIST)) as other:
        location = f"Location: {other.url}/api?state=x"
        endless_body = trickle(whole(b"", location, "Content-Encoding: gzip", status=f"{status} X", length="999"), b"x")
        message, requests = refusal(endless_body)
        assert message == "SERVER redirects to http://127.0.0.1; the token was not sent there"
        assert (requests, other.seen) == (1, [])


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("", "SERVER redirects; the token was not sent there"),
        ("/login", "SERVER redirects; the token was not sent there"),
        ("http://[::1/x", "SERVER redirects to an invalid address"),
        ("http://127.0.0.1:99999999/x", "SERVER redirects to http://127.0.0.1; the token was not sent there"),
        ("javascript:alert(1)", "SERVER redirects; the token was not sent there"),
        (f"http://{TOKEN}.example/", "SERVER redirects to http://(masked); the token was not sent there"),
        ("https://127.0.0.1/", "SERVER redirects to https"),
    ],
)
def test_whatever_a_redirect_names_is_told_in_plain_words(location: str, told: str) -> None:
    message, requests = refusal(whole(b"", f"Location: {location}", status="302 Found"))
    assert (message, requests) == (told, 1)


def test_a_redirect_with_control_characters_is_printed_without_them() -> None:
    message, _ = refusal(whole(b"", "Location: http://e\x9b31mvil\x07/" + "a" * 50_000, status="302 Found"))
    assert "redirects to http://e" in message
    assert len(message) < 200


@pytest.mark.parametrize(
    "date",
    [
        "Mon, 01 Jan 2024 00:00:00 +" + "9" * 99,
        "Fri, 31 Dec 9999 23:59:59 -2300",
        "Mon, 01 Jan 0001 00:00:00 +2300",
        "Mon, 01 Jan 0099 00:00:00 GMT",
        "Mon, 99 Foo 2024 99:99:99 GMT",
        "\x80",
        "",
    ],
)
def test_a_date_that_cannot_be_is_passed_over_for_our_own_clock(date: str) -> None:
    with raw_server(whole(LIST, f"Date: {date}")) as server:
        found = transport(server.url)
        assert found.get(CLUSTERS).status == 200
        assert abs(found.now() - datetime.now(UTC)) < timedelta(hours=1)


@pytest.mark.parametrize("header", ["no colon at all", ": no name", "X-Ok: y\r\n continued", "X\x9b: \x07"])
def test_a_header_that_is_none_costs_no_answer(header: str, capfd: pytest.CaptureFixture[str]) -> None:
    with raw_server(OK + header.encode("latin-1") + b"\r\nContent-Length: 12\r\n\r\n" + LIST) as server:
        assert transport(server.url).get(CLUSTERS).body == LIST
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_headers_is_told() -> None:
    assert refusal(whole(LIST, *(f"X-{n}: y" for n in range(200))))[0].startswith(
        "SERVER gave no whole answer to /api/v1/"
    )
    assert refusal(whole(LIST, "X: " + "y" * 100_000))[0].startswith("SERVER gave no whole answer to /api/v1/")


@pytest.mark.parametrize(("status", "requests"), [("429 X", 2), ("503 X", 2)])
def test_a_server_that_asks_to_come_again_is_asked_again(status: str, requests: int) -> None:
    with raw_server(whole(b"", "Retry-After: 0", status=status), whole(LIST)) as server:
        assert transport(server.url).get(CLUSTERS).body == LIST
        assert len(server.seen) == requests


def test_a_server_that_asks_for_ever_is_asked_four_times() -> None:
    with raw_server(whole(b"", "Retry-After: 0", status="429 Too Many Requests")) as server:
        assert transport(server.url).get(CLUSTERS).status == 429
        assert len(server.seen) == 4


def test_no_server_makes_us_wait_longer_than_20_seconds() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(days=300), usegmt=True)
    past = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
    headers = ("3", "999999999", soon, past, "-5", "1e9", "9" * 5000, "soon", "", None)
    assert [retry_after_s(h) for h in headers] == [3.0, 20.0, 20.0, 0.0, *[None] * 6]
    theirs = "Thu, 01 Jan 2026 00:00:00 GMT"  # a clock that is far from ours
    assert retry_after_s("Thu, 01 Jan 2026 00:00:07 GMT", theirs) == 7.0


def test_a_gateway_that_stays_down_is_not_tried_four_times_for_ever() -> None:
    with raw_server(whole(b"", status="502 Bad Gateway")) as server:
        found = transport(server.url)
        for _ in range(8):
            assert found.get(CLUSTERS).status == 502
        assert len(server.seen) == 5 * 4 + 3, "after five requests in vain each further one is tried once"


def test_a_token_that_the_server_repeats_is_cut_out_of_its_answer() -> None:
    words = json.dumps({"message": f"your token was {TOKEN}, {TOKEN}"}).encode()
    with raw_server(whole(words, status="500 X")) as server:
        made = Connection(server.url, token=TOKEN, headers=(("Authorization", "Basic c2VjcmV0c2VjcmV0"),))
        body = HttpTransport(made, retry_s=0.001).get(CLUSTERS).body
        assert json.loads(body) == {"message": "your token was (hidden), (hidden)"}
    shown = json.dumps({"url": "https://argocd.example.com"}).encode()
    own = (("X-Forwarded-Host", "argocd.example.com"), ("X-Key", "k3y-of-the-proxy"))
    with raw_server(whole(shown), whole(b"k3y-of-the-proxy is wrong", status="403 X")) as server:
        found = HttpTransport(Connection(server.url, token=TOKEN, headers=own), retry_s=0.001)
        assert found.get(CLUSTERS).body == shown, "a header's value may be what an answer has to show"
        assert found.get(CLUSTERS).body == b"(hidden) is wrong"
    named = (("X-Api-Key", "correct-horse-battery"),)
    with raw_server(
        whole(b'{"name": "correct-horse-battery"}', f"Content-Type: text/correct-horse-battery; t={TOKEN}")
    ) as server:
        answer = HttpTransport(Connection(server.url, token=TOKEN, headers=named), retry_s=0.001).get(CLUSTERS)
        assert (answer.content_type, answer.body) == ("text/(hidden); t=(hidden)", b'{"name": "(hidden)"}')
    with raw_server(b"HTTP/9.9 c2VjcmV0c2VjcmV0\r\n\r\n") as server:
        made = Connection(server.url, headers=(("Authorization", "Basic c2VjcmV0c2VjcmV0"),))
        with pytest.raises(ConnectError) as caught:
            HttpTransport(made, retry_s=0.001).get(CLUSTERS)
        assert "c2VjcmV0" not in caught.value.message


def test_the_password_of_a_proxy_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (
        "http://ci:correct-horse/x@127.0.0.1:1",
        "http://ci:correct-horse@127.0.0.1:x",
        "socks9://correct-horse",
    ):
        monkeypatch.setenv("http_proxy", address)
        with pytest.raises(ConnectError, match="or that of the proxy in front of it, cannot be used") as raised:
            transport("http://cd.example.com").get(CLUSTERS)
        assert "horse" not in raised.value.message
        assert raised.value.hint == without_secrets(raised.value.hint)


def test_what_is_no_header_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with raw_server(b"HTTP/1.1 200 OK\r\n" + TOKEN.encode() + b"\r\n: x\r\n\r\n{}") as server:
        transport(server.url).get(CLUSTERS)
    assert "/api/v1/clusters" in caplog.text
    assert TOKEN not in caplog.text


def test_one_thread_at_a_time_holds_more_than_a_little() -> None:
    room, order = Room(4 * SMALL_BYTES), []
    large, small = bytes(SMALL_BYTES + 1), bytes(1000)
    entered, may_leave = threading.Event(), threading.Event()

    def first() -> None:
        with held_together():
            room.read([large], gzipped=False, until=time.monotonic() + 60)
            entered.set()
            may_leave.wait(60)
            order.append("first leaves")

    def second() -> None:
        with held_together():
            room.read([gzip.compress(large, 1, mtime=0)], gzipped=True, until=time.monotonic() + 60)
            order.append("second reads")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(60)
    threads[1].start()
    assert room.read([small], gzipped=False, until=time.monotonic()) == small, "what is small waits for nobody"
    with pytest.raises(TimeoutError, match="one at a time"):
        room.read([large], gzipped=False, until=time.monotonic())
    may_leave.set()
    for thread in threads:
        thread.join(60)
    assert order == ["first leaves", "second reads"]


def test_who_waits_to_hold_much_lets_the_one_that_does_ask_for_more() -> None:
    large = whole(b'{"large": "%s"}' % bytes(SMALL_BYTES).replace(b"\0", b" "))
    began, may_ask, answers = threading.Event(), threading.Event(), []

    def first() -> None:
        with held_together():
            answers.append(t.get(CLUSTERS).status)
            began.set()
            may_ask.wait(60)
            answers.append(t.get(CLUSTERS).status)

    with raw_server(large, large, whole(LIST)) as server:
        t = HttpTransport(Connection(server.url, token=TOKEN), workers=1, answer_s=20.0)
        threads = [
            threading.Thread(target=first),
            threading.Thread(target=lambda: answers.append(t.get(CLUSTERS).status)),
        ]
        threads[0].start()
        assert began.wait(60)
        threads[1].start()
        until(lambda: len(server.seen) == 2)
        may_ask.set()
        for thread in threads:
            thread.join(60)
    assert answers == [200, 200, 200]
    assert len(server.seen) == 3


def test_what_is_read_of_one_application_is_bounded_as_a_whole() -> None:
    room, until = Room(2 * SMALL_BYTES), time.monotonic() + 60
    with held_together():
        for _ in range(2):
            room.read([bytes(SMALL_BYTES)], gzipped=False, until=until)
        with pytest.raises(TooLargeError, match="larger than 64 MB"):
            room.read([b"x"], gzipped=False, until=until)
        with pytest.raises(TooLargeError, match="larger than 64 MB"):
            room.read([gzip.compress(b"x", mtime=0)], gzipped=True, until=until)
    assert room.read([bytes(2 * SMALL_BYTES)], gzipped=False, until=until), "the next one has all of it again"


GOOD = OK + b"Content-Length: 12\r\nDate: Mon, 02 Mar 2026 10:00:00 GMT\r\nRetry-After: 0\r\n\r\n" + LIST


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_in_an_answer_give_an_answer_or_an_error(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(GOOD)))
    gone = data.draw(st.integers(0, 30))
    put = data.draw(st.binary(max_size=12) | st.sampled_from([b"\r\n", b"\r\n\r\n", b"Transfer-Encoding: chunked\r\n"]))
    message = ""
    with raw_server(GOOD[:at] + put + GOOD[at + gone :]) as server:
        try:
            assert isinstance(transport(server.url, answer_s=1.0).get(CLUSTERS), Answer)
        except ConnectError as error:
            message = error.message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("dial tcp 10.96.7.1:8081: connect: connection refused", "argocd-repo-server"),
        ("error reading from server: EOF of argocd-repo-server:8081", "argocd-repo-server"),
        ("dial tcp: lookup argocd-redis on 10.96.0.10:53: no such host", "argocd-redis"),
    ],
)
def test_a_part_of_argocd_that_restarts_is_named(words: str, part: str) -> None:
    body = json.dumps({"code": 14, "message": f"rpc error: code = Unavailable desc = {words}"}).encode()
    answer = whole(body, "Content-Type: application/json", status="500 Internal Server Error")
    with raw_server(answer) as server, pytest.raises(ApiError) as caught:
        api.clusters(transport(server.url))
    assert caught.value.hint.startswith(f"{part} does not answer the server: it restarts")


def test_a_server_that_answered_a_moment_ago_restarts() -> None:
    with raw_server(whole(LIST, "Content-Type: application/json")) as server:
        asked = transport(server.url)
        asked.get(CLUSTERS)
    with pytest.raises(ConnectError) as caught:
        asked.get(CLUSTERS)
    assert caught.value.hint.startswith(
        "it answered a moment ago: argocd-server, or a proxy in front of it, is restarting"
    )


NO_ANSWERS: dict[str, bytes] = {
    "HTTP of another kind": LIST,
    "the preface of HTTP/2": b"\x00\x00\x12\x04" + b"\x00" * 23,
    "a version that is none": b"HTTP/3.7 200 OK\r\nContent-Length: 12\r\n\r\n" + LIST,
    "a status of four digits": whole(LIST, status="1000 x"),
    "a status below zero": whole(LIST, status="-1 x"),
    "a status that is no number": whole(LIST, status="2e2 x"),
    "two lengths": whole(LIST, "Content-Length: 5"),
    "a chunk of less than nothing": OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + LIST,
    "a chunk beyond counting": OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFF\r\n" + LIST,
    "a chunk with an endless remark": OK + b"Transfer-Encoding: chunked\r\n\r\nc;" + b"a" * 100_000 + b"\r\n" + LIST,
    "a header without end": whole(LIST, "X: " + "a" * 70_000),
    "a first line without end": whole(LIST, status="200 " + "a" * 70_000),
    "an alert of TLS": b"\x15\x03\x01\x00\x02\x02\x28",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "gzip in gzip": whole(gzip.compress(gzip.compress(LIST)), "Content-Encoding: gzip, gzip"),
    "an encoding that is no text": whole(LIST, "Content-Encoding: \xff\xfe"),
}


@pytest.mark.parametrize("kind", NO_ANSWERS)
def test_what_is_no_answer_of_http_is_told_as_such(kind: str) -> None:
    message, requests = refusal(NO_ANSWERS[kind])
    assert message.startswith(
        ("SERVER gave no whole answer to /api/v1/", "SERVER answered /api/v1/clusters with a damaged body: ")
    )
    assert requests == 4


@pytest.mark.parametrize(
    "header",
    ["Set-Cookie: a=evil; Domain=127.0.0.1", "Alt-Svc: h2=evil.example", "Refresh: 0; url=http://evil.example/"],
)
def test_no_header_of_an_answer_comes_back_in_the_next_request(header: str) -> None:
    with raw_server(whole(LIST, header)) as server:
        client = transport(server.url)
        assert [client.get(CLUSTERS).body for _ in range(2)] == [LIST, LIST]
    assert b"evil" not in b"".join(server.seen)
