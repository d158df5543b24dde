"""A selector that matches nothing

What it finds: a Service, PodDisruptionBudget, NetworkPolicy, PodMonitor or ServiceMonitor whose selector matches no pod template and no live pod
(or no Service) of its cluster and namespace, while a similar one exists. That one has the same name, or labels that differ by a probable typing
error. Also an aggregated ClusterRole that has collected no rules, where another one has nearly the label. The message names the label that differs. Without a similar one, there is a finding if Argo CD shows everything in the namespace
(`orphanedResources` of the project).

Why it hurts: Argo CD shows the object Synced and Healthy. A Service without pods refuses every connection, a budget or policy
without pods protects nothing, a monitor without targets scrapes nothing and its alerts stay silent.

How to fix: select by the labels that the pods have. A workload's own selector cannot be changed later, so change the other side.

Example: a Service selects `app: check-out`, and the pods of Deployment checkout have `app: checkout`.

Sources: core/v1 ServiceSpec.selector; policy/v1; networking.k8s.io/v1; prometheus-operator's API reference. Not reported: headless and
ExternalName Services, selectors over all namespaces, pods that an operator may make, and selectors without a similar target, since other tools
may have made their targets. Pods of other applications in the namespace count; they are read only if a selector matches nothing of its own
application.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fix, Fleet, Location, Rank, Related, Rule, Symptom, Want
from argolint.edits import manifest_patch, manifest_text
from argolint.redaction import excerpt
from argolint.values import get, join_pointer

from ..shared.tracking import annotation_tracking_fix
from ..shared.triage import worth_reading
from ._aggregating import Uncollected, uncollected_roles
from ._selecting import (
    NearMember,
    Selecting,
    are_candidates_known,
    kinds,
    nearest_member,
    unmatched_objects,
    unmatched_peer_wants,
)
from ._surroundings import is_namespace_known, shown_object


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has kinds with selectors: Argo CD calls them Synced and Healthy, and the list has no selectors."""
    return any((row.group, row.kind) in kinds() for row in app.rows) and worth_reading(app, fleet)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Templates of other applications in the namespace, for a selector without a match in this one."""
    yield from unmatched_peer_wants(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that selects nothing."""
    for one in unmatched_objects(app):
        near = nearest_member(app, one)
        is_left = near is not None and one.selector.matches(near.member.was)  # the sync takes the labels away
        if not is_left and not are_candidates_known(app, fleet, one):
            continue
        if near is not None:
            yield _finding(app, fleet, one, near)
        elif one.namespaces and one.selector.equal and all(is_namespace_known(app, fleet, n) for n in one.namespaces):
            yield _no_similar_finding(app, one)
    yield from (_uncollected_finding(app, found) for found in uncollected_roles(app))


def _uncollected_finding(app: App, found: Uncollected) -> Finding:
    role, near = found.role, found.near
    (key, value), (has, held) = found.wanted, found.present
    move = [{"op": "add", "path": join_pointer("metadata", "labels", key), "value": value}]
    if has != key:
        move.insert(0, {"op": "remove", "path": join_pointer("metadata", "labels", has)})
    return Finding(
        message=f"{role.id} collects the rules of no ClusterRole, so it grants nothing: it asks for {key}={excerpt(value, 63)}, {near.kind} {near.name} has {has}={excerpt(held, 63)}.",
        at=Location(app.ref, role.id, found.at + join_pointer(key)),
        severity="error",
        confidence="likely",
        evidence=("the live role has no rules: the controller of aggregated roles found none",),
        related=(Related(app.ref, near.id, "/metadata/labels", "other"),),
        fixes=(manifest_patch(near.id, f"Give {near.id} the label that is asked for", move, safe=True),),
    )


def _no_similar_finding(app: App, one: Selecting) -> Finding:
    """The finding if no object of the namespace has the labels, or similar ones."""
    labels = ", ".join(f"{k}={excerpt(v, 63)}" for k, v in sorted(one.selector.equal.items())[:3])
    return Finding(
        message=f"{one.resource.id} selects no {one.kind.noun}: nothing in its namespace has {labels}, so {one.kind.so}.",
        at=Location(app.ref, one.resource.id, one.kind.at),
        severity="warning",
        confidence="likely",
        evidence=("the project watches orphaned resources, so that Argo CD shows all that the namespace holds",),
        fixes=(
            manifest_text(
                one.resource.id,
                f"Add what it is for, or remove {one.resource.kind} {one.resource.name}",
                f"no pod template, pod or Service of namespace {one.namespaces[0]} has {labels}\n",
            ),
        ),
        explains=(Symptom.health(one.resource.id),) if one.resource.health.status not in ("", "Healthy") else (),
    )


