"""Reads the application list, as a whole or by project; entries that cannot be read become failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from argolint.application.entry import Entry
from argolint.errors import ApiError, ArgolintError, AuthError
from argolint.model import AppRef, Failure, Object
from argolint.server import api
from argolint.server.api import Unreadable
from argolint.server.transport import Transport
from argolint.values import text_at

_ALTERED = "a proxy may be altering responses, or the server is damaged"


def applications(
    t: Transport, projects: Sequence[Object], failures: list[Failure], remarks: list[str]
) -> Iterator[Entry]:
    """Every Application that has a name, once. Entries that were left out are added to `failures` after the last one.

    Raises ArgolintError if there is no list at all.
    """
    nameless, repeated = 0, 0
    unreadable: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for entry in _entries(t, projects, failures, remarks):
        if isinstance(entry, Unreadable):
            if entry.ref is None:
                unreadable[entry.error] += 1
            else:
                ref = AppRef(entry.ref.namespace, entry.ref.name, "", t.server)
                failures.append(
                    Failure("applications", f"its entry of the list cannot be read: {entry.error}", _ALTERED, ref)
                )
            continue
        identity = (text_at(entry.brief, "metadata", "namespace"), text_at(entry.brief, "metadata", "name"))
        if not identity[1]:
            nameless += 1
        elif identity in seen:
            repeated += 1
        else:
            seen.add(identity)
            yield entry
    left_out = [f"{_count(n)} cannot be read and left out: {error}" for error, n in sorted(unreadable.items())]
    if nameless:
        left_out.append(f"{_count(nameless)} without a name left out")
    if repeated:
        left_out.append(f"{_count(repeated)} left out, since an application of that name was listed before")
    failures += [Failure("applications", text, _ALTERED) for text in left_out]


def _count(entries: int) -> str:
    return f"{entries} entr{'y' if entries == 1 else 'ies'} of the application list"


def _entries(
    t: Transport, projects: Sequence[Object], failures: list[Failure], remarks: list[str]
) -> Iterable[Entry | Unreadable]:
    """The whole list; project by project if it is over the server's message limit (429)."""
    try:
        return api.applications(t)
    except ApiError as error:
        if error.status != 429 or api.TOO_LARGE not in error.reason or not projects:
            raise
    remarks.append(
        "The list of all applications is over the server's message limit, so it was read project by project."
    )
    if not _sees_every_project(t):
        failures.append(
            Failure(
                "applications",
                "the list was read project by project, and the account may not see every project: applications of hidden "
                "projects were not looked at",
                "grant the account `projects, get, *`, or raise the server's message limit (ARGOCD_GRPC_MAX_SIZE_MB)",
            )
        )
    return _by_project(t, projects, failures)


def _by_project(t: Transport, projects: Sequence[Object], failures: list[Failure]) -> Iterator[Entry | Unreadable]:
    for name in sorted(text_at(p, "metadata", "name") for p in projects):
        try:
            yield from api.applications(t, [("projects", name)])
        except AuthError:
            raise
        except ArgolintError as error:
            failures.append(Failure("applications", f"project {name}: {error.message}", error.hint))


def _sees_every_project(t: Transport) -> bool:
    """Whether the account may see every project; False if the server does not say."""
    try:
        return api.can_i(t, "projects", "get", "*")
    except AuthError:
        raise
    except ArgolintError:
        return False
