"""How an application changes its name, its place or its cluster without an object being deleted on the way: the plan, or why there is none.

The order is that of the hand-over of a shared object (argolint.edits.handover): the one that lets go may neither prune nor delete,
the taker syncs in full, and what let go is taken away only once the live objects name their taker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import TRACKING_ID
from argolint.edits.handover import names, sync, untrack
from argolint.edits.pruning import cascades
from argolint.forecast.fate import FAMILY, Effect
from argolint.model import Edit, Finding, Fix, Location, Object, Related, ResourceId, Severity
from argolint.values import (
    dig,
    enumerated,
    items,
    maps,
    owner_references,
    same_repository,
    sh,
    text_at,
)
from argolint.values.glob import matches

RULE = "forecast-move"
EFFECT: Mapping[str, Effect] = {
    "name-taken": "refuses",
    "target-unknown": "refuses",
    "template-differs": "refuses",
    "application-deleting": "refuses",
    "same-place": "refuses",
    "set-deletes-objects": "refuses",
    "set-makes-it-again": "refuses",
    "parent-deletes-objects": "refuses",
    "shared-objects": "refuses",
    "other-cluster": "refuses",
    "project-forbids": "refuses",
    "kinds-not-served": "refuses",
    "data-stays": "breaks",
    "release-name": "breaks",
    "namespace-differs": "breaks",
}
_SEVERITY: Mapping[str, Severity] = {"refuses": "error", "breaks": "warning"}

Where = Literal["rename", "to", "to-set", "to-cluster"]


@dataclass(frozen=True)
class Step:
    what: str
    command: str = ""
    check: str = ""


@dataclass(frozen=True)
class Plan:
    """The steps, empty where something refuses, and what there is to say."""

    about: str
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = field(default_factory=tuple)


def plan(app: App, fleet: Fleet, where: Where, target: str) -> Plan:
    """The move of one application, which has been read, to a `target`: a name, an application, a set or a cluster."""
    about = f"{app.ref} {_ABOUT[where]} {target}"
    found = [*_common(app, fleet, where, target), *_OF[where][0](app, fleet, target)]
    if any(EFFECT[f.cause or ""] == "refuses" for f in found):
        return Plan(about, (), tuple(found))
    return Plan(about, tuple(_OF[where][1](app, fleet, target)), tuple(found))


_ABOUT: Mapping[str, str] = {
    "rename": "to the name",
    "to": "into the application",
    "to-set": "to the ApplicationSet",
    "to-cluster": "to the cluster",
}


def _found(
    cause: str,
    app: App,
    message: str,
    *,
    at: ResourceId | None = None,
    related: Sequence[Related] = (),
    fix: Fix | None = None,
) -> Finding:
    return Finding(
        message=message,
        at=Location(app.ref, at),
        cause=cause,
        severity=_SEVERITY[EFFECT[cause]],
        related=tuple(related),
        fixes=(fix,) if fix else (),
        rule=RULE,
        family=FAMILY,
    )


def _common(app: App, fleet: Fleet, where: Where, target: str) -> Iterator[Finding]:
    """What refuses whatever the way: an owner that deletes, a deletion under way, objects that another application claims."""
    if app.deleting:
        yield _found("application-deleting", app, f"{app.ref} is being deleted, so there is nothing left to move.")
    owner = _set_of(app, fleet)
    if owner is not None and where != "to-cluster" and not _preserves(owner):
        name = text_at(owner, "metadata", "name")
        yield _found(
            "set-deletes-objects",
            app,
            f"ApplicationSet {name} would delete {app.ref} with all of its objects as soon as its element goes.",
            at=ResourceId("argoproj.io", "ApplicationSet", app.ref.namespace, name, "v1alpha1"),
            fix=Fix(
                "Let the set keep what its Applications deployed, then ask again",
                "manifest",
                f"ApplicationSet {name}",
                Edit(
                    "yaml",
                    "spec:\n  syncPolicy:\n    preserveResourcesOnDeletion: true\n    applicationsSync: create-only\n",
                ),
                caveat="the set takes the finalizer off its Applications then; see that it did before you go on",
            ),
        )
    parent = parent_of(app, fleet)
    if parent is not None and cascades(app) and where != "to-cluster" and owner is None:
        yield _found(
            "parent-deletes-objects",
            app,
            f"{parent.ref} would prune Application {app.name}, whose finalizer then deletes all of its objects.",
            related=[Related(parent.ref, None, "", "cause")],
            fix=Fix(
                "Take the finalizer out of its manifest, sync the parent, then ask again",
                "manifest",
                f"the manifest of Application {app.name} in {parent.ref}",
                Edit(
                    "command",
                    f"{sync(parent.ref)}\nkubectl get application {sh(app.name)} -n {sh(app.ref.namespace)} -o jsonpath='{{.metadata.finalizers}}'\n",
                ),
                caveat="remove metadata.finalizers in Git before this sync; the second command then prints nothing",
            ),
        )
    shared = fleet.contests.get(app.ref, ())
    others = sorted(
        {
            ref
            for key in shared
            for ref in fleet.contested[key]
            if ref != app.ref and str(ref) != target and ref.name != target
        }
    )
    if others:
        objects = enumerated([f"{k.kind} {k.name}" for k in shared])
        yield _found(
            "shared-objects",
            app,
            f"{enumerated([str(o) for o in others])} also renders {objects}, and the last sync of them owns it.",
            related=[Related(ref, None, "", "claimant") for ref in others],
        )


def _set_of(app: App, fleet: Fleet) -> Object | None:
    names = [o.get("name") for o in owner_references(app.raw) if o.get("kind") == "ApplicationSet"]
    found = (raw for raw in fleet.application_sets if text_at(raw, "metadata", "name") in names)
    known = next(found, None)
    return known or ({"metadata": {"name": str(names[0])}} if names else None)


def _preserves(owner: Object) -> bool:
    return dig(owner, "spec", "syncPolicy", "preserveResourcesOnDeletion") is True


def parent_of(app: App, fleet: Fleet) -> App | None:
    """The application among whose objects this Application is."""
    for other in fleet.apps:
        if other.ref != app.ref and any(
            row.kind == "Application"
            and row.group == "argoproj.io"
            and row.name == app.name
            and row.namespace in ("", app.ref.namespace)
            for row in other.rows
        ):
            return other
    return None


def _objects(app: App) -> list[Resource]:
    return [r for r in app.resources if not r.hook and not r.requires_pruning]


def _release_names(app: App) -> Iterator[tuple[str, Object]]:
    """The Helm sources whose release is called as the application is: pointer and source."""
    several = bool(maps(app.spec, "sources"))
    for index, source in enumerate(app.sources):
        helm = bool(source.get("chart") or source.get("helm")) or str(app.status.get("sourceType")) == "Helm"
        if helm and not dig(source, "helm", "releaseName") and not source.get("ref"):
            yield f"/spec/sources/{index}" if several else "/spec/source", source


def _rename_findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    if fleet.app(target, app.ref.namespace) is not None:
        message = f"there is an application {app.ref.namespace}/{target} already; `--to {target}` moves into it."
        yield _found("name-taken", app, message[0].upper() + message[1:])
    for pointer, _ in _release_names(app):
        yield _found(
            "release-name",
            app,
            f"The Helm release of {app.ref} is called as the application is, so a new name makes new objects and leaves the old ones.",
            fix=Fix(
                "Keep the name of the release (the plan below does)",
                "application",
                f"{pointer}/helm/releaseName of the new application",
                Edit("yaml", f"helm:\n  releaseName: {app.name}\n"),
            ),
        )
        return


def _rename_steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    new = f"{app.ref.namespace}/{target}"
    yield from _let_go(app, fleet)
    yield Step(
        f"Make the new Application {new}, with the same spec and without automated sync; keep the name of the Helm release. "
        "In Git, if that is where it comes from: add it, and leave the old one.",
        _made(app, target),
        f"argocd app diff {sh(new)}\n# it may show the tracking annotation or label, and nothing else",
    )
    yield from _taken(app, app, fleet, new, _instance(app, target))
    yield from _away(app, new)


def _let_go(app: App, fleet: Fleet) -> Iterator[Step]:
    """The old application may neither sync nor delete any more."""
    name = f"{app.ref.namespace}/{app.name}"
    if app.automated:
        also = ", in Git too where it comes from there" if parent_of(app, fleet) or _set_of(app, fleet) else ""
        yield Step(
            f"Stop the automated sync of {name}{also}.",
            f"argocd app set {sh(name)} --sync-policy none",
            f"argocd app get {sh(name)} -o json | jq -e '.spec.syncPolicy.automated == null'",
        )
    if cascades(app):
        where = f"kubectl -n {sh(app.ref.namespace)}"
        yield Step(
            f"Take the finalizer off {name}, so that its deletion deletes no object.",
            f'{where} patch application {sh(app.name)} --type merge -p \'{{"metadata":{{"finalizers":null}}}}\'',
            f"test -z \"$({where} get application {sh(app.name)} -o jsonpath='{{.metadata.finalizers}}')\"",
        )


def _taken(app: App, taker: App, fleet: Fleet, new: str, instance: str) -> Iterator[Step]:
    """The taker syncs, and the live objects name it. A new application has the options of the old one."""
    refuses = "FailOnSharedResource=true" in taker.sync_options
    objects = _objects(app)
    key = fleet.label_key if fleet.tracking_method == "label" else TRACKING_ID
    if refuses and objects:
        yield Step(
            "Take the old tracking data off the objects, because FailOnSharedResource=true refuses the sync otherwise.",
            "\n".join(untrack(r.id, key) for r in objects),
        )
    yield Step(
        f"Sync {new} in full, without prune.",
        f"argocd app sync {sh(new)}",
        "\n".join(names(r.id, [instance], key) for r in _told(objects))
        or f"argocd app get {sh(new)} -o json | jq -e '.status.sync.status == \"Synced\"'",
    )


def _instance(app: App, name: str) -> str:
    """The name in tracking data of an application next to this one."""
    return name if app.instance == app.name else f"{app.ref.namespace}_{name}"


_CHECKED = 12


def _told(objects: list[Resource]) -> list[Resource]:
    """Those whose tracking data is looked at: what holds data first."""
    heavy = ("PersistentVolumeClaim", "StatefulSet", "Namespace", "Deployment", "Service", "Secret")
    order = {kind: index for index, kind in enumerate(heavy)}
    known = [r for r in objects if r.kind != "CustomResourceDefinition"]
    return sorted(known, key=lambda r: (order.get(r.kind, len(order)), r.key))[:_CHECKED]


def _automated(app: App, new: str, on: str) -> Iterator[Step]:
    """The automated sync that the application has, for the one that takes its place."""
    if app.automated:
        options = " --auto-prune" * app.prune + " --self-heal" * app.self_heal
        yield Step(
            f"Turn the automated sync of {new} {on}.",
            f"argocd app set {sh(new)} --sync-policy automated{options}",
            f"argocd app wait {sh(new)} --sync --health --timeout 300",
        )


def _away(app: App, new: str) -> Iterator[Step]:
    old = f"{app.ref.namespace}/{app.name}"
    count = len(_objects(app))
    yield Step(
        f"Delete the old Application {old} without its objects; in Git too, if that is where it comes from.",
        f"argocd app delete {sh(old)} --cascade=false --yes",
        f"argocd app get {sh(new)} -o json | jq -e '[.status.resources[] | select(.hook | not)] | length >= {count}'",
    )
    yield from _automated(app, new, "on again")


def _made(app: App, name: str, server: str = "") -> str:
    """The command that makes the new Application of the old one's spec, without automated sync; it prints no value of the spec."""
    metadata = [
        f"name: {json.dumps(name)}",
        "namespace: .metadata.namespace",
        "labels: .metadata.labels",
        f'annotations: ((.metadata.annotations // {{}}) | with_entries(select(.key | test("{_WRITTEN}") | not)))',
    ]
    finalizers = [str(f) for f in items(app.raw, "metadata", "finalizers") if "resources-finalizer" in str(f)]
    metadata += [f"finalizers: {json.dumps(finalizers)}"] if finalizers else []
    spec = [".spec", "del(.syncPolicy.automated)"]
    for place, _ in _release_names(app):
        at = ".source" if place == "/spec/source" else f".sources[{place.rpartition('/')[2]}]"
        spec.append(f"{at}.helm.releaseName = {json.dumps(app.name)}")
    if server:
        spec.append(f".destination = {{server: {json.dumps(server)}, namespace: .destination.namespace}}")
    script = f"{{apiVersion, kind, metadata: {{{', '.join(metadata)}}}, spec: ({' | '.join(spec)})}}"
    where = f"kubectl -n {sh(app.ref.namespace)}"
    return f"{where} get application {sh(app.name)} -o json |\n  jq {sh(script)} |\n  {where} apply -f -"


