"""The consequences of a deletion: what is deleted with it, what still needs it, and what blocks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from argolint.application.app import App
from argolint.application.application_sets import owned_applications, set_at
from argolint.application.resource import Resource
from argolint.edits import live_command
from argolint.edits.pruning import cascades
from argolint.forecast.fate import DeletedObject, DeletionForecast, deletion_finding, keep_fix
from argolint.forecast.volumes import garbage_collected, volumes
from argolint.model import AppRef, Finding, Fix, Related, ResourceId, ResourceKey
from argolint.relations.references import references
from argolint.values import enumerated, items, text_at
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex


def consequences(deletion: DeletionForecast) -> Iterator[Finding]:
    """All findings that follow from the deleted objects alone; the amount comes last."""
    yield from volumes(deletion)
    yield from _contents_findings(deletion)
    yield from _controller_findings(deletion)
    yield from _child_findings(deletion)
    yield from _sum_findings(deletion)


def _contents_findings(deletion: DeletionForecast) -> Iterator[Finding]:
    """A Namespace is deleted with everything in it, a CRD with every object of its kind, whichever Application has it."""
    for deleted in deletion.deleted:
        app, r = deleted.app, deleted.resource
        if (r.group, r.kind) == ("", "Namespace"):
            cause, all_of_it, among = "namespace-with-content", "everything in it, managed by Argo CD or not", "it"
            keys = deletion.fleet.in_namespace(app.cluster, r.name)
        elif (r.group, r.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
            group, kind = text_at(r.live, "spec", "group"), text_at(r.live, "spec", "names", "kind")
            cause, all_of_it, among = (
                "instances-deleted",
                f"every {kind or 'object of its kind'} of the cluster",
                "them",
            )
            keys = deletion.fleet.of_kind(app.cluster, group, kind) if kind else ()
        else:
            continue
        inside = [k for k in keys if k not in deletion.keys]
        related = tuple(Related(ref, k.id, "", "dependent") for k in inside for ref in deletion.fleet.owners(k))
        count = f"{len(inside)} objects" if len(inside) > 1 else "1 object"
        applications = enumerated(sorted({str(x.app) for x in related}))
        also = f", among {among} {count} of {applications}" if inside else ""
        message = f"{r.id} of {app.ref} is deleted with {all_of_it}{also}."
        yield deletion_finding(deletion.way, cause, app, r.id, message, related=related, fixes=(keep_fix(r.id),))


_OF_KUBERNETES = regex(r"^(foregroundDeletion|orphan|kubernetes\.io/|.*\.kubernetes\.io/|.*\.k8s\.io($|/))")
_CONTROLLERS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def _controller_findings(deletion: DeletionForecast) -> Iterator[Finding]:
    """An object with a finalizer whose controller is deleted before it, or at the same time."""
    workloads = [t for t in deletion.deleted if t.resource.group == "apps" and t.resource.kind in _CONTROLLERS]
    for deleted in deletion.deleted if workloads else ():
        for finalizer in items(deleted.resource.live, "metadata", "finalizers"):
            word = _product_word(str(finalizer))
            if not word:
                continue
            own = next((w for w in workloads if w.turn <= deleted.turn and _is_controller_of(w.resource, word)), None)
            if own is None or own.resource.key == deleted.resource.key:
                continue
            together = "together with" if own.turn == deleted.turn else "after"
            message = f"{deleted.resource.id} of {deleted.app.ref} may never go: it is deleted {together} {own.resource.id}, which removes its finalizer {finalizer}."
            related = (Related(own.app.ref, own.resource.id, "", "cause"),)
            fixes = (_delete_first_fix(deleted.resource.id),)
            at = (deleted.app, deleted.resource.id, message, "/metadata/finalizers")
            yield deletion_finding(deletion.way, "controller-first", *at, related=related, fixes=fixes)
            break


def _delete_first_fix(id_: ResourceId) -> Fix:
    return live_command(
        id_,
        "Delete it first, while its controller runs",
        f"kubectl delete {kubectl_name(id_)} --wait\n",
        "a sync wave below that of the controller gives Argo CD the same order the other way round: higher waves go first",
    )


def _product_word(finalizer: str) -> str:
    """The product in a finalizer's domain: `external-secrets` of externalsecrets.external-secrets.io/…; empty for Kubernetes' own."""
    if _OF_KUBERNETES.match(finalizer):
        return ""
    labels = finalizer.partition("/")[0].split(".")
    return labels[-2] if len(labels) > 1 and len(labels[-2]) > 3 else ""


def _is_controller_of(workload: Resource, word: str) -> bool:
    """Whether a workload is the product's controller, by its images or its name."""
    containers = items(workload.any, "spec", "template", "spec", "containers")
    images = [text_at(c, "image").partition("@")[0].rpartition("/") for c in containers]
    return word in workload.name or any(word in path or word in name.partition(":")[0] for path, _, name in images)


