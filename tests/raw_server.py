"""A server on loopback that sends a test's bytes unchanged: answers that no HTTP library can send."""

from __future__ import annotations

import contextlib
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Sender = Callable[[], Iterable[bytes]]
CLUSTERS = "/api/v1/clusters"
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"


def whole(body: bytes, *headers: str, status: str = "200 OK", length: str | None = None) -> bytes:
    """An answer with a Content-Length, the true one by default."""
    lines = [
        f"HTTP/1.1 {status}",
        "Connection: close",
        *headers,
        f"Content-Length: {len(body) if length is None else length}",
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def trickle(start: bytes, drop: bytes, *, every_s: float = 0.02) -> Sender:
    """Some bytes, and then the same few repeatedly without end."""

    def send() -> Iterator[bytes]:
        yield start
        while True:
            yield drop
            time.sleep(every_s)

    return send


class RawServer(socketserver.ThreadingTCPServer):
    """`seen` has the head of each request."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: Iterable[bytes | Sender]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.seen: list[bytes] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: the client often leaves in the middle of an answer."""


class _Handler(socketserver.StreamRequestHandler):
    server: RawServer

    def handle(self) -> None:
        head = b""
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head += line
        with_number = len(self.server.seen)
        self.server.seen.append(head)
        answer = self.server.answers[min(with_number, len(self.server.answers) - 1)]
        with contextlib.suppress(OSError):
            for part in [answer] if isinstance(answer, bytes) else answer():
                self.wfile.write(part)


@contextmanager
def raw_server(*answers: bytes | Sender) -> Iterator[RawServer]:
    """Serve the answers one after the other, one for each connection; the last one from then on."""
    with RawServer(answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
