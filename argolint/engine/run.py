"""From a fleet to results: choose whom to look at, and look at them in threads.

    load.load_fleet → run [here, in threads, or workers: load.load → inspect.inspect] → AppResult* → join.join → settle.settle

Applications in flight are bounded, each is dropped as soon as its facts are kept, and results are
sorted before anything looks at them, so the bytes of a report do not depend on scheduling.
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
from argolint.engine.guard import guarded_failures, unfinished
from argolint.engine.inspect import inspect
from argolint.engine.load import load, needs_states
from argolint.engine.plan import Chosen, Plan, Progress
from argolint.engine.rule_timing import watched
from argolint.errors import ArgolintError, AuthError
from argolint.host import threads
from argolint.host.inflate import held_together
from argolint.host.timing import charged, measured
from argolint.model import AppRef, Failure, Finding, Object
from argolint.model.results import AppResult
from argolint.proof.renders import Pair, Render
from argolint.redaction import in_place, without_secrets
from argolint.server.transport import Transport
from argolint.sources.helm import NotHereError
from argolint.values import join_pointer, labels_of

_LOG = logging.getLogger(__name__)


Look = Callable[[Transport, Fleet, Plan, Sequence[App]], Iterator[AppResult]]
"""Who looks at applications: one result each, in no particular order. `here`, or `argolint.engine.workers`."""
Examine = Callable[[Transport, App, Fleet, Plan], AppResult]
"""How one application is looked at: `examine`, or what knows earlier results."""


def run(
    t: Transport,
    fleet: Fleet,
    plan: Plan,
    progress: Progress = lambda done, total: None,
    look: Look | None = None,
) -> Iterator[AppResult]:
    """One result an application of this shard, in no particular order."""
    wanted = {a.ref for a in fleet.apps if plan.wanted(a, fleet)}
    alongside = _sharers(wanted, fleet)
    taken = wanted | alongside
    apps = [a for a in fleet.apps if a.ref in taken and _in_shard(a.ref, plan.shard)]
    for done, result in enumerate((look or here)(t, fleet, plan, apps), start=1):
        progress(done, len(apps))
        labelled = replace(result, labels=_labels(fleet.by_ref[result.ref], plan)) if plan.app_labels else result
        yield replace(labelled, findings=(), notes=(), alongside=True) if result.ref in alongside else labelled


def _labels(app: App, plan: Plan) -> tuple[tuple[str, str], ...]:
    """Those that a metric shows, without secrets: their names tell them, and shards hold them as well."""
    labels = labels_of(app.raw)
    places = {key: join_pointer("metadata", "labels", key) for key in plan.app_labels if key in labels}
    return tuple((key, str(in_place(labels[key], app.raw, place))) for key, place in places.items())


def here(
    t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App], one: Examine | None = None
) -> Iterator[AppResult]:
    """Look in threads of this process, at each with `one`. Once the server no longer lets us in, what is left is not asked for."""
    if plan.timings:
        plan = replace(plan, rules=tuple(replace(chosen, rule=watched(chosen.rule)) for chosen in plan.rules))
    ended: list[AuthError] = []

    def task(app: App) -> AppResult:
        if not ended:
            try:
                with held_together(), measured(plan.timings) as ledger:
                    result = (one or examine)(t, app, fleet, plan)
                return replace(result, spent=ledger.costs)
            except AuthError as error:
                ended.append(error)  # no request after this one can succeed: what was read so far is kept
            except Exception as error:  # of no rule: this application is a Failure, the other ones go on
                if _LOG.isEnabledFor(logging.DEBUG):
                    trace = without_secrets("".join(traceback.format_exception(error)))
                    _LOG.debug("%s cannot be looked at: %s", app.ref, trace)
                return unread(app, *guarded_failures(app, (unfinished(app.ref, error),)))
        return unread(app, Failure("login", ended[0].message, ended[0].hint, app.ref))

    return map(task, apps) if plan.workers == 1 else _in_threads(task, apps, plan.workers)


def unread(app: App, why: Failure) -> AppResult:
    """The result of an application that could not be looked at."""
    return AppResult(app.ref, failures=(why,), sync=app.sync_status, health=app.health.status)


def _in_threads(task: Callable[[App], AppResult], apps: Iterable[App], workers: int) -> Iterator[AppResult]:
    """The results as they come; twice as many applications as workers are in flight at most."""
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="argolint")
    pending: set[Future[AppResult]] = set()
    queue = iter(apps)
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
        pool.shutdown(wait=not pending, cancel_futures=True)  # who is interrupted does not wait for a server


def _submitted(pool: ThreadPoolExecutor, task: Callable[[App], AppResult], app: App) -> Future[AppResult]:
    try:
        return pool.submit(task, app)
    except RuntimeError as error:
        hint = "pass fewer --workers, or raise the limit of processes (`ulimit -u`, the container's)"
        raise ArgolintError(f"no worker can be started: {error}", hint) from None


_SHARERS = 8
"""How many claimants of one object are looked at in addition to those that were asked for."""


def _sharers(wanted: Collection[AppRef], fleet: Fleet) -> frozenset[AppRef]:
    """Applications that share objects with the wanted ones: only their facts count, for what is reported of the wanted ones."""
    if len(wanted) == len(fleet.apps):
        return frozenset()
    keys = {key for ref in wanted for key in fleet.contests.get(ref, ())}
    return frozenset(ref for key in keys for ref in fleet.contested[key][:_SHARERS] if ref not in wanted)


def _in_shard(ref: AppRef, shard: tuple[int, int]) -> bool:
    """crc32 of the name: stable between runs and machines, unlike hash()."""
    index, count = shard
    return zlib.crc32(str(ref).encode()) % count == index - 1


def examine(t: Transport, app: App, fleet: Fleet, plan: Plan) -> AppResult:
    """Read what one application needs, then inspect it. Only AuthError escapes."""
    app = replace(app, entry=app.entry.apart(), resources=tuple(app.resources))  # rules look at each of them many times
    with charged("decide"):
        states = plan.deep or needs_states(app, fleet, plan.rules)
    app, failures = load(t, app, fleet, plan, states=states)
    render = renderer(plan, fleet)
    with nullcontext() if render else threads.THINKING, charged("inspect"):  # who renders waits for a program
        result = inspect(app, fleet, plan.rules, render)
    unread = not states and any(not row.hook for row in app.rows)
    known = _of_what_was_read(result.findings, app, failures, plan.rules)
    return replace(result, findings=known, failures=tuple(dict.fromkeys((*failures, *result.failures))), unread=unread)


_NO_READ = frozenset(("wants", "helm-render"))
"""Stages of a rule's own crash, and of what a program could not make."""


def _of_what_was_read(
    findings: tuple[Finding, ...], app: App, failures: Sequence[Failure], rules: Sequence[Chosen]
) -> tuple[Finding, ...]:
    """The findings that are the same once the rest can be read as well.

    A rule that could not see what it asked for knows no cause. Where states lack, a symptom falls to a rule that knows less, and
    nothing is proven of an object: each would be another finding of the same fault, which looks new.
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