def _child_findings(deletion: DeletionForecast) -> Iterator[Finding]:
    """Applications among the deleted objects: each is deleted, with its own objects if it has the finalizer."""
    for deleted in deletion.deleted:
        r = deleted.resource
        if (r.group, r.kind) == ("argoproj.io", "ApplicationSet"):
            yield from _set_findings(deletion, deleted)
        if (r.group, r.kind) != ("argoproj.io", "Application"):
            continue
        child = deletion.fleet.app(r.name, r.namespace)
        if child is None:
            continue
        objects = sum(not row.hook for row in child.rows)
        its = f"its {objects} objects" if objects != 1 else "its only object"
        what = f"with {its}" if cascades(child) else f"and {its} {'stay' if objects != 1 else 'stays'} in the cluster"
        message = f"Application {child.ref} is deleted, as an object of {deleted.app.ref}, {what}."
        related = (Related(child.ref, None, "", "dependent"),)
        yield deletion_finding(deletion.way, "child-application", deleted.app, r.id, message, related=related)


def _set_findings(deletion: DeletionForecast, deleted: DeletedObject) -> Iterator[Finding]:
    r = deleted.resource
    raw = set_at(deletion.fleet, r.namespace, r.name)
    own = owned_applications(deletion.fleet, raw) if raw is not None else ()
    if not own:
        return
    bare = not any(map(cascades, own))
    along = f"its {len(own)} Applications" if len(own) > 1 else "its Application"
    objects = (
        "whose objects stay" if bare else "and with what they deployed" if len(own) > 1 else "and with what it deployed"
    )
    message = f"ApplicationSet {r.name} is deleted, as an object of {deleted.app.ref}, with {along}{',' if bare else ''} {objects}."
    related = tuple(Related(app.ref, None, "", "dependent") for app in own)
    yield deletion_finding(deletion.way, "child-application", deleted.app, r.id, message, related=related)


def _sum_findings(deletion: DeletionForecast) -> Iterator[Finding]:
    """The amount of deleted objects, one finding per application."""
    by_app: dict[AppRef, list[DeletedObject]] = {}
    for deleted in deletion.deleted:
        by_app.setdefault(deleted.app.ref, []).append(deleted)
    for own in by_app.values():
        app = own[0].app
        count = len(own)
        when = ""
        if deletion.way == "prune":
            when = ", by the next automated sync" if app.prune and app.automated else ", by the next sync with prune"
        objects = f"{count} objects" if count != 1 else "1 object"
        message = f"{objects} of {app.ref} {'are' if count != 1 else 'is'} deleted{when}: {_kinds_text(own)}."
        related = tuple(Related(app.ref, t.resource.id) for t in own)
        yield deletion_finding(deletion.way, "objects-deleted", app, None, message, related=related)


def _kinds_text(own: Iterable[DeletedObject]) -> str:
    counts = Counter(taken.resource.kind for taken in own)
    most = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    return enumerated([f"{n} {_plural(kind) if n > 1 else kind}" for kind, n in most], limit=6)


def _plural(kind: str) -> str:
    """The plural of a kind, as Kubernetes forms it."""
    if kind.endswith("y") and not kind.endswith("ay"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") and not kind.endswith("points") else kind.removesuffix("s") + "s"


def applications_around(deletion: DeletionForecast) -> tuple[App, ...]:
    """Applications whose objects may refer to deleted ones: on the same cluster and in the same namespaces, in the fleet's order."""
    places = {(t.resource.id.cluster, t.resource.namespace) for t in deletion.deleted if t.resource.namespace}
    wide = {t.resource.id.cluster for t in deletion.deleted if t.resource.kind in _FOR_ALL}
    near = (
        app
        for app in deletion.fleet.apps
        if not (app.ref in deletion.refs or app.deleting)
        if app.cluster in wide or any((app.cluster, row.namespace) in places for row in app.rows if not row.hook)
    )
    return tuple(islice(near, _AROUND))


_FOR_ALL = frozenset(
    "StorageClass IngressClass PriorityClass GatewayClass ClusterRole ClusterSecretStore ClusterIssuer".split()
)
"""Cluster-scoped kinds that manifests of any namespace refer to."""
_AROUND = 40
"""Most other applications to read for one forecast."""


def reference_findings(deletion: DeletionForecast, others: Iterable[App]) -> Iterator[Finding]:
    """Objects of remaining applications that refer to a deleted object, or to one that it owns."""
    gone: dict[tuple[str, ...], tuple[DeletedObject, ResourceId]] = {}
    for deleted in deletion.deleted:
        for id_ in (*(node.id for node in garbage_collected(deleted)), deleted.resource.id):
            gone[id_.cluster, id_.group, id_.kind, id_.namespace, id_.name] = (deleted, id_)
    named: dict[ResourceKey, list[Related]] = {}
    for app in others:
        for r in app.resources:
            if r.key in deletion.keys or r.desired is None or r.requires_pruning:
                continue
            for ref in references(r.desired):
                lost = gone.get((app.cluster, ref.group, ref.kind, ref.namespace, ref.name))
                if lost is not None:
                    named.setdefault(lost[1].key, []).append(Related(app.ref, r.id, ref.pointer, "dependent"))
    for key, users in named.items():
        deleted, id_ = gone[key]
        who = enumerated([f"{u.resource} of {u.app}" for u in users], limit=2)
        what = f"{id_} is deleted with {deleted.resource.id} of {deleted.app.ref}, which made it"
        if id_.key == deleted.resource.key:
            what = f"{id_} of {deleted.app.ref} is deleted"
        message = f"{what}, though {who} still name{'s' if len(users) == 1 else ''} it."
        fixes = (keep_fix(deleted.resource.id),)
        yield deletion_finding(
            deletion.way, "still-referenced", deleted.app, id_, message, related=tuple(users), fixes=fixes
        )
