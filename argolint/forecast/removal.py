"""Finds the applications and objects of a deletion or prune, reads them, and makes the forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from argolint.application import application_sets
from argolint.application.app import App
from argolint.application.application_sets import preserves, set_id
from argolint.application.fleet import Fleet
from argolint.engine.load import load
from argolint.engine.plan import Plan
from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.forecast import consequences, deletion
from argolint.forecast.fate import EFFECT, FAMILY, Effect, Fate
from argolint.forecast.moves.plan import Plan as Moving
from argolint.host.folder import FileError
from argolint.model import AppRef, Failure, Finding, Location, Object, Related, ResourceKey, Want
from argolint.quick.records import dataclass
from argolint.reports import assemble
from argolint.reports.document import ForecastCause, ForecastStep
from argolint.server import api as argocd
from argolint.server.transport import Transport
from argolint.sources.files import own_path, read_text
from argolint.values import enumerated, text_at
from argolint.values.kubernetes import api_of
from argolint.values.manifests import ManifestError, documents, objects

_MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Meant:
    """Whole applications, sets with their applications, and single objects of applications that stay."""

    about: tuple[str, ...]
    apps: tuple[App, ...] = ()
    sets: tuple[Object, ...] = ()
    objects: frozenset[ResourceKey] = frozenset()
    holders: tuple[App, ...] = ()


def meant(
    fleet: Fleet,
    named: Sequence[str],
    takes: Callable[[App, Fleet], bool],
    way: Literal["delete", "prune"],
) -> Meant:
    """The targets of names and files on the command line. UsageError for an unknown name."""
    if not named:
        apps = tuple(app for app in fleet.apps if takes(app, fleet))
        return Meant((f"{len(apps)} applications",), apps)
    found = Meant(())
    for name in named:
        own = _file(fleet, Path(name)) if Path(name).is_file() else _named(fleet, name, way)
        found = Meant(
            (*found.about, *own.about),
            (*found.apps, *own.apps),
            (*found.sets, *own.sets),
            found.objects | own.objects,
            (*found.holders, *own.holders),
        )
    return found


def _named(fleet: Fleet, name: str, way: str) -> Meant:
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
        return Meant((str(apps[0].ref),), apps)
    if sets and way == "delete":
        return Meant(tuple(f"ApplicationSet {set_id(fleet, raw).namespace}/{short}" for raw in sets), (), sets)
    import difflib

    known = {a.name for a in fleet.apps} | {text_at(raw, "metadata", "name") for raw in fleet.application_sets}
    close = difflib.get_close_matches(short, sorted(known), 1)
    hint = f"did you mean {close[0]!r}?" if close else "`argocd app list` and `argocd appset list` show what there is"
    raise UsageError(f"there is no application, ApplicationSet or file {name!r}, or the account may not see it", hint)


def _file(fleet: Fleet, file: Path) -> Meant:
    """The manifests of a file: Applications and sets as a whole; every other object leaves its application."""
    try:
        found = list(objects(documents(read_text(own_path(file), _MOST_BYTES))))
    except (OSError, FileError, ManifestError) as error:
        raise UsageError(f"cannot read {file}: {error}", "pass a YAML file of manifests") from None
    result = Meant((str(file),))
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
            keys = _held(fleet, group, kind, namespace, name)
            holders = [fleet.by_ref[ref] for key in keys for ref in fleet.owners(key)]
            result = replace(result, objects=result.objects | keys, holders=(*result.holders, *holders))
    if not (result.apps or result.sets or result.objects):
        raise UsageError(
            f"nothing in {file} is an Application, an ApplicationSet or an object that an application lists",
            "a chart or an overlay is no manifest: name the rendered file",
        )
    return result


def _held(fleet: Fleet, group: str, kind: str, namespace: str, name: str) -> frozenset[ResourceKey]:
    """The objects on any cluster that a manifest may refer to; without a namespace, in the destination's."""
    return frozenset(
        key
        for server in {app.cluster for app in fleet.apps}
        for key in fleet.of_kind(server, group, kind)
        if key.name == name and (not namespace or key.namespace in ("", namespace))
    )


