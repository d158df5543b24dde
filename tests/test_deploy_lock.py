"""What the image installs: every dependency, each with a version that fits and with hashes."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT


def test_the_lock_holds_every_dependency_with_hashes() -> None:
    """`make lock` writes it. The image installs nothing else, and misses at run time what is not there."""
    text = (ROOT / "deploy" / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", "")
    pinned = {}
    for line in text.splitlines():
        found = re.fullmatch(r"([a-z0-9-]+)==(\S+) (?:; [^#]+? )?(?: +--hash=sha256:[0-9a-f]{64})+ *", line)
        assert found, line
        pinned[found[1]] = found[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["dependencies"]]
    assert [r.name for r in wanted if canonicalize_name(r.name) not in pinned] == [], "run `make lock`"
    assert [r.name for r in wanted if pinned[canonicalize_name(r.name)] not in r.specifier] == [], "run `make lock`"
