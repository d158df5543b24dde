"""Fixes for one failed ExternalSecret: first edits of this object, then the general advice of advice.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from argolint import GONE, MISSING, App, Edit, Fix, Fleet, Resource
from argolint.edits import live_command, manifest_text, manifest_yaml, set_field
from argolint.redaction import excerpt
from argolint.relations.operator_version import OperatorVersion
from argolint.sequence.order import place_of
from argolint.values import below, dig, enumerated, get, items, mapping, maps, sh, text_at
from argolint.values.kubernetes import data_keys
from argolint.values.patterns import regex

from ..shared.operators import external_secrets_upgrade
from . import _external_secret as es
from . import _stores as stores
from ._provider import credentials_without_namespace, namespaces_fix
from ._store_hints import Hint, foreign_vault
from ._sync_error_general import failing_store, general_fixes
from ._sync_error_generators import generator_fixes
from ._sync_error_pointers import pathless_find, remote_pointer
from ._sync_error_secret import field_fix, secret_fixes, secret_id
from ._sync_error_texts import Diagnosis
from ._template import reopened_fixes, target_misreads, template_fixes, unfetched_names
from ._waves import earlier_wave_fix


def fixes(
    app: App,
    fleet: Fleet,
    resource: Resource,
    found: Diagnosis,
    version: OperatorVersion,
    pointer: str,
    hints: tuple[Hint, ...] = (),
) -> Iterator[Fix]:
    """The fixes of a failure, best first."""
    if found.passing:
        yield _sync_now_fix(resource, "Wait for the next attempt, or force it")
        return
    changed = bool(pointer) and any(c.desired is not MISSING and below(c.pointer, pointer) for c in resource.changes)
    if changed:
        edit = Edit("command", f"argocd app sync {sh(app.ref)}")
        yield Fix("Sync the application: Git already has something else here", "live", str(app.ref), edit)
    yield from (fix for hint in hints for fix in hint.fixes)
    if foreign_vault(failing_store(app, fleet, resource, found), found.text) is not None:
        yield _sync_now_fix(resource, "Force a sync: another attempt may ask the right vault (the key is not at fault)")
    exact = (*exact_edits(app, fleet, resource, found, version), *generator_fixes(app, fleet, resource, found))
    kept = [fix for fix in exact if not changed or fix.edit.kind != "json-patch"]
    yield from kept
    titles = {fix.title for fix in kept}
    yield from (fix for fix in general_fixes(app, fleet, resource, found) if fix.title not in titles)


def fixes_in_template(app: App, resource: Resource, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The same fixes in the template, for an ExternalSecret that a ClusterExternalSecret made."""
    node = app.node(resource.id)
    root = app.root(node) if node is not None and app.resource(resource.key) is None else None
    if root is None or root.id.kind != "ClusterExternalSecret":
        return fixes

    def moved(fix: Fix) -> Fix:
        if fix.edit.kind != "json-patch" or fix.resource is not None:
            return fix
        base = "/spec/externalSecretSpec/"
        content = [{**each, "path": each["path"].replace("/spec/", base, 1)} for each in fix.edit.content]
        return replace(fix, where=str(root.id), edit=Edit("json-patch", content), resource=root.id)

    return tuple(moved(fix) for fix in fixes)


