"""A generator creates a new value at each refresh

What it finds: an ExternalSecret that fills its Secret from a generator of random values (Password, UUID, SSHKey) and refreshes by time or by
change (before v0.11 by a change even with interval 0). Generators of short-lived credentials (ECR, GCR, Vault and the like) change on purpose,
and are not reported.

Why it hurts: at each refresh, and at each change of a label or annotation (a chart's version label is enough), the generator creates a new
value: sessions end, databases refuse the new password, replicas disagree. An upgrade over v0.16.2 also refreshes all.

How to fix: `refreshPolicy: CreatedOnce`, which stops refreshes. `target.immutable: true` keeps the value too, but where the operator looks twice
before it has noted the first draw, v0.16.2 then writes the Secret's annotations again and again and stays Ready=False: the two do not belong together.

Example:

    ExternalSecret shop/session-key draws a new value from Password "session" at each refresh, so whatever knows the old one breaks.

Sources: external-secrets docs/api/generator, docs/api/externalsecret.md; issues 3979 and 4756.
"""

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, ResourceId, Rule, Want
from argolint.relations.operator_version import version_of
from argolint.values import dig
from argolint.values.knowledge import load

from ..shared.peers import peer_want
from . import _external_secret as es


def _cluster_generator_id(app: App, name: str) -> ResourceId:
    return ResourceId(es.GENERATORS, "ClusterGenerator", "", name, cluster=app.cluster)


def _rotating_external_secrets(app: App) -> Iterator[es.Declared]:
    """ExternalSecrets that may use a generator more than once and write its value."""
    for found in es.declared(app):
        manifest = found.manifest
        is_repeated = es.refresh_policy(manifest) in ("Periodic", "OnChange") and not es.keeps_first_value(manifest)
        if is_repeated and es.generator_refs(manifest):
            yield found


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """ClusterGenerators of other applications: only they show what they generate."""
    for found in _rotating_external_secrets(app):
        for kind, name, _ in es.generator_refs(found.manifest):
            wanted = _cluster_generator_id(app, name)
            if kind == "ClusterGenerator" and app.resource(wanted.key) is None:
                yield from peer_want(fleet, wanted)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that uses a random generator repeatedly."""
    random = load(__package__, "generators.yaml")["random"]
    drawing = tuple(_rotating_external_secrets(app))
    # since v0.11 interval 0 stops every refresh, also after a label change
    old = bool(drawing) and version_of(app, fleet).at_least("v0.11.0") is False
    for found in drawing:
        manifest = found.manifest
        periodic = es.refresh_policy(manifest) == "Periodic"
        timed = periodic and es.refresh_interval(manifest) > timedelta()
        if periodic and not timed and not old:
            continue
        for kind, name, pointer in es.generator_refs(manifest):
            if _generator_kind(app, fleet, kind, name) not in random:
                continue
            place = "/spec/refreshInterval" if periodic else f"{pointer}/name"
            every = f"every {es.spec_of(manifest).get('refreshInterval') or '1h'} and " if timed else ""
            when = "at each refresh" if timed else "at each label change"
            yield Finding(
                message=f'{found.resource.id} generates a new value with {kind} "{name}" {when}, so whatever uses the old one breaks.',
                at=Location(app.ref, found.resource.id, found.pointer(place)),
                evidence=(f"it draws {every}at each change of its labels and annotations",),
                fixes=(_generate_once_fix(found, old=old),),
            )
            break


def _generator_kind(app: App, fleet: Fleet, kind: str, name: str) -> str:
    if kind != "ClusterGenerator":
        return kind
    wanted = _cluster_generator_id(app, name)
    found = app.resource(wanted.key)
    for want in peer_want(fleet, wanted):
        found = found or app.evidence.get(want)
    return str(dig(found.any if found else None, "spec", "kind") or "")


def _generate_once_fix(found: es.Declared, *, old: bool) -> Fix:
    if old:
        title, edit = "Keep the first value: an immutable Secret", found.set("/spec/target/immutable", True)
        caveat = "before v0.11 nothing else stops a refresh by a change of labels"
    elif str(found.manifest.get("apiVersion")) == f"{es.GROUP}/v1":
        title, edit = "Generate once: refreshPolicy CreatedOnce", found.set("/spec/refreshPolicy", "CreatedOnce")
        caveat = "to rotate on purpose, delete the Secret"
    else:
        title, edit = 'Generate once: refreshInterval "0"', found.set("/spec/refreshInterval", "0")
        caveat = "refreshPolicy CreatedOnce says it better from v0.16.0 (external-secrets.io/v1) on"
    return Fix(title, "manifest", str(found.resource.id), Edit("json-patch", edit), caveat)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=es.holds_external_secrets)
