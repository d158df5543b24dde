"""Checks whether Argo CD accepts an Application's spec, from projects, clusters and repositories that are already read.

The texts are Argo CD's own (util/argo/argo.go, ValidatePermissions and ValidateRepo; pkg/apis/application/v1alpha1, IsSourcePermitted and
IsDestinationPermitted; controller/sync.go, validateSyncPermissions), so that rules on conditions recognize them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from argolint.application.app import App, sources_of
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.model import Object, ResourceId
from argolint.values import dig, glob, items, mapping, maps, same_repository, text_at
from argolint.values.kubernetes import is_custom


def refusals(spec: Object, fleet: Fleet, coming: frozenset[str] = frozenset()) -> Iterator[str]:
    """Messages of the InvalidSpecErrors that Argo CD will set. `coming`: names of projects that the change adds.

    Data that the account cannot see (no project, no cluster) is not judged.
    """
    name = text_at(spec, "project") or "default"
    project = fleet.projects.get(name)
    if fleet.projects and project is None and name not in coming:
        yield f"Application referencing project {name} which does not exist"
    if wrong := _source_fault(spec):
        yield wrong  # Argo CD looks no further
        return
    destination = mapping(spec, "destination")
    wrong = _destination(destination, fleet)
    if wrong:
        yield wrong
    if project is None or is_widened(name, project, fleet):
        return
    yield from not_permitted(name, project, spec, fleet)


def _source_fault(spec: Object) -> str:
    """Why a source cannot be one (util/argo/argo.go, validateSourcePermissions); empty if each has an address and something to render."""
    if spec.get("sourceHydrator"):
        return ""
    several = maps(spec, "sources")
    for source in several:
        if not text_at(source, "repoURL") or not any(text_at(source, key) for key in ("path", "chart", "ref")):
            address = text_at(source, "repoURL")
            return f"spec.source.repoURL and either source.path, source.chart, or source.ref are required for source {address}"
    one = mapping(spec, "source")
    if not several and not (text_at(one, "repoURL") and (text_at(one, "path") or text_at(one, "chart"))):
        return "spec.source.repoURL and either spec.source.path or spec.source.chart are required"
    return ""


def not_permitted(name: str, project: Object, spec: Object, fleet: Fleet) -> Iterator[str]:
    """What a project's own spec forbids: sources, and a destination that exists."""
    for url in _denied_parts(project, spec):
        yield f"application repo {url} is not permitted in project '{name}'"
    destination = mapping(spec, "destination")
    if not _destination(destination, fleet) and not permits_destination(project, spec, fleet):
        where = text_at(destination, "server") or text_at(destination, "name")
        yield (
            f"application destination server '{where}' and namespace '{text_at(destination, 'namespace')}' "
            f"do not match any of the allowed destinations in project '{name}'"
        )


def object_refusal(app: App, fleet: Fleet, id_: ResourceId) -> str:
    """Why the project refuses the object to each sync, which then applies nothing; empty if it permits it, or if that is not known.

    A custom kind without live objects may be in a namespace or not: it is refused if it would be both ways.
    """
    name = text_at(app.spec, "project") or "default"
    project = fleet.projects.get(name)
    if project is None or dig(project, "spec", "destinations") is None:
        return ""
    is_known = not is_custom(id_.group) or bool(fleet.of_kind(app.cluster, id_.group, id_.kind))
    scopes = (bool(id_.namespace),) if is_known else (True, False)
    synced = [row for other in fleet.derive(_by_project).get(name, ()) for row in other.rows if row.status == "Synced"]
    permitted = any(permits_kind(project, id_, namespaced=one) for one in scopes)
    if not permitted and not any((row.group, row.kind) == (id_.group, id_.kind) for row in synced):
        return f"resource {id_.group}:{id_.kind} is not permitted in project {name}"
    there = {**app.spec, "destination": {**mapping(app.spec, "destination"), "namespace": id_.namespace}}
    permitted = not (id_.namespace and is_known) or permits_destination(project, there, fleet)
    if not permitted and not is_widened(name, project, fleet) and all(row.namespace != id_.namespace for row in synced):
        return f"namespace {id_.namespace} is not permitted in project '{name}'"
    return ""


def permits_kind(project: Object, id_: ResourceId, *, namespaced: bool) -> bool:
    """Whether the project permits the kind (IsGroupKindNamePermitted): a missing list permits all kinds with a namespace, and none without."""
    is_listed, denied = kind_lists(project, id_, namespaced=namespaced)
    return is_listed and not denied


