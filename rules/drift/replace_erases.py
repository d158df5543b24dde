"""Replace=true erases what another program wrote

What it finds: an object that Argo CD syncs with `Replace=true`, and that holds what Git lacks and another program wrote: a key of a Secret or
ConfigMap, the CA bundle of a webhook, the number of replicas that an autoscaler has set. An apply leaves such fields alone. A replace sends the
manifest as it is in Git, at each sync, even if nothing else differs.

Why it hurts: the keys are gone until that program writes them again. Argo CD's own `argocd-secret` loses `server.secretkey`, which
`argocd-server` makes only at its start. A webhook is not trusted for that time. A scaled workload falls to one replica at each sync.

How to fix: apply instead of replace. An object that is too large for an apply has its own annotation, or `ServerSideApply=true`.

Argo CD shows no sign of this fault. In a fleet of up to 200 applications, those with the option are read for it.

Example: an Application with `Replace=true` that renders `argocd-secret` without data.

Sources: gitops-engine pkg/sync/sync_context.go (applyObject), pkg/utils/kube/resource_ops.go (ReplaceResource); argoproj/argo-cd#10831;
docs/user-guide/sync-options.md (Replace Resource Instead Of Applying Changes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint import App, Finding, Fix, Fleet, Follows, Location, Rank, Resource, Rule
from argolint.application.applied import by_argocd
from argolint.comparison import application_rules, has_sync_option, matches_object, removed, server_rules, writers
from argolint.edits import RESPECT, application_patch, manifest_text, removals
from argolint.values import at_and_above, dig, enumerated, get, items, join_pointer, mapping, maps
from argolint.values.kubernetes import SYNC_OPTIONS, data_keys

from ..shared.triage import worth_reading
from ._scalers import is_resting, scaler_of
from ._writers import is_webhook_configuration

_OPTION = "Replace=true"
_HOLDERS = (("", "Secret"), ("", "ConfigMap"))
_SCALED = (("apps", "Deployment"), ("apps", "StatefulSet"), ("argoproj.io", "Rollout"))


@dataclass(frozen=True)
class _Loss:
    """The places that a replace takes away, and the sentence about it."""

    cause: str
    pointers: tuple[str, ...]
    message: str


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application replaces, in a fleet that is read."""
    return _OPTION in app.sync_options and worth_reading(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""
    if app.deleting or not app.desired_known:
        return
    candidates = app.stated if _OPTION in app.sync_options else app.mentioning(_OPTION, "desired")
    for resource in candidates:
        if resource.hook or resource.live is None or not has_sync_option(app.raw, resource.desired, _OPTION):
            continue
        spared = "ApplyOutOfSyncOnly=true" in app.sync_options and not resource.modified
        loss = None if spared else _loss(app, resource)
        if loss is not None and not _is_kept(app, fleet, resource, loss):
            yield _finding(app, resource, loss)


def _is_kept(app: App, fleet: Fleet, resource: Resource, loss: _Loss) -> bool:
    """Whether the sync takes the live value of each place, since it is ignored and the sync respects that."""
    if resource.live is None or not has_sync_option(app.raw, resource.desired, RESPECT):
        return False
    rules = (
        rule
        for rule in (*application_rules(app.raw), *server_rules(fleet.settings))
        if matches_object(rule, resource.any)
    )
    ignored = frozenset(removed(resource.live, *rules))
    return all(not ignored.isdisjoint(at_and_above(pointer)) for pointer in loss.pointers)


def _loss(app: App, resource: Resource) -> _Loss | None:
    place = (resource.group, resource.kind)
    if place in _HOLDERS:
        return _lost_keys(app, resource)
    if place in _SCALED:
        return _lost_replicas(app, resource)
    return _lost_bundles(app, resource) if is_webhook_configuration(resource) else None


def _lost_keys(app: App, resource: Resource) -> _Loss | None:
    own = data_keys(resource.desired)
    live = (
        (key, join_pointer(field, key))
        for field in ("data", "binaryData")
        for key in sorted(mapping(resource.live, field))
    )
    lost = {key: pointer for key, pointer in live if key not in own and _writer(app, resource, pointer)}
    if not lost:
        return None
    names, writer = (
        enumerated([f'"{key}"' for key in lost], "key", limit=2),
        _writer(app, resource, next(iter(lost.values()))),
    )
    return _Loss("data", tuple(lost.values()), f"The next sync erases {names} of {resource.id}, which {writer} wrote")


def _lost_bundles(app: App, resource: Resource) -> _Loss | None:
    places = (
        join_pointer("webhooks", str(n), "clientConfig", "caBundle")
        for n in range(len(maps(resource.live, "webhooks")))
    )
    lost = tuple(p for p in places if not get(resource.desired, p, "") and _writer(app, resource, p))
    if not lost:
        return None
    message = f"The next sync erases the CA bundle of {resource.id}, which is not trusted until {_writer(app, resource, lost[0])} writes it again"
    return _Loss("ca-bundle", lost, message)


def _lost_replicas(app: App, resource: Resource) -> _Loss | None:
    """The number of replicas that a replace sets to the default, 1."""
    if dig(resource.desired, "spec", "replicas") is not None:
        return None
    scaler, runs = scaler_of(app, resource), dig(resource.live, "spec", "replicas")
    if scaler is None or is_resting(resource, scaler) or not isinstance(runs, int) or runs < 2:
        return None
    message = f"The next sync scales {resource.id} from {runs} replicas to 1, until {scaler.id} scales it again"
    return _Loss("replicas", ("/spec/replicas",), message)


def _writer(app: App, resource: Resource, pointer: str) -> str:
    """The program that wrote this field after the last sync of the object, if Argo CD is not among its owners: what was there before has outlived one."""
    owners = writers(resource.live or {}, pointer)
    if not owners or any(by_argocd(owner) for owner in owners):
        return ""
    operation, written = app.operation, owners[0].time
    synced = operation.started_at if operation and operation.applied(resource.id) else None
    return "" if synced and written and written < synced else owners[0].manager


def _finding(app: App, resource: Resource, loss: _Loss) -> Finding:
    by_application = _OPTION in app.sync_options
    title = f"Application {app.ref} replaces its objects instead of applying them."
    return Finding(
        message=f"{loss.message}: Replace=true sends only what Git holds.",
        at=Location(app.ref, resource.id, loss.pointers[0]),
        cause=loss.cause,
        evidence=(
            f"Replace=true is in {'its syncOptions' if by_application else f'its annotation {SYNC_OPTIONS}'}",
            *(f"{pointer} is live and not in Git" for pointer in loss.pointers[:10]),
        ),
        fixes=tuple(_fixes(app, resource)),
        follows=(Follows.common(title, "replace", str(app.ref)),) if by_application else (),
    )


def _fixes(app: App, resource: Resource) -> Iterator[Fix]:
    held = items(app.spec, "syncPolicy", "syncOptions")
    if _OPTION in held:
        at = f"/spec/syncPolicy/syncOptions/{held.index(_OPTION)}"
        yield application_patch(
            app,
            "Apply the objects instead of replacing them",
            removals(app.raw, [at]),
            f"before the next sync; an object that is too large for an apply gets {SYNC_OPTIONS}: ServerSideApply=true",
        )
    else:
        yield manifest_text(
            resource.id,
            "Apply the object instead of replacing it",
            f"take Replace=true out of {SYNC_OPTIONS}\n",
            "before the next sync",
        )


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    reads=reads,
    causes=("data", "ca-bundle", "replicas"),
    rank=Rank.CAUSE,
)
