"""Pooled HTTP connections whose answers are limited in time and size, and which follow no redirect.

A socket's timeout restarts with each byte, and http.client limits neither the headers of interim answers nor a chunk of negative length.
Here every read, from the first header line on, counts against one time and one size.
"""

from __future__ import annotations

import http.client
import io
import logging
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from argolint.host.addresses import is_loopback
from argolint.host.inflate import TooLargeError
from argolint.server.connection import Connection
from argolint.server.tls import client_context

logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL)  # it logs malformed headers, which may be our token
_BOUNDS: ContextVar[tuple[float, int]] = ContextVar("bounds")
_HEADERS_BYTES = 8 << 20  # http.client allows a hundred of 64 KB


@contextmanager
def bounded(until: float, max_bytes: int) -> Iterator[None]:
    """In this block, reading an answer raises TimeoutError when time.monotonic() reaches `until`, TooLargeError over the size."""
    token = _BOUNDS.set((until, max_bytes))
    try:
        yield
    finally:
        _BOUNDS.reset(token)


class _Bounded(io.RawIOBase):
    """A socket's bytes, up to a time and a size."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, until: float, max_bytes: int) -> None:
        self._raw = raw
        self._sock = sock
        self._idle_s = sock.gettimeout()
        self._until = until
        self._max_bytes = max_bytes
        self._left_bytes = max_bytes + _HEADERS_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the time of the request is over")
        self._sock.settimeout(left_s if self._idle_s is None else min(self._idle_s, left_s))
        if self._left_bytes <= 0:
            raise TooLargeError(self._max_bytes)
        read = self._raw.readinto(memoryview(buffer)[: self._left_bytes])
        self._left_bytes -= read or 0
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        if (bounds := _BOUNDS.get(None)) is not None:
            self.fp = io.BufferedReader(_Bounded(self.fp.detach(), sock, *bounds))


def _with_bounds(manager: Any) -> Any:
    """A pool manager whose connections, of any scheme, limit the time and size of answers."""
    pools = {}
    for scheme, pool in manager.pool_classes_by_scheme.items():
        connection = type("Connection", (pool.ConnectionCls,), {"response_class": _Response})
        pools[scheme] = type("Pool", (pool,), {"ConnectionCls": connection})
    manager.pool_classes_by_scheme = pools
    return manager


class _Adapter(HTTPAdapter):
    """Pools connections under one TLS context."""

    def __init__(self, context: ssl.SSLContext, workers: int) -> None:
        self._context = context
        super().__init__(pool_connections=1, pool_maxsize=workers, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)
        _with_bounds(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        known = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, ssl_context=self._context, **kwargs)
        return manager if known else _with_bounds(manager)


class Session(requests.Session):
    """Requests to one server. Redirects are not followed; the caller may read an answer's Location."""

    def __init__(self, connection: Connection, workers: int) -> None:
        super().__init__()
        adapter = _Adapter(client_context(connection), workers)
        self.mount("https://", adapter)
        self.mount("http://", adapter)
        if connection.insecure:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the user asked for it
        if is_loopback(urlsplit(connection.url).hostname or ""):
            self.trust_env = False  # a loopback address is never behind a proxy; Go's clients do the same
        self.headers.clear()
        self.headers.update({"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "argolint"})
        self.headers.update(dict(connection.headers))
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # a renewed login would come as a cookie
        self._environment: dict[object, Any] = {}

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """The proxy settings of the environment, looked up once: all requests of a session go to one server."""
        question = (*(proxies or {}).items(), stream, verify, cert)
        if question not in self._environment:
            self._environment[question] = super().merge_environment_settings(url, proxies, stream, verify, cert)
        return self._environment[question]

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: otherwise requests would read the whole body of a redirect and parse its target, even without following it."""
        return None
