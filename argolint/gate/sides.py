"""The applications of one Argo CD before and after a change. No rule has looked at them yet.

candidates → renders of base and head → App and head App → the fleet ahead
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from argolint.application.app import App
from argolint.application.application_sets import generators, maker
from argolint.application.fleet import Fleet
from argolint.application.shared_warnings import SharedWarning, without_warnings
from argolint.engine.guard import guarded_failures
from argolint.engine.plan import Plan
from argolint.engine.servers import Listing
from argolint.errors import UsageError
from argolint.gate.candidates import Candidate, ReadFiles, candidate_files, candidates, usual_base
from argolint.gate.change import GatedChange, Written
from argolint.gate.children import with_children
from argolint.gate.declared import is_application
from argolint.gate.generated import Trees, trees, unseen_set_notes
from argolint.gate.listed import unlisted_lines
from argolint.gate.own_settings import own_settings
from argolint.gate.projects import with_projects
from argolint.gate.reads import whole_checkout_files
from argolint.gate.renders import Renders, render
from argolint.gate.touched import Touched, compared_applications
from argolint.gate.written import NEW, application_edits, ref_of
from argolint.host.threads import each
from argolint.model import AppRef, Failure
from argolint.server.transport import Transport
from argolint.sources.git import Git
from argolint.values import enumerated, items, mapping, plain, schema, text_at
from argolint.values.kubernetes import group_of

_UNJUDGED = "judge the change in its pull request, with --repo and --head; --allow-incomplete passes it here"
_NOT_GIVEN = "changed files may touch it, and --rendered holds nothing of that name"
_GIVE_IT = "render it, too; --allow-incomplete leaves it out"
_NEITHER_GIVEN_NOR_READ = "--rendered has nothing of that name, and no clone shows what the change touches"
_NO_RENDER = "renders neither at base nor at head, which is no failure of this change"
_REGENERATED_ONLY = "differs only in values that no two renders share, or that follow a Secret's masked data"
_RENDERS_IN_FLIGHT = 4
"""Most renders at a time: each is a Helm or Kustomize run on the repo-server, and several gates may run at once."""


@dataclass(frozen=True)
class GatedServer:
    """One Argo CD before and after a change: all of its applications in two fleets, and those that the change touches.

    `unlisted`: what was left out, and why. `unchecked`: what the change may have forgotten. `known`: whether base's files have a word. `files`: the changed files that each application reads, if a checkout shows that.
    """

    transport: Transport
    fleet: Fleet
    fleet_after: Fleet
    judged: tuple[Touched, ...] = ()
    base_name: str = ""
    failures: tuple[Failure, ...] = ()
    unlisted: tuple[str, ...] = ()
    files: Mapping[AppRef, tuple[str, ...]] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    known: Callable[[str], bool] = lambda word: False


def untouched_server(listing: Listing) -> GatedServer:
    """An Argo CD that the change leaves as it is."""
    return GatedServer(listing.transport, listing.fleet, listing.fleet)


def base_of(fleet: Fleet, change: GatedChange) -> str:
    """The branch that the change will be merged into: the named one, else the one that most applications of the repository follow."""
    return change.base or usual_base(fleet, change.repo)


def gated_server(t: Transport, fleet: Fleet, change: GatedChange, plan: Plan, own: Written) -> GatedServer | None:
    """The sides of a change; None if it does not concern this Argo CD. Raises UsageError if revisions do not exist.

    `own`: the manifests of this Argo CD's Applications in the change.
    """
    base_name = base_of(fleet, change)
    found, others = candidates(fleet, change.repo, base_name)
    found = tuple(c for c in found if plan.wanted(c.app, fleet))
    edits = application_edits(own, fleet)
    if not (found or others or edits.edited or edits.new or change.by_files):
        return None
    reading = _reading(found, change, base_name)
    renders = each(
        reading.candidates, lambda c: render(t, c, change, base_name, fleet), min(plan.workers, _RENDERS_IN_FLIGHT)
    )
    if change.git is None:
        renders = [_without_guess(r, fleet) for r in renders]
    compared, compared_failures = compared_applications(t, renders, fleet, plan)
    with_sets, sets = with_children(compared, fleet, t, plan, edits, change, reading.trees)
    every, project_failures = with_projects(with_sets, edits.projects, fleet, t, plan)
    judged = tuple(j for j in every if not j.regenerated_only)
    going = {j.ref for j in judged if j.what == "removed"}
    return GatedServer(
        t,
        fleet,
        _head_fleet(fleet, judged),
        judged,
        base_name,
        failures=(
            *edits.failures,
            *reading.failures,
            *(
                f
                for r in renders
                if r.candidate.app.ref not in going
                for f in guarded_failures(r.candidate.app, r.failures)
            ),
            *compared_failures,
            *_lacking_failures(renders, change),
            *sets.failures,
            *project_failures,
            *own_settings(every, fleet),
            *(Failure("not judged", j.unjudged, _UNJUDGED, j.ref) for j in every if j.unjudged and change.by_files),
        ),
        unlisted=(
            *named_line((app.ref for app in others), f"follows another revision than {base_name}"),
            *unseen_set_notes(fleet, (c.app for c in found)),
            *_render_notes(renders, change),
            *named_line((j.ref for j in every if j.regenerated_only), _REGENERATED_ONLY),
            *_unjudged_notes(judged),
            *_unchecked_notes(judged),
            *(
                note
                for note in edits.notes
                if note not in {f"{name}: {NEW}" for name in _known_applications(judged, fleet)}
            ),
            *sets.notes,
        ),
        files=reading.files,
        unchecked=_unlisted_files(reading),
        known=_known_words(reading),
    )


@dataclass(frozen=True)
class _Reading:
    """The applications to render, the changed files that each reads, and both sides' files as far as a clone shows them."""

    candidates: tuple[Candidate, ...]
    files: Mapping[AppRef, tuple[str, ...]] = field(default_factory=dict)
    trees: Trees | None = None
    failures: tuple[Failure, ...] = ()


