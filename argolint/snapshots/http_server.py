"""An HTTP server on loopback that answers like the Argo CD of a snapshot, faults included.

Used by `argolint demo` and the tests of the client. Sources of its behavior: server/server.go, util/session, util/http/http.go and
server/application/application.go of Argo CD.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import ssl
import threading
import time
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qsl, urlsplit

import msgspec

from argolint.errors import ArgolintError, NotRecorded, UsageError
from argolint.quick.records import dataclass
from argolint.server.transport import Answer, Transport
from argolint.snapshots.http_stream import Stream
from argolint.snapshots.narrow import APPLICATIONS
from argolint.snapshots.reader import refused
from argolint.values.decoding import decoder, json_value

USERNAME = "admin"
_OPEN = frozenset({"/api/version", "/api/v1/settings", "/api/v1/session/userinfo", "/swagger.json"})
_SESSION = "/api/v1/session"
STREAM = "/api/v1/stream/applications"
_UI = b"<!doctype html><html><head><title>Argo CD</title></head><body><div id='app'></div></body></html>"
_MAX_POST_BYTES = 1 << 16
_credentials = decoder(dict[str, str])


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults to simulate. Tuples contain ends of paths, such as `/managed-resources` or `/applications/web/events`."""

    slow_s: float = 0.0  # before each answer
    unavailable: int = 0  # that many first requests are answered 503
    keys_missing: int = 0  # that many first managed-resources are answered 500 `key is missing`
    too_big: bool = False  # the application list is answered 429, unless it is requested by project
    cut: tuple[str, ...] = ()  # the body is truncated
    html: tuple[str, ...] = ()  # a proxy's page in place of the answer
    huge: tuple[str, ...] = ()  # 64 MB of blanks, a few KB compressed
    invalid_json: tuple[str, ...] = ()
    garbled: tuple[str, ...] = ()  # managed-resources whose states are no JSON
    vanished: tuple[str, ...] = ()  # names of applications that are listed and then deleted
    forbidden: tuple[str, ...] = ()  # names of applications that are listed and may not be read
    no_stream: bool = False  # the stream of changes is forbidden
    token_dies_after: int | None = None  # requests with a token, after which it expires
    redirect_to: str = ""  # every request is answered 307 to that address


