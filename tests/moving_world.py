"""A small Argo CD on loopback, and programs `argocd` and `kubectl` for it, so that a plan's commands can be run as printed.

It has Applications, the renders of their sources, and live objects with their tracking data. After every command its controllers run: an
automated application syncs, heals itself and prunes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FINALIZER = "resources-finalizer.argocd.argoproj.io"
Key = tuple[str, str]
_PROGRAM = """#!{python} -IS
import json, socket, sys
asked = json.dumps([{name!r}, sys.argv[1:], sys.stdin.read() if "-" in sys.argv else ""]).encode()
with socket.create_connection(("127.0.0.1", {port})) as server:
    server.sendall(b"POST /run HTTP/1.0\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(asked) + asked)
    said = b"".join(iter(lambda: server.recv(65536), b""))
done = json.loads(said.partition(b"\\r\\n\\r\\n")[2])
sys.stdout.write(done["out"])
sys.exit(done["code"])
"""


class UnknownCommandError(Exception):
    """A command that this Argo CD does not have: a plan must not contain it."""


@dataclass
class World:
    """`git`: the render of each application; `live`: the owner of each object by its tracking data; `lost`: deleted objects.

    `listed`: the Applications that a set or a parent creates if they are missing.
    """

    apps: dict[str, dict[str, Any]]
    git: dict[str, list[Key]]
    live: dict[Key, str]
    lost: list[Key] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, program: str, words: Sequence[str], read: str) -> tuple[int, str]:
        self.asked.append(f"{program} {' '.join(words)}")
        done = self._argocd(list(words)) if program == "argocd" else self._kubectl(list(words), read)
        self._controllers()
        return done

    # argocd

    def _argocd(self, words: list[str]) -> tuple[int, str]:
        group, verb, name, *rest = words
        if group == "appset":
            return 0, json.dumps(list(self.listed))
        short = name.rpartition("/")[2]
        app = self.apps.get(short)
        if group != "app" or app is None:
            return 20, ""
        if verb == "set" and rest[0] == "--sync-policy":
            policy = app["spec"].setdefault("syncPolicy", {})
            policy.pop("automated", None)
            if rest[1] == "automated":
                policy["automated"] = {"prune": "--auto-prune" in rest, "selfHeal": "--self-heal" in rest}
            return 0, ""
        if verb == "get" and rest[-2:] == ["-o", "json"]:
            listed = [{"kind": kind, "name": name} for kind, name in self.git[short]]
            listed += [{"kind": "Application", "name": name} for name in self.listed if short == "root"]
            return 0, json.dumps({**app, "status": {"resources": listed}})
        if verb == "sync" and not rest:
            self._sync(short, prune=False)
            return 0, ""
        if verb == "diff":
            return int(any(self.live.get(key) != short for key in self.git[short])), ""
        if verb == "wait":
            return int(any(self.live.get(key) != short for key in self.git[short])), ""
        if verb == "delete" and "--yes" in rest:
            if "--cascade=false" in rest:
                app["metadata"]["finalizers"] = []
            self._delete(short)
            return 0, ""
        raise UnknownCommandError(words)

    def _sync(self, name: str, *, prune: bool) -> None:
        for key in self.git[name]:
            self.live[key] = name
        if prune:
            self._remove(k for k, owner in list(self.live.items()) if owner == name and k not in self.git[name])

    def _delete(self, name: str) -> None:
        if FINALIZER in self.apps[name]["metadata"].get("finalizers", []):
            self._remove(k for k, owner in list(self.live.items()) if owner == name)
        del self.apps[name]

    def _remove(self, keys: Iterator[Key]) -> None:
        for key in keys:
            self.lost.append(key)
            del self.live[key]

    def _controllers(self) -> None:
        for name, raw in self.listed.items():
            self.apps.setdefault(name, json.loads(json.dumps(raw)))
        for name in list(self.apps):
            automated = self.apps[name]["spec"].get("syncPolicy", {}).get("automated")
            if automated:
                self._sync(name, prune=bool(automated.get("prune")))

    # kubectl

    def _kubectl(self, words: list[str], read: str) -> tuple[int, str]:
        if "-n" in words:
            at = words.index("-n")
            del words[at : at + 2]
        match words:
            case ["apply", "-f", "-"]:
                made = json.loads(read)
                name = made["metadata"]["name"]
                self.apps[name] = made
                self.git.setdefault(name, list(self.git[made["spec"]["source"]["path"]]))
                return 0, f"application.argoproj.io/{name} created\n"
            case ["patch", "application", name, "--type", "merge", "-p", patch]:
                for key, value in json.loads(patch)["metadata"].items():
                    self.apps[name]["metadata"][key] = value or []
                return 0, ""
            case ["get", "application", name, "-o", "json"]:
                return 0, json.dumps(self.apps[name])
            case ["get", "application", name, "-o", "jsonpath={.metadata.finalizers}"]:
                return 0, json.dumps(found) if (found := self.apps[name]["metadata"].get("finalizers")) else ""
            case ["get", kind, name, "-o", path] if path.startswith("jsonpath={.metadata.annotations."):
                owner = self.live.get((kind, name))
                return (0, f"{owner}:/{kind}:shop/{name}") if owner else (1, "")
            case ["annotate", kind, name, annotation] if annotation.endswith("-"):
                self.live[kind, name] = ""
                return 0, ""
        raise UnknownCommandError(words)


class _Handler(BaseHTTPRequestHandler):
    world: World

    def do_POST(self) -> None:
        program, words, read = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        code, out = self.world.run(program, words, read)
        body = json.dumps({"code": code, "out": out}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@dataclass(frozen=True)
class Shell:
    """Runs a command with this world's programs first on the PATH."""

    environ: Mapping[str, str]

    def __call__(self, command: str) -> bool:
        words = ["bash", "-e", "-o", "pipefail"]
        done = subprocess.run(words, input=command, text=True, env=self.environ, capture_output=True, check=False)
        return done.returncode == 0


@contextmanager
def serving(world: World, folder: Path) -> Iterator[Shell]:
    handler = type("Handler", (_Handler,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for name in ("argocd", "kubectl"):
        program = folder / name
        program.write_text(_PROGRAM.format(python=sys.executable, name=name, port=server.server_port))
        program.chmod(0o755)
    try:
        yield Shell({"PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C"})
    finally:
        server.shutdown()
        server.server_close()
