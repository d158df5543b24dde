"""The renders of base and head, from the server or from a folder, or the reason why there are none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.errors import (
    ApiError,
    ArgolintError,
    AuthError,
    ExportError,
    HelmError,
    NotHereError,
    NotRecorded,
    UsageError,
)
from argolint.gate.candidates import DEFAULT_REVISIONS, Candidate, revision_of
from argolint.gate.change import GatedChange
from argolint.host.folder import FileError
from argolint.model import Failure, Object
from argolint.server import api
from argolint.server.transport import Transport
from argolint.sources.rendered import Rendered, rendered, tracked
from argolint.sources.secret_pair import masked_pair
from argolint.values import dig
from argolint.values.patterns import regex


@dataclass(frozen=True)
class Renders:
    """The two renders of one application: manifests, or the reason why there are none."""

    candidate: Candidate
    base: Rendered | None = None
    head: Rendered | None = None
    again: tuple[Object, ...] | None = None
    base_error: str = ""
    head_error: str = ""
    failures: tuple[Failure, ...] = ()

    @property
    def unread(self) -> bool:
        """True if nothing was rendered and nothing failed: the folder of renders has nothing of the application."""
        return not (self.base or self.head or self.base_error or self.head_error or self.failures)

    @property
    def differ(self) -> bool:
        return (self.base is None) != (self.head is None) or (
            self.base is not None and self.head is not None and self.base.manifests != self.head.manifests
        )


def render(t: Transport, candidate: Candidate, change: GatedChange, base: str, fleet: Fleet) -> Renders:
    """Both renders of one application; AuthError escapes. If head is given, base's render may be missing: its recorded states replace it."""
    app = candidate.app
    if (
        change.local is not None
        and change.local.covers(app)
        and (made_here := _local_renders(change, candidate, base, fleet))
    ):
        return made_here
    found = Renders(candidate)
    try:
        prepared = change.given(app.ref)
    except (UsageError, FileError) as error:
        return Renders(candidate, failures=(Failure("rendered", error.message, error.hint, app.ref),))
    if change.rendered is not None and prepared is None:
        return found
    if prepared is None and (why := change.branch_wait.given_up(_address(candidate))) is not None:
        return replace(found, failures=(_unknown_failure(candidate, change, why),))
    plain = all((revision := revision_of(s)) == base or revision in DEFAULT_REVISIONS for s in candidate.sources)
    made = _attempt(t, candidate, "" if plain else base)
    if isinstance(made, str):
        found = replace(found, base_error=made)
    elif not isinstance(made, Failure):
        found = replace(found, base=rendered(made, app, fleet))
    elif prepared is None:
        return replace(found, failures=(made,))
    if prepared is not None:
        return replace(found, head=rendered([tracked(m, app, fleet) for m in prepared], app, fleet))
    made, revision = _head_render(t, candidate, change)
    if isinstance(made, str) and found.base is not None and _is_passing(made, candidate):
        why = f"{change.head} was not rendered, which need be no fault of the change: {made}"
        made = Failure("manifests", why, _AGAIN, app.ref)
    if isinstance(made, Failure):
        return replace(found, failures=(made,), head=found.base)
    if isinstance(made, str):
        return replace(found, head_error=made)
    if _is_passing(found.base_error, candidate):
        why = f"{base or 'its revision'} was not rendered, so what the change does is not known: {found.base_error}"
        return replace(found, base_error="", failures=(Failure("manifests", why, _AGAIN, app.ref),))
    again = _attempt(t, candidate, revision, fresh=1) if change.renders_twice else None
    return replace(found, head=rendered(made, app, fleet), again=again if isinstance(again, tuple) else None)


