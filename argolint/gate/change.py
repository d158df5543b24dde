"""The change to judge, with its manifests of Argo CD's own objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from argolint.gate.branch_wait import BranchWait
from argolint.model import AppRef, Failure, Object
from argolint.sources.git import Git
from argolint.sources.rendered import manifests_of
from argolint.values.memo import Once

if TYPE_CHECKING:
    from argolint.sources.local_renders import LocalRenders


@dataclass(frozen=True)
class ManifestPair:
    """A manifest before and after the change, in this file; None if it does not exist on that side."""

    before: Object | None
    after: Object | None
    file: str = ""

    @property
    def manifest(self) -> Object:
        """The manifest after the change, or if it is deleted, before it."""
        found = self.before or self.after
        assert found is not None
        return found


@dataclass(frozen=True)
class Written:
    """Manifests of named Applications, of objects that generate or restrict them (`others`), and failures to read some.

    by_files  the user named the files: unjudged ones are failures, and the rest of the change is unknown
    """

    applications: tuple[ManifestPair, ...] = ()
    others: tuple[ManifestPair, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    by_files: bool = False


@dataclass(frozen=True)
class GatedChange:
    """The change to judge. `base` empty: the revision that most applications of the repository follow.

    repo        empty: nothing is rendered, and only the manifests of `files` are judged, without those that equal the base's or the
                live ones
    files       the content of the named files
    projects    names of projects that the named files add
    git         a clone, to find the touched applications by changed files
    rendered    a folder of manifests per application, instead of the server's render of head
    local       renders the clone's Helm applications here, base and head, instead of on the server
    commit      the commit of `head`, if a clone has it
    branch_wait how long to wait for a head that Argo CD does not know yet
    everything  every application of the repository, whatever the changed files are
    renders_twice  render head once more, bypassing the cache, to find generated values; no application follows its commit yet,
                so none uses the new cache entry
    """

    repo: str
    head: str
    base: str = ""
    git: Git | None = None
    rendered: Path | None = None
    everything: bool = False
    renders_twice: bool = False
    commit: str = ""
    branch_wait: BranchWait = field(default_factory=BranchWait)
    files: Written | None = None
    projects: frozenset[str] = frozenset()
    local: LocalRenders | None = None
    _given: Once = field(default_factory=Once, compare=False, repr=False)

    def given(self, ref: AppRef) -> tuple[Object, ...] | None:
        """The manifests in `rendered` of an application; None if there are none. Errors: see `manifests_of`."""
        folder = self.rendered
        if folder is None:
            return None
        return self._given.of((ref.namespace, ref.name), lambda: manifests_of(folder, ref))

    @property
    def by_files(self) -> bool:
        """True if files with Applications are judged instead of a repository."""
        return self.files is not None
