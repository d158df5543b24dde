"""GETs over HTTP: one pooled session, bounded retries, and one clear message when there is no answer.

The token goes into one request header and nowhere else: not into URLs, logs, messages or another host, since redirects
are never followed (Argo CD's API sends none but the one from http to https).
"""

from __future__ import annotations

import random
import ssl
import threading
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from argolint.archive import TooLargeError, inflate
from argolint.connection import Connection
from argolint.errors import ConnectError
from argolint.tls import client_context
from argolint.transport import Answer, Query, Stats

TIMEOUTS_S = (30.0, 120.0)  # to connect, and between two bytes: managed-resources may wait for a refresh of the app
MAX_BODY_BYTES = 1 << 30
_CHUNK_BYTES = 16 << 20
_ATTEMPTS = 4
_WRONG_ADDRESS = "check --server, its port and --grpc-web-root-path; a proxy or a login page may stand in front of it"


class HttpTransport:
    """Reads a live server, `workers` requests at a time at most. `retry_s` is the mean wait before a first retry."""

    offline = False

    def __init__(
        self,
        connection: Connection,
        *,
        workers: int = 8,
        retry_s: float = 0.3,
        timeouts_s: tuple[float, float] = TIMEOUTS_S,
        max_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.server = connection.url
        self.stats = Stats()
        self._retry_s = retry_s
        self._timeouts_s = timeouts_s
        self._max_bytes = max_bytes
        self._patience = 2 * workers  # requests in a row without any answer, after which the server counts as gone
        self._lost = 0
        self._lock = threading.Lock()
        self._now: datetime | None = None
        self._token = _Token(connection)
        self._session = _session(connection, workers)

    def now(self) -> datetime:
        """The Date header of the first answer: the server's timestamps follow its clock, not ours."""
        with self._lock:
            self._now = self._now or datetime.now(UTC)
            return self._now

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        answer: Answer | None = None
        key_was_missing = False
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(self._retry_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))  # noqa: S311  # jitter
            try:
                answer = self._send(path, query, anonymous)
            except _NoAnswerError as error:
                if error.final or attempt == _ATTEMPTS - 1 or self._lost > self._patience:
                    self._lost += 1
                    raise ConnectError(error.message, error.hint) from None
                continue
            self._lost = 0
            if answer.status == 500 and b"key is missing" in answer.body and not key_was_missing:
                key_was_missing = True  # evicted from Redis; the server has just asked the controller to fill it again
                continue
            if answer.status not in (502, 503, 504):
                break
        assert answer is not None
        return self._from_argocd(answer, path)

    def _send(self, path: str, query: Query, anonymous: bool) -> Answer:
        auth = _no_token if anonymous else self._token
        try:
            with self._session.get(
                self.server + path,
                params=list(query),
                auth=auth,
                stream=True,
                timeout=self._timeouts_s,
                allow_redirects=False,
                verify=self._session.verify,  # left out, REQUESTS_CA_BUNDLE would win over --insecure
            ) as response:
                body = _body(response, self._max_bytes)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            self.stats.count(0)
            raise _no_answer(self.server, error, first=self.stats.bytes == 0) from None
        except TooLargeError as error:
            self.stats.count(0)
            message = f"the answer of {self.server} to {path} cannot be read: {error}"
            raise _NoAnswerError(
                message, "have the server's administrator look at what it answers", final=True
            ) from None
        except EOFError as error:
            self.stats.count(0)
            raise _NoAnswerError(
                f"{self.server} answered {path} with a damaged body: {error}", _WRONG_ADDRESS
            ) from None
        self.stats.count(len(body))
        self._take_time(response.headers.get("Date"))
        if response.is_redirect or 300 <= response.status_code < 400:
            raise _redirected(self.server, response.headers.get("Location", ""))
        return Answer(response.status_code, response.headers.get("Content-Type", ""), body)

    def _from_argocd(self, answer: Answer, path: str) -> Answer:
        """The answer, unless it is somebody else's: Argo CD answers JSON, or a line of text for an unknown route."""
        if answer.status == 400 and b"HTTPS" in answer.body and self.server.startswith("http:"):
            raise ConnectError(f"{self.server} speaks TLS on that port", "drop --plaintext")
        if "text/html" in answer.content_type or answer.body[:64].lstrip()[:1] == b"<":
            raise ConnectError(
                f"{self.server} answered {path} with an HTML page (status {answer.status}), where Argo CD sends JSON",
                _WRONG_ADDRESS,
            )
        return answer

    def _take_time(self, date: str | None) -> None:
        if self._now is None and date:
            try:
                told = parsedate_to_datetime(date)
            except ValueError:
                return
            with self._lock:
                self._now = self._now or told.astimezone(UTC)