def _reading(found: Sequence[Candidate], change: GatedChange, base_name: str) -> _Reading:
    if change.git is None:
        return _Reading(tuple(found))
    try:
        reads = _reads(found, change, base_name, change.git)
        both = trees(change.git, change.repo, base_name, change.head)
    except UsageError:
        if change.everything:  # each is rendered, whatever files changed
            return _Reading(tuple(found))
        raise
    return _Reading(
        tuple(c for c in found if change.everything or reads[c.app.ref].files),
        {c.app.ref: reads[c.app.ref].files for c in found},
        both,
        tuple(_fetching_failure(c.app, read) for c in found if (read := reads[c.app.ref]).fetched),
    )


def _without_guess(found: Renders, fleet: Fleet) -> Renders:
    """Not judged if the folder is gone and a set may have made the Application of it: only a clone shows whether that deletes it."""
    of = maker(found.candidate.app, fleet) if _NO_FOLDER in found.head_error else None
    if of is None or not any(g.get("git") for _, g, _ in generators(mapping(of, "spec"))):
        return found
    failure = Failure(
        "not judged",
        f"its folder is gone, and no clone shows whether {_SET} {plain(text_at(of, 'metadata', 'name'))} deletes it",
        _CLONE_IT,
        found.candidate.app.ref,
    )
    return replace(found, head=found.base, head_error="", failures=(*found.failures, failure))


_NO_FOLDER, _SET = "app path does not exist", "ApplicationSet"
_CLONE_IT = "pass a clone that has both revisions: --checkout DIR"


def _known_words(reading: _Reading) -> Callable[[str], bool]:
    """Whether a word is in the files of base; of none, without a clone."""
    before = reading.trees.before if reading.trees else None
    found: dict[str, bool] = {}

    def known(word: str) -> bool:
        if before is not None and word not in found and len(found) < _MOST_WORDS:
            with suppress(UsageError):  # too large to be searched
                found[word] = before.git.mentions(before.git.bases(before.base)[-1], word)
        return found.get(word, False)

    return known


_MOST_WORDS = 30


def _unlisted_files(reading: _Reading) -> tuple[str, ...]:
    of_kustomize = (
        c
        for c in reading.candidates
        if "Kustomize" in {*items(c.app.status, "sourceTypes"), c.app.status.get("sourceType")}
    )
    folders = {text_at(source, "path").strip("/") for c in of_kustomize for source in c.sources}
    return tuple(unlisted_lines(reading.trees, folders)) if reading.trees and folders else ()