_WRITTEN = "^(kubectl[.]kubernetes[.]io/|argocd[.]argoproj[.]io/(refresh|hydrate|tracking-id|installation-id))"
"""Annotations that kubectl and Argo CD write themselves."""


def _to_findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    other = _app(fleet, target)
    if other is None:
        yield _found("target-unknown", app, f"There is no application {target}, or the account may not see it.")
        return
    if other.ref == app.ref:
        yield _found("same-place", app, f"{app.ref} is the application itself.")
        return
    if other.deleting:
        yield _found("application-deleting", app, f"{other.ref} is being deleted, and would delete what it takes over.")
    if other.cluster != app.cluster:
        yield _found(
            "other-cluster",
            app,
            f"{other.ref} deploys to another cluster ({other.cluster}) than {app.ref} ({app.cluster}).",
        )
    yield from _project(app, fleet, other.ref.project, app.spec.get("destination") or {})
    implied = [r for r in _objects(app) if r.namespace and r.namespace == app.destination_namespace]
    if implied and other.destination_namespace != app.destination_namespace:
        yield _found(
            "namespace-differs",
            app,
            f"Manifests of {app.ref} without a namespace would go to {other.destination_namespace or 'none'} instead of {app.destination_namespace}.",
            fix=Fix(
                "Write the namespace into the manifests that move",
                "manifest",
                f"the manifests of {app.ref}",
                Edit("yaml", f"metadata:\n  namespace: {app.destination_namespace}\n"),
            ),
        )


