"""Counts the steps of each pattern that is not yet known to be linear: `python -m scripts.linear_patterns`.

Writes the digests of all that are to tests/golden/linear_patterns.txt, and prints those that are not. tests/test_patterns.py reads the file.
"""

from __future__ import annotations

import sys

from tests.test_patterns import KEPT, counted, kept, way


def main() -> int:
    """1 where a pattern takes more than in proportion to a text."""
    complaints, good = counted(kept())
    KEPT.write_text("\n".join((way(), *sorted(good), "")), "utf-8")
    print(*(f"{place} {said}" for place, said in complaints.items()), sep="\n", end="")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
