"""A generator draws a new value at each refresh

What it finds: an ExternalSecret that fills its Secret from a generator of random values (Password, UUID, SSHKey) and refreshes
by time or by change. Generators of short-lived credentials (ECR, GCR, Vault and the like) are meant to change, and no finding.

Why it hurts: at each refresh, and at each change of a label or annotation (a chart's version label is enough), the generator
draws a new value: sessions end, databases refuse the new password, replicas disagree. Also an upgrade over v0.16.2 refreshes all.

How to fix: `refreshPolicy: CreatedOnce` with `target.immutable: true`: the first stops refreshes, the second protects the Secret
when the ExternalSecret is made anew.

Example:

    ExternalSecret shop/session-key draws a new value from Password "session" every 24h and at each label change: whatever knows the old value breaks.

Sources: external-secrets docs/api/generator, docs/api/externalsecret.md; issues 3979 and 4756.
"""

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, ResourceId, Rule, Want
from argolint.knowledge import load
from argolint.values import dig

from . import external_secret as es


def _cluster_generator(app: App, name: str) -> ResourceId:
    return ResourceId(es.GENERATORS, "ClusterGenerator", "", name, cluster=app.cluster)


def _rotating(app: App) -> Iterator[Resource]:
    for resource in es.external_secrets(app):
        policy = es.refresh_policy(resource.any)
        timed = policy == "Periodic" and es.interval(resource.any) > timedelta()
        if es.generator_refs(resource.any) and (timed or policy == "OnChange"):
            yield resource


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """ClusterGenerators of other applications, which alone know what they generate."""
    for resource in _rotating(app):
        for kind, name, _ in es.generator_refs(resource.any):
            wanted = _cluster_generator(app, name)
            if kind == "ClusterGenerator" and app.resource(wanted.key) is None:
                yield from (Want("peer", wanted, app=owner) for owner in fleet.owners(wanted.key)[:1])


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that asks a random generator again and again."""
    random = load(__package__, "generators.yaml")["random"]
    for resource in _rotating(app):
        for kind, name, pointer in es.generator_refs(resource.any):
            if _drawn(app, fleet, kind, name) not in random:
                continue
            timed = es.refresh_policy(resource.any) == "Periodic"
            every = f"every {es.spec_of(resource.any).get('refreshInterval') or '1h'} and " if timed else ""
            yield Finding(
                message=f'{resource.id} draws a new value from {kind} "{name}" {every}at each label change: whatever knows the '
                "old value breaks.",
                at=Location(app.ref, resource.id, "/spec/refreshInterval" if timed else f"{pointer}/name"),
                fixes=(_once(resource),),
            )
            break


def _drawn(app: App, fleet: Fleet, kind: str, name: str) -> str:
    if kind != "ClusterGenerator":
        return kind
    wanted = _cluster_generator(app, name)
    found = app.resource(wanted.key)
    for owner in fleet.owners(wanted.key)[:1]:
        found = found or app.evidence.get(Want("peer", wanted, app=owner))
    return str(dig(found.any if found else None, "spec", "kind") or "")


def _once(resource: Resource) -> Fix:
    manifest = resource.any
    immutable = es.set_field(manifest, "/spec/target/immutable", True)
    if str(manifest.get("apiVersion")) == f"{es.GROUP}/v1":
        title = "Generate once: refreshPolicy CreatedOnce and an immutable Secret"
        first, caveat = (
            es.set_field(manifest, "/spec/refreshPolicy", "CreatedOnce"),
            "to rotate on purpose, delete the Secret and the ExternalSecret",
        )
    else:
        title = 'Generate once: refreshInterval "0" and an immutable Secret'
        first, caveat = (
            es.set_field(manifest, "/spec/refreshInterval", "0"),
            "refreshPolicy CreatedOnce says it better from v0.16.0 (external-secrets.io/v1) on",
        )
    return Fix(
        title,
        "manifest",
        f"ExternalSecret {resource.namespace}/{resource.name}",
        Edit("json-patch", [*first, *immutable]),
        caveat,
    )


RULE = Rule(
    id="external-secret-generator-rotates",
    family="secrets",
    severity="warning",
    doc=__doc__,
    check=check,
    wants=wants,
    reads=es.holds_external_secrets,
)
