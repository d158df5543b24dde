"""Chooses the configuration and the baseline.

Most commands use those of the work tree. To judge a change, `gate` and --trusted-config read them from the revision that it goes into, so
that the change cannot switch off its own check. This also applies to files in the clone that --config-file and --baseline name: in CI its
work tree is the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from argolint.engine import config
from argolint.engine.config import Config, Loaded
from argolint.errors import UsageError
from argolint.quick.records import dataclass
from argolint.sources.files import own_path
from argolint.sources.git import Git, has_repository
from argolint.suppression.baseline import Baseline, parse_baseline, read_baseline

_BASES = (
    ("PRE_COMMIT_FROM_REF", "{}"),
    ("GITHUB_BASE_REF", "refs/remotes/origin/{}"),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "refs/remotes/origin/{}"),
)
"""Environment variables in which pre-commit, GitHub and GitLab name the target of a change."""
_REMOTE_HEAD = "refs/remotes/origin/HEAD"


@dataclass(frozen=True)
class Named:
    """The files and the revision that the user names, as written; `no_baseline` ignores the baseline of the configuration."""

    config_file: str | None = None
    baseline: str | None = None
    trusted_config: str | None = None
    no_baseline: bool = False


@dataclass(frozen=True)
class Trusted:
    """The configuration and baseline to use. `after_merge`: those after the change is merged, if known and different."""

    loaded: Loaded = field(default_factory=lambda: Loaded(Config()))
    baseline: Baseline | None = None
    after_merge: Trusted | None = None
    remarks: tuple[str, ...] = ()


def read(named: Named) -> Trusted:
    """For a command without a change: the work tree's files, unless --trusted-config names a revision."""
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
        of_named = named.config_file is not None  # a path on the command line is relative to the working directory
        accepted = Path(loaded.config.baseline) if of_named else loaded.file.parent / loaded.config.baseline
    return Trusted(loaded, read_baseline(accepted) if accepted else None, remarks=remarks)


def read_for_change(
    named: Named, checkout: Path | None, base: str | None, head: str | None, environ: Mapping[str, str]
) -> Trusted:
    """For `gate`: the files at the revision that the change goes into; outside of a clone, the files that the user names.

    UsageError if there is a configuration and no revision to trust. A folder without `.git` may be a change that was downloaded as an
    archive; actions/checkout does that on machines without git.
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
    """The named clone, else the clone of the working directory. A folder with `.git` must be readable by git."""
    if checkout is None and has_repository(Path.cwd()) is None:
        return None
    clone = Git(own_path(checkout or Path.cwd()))
    clone.require()
    return clone


def base_of(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The revision that a change in this folder's clone goes into, from pre-commit, a CI or the remote; else None."""
    root = has_repository(folder)
    return _usual_base(Git(root), environ) if root is not None else None


def _usual_base(clone: Git, environ: Mapping[str, str]) -> str | None:
    for variable, form in _BASES:
        if environ.get(variable):
            return form.format(environ[variable])
    return _REMOTE_HEAD if clone.has_branch(_REMOTE_HEAD) else None


@dataclass(frozen=True)
class _Commit:
    """The files of a revision, by their paths in the clone's work tree. None: no revision to trust is known."""

    clone: Git
    revision: str | None

    @cached_property
    def top(self) -> Path:
        return self.clone.path.resolve() if self.clone.is_bare else self.clone.top

    @cached_property
    def default(self) -> Path:
        """The configuration of the working directory, else of the whole repository."""
        own, whole = (folder / config.DEFAULT_FILE for folder in (self.clone.path, self.top))
        return whole if own != whole and self.text(own) is None else own

    def name(self, file: Path) -> str | None:
        """The file's path in the repository, also if the change deleted or replaced it; None if it is outside of the clone."""
        plain_path = ".." not in file.parts and file.absolute().is_relative_to(self.top)
        place = file.absolute() if plain_path else own_path(file)
        return place.relative_to(self.top).as_posix() if place.is_relative_to(self.top) else None

    def text(self, file: Path) -> str | None:
        """The file's text at the revision; None if it does not exist there. UsageError if no revision is known and a change may have written it."""
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
        """UsageError for a file that the change adds. A file outside of the clone, or in no commit, belongs to the user."""
        own_path(file)  # no symbolic link leads to it
        name = self.name(file)
        if name is not None and self.clone.holds(name):
            raise UsageError(
                f"{self.revision} has no {file}: the change adds it, so it does not count",
                "commit it there first, or leave it out",
            )


def _read(named: Named, at: _Commit) -> Trusted:
    """Committed files are read at the revision; uncommitted files belong to the user."""
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
    """The files with `after_merge` added, if the clone has the change."""
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
