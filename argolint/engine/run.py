"""From a transport and rules to results: read the fleet, choose what to read further, inspect, settle, join.

    load_fleet → triage → [threads: load states → wants → inspect] → AppResult* → join → settle

`inspect` is pure. Applications in flight are bounded, each is dropped as soon as its facts are kept, and results are
sorted before anything looks at them, so the bytes of a report do not depend on scheduling.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from argolint.app import App, Resource, app_from_list
from argolint.checkouts.export import ExportError
from argolint.consequences import with_consequences
from argolint.engine.causes import Causes, apps_of, with_causes
from argolint.engine.fingerprint import fingerprint
from argolint.engine.notes import notes
from argolint.engine.shown import Shown
from argolint.engine.verify import Render, Today, unreplayed, verify
from argolint.errors import ApiError, ArgolintError, AuthError, NotRecorded, UnreadableStateError
from argolint.fleet import Fleet, cluster_of, control_plane_of
from argolint.host.inflate import held_together
from argolint.model import (
    AppRef,
    Fact,
    Failure,
    Finding,
    Fix,
    Note,
    Object,
    ResourceId,
    ResourceKey,
    Severity,
    Source,
    Symptom,
    Want,
)
from argolint.redaction import without_secrets
from argolint.redaction.findings import NOTHING_KNOWN, Known, guarded, secrets_of
from argolint.renders.helm import HelmError
from argolint.rule import Rule
from argolint.server import api as argocd
from argolint.server import application_list
from argolint.server.transport import Transport
from argolint.values import mapping, text_at

if TYPE_CHECKING:
    from argolint.renders.local import LocalRenders

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """A rule as the user wants it: its options and, perhaps, another severity."""

    rule: Rule
    options: Any
    severity: Severity | None = None


@dataclass(frozen=True)
class Plan:
    """How to run: what to look at and what the server may be asked for.

    `local` renders Helm applications here: the server is then not asked for those that it covers. All rules run, whatever is
    `shown` of their findings.
    """

    rules: tuple[Chosen, ...]
    wanted: Callable[[App, Fleet], bool] = lambda app, fleet: True
    workers: int = 8
    deep: bool = False
    renders: bool = False
    manifests: bool = False
    shard: tuple[int, int] = (1, 1)
    local: LocalRenders | None = None
    shown: Shown = field(default_factory=Shown)


@dataclass(frozen=True)
class AppResult:
    """What inspecting one application gave; plain data that a shard can carry.

    `beside` says that it was not asked for: it shares objects with one that was, and only its facts count.
    """

    ref: AppRef
    resources: int = 0
    findings: tuple[Finding, ...] = ()
    facts: tuple[tuple[str, Fact], ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    beside: bool = False
    sync: str = ""
    health: str = ""


@dataclass(frozen=True)
class Looked:
    """One application that was looked at, and how Argo CD shows it."""

    ref: AppRef
    resources: int = 0
    sync: str = ""
    health: str = ""


@dataclass(frozen=True)
class Outcome:
    """Findings and failures of a whole run, sorted. `causes` knows those of findings that were left out as well."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    apps: tuple[AppRef, ...]
    resources: int
    notes: tuple[Note, ...] = ()
    looked: tuple[Looked, ...] = ()
    causes: Causes = field(default_factory=Causes)


Progress = Callable[[int, int], None]


