"""The kind is unknown to the cluster

What it finds: a sync that failed because the cluster does not have the kind in any version: its CustomResourceDefinition is not installed, or
comes later than the object. Also an object that does not exist yet and whose whole group the cluster does not serve, or whose kind is almost that of a served one. One finding for
each kind.

Why it hurts: the dry run of the whole sync fails, so no object of the application is applied.

How to fix: install the CRD first, in an earlier sync wave, or in an application that is synced before. If an operator in the same sync installs
the CRD, let Argo CD skip the dry run of the object.

Example: a ScaledObject on a cluster without KEDA.

Sources: gitops-engine/pkg/sync/sync_context.go (`The Kubernetes API could not find …`); docs/user-guide/sync-options.md
(SkipDryRunOnMissingResource) of Argo CD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
)
from argolint.comparison import builtin
from argolint.edits import application_place, live_command, manifest_patch, manifest_text
from argolint.edits.advice import advice
from argolint.edits.consequences import consequences
from argolint.redaction import excerpt
from argolint.relations import resolved
from argolint.relations.blocked import derived_kinds
from argolint.relations.made import skips_dry_run
from argolint.values import dig, items, sh
from argolint.values.knowledge import load
from argolint.values.patterns import regex
from argolint.values.schema import api_of_kind

from ..shared.charts import source_type
from ..shared.labels import is_similar_name
from ..shared.operations import with_end_of_retries
from ._failures import Failed, complaint_of, failures_explained_by
from ._objects import is_operator
from ._options import sync_option_operations
from ._removed import is_kind_defined, removed_version_failures

_ARGO_CD = ("Application", "ApplicationSet", "AppProject")
"""Kinds that exist only in a cluster with its own Argo CD, and that Argo CD reads only in its own cluster."""
_GROUP_VERSION = regex(r"group version (\S+?):|in version \"([^\"]+)\"")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each kind that the cluster does not know."""
    by_kind: dict[tuple[str, str], list[Failed]] = {}
    removed = removed_version_failures(app, fleet)
    for failed in failures_explained_by(app, "crd-missing"):
        if failed.id and failed.id.key in removed:
            continue
        by_kind.setdefault((failed.id.group, failed.id.kind) if failed.id else ("", ""), []).append(failed)
    for (group, kind), refusals in by_kind.items():
        if _is_known_now(app, fleet, refusals[0]):
            yield _late_finding(app, group, kind, refusals)
        else:
            yield _finding(app, fleet, group, kind, refusals)
    coming: dict[tuple[str, str], list[Resource]] = {}
    derived = {resource.key for resource, _ in derived_kinds(app, fleet)}  # sync-deadlock explains these kinds
    for resource in app.stated:
        if (
            _is_unserved(app, fleet, resource)
            and resource.key not in derived
            and (resource.group, resource.kind) not in by_kind
        ):
            coming.setdefault((resource.group, resource.kind), []).append(resource)
    for (group, kind), resources in coming.items():
        yield _foreseen_finding(app, fleet, group, kind, resources)
    for (group, kind), (first, meant) in _misspelt(app, fleet).items():
        if (group, kind) not in by_kind:
            yield _misspelt_finding(app, first, meant)


def _misspelt(app: App, fleet: Fleet) -> Mapping[tuple[str, str], tuple[Resource, str]]:
    """The first coming object of each kind that the cluster does not serve, with a kind of its group that has almost the name."""
    found: dict[tuple[str, str], tuple[Resource, str]] = {}
    for resource in app.stated:
        kind = (resource.group, resource.kind)
        if kind in found or not resource.absent or resource.desired is None or resource.requires_pruning:
            continue
        meant = fleet.derive(_meant_kind, app.cluster, *kind)
        if meant and not skips_dry_run(app, fleet, resource.desired):
            found[kind] = (resource, meant)
    return found


