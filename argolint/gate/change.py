"""The change to judge, with its manifests of Argo CD's own objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from argolint.gate.patience import Patience
from argolint.model import AppRef, Failure, Object
from argolint.sources.git import Git
from argolint.sources.rendered import manifests_of
from argolint.values.memo import Once

if TYPE_CHECKING:
    from argolint.sources.local_renders import LocalRenders


@dataclass(frozen=True)
class Pair:
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
    """Manifests of Applications that have a name, of what makes or permits them (`others`), and what of it could not be read.

    by_files  files are named: what was not judged is a failure, and nothing else of the change is known
    """

    applications: tuple[Pair, ...] = ()
    others: tuple[Pair, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    by_files: bool = False


@dataclass(frozen=True)
class Change:
    """What is to be judged. `base` empty: the revision that most applications of the repository follow.

    repo        empty: nothing is rendered, and only the manifests of `files` are judged; those that are as the base has them, or as
                they are live, are not edited and left out
    files       what the named files hold
    projects    names of projects that the named files bring
    git         a clone, to tell from the changed files what is touched
    rendered    a folder of manifests per application, in place of the server's render of head
    local       renders the Helm applications of the clone here, base and head, in place of the server
    commit      the commit that `head` names, where a clone tells it
    patience    how long a head that Argo CD does not know yet is waited for
    everything  every application of the repository, whatever the changed files say
    twice       render head once more, past the cache, to see what each render generates again; its commit is deployed nowhere yet,
                so nothing adopts what that puts into the cache
    """

    repo: str
    head: str
    base: str = ""
    git: Git | None = None
    rendered: Path | None = None
    everything: bool = False
    twice: bool = False
    commit: str = ""
    patience: Patience = field(default_factory=Patience)
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
