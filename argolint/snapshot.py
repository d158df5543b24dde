"""Snapshots: the answers of a server, saved."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from argolint.errors import NotRecorded
from argolint.transport import Answer, Query, Stats
from argolint.values import parse_time


class SnapshotTransport:
    """Answers out of recording directories."""

    offline = True

    def __init__(self, paths: Sequence[Path]) -> None:
        self.stats = Stats()
        heads = [json.loads((p / "snapshot.json").read_text()) for p in paths]
        self.server = heads[0]["server"]
        self._now = parse_time(heads[0]["taken_at"])
        self._index: dict[tuple[str, frozenset[tuple[str, str]], bool], tuple[Path, int, str, str]] = {}
        for path in paths:
            for line in (path / "requests.jsonl").read_text().splitlines():
                r = json.loads(line)
                key = (r["path"], frozenset((a, b) for a, b in r["query"]), bool(r.get("anonymous")))
                self._index.setdefault(key, (path / r["body"], r["status"], r["content_type"], r["body"]))

    def now(self) -> datetime:
        assert self._now
        return self._now

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        found = self._index.get((path, frozenset(query), anonymous))
        if found is None:
            own = frozenset(q for q in query if q[0] in ("appNamespace", "project"))
            if path.endswith("/managed-resources") and (path, own, anonymous) in self._index:
                return self.get(path, tuple(own))
            raise NotRecorded(f"snapshot lacks {path} {list(query)}")
        file, status, kind, name = found
        body = file.read_bytes()
        if name.endswith(".gz"):
            body = gzip.decompress(body)
        self.stats.count(len(body))
        return Answer(status, kind, body)