def load_fleet(t: Transport) -> tuple[Fleet, tuple[Failure, ...]]:
    """The fleet, and what of it could not be read. Raises ArgolintError when the applications cannot be listed."""
    failures: list[Failure] = []

    def optional(stage: str, call: Callable[[Transport], Any], default: Any) -> Any:
        try:
            return call(t)
        except AuthError:
            raise
        except ArgolintError as error:
            failures.append(Failure(stage, error.message, error.hint))
            return default

    try:
        settings: Object = argocd.settings(t)  # a host that is no Argo CD shows here, by its first answer
    except (ApiError, NotRecorded) as error:
        failures.append(Failure("settings", error.message, error.hint))
        settings = {}
    version: str = optional("version", argocd.version, "")
    projects: tuple[Object, ...] = optional("projects", argocd.projects, ())
    remarks: list[str] = []
    clusters = {text_at(c, "server").rstrip("/"): c for c in optional("clusters", argocd.clusters, ())}
    by_name = {text_at(c, "name"): server for server, c in clusters.items()}
    server = (text_at(settings, "url") or t.server).rstrip("/")
    control_plane = control_plane_of(settings, ())
    observed_at = t.now()
    apps = sorted(
        (
            app_from_list(
                raw,
                server=server,
                cluster=cluster_of(mapping(raw, "spec"), by_name),
                control_plane=control_plane,
                observed_at=observed_at,
            )
            for raw in application_list.applications(t, projects, failures, remarks)
        ),
        key=lambda app: app.ref,
    )
    if project := getattr(t, "project", ""):
        remarks.append(
            f"The token is of project {project} alone: applications of other projects, and what they own, are not seen."
        )
    if not apps:
        what = "the server shows this account no application at all"
        failures.append(Failure("applications", what, "`argolint explain --setup` prints the rights that it needs"))
    fleet = Fleet(
        server,
        version,
        settings,
        tuple(apps),
        {text_at(p, "metadata", "name"): p for p in projects},
        clusters,
        optional("repositories", argocd.repositories, ()),
        optional("applicationsets", argocd.application_sets, ()),
        tuple(remarks),
    )
    return fleet, tuple(failures)


def run(t: Transport, fleet: Fleet, plan: Plan, progress: Progress = lambda done, total: None) -> Iterator[AppResult]:
    """One result an application of this shard, in no particular order."""
    wanted = {a.ref for a in fleet.apps if plan.wanted(a, fleet)}
    beside = _beside(wanted, fleet)
    taken = wanted | beside
    apps = [a for a in fleet.apps if a.ref in taken and _in_shard(a.ref, plan.shard)]
    ended: list[AuthError] = []

    def task(app: App) -> AppResult:
        if not ended:
            try:
                with held_together():
                    result = examine(t, app, fleet, plan)
                return replace(result, findings=(), notes=(), beside=True) if app.ref in beside else result
            except AuthError as error:
                ended.append(error)  # no request after this one can succeed: what was read so far is kept
            except Exception as error:  # of no rule: this application is a Failure, the other ones go on
                _LOG.debug("%s cannot be looked at", app.ref, exc_info=error)
                return _unread(app, _unfinished(app.ref, error))
        return _unread(app, Failure("login", ended[0].message, ended[0].hint, app.ref))

    def _unread(app: App, why: Failure) -> AppResult:
        shown = app.sync_status, app.health.status
        return AppResult(app.ref, failures=(why,), beside=app.ref in beside, sync=shown[0], health=shown[1])

    results = map(task, apps) if plan.workers == 1 else _in_threads(task, apps, plan.workers)
    for done, result in enumerate(results, start=1):
        progress(done, len(apps))
        yield result


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
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
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


_BESIDE = 8
"""How many claimants of one object are looked at beside those that were asked for."""


def _beside(wanted: Collection[AppRef], fleet: Fleet) -> frozenset[AppRef]:
    """Applications that share objects with the wanted ones: only their facts count, for what is told of the wanted ones."""
    if len(wanted) == len(fleet.apps):
        return frozenset()
    keys = {key for ref in wanted for key in fleet.contests.get(ref, ())}
    return frozenset(ref for key in keys for ref in fleet.contested[key][:_BESIDE] if ref not in wanted)


def _in_shard(ref: AppRef, shard: tuple[int, int]) -> bool:
    """crc32 of the name: stable between runs and machines, unlike hash()."""
    index, count = shard
    return zlib.crc32(str(ref).encode()) % count == index - 1


def examine(t: Transport, app: App, fleet: Fleet, plan: Plan) -> AppResult:
    """Read what one application needs, then inspect it. Only AuthError escapes."""
    app = replace(app, resources=tuple(app.resources))  # the rules look at each of them many times
    app, failures = load(t, app, fleet, plan, states=plan.deep or needs_states(app, fleet, plan.rules))
    result = inspect(app, fleet, plan.rules, _renderer(app, fleet, plan))
    return replace(result, failures=tuple(dict.fromkeys((*failures, *result.failures))))


