"""denied-by: a quota or the Pod Security level of the namespace refuses the pods."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.fleet import Fleet
from argolint.edits import application_place
from argolint.edits.advice import advice
from argolint.model import AppRef, Object, ResourceId
from argolint.relations.child import template_of
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import dig, enumerated, mapping, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex
from argolint.values.pod_security import LEVEL, level_for, rights, violations

_LEVEL = regex(r'violates PodSecurity "(restricted|baseline)(?::[^"]{0,40})?"')
_MUST = regex(r"failed quota: ([a-z0-9][\w.-]{0,252}): must specify ([^\n]{1,2000})")

USUAL_REQUESTS = {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "100Mi"}
"""Suggested first requests for a container without any."""


def pod_security_level(complaint: Complaint) -> Iterator[Explained]:
    """Pod Security refuses settings that the manifest has on purpose; CreateNamespace=true created the namespace without labels."""
    app, id_ = complaint.app, complaint.id
    found = complaint.first(_LEVEL)
    if found is None or id_ is None or complaint.manifest is None:
        return
    spec = pod_spec(complaint.manifest)[1]
    asked = rights(violations(spec, found[1]))
    namespace = complaint.namespace
    owner = namespace_owner(complaint.fleet, app.cluster, namespace)
    made = "CreateNamespace=true" in app.sync_options and namespace == app.destination_namespace
    if not asked or not (owner or made):
        return
    facts = {
        "object": str(id_),
        "namespace": namespace,
        "asked": enumerated(asked, limit=3),
        "place": application_place(app),
        "owner": str(owner[0]) if owner else "",
        "created": not owner,
        "level": level_for(spec),
    }
    labelled = text_at(mapping(app.spec, "syncPolicy", "managedNamespaceMetadata", "labels"), LEVEL)
    how = (
        f"Namespace {namespace} of Application {owner[0]}"
        if owner
        else f"Namespace {namespace}, which managedNamespaceMetadata labels,"
        if labelled
        else f"Namespace {namespace}, which CreateNamespace=true makes bare,"
    )
    yield Explained(
        "denied-by",
        owner[0] if owner else app.ref,
        owner[1] if owner else None,
        f"{id_} needs {facts['asked']}, but {how} allows only Pod Security level {found[1]}.",
        evidence=(f"Git asks for {', '.join(asked)}", f'the message: violates PodSecurity "{found[1]}"'),
        fixes=advice(__package__, "denied-by/level", facts, id_),
    )


def namespace_owner(fleet: Fleet, cluster: str, name: str) -> tuple[AppRef, ResourceId] | None:
    """The application that brings the namespace, and the namespace's id; None if no application does."""
    for key in fleet.of_kind(cluster, "", "Namespace"):
        if key.name == name and (owners := fleet.owners(key)):
            return owners[0], ResourceId("", "Namespace", "", name, "v1", cluster)
    return None


def unspecified_resources(complaint: Complaint) -> Iterator[Explained]:
    """A quota requires requests or limits of every container, and this container has none; the quota is not used up."""
    found = complaint.first(_MUST)
    if found is None or complaint.id is None:
        return
    quota, rest = found[1], found[2]
    wanted: dict[str, list[str]] = {}
    for part in rest.split(";"):
        resource, separator, names = part.partition(" for: ")
        for name in names.split(",") if separator else ():
            wanted.setdefault(name.strip(), []).append(resource.strip())
    if not wanted:  # before Kubernetes 1.25 the message has no containers, only the resources
        wanted[""] = [word.strip() for word in rest.split(",")][:8]
    name = next(iter(wanted))
    manifest, child = template_of(complaint)
    places = {text_at(c, "name"): pointer for pointer, c in containers(manifest)}
    pointer = places.get(name) or _container_without(manifest, wanted[name])
    own = next((n for n, p in places.items() if p == pointer), name)
    what = enumerated(
        sorted({w if w.startswith(("limits.", "requests.")) else f"requests.{w}" for w in wanted[name]}), limit=4
    )
    facts = {
        "object": str(complaint.id),
        "container": own,
        "quota": f"ResourceQuota {complaint.namespace}/{quota}",
        "what": what,
        "namespace": complaint.namespace,
        "fields": _resources_yaml(wanted[name]),
        "child": child,
        "injected": bool(child) or (bool(name) and bool(places) and name not in places),
    }
    of = child or str(complaint.id)
    shown = f"container {own} of {of}" if own else f"a container of {of}"
    yield Explained(
        "denied-by",
        complaint.app.ref,
        ResourceId("", "ResourceQuota", complaint.namespace, quota, "v1", complaint.app.cluster),
        f"{shown[0].upper()}{shown[1:]} sets no {what}, and {facts['quota']} refuses pods without it.",
        evidence=(f"the message: must specify {rest[:300]}", "the quota is not used up"),
        fixes=advice(__package__, "denied-by/unspecified", facts, complaint.id),
        pointer=f"{pointer}/resources" if pointer and not child else "",
    )


def _container_without(manifest: Object | None, wanted: list[str]) -> str:
    """The first container without one of `limits.cpu`, `requests.memory`…, if the message names none."""
    for pointer, container in containers(manifest):
        for what in wanted:
            section, _, resource = what.partition(".") if "." in what else ("requests", "", what)
            if dig(container, "resources", section, resource) is None:
                return pointer
    return ""


def _resources_yaml(wanted: list[str]) -> str:
    """The resources to add, as YAML with placeholder values."""
    sections: dict[str, list[str]] = {}
    for what in wanted[:8]:
        section, _, resource = (
            what.partition(".") if what.startswith(("limits.", "requests.")) else ("requests", "", what)
        )
        sections.setdefault(section, []).append(resource)
    return "resources:" + "".join(
        f"\n  {section}:" + "".join(f"\n    {r}: {USUAL_REQUESTS.get(r, '1')}" for r in sorted(set(named)))
        for section, named in sorted(sections.items())
    )
