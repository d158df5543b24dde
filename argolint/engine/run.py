"""Chooses applications of a fleet and looks at them in threads; docs/how-it-works.md has the whole way of a finding.

    load.read_fleet → run [here, in threads, or workers: load.read_application → inspect.inspect] → AppResult* → join.join → settle.settle

The number of applications in flight is limited, and each is freed once its facts are stored. Results are sorted before use, so a
report does not depend on scheduling.
"""

from __future__ import annotations

import logging
import traceback
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.guard import guarded_failures, unfinished_failure
from argolint.engine.inspect import inspect
from argolint.engine.load import needs_states, read_application
from argolint.engine.plan import ChosenRule, Plan, Progress
from argolint.engine.rule_timing import watched
from argolint.errors import ArgolintError, AuthError, NotHereError
from argolint.host import threads
from argolint.host.inflate import held_together
from argolint.host.timing import charged, measured
from argolint.model import AppRef, Failure, Finding, Object
from argolint.model.results import AppResult
from argolint.proof.renders import Pair, Render
from argolint.redaction import in_place, without_secrets
from argolint.server.transport import Transport
from argolint.values import join_pointer, labels_of

_LOG = logging.getLogger(__name__)


Look = Callable[[Transport, Fleet, Plan, Sequence[App]], Iterator[AppResult]]
"""Looks at applications: yields one result each, in no particular order. `in_this_process`, or one of `argolint.engine.workers`."""
Examine = Callable[[Transport, App, Fleet, Plan], AppResult]
"""Looks at one application: `examine_application`, or a function that knows earlier results."""


def run(
    t: Transport,
    fleet: Fleet,
    plan: Plan,
    progress: Progress = lambda done, total: None,
    look: Look | None = None,
) -> Iterator[AppResult]:
    """One result per application of this shard, in no particular order."""
    wanted = {a.ref for a in fleet.apps if plan.wanted(a, fleet)}
    alongside = _sharing_applications(wanted, fleet)
    taken = wanted | alongside
    apps = [a for a in fleet.apps if a.ref in taken and _in_shard(a.ref, plan.shard)]
    for done, result in enumerate((look or in_this_process)(t, fleet, plan, apps), start=1):
        progress(done, len(apps))
        labelled = replace(result, labels=_labels(fleet.by_ref[result.ref], plan)) if plan.app_labels else result
        yield replace(labelled, findings=(), notes=(), alongside=True) if result.ref in alongside else labelled


def _labels(app: App, plan: Plan) -> tuple[tuple[str, str], ...]:
    """Labels that a metric shows, without secrets: masking needs their names, and shard files contain them, too."""
    labels = labels_of(app.raw)
    places = {key: join_pointer("metadata", "labels", key) for key in plan.app_labels if key in labels}
    return tuple((key, str(in_place(labels[key], app.raw, place))) for key, place in places.items())


def in_this_process(
    t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App], one: Examine | None = None
) -> Iterator[AppResult]:
    """Look at the applications in threads of this process, each with `one`. Once the server refuses the login, skip the rest."""
    if plan.timings:
        plan = replace(plan, rules=tuple(replace(chosen, rule=watched(chosen.rule)) for chosen in plan.rules))
    ended: list[AuthError] = []

    def task(app: App) -> AppResult:
        if not ended:
            try:
                with held_together(), measured(plan.timings) as ledger:
                    result = (one or examine_application)(t, app, fleet, plan)
                return replace(result, spent=ledger.costs)
            except AuthError as error:
                ended.append(error)  # no later request can succeed: keep what was read
            except Exception as error:  # not a rule's crash: this application becomes a Failure, the others go on
                if _LOG.isEnabledFor(logging.DEBUG):
                    trace = without_secrets("".join(traceback.format_exception(error)))
                    _LOG.debug("%s cannot be looked at: %s", app.ref, trace)
                return unread_result(app, *guarded_failures(app, (unfinished_failure(app.ref, error),)))
        return unread_result(app, Failure("login", ended[0].message, ended[0].hint, app.ref))

    return map(task, apps) if plan.workers == 1 else _in_threads(task, apps, plan.workers)


def unread_result(app: App, why: Failure) -> AppResult:
    """The result of an application that could not be looked at."""
    return AppResult(app.ref, failures=(why,), sync=app.sync_status, health=app.health.status)


