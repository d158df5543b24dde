"""Writes reports to a cluster by server-side apply and deletes outdated ones. It touches only objects with argolint's label.

The token goes only to the API server that it is for: no redirect is followed, no proxy from the environment is used. Source: Kubernetes
server-side apply (fieldManager, 409 with causes), PartialObjectMetadataList for lists without their contents.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.host.plain_text import plain
from argolint.redaction import excerpt
from argolint.reports.formats.openreports import API_VERSION, LABEL
from argolint.values import dig, items, text_at
from argolint.values.decoding import json_value

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PAGE = 500
_TIMEOUT_S = (10, 60)
_MOST_BYTES = 64 << 20
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_MOST_PAGES = 1000


@dataclass(frozen=True)
class Done:
    """The result of a publish, as namespace/name. `refused` says why a Report was not written: someone else owns fields of it."""

    applied: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]
    refused: tuple[str, ...]


class Cluster:
    """The API server of one cluster, with a token that may write Reports."""

    def __init__(self, url: str, token: str, ca: Path | None) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("")
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise UsageError(f"{plain(url)} is no https address", "without TLS, a token is sent to loopback only")
        self._url = url.rstrip("/")
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self._session.verify = str(ca) if ca else True
        self._session.headers.update({"Authorization": f"Bearer {token}", "Accept": "application/json"})

    def published(self) -> Mapping[str, str]:
        """namespace/name of every Report with argolint's label, with its resourceVersion."""
        found: dict[str, str] = {}
        query = {"labelSelector": f"{LABEL}=true", "limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            answer = self._call("GET", f"/apis/{API_VERSION}/reports", query, accept=_METADATA)
            for item in items(answer, "items"):
                if dig(item, "metadata", "labels", LABEL) != "true":
                    continue  # the server may have ignored the selector
                place = f"{text_at(item, 'metadata', 'namespace')}/{text_at(item, 'metadata', 'name')}"
                found[place] = text_at(item, "metadata", "resourceVersion")
            token = text_at(answer, "metadata", "continue")
            if not token:
                return found
            query = {**query, "continue": token}
        raise ArgolintError(f"{self._url} lists Reports without end", "look at the API server")

    def apply(self, report: Mapping[str, Any], *, force: bool) -> str:
        """Write one Report and return its resourceVersion. ConflictError if others own fields of it."""
        query = {"fieldManager": "argolint", "force": str(force).lower()}
        answer = self._call("PATCH", _path(_place(report)), query, body=json.dumps(report))
        return text_at(answer, "metadata", "resourceVersion")

    def delete(self, place: str) -> None:
        """Delete one Report; a missing one is no error."""
        with contextlib.suppress(GoneError):
            self._call("DELETE", _path(place), {})

    def _call(self, method: str, path: str, query: Mapping[str, str], *, body: str = "", accept: str = "") -> Any:
        headers = {"Content-Type": "application/apply-patch+yaml"} if body else {}
        if accept:
            headers["Accept"] = accept
        try:
            with self._session.request(
                method,
                self._url + path,
                params=dict(query),
                data=body.encode() or None,
                headers=headers,
                timeout=_TIMEOUT_S,
                allow_redirects=False,
                stream=True,
            ) as response:
                content = response.raw.read(_MOST_BYTES + 1, decode_content=True)
        except (requests.RequestException, OSError) as error:
            reason = plain(str(getattr(error, "reason", "") or type(error).__name__))
            raise ArgolintError(f"{self._url} does not answer: {reason}", "check --kube-api and --kube-ca") from None
        return _answer(method, path, response.status_code, content)


class ConflictError(ArgolintError):
    """Someone else owns fields of a Report."""


class GoneError(ArgolintError):
    """There is no such object."""


def _answer(method: str, path: str, status: int, content: bytes) -> Any:
    try:
        found = json_value(content) if content else {}
    except ValueError:
        found = {}
    message = excerpt(text_at(found, "message"), 300) or f"status {status}"
    if status in (401, 403):
        raise AuthError(f"the API server refuses: {message}", "`argolint explain --setup openreports` prints the Role")
    if status == 404 and method != "DELETE" and not text_at(found, "details", "name"):
        raise ArgolintError("the cluster has no Report of openreports.io", "install the CRDs of OpenReports first")
    if status == 404:
        raise GoneError(message)
    if status == 409:
        raise ConflictError(message)
    if not 200 <= status < 300 or len(content) > _MOST_BYTES:
        raise ArgolintError(f"{method} {path}: {message}", "look at the API server's log")
    return found


def _place(report: Mapping[str, Any]) -> str:
    return f"{dig(report, 'metadata', 'namespace')}/{dig(report, 'metadata', 'name')}"


def _path(place: str) -> str:
    namespace, _, name = place.partition("/")
    return f"/apis/{API_VERSION}/namespaces/{quote(namespace, safe='')}/reports/{quote(name, safe='')}"


def publish(
    cluster: Cluster, wanted: Iterable[Mapping[str, Any]], looked_at: Container[str], *, force: bool = False
) -> Done:
    """Apply the wanted Reports, and delete outdated ones whose applications were looked at."""
    published = cluster.published()
    applied: list[str] = []
    unchanged: list[str] = []
    refused: list[str] = []
    kept: set[str] = set()
    for report in wanted:
        place = _place(report)
        kept.add(place)
        try:
            version = cluster.apply(report, force=force)
        except ConflictError as error:
            refused.append(f"{place}: {error.message}")
            continue
        (unchanged if published.get(place) == version else applied).append(place)
    gone = sorted(place for place in published.keys() - kept if place in looked_at)
    for place in gone:
        cluster.delete(place)
    return Done(tuple(applied), tuple(unchanged), tuple(gone), tuple(refused))


def connect(url: str, token_file: Path | None, ca: Path | None, environment: Mapping[str, str]) -> Cluster:
    """The cluster that the options name, else the cluster of this process."""
    if not url:
        host = environment.get("KUBERNETES_SERVICE_HOST", "")
        if not host:
            raise UsageError("no cluster: this is no pod", "pass --kube-api, --kube-token-file and --kube-ca")
        shown = f"[{host}]" if ":" in host else host
        url = f"https://{shown}:{environment.get('KUBERNETES_SERVICE_PORT', '443')}"
        token_file, ca = token_file or _ACCOUNT / "token", ca or _ACCOUNT / "ca.crt"
    if token_file is None:
        raise UsageError("no token for the cluster", "pass --kube-token-file")
    return Cluster(url, "".join(_lines(token_file)), ca)


def _lines(file: Path) -> Iterator[str]:
    try:
        yield file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"cannot read the token in {file}", "name a file with the token and nothing else") from None