def _meant_kind(fleet: Fleet, cluster: str, group: str, kind: str) -> str:
    """The served kind of the group that is meant by one that is not served and that no CRD of the fleet brings; empty if there is none."""
    if "v1/ConfigMap" not in fleet.api_versions(cluster) or fleet.served_versions(cluster, group, kind):
        return ""
    served = sorted({k for g, k in fleet.derive(_kinds_served, cluster) if g == group})
    near = next((k for k in served if k in (f"{kind}s", kind.removesuffix("s")) or is_similar_name(k, kind)), "")
    lower = kind.lower()
    plurals = {lower, f"{lower}s", f"{lower}es", f"{lower.removesuffix('y')}ies"} - {
        f"{near.lower()}s",
        f"{near.lower()}es",
    }
    crds = {key.name for key in fleet.of_kind(cluster, "apiextensions.k8s.io", "CustomResourceDefinition")}
    return "" if crds & {f"{plural}.{group}" for plural in plurals} else near


def _kinds_served(fleet: Fleet, cluster: str) -> frozenset[tuple[str, str]]:
    """Group and kind of all that the cluster's list has."""
    parts = (("", *api.split("/")) for api in fleet.api_versions(cluster))
    return frozenset(("".join(part[:-2]), part[-1]) for part in parts if part[-1][:1].isupper())


def _misspelt_finding(app: App, first: Resource, meant: str) -> Finding:
    named = f"{first.kind} of {first.group}" if first.group else first.kind
    return Finding(
        message=f"The sync of application {app.ref} will apply nothing: the cluster knows no kind {named}; {meant} is there.",
        at=Location(app.ref, first.id, "/kind"),
        confidence="likely",
        fixes=(manifest_text(first.id, f"Write the kind {meant}", f"kind: {meant}\n"),),
        explains=(Symptom.missing(first.id), Symptom.health(first.id)) if first.missing else (),
    )


