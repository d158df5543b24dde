"""Two writers of one Secret

What it finds: two ExternalSecrets of one namespace, in one application or in two, that write the same Secret. Two that own or replace it, one
that owns and one that merges (refused since v0.11), two that merge the same key, or an ExternalSecret of External Secrets next to one of
Kubernetes External Secrets. A ClusterExternalSecret may have made one of them.

Why it hurts: with two owners the second fails and is never tried again; the order of the first sync decides which one is second. With Orphan or
Merge they overwrite each other at each refresh. Kubernetes External Secrets takes the Secret back within 10 s.

How to fix: give each one its own `target.name`, or put all entries into one ExternalSecret. To merge into the Secret of another ExternalSecret,
the other must use `creationPolicy: Orphan`.

Example:

    ExternalSecret shop/db-readonly and ExternalSecret shop/db both write Secret "db": only one can own it, and the other fails.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller_secret.go; issue 4225;
externalsecret_controller.go (deleteOrphanedSecrets); kubernetes-external-secrets lib/poller.js.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from argolint import (
    App,
    Edit,
    Fact,
    Finding,
    Fix,
    Fleet,
    Location,
    Node,
    Related,
    Resource,
    ResourceId,
    ResourceKey,
    Rule,
    Want,
)
from argolint.edits import manifest_text
from argolint.values import enumerated, items

from . import _external_secret as es
from ._sync_error import diagnoses

OLD = "KES"


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Those that are hooks."""
    return es.hook_wants(app)


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """The Secret and keys that each ExternalSecret writes, under the Secret's key."""
    for found in es.declared(app):
        resource, manifest, policy = found.resource, found.manifest, es.creation_policy(found.manifest)
        secret = es.target_name(manifest)
        if policy == "None" or not secret:
            continue
        data = {
            "id": to_builtins(resource.id),
            "policy": policy,
            "keys": sorted(es.written_keys(manifest)),
            "name": (name := _free_secret_name(app, fleet, resource, secret)),
            "rename": found.set("/spec/target/name", name),
            "owns": policy == "Owner" and _owner_of(app, resource.namespace, secret) == resource.name,
            "failed": resource.kind == "ExternalSecret" and es.ready_condition(resource.live).get("status") == "False",
            "kept_out": _is_kept_out(app, fleet, resource),
            "v1": str(manifest.get("apiVersion")) == f"{es.GROUP}/v1",
            "place": found.pointer("/spec/target/name"),
            "secret": secret,
        }
        for namespace in _namespaces(app, fleet, resource):
            yield Fact(_join_key(app, namespace, secret), app.ref, data, about=resource.key)
    for listed in app.of_kind("ExternalSecret", es.KES_GROUP):
        resource = app.as_read(listed)
        if resource.any and not es.is_leaving(app, resource):
            data = {
                "id": to_builtins(resource.id),
                "policy": OLD,
                "keys": [],
                "name": "",
                "rename": [],
                "owns": False,
                "failed": False,
                "kept_out": False,
                "v1": False,
                "place": "/metadata/name",
                "secret": resource.name,
            }
            yield Fact(_join_key(app, resource.namespace, resource.name), app.ref, data)


def _is_kept_out(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether the operator says that the Secret belongs to another controller."""
    found = diagnoses(app, fleet).get(resource.key)
    return found is not None and found.cause == "owned-by-other-controller"


def _namespaces(app: App, fleet: Fleet, resource: Resource) -> Iterator[str]:
    """The namespaces of a ClusterExternalSecret's objects, and of an application's ExternalSecret with the same target."""
    if resource.kind == "ExternalSecret":
        yield resource.namespace
        return
    namespaces = {key.namespace for key in fleet.of_kind(app.cluster, es.GROUP, "ExternalSecret")}
    provisioned = (str(n) for n in items(resource.live, "status", "provisionedNamespaces"))
    yield from (namespace for namespace in provisioned if namespace in namespaces)


def _join_key(app: App, namespace: str, secret: str) -> str:
    return "|".join((app.cluster, namespace, secret))


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for each contested Secret."""
    contested = [f for f in facts if any(_do_clash(f.data, g.data) for g in facts if g is not f)]
    if not contested:
        return
    ordered = sorted(
        contested,
        key=lambda f: (f.data["policy"] == OLD, not f.data["failed"], _has_own_name(f.data), f.data["id"]["name"]),
    )
    second = max((f for f in ordered if f.data["policy"] != OLD), key=_rename_order, default=None)
    if second is None:
        return  # two old ones with the Secret's name are one object in two applications
    others = [f for f in ordered if f is not second]
    if second.data["kept_out"] and all(f.data["policy"] == OLD for f in others):
        return  # it writes nothing, and what its operator says of that names the owner
    ident = ResourceId(**second.data["id"])
    secret = second.data["secret"]
    names = " and ".join(_object_text(f.data) for f in others)
    name = second.data["name"]
    edit = Edit("json-patch", second.data["rename"])
    second_data = second.data
    deletes = second_data["policy"] == "Owner" and not second_data["failed"] and not any(f.data["owns"] for f in others)
    yield Finding(
        message=f'{ident} and {names} both write Secret "{secret}": {_clash_reason([second.data, *(f.data for f in others)])}.',
        at=Location(second.app, ident, second.data["place"]),
        evidence=tuple(
            f"{_object_text(f.data)}: creationPolicy {f.data['policy']}"
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
                "move the workloads that need these keys to the new Secret"
                + (_deletion_text(others, secret) if deletes else ""),
                unverified=_RESTS_ON,
                effects=("deletes", "needs-force-sync") if deletes else (),
            ),
            manifest_text(ident, "Put all entries into one ExternalSecret", "and remove the other one"),
        ),
    )


