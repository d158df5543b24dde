"""Archives whose bytes depend only on their contents: sorted, with one time and no owner, without the packer's additions."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Entry = tuple[str, int, bytes]
"""Name, mode and contents of a file."""


def of_folder(folder: Path, prefix: str = "") -> list[Entry]:
    """Every file below a folder. Links are followed: the archive has none."""
    found = (p for p in folder.rglob("*") if p.is_file())
    return [(prefix + p.relative_to(folder).as_posix(), _mode(p.stat().st_mode), p.read_bytes()) for p in found]


def of_archive(file: Path) -> list[Entry]:
    """Every file of a tar archive, compressed or not. Nothing is unpacked onto the disk."""
    entries = []
    with tarfile.open(file) as archive:
        for member in archive:
            if member.isfile() and (opened := archive.extractfile(member)) is not None:
                entries.append((member.name, _mode(member.mode), opened.read()))
    return entries


def tar(entries: Iterable[Entry], when: int) -> bytes:
    """The archive, not compressed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, data in sorted(entries):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), mode, when
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def tar_gz(entries: Iterable[Entry], when: int) -> bytes:
    """The archive, compressed, with the same time in gzip's own head."""
    return gzip.compress(tar(entries, when), compresslevel=9, mtime=when)


def chart_layout(chart: Mapping[str, Any], package: bytes, when: str) -> list[Entry]:
    """An OCI image layout with a Helm chart, as `helm push` makes it in a registry.

    `skopeo copy oci-archive:FILE docker://REGISTRY/argolint:VERSION` or `oras cp --from-oci-layout` pushes it unchanged.
    """
    config = _json(dict(chart))
    layer = {
        "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        "digest": digest(package),
        "size": len(package),
    }
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.cncf.helm.config.v1+json",
                "digest": digest(config),
                "size": len(config),
            },
            "layers": [layer],
            "annotations": {
                "org.opencontainers.image.title": chart["name"],
                "org.opencontainers.image.version": chart["version"],
                "org.opencontainers.image.description": chart["description"],
                "org.opencontainers.image.created": when,
            },
        }
    )
    index = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [
                {
                    "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "digest": digest(manifest),
                    "size": len(manifest),
                    "annotations": {"org.opencontainers.image.ref.name": chart["version"]},
                }
            ],
        }
    )
    blobs = {digest(data).replace(":", "/"): data for data in (config, package, manifest)}
    return [
        ("oci-layout", 0o644, _json({"imageLayoutVersion": "1.0.0"})),
        ("index.json", 0o644, index),
        *((f"blobs/{place}", 0o644, data) for place, data in blobs.items()),
    ]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _mode(mode: int) -> int:
    return 0o755 if mode & 0o100 else 0o644
