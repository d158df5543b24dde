"""Which objects a deletion or a prune deletes, and in which order.

Sources: controller/appcontroller.go (finalizeApplicationDeletion, shouldBeDeleted), controller/sort_delete.go,
gitops-engine/pkg/sync/sync_context.go (getSyncTasks, pruneObject) of Argo CD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from argolint.application.app import App
from argolint.application.application_sets import owned_applications, set_at
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.application.tracked import tracking_of
from argolint.edits.pruning import cascades, prune_option
from argolint.forecast import staying
from argolint.forecast.consequences import consequences
from argolint.forecast.fate import DeletedObject, DeletionForecast, Way
from argolint.model import AppRef, Finding, ResourceKey
from argolint.values import annotations_of, comma_list
from argolint.values.kubernetes import SYNC_OPTIONS, wave


def deletion_of_apps(apps: Sequence[App], fleet: Fleet, *, cascade: str = "auto") -> DeletionForecast:
    """The deletion of whole applications and of the applications below them, all already read; `cascade` is auto, foreground, background or none."""
    known = {app.ref: app for app in apps}
    walk = _Walk(fleet, cascade, known)
    for app in apps:
        walk.delete(app)
    return _deletion_forecast("delete", fleet, walk.taken, walk.findings, frozenset(known))


@dataclass
class _Walk:
    """Collects the objects that an application deletes, wave by wave, including those of applications among them."""

    fleet: Fleet
    cascade: str
    known: Mapping[AppRef, App]
    taken: list[DeletedObject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    turn: int = 0
    _done: set[AppRef] = field(default_factory=set)

    def delete(self, app: App) -> None:
        if app.ref in self._done:
            return
        self._done.add(app.ref)
        groups, findings = _groups_by_wave(app, self.fleet, self.cascade)
        self.findings += findings
        for number in sorted(groups, reverse=True):
            self.turn += 1
            now = self.turn
            for r in sorted(groups[number], key=lambda r: r.key):
                children = children_of(self.fleet, r.group, r.kind, r.namespace, r.name)
                for child in children if r.kind == "Application" else ():
                    if child.ref in self.known:
                        self.delete(self.known[child.ref])
                self.taken.append(DeletedObject(app, r, now, f"wave {number}" if len(groups) > 1 else ""))
                for child in children if r.kind == "ApplicationSet" else ():
                    if child.ref in self.known:
                        self.delete(self.known[child.ref])


def _groups_by_wave(app: App, fleet: Fleet, cascade: str) -> tuple[dict[int, list[Resource]], list[Finding]]:
    """The objects that are deleted, by wave, and findings on the others."""
    findings: list[Finding] = []
    if app.deleting:
        findings.append(staying.already_deleting_finding(app))
    if cascade == "none" or (cascade == "auto" and not cascades(app)):
        live = [r for r in app.resources if _is_live(r) and not r.hook]
        findings.append(staying.not_cascading_finding(app, live, asked=cascade == "none"))
        return {}, findings
    if app.cluster.startswith("name:"):
        findings.append(staying.no_cluster_finding(app))
        return {}, findings
    groups: dict[int, list[Resource]] = {}
    for r in app.resources:
        if not _is_live(r) or (r.hook and not (r.live_known or r.uid)):
            continue
        reason = staying.staying_finding(app, r, fleet)
        if reason is not None:
            findings.append(reason)
            continue
        if "Delete=confirm" in comma_list(annotations_of(r.live).get(SYNC_OPTIONS)):
            findings.append(staying.confirmation_finding(app, r, "Delete=confirm"))
        groups.setdefault(_wave(r), []).append(r)
    findings += staying.hook_findings(app, [r for own in groups.values() for r in own])
    findings += staying.made_namespace_findings(app)
    return groups, findings


def deletion_by_prune(
    apps: Sequence[App], fleet: Fleet, only: frozenset[ResourceKey] | None = None
) -> DeletionForecast:
    """What the next sync with prune deletes; `only`: objects that will leave the manifests, instead of those that already did."""
    found: list[DeletedObject] = []
    findings: list[Finding] = []
    turn = 0
    for app in apps:
        groups: dict[int, list[Resource]] = {}
        for r in app.resources:
            leaves = r.key in only if only is not None else (r.extra or (r.requires_pruning and not r.live_known))
            if not leaves or r.hook or not _is_live(r):
                continue
            owner = tracking_of(r.live, fleet) if r.live_known else None
            if owner is not None and owner.instance != app.instance:
                findings.append(staying.other_owner_finding(app, r, fleet, owner.shown))
                continue
            option = prune_option(app, r.live, fleet)
            if option == "false":
                findings.append(staying.kept_finding(app, r, "Prune=false"))
                continue
            if option == "confirm":
                findings.append(staying.confirmation_finding(app, r, "Prune=confirm"))
            groups.setdefault(_wave(r), []).append(r)
        last = [r for own in groups.values() for r in own if _is_pruned_last(app, r)]
        waves = sorted(groups, reverse=True)  # pruned in the reverse order of creation
        for number in waves:
            own = [r for r in groups[number] if r not in last]
            turn += 1 if own else 0
            note = f"wave {number}" if len(waves) > 1 else ""
            found += [DeletedObject(app, r, turn, note) for r in sorted(own, key=lambda r: r.key)]
        if last:
            turn += 1
            found += [
                DeletedObject(app, r, turn, "PruneLast: after all else") for r in sorted(last, key=lambda r: r.key)
            ]
    return _deletion_forecast("prune", fleet, found, findings, frozenset())


def _is_pruned_last(app: App, r: Resource) -> bool:
    return "PruneLast=true" in app.sync_options or "PruneLast=true" in comma_list(
        annotations_of(r.live).get(SYNC_OPTIONS)
    )


def _is_live(r: Resource) -> bool:
    """Whether there is something to delete: a live state, or if that is unknown, a status other than Missing."""
    return r.live is not None if r.live_known else r.health.status != "Missing"


def _wave(r: Resource) -> int:
    """The live object's sync wave: a deletion uses no other state, and an object to prune has no other one."""
    return wave(r.live) if r.live is not None else r.wave


def _deletion_forecast(
    way: Way, fleet: Fleet, deleted: list[DeletedObject], findings: list[Finding], refs: frozenset[AppRef]
) -> DeletionForecast:
    forecast = DeletionForecast(way, fleet, tuple(deleted), (), refs)
    return replace(forecast, findings=(*findings, *consequences(forecast)))


def with_apps_below(apps: Sequence[App], fleet: Fleet) -> tuple[App, ...]:
    """The applications with all those below them, parents first, each once even in a cycle."""
    seen: dict[AppRef, App] = {}
    queue = list(apps)
    while queue:
        app = queue.pop(0)
        if app.ref in seen:
            continue
        seen[app.ref] = app
        for row in app.rows if cascades(app) else ():
            queue += children_of(fleet, row.group, row.kind, row.namespace, row.name)
    return tuple(seen.values())


def children_of(fleet: Fleet, group: str, kind: str, namespace: str, name: str) -> Sequence[App]:
    """The Applications that are deleted with an object: the object itself, or those that an ApplicationSet owns."""
    if group != "argoproj.io":
        return ()
    if kind == "Application":
        child = fleet.app(name, namespace)
        return (child,) if child is not None else ()
    raw = set_at(fleet, namespace, name) if kind == "ApplicationSet" else None
    return owned_applications(fleet, raw) if raw is not None else ()
