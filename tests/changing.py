"""A recorded Argo CD with changing applications, for a replay server in tests that follow changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from argolint.model import Object
from argolint.server.transport import Answer, Query, Stats, Transport
from argolint.snapshots.index import named_application
from argolint.snapshots.narrow import APPLICATIONS, narrow, split
from argolint.snapshots.reader import refused
from argolint.values import text_at
from argolint.values.decoding import json_value

Kind = Literal["ADDED", "MODIFIED", "DELETED"]
Place = tuple[str, str]


class Changing:
    """Answers as `recorded` does, with the present applications. Safe to share among threads.

    `states` are other answers about single applications, by namespace, name and the rest of the path (`/managed-resources`).
    """

    offline = True

    def __init__(self, recorded: Transport) -> None:
        self.server = recorded.server
        self.stats = Stats()
        self._recorded = recorded
        self._lock = threading.Lock()
        listed = json_value(recorded.get(APPLICATIONS).body)
        self._apps: dict[Place, dict[str, Any]] = {_place(app): app for app in listed["items"] or ()}
        self._projects = {place: text_at(app, "spec", "project") for place, app in self._apps.items()}
        self._states: dict[tuple[str, str, str], bytes] = {}
        self._heard: Callable[[Kind, Object], None] = lambda kind, app: None

    def now(self) -> datetime:
        return self._recorded.now()

    @property
    def apps(self) -> Mapping[Place, Object]:
        """The applications as they are now, by namespace and name."""
        with self._lock:
            return dict(self._apps)

    def listen(self, heard: Callable[[Kind, Object], None]) -> None:
        """Call `heard` after each change from now on."""
        self._heard = heard

    def put(self, app: Object, states: Mapping[str, object] | None = None) -> None:
        """Set the application from now on, with these other answers about it."""
        place = _place(app)
        with self._lock:
            kind: Kind = "MODIFIED" if place in self._apps else "ADDED"
            self._apps[place] = dict(app)
            for rest, body in (states or {}).items():
                self._states[*place, rest] = msgspec.json.encode(body)
        self._heard(kind, app)

    def swap(self, place: Place, rest: str, body: object) -> None:
        """Set another answer about the application that its own entry and the stream do not show."""
        with self._lock:
            self._states[*place, rest] = msgspec.json.encode(body)

    def drop(self, place: Place) -> None:
        """Remove the application."""
        with self._lock:
            app = self._apps.pop(place)
        self._heard("DELETED", app)

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path == APPLICATIONS:
            with self._lock:
                apps = [self._apps[place] for place in sorted(self._apps, key=lambda p: (p[1], p[0]))]
            body = msgspec.json.encode({"metadata": {}, "items": apps or None})
            return Answer(200, "application/json", narrow(path, split(path, query)[1], body))
        name, namespace, project = named_application(path, query, "")
        if not name:
            return self._recorded.get(path, query, anonymous=anonymous)
        with self._lock:
            app = self._apps.get((namespace, name))
            states = self._states.get((namespace, name, path.removeprefix(f"{APPLICATIONS}/{name}")))
        if app is None or project not in ("", text_at(app, "spec", "project")):
            gone = refused(404, 5, f'applications.argoproj.io "{name}" not found')
            return gone if project else refused(403, 7, "permission denied")
        if path == f"{APPLICATIONS}/{name}":
            return Answer(200, "application/json", msgspec.json.encode(app))
        if states is not None:
            narrowed = narrow(path, split(path, query)[1], states)
            return Answer(200, "application/json", narrowed)
        was = self._projects.get((namespace, name), project)
        asked = [(key, was if key == "project" else value) for key, value in query]
        return self._recorded.get(path, asked, anonymous=anonymous)


def _place(app: Object) -> Place:
    return text_at(app, "metadata", "namespace"), text_at(app, "metadata", "name")
