"""One verdict on a change over several Argo CDs: each that has applications of the repository judges it as it would alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from argolint.engine.causes import Causes
from argolint.engine.plan import Outcome, Plan
from argolint.engine.settle import finding_order
from argolint.engine.several import Source
from argolint.errors import ArgolintError, UsageError
from argolint.gate.candidates import Change
from argolint.gate.judge import NoneHereError, judge
from argolint.gate.verdict import Verdict
from argolint.model import AppRef, Failure


def judge_all(sources: Sequence[Source], change: Change, plan: Plan) -> Verdict:
    """The verdicts of all as one. An Argo CD that cannot be read is a failure with its name; one without applications of the
    repository does not count.

    Raises UsageError when none has any, or when their applications follow different revisions and `change` names no base.
    """
    found: list[tuple[str, Verdict]] = []
    failures: list[Failure] = []
    elsewhere: list[str] = []
    for source in sources:
        try:
            if source.transport is None:
                failures.append(source.failure or Failure("server", "it cannot be read", server=source.name))
                continue
            found.append((source.name, judge(source.transport, change, plan, alone=False)))
        except NoneHereError:
            elsewhere.append(source.name)
        except UsageError:
            raise
        except ArgolintError as error:
            failures.append(Failure("server", error.message, error.hint, server=source.name))
    if not found:
        told = "; ".join(f"{f.server}: {f.error}" for f in failures)
        if elsewhere or not failures:
            raise UsageError(
                f"no application of {', '.join(elsewhere)} has a source in {change.repo}"
                + (f", and not all Argo CDs can be read: {told}" if told else ""),
                "--repo is the repository's URL as the Applications name it; `argocd app list --repo URL` shows them",
            )
        raise ArgolintError(f"none of the Argo CDs can be read: {told}", failures[0].hint)
    bases = {verdict.base_name for _, verdict in found}
    if len(bases) > 1:
        told = ", ".join(f"{name} {verdict.base_name or 'HEAD'}" for name, verdict in found)
        raise UsageError(
            f"the applications of {change.repo} follow different revisions: {told}", "say which one counts: --base REV"
        )
    return _joined(found, failures)


def _joined(found: Sequence[tuple[str, Verdict]], failures: Sequence[Failure]) -> Verdict:
    verdicts = [verdict for _, verdict in found]
    own = [f if f.app is not None else replace(f, server=name) for name, verdict in found for f in verdict.failures]
    return replace(
        verdicts[0],
        fleets=tuple(replace(fleet, name=name) for name, verdict in found for fleet in verdict.fleets),
        base=_together(verdict.base for verdict in verdicts),
        head=_together(verdict.head for verdict in verdicts),
        apps=tuple(sorted((a for verdict in verdicts for a in verdict.apps), key=lambda touched: touched.ref)),
        failures=(*failures, *own),
        unlisted=tuple(f"{name}: {line}" for name, verdict in found for line in verdict.unlisted),
        files={ref: files for verdict in verdicts for ref, files in verdict.files.items()},
    )


def _together(outcomes: Iterable[Outcome]) -> Outcome:
    every = list(outcomes)
    return Outcome(
        tuple(sorted((f for o in every for f in o.findings), key=finding_order)),
        tuple(
            sorted((f for o in every for f in o.failures), key=lambda f: (f.app or AppRef("", ""), f.stage, f.error))
        ),
        tuple(sorted(ref for o in every for ref in o.apps)),
        sum(o.resources for o in every),
        tuple(sorted((n for o in every for n in o.notes), key=lambda n: (n.app, str(n.resource), n.rule))),
        tuple(sorted((looked for o in every for looked in o.looked), key=lambda looked: looked.ref)),
        Causes(
            {mark: of for o in every for mark, of in o.causes.parent.items()},
            {mark: title for o in every for mark, title in o.causes.title.items()},
        ),
    )
