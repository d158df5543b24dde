"""Make a knowledge pack of the knowledge files of this tree: `make knowledge`, or `python scripts/knowledge.py OUT.json`.

The version is the day of the last commit of these files; a second one of that day is `--version 2026.12.01.1`. Before it is written, the pack is
read back like a user's argolint reads it. --stamp also writes that day into argolint/values/knowledge.py.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PLACES = ("rules/**/*.yaml", "argolint/**/*.yaml")


def last_change(root: Path = ROOT) -> str:
    """The day of the last commit that touches a knowledge file, in UTC."""
    how = ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d", "--"]
    listed = [f":(glob){place}" for place in _PLACES]
    done = subprocess.run(
        [*how, *listed], cwd=root, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def stamped(text: str, day: str) -> str:
    """argolint/values/knowledge.py with this day."""
    made, count = re.subn(
        r'^BUILT_IN = About\("[^"]+", "[^"]+"\)$',
        f'BUILT_IN = About("{day.replace("-", ".")}", "{day}")',
        text,
        flags=re.MULTILINE,
    )
    if count != 1:
        raise ValueError("argolint/values/knowledge.py does not say BUILT_IN once")
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--version", default="", help="[default: the day of the last change, such as 2026.12.01]")
    parser.add_argument("--stamp", action="store_true")
    given = parser.parse_args()
    day = last_change()
    if given.stamp:
        file = ROOT / "argolint/values/knowledge.py"
        file.write_text(stamped(file.read_text(encoding="utf-8"), day), encoding="utf-8")
    from argolint.errors import UsageError  # only after its own day is written
    from argolint.values import knowledge_pack

    own = knowledge_pack.own_files()
    try:
        text = knowledge_pack.pack(given.version or day.replace("-", "."), day, own)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_bytes(text)
        knowledge_pack.read(given.out)
    except (TypeError, UsageError) as error:
        sys.stderr.write(f"no pack can be made: {error}\n")
        return 1
    print(f"{given.out}: {len(own)} files of {day}, {len(text) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
