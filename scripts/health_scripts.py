"""Writes argolint/relations/health_scripts.yaml: in which releases of Argo CD the health script of a kind changed.

python scripts/health_scripts.py CLONE_OF_ARGO_CD > argolint/relations/health_scripts.yaml
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys

_HEAD = """# Which releases of Argo CD changed the health script of a kind: the release, and a number that is the same where the script is. A kind whose script
# never changed is not here; blanks, comments, `local` and the ends of statements do not count. `*` stands for any characters.
# Source: resource_customizations/*/*/health.lua at every release tag; written by scripts/health_scripts.py.
"""


def _git(clone: str, *words: str) -> str:
    return subprocess.run(("git", "-C", clone, *words), capture_output=True, text=True, check=True).stdout


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _scripts(clone: str, version: str) -> dict[str, str]:
    """The blob of each kind's health script at a release."""
    lines = _git(clone, "ls-tree", "-r", f"v{version}", "resource_customizations").splitlines()
    found = {}
    for line in lines:
        meta, path = line.split("\t")
        if path.endswith("/health.lua"):
            found["/".join(path.split("/")[1:3]).replace("_", "*")] = meta.split()[2]
    return found


def main(clone: str) -> None:
    versions = sorted((t[1:] for t in _git(clone, "tag").split() if re.fullmatch(r"v\d+\.\d+\.\d+", t)), key=_key)
    bodies: dict[str, str] = {}
    history: dict[str, dict[str, str]] = {}
    for version in (v for v in versions if _key(v) >= (2, 4, 0)):
        for kind, blob in _scripts(clone, version).items():
            if blob not in bodies:
                text = re.sub(r"--[^\n]*|\blocal\b|[\s;]+", "", _git(clone, "cat-file", "blob", blob))
                bodies[blob] = hashlib.sha256(text.encode()).hexdigest()
            history.setdefault(kind, {})[version] = bodies[blob]
    print(_HEAD, end="")
    for kind, by_version in sorted(history.items()):
        numbers: dict[str, int] = {}
        points, last = {}, None
        for version, body in by_version.items():
            number = numbers.setdefault(body, len(numbers) + 1)
            if number != last:
                points[version] = last = number
        if len(numbers) > 1:
            print(f"'{kind}': {{{', '.join(f'{v}: {n}' for v, n in points.items())}}}")


if __name__ == "__main__":
    main(sys.argv[1])
