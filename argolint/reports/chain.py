"""Explains why one application, object or field is in its state: the chain from Git to the cluster, and the rule behind each link.

Pure functions: the App has the states and evidence, the engine made the findings. `explain` builds the chain, `formats.narrative` prints
it; the JSON form is the structs of the chain.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import managed_fields
from argolint.errors import UsageError
from argolint.model import AppRef, Change, Finding, Object, ResourceId, ResourceKey, Symptom, Writer
from argolint.redaction import HIDDEN, excerpt, in_name, show, show_sides, without_secrets
from argolint.reports import assemble, document
from argolint.reports.steps import Step, order
from argolint.values import get, split_pointer
from argolint.values.short_kinds import kinds

SCHEMA_VERSION = "1.0"


class Origin(msgspec.Struct, frozen=True):
    """One source of the desired state. `revision` is the resolved one, `target` what the Application follows."""

    repo: str
    path: str = ""
    chart: str = ""
    target: str = ""
    revision: str = ""
    author: str = ""
    date: str = ""
    message: str = ""


class Wrote(msgspec.Struct, frozen=True):
    """A manager of a field, from metadata.managedFields."""

    manager: str
    operation: str = ""
    subresource: str = ""
    time: str = ""


class FieldState(msgspec.Struct, frozen=True):
    """The desired and live value of one field as JSON text, cut and masked; null if it is not known. `equal`: no difference.

    `source`: file and line in Git, if a checkout has them.
    """

    pointer: str
    desired: str | None
    live: str | None
    equal: bool
    writers: tuple[Wrote, ...] = ()
    source: document.ReportedSource | None = None


class Involved(msgspec.Struct, frozen=True):
    """Another application or object that is involved."""

    role: str
    app: document.ReportedApp
    resource: document.ReportedResource | None = None


class Link(msgspec.Struct, frozen=True):
    """One link of the chain. `kind`: change, missing, extra, health, operation, condition, sync, or field (no difference).

    `because`: the findings that explain it; `also`: findings that comment on the same place.
    """

    kind: str
    fact: str
    resource: document.ReportedResource | None = None
    fields: tuple[FieldState, ...] = ()
    because: tuple[document.ReportedFinding, ...] = ()
    also: tuple[document.ReportedFinding, ...] = ()
    involved: tuple[Involved, ...] = ()


class Why(msgspec.Struct, frozen=True):
    """The whole explanation.

    `also`: the application's other findings, and those about objects that it shares; without those about the whole fleet. `steps`: the order of a sync that stops somewhere.
    """

    schema_version: str
    app: document.ReportedApp
    sync: str
    health: str
    automation: str
    cluster: str
    last_sync: str
    desired_from: tuple[Origin, ...]
    chain: tuple[Link, ...]
    also: tuple[document.ReportedFinding, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Target:
    """The target of the explanation: the whole application, one object, or one field of it."""

    resource: str = ""
    pointer: str = ""

    def takes(self, id_: ResourceId) -> bool:
        """True if `resource` (Kind/name or Kind/namespace/name; Kind may have .group; globs allowed) matches this object."""
        kind, *rest = self.resource.lower().split("/")
        kind, _, group = kind.partition(".")
        name = rest[-1] if rest else "*"
        namespace = rest[0] if len(rest) > 1 else "*"
        return (
            any(fnmatchcase(id_.kind.lower(), own) for own in kinds(kind or "*"))
            and (not group or fnmatchcase(id_.group.lower(), group))
            and fnmatchcase(id_.namespace.lower(), namespace)
            and fnmatchcase(id_.name.lower(), name)
        )


def chosen(app: App, target: Target) -> tuple[Resource, ...]:
    """The objects that the user named, or all objects. UsageError if none matches or the JSON pointer is malformed."""
    if target.pointer and not target.pointer.startswith("/"):
        raise UsageError(
            f"{target.pointer!r} is no JSON pointer", "write it as /spec/replicas, with ~1 for a slash in a key"
        )
    if not target.resource:
        return tuple(app.resources)
    found = tuple(r for r in app.resources if target.takes(r.id))
    if not found:
        names = [_plain_name(r.id) for r in app.resources]
        close = difflib.get_close_matches(target.resource, names, 1) or [
            n for n in names if target.resource.lower() in n.lower()
        ]
        raise UsageError(
            f"application {app.ref} has no object {target.resource!r}"
            + (f"; did you mean {close[0]!r}?" if close else ""),
            f"it has {len(names)}: {', '.join(names[:5])}{', …' if len(names) > 5 else ''}",
        )
    return found


def sharing_applications(app: App, fleet: Fleet) -> frozenset[AppRef]:
    """The other applications that claim an object of this one: rules about the fleet need their facts, too."""
    return frozenset(ref for r in app.resources for ref in fleet.owners(r.key) if ref != app.ref)


def explain(
    app: App, fleet: Fleet, findings: Sequence[Finding], target: Target, revisions: Mapping[str, Object] | None = None
) -> Why:
    """The chain for the target. `findings` come from the whole run; `revisions` has author, date and message by revision."""
    resources = chosen(app, target)
    own_findings = [f for f in findings if app.ref in {f.at.app, *(r.app for r in f.related)}]
    links = [link for resource in resources for link in _object(app, resource, target, own_findings)]
    if not target.resource:
        links = [*_application(app, own_findings), *links]
    listed = {f.fingerprint for link in links for f in (*link.because, *link.also)}
    own = [] if target.resource else [assemble.finding(f) for f in _its_own(own_findings, app.ref)]
    return Why(
        SCHEMA_VERSION,
        assemble.app(app.ref),
        app.sync_status,
        app.health.status,
        _automation(app),
        without_secrets(app.cluster),
        _last_sync(app),
        tuple(_origins(app, revisions or {})),
        tuple(links),
        tuple(f for f in own if f.fingerprint not in listed),
        () if target.resource else order(app, fleet),
    )


def _its_own(findings: Sequence[Finding], app: AppRef) -> list[Finding]:
    """The findings about the application or its objects: none about the whole fleet, and not the other half of one of them."""
    halves = {_place(f) for f in findings if f.at.app == app}
    return [
        f
        for f in findings
        if (not f.key or _is_about(f, app)) and (f.at.app == app or not f.at.resource or _place(f) not in halves)
    ]


def _place(finding: Finding) -> tuple[str, ResourceKey | None, str]:
    return finding.rule, finding.at.resource.key if finding.at.resource else None, finding.at.pointer


def _is_about(finding: Finding, app: AppRef, resource: ResourceId | None = None) -> bool:
    """True if the finding, or its part in another application's, is at an object of this application (at this one, if named)."""
    places = ((finding.at.app, finding.at.resource), *((r.app, r.resource) for r in finding.related))
    return any(at == app and id_ is not None and (not resource or id_.key == resource.key) for at, id_ in places)


