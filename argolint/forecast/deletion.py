"""What a deletion or a prune takes: in which order, what stays, what goes with it, who still needs it, and what hangs.

Sources: controller/appcontroller.go (finalizeApplicationDeletion, shouldBeDeleted), controller/sort_delete.go,
gitops-engine/pkg/sync/sync_context.go (getSyncTasks, pruneObject) of Argo CD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Node, Resource
from argolint.application.tracked import tracking_of
from argolint.edits.pruning import cascades, outlives, prune_option
from argolint.model import AppRef, Edit, Finding, Fix, Location, Object, Related, ResourceId, ResourceKey, Severity
from argolint.relations.references import references
from argolint.values import annotations_of, comma_list, dig, enumerated, items, sh, text_at
from argolint.values.kubernetes import SYNC_OPTIONS, kubectl_name, wave

Way = Literal["delete", "prune"]
FAMILY = "forecast"
Effect = Literal["breaks", "deletes", "looks-different", "stays", "hangs", "refuses"]

EFFECT: Mapping[str, Effect] = {
    "volume-deleted": "deletes",
    "namespace-with-content": "deletes",
    "instances-deleted": "deletes",
    "child-application": "deletes",
    "objects-deleted": "deletes",
    "still-referenced": "breaks",
    "controller-first": "hangs",
    "hook-first": "hangs",
    "hook-after-all": "hangs",
    "waits-for-confirmation": "hangs",
    "already-deleting": "hangs",
    "no-cluster": "stays",
    "not-cascading": "stays",
    "set-preserves": "stays",
    "kept": "stays",
    "other-owner": "stays",
    "claims-of-sets": "stays",
}
"""What each cause of these findings comes to."""
_SEVERITY: Mapping[str, Severity] = {"deletes": "error", "breaks": "error", "hangs": "warning", "stays": "info"}
_OWN: Mapping[str, Severity] = {"objects-deleted": "info", "hook-first": "info", "no-cluster": "warning"}


@dataclass(frozen=True)
class Taken:
    """One object that goes, and when: `turn` counts the groups, which go one after the other."""

    app: App
    resource: Resource
    turn: int
    note: str = ""


@dataclass(frozen=True, eq=False)
class Fate:
    """What becomes of the objects of some applications. `refs` are applications that go as a whole."""

    way: Way
    fleet: Fleet
    taken: tuple[Taken, ...]
    findings: tuple[Finding, ...]
    refs: frozenset[AppRef] = frozenset()
    notes: tuple[str, ...] = field(default_factory=tuple)

    @cached_property
    def keys(self) -> Mapping[ResourceKey, Taken]:
        return {taken.resource.key: taken for taken in self.taken}


def of_apps(apps: Sequence[App], fleet: Fleet, *, cascade: str = "auto") -> Fate:
    """The deletion of whole applications with the applications below them, each read; `cascade` is auto, foreground, background or none."""
    known = {app.ref: app for app in apps}
    walk = _Walk(fleet, cascade, known)
    for app in apps:
        walk.delete(app)
    return _fate("delete", fleet, walk.taken, walk.told, frozenset(known))


@dataclass
class _Walk:
    """One deletion after the other: what an application deletes, wave by wave, with the applications among it."""

    fleet: Fleet
    cascade: str
    known: Mapping[AppRef, App]
    taken: list[Taken] = field(default_factory=list)
    told: list[Finding] = field(default_factory=list)
    turn: int = 0
    _done: set[AppRef] = field(default_factory=set)

    def delete(self, app: App) -> None:
        if app.ref in self._done:
            return
        self._done.add(app.ref)
        groups, told = _groups(app, self.fleet, self.cascade)
        self.told += told
        for number in sorted(groups, reverse=True):
            self.turn += 1
            now = self.turn
            for r in sorted(groups[number], key=lambda r: r.key):
                child = self.fleet.app(r.name, r.namespace) if r.kind == "Application" else None
                if child is not None and child.ref in self.known:
                    self.delete(self.known[child.ref])
                self.taken.append(Taken(app, r, now, f"wave {number}" if len(groups) > 1 else ""))


def _groups(app: App, fleet: Fleet, cascade: str) -> tuple[dict[int, list[Resource]], list[Finding]]:
    """The objects that go, by wave, and what is to be said of the others."""
    told: list[Finding] = []
    if app.deleting:
        told.append(_already(app))
    if cascade == "none" or (cascade == "auto" and not cascades(app)):
        live = [r for r in app.resources if _live(r) and not r.hook]
        told.append(_not_cascading(app, live, asked=cascade == "none"))
        return {}, told
    if app.cluster.startswith("name:"):
        told.append(_no_cluster(app))
        return {}, told
    groups: dict[int, list[Resource]] = {}
    for r in app.resources:
        if not _live(r) or (r.hook and not (r.live_known or r.uid)):
            continue
        stays = _stays(app, r, fleet)
        if stays is not None:
            told.append(stays)
            continue
        if "Delete=confirm" in comma_list(annotations_of(r.live).get(SYNC_OPTIONS)):
            told.append(_confirmation(app, r, "Delete=confirm"))
        groups.setdefault(_wave(r), []).append(r)
    told += _hooks(app, [r for own in groups.values() for r in own])
    told += _made_namespace(app)
    return groups, told


def _hooks(app: App, going: Sequence[Resource]) -> Iterator[Finding]:
    """Hooks of the deletion, which the finalizers tell: PreDelete run first, PostDelete once everything else is gone."""
    if any(str(f).startswith("pre-delete-finalizer.") for f in items(app.raw, "metadata", "finalizers")):
        message = f"The PreDelete hooks of {app.ref} run first; one that fails holds the deletion up."
        yield _found("delete", "hook-first", app, None, message, pointer="/metadata/finalizers")
    if not any(str(f).startswith("post-delete-finalizer.") for f in items(app.raw, "metadata", "finalizers")):
        return
    needed = [r.id for r in going if r.kind in ("ServiceAccount", "ConfigMap", "Secret", "RoleBinding")]
    if needed:
        yield _found(
            "delete",
            "hook-after-all",
            app,
            None,
            f"The PostDelete hooks of {app.ref} run last, without {enumerated([str(n) for n in needed])}; one that needs any of these never ends.",
            pointer="/metadata/finalizers",
            related=[Related(app.ref, n) for n in needed],
        )


def _made_namespace(app: App) -> Iterator[Finding]:
    """The namespace that CreateNamespace=true sees to is no object of the application."""
    name = app.destination_namespace
    own = any((r.group, r.kind, r.name) == ("", "Namespace", name) for r in app.resources)
    if (
        "CreateNamespace=true" in app.sync_options
        and name
        and not own
        and not dig(app.spec, "syncPolicy", "managedNamespaceMetadata")
    ):
        id_ = ResourceId("", "Namespace", "", name, "v1", app.cluster)
        yield _found(
            "delete",
            "kept",
            app,
            id_,
            f"{id_} of {app.ref} stays: it is no object of the application (CreateNamespace=true).",
        )


def _live(r: Resource) -> bool:
    """Whether there is something to delete: a live state, or where none is known a row that is not Missing."""
    return r.live is not None if r.live_known else r.health.status != "Missing"


def _wave(r: Resource) -> int:
    """The live object's own: a deletion looks at nothing else, and of what is pruned nothing else is left."""
    return wave(r.live) if r.live is not None else r.wave


