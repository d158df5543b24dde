"""A Secret is in Git and made by an ExternalSecret too

What it finds: a Secret that an application renders and that an ExternalSecret on the same cluster, of this or another
application, replaces (creationPolicy Owner or Orphan).

Why it hurts: the operator takes the Secret over: it sets its owner reference and replaces the data. Argo CD wants its own data
back at each sync; the application stays OutOfSync, and with self-heal the two fight. Workloads see now one value, now the other.

How to fix: keep one writer. Remove the Secret from Git (the operator makes it anew), or give the ExternalSecret another
`target.name`, or, when both have a share, let it add its keys only with `creationPolicy: Merge`.

Example:

    Secret shop/smtp is in Git and the target of ExternalSecret shop/smtp (creationPolicy Owner): Argo CD and the operator overwrite each other.

Sources: external-secrets docs/guides/ownership-deletion-policy.md; issue 2416 (argocd-secret emptied), 4548.
"""

from collections.abc import Iterator

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Location, Related, Resource, ResourceId, Rule, Symptom
from argolint.values import mapping, owner_references

from . import external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Secret of Git that an ExternalSecret of this application replaces."""
    for resource in es.external_secrets(app):
        policy, name = es.creation_policy(resource.any), es.target_name(resource.any)
        if not resource.any or policy not in ("Owner", "Orphan") or not name or resource.extra:
            continue
        secret = ResourceId("", "Secret", resource.namespace, name, "v1", app.cluster)
        own = app.resource(secret.key)
        others = [(o, fleet.resource(o, secret.key)) for o in fleet.owners(secret.key) if o != app.ref]
        for owner, listed in ((app.ref, own), *others):
            if listed is not None and not listed.requires_pruning and not listed.extra and not _shell(resource, listed):
                yield _finding(app, owner, resource, listed, policy)


def _shell(resource: Resource, secret: Resource) -> bool:
    """A Secret that lives in peace with its ExternalSecret: in sync, and Git is not known to hold any key of it."""
    keys = {**mapping(secret.desired, "data"), **mapping(secret.desired, "stringData")}
    return secret.status == "Synced" and not keys and es.ready(resource.live).get("status") == "True"


def _finding(app: App, owner: AppRef, resource: Resource, secret: Resource, policy: str) -> Finding:
    taken = any(str(o.get("apiVersion", "")).startswith(es.GROUP) for o in owner_references(secret.live))
    mine = "" if owner == app.ref else f" of application {app.ref}"
    name = resource.name if resource.name != secret.name else f"{resource.name}-eso"
    rename = Edit("json-patch", es.set_field(resource.any, "/spec/target/name", name))
    merge = Edit("json-patch", es.set_field(resource.any, "/spec/target/creationPolicy", "Merge"))
    where = f"ExternalSecret {resource.namespace}/{resource.name}"
    return Finding(
        message=f"{secret.id} is in Git and the target of {resource.id}{mine} (creationPolicy {policy}): Argo CD and the operator overwrite each other.",
        at=Location(owner, secret.id, "/data"),
        evidence=("the live Secret has an owner reference to the ExternalSecret",) if taken else (),
        related=(Related(app.ref, resource.id, "/spec/target/name", "cause"),),
        fixes=(
            Fix(
                f'Remove the Secret "{secret.name}" from Git: the operator makes it',
                "manifest",
                str(secret.id),
                Edit("text", "Keys that only Git holds can become entries of spec.target.template.data."),
                ""
                if taken
                else "Argo CD prunes it first if the operator has not adopted it: it is made again at the next refresh",
            ),
            Fix(
                f'Let the ExternalSecret write the Secret "{name}"',
                "manifest",
                where,
                rename,
                "move the workloads that need its keys",
                resource=resource.id,
            ),
            Fix(
                "Let the ExternalSecret only add its keys",
                "manifest",
                where,
                merge,
                "keys that both hold stay contested",
                resource=resource.id,
            ),
        ),
        explains=(Symptom.change(secret.id),),
    )


RULE = Rule(
    id="external-secret-target-in-git",
    family="secrets",
    severity="error",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
    rank=20,
)
