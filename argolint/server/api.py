"""The Argo CD REST API: one function per endpoint over any Transport. All of them are reads.

Field names and shapes: pkg/apis/application/v1alpha1/types.go and server/application/application.proto of Argo CD.
Lists may be `null`; numbers are numbers whatever swagger.json says; every field is optional (2.8 to 3.6 differ).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import msgspec

from argolint.application.entry import Entry, entry_of
from argolint.application.operation import Event
from argolint.application.resource import ManagedResource, Tree
from argolint.errors import ApiError, ArgolintError, AuthError, ConnectError, NotRecorded
from argolint.model import AppRef, Json, Object, ResourceId
from argolint.redaction import excerpt
from argolint.server.messages import LONGEST_MESSAGE, may_hold_long_messages, without_long_messages
from argolint.server.pace import reading_cluster
from argolint.server.transport import Answer, Transport
from argolint.values import mapping, maps, number_at, parse_time, text_at
from argolint.values.decoding import TooDeepError, decoder, items_apart, json_value, kind_of, object_value
from argolint.values.kubernetes import misshapen
from argolint.values.patterns import regex

Query = Sequence[tuple[str, str]]
T = TypeVar("T")


def version(t: Transport) -> str:
    """The server's version, such as `v3.5.1+109ca7c`; empty if not reported."""
    return _typed(_get(t, "/api/version"), _version, t, "/api/version").version or ""


def helm_version(t: Transport) -> str:
    """The version of Helm that renders charts, such as `v4.2.1`; empty if not reported."""
    return _typed(_get(t, "/api/version"), _version, t, "/api/version").helm_version or ""


def settings(t: Transport) -> Object:
    """url, appLabelKey, trackingMethod, installationID, resourceOverrides (only when logged in), controllerNamespace."""
    return _object(t, "/api/v1/settings")


def userinfo(t: Transport) -> Object:
    """loggedIn, username, iss, groups; answered 200 with loggedIn absent when the token is not accepted."""
    return _object(t, "/api/v1/session/userinfo")


def clusters(t: Transport) -> tuple[Object, ...]:
    """server, name, info{connectionState, serverVersion, apiVersions, ...} of each cluster the account may see."""
    return _items(t, "/api/v1/clusters")


def projects(t: Transport) -> tuple[Object, ...]:
    """AppProject objects."""
    return _items(t, "/api/v1/projects")


def repositories(t: Transport) -> tuple[Object, ...]:
    """repo, type, name, project, connectionState of each repository."""
    return _items(t, "/api/v1/repositories")


def application_sets(t: Transport) -> tuple[Object, ...]:
    """ApplicationSet objects."""
    return _items(t, "/api/v1/applicationsets")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry of the application list that cannot be read, and why; `ref` if the entry has it."""

    error: str
    ref: AppRef | None = None


def applications(t: Transport, query: Query = ()) -> Iterator[Entry | Unreadable]:
    """Application objects, sorted by name; there is no paging. Over the server's message limit: ApiError 429.

    The request is made at once, and entries are decoded one by one, so a large fleet is never in memory as a whole.

    `query`: name, projects (repeated), selector, repo, appNamespace, fields (comma list; conditions cannot be requested this way).
    """
    path = "/api/v1/applications"
    found = _typed(_get(t, path, query), _entries, t, path)
    return (_listed(bytes(raw)) for raw in found)


def application(t: Transport, ref: AppRef) -> Object:
    return without_long_messages(_object(t, _app_path(ref), _app_query(ref), object_value))


def managed_resources(t: Transport, ref: AppRef, only: ResourceId | None = None) -> tuple[ManagedResource, ...]:
    """The states of an application's objects, or of one of them; without hooks."""
    query = (
        [("group", only.group), ("kind", only.kind), ("namespace", only.namespace), ("name", only.name)] if only else []
    )
    path = f"{_app_path(ref)}/managed-resources"
    answer = _get(t, path, (*_app_query(ref), *query))
    return tuple(_typed(answer, _managed_resources, t, path).items or ())


def resource_tree(t: Transport, ref: AppRef) -> Tree:
    """The objects that an application manages, their children, and orphaned objects."""
    path = f"{_app_path(ref)}/resource-tree"
    return _typed(_get(t, path, _app_query(ref)), _tree, t, path)


def manifests(
    t: Transport,
    ref: AppRef,
    *,
    revision: str = "",
    revisions: Sequence[tuple[int, str]] = (),
    fresh: int = 0,
) -> tuple[Object, ...]:
    """Rendered manifests with hooks, duplicates and undefaulted namespaces; Secret values are masked one by one.

    `revision` renders a single-source application at another ref; `revisions` are (1-based source position, ref).
    `fresh` counts renders that go past the server's cache (`noCache`): each one replaces the cache, and self-heal may deploy it.
    """
    query = list(_app_query(ref))
    if revision:
        query.append(("revision", revision))
    for position, ref_name in revisions:
        query += [("revisions", ref_name), ("sourcePositions", str(position))]
    if fresh:
        query += [("noCache", "true"), ("render", str(fresh))]
    path = f"{_app_path(ref)}/manifests"
    found = _typed(_get(t, path, query), _manifests, t, path).manifests or ()
    return tuple(m for text in found if (m := _manifest(text, t, path)) is not None)


