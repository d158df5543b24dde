"""Finds the applications and objects of a deletion or prune, reads them, and makes the forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from argolint.application import application_sets
from argolint.application.app import App
from argolint.application.application_sets import preserves, set_id
from argolint.application.fleet import Fleet
from argolint.engine.load import read_application
from argolint.engine.plan import Plan
from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.forecast import consequences, deletion
from argolint.forecast.fate import EFFECT, FAMILY, DeletionForecast, Effect
from argolint.forecast.moves.plan import Plan as Moving
from argolint.host.folder import FileError
from argolint.model import AppRef, Failure, Finding, Location, Object, Related, ResourceKey, Want
from argolint.reports import assemble
from argolint.reports.document import ForecastCause, ForecastStep
from argolint.server import api
from argolint.server.transport import Transport
from argolint.sources.files import own_path, read_text
from argolint.values import enumerated, text_at
from argolint.values.kubernetes import api_of
from argolint.values.manifests import ManifestError, documents, objects

_MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class RemovalTargets:
    """Whole applications, sets with their applications, and single objects of applications that stay."""

    about: tuple[str, ...]
    apps: tuple[App, ...] = ()
    sets: tuple[Object, ...] = ()
    objects: frozenset[ResourceKey] = frozenset()
    holders: tuple[App, ...] = ()


def removal_targets(
    fleet: Fleet,
    named: Sequence[str],
    takes: Callable[[App, Fleet], bool],
    way: Literal["delete", "prune"],
) -> RemovalTargets:
    """The targets of names and files on the command line. UsageError for an unknown name."""
    if not named:
        apps = tuple(app for app in fleet.apps if takes(app, fleet))
        return RemovalTargets((f"{len(apps)} applications",), apps)
    found = RemovalTargets(())
    for name in named:
        own = _file_targets(fleet, Path(name)) if Path(name).is_file() else _named_targets(fleet, name, way)
        found = RemovalTargets(
            (*found.about, *own.about),
            (*found.apps, *own.apps),
            (*found.sets, *own.sets),
            found.objects | own.objects,
            (*found.holders, *own.holders),
        )
    return found


def _named_targets(fleet: Fleet, name: str, way: str) -> RemovalTargets:
    namespace, _, short = name.rpartition("/")
    apps = tuple(a for a in fleet.apps if a.name == short and namespace in ("", a.ref.namespace))
    if len(apps) > 1:
        where = enumerated([str(a.ref) for a in apps])
        raise UsageError(f"{name!r} names several applications: {where}", "write NAMESPACE/NAME")
    sets = tuple(
        raw
        for raw in fleet.application_sets
        if text_at(raw, "metadata", "name") == short and namespace in ("", set_id(fleet, raw).namespace)
    )
    if apps:
        return RemovalTargets((str(apps[0].ref),), apps)
    if sets and way == "delete":
        return RemovalTargets(tuple(f"ApplicationSet {set_id(fleet, raw).namespace}/{short}" for raw in sets), (), sets)
    import difflib

    known = {a.name for a in fleet.apps} | {text_at(raw, "metadata", "name") for raw in fleet.application_sets}
    close = difflib.get_close_matches(short, sorted(known), 1)
    hint = f"did you mean {close[0]!r}?" if close else "`argocd app list` and `argocd appset list` show what there is"
    raise UsageError(f"there is no application, ApplicationSet or file {name!r}, or the account may not see it", hint)


def _file_targets(fleet: Fleet, file: Path) -> RemovalTargets:
    """The manifests of a file: Applications and sets as a whole; every other object leaves its application."""
    try:
        found = list(objects(documents(read_text(own_path(file), _MOST_BYTES))))
    except (OSError, FileError, ManifestError) as error:
        raise UsageError(f"cannot read {file}: {error}", "pass a YAML file of manifests") from None
    result = RemovalTargets((str(file),))
    for obj in found:
        group, kind = api_of(obj)[0], str(obj.get("kind") or "")
        name, namespace = text_at(obj, "metadata", "name"), text_at(obj, "metadata", "namespace")
        if (group, kind) == ("argoproj.io", "Application"):
            app = fleet.app(name, namespace)
            result = replace(result, apps=(*result.apps, *([app] if app else [])))
        elif (group, kind) == ("argoproj.io", "ApplicationSet"):
            sets = [raw for raw in fleet.application_sets if text_at(raw, "metadata", "name") == name]
            result = replace(result, sets=(*result.sets, *sets))
        else:
            keys = _referenced_keys(fleet, group, kind, namespace, name)
            holders = [fleet.by_ref[ref] for key in keys for ref in fleet.owners(key)]
            result = replace(result, objects=result.objects | keys, holders=(*result.holders, *holders))
    if not (result.apps or result.sets or result.objects):
        raise UsageError(
            f"nothing in {file} is an Application, an ApplicationSet or an object that an application lists",
            "a chart or an overlay is no manifest: name the rendered file",
        )
    return result


def _referenced_keys(fleet: Fleet, group: str, kind: str, namespace: str, name: str) -> frozenset[ResourceKey]:
    """The objects on any cluster that a manifest may refer to; without a namespace, in the destination's."""
    return frozenset(
        key
        for server in {app.cluster for app in fleet.apps}
        for key in fleet.of_kind(server, group, kind)
        if key.name == name and (not namespace or key.namespace in ("", namespace))
    )


