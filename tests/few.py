"""The demo's Argo CD with the few applications that the documentation names: its commands are run there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from argolint.cli.demo import RECORDING
from argolint.server.transport import Answer, Query
from argolint.snapshots.http_server import ReplayServer
from argolint.snapshots.reader import SnapshotTransport

NAMED = {"payments-gateway", "tracking-ingest", "tracking-normalizer", "edge-gateway-secrets"}
LIST = "/api/v1/applications"


class _Few(SnapshotTransport):
    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        answer = super().get(path, query, anonymous=anonymous)
        if path != LIST or answer.status != 200:
            return answer
        listed = json.loads(answer.body)
        listed["items"] = [app for app in listed["items"] if app["metadata"]["name"] in NAMED]
        return Answer(200, answer.content_type, json.dumps(listed).encode())


@contextmanager
def named_applications() -> Iterator[dict[str, str]]:
    """The environment of a command that reads this Argo CD, while entered."""
    with ReplayServer(_Few([RECORDING])) as server:
        yield {"ARGOCD_SERVER": server.address, "ARGOCD_AUTH_TOKEN": server.token(), "ARGOCD_OPTS": "--plaintext"}
