"""Bills of materials in CycloneDX: for the wheel's dependencies, and for the image."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from scripts.release.names import Refused


def python_packages(bom: Mapping[str, Any]) -> dict[str, str]:
    """Name and version of each Python package of a bill, with normalized names."""
    found = [*bom.get("components", ()), *([c] if (c := bom.get("metadata", {}).get("component")) else ())]
    return {normal(c["name"]): c["version"] for c in found if str(c.get("purl", "pkg:pypi/")).startswith("pkg:pypi/")}


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def of_image(bom: Mapping[str, Any], image: Mapping[str, str], debian: Iterable[str], codename: str) -> dict[str, Any]:
    """The bill of the image: the Python packages of `bom`, and Debian's, as lines `name version architecture`.

    Refused if the image has other Python packages than the bill.
    """
    held = {normal(name): version for name, version in image.items()}
    listed = python_packages(bom)
    if held != listed:
        odd = sorted(name for name in held.keys() | listed.keys() if held.get(name) != listed.get(name))
        raise Refused(f"the image does not hold what its lock names: {', '.join(odd)}", "make lock, and build again")
    packages = [_debian(*[*line.split(" "), "", ""][:3], codename=codename) for line in sorted(debian) if line]
    if not packages:
        raise Refused("the image names no package of its base", "the base has to be one of Debian's packages")
    return {**bom, "components": [*bom["components"], *packages]}


def _debian(name: str, version: str, architecture: str, *, codename: str) -> dict[str, str]:
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={architecture}&distro={codename}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def written(bom: Mapping[str, Any]) -> bytes:
    return (json.dumps(bom, indent=1, sort_keys=True) + "\n").encode()