def _plain_name(id_: ResourceId) -> str:
    return "/".join(filter(None, (id_.kind, id_.namespace, id_.name)))


def _automation(app: App) -> str:
    if not app.automated:
        return "synced by hand"
    extra = [word for word, on in (("self-heal", app.self_heal), ("pruning", app.prune)) if on]
    return "synced automatically" + (f" with {' and '.join(extra)}" if extra else "")


def _last_sync(app: App) -> str:
    operation = app.operation
    if operation is None:
        return "never synced"
    at = operation.finished_at or operation.started_at
    when = f" {at:%Y-%m-%d %H:%M:%SZ}" if at else ""
    heals = (
        f", self-heal number {operation.self_heal_attempts} at this revision" if operation.self_heal_attempts else ""
    )
    return f"{operation.phase}{when}{heals}: {excerpt(operation.message, 160) or 'no message'}"


def _origins(app: App, revisions: Mapping[str, Object]) -> Iterator[Origin]:
    for index, source in enumerate(app.sources):
        revision = app.revisions[index] if index < len(app.revisions) else ""
        metadata = revisions.get(revision) or {}
        yield Origin(
            excerpt(str(source.get("repoURL") or "")),
            without_secrets(str(source.get("path") or "")),
            without_secrets(str(source.get("chart") or "")),
            without_secrets(str(source.get("targetRevision") or "HEAD")),
            revision,
            excerpt(str(metadata.get("author") or "")),
            str(metadata.get("date") or ""),
            excerpt(str(metadata.get("message") or "").partition("\n")[0], 100),
        )


