"""The input of a forecast: the current fleet, and what is known about it after an upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from argolint.application.app import App
from argolint.application.application_sets import Controller
from argolint.application.fleet import Fleet
from argolint.forecast.releases import Step, Version, has
from argolint.forecast.today import oldest_operator
from argolint.model import AppRef, Json, Object, Related, ResourceId, Severity
from argolint.values import mapping, parse_version, text_at

ARGOCD = "argocd"
_ON_CLUSTERS = frozenset({"kubernetes", "external-secrets"})


@dataclass(frozen=True)
class Hit:
    """One place where a condition holds. `fields` complete the row's sentence; an empty `severity` keeps the row's."""

    app: AppRef
    resource: ResourceId | None = None
    pointer: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    severity: Severity | None = None
    key: str = ""
    """For a place outside of applications, such as a project: see Finding.key."""


@dataclass(frozen=True, eq=False)
class World:
    """`steps`: the requested upgrades, by product; `unread`: the lists that the account cannot see."""

    fleet: Fleet
    steps: Mapping[str, Step]
    unread: frozenset[str] = frozenset()
    sets: Controller = field(default_factory=Controller)
    """The ApplicationSet controller's settings."""
    clusters: frozenset[str] = frozenset()
    """The clusters that --cluster names; empty for all."""

    def reaches(self, app: App, product: str, since: Sequence[Version]) -> bool:
        """Whether the upgrade brings a change to the application's cluster; the cluster may already have it, or be excluded."""
        if product not in _ON_CLUSTERS:
            return True
        if self.clusters and app.cluster not in self.clusters:
            return False
        runs = parse_version(self.fleet.kubernetes_version(app.cluster))
        if product != "kubernetes":
            runs = self._operators.get(app.cluster)
        return runs is None or not (has(runs, since) or runs >= self.steps[product].to)

    @cached_property
    def _operators(self) -> Mapping[str, Version | None]:
        """The oldest External Secrets Operator that each cluster may run."""
        return {server: oldest_operator(self.fleet, frozenset((server,)))[0] for server in self.fleet.clusters}

    @cached_property
    def after(self) -> After:
        """How Argo CD compares and tracks after its own upgrade."""
        way = self.steps.get(ARGOCD)
        if way is None:
            return After(self.fleet.settings, self.fleet.version, self.fleet.tracking_method)
        version = "v" + ".".join(map(str, way.to))
        settings = _settings_of_3(self.fleet.settings) if way.crosses([(3, 0, 0)]) else self.fleet.settings
        return After(settings, version, text_at(settings, "trackingMethod") or self.fleet.tracking_method)

    @cached_property
    def tracked_later(self) -> Fleet:
        """The current fleet with the settings of the next version."""
        return replace(self.fleet, settings=self.after.settings, version=self.after.version)


@dataclass(frozen=True, eq=False)
class After:
    """The settings and the version of the upgraded Argo CD."""

    settings: Object
    version: str
    tracking_method: str


_CRD = "apiextensions.k8s.io/CustomResourceDefinition"
_OF_2 = (
    "jqPathExpressions: null\njsonPointers:\n- /status\n- /spec/preserveUnknownFields\nmanagedFieldsManagers: null\n"
)
"""Effective settings of a 2.x for CRDs without `resource.compareoptions` or a customization."""
_OF_3 = "jqPathExpressions: null\njsonPointers:\n- /status\nmanagedFieldsManagers: null\n"


def _settings_of_3(settings: Object) -> Object:
    """The settings of a 2.x as 3.0 interprets the same argocd-cm: tracking by annotation, every status ignored, CRDs compared in full.

    docs/operator-manual/upgrading/2.14-3.0.md; util/settings/settings.go (GetResourceOverrides, AddStatusOverrideToGK).
    """
    overrides: dict[str, Json] = dict(mapping(settings, "resourceOverrides"))
    own = overrides.get(_CRD)
    if isinstance(own, Mapping) and own.get("ignoreDifferences") == _OF_2:
        overrides[_CRD] = {**own, "ignoreDifferences": _OF_3}
        every = overrides.get("*/*")
        if not mapping(every).get("ignoreDifferences"):
            overrides["*/*"] = {**mapping(every), "ignoreDifferences": _OF_3}
    tracking = {} if text_at(settings, "trackingMethod") else {"trackingMethod": "annotation"}
    return {**settings, **tracking, "resourceOverrides": overrides}
