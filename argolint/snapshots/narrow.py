"""Derives narrower answers from a fuller one, as Argo CD would give them: list filters and `fields` projections.

Sources: server/application/application.go (List), pkg/apiclient/application/forwarder_overwrite.go (the fixed table of list fields),
grpc-gateway's generic field filter, and the label selectors of k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from argolint.errors import UsageError
from argolint.values import items, labels_of, mapping, maps, text_at
from argolint.values.decoding import json_value

APPLICATIONS = "/api/v1/applications"

Pairs = Sequence[tuple[str, str]]

# Fields of the application list that the server can project; it silently drops others.
_APP_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.annotations", "metadata.labels"),
    *("metadata.creationTimestamp", "metadata.deletionTimestamp"),
    *(
        "spec",
        "spec.destination",
        "spec.project",
        "spec.source",
        "spec.sources",
        "spec.sourceHydrator",
        "spec.syncPolicy",
    ),
    *("status.sourceHydrator", "status.summary", "status.health", "status.resources"),
    *("status.sync.status", "status.sync.revision", "operation.sync"),
    *("status.operationState.startedAt", "status.operationState.finishedAt", "status.operationState.phase"),
)
_APP_FILTERS = frozenset({"name", "projects", "project", "selector", "repo", "appNamespace"})
_PROJECTED = ("/managed-resources", "/projects")  # except the application list; elsewhere `fields` has no effect
_RESOURCE_FILTERS = frozenset({"namespace", "name", "group", "kind"})


def split(path: str, query: Pairs) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """(the query to send, the parameters that `narrow` can apply to the answer)."""
    if path == APPLICATIONS:
        narrowing = _APP_FILTERS | {"fields"}
    elif path.endswith("/managed-resources"):
        narrowing = _RESOURCE_FILTERS | {"fields"}
    else:
        narrowing = frozenset({"fields"})
    return tuple(p for p in query if p[0] not in narrowing), tuple(p for p in query if p[0] in narrowing)


def narrow(path: str, narrowing: Pairs, body: bytes) -> bytes:
    """The body of the server's answer with the `narrowing` parameters. Raises msgspec.MsgspecError."""
    by_name: dict[str, list[str]] = {}
    for name, value in narrowing:
        by_name.setdefault(name, []).append(value)
    fields = ",".join(by_name.pop("fields", ()))
    if path != APPLICATIONS and not by_name and not path.endswith(_PROJECTED):
        return body
    document = json_value(body)
    if not isinstance(document, dict):
        return body
    found = items(document, "items")
    if path == APPLICATIONS:
        keep = _application_filter(by_name)
        kept = [item for item in found if keep(item)]
        document = {**document, "items": kept or None}
        if fields:
            document["items"] = [_project_application(item, fields) for item in kept] or None
    else:
        if by_name:
            wanted = {name: values for name, values in by_name.items() if values != [""]}
            kept = [
                item
                for item in found
                if isinstance(item, dict) and all(text_at(item, name) in values for name, values in wanted.items())
            ]
            document = {**document, "items": kept}
        if fields and path.endswith(_PROJECTED):
            document = project(document, fields)
    return msgspec.json.encode(document)


def label_selector(text: str) -> Callable[[Mapping[str, str]], bool]:
    """The test of labels for a Kubernetes selector such as `a=b,c!=d,e in (x,y),!f`. Raises UsageError."""
    checks = [_requirement(part.strip()) for part in re.findall(r"(?:[^,()]|\([^()]*\)?|\))+", text) if part.strip()]
    return lambda labels: all(check(labels) for check in checks)


def _requirement(part: str) -> Callable[[Mapping[str, str]], bool]:
    if match := re.fullmatch(r"([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)", part):
        key, wanted, values = match[1], match[2] == "in", {v.strip() for v in match[3].split(",")}
        return lambda labels: (labels.get(key) in values) == wanted
    if match := re.fullmatch(r"([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)", part):
        key, wanted, values = match[1], match[2] != "!=", {match[3]}
        return lambda labels: (labels.get(key) in values) == wanted
    if match := re.fullmatch(r"(!?)\s*([^\s!=(),]+)", part):
        key, wanted = match[2], not match[1]
        return lambda labels: (key in labels) == wanted
    raise UsageError(f"`{part}` is no label requirement", "write key=value, key!=value, key in (a,b), key or !key")


def _application_filter(by_name: Mapping[str, Sequence[str]]) -> Callable[[Any], bool]:
    names = {v for v in by_name.get("name", ()) if v}
    namespaces = {v for v in by_name.get("appNamespace", ()) if v}
    projects = {v for key in ("projects", "project") for v in by_name.get(key, ()) if v}
    repos = {v for v in by_name.get("repo", ()) if v}
    selectors = [label_selector(text) for text in by_name.get("selector", ())]

    def keep(app: Any) -> bool:
        first_source = mapping(app, "spec", "source") or next(iter(maps(app, "spec", "sources")), {})
        return isinstance(app, dict) and (
            (not names or text_at(app, "metadata", "name") in names)
            and (not namespaces or text_at(app, "metadata", "namespace") in namespaces)
            and (not projects or text_at(app, "spec", "project") in projects)
            and (not repos or text_at(first_source, "repoURL") in repos)
            and all(matches(labels_of(app)) for matches in selectors)
        )

    return keep


def _project_application(app: dict[str, Any], fields: str) -> dict[str, Any]:
    exclude = fields.startswith("-")
    wanted = set(fields.removeprefix("-").split(","))
    projected: dict[str, Any] = {}
    for field in _APP_FIELDS:
        if (f"items.{field}" in wanted) != exclude:
            _copy(app, projected, field.split("."))
    return projected


def _copy(source: Mapping[str, Any], target: dict[str, Any], steps: Sequence[str]) -> None:
    value: Any = source
    for step in steps:
        if not isinstance(value, Mapping) or step not in value:
            return
        value = value[step]
    for step in steps[:-1]:
        target = target.setdefault(step, {})
    target[steps[-1]] = value  # if the whole `spec` was copied already, its parts get the same values


def project(document: dict[str, Any], fields: str) -> dict[str, Any]:
    """The document with only these fields (`a.b,c`), or without them (`-a.b,c`)."""
    paths = [path.split(".") for path in fields.removeprefix("-").split(",")]
    picked = _without(document, paths) if fields.startswith("-") else _only(document, paths)
    return picked if isinstance(picked, dict) else {}


def _only(value: Any, paths: Iterable[Sequence[str]]) -> Any:
    if isinstance(value, list):
        return [_only(item, paths) for item in value]
    if not isinstance(value, dict) or any(not path for path in paths):
        return value
    heads = {path[0] for path in paths}
    return {k: _only(v, [path[1:] for path in paths if path[0] == k]) for k, v in value.items() if k in heads}


def _without(value: Any, paths: Iterable[Sequence[str]]) -> Any:
    if isinstance(value, list):
        return [_without(item, paths) for item in value]
    if not isinstance(value, dict):
        return value
    dropped = {path[0] for path in paths if len(path) == 1}
    return {
        k: _without(v, [path[1:] for path in paths if path[0] == k and len(path) > 1])
        for k, v in value.items()
        if k not in dropped
    }