def _application(app: App, findings: Sequence[Finding]) -> Iterator[Link]:
    """Links for the conditions, the operation, and statuses that no object explains."""
    for condition in app.conditions:
        yield _link("condition", f"{condition.type}: {excerpt(condition.message)}", condition.symptom, findings)
    operation = app.operation
    if operation is not None and (operation.failed or operation.phase in ("Running", "Terminating")):
        fact = f"the last operation is {operation.phase}: {excerpt(operation.message)}"
        yield _link("operation", fact, Symptom.operation(), findings)
    for kind, symptom in (("sync", Symptom.sync()), ("health", Symptom.health())):
        status = app.sync_status if kind == "sync" else app.health.status
        link = _link(kind, f"{kind} status is {status}", symptom, findings)
        if link.because:
            yield link


def _object(app: App, resource: Resource, target: Target, findings: Sequence[Finding]) -> Iterator[Link]:
    """Links for the faults of one object; for a requested field, its desired and live value even if they are equal."""
    yield from _differences(app, resource, target, findings)
    if target.pointer:
        return
    about = assemble.resource(resource.id)
    if resource.missing:
        yield _link(
            "missing",
            f"{resource.id} is in Git and not in the cluster",
            Symptom.missing(resource.id),
            findings,
            resource,
        )
    if resource.extra:
        symptom = Symptom("extra", resource.key)
        yield _link("extra", f"{resource.id} is in the cluster and not in Git", symptom, findings, resource)
    if resource.health.status not in ("", "Healthy") and not resource.missing:
        why = f": {excerpt(resource.health.message)}" if resource.health.message else ""
        fact = f"{resource.id} is {resource.health.status}{why}"
        yield _link("health", fact, Symptom.health(resource.id), findings, resource)
    if target.resource:
        general = [f for f in findings if _is_about(f, app.ref, resource.id) and not _explains_here(f, resource)]
        general = _its_own(general, app.ref)
        new = [f for f in general if not any(_is_comment_on(f, resource, (change,)) for change in resource.changes)]
        if new:
            fact = f"what else is known of {resource.id}"
            yield Link("comment", fact, about, (), (), tuple(map(assemble.finding, new)), _involved(app.ref, new))


def _explains_here(finding: Finding, resource: Resource) -> bool:
    """True if it is listed as the reason of a difference or state of this object."""
    changes = [Symptom.change(resource.id, change.pointer) for change in resource.changes]
    states = [Symptom.missing(resource.id)] if resource.missing else []
    states += [Symptom("extra", resource.key)] if resource.extra else []
    states += [Symptom.health(resource.id)] if resource.health.status not in ("", "Healthy") else []
    return any(claim.covers(symptom) for claim in finding.explains for symptom in (*changes, *states))


def _differences(app: App, resource: Resource, target: Target, findings: Sequence[Finding]) -> Iterator[Link]:
    """Links for the changed fields; fields with the same explanation share a link."""
    changes = [c for c in resource.changes if not target.pointer or _related(c.pointer, target.pointer)]
    groups: dict[tuple[int, ...], list[Change]] = {}
    for change in changes:
        symptom = Symptom.change(resource.id, change.pointer)
        claimed = tuple(i for i, f in enumerate(findings) if any(claim.covers(symptom) for claim in f.explains))
        groups.setdefault(claimed, []).append(change)
    for claimed, group in groups.items():
        because = [findings[i] for i in claimed]
        also = [f for f in findings if f not in because and f.at.app == app.ref and _is_comment_on(f, resource, group)]
        yield Link(
            "change",
            f"{resource.id} differs in {len(group)} field{'s' if len(group) > 1 else ''}",
            assemble.resource(resource.id),
            tuple(_changed(resource, c) for c in group),
            tuple(map(assemble.finding, because)),
            tuple(map(assemble.finding, also)),
            _involved(app.ref, [*because, *also]),
        )
    if target.pointer and not changes:
        state = _requested_field(resource, target.pointer)
        about = [f for f in findings if _is_about(f, app.ref, resource.id)]
        also = [f for f in _its_own(about, app.ref) if f.key or _related(f.at.pointer, target.pointer)]
        fact = (
            f"{resource.id} shows no difference there"
            if resource.desired_known
            else f"what Git wants of {resource.id} is not known"
        )
        yield Link(
            "field",
            fact,
            assemble.resource(resource.id),
            (state,),
            (),
            tuple(map(assemble.finding, also)),
            _involved(app.ref, also),
        )


