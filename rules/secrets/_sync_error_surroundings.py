"""Evidence of the objects around an ExternalSecret: its stores, its generators, the owner of its Secret.

It overrides a text about the past. The stores are checked in the operator's own order: does it exist, does a running operator serve its class,
does it admit the namespace, is it ready (pkg/controllers/secretstore/client_manager.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argolint import App, Fleet, Resource, ResourceKey
from argolint.values import text_at

from . import _external_secret as es
from . import _stores as stores
from ._provider import credential_named, credentials_without_namespace
from ._sync_error_passing import PATIENCE, has_store_recovered, is_just_edited, last_attempt_at
from ._sync_error_texts import Diagnosis, cleaned_text

_FOREIGN_OWNER = (
    "could not set controller reference on secret"  # v0.11: it reported its own kind with another text before
)


def diagnosis_by_stores(app: App, fleet: Fleet, resource: Resource, found: Diagnosis | None) -> Diagnosis | None:
    """The cause by the stores; `found` is the cause by the texts, None if they have none."""
    refs = es.store_refs(resource.live)
    if found is not None and found.detail.get("store"):
        refs = tuple(r for r in refs if r.name == found.detail["store"] and r.kind == found.detail["kind"]) or refs
    for ref in refs:
        store = stores.find(app, fleet, ref, resource.namespace)
        answer = (
            _absent_store_diagnosis(app, fleet, resource, store, found)
            if store.live is None
            else _refusing_store_diagnosis(resource, store, found)
            or _recovered_store_diagnosis(app, resource, store, found)
        )
        if answer is not None:
            return answer
    return None


def _reference_detail(ref: es.StoreRef) -> Mapping[str, str]:
    return {"store": ref.name, "kind": ref.kind, "pointer": ref.pointer}


def _reference_text(ref: es.StoreRef) -> str:
    return f'{ref.kind} "{ref.name}"'


def _absent_store_diagnosis(
    app: App, fleet: Fleet, resource: Resource, store: stores.Store, found: Diagnosis | None
) -> Diagnosis | None:
    """The cause by a store that no application shows live: it has the other kind, is rendered but not applied, or is missing."""
    ref = store.ref
    if found is not None and found.cause != "store-not-found":
        return None
    other = stores.other_kind_store(app, fleet, ref, resource.namespace)
    if other is not None and ref.kind_omitted and other.ref.kind == "ClusterSecretStore":
        return replace(kind_omitted_diagnosis(ref, found.text if found else ""), certain=found is not None)
    rendered = {"rendered": str(store.app)} if store.absent else {}
    if found is not None:
        twin = {"twin": other.ref.kind} if other else {}
        return replace(found, detail={**found.detail, **_reference_detail(ref), **twin, **rendered})
    if store.absent:
        return Diagnosis(
            "store-not-found", f"there is no {_reference_text(ref)}", "", {**_reference_detail(ref), **rendered}
        )
    return None


def _refusing_store_diagnosis(resource: Resource, store: stores.Store, found: Diagnosis | None) -> Diagnosis | None:
    """The cause by an existing store that refuses now: by its class, by the namespace, or because it is not ready."""
    ref, text = store.ref, found.text if found else ""
    if store.controller:
        evidence = f'{_reference_text(ref)} has spec.controller "{store.controller}" and no status'
        says = f'no running operator serves the class "{store.controller}" of {_reference_text(ref)}'
        detail = {**_reference_detail(ref), "controller": store.controller}
        return Diagnosis("unmanaged-store", says, "", detail, evidence=(evidence,))
    admitted = store.admits(resource.namespace)
    if admitted is False:
        says = f'ClusterSecretStore "{ref.name}" does not admit the namespace "{resource.namespace}"'
        return Diagnosis("namespace-denied", says, text, {**_reference_detail(ref), "namespace": resource.namespace})
    if store.is_ready is False and not (admitted and found is not None and found.cause == "namespace-denied"):
        evidence = f"{_reference_text(ref)}: {cleaned_text(str(es.ready_condition(store.live).get('message') or 'Ready=False'))}"
        return Diagnosis(
            "store-not-ready",
            f"{_reference_text(ref)} is not ready",
            text,
            _reference_detail(ref),
            evidence=(evidence,),
        )
    return None


def _recovered_store_diagnosis(
    app: App, resource: Resource, store: stores.Store, found: Diagnosis | None
) -> Diagnosis | None:
    """The cause for a store in the text that is now in order, or has not answered yet."""
    if found is None:
        return None
    detail = {**found.detail, **_reference_detail(store.ref)}
    if found.cause == "namespace-denied" and store.admits(resource.namespace):
        attempt = last_attempt_at(app, resource)
        passing = attempt is not None and store.resource is not None and is_just_edited(app, store.resource, attempt)
        says = past_sentence(found.says, "does")
        return replace(found, says=says, detail={**detail, "present": "yes"}, passing=passing)
    if found.cause not in ("store-not-found", "store-not-ready"):
        return None
    if store.is_ready is None:
        young = store.since is not None and app.observed_at - store.since < PATIENCE
        says = f"{_reference_text(store.ref)} has no status yet"
        return Diagnosis("store-not-ready", says, found.text, detail, passing=young)
    says = past_sentence(found.says, "is ready")
    return replace(
        found, says=says, detail={**detail, "present": "yes"}, passing=has_store_recovered(app, resource, store)
    )


def diagnosis_by_credential(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Diagnosis:
    """The cause for a Secret that is "not found" and that a store names: it is the store's credential, not a key of the provider."""
    missing = found.detail.get("missing", "")
    keys = {es.remote_key(resource.live, field, i) for field, i in es.entries(resource.live)}
    if found.cause != "not-found" or not missing or missing in keys:
        return found
    for ref in es.store_refs(resource.live):
        store = stores.find(app, fleet, ref, resource.namespace)
        named = credential_named(store, missing)
        if named is not None:
            where = named.namespace or resource.namespace
            says = f'Secret "{missing}" of {_reference_text(ref)} is missing in namespace {where}'
            detail = {**found.detail, **_reference_detail(ref), "secret": missing, "namespace": where}
            return replace(found, cause="store-credential", says=says, detail=detail, topic="")
    return found


