"""Git is ahead of the cluster

What it finds: differences that only show a sync which has not happened: the live object still equals the last apply, or the object was never
applied, or it left Git and waits to be pruned. The finding has the reason: no sync was started, the last one failed, one waits its turn or is
running, or Argo CD has not compared the objects since the last one.

Why it hurts: it does not, if a sync follows. It is reported so that every difference has its reason.

How to fix: sync the application, or repair the cause of the last sync's failure (its own finding has it).

Example: a new image tag in Git of an application without automated sync.

Sources: controller/appcontroller.go (autoSync), util/argo/argo.go (SetAppOperation); docs/user-guide/auto_sync.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Rank, Resource, ResourceId, Rule, Symptom
from argolint.application.application_sets import maker, set_id
from argolint.application.applied import not_yet_applied, outdated, settled
from argolint.edits import live_command, manifest_text
from argolint.edits.pruning import ignored_extraneous
from argolint.values import below, dig, mapping, maps, parse_version, sh, text_at, texts
from argolint.values.kubernetes import reads

from ._fields import change_line

Wait = tuple[Resource, tuple[Symptom, ...], tuple[str, ...]]
"""An object, the waiting change, and the evidence."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for objects to change, one for objects to create, one for objects to delete."""
    if app.deleting:
        return  # its objects are being deleted, and there will be no sync
    changed = [_waiting_object(app, resource) for resource in app.changed if not resource.hook]
    if outdated(app):
        yield from _outdated_finding(app, [wait for wait in changed if wait[1]])
        return
    step = _by_hand(app, fleet) or _awaited_step(app, fleet) or _kept_off(app, fleet)
    yield from _finding(app, [wait for wait in changed if wait[1]], "is not applied yet", step)
    unfinished = _is_queued(app) or (app.operation is not None and app.operation.phase != "Succeeded")
    moved = _moved(app)
    missing = [r for r in app.missing if unfinished or not settled(app) or _name(r) in moved]
    waits = [(r, (Symptom.missing(r.id),), (f"{r.id} is missing",)) for r in missing]
    yield from _finding(app, waits, "is not created yet", step, moved)
    extra = [r for r in app.extra if unfinished or not (app.prune and settled(app)) or _name(r) in moved]
    waits = [(r, (Symptom("extra", r.key),), (f"{r.id} left Git",)) for r in extra if not ignored_extraneous(app, r)]
    yield from _finding(app, waits, "left Git and is not pruned", step, moved)


