"""owner-ill and rewritten-by: what does not answer belongs to an Application that is unhealthy or overwrites it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import has_sync_option
from argolint.edits.advice import Shell, advice
from argolint.model import Follows, Object, ResourceId, ResourceKey, Symptom, Want
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import WEBHOOKS, Complaint, KnownObject, mentioned_objects, peer
from argolint.relations.waits import needs, place_in, wait_of
from argolint.values import condition, dig, labels_of, mapping, maps, number_at, parse_time, text_at
from argolint.values.kubernetes import kubectl_name, pod_spec
from argolint.values.patterns import regex

_NO_ANSWER = regex(
    r"connection re(fused|set)|no endpoints available|have no addresses|context deadline exceeded|i/o timeout|no such host|no route to host|\bEOF\b"
    r"|service \"[^\"]{1,253}\" not found|timed? ?out|502 Bad Gateway|503 Service|service unavailable|Client\.Timeout|connect: ",
    re.IGNORECASE,
)
_NOT_TRUSTED = regex(r"x509|caBundle|failed to verify certificate|unknown authority", re.IGNORECASE)
_ILL = ("Degraded", "Missing", "Progressing")
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Rollout")
_PEERS = 3
"""Most workloads of another application that are read to explain why its Service does not answer."""


def wanted_of_peers(complaint: Complaint) -> Iterator[Want]:
    """The workloads behind a Service of another application in the sentence: the list has neither replicas nor labels."""
    for mention, known in mentioned_objects(complaint):
        if known.app.ref == complaint.app.ref or "service" not in mention.kinds or known.id.kind != "Service":
            continue
        neighbours = [r for r in known.app.resources if r.kind in _WORKLOADS and r.namespace == known.id.namespace]
        for resource in [known.resource, *neighbours[:_PEERS]]:
            yield Want("peer", resource.id, app=known.app.ref)
    if complaint.first(_NOT_TRUSTED):
        yield from (Want("peer", id_, app=other.ref) for other, id_ in _configurations(complaint))
    for key in _needed_well(complaint):
        if complaint.app.resource(key) is None:
            yield from (Want("peer", key.id, app=owner) for owner in complaint.fleet.owners(key)[:1])


def _configurations(complaint: Complaint) -> list[tuple[App, ResourceId]]:
    """At most a few webhook configurations of other applications, in whose namespaces hosts of the sentence are."""
    spaces = {m.namespace for m in complaint.names if "service" in m.kinds and m.namespace}
    fleet, cluster = complaint.fleet, complaint.app.cluster
    found = [
        (owner, ResourceId(*key[1:], "v1", cluster))
        for kind in WEBHOOKS
        for key in fleet.of_kind(cluster, "admissionregistration.k8s.io", kind)
        for ref in fleet.owners(key)
        if (owner := fleet.by_ref.get(ref)) is not None and owner.destination_namespace in spaces
    ]
    return [one for one in found if one[0].ref != complaint.app.ref][:_PEERS]


def unanswered_service(complaint: Complaint) -> Iterator[Explained]:
    """The Service of the fleet that does not answer according to the sentence, and the reason."""
    if not complaint.first(_NO_ANSWER):
        return
    for mention, known in mentioned_objects(complaint):
        named = "service" in mention.kinds and known.id.kind == "Service" and not _is_later(complaint, known.app)
        if named and (found := _service_fault(complaint, known)) is not None:
            yield found
            return


def _is_later(complaint: Complaint, owner: App) -> bool:
    """True if the owner became unhealthy only after the complaint: then it is no cause."""
    since = parse_time(dig(owner.raw, "status", "health", "lastTransitionTime"))
    operation = complaint.app.operation
    ended = (operation.finished_at or operation.started_at) if operation and operation.failed else None
    return since is not None and ended is not None and since > ended and owner.ref != complaint.app.ref


def _service_fault(complaint: Complaint, service: KnownObject) -> Explained | None:
    """The reason why the Service does not answer: a workload scaled to zero, an unhealthy one, or the whole application."""
    app = service.app
    workloads = [
        peer(complaint.app, app, r.id) or r
        for r in app.resources
        if r.kind in _WORKLOADS and r.namespace == service.id.namespace
    ]
    serving = [w for w in workloads if _serves(service.resource, w)] or (workloads if len(workloads) == 1 else [])
    owner = "" if app.ref == complaint.app.ref else f" of Application {app.ref}"
    for workload in serving:
        state = workload.live or workload.desired
        if dig(state, "spec", "replicas") == 0 and workload.kind != "DaemonSet":
            return _explained(complaint, service, workload, f"{workload.id}{owner} is scaled to 0", "scaled")
    for workload in serving or workloads:
        if workload.missing and app.ref == complaint.app.ref:
            return None  # the sync itself has not reached it yet
        fault = "is missing" if workload.missing else _workload_fault(workload)
        if fault and _is_starting(complaint, service, workload):
            return _explained(
                complaint, service, workload, f"{workload.id} behind it was created only just now", "starts"
            )
        if fault:
            return _explained(complaint, service, workload, f"{workload.id}{owner} behind it {fault}", "ill")
    if app.ref != complaint.app.ref and app.health.status in ("Degraded", "Missing"):
        return _explained(complaint, service, None, f"its Application {app.ref} is {app.health.status}", "ill")
    operation = complaint.app.operation
    began = operation.started_at if operation else None
    for workload in serving if complaint.first(_NO_ANSWER_IN_TIME) else ():
        since = _available_since(workload)
        if since and began and since < began:
            why = f"its pods are ready since {since:%Y-%m-%d %H:%MZ}, so the API server does not reach them in time"
            at = service.id
            common = Follows.common(
                f"The API server gets no answer from {at} (cluster {at.cluster}).", "unreached", *at.key
            )
            return replace(_explained(complaint, service, workload, why, "unreached"), follows=(common,))
    return None


_NO_ANSWER_IN_TIME = regex(r"context deadline exceeded|i/o timeout|no route to host|Client\.Timeout|awaiting headers")


def _available_since(workload: Resource) -> datetime | None:
    """The time since which a Deployment has enough ready pods; None if it has not."""
    found = condition(workload.live, "Available")
    return parse_time(found.get("lastTransitionTime")) if found and found.get("status") == "True" else None


_NEW = timedelta(minutes=5)


def _is_starting(complaint: Complaint, service: KnownObject, workload: Resource) -> bool:
    """True if this sync made the workload no earlier than the object that asks it, moments before: it needs a moment to start."""
    app = complaint.app
    operation = app.operation
    made = parse_time(dig(workload.live, "metadata", "creationTimestamp"))
    ended = operation.finished_at if operation else None
    if service.app.ref != app.ref or not (made and ended and operation and operation.started_at):
        return False
    return operation.started_at <= made and ended - made <= _NEW and KnownObject(app, workload).place >= complaint.place


def _workload_fault(workload: Resource) -> str:
    """The workload's fault, from its health or, since Argo CD 3.0 keeps no health in the list, from its own status."""
    if workload.health.status in _ILL:
        return f"is {workload.health.status}"
    status = mapping(workload.live, "status")
    ready = number_at(status, "readyReplicas") or number_at(status, "numberReady")
    return "has no ready pod" if status and not ready and not workload.health.status else ""