def exact_edits(
    app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion
) -> Iterator[Fix]:
    """Exact edits for this object, before the general advice."""
    where = f"ExternalSecret {resource.namespace}/{resource.name}"
    pointer = found.detail.get("pointer") or "/spec/secretStoreRef"
    secret = es.target_name(resource.live)
    yield from secret_fixes(resource, found)
    match found.cause:
        case "store-kind-omitted":
            title = "Set the store's kind to ClusterSecretStore"
            yield field_fix(
                resource, title, f"{pointer}/kind", "ClusterSecretStore", _next_fault(app, fleet, resource, found)
            )
        case "store-not-found" | "store-not-ready" | "namespace-denied" if found.detail.get("present"):
            yield _sync_now_fix(resource, f"Force a sync: the {_PRESENT[found.cause]} by now")
        case "store-not-found" if found.detail.get("store"):
            yield from missing_store_fixes(app, fleet, resource, found, pointer)
        case "unmanaged-store" if found.detail.get("store"):
            kind, name = found.detail["kind"], found.detail["store"]
            edit = Edit("json-patch", [{"op": "remove", "path": "/spec/controller"}])
            store = stores.find(app, fleet, es.StoreRef(kind, name, pointer), resource.namespace)
            owner = f" (application {store.app})" if store.app and store.app != app.ref else ""
            of = store.resource.id if store.resource else None
            yield Fix(
                f'Remove spec.controller from {kind} "{name}"{owner}',
                "manifest",
                f"{kind} {name}",
                edit,
                es.SKIPPED,
                resource=of,
                effects=("needs-force-sync",),
            )
        case "namespace-denied":
            name = found.detail.get("store", "")
            ref = es.StoreRef("ClusterSecretStore", name, pointer)
            yield _admit_namespace_fix(resource, name, stores.find(app, fleet, ref, resource.namespace), app)
        case "decode" if remote_pointer(resource, found) and found.advice != "decode-unset":
            path = f"{remote_pointer(resource, found)}/decodingStrategy"
            yield field_fix(resource, "Use the value as it is", path, "None")
            yield field_fix(resource, "Decode only what is valid base64", path, "Auto")
        case "not-found" | "property-missing":
            yield from _value_fixes(resource, found)
        case "owned-by-external-secret" | "owned-by-other-controller":
            yield from _owner_fixes(resource, found, secret)
        case "throttled":
            yield from _lighter_find(app, fleet, resource, found, version)
        case "merge-target-missing":
            yield field_fix(
                resource, "Let the ExternalSecret create its Secret", "/spec/target/creationPolicy", "Owner"
            )
        case "delete-not-owner":
            yield field_fix(
                resource, "Keep the Secret when the provider loses the key", "/spec/target/deletionPolicy", "Retain"
            )
        case "duplicate-key":
            yield manifest_text(
                where, "Give each entry of spec.data its own secretKey", "rename or remove the later entry"
            )
        case "conflict":
            yield from _stale_status_fixes(resource, version)
        case "store-credential":
            yield from _namespace_fixes(app, fleet, resource, found)
        case "template":
            yield from _template_source_fixes(app, resource, found)
            yield from _template_name_fixes(resource, found)
            yield from reopened_fixes(resource) if found.advice == "pkcs12-pem" else ()


def _owner_fixes(resource: Resource, found: Diagnosis, secret: str) -> Iterator[Fix]:
    """Take the Secret over, make it again, or leave it to its owner."""
    if found.cause == "owned-by-external-secret" and found.detail.get("let_go"):
        yield _sync_now_fix(resource, "Force a sync: the Secret is free by now, and the next attempt comes late")
        return
    if found.cause == "owned-by-external-secret" and found.detail.get("owner") == resource.name:
        yield _former_owner_fix(resource, secret)
        return
    if found.cause == "owned-by-other-controller" and found.detail.get("owner_group") == es.KES_GROUP:
        yield _take_over_fix(resource, secret)
    yield _rename_fix(resource)