def _lacking_failures(renders: Sequence[Renders], change: GatedChange) -> Iterator[Failure]:
    """A failure for each application that --rendered lacks, although changed files may touch it."""
    if change.git is not None:
        yield from (Failure("rendered", _NOT_GIVEN, _GIVE_IT, r.candidate.app.ref) for r in renders if r.unread)


def _render_notes(renders: Sequence[Renders], change: GatedChange) -> Iterator[str]:
    if change.git is None:
        yield from named_line((r.candidate.app.ref for r in renders if r.unread), _NEITHER_GIVEN_NOR_READ)
    yield from named_line((r.candidate.app.ref for r in renders if r.base_error and r.head_error), _NO_RENDER)


def named_line(refs: Iterable[AppRef], text: str) -> Iterator[str]:
    """One line about these applications, if there are any."""
    if names := list(map(str, refs)):
        yield f"{enumerated(names, limit=5)}: {text}"


def _unjudged_notes(judged: Sequence[Touched]) -> Iterator[str]:
    """The Applications whose render is not known before the merge, by the reason."""
    for reason in sorted({j.unjudged for j in judged if j.unjudged}):
        text = reason[0].lower() + reason[1:].removesuffix(".")
        yield from named_line((j.ref for j in judged if j.unjudged == reason), text)


def _known_applications(judged: Sequence[Touched], fleet: Fleet) -> Iterator[str]:
    """The names of the applications that are judged, and of the Applications that are judged as objects alone."""
    for j in judged:
        yield str(j.ref)
        yield from ("/".join(ref_of(m, fleet)) for m in j.delta.added.values() if is_application(m))


def _unchecked_notes(judged: Sequence[Touched]) -> Iterator[str]:
    """What no render shows of the objects that change: which of their fields the API server would drop."""
    keys = ((j.after, key) for j in judged if j.after for key in (*j.delta.added, *j.delta.changed))
    brought = (resource.desired for app, key in keys if (resource := app.resource(key)) is not None)
    custom = [(group, obj) for obj in brought if obj and "." in (group := group_of(obj)) and not schema.known(obj)]
    kinds = sorted({f"{obj.get('kind')} ({group})" for group, obj in custom if not group.endswith(".k8s.io")})
    if kinds:
        names = enumerated([plain(kind) for kind in kinds])
        yield f"fields of {names}: whether the API server keeps each of them is not checked"


def _reads(found: Sequence[Candidate], change: GatedChange, base: str, git: Git) -> Mapping[AppRef, ReadFiles]:
    """The changed files that each application may read, before and after the change."""
    changes = git.changes(base, change.head)
    revisions = (*git.bases(base), change.head)
    changed = [c.path for c in changes]
    everywhere = tuple(whole_checkout_files(changes, git, revisions))
    reads = {c.app.ref: candidate_files(c, changed, git, revisions, change.repo, base) for c in found}
    return {
        ref: replace(r, files=tuple(sorted({*r.files, *everywhere}))) if everywhere else r for ref, r in reads.items()
    }


def _fetching_failure(app: App, read: ReadFiles) -> Failure:
    one, *more = map(plain, read.fetched)
    files = f"{one} and {len(more)} more" if more else one
    why = f"it fetches {files} from the repository's address, so no render shows what the change makes of it"
    return Failure("not judged", why, "name the folder by its path in place of its address", app.ref)


def _head_fleet(fleet: Fleet, judged: Sequence[Touched]) -> Fleet:
    """The fleet with the applications after the change, and without warnings about objects that are no longer shared."""
    after = {j.ref: j.after for j in judged}
    new = [j.after for j in judged if j.before is None and j.after is not None]
    apps = (*(app for a in fleet.apps if (app := after.get(a.ref, a)) is not None), *new)
    removed_objects = {(key.kind, key.name): j.ref for j in judged for key in j.delta.removed}
    if removed_objects:
        apps = tuple(without_ended_warnings(app, fleet, removed_objects) for app in apps)
    return fleet.with_apps(apps)


def without_ended_warnings(app: App, fleet: Fleet, removed_objects: Mapping[tuple[str, str], AppRef]) -> App:
    """The application without the warnings that end when one of the two applications drops the object."""

    def is_over(warning: SharedWarning) -> bool:
        leaver, owner = removed_objects.get((warning.kind, warning.name)), fleet.app_of_instance(warning.owner)
        return leaver is not None and leaver in (app.ref, owner.ref if owner else None)

    return without_warnings(app, is_over)
