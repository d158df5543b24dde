"""GETs over HTTP: one pooled session, limited retries, and one clear message if there is no answer.

The token is sent in one request header only: never in URLs, logs, messages or to another host, since redirects are not followed (Argo CD's
API sends none except from http to https). If an answer repeats the token, it is removed.
"""

from __future__ import annotations

import contextlib
import random
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
import urllib3
from requests.auth import AuthBase

from argolint.errors import MORE_MEMORY, PROXY_ADDRESS, ConnectError
from argolint.host.inflate import Aside, Room, TooLargeError
from argolint.redaction import excerpt
from argolint.redaction.names import is_secret, sort_of
from argolint.server.api import TOO_LARGE
from argolint.server.connection import Connection
from argolint.server.pace import PER_CLUSTER, Pace, Reply
from argolint.server.pool import Session, bounded
from argolint.server.token import project_of
from argolint.server.transport import Answer, Query, Stats

# to connect, and between two bytes: managed-resources may wait for a refresh of the app
CONNECT_S, IDLE_S = 30.0, 120.0
ANSWER_S = 180.0  # for one whole answer
MAX_ANSWER_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 20  # http.client buffers this much, and a part may be one byte
_STREAMED_BYTES = 64 << 10
_ATTEMPTS = 4
RETRY_S = 0.3  # mean wait before a first retry
_RESTART = 3  # times the usual wait
_GONE = 50  # requests in a row, each sent once, after which a silent server counts as gone
_SILENT = 2.0  # it also counts as gone after this many times the time limit of one answer without any,
_SILENT_LEAST_S = 60.0  # but at least a minute, since it may restart,
_SILENT_LEAST = 3  # and this many requests, since one application may be too much for it
_GATEWAY = (502, 503, 504)
_RETRY_AFTER_S = 20.0  # longest wait, whatever the server asks for
_PROXY = f"check --server and HTTPS_PROXY: {PROXY_ADDRESS}"
_YEARS = range(2015, 2200)  # plausible years of a Date header, since rules calculate with it
_WRONG_ADDRESS = "check --server, its port and --grpc-web-root-path; a proxy or a login page may be in front of it"