def _lighter_find(
    app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion
) -> Iterator[Fix]:
    """What makes a find in AWS Parameter Store cheaper: the path that its regular expression begins with, the release and the right that read a path at once."""
    store = failing_store(app, fleet, resource, found)
    if not store or dig(store.manifest, "spec", "provider", "aws", "service") != "ParameterStore":
        return
    place = pathless_find(resource)
    entry = get(resource.live, place, {}) if place else {}
    below_path = _LITERAL_PATH.match(text_at(entry, "name", "regexp"))
    if below_path:
        title = f"Give the find the path {below_path[1]}: without one, it lists every parameter"
        caveat = f"the store's identity needs ssm:GetParametersByPath on {below_path[1]}"
        yield field_fix(resource, title, f"{place}/path", below_path[1], caveat)
    finds = [mapping(entry, "find") for entry in maps(resource.live, "spec", "dataFrom")]
    path = next((text_at(each, "path") for each in finds if text_at(each, "path") and each.get("name")), "")
    right = f"the store's identity needs ssm:GetParametersByPath on {excerpt(path, 200)}"
    if path and version.at_least("v0.9.0") is False:
        text = f"Releases before v0.9.0 list by ssm:DescribeParameters, which AWS limits most, and then read each parameter alone; {right}."
        yield external_secrets_upgrade("v0.9.0 or later, which reads a path at once", text)
    elif path and "DescribeParameters" in found.text:
        title = f"Allow ssm:GetParametersByPath on {excerpt(path, 200)}: without it, a find lists all parameters and reads each alone"
        yield manifest_text(f"the policy of the identity of {store.ref.kind} {store.ref.name}", title, f"{right}.")


_LITERAL_PATH = regex(r"\^?((?:/[\w-]{1,200}){1,15})/")

_PRESENT = {
    "store-not-found": "store exists",
    "store-not-ready": "store is ready",
    "namespace-denied": "namespace is admitted",
}


