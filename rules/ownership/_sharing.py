"""Facts of each Application on an object that it shares: collected by `shared-resource`, used in its join and its fixes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from typing import Any

from argolint import App, AppRef, Fact, Fleet, Json, Object, Resource, ResourceId
from argolint.application.application_sets import maker
from argolint.application.tracked import INSTALLATION_ID, tracking_of
from argolint.comparison import LAST_APPLIED, TRACKING_ID, differences
from argolint.edits import application_place
from argolint.edits.consequences import consequences
from argolint.edits.pruning import cascades
from argolint.values import dig, enumerated, get, items, mapping, maps, text_at, texts
from argolint.values.kubernetes import is_secret, wave

from ..shared.charts import Release
from ._switches import chart_switches
from ._tracking import is_sync_refused_for, is_tracking, listed_resource, owner_of

_NOT_CONTENT = (TRACKING_ID, INSTALLATION_ID, LAST_APPLIED)


@dataclass(frozen=True)
class Party:
    """One Application that claims or owns a shared object. All except `app` is plain JSON, the data of a Fact.

    instance     its name in tracking data
    claims       its manifests contain the object; False if it only owns the live object
    hook         the object is a hook of it; the list shows live hooks
    leaving      the reason why it no longer renders the object; empty if it does, or if that is unknown
    owner        [namespace, name, project, server] of the Application in the live object's tracking data
    content      the manifest without tracking data and Secret values; None if it is unknown
    changed      pointers outside the tracking data that Argo CD shows as different; `moved`, those of the tracking data
    warnings     its SharedResourceWarnings about this object;   errors: its SyncErrors that repeat one
    guarded      it has FailOnSharedResource=true;   failed: its last sync failed, for any reason
    refused      its last sync failed for this object;   waiting: the symptoms [kind, object, detail] that follow from it
    applied      it has applied the object at least once
    place        the place to edit the Application: its own manifest, or the template that makes it
    apart        the lines of its ApplicationSet's template that give each Application a namespace of its own; empty if there are none to change
    cascade      deleting the Application deletes what it owns
    along        names of other objects that the same applications share
    twins        [namespace, name, project, server] of each Application that renders all objects of this one; of one object alone, by the same source
    doubles      the same of each Application that renders all objects of this one
    whole        a hash of all its manifests as they are compared, if it has doubles
    settings     a hash of its Helm settings without the release name;   files: its values files
    revision     its targetRevision
    named_by     its Helm parameter that names the release's objects; empty if there is none
    former       its source before the present one, as in the history, if objects of that are left: `source`, `since` when it has the present one, `left`
    others       the other Applications of the fleet that claim or own the object: as `owner`, then `has_in_manifests`, `leaving`
    """

    app: AppRef
    version: str = ""
    claims: bool = True
    leaving: str = ""
    hook: bool = False
    status: str = ""
    owner: Sequence[str] = ()
    instance: str = ""
    tracked: str = ""
    tracked_by: str = ""
    content: Json = None
    changed: Sequence[str] = ()
    moved: Sequence[str] = ()
    warnings: Sequence[str] = ()
    guarded: bool = False
    refused: bool = False
    waiting: Sequence[Sequence[Json]] = ()
    failed: bool = False
    applied: bool = True
    place: str = ""
    apart: Mapping[str, Json] = field(default_factory=dict)
    automated: bool = False
    self_heal: bool = False
    prune: bool = False
    cascade: bool = False
    attempts: int = 0
    wave: int = 0
    repo: str = ""
    path: str = ""
    chart: str = ""
    tool: str = ""
    release: str = ""
    namespace: str = ""
    switches: Sequence[Mapping[str, Json]] = ()
    along: Sequence[str] = ()
    twins: Sequence[Sequence[str]] = ()
    doubles: Sequence[Sequence[str]] = ()
    whole: str = ""
    going: bool = False
    settings: str = ""
    files: Sequence[str] = ()
    revision: str = ""
    named_by: str = ""
    former: Mapping[str, Json] = field(default_factory=dict)
    others: Sequence[Sequence[Json]] = ()

    def data(self) -> Mapping[str, Json]:
        """The party as the data of a Fact."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "app"}

    @property
    def origin(self) -> tuple[str, str, str]:
        """The source: two parties with the same one render the same chart or directory."""
        return self.repo, self.path, self.chart