def _related(one: str, other: str) -> bool:
    """True if the pointers are equal or one contains the other."""
    a, b = split_pointer(one), split_pointer(other)
    short = min(len(a), len(b))
    return bool(one) and a[:short] == b[:short]


def _is_comment_on(finding: Finding, resource: Resource, group: Sequence[Change]) -> bool:
    if finding.explains or finding.at.resource is None or finding.at.resource.key != resource.key:
        return False
    return any(_related(finding.at.pointer, change.pointer) for change in group)


def _changed(resource: Resource, change: Change) -> FieldState:
    sides = zip(change.sides, (resource.predicted, resource.normalized), strict=True)
    desired, live = (
        HIDDEN if change.masked else show(value, change.pointer, 80, obj or {}, secret=change.secret)
        for value, obj in sides
    )
    return FieldState(in_name(change.pointer), desired, live, False, _writers(resource, change.pointer))


def _requested_field(resource: Resource, pointer: str) -> FieldState:
    states = resource.desired or {}, resource.live or {}
    desired, live = show_sides(pointer, *((get(state, pointer), state) for state in states), limit=80)
    return FieldState(
        pointer,
        desired if resource.desired_known else None,
        live if resource.live_known else None,
        True,
        _writers(resource, pointer),
    )


def _writers(resource: Resource, pointer: str) -> tuple[Wrote, ...]:
    return tuple(_wrote(w) for w in managed_fields.writers(resource.live, pointer)[:3]) if resource.live else ()


def _wrote(writer: Writer) -> Wrote:
    return Wrote(
        writer.manager,
        writer.operation,
        writer.subresource,
        f"{writer.time:%Y-%m-%dT%H:%M:%SZ}" if writer.time else "",
    )


def _link(
    kind: str, fact: str, symptom: Symptom, findings: Sequence[Finding], resource: Resource | None = None
) -> Link:
    because = [f for f in findings if any(claim.covers(symptom) for claim in f.explains)]
    about = assemble.resource(resource.id) if resource else None
    app = next((f.at.app for f in because), None)
    involved = _involved(app, because) if app else ()
    return Link(kind, fact, about, (), tuple(map(assemble.finding, because)), (), involved)


def _involved(app: AppRef, findings: Sequence[Finding]) -> tuple[Involved, ...]:
    """Other applications, and objects with the role of cause, owner or claimant; symptoms have their own links."""
    found: dict[tuple[AppRef, ResourceId | None], Involved] = {}
    for finding in findings:
        subject = (finding.at.app, finding.at.resource)
        if finding.at.app != app:
            found.setdefault(subject, _as_involved("owner", *subject))
        for related in finding.related:
            place = (related.app, related.resource)
            itself = related.app == app and related.resource == finding.at.resource
            if not itself and (related.app != app or related.role in ("cause", "owner", "claimant")):
                found.setdefault(place, _as_involved(related.role, *place))
    return tuple(found.values())


def _as_involved(role: str, app: AppRef, resource: ResourceId | None) -> Involved:
    return Involved(role, assemble.app(app), assemble.resource(resource) if resource else None)


def to_json(why: Why) -> bytes:
    """The document, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(why), indent=1) + b"\n"