def fate(
    t: Transport, fleet: Fleet, meant: Meant, plan: Plan, way: Literal["delete", "prune"], cascade: str
) -> tuple[Fate, tuple[Failure, ...], tuple[AppRef, ...]]:
    """The forecast, its failures, and the applications that were looked at."""
    failures: list[Failure] = []

    def read(app: App) -> App:
        with_objects = replace(app, resources=tuple(app.resources))
        found, missing = load(t, with_objects, fleet, replace(plan, rules=()), states=True)
        failures.extend(missing)
        return _with_hooks(t, found) if plan.manifests and way == "delete" else found

    wanted = [*meant.apps, *(fleet.by_ref[ref] for raw in meant.sets for ref in _made(fleet, raw))]
    if way == "prune":
        looking = [a for a in wanted if not a.deleting and _leaves(a)] if not meant.objects else []
        held = [read(app) for app in {app.ref: app for app in (*looking, *meant.holders)}.values()]
        found = deletion.of_prune(held, fleet, meant.objects or None)
        own: Sequence[App] = held
    else:
        every = deletion.below(wanted, fleet)
        own = [read(app) for app in every]
        found = deletion.of_apps(own, fleet, cascade=cascade)
        if meant.objects:
            held = [read(app) for app in {app.ref: app for app in meant.holders}.values()]
            also = deletion.of_prune(held, fleet, meant.objects)
            found = replace(found, taken=(*found.taken, *also.taken), findings=(*found.findings, *also.findings))
            own = [*own, *held]
    others = [read(app) for app in consequences.around(found) if app.ref not in {a.ref for a in own}]
    staying = [*others, *(a for a in own if a.ref not in found.refs)]
    said = (*_of_sets(fleet, meant), *found.findings, *consequences.still_referenced(found, staying))
    looked = tuple(sorted({a.ref for a in own}))
    return replace(found, findings=said), tuple(failures), looked


def _with_hooks(t: Transport, app: App) -> App:
    """The application with the plain render, which alone has hooks that have not run yet."""
    try:
        return app.with_evidence({Want("manifests"): argocd.manifests(t, app.ref)})
    except AuthError:
        raise
    except ArgolintError:
        return app  # use the hooks that the finalizers show


def _leaves(app: App) -> bool:
    return any(row.requires_pruning for row in app.rows)


def _made(fleet: Fleet, raw: Object) -> list[AppRef]:
    return [app.ref for app in application_sets.made(fleet, raw)]


def _of_sets(fleet: Fleet, meant: Meant) -> Iterator[Finding]:
    for raw in meant.sets:
        made = _made(fleet, raw)
        own = set_id(fleet, raw)
        speaker = made[0] if made else AppRef(own.namespace, own.name, "default", fleet.server)
        keeps = preserves(raw)
        count = f"{len(made)} Applications" if len(made) != 1 else "1 Application"
        then = "and what they deployed stays (preserveResourcesOnDeletion)" if keeps else "each as below"
        yield Finding(
            message=f"{own} is deleted with its {count}, {then}.",
            at=Location(speaker, own),
            cause="set-preserves" if keeps else "child-application",
            severity="info" if keeps else "error",
            related=tuple(Related(ref, None, "", "dependent") for ref in made),
            rule="forecast-delete",
            family=FAMILY,
            key=str(own),
        )


def causes(found: Fate) -> Iterator[ForecastCause]:
    """The causes of the findings, in the order of their effects."""
    return causes_of(EFFECT, found.findings)


def causes_of(effects: Mapping[str, Effect], findings: Sequence[Finding]) -> Iterator[ForecastCause]:
    """The causes of a table that have findings."""
    for cause, effect in effects.items():
        own = [f for f in findings if f.cause == cause]
        if own:
            yield ForecastCause(cause, effect, len(own), len({f.at.app for f in own}))


def steps(found: Fate) -> Iterator[ForecastStep]:
    """All objects that are deleted, in order."""
    for taken in found.taken:
        what = "deleted" + (f" ({taken.note})" if taken.note else "")
        yield ForecastStep(what, taken.turn, assemble.app(taken.app.ref), assemble.resource(taken.resource.id))


def move_steps(app: App, plan: Moving) -> Iterator[ForecastStep]:
    """The steps of a move."""
    for turn, step in enumerate(plan.steps, start=1):
        yield ForecastStep(step.what, turn, assemble.app(app.ref), None, step.command, step.check)


def one(t: Transport, fleet: Fleet, name: str, plan: Plan) -> tuple[App, tuple[Failure, ...]]:
    """The application of that name, read. UsageError if there is none, or more than one."""
    found = _named(fleet, name, "move").apps[0]
    return load(t, replace(found, resources=tuple(found.resources)), fleet, replace(plan, rules=()), states=True)
