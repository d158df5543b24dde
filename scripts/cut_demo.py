"""Cuts the embedded demo out of the recording of harbourline, an invented company.

    python scripts/cut_demo.py ../shared/recordings/harbourline 3-after-commits argolint/snapshots/demo/harbourline.tar.gz

The applications with the company's own manifests are kept: plain manifests, kustomizations and its own chart. Those with a foreign chart
(vendored, or copied from an example) are dropped, with everything about them.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from argolint.snapshots.index import Line, named_application
from argolint.snapshots.narrow import APPLICATIONS
from argolint.snapshots.reader import SnapshotTransport
from argolint.snapshots.recorder import pack

_OWN_CHARTS = "charts"  # the repository of the company's own charts
_DROPPED = ("/swagger.json",)


def main(recording: Path, phase: str, target: Path) -> None:
    snapshot = SnapshotTransport([recording / phase])
    listed = msgspec.json.decode(snapshot.get(APPLICATIONS).body)
    kept = [app for app in listed["items"] if all(_is_own(s, recording / "sources") for s in _sources(app))]
    names = {(app["metadata"]["namespace"], app["metadata"]["name"]) for app in kept}
    sets = {
        o["name"] for app in kept for o in app["metadata"].get("ownerReferences", ()) if o["kind"] == "ApplicationSet"
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bodies").mkdir()
        lines: list[Line] = []
        for text in (recording / phase / "requests.jsonl").read_bytes().splitlines():
            line = msgspec.json.decode(text, type=Line)
            app, namespace, _ = named_application(line.path, line.query, "")
            fields = any(parameter == "fields" for parameter, _ in line.query)
            if line.path in _DROPPED or fields or (app and (namespace, app) not in names):
                continue
            body = snapshot.get(line.path, line.query, anonymous=line.anonymous).body
            if line.path == APPLICATIONS:
                body = msgspec.json.encode({**listed, "items": kept})
            elif line.path == "/api/v1/applicationsets":
                found = msgspec.json.decode(body)
                body = msgspec.json.encode(
                    {**found, "items": [s for s in found["items"] if s["metadata"]["name"] in sets]}
                )
            file = f"bodies/{hashlib.sha256(body).hexdigest()[:16]}.json"
            (folder / file).write_bytes(body)
            lines.append(msgspec.structs.replace(line, body=file))
        (folder / "requests.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        (folder / "snapshot.json").write_bytes((recording / phase / "snapshot.json").read_bytes())
        pack(folder, target, int(snapshot.now().timestamp()))
    sys.stdout.write(f"{target}: {len(kept)} of {len(listed['items'])} applications, {len(lines)} answers\n")


def _sources(app: dict[str, Any]) -> list[dict[str, Any]]:
    spec = app["spec"]
    return list(spec.get("sources") or [spec["source"]])


def _is_own(source: dict[str, Any], sources: Path) -> bool:
    repository = Path(urlsplit(source["repoURL"]).path).stem
    chart = sources / repository / source.get("path", "") / "Chart.yaml"
    if source.get("chart"):
        return False
    return not source.get("path") or not chart.exists() or repository == _OWN_CHARTS


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