def can_i(t: Transport, resource: str, action: str, name: str) -> bool:
    """Whether the account may do this, according to the server's RBAC (server/account/account.go, CanI)."""
    return text_at(_object(t, f"/api/v1/account/can-i/{resource}/{action}/{_part(name)}"), "value") == "yes"


def renders_afresh(t: Transport) -> bool:
    """Whether this server's manifests call supports `noCache`: 2.14 and older silently ignore it and answer from the cache."""
    found = _object(t, "/swagger.json")
    parameters = maps(found.get("paths"), "/api/v1/applications/{name}/manifests", "get", "parameters")
    return any(parameter.get("name") == "noCache" for parameter in parameters)


def events(t: Transport, ref: AppRef, resource: ResourceId | None = None, uid: str = "") -> tuple[Event, ...]:
    """Events of one object, or of the Application itself, newest first."""
    query = list(_app_query(ref))
    if resource is not None:
        query += [("resourceNamespace", resource.namespace), ("resourceName", resource.name), ("resourceUID", uid)]
    with reading_cluster(resource.cluster if resource else ""):
        found = [_event(raw) for raw in _items(t, f"{_app_path(ref)}/events", query)]
    return tuple(
        sorted(found, key=lambda e: (e.last.timestamp() if e.last else 0.0, e.reason, e.message), reverse=True)
    )


def resource(t: Transport, ref: AppRef, wanted: ResourceId) -> Object | None:
    """One live object of the application's tree, read from the cluster; None if the tree does not have it."""
    query = [
        *_app_query(ref),
        ("namespace", wanted.namespace),
        ("resourceName", wanted.name),
        ("version", wanted.version),
        ("group", wanted.group),
        ("kind", wanted.kind),
    ]
    path = f"{_app_path(ref)}/resource"
    try:
        with reading_cluster(wanted.cluster):
            found = _typed(_get(t, path, query), _resource, t, path).manifest
    except ApiError as error:
        if error.status in (400, 404):
            return None
        raise
    return _manifest(found, t, path) if found else None


def sync_windows(t: Transport, ref: AppRef) -> Object:
    """activeWindows, assignedWindows, canSync (which answers for a manual sync)."""
    return _object(t, f"{_app_path(ref)}/syncwindows", _app_query(ref))


def revision_metadata(t: Transport, ref: AppRef, revision: str, source: int | None = None) -> Object:
    """author, date, message, tags of a Git revision; `source`: the position (from 0) of its source if there are several.

    Without it, the server asks the first source's repository (server/application/application.go, RevisionMetadata).
    """
    query = list(_app_query(ref))
    if source is not None:
        query.append(("sourceIndex", str(source)))
    return _object(t, f"{_app_path(ref)}/revisions/{_part(revision)}/metadata", query)


class _Applications(msgspec.Struct):
    items: list[msgspec.Raw] | None  # Argo CD always sends it: a host that answers {} to everything is no Argo CD


class _ManagedResources(msgspec.Struct):
    items: list[ManagedResource] | None = None


class _Version(msgspec.Struct, rename="pascal"):
    version: str | None = None
    helm_version: str | None = None


class _Manifests(msgspec.Struct):
    manifests: list[str] | None = None


class _Resource(msgspec.Struct):
    manifest: str | None = None


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Entry(msgspec.Struct):
    metadata: _Metadata


_applications = decoder(_Applications)
_managed_resources = decoder(_ManagedResources)
_version = decoder(_Version)
_manifests = decoder(_Manifests)
_resource = decoder(_Resource)
_entry = decoder(_Entry)
_tree = decoder(Tree)


def _entries(body: bytes) -> Sequence[bytes | msgspec.Raw]:
    try:
        return _applications(body).items or ()
    except TooDeepError:  # usually caused by one entry: the others can be read
        if found := items_apart(body):
            return found
        raise


def _listed(raw: bytes) -> Entry | Unreadable:
    """One entry of the application list."""
    if not may_hold_long_messages(raw) and (entry := entry_of(raw)) is not None:
        return entry
    try:
        found = object_value(raw)
    except msgspec.MsgspecError as error:
        try:
            named = _entry(raw).metadata
            return Unreadable(str(error), AppRef(named.namespace, named.name))
        except msgspec.MsgspecError:
            return Unreadable(str(error))
    if not isinstance(found, dict):
        return Unreadable(f"it is {kind_of(found)} and no object")
    return Entry(without_long_messages(found) if len(raw) > LONGEST_MESSAGE else found)


