"""A generated Secret looks like one that Argo CD must prune

What it finds: with label tracking, an ExternalSecret that makes a Secret without owner reference (creationPolicy Orphan, Merge or
CreateOrMerge) and without `target.template`: all its labels, Argo CD's instance label among them, are copied to the Secret.

Why it hurts: the Secret carries the application's label and is not in Git, so the application is OutOfSync and a sync with
pruning deletes it under the workloads. Merging into another application's Secret overwrites that one's label.

How to fix: give the template empty metadata; then nothing is copied. Or use annotation tracking (the default since Argo CD 3.0),
where a copied tracking id that names another object is ignored.

Example:

    ExternalSecret shop/db makes the Secret "db" without an owner and copies the label app.kubernetes.io/instance to it: Argo CD takes it for an extra object and prunes it.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_template.go; issues 68 and 1885; Argo CD controller/state.go.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule, Symptom
from argolint.values import labels_of

from . import external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that hands its tracking label on."""
    if fleet.tracking_method != "label":
        return
    for resource in es.external_secrets(app):
        manifest = resource.any
        policy, name = es.creation_policy(manifest), es.target_name(manifest)
        reason = str(es.ready(resource.live).get("reason") or "")
        if not manifest or policy not in ("Orphan", "Merge", "CreateOrMerge") or not name or reason.endswith("Missing"):
            continue
        carried = {**labels_of(resource.desired), **labels_of(resource.live)}
        if "template" not in es.target_of(manifest) and fleet.label_key in carried:
            yield _finding(app, fleet, resource, policy, name)


def _finding(app: App, fleet: Fleet, resource: Resource, policy: str, name: str) -> Finding:
    secret = app.find("", "Secret", resource.namespace, name)
    extra = secret if secret is not None and (secret.extra or secret.requires_pruning) else None
    empty = {"engineVersion": "v2", "metadata": {"labels": {}, "annotations": {}}}
    return Finding(
        message=f'{resource.id} makes the Secret "{name}" without an owner (creationPolicy {policy}) and copies the label '
        f"{fleet.label_key} to it: Argo CD takes it for an extra object and {'prunes it' if app.prune else 'any sync with pruning deletes it'}.",
        at=Location(app.ref, resource.id, "/spec/target"),
        evidence=("the Secret is already shown as to be pruned",) if extra else (),
        fixes=(
            Fix(
                "Copy no metadata to the Secret",
                "manifest",
                str(resource.id),
                Edit("json-patch", es.set_field(resource.any, "/spec/target/template", empty)),
                safe=True,
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


RULE = Rule(
    id="external-secret-prune-risk",
    family="secrets",
    severity="error",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
    rank=20,
)
