"""Store, ExternalSecret and workload block each other by sync waves

What it finds: within one application, a store (or generator, or a template's ConfigMap) in a later wave than an ExternalSecret that reads it, or
an ExternalSecret in a later wave than a workload that cannot start without its Secret. Equal waves are fine. Also a PreSync hook (Helm:
pre-install, pre-upgrade) that needs the Secret: it must complete before the ExternalSecret is applied at all. Hooks are known from the rendered
manifests (`--manifests`), or if the last run is still on the cluster.

Why it hurts: Argo CD waits until a wave is healthy before it starts the next one, and a Degraded object fails the sync. So the ExternalSecret
fails because its store would come later, or the pods wait for a Secret that would come later. The first sync on a new cluster never ends,
although the running cluster looks healthy.

How to fix: wave of the store < wave of the ExternalSecret < wave of the workload, or no waves at all, and `syncPolicy.retry`. Make such a hook a
Sync hook in a later wave (an ExternalSecret that is a PreSync hook itself is deleted, with its Secret, before each sync). Waves order objects of
one application only: across applications use the waves of an app of apps.

Example:

    SecretStore shop/vault (wave 1) comes after ExternalSecret shop/db (wave 0), which reads it: a first sync never ends.

Sources: Argo CD gitops-engine/pkg/sync/sync_context.go, docs/user-guide/sync-waves.md.
"""

from collections.abc import Iterator, Sequence

from argolint import App, Edit, Finding, Fix, Fleet, Location, Related, Resource, ResourceKey, Rule, Want
from argolint.relations.blocked import Blocked, Member, blocked
from argolint.sequence.order import PHASES, place_of
from argolint.values import dig, items
from argolint.values.kubernetes import HOOK, SYNC_WAVE

from ..shared.hooks import live_hook_wants
from . import _external_secret as es
from ._waves import earlier_wave_fix


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render, and the hooks that the last run has left: neither are among the managed objects."""
    if any(_makes_secret(resource) for resource in es.external_secrets(app)):
        yield Want("manifests")
        yield from live_hook_wants(r for r in app.resources if (r.group, r.kind) in (("batch", "Job"), ("", "Pod")))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each pair in the wrong order."""
    if not any(es.external_secrets(app)):
        return
    waiting: dict[ResourceKey, list[Blocked]] = {}
    for pair in app.derive(blocked, fleet):
        if pair.how == "made" and pair.later.id.kind == "ExternalSecret":
            waiting.setdefault(pair.later.id.key, []).append(pair)
    for resource in es.external_secrets(app):
        if resource.desired is None:
            continue
        place = place_of(resource.desired)
        for source, what in _read_objects(app, resource):
            if place_of(source.desired, source.sync_wave) > place:
                yield _finding(app, source, resource, "which reads it", what)
        pairs = waiting.get(resource.key, ())
        secret = es.target_name(resource.desired)
        hooks = [pair.waiting for pair in pairs if pair.waiting.hook]
        if hooks:
            yield _hook_finding(app, resource, hooks, secret)
        for pair in pairs:
            if pair.waiting.resource is not None and not pair.waiting.hook:
                need = f'which cannot start without its Secret "{secret}"'
                least = max((source.wave for source, _ in _read_objects(app, resource)), default=None)
                yield _finding(app, resource, pair.waiting.resource, need, "the ExternalSecret", least)


def _makes_secret(resource: Resource) -> bool:
    """Whether its policy creates the Secret; with other policies another writer does."""
    return resource.desired is not None and es.creation_policy(resource.desired) in ("Owner", "Orphan")


def _hook_finding(app: App, late: Resource, hooks: Sequence[Member], secret: str) -> Finding:
    first, phase, more = (
        hooks[0].id,
        PHASES[hooks[0].place.phase],
        f" (and {len(hooks) - 1} more)" if len(hooks) > 1 else "",
    )
    annotations = f'{HOOK}: Sync\n    {SYNC_WAVE}: "{late.wave + 1}"'
    place = f"/metadata/annotations/{HOOK.replace('/', '~1')}"
    return Finding(
        message=f'{late.id} comes after the {phase} hook {first}{more}, which cannot start without its Secret "{secret}": a first sync never ends.',
        at=Location(app.ref, late.id),
        related=tuple(Related(app.ref, hook, place, "dependent") for hook in (h.id for h in hooks)),
        fixes=(
            Fix(
                "Run the hook within the sync, after the ExternalSecret",
                "manifest",
                str(first),
                Edit("yaml", f"metadata:\n  annotations:\n    {annotations}"),
                "workloads that must wait for the hook need a later wave still; a sync that waits already is ended by argocd app terminate-op",
                resource=first,
            ),
        ),
    )


def _read_objects(app: App, resource: Resource) -> Iterator[tuple[Resource, str]]:
    """The objects that the ExternalSecret reads and the application has, each with its name for a sentence."""
    for ref in es.store_refs(resource.desired):
        store = app.resource(ref.id(resource.namespace, app.cluster).key)
        if store is not None:
            yield store, "the store or generator"
    for kind, name, _ in es.generator_refs(resource.desired):
        found = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if found is not None:
            yield found, "the store or generator"
    for template in items(es.target_of(resource.desired), "template", "templateFrom"):
        for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
            found = app.find("", kind, resource.namespace, str(dig(template, field, "name") or ""))
            if found is not None:
                yield found, f"the {kind} of the template"


def _finding(app: App, late: Resource, early: Resource, need: str, what: str, least: int | None = None) -> Finding:
    """The finding for an object that comes after one that waits for it."""
    return Finding(
        message=f"{late.id} ({place_of(late.desired)}) comes after {early.id} ({place_of(early.desired)}), {need}: a first sync never ends.",
        at=Location(app.ref, late.id, f"/metadata/annotations/{SYNC_WAVE.replace('/', '~1')}"),
        fixes=(earlier_wave_fix(late, early, what, least),),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=es.holds_external_secrets)
