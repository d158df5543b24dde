"""A company's fleet as a snapshot directory: a recording of a real Argo CD, multiplied.

Each copy is the whole recorded company, with its faults, windows, stores and charts, under its own identities. Names of Applications and
projects, clusters, uids and tracking ids differ between copies, so that objects are shared only within a copy. The recording is harbourline if
the recordings are next to the project, else that of `argolint demo`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson
from isal import igzip

from argolint.cli.demo import RECORDING
from argolint.snapshots.archive import open_files

HARBOURLINE = Path(__file__).resolve().parents[2] / "shared" / "recordings" / "harbourline" / "3-after-commits"
LISTS = ("applications", "projects", "clusters", "repositories", "applicationsets")
ASKED = re.compile(
    r"/api/version|/api/v1/settings|/api/v1/(?:applications|projects|clusters|repositories|applicationsets)"
    r"|/api/v1/applications/[^/]+/(?:managed-resources|resource-tree|events|resource|syncwindows|revisions/[^/]+/metadata)"
)
"""The requests of a check, also with --deep; the recording has more."""
RENDERS = re.compile(r"/api/v1/applications/[^/]+/manifests")
"""Additional requests of a gate."""
OWN = "@COPY@"
"""Placeholder for the number of the copy."""
STATES = ("targetState", "liveState", "normalizedLiveState", "predictedLiveState")
_UUID = re.compile(
    rb"(?<![0-9a-f-])([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)[0-9a-f]{4}([0-9a-f]{8})(?![0-9a-f-])"
)
_TRACKED = re.compile(
    rb'(tracking-id\\*":\s*\\*")([^:"\\]+)(:)(argoproj\.io/App(?:lication|Project):[^/"\\]+/[^"\\]+)?'
)
_SHARED = re.compile(r"(is part of applications \S+ and \S+)")


def source() -> Path:
    """The recording to multiply."""
    return HARBOURLINE if HARBOURLINE.is_dir() else RECORDING


def write(
    folder: Path, apps: int, *, lists_only: bool = False, site: str = "", first: int = 1, renders: Path | None = None
) -> int:
    """Write at least this many applications, only whole copies, or only the lists; returns their number.

    `site` is another host for the Argo CD; `first` is the number of the first copy; `renders` is a recording of the renders of branches, which
    is written too, with the recording's own renders.
    """
    recording = _Recording(source(), renders)
    copies = -(-apps // len(recording.names))
    (folder / "bodies").mkdir(parents=True)
    head = json.loads(recording.files.read("snapshot.json"))
    (folder / "snapshot.json").write_text(json.dumps(head))
    numbers = [f"{copy:04}".encode() for copy in range(first, first + copies)]
    with (folder / "requests.jsonl").open("wb") as index:
        for name, (line, body) in enumerate(recording.answers()):
            kind = line["path"].rpartition("/")[2]
            if site and line["path"] == "/api/v1/settings":
                _put(
                    folder,
                    index,
                    line,
                    f"{name}.json.gz",
                    orjson.dumps({**orjson.loads(body), "url": f"https://argocd.{site}"}),
                )
                continue
            own = OWN.encode()
            if line["path"] == f"/api/v1/{kind}" and kind in LISTS:
                items = orjson.loads(body)["items"] or []
                text = b",".join(orjson.dumps(item) for item in items)
                whole = b",".join(text.replace(own, number) for number in (numbers if own in text else numbers[:1]))
                _put(folder, index, line, f"{name}.json.gz", b'{"metadata":{},"items":[%s]}' % whole)
                continue
            if lists_only and line["path"].startswith("/api/v1/applications/"):
                continue
            for number in numbers if own in body else numbers[:1]:
                _put_body(folder, f"{name}-{number.decode()}.json.gz", body.replace(own, number))
            text = orjson.dumps(line)
            for number in numbers if own in text else numbers[:1]:
                file = f"{name}-{(number if own in body else numbers[0]).decode()}.json.gz"
                index.write(text.replace(own, number).replace(b"@BODY@", f"bodies/{file}".encode()) + b"\n")
    return copies * len(recording.names)


def _put(folder: Path, index: Any, line: dict[str, Any], name: str, body: bytes) -> None:
    _put_body(folder, name, body)
    index.write(orjson.dumps(line | {"body": f"bodies/{name}"}) + b"\n")


def _put_body(folder: Path, name: str, body: bytes) -> None:
    (folder / "bodies" / name).write_bytes(igzip.compress(body, 1, mtime=0))


class _Recording:
    def __init__(self, path: Path, renders: Path | None) -> None:
        self._renders = renders is not None
        self._files = [open_files(folder) for folder in (path, renders) if folder is not None]
        self._lines = [
            line | {"layer": number}
            for number, files in enumerate(self._files)
            for line in map(json.loads, files.read("requests.jsonl").splitlines())
            if self._is_asked(line)
        ]
        self.files = self._files[0]
        apps = self._list("applications")
        self.names = {app["metadata"]["name"] for app in apps}
        self._projects = {project["metadata"]["name"] for project in self._list("projects")}
        servers = {cluster["server"] for cluster in self._list("clusters")}
        servers |= {app["spec"]["destination"].get("server", "") for app in apps}
        self._servers = sorted(filter(None, servers), key=len, reverse=True)
        self._clusters = {cluster["name"] for cluster in self._list("clusters")}

    def _is_asked(self, line: dict[str, Any]) -> bool:
        narrowed = {key for key, _ in line["query"]} & {"fields", "name", "group"} and "kind" not in dict(line["query"])
        asked = ASKED.fullmatch(line["path"]) or (self._renders and RENDERS.fullmatch(line["path"]))
        return bool(asked) and not line["anonymous"] and not narrowed

    def _list(self, kind: str) -> list[Any]:
        found = next(line for line in self._lines if line["path"] == f"/api/v1/{kind}")
        return orjson.loads(self._body(found))["items"] or []

    def _body(self, line: dict[str, Any]) -> bytes:
        return self._files[line["layer"]].read(line["body"])

    def answers(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Each request and its answer, with OWN in place of a copy's number."""
        for line in self._lines:
            path = line["path"].split("/")
            body = orjson.loads(self._body(line))
            kind = path[-1] if len(path) > 5 else path[-1] if path[-1] in LISTS else ""
            self._edit.get(kind, lambda _self, _body: None)(self, body)
            if len(path) > 5:
                path[4] = self._app(path[4])
            query = [[key, self._parameter(key, value, line)] for key, value in line["query"]]
            text = orjson.dumps(line | {"path": "/".join(path), "query": query, "body": "@BODY@"})
            yield orjson.loads(self._text(text)), self._text(orjson.dumps(body))

    def _text(self, text: bytes) -> bytes:
        """uids, clusters and tracking ids, at any place."""
        text = _UUID.sub(rb"\g<1>%s\g<2>" % OWN.encode(), text)
        text = _TRACKED.sub(self._tracked, text)
        for server in self._servers:
            host = urlsplit(server).hostname or ""
            first, _, rest = host.partition(".")
            text = text.replace(server.encode(), server.replace(host, f"{first}-{OWN}.{rest}").encode())
        return text

    def _tracked(self, found: re.Match[bytes]) -> bytes:
        before, instance, colon, child = found.groups()
        namespace, _, name = instance.decode().rpartition("_")
        owner = f"{namespace}_{self._app(name)}" if namespace else self._app(name)
        own = (
            f"-{OWN}".encode() if child and child.rpartition(b"/")[2].decode() in (self.names | self._projects) else b""
        )
        return before + owner.encode() + colon + (child or b"") + own

    def _app(self, name: str) -> str:
        return f"{name}-{OWN}" if name in self.names else name

    def _project(self, name: str) -> str:
        return f"{name}-{OWN}" if name in self._projects else name

    def _parameter(self, key: str, value: str, line: dict[str, Any]) -> str:
        if key == "project":
            return self._project(value)
        if key in ("resourceName", "name") and dict(line["query"]).get("kind") == "Application":
            return self._app(value)
        return value

    def _application(self, app: dict[str, Any]) -> None:
        """An Application object: of the list, or a state."""
        app["metadata"]["name"] = self._app(app["metadata"]["name"])
        spec, status = app.get("spec") or {}, app.get("status") or {}
        if "project" in spec:
            spec["project"] = self._project(spec["project"])
        if (to := spec.get("destination") or {}).get("name") in self._clusters:
            to["name"] += f"-{OWN}"
        for row in status.get("resources") or ():
            self._row(row)
        for row in ((status.get("operationState") or {}).get("syncResult") or {}).get("resources") or ():
            self._row(row)
        for condition in status.get("conditions") or ():
            condition["message"] = _SHARED.sub(self._owners, condition["message"])

    def _owners(self, found: re.Match[str]) -> str:
        return re.sub(r"[a-z0-9.-]+", lambda word: self._app(word[0]), found[0])

    def _row(self, row: dict[str, Any]) -> None:
        if row.get("kind") == "Application":
            row["name"] = self._app(row["name"])
        elif row.get("kind") == "AppProject":
            row["name"] = self._project(row["name"])

    def _applications(self, body: dict[str, Any]) -> None:
        for app in body["items"] or ():
            self._application(app)

    def _managed(self, body: dict[str, Any]) -> None:
        for item in body.get("items") or ():
            self._row(item)
            for key in STATES if item.get("kind") in ("Application", "AppProject") else ():
                if state := orjson.loads(item.get(key) or "null"):
                    item[key] = self._own(state)

    def _own(self, state: dict[str, Any]) -> str:
        if state["kind"] == "Application":
            self._application(state)
        elif state["kind"] == "AppProject":
            state["metadata"]["name"] = self._project(state["metadata"]["name"])
        return orjson.dumps(state).decode()

    def _manifests(self, body: dict[str, Any]) -> None:
        body["manifests"] = [self._own(orjson.loads(text)) for text in body.get("manifests") or ()]

    def _tree(self, body: dict[str, Any]) -> None:
        for node in (*(body.get("nodes") or ()), *(body.get("orphanedNodes") or ())):
            self._row(node)
            for parent in node.get("parentRefs") or ():
                self._row(parent)

    def _named(self, body: dict[str, Any]) -> None:
        for item in body["items"] or ():
            if "server" in item:  # a cluster
                item["name"] = f"{item['name']}-{OWN}"
            elif "metadata" in item:
                item["metadata"]["name"] += f"-{OWN}"

    _edit: ClassVar[dict[str, Callable[[_Recording, Any], None]]] = {
        "applications": _applications,
        "projects": _named,
        "clusters": _named,
        "applicationsets": _named,
        "managed-resources": _managed,
        "manifests": _manifests,
        "resource-tree": _tree,
    }


if __name__ == "__main__":
    import sys

    print(write(Path(sys.argv[1]), int(sys.argv[2])))