def _app(fleet: Fleet, name: str) -> App | None:
    namespace, _, short = name.rpartition("/")
    return fleet.app(short, namespace)


def _to_steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    other = _app(fleet, target)
    assert other is not None
    new = f"{other.ref.namespace}/{other.name}"
    yield from _let_go(app, fleet)
    keep = "; render the Helm chart with the release name " + app.name if any(True for _ in _release_names(app)) else ""
    yield Step(
        f"Commit the manifests of {app.ref} to the source of {new} as well{keep}. Leave them where they are, too.",
        "",
        f"argocd app diff {sh(new)} --refresh\n# of the objects that move it may show the tracking annotation or label, and nothing else",
    )
    yield from _taken(app, other, fleet, new, other.instance)
    yield from _away_into(app, new)


def _away_into(app: App, new: str) -> Iterator[Step]:
    old = f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Delete the old Application {old} without its objects, and remove its manifests from their old place in Git.",
        f"argocd app delete {sh(old)} --cascade=false --yes",
        f"argocd app wait {sh(new)} --sync --health --timeout 300",
    )


def _set_findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    raw = _set(fleet, app, target)
    if raw is None:
        yield _found(
            "target-unknown",
            app,
            f"There is no ApplicationSet {target} in {app.ref.namespace}, or the account may not see it.",
        )
        return
    differing = []
    for at, wanted in _TEMPLATED:
        template = dig(raw, "spec", "template", *at)
        have = app.name if at == ("metadata", "name") else text_at(app.raw, *at)
        if isinstance(template, str) and template and not _renders(template, wanted, have):
            differing.append((wanted, template, have))
    if differing:
        wanted, template, have = differing[0]
        more = f", and {len(differing) - 1} more fields differ" if differing[1:] else ""
        yield _found(
            "template-differs",
            app,
            f"ApplicationSet {target} cannot render {app.ref}: its template says {template} for the {wanted}, the application {have or 'nothing'}{more}.",
        )
    owner = _set_of(app, fleet)
    if owner is not None and text_at(owner, "metadata", "name") == text_at(raw, "metadata", "name"):
        yield _found("same-place", app, f"ApplicationSet {target} has made {app.ref} already.")


