"""Applications that a change affects through their AppProject: what it no longer permits, and which of its edits are not judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.permissions import is_widened, not_permitted
from argolint.engine.load import read_application
from argolint.engine.plan import Plan
from argolint.gate.change import ManifestPair
from argolint.gate.refused import with_refusals
from argolint.gate.touched import Touched
from argolint.gate.written import ref_of
from argolint.model import Failure, Json, Object
from argolint.server.transport import Transport
from argolint.values import dig, enumerated, mapping, plain

_MORE_IS_WIDER = ("clusterResourceWhitelist", "namespaceResourceWhitelist", "sourceNamespaces")
_LESS_IS_WIDER = ("clusterResourceBlacklist", "namespaceResourceBlacklist")
_JUDGED = ("sourceRepos", "destinations")
_OF_NO_SYNC = ("description", "roles", "orphanedResources")
"""Fields about manual access and display, which no sync depends on."""


def with_projects(
    judged: Sequence[Touched], pairs: Iterable[ManifestPair], fleet: Fleet, t: Transport, plan: Plan
) -> tuple[tuple[Touched, ...], tuple[Failure, ...]]:
    """The judged applications, plus those that Argo CD will refuse because of the changed AppProject; and failures for edits that are not judged."""
    found = {j.ref: j for j in judged}
    failures: list[Failure] = []
    for name, (before, after) in _edited_projects(judged, pairs, fleet).items():
        apps = [app for app in fleet.apps if app.ref.project == name and plan.wanted(app, fleet)]
        if not apps:
            continue
        specs = {app.ref: j.after.spec if (j := found.get(app.ref)) and j.after else app.spec for app in apps}
        refused = {ref: _refusals(spec, name, before, after, fleet) for ref, spec in specs.items()}
        if after is not None:
            fields = _unjudged_fields(mapping(before, "spec"), mapping(after, "spec"))
            if any(refused.values()) and is_widened(name, before, fleet):
                fields, refused = [*_JUDGED, *fields], {}  # a global project may permit it instead
            if fields:
                failures.append(_not_judged(name, fields, len(apps)))
        for app in apps:
            if messages := refused.get(app.ref):
                found[app.ref] = _with_refusals(found.get(app.ref), app, messages, fleet, t, plan)
    return tuple(found[ref] for ref in sorted(found)), tuple(failures)


def _edited_projects(
    judged: Sequence[Touched], pairs: Iterable[ManifestPair], fleet: Fleet
) -> Mapping[str, tuple[Object, Object | None]]:
    """The existing AppProjects that change: as a parent renders them, else as the changed files have them."""
    made = {
        _name(p.before): (p.before, p.after) for p in pairs if p.before is not None and _is_own_project(p.before, fleet)
    }
    for j in judged:
        removed = (obj for obj in j.delta.removed.values() if _is_own_project(obj, fleet))
        made |= {_name(obj): (obj, None) for obj in removed}
        changed = (edit for edit in j.delta.changed.values() if _is_own_project(edit.head, fleet))
        made |= {_name(edit.base): (edit.base, edit.head) for edit in changed}
    live = fleet.projects
    return {name: (live.get(name, before), after) for name, (before, after) in made.items() if not live or name in live}


def _is_own_project(manifest: Object, fleet: Fleet) -> bool:
    group = str(manifest.get("apiVersion") or "")
    of_kind = group.startswith("argoproj.io/") and manifest.get("kind") == "AppProject"
    return of_kind and ref_of(manifest, fleet)[0] == fleet.control_plane


def _name(manifest: Object) -> str:
    return str(dig(manifest, "metadata", "name"))


def _refusals(spec: Object, name: str, before: Object, after: Object | None, fleet: Fleet) -> tuple[str, ...]:
    if after is None:
        return (f"Application referencing project {name} which does not exist",)
    known = set(not_permitted(name, before, spec, fleet))
    return tuple(m for m in not_permitted(name, after, spec, fleet) if m not in known)


def _with_refusals(
    found: Touched | None, app: App, messages: Sequence[str], fleet: Fleet, t: Transport, plan: Plan
) -> Touched:
    if found is None or found.regenerated_only:
        loaded, _ = read_application(t, app, fleet, plan, states=True)
        found = Touched("changed", loaded, loaded)
    if found.after is None:
        return found
    return replace(found, after=with_refusals(found.after, messages), notes=(*found.notes, "Its project changes."))


def _unjudged_fields(before: Object, after: Object) -> list[str]:
    """The fields of a project's spec that are narrower now and are not checked against its Applications."""
    names = sorted({*before, *after} - {*_JUDGED, *_OF_NO_SYNC})
    return [name for name in names if not _is_wider(name, before.get(name), after.get(name))]


def _is_wider(name: str, before: Json, after: Json) -> bool:
    if before == after:
        return True
    if name == "namespaceResourceWhitelist" and (before is None or after is None):
        return after is None  # a missing list permits all kinds, an empty one none
    if not before and not after:
        return True
    one, two = (before, after) if name in _MORE_IS_WIDER else (after, before)
    if name not in (*_MORE_IS_WIDER, *_LESS_IS_WIDER):
        return False
    return _entries(one) <= _entries(two)


def _entries(value: Json) -> frozenset[str]:
    return frozenset(json.dumps(entry, sort_keys=True) for entry in (value if isinstance(value, list) else ()))


def _not_judged(name: str, fields: Sequence[str], count: int) -> Failure:
    verb = "changes" if len(fields) == 1 else "change"
    who = f"AppProject {plain(name)}: its {enumerated([plain(field) for field in fields])} {verb}"
    of = "its 1 Application" if count == 1 else f"its {count:,} Applications"
    return Failure(
        "not judged", f"{who}, and what that means for {of} is not known here", "--allow-incomplete passes it here"
    )