def of_prune(apps: Sequence[App], fleet: Fleet, only: frozenset[ResourceKey] | None = None) -> Fate:
    """What the next sync with prune deletes; `only` are objects that shall leave the manifests, in place of those that have left."""
    found: list[Taken] = []
    told: list[Finding] = []
    turn = 0
    for app in apps:
        groups: dict[int, list[Resource]] = {}
        for r in app.resources:
            leaves = r.key in only if only is not None else (r.extra or (r.requires_pruning and not r.live_known))
            if not leaves or r.hook or not _live(r):
                continue
            owner = tracking_of(r.live, fleet) if r.live_known else None
            if owner is not None and owner.instance != app.instance:
                told.append(_other_owner(app, r, fleet, owner.shown))
                continue
            option = prune_option(app, r.live, fleet)
            if option == "false":
                told.append(_kept(app, r, "Prune=false"))
                continue
            if option == "confirm":
                told.append(_confirmation(app, r, "Prune=confirm"))
            groups.setdefault(_wave(r), []).append(r)
        last = [r for own in groups.values() for r in own if _prune_last(app, r)]
        waves = sorted(groups, reverse=True)  # pruned in the reverse order of creation
        for number in waves:
            own = [r for r in groups[number] if r not in last]
            turn += 1 if own else 0
            note = f"wave {number}" if len(waves) > 1 else ""
            found += [Taken(app, r, turn, note) for r in sorted(own, key=lambda r: r.key)]
        if last:
            turn += 1
            found += [Taken(app, r, turn, "PruneLast: after all else") for r in sorted(last, key=lambda r: r.key)]
    return _fate("prune", fleet, found, told, frozenset())