def removal_forecast(
    t: Transport, fleet: Fleet, targets: RemovalTargets, plan: Plan, way: Literal["delete", "prune"], cascade: str
) -> tuple[DeletionForecast, tuple[Failure, ...], tuple[AppRef, ...]]:
    """The forecast, its failures, and the applications that were looked at."""
    failures: list[Failure] = []

    def read(app: App) -> App:
        with_objects = replace(app, resources=tuple(app.resources))
        found, missing = read_application(t, with_objects, fleet, replace(plan, rules=()), states=True)
        failures.extend(missing)
        return _with_hooks(t, found) if plan.manifests and way == "delete" else found

    wanted = [*targets.apps, *(fleet.by_ref[ref] for raw in targets.sets for ref in _owned_refs(fleet, raw))]
    if way == "prune":
        looking = [a for a in wanted if not a.deleting and _has_objects_to_prune(a)] if not targets.objects else []
        held = [read(app) for app in {app.ref: app for app in (*looking, *targets.holders)}.values()]
        found = deletion.deletion_by_prune(held, fleet, targets.objects or None)
        own: Sequence[App] = held
    else:
        every = deletion.with_apps_below(wanted, fleet)
        own = [read(app) for app in every]
        found = deletion.deletion_of_apps(own, fleet, cascade=cascade)
        if targets.objects:
            held = [read(app) for app in {app.ref: app for app in targets.holders}.values()]
            also = deletion.deletion_by_prune(held, fleet, targets.objects)
            found = replace(found, deleted=(*found.deleted, *also.deleted), findings=(*found.findings, *also.findings))
            own = [*own, *held]
    others = [read(app) for app in consequences.applications_around(found) if app.ref not in {a.ref for a in own}]
    staying = [*others, *(a for a in own if a.ref not in found.refs)]
    findings = (*_set_findings(fleet, targets), *found.findings, *consequences.reference_findings(found, staying))
    looked = tuple(sorted({a.ref for a in own}))
    return replace(found, findings=findings), tuple(failures), looked


def _with_hooks(t: Transport, app: App) -> App:
    """The application with the plain render, which alone has hooks that have not run yet."""
    try:
        return app.with_evidence({Want("manifests"): api.manifests(t, app.ref)})
    except AuthError:
        raise
    except ArgolintError:
        return app  # use the hooks that the finalizers show


def _has_objects_to_prune(app: App) -> bool:
    return any(row.requires_pruning for row in app.rows)


def _owned_refs(fleet: Fleet, raw: Object) -> list[AppRef]:
    return [app.ref for app in application_sets.owned_applications(fleet, raw)]


def _set_findings(fleet: Fleet, targets: RemovalTargets) -> Iterator[Finding]:
    for raw in targets.sets:
        made = _owned_refs(fleet, raw)
        own = set_id(fleet, raw)
        reporter = made[0] if made else AppRef(own.namespace, own.name, "default", fleet.server)
        keeps = preserves(raw)
        count = f"{len(made)} Applications" if len(made) != 1 else "1 Application"
        then = "and what they deployed stays (preserveResourcesOnDeletion)" if keeps else "each as below"
        yield Finding(
            message=f"{own} is deleted with its {count}, {then}.",
            at=Location(reporter, own),
            cause="set-preserves" if keeps else "child-application",
            severity="info" if keeps else "error",
            related=tuple(Related(ref, None, "", "dependent") for ref in made),
            rule="forecast-delete",
            family=FAMILY,
            key=str(own),
        )


def forecast_causes(found: DeletionForecast) -> Iterator[ForecastCause]:
    """The causes of the findings, in the order of their effects."""
    return causes_of(EFFECT, found.findings)


def causes_of(effects: Mapping[str, Effect], findings: Sequence[Finding]) -> Iterator[ForecastCause]:
    """The causes of a table that have findings."""
    for cause, effect in effects.items():
        own = [f for f in findings if f.cause == cause]
        if own:
            yield ForecastCause(cause, effect, len(own), len({f.at.app for f in own}))


def steps(found: DeletionForecast) -> Iterator[ForecastStep]:
    """All objects that are deleted, in order."""
    for deleted in found.deleted:
        what = "deleted" + (f" ({deleted.note})" if deleted.note else "")
        yield ForecastStep(what, deleted.turn, assemble.app(deleted.app.ref), assemble.resource(deleted.resource.id))


def move_steps(app: App, plan: Moving) -> Iterator[ForecastStep]:
    """The steps of a move."""
    for turn, step in enumerate(plan.steps, start=1):
        yield ForecastStep(step.what, turn, assemble.app(app.ref), None, step.command, step.check)


def application_named(t: Transport, fleet: Fleet, name: str, plan: Plan) -> tuple[App, tuple[Failure, ...]]:
    """The application of that name, read. UsageError if there is none, or more than one."""
    found = _named_targets(fleet, name, "move").apps[0]
    return read_application(
        t, replace(found, resources=tuple(found.resources)), fleet, replace(plan, rules=()), states=True
    )