def _is_unserved(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether an object is not created yet, and its custom group is neither served by the cluster nor brought by a known CRD.

    One kind may be absent from the served list because Argo CD is configured to exclude it.
    """
    group = resource.group
    if not resource.absent or "." not in group or group.endswith(".k8s.io"):
        return False
    return (
        fleet.derive(_cluster_lacks_group, app.cluster, group)
        and resource.desired is not None
        and not _crd_owners(app, fleet, group)
        and not skips_dry_run(app, fleet, resource.desired)
    )


def _cluster_lacks_group(fleet: Fleet, cluster: str, group: str) -> bool:
    """Whether the cluster's list is known and has nothing of the group."""
    served = fleet.api_versions(cluster)
    return "v1/ConfigMap" in served and not any(api.startswith(f"{group}/") for api in served)


def _foreseen_finding(app: App, fleet: Fleet, group: str, kind: str, resources: list[Resource]) -> Finding:
    first = resources[0]
    unserved = f"cluster {app.cluster} does not serve {group}, the API group of {first.id}"
    return Finding(
        message=f"The sync of application {app.ref} will apply nothing: {_of_tool(group, str(first.id)) or unserved}.",
        at=Location(app.ref, first.id, "/kind"),
        confidence="likely",
        related=tuple(Related(app.ref, r.id, role="symptom") for r in resources[1:]),
        fixes=tuple(_fixes(app, fleet, group, kind, first.id, ())),
        explains=tuple(
            claim for r in resources if r.missing for claim in (Symptom.missing(r.id), Symptom.health(r.id))
        ),
        follows=_follows(app, group),
    )


def _is_known_now(app: App, fleet: Fleet, failed: Failed) -> bool:
    """Whether the cluster serves the kind that it did not serve to the sync: its list has it, or an application has the CRD in sync."""
    if failed.id is None or not failed.id.group:
        return False
    served = fleet.served_versions(app.cluster, failed.id.group, failed.id.kind)
    return failed.id.version in served if served else is_kind_defined(app, fleet, failed)


def _late_finding(app: App, group: str, kind: str, refused: list[Failed]) -> Finding:
    """The CRD came after the sync, or what Argo CD remembers of the cluster's kinds is older than the CRD."""
    first = refused[0]
    facts = {"app": str(app.ref), "kind": kind, "cluster": app.cluster}
    return Finding(
        message=f"The sync of application {app.ref} failed at {first.id}, as the cluster did not serve {kind} ({group}) to it; it has its CRD now.",
        at=Location(app.ref, first.id, "/kind"),
        confidence="likely",
        evidence=tuple(f"{f.id}: {excerpt(f.message, 400)}" for f in refused[:5]),
        related=tuple(Related(app.ref, f.id, role="symptom") for f in refused[1:] if f.id),
        fixes=advice(__package__, "crd-missing/known-now", facts),
        explains=tuple(consequences(app)),
    )


def _finding(app: App, fleet: Fleet, group: str, kind: str, refused: list[Failed]) -> Finding:
    first = refused[0]
    resource = app.held(first.id)
    own = resource is not None and resource.desired is not None and builtin(resource.desired)
    what = (
        (f"{kind} of {first.id.api_version}" if own and first.id else f"{kind} ({group})" if group else kind)
        if kind
        else _group_version(first.message) or "a kind of this application"
    )
    definitions = _crd_owners(app, fleet, group)
    origin = f", whose CRD application {definitions[0].app} brings" if definitions else ""
    if any(d.app == app.ref for d in definitions):  # a sync that holds the CRD does not ask for the kind before
        origin = ", whose CRD its manifests hold by now"
    elif not definitions and (chart := _without_crds(app, fleet, group)) is not None:
        origin = f", and application {chart.ref} brings no CRD of that group"
    unknown = _of_tool(group, what) or f"cluster {app.cluster} does not know {what}{origin}"
    fails = f"fails at {first.id}" if first.id and _is_past_dry_run(app, fleet, first.id) else "applies nothing"
    finding = Finding(
        message=f"The sync of application {app.ref} {fails}: {unknown}.",
        at=Location(app.ref, first.id, "/kind" if first.id else ""),
        evidence=tuple(f"{f.id or app.ref}: {excerpt(f.message, 400)}" for f in refused[:5]),
        related=(*definitions, *(Related(app.ref, f.id, role="symptom") for f in refused[1:] if f.id)),
        fixes=with_end_of_retries(app, tuple(_fixes(app, fleet, group, kind, first.id, definitions))),
        explains=tuple(consequences(app)),
        follows=(*(Follows(Symptom.missing(d.resource)) for d in definitions if d.resource), *_follows(app, group)),
    )
    found = resolved(finding, complaint_of(app, fleet, first))
    return found if found is finding else replace(found, follows=())  # the cause is not a missing CRD


def _is_past_dry_run(app: App, fleet: Fleet, id_: ResourceId) -> bool:
    """Whether the sync got beyond its dry run: it skipped that of this object, or applied other objects."""
    resource = app.resource(id_.key)
    skipped = resource is not None and skips_dry_run(app, fleet, resource.desired)
    applied = app.operation is not None and any(r.get("status") in ("Synced", "Pruned") for r in app.operation.results)
    return skipped or applied


def _follows(app: App, group: str) -> tuple[Follows, ...]:
    """The shared cause for all applications that need the CRDs which the cluster lacks."""
    title = f"The CRDs of {group} are not installed on cluster {app.cluster}."
    return (Follows.common(title, "crd", app.cluster, group),) if group and group not in _tools() else ()


def _group_version(message: str) -> str:
    found = _GROUP_VERSION.search(message)
    return (found.group(1) or found.group(2)) if found else ""


def _crd_owners(app: App, fleet: Fleet, group: str) -> tuple[Related, ...]:
    """Applications of this cluster, this one included, that bring CRDs of the group."""
    if not group:
        return ()
    keys = fleet.of_kind(app.cluster, "apiextensions.k8s.io", "CustomResourceDefinition")
    found = [
        Related(owner, ResourceId(key.group, key.kind, key.namespace, key.name, "v1", key.cluster), role="cause")
        for key in keys
        if key.name.endswith(f".{group}")
        for owner in fleet.owners(key)
    ]
    return tuple(found[:3])


def _child_with_crds(app: App, fleet: Fleet, group: str) -> Resource | None:
    """The one child Application, still without objects, whose chart or folder has the name of the group's owner: cert-manager for cert-manager.io.

    What a child renders decides where it is known (`_crd_owners`); its name is a hint, and two such names are none.
    """
    found = []
    for resource in app.resources:
        if (resource.group, resource.kind) != ("argoproj.io", "Application") or resource.desired is None:
            continue
        name = f"{resource.namespace or app.ref.namespace}/{resource.name}"
        if any(str(a.ref) == name and a.ref.server == app.ref.server and a.resources for a in fleet.apps):
            continue
        spec = dig(resource.desired, "spec")
        sources = [s for s in (dig(spec, "source"), *items(spec, "sources")) if isinstance(s, dict)]
        if _is_named_after(sources, group):
            found.append(resource)
    return found[0] if len(found) == 1 else None


def _is_named_after(sources: Sequence[Object], group: str, kind: str = "") -> bool:
    """Whether a source's chart or folder has the name of the group's owner, or of the kind."""
    owners = {group.split(".")[-2] if "." in group else "", kind.lower(), kind and f"{kind.lower()}s"} - {""}
    called = [
        str(source.get("chart") or source.get("path") or "").rpartition("/")[2].replace("_", "-") for source in sources
    ]
    return any(f"{each}-".startswith(f"{owner}-") for each in called for owner in owners)


def _skipping(app: App, fleet: Fleet, group: str, kind: str) -> App | None:
    """The application that leaves out the CRDs of its chart: the only one of the cluster with the name of the group's owner, else this one."""
    here = [
        a for a in fleet.apps if a.cluster == app.cluster and _skipped(a) and _is_named_after(a.sources, group, kind)
    ]
    return here[0] if len(here) == 1 else app if _skipped(app) else None


def _without_crds(app: App, fleet: Fleet, group: str) -> App | None:
    """The one other application of the cluster with the name of the group's owner that is synced and runs a workload: it brings no CRD of the group."""
    here = [
        a
        for a in fleet.apps
        if (a.cluster, a.sync_status) == (app.cluster, "Synced")
        and a.ref != app.ref
        and _is_named_after(a.sources, group)
    ]
    runs = len(here) == 1 and any(row.kind == "Deployment" for row in here[0].rows)
    return here[0] if runs and "k8s." not in group else None


def _brings_kind(app: App, group: str, kind: str) -> bool:
    """Whether the application's chart is that of the kind: by its name, or as it brings an operator. Another chart only uses the kind."""
    return _is_named_after(app.sources, group, kind) or any(map(is_operator, app.resources))


def _skipped(app: App) -> tuple[str, ...]:
    """The pointers of its options that leave out the CRDs of its charts."""
    base = "/spec/sources/{}" if app.spec.get("sources") else "/spec/source"
    return tuple(
        f"{base.format(n)}/helm/skipCrds" for n, s in enumerate(app.sources) if dig(s, "helm", "skipCrds") is True
    )


@cache
def _derived_kinds_by_group() -> Mapping[str, Object]:
    """By API group: the kind of object from which a controller creates the group's kinds."""
    return {str(entry["group"]): entry for entry in load(__package__, "derived_kinds.yaml")}


def _fixes(
    app: App, fleet: Fleet, group: str, kind: str, id_: ResourceId | None, definitions: tuple[Related, ...]
) -> Iterator[Fix]:
    """The object's own fixes where no CRD helps it, else who brings the CRD."""
    resource = app.held(id_)
    owner = min((str(d.app) for d in definitions if d.app != app.ref), default="")
    own = () if owner else tuple(_object_fixes(app, fleet, group, kind, resource))
    if own:
        yield from own
        return
    yield from _crd_fixes(app, fleet, group, kind, owner)
    if resource is not None:
        yield manifest_patch(
            resource.id,
            "Skip the dry run, if this same sync (or an operator that it installs) creates the CRD",
            sync_option_operations(resource.desired, "SkipDryRunOnMissingResource=true"),
            "the object is applied late; this does not help if nothing installs the CRD",
        )


def _object_fixes(app: App, fleet: Fleet, group: str, kind: str, resource: Resource | None) -> Iterator[Fix]:
    """Fixes for an object that should not be applied as it is: no CRD of its group belongs on this cluster."""
    if group == "argoproj.io" and kind in _ARGO_CD:
        yield Fix(
            f"Remove {kind} objects from this application, or deploy them to Argo CD's own cluster",
            "application",
            application_place(app),
            Edit(
                "text",
                f"spec.destination: the cluster and namespace of Argo CD itself; {kind} objects work nowhere else, so do not install the CRD",
            ),
        )
    elif resource is None:
        return
    elif group in _tools():
        yield from _tool_fixes(app, resource, _tools()[group])
    elif resource.desired and builtin(resource.desired):
        yield _builtin_kind_fix(resource)
    elif group in _served_without_crd():
        yield from _aggregated_fixes(resource, _served_without_crd()[group])
    elif alike := _alike_group(fleet, app.cluster, group, kind):
        yield manifest_patch(
            resource.id,
            f"Write apiVersion: {alike}, in which the cluster serves {kind}",
            [{"op": "replace", "path": "/apiVersion", "value": alike}],
            "fields may have moved between the two",
        )


def _crd_fixes(app: App, fleet: Fleet, group: str, kind: str, owner: str) -> Iterator[Fix]:
    """Who brings the CRD: the application `owner`, a child Application, an object from which a controller makes it, or the user."""
    if owner:
        yield live_command(
            f"Application {owner}",
            f"Sync application {owner} first: it contains the CRD",
            f"argocd app sync {sh(owner)} && argocd app sync {sh(app.ref)}",
        )
    elif child := _child_with_crds(app, fleet, group):
        name = f"{child.namespace or app.ref.namespace}/{child.name}"
        part = f"--resource {sh(f'argoproj.io:Application:{name}')}"
        then = f"argocd app wait {sh(name)}"
        yield live_command(
            child.id,
            f"Sync Application {child.name} first, if it contains the CRD, and give it an earlier sync wave",
            f"argocd app sync {sh(app.ref)} {part} && {then} && argocd app sync {sh(app.ref)}",
            "only the name of its chart or folder suggests it; a wave waits for a child only where argocd-cm has a health check of Application",
        )
    elif maker := _derived_kinds_by_group().get(group):
        yield live_command(
            app.cluster,
            f"Apply the {maker['kind']} that makes {kind or 'the kind'}",
            f"kubectl get {maker['plural']} -A",
            f"{maker['product']} makes the kinds of {group}; their CRDs are not installed by hand",
        )
    else:
        skipping = _skipping(app, fleet, group, kind)
        likely = skipping is not None and _brings_kind(skipping, group, kind)
        unskip = (_unskip_fix(app, skipping, kind or "the kind", first=likely),) if skipping is not None else ()
        yield from unskip if likely else ()
        if (chart := None if likely else _without_crds(app, fleet, group)) is not None:
            yield Fix(
                f"Let application {chart.ref} install the CRDs of its chart",
                "application",
                application_place(chart),
                Edit("text", _BY_VALUE),
                caveat=f"only its name suggests that {group} is of it",
            )
        yield live_command(
            app.cluster,
            f"{'Or install' if likely else 'Install'} the CRD of {kind or 'the kind'} on this cluster, or drop the object from Git",
            f"kubectl get crd | grep {sh(group or 'group')}",
        )
        yield from () if likely else unskip


_BY_VALUE = "a value of the chart switches them on: crds.enabled, crds.install, crds.create or installCRDs"
"""Of the charts of cert-manager and trust-manager, argo-cd, cloudnative-pg, and argo-rollouts or an older cert-manager."""


def _unskip_fix(app: App, skipping: App, kind: str, *, first: bool) -> Fix:
    """The fix that lets an application bring the CRDs of its chart."""
    patch = [{"op": "remove", "path": pointer} for pointer in _skipped(skipping)]
    own = skipping.ref == app.ref
    return Fix(
        f"{'Let' if first else 'Or let'} the chart bring its CRDs: drop skipCrds"
        if own
        else f"Let application {skipping.ref} bring the CRDs of its chart: drop skipCrds",
        "application",
        application_place(skipping),
        Edit("json-patch", patch) if own else Edit("text", f"remove {_skipped(skipping)[0]}, then sync {skipping.ref}"),
        caveat=f"that of {kind} is among them where the chart's folder crds holds it",
    )


@cache
def _tools() -> Mapping[str, Object]:
    """By API group: the program that reads its files."""
    return {str(entry["group"]): entry for entry in load(__package__, "tool_kinds.yaml")}


def _of_tool(group: str, what: str) -> str:
    """The clause for a file of a program; empty for a group of objects."""
    return f"{what} is a file for {_tools()[group]['product']}, and no cluster knows it" if group in _tools() else ""


def _tool_fixes(app: App, resource: Resource, tool: Object) -> Iterator[Fix]:
    """The fixes for a file of a program: list it as that, or keep it out of what Argo CD applies."""
    types = {source_type(app, index) for index in range(len(app.sources))}
    if key := tool.get("generator"):
        bare = types == {"Directory"}
        yield manifest_text(
            f"the kustomization.yaml next to {resource.id}",
            f"{'Add a kustomization.yaml that lists' if bare else 'List'} it under `{key}`, not among the resources",
            f"{key}: [FILE]   # in kustomization.yaml; the files that it decrypts are no resources either",
            "Argo CD runs Kustomize only for a folder with a kustomization.yaml" if bare else "",
        )
        return
    forced = tuple(
        pointer
        for index, source in enumerate(app.sources)
        if dig(source, "directory")
        for pointer in ("/spec/source/directory" if "source" in app.spec else f"/spec/sources/{index}/directory",)
    )
    if tool["product"] == "Kustomize" and len(forced) == 1:
        yield Fix(
            f"Let Kustomize render the folder: drop {forced[0].removeprefix('/').replace('/', '.')}",
            "application",
            application_place(app),
            Edit("json-patch", [{"op": "remove", "path": forced[0]}]),
            caveat="for a folder with a kustomization.yaml of its own: such settings make Argo CD take it for plain manifests",
        )
    out = "in kustomization.yaml remove the file from `resources`"
    if types == {"Directory"}:
        out = "spec.source.directory.exclude: '{FILE,**/FILE}'"
    yield Fix(
        f"{'Or keep' if forced and tool['product'] == 'Kustomize' else 'Keep'} the file of {tool['product']} out of what this Application applies",
        "application" if types == {"Directory"} else "manifest",
        application_place(app) if types == {"Directory"} else str(resource.id),
        Edit("text", f"{out}   # the file that holds {resource.id}"),
        caveat="a folder of Kustomize must be rendered by Kustomize: point spec.source.path at it"
        if tool["product"] == "Kustomize"
        else "",
    )


@cache
def _served_without_crd() -> Mapping[str, Object]:
    """By API group: who serves a group that has no CRDs."""
    return {str(entry["group"]): entry for entry in load(__package__, "aggregated_apis.yaml")}


def _aggregated_fixes(resource: Resource, entry: Object) -> Iterator[Fix]:
    """Fixes for a kind that no CRD declares: the API of the CRDs behind it, or the API server that serves it."""
    yield live_command(
        resource.id.cluster,
        f"Install {entry['server']}, which serves {resource.group}",
        f"kubectl get apiservices | grep {sh(resource.group)}",
        "no CRD declares these kinds",
    )
    if entry.get("instead"):
        yield manifest_patch(
            resource.id,
            f"Or write apiVersion: {entry['instead']}, whose CRDs {entry['product']} brings",
            [{"op": "replace", "path": "/apiVersion", "value": entry["instead"]}],
            str(entry.get("caveat") or ""),
        )


def _alike_group(fleet: Fleet, cluster: str, group: str, kind: str) -> str:
    """The apiVersion of the only group alike in which the cluster serves the kind; empty if it serves the group itself, or none or several are alike."""
    words = _distinctive_words(group)
    served = [api.rsplit("/", 2) for api in fleet.api_versions(cluster) if api.count("/") == 2]
    if not words or any(found[0] == group for found in served):
        return ""
    found = {of: version for of, version, name in sorted(served) if name == kind and words & _distinctive_words(of)}
    return "/".join(*found.items()) if len(found) == 1 else ""


def _distinctive_words(group: str) -> frozenset[str]:
    """The labels of a group's name that belong to a project rather than to many."""
    return frozenset(group.split(".")) - _COMMON_LABELS


_COMMON_LABELS = frozenset(
    "io com org dev net sh cloud app apps k8s x-k8s kubernetes cncf google github example".split()
)


def _builtin_kind_fix(resource: Resource) -> Fix:
    """The fix for a kind of Kubernetes itself, which no CRD brings: another apiVersion, or a release that has the kind."""
    api = api_of_kind(resource.kind)
    if api and api != resource.id.api_version:
        patch = [{"op": "replace", "path": "/apiVersion", "value": api}]
        return manifest_patch(resource.id, f"Write apiVersion: {api}", patch)
    return live_command(
        resource.id.cluster,
        f"See under which API the cluster serves {resource.kind}",
        f"kubectl api-resources | grep -i {sh(resource.kind)}",
        "no line means that this release of Kubernetes has no such kind, or that its name is misspelt",
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