class HttpTransport:
    """Reads a live server with at most `workers` requests at a time, `per_cluster` of them for one cluster, and `rate` per second if given.

    `project`: the only one that the token may see, if any.

    `retry_s`: the mean wait before a first retry (default: RETRY_S); `answer_s`: the time limit of one whole answer; `gone_s`: the time without any answer
    after which the server counts as gone (default: twice `answer_s`); `max_bytes`: the limit of one answer, of the data of one application,
    and of the data of all threads together.
    """

    offline = False

    def __init__(
        self,
        connection: Connection,
        *,
        workers: int = 8,
        rate: float | None = None,
        per_cluster: int = PER_CLUSTER,
        retry_s: float | None = None,
        idle_s: float = IDLE_S,
        answer_s: float = ANSWER_S,
        gone_s: float | None = None,
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self.server = connection.url
        self.stats = Stats()
        self._retry_s = RETRY_S if retry_s is None else retry_s
        self._answer_s = answer_s
        self._timeouts_s = (min(CONNECT_S, answer_s), min(idle_s, answer_s))
        self._room = Room(max_bytes)
        self._gone_s = gone_s or max(_SILENT_LEAST_S, _SILENT * answer_s)
        self._patience = 2 * workers  # requests in a row without an answer of Argo CD, after which it counts as gone
        self._lost = 0
        self._silent_since = 0.0  # when the first of those began
        self._met = False  # it has answered: after a restart it is back within seconds
        self._lock = threading.Lock()
        self._now: datetime | None = None
        self._verify = False if connection.insecure else None
        self.project = project_of(connection.token or "")
        self._token = _Token(connection)
        self._credentials = _words((connection.token, *(v for n, v in connection.headers if _is_credential(n, v))))
        self._private = _words((connection.token, *(value for _, value in connection.headers)))
        self._session = Session(connection, workers)
        self._pace = Pace(workers, rate, per_cluster, lambda: self.stats.count_all(0, 0, slowed=1))

    def now(self) -> datetime:
        """The Date header of the first answer: the server's timestamps use its clock, not ours."""
        with self._lock:
            self._now = self._now or datetime.now(UTC)
            return self._now

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        answer: Answer | None = None
        key_was_missing = False
        retry_s = self._retry_s
        self._require_there()
        began: float | None = None
        for attempt in range(_ATTEMPTS):
            if attempt:
                backoff_s = retry_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311  # jitter
                time.sleep(backoff_s)  # and as long as the server asked for: `hold`
            last = attempt == _ATTEMPTS - 1 or self._lost > self._patience
            try:
                with self._pace.request(_kind(path)) as reply:
                    self._require_there()  # it may have gone while this request waited for its turn
                    began = time.monotonic() if began is None else began
                    answer, wait_s = self._send(path, query, anonymous, reply)
            except _NoAnswerError as error:
                if self._met:
                    retry_s = self._retry_s * _RESTART
                if error.final or last:
                    self._lose(began)
                    raise ConnectError(self._safe(error.message), error.hint) from None
                continue
            if answer.status == 500 and b"key is missing" in answer.body and not key_was_missing:
                key_was_missing = True  # evicted from Redis; the server has just asked the controller to fill it again
                continue
            if not reply.refused:
                self._lost, self._met = 0, True
                break
            if last:
                self._lose(began)
                break
            if self._met:
                retry_s = self._retry_s * _RESTART
            if wait_s:
                self._pace.hold(wait_s)
        assert answer is not None
        return self._from_argocd(answer, path)

    def _lose(self, began: float | None) -> None:
        """Count a request without an answer of Argo CD."""
        with self._lock:
            if not self._lost:
                self._silent_since = began or time.monotonic()
            self._lost += 1

    def _require_there(self) -> None:
        """ConnectError if the server counts as gone: too many requests in a row, or for too long, had no answer."""
        most = self._patience + _GONE
        silent = self._lost >= max(_SILENT_LEAST, self._patience // 2)
        why = ""  # one text for any number of requests, so that it is reported once
        if self._lost > most:
            why = f"more than {most} requests in a row had no answer of Argo CD"
        elif silent and time.monotonic() - self._silent_since > self._gone_s:
            why = f"no request had an answer of Argo CD for more than {self._gone_s:g} s"
        if why:
            raise ConnectError(f"{self.server} is not asked any more: {why}", "run again when the server is up")

    @contextlib.contextmanager
    def stream(self, path: str, query: Query, *, idle_s: float, whole_s: float, max_bytes: int) -> Iterator[Streamed]:
        """An event stream: GET `path`, without a retry.

        It ends with the server, after `idle_s` without a byte, after `whole_s`, or after `max_bytes`; for a refusal, the body is read as
        usual. Raises ConnectError if there is no answer, and from the chunks if they break off.
        """
        until = time.monotonic() + whole_s
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-cache"}
        try:
            with (
                bounded(until, max_bytes),
                self._session.get(
                    self.server + path,
                    params=list(query),
                    auth=self._token,
                    headers=headers,
                    stream=True,
                    timeout=(self._timeouts_s[0], idle_s),
                    allow_redirects=False,
                    verify=self._verify,
                ) as response,
            ):
                self.stats.count(0)
                if 300 <= response.status_code < 400:
                    raise _redirected(self.server, response.headers.get("Location", ""))
                content_type = self._content_type(response)
                if response.status_code >= 400:
                    body = _without(self._private, self._body(response, time.monotonic() + self._timeouts_s[0]))
                    yield Streamed(Answer(response.status_code, content_type, body), iter(()), self._safe)
                    return
                if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
                    raise _NoAnswerError(
                        f"{self.server} answered {path} compressed, which was not asked for", _WRONG_ADDRESS
                    )
                yield Streamed(Answer(response.status_code, content_type, b""), self._arriving(response), self._safe)
        except _NoAnswerError as error:
            raise ConnectError(self._safe(error.message), error.hint) from None
        except _BROKEN as error:
            raise self._broken(error, path) from None

    def _arriving(self, response: requests.Response) -> Iterator[bytes]:
        """The chunks of the response as they arrive."""
        try:
            while chunk := response.raw.read1(_STREAMED_BYTES, decode_content=False):
                yield chunk
        except (TimeoutError, urllib3.exceptions.ReadTimeoutError):
            raise ConnectError(f"{self.server} fell silent in the middle of its stream", _AGAIN) from None
        except _BROKEN:
            raise ConnectError(f"{self.server} broke off its stream", _AGAIN) from None

    def _broken(self, error: BaseException, path: str) -> ConnectError:
        if isinstance(error, TooLargeError | ValueError | EOFError):
            return ConnectError(self._safe(f"{self.server} sent a damaged stream: {error}"), _WRONG_ADDRESS)
        lost = _no_answer(self.server, error, path, first=self.stats.bytes == 0)
        return ConnectError(self._safe(lost.message), lost.hint)

    def _send(self, path: str, query: Query, anonymous: bool, reply: Reply) -> tuple[Answer, float | None]:
        """The answer, and the seconds that the server asks to wait before the next request, if any."""
        began = time.monotonic()
        until = began + self._answer_s
        try:
            with (
                bounded(until, self._room.limit),
                self._session.get(
                    self.server + path,
                    params=list(query),
                    auth=_no_token if anonymous else self._token,
                    stream=True,
                    timeout=self._timeouts_s,
                    allow_redirects=False,
                    verify=self._verify,
                ) as response,
            ):
                reply.seconds = time.monotonic() - began
                if 300 <= response.status_code < 400:
                    self.stats.count(0)
                    raise _redirected(self.server, response.headers.get("Location", ""))
                body = self._body(response, until, reply.aside)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            self.stats.count(0)
            reply.seconds = None  # an incomplete answer is no answer
            if time.monotonic() >= until:
                raise _late(self.server, path, self._answer_s) from None
            raise _no_answer(self.server, error, path, first=self.stats.bytes == 0) from None
        except (TooLargeError, MemoryError) as error:
            self.stats.count(0)
            reason = str(error) or "it does not fit into the memory that is left"
            message = f"the answer of {self.server} to {path} cannot be read: {reason}"
            hint = "have the server's administrator look at what it answers, or pass --max-answer MB"
            hint = MORE_MEMORY if isinstance(error, MemoryError) else hint
            raise _NoAnswerError(message, hint, final=True) from None
        except (EOFError, ValueError) as error:  # the latter for a chunk of negative length
            self.stats.count(0)
            raise _NoAnswerError(
                f"{self.server} answered {path} with a damaged body: {error}", _WRONG_ADDRESS
            ) from None
        self.stats.count(len(body))
        self._take_time(response.headers.get("Date"))
        wait_s = retry_after_s(response.headers.get("Retry-After"), response.headers.get("Date"))
        # Argo CD's own 429 means that the answer is too large: a retry would not help.
        too_many = response.status_code == 429 and TOO_LARGE.encode() not in body
        reply.refused = too_many or response.status_code in _GATEWAY
        # An error may repeat any header; elsewhere a header's value may be a host name that an answer has to show.
        hidden = self._private if response.status_code >= 400 else self._credentials
        return Answer(response.status_code, self._content_type(response), _without(hidden, body)), wait_s

    def _content_type(self, response: requests.Response) -> str:
        """The content type, safe for a message or a snapshot."""
        sent = response.headers.get("Content-Type", "").encode("utf-8", "replace")
        return _without(self._private, sent).decode("utf-8", "replace")

    def _body(self, response: requests.Response, until: float, aside: Aside = nullcontext) -> bytes:
        """The decompressed body: reading it raw and decompressing once costs half of what requests does chunk by chunk."""
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise EOFError(f"its Content-Encoding is {excerpt(encoding, 40)}, and gzip was asked for")
        length = response.headers.get("Content-Length")
        if length is not None and not re.fullmatch(r"[0-9]+", length.strip()):
            raise EOFError(f"its Content-Length is {excerpt(length, 40)!r}")
        return self._room.read(_chunks(response), gzipped=encoding.endswith("gzip"), until=until, aside=aside)

    def _from_argocd(self, answer: Answer, path: str) -> Answer:
        """The answer if it comes from Argo CD, which answers JSON, or a line of text for an unknown route; otherwise raises."""
        if answer.status == 400 and b"HTTPS" in answer.body and self.server.startswith("http:"):
            raise ConnectError(f"{self.server} speaks TLS on that port", "drop --plaintext")
        if "text/html" in answer.content_type or answer.body[:64].lstrip()[:1] == b"<":
            raise ConnectError(
                f"{self.server} answered {path} with an HTML page (status {answer.status}), where Argo CD sends JSON",
                _WRONG_ADDRESS,
            )
        return answer

    def _take_time(self, date: str | None) -> None:
        if self._now is None and date and (sent := _time(date)) is not None:
            with self._lock:
                self._now = self._now or sent

    def _safe(self, message: str) -> str:
        """The message without secrets that the server may repeat."""
        return excerpt(_without(self._private, message.encode("utf-8", "replace")).decode("utf-8", "replace"), 600)


@dataclass(frozen=True)
class Streamed:
    """A stream: the `answer` so far (for a refusal, all of it), and the `chunks` that follow.

    `safe` removes secrets from the server's text in them.
    """

    answer: Answer
    chunks: Iterator[bytes]
    safe: Callable[[str], str]


_AGAIN = "the server or a proxy restarts, or ends long answers; the stream is opened again"
_BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, EOFError, ValueError)


class _NoAnswerError(Exception):
    def __init__(self, message: str, hint: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.final = final  # a retry cannot help


class _Token(AuthBase):
    """Sets the token on a request. As an auth object, it also keeps requests from using ~/.netrc."""

    def __init__(self, connection: Connection) -> None:
        self._token = connection.token
        own = any(name.lower() == "authorization" for name, _ in connection.headers)
        # A user's own Authorization header is for a proxy in front; the server accepts the token here, too.
        self._header, self._scheme = ("Grpc-Metadata-Token", "") if own else ("Authorization", "Bearer ")

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers[self._header] = self._scheme + self._token
        return request


def _kind(path: str) -> str:
    """The kind of request, without the application's name."""
    whole, _, part = path.removeprefix("/api/v1/applications/").rpartition("/")
    return path if not path.startswith("/api/v1/applications/") else part if whole else "application"


def _no_token(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


_CREDENTIALS = frozenset(("authorization", "proxy-authorization", "cookie"))


def _is_credential(name: str, value: str) -> bool:
    """Whether a user's own header is a credential, by its name."""
    return name.lower() in _CREDENTIALS or is_secret(sort_of(name), value)


def _words(texts: Iterable[str]) -> tuple[bytes, ...]:
    """The texts and their words that are long enough to be a secret; the longest first."""
    words = {word for text in texts for word in (text, *text.split()) if len(word) >= 8}
    return tuple(sorted((word.encode() for word in words), key=lambda word: (-len(word), word)))


def _without(secrets: Iterable[bytes], body: bytes) -> bytes:
    for secret in secrets:
        if secret in body:
            body = body.replace(secret, b"(hidden)")
    return body


def _chunks(response: requests.Response) -> Iterator[bytes]:
    while chunk := response.raw.read(_CHUNK_BYTES, decode_content=False):
        yield chunk


def _time(text: str) -> datetime | None:
    """An HTTP date as aware UTC; None if it is invalid or of an implausible year."""
    with contextlib.suppress(ValueError, OverflowError, TypeError, IndexError):
        found = parsedate_to_datetime(text)
        sent = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        return sent if sent.year in _YEARS else None
    return None


def retry_after_s(header: str | None, date: str | None = None) -> float | None:
    """The seconds that a Retry-After header asks for, at most 20; None without a valid one.

    A date in it uses the server's clock, which `date` shows.
    """
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), _RETRY_AFTER_S)
    moment = _time(text) if text else None
    now = _time(date or "") or datetime.now(UTC)
    return min(max((moment - now).total_seconds(), 0.0), _RETRY_AFTER_S) if moment else None


def _late(server: str, path: str, answer_s: float) -> _NoAnswerError:
    hint = "the server or the network is overloaded; pass --timeout SECONDS to wait longer"
    return _NoAnswerError(f"{server} did not end its answer to {path} within {answer_s:g} s", hint, final=True)


def _no_answer(server: str, error: BaseException, path: str, *, first: bool) -> _NoAnswerError:
    """The ConnectError for an error. A wrong name or certificate is final for the `first` request; after an answer, it may be temporary."""
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        # It usually quotes the address of the proxy, since --server was checked before; the address may contain a password.
        what = f"the address of {server}, or that of the proxy in front of it, cannot be used"
        return _NoAnswerError(what, _PROXY, final=True)
    cause = _root(error)
    # the address is quoted
    text = type(error).__name__ if isinstance(error, requests.exceptions.InvalidHeader) else str(cause)
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
        restarts = "it answered a moment ago: argocd-server, or a proxy in front of it, is restarting; run again"
        hint = "check --server and its port" if first else restarts
        return _NoAnswerError(f"nothing listens at {server}: connection refused", hint)
    hint = "the server or a proxy broke off; try again, or check --server and its port"
    return _NoAnswerError(f"{server} gave no whole answer to {path}: {text}", hint)


def _root(error: BaseException) -> BaseException:
    """The innermost error, without the wrappers of requests and urllib3."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = [getattr(error, "reason", None), error.__cause__, error.__context__, *error.args]
        error = next((e for e in inner if isinstance(e, BaseException)), error)
    return error


def _redirected(server: str, location: str) -> _NoAnswerError:
    try:
        target = urlsplit(location)
        host = re.sub(r":[0-9]*$", "", target.netloc.rpartition("@")[2])  # as written: `hostname` is in lower case
    except ValueError:
        return _NoAnswerError(f"{server} redirects to an invalid address", _WRONG_ADDRESS, final=True)
    if target.scheme == "https" and server.startswith("http:") and target.hostname == urlsplit(server).hostname:
        hint = "drop --plaintext (and http:// of --server)"
        return _NoAnswerError(f"{server} redirects to https", hint, final=True)
    where = f" to {excerpt(f'{target.scheme}://{host}', 100)}" if host else ""
    return _NoAnswerError(f"{server} redirects{where}; the token was not sent there", _WRONG_ADDRESS, final=True)
