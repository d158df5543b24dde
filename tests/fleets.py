"""Small Argo CDs on loopback, each with its own token, and the servers file that names them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.testing import FixtureTransport

Fleet = Sequence[Mapping[str, Any]] | FixtureTransport
"""The applications of an Argo CD, or a server for it."""
HOME = "https://kubernetes.default.svc"


def config_map(name: str, *, content: str = "1", namespace: str = "shop") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"mode": content},
    }


def app(name: str, *resources: Mapping[str, Any], cluster: str = HOME, **more: Any) -> dict[str, Any]:
    """An application that is OutOfSync, or not, by its resources; each is an object, or `desired` and `live` of one."""
    shown = [r if "live" in r or "desired" in r else {"desired": r, "live": r} for r in resources]
    return {"name": name, "spec": {"destination": {"server": cluster, "namespace": "shop"}}, "resources": shown, **more}


def drifted(name: str = "settings") -> dict[str, Any]:
    """An object with an edit by hand."""
    return {"desired": config_map(name), "live": config_map(name, content="2")}


@dataclass
class Fleets:
    """Running servers by name; `tokens` are in the variables of the file."""

    file: Path
    servers: dict[str, ReplayServer] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)

    def tokens(self) -> Sequence[str]:
        return list(self.environ.values())


@dataclass
class Noted:
    """The headers of every request to a server, and the highest number in flight at once."""

    headers: list[Mapping[str, str]] = field(default_factory=list)
    now: int = 0
    most: int = 0


def noted(server: ReplayServer) -> Noted:
    """Record the requests to a server from now on."""
    found, lock = Noted(), threading.Lock()
    usual: Any = server._http.RequestHandlerClass

    class Handler(usual):  # type: ignore[misc]
        def do_GET(self) -> None:  # noqa: N802  # the name is inherited
            with lock:
                found.headers.append(dict(self.headers))
                found.now += 1
                found.most = max(found.most, found.now)
            super().do_GET()

        def send_response(self, *answer: Any) -> None:
            with lock:
                found.now -= 1  # before the client knows: its next request is no longer at the same time
            super().send_response(*answer)

    server._http.RequestHandlerClass = Handler
    return found


@contextmanager
def serving(
    folder: Path,
    fleets: Mapping[str, Fleet],
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    faults: Mapping[str, Faults] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[Fleets]:
    """One server for each fleet, by its name, and `servers.yaml` in the folder."""
    found = Fleets(folder / "servers.yaml")
    with ExitStack() as stack:
        entries = []
        for name, apps in fleets.items():
            own = {"url": f"https://{name}.example.com", **((settings or {}).get(name) or {})}
            if isinstance(apps, FixtureTransport):
                transport = apps
            else:
                transport = FixtureTransport({"apps": apps, "server": {"settings": own}})
            replay = ReplayServer(transport, faults=(faults or {}).get(name))
            found.servers[name] = stack.enter_context(replay)
            found.environ[f"TOKEN_{name.upper()}"] = replay.token()
            entries.append(
                {
                    "name": name,
                    "server": replay.address,
                    "plaintext": True,
                    "auth-token-env": f"TOKEN_{name.upper()}",
                    "clusters": dict((aliases or {}).get(name, {})),
                }
            )
        found.file.write_text(json.dumps({"servers": entries}))
        yield found
