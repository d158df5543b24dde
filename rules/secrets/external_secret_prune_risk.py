"""A generated Secret looks like one that Argo CD should prune

What it finds: with label tracking, an ExternalSecret whose Secret has no owner reference (creationPolicy Orphan, Merge or CreateOrMerge) but
Argo CD's instance label. Without `target.template` the operator copies all labels of the ExternalSecret to the Secret; with one, the template
may set the label itself, as common labels of Helm charts do. A Secret that the application renders too, or that gets `Prune=false`, is safe.

Why it hurts: the Secret has the application's label and is not in Git. So the application is OutOfSync, and a sync with pruning deletes it
although workloads use it. A merge into another application's Secret overwrites that one's label.

How to fix: give the template empty metadata, or leave the label out of it; then nothing is copied. Or use annotation tracking (the default since
Argo CD 3.0), which ignores a copied tracking id with another object's name.

Example:

    Secret "db" of ExternalSecret shop/db has Argo CD's label app.kubernetes.io/instance without an owner, so Argo CD prunes it.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_template.go; issues 68 and 1885; Argo CD controller/state.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from argolint import App, Edit, Finding, Fix, Fleet, Location, Object, Rank, Resource, Rule, Symptom
from argolint.edits import set_field
from argolint.edits.pruning import prune_option
from argolint.values import annotations_of, join_pointer, labels_of, sh
from argolint.values.kubernetes import SYNC_OPTIONS, api_of

from . import _external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret whose Secret gets its tracking label."""
    if fleet.tracking_method != "label":
        return
    for resource in es.external_secrets(app):
        manifest = resource.any
        policy, name = es.creation_policy(manifest), es.target_name(manifest)
        reason = str(es.ready_condition(resource.live).get("reason") or "")
        if not manifest or policy not in ("Orphan", "Merge", "CreateOrMerge") or not name or reason.endswith("Missing"):
            continue
        secret = app.find("", "Secret", resource.namespace, name)
        extra = secret if secret is not None and es.is_leaving(app, secret) else None
        if secret is not None and extra is None:
            continue  # the application renders the Secret: the label is right
        labels, annotations = _secret_metadata(resource)
        kept = prune_option(app, {"metadata": {"annotations": annotations}}, fleet) == "false"
        if not kept and _has_tracking_label(app, fleet, resource, labels):
            yield _finding(app, fleet, resource, policy, extra)


def _template(manifest: Object) -> Object | None:
    found = es.target_of(manifest).get("template")
    return found if isinstance(found, Mapping) else None


def _secret_metadata(resource: Resource) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Labels and annotations of the Secret: the template's, or without one all of the ExternalSecret's own (setMetadata)."""
    template = _template(resource.any)
    if template is not None:
        return labels_of(template), annotations_of(template)
    sides = (resource.desired, resource.live)
    return (
        {k: v for side in sides for k, v in labels_of(side).items()},
        {k: v for side in sides for k, v in annotations_of(side).items()},
    )


def _has_tracking_label(app: App, fleet: Fleet, resource: Resource, labels: Mapping[str, str]) -> bool:
    """Whether the labels have Argo CD's tracking; a template's count if their text names an application of this cluster."""
    value = labels.get(fleet.label_key)
    if value is None or _template(resource.any) is None:
        return value is not None
    named = fleet.app_of_instance(value)
    return value == app.instance or (named is not None and named.cluster == app.cluster)


def _finding(app: App, fleet: Fleet, resource: Resource, policy: str, extra: Resource | None) -> Finding:
    templated = _template(resource.any) is not None
    origin = "its template gives it" if templated else f"{resource.id} copies to it"
    return Finding(
        message=f'Secret "{es.target_name(resource.any)}" of {resource.id} has Argo CD\'s label {fleet.label_key} without an owner, '
        f"so {'Argo CD prunes it' if app.prune else 'any sync with pruning deletes it'}.",
        at=Location(app.ref, resource.id, _label_pointer(fleet) if templated else "/spec/target"),
        evidence=(
            f"creationPolicy {policy} makes no owner reference; {origin} the label",
            *(("the Secret is already shown as to be pruned",) if extra else ()),
        ),
        fixes=(
            _guarded_fix(
                app, fleet, resource, _label_fix(fleet, resource) if templated else _no_metadata_fix(resource)
            ),
            Fix(
                "Track by annotation",
                "argocd-settings",
                "argocd-cm",
                Edit("yaml", "data:\n  application.resourceTrackingMethod: annotation"),
                "changes every application: sync each of them once",
            ),
        ),
        explains=(Symptom.extra(extra.id),) if extra else (),
    )


def _label_pointer(fleet: Fleet) -> str:
    return join_pointer("spec", "target", "template", "metadata", "labels", fleet.label_key)


def _guarded_fix(app: App, fleet: Fleet, resource: Resource, fix: Fix) -> Fix:
    """The fix with what protects the Secret until the operator has taken the label off: the sync that brings the edit prunes first.

    Operators that serve external-secrets.io/v1 take off the labels that they have set; v0.9.4 did not.
    """
    secret = f"kubectl -n {sh(resource.namespace)} {{}} secret {sh(es.target_name(resource.any))}"
    guard = f"{secret.format('annotate')} --overwrite {SYNC_OPTIONS}=Prune=false"
    old = api_of(resource.any)[1] != "v1"
    off = (
        f"v0.9.4 and older leave the label there: `{secret.format('label')} {sh(fleet.label_key + '-')}`" if old else ""
    )
    return replace(fix, before=(guard,) if app.prune else (), caveat=off)


def _label_fix(fleet: Fleet, resource: Resource) -> Fix:
    edit = Edit("json-patch", [{"op": "remove", "path": _label_pointer(fleet)}])
    return Fix("Leave the label out of the template", "manifest", str(resource.id), edit, safe=True)


def _no_metadata_fix(resource: Resource) -> Fix:
    empty = {"engineVersion": "v2", "metadata": {"labels": {}, "annotations": {}}}
    edit = Edit("json-patch", set_field(resource.any, "/spec/target/template", empty))
    return Fix("Copy no metadata to the Secret", "manifest", str(resource.id), edit, safe=True)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=es.holds_external_secrets, rank=Rank.ROOT)
