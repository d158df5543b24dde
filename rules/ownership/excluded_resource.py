"""The manifests contain a kind that Argo CD is configured to exclude

What it finds: an object of a kind that `resource.exclusions` (or the absence from `resource.inclusions`) excludes: `ExcludedResourceWarning`.
Since 3.0 these kinds are excluded by default in argocd-cm: Endpoints, EndpointSlices, Leases, review objects, CertificateSigningRequests,
CertificateRequests, policy reports and Cilium identities.

Why it hurts: the object is never applied, never compared and never pruned, while the Application shows Synced.

How to fix: remove it from the manifests, or replace it by a kind that Argo CD manages (an EndpointSlice written by hand becomes a Service of
type ExternalName). Or narrow the exclusion in argocd-cm.

Example: a Service without selector needs its hand-written Endpoints; after the upgrade to 3.0 a new cluster never gets them.

Sources: controller/state.go (CompareAppState), docs/operator-manual/upgrading/2.14-3.0.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Rank, ResourceId, Rule, Want
from argolint.edits import manifest_yaml
from argolint.values import dig
from argolint.values.kubernetes import CLUSTER_SCOPED, api_of
from argolint.values.patterns import regex

_MESSAGE = regex(r"Resource (?P<group>[^/\s]*)/(?P<kind>\S+) (?P<name>\S*) is excluded in the settings")
"""The name is empty if the manifest has a generateName."""
_CLUSTER_SCOPED = frozenset(
    (
        "CertificateSigningRequest",
        "CiliumEndpointSlice",
        "CiliumIdentity",
        "ClusterEphemeralReport",
        "ClusterPolicyReport",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    )
)
"""Kinds without a namespace among those that are excluded by default."""


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render, which has the object's own namespace."""
    if any(c.type == "ExcludedResourceWarning" for c in app.conditions):
        yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that an ExcludedResourceWarning names."""
    for condition in app.conditions:
        found = _MESSAGE.fullmatch(condition.message) if condition.type == "ExcludedResourceWarning" else None
        if found is None:
            continue
        resource = _resource_id(app, found["group"], found["kind"], found["name"])
        kind = f"{resource.group}/{resource.kind}" if resource.group else resource.kind
        default = " by default" if resource.kind in _DEFAULT and fleet.at_least(3, 0) else ""
        yield Finding(
            message=f"{_object_text(resource)} is never applied though {app.name} shows Synced: the settings exclude {kind}{default}.",
            at=Location(app.ref, resource),
            evidence=(f"condition ExcludedResourceWarning: {condition.message}",),
            fixes=tuple(_fixes(app, resource)),
            explains=(condition.symptom,),
        )


_DEFAULT = _CLUSTER_SCOPED | {
    "Endpoints",
    "EndpointSlice",
    "Lease",
    "LocalSubjectAccessReview",
    "CertificateRequest",
    "CiliumEndpoint",
    "EphemeralReport",
    "PolicyReport",
    "AdmissionReport",
    "BackgroundScanReport",
    "ClusterAdmissionReport",
    "ClusterBackgroundScanReport",
    "UpdateRequest",
}


def _object_text(resource: ResourceId) -> str:
    return str(resource) if resource.name else f"A {resource.kind} whose name is generated"


def _resource_id(app: App, group: str, kind: str, name: str) -> ResourceId:
    """The object with its namespace: its own, else the destination's; empty if the kind has none."""
    rendered: tuple[Object, ...] = app.evidence.get(Want("manifests")) or ()
    scopes = {
        (dig(m, "spec", "group"), dig(m, "spec", "names", "kind")): dig(m, "spec", "scope")
        for m in rendered
        if m.get("kind") == "CustomResourceDefinition"
    }
    known = kind in _CLUSTER_SCOPED or (group, kind) in CLUSTER_SCOPED
    scoped = known or scopes.get((group, kind)) == "Cluster"
    namespace, version = "" if scoped else app.destination_namespace, ""
    for obj in rendered:
        metadata = obj.get("metadata") or {}
        its_group, its_version = api_of(obj)
        if (its_group, obj.get("kind"), metadata.get("name") or "") == (group, kind, name):
            namespace, version = "" if scoped else metadata.get("namespace") or namespace, its_version
            break
    return ResourceId(group, kind, namespace, name, version, app.cluster)


def _fixes(app: App, resource: ResourceId) -> Iterator[Fix]:
    source = next((s for s in app.sources if s.get("path") or s.get("chart")), {})
    where = f"{source.get('path') or source.get('chart')} of {source.get('repoURL')}"
    if resource.kind in ("Endpoints", "EndpointSlice") and resource.group in ("", "discovery.k8s.io"):
        service = f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {resource.name}\n  namespace: {resource.namespace}\nspec:\n  type: ExternalName\n  externalName: <host name of the outside service>\n"
        yield manifest_yaml(
            where, "Point the Service at a host name", service, "needs an outside service with a DNS name"
        )
    yield Fix(
        "Remove the object from the manifests",
        "manifest",
        where,
        Edit(
            "command",
            f"grep -rn -- {quote(resource.name or f'kind: {resource.kind}')} {quote(str(source.get('path') or '.'))}\n",
        ),
        caveat="nothing changes on the cluster",
        safe=True,
    )
    yield Fix(
        f"Remove {resource.kind} from resource.exclusions",
        "argocd-settings",
        "ConfigMap argocd-cm, key resource.exclusions",
        Edit(
            "text",
            f'In data.resource.exclusions of ConfigMap argocd-cm remove {resource.kind} from the kinds of apiGroup "{resource.group}"; keep the other entries.\n',
        ),
        caveat="Argo CD then watches every object of the kind on every cluster",
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, rank=Rank.CAUSE)
