"""Turns a finding that quotes a sentence into one that explains how its object relates to what the sentence names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace

from argolint.model import Finding, Related, Relation, Want
from argolint.redaction import excerpt
from argolint.relations.admission import not_granted, refused_by_gateway, wanted_gateways
from argolint.relations.child import (
    child_condition,
    full_volume,
    present_object,
    wanted_of_children,
)
from argolint.relations.counterpart import (
    refusing_broker,
    secret_in_other_namespace,
    unselecting_service,
    wanted_brokers,
)
from argolint.relations.denied import pod_security_level, unspecified_resources
from argolint.relations.entries import entry_of_another
from argolint.relations.explained import Explained
from argolint.relations.foreign import foreign
from argolint.relations.ill import (
    ill_need,
    ill_object,
    ill_owner,
    removed_mark,
    rewritten_certificate,
    unanswered_service,
    wanted_of_peers,
)
from argolint.relations.judged import contradicted_health
from argolint.relations.later import later_object
from argolint.relations.look_up import Complaint
from argolint.relations.made import maker_of_kind
from argolint.relations.other_scope import other_scope
from argolint.relations.source import (
    address_without_colon,
    chart_in_address,
    chart_of_git,
    credentials_elsewhere,
    deep_hub_address,
    ignored_chart,
    picked_version,
    unexpanded_template,
)
from argolint.relations.spec import container_of_target, placeholder, refused_value, unknown_field
from argolint.relations.taken import crd_names, missing_service, secret_of_another, taken_object
from argolint.relations.unobserved import unobserved_spec

Finder = Callable[[Complaint], Iterator[Explained]]
_FINDERS: tuple[Finder, ...] = (
    unexpanded_template,
    placeholder,
    later_object,
    address_without_colon,
    chart_of_git,
    ignored_chart,
    chart_in_address,
    deep_hub_address,
    picked_version,
    credentials_elsewhere,
    container_of_target,
    crd_names,
    taken_object,
    secret_of_another,
    missing_service,
    not_granted,
    other_scope,
    unselecting_service,
    secret_in_other_namespace,
    refusing_broker,
    refused_value,
    unknown_field,
    removed_mark,
    rewritten_certificate,
    maker_of_kind,
    pod_security_level,
    unspecified_resources,
    foreign,
    unanswered_service,
    ill_object,
    ill_need,
    ill_owner,
    entry_of_another,
    refused_by_gateway,
    unobserved_spec,
    contradicted_health,
    present_object,
    full_volume,
    child_condition,
)
"""The first that finds something decides: causes that someone can change in Git come first (`model.RelationKind`)."""


def relation_of(complaint: Complaint) -> Explained | None:
    """The relation that decides; None if none applies."""
    if complaint.app.deleting:
        return None
    found = (explained for finder in _FINDERS for explained in finder(complaint))
    return next(found, None)


def related_wants(complaint: Complaint) -> Iterator[Want]:
    """What must be read to see a relation: children that may show the reason, and the workloads behind a Service of another application."""
    yield from wanted_of_children(complaint)
    yield from wanted_of_peers(complaint)
    yield from wanted_gateways(complaint)
    yield from wanted_brokers(complaint)


def resolved(finding: Finding, complaint: Complaint, causes: Container[str] = ()) -> Finding:
    """The finding as the relation explains it; unchanged if none decides.

    Its own sentence becomes evidence, and its own fixes are dropped: they assume another cause. `causes`: the words of its rule that a relation may give.
    """
    explained = relation_of(complaint)
    if explained is None:
        return finding
    related = Related(explained.app, explained.resource, role="cause")
    return replace(
        finding,
        message=explained.message,
        at=replace(finding.at, pointer=explained.pointer or finding.at.pointer),
        confidence="likely" if explained.likely else finding.confidence,
        cause=explained.cause if explained.cause in causes else finding.cause,
        evidence=(*explained.evidence, excerpt(finding.message, 600), *finding.evidence),
        fixes=explained.fixes,
        related=(related, *(r for r in finding.related if (r.app, r.resource) != (related.app, related.resource))),
        follows=(*explained.follows, *finding.follows),
        relation=Relation(explained.kind, explained.app, explained.resource),
    )