def render_elsewhere(
    t: Transport, ahead: App, app: App, revisions: Mapping[int, str], prepared: Sequence[Object] | None, fleet: Fleet
) -> Renders | None:
    """Both renders of an application that becomes `ahead`; None if head's is not known.

    `revisions`: what its sources will follow, by their numbers from 1; none: what they follow today. `prepared`: head's manifests, if they
    are known otherwise.
    """
    found = Renders(Candidate(app, tuple(revisions)))
    base = _attempt(t, found.candidate, "")
    head = prepared if prepared is not None else _at_revisions(t, app, revisions) if revisions else base
    if isinstance(base, Failure) or isinstance(head, Failure):
        return None
    if isinstance(base, str):
        found = replace(found, base_error=base)
    else:
        found = replace(found, base=rendered(base, app, fleet))
    if isinstance(head, str):
        return replace(found, head_error=head)
    return replace(found, head=rendered([tracked(m, ahead, fleet) for m in head], ahead, fleet))


def _at_revisions(t: Transport, app: App, revisions: Mapping[int, str]) -> tuple[Object, ...] | str | Failure:
    return _asked(app, lambda: _manifests(t, app, revisions), ", ".join(revisions.values()))


def _manifests(t: Transport, app: App, revisions: Mapping[int, str], fresh: int = 0) -> tuple[Object, ...]:
    """The manifests at these revisions by number of source; none: those that the application follows."""
    several = bool(dig(app.spec, "sources")) and not dig(app.spec, "sourceHydrator")
    pairs = sorted(revisions.items()) if several else ()
    one = "" if several else next(iter(revisions.values()), "")
    return api.manifests(t, app.ref, revision=one, revisions=pairs, fresh=fresh)


def _local_renders(change: GatedChange, candidate: Candidate, base: str, fleet: Fleet) -> Renders | None:
    """Both renders from the clone, head twice since that costs the server nothing; None if it is no Helm chart."""
    app, local = candidate.app, change.local
    assert local is not None

    def made(revision: str, turn: int = 0) -> tuple[Object, ...] | str | None:
        try:
            return local.render(app, fleet, dict.fromkeys(candidate.positions, revision) if revision else {}, turn=turn)
        except NotHereError:
            raise
        except HelmError as error:
            return error.message

    try:
        before, after, again = made(base), made(change.head), None
        if isinstance(after, tuple):
            local.tick()
            again = made(change.head, 1)
    except (NotHereError, ExportError) as error:
        return Renders(candidate, failures=(Failure("helm-render", error.message, error.hint, app.ref),))
    if before is None or after is None:
        return None
    found = Renders(candidate)
    if isinstance(before, tuple):
        plain, _ = masked_pair([tracked(m, app, fleet) for m in before], ())
        found = replace(found, base=rendered(plain, app, fleet))
    else:
        found = replace(found, base_error=before)
    if isinstance(after, str) or not isinstance(again, tuple):
        return replace(found, head_error=str(after if isinstance(after, str) else again))
    one, two = masked_pair(*([tracked(m, app, fleet) for m in side] for side in (after, again)))
    return replace(found, head=rendered(one, app, fleet), again=two)


_UNKNOWN_REVISION = regex(
    r"unable to resolve .{0,300} to a commit SHA|revision .{0,300}(does not exist|not found)|could ?n[o']t find remote ref"
    r"|unknown revision|did not match any file\(s\) known|not our ref|reference is not a tree|no such remote ref",
    re.IGNORECASE,
)
"""Errors of git and Argo CD for a name or commit that does not exist (util/git/client.go, LsRemote and Checkout)."""
_POLL_S = (2, 5, 10, 15)


def _head_render(
    t: Transport, candidate: Candidate, change: GatedChange
) -> tuple[tuple[Object, ...] | str | Failure, str]:
    """Head's manifests, and the revision of the request: the commit if known, else the name.

    Argo CD caches a repository's branches for three minutes (reposerver cache, timeout.reconciliation): a name pushed since is unknown, or
    means an older commit. A commit is fetched directly.
    """
    if (why := change.branch_wait.given_up(_address(candidate))) is not None:
        return _unknown_failure(candidate, change, why), change.head
    names = tuple(dict.fromkeys(filter(None, (None if t.offline else change.commit, change.head))))
    polls = itertools.chain(_POLL_S, itertools.repeat(_POLL_S[-1]))
    while True:
        for revision in names:
            made = _attempt(t, candidate, revision)
            if isinstance(made, Failure) and revision != names[-1]:
                continue  # the server knows only names, for example because it replays a recording
            if not (isinstance(made, str) and _is_unknown(made, revision)):
                return made, revision
        pause = next(polls)
        if t.offline or not change.branch_wait.wait(pause, change.head):
            break
    assert isinstance(made, str)
    if not t.offline:
        change.branch_wait.give_up(_address(candidate), made)
    return _unknown_failure(candidate, change, made), names[-1]


