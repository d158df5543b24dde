"""One verdict on a change over several Argo CDs: each that has applications of the repository judges it, all at the same time.

list all → the change's sides on each → what they share before and after → examine on each → one verdict

An Argo CD without applications of the repository has its part in the third step: what it lists is on common clusters all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argolint.engine.plan import Plan
from argolint.engine.several import Read, Source, each, load, named
from argolint.errors import ArgolintError, UsageError
from argolint.gate.between import between, crossing, parties
from argolint.gate.candidates import Change, candidates
from argolint.gate.examine import Examined, examined
from argolint.gate.homes import homes
from argolint.gate.judge import verdict_of
from argolint.gate.sides import Sides, base_of, sides_of, untouched
from argolint.gate.verdict import Verdict
from argolint.gate.written import Written, written
from argolint.model import AppRef, Failure


def judge_all(sources: Sequence[Source], change: Change, plan: Plan) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict of all, and remarks. One that cannot be read, or not to the end, is a failure with its name.

    Raises UsageError when none has applications of the repository, or when these follow different revisions and `change` names no
    base; ArgolintError when none can be read.
    """
    read, failures, remarks = load(sources)
    local = plan.local.shared() if plan.local is not None else None
    change, plan = replace(change, local=local), replace(plan, local=local)
    judging = [one for one in read if change.by_files or _has_sources(one, change)]
    if not judging:
        raise _none(read, failures, change)
    base = _one_base(judging, change)
    shared_out = homes(written(change, base), [one.fleet for one in judging], change.projects)
    own = {one.source.name: of for one, of in zip(judging, shared_out.own, strict=True) if of.applications or of.others}
    if not change.by_files:
        own = {one.source.name: own.get(one.source.name, Written()) for one in judging}
    found = each(read, lambda one: _sides(one, change, plan, own.get(one.source.name)), alone=_offline(read))
    broken = tuple(f for f in found if isinstance(f, Failure))
    sides = crossing(
        [
            (one.member, s if isinstance(s, Sides) else untouched(one.transport, one.fleet))
            for one, s in zip(read, found, strict=True)
        ]
    )
    shared = parties(sides)
    looked = each(
        list(zip(read, sides, strict=True)),
        lambda pair: _examined(*pair, plan, frozenset(ref for ref in shared if ref.server == pair[1].fleet.server)),
        alone=_offline(read),
    )
    broken = (*broken, *(f for f in looked if isinstance(f, Failure)))
    whole = [(_with_names(one, s), e) for one, s, e in zip(read, sides, looked, strict=True) if isinstance(e, Examined)]
    if not whole:
        raise ArgolintError(f"none of the Argo CDs can be read: {_told((*failures, *broken))}", broken[0].hint)
    last = [s for s, _ in whole], [e for _, e in whole]
    verdict = verdict_of([one.fleet for one in read], *last, plan, between(*last, plan))
    of_lists = (f for one in read for f in one.failures)
    every = dict.fromkeys((*failures, *of_lists, *shared_out.failures, *broken, *verdict.failures))
    notes = (*sorted(shared_out.notes), *verdict.unlisted)
    return replace(verdict, base_name=base, failures=tuple(every), unlisted=notes), remarks


def _has_sources(one: Read, change: Change) -> bool:
    return any(candidates(one.fleet, change.repo, base_of(one.fleet, change)))


def _one_base(judging: Sequence[Read], change: Change) -> str:
    bases = {one.source.name: base_of(one.fleet, change) for one in judging}
    if len(set(bases.values())) > 1:
        told = ", ".join(f"{name} {base or 'HEAD'}" for name, base in bases.items())
        raise UsageError(
            f"the applications of {change.repo} follow different revisions: {told}", "say which one counts: --base REV"
        )
    return next(iter(bases.values()))


def _sides(one: Read, change: Change, plan: Plan, own: Written | None) -> Sides | Failure:
    if own is None:
        return untouched(one.transport, one.fleet)
    patience = change.patience.of(one.source.name)
    try:
        return sides_of(one.transport, one.fleet, replace(change, patience=patience), one.bounded(plan), own)
    except UsageError:
        raise
    except ArgolintError as error:
        return Failure("server", error.message, error.hint, server=one.source.name)


def _examined(one: Read, sides: Sides, plan: Plan, shared: frozenset[AppRef]) -> Examined | Failure:
    try:
        return examined(sides, one.bounded(plan), shared)
    except UsageError:
        raise
    except ArgolintError as error:
        return Failure("server", error.message, error.hint, server=one.source.name)


def _offline(read: Sequence[Read]) -> bool:
    return all(one.transport.offline for one in read)


def _with_names(one: Read, sides: Sides) -> Sides:
    """With the Argo CD's name on what is said of no application."""
    lines = tuple(f"{one.source.name}: {line}" for line in sides.unlisted)
    return replace(sides, failures=named(one.source, sides.failures), unlisted=lines)


def _none(read: Sequence[Read], failures: Sequence[Failure], change: Change) -> UsageError:
    names = ", ".join(one.source.name for one in read)
    unread = f", and not all Argo CDs can be read: {told}" if (told := _told(failures)) else ""
    return UsageError(
        f"no application of {names} has a source in {change.repo}{unread}",
        "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
    )


def _told(failures: Sequence[Failure]) -> str:
    return "; ".join(f"{f.server}: {f.error}" for f in failures if f.server)