class ReplayServer:
    """Serves `transport` on 127.0.0.1 while entered. `seen`: each request's path and query, in order of arrival."""

    def __init__(
        self,
        transport: Transport,
        *,
        port: int = 0,
        faults: Faults | None = None,
        root_path: str = "",
        tls: ssl.SSLContext | None = None,
        stream: Stream | None = None,
    ) -> None:
        self.transport = transport
        self.faults = faults or Faults()
        self.stream = stream or Stream()
        self.root_path = f"/{root_path.strip('/')}" if root_path.strip("/") else ""
        self.password = secrets.token_urlsafe(9)
        self.seen: list[str] = []
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._http = _Server(("127.0.0.1", port), self)
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.address = f"127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{'https' if tls else 'http'}://{self.address}{self.root_path}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="replay", daemon=True)

    def __enter__(self) -> ReplayServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.cut()
        self._http.shutdown()
        self._http.server_close()

    def token(self, lifetime: timedelta = timedelta(hours=24), subject: str = f"{USERNAME}:login") -> str:
        """A token of this server, by default of a login: a JWT that no other server accepts."""
        now = datetime.now(UTC)
        claims = {
            "iss": "argocd",
            "sub": subject,
            "iat": int(now.timestamp()),
            "exp": int((now + lifetime).timestamp()),
        }
        signed = f"{_b64(msgspec.json.encode({'alg': 'HS256', 'typ': 'JWT'}))}.{_b64(msgspec.json.encode(claims))}"
        return f"{signed}.{self._signature(signed)}"

    def refusal(self, token: str) -> str:
        """Why a token is refused, in the server's words; empty if it is accepted. Without three parts it counts as no token."""
        if token.count(".") != 2:
            return "no session information"
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature, self._signature(signed)):
            return "invalid session: token signature is invalid: signature is invalid"
        claims = json_value(base64.urlsafe_b64decode(signed.split(".")[1] + "=="))
        limit = self.faults.token_dies_after
        if claims["exp"] < datetime.now(UTC).timestamp() or (limit is not None and self.count("token") > limit):
            return "invalid session: token has invalid claims: token is expired"
        return ""

    def count(self, what: str) -> int:
        """The number of calls for `what`, this one included."""
        with self._lock:
            self._counts[what] = self._counts.get(what, 0) + 1
            return self._counts[what]

    def _signature(self, signed: str) -> str:
        return _b64(hmac.new(self._key, signed.encode(), hashlib.sha256).digest())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], replay: ReplayServer) -> None:
        self.replay = replay
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body are sent together

    def do_GET(self) -> None:
        replay, faults = self.server.replay, self.server.replay.faults
        try:
            url = urlsplit(self.path)
        except ValueError:
            self.send_error(400)
            return
        with replay._lock:
            replay.seen.append(self.path)
        if faults.slow_s:
            time.sleep(faults.slow_s)
        if faults.redirect_to:
            self._send(Answer(307, "text/html", b""), {"Location": faults.redirect_to + self.path})
            return
        path = url.path.removeprefix(replay.root_path)
        if not url.path.startswith(replay.root_path + "/") or not path.startswith(("/api/", "/swagger.json")):
            self._send(Answer(200, "text/html; charset=utf-8", _UI))
            return
        if faults.unavailable and replay.count("503") <= faults.unavailable:
            self._send(refused(503, 14, "upstream connect error"))
            return
        query = parse_qsl(url.query, keep_blank_values=True)
        answer = self._answer(path, query)
        if path == STREAM and answer.status == 200:
            self._stream(query)
            return
        if path.endswith(faults.html):
            answer = Answer(answer.status, "text/html", b"<html><body>Sign in to continue</body></html>")
        elif path.endswith(faults.invalid_json):
            answer = Answer(answer.status, answer.content_type, answer.body[:-1] + b",")
        elif path.endswith(faults.huge):
            answer = Answer(answer.status, answer.content_type, b" " * (64 << 20))
        elif path.endswith(faults.garbled) and answer.status == 200:
            answer = Answer(200, answer.content_type, answer.body.replace(b'State":"{', b'State":"{{'))
        self._send(answer, cut=path.endswith(faults.cut))

    def do_POST(self) -> None:
        if self.headers.get("Content-Type") != "application/json":
            self._send(Answer(415, "text/plain; charset=utf-8", b"Invalid content type\n"), close=True)
            return
        length = int(self.headers.get("Content-Length") or 0)
        if urlsplit(self.path).path != self.server.replay.root_path + _SESSION or length > _MAX_POST_BYTES:
            self._send(_not_found(), close=True)
            return
        try:
            given = _credentials(self.rfile.read(length))
        except msgspec.MsgspecError:
            self._send(refused(400, 3, "invalid JSON"))
            return
        if not given.get("username") or not given.get("password"):
            self._send(refused(401, 16, "no credentials supplied"))
        elif (given["username"], given["password"]) != (USERNAME, self.server.replay.password):
            self._send(refused(401, 16, "Invalid username or password"))
        else:
            token = self.server.replay.token()
            body = msgspec.json.encode({"token": token})
            self._send(Answer(200, "application/json", body), {"Set-Cookie": f"argocd.token={token}; path=/; HttpOnly"})

    def date_time_string(self, timestamp: float | None = None) -> str:  # the recording's clock, not ours
        return format_datetime(self.server.replay.transport.now(), usegmt=True)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parameter's name is inherited
        """Log nothing: the requests are in `seen`."""

    def _answer(self, path: str, query: list[tuple[str, str]]) -> Answer:
        replay, faults = self.server.replay, self.server.replay.faults
        refusal = replay.refusal(self._token())
        if refusal and path not in _OPEN:
            return refused(401, 16, refusal)
        if path == STREAM:
            return refused(403, 7, "permission denied") if faults.no_stream else Answer(200, "text/event-stream", b"")
        if path == APPLICATIONS and faults.too_big and not any(name == "projects" for name, _ in query):
            return refused(429, 8, "grpc: trying to send message larger than max (233514532 vs. 209715200)")
        name = path.removeprefix(APPLICATIONS + "/").split("/", 1)[0] if path.startswith(APPLICATIONS + "/") else ""
        if name and name in (*faults.vanished, *faults.forbidden):
            if name in faults.forbidden or not any(p[0] == "project" for p in query):
                return refused(403, 7, "permission denied")
            return refused(404, 5, f'applications.argoproj.io "{name}" not found')
        if faults.keys_missing and path.endswith("/managed-resources") and replay.count("key") <= faults.keys_missing:
            return refused(500, 2, "error getting cached app managed resources: cache: key is missing")
        try:
            return replay.transport.get(path, query, anonymous=bool(refusal) and path != "/swagger.json")
        except NotRecorded as error:
            if path == "/api/v1/session/userinfo":
                return Answer(200, "application/json", b"{}")
            return refused(501, 12, error.message) if path.startswith("/api/") else _not_found()
        except UsageError as error:
            return refused(400, 3, error.message)
        except ArgolintError as error:
            return refused(500, 13, error.message)

    def _stream(self, query: list[tuple[str, str]]) -> None:
        """Send events until the stream is cut or the client is gone."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        known = json_value(self.server.replay.transport.get(APPLICATIONS).body)["items"] or ()
        for data in self.server.replay.stream.events(query, known):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _token(self) -> str:
        """The token of a request, from the places that Argo CD reads, in its order; empty if there is none."""
        if token := self.headers.get("Grpc-Metadata-Token"):
            return token
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        if scheme == "Bearer" and token.count(".") == 2:
            return token
        try:
            cookie = SimpleCookie(self.headers.get("Cookie") or "").get("argocd.token")
        except CookieError:
            return ""
        return cookie.value if cookie else ""

    def _send(
        self, answer: Answer, headers: dict[str, str] | None = None, *, cut: bool = False, close: bool = False
    ) -> None:
        body = answer.body
        self.send_response(answer.status, HTTPStatus(answer.status).phrase)
        self.send_header("Content-Type", answer.content_type)
        if "gzip" in (self.headers.get("Accept-Encoding") or "") and len(body) > 256:
            packer = zlib.compressobj(1, wbits=31)
            body = packer.compress(body) + packer.flush()
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if cut or close:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _not_found() -> Answer:
    return Answer(404, "text/plain; charset=utf-8", b"Not Found\n")