def kind_lists(project: Object, id_: ResourceId, *, namespaced: bool) -> tuple[bool, tuple[Object, ...]]:
    """Whether the project's list of permitted kinds, or its absence, permits the kind; and the entries of the other list that refuse it."""
    scope = "namespace" if namespaced else "cluster"
    denied, allowed = (maps(project, "spec", f"{scope}Resource{sort}") for sort in ("Blacklist", "Whitelist"))
    is_open = namespaced and dig(project, "spec", "namespaceResourceWhitelist") is None
    return is_open or any(_lists(e, id_) for e in allowed), tuple(e for e in denied if _lists(e, id_))


def _lists(entry: Object, id_: ResourceId) -> bool:
    pairs = (("group", id_.group), ("kind", id_.kind))
    named = text_at(entry, "name")  # of a kind without a namespace, since 3.2
    return all(glob.matches(text_at(entry, k), v) for k, v in pairs) and (not named or glob.matches(named, id_.name))


def is_widened(name: str, project: Object, fleet: Fleet) -> bool:
    """True if an application runs that the project's own spec forbids: then global projects (argocd-cm), which are not visible, extend it."""
    return any(
        not any(c.get("type") == "InvalidSpecError" for c in maps(app.brief, "status", "conditions"))
        and (any(_denied_parts(project, app.spec)) or not permits_destination(project, app.spec, fleet))
        for app in fleet.derive(_by_project).get(name, ())
    )


def _by_project(fleet: Fleet) -> Mapping[str, Sequence[App]]:
    found: dict[str, list[App]] = defaultdict(list)
    for app in fleet.apps:
        found[app.ref.project].append(app)
    return found


def _denied_parts(project: Object, spec: Object) -> Iterator[str]:
    urls = dict.fromkeys(text_at(source, "repoURL") for source in sources_of(spec))
    return (url for url in urls if url and not _permits_source(project, url))


def _destination(destination: Object, fleet: Fleet) -> str:
    server, name = text_at(destination, "server").rstrip("/"), text_at(destination, "name")
    if server and name:
        return f"application destination can't have both name and server defined: {name} {server}"
    if not server and not name:
        return "Destination server missing from app spec"
    if not fleet.clusters:
        return ""
    if name:
        names = {text_at(cluster, "name") for cluster in fleet.clusters.values()}
        return "" if name in names or name == "in-cluster" else f"there are no clusters with this name: {name}"
    if server in fleet.clusters or server == IN_CLUSTER:
        return ""
    return f'cluster "{server}" has not been configured'


def _permits_source(project: Object, url: str) -> bool:
    if dig(project, "spec", "sourceRepos") is None:
        return True  # the project's permissions are not shown
    patterns = [p for p in items(project, "spec", "sourceRepos") if isinstance(p, str)]
    refused = any(_is_repo(p[1:], url) for p in patterns if p.startswith("!"))
    return not refused and any(_is_repo(p, url) for p in patterns if not p.startswith("!"))


def _is_repo(pattern: str, url: str) -> bool:
    return pattern == "*" or same_repository(pattern, url) or glob.matches(_bare(pattern), _bare(url))


def _bare(url: str) -> str:
    return re.sub(r"\.git$", "", url.strip().lower().rstrip("/"))


def permits_destination(project: Object, spec: Object, fleet: Fleet) -> bool:
    """Whether the project's own spec permits the destination; True if the project does not show its permissions."""
    if dig(project, "spec", "destinations") is None:
        return True
    destination, cluster = mapping(spec, "destination"), fleet.cluster_of(spec)
    name = text_at(destination, "name") or text_at(fleet.clusters.get(cluster), "name")
    if name == "in-cluster" and cluster not in fleet.clusters:
        cluster = IN_CLUSTER
    namespace = text_at(destination, "namespace")
    permitted = False
    for entry in maps(project, "spec", "destinations"):
        server, named, inside = (text_at(entry, key) for key in ("server", "name", "namespace"))
        by_cluster = (bool(server) and glob.matches(server.lstrip("!"), cluster)) or (
            bool(named) and bool(name) and glob.matches(named.lstrip("!"), name)
        )
        fits = by_cluster and glob.matches(inside.lstrip("!"), namespace)
        if any(text.startswith("!") for text in (server, named, inside)):
            if fits:
                return False
        else:
            permitted = permitted or fits
    return permitted