_AGAIN = "run the gate again; if it stays, look at the repo-server, and at what the change makes it fetch"
_PASSING = regex(
    r"failed to acquire lock|context deadline exceeded|Client\.Timeout exceeded|(?:i/o|TLS handshake) timeout|failed timeout after|signal: killed"
    r"|connection reset by peer|error reading from server: EOF|transport is closing|server misbehaving|no space left on device"
    r"|status code: (?:429|5\d\d)|(?:error: |: )(?:429 Too Many Requests|50[0234] [A-Z])"
)
"""Errors of a host or a repo-server that is busy: the same commit may render a minute later."""
_UNREACHED = regex(
    r"connection refused|no such host|no route to host|network is unreachable|handshake failed|x509: |authentication required|authorization failed"
    r"|Permission denied \(publickey"
)
_OF_REPOSITORY = regex(
    r"\A(?!.{0,2000}(?:kustomize build|helm )).{0,400}?(?:failed to (?:list refs|get git client|fetch)|git fetch)",
    re.DOTALL,
)


def _is_passing(error: str, candidate: Candidate) -> bool:
    """Whether a render fails for what may pass. A host that is not there may be one that the change names, unless it is that of the repository."""
    if "execution error at" in error:
        return False  # a template's own words
    urls = (str(source.get("repoURL") or "").removesuffix(".git") for source in candidate.sources)
    own = any(url and url in error for url in urls) or bool(_OF_REPOSITORY.match(error))
    return bool(_PASSING.search(error) or (own and _UNREACHED.search(error)))


def _address(candidate: Candidate) -> str:
    return str(candidate.sources[0].get("repoURL") or "")


def _unknown_failure(candidate: Candidate, change: GatedChange, why: str) -> Failure:
    problem = f"Argo CD does not find {change.head} in the repository: {why}"
    return Failure("revision", problem, "push it first, or give Argo CD time (--wait SECONDS)", candidate.app.ref)


def _is_unknown(error: str, revision: str) -> bool:
    """True if the render failed because this revision is unknown, and not the revision of another source."""
    return bool(_UNKNOWN_REVISION.search(error)) and (revision in error or not _QUOTED.search(error))


_QUOTED = regex(r"unable to resolve '|remote ref \S")
_BROKEN = (400, 404, 500)
"""Status codes of /manifests if the sources do not render: argument, path or revision not found, tool failed."""


def _attempt(t: Transport, candidate: Candidate, revision: str, fresh: int = 0) -> tuple[Object, ...] | str | Failure:
    """Manifests, why they do not render, or a Failure if that is unknown. `revision` empty: the one that the application follows."""
    revisions = dict.fromkeys(candidate.positions, revision) if revision else {}
    return _asked(candidate.app, lambda: _manifests(t, candidate.app, revisions, fresh), revision)


def _asked(app: App, ask: Callable[[], tuple[Object, ...]], revision: str) -> tuple[Object, ...] | str | Failure:
    """The answer to a request for manifests, or why there is none; see `_attempt`."""
    try:
        return ask()
    except AuthError:
        raise
    except ApiError as error:
        if error.status in _BROKEN:
            return error.reason or error.message
        return Failure("manifests", error.message, error.hint, app.ref)
    except NotRecorded:
        hint = "pass the manifests of the change with --rendered DIR, or ask the server itself"
        return Failure("manifests", f"the snapshot has no render of {revision or 'its sources'}", hint, app.ref)
    except ArgolintError as error:
        return Failure("manifests", error.message, error.hint, app.ref)
