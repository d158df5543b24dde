"""Two writers of one Secret

What it finds: two ExternalSecrets of one namespace, in one application or in two, that write the same Secret: two that own or
replace it, one that owns and one that merges (refused since v0.11), two that merge the same key, or an ExternalSecret of
External Secrets beside one of Kubernetes External Secrets. One of them may be made by a ClusterExternalSecret.

Why it hurts: with two owners the second fails and is never tried again; which one is second depends on the order of the first
sync. With Orphan or Merge they overwrite each other at each refresh. Kubernetes External Secrets takes the Secret back within
10 s.

How to fix: give each one its own `target.name`, or put all entries into one ExternalSecret. To merge into a Secret that another
ExternalSecret makes, the first must use `creationPolicy: Orphan`.

Example:

    ExternalSecret shop/db-readonly and ExternalSecret shop/db both write the Secret "db": only one can own it.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_secret.go; issue 4225; kubernetes-external-secrets lib/poller.js.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from argolint import App, Edit, Fact, Finding, Fix, Fleet, Location, Related, Resource, ResourceId, Rule
from argolint.values import items

from . import _external_secret as es

OLD = "KES"


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """What each ExternalSecret writes, under the Secret's key."""
    for found in es.declared(app):
        resource, manifest, policy = found.resource, found.manifest, es.creation_policy(found.manifest)
        secret = es.target_name(manifest)
        if policy == "None" or not secret:
            continue
        data = {
            "id": to_builtins(resource.id),
            "policy": policy,
            "keys": sorted(es.written_keys(manifest)),
            "rename": found.set("/spec/target/name", _another_name(resource.name, secret)),
            "failed": resource.kind == "ExternalSecret" and es.ready(resource.live).get("status") == "False",
            "v1": str(manifest.get("apiVersion")) == f"{es.GROUP}/v1",
            "place": found.pointer("/spec/target/name"),
            "secret": secret,
        }
        for namespace in _namespaces(app, fleet, resource):
            yield Fact(_key(app, namespace, secret), app.ref, data)
    for resource in app.of_kind("ExternalSecret", es.KES_GROUP):
        if resource.any and not es.leaving(app, resource):
            data = {
                "id": to_builtins(resource.id),
                "policy": OLD,
                "keys": [],
                "rename": [],
                "failed": False,
                "v1": False,
                "place": "/metadata/name",
                "secret": resource.name,
            }
            yield Fact(_key(app, resource.namespace, resource.name), app.ref, data)


def _namespaces(app: App, fleet: Fleet, resource: Resource) -> Iterator[str]:
    """Of a ClusterExternalSecret those that hold it, and an ExternalSecret of an application beside it."""
    if resource.kind == "ExternalSecret":
        yield resource.namespace
        return
    beside = {key.namespace for key in fleet.of_kind(app.cluster, es.GROUP, "ExternalSecret")}
    held = (str(n) for n in items(resource.live, "status", "provisionedNamespaces"))
    yield from (namespace for namespace in held if namespace in beside)


def _key(app: App, namespace: str, secret: str) -> str:
    return "|".join((app.cluster, namespace, secret))


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for each Secret that is contested."""
    contested = [f for f in facts if any(_clash(f.data, g.data) for g in facts if g is not f)]
    if not contested:
        return
    ordered = sorted(
        contested,
        key=lambda f: (f.data["policy"] == OLD, not f.data["failed"], _prefers_own(f.data), f.data["id"]["name"]),
    )
    second = max((f for f in ordered if f.data["policy"] != OLD), key=_second_rank, default=None)
    if second is None:
        return  # two old ones: both have the Secret's name, so it is one object in two applications
    others = [f for f in ordered if f is not second]
    ident = ResourceId(**second.data["id"])
    secret = second.data["secret"]
    names = " and ".join(_called(f.data) for f in others)
    name = _another_name(ident.name, secret)
    edit = Edit("json-patch", second.data["rename"])
    yield Finding(
        message=f'{ident} and {names} both write the Secret "{secret}": {_why([second.data, *(f.data for f in others)])}.',
        at=Location(second.app, ident, second.data["place"]),
        evidence=tuple(
            f"{_called(f.data)}: creationPolicy {f.data['policy']}"
            for f in (second, *others)
            if f.data["policy"] != OLD
        ),
        related=tuple(Related(f.app, ResourceId(**f.data["id"]), f.data["place"], "claimant") for f in others),
        fixes=(
            Fix(
                f'Write the Secret "{name}" instead',
                "manifest",
                str(ident),
                edit,
                "move the workloads that need these keys to the new Secret",
            ),
            Fix(
                "Put all entries into one ExternalSecret",
                "manifest",
                str(ident),
                Edit("text", "and remove the other one"),
            ),
        ),
    )


def _second_rank(fact: Fact) -> tuple[bool, bool, bool, str]:
    """The one that fails, else one of a single namespace, else one whose own name is not the Secret's: easier to rename."""
    single = fact.data["id"]["kind"] == "ExternalSecret"
    return bool(fact.data["failed"]), single, not _prefers_own(fact.data), str(fact.data["id"]["name"])


def _prefers_own(data: Any) -> bool:
    return bool(data["id"]["name"] == data["secret"])


def _clash(one: Any, other: Any) -> bool:
    if all(one["id"][part] == other["id"][part] for part in ("group", "kind", "name")):
        return False  # one object that two applications render: another fault
    policies = {one["policy"], other["policy"]}
    if policies <= {"Owner", "Orphan", OLD}:
        return policies != {OLD}
    if OLD in policies:
        return True
    if policies in ({"Owner", "Merge"}, {"Owner", "CreateOrMerge"}):
        return bool(one["v1"] or other["v1"])
    return bool(set(one["keys"]) & set(other["keys"])) and "Orphan" not in policies


def _why(all_data: Sequence[Any]) -> str:
    policies = [d["policy"] for d in all_data]
    if OLD in policies:
        return "Kubernetes External Secrets takes it back within 10 s, and External Secrets then finds another owner"
    if policies.count("Owner") > 1:
        return "only one can own it, and the other fails"
    if "Owner" in policies:
        return "since v0.11 nothing is merged into a Secret that another ExternalSecret owns"
    return "each refresh overwrites the other's values"


def _called(data: Any) -> str:
    ident = ResourceId(**data["id"])
    return (
        f"the Kubernetes External Secrets object {ident.namespace}/{ident.name}"
        if data["policy"] == OLD
        else str(ident)
    )


def _another_name(own: str, secret: str) -> str:
    """What the ExternalSecret's Secret could be called instead: as the ExternalSecret, unless it is called so."""
    return own if own != secret else f"{own}-eso"


RULE = Rule(
    id="external-secret-duplicate-target",
    family="secrets",
    severity="error",
    doc=__doc__,
    collect=collect,
    join=join,
    reads=es.holds_external_secrets,
)