def load(t: Transport, app: App, fleet: Fleet, plan: Plan, *, states: bool) -> tuple[App, tuple[Failure, ...]]:
    """One application with its states, if they are to be read, and the evidence that the rules want."""
    failures: list[Failure] = []
    if states:
        app = _read(t, app, failures)
    return gather(t, app, fleet, plan, failures), tuple(failures)


def needs_states(app: App, fleet: Fleet, rules: Sequence[Chosen]) -> bool:
    """False for an application that the list shows Synced, Healthy and quiet, and that no rule wants to read all the same."""
    if app.sync_status != "Synced" or app.health.status != "Healthy" or app.conditions:
        return True
    if app.operation is not None and app.operation.phase not in ("Succeeded", ""):
        return True
    return any(chosen.rule.reads is not None and chosen.rule.reads(app, fleet, chosen.options) for chosen in rules)


def _read(t: Transport, app: App, failures: list[Failure]) -> App:
    """The application with its states and tree. One that is gone or forbidden is told once.

    A refusal because of a condition (500 with its text) is no failure: the condition's finding answers it.
    """
    found: dict[str, Any] = {}
    for stage, call in (("managed-resources", argocd.managed_resources), ("resource-tree", argocd.resource_tree)):
        try:
            found[stage] = call(t, app.ref)
        except AuthError:
            raise
        except ArgolintError as error:
            status = error.status if isinstance(error, ApiError) else None
            if status != 500 or app.desired_known:
                failures.append(Failure(stage, error.message, error.hint, app.ref))
            if status in (403, 404):
                break
    listed = sum(row.claimed for row in app.rows)
    if listed and app.desired_known and found.get("managed-resources") == ():
        missing = f"the server sent no states, and its list names objects of this application: {listed}"
        failures.append(Failure("managed-resources", missing, "run again; if it stays, look at this answer", app.ref))
    return app.with_states(found.get("managed-resources"), found.get("resource-tree"))


_ROUNDS = 3
_ONE_RENDER = (
    threading.Lock()
)  # a fresh render keeps a repo-server busy: never two at a time, however many workers read


def gather(t: Transport, app: App, fleet: Fleet, plan: Plan, failures: list[Failure]) -> App:
    """Fetch what rules want, again until they name nothing new: an Event may point at a store that is worth a look."""
    for _ in range(_ROUNDS):
        wanted: dict[Want, str] = {}
        for chosen in plan.rules:
            if chosen.rule.wants is not None:
                try:
                    wanted.update(dict.fromkeys(chosen.rule.wants(app, fleet, chosen.options), chosen.rule.id))
                except BaseException as error:  # a rule's crash is a Failure that names it; the other rules go on
                    failures.append(_crash(chosen.rule, app, "wants", error))
        new = [w for w in sorted(wanted, key=repr) if w not in app.evidence and _allowed(w, t, app, plan)]
        if not new:
            break
        found: dict[Want, Any] = {}
        for want in new:
            try:
                found[want] = _fetch(t, app, fleet, want, plan)
            except AuthError:
                raise
            except NotRecorded:
                found[want] = None  # the finding that it would have sharpened says what the snapshot lacks
            except (HelmError, ExportError) as error:
                found[want] = None
                failures.append(Failure("helm-render", error.message, error.hint, app.ref, wanted[want]))
            except ArgolintError as error:
                found[want] = None
                if not (
                    isinstance(error, ApiError)
                    and error.status in (400, 404, 500)
                    and want.kind in ("manifests", "render", "peer", "revision")
                ):
                    failures.append(Failure(want.kind, error.message, error.hint, app.ref, wanted[want]))
        app = replace(app, evidence={**app.evidence, **found})
    return app


def _allowed(want: Want, t: Transport, app: App, plan: Plan) -> bool:
    """Renders cost the server, and fresh ones can change what it deploys: only when the user said so.

    Recorded fresh renders are read as they lie there: somebody already said so. Plain manifests are asked for alike
    everywhere, so that a server and its snapshot give one report.
    """
    if want.kind == "render":
        return plan.renders or t.offline or _is_local(app, plan)
    return want.kind != "manifests" or plan.manifests


