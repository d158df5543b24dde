"""All Applications of the server: data of one list call, the settings, projects and clusters.

A Fleet is built once, is frozen, and answers look-ups: who owns an object, does it exist on this cluster, what does the server track and
ignore.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.model import AppRef, Object, ResourceKey
from argolint.values import items, mapping, parse_version, text_at
from argolint.values.patterns import regex

_VERSION = regex(r"v?([0-9]{1,6})\.([0-9]{1,6})(?![0-9])")
T = TypeVar("T")
IN_CLUSTER = "https://kubernetes.default.svc"


@dataclass(frozen=True)
class Claimant:
    """An Application that shares an object with an Application of another Argo CD, and its Argo CD's tracking settings.

    argocd         its Argo CD, as this run calls it
    cluster        the object's cluster, as its Argo CD calls it
    instance       its name in tracking data
    installation   its Argo CD's installationID, empty where none is set
    """

    app: AppRef
    argocd: str
    cluster: str
    instance: str
    tracking_method: str
    label_key: str
    installation: str
    prunes: bool = False


@dataclass(frozen=True)
class Crossing:
    """Objects of one cluster that Applications of several Argo CDs list. `cluster` is its name for all of them.

    `claimants` want the objects. `pruners` consider themselves owners, do not want them, and delete them at their next sync with
    prune. `objects` are group, kind, namespace and name.
    """

    cluster: str
    claimants: tuple[Claimant, ...]
    pruners: tuple[Claimant, ...]
    objects: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, eq=False)
class Fleet:
    """All applications (from the list, without states) and what they share.

    server     the Argo CD's own URL (settings.url, else where we connected)
    version    such as v3.5.1; `at_least` compares
    settings   /api/v1/settings
    remarks    remarks for the user on how the fleet was read
    name       the name of this Argo CD in a run over several; otherwise empty
    crossings  by application: objects that it shares with applications of other Argo CDs in the same run
    """

    server: str
    version: str
    settings: Object
    apps: tuple[App, ...] = ()
    projects: Mapping[str, Object] = field(default_factory=dict)
    clusters: Mapping[str, Object] = field(default_factory=dict)
    repositories: tuple[Object, ...] = ()
    application_sets: tuple[Object, ...] = ()
    remarks: tuple[str, ...] = ()
    crossings: Mapping[AppRef, tuple[Crossing, ...]] = field(default_factory=dict)
    name: str = ""
    _derived: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def with_apps(self, apps: Iterable[App]) -> Fleet:
        """The same Argo CD with these applications."""
        return replace(self, apps=tuple(apps))

    def derive(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """The function's result for the fleet and these arguments, computed once for all rules. It must be pure, and have a name."""
        key = (function, *arguments)
        if key not in self._derived:
            self._derived[key] = function(self, *arguments)
        made: T = self._derived[key]
        return made

    @cached_property
    def by_ref(self) -> Mapping[AppRef, App]:
        return {app.ref: app for app in self.apps}

    @cached_property
    def _by_cluster(self) -> Mapping[str, Sequence[App]]:
        found: dict[str, list[App]] = defaultdict(list)
        for app in self.apps:
            found[app.cluster].append(app)
        return found

    def on_cluster(self, cluster: str) -> Sequence[App]:
        """The applications whose destination is this cluster."""
        return self._by_cluster.get(cluster, ())

    @cached_property
    def _indexed(self) -> dict[tuple[str, str, str], Mapping[ResourceKey, tuple[AppRef, ...]]]:
        """Filled per requested kind: an index of all objects would take the most memory of all."""
        return {}

    def _objects(self, cluster: str, group: str, kind: str) -> Mapping[ResourceKey, tuple[AppRef, ...]]:
        """Every object of a kind on a cluster, with the applications that list it, sorted."""
        known = self._indexed.get((cluster, group, kind))
        if known is None:
            found: dict[ResourceKey, set[AppRef]] = defaultdict(set)
            for app in self.derive(_listing_by_kind, cluster).get((group, kind), ()):
                for row in app.rows:
                    if row.kind == kind and row.group == group and not row.hook:
                        found[ResourceKey(cluster, group, kind, row.namespace, row.name)].add(app.ref)
            known = {key: tuple(sorted(found[key])) for key in sorted(found)}
            self._indexed[cluster, group, kind] = known
        return known

    def owners(self, key: ResourceKey) -> tuple[AppRef, ...]:
        """The applications that list this object (not as a hook), sorted."""
        return self._objects(key.cluster, key.group, key.kind).get(key, ())

    def claimants(self, key: ResourceKey) -> tuple[AppRef, ...]:
        """The applications that want this object, sorted, where two or more do."""
        return self.derive(_contested, key.cluster).get(key, ())

    def contests(self, ref: AppRef) -> tuple[ResourceKey, ...]:
        """The contested objects of an application, sorted."""
        app = self.by_ref.get(ref)
        return self.derive(_contests_by_application, app.cluster).get(ref, ()) if app else ()

    @cached_property
    def contested(self) -> Mapping[ResourceKey, tuple[AppRef, ...]]:
        """All objects that two or more applications want on one cluster, and those applications, sorted."""
        return {key: refs for cluster in self._by_cluster for key, refs in self.derive(_contested, cluster).items()}

    def of_kind(self, cluster: str, group: str, kind: str) -> tuple[ResourceKey, ...]:
        """Every object of this kind that an application manages on this cluster, sorted."""
        return tuple(self._objects(cluster, group, kind))

    def in_namespace(self, cluster: str, namespace: str) -> tuple[ResourceKey, ...]:
        """Every object that an application manages in this namespace, sorted."""
        found = {
            ResourceKey(cluster, row.group, row.kind, namespace, row.name)
            for app in self.derive(_listing_by_namespace, cluster).get(namespace, ())
            for row in app.rows
            if row.namespace == namespace and not row.hook
        }
        return tuple(sorted(found))

    def resource(self, app: AppRef, key: ResourceKey) -> Resource | None:
        """An object from the list (status, no states)."""
        found = self.by_ref.get(app)
        return found.resource(key) if found else None

    def app(self, name: str, namespace: str = "") -> App | None:
        """An application by name; in the control plane if no namespace is given."""
        wanted = namespace or self.control_plane
        return next((a for a in self._by_name.get(name, ()) if a.ref.namespace == wanted), None)

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[App, ...]]:
        found: dict[str, list[App]] = defaultdict(list)
        for app in self.apps:
            found[app.ref.name].append(app)
        return {name: tuple(apps) for name, apps in found.items()}

    def app_of_instance(self, instance: str) -> App | None:
        """The application in tracking data: `name`, `<namespace>_<name>` or `<namespace>/<name>`.

        Kubernetes names contain no underscore, so it always separates namespace and name.
        """
        for separator in ("/", "_"):
            namespace, found, name = instance.partition(separator)
            if found:
                return self.app(name, namespace)
        return self.app(instance)

    @cached_property
    def control_plane(self) -> str:
        """The namespace of Argo CD itself."""
        return control_plane_of(self.settings, (app.brief for app in self.apps))

    def serves(self, namespace: str) -> bool | None:
        """Whether this Argo CD looks for Applications in the namespace; None if it may: the settings do not list the namespaces."""
        if namespace == self.control_plane or any(app.ref.namespace == namespace for app in self.apps):
            return True
        return None if not self.settings or self.settings.get("appsInAnyNamespaceEnabled") else False

    @property
    def tracking_method(self) -> str:
        """label, annotation or annotation+label; an empty answer means label before 3.0, annotation later."""
        return text_at(self.settings, "trackingMethod") or ("annotation" if self.at_least(3, 0) else "label")

    @property
    def label_key(self) -> str:
        return text_at(self.settings, "appLabelKey") or "app.kubernetes.io/instance"

    @property
    def overrides(self) -> Mapping[str, Object]:
        """resource.customizations by `group/Kind`, `Kind` or `*/*`."""
        return mapping(self.settings, "resourceOverrides")

    def at_least(self, major: int, minor: int) -> bool:
        """False if the server's version is older or unknown."""
        return (parse_version(self.version) or ()) >= (major, minor)

    def is_older(self, major: int, minor: int) -> bool:
        """True if the server's version is known and before this one: an unknown one counts as the newest."""
        return bool(parse_version(self.version)) and not self.at_least(major, minor)

    @cached_property
    def _cluster_by_name(self) -> Mapping[str, str]:
        return {text_at(cluster, "name"): server for server, cluster in self.clusters.items()}

    def connection(self, cluster: str) -> Object:
        """Argo CD's connection state of a cluster: `status`, `message`, `attemptedAt`; without one in info, the deprecated field."""
        raw = self.clusters.get(cluster)
        return mapping(raw, "info", "connectionState") or mapping(raw, "connectionState")

    def cluster_of(self, spec: Object) -> str:
        """The canonical URL of an Application's destination; `name:<name>` if no such cluster is registered."""
        return cluster_of(spec, self._cluster_by_name)

    @cached_property
    def _api_versions(self) -> Mapping[str, frozenset[str]]:
        return {
            server: frozenset(v for v in items(cluster, "info", "apiVersions") if isinstance(v, str))
            for server, cluster in self.clusters.items()
        }

    def api_versions(self, cluster: str) -> frozenset[str]:
        """The APIs of the cluster: `v1`, `apps/v1`, `apps/v1/Deployment`; empty if the account cannot see it."""
        return self._api_versions.get(cluster, frozenset())

    def served_versions(self, cluster: str, group: str, kind: str) -> tuple[str, ...]:
        """The versions in which the cluster serves this kind, sorted; empty if the account cannot see it or there are none."""
        return self.derive(_served_by_kind, cluster).get((group, kind), ())

    def kubernetes_version(self, cluster: str) -> str:
        return text_at(self.clusters.get(cluster), "info", "serverVersion")

    def peers(self, app: App) -> Iterator[App]:
        """The other applications of the same cluster."""
        return (other for other in self.on_cluster(app.cluster) if other.ref != app.ref)