def _value_fixes(resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """Edits of an entry whose store holds the key, in another version or without that property, or a key of nearly that name."""
    place, meant = remote_pointer(resource, found), "if that is the value that is meant"
    if place and (near := found.detail.get("near")):
        yield field_fix(resource, f'Read property "{near}", which it holds', f"{place}/property", near, meant)
    elif place and (near := found.detail.get("near_key")):
        yield field_fix(resource, f'Read key "{near}", which the store holds', f"{place}/key", near, meant)
    elif place and found.topic == "not-found-version" and (only := found.detail.get("version")):
        yield field_fix(resource, f'Ask for version "{only}", which the store holds', f"{place}/version", only)


def _admit_namespace_fix(resource: Resource, name: str, store: stores.Store, app: App) -> Fix:
    """The edit that admits the namespace: one true condition is enough, so it is added to the first list of names, else as another condition."""
    in_git = store.resource.desired if store.resource else None
    conditions = items(in_git, "spec", "conditions")
    at = next((n for n, each in enumerate(conditions) if isinstance(dig(each, "namespaces"), list)), None)
    edit = Edit("yaml", f"spec:\n  conditions:   # next to the existing ones\n  - namespaces: [{resource.namespace}]")
    if at is not None:
        path = f"/spec/conditions/{at}/namespaces/-"
        edit = Edit("json-patch", [{"op": "add", "path": path, "value": resource.namespace}])
    elif conditions:
        another = {"namespaces": [resource.namespace]}
        edit = Edit("json-patch", [{"op": "add", "path": "/spec/conditions/-", "value": another}])
    owner = f" (application {store.app})" if store.app and store.app != app.ref else ""
    return Fix(
        f'Admit {resource.namespace} in ClusterSecretStore "{name}"{owner}',
        "manifest",
        f"ClusterSecretStore {name}",
        edit,
        "opens every key of the store to this namespace",
        resource=store.resource.id if store.resource and conditions else None,
    )


def _namespace_fixes(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """The fix for a Secret or ServiceAccount in another namespace that its ClusterSecretStore does not name."""
    store = failing_store(app, fleet, resource, found)
    missing = {found.detail.get("secret"), found.detail.get("account")}
    if any(each.name in missing for each in credentials_without_namespace(store)):
        fix = namespaces_fix(app, fleet, store)
        yield from (fix,) if fix else ()


def _next_fault(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> str:
    """The fault of the ClusterSecretStore that is meant, behind the wrong kind; empty if none is known."""
    name = found.detail.get("store", "")
    store = stores.find(app, fleet, es.StoreRef("ClusterSecretStore", name, ""), resource.namespace)
    if store.admits(resource.namespace) is False:
        return f'"{name}" does not admit namespace {resource.namespace} yet: its spec.conditions must name it, too'
    return f'"{name}" is not ready, which is a fault of its own' if store.is_ready is False else ""


def _template_source_fixes(app: App, resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """The edit that names the key of a similar name in the ConfigMap or Secret of templateFrom, which this application has."""
    name, item = found.detail.get("source", ""), found.detail.get("item", "")
    kind = {"configmap": "configMap", "secret": "secret"}.get(found.detail.get("of", ""), "")
    held = app.find("", kind[:1].upper() + kind[1:], resource.namespace, name) if kind and item else None
    near = get_close_matches(item, sorted(data_keys(held.live or held.desired)), 1, 0.6) if held is not None else []
    for n, source in enumerate(items(resource.live, "spec", "target", "template", "templateFrom")):
        for k, each in enumerate(items(source, kind, "items") if near and dig(source, kind, "name") == name else ()):
            if dig(each, "key") == item:
                path = f"/spec/target/template/templateFrom/{n}/{kind}/items/{k}/key"
                yield field_fix(resource, f'Read key "{near[0]}", which "{name}" holds', path, near[0])
                return


def _template_name_fixes(resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """Fixes for names in the template that Go cannot parse, or that spec.data does not fetch."""
    manifest = resource.live or resource.any
    if misread := target_misreads(manifest):
        yield from template_fixes(resource, misread)
    missing = found.detail.get("absent", "")
    for each in unfetched_names(manifest):
        if each.name.partition(".")[0] == missing and each.similar_key:
            text = f'{each.pointer}: nothing fetches "{missing}"; spec.data has "{each.similar_key}".'
            where = f"ExternalSecret {resource.namespace}/{resource.name}"
            yield manifest_text(where, f'Write "{each.similar_key}" for "{missing}" in the template', text)
            return


def missing_store_fixes(app: App, fleet: Fleet, resource: Resource, found: Diagnosis, pointer: str) -> Iterator[Fix]:
    """Fixes for a missing store: an application has not applied it yet, it has the other kind, or its name is misspelt."""
    kind, name = found.detail["kind"], found.detail["store"]
    late = stores.find(app, fleet, es.StoreRef(kind, name, pointer), resource.namespace).resource
    if late is not None and app.resource(late.key) is late and late.missing and _comes_later(late, resource):
        yield earlier_wave_fix(late, resource, "the store or generator")
    elif late is not None and (refusal := _refusal(app, late)):
        title = f'Write {kind} "{name}" as the API server accepts it'
        yield manifest_text(str(late.id), title, refusal, "the operator then tries again within 7 min")
    elif owner := found.detail.get("rendered"):
        sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
        edit = Edit("command", f"argocd app sync {sh(owner)}\n{sync}")
        yield Fix(f'Sync application {owner}, which holds {kind} "{name}" in Git', "live", owner, edit)
    elif twin := found.detail.get("twin"):
        yield field_fix(resource, f'Refer to the {twin} "{name}", which exists', f"{pointer}/kind", twin)
    elif elsewhere := stores.other_namespaces(app, fleet, kind, name, resource.namespace):
        spaces = enumerated(elsewhere)
        field = "secretStoreRefs" if resource.kind == "PushSecret" else "secretStoreRef"
        yield manifest_text(
            f"{kind} {elsewhere[0]}/{name}",
            f'Create the {kind} "{name}" in namespace {resource.namespace} too, or a ClusterSecretStore of it',
            f"It is in namespace {spaces}: a SecretStore serves only its own namespace. A ClusterSecretStore (with spec.conditions, so that"
            f" not every namespace may use it, and namespaces in its references) serves others; write kind: ClusterSecretStore in {field} then.",
        )
    else:
        known = [n for n in stores.store_names(app, fleet, kind, resource.namespace) if n != name]
        for near in get_close_matches(name, known, n=1, cutoff=0.8):
            yield field_fix(resource, f'Refer to "{near}", which exists', f"{pointer}/name", near)


def _refusal(app: App, late: Resource) -> str:
    """What the API server said when the last sync applied the object in vain; empty if it was applied, or is of another application."""
    rows = app.operation.results_of(late.id) if app.operation and app.resource(late.key) is late else ()
    return next((excerpt(text_at(row, "message"), 600) for row in rows if row.get("status") == "SyncFailed"), "")


def _comes_later(late: Resource, early: Resource) -> bool:
    return early.desired is not None and place_of(late.desired, late.sync_wave) > place_of(early.desired)


def _stale_status_fixes(resource: Resource, version: OperatorVersion) -> Iterator[Fix]:
    title = (
        "Force one sync: the Secret is right, only the status is stale"
        if dig(resource.live, "status", "refreshTime")
        else "Force a sync"
    )
    yield _sync_now_fix(resource, title)
    if version.at_least("v0.11.0") is not True:
        have = f"the operator is {version}" if version.known or version.below else "its version is unknown"
        caveat = f"{have}; the API versions v1alpha1 and v1beta1 end on the way: move the manifests to external-secrets.io/v1"
        text = "Up to v0.10.7 a second reconcile on a stale cache fails, and Ready stays False until refreshTime + refreshInterval; since v0.11.0 a conflict is requeued silently."
        yield external_secrets_upgrade("v0.11.0 or later", text, caveat)
        if es.refresh_interval(resource.live).total_seconds() > 60:
            yield field_fix(
                resource,
                "Refresh each minute for a while, then revert",
                "/spec/refreshInterval",
                "1m",
                caveat="60 times the provider calls of 1h; hides the race until the upgrade",
            )


def _take_over_fix(resource: Resource, secret: str) -> Fix:
    ns = resource.namespace
    lines = (
        "# 1. pause auto-sync of the application that deploys Kubernetes External Secrets, then stop it: it would take the Secret back",
        es.STOP_KES,
        "# 2. free the Secret; nothing is deleted",
        es.release_secret(ns, secret),
        "# 3. let External Secrets adopt it",
        es.force_sync(es.FULL_NAME, ns, resource.name),
        "# 4. only when it is Ready: remove the old object from Git",
    )
    return live_command(
        f"Secret {ns}/{secret}",
        "Stop Kubernetes External Secrets, drop the Secret's ownerReferences, force a sync",
        "\n".join(lines),
        "with self-heal on, Argo CD restarts Kubernetes External Secrets: pause it first",
    )


def _former_owner_fix(resource: Resource, secret: str) -> Fix:
    """The fix for the Secret of an ExternalSecret that was deleted and created again with its name: it has no owner any more."""
    return Fix(
        f"Delete Secret {secret}, which the former ExternalSecret of this name left; the operator makes it again",
        "live",
        f"Secret {resource.namespace}/{secret}",
        Edit("command", f"kubectl -n {sh(resource.namespace)} delete secret {sh(secret)}"),
        "the provider must still hold the values; pods that start in between wait for it",
        resource=secret_id(resource),
        plays=GONE,
    )


def _rename_fix(resource: Resource) -> Fix:
    name = resource.name if es.target_name(resource.live) != resource.name else f"{resource.name}-eso"
    return field_fix(
        resource,
        "Write a Secret of its own, then move the workloads to it",
        "/spec/target/name",
        name,
        caveat="workloads that read the old Secret must be changed too",
    )


def _sync_now_fix(resource: Resource, title: str) -> Fix:
    if es.force_sync_works(resource.live):
        command = Edit("command", es.force_sync(es.FULL_NAME, resource.namespace, resource.name))
        annotated = set_field(resource.live or {}, "/metadata/annotations/force-sync", "now")
        where = f"ExternalSecret {resource.namespace}/{resource.name}"
        return Fix(title, "live", where, command, safe=True, plays=Edit("json-patch", annotated))
    return manifest_yaml(
        f"ExternalSecret {resource.namespace}/{resource.name}",
        "Give the ExternalSecret a real refreshInterval: force-sync does nothing with this one",
        "spec:\n  refreshInterval: 1h0m0s",
    )