def _is_local(app: App, plan: Plan) -> bool:
    return plan.local is not None and plan.local.covers(app)


def _renderer(app: App, fleet: Fleet, plan: Plan) -> Render | None:
    local = plan.local
    if local is None or not local.covers(app):
        return None
    return lambda rendered, values: local.twice(rendered, fleet, values)


def _fetch(t: Transport, app: App, fleet: Fleet, want: Want, plan: Plan) -> Any:
    match want.kind:
        case "events":
            return argocd.events(t, app.ref, want.resource, want.uid)
        case "app-events":
            return argocd.events(t, app.ref)
        case "live":
            return argocd.resource(t, want.app or app.ref, want.resource) if want.resource else None
        case "peer":
            return _peer(t, fleet, want)
        case "manifests":
            return argocd.manifests(t, app.ref)
        case "render":
            made = plan.local.twice(app, fleet) if plan.local and plan.local.covers(app) else None
            if made is not None or not (plan.renders or t.offline):
                return made
            with _ONE_RENDER:
                return tuple(argocd.manifests(t, app.ref, fresh=turn) for turn in (1, 2))
        case "sync-windows":
            return argocd.sync_windows(t, app.ref)
        case "revision":
            return argocd.revision_metadata(t, app.ref, want.revision, want.source)


def _peer(t: Transport, fleet: Fleet, want: Want) -> Resource | None:
    other = fleet.by_ref.get(want.app) if want.app else None
    if other is None or want.resource is None:
        return None
    states = argocd.managed_resources(t, other.ref, want.resource)
    return other.with_states(states, None).resource(want.resource.key)


def inspect(app: App, fleet: Fleet, rules: Sequence[Chosen], render: Render | None = None) -> AppResult:
    """Findings and facts of one application. Pure: no I/O, no clock, but for `render`, which proves Helm values."""
    findings: list[Finding] = []
    facts: list[tuple[str, Fact]] = []
    failures: list[Failure] = []
    for chosen in rules:
        rule = chosen.rule
        try:
            if rule.check is not None:
                told = rule.check(app, fleet, chosen.options)
                findings += [_stamp(with_consequences(f, app), chosen, app) for f in told]
            if rule.collect is not None:
                facts += [(rule.id, fact) for fact in rule.collect(app, fleet, chosen.options)]
        except BaseException as error:  # a rule's crash is a Failure that names it; the other rules go on
            failures.append(_crash(rule, app, "check", error))
    by_id = {c.rule.id: c for c in rules}
    kept = settle(findings, {id_: c.rule.rank for id_, c in by_id.items()})
    kept = list(_retold(kept, findings, app, fleet, by_id, failures))
    today: Today = {}
    guard = _Guard(app)
    others = _Others(findings, fleet, rules, failures)
    proven = tuple(
        guard.finding(_proven(finding, app, fleet, by_id[finding.rule], failures, render, today, others))
        for finding in kept
    )
    found: tuple[Note, ...] = ()
    try:
        found = tuple(notes(app))
    except UnreadableStateError as error:
        failures.append(Failure("states", error.message, error.hint, app.ref))
    shown = app.sync_status, app.health.status
    return AppResult(
        app.ref,
        len(app.resources),
        proven,
        tuple(facts),
        tuple(failures),
        found,
        sync=shown[0],
        health=shown[1],
    )


def _retold(
    kept: Sequence[Finding],
    findings: Iterable[Finding],
    app: App,
    fleet: Fleet,
    by_id: Mapping[str, Chosen],
    failures: list[Failure],
) -> Iterator[Finding]:
    """The findings kept; one that lost some differences to another in the words that its rule finds when those are not there.

    So its message, place, evidence and fixes are about its own. It stays as it is when the rule tells something else then.
    """
    claimed = {(f.rule, f.at, f.message): f.explains for f in findings}
    lost: dict[str, dict[ResourceKey | None, tuple[str, ...]]] = defaultdict(lambda: defaultdict(tuple))
    for finding in kept:
        for claim in claimed[finding.rule, finding.at, finding.message]:
            if claim.kind == "change" and claim not in finding.explains:
                lost[finding.rule][claim.resource] += (claim.detail,)
    again: dict[tuple[str, ResourceId | None, frozenset[Symptom]], Finding] = {}
    for id_, answered in lost.items():
        try:
            for told in _told_without(answered, app, fleet, by_id[id_]):
                again[id_, told.at.resource, frozenset(told.explains)] = told
        except BaseException as error:  # a rule's crash on fewer differences is a Failure that names it
            failures.append(_crash(by_id[id_].rule, app, "check", error))
    for finding in kept:
        whole = claimed[finding.rule, finding.at, finding.message] == finding.explains
        subject = (finding.rule, finding.at.resource, frozenset(finding.explains))
        yield finding if whole else again.get(subject, finding)


