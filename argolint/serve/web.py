"""The HTTP server: only GET and HEAD, from memory, for a limited number of connections.

A client that connects and sends nothing, or reads slowly, blocks no one: over the limit, the connection that has waited longest for its
request is closed, else the one with the slowest answer. Requests under a foreign host name that resolves to this machine (DNS rebinding)
are refused. TLS and finer access rights are left to a proxy.
"""

from __future__ import annotations

import contextlib
import hmac
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from argolint.errors import UsageError
from argolint.host.addresses import is_loopback
from argolint.serve.checker import Checker
from argolint.serve.documents import TEXT, Document, document
from argolint.serve.extension import Extension
from argolint.values.patterns import regex

CONNECTIONS = 64
_READ_S = 10.0
_WRITE_S = 60.0
_SLOW_S = 5.0
"""Seconds that an answer may take while others wait for a connection."""
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 5\r\nRetry-After: 5\r\n\r\nbusy\n"
_OPEN = ("/healthz", "/readyz")
"""Paths without a token: kubelets have none."""


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` or `[IPv6]:PORT`; an empty host means all addresses. UsageError for any other text."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or (":" in host and host[:1] != "["):
        raise UsageError(f"--listen {text!r} is no HOST:PORT", "for example --listen 127.0.0.1:9797")
    return host.strip("[]"), int(port)


class Web(ThreadingHTTPServer):
    """Serves a checker's documents on `host` and `port`. `token`: the token that clients must send; empty for none.

    `extension` answers requests of Argo CD's own UI, with its own token. `names`: further host names to accept, if the server listens only
    on this machine and needs no token: otherwise any web page could reach it under a name of its own.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        host: str,
        port: int,
        checker: Checker,
        token: str = "",
        extension: Extension | None = None,
        names: Collection[str] = (),
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.checker = checker
        self.token = token
        self.extension = extension or Extension()
        self._names = frozenset(name.lower() for name in names) if is_loopback(host) and not token else None
        self._lock = threading.Lock()
        self._open: dict[Any, float | None] = {}
        """Connections by age, with the start of their request's answer (time.monotonic)."""
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host or 'all addresses'}, port {port}: {error.strerror}",
                "name another with --listen",
            ) from None

    def server_bind(self) -> None:
        """Bind without a reverse lookup of the address, which may take long."""
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "argolint", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection, if there is room or the longest waiting one can be closed."""
        with self._lock:
            if len(self._open) >= CONNECTIONS:
                longest = self._longest()
                if longest is None:
                    self._refuse(request)
                    return
                del self._open[longest]
                _end(longest)
            self._open[request] = None
        super().process_request(request, client_address)

    def _longest(self) -> Any:
        """The connection to close: the first without a request, else one that takes too long to read its answer."""
        waiting = next((sock for sock, since in self._open.items() if since is None), None)
        if waiting is not None:
            return waiting
        since, sock = min(((since or 0.0, sock) for sock, since in self._open.items()), key=lambda pair: pair[0])
        return sock if time.monotonic() - since > _SLOW_S else None

    def serves(self, hosts: Collection[str]) -> bool:
        """True if the request's `Host` headers are accepted (there is none before HTTP/1.1)."""
        return self._names is None or all(
            is_loopback(name) or name in self._names for name in (_name(host) for host in hosts)
        )

    def _refuse(self, request: Any) -> None:
        with contextlib.suppress(OSError):  # the client may be gone
            request.settimeout(0.0)
            request.send(_BUSY)
        super().shutdown_request(request)

    def begins(self, request: Any) -> None:
        """Record that the request was read: the connection no longer waits."""
        with self._lock:
            if request in self._open:
                self._open[request] = time.monotonic()

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    @property
    def answering(self) -> int:
        """The number of requests that are being answered."""
        with self._lock:
            return sum(since is not None for since in self._open.values())

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that went away."""


def _end(sock: Any) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)  # its thread reads the end of the stream and finishes


_HOST = regex(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]:]+))(?::\d*)?", re.ASCII)


def _name(host: str) -> str:
    """The host of a `Host` header without its port; empty if it is invalid, as in `[::1].example.com`."""
    found = _HOST.fullmatch(host.strip().lower())
    return (found["address"] or found["name"]) if found else ""


class _Handler(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # otherwise an invalid request gets an answer without a status
    timeout = _READ_S
    server_version = "argolint"
    sys_version = ""

    def parse_request(self) -> bool:
        self.close_connection = True
        parsed = super().parse_request()
        self.close_connection = True  # one request per connection: none is kept open
        if parsed:
            self.server.begins(self.request)
            self.connection.settimeout(_WRITE_S)
        return parsed

    def do_GET(self) -> None:
        try:
            path = urlsplit(self.path).path
        except ValueError:
            self.send_error(400)
            return
        checker, extension = self.server.checker, self.server.extension
        if extension.claims(path, self.headers):
            self._send(*extension.answer(path, self.headers, checker.documents, ready=checker.ready))
            return
        if path not in _OPEN and not self.server.serves(self.headers.get_all("Host", [])):
            self._send(
                421, document(TEXT, b"ask for localhost, or start argolint serve with --host NAME or --token-file\n")
            )
            return
        if not self._may(path):
            self._send(
                401, document(TEXT, b"a bearer token is needed\n"), {"WWW-Authenticate": 'Bearer realm="argolint"'}
            )
            return
        states: dict[str, Callable[[], tuple[bool, str]]] = {
            "/healthz": lambda: (checker.alive, "ok" if checker.alive else "checks have ended"),
            "/readyz": lambda: (not checker.trouble, checker.trouble or "ok"),
        }
        if path == "/":
            self._send(302, document(TEXT, b"see /report.html\n"), {"Location": "report.html"})
        elif path in states:
            good, text = states[path]()
            self._send(200 if good else 503, document(TEXT, f"{text}\n".encode()))
        elif (found := checker.at(path)) is not None:
            self._send(200, found)
        else:
            self._send(404, document(TEXT, b"not found\n"))

    do_HEAD = do_GET  # noqa: N815  # the base class looks for this name

    def _may(self, path: str) -> bool:
        if not self.server.token or path in _OPEN:
            return True
        scheme, _, given = (self.headers.get("Authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.server.token.encode())

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer all errors of the base class without echoing the request."""
        refused = code == 501  # an unsupported method
        self.command = self.command or "GET"
        body = b"GET only\n" if refused else b"no request that is understood\n"
        self._send(405 if refused else code, document(TEXT, body), {"Allow": "GET, HEAD"} if refused else {})

    def _send(self, status: int, found: Document, headers: Mapping[str, str] | None = None) -> None:
        requested = getattr(self, "headers", None)
        packed = found.packed and "gzip" in ((requested and requested.get("Accept-Encoding")) or "")
        body = found.packed if packed else found.body
        self.send_response(status)
        given = {
            "Content-Type": found.content_type,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Connection": "close",
            **({"Content-Encoding": "gzip"} if packed else {}),
            **(headers or {}),
        }
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parameter's name is inherited
        """Log nothing: a log must not have addresses or tokens."""