class _NoAnswerError(Exception):
    def __init__(self, message: str, hint: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.final = final  # trying again cannot help


class _Token(AuthBase):
    """Sets the token on a request. Being an auth object, it also keeps requests from taking one out of ~/.netrc."""

    def __init__(self, connection: Connection) -> None:
        self._token = connection.token
        own = any(name.lower() == "authorization" for name, _ in connection.headers)
        # A user's own Authorization header is meant for a proxy in front; the server takes the token here as well.
        self._header, self._scheme = ("Grpc-Metadata-Token", "") if own else ("Authorization", "Bearer ")

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers[self._header] = self._scheme + self._token
        return request


def _no_token(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


class _Adapter(HTTPAdapter):
    """Pools connections under one TLS context."""

    def __init__(self, context: ssl.SSLContext, workers: int) -> None:
        self._context = context
        super().__init__(pool_connections=1, pool_maxsize=workers, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        return super().proxy_manager_for(proxy, ssl_context=self._context, **kwargs)


def _session(connection: Connection, workers: int) -> requests.Session:
    session = requests.Session()
    adapter = _Adapter(client_context(connection), workers)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    session.verify = not connection.insecure
    if connection.insecure:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the user asked for it
    if urlsplit(connection.url).hostname in ("localhost", "127.0.0.1", "::1"):
        session.trust_env = False  # a loopback address is never behind a proxy; Go's clients do the same
    session.headers.clear()
    session.headers.update({"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "argolint"})
    session.headers.update(dict(connection.headers))
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # a renewed login would come as one
    return session


def _body(response: requests.Response, limit: int) -> bytes:
    """The inflated body: read raw and inflated once, which costs half of what requests does chunk by chunk."""
    parts, total = [], 0
    while chunk := response.raw.read(_CHUNK_BYTES, decode_content=False):
        parts.append(chunk)
        total += len(chunk)
        if total > limit:
            raise TooLargeError(limit)
    body = b"".join(parts)
    return inflate(body, limit) if response.headers.get("Content-Encoding", "").lower() == "gzip" and body else body


def _no_answer(server: str, error: BaseException, *, first: bool) -> _NoAnswerError:
    """What an error means. A wrong name or certificate is final at `first`; once the server answered, it may pass."""
    cause = _root(error)
    text = (
        type(error).__name__ if isinstance(error, requests.exceptions.InvalidHeader) else str(cause)
    )  # that one quotes it
    if isinstance(error, requests.exceptions.ProxyError):
        return _NoAnswerError(
            f"the proxy in front of {server} gives no answer: {text}", "check HTTPS_PROXY and NO_PROXY"
        )
    if isinstance(cause, ssl.SSLError):
        if cause.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            return _NoAnswerError(
                f"{server} does not speak TLS on that port", "pass --plaintext, or check the port", final=first
            )
        reason = getattr(cause, "verify_message", "") or (cause.reason or "handshake failed").replace("_", " ").lower()
        hint = "pass --server-crt FILE with its authority's certificate, or --insecure to trust it unseen"
        return _NoAnswerError(f"TLS to {server} failed: {reason}", hint, final=first)
    if isinstance(error, requests.exceptions.ReadTimeout | urllib3.exceptions.ReadTimeoutError):
        hint = "the server is overloaded, or the application's controller is down"
        return _NoAnswerError(f"{server} did not answer in time", hint, final=True)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        hint = "check --server, its port, the network and the firewall"
        return _NoAnswerError(f"{server} cannot be reached in time", hint)
    if isinstance(cause, urllib3.exceptions.NameResolutionError | OSError) and "resol" in repr(error).lower():
        return _NoAnswerError(
            f"the name of {server} is not known", "check --server for a typing error, and the DNS", final=first
        )
    if isinstance(cause, ConnectionRefusedError):
        return _NoAnswerError(f"nothing listens at {server}: connection refused", "check --server and its port")
    hint = "the server or a proxy broke off; try again, or check --server and its port"
    return _NoAnswerError(f"{server} gave no whole answer: {text}", hint)


def _root(error: BaseException) -> BaseException:
    """The error at the bottom, under the wrappings of requests and urllib3."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = [getattr(error, "reason", None), error.__cause__, error.__context__, *error.args]
        error = next((e for e in inner if isinstance(e, BaseException)), error)
    return error


def _redirected(server: str, location: str) -> ConnectError:
    target = urlsplit(location)
    if target.scheme == "https" and server.startswith("http:") and target.hostname == urlsplit(server).hostname:
        return ConnectError(f"{server} redirects to https", "drop --plaintext (and http:// of --server)")
    where = f" to {target.scheme}://{target.hostname}" if target.hostname else ""
    return ConnectError(f"{server} redirects{where}; the token was not sent there", _WRONG_ADDRESS)