def _told_without(
    answered: Mapping[ResourceKey | None, tuple[str, ...]], app: App, fleet: Fleet, chosen: Chosen
) -> Iterator[Finding]:
    """What the rule tells of the application when these differences are not there."""
    resources = tuple(
        msgspec.structs.replace(r, answered=answered[r.key]) if r.key in answered else r for r in app.resources
    )
    check = chosen.rule.check
    for told in check(replace(app, resources=resources), fleet, chosen.options) if check else ():
        yield _stamp(with_consequences(told, app), chosen, app)


def _proven(
    finding: Finding,
    app: App,
    fleet: Fleet,
    chosen: Chosen,
    failures: list[Failure],
    render: Render | None,
    today: Today,
    others: _Others,
) -> Finding:
    """The finding with its fixes replayed; one that does not work is not offered."""
    check, options = chosen.rule.check, chosen.options
    try:
        again = (lambda after: check(after, fleet, options)) if check else None
        fixes = [
            verify(fix, finding, app, fleet, again, render, today, others.about(finding, number))
            for number, fix in enumerate(finding.fixes)
        ]
    except BaseException as error:  # a rule's crash on the state after its fix is a Failure that names it
        failures.append(_crash(chosen.rule, app, "verify", error))
        return finding
    for fix in fixes:
        if fix.verified is False and _LOG.isEnabledFor(logging.DEBUG):
            why = without_secrets(f"{fix.title!r} of {app.ref}: {fix.unverified}")
            _LOG.debug("%s: dropped the fix %s", finding.rule, why)
    return replace(finding, fixes=tuple(fix for fix in fixes if fix.verified is not False))


class _Others:
    """What any rule finds in another state of an application, and none finds today.

    A claim that another finding answers today may stand alone then: it is no news. All rules look at all objects for each fix
    that works; of an application with many alike findings the first ones stand for the rest.
    """

    _LOOKS = 2_000
    """Objects looked at, for every fix; four times as many for the first fix of each kind."""

    def __init__(
        self, findings: Iterable[Finding], fleet: Fleet, rules: Sequence[Chosen], failures: list[Failure]
    ) -> None:
        self._findings, self._fleet, self._rules, self._failures = findings, fleet, rules, failures
        self._spent = 0
        self._seen: set[object] = set()

    def about(self, finding: Finding, number: int) -> Callable[[App], Iterator[Finding]]:
        """For one fix of the finding."""
        kind = (finding.rule, finding.cause, number)

        def look(after: App) -> Iterator[Finding]:
            allowed = self._LOOKS if kind in self._seen else 4 * self._LOOKS
            if self._spent < allowed:
                self._seen.add(kind)
                self._spent += len(after.resources)
                yield from self(after)

        return look

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(fingerprint(finding) for finding in self._findings)

    def __call__(self, after: App) -> Iterator[Finding]:
        told: list[Finding] = []
        for chosen in self._rules:
            try:
                found = chosen.rule.check(after, self._fleet, chosen.options) if chosen.rule.check else ()
                told += [_stamp(with_consequences(finding, after), chosen, after) for finding in found]
            except BaseException as error:  # a rule's crash on the state after a fix is a Failure that names it
                self._failures.append(_crash(chosen.rule, after, "verify", error))
        for finding in settle(told, {chosen.rule.id: chosen.rule.rank for chosen in self._rules}):
            if fingerprint(finding) not in self._known:
                yield finding