def _name(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.kind, resource.name


def _moved(app: App) -> Mapping[tuple[str, str, str], str]:
    """The namespaces of the last sync of objects that are missing in another one: the destination has changed since.

    Automated sync does not count that as a change: it compares the revision and the sources (controller/appcontroller.go,
    alreadyAttemptedSync).
    """
    operation = app.operation
    if operation is None or operation.phase != "Succeeded":
        return {}
    there = {
        (text_at(r, "group"), text_at(r, "kind"), text_at(r, "name")): text_at(r, "namespace")
        for r in operation.results
    }
    return {
        _name(r): there[_name(r)]
        for r in app.missing
        if r.namespace and there.get(_name(r), r.namespace) not in ("", r.namespace)
    }


def _outdated_finding(app: App, changed: Sequence[Wait]) -> Iterator[Finding]:
    """What Argo CD shows is from before the last sync."""
    if app.sync_status != "OutOfSync":
        return
    missing, extra = (Symptom.missing(r.id) for r in app.missing), (Symptom.extra(r.id) for r in app.extra)
    symptoms = (*(symptom for _, each, _ in changed for symptom in each), *missing, *extra)
    yield Finding(
        message=f"{app.name} is shown as it was before its last sync ended: Argo CD has not compared it since.",
        at=Location(app.ref),
        confidence="likely",
        explains=(*symptoms, Symptom.sync()),
        evidence=(
            f"last comparison {text_at(app.status, 'reconciledAt')}",
            f"end of the sync {text_at(app.status, 'operationState', 'finishedAt')}",
        ),
        fixes=(
            live_command(
                f"Application {app.ref}",
                "Ask for a comparison, then look again",
                f"argocd app get {sh(app.ref)} --refresh",
            ),
        ),
    )


def _waiting_object(app: App, resource: Resource) -> Wait:
    changes = [change for change in resource.changes if not_yet_applied(app, resource, change)]
    return (
        resource,
        tuple(Symptom.change(resource.id, c.pointer) for c in changes),
        tuple(change_line(c, resource) for c in changes),
    )


def _finding(
    app: App,
    waits: Sequence[Wait],
    fact: str,
    step: _Step | _ByHand | _KeptOff | None,
    moved: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> Iterator[Finding]:
    if not waits:
        return
    first = waits[0][0]
    more = f" (and {len(waits) - 1} more)" if len(waits) > 1 else ""
    prune = " --prune" if fact.startswith("left") else ""
    manual = isinstance(step, _ByHand) and bool(step.step)  # documented as the way to a step that waits for a person
    before = moved.get(_name(first), "")
    since = f"no sync since the destination changed from namespace {before}" if before else _reason(app, bool(prune))
    yield Finding(
        message=f"{first.id}{more} {fact}: {step.reason if step else since}.",
        at=Location(app.ref, first.id if len(waits) == 1 else None),
        confidence="likely",
        explains=tuple(claim for _, claims, _ in waits for claim in claims),
        evidence=tuple(line for _, _, lines in waits for line in lines),
        fixes=(
            *([step.fix] if step and not manual else []),
            *([] if isinstance(step, _Step) else [_sync_fix(app, [wait[0] for wait in waits], prune)]),
            *([step.fix] if step and manual else []),
        ),
    )


@dataclass(frozen=True)
class _Step:
    """A step of an ApplicationSet's RollingSync in which `ahead` is not done, so that this application waits.

    own     the application's own step; the same as `step` if that lets only some applications go at a time
    unseen  whether `ahead` has synced and is Healthy, and the set still waits for a sync of it
    """

    maker: ResourceId
    own: str
    ahead: str
    step: str
    unseen: bool = False

    @property
    def reason(self) -> str:
        but = ", Pending there though Synced and Healthy" if self.unseen else ""
        at_a_time = ", which goes first (maxUpdate)" if self.step == self.own else ""
        return f"step {self.own} of {self.maker} waits for application {self.ahead}{but or at_a_time}"

    @property
    def fix(self) -> Fix:
        name = sh(f"{self.maker.namespace}/{self.ahead}")
        if self.unseen:
            title = f"Sync application {self.ahead} once more, so that the set sees a sync of it"
            command, caveat = f"argocd app sync {name}", "Argo CD 2.14.5 and 3.0 need no second sync"
        else:
            title = f"Get application {self.ahead} through step {self.step}: synced, and Healthy"
            command, caveat = f"argocd app get {name} --show-operation", "a sync by hand skips the steps"
        return live_command(f"Application {self.ahead}", title, command, caveat)


@dataclass(frozen=True)
class _KeptOff:
    """An ApplicationSet whose template has auto-sync, and that leaves spec.syncPolicy of its Applications as it is."""

    maker: ResourceId
    entry: str

    @property
    def reason(self) -> str:
        return f"auto-sync is off; {self.maker} leaves it off although its template has it on"

    @property
    def fix(self) -> Fix:
        return Fix(
            "Let the set write spec.syncPolicy of its template to its Applications again",
            "application",
            str(self.maker),
            Edit("text", f"{self.entry}: remove spec.syncPolicy"),
            caveat="what was switched off by hand, in any Application of the set, is then on again",
        )


@dataclass(frozen=True)
class _ByHand:
    """An ApplicationSet with RollingSync that never syncs this application: no step selects it, or its step has maxUpdate 0."""

    maker: ResourceId
    step: str

    @property
    def reason(self) -> str:
        if self.step:
            return f"step {self.step} of {self.maker} has maxUpdate 0, so only a sync by hand applies it"
        return f"no step of {self.maker} selects the application, so only a sync by hand applies it"

    @property
    def fix(self) -> Fix:
        title = (
            "Raise maxUpdate of the step, if the set is to sync it"
            if self.step
            else "Give it a label that a step selects"
        )
        place = (
            f"/spec/strategy/rollingSync/steps/{int(self.step) - 1}/maxUpdate"
            if self.step
            else "/spec/template/metadata/labels"
        )
        text = place if self.step else f"{place}, or the matchExpressions of a step: one step must select it"
        return Fix(
            title,
            "application",
            str(self.maker),
            Edit("text", text),
            caveat="the set then syncs it in its order, by itself",
        )


def _by_hand(app: App, fleet: Fleet) -> _ByHand | None:
    """The set that waits for a sync by hand (applicationset_controller.go, buildAppDependencyList and getAppsToSync)."""
    made_by, own = _waiting(app, fleet)
    if made_by is None or own is None:
        return None
    if text_at(own, "step") == "-1":
        return _ByHand(set_id(fleet, made_by), "")
    steps, number = maps(made_by, "spec", "strategy", "rollingSync", "steps"), _number(own)
    none = 0 < number <= len(steps) and steps[number - 1].get("maxUpdate") in (0, "0", "0%")
    return _ByHand(set_id(fleet, made_by), str(number)) if none else None


def _waiting(app: App, fleet: Fleet) -> tuple[Object, Object] | tuple[None, None]:
    """The set whose RollingSync lets this application wait, and the application's row in its status."""
    made_by = maker(app, fleet)
    if made_by is None or text_at(made_by, "spec", "strategy", "type") != "RollingSync":
        return None, None
    rows = maps(made_by, "status", "applicationStatus")
    own = next((r for r in rows if r.get("application") == app.name and r.get("status") == "Waiting"), None)
    return (made_by, own) if own is not None else (None, None)


def _kept_off(app: App, fleet: Fleet) -> _KeptOff | None:
    """The set that ignores the difference in auto-sync between its template and this application (spec.ignoreApplicationDifferences)."""
    made_by = None if app.automated else maker(app, fleet)
    automated = dig(made_by, "spec", "template", "spec", "syncPolicy", "automated")
    rolls = text_at(made_by, "spec", "strategy", "type") == "RollingSync"  # the set itself syncs
    if made_by is None or rolls or not isinstance(automated, dict) or automated.get("enabled") is False:
        return None
    for index, entry in enumerate(maps(made_by, "spec", "ignoreApplicationDifferences")):
        paths = (*texts(entry, "jsonPointers"), *(p.replace(".", "/") for p in texts(entry, "jqPathExpressions")))
        if text_at(entry, "name") in ("", app.name) and any(below(_AUTOMATED, path) for path in paths):
            return _KeptOff(set_id(fleet, made_by), f"/spec/ignoreApplicationDifferences/{index}")
    return None


_AUTOMATED = "/spec/syncPolicy/automated"


def _awaited_step(app: App, fleet: Fleet) -> _Step | None:
    """The unfinished step that this application waits for (argo-cd docs/operator-manual/applicationset/Progressive-Syncs.md)."""
    made_by, own = _waiting(app, fleet)
    if made_by is None or own is None:
        return None
    rows = maps(made_by, "status", "applicationStatus")
    ahead = [r for r in rows if text_at(r, "status") != "Healthy" and 0 < _number(r) < _number(own)]
    ahead = ahead or [r for r in rows if _number(r) == _number(own) and _goes_first(made_by, r)]
    if not ahead:
        return None
    first = min(ahead, key=_number)
    name = text_at(first, "application")
    unseen = _is_unseen(fleet, fleet.app(name, app.ref.namespace), first)
    return _Step(set_id(fleet, made_by), text_at(own, "step"), name, text_at(first, "step"), unseen)


def _goes_first(made_by: Object, row: Object) -> bool:
    """Whether the application is under way in a step that lets only some go at a time."""
    steps, number = maps(made_by, "spec", "strategy", "rollingSync", "steps"), _number(row)
    limited = 0 < number <= len(steps) and steps[number - 1].get("maxUpdate") is not None
    return limited and text_at(row, "status") in ("Pending", "Progressing")


def _is_unseen(fleet: Fleet, app: App | None, row: Object) -> bool:
    """Whether a release before 2.14.5 waits for a sync that has been: it counts one that began after it waited, or of its own revisions alone.

    applicationset_controller.go, updateApplicationSetApplicationStatus; argoproj/argo-cd#12459, #20230.
    """
    if app is None or text_at(row, "status") != "Pending" or app.sync_status != "Synced":
        return False
    done = app.operation is not None and app.operation.phase == "Succeeded" and app.health.status == "Healthy"
    version = parse_version(fleet.version)
    return done and version is not None and version < (2, 14, 5)


def _number(row: Object) -> int:
    """The number of the step, a text in the status; -1 stands for no step."""
    step = text_at(row, "step")
    return int(step) if step.isascii() and step.isdecimal() else -1


def _sync_fix(app: App, resources: Sequence[Resource], prune: str) -> Fix:
    """Never with prune if a remaining workload reads an object that it would delete."""
    names = {(r.kind, r.namespace, r.name) for r in resources} if prune else ()
    stay = (r for r in app.resources if r.desired) if names else ()
    user = next((r for r in stay if any((u.kind, r.namespace, u.name) in names for u in reads(r.desired))), None)
    if user is not None:
        return manifest_text(
            user.id,
            f"Restore in Git what {user.id} reads, or change what it reads",
            "Only then is there nothing left that a sync with prune would break.",
        )
    if _is_queued(app) or (app.operation is not None and app.operation.phase in ("Running", "Terminating")):
        return live_command(
            f"Application {app.ref}",
            f"Wait for the {'requested' if _is_queued(app) else 'running'} sync: another one is refused meanwhile",
            f"argocd app wait {sh(app.ref)} --operation --timeout 600",
        )
    return live_command(
        f"Application {app.ref}",
        "Sync the application",
        f"argocd app sync {sh(app.ref)}{prune}",
        _sync_caveat(app, prune=bool(prune)),
    )


def _sync_caveat(app: App, *, prune: bool) -> str:
    replaces = "Replace=true" in app.sync_options
    does = (
        "replaces each object by what Git holds, without what other programs wrote there"
        if replaces
        else "applies all that Git holds"
    )
    return does + (", and deletes all that left it" if prune else "")


def _reason(app: App, to_prune: bool) -> str:
    operation = app.operation
    if _is_queued(app):
        return "a sync is requested, and the application controller has not begun it"
    if operation is not None and operation.phase in ("Failed", "Error"):
        return "the last sync failed"
    if operation is not None and operation.phase in ("Running", "Terminating"):
        return "a sync is under way"
    if not app.automated:
        return "auto-sync is off"
    if to_prune and not app.prune:
        return "auto-sync does not prune here"
    if settled(app):
        return (
            "self-heal has not synced it yet"
            if app.self_heal
            else "without self-heal a synced revision is not synced again"
        )
    return "no sync has reached this revision"


def _is_queued(app: App) -> bool:
    """Whether a sync is requested and not begun: the request empties status.operationState (util/argo/argo.go, SetAppOperation)."""
    return app.operation is None and bool(mapping(app.raw, "operation"))


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.NOT_DONE, standing=True)
