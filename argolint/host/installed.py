"""Where the argolint that runs came from, so that what it writes and advises names that place and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from argolint import ACTION, PACKAGE, PUBLISHED
from argolint.errors import ArgolintError
from argolint.host import programs

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_GIT_LIMITS = programs.Limits(seconds=10, output_bytes=4096)


@dataclass(frozen=True)
class Origin:
    """The version, and what is known of its source: the commit, and the address of the repository without credentials."""

    version: str
    commit: str = ""
    url: str = ""

    @property
    def action(self) -> str:
        """What `uses:` of a workflow names."""
        return f"{self._repository or ACTION}@{self.commit or f'v{self.version}'}"

    @property
    def can_be_fetched(self) -> bool:
        """Whether `action` names something that a runner finds: a repository that this argolint was installed from, or a release."""
        return bool(self._repository and self.commit) or PUBLISHED

    @property
    def requirement(self) -> str:
        """What pip takes to install the same argolint; empty where there is no such place."""
        if self.commit and self.url:
            return f"{PACKAGE} @ git+{self.url}@{self.commit}"
        return f"{PACKAGE}=={self.version}" if PUBLISHED else ""

    @property
    def _repository(self) -> str:
        """OWNER/REPOSITORY of an address at GitHub."""
        parts = urlsplit(self.url)
        path = parts.path.removesuffix(".git").strip("/")
        return path if parts.hostname == "github.com" and re.fullmatch(r"[\w.-]+/[\w.-]+", path) else ""


def origin(version: str) -> Origin:
    """Of the argolint that runs: what its installer wrote down, else the commit of the checkout that it runs from."""
    direct = _direct(_distribution())
    vcs = direct.get("vcs_info")
    commit = vcs.get("commit_id") if isinstance(vcs, Mapping) else None
    if isinstance(commit, str) and _COMMIT.fullmatch(commit):
        return Origin(version, commit, _without_credentials(str(direct.get("url", ""))))
    return Origin(version, _checkout_commit(Path(__file__).resolve().parents[2]))


def for_extra(name: str) -> str:
    """How to install what one of the extras needs: the packages themselves, wherever argolint came from."""
    installed = _distribution()
    marker = re.compile(rf"""\bextra\s*==\s*['"]{re.escape(name)}['"]""")
    wanted = [r.partition(";")[0].strip() for r in ((installed and installed.requires) or ()) if marker.search(r)]
    return "pip install " + (" ".join(f"'{requirement}'" for requirement in wanted) or name)


def _distribution() -> Distribution | None:
    try:
        return distribution(PACKAGE)
    except PackageNotFoundError:
        return None


def _direct(installed: Distribution | None) -> Mapping[str, Any]:
    """PEP 610's direct_url.json: what the installer was given in place of a name."""
    try:
        found = json.loads((installed and installed.read_text("direct_url.json")) or "{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _checkout_commit(root: Path) -> str:
    """The commit of the checkout that argolint runs from. A folder of packages is none: a clone around it is someone else's."""
    git = programs.find("git") if (root / ".git").exists() and (root / "argolint").is_dir() else None
    if git is None:
        return ""
    try:
        ended = programs.run(
            [git, "rev-parse", "HEAD"], name="git", env=programs.inherited(), limits=_GIT_LIMITS, cwd=root
        )
    except (ArgolintError, OSError, ValueError):  # no git that works here: the commit is not known
        return ""
    found = ended.out.decode("ascii", "replace").strip()
    return found if ended.code == 0 and _COMMIT.fullmatch(found) else ""


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