def _manifest(text: str, t: Transport, path: str) -> Object | None:
    """A manifest that an answer contains as text; None for an empty one."""
    try:
        found = json_value(text)
    except msgspec.MsgspecError as error:
        raise ConnectError(f"{t.server} answered {path} with a manifest that is no JSON: {error}", _DAMAGED) from None
    if found is not None and not isinstance(found, dict):
        raise ConnectError(
            f"{t.server} answered {path} with a manifest that is {kind_of(found)} and no object", _DAMAGED
        )
    if found is not None and (flaw := misshapen(found)):
        raise ConnectError(f"{t.server} answered {path} with a manifest whose {flaw}", _UNQUOTED)
    return found


_UNQUOTED = "quote it in Git: YAML reads names such as y, no and 12 as no text; if Git has text there, a proxy may be altering responses"
_DAMAGED = "a proxy may be altering responses, or the server is damaged; look at this answer"


def _event(raw: Object) -> Event:
    series = mapping(raw, "series")
    last = (
        raw.get("lastTimestamp") or series.get("lastObservedTime") or raw.get("eventTime") or raw.get("firstTimestamp")
    )
    return Event(
        text_at(raw, "type"),
        text_at(raw, "reason"),
        (text_at(raw, "message") or text_at(raw, "note"))[:LONGEST_MESSAGE],
        number_at(raw, "count") or number_at(series, "count") or 1,
        parse_time(raw.get("firstTimestamp") or raw.get("eventTime")),
        parse_time(last),
    )


def _app_path(ref: AppRef) -> str:
    return f"/api/v1/applications/{_part(ref.name)}"


def _part(name: str) -> str:
    """A name as one part of a path. ArgolintError for `..` and the like, which every client resolves even if quoted."""
    if name in (".", ".."):
        raise ArgolintError(f"nothing of the name {name!r} can be asked for", "what names it is damaged, or no Argo CD")
    return quote(name, safe="*")


def _app_query(ref: AppRef) -> Query:
    """The query for one application. Without `project`, the answer for a missing application is that for a forbidden one (403)."""
    return (("appNamespace", ref.namespace), ("project", ref.project))


def _get(t: Transport, path: str, query: Query = ()) -> Answer:
    answer = t.get(path, query)
    if answer.status >= 400:
        raise refusal(t, path, answer)
    _require_real(answer.body, t, path)
    return answer


def _require_real(body: bytes, t: Transport, path: str) -> None:
    """ConnectError for an answer of only tiny values: decoded, each takes a hundred times its size in the answer."""
    if len(body) < _FEW * _BYTES_A_VALUE:
        return
    pieces = (body[start : start + _PIECE].translate(None, _NO_MARK) for start in range(0, len(body), _PIECE))
    marks = [(len(piece), piece.count(b",")) for piece in pieces]  # one pass over the answer, where each count is one
    values = sum(all_ for all_, _ in marks)
    brackets = values - sum(commas for _, commas in marks)
    least = _BYTES_A_BRACKET.get(path.rpartition("/")[2], _LEAST_BYTES_A_BRACKET)
    if values > _FEW and (len(body) < least * brackets or len(body) < _BYTES_A_VALUE * values):
        raise ConnectError(
            f"{t.server} answered {path} with {values:,} values in {len(body) / 1e6:.1f} MB, which is not how Argo CD answers",
            _NOT_ARGOCD,
        )


_NO_MARK = bytes(set(range(256)) - set(b"{[,"))
_PIECE = 1 << 18
_FEW = 50_000
_BYTES_A_VALUE = 8
_LEAST_BYTES_A_BRACKET = 24
_BYTES_A_BRACKET = {"resource-tree": 60, "events": 40, "applications": 30}
"""Averages of an answer. The densest recorded ones have 13 bytes per value, and 35 per bracket; 67 in trees, 48 in events, 44 in lists."""


def _object(t: Transport, path: str, query: Query = (), decode: Callable[[bytes], Json] = json_value) -> Object:
    found = _typed(_get(t, path, query), decode, t, path)
    if not isinstance(found, dict):
        raise ConnectError(
            f"{t.server} answered {path} with {kind_of(found)} where Argo CD answers an object", _NOT_ARGOCD
        )
    return found


def _items(t: Transport, path: str, query: Query = ()) -> tuple[Object, ...]:
    """The objects of a list answer; a list may be null."""
    found = _object(t, path, query).get("items")
    if found is not None and not (isinstance(found, list) and all(isinstance(item, dict) for item in found)):
        raise ConnectError(f"{t.server} answered {path} with `items` that is no list of objects", _DAMAGED)
    return tuple(found or ())


