"""ClusterRoles that collect the rules of others by labels, and found none.

The live object says it: kube-controller-manager writes what it collects into its `rules` (pkg/controller/clusterroleaggregation). Any application
of the cluster, and Kubernetes itself, may bring the roles that are collected, so only a probable misspelling is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint import App, Resource
from argolint.values import items, labels_of, maps
from argolint.values.patterns import regex

from ..shared.labels import Selector, is_similar_name, label_selector

_OF_KUBERNETES = regex(r"rbac\.authorization\.k8s\.io/aggregate-to-\w{1,60}")
"""Labels by which Kubernetes' own roles collect."""


@dataclass(frozen=True, slots=True)
class Uncollected:
    """An aggregated role without rules, the label that it asks for, and a role with nearly that label."""

    role: Resource
    at: str
    wanted: tuple[str, str]
    near: Resource
    present: tuple[str, str]


def uncollected_roles(app: App) -> Iterator[Uncollected]:
    """One for each aggregated ClusterRole of the application whose selectors collect nothing."""
    roles = [r for r in app.of_kind("ClusterRole", "rbac.authorization.k8s.io") if r.live is not None and not r.hook]
    selectors = {r.key: [(at, s) for at, s in _selectors(r) if s.equal and not s.others] for r in roles}
    asked = {pair for found in selectors.values() for _, selector in found for pair in selector.equal.items()}
    for role in roles:
        if not selectors[role.key] or items(role.live, "rules") or items(role.desired, "rules"):
            continue
        if any(s.matches(labels_of(r.any)) for r in roles if r.key != role.key for _, s in selectors[role.key]):
            continue  # that one may itself have no rules
        found = (
            Uncollected(role, at, wanted, other, present)
            for at, selector in selectors[role.key]
            for wanted in sorted(selector.equal.items())
            for other in roles
            if other.key != role.key and items(other.live, "rules")
            for present in sorted(labels_of(other.any).items())
            if present not in asked and not _OF_KUBERNETES.fullmatch(present[0]) and _is_meant(wanted, present)
        )
        if (first := next(found, None)) is not None:
            yield first


def _selectors(role: Resource) -> Iterator[tuple[str, Selector]]:
    for place, each in enumerate(maps(role.any, "aggregationRule", "clusterRoleSelectors")):
        if (selector := label_selector(each)) is not None:
            yield f"/aggregationRule/clusterRoleSelectors/{place}/matchLabels", selector


def _is_meant(wanted: tuple[str, str], present: tuple[str, str]) -> bool:
    """Whether one of key and value is the same, and the other a misspelling."""
    if wanted[0] == present[0]:
        return wanted[1].lower() == present[1].lower() or is_similar_name(wanted[1], present[1])
    return wanted[1] == present[1] and is_similar_name(wanted[0], present[0])