_TEMPLATED = (
    (("metadata", "name"), "name"),
    (("spec", "project"), "project"),
    (("spec", "source", "repoURL"), "repository"),
    (("spec", "source", "path"), "path"),
    (("spec", "source", "chart"), "chart"),
    (("spec", "destination", "server"), "cluster"),
    (("spec", "destination", "namespace"), "namespace"),
)
_PARAMETER = re.compile(r"\{\{[^{}]{0,500}\}\}")


def _renders(template: str, wanted: str, have: str) -> bool:
    """Whether a template may render this text, whatever its parameters are."""
    if not _PARAMETER.search(template):
        return template == have or (wanted == "repository" and same_repository(template, have))
    parts = _PARAMETER.split(template)
    rest = have
    if not rest.startswith(parts[0]) or not rest.endswith(parts[-1]) or len(rest) < len(parts[0]) + len(parts[-1]):
        return False
    rest = rest[len(parts[0]) : len(rest) - len(parts[-1])]
    for part in parts[1:-1]:
        place = rest.find(part)
        if place < 0:
            return False
        rest = rest[place + len(part) :]
    return True


def _set(fleet: Fleet, app: App, name: str) -> Object | None:
    short = name.rpartition("/")[2]
    return next(
        (
            raw
            for raw in fleet.application_sets
            if text_at(raw, "metadata", "name") == short
            and text_at(raw, "metadata", "namespace") in ("", app.ref.namespace)
        ),
        None,
    )


