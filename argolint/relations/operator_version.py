"""Determines a cluster's External Secrets Operator version from Argo CD's answers, as narrowly as possible.

Exact evidence comes first (the operator's image in some application's summary, its chart revision, the chart's labels), then bounds: the
kinds that the cluster serves, the fields and defaults of a managed CRD, the wording of conditions and the hash in
`status.syncedResourceVersion`. What each of them implies is data (operator_versions.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.model import Json, Object, ResourceId, Want
from argolint.values import dig, items, labels_of, parse_version
from argolint.values.knowledge import load
from argolint.values.patterns import regex

Version = tuple[int, ...]

_IMAGE = regex(
    r"(?:^|/)(?:external-secrets|bitnami(?:legacy|secure)?)/external-secrets:v?(\d{1,9}\.\d{1,9}\.\d{1,9})(?:-|@|$)",
    re.ASCII,
)
_CHART = "helm.sh/chart"
_CRD = "externalsecrets.external-secrets.io"
_EXACT = regex(r"^v?\d{1,9}\.\d{1,9}\.\d{1,9}$", re.ASCII)


@dataclass(frozen=True)
class OperatorVersion:
    """A range of versions: from `low` up to but without `below`; None is open."""

    low: Version | None = None
    below: Version | None = None
    exact: Version | None = None

    @property
    def known(self) -> bool:
        return self.exact is not None

    def at_least(self, version: str) -> bool | None:
        """True or False if the evidence decides, else None."""
        wanted = parse(version)
        if self.exact is not None:
            return self.exact >= wanted
        if self.low is not None and self.low >= wanted:
            return True
        if self.below is not None and self.below <= wanted:
            return False
        return None

    def __str__(self) -> str:
        if self.exact is not None:
            return text(self.exact)
        if self.low is not None and self.below is not None:
            return f"{text(self.low)} or later, before {text(self.below)}"
        if self.low is not None:
            return f"{text(self.low)} or later"
        return f"older than {text(self.below)}" if self.below is not None else "of unknown version"


def parse(version: str) -> Version:
    """`v0.11.0` as numbers; ValueError if it is no plain version."""
    found = parse_version(version) if _EXACT.match(version) else None
    if found is None:
        raise ValueError(f"not a version: {version!r}")
    return found


def text(version: Version) -> str:
    return "v" + ".".join(map(str, version))


def version_of(app: App, fleet: Fleet) -> OperatorVersion:
    """The version on an application's cluster, from the application and the fleet."""
    return app.derive(_version_of, fleet)


def _version_of(app: App, fleet: Fleet) -> OperatorVersion:
    own = (
        r
        for r in app.resources
        if (
            r.kind == "ExternalSecret"
            or _is_crd(r)
            or (r.mentions(_CHART, "live") and r.mentions("external-secrets-", "live"))
        )
        and r.live is not None
        and (r.kind == "ExternalSecret" or _chart(r.live) or _is_crd(r))
    )
    peers = (found.live for want in wants_crd(app, fleet) if (found := app.evidence.get(want)) is not None)
    return operator_version(fleet, app.cluster, (*(r.live for r in own if r.live), *(p for p in peers if p)))


def wants_crd(app: App, fleet: Fleet) -> Iterator[Want]:
    """A want for the CRD of ExternalSecrets, if another application manages it and there is no exact evidence."""
    if any(True for _ in _exact(fleet, app.cluster)):
        return
    crd = ResourceId("apiextensions.k8s.io", "CustomResourceDefinition", "", _CRD, cluster=app.cluster)
    yield from (Want("peer", crd, app=owner) for owner in fleet.owners(crd.key)[:1] if owner != app.ref)


def _is_crd(resource: Resource) -> bool:
    return resource.kind == "CustomResourceDefinition" and resource.name == _CRD


def operator_version(fleet: Fleet, cluster: str, objects: Iterable[Object] = ()) -> OperatorVersion:
    """The version on `cluster`; `objects` are live ExternalSecrets, their CRD, and objects with the chart's labels."""
    seen = tuple(objects)
    exact = {*_exact(fleet, cluster), *(v for o in seen if (v := _labelled(o)) is not None)}
    if len(exact) == 1:
        return OperatorVersion(exact=exact.pop())
    if exact:
        return OperatorVersion(low=min(exact), below=_next(max(exact)))
    low: Version | None = None
    below: Version | None = None
    for bound in (*fleet.derive(_served, cluster), *(b for o in seen for b in (*_states(o), *_schema(o)))):
        if since := bound.get("since"):
            low = max(low or parse(since), parse(since))
        if until := bound.get("until"):
            below = min(below or parse(until), parse(until))
    if low is not None and below is not None and low >= below:
        return OperatorVersion()  # CRDs and operator have different versions: no bound is reliable
    return OperatorVersion(low, below)