def _prune_last(app: App, r: Resource) -> bool:
    return "PruneLast=true" in app.sync_options or "PruneLast=true" in comma_list(
        annotations_of(r.live).get(SYNC_OPTIONS)
    )


def _fate(way: Way, fleet: Fleet, taken: list[Taken], told: list[Finding], refs: frozenset[AppRef]) -> Fate:
    fate = Fate(way, fleet, tuple(taken), (), refs)
    told += [*_volumes(fate), *_namespaces(fate), *_definitions(fate), *_controllers(fate), *_children(fate)]
    told += _summed(fate)
    return replace(fate, findings=tuple(told))


def _found(
    way: Way,
    cause: str,
    app: App,
    r: ResourceId | None,
    message: str,
    *,
    pointer: str = "",
    evidence: Sequence[str] = (),
    related: Sequence[Related] = (),
    fixes: Sequence[Fix] = (),
) -> Finding:
    severity = _OWN.get(cause, _SEVERITY[EFFECT[cause]])
    return Finding(
        message=message,
        at=Location(app.ref, r, pointer),
        cause=cause,
        severity=severity,
        evidence=tuple(evidence),
        related=tuple(related),
        fixes=tuple(fixes),
        rule=f"forecast-{way}",
        family=FAMILY,
    )


def _already(app: App) -> Finding:
    finalizers = ", ".join(str(f) for f in items(app.raw, "metadata", "finalizers")) or "none"
    since = text_at(app.raw, "metadata", "deletionTimestamp")
    return _found(
        "delete",
        "already-deleting",
        app,
        None,
        f"{app.ref} is being deleted since {since}, and waits for its finalizers: {finalizers}.",
        pointer="/metadata/deletionTimestamp",
    )


def _not_cascading(app: App, live: Sequence[Resource], *, asked: bool) -> Finding:
    why = "as asked for" if asked else "since it has no finalizer"
    command = Fix(
        "Delete the objects too, if that is meant",
        "live",
        f"application {app.ref}",
        Edit("command", f"argocd app delete {sh(app.ref.namespace)}/{sh(app.ref.name)} --cascade\n"),
        caveat="`argocd app delete` sets the finalizer by itself; `argolint forecast delete --cascade foreground` shows what it takes",
    )
    return _found(
        "delete",
        "not-cascading",
        app,
        None,
        f"{_all(live)} of {app.ref} {'stays' if len(live) == 1 else 'stay'} when it is deleted, {why}, and no application owns {'it' if len(live) == 1 else 'them'} then.",
        pointer="/metadata/finalizers",
        related=[Related(app.ref, r.id) for r in live],
        fixes=[] if asked else [command],
    )


def _all(live: Sequence[Resource]) -> str:
    return f"All {len(live)} live objects" if len(live) > 1 else "The only live object" if live else "What may be live"


def _no_cluster(app: App) -> Finding:
    return _found(
        "delete",
        "no-cluster",
        app,
        None,
        f"Nothing on the cluster of {app.ref} is deleted, because Argo CD does not know the cluster {app.cluster.partition(':')[2]}.",
        pointer="/spec/destination",
    )


