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
from argolint.gate.candidates import Change
from argolint.gate.examine import Examined, examined
from argolint.gate.judge import verdict_of
from argolint.gate.sides import NoneHereError, Sides, sides_of, untouched
from argolint.gate.verdict import Verdict
from argolint.model import AppRef, Failure

_OF_THE_CHANGE = "change"
"""The stage of failures that are the change's own, whatever Argo CD it is judged on."""


def judge_all(sources: Sequence[Source], change: Change, plan: Plan) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict of all, and remarks. One that cannot be read, or not to the end, is a failure with its name.

    Raises UsageError when none has applications of the repository, or when these follow different revisions and `change` names no
    base; ArgolintError when none can be read.
    """
    read, failures, remarks = load(sources)
    local = plan.local.shared() if plan.local is not None else None
    change, plan = replace(change, local=local), replace(plan, local=local)
    found = each(read, lambda one: _sides(one, change, plan), alone=_offline(read))
    ours = [(one, sides) for one, sides in zip(read, found, strict=True) if isinstance(sides, Sides)]
    broken = tuple(f for f in found if isinstance(f, Failure))
    if not ours:
        raise _none(read, (*failures, *broken), change)
    _require_one_base(ours, change)
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
        raise _none(read, (*failures, *broken), change)
    last = [s for s, _ in whole], [e for _, e in whole]
    verdict = verdict_of([one.fleet for one in read], *last, plan, between(*last, plan))
    base = next(s.base_name for _, s in ours)
    own = (f for one in read for f in one.failures)
    every = dict.fromkeys((*failures, *own, *broken, *verdict.failures))
    return replace(verdict, base_name=base, failures=tuple(every)), remarks


def _sides(one: Read, change: Change, plan: Plan) -> Sides | Failure | None:
    """None where it has no application of the repository."""
    patience = change.patience.of(one.source.name)
    try:
        return sides_of(one.transport, one.fleet, replace(change, patience=patience), one.bounded(plan), alone=False)
    except NoneHereError:
        return None
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
    own = [f for f in sides.failures if f.stage != _OF_THE_CHANGE]
    others = [f for f in sides.failures if f.stage == _OF_THE_CHANGE]
    lines = tuple(f"{one.source.name}: {line}" for line in sides.unlisted)
    return replace(sides, failures=(*others, *named(one.source, own)), unlisted=lines)


def _none(read: Sequence[Read], failures: Sequence[Failure], change: Change) -> ArgolintError:
    """Why there is nothing to judge."""
    told = "; ".join(f"{f.server}: {f.error}" for f in failures if f.server)
    lost = {f.server for f in failures if f.stage == "server"}
    elsewhere = [one.source.name for one in read if one.source.name not in lost]
    if not elsewhere:
        return ArgolintError(f"none of the Argo CDs can be read: {told}", failures[0].hint)
    return UsageError(
        f"no application of {', '.join(elsewhere)} has a source in {change.repo}"
        + (f", and not all Argo CDs can be read: {told}" if told else ""),
        "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
    )


def _require_one_base(ours: Sequence[tuple[Read, Sides]], change: Change) -> None:
    if len({sides.base_name for _, sides in ours}) > 1:
        told = ", ".join(f"{one.source.name} {sides.base_name or 'HEAD'}" for one, sides in ours)
        raise UsageError(
            f"the applications of {change.repo} follow different revisions: {told}", "say which one counts: --base REV"
        )
