"""Tracking metadata copied to an object that Argo CD never applied

What it finds: a live object with this Application's tracking label or tracking-id that is not among its manifests and was never applied by Argo
CD. An operator made it from a tracked object and copied the metadata, a restore of a backup brought it to another namespace, a script labelled it like the release, or the chart of a Helm release of
that name in another namespace did. Also what a controller made for an object that was deleted without its dependents.

Why it hurts: with label tracking the copy looks like an object that left Git: the Application is OutOfSync, and a sync with prune deletes the
operator's new object again and again. With annotation tracking Argo CD sees that the tracking-id names another object and ignores the copy.

How to fix: track by annotation. A kind that only a program makes, such as CiliumIdentity, is excluded instead. Until then configure the operator not to copy labels, or mark the copies with `Prune=false` and
`IgnoreExtraneous` through the metadata that it copies.

Example: a custom resource with the label `app.kubernetes.io/instance: shop` whose operator copies its labels to the ConfigMap that it generates.

Sources: util/argo/resource_tracking.go, controller/state.go (isSelfReferencedObj); argoproj/argo-cd issues 3603, 5792, 8683, 10456.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import GONE, App, Edit, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule, Symptom
from argolint.application.applied import by_argocd
from argolint.application.fleet import IN_CLUSTER
from argolint.application.tracked import Tracking, tracking_of
from argolint.comparison import TRACKING_ID, managers
from argolint.edits import application_patch, argocd_cm, sync_option
from argolint.edits.pruning import keeping
from argolint.relations.makers import maker_of
from argolint.values import dig, enumerated, labels_of, owner_references
from argolint.values.kubernetes import kubectl_name

from ..shared.tracking import annotation_tracking_fix
from ._installations import label_key_fix
from ._tracking import MACHINE_MADE, foreign_release, has_copied_tracking, own_managers


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the list marks an object with requiresPruning: a copy with IgnoreExtraneous leaves the application Synced."""
    return any(row.requires_pruning and not row.hook for row in app.rows)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the extraneous objects that Argo CD never applied, for each origin of their mark."""
    if not app.desired_known:
        return
    copies: dict[tuple[str, str, str, str], list[Resource]] = {}
    for resource in app.extra:
        tracking = tracking_of(resource.live, fleet)
        if tracking is None or not has_copied_tracking(app, resource, fleet):
            continue
        release = foreign_release(app, resource.live)
        maker = _maker(app, fleet, resource, tracking.instance)
        maker_text = f"{maker} made it and" if maker else "its maker"
        if not tracking.own and _is_left_alone(app, resource, tracking):
            yield _left_finding(app, resource, tracking)
            continue
        if not tracking.own and resource.status == "OutOfSync":
            danger = "auto-sync prunes it" if app.prune else "a sync with prune deletes it"
            yield Finding(
                message=f"{resource.id} carries another object's tracking-id, which this Argo CD takes for its own: {danger}.",
                at=Location(app.ref, resource.id),
                evidence=(
                    f"{maker_text} copied the metadata",
                    "Argo CD 2.4 and later know by the tracking-id that it is another object's",
                ),
                fixes=(_keep_fix([resource]),),
                explains=(Symptom.extra(resource.id),),
            )
            continue
        if not tracking.own:
            yield Finding(
                message=f"{resource.id} carries another object's tracking-id, so Argo CD lists it without a sync status.",
                evidence=(f"{maker_text} copied the metadata",),
                at=Location(app.ref, resource.id),
                severity="info",
                explains=(Symptom.extra(resource.id),),
            )
            continue
        origin = f"Helm release {release} wrote" if release else _setter_text(maker)
        machine = resource.kind if (resource.group, resource.kind) in MACHINE_MADE else ""
        mark = "label" if tracking.by != TRACKING_ID else "annotation"
        cause = (mark, f'{tracking.by} is "{tracking.instance}", which {origin}', release, machine)
        copies.setdefault(cause, []).append(resource)
    for (mark, origin, release, _), found in copies.items():
        yield _copied_finding(app, fleet, mark, origin, release, found)


def _copied_finding(app: App, fleet: Fleet, mark: str, origin: str, release: str, found: Sequence[Resource]) -> Finding:
    """The finding for all copies of one origin."""
    one = len(found) == 1
    it = "it" if one else "them"
    danger = f"auto-sync prunes {it}" if app.prune else f"a sync with prune deletes {it}"
    seen = dict.fromkeys(_volume_text(r) or _writers_text(r) for r in found)
    return Finding(
        message=f"{enumerated([str(r.id) for r in found], 'object', limit=1)} {'carries' if one else 'carry'} this Application's tracking"
        f" {mark}, though Argo CD never applied {it}: {danger}.",
        at=Location(app.ref, found[0].id),
        evidence=(origin, *seen),
        related=tuple(Related(app.ref, r.id, role="symptom") for r in found[1:]),
        fixes=tuple(_fixes(app, fleet, found, release)),
        explains=tuple(Symptom.extra(r.id) for r in found),
    )


def _is_left_alone(app: App, resource: Resource, tracking: Tracking) -> bool:
    """Whether a controller made it for an object that is gone, and nothing owns it since: a deletion that orphans dependents leaves it."""
    made = any(writer.manager == "kube-controller-manager" for writer in managers(resource.live or {}))
    gone = app.find(tracking.group, tracking.kind, tracking.namespace, tracking.name) is None
    runs = (resource.group, resource.kind) in _DEPENDENTS
    return runs and made and gone and not owner_references(resource.live)


_DEPENDENTS = frozenset({("apps", "ReplicaSet"), ("batch", "Job"), ("", "Pod")})
"""Kinds that controllers of Kubernetes make, and that hold no data."""


def _left_finding(app: App, resource: Resource, tracking: Tracking) -> Finding:
    maker = f"{tracking.kind} {tracking.namespace}/{tracking.name}"
    runs = dig(resource.live, "spec", "replicas") != 0
    orphans = _ORPHANS in app.sync_options
    delete = Fix(
        f"Delete {resource.id}, which nothing owns",
        "live",
        str(resource.id),
        Edit("command", f"kubectl delete {kubectl_name(resource.id)}"),
        caveat="its pods end with it" if runs else "",
        resource=resource.id,
        plays=GONE,
    )
    prune = application_patch(
        app, "And prune with what an object owns", sync_option(app, "PrunePropagationPolicy=foreground")
    )
    return Finding(
        message=f"{resource.id} was left behind when {maker} was deleted: nothing owns it{', and its pods run on' if runs else ''}.",
        at=Location(app.ref, resource.id),
        severity="warning" if runs else "info",
        confidence="likely",
        evidence=(
            f"its tracking-id names {maker}, which this application has no more, and it has no owner reference",
            *([f"the sync option {_ORPHANS} leaves what a pruned object owns"] if orphans else []),
        ),
        fixes=(delete, prune) if orphans else (delete,),
        explains=(Symptom.extra(resource.id),),
    )


_ORPHANS = "PrunePropagationPolicy=orphan"
_NAMELESS = frozenset(
    {"manager", "controller", "operator", "fabric8-kubernetes-client", "okhttp", "Go-http-client", "OpenAPI-Generator"}
)
"""Field managers with the default name of a library or a project template."""


def _maker(app: App, fleet: Fleet, resource: Resource, instance: str) -> str:
    """The maker of the copy: the operator of its original object, else its field manager, or the label if that shows nothing."""
    writer = next((w.manager for w in own_managers(resource.live or {})), "")
    if writer and writer not in _NAMELESS:
        return writer
    origin = maker_of(app, fleet, resource.namespace, resource.name) if resource.kind == "Secret" else None
    if origin is not None:
        return f"the operator of {origin.id}"
    label = str(dig(resource.live, "metadata", "labels", "app.kubernetes.io/managed-by") or "")
    return label if label not in ("", "Helm", "helm", "argocd", instance) else writer


def _setter_text(maker: str) -> str:
    if maker.startswith("kubectl-"):
        return f"{maker.replace('-', ' ', 1)} set, by hand or in a script"
    return f"{maker or 'its maker'} copied from a tracked object or set by itself"


def _writers_text(resource: Resource) -> str:
    names = f"field managers of the live object: {_managers_text(resource)}"
    if any(by_argocd(w) for w in managers(resource.live or {})):
        return f"{names}; those of Argo CD are older than the object, so a restore or a copy brought them"
    return f"{names}; none of them is Argo CD"


def _managers_text(resource: Resource) -> str:
    return ", ".join(dict.fromkeys(w.manager for w in managers(resource.live or {}))) or "not recorded"


def _volume_text(resource: Resource) -> str:
    """Who made a claim or a volume that has no field managers; empty for another object."""
    if managers(resource.live or {}) or resource.group:
        return ""
    if resource.kind == "PersistentVolumeClaim":
        return "the controller of a StatefulSet makes it from volumeClaimTemplates, with the labels there"
    return "a provisioner made it for a claim" if resource.kind == "PersistentVolume" else ""


def _fixes(app: App, fleet: Fleet, found: Sequence[Resource], release: str) -> Iterator[Fix]:
    if (found[0].group, found[0].kind) in MACHINE_MADE:
        yield _exclude_fix(app, found[0])
        yield annotation_tracking_fix("names one object")
        return
    if not fleet.at_least(2, 2) and not any(_has_all_labels_of_its_maker(app, fleet, r) for r in found):
        by = "chart" if release else "chart or operator"
        own_key = label_key_fix(f"Track by a label that no {by} writes", "argocd.argoproj.io/instance")
        copies = "" if release else "an operator that copies every label of its object copies this one, too"
        yield replace(own_key, caveat="; ".join(filter(None, (own_key.caveat, copies))))
    yield annotation_tracking_fix("names one object")
    yield _keep_fix(found)


def _has_all_labels_of_its_maker(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether the copy has every label of the object that it is made from, of which one is no tracking label: no other label would stay off it."""
    maker = maker_of(app, fleet, resource.namespace, resource.name) if resource.kind == "Secret" else None
    origin = app.resource(maker.id.key) if maker else None
    labels = labels_of(origin.live).items() if origin else ()
    return len(labels) > 1 and labels <= labels_of(resource.live).items()


def _exclude_fix(app: App, resource: Resource) -> Fix:
    """The exclusion of this kind alone; on the cluster alone, except Argo CD's own, which it reads by another address than the Application has."""
    known = app.cluster != IN_CLUSTER and not app.cluster.startswith("name:")
    where = f'\n      clusters: ["{app.cluster}"]' if known else ""
    entry = f'    - apiGroups: ["{resource.group}"]\n      kinds: ["{resource.kind}"]{where}\n'
    return argocd_cm(
        f"Exclude {resource.kind}, which no one writes by hand, from what Argo CD reads",
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\ndata:\n  resource.exclusions: |\n{entry}",
        "add it to the existing list",
    )


def _keep_fix(found: Sequence[Resource]) -> Fix:
    what, end = ("object", "is") if len(found) == 1 else ("objects", "are")
    return Fix(
        f"Keep the {what} from being pruned",
        "live",
        ", ".join(str(r.id) for r in found),
        Edit("command", "".join(f"{keeping(r.id)}\n" for r in found)),
        caveat=f"lasts until the {what} {end} created again",
        safe=True,
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, rank=Rank.CAUSE)