# By cluster: a check of one application looks at the rows of its own cluster alone.


def _listing_by_kind(fleet: Fleet, cluster: str) -> Mapping[tuple[str, str], Sequence[App]]:
    """The applications that list an object of a kind (without hooks), by group and kind."""
    found: dict[tuple[str, str], list[App]] = defaultdict(list)
    for app in fleet.on_cluster(cluster):
        for kind in {(row.group, row.kind) for row in app.rows if not row.hook}:
            found[kind].append(app)
    return found


def _listing_by_namespace(fleet: Fleet, cluster: str) -> Mapping[str, Sequence[App]]:
    """The applications that list an object (without hooks) in a namespace, by namespace."""
    found: dict[str, list[App]] = defaultdict(list)
    for app in fleet.on_cluster(cluster):
        for namespace in {row.namespace for row in app.rows if row.namespace and not row.hook}:
            found[namespace].append(app)
    return found


def _contested(fleet: Fleet, cluster: str) -> Mapping[ResourceKey, tuple[AppRef, ...]]:
    """The objects that two or more applications want, and those applications, sorted.

    The list shows it. Hooks, skipped objects and copied tracking data have no sync status and claim nothing; an object to be pruned is
    no longer wanted; the list of an application that Argo CD cannot render or compare is outdated.
    """
    claimants = [app for app in fleet.on_cluster(cluster) if app.desired_known and not app.deleting]
    seen: set[int] = set()
    again: set[int] = set()  # hashes take a tenth of the memory; identities are made for the few that recur
    for app in claimants:
        for row in app.rows:
            if row.claimed:
                mark = hash((row.group, row.kind, row.namespace, row.name))
                (again if mark in seen else seen).add(mark)
    found: dict[ResourceKey, set[AppRef]] = defaultdict(set)
    for app in claimants if again else ():
        for row in app.rows:
            if row.claimed and hash((row.group, row.kind, row.namespace, row.name)) in again:
                found[ResourceKey(cluster, row.group, row.kind, row.namespace, row.name)].add(app.ref)
    return {key: tuple(sorted(refs)) for key, refs in found.items() if len(refs) > 1}