def diagnosis_by_unplaced(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Diagnosis:
    """The cause for a credential that is looked for next to the ExternalSecret, since its ClusterSecretStore names no namespace."""
    missing = {found.detail.get("secret"), found.detail.get("account")} - {None, ""}
    if found.cause != "store-credential" or not missing or found.topic == "store-certificate":
        return found
    for ref in es.store_refs(resource.live):
        store = stores.find(app, fleet, ref, resource.namespace) if ref.kind == "ClusterSecretStore" else None
        unplaced = credentials_without_namespace(store) if store else ()
        named = next((each for each in unplaced if each.name in missing), None)
        if named is not None:
            says = f'{named.kind} "{named.name}" is looked for in namespace {resource.namespace}: {_reference_text(ref)} names none'
            return replace(
                found, says=says, detail={**found.detail, **_reference_detail(ref)}, topic="credential-namespace"
            )
    return found


def past_sentence(says: str, now: str) -> str:
    """A text's statement on a store, in the past tense; `now` completes "by now it ..."."""
    for present, past in (("there is no", "there was no"), ("is not ready", "was not ready"), ("does not", "did not")):
        says = says.replace(present, past)
    return f"{says} (by now it {now})"


def kind_omitted_diagnosis(ref: es.StoreRef, text: str = "") -> Diagnosis:
    """The cause for a reference without a kind to the name of a ClusterSecretStore."""
    says = f'its secretStoreRef lacks kind: ClusterSecretStore, which "{ref.name}" is'
    return Diagnosis("store-kind-omitted", says, text, _reference_detail(ref))


def predicted_diagnosis(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """The reason why an ExternalSecret that is new, or gets another store, will fail; None without any evidence."""
    refs = es.store_refs(resource.desired)
    if not resource.desired_known or refs == es.store_refs(resource.live):
        return None
    for ref in refs:
        store = stores.find(app, fleet, ref, resource.namespace)
        if (
            ref.kind_omitted
            and store.app is None
            and stores.other_kind_store(app, fleet, ref, resource.namespace) is not None
        ):
            return kind_omitted_diagnosis(ref)
        if store.live is not None and store.admits(resource.namespace) is False:
            says = f'ClusterSecretStore "{ref.name}" does not admit the namespace "{resource.namespace}"'
            return Diagnosis("namespace-denied", says, "", _reference_detail(ref))
        if store.app is None and fleet.of_kind(app.cluster, es.GROUP, ref.kind) and not _is_store_read_here(app, ref):
            says = f'no application of this cluster holds its {ref.kind} "{ref.name}"'
            return Diagnosis("store-not-found", says, "", _reference_detail(ref), certain=False)
    return None


def _is_store_read_here(app: App, ref: es.StoreRef) -> bool:
    """Whether a Ready ExternalSecret proves a store that no application manages."""
    return any(
        (other.kind, other.name) == (ref.kind, ref.name)
        for found in es.external_secrets(app)
        if es.ready_condition(found.live).get("status") == "True"
        for other in es.store_refs(found.live)
    )


def diagnosis_by_generators(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """The cause for a generator that an application renders and that is not live; without a store, a generator is the only source."""
    for kind, name, pointer in es.generator_refs(resource.live):
        own = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if own is not None and own.missing:
            return Diagnosis("generator", f'there is no {kind} "{name}"', "", {"generator": name, "pointer": pointer})
        if own is None and not es.store_refs(resource.live):
            says = f'its generator, {kind} "{name}", cannot be used'
            return Diagnosis("generator", says, "", {"generator": name, "pointer": pointer}, certain=False)
    return None


def diagnosis_by_owner(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Diagnosis:
    """The cause with the right owner: up to v0.10 both kinds of ExternalSecret cause the same message."""
    owner = found.detail.get("owner", "")
    kind = found.detail.get("owner_kind", "")
    if not owner:
        found = _with_owner_in_tree(app, resource, found)
        owner, kind = found.detail.get("owner", ""), found.detail.get("owner_kind", "")
    if kind != "ExternalSecret" or found.detail.get("owner_group") == es.KES_GROUP:
        return found
    name = owner.strip('"')

    def known(group: str) -> bool:
        key = ResourceKey(app.cluster, group, "ExternalSecret", resource.namespace, name)
        return app.resource(key) is not None or bool(fleet.owners(key))

    served = fleet.api_versions(app.cluster)
    old = known(es.KES_GROUP) or any(v.startswith(es.KES_GROUP + "/") for v in served)
    new = known(es.GROUP) and name != resource.name
    foreign = _FOREIGN_OWNER in found.text
    if found.detail.get("owner_group") == es.GROUP or (not foreign and ((new and not known(es.KES_GROUP)) or not old)):
        if _has_let_go(app, resource, name):
            secret = es.target_name(resource.live)
            says = f'ExternalSecret "{name}" owned Secret "{secret}" at the last attempt, and writes another one by now'
            return replace(found, cause="owned-by-external-secret", says=says, detail={**found.detail, "let_go": name})
        former = name == resource.name
        says = f'the target Secret {"still belongs to a former" if former else "already belongs to"} ExternalSecret "{name}"'
        sure = found.certain and (new or bool(served) or found.detail.get("owner_group") == es.GROUP)
        detail = {**found.detail, "owner": name}
        return replace(found, cause="owned-by-external-secret", says=says, detail=detail, certain=sure)
    says = f'the target Secret still belongs to kubernetes-client.io ExternalSecret "{name}"'
    return replace(found, says=says, detail={**found.detail, "owner": name, "owner_group": es.KES_GROUP})


def _has_let_go(app: App, resource: Resource, name: str) -> bool:
    """Whether the owner in the message writes another Secret by now, and the one that it had is not in the tree."""
    owner = app.find(es.GROUP, "ExternalSecret", resource.namespace, name)
    secret = es.target_name(resource.live)
    if owner is None or owner.live is None or name == resource.name or secret == es.target_name(owner.live):
        return False
    there = any((n.id.name, n.id.namespace) == (secret, resource.namespace) for n in app.nodes_of("Secret", ""))
    return text_at(owner.live, "status", "binding", "name") != secret and not there


def _with_owner_in_tree(app: App, resource: Resource, found: Diagnosis) -> Diagnosis:
    secret = es.target_name(resource.live)
    for node in app.nodes:
        if (node.id.kind, node.id.group, node.id.namespace, node.id.name) != ("Secret", "", resource.namespace, secret):
            continue
        for owner in node.owners:
            if owner.uid != resource.uid:
                says = f'the target Secret already belongs to {owner.kind} "{owner.name}"'
                detail = {"owner": owner.name, "owner_kind": owner.kind, "owner_group": owner.group}
                return replace(found, says=says, detail={**found.detail, **detail})
    return found
