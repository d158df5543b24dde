"""A lost key deletes data

What it finds: `deletionPolicy: Delete` or `Merge` on an ExternalSecret or the template of a ClusterExternalSecret.

Why it hurts: the operator cannot tell a key that was deleted from one that was mistyped, moved or hidden by a prefix. With
Delete it then removes the whole Secret, with Merge the keys; the ExternalSecret stays Ready=True and Argo CD shows Healthy.

How to fix: `deletionPolicy: Retain`, which turns a lost key into an error that is seen. Providers that cannot tell "does not
exist" from other errors ignore the policy anyway.

Example:

    ExternalSecret shop/db has deletionPolicy Delete: a key that is deleted or mistyped at the provider removes the Secret "db".

Sources: external-secrets docs/guides/ownership-deletion-policy.md, docs/introduction/stability-support.md.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.values import mapping

from . import external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object whose Secret can lose data that way."""
    for kind, base in (("ExternalSecret", "/spec"), ("ClusterExternalSecret", "/spec/externalSecretSpec")):
        for resource in app.of_kind(kind, es.GROUP):
            spec = es.spec_of(resource.any)
            target = mapping(spec if base == "/spec" else spec.get("externalSecretSpec"), "target")
            policy = target.get("deletionPolicy")
            if policy not in ("Delete", "Merge"):
                continue
            name = str(target.get("name") or spec.get("externalSecretName") or resource.name)
            lost = f'the Secret "{name}"' if policy == "Delete" else f'its data from the Secret "{name}"'
            users = es.users_of(app, resource.namespace, name) if kind == "ExternalSecret" else ()
            need = f", which {users[0].id} needs" if users else ""
            edit = Edit("json-patch", es.set_field(resource.any, f"{base}/target/deletionPolicy", "Retain"))
            yield Finding(
                message=f"{resource.id} has deletionPolicy {policy}: a key that is deleted or mistyped at the provider removes {lost}{need}.",
                at=Location(app.ref, resource.id, f"{base}/target/deletionPolicy"),
                fixes=(
                    Fix(
                        "Retain the Secret, so that a lost key is an error",
                        "manifest",
                        str(resource.id),
                        edit,
                        safe=True,
                    ),
                ),
            )


RULE = Rule(
    id="external-secret-deletion-risk",
    family="secrets",
    severity="warning",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
)
