"""A ClusterTriggerAuthentication of KEDA whose Secret is in the namespace of the scaler: it reads Secrets in KEDA's own (keda, pkg/scaling/resolver)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import App, Fleet, Resource, ResourceKey, Want
from argolint.values import dig, mapping, maps, text_at
from argolint.values.knowledge import dump

from ..shared.peers import peer_wants

_GROUP = "keda.sh"
_KIND = "ClusterTriggerAuthentication"
NO_AUTH: Mapping[str, str] = {"auth": "", "auth_secret": "", "keda": "keda", "local_auth": ""}


def auth_wants(app: App, fleet: Fleet, resource: Resource) -> Iterator[Want]:
    """The ClusterTriggerAuthentications of other applications that an ill scaler names."""
    for name in _named(resource):
        yield from _wants(app, fleet, name)


def auth_facts(app: App, fleet: Fleet, resource: Resource) -> Mapping[str, str]:
    """The facts of advice on a ScaledObject or ScaledJob.

    auth         the ClusterTriggerAuthentication that it names, if the fleet has a Secret of it only in the scaler's namespace
    auth_secret  that Secret
    keda         the namespace of the operator
    local_auth   the same as a TriggerAuthentication of the scaler's namespace
    """
    for name in _named(resource):
        read = (app.evidence.get(want) for want in _wants(app, fleet, name))
        found = app.find(_GROUP, _KIND, "", name) or next(read, None)
        if not isinstance(found, Resource) or found.any is None:
            continue
        home = _home(app, fleet)
        for ref in maps(found.any, "spec", "secretTargetRef"):
            secret = text_at(ref, "name")
            near, far = (_has_secret(app, fleet, place, secret) for place in (resource.namespace, home))
            if secret and near and not far and resource.namespace != home:
                local = {
                    "apiVersion": text_at(found.any, "apiVersion"),
                    "kind": "TriggerAuthentication",
                    "metadata": {"name": name, "namespace": resource.namespace},
                    "spec": mapping(found.any, "spec"),
                }
                return {"auth": name, "auth_secret": secret, "keda": home, "local_auth": dump([local]).rstrip()}
    return NO_AUTH


def _named(resource: Resource) -> tuple[str, ...]:
    if resource.group != _GROUP or resource.kind not in ("ScaledObject", "ScaledJob"):
        return ()
    refs = (mapping(trigger, "authenticationRef") for trigger in maps(resource.any, "spec", "triggers"))
    return tuple(dict.fromkeys(text_at(ref, "name") for ref in refs if text_at(ref, "kind") == _KIND))


def _wants(app: App, fleet: Fleet, name: str) -> Iterator[Want]:
    return peer_wants(app, fleet, [(_GROUP, _KIND)], lambda key: key.name == name)


def _home(app: App, fleet: Fleet) -> str:
    """The namespace in which the fleet has KEDA's operator."""
    keys = fleet.of_kind(app.cluster, "apps", "Deployment")
    return next((key.namespace for key in keys if key.name == "keda-operator"), "keda")


def _has_secret(app: App, fleet: Fleet, namespace: str, name: str) -> bool:
    """Whether an application has the Secret, or one of the objects that make it."""
    if fleet.owners(ResourceKey(app.cluster, "", "Secret", namespace, name)):
        return True
    kinds = (("external-secrets.io", "ExternalSecret"), ("bitnami.com", "SealedSecret"))
    if any(fleet.owners(ResourceKey(app.cluster, group, kind, namespace, name)) for group, kind in kinds):
        return True
    targets = (
        (r.namespace, text_at(mapping(dig(r.any, "spec"), "target"), "name"))
        for r in app.of_kind("ExternalSecret", "external-secrets.io")
    )
    return (namespace, name) in targets