_RESTS_ON = (
    "External Secrets and the workloads are not replayed: it works when the new Secret is there and they read it"
)


def _deletion_text(others: Sequence[Fact], secret: str) -> str:
    """The fate of the Secret if the renamed ExternalSecret is its owner (deleteOrphanedSecrets of External Secrets)."""
    ids = [ResourceId(**f.data["id"]) for f in others if f.data["policy"] != OLD]
    sync_commands = [f"`{es.force_sync(f'{i.kind.lower()}s.{i.group}', i.namespace, i.name)}`" for i in ids]
    then = f": {enumerated(sync_commands)} makes it again" if sync_commands else ""
    return f'; where it owns "{secret}", External Secrets deletes that one when the name changes{then}'


def _rename_order(fact: Fact) -> tuple[bool, bool, bool, bool, str]:
    """Sort key for the one to rename: the failed one, else one of a single namespace, else not the owner, whose Secret would be deleted, else
    one whose own name differs from the Secret's."""
    data = fact.data
    single = data["id"]["kind"] == "ExternalSecret"
    return bool(data["failed"]), single, not data["owns"], not _has_own_name(data), str(data["id"]["name"])


def _has_own_name(data: Any) -> bool:
    return bool(data["id"]["name"] == data["secret"])


def _do_clash(one: Any, other: Any) -> bool:
    if all(one["id"][part] == other["id"][part] for part in ("group", "kind", "name")):
        return False  # one object in two applications is another fault
    policies = {one["policy"], other["policy"]}
    if policies <= {"Owner", "Orphan", OLD}:
        return policies != {OLD}
    if OLD in policies:
        return True
    if policies in ({"Owner", "Merge"}, {"Owner", "CreateOrMerge"}):
        return bool(one["v1"] or other["v1"])
    return bool(set(one["keys"]) & set(other["keys"])) and "Orphan" not in policies


def _clash_reason(all_data: Sequence[Any]) -> str:
    policies = [d["policy"] for d in all_data]
    if OLD in policies:
        return "each takes it back from the other"
    if policies.count("Owner") > 1:
        return "only one can own it, and the other fails"
    if "Owner" in policies:
        return "since v0.11 a Secret that another one owns is not merged into"
    return "each refresh overwrites the other's values"


def _object_text(data: Any) -> str:
    ident = ResourceId(**data["id"])
    return (
        f"kubernetes-client.io ExternalSecret {ident.namespace}/{ident.name}" if data["policy"] == OLD else str(ident)
    )


def _free_secret_name(app: App, fleet: Fleet, resource: Resource, secret: str) -> str:
    """Another name for the ExternalSecret's Secret: its own name, unless that is the present one or a known Secret's."""
    key = ResourceKey(app.cluster, "", "Secret", resource.namespace, resource.name)
    taken = fleet.owners(key) or any(n.id.name == resource.name for n in _secrets_in_tree(app, resource.namespace))
    return resource.name if resource.name != secret and not taken else f"{resource.name}-eso"


def _secrets_in_tree(app: App, namespace: str) -> Iterator[Node]:
    return (n for n in app.nodes_of("Secret", "") if n.id.namespace == namespace)


def _owner_of(app: App, namespace: str, secret: str) -> str:
    """The ExternalSecret that owns the live Secret, by this application's tree."""
    owners = (o for n in _secrets_in_tree(app, namespace) if n.id.name == secret for o in n.owners)
    return next((o.name for o in owners if o.kind == "ExternalSecret"), "")


RULE = Rule(
    **Rule.page(__name__), severity="error", collect=collect, wants=wants, join=join, reads=es.holds_external_secrets
)