def _in_threads(task: Callable[[App], AppResult], apps: Iterable[App], workers: int) -> Iterator[AppResult]:
    """The results as they finish; at most twice as many applications as workers are in flight.

    They are taken in the order of a hash: copies of one application have names next to each other, and the states of a large one, such as CRDs,
    would be in memory once for each thread.
    """
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="argolint")
    pending: set[Future[AppResult]] = set()
    queue = iter(sorted(apps, key=lambda app: _hash(app.ref)))
    try:
        while True:
            for app in queue:
                pending.add(_submitted(pool, task, app))
                if len(pending) >= 2 * workers:
                    break
            if not pending:
                return
            finished, pending = threads.first(pending)
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(wait=not pending, cancel_futures=True)  # after Ctrl-C, do not wait for a server


def _submitted(pool: ThreadPoolExecutor, task: Callable[[App], AppResult], app: App) -> Future[AppResult]:
    try:
        return pool.submit(task, app)
    except RuntimeError as error:
        hint = "pass fewer --workers, or raise the limit of processes (`ulimit -u`, the container's)"
        raise ArgolintError(f"no worker can be started: {error}", hint) from None


_SHARERS = 8
"""Most claimants of one object that are examined in addition to the requested applications."""


def _sharing_applications(wanted: Collection[AppRef], fleet: Fleet) -> frozenset[AppRef]:
    """Applications that share objects with the wanted ones: only their facts are used, for findings of the wanted ones."""
    if len(wanted) == len(fleet.apps):
        return frozenset()
    keys = {key for ref in wanted for key in fleet.contests(ref)}
    return frozenset(ref for key in keys for ref in fleet.claimants(key)[:_SHARERS] if ref not in wanted)


def _in_shard(ref: AppRef, shard: tuple[int, int]) -> bool:
    """Whether the application is in this shard."""
    index, count = shard
    return _hash(ref) % count == index - 1


def _hash(ref: AppRef) -> int:
    """crc32 of the name: the same in each run and on each machine, unlike hash()."""
    return zlib.crc32(str(ref).encode())


def examine_application(t: Transport, app: App, fleet: Fleet, plan: Plan) -> AppResult:
    """Read what one application needs, then inspect it. Only AuthError escapes."""
    app = replace(app, entry=app.entry.apart(), resources=tuple(app.resources))  # rules look at each object many times
    with charged("decide"):
        states = plan.deep or needs_states(app, fleet, plan.rules)
    app, failures = read_application(t, app, fleet, plan, states=states)
    render = renderer(plan, fleet)
    with nullcontext() if render else threads.THINKING, charged("inspect"):  # who renders waits for a program
        result = inspect(app, fleet, plan.rules, render)
    unread = not states and any(not row.hook for row in app.rows)
    known = _certain_findings(result.findings, app, failures, plan.rules)
    return replace(result, findings=known, failures=tuple(dict.fromkeys((*failures, *result.failures))), unread=unread)


_NO_READ = frozenset(("wants", "helm-render"))
"""Stages of failures that are not reads: a rule's crash, or a program that failed."""


def _certain_findings(
    findings: tuple[Finding, ...], app: App, failures: Sequence[Failure], rules: Sequence[ChosenRule]
) -> tuple[Finding, ...]:
    """The findings that would be the same after a complete read.

    A rule without its evidence does not know the cause. If states are missing, a symptom falls to a more general rule, and no fix is
    verified: the same fault would appear as a new finding.
    """
    if all(failure.stage in _NO_READ for failure in failures):
        return findings
    weak = {chosen.rule.id for chosen in rules if chosen.rule.rank < 0} if app.unanswered else set()
    stateless = "managed-resources" in app.unanswered
    return tuple(
        f
        for f in findings
        if f.cause != "unknown"
        and f.rule not in weak
        and not (stateless and f.at.resource is not None and f.confidence == "proven")
    )


def renderer(plan: Plan, fleet: Fleet) -> Render | None:
    """What renders Helm applications from the checkouts, where --helm-render asks for it."""
    local = plan.local
    if local is None:
        return None

    def rendered(app: App, values: Object | None) -> Pair | None:
        if lacking := local.lacks(app):
            raise NotHereError(lacking)
        return local.twice(app, fleet, values)

    return rendered
