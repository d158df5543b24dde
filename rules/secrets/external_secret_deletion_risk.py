"""A lost key deletes data

What it finds: `deletionPolicy: Delete` or `Merge` on an ExternalSecret or the template of a ClusterExternalSecret that reads a
provider.

Why it hurts: the operator cannot distinguish a deleted key from one that was mistyped, moved or hidden by a prefix. It then removes the
key from the Secret, and with Delete the whole Secret when no key is left. The ExternalSecret stays Ready=True and Argo CD shows Healthy.

How to fix: `deletionPolicy: Retain`, which turns a lost key into a visible error. Providers that cannot distinguish "does not exist" from other
errors ignore the policy anyway.

Example:

    A key of ExternalSecret shop/db that the provider loses deletes Secret "db".

Sources: external-secrets docs/guides/ownership-deletion-policy.md, docs/introduction/stability-support.md.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.values import items

from . import _external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object whose Secret can lose data that way; a generator has no key to lose."""
    for found in es.declared(app):
        resource, policy = found.resource, es.deletion_policy(found.manifest)
        if policy not in ("Delete", "Merge") or es.is_generated_only(found.manifest):
            continue
        target, place = es.target_text(found.manifest), found.pointer("/spec/target/deletionPolicy")
        alone = len(items(found.manifest, "spec", "data")) + len(items(found.manifest, "spec", "dataFrom")) < 2
        lost = f"deletes {target}" if policy == "Delete" and alone else f"takes its data from {target}"
        users = es.users_of(app, resource.namespace, es.target_name(found.manifest))
        need = f", which {users[0].id} needs" if users else ""
        edit = Edit("json-patch", found.set("/spec/target/deletionPolicy", "Retain"))
        more = f"; when no key is left, {target} is deleted" if policy == "Delete" and not alone else ""
        yield Finding(
            message=f"A key of {resource.id} that the provider loses {lost}{need}{more}.",
            at=Location(app.ref, resource.id, place),
            evidence=(f"deletionPolicy {policy}; a mistyped key counts as lost",),
            fixes=(
                Fix("Retain the Secret, so that a lost key is an error", "manifest", str(resource.id), edit, safe=True),
            ),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=es.holds_external_secrets)
