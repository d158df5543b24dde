"""The verdict on a change: the same rules run on the applications of each Argo CD before and after it.

list all → the change's sides on each → what they share before and after → examine both sides → join → what is new, fixed, unchanged

An Argo CD without applications of the repository takes part in the third step: its objects may be on common clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from argolint.application.fleet import Fleet
from argolint.engine.join import join
from argolint.engine.plan import Plan
from argolint.engine.servers import Listing, Source, each, labelled_failures, read_servers
from argolint.errors import ArgolintError, UsageError
from argolint.gate.assignment import assignment
from argolint.gate.candidates import candidates
from argolint.gate.change import GatedChange, Written
from argolint.gate.crossings import CrossingFindings, crossing_findings, sharing_refs, with_crossings
from argolint.gate.examine import Examined, examined
from argolint.gate.sides import GatedServer, base_of, gated_server, untouched_server
from argolint.gate.verdict import Verdict, mark
from argolint.gate.written import written
from argolint.model import UNREAD, Failure, Finding
from argolint.model.results import AppResult, Outcome, finding_order

T = TypeVar("T")


def judge(sources: Sequence[Source], change: GatedChange, plan: Plan) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on a change, and remarks. Of several Argo CDs, one that cannot be read, or not fully, is a failure with its name.

    Raises UsageError if none has applications of the repository, if these follow different revisions and `change` names no base, or if
    the revisions do not exist; ArgolintError if none can be read.
    """
    read, unread, remarks = read_servers(sources)
    local = plan.local.shared() if plan.local is not None else None
    change, plan = replace(change, local=local), replace(plan, local=local)
    sourced = [one for one in read if change.by_files or _has_sources(one, change)]
    judging = sourced or read  # a change may bring the first Application
    base = _one_base(judging, change)
    manifests = written(change, base) if sourced or base else Written()
    parts = assignment(manifests, [one.fleet for one in judging], change.projects)
    own = {one.source.name: part for one, part in zip(judging, parts.own, strict=True)}
    attempted = _gated_servers(read, change, plan, own)
    if not (change.by_files or any(attempted)):
        raise _no_application_error(read, unread, change)
    gated = [s if isinstance(s, GatedServer) else untouched_server(one) for one, s in zip(read, attempted, strict=True)]
    gated = with_crossings([(one.member, s) for one, s in zip(read, gated, strict=True)])
    found = _all_examined(read, gated, plan)
    broken = [f for f in (*attempted, *found) if isinstance(f, Failure)]
    whole = [
        (_with_names(one, s, e.unlisted), e)
        for one, s, e in zip(read, gated, found, strict=True)
        if not isinstance(e, Failure)
    ]
    if not whole:
        raise ArgolintError(f"none of the Argo CDs can be read: {_failures_text((*unread, *broken))}", broken[-1].hint)
    sides, results = [s for s, _ in whole], [e for _, e in whole]
    shared = crossing_findings(sides, results, plan)
    verdict = verdict_of([one.fleet for one in read], sides, results, plan, shared)
    of_lists = (f for one in read for f in one.failures)
    every = dict.fromkeys((*unread, *of_lists, *parts.failures, *broken, *verdict.failures))
    notes = (*sorted(parts.notes), *verdict.unlisted)
    return replace(verdict, base_name=base, failures=tuple(every), unlisted=notes), remarks


def verdict_of(
    fleets: Sequence[Fleet],
    gated_servers: Sequence[GatedServer],
    found: Sequence[Examined],
    plan: Plan,
    shared: CrossingFindings,
) -> Verdict:
    """The verdict from the findings of all Argo CDs that the change concerns. `fleets`: all that were read."""
    base = _joined((r for one in found for r in one.before), plan)
    head = _joined((r for one in found for r in one.after), plan)
    known = {mark(f) for f in base.findings}
    base = replace(base, findings=_sorted((*base.findings, *(f for f in shared.old if mark(f) not in known))))
    grown = {mark(f): f for f in shared.new}
    head = replace(head, findings=_sorted(grown.get(mark(f), f) for f in head.findings))
    families = {c.rule.id: c.rule.family for c in plan.rules}
    more = [(*one.failures, *examined.failures) for one, examined in zip(gated_servers, found, strict=True)]
    return Verdict(
        tuple(fleets),
        base.showing(plan.shown, families),
        head.showing(plan.shown, families),
        gated_servers[0].base_name,
        tuple(sorted((j for one in gated_servers for j in one.judged), key=lambda j: j.ref)),
        tuple(dict.fromkeys(f for failures in more for f in failures)),
        tuple(line for one in gated_servers for line in one.unlisted),
        {ref: files for one in gated_servers for ref, files in one.files.items()},
        frozenset(grown),
        tuple(dict.fromkeys(line for one in found for line in one.unchecked)),
    )


