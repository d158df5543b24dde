"""Store, ExternalSecret and workload block each other by sync waves

What it finds: within one application, a store (or generator) in a later wave than an ExternalSecret that reads it, or an
ExternalSecret in a later wave than a workload that cannot start without its Secret. Equal waves are fine.

Why it hurts: Argo CD waits until a wave is healthy before it starts the next one, and a Degraded object fails the sync. So the
ExternalSecret fails for want of a store that would come later, or the pods wait for a Secret that would come later: the first
sync on a new cluster never ends, although the running one looks healthy.

How to fix: wave of the store < wave of the ExternalSecret < wave of the workload, or no waves at all, and
`syncPolicy.retry`. Waves order objects of one application only: across applications use the waves of an app of apps.

Example:

    SecretStore shop/vault (wave 1) comes after ExternalSecret shop/db (wave 0), which reads it: a first sync never ends.

Sources: Argo CD gitops-engine/pkg/sync/sync_context.go, docs/user-guide/sync-waves.md.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule
from argolint.values import dig

from . import external_secret as es

BLOCKING = ("Deployment", "StatefulSet", "DaemonSet", "Rollout", "Job", "Pod")
WAVE = "argocd.argoproj.io/sync-wave"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each pair in the wrong order."""
    if not any(es.external_secrets(app)):
        return
    workloads = [
        (r, es.secrets_used_by(r.desired))
        for r in app.resources
        if r.kind in BLOCKING and r.desired and dig(r.desired, "spec", "replicas") != 0
    ]
    for resource in es.external_secrets(app):
        if resource.desired is None:
            continue
        for source in _sources(app, resource):
            if es.wave(source) > es.wave(resource):
                yield _finding(app, source, resource, "which reads it", "the store or generator")
        if es.creation_policy(resource.desired) not in ("Owner", "Orphan"):
            continue  # the Secret exists without it
        secret = es.target_name(resource.desired)
        for workload, used in workloads:
            if workload.namespace == resource.namespace and secret in used and es.wave(resource) > es.wave(workload):
                yield _finding(
                    app, resource, workload, f'which cannot start without its Secret "{secret}"', "the ExternalSecret"
                )


def _sources(app: App, resource: Resource) -> Iterator[Resource]:
    for ref in es.store_refs(resource.desired):
        store = app.resource(ref.id(resource.namespace, app.cluster).key)
        if store is not None:
            yield store
    for kind, name, _ in es.generator_refs(resource.desired):
        found = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if found is not None:
            yield found


def _finding(app: App, late: Resource, early: Resource, need: str, what: str) -> Finding:
    edit = Edit(
        "json-patch",
        es.set_field(late.desired, f"/metadata/annotations/{WAVE.replace('/', '~1')}", str(es.wave(early) - 1)),
    )
    return Finding(
        message=f"{late.id} (wave {es.wave(late)}) comes after {early.id} (wave {es.wave(early)}), {need}: a first sync never ends.",
        at=Location(app.ref, late.id, f"/metadata/annotations/{WAVE.replace('/', '~1')}"),
        fixes=(Fix(f"Put {what} into an earlier wave", "manifest", str(late.id), edit, safe=True),),
    )


RULE = Rule(
    id="external-secret-wave-order",
    family="secrets",
    severity="warning",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
)
