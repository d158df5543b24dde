"""Removing an old ExternalSecret deletes a Secret in use

What it finds: an ExternalSecret of Kubernetes External Secrets that is no longer in the desired state, or is being deleted, while it still owns
a live Secret. One with `Prune=false` is not reported. In the pull-request gate: a change that removes such an object.

Why it hurts: Kubernetes deletes the Secret together with its owner. Workloads that read it fail at their next start, and a new
ExternalSecret of the same name can fill it again only after it is gone.

How to fix: first remove the owner reference from the Secret, or move the workloads to a Secret with another name that External Secrets has
already filled. Only then remove the old object.

Example:

    ExternalSecret shop/db (kubernetes-client.io) is to be removed, and it owns the Secret "db", which Deployment shop/web needs: pruning deletes that Secret with it.

Sources: kubernetes-external-secrets lib/poller.js (ownerReferences); Kubernetes garbage collection.
"""

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Node, Rank, Resource, Rule, Symptom
from argolint.edits import live_command, manifest_yaml
from argolint.edits.pruning import prunes
from argolint.values.kubernetes import is_deleting

from . import _external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each old object that will be removed and owns a Secret."""
    for resource in app.of_kind("ExternalSecret", es.KES_GROUP):
        if not (es.is_leaving(app, resource) or is_deleting(resource.live)):
            continue
        if not is_deleting(resource.live) and prunes(app, resource, fleet) == "never":
            continue
        node = app.node(resource.id)
        for child in app.children(node.uid if node else resource.uid):
            if child.id.kind == "Secret":
                yield _finding(app, resource, child)


def _finding(app: App, resource: Resource, secret: Node) -> Finding:
    users = es.users_of(app, resource.namespace, secret.id.name)
    need = f", which {users[0].id} needs" if users else ""
    ns, name = resource.namespace, secret.id.name
    commands = (
        "# stop the old controller first: it would take the Secret back",
        es.STOP_KES,
        es.release_secret(ns, name),
    )
    return Finding(
        message=f'{resource.id} ({es.KES_GROUP}) is {"being deleted" if is_deleting(resource.live) else "to be removed"}, and it owns the Secret "{name}"{need}: '
        "pruning deletes that Secret with it.",
        at=Location(app.ref, resource.id),
        severity=None if users else "warning",
        confidence="proven" if users else "likely",
        evidence=(
            "the Secret is its child in the resource tree",
            *(
                (f"{len(users)} workloads of the application need it",)
                if users
                else ("no workload of this application names the Secret; others may",)
            ),
        ),
        fixes=(
            live_command(f"Secret {ns}/{name}", "Free the Secret before the old object goes", "\n".join(commands)),
            manifest_yaml(
                resource.id,
                "Keep the old object until the workloads read a Secret that External Secrets made",
                "metadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false",
                "the object then stays as an extra one until it is deleted by hand",
            ),
        ),
        explains=(Symptom.extra(resource.id),) if resource.extra else (),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.ROOT)