def _next(version: Version) -> Version:
    return version[0], version[1], version[2] + 1


def _exact(fleet: Fleet, cluster: str) -> frozenset[Version]:
    """The exact versions; computed once per cluster, since it searches the whole fleet."""
    return fleet.derive(_all_named, cluster)


def _all_named(fleet: Fleet, cluster: str) -> frozenset[Version]:
    return frozenset(_named(fleet, cluster))


def _named(fleet: Fleet, cluster: str) -> Iterator[Version]:
    for app in fleet.apps:
        if app.cluster != cluster:
            continue
        for image in items(app.brief, "status", "summary", "images"):
            if found := _IMAGE.search(str(image)):
                yield parse(found[1])
        for source in app.sources:
            revision = str(source.get("targetRevision") or "")
            chart = str(source.get("chart") or "").rpartition("/")[2]
            if chart == "external-secrets" and _EXACT.match(revision):
                yield parse(revision)


def _chart(obj: Object) -> str:
    """The chart's version: it writes `helm.sh/chart: external-secrets-X.Y.Z` on every object."""
    name, _, version = str(labels_of(obj).get(_CHART) or "").rpartition("-")
    return version if name == "external-secrets" and _EXACT.match(version) else ""


def _labelled(obj: Object) -> Version | None:
    version = _chart(obj)
    return parse(version) if version else None


def _served(fleet: Fleet, cluster: str) -> tuple[Object, ...]:
    """The implications of the kinds that the cluster serves."""
    data = load(__package__, "operator_versions.yaml")
    served = fleet.api_versions(cluster)
    if not any(kind.startswith("external-secrets.io/") and kind.endswith("/ExternalSecret") for kind in served):
        return ()
    bounds = (bound for bound in data["served"] if bound["kind"] in served)
    return (*bounds, *(b for b in data["absent"] if b["kind"] not in served and b.get("unless") not in served))


def _states(obj: Object) -> Iterator[Object]:
    data = load(__package__, "operator_versions.yaml")
    if not str(obj.get("apiVersion", "")).startswith("external-secrets.io/") or obj.get("kind") != "ExternalSecret":
        return
    for condition in items(obj, "status", "conditions"):
        yield from (b for b in data["messages"] if re.search(b["match"], str(dig(condition, "message") or "")))
    _, _, digits = str(dig(obj, "status", "syncedResourceVersion") or "").rpartition("-")
    yield from (bound for bound in data["hashes"] if bound["digits"] == len(digits))


def _schema(obj: Object) -> Iterator[Object]:
    """The implications of the fields of the CRD's storage version."""
    if obj.get("kind") != "CustomResourceDefinition" or dig(obj, "metadata", "name") != _CRD:
        return
    storage = next((v for v in items(obj, "spec", "versions") if dig(v, "storage")), None)
    spec = dig(storage, "schema", "openAPIV3Schema", "properties", "spec")
    if not isinstance(spec, dict):
        return
    for entry in load(__package__, "operator_versions.yaml")["fields"]:
        found = _field(spec, entry["path"])
        if "default" in entry:
            if isinstance(found, dict) and found.get("default") == entry["default"]:
                yield {"since": entry["since"], "until": entry["until"]}
            elif isinstance(found, dict) and "default" not in found:
                yield {"since": entry["until"]}
        else:
            yield {"since": entry["since"]} if found is not None else {"until": entry["since"]}


def _field(schema: Json, path: str) -> Json:
    for part in path.split("."):
        schema = dig(schema, "items") if part == "[]" else dig(schema, "properties", part)
    return schema


def possible(version: OperatorVersion, bug: Object) -> bool:
    """Whether the operator may have one of the versions in a row of version_bugs.yaml."""
    if bug.get("certain_version"):
        return version.at_least(bug["from"]) is True and version.at_least(bug["until"]) is False
    return version.at_least(bug["from"]) is not False and version.at_least(bug["until"]) is not True
