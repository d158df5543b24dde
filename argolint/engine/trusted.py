"""Which configuration and which baseline count.

For most commands those of the work tree do. Where a change is judged, in `gate` and with --trusted-config, they come from a
revision that it goes into, so that it cannot switch off what judges it. That holds for files named with --config-file and
--baseline too, as far as they lie in the clone: in CI its work tree is the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from argolint.engine import config
from argolint.engine.config import Config, Loaded
from argolint.errors import UsageError
from argolint.sources.files import own_path
from argolint.sources.git import Git, has_repository
from argolint.suppression.baseline import Baseline, parse_baseline, read_baseline

_BASES = (
    ("PRE_COMMIT_FROM_REF", "{}"),
    ("GITHUB_BASE_REF", "refs/remotes/origin/{}"),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "refs/remotes/origin/{}"),
)
"""Where pre-commit, GitHub and GitLab say what a change goes into."""
_REMOTE_HEAD = "refs/remotes/origin/HEAD"


@dataclass(frozen=True)
class Named:
    """The files and the revision that the user names, as they were written; `no_baseline` leaves the configuration's out."""

    config_file: str | None = None
    baseline: str | None = None
    trusted_config: str | None = None
    no_baseline: bool = False


@dataclass(frozen=True)
class Trusted:
    """What counts. `after_merge` is what will count once the change is merged, where that is known and not the same."""

    loaded: Loaded = field(default_factory=lambda: Loaded(Config()))
    baseline: Baseline | None = None
    after_merge: Trusted | None = None
    remarks: tuple[str, ...] = ()


def read(named: Named) -> Trusted:
    """For a command that judges no change: the work tree's files, unless --trusted-config names a revision."""
    if named.trusted_config:
        clone = _clone(None)
        if clone is None:
            raise UsageError("--trusted-config reads from a Git clone, and this folder is none", "run it in the clone")
        return _read(named, _Commit(clone, named.trusted_config))
    loaded = config.load(_path(named.config_file))
    alike = None if loaded.file else config.look_alike()
    remarks = (f"{alike} is not read: argolint's configuration is called {config.DEFAULT_FILE}",) if alike else ()
    accepted = _path(named.baseline)
    if accepted is None and loaded.config.baseline and loaded.file and not named.no_baseline:
        of_named = named.config_file is not None  # a file that is named counts from the working directory
        accepted = Path(loaded.config.baseline) if of_named else loaded.file.parent / loaded.config.baseline
    return Trusted(loaded, read_baseline(accepted) if accepted else None, remarks=remarks)


def read_for_change(
    named: Named, checkout: Path | None, base: str | None, head: str | None, environ: Mapping[str, str]
) -> Trusted:
    """For `gate`: the files at the revision that the change goes into; outside of any clone, those that are named.

    UsageError where there is a configuration and no revision to trust. A folder without `.git` may be a change that was
    downloaded as an archive, as actions/checkout does where there is no git.
    """
    clone = _clone(checkout)
    if clone is None:
        if not named.config_file and config.DEFAULT_FILE.exists():
            raise UsageError(
                f"{config.DEFAULT_FILE} of this folder may be part of the change, so it is not read",
                "run it in a Git clone, or pass --config-file if the file is yours",
            )
        return read(named)
    revision = named.trusted_config or base or _usual_base(clone, environ)
    counts = _read(named, _Commit(clone, revision))
    return _with_after_merge(counts, named, head or "HEAD", clone, revision) if revision else counts


def _path(name: str | None) -> Path | None:
    return Path(name) if name else None


def _clone(checkout: Path | None) -> Git | None:
    """The clone that is named, else the one that one stands in. A folder with `.git` is one, and git has to read it."""
    if checkout is None and has_repository(Path.cwd()) is None:
        return None
    clone = Git(own_path(checkout or Path.cwd()))
    clone.require()
    return clone