def _finding(app: App, fleet: Fleet, one: Selecting, near: NearMember) -> Finding:
    resource, member = one.resource, near.member
    key, wanted, present = near.differs[0]
    present_text = f"has {key}={excerpt(present, 63)}" if present else f"has no {key}"
    asks = f"{key}={excerpt(wanted, 63)}"
    overwritten = _is_overwritten(app, fleet, near)
    if overwritten:
        present_text = f"gets {key}={excerpt(present, 63)} from Argo CD"
    at = one.kind.at if one.kind.form == "labels" else f"{one.kind.at}/matchLabels"
    place = at + join_pointer(key)
    written = get(shown_object(resource), place, None) is not None
    return Finding(
        message=f"{resource.id} selects no {one.kind.noun}: it asks for {asks}, {member.id.kind} {member.id.name} {present_text}, so {one.kind.so}.",
        at=Location(app.ref, resource.id, place if written else one.kind.at),
        severity=one.kind.severity,
        confidence="proven" if near.has_live_pods and app.sync_status == "Synced" else "likely",
        evidence=tuple(_evidence(one, near)),
        related=(Related(member.app, member.id, member.at, "other"),),
        fixes=(annotation_tracking_fix("leaves the label as the chart writes it"),)
        if overwritten
        else (tuple(_fixes(one, near, at)) if written else ()) or (_manual_fix(one, near),),
        explains=(Symptom.health(resource.id),) if resource.health.status not in ("", "Healthy") else (),
    )


def _is_overwritten(app: App, fleet: Fleet, near: NearMember) -> bool:
    """Whether the one label that differs is the tracking label, which Argo CD overwrites in metadata.labels, so that a chart's release name is gone there."""
    member = near.member
    (key, _, present), *more = near.differs
    return (
        not more
        and fleet.tracking_method != "annotation"
        and key == fleet.label_key
        and member.app == app.ref
        and member.at == "/metadata/labels"
        and present == app.instance[:63]
    )


def _evidence(one: Selecting, near: NearMember) -> Iterator[str]:
    labels_text = ", ".join(f"{k}={excerpt(v, 63)}" for k, v in sorted(one.selector.equal.items()))
    yield f"the selector: {labels_text}"
    labels = sorted(near.member.labels.items())
    yield f"labels of {near.member.id}: " + (", ".join(f"{k}={excerpt(v, 63)}" for k, v in labels[:12]) or "none")
    if near.has_live_pods:
        yield "its live pods do not have the labels either"


def _manual_fix(one: Selecting, near: NearMember) -> Fix:
    text = f"let {one.kind.at} and the labels of {near.member.id} agree\n"
    return manifest_text(one.resource.id, f"Select labels that {near.member.id} has", text)


def _fixes(one: Selecting, near: NearMember, at: str) -> Iterator[Fix]:
    operations = []
    for key, _, there in near.differs:
        place = at + join_pointer(key)
        if there:
            operations.append({"op": "replace", "path": place, "value": there})
        else:
            operations.append({"op": "remove", "path": place})
    # a new label on the other side would need a new workload: its own selector cannot be changed
    if len(near.differs) < len(one.selector.equal) or all(there for _, _, there in near.differs):
        yield manifest_patch(one.resource.id, f"Select the labels of {near.member.id}", operations, safe=True)
    elif (
        other := next((k for k, v in sorted(near.member.labels.items()) if v == near.differs[0][1]), None)
    ) is not None:
        key, asked, _ = near.differs[0]
        yield manifest_patch(
            one.resource.id,
            f"Select the label under which {near.member.id} has the value",
            [
                {"op": "remove", "path": at + join_pointer(key)},
                {"op": "add", "path": at + join_pointer(other), "value": asked},
            ],
            safe=True,
        )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, reads=reads, rank=Rank.CAUSE)
