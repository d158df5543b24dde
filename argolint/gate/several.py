"""Judges a change on several Argo CDs at the same time, each with applications of the repository, and gives one verdict.

list all → the change's sides on each → what they share before and after → examine on each → one verdict

An Argo CD without applications of the repository takes part in the third step: its objects may be on common clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from argolint.engine.plan import Plan
from argolint.engine.servers import Listing, Source, each, labelled_failures, read_servers
from argolint.errors import ArgolintError, UsageError
from argolint.gate.assignment import assignment
from argolint.gate.candidates import candidates
from argolint.gate.change import Change, Written
from argolint.gate.crossings import crossing_findings, sharing_refs, with_crossings
from argolint.gate.examine import Examined, examined
from argolint.gate.judge import verdict_of
from argolint.gate.sides import GatedServer, base_of, gated_server, untouched_server
from argolint.gate.verdict import Verdict
from argolint.gate.written import written
from argolint.model import UNREAD, Failure

T = TypeVar("T")


def verdict_of_servers(sources: Sequence[Source], change: Change, plan: Plan) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict of all, and remarks. An Argo CD that cannot be read, or not fully, is a failure with its name.

    Raises UsageError if none has applications of the repository, or if these follow different revisions and `change` names no base;
    ArgolintError if none can be read.
    """
    read, unread, remarks = read_servers(sources)
    local = plan.local.shared() if plan.local is not None else None
    change, plan = replace(change, local=local), replace(plan, local=local)
    judging = [one for one in read if change.by_files or _has_sources(one, change)]
    if not judging:
        raise _no_server_error(read, unread, change)
    base = _one_base(judging, change)
    parts = assignment(written(change, base), [one.fleet for one in judging], change.projects)
    own = {one.source.name: part for one, part in zip(judging, parts.own, strict=True)}
    gated_servers, broken = _all_gated_servers(read, change, plan, own)
    found, more = _all_examined(read, gated_servers, plan)
    whole = [(_with_names(one, s), e) for one, s, e in zip(read, gated_servers, found, strict=True) if e is not None]
    if not whole:
        raise ArgolintError(
            f"none of the Argo CDs can be read: {_failures_text((*unread, *broken, *more))}", more[0].hint
        )
    last = [s for s, _ in whole], [e for _, e in whole if e is not None]
    verdict = verdict_of([one.fleet for one in read], *last, plan, crossing_findings(*last, plan))
    of_lists = (f for one in read for f in one.failures)
    every = dict.fromkeys((*unread, *of_lists, *parts.failures, *broken, *more, *verdict.failures))
    notes = (*sorted(parts.notes), *verdict.unlisted)
    return replace(verdict, base_name=base, failures=tuple(every), unlisted=notes), remarks


def _all_gated_servers(
    read: Sequence[Listing], change: Change, plan: Plan, own: Mapping[str, Written]
) -> tuple[list[GatedServer], list[Failure]]:
    """The sides on each Argo CD, with what they share; an Argo CD that judges nothing, or fails, stays unchanged."""

    def made(one: Listing) -> GatedServer:
        part = own.get(one.source.name)
        if part is None or (change.by_files and not (part.applications or part.others)):
            return untouched_server(one.transport, one.fleet)
        branch_wait = change.branch_wait.of(one.source.name)
        return gated_server(one.transport, one.fleet, replace(change, branch_wait=branch_wait), one.bounded(plan), part)

    found = _attempted(read, made)
    gated_servers = [
        untouched_server(one.transport, one.fleet) if isinstance(s, Failure) else s
        for one, s in zip(read, found, strict=True)
    ]
    crossed = with_crossings([(one.member, s) for one, s in zip(read, gated_servers, strict=True)])
    return crossed, [f for f in found if isinstance(f, Failure)]


def _all_examined(
    read: Sequence[Listing], gated_servers: Sequence[GatedServer], plan: Plan
) -> tuple[list[Examined | None], list[Failure]]:
    """The results of each Argo CD; None if it failed."""
    shared = sharing_refs(gated_servers)
    of = {one.source.name: s for one, s in zip(read, gated_servers, strict=True)}

    def made(one: Listing) -> Examined:
        own = frozenset(ref for ref in shared if ref.server == one.fleet.server)
        return examined(of[one.source.name], one.bounded(plan), own)

    found = _attempted(read, made)
    return [None if isinstance(e, Failure) else e for e in found], [f for f in found if isinstance(f, Failure)]


def _attempted(read: Sequence[Listing], call: Callable[[Listing], T]) -> list[T | Failure]:
    """The result of the call for each Argo CD; one that cannot be read fully is a failure. UsageError is about the change and is raised."""

    def attempt(one: Listing) -> T | Failure:
        try:
            return call(one)
        except UsageError:
            raise
        except ArgolintError as error:
            return one.source.labelled(Failure("server", error.message, error.hint))

    return each(read, attempt, alone=all(one.transport.offline for one in read))


def _has_sources(one: Listing, change: Change) -> bool:
    return any(candidates(one.fleet, change.repo, base_of(one.fleet, change)))


def _one_base(judging: Sequence[Listing], change: Change) -> str:
    bases = {one.source.name: base_of(one.fleet, change) for one in judging}
    if len(set(bases.values())) > 1:
        labelled = ", ".join(f"{name} {base or 'HEAD'}" for name, base in bases.items())
        raise UsageError(
            f"the applications of {change.repo} follow different revisions: {labelled}",
            "say which one counts: --base REV",
        )
    return next(iter(bases.values()))


def _with_names(one: Listing, gated: GatedServer) -> GatedServer:
    """The sides with the Argo CD's name in texts that name no application."""
    lines = tuple(f"{one.source.name}: {line}" for line in gated.unlisted)
    return replace(gated, failures=labelled_failures(one.source, gated.failures), unlisted=lines)


def _no_server_error(read: Sequence[Listing], failures: Sequence[Failure], change: Change) -> UsageError:
    names = ", ".join(one.source.name for one in read)
    unread = f", and not all Argo CDs can be read: {labelled}" if (labelled := _failures_text(failures)) else ""
    return UsageError(
        f"no application of {names} has a source in {change.repo}{unread}",
        "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
    )


def _failures_text(failures: Sequence[Failure]) -> str:
    return "; ".join(f"{f.server}: {f.error}" for f in failures if f.server and f.stage in UNREAD)
