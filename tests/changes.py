"""Random changes of a fleet, as people and controllers make them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from argolint.values.decoding import json_value
from tests.changing import Changing, Place

_STATES = ("/managed-resources", "/resource-tree")


class Changes:
    """Changes `fleet` at random; `gone` are applications that may come back."""

    def __init__(self, fleet: Changing, seed: int) -> None:
        self._fleet = fleet
        self._draw = random.Random(seed)
        self._gone: list[dict[str, Any]] = []
        self._count = 0

    def one(self) -> tuple[str, list[Place]]:
        """One change: its name, and the applications whose change Argo CD would report."""
        kinds: tuple[Callable[[], list[Place]], ...] = (
            self.resync,
            self.out_of_sync,
            self.unhealthy,
            self.delete,
            self.restore,
            self.copy,
            self.claim,
            self.marked,
            self.broken,
            self.running,
            self.noise,
            self.move,
        )
        kind = self._draw.choice(kinds)
        return kind.__name__, kind()

    def _any(self) -> tuple[Place, dict[str, Any]]:
        place = self._draw.choice(sorted(self._fleet.apps))
        return place, copy.deepcopy(dict(self._fleet.apps[place]))

    def _put(self, app: dict[str, Any], states: dict[str, object] | None = None) -> list[Place]:
        self._count += 1
        app["metadata"]["resourceVersion"] = str(900_000 + self._count)
        self._fleet.put(app, states)
        return [(app["metadata"]["namespace"], app["metadata"]["name"])]

    def _state(self, place: Place, rest: str) -> Any:
        app = self._fleet.apps[place]
        query = [("appNamespace", place[0]), ("project", app["spec"]["project"])]
        answer = self._fleet.get(f"/api/v1/applications/{place[1]}{rest}", query)
        return json_value(answer.body) if answer.status == 200 else {}

    def resync(self) -> list[Place]:
        """Everything is Synced now."""
        _, app = self._any()
        app["status"]["sync"]["status"] = "Synced"
        app["status"]["health"] = {"status": "Healthy"}
        app["status"].pop("conditions", None)
        return self._put(app)

    def out_of_sync(self) -> list[Place]:
        """A live edit: the states and the list show it."""
        place, app = self._any()
        managed = self._state(place, "/managed-resources")
        items = [item for item in managed.get("items") or () if "{" in item.get("liveState", "")]
        if not items:
            return []
        item = self._draw.choice(items)
        for side in ("liveState", "normalizedLiveState"):
            live = json_value(item.get(side) or "null")
            if isinstance(live, dict):
                live.setdefault("metadata", {}).setdefault("labels", {})["edited"] = str(self._count)
                item[side] = json.dumps(live)
        item["modified"] = True
        for row in app["status"].get("resources") or ():
            if all(row.get(k, "") == item.get(k, "") for k in ("group", "kind", "namespace", "name")):
                row["status"] = "OutOfSync"
        app["status"]["sync"]["status"] = "OutOfSync"
        app["status"]["sync"]["revision"] = f"{self._draw.getrandbits(160):040x}"
        return self._put(app, {"/managed-resources": managed})

    def unhealthy(self) -> list[Place]:
        _, app = self._any()
        app["status"]["health"] = {"status": self._draw.choice(("Degraded", "Progressing", "Missing", "Suspended"))}
        return self._put(app)

    def delete(self) -> list[Place]:
        if len(self._fleet.apps) < 4:
            return []
        place, app = self._any()
        self._gone.append(app)
        self._fleet.drop(place)
        return [place]

    def restore(self) -> list[Place]:
        return self._put(self._gone.pop()) if self._gone else []

    def copy(self) -> list[Place]:
        """A second application of the same manifests: every object has two owners."""
        place, app = self._any()
        app["metadata"]["name"] = f"copy-{self._count}"
        return self._put(app, {rest: self._state(place, rest) for rest in _STATES})

    def claim(self) -> list[Place]:
        """The list of one application names an object of another."""
        other, _ = self._any()
        place, app = self._any()
        rows = self._fleet.apps[other]["status"].get("resources") or ()
        if not rows or other == place:
            return []
        row = dict(self._draw.choice(rows))
        app["spec"]["destination"] = self._fleet.apps[other]["spec"]["destination"]
        app["status"]["resources"] = [*(app["status"].get("resources") or ()), row]
        return self._put(app)

    def marked(self) -> list[Place]:
        """Marked for deletion."""
        _, app = self._any()
        app["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self._put(app)

    def broken(self) -> list[Place]:
        _, app = self._any()
        message = "Failed to load target state: failed to generate manifest for source 1 of 1: helm template failed"
        app["status"]["conditions"] = [{"type": "ComparisonError", "message": message}]
        return self._put(app)

    def running(self) -> list[Place]:
        _, app = self._any()
        app["status"]["operationState"] = {
            "phase": self._draw.choice(("Running", "Failed", "Succeeded")),
            "message": "one or more objects failed to apply",
            "startedAt": "2026-01-01T00:00:00Z",
        }
        return self._put(app)

    def noise(self) -> list[Place]:
        """A reconcile without a change: the stream does not report it."""
        _, app = self._any()
        app["status"]["reconciledAt"] = f"2026-01-01T00:00:{self._count % 60:02}Z"
        self._put(app)
        return []

    def move(self) -> list[Place]:
        """To another project."""
        _, app = self._any()
        app["spec"]["project"] = self._draw.choice(sorted({a["spec"]["project"] for a in self._fleet.apps.values()}))
        return self._put(app)
