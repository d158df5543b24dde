"""The Application's spec is refused

What it finds: an InvalidSpecError. The project does not permit the destination or the repository, the project does not exist, the destination is
no cluster of this Argo CD, or the source lacks a field. `cause` is one of `destination`, `repository`, `project`, `cluster`, `source`,
`unknown`.

Why it hurts: sync and health are Unknown and Argo CD does not reconcile the application at all; the objects in status.resources are old.

How to fix: correct the Application if it is wrong; widen its project if the Application is right.

Example: project `edge` permits only the cluster `edge`, and one of its applications names another server.

Sources: util/argo/argo.go (ValidatePermissions, ValidateRepo), controller/appcontroller.go of Argo CD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from argolint import App, Condition, Finding, Fix, Fleet, Follows, Location, Rule, Symptom
from argolint.edits import application_place
from argolint.edits.advice import advice
from argolint.messages import in_passing, quoting
from argolint.redaction import excerpt
from argolint.values import maps, text_at
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from ._comparison import ComparisonFault, comparison_fault
from ._sources import pointer_of_source, source_in

_NO_NAMESPACE = r"^Namespace for \S+ .* is missing"  # controller/state.go: neither manifest nor destination has one

_RENDERING = regex(r"^Unable to (?:get app details|generate manifests)\b|^repositor(?:y|ies) not accessible\b")
"""Errors of the fetch or the rendering of a valid source (util/argo/argo.go, ValidateRepo)."""


def classify(message: str) -> str:
    """destination, repository, project, cluster, source or unknown."""
    found = catalogue().match(message, "spec")
    return found.entry.cause if found else "unknown"


def _fault_sentence(message: str, rendering: ComparisonFault | None) -> str:
    """The fault in a sentence; empty if its kind is unknown."""
    known = catalogue().match(message, "spec")
    fact = rendering.fact if rendering else _NO_NAMESPACE_SENTENCE if re.match(_NO_NAMESPACE, message) else ""
    return fact or (known.says if known else "")


_NO_NAMESPACE_SENTENCE = "neither a manifest nor its destination names a namespace"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each InvalidSpecError."""
    for condition in app.conditions:
        lost = app.deleting and classify(condition.message) == "cluster"  # finalizer-stuck says what that keeps
        if condition.type == "InvalidSpecError" and not lost:
            yield _finding(app, fleet, condition)


def _finding(app: App, fleet: Fleet, condition: Condition) -> Finding:
    cause = classify(condition.message)
    rendering = _rendering_fault(app, fleet, condition.message)
    pointer = {
        "destination": "/spec/destination" + ("/namespace" if re.match(_NO_NAMESPACE, condition.message) else ""),
        "cluster": "/spec/destination",
        "project": "/spec/project",
        "repository": pointer_of_source(app, condition.message) + "/repoURL",
        "source": pointer_of_source(app, condition.message),
    }.get(cause, "/spec")
    going = "is being deleted with a spec that Argo CD refuses" if app.deleting else "cannot sync"
    subject = f"Application {app.ref} {going}"
    matters = not app.deleting or cause in _OF_DELETION
    denying = _denying_entry(app, fleet) if cause == "destination" else ""
    fact = (
        f"project {app.project} excludes its destination by {denying}"
        if denying
        else _fault_sentence(condition.message, rendering)
    )
    return Finding(
        message=in_passing(f"{subject}: {fact}", condition.message) if fact else quoting(subject, condition.message),
        at=Location(app.ref, None, rendering.pointer or pointer if rendering else pointer),
        severity="error" if matters else "info",
        cause="source" if rendering else cause,
        evidence=(
            f"condition InvalidSpecError: {excerpt(condition.message, 600)}",
            *(_LEFT if app.deleting and cause == "destination" else ()),
        ),
        fixes=()
        if not matters
        else rendering.fixes
        if rendering
        else tuple(_fixes(app, fleet, cause, condition.message)),
        explains=(
            condition.symptom,
            Symptom.sync(),
            Symptom.health(),
            Symptom.operation(),
            Symptom.condition("SyncError"),
        ),
        follows=tuple(Follows(c.symptom, mended=True) for c in app.conditions if c.type == "DeletionError"),
    )