@dataclass(frozen=True)
class Shared:
    """An object with all its parties, sorted, the owner of the live one, and the known values of each field that differs."""

    id: ResourceId
    parties: tuple[Party, ...]
    owner: AppRef | None
    fields: Mapping[str, Mapping[AppRef, Json]]

    @property
    def secret(self) -> bool:
        return is_secret(self.id)

    @property
    def applied(self) -> tuple[Party, ...]:
        """The parties that have applied the object at least once."""
        return tuple(p for p in self.parties if p.applied)

    @cached_property
    def _by_ref(self) -> Mapping[AppRef, Party]:
        return {p.app: p for p in self.parties}

    @cached_property
    def _scattered(self) -> bool:
        return len({p.app.namespace for p in self.parties}) > 1

    @property
    def two_programs(self) -> bool:
        """True if the two sides select different pods, which cannot be changed in place: one name for two separate workloads."""
        return self.id.group == "apps" and any(pointer.startswith("/spec/selector/") for pointer in self.fields)

    @property
    def firm(self) -> list[Party]:
        """The parties whose manifests hold the object."""
        return [p for p in self.parties if p.claims]

    @property
    def joined(self) -> bool:
        """Whether the name begins with the release of each: `a` with `b-c`, and `a-b` with `c`, both make `a-b-c`."""
        releases = {p.release for p in self.firm}
        return len(releases) == len(self.firm) > 1 and all(
            self.id.name.startswith(f"{release}-") for release in releases
        )

    @property
    def other_images(self) -> bool:
        """True if two sources run different programs under one name: the last name of the first container's image differs."""
        values = self.fields.get("/spec/template/spec/containers/0/image", {})
        names = {str(v).partition("@")[0].rpartition("/")[2].partition(":")[0] for v in values.values()}
        return len(names) == len(values) > 1 and len({p.origin for p in self.firm}) > 1

    @property
    def two_releases(self) -> bool:
        """Two releases of one chart with settings of their own, which make all their objects under the same names: both are meant to run."""
        firm = self.firm
        charts = {(p.origin, p.tool) for p in firm}
        apart = len({p.settings for p in firm}) == len(firm) > 1
        same = all(len(p.doubles) >= len(firm) - 1 for p in firm)
        return apart and same and len(charts) == 1 and firm[0].tool == "Helm" and bool(firm[0].repo)

    @property
    def namesakes(self) -> bool:
        """Releases of one known chart that have one name in namespaces of their own, from which it makes a name outside namespaces: all are meant to run."""
        firm = self.firm
        apart = not self.id.namespace and len({p.namespace for p in firm}) == len(firm) > 1
        same = len({(p.origin, p.release) for p in firm}) == 1
        return apart and same and all(p.switches and not any(s["fixed"] for s in p.switches) for p in firm)

    @property
    def fixed_namespace(self) -> bool:
        """Whether one source that is deployed to several namespaces writes this object's own: all but one of its Applications deploy elsewhere."""
        firm = self.firm
        same = len({p.origin for p in firm}) == 1 and bool(firm[0].repo)
        places = {p.namespace for p in firm}
        return bool(self.id.namespace) and same and len(places) == len(firm) > 1

    @property
    def instances(self) -> bool:
        """Applications of one source that count up, or that are three or more, in one namespace: instances, none of which is too many."""
        firm = self.firm
        same = len({p.origin for p in firm}) == 1 and bool(firm[0].repo) and len({p.namespace for p in firm}) == 1
        counted = len({re.sub(r"\d+", "0", p.app.name) for p in firm}) == 1
        several = len(firm) == len(self.parties) > 1 and (counted or len(firm) > 2)
        return same and several and not self.one_per_version

    @property
    def two_deployments(self) -> bool:
        """Applications of different sources that render all of each other's objects in one namespace, with content that differs: none is too many."""
        firm = self.firm
        apart = len({p.origin for p in firm}) == len(firm) == len(self.parties) > 1
        same = all(len(p.twins) >= len(firm) - 1 and p.namespace == self.id.namespace for p in firm)
        return apart and same and len({p.whole for p in firm}) > 1

    @property
    def one_per_version(self) -> str:
        """The name without its version of Applications that one set makes of one source, each named by its version; empty if they are not."""
        firm = self.firm
        plain = {re.sub(rf"[-.]?v?{re.escape(p.revision)}$", "", p.app.name) for p in firm if p.revision}
        dashed = {re.sub(rf"-v?{re.escape(p.revision.replace('.', '-'))}$", "", p.app.name) for p in firm if p.revision}
        apart = len({p.revision for p in firm}) == len(firm) > 1 and len({(p.place, p.origin) for p in firm}) == 1
        names = [found for found in (plain, dashed) if len(found) == 1]
        return next(iter(names[0])) if apart and names else ""

    @property
    def hook(self) -> bool:
        return any(p.hook for p in self.parties)

    @cached_property
    def strayed(self) -> Party | None:
        """The party that has left its own source for that of another one; None if there is none, or several are."""
        found = [
            p
            for p in self.parties
            if p.former and p.claims and any(o.origin == p.origin and not o.former for o in self.parties)
        ]
        return found[0] if len(found) == 1 else None

    @property
    def handover(self) -> Party | None:
        """The owner that stops rendering the object while one other Application renders it, so that nothing is contested; else None."""
        owner = self.party(self.owner) if self.owner else None
        claimants = sum(p.claims for p in self.parties)
        return owner if owner and owner.leaving and not owner.claims and claimants == 1 else None

    def blocking_tracking(self, keeper: Party | None) -> str:
        """The tracking data of another owner that blocks this one's sync by FailOnSharedResource; empty if there is none."""
        if keeper is None or not keeper.guarded or self.owner in (None, keeper.app):
            return ""
        return next((p.tracked_by for p in self.parties if p.tracked_by), "")

    def party(self, ref: AppRef) -> Party:
        return self._by_ref[ref]

    @property
    def untracked(self) -> bool:
        """True for CRDs: Argo CD gives them no tracking data, so they have no owner, no pruning and no warning.

        False if a chart's own instance label is by chance the name of an Application, under label tracking.
        """
        crd = (self.id.group, self.id.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
        return crd and not any(p.owner for p in self.parties)

    @property
    def namespace(self) -> bool:
        return self.id.kind == "Namespace" and not self.id.group

    def few_names(self, parties: Sequence[Party]) -> str:
        """Two Applications for a sentence, or the first and the number of others: all of them are related."""
        return enumerated([self.name(p) for p in parties], "Application", limit=2 if len(parties) == 2 else 1)

    def names(self, parties: Sequence[Party]) -> str:
        return enumerated([self.name(p) for p in parties], "Application")

    def name(self, party_: Party) -> str:
        """The Application's name for a message: with its namespace if there are several."""
        return f'"{party_.app}"' if self._scattered else f'"{party_.app.name}"'


def party_of(fact: Fact) -> Party:
    return Party(fact.app, **{k: v for k, v in fact.data.items() if k != "resource"})


def ref_of(parts: Sequence[Json]) -> AppRef:
    namespace, name, project, server, *_ = parts
    return AppRef(namespace, name, project, server)


def parts_of(ref: AppRef) -> list[str]:
    return [ref.namespace, ref.name, ref.project, ref.server]


def application_party(
    app: App,
    resource: Resource,
    fleet: Fleet,
    *,
    warnings: Sequence[str],
    others: Sequence[AppRef],
    charts: Sequence[Release],
) -> Party:
    """The party of this application."""
    tracking = tracking_of(resource.live, fleet)
    owner = owner_of(resource, fleet, tracking.instance) if tracking else None
    operation = app.operation
    failed = operation is not None and operation.failed
    refused = is_sync_refused_for(app, f"{resource.kind}/{resource.name} is part of")
    pointers = [c.pointer for c in resource.changes]
    claimants = set(fleet.claimants(resource.key)[: len(others) + 1])
    index, source = _rendering_source(app)
    types = items(app.status, "sourceTypes") or (app.status.get("sourceType"),)
    return Party(
        app.ref,
        version=resource.id.version,
        claims=has_in_manifests(app, resource),
        leaving=_leaving_reason(app, resource),
        hook=resource.hook,
        status=resource.status,
        owner=parts_of(owner.ref) if owner else (),
        instance=app.instance,
        tracked=tracking.instance if tracking else "",
        tracked_by=tracking.by if tracking else "",
        content=_compared_content(resource.desired, fleet),
        changed=[p for p in pointers if not is_tracking(p, fleet)],
        moved=[p for p in pointers if is_tracking(p, fleet)],
        warnings=warnings,
        guarded="FailOnSharedResource=true" in app.sync_options,
        refused=refused,
        waiting=[[s.kind, s.resource, s.detail] for s in consequences(app)] if refused else (),
        failed=failed,
        applied=_has_applied(app, resource, owner),
        place=application_place(app),
        apart=_namespace_each(app, fleet),
        automated=app.automated,
        self_heal=app.self_heal,
        prune=app.prune,
        cascade=cascades(app),
        attempts=operation.self_heal_attempts if operation else 0,
        wave=wave(app.raw),
        repo=str(source.get("repoURL") or ""),
        path=str(source.get("path") or ""),
        chart=str(source.get("chart") or ""),
        tool=str(types[index] or "") if index < len(types) and types[index] else "Helm" if source.get("chart") else "",
        release=str(dig(source, "helm", "releaseName") or app.name),
        settings=_settings_hash(source),
        files=texts(source, "helm", "valueFiles"),
        revision=text_at(source, "targetRevision"),
        named_by=next((n for n in _parameters(source) if n.endswith("fullnameOverride")), ""),
        namespace=app.destination_namespace,
        switches=chart_switches(app, resource, charts),
        former=_former_source(app, source),
        others=[
            [
                *parts_of(ref),
                ref in claimants or _is_in_manifests_of(fleet, ref, resource),
                _leaving_reason_of(fleet, ref, resource),
            ]
            for ref in others
        ],
    )


def _namespace_each(app: App, fleet: Fleet) -> Mapping[str, Json]:
    """The destination by the name of the Application, which is another for each element of the set."""
    template = dig(maker(app, fleet), "spec", "template")
    namespace, name = text_at(template, "spec", "destination", "namespace"), text_at(template, "metadata", "name")
    if not namespace or not name or "{{" in namespace:
        return {}
    options = texts(template, "spec", "syncPolicy", "syncOptions")
    made = {} if _CREATES in options else {"syncPolicy": {"syncOptions": [*options, _CREATES]}}
    return {"destination": {"namespace": name}, **made}


_CREATES = "CreateNamespace=true"


def _former_source(app: App, source: Object) -> Mapping[str, Json]:
    """The last source of the history with another repository, path or chart, if objects that the present one does not render are left."""
    left = [r for r in app.resources if r.requires_pruning and not r.hook]
    if not left or len(app.sources) > 1:
        return {}
    since = ""
    for entry in reversed(maps(app.status, "history")):
        deployed = mapping(entry, "source")
        if deployed and any((deployed.get(k) or "") != (source.get(k) or "") for k in ("repoURL", "path", "chart")):
            names = sorted(str(r.id) for r in left)
            return {"source": dict(deployed), "since": since, "left": enumerated(names, "object", limit=1)}
        since = text_at(entry, "deployedAt")
    return {}


def is_list_reliable(app: App) -> bool:
    """Whether the application's list shows the contents of its manifests."""
    return app.desired_known and not app.deleting


def has_in_manifests(app: App, resource: Resource) -> bool:
    """Whether the application's manifests contain the object, by its list if that is reliable: a live hook counts."""
    return (resource.claimed or resource.hook) and is_list_reliable(app)


def _is_in_manifests_of(fleet: Fleet, ref: AppRef, resource: Resource) -> bool:
    """Whether another application's manifests contain the object; an owner with an empty list counts as rendering its objects."""
    other = fleet.by_ref[ref]
    listed = listed_resource(other, resource.key)
    return not other.resources if listed is None else has_in_manifests(other, listed)


def _leaving_reason(app: App, resource: Resource) -> str:
    """The reason in the list why the application no longer renders the object."""
    if app.deleting:
        return "is being deleted"
    return "no longer renders it" if app.desired_known and resource.requires_pruning and not resource.hook else ""


def _leaving_reason_of(fleet: Fleet, ref: AppRef, resource: Resource) -> str:
    other = fleet.by_ref[ref]
    listed = listed_resource(other, resource.key)
    return _leaving_reason(other, listed) if listed is not None else ""


def content_differences(parties: Sequence[Party]) -> Mapping[str, Mapping[AppRef, Json]]:
    """Pointers at which the parties' manifests differ, with each one's value; empty if they are equal or unknown."""
    known = [p for p in parties if p.content is not None]
    pointers = {pointer for other in known[1:] for pointer, _, _ in differences(other.content, known[0].content)}
    return {pointer: {p.app: get(p.content, pointer) for p in known} for pointer in sorted(pointers)}


def _has_applied(app: App, resource: Resource, owner: App | None) -> bool:
    """True by tracking data, or by the last sync's results; if those are partial, by the existence of a sync."""
    if owner is not None and owner.ref == app.ref:
        return True
    operation = app.operation
    if operation is not None and operation.self_heal_attempts and operation.phase == "Succeeded":
        return True  # only a synced object can self-heal
    for result in operation.results_of(resource.id) if operation else ():
        return result.get("status") == "Synced"
    sync = mapping(operation.raw, "operation", "sync") if operation else {}
    partial = bool(sync.get("resources")) or "ApplyOutOfSyncOnly=true" in app.sync_options
    if operation and operation.results and not partial and operation.phase == "Succeeded":
        return False
    return bool(app.status.get("history"))


def _rendering_source(app: App) -> tuple[int, Object]:
    """The only source, or the first one that renders something."""
    for index, source in enumerate(app.sources):
        if source.get("path") or source.get("chart"):
            return index, source
    return 0, (app.sources[0] if app.sources else {})


def _parameters(source: Object) -> Sequence[str]:
    return [text_at(parameter, "name") for parameter in maps(source, "helm", "parameters")]


def whole_content(app: App, fleet: Fleet) -> str:
    """A hash of what the manifests of an application hold, without tracking data, metadata and values of Secrets."""
    held = [
        [list(r.key), {k: v for k, v in mapping(_compared_content(r.desired, fleet)).items() if k != "metadata"}]
        for r in app.resources
        if r.claimed
    ]
    return sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def _settings_hash(source: Object) -> str:
    """A hash of the Helm settings of a source without the release name: they may hold secrets."""
    settings = {k: v for k, v in mapping(source, "helm").items() if k not in ("releaseName", "skipCrds")}
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16] if settings else ""


def _compared_content(desired: Object | None, fleet: Fleet) -> Json:
    """The manifest without tracking data and status; for a Secret only the keys."""
    if desired is None:
        return None
    metadata: dict[str, Any] = dict(mapping(desired, "metadata"))
    annotations = {k: v for k, v in mapping(metadata, "annotations").items() if k not in _NOT_CONTENT}
    tracking_label = fleet.label_key if "label" in fleet.tracking_method else ""
    labels = {k: v for k, v in mapping(metadata, "labels").items() if k != tracking_label}
    for name, kept in (("annotations", annotations), ("labels", labels)):
        metadata.pop(name, None)
        if kept:
            metadata[name] = kept
    metadata.pop("creationTimestamp", None)
    content = {k: v for k, v in desired.items() if k not in ("metadata", "status")} | {"metadata": metadata}
    if is_secret(desired):
        content |= {k: dict.fromkeys(content[k] or {}, "") for k in ("data", "stringData") if k in content}
    return content