def _set_steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    old = _set_of(app, fleet)
    short = target.rpartition("/")[2]
    where = f"kubectl -n {sh(app.ref.namespace)}"
    name = f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Let ApplicationSet {short} neither delete nor take along: set preserveResourcesOnDeletion, and applicationsSync to create-update, in Git.",
        "",
        f"{where} get applicationset {sh(short)} -o json | jq -e '.spec.syncPolicy | .preserveResourcesOnDeletion and .applicationsSync == \"create-update\"'",
    )
    if old is not None:
        gone = text_at(old, "metadata", "name")
        yield Step(
            f"Take {name} out of ApplicationSet {gone}: remove its element in Git, then its owner reference.",
            f'{where} patch application {sh(app.name)} --type merge -p \'{{"metadata":{{"ownerReferences":null}}}}\'',
            f"{where} get application {sh(app.name)} -o json | jq -e {sh(_without_owner(gone))}",
        )
    elif parent_of(app, fleet) is not None:
        yield Step(
            f"Remove the manifest of Application {app.name} from its parent in Git, with the annotation argocd.argoproj.io/sync-options: Prune=false on the live one first.",
            f"{where} annotate application {sh(app.name)} --overwrite argocd.argoproj.io/sync-options=Prune=false",
            f"{where} get application {sh(app.name)} -o name",
        )
    yield Step(
        f"Add the element to ApplicationSet {short} that renders the very name {app.name}, project, source and destination.",
        "",
        f"argocd appset generate {sh(short)}.yaml -o yaml\n# held against: argocd app get {sh(name)} -o yaml; the specs must be the same",
    )
    yield Step(
        "Commit it. The set takes the Application of that name over, which keeps its objects.",
        "",
        f"{where} get application {sh(app.name)} -o json | jq -e {sh(_with_owner(short))}\nargocd app diff {sh(name)}\n# shows nothing",
    )
    yield Step(
        f"Give ApplicationSet {short} its old policy back, if it may delete again.",
        "",
        f"argocd app wait {sh(name)} --sync --health --timeout 300",
    )


def _without_owner(name: str) -> str:
    return f"[.metadata.ownerReferences[]? | select(.name == {json.dumps(name)})] == []"


def _with_owner(name: str) -> str:
    return f"[.metadata.ownerReferences[]? | .name] == [{json.dumps(name)}]"