_OF_DELETION = frozenset({"destination", "project"})
"""What a deletion needs of the spec: it reads the project, and deletes only objects that this permits (controller/appcontroller.go)."""
_LEFT = ("a deletion leaves objects that the project does not permit, and ends without them",)


def _rendering_fault(app: App, fleet: Fleet, message: str) -> ComparisonFault | None:
    """The fault in the rendering, by the same catalogue as a failed comparison; None if it is something else."""
    found = comparison_fault(app, fleet, message) if _RENDERING.search(message) else None
    return found if found and found.name != "unknown" else None


def _fixes(app: App, fleet: Fleet, cause: str, message: str) -> Iterator[Fix]:
    facts = _facts(app, fleet, message)
    if re.match(_NO_NAMESPACE, message):
        yield from advice(__package__, "invalid-spec/no-namespace", facts)
        return
    if cause == "destination" and facts["denying"]:
        yield from advice(__package__, "invalid-spec/denied-destination", facts)
        return
    for other in _permitted_servers(app, fleet) if cause == "destination" else ():
        yield from advice(__package__, "invalid-spec/permitted-destination", {**facts, **other})
    known = catalogue().match(message, "spec")
    topic = "no-project" if known and known.entry.id == "spec/no-project" else cause
    if topic == "no-project" and app.deleting:
        yield from advice(__package__, "finalizer-stuck/no-project", {**facts, "name": app.project})
        return
    yield from advice(__package__, f"invalid-spec/{topic}", facts)


def _facts(app: App, fleet: Fleet, message: str) -> Mapping[str, str]:
    """The facts for the invalid-spec topics in advice.yaml."""
    return {
        "app": str(app.ref),
        "place": application_place(app),
        "app_namespace": app.ref.namespace,
        "name": app.ref.name,
        "project": app.project,
        "projects": ", ".join(sorted(p for p in fleet.projects if p != app.project)[:10]),
        "cluster": app.cluster,
        "clusters": ", ".join(sorted(fleet.clusters)[:10]),
        "destination_namespace": app.destination_namespace or "*",
        "repo": excerpt(str(source_in(app, message).get("repoURL") or "")),
        "message": excerpt(message, 600),
        "denying": _denying_entry(app, fleet),
    }


def _denying_entry(app: App, fleet: Fleet) -> str:
    """The project's negated entry that denies this destination although another entry permits it; empty if there is none.

    pkg/apis/application/v1alpha1/app_project_types.go, IsDestinationPermitted: a `!` entry wins over every other.
    """
    entries = maps(fleet.projects.get(app.project), "spec", "destinations")
    here, name = app.destination_namespace, text_at(app.spec, "destination", "name")
    permits = any(
        fnmatchcase(here, text_at(d, "namespace"))
        and (fnmatchcase(app.cluster, text_at(d, "server")) or (name and fnmatchcase(name, text_at(d, "name"))))
        for d in entries
        if not any(text_at(d, field).startswith("!") for field in ("namespace", "server", "name"))
    )
    destination = {"namespace": here, "server": app.cluster, "name": name}
    return next(
        (
            text_at(d, field)
            for d in entries
            for field, value in destination.items()
            if permits and text_at(d, field).startswith("!") and value and fnmatchcase(value, text_at(d, field)[1:])
        ),
        "",
    )


def _permitted_servers(app: App, fleet: Fleet) -> Iterator[Mapping[str, str]]:
    """The other servers that the project permits; `pattern` is the pattern for their namespaces, if there is one."""
    for destination in maps(fleet.projects.get(app.project), "spec", "destinations"):
        server, namespace = str(destination.get("server") or ""), str(destination.get("namespace") or "")
        if namespace.startswith("!"):
            continue  # it withdraws a permission
        if server and "*" not in server and not server.startswith("!") and server != app.cluster:
            yield {
                "server": server,
                "namespace": app.destination_namespace if namespace in ("*", "") else namespace,
                "pattern": namespace if "*" in namespace and namespace != "*" else "",
            }


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    causes=("destination", "repository", "project", "cluster", "source", "unknown"),
)
