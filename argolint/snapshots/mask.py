"""Masks possible secrets in an answer, so that a snapshot can be shared.

`redaction` decides what a secret is: by name, form, words and place, in objects and in the JSON, YAML, settings and base64 within them.
Data that no check needs is removed, too: logins of clusters and repositories, single sign-on, tokens and groups of projects, addresses of
people. A masked value becomes `masked-` and a keyed hash (`redaction.masks`). The key exists as long as the masker: within one snapshot
equal values stay equal; across snapshots nothing can be compared, and values cannot be guessed by trying.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from argolint.model import Object
from argolint.redaction import Redactor
from argolint.redaction.masks import mask
from argolint.redaction.names import word_set
from argolint.values.decoding import json_value
from argolint.values.patterns import regex

KEPT = (
    "names of applications, projects, objects, namespaces, hosts and repositories",
    "manifests and live objects, ConfigMaps, variables, arguments and Helm values among them, but for what has the name, form or place of a secret",
    "messages of conditions, operations, health checks and Events, and of commits with their authors' names",
)
"""The data that a snapshot has in plain text."""

_NEEDLESS = word_set(
    "dexConfig oidcConfig googleAnalytics passwordPattern jwtTokensByRole jwtTokens groups config awsAuthConfig"
)
"""Fields of settings, projects, accounts and clusters that no check reads."""
_OF_REPOSITORY = word_set("repo type name project connectionState")
"""Fields of a repository that a check reads."""
_OF_PEOPLE = word_set("author username message")
"""Fields that may contain a person's address."""
_MAIL = regex(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_PUBLIC = ("/swagger.json", "/api/version")


class Masker:
    """Masks the answers of one snapshot consistently. Safe to share among threads."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._redactor = Redactor(self._hide)
        self._masks: set[str] = set()

    @property
    def hidden(self) -> int:
        """The number of different masked values."""
        return len(self._masks)

    def __call__(self, body: bytes, path: str = "") -> bytes:
        """The body of the answer to `path` with possible secrets masked; the same bytes if there are none."""
        if path in _PUBLIC:
            return body
        try:
            document = json_value(body)
            masked = self._redactor.value(self._without_needless(document, path))
            return body if masked is document or masked == document else msgspec.json.encode(masked)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # no JSON, or too deep
            text = body.decode("utf-8", "surrogateescape")
            return self._redactor.text(text).encode("utf-8", "surrogateescape")

    def _hide(self, value: str) -> str:
        found = mask(value, self._key)
        self._masks.add(found)
        return found

    def _without_needless(self, document: Any, path: str) -> Any:
        """The document without the fields of its endpoint that no check reads."""
        match path.removeprefix("/api/v1/").split("/"):
            case ["repositories", *_]:
                return self._repositories(document)
            case ["settings" | "projects" | "clusters" | "session", *_]:
                return self._without_people(self._needed(document))
            case ["applications", _, "revisions" | "events", *_]:
                return self._without_people(document)
            case ["applications", *_]:
                return self._unstarted(document)
        return document

    def _needed(self, node: Any) -> Any:
        if isinstance(node, dict):
            return {
                key: self._redactor.value(child, everything=True) if key in _NEEDLESS else self._needed(child)
                for key, child in node.items()
            }
        return [self._needed(child) for child in node] if isinstance(node, list) else node

    def _repositories(self, document: Any) -> Any:
        """Repositories without their logins; a server that does not redact them also sends passwords and keys."""
        if not isinstance(document, dict) or not isinstance(document.get("items"), list):
            return document
        return {**document, "items": [self._repository(item) for item in document["items"]]}

    def _repository(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        return {k: v if k in _OF_REPOSITORY else self._redactor.value(v, everything=True) for k, v in item.items()}

    def _without_people(self, node: Any, name: str = "") -> Any:
        if isinstance(node, dict):
            return {key: self._without_people(child, key) for key, child in node.items()}
        if isinstance(node, list):
            return [self._without_people(child, name) for child in node]
        return self._without_address(node) if name in _OF_PEOPLE else node

    def _address(self, found: re.Match[str]) -> str:
        return self._hide(found[0])

    def _unstarted(self, document: Any) -> Any:
        """One or more Applications without the addresses of those who started their operations."""
        for started in _STARTED:
            for prefix in ((), ("items", "*")):
                document = _changed(document, (*prefix, *started, "initiatedBy", "username"), self._without_address)
        return document

    def _without_address(self, name: Any) -> Any:
        return _MAIL.sub(self._address, name) if isinstance(name, str) and "@" in name else name


_STARTED = (("operation",), ("status", "operationState", "operation"), ("status", "history", "*"))


def without_people(app: Object) -> Object:
    """An Application without the initiators of its operations, which no check reads."""
    for started in _STARTED:
        app = _changed(app, (*started, "initiatedBy"), lambda _: None)
    return app


def _changed(node: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """The node with the value at this path changed, `*` being every item of a list; the same object without a change."""
    if not path:
        return change(node)
    first, rest = path[0], path[1:]
    if first == "*" and isinstance(node, list):
        items = [_changed(item, rest, change) for item in node]
        return items if any(a is not b for a, b in zip(items, node, strict=True)) else node
    if isinstance(node, dict) and first in node:
        child = _changed(node[first], rest, change)
        return node if child is node[first] else {**node, first: child}
    return node