class _Guard:
    """Takes the secrets out of what rules tell of one application; what it learns of an object serves all findings."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._secrets: dict[ResourceKey, frozenset[str]] = {}

    @cached_property
    def _own(self) -> frozenset[str]:
        return secrets_of(self._app.spec)

    def finding(self, finding: Finding) -> Finding:
        """The finding without secrets: those of the objects that it speaks of are looked for by their values too."""
        app = self._app

        def edited(finding: Finding, fix: Fix) -> Iterable[Object]:
            target = fix.resource or finding.at.resource
            resource = app.resource(target.key) if target and fix.target != "application" else None
            return (app.raw,) if fix.target == "application" else _seen(resource) if resource else ()

        subjects = {finding.at.resource, *(r.resource for r in finding.related if r.app == app.ref)}
        return guarded(finding, self.known(r for id_ in subjects if id_ and (r := app.resource(id_.key))), edited)

    def known(self, resources: Iterable[Resource]) -> Known:
        """The secrets of the application's spec and of these objects."""
        for resource in (found := tuple(resources)):
            if resource.key not in self._secrets:
                self._secrets[resource.key] = frozenset(s for state in _seen(resource) for s in secrets_of(state))
        return Known((*self._own, *(s for resource in found for s in self._secrets[resource.key])))


def _seen(resource: Resource) -> Iterator[Object]:
    """The states that a rule has looked at: of the others it can tell nothing."""
    return filter(None, (resource.__dict__.get(side) for side in ("desired", "normalized", "live")))


def _crash(rule: Rule, app: App | None, stage: str, error: BaseException, known: Known = NOTHING_KNOWN) -> Failure:
    """A rule's crash as a Failure; `sys.exit()` in a rule is one as well, Ctrl-C is none."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    ref = app.ref if app else None
    if isinstance(error, UnreadableStateError):  # the same for every rule that reads it, and the fault of none
        return Failure("states", error.message, error.hint, ref)
    if app is not None:
        known = _Guard(app).known(app.resources)
    return Failure(
        stage,
        known.without(f"rule {rule.id} failed: {_told(error)}"),
        "this is a bug of the rule: report it, and pass --ignore " + rule.id + " meanwhile",
        ref,
        rule.id,
    )


def _unfinished(ref: AppRef, error: Exception) -> Failure:
    """Why an application could not be looked at to its end, when no rule and no answer is the reason."""
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        problem = f"cannot read or write{where}: {error.strerror or error}"
        return Failure("inspect", problem, "check the space left, and how many files may be open (`ulimit -n`)", ref)
    return Failure("inspect", f"argolint failed: {_told(error)}", "this is a bug of argolint: report it", ref)


def _told(error: BaseException) -> str:
    """An error for whoever mends it: type, text and the place where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {error}{place}"


def _stamp(finding: Finding, chosen: Chosen, app: App | None, key: str = "") -> Finding:
    rule = chosen.rule
    return replace(
        finding,
        rule=rule.id,
        family=rule.family,
        severity=chosen.severity or finding.severity or rule.severity,
        source=finding.source or (source_of(app) if app and app.ref == finding.at.app else None),
        key=key,
    )


def source_of(app: App) -> Source | None:
    """Where the application's manifests come from: its only source, or the first one that renders something."""
    for index, source in enumerate(app.sources):
        if source.get("ref") and not source.get("path") and not source.get("chart"):
            continue
        revision = app.revisions[index] if index < len(app.revisions) else str(source.get("targetRevision") or "")
        return Source(
            str(source.get("repoURL") or ""), revision, str(source.get("path") or ""), str(source.get("chart") or "")
        )
    return None