def _stays(app: App, r: Resource, fleet: Fleet) -> Finding | None:
    """Why an object outlives its application; None when it does not."""
    if r.group == "argoproj.io" and r.kind == "Application" and (r.namespace, r.name) == (app.ref.namespace, app.name):
        return _kept(app, r, "it is the application itself", way="delete")
    if (r.group, r.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return _kept(app, r, "Argo CD never deletes a CRD with its application", way="delete")
    if r.live is None:
        return None
    owner = tracking_of(r.live, fleet)
    if owner is None or owner.instance != app.instance or not owner.own:
        return _other_owner(app, r, fleet, owner.shown if owner is not None and owner.own else "", way="delete")
    if not outlives(app, r.live, fleet):
        return None
    keep = "keep" in comma_list(annotations_of(r.live).get("helm.sh/resource-policy"))
    return _kept(app, r, "helm.sh/resource-policy: keep" if keep else "Delete=false", way="delete")


def _kept(app: App, r: Resource, why: str, *, way: Way = "prune") -> Finding:
    return _found(way, "kept", app, r.id, f"{r.id} of {app.ref} stays: {why}.")


def _other_owner(app: App, r: Resource, fleet: Fleet, owner: str, *, way: Way = "prune") -> Finding:
    whose = f"its tracking data names {owner}" if owner else "it bears no tracking data of this application"
    other = fleet.app_of_instance(owner.replace("/", "_")) if owner else None
    related = [Related(other.ref, r.id, "", "owner")] if other is not None else []
    return _found(way, "other-owner", app, r.id, f"{r.id}, which {app.ref} lists, stays: {whose}.", related=related)


def _confirmation(app: App, r: Resource, option: str) -> Finding:
    approve = Fix(
        "Confirm it when the time has come",
        "live",
        f"application {app.ref}",
        Edit("command", f"argocd app confirm-deletion {sh(app.ref.namespace)}/{sh(app.name)}\n"),
    )
    way: Way = "delete" if option.startswith("Delete") else "prune"
    message = f"{r.id} of {app.ref} has {option}, so nothing goes on until someone confirms."
    return _found(way, "waits-for-confirmation", app, r.id, message, fixes=[approve])


def _summed(fate: Fate) -> Iterator[Finding]:
    """How much goes, one finding an application."""
    by_app: dict[AppRef, list[Taken]] = {}
    for taken in fate.taken:
        by_app.setdefault(taken.app.ref, []).append(taken)
    for own in by_app.values():
        app = own[0].app
        count = len(own)
        when = ""
        if fate.way == "prune":
            when = ", by the next automated sync" if app.prune and app.automated else ", by the next sync with prune"
        objects = f"{count} objects" if count != 1 else "1 object"
        yield _found(
            fate.way,
            "objects-deleted",
            app,
            None,
            f"{objects} of {app.ref} {'are' if count != 1 else 'is'} deleted{when}: {_kinds(own)}.",
            related=[Related(app.ref, t.resource.id) for t in own],
        )


def _kinds(own: Iterable[Taken]) -> str:
    counts: dict[str, int] = {}
    for taken in own:
        counts[taken.resource.kind] = counts.get(taken.resource.kind, 0) + 1
    most = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    return enumerated([f"{n} {_plural(kind) if n > 1 else kind}" for kind, n in most], limit=6)


def _plural(kind: str) -> str:
    """As Kubernetes names several of a kind."""
    if kind.endswith("y") and not kind.endswith("ay"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") and not kind.endswith("points") else kind.removesuffix("s") + "s"


def _volumes(fate: Fate) -> Iterator[Finding]:
    """Claims that go, and with them their volumes as far as the class says; claims of StatefulSets stay unless the set says otherwise."""
    for taken in fate.taken:
        app, r = taken.app, taken.resource
        if (r.group, r.kind) == ("", "PersistentVolumeClaim"):
            yield _claim(fate, app, r.id, r.live, "")
        elif (r.group, r.kind) == ("apps", "StatefulSet"):
            yield from _claims_of_set(fate, app, r)
        else:
            yield from (
                _claim(fate, app, node.id, None, f" with {r.id}, which owns it")
                for node in _collected(taken)
                if (node.id.group, node.id.kind) == ("", "PersistentVolumeClaim")
            )


def _collected(taken: Taken) -> Iterator[Node]:
    """What Kubernetes deletes with an object: what it owns, and so on. The tree shows claims below their StatefulSet, which owns none."""
    for node in taken.app.descendants(taken.resource.uid) if taken.resource.uid else ():
        if not (node.id.kind == "PersistentVolumeClaim" and any(o.kind == "StatefulSet" for o in node.owners)):
            yield node


def _claim(fate: Fate, app: App, id_: ResourceId, live: Object | None, by: str) -> Finding:
    policy = _reclaim(fate, app, text_at(live, "spec", "storageClassName"))
    volume = text_at(live, "spec", "volumeName")
    then = {
        "Delete": "and its volume with all data",
        "Retain": "and its volume stays, released",
    }.get(policy, "and its volume too, unless that has the reclaim policy Retain")
    keep = [
        Fix(
            "Keep the volume whatever happens to the claim",
            "live",
            f"the volume of {id_}",
            Edit(
                "command",
                f"kubectl patch pv {sh(volume) if volume else 'VOLUME'} -p "
                + sh('{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}')
                + "\n",
            ),
        )
    ]
    return _found(
        fate.way,
        "volume-deleted",
        app,
        id_,
        f"{id_} of {app.ref} is deleted{by}, {then}.",
        evidence=[f"volume {volume}"] if volume else [],
        fixes=[] if policy == "Retain" else keep,
    )


def _reclaim(fate: Fate, app: App, name: str) -> str:
    """The reclaim policy of a StorageClass that the application itself brings; empty where it is not known."""
    for r in app.of_kind("StorageClass", "storage.k8s.io"):
        if r.name == name and r.any:
            return text_at(r.any, "reclaimPolicy") or "Delete"
    return ""


def _claims_of_set(fate: Fate, app: App, r: Resource) -> Iterator[Finding]:
    templates = items(r.any, "spec", "volumeClaimTemplates")
    if not templates:
        return
    names = [n.id for n in app.nodes if n.id.kind == "PersistentVolumeClaim" and _of_set(n.id.name, r, templates)]
    goes = dig(r.live, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete"
    if goes:
        for id_ in names or [r.id]:
            by = f" with {r.id}, whose persistentVolumeClaimRetentionPolicy says so"
            yield (
                _claim(fate, app, id_, None, by)
                if id_.kind != "StatefulSet"
                else _found(
                    fate.way,
                    "volume-deleted",
                    app,
                    r.id,
                    f"The claims of {r.id} of {app.ref} are deleted with it, and their data.",
                )
            )
        return
    templated = enumerated([text_at(t, "metadata", "name") for t in templates])
    yield _found(
        fate.way,
        "claims-of-sets",
        app,
        r.id,
        f"The claims of {r.id} of {app.ref} stay with their data (templates {templated}).",
        pointer="/spec/volumeClaimTemplates",
        related=[Related(app.ref, id_) for id_ in names],
    )


def _of_set(claim: str, r: Resource, templates: Sequence[object]) -> bool:
    return any(
        re.fullmatch(f"{re.escape(text_at(t, 'metadata', 'name'))}-{re.escape(r.name)}-[0-9]+", claim)
        for t in templates
    )


def _namespaces(fate: Fate) -> Iterator[Finding]:
    """A Namespace takes everything in it along, by whatever Application."""
    for taken in fate.taken:
        app, r = taken.app, taken.resource
        if (r.group, r.kind) != ("", "Namespace"):
            continue
        inside = [k for k in fate.fleet.in_namespace(app.cluster, r.name) if k not in fate.keys]
        related = [Related(ref, _id(k), "", "dependent") for k in inside for ref in fate.fleet.owners(k)]
        whose = sorted({str(x.app) for x in related})
        count = f"{len(inside)} objects" if len(inside) > 1 else "1 object"
        also = f", among it {count} of {enumerated(whose)}" if inside else ""
        yield _found(
            fate.way,
            "namespace-with-content",
            app,
            r.id,
            f"{r.id} of {app.ref} is deleted with everything in it, managed by Argo CD or not{also}.",
            related=related,
            fixes=[_keep_live(r.id)],
        )


def _keep_live(id_: ResourceId) -> Fix:
    return Fix(
        "Keep it, if that is not meant",
        "live",
        str(id_),
        Edit("command", f"kubectl annotate {kubectl_name(id_)} --overwrite {SYNC_OPTIONS}=Prune=false,Delete=false\n"),
    )


def _id(key: ResourceKey) -> ResourceId:
    return ResourceId(key.group, key.kind, key.namespace, key.name, "", key.cluster)


def _definitions(fate: Fate) -> Iterator[Finding]:
    """A CRD that is pruned takes every object of its kind along."""
    for taken in fate.taken:
        app, r = taken.app, taken.resource
        if (r.group, r.kind) != ("apiextensions.k8s.io", "CustomResourceDefinition"):
            continue
        group, kind = text_at(r.live, "spec", "group"), text_at(r.live, "spec", "names", "kind")
        keys = fate.fleet.of_kind(app.cluster, group, kind) if kind else ()
        related = [Related(ref, _id(k), "", "dependent") for k in keys for ref in fate.fleet.owners(k)]
        whose = enumerated(sorted({str(x.app) for x in related}))
        also = (
            f", of which {whose} manage{'s' if len({x.app for x in related}) == 1 else ''} {len(keys)}" if keys else ""
        )
        yield _found(
            fate.way,
            "instances-deleted",
            app,
            r.id,
            f"{r.id} of {app.ref} is deleted, and with it every {kind or 'object of its kind'} of the cluster{also}.",
            related=related,
            fixes=[_keep_live(r.id)],
        )


_OF_KUBERNETES = re.compile(r"^(foregroundDeletion|orphan|kubernetes\.io/|.*\.kubernetes\.io/|.*\.k8s\.io($|/))")
_CONTROLLERS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def _controllers(fate: Fate) -> Iterator[Finding]:
    """An object with a finalizer whose controller is deleted before it, or at the same time."""
    workloads = [t for t in fate.taken if t.resource.group == "apps" and t.resource.kind in _CONTROLLERS]
    for taken in fate.taken if workloads else ():
        for finalizer in items(taken.resource.live, "metadata", "finalizers"):
            word = _word(str(finalizer))
            if not word:
                continue
            own = next((w for w in workloads if w.turn <= taken.turn and _runs(w.resource, word)), None)
            if own is None or own.resource.key == taken.resource.key:
                continue
            together = "together with" if own.turn == taken.turn else "after"
            yield _found(
                fate.way,
                "controller-first",
                taken.app,
                taken.resource.id,
                f"{taken.resource.id} of {taken.app.ref} may never go: it is deleted {together} {own.resource.id}, which removes its finalizer {finalizer}.",
                pointer="/metadata/finalizers",
                related=[Related(own.app.ref, own.resource.id, "", "cause")],
                fixes=[_before_controller(taken.resource.id)],
            )
            break


def _before_controller(id_: ResourceId) -> Fix:
    return Fix(
        "Delete it first, while its controller runs",
        "live",
        str(id_),
        Edit("command", f"kubectl delete {kubectl_name(id_)} --wait\n"),
        caveat="a sync wave below that of the controller gives Argo CD the same order the other way round: higher waves go first",
    )


def _word(finalizer: str) -> str:
    """The product in a finalizer's domain: `external-secrets` of externalsecrets.external-secrets.io/…; empty for Kubernetes' own."""
    if _OF_KUBERNETES.match(finalizer):
        return ""
    labels = finalizer.partition("/")[0].split(".")
    return labels[-2] if len(labels) > 1 and len(labels[-2]) > 3 else ""


def _runs(workload: Resource, word: str) -> bool:
    """Whether a workload is the product's controller, by its images or its name."""
    containers = items(workload.any, "spec", "template", "spec", "containers")
    images = [text_at(c, "image").partition("@")[0].rpartition("/") for c in containers]
    return word in workload.name or any(word in path or word in name.partition(":")[0] for path, _, name in images)


def _children(fate: Fate) -> Iterator[Finding]:
    """Applications that are objects of what is deleted: each goes, with its own objects where it has the finalizer."""
    for taken in fate.taken:
        r = taken.resource
        if (r.group, r.kind) != ("argoproj.io", "Application"):
            continue
        child = fate.fleet.app(r.name, r.namespace)
        if child is None:
            continue
        objects = sum(not row.hook for row in child.rows)
        its = f"its {objects} objects" if objects != 1 else "its only object"
        what = f"with {its}" if cascades(child) else f"and {its} {'stay' if objects != 1 else 'stays'} without an owner"
        yield _found(
            fate.way,
            "child-application",
            taken.app,
            r.id,
            f"Application {child.ref} is deleted, as an object of {taken.app.ref}, {what}.",
            related=[Related(child.ref, None, "", "dependent")],
        )


def below(apps: Sequence[App], fleet: Fleet) -> tuple[App, ...]:
    """The applications with all that lie below them, parents first; one that lies below itself is there once."""
    seen: dict[AppRef, App] = {}
    queue = list(apps)
    while queue:
        app = queue.pop(0)
        if app.ref in seen:
            continue
        seen[app.ref] = app
        for row in app.rows:
            if (row.group, row.kind) == ("argoproj.io", "Application") and not row.requires_pruning:
                child = fleet.app(row.name, row.namespace)
                if child is not None and cascades(app):
                    queue.append(child)
    return tuple(seen.values())


def around(fate: Fate) -> tuple[App, ...]:
    """Applications whose objects may name what goes: on the same cluster and in the same namespaces, in the fleet's order."""
    places = {(t.resource.id.cluster, t.resource.namespace) for t in fate.taken if t.resource.namespace}
    wide = {t.resource.id.cluster for t in fate.taken if t.resource.kind in _FOR_ALL}
    found = []
    for app in fate.fleet.apps:
        if app.ref in fate.refs or app.deleting:
            continue
        if app.cluster in wide or any((app.cluster, row.namespace) in places for row in app.rows if not row.hook):
            found.append(app)
    return tuple(found[:_AROUND])


_FOR_ALL = frozenset(
    "StorageClass IngressClass PriorityClass GatewayClass ClusterRole ClusterSecretStore ClusterIssuer".split()
)
"""Cluster-scoped kinds that manifests of any namespace name."""
_AROUND = 40
"""Other applications that are read for one forecast."""


def still_referenced(fate: Fate, others: Iterable[App]) -> Iterator[Finding]:
    """Objects of applications that stay, and name what goes: an object itself, or one that it owns."""
    gone: dict[tuple[str, ...], tuple[Taken, ResourceId]] = {}
    for taken in fate.taken:
        for id_ in (*(node.id for node in _collected(taken)), taken.resource.id):
            gone[id_.cluster, id_.group, id_.kind, id_.namespace, id_.name] = (taken, id_)
    named: dict[ResourceKey, list[Related]] = {}
    for app in others:
        for r in app.resources:
            if r.key in fate.keys or r.desired is None or r.requires_pruning:
                continue
            for ref in references(r.desired):
                found = gone.get((app.cluster, ref.group, ref.kind, ref.namespace, ref.name))
                if found is not None:
                    named.setdefault(found[1].key, []).append(Related(app.ref, r.id, ref.pointer, "dependent"))
    for key, users in named.items():
        taken, id_ = gone[key]
        who = enumerated([f"{u.resource} of {u.app}" for u in users], limit=2)
        own = id_.key == taken.resource.key
        what = (
            f"{id_} of {taken.app.ref} is deleted"
            if own
            else f"{id_} goes with {taken.resource.id} of {taken.app.ref}, which made it"
        )
        yield _found(
            fate.way,
            "still-referenced",
            taken.app,
            id_,
            f"{what}, though {who} still name{'s' if len(users) == 1 else ''} it.",
            related=users,
            fixes=[_keep_live(taken.resource.id)],
        )