def _cluster_findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    server = _server(fleet, target)
    if server is None:
        yield _found("target-unknown", app, f"Argo CD knows no cluster {target}, or the account may not see it.")
        return
    owner = _set_of(app, fleet)
    if owner is not None:
        name = text_at(owner, "metadata", "name")
        yield _found(
            "set-makes-it-again",
            app,
            f"ApplicationSet {name} makes {app.ref} again when it is deleted; give the set an element for {target} instead.",
        )
    if server == app.cluster:
        yield _found("same-place", app, f"{app.ref} deploys to {target} already.")
        return
    destination = {"server": server, "namespace": app.destination_namespace}
    yield from _project(app, fleet, app.ref.project, destination, text_at(fleet.clusters.get(server), "name"))
    served = fleet.api_versions(server)
    lacking = sorted(
        {(r.group, r.kind) for r in _objects(app) if served and not fleet.served_versions(server, r.group, r.kind)}
    )
    brought = {text_at(r.any, "spec", "names", "kind") for r in app.of_kind("CustomResourceDefinition")}
    lacking = [(group, kind) for group, kind in lacking if kind not in brought]
    if lacking:
        kinds = enumerated([f"{group}/{kind}" if group else kind for group, kind in lacking])
        yield _found("kinds-not-served", app, f"Cluster {target} does not serve {kinds}, which {app.ref} deploys.")
    claims = [r for r in _objects(app) if r.kind in ("PersistentVolumeClaim", "StatefulSet")]
    if claims:
        yield _found(
            "data-stays",
            app,
            f"The volumes of {enumerated([str(r.id) for r in claims])} stay on the old cluster; their data must be copied.",
            related=[Related(app.ref, r.id) for r in claims],
        )


def _server(fleet: Fleet, name: str) -> str | None:
    return next((s for s, raw in fleet.clusters.items() if name.rstrip("/") == s or name == text_at(raw, "name")), None)


def _project(app: App, fleet: Fleet, project: str, destination: Object, cluster: str = "") -> Iterator[Finding]:
    """Whether the project allows the destination; nothing is said of a project that the account may not see."""
    raw = fleet.projects.get(project)
    if raw is None:
        return
    server, namespace = text_at(destination, "server") or app.cluster, text_at(destination, "namespace")
    cluster = cluster or text_at(fleet.clusters.get(server), "name")
    for allowed in maps(raw, "spec", "destinations"):
        wanted_server, wanted_name = text_at(allowed, "server"), text_at(allowed, "name")
        to = (bool(wanted_server) and _fits(wanted_server, server)) or (
            bool(wanted_name) and _fits(wanted_name, cluster)
        )
        if to and _fits(text_at(allowed, "namespace"), namespace):
            return
    yield _found(
        "project-forbids",
        app,
        f"Project {project} does not allow {server}, namespace {namespace or 'none'}, as a destination.",
    )


def _fits(pattern: str, value: str) -> bool:
    return pattern == "*" or matches(pattern, value)


def _cluster_steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    server = _server(fleet, target)
    assert server is not None
    name = f"{app.name}-{text_at(fleet.clusters.get(server), 'name') or 'new'}"
    new, old = f"{app.ref.namespace}/{name}", f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Make a second Application {new} for cluster {target}, without automated sync; the first one goes on. "
        "Changing the destination of the first one would leave all of its objects on the old cluster without an owner.",
        _made(app, name, server),
        f"argocd app diff {sh(new)}\n# everything is new",
    )
    yield Step(
        "Copy what lies on volumes, and Secrets that no manifest makes.",
        "",
        f"argocd app sync {sh(new)} --dry-run",
    )
    yield Step(f"Sync {new}.", f"argocd app sync {sh(new)}", f"argocd app wait {sh(new)} --sync --health --timeout 600")
    yield Step("Send the traffic to the new cluster.", "", "watch errors and latency before you go on")
    yield Step(
        f"Delete {old} with its objects on the old cluster: `argolint forecast delete {old} --cascade foreground` shows first what that takes.",
        f"argocd app delete {sh(old)} --cascade",
        f"argocd app get {sh(old)} 2>&1 | grep -qi 'not found\\|permission denied'",
    )
    yield from _automated(app, new, "on")


_OF = {
    "rename": (_rename_findings, _rename_steps),
    "to": (_to_findings, _to_steps),
    "to-set": (_set_findings, _set_steps),
    "to-cluster": (_cluster_findings, _cluster_steps),
}