def _serves(service: Resource, workload: Resource) -> bool:
    """True if the Service's selector matches the workload's pods; both manifests must be known."""
    selector = mapping(service.any, "spec", "selector")
    base, _ = pod_spec(workload.any)
    labels = labels_of(mapping(workload.any, "spec", "template")) if base else {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _explained(
    complaint: Complaint, service: KnownObject, workload: Resource | None, why: str, topic: str
) -> Explained:
    app = service.app
    facts = {
        "service": str(service.id),
        "owner": str(app.ref),
        "namespace": service.id.namespace,
        "workload": str(workload.id) if workload else "",
        "command": Shell(kubectl_name(workload.id)) if workload else "",
        "object": complaint.subject,
        "app": str(complaint.app.ref),
        "later": str(KnownObject(app, workload).place.wave + 1) if workload else "",
    }
    foreign = app.ref != complaint.app.ref
    own = (Follows(Symptom.health(workload.id)),) if workload and not foreign else ()
    return Explained(
        "owner-ill",
        app.ref,
        workload.id if workload else None,
        f"{complaint.subject} gets no answer from {service.id}: {why}.",
        evidence=(
            f"the message names {service.id} of Application {app.ref}",
            why,
        ),
        fixes=advice(__package__, f"owner-ill/{topic}" if workload else "owner-ill/application", facts, complaint.id),
        follows=(Follows(app=app.ref),) if foreign else own,
        likely=True,
    )


def rewritten_certificate(complaint: Complaint) -> Iterator[Explained]:
    """A webhook or API whose certificate is not trusted, and whose configuration its own Application replaces at each sync.

    Replace=true and Force=true write the whole manifest: the caBundle that a controller added is gone until it is added again (kubectl
    replace; cert-manager's cainjector and webhook certgen jobs write the live object).
    """
    if not complaint.first(_NOT_TRUSTED):
        return
    read = (
        (None, KnownObject(owner, found, "webhook"))
        for owner, id_ in _configurations(complaint)
        if (found := _named_configuration(complaint, owner, id_))
    )
    for mention, known in (*mentioned_objects(complaint), *read):
        options = sorted(o for o in known.app.sync_options if o in ("Replace=true", "Force=true"))
        if "Replace=true" in options and (
            known.how == "webhook" or (mention and {"service", "webhook"} & set(mention.kinds))
        ):
            facts = {
                "options": " and ".join(options),
                "owner": str(known.app.ref),
                "left": sorted(known.app.sync_options - {"Replace=true", "Force=true"}),
                "service": str(known.id),
            }
            yield Explained(
                "rewritten-by",
                known.app.ref,
                None,
                f"{complaint.subject} is refused because Application {known.app.ref} syncs with {facts['options']}, which wipes the webhook's caBundle.",
                evidence=(
                    f"{known.id} belongs to Application {known.app.ref}; its syncOptions: {', '.join(sorted(known.app.sync_options))}",
                    "Replace=true writes the webhook configuration as in Git, without the caBundle that a controller has filled in",
                ),
                fixes=advice(__package__, "rewritten-by/replace", facts, complaint.id),
                likely=True,
            )
            return


_KEPT = regex(
    r"immutable|may not be (?:changed|removed|unset)|can(?:not|'t) be (?:changed|removed|unset|updated)|must be (?:specified|set)",
    re.IGNORECASE,
)
_MARK = regex(r"(?<![\w./-])([a-z0-9][\w.-]{0,252}/[\w.-]{1,63})(?![\w/])")


def removed_mark(complaint: Complaint) -> Iterator[Explained]:
    """A required label or annotation from a controller: Replace=true writes the manifest of Git without it."""
    app, id_ = complaint.app, complaint.id
    resource = app.held(id_)
    if resource is None or id_ is None or not has_sync_option(app.raw, resource.desired, "Replace=true"):
        return
    for text in complaint.texts:
        for name in _MARK.findall(text[:8000]) if _KEPT.search(text[:8000]) else ():
            for field in ("annotations", "labels"):
                if name in mapping(resource.live, "metadata", field) and name not in mapping(
                    resource.desired, "metadata", field
                ):
                    value = str(mapping(resource.live, "metadata", field)[name])
                    facts = {
                        "object": str(id_),
                        "name": name,
                        "field": field,
                        "value": excerpt(value, 200),
                        "app": str(app.ref),
                    }
                    own = has_sync_option({}, resource.desired, "Replace=true")
                    yield Explained(
                        "rewritten-by",
                        app.ref,
                        id_,
                        f"{id_} is refused because Replace=true removes its {field[:-1]} {name}, which a controller wrote.",
                        evidence=(
                            f"live has {field[:-1]} {name}, and Git does not; Replace=true is {'on the object' if own else 'in the syncOptions of its Application'}",
                        ),
                        fixes=advice(__package__, "rewritten-by/own", facts, id_),
                        pointer=f"/metadata/{field}",
                    )
                    return


def _named_configuration(complaint: Complaint, owner: App, id_: ResourceId) -> Resource | None:
    """The webhook configuration of another application, if it has a webhook that the sentence names."""
    found = peer(complaint.app, owner, id_)
    names = {text_at(webhook, "name") for webhook in maps(found.any, "webhooks")} if found else set()
    return found if any(name and f'"{name}"' in text for name in names for text in complaint.texts) else None


def ill_object(complaint: Complaint) -> Iterator[Explained]:
    """An object that the sentence names with its kind, and that Argo CD shows as Degraded or Missing."""
    for mention, known in mentioned_objects(complaint):
        kind = known.id.kind
        if (
            known.how != "name"
            or known.resource.health.status not in ("Degraded", "Missing")
            or kind in ("Pod", "Application")
        ):
            continue
        own = known.app.ref == complaint.app.ref
        if own and known.resource.health.status == "Missing":
            continue  # the sync has not created it yet, or Argo CD could not read the cluster
        if own and complaint.id is not None and _is_owned_by_it(complaint, known):
            continue
        owner = "" if own else f" of Application {known.app.ref}"
        health = known.resource.health
        facts = {"workload": str(known.id), "owner": str(known.app.ref), "command": Shell(kubectl_name(known.id))}
        yield Explained(
            "owner-ill",
            known.app.ref,
            known.id,
            f"{complaint.subject} depends on {known.id}{owner}, which is {health.status}.",
            evidence=(f"the message names {mention.name}", f"{known.id}: {health.status} {health.message}".rstrip()),
            fixes=advice(
                __package__, f"owner-ill/{'missing' if known.resource.missing else 'ill'}", facts, complaint.id
            ),
            follows=(Follows(app=known.app.ref),) if owner else (),
            likely=True,
        )
        return


def _needed_well(complaint: Complaint) -> Iterator[ResourceKey]:
    """What the object cannot become healthy without, in any application of its cluster."""
    id_, manifest = complaint.id, complaint.manifest
    wait = wait_of(id_.group, id_.kind, complaint.fleet) if id_ and manifest else None
    if manifest is not None and wait is not None and wait.well:
        for reference in needs(manifest, wait):
            yield ResourceKey(complaint.app.cluster, *place_in(reference, complaint.namespace))


def ill_need(complaint: Complaint) -> Iterator[Explained]:
    """An object that stays unhealthy as long as what it needs is not ready, whatever it says itself: a Certificate whose issuer is not ready."""
    app, fleet = complaint.app, complaint.fleet
    for key in _needed_well(complaint):
        owner = app if app.resource(key) else next((o for r in fleet.owners(key) if (o := fleet.by_ref.get(r))), None)
        needed = (app.resource(key) or peer(app, owner, key.id)) if owner else None
        if owner is None or needed is None:
            continue
        ready = condition(needed.live, "Ready") or {}
        if ready.get("status") != "False":
            continue
        of_app = "" if owner.ref == app.ref else f" of Application {owner.ref}"
        facts = {"workload": str(needed.id), "object": str(complaint.id), "command": Shell(kubectl_name(needed.id))}
        yield Explained(
            "owner-ill",
            owner.ref,
            needed.id,
            f"{complaint.id} depends on {needed.id}{of_app}, which is not ready.",
            evidence=(f"{needed.id}: Ready=False {excerpt(text_at(ready, 'message'), 400)}".rstrip(),),
            fixes=advice(__package__, "owner-ill/needs", facts, complaint.id),
            follows=(Follows(Symptom.health(needed.id)),),
        )
        return


_LEANS = regex(r"(?P<part>\w{0,60}?)(?:Ref|Reference|[Cc]luster)$")
_NOT_WELL = ("Degraded", "Missing", "Progressing")


def ill_owner(complaint: Complaint) -> Iterator[Explained]:
    """A custom resource that belongs to an unhealthy one of its application, by label or reference.

    Its sentence has a name that begins with the owner's, or a condition is named for the field of the reference: `NodeClassReady` for `nodeClassRef`.
    """
    app, id_ = complaint.app, complaint.id
    if id_ is None or complaint.manifest is None or "." not in id_.group:
        return
    words = frozenset(
        word for text in complaint.texts for word in re.findall(r"[a-z0-9][a-z0-9.-]{1,252}", text[:8000])
    )
    for needed in _named_owners(complaint.manifest, id_):
        by_condition = bool(needed.condition) and any(needed.condition in text for text in complaint.texts)
        if not by_condition and not any(word == needed.name or word.startswith(f"{needed.name}-") for word in words):
            continue
        other = next((r for r in app.resources if needed.is_(r, id_)), None)
        if other is None and needed.awaited and (found := _awaited_elsewhere(complaint, needed)):
            yield found
            return
        if other is None or other.id == id_ or other.health.status not in _NOT_WELL:
            continue
        facts = {
            "workload": str(other.id),
            "object": str(id_),
            "wave": str(KnownObject(app, other).place.wave + 1),
            "command": Shell(kubectl_name(other.id)),
        }
        yield Explained(
            "owner-ill",
            app.ref,
            other.id,
            f"{id_} depends on {other.id}, which is {other.health.status}.",
            evidence=(f"{other.id}: {other.health.status} {other.health.message}".rstrip(),),
            fixes=advice(__package__, "owner-ill/waits", facts, id_),
            follows=(Follows(Symptom.health(other.id)),),
            likely=True,
        )
        return


@dataclass(frozen=True, slots=True)
class _Needed:
    """An object that another one names: the kind is empty if only the group is known. `awaited`: it waits for one of its own kind (dependsOn).

    `condition`: the start of the condition that reports on it; empty if none is named after the field.
    """

    name: str
    kind: str
    namespace: str
    awaited: bool = False
    condition: str = ""

    def is_(self, resource: Resource, own: ResourceId) -> bool:
        return (
            resource.name == self.name
            and (resource.kind == self.kind if self.kind else resource.group == own.group)
            and resource.namespace in ("", self.namespace)
        )


def _named_owners(manifest: Object, own: ResourceId) -> Iterator[_Needed]:
    """The owners that the manifest names, and those of its own kind that it waits for, which may be in another namespace."""
    for one in maps(manifest, "spec", "dependsOn"):
        yield _Needed(text_at(one, "name"), own.kind, text_at(one, "namespace") or own.namespace, awaited=True)
    for key, value in labels_of(manifest).items():
        if key.endswith("/cluster"):
            yield _Needed(value, "", own.namespace)
    for spec in (mapping(manifest, "spec"), mapping(manifest, "spec", "template", "spec")):
        for key, value in spec.items():
            found = _LEANS.match(key)
            if found and isinstance(value, dict) and text_at(value, "name"):
                part = found["part"]
                condition = f"{part[0].upper()}{part[1:]}Ready=False" if part else ""
                yield _Needed(text_at(value, "name"), text_at(value, "kind"), own.namespace, condition=condition)


def _awaited_elsewhere(complaint: Complaint, needed: _Needed) -> Explained | None:
    """The object of another application for which this one waits, if that application is not well; the list has no health of its objects."""
    id_, fleet = complaint.id, complaint.fleet
    assert id_ is not None  # the caller has checked it
    for key in fleet.of_kind(id_.cluster, id_.group, needed.kind):
        owner = next((found for ref in fleet.owners(key) if (found := fleet.by_ref.get(ref)) is not None), None)
        if (key.name, key.namespace) != (needed.name, needed.namespace) or owner is None:
            continue
        if owner.ref == complaint.app.ref or owner.health.status not in _NOT_WELL:
            return None
        facts = {"workload": str(key.id), "owner": str(owner.ref), "command": Shell(kubectl_name(key.id))}
        return Explained(
            "owner-ill",
            owner.ref,
            key.id,
            f"{id_} waits for {key.id} of Application {owner.ref}, which is {owner.health.status}.",
            evidence=(f"/spec/dependsOn names {key.id}",),
            fixes=advice(__package__, "owner-ill/ill", facts, id_),
            follows=(Follows(app=owner.ref),),
            likely=True,
        )
    return None


def _is_owned_by_it(complaint: Complaint, known: KnownObject) -> bool:
    """True for objects that the complaining object owns: they are covered by other relations."""
    assert complaint.id is not None  # the caller has checked it
    node = complaint.app.node(complaint.id)
    return node is not None and any(child.id.key == known.id.key for child in complaint.app.descendants(node.uid))