def join(results: Iterable[AppResult], rules: Sequence[Chosen]) -> Outcome:
    """Bring the applications' results together: fleet-wide rules speak, and each symptom keeps its best explanation."""
    ordered = sorted(results, key=lambda r: r.ref)
    wanted = [r for r in ordered if not r.beside]
    refs = {r.ref for r in wanted}
    findings = [f for r in wanted for f in r.findings]
    failures = [f for r in ordered for f in r.failures]
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for result in ordered:
        for rule_id, fact in result.facts:
            groups[rule_id, fact.key].append(fact)
    chosen_by_id = {c.rule.id: c for c in rules}
    for (rule_id, key), facts in sorted(groups.items()):
        chosen = chosen_by_id[rule_id]
        known = NOTHING_KNOWN
        try:
            for said in (chosen.rule.join or _nothing)(key, facts, chosen.options):
                stamped = _stamp(said, chosen, None, key)
                if refs & apps_of(stamped):
                    known = known if known is not NOTHING_KNOWN else _of_facts(facts)
                    findings.append(guarded(replace(stamped, fixes=tuple(map(unreplayed, stamped.fixes))), known))
        except BaseException as error:  # a rule's crash is a Failure that names it; the other rules go on
            failures.append(_crash(chosen.rule, None, "join", error, _of_facts(facts)))
    kept = settle(findings, {c.rule.id: c.rule.rank for c in rules})
    told, causes = with_causes(sorted(kept, key=finding_order))
    return Outcome(
        told,
        tuple(
            sorted(failures, key=lambda f: (f.app is not None, f.app or AppRef("", ""), f.stage, f.rule or "", f.error))
        ),
        tuple(r.ref for r in wanted),
        sum(r.resources for r in wanted),
        tuple(sorted((n for r in ordered for n in r.notes), key=lambda n: (n.app, str(n.resource), n.rule))),
        tuple(Looked(r.ref, r.resources, r.sync, r.health) for r in wanted),
        causes,
    )


def _of_facts(facts: Iterable[Fact]) -> Known:
    """The secrets of the manifests in facts, whose own keys are words of their rule: `secret` may be the name of one."""
    return Known(secret for fact in facts for value in fact.data.values() for secret in secrets_of(value))


def _nothing(key: str, facts: Sequence[Fact], options: Any) -> Iterable[Finding]:
    return ()


def finding_order(finding: Finding) -> tuple[object, ...]:
    """Applications by name, then resources, then rules: the order of every report."""
    at = finding.at
    return (
        at.app,
        at.resource is not None,
        at.resource.key if at.resource else ("",) * 5,
        at.pointer,
        finding.rule,
        finding.cause or "",
        finding.key,
        finding.message,
    )


def settle(findings: Sequence[Finding], ranks: Mapping[str, int]) -> list[Finding]:
    """Each symptom is answered by the rule of highest rank.

    A claim is lost to a claim that covers it and comes from a rule of higher rank; among equals a Change goes to the more
    specific pointer, then to the first rule id, while health, operations and conditions may have several answers.
    A finding that loses all its claims is dropped, one that loses some keeps the others.
    """
    by_app: dict[AppRef, list[tuple[Finding, Symptom]]] = defaultdict(list)
    for finding in findings:
        for app in apps_of(finding):
            by_app[app] += [(finding, claim) for claim in finding.explains]
    by_subject = {app: _group(claims) for app, claims in by_app.items()}
    kept: list[Finding] = []
    for finding in findings:
        if not finding.explains:
            kept.append(finding)
            continue
        left = tuple(
            claim
            for claim in finding.explains
            if not all(
                any(
                    _beats(other, rival, finding, claim, ranks)
                    for other, rival in by_subject[app][claim.kind, claim.resource]
                )
                for app in apps_of(finding)
            )
        )
        if left:
            kept.append(finding if left == finding.explains else replace(finding, explains=left))
    return kept


def _group(claims: Sequence[tuple[Finding, Symptom]]) -> Mapping[tuple[object, object], list[tuple[Finding, Symptom]]]:
    found: dict[tuple[object, object], list[tuple[Finding, Symptom]]] = defaultdict(list)
    for finding, claim in claims:
        found[claim.kind, claim.resource].append((finding, claim))
    return found


def _beats(other: Finding, rival: Symptom, finding: Finding, claim: Symptom, ranks: Mapping[str, int]) -> bool:
    if other is finding or other.rule == finding.rule or not rival.covers(claim):
        return False
    mine, theirs = ranks.get(finding.rule, 0), ranks.get(other.rule, 0)
    if mine != theirs:
        return theirs > mine
    return claim.kind == "change" and rival.detail == claim.detail and other.rule < finding.rule