_NOT_ARGOCD = "check the server name, its port and --grpc-web-root-path; a proxy or a login page may be in front of it"


def _typed(answer: Answer, decode: Callable[[bytes], T], t: Transport, path: str) -> T:
    try:
        return decode(answer.body)
    except msgspec.MsgspecError as error:
        what = "HTML" if answer.body.lstrip()[:1] == b"<" else "no readable JSON"
        if isinstance(error, msgspec.ValidationError):
            what = "JSON of another shape than Argo CD's"
        raise ConnectError(
            f"{t.server} answered {path} with {what} ({excerpt(answer.content_type, 60) or 'no content type'}): {error}",
            _NOT_ARGOCD,
        ) from None


def refusal(t: Transport, path: str, answer: Answer) -> AuthError | ApiError | NotRecorded:
    """The error that an answer of 400 or above means."""
    try:
        body = json_value(answer.body)
        reason = text_at(body, "message") or text_at(body, "error")
    except msgspec.MsgspecError:
        reason = answer.body[:200].decode("utf-8", "replace").strip()
    words = excerpt(reason, _REASON)
    if answer.status == 401 and reason == _NO_SESSION:
        return AuthError(f"{t.server} asks for a token, and none was sent that it can read", _LOGIN)
    if answer.status == 401:
        return AuthError(f"{t.server} does not accept the token: {words or 'no reason given'}", _LOGIN)
    hint = ""
    if answer.status == 501:  # an older server without this call, or a replayed recording without this answer
        return NotRecorded(
            f"{t.server} has no answer to {path}: {words}", "a newer Argo CD or a fuller recording has one"
        )
    if answer.status == 404 and not path.startswith("/api/v1/applications/"):
        hint = f"this may be no Argo CD: {_NOT_ARGOCD}"
    elif answer.status == 404:
        hint = "it was deleted or moved to another project while argolint ran; run again"
    elif answer.status >= 500 and (component := _reason_behind(reason)):
        hint = f"{component} does not answer the server: it restarts, is overloaded or cut off; run again when it is up"
    elif answer.status in (502, 503, 504):
        hint = "the server or a proxy in front of it is restarting or overloaded; run again, with fewer --workers"
    elif answer.status == 403:
        # Every read of an application, including events and states, needs only the right `get` on it.
        kind = path.removeprefix("/api/v1/").partition("/")[0]
        hint = f"the account lacks `{kind}, get` here; `argolint explain --setup` prints the policy lines it needs"
    elif answer.status == 429 and TOO_LARGE not in reason:
        hint = "the server, or a proxy in front of it, takes no more requests for now; run again, with fewer --workers"
    elif answer.status == 429:
        hint = "the answer is over the server's message limit (ARGOCD_GRPC_MAX_SIZE_MB); pass --project to read less"
    return ApiError(f"{path}: {answer.status} {words}".rstrip(), hint, status=answer.status, reason=reason)


_COMPONENTS = (
    (regex(r"repo-?server|dial tcp \S+:8081\b"), "argocd-repo-server"),
    (regex(r"redis|dial tcp \S+:6379\b"), "argocd-redis"),
    (regex(r"commit-?server|dial tcp \S+:8086\b"), "argocd-commit-server"),
)
"""The parts of Argo CD that argocd-server calls, by their names and ports (common/common.go)."""
_CUT_OFF = regex(
    r"code = Unavailable|dial tcp|connection re(?:fused|set)|i/o timeout|no such host|error reading from server",
    re.IGNORECASE,
)


def is_cluster_silent(error: ArgolintError, cluster: str, *, failed: bool) -> bool:
    """True if the server could not reach a destination cluster: its message has the cluster's address, or Argo CD reports the cluster as
    `failed` and the message names no part of Argo CD.
    """
    if not (isinstance(error, ApiError) and error.status >= 500 and _CUT_OFF.search(error.reason)):
        return False
    address = re.sub(r"^[a-z]+://", "", cluster).partition("/")[0]
    host = address.rpartition(":")[0] or address
    return (bool(host) and host in error.reason) or (failed and not _reason_behind(error.reason))


def _reason_behind(reason: str) -> str:
    """The part of Argo CD that did not answer the server, from its message; empty if it names none."""
    if not _CUT_OFF.search(reason):
        return ""
    return next((name for pattern, name in _COMPONENTS if pattern.search(reason)), "")


TOO_LARGE = "larger than max"
"""gRPC's message for an answer over the server's message limit, which Argo CD answers with 429, too."""
_REASON = 600  # most characters of the server's own text in a message
_NO_SESSION = "no session information"
"""The server's message for a request without a token, or with a malformed one (server/server.go)."""

_LOGIN = "log in again with `argocd login`, or pass a fresh ARGOCD_AUTH_TOKEN; `argolint explain --setup` says how to create one"
