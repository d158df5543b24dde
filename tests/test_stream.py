"""Server-sent events as they arrive: in any pieces, of any kind, and never more of them in memory than one event may hold."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argolint.errors import ApiError, AuthError, ConnectError
from argolint.serve.stream import MAX_EVENT_BYTES, Changed, events, opened, signs
from argolint.serve.times import Times
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from tests.raw_server import Sender, raw_server, trickle, whole

EVENT = b'data: {"result":{"type":"MODIFIED","application":{"metadata":{"name":"web","namespace":"argocd"},"spec":{"project":"shop"}}}}\n\n'
WEB = Changed("argocd", "web", "shop")


def told(*chunks: bytes) -> list[object]:
    return [sign for sign in signs(chunks, "https://cd") if sign != "alive"]


def test_events_in_any_pieces() -> None:
    stream = b":\n\n" + EVENT + b"event: update\r\nid: 7\r\n" + EVENT.replace(b"\n", b"\r\n") + EVENT
    for size in (1, 2, 3, 7, 64, 1000):
        assert told(*(stream[i : i + size] for i in range(0, len(stream), size))) == [WEB] * 3


def test_lines_of_data_are_one_event_and_its_cut_end_is_none() -> None:
    split = b'data: {"result":\ndata:{"application":{"metadata":{"name":"a"}}}}\n\n' + EVENT[:-1]
    assert told(split) == [Changed("", "a", "")]


def test_a_comment_is_a_sign_of_life() -> None:
    assert list(signs([b":\n", b"\n"], "https://cd")) == ["alive", "alive"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1e999",
        b'"\xff"',
        b"{}",
        b'{"result":{}}',
        b'{"result":{"application":null}}',
        b'{"result":{"application":{"metadata":{"name":7}}}}',
        b'{"result":{"application":{"metadata":{"name":""}}}}',
        b'{"result":{"application":{"metadata":{"name":"' + b"n" * 254 + b'"}}}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_event_is_passed_over(data: bytes) -> None:
    assert told(b"data: " + data + b"\n\n" + EVENT) == ["unreadable", WEB]


def test_an_error_of_the_server_ends_the_stream() -> None:
    with pytest.raises(ConnectError, match="https://cd ended its stream: broken"):
        told(b'data: {"error":{"grpc_code":13,"message":"broken"}}\n\n')
    with pytest.raises(AuthError, match="no longer accepts the token: expired"):
        told(b'data: {"error":{"grpc_code":16,"message":"expired"}}\n\n')


@pytest.mark.parametrize(
    ("piece", "times"),
    [(b"x" * 65536, 1 << 30 >> 16), (b"data: " + b"x" * 60_000 + b"\n", 2000), (b"data:\n" * 10_000, 30)],
    ids=["1 GB and no newline", "120 MB in lines", "300,000 empty lines"],
)
def test_a_giant_event_is_never_in_memory(piece: bytes, times: int) -> None:
    def endless() -> Iterator[bytes]:
        yield b"data: "
        for _ in range(times):
            yield piece
        yield b"\n\n" + EVENT

    tracemalloc.start()
    try:
        found = list(_data(events(endless())))
        assert tracemalloc.get_traced_memory()[1] < 6 * MAX_EVENT_BYTES
    finally:
        tracemalloc.stop()
    assert found == [b"", EVENT.removeprefix(b"data: ").strip()]


def _data(found: Iterable[bytes | None]) -> Iterator[bytes]:
    return (data for data in found if data is not None)


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_break_it(chunks: list[bytes]) -> None:
    """What comes before it may swallow the first event, never the second."""
    assert told(*chunks, b"\n\n", EVENT)[-1:] == [WEB]


SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
ECHO = b'data: {"error":{"grpc_code":13,"message":"it was token-of-the-test"}}\n\n'
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SSE + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK, "broke off its stream"),
        (SSE + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK + b"zz\r\n", "broke off its stream"),
        (SSE + b"Content-Encoding: gzip\r\n\r\n" + EVENT, "compressed, which was not asked for"),
        (whole(b"{}", "Content-Type: application/json"), "with application/json, and no event stream"),
        (whole(b"", "Location: http://192.0.2.1/x", status="307 Moved"), "the token was not sent there"),
        (whole(b"{}", "Content-Type: a/token-of-the-test"), r"with a/\(hidden\), and no event stream"),
        (SSE + b"\r\n" + ECHO, r"ended its stream: it was \(hidden\)"),
        (trickle(SSE + b"\r\n" + EVENT, b"", every_s=5), "fell silent in the middle of its stream"),
    ],
    ids=["cut", "no chunk", "compressed", "no stream", "redirect", "echo of a type", "echo", "silent"],
)
def test_a_stream_that_is_none_or_ends_badly_says_so(answer: bytes | Sender, said: str) -> None:
    idle_s = 1.0 if "silent" in said else 60.0
    with raw_server(answer) as server:
        t = HttpTransport(Connection(server.url, "token-of-the-test"))
        with (
            pytest.raises(ConnectError, match=said) as raised,
            opened(t, dataclasses.replace(Times(), idle_s=idle_s)) as found,
        ):
            list(found)
    assert "token-of-the-test" not in raised.value.message


def test_a_refusal_of_the_stream_is_what_it_is_elsewhere() -> None:
    for status, body, error in (
        ("401 No", b'{"message":"token is expired"}', AuthError),
        ("403 No", b'{"message":"permission denied"}', ApiError),
    ):
        with raw_server(whole(body, "Content-Type: application/json", status=status)) as server:
            t = HttpTransport(Connection(server.url, "token-of-the-test"))
            with pytest.raises(error, match=r"expired|denied"), opened(t, Times()):
                pass