def _gated_servers(
    read: Sequence[Listing], change: GatedChange, plan: Plan, own: Mapping[str, Written]
) -> list[GatedServer | Failure | None]:
    """The sides on each Argo CD; None for one that the change does not concern."""

    def made(one: Listing) -> GatedServer | None:
        part = own.get(one.source.name)
        if part is None or (change.by_files and not (part.applications or part.others)):
            return None
        branch_wait = change.branch_wait.of(one.source.name)
        return gated_server(one.transport, one.fleet, replace(change, branch_wait=branch_wait), one.bounded(plan), part)

    return _attempted(read, made)


def _all_examined(
    read: Sequence[Listing], gated_servers: Sequence[GatedServer], plan: Plan
) -> list[Examined | Failure]:
    """The results of each Argo CD, or why it failed."""
    shared = sharing_refs(gated_servers)
    of = {one.source.name: s for one, s in zip(read, gated_servers, strict=True)}

    def made(one: Listing) -> Examined:
        own = frozenset(ref for ref in shared if ref.server == one.fleet.server)
        return examined(of[one.source.name], one.bounded(plan), own)

    return _attempted(read, made)


def _attempted(read: Sequence[Listing], call: Callable[[Listing], T]) -> list[T | Failure]:
    """The result of the call for each Argo CD; one that cannot be read fully is a failure with its name.

    UsageError is about the change and is raised, as is the error of a single Argo CD without a name.
    """

    def attempt(one: Listing) -> T | Failure:
        try:
            return call(one)
        except UsageError:
            raise
        except ArgolintError as error:
            if not one.source.name:
                raise
            return one.source.labelled(Failure("server", error.message, error.hint))

    return each(read, attempt, alone=all(one.transport.offline for one in read))


def _has_sources(one: Listing, change: GatedChange) -> bool:
    return any(candidates(one.fleet, change.repo, base_of(one.fleet, change)))


def _one_base(judging: Sequence[Listing], change: GatedChange) -> str:
    bases = {one.source.name: base_of(one.fleet, change) for one in judging}
    if len(set(bases.values())) > 1:
        labelled = ", ".join(f"{name} {base or 'HEAD'}" for name, base in bases.items())
        raise UsageError(
            f"the applications of {change.repo} follow different revisions: {labelled}",
            "say which one counts: --base REV",
        )
    return next(iter(bases.values()))


def _with_names(one: Listing, gated: GatedServer, more: Sequence[str]) -> GatedServer:
    """The sides with the Argo CD's name in texts that name no application. `more`: what the examination left out."""
    lines = tuple(map(one.source.says, (*gated.unlisted, *more)))
    return replace(gated, failures=labelled_failures(one.source, gated.failures), unlisted=lines)


def _no_application_error(read: Sequence[Listing], failures: Sequence[Failure], change: GatedChange) -> UsageError:
    names = ", ".join(one.source.name or one.fleet.server for one in read)
    unread = f", and not all Argo CDs can be read: {labelled}" if (labelled := _failures_text(failures)) else ""
    if not (unread or any(one.fleet.apps for one in read)):
        return UsageError(
            f"{names} shows this account no application at all",
            "give it `applications, get`: `argolint explain --setup` prints the policy lines",
        )
    if any(_has_sources(one, change) for one in read):
        return UsageError(
            f"--project, --selector, --app-namespace or --cluster leave out each application with a source in {change.repo}",
            "check their values; without them all are judged",
        )
    return UsageError(
        f"no application of {names} has a source in {change.repo}{unread}",
        "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
    )


def _failures_text(failures: Sequence[Failure]) -> str:
    return "; ".join(f"{f.server}: {f.error}" for f in failures if f.server and f.stage in UNREAD)


def _joined(results: Iterable[AppResult], plan: Plan) -> Outcome:
    """The outcome without findings of the rules that describe standing conditions: they have explained their symptoms, but are no news of a change."""
    outcome = join(results, plan.rules)
    standing = frozenset(c.rule.id for c in plan.rules if c.rule.standing)
    return replace(outcome, findings=tuple(f for f in outcome.findings if f.rule not in standing))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=finding_order))
