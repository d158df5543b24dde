"""The origin of the running argolint, so that generated files and advice name exactly that origin."""

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
    """The version, and what is known of its source: the commit, and the repository's URL without credentials."""

    version: str
    commit: str = ""
    url: str = ""

    @property
    def action(self) -> str:
        """The value for `uses:` in a workflow."""
        return f"{self._repository or ACTION}@{self.commit or f'v{self.version}'}"

    @property
    def can_be_fetched(self) -> bool:
        """Whether a runner can fetch `action`: argolint was installed from a repository, or is a release."""
        return bool(self._repository and self.commit) or PUBLISHED

    @property
    def requirement(self) -> str:
        """The pip requirement for the same argolint; empty if there is none."""
        if self.commit and self.url:
            return f"{PACKAGE} @ git+{self.url}@{self.commit}"
        return f"{PACKAGE}=={self.version}" if PUBLISHED else ""

    @property
    def _repository(self) -> str:
        """OWNER/REPOSITORY of a GitHub URL."""
        parts = urlsplit(self.url)
        path = parts.path.removesuffix(".git").strip("/")
        return path if parts.hostname == "github.com" and re.fullmatch(r"[\w.-]+/[\w.-]+", path) else ""


def origin(version: str) -> Origin:
    """The origin of the running argolint: from its installer's record, else the commit of its checkout."""
    direct = _direct(_distribution())
    vcs = direct.get("vcs_info")
    commit = vcs.get("commit_id") if isinstance(vcs, Mapping) else None
    if isinstance(commit, str) and _COMMIT.fullmatch(commit):
        return Origin(version, commit, _without_credentials(str(direct.get("url", ""))))
    return Origin(version, _checkout_commit(Path(__file__).resolve().parents[2]))


def for_extra(name: str) -> str:
    """The command that installs what an extra needs: the packages themselves, wherever argolint came from."""
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
    """PEP 610's direct_url.json: the URL that the installer was given instead of a name."""
    try:
        found = json.loads((installed and installed.read_text("direct_url.json")) or "{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _checkout_commit(root: Path) -> str:
    """The commit of argolint's own checkout. A folder of packages has none: a clone around it is someone else's."""
    git = programs.find("git") if (root / ".git").exists() and (root / "argolint").is_dir() else None
    if git is None:
        return ""
    try:
        ended = programs.run(
            [git, "rev-parse", "HEAD"], name="git", env=programs.inherited(), limits=_GIT_LIMITS, cwd=root
        )
    except (ArgolintError, OSError, ValueError):  # git does not work here: the commit is unknown
        return ""
    found = ended.out.decode("ascii", "replace").strip()
    return found if ended.code == 0 and _COMMIT.fullmatch(found) else ""


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