def base_of(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The revision that a change in this folder's clone goes into, where pre-commit, a CI or the remote says so."""
    root = has_repository(folder)
    return _usual_base(Git(root), environ) if root is not None else None


def _usual_base(clone: Git, environ: Mapping[str, str]) -> str | None:
    for variable, form in _BASES:
        if environ.get(variable):
            return form.format(environ[variable])
    return _REMOTE_HEAD if clone.has_branch(_REMOTE_HEAD) else None


@dataclass(frozen=True)
class _Commit:
    """The files of a revision, by the paths that they have in the clone's work tree. None: which one to trust is not known."""

    clone: Git
    revision: str | None

    @cached_property
    def top(self) -> Path:
        return self.clone.path.resolve() if self.clone.is_bare else self.clone.top

    @cached_property
    def default(self) -> Path:
        """The configuration of the folder that one stands in, else that of the whole repository."""
        own, whole = (folder / config.DEFAULT_FILE for folder in (self.clone.path, self.top))
        return whole if own != whole and self.text(own) is None else own

    def name(self, file: Path) -> str | None:
        """The file's name in the repository, whatever the change has made of it there; None when it lies outside of the clone."""
        plain_path = ".." not in file.parts and file.absolute().is_relative_to(self.top)
        place = file.absolute() if plain_path else own_path(file)
        return place.relative_to(self.top).as_posix() if place.is_relative_to(self.top) else None

    def text(self, file: Path) -> str | None:
        """The file at the revision; None when it is not there. UsageError when no revision is known and a change may have it."""
        name = self.name(file)
        if name is None:
            return None
        if self.revision is not None:
            return self.clone.linked(self.revision, name)
        if self.clone.holds(name) or (file.name == config.DEFAULT_FILE.name and file.exists()):
            raise UsageError(
                f"{file} may be part of the change, so it is not read",
                "name the revision to trust: --base REV or --trusted-config REV",
            )
        return None

    def require_own(self, file: Path) -> None:
        """UsageError for a file that the change adds. One outside of the clone, or in no commit, is the caller's own."""
        own_path(file)  # no link leads to it
        name = self.name(file)
        if name is not None and self.clone.holds(name):
            raise UsageError(
                f"{self.revision} has no {file}: the change adds it, so it does not count",
                "commit it there first, or leave it out",
            )


def _read(named: Named, at: _Commit) -> Trusted:
    """What is committed counts as it is at the revision; what is not committed at all is the caller's own."""
    file = _path(named.config_file)
    text = at.text(file or at.default)
    if text is not None:
        loaded = config.parse(text, file or config.DEFAULT_FILE)
    elif file is None:
        loaded = Loaded(Config())
    else:
        at.require_own(file)
        loaded = config.load(file)
    accepted = _path(named.baseline or loaded.config.baseline)
    if accepted is None:
        return Trusted(loaded)
    place = accepted if named.baseline or file else at.default.parent / accepted
    text = at.text(place)
    if text is not None:
        return Trusted(loaded, parse_baseline(text, accepted))
    at.require_own(place)
    return Trusted(loaded, read_baseline(place))


def _with_after_merge(counts: Trusted, named: Named, head: str, clone: Git, revision: str) -> Trusted:
    """Also what the change makes of the files, where the clone has the change."""
    at = _Commit(clone, head)
    try:
        changed = {change.path for change in clone.changes(revision, head)}
    except UsageError:
        return counts
    wanted = (named.config_file or at.default, named.baseline or counts.loaded.config.baseline)
    names = {at.name(Path(file)) for file in wanted if file}
    edited = sorted(name for name in names if name in changed)
    if not edited:
        return counts
    remark = f"The change edits {' and '.join(edited)}: what it says there counts once it is merged."
    try:
        return replace(counts, after_merge=_read(named, at), remarks=(remark,))
    except UsageError as error:
        return replace(counts, remarks=(remark, f"It cannot be used as it is: {error.message}"))