def _contests_by_application(fleet: Fleet, cluster: str) -> Mapping[AppRef, tuple[ResourceKey, ...]]:
    """The contested objects of each application that has some, sorted."""
    found: dict[AppRef, list[ResourceKey]] = defaultdict(list)
    for key, refs in sorted(fleet.derive(_contested, cluster).items()):
        for ref in refs:
            found[ref].append(key)
    return {ref: tuple(keys) for ref, keys in found.items()}


def _served_by_kind(fleet: Fleet, cluster: str) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """By group and kind: the versions that a cluster serves."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for api in sorted(fleet.api_versions(cluster)):
        *group, version, kind = ("", *api.split("/"))  # `v1/ConfigMap`, `apps/v1/Deployment`
        found["".join(group), kind].append(version)
    return {of: tuple(versions) for of, versions in found.items()}


def impersonates_reads(settings: Object, version: str) -> bool:
    """Whether Argo CD reads objects and Events as service accounts of projects, as it does since 3.5 with impersonation."""
    return settings.get("impersonationEnabled") is True and (parse_version(version) or ()) >= (3, 5)


def control_plane_of(settings: Object, applications: Iterable[Object]) -> str:
    """The namespace of Argo CD itself: from its settings, else from the controller that wrote an Application's status."""
    named = (text_at(application, "status", "controllerNamespace") for application in applications)
    return text_at(settings, "controllerNamespace") or next(filter(None, named), "argocd")


def cluster_of(spec: Object, by_name: Mapping[str, str]) -> str:
    """See Fleet.cluster_of; `by_name` maps cluster names to servers."""
    server, name = text_at(spec, "destination", "server"), text_at(spec, "destination", "name")
    if server:
        return server.rstrip("/")
    if name in by_name:
        return by_name[name]
    return IN_CLUSTER if name == "in-cluster" else f"name:{name}"
