"""An ExternalSecret is not synced

What it finds: an ExternalSecret of External Secrets (any version) whose Ready condition is False, and why. Since v0.4.2 the
condition says only `could not get secret data from provider` or `could not update secret`; the error itself stands in an
Event, which the cluster keeps for about an hour. argolint reads the newest Event that fits the condition, holds it against
the objects that are there now (a store that was missing at start-up may exist by now, be of another controller class, shut
the namespace out or not be ready), and falls back to the condition and the objects around the ExternalSecret. One that is new
in Git, or turns to another store, is told before it fails when the stores that Argo CD shows leave no doubt. What it failed for
and what ended within the last five minutes (a store that became ready, a generator that was made after it, an edit that the
operator has not answered yet) is an information: the next attempt is due.

Why it hurts: the Secret is missing, or it keeps an old value that the provider may already have revoked. The operator
retries with a growing delay (1 s to 7 min since v0.14), and for some causes (a Secret of another owner, an immutable Secret)
it never tries again.

How to fix: by cause. Say the kind of a ClusterSecretStore, create or repair the store and admit the namespace; renew credentials
and rights at the provider; correct key, property, decoding, template or generator; give each Secret one writer. What stays
False after a race of the first sync (v0.10.7 and older) needs one forced sync, and v0.11.0 to be rid of it.

Two pieces of advice that are often read do not hold. A shorter `refreshInterval` does not cure an
authentication error: failed syncs follow their own back-off, and IRSA tokens live 86,400 s and are renewed by the SDK. And
External Secrets has no webhook receiver for changes at the provider (`reconcile.external-secrets.io/webhook-id` exists in
neither code nor docs); what is event-driven is a function of your own that patches the annotation `force-sync`. That
annotation is the documented one (`eso.external-secrets.io/force-sync` works only because any annotation does); it does
nothing with `refreshInterval: 0` or `CreatedOnce` after the first success. Commands name
`externalsecrets.external-secrets.io` in full: `es` may mean another kind.

Example:

    ExternalSecret shop/db is Ready=False because there is no SecretStore "vault": the Secret "db" has not been written.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go,
pkg/controllers/secretstore/client_manager.go, docs/api/externalsecret.md, docs/introduction/faq.md; issues 162 and 3878 (the
first-sync race up to v0.10.7), 4086, 4225, 4340, 4867, 5259; webhook receivers are open requests (675, 2975, 3304).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from argolint import MISSING, App, Edit, Finding, Fix, Fleet, Location, Resource, Rule, Want
from argolint.edits import set_field
from argolint.values import below, dig, get, items, mapping, parse_time, sh

from ..shared.advice import Shell, advice
from . import _external_secret as es
from . import _stores as stores
from ._operator_version import OperatorVersion, version_of, wants_crd
from ._refresh_cost import load_of_store
from ._sync_error import Diagnosis, diagnose, predict, raced

CAUSES = (
    "store-not-found",
    "store-kind-omitted",
    "store-not-ready",
    "namespace-denied",
    "unmanaged-store",
    "store-credential",
    "auth",
    "throttled",
    "access-denied",
    "not-found",
    "property-missing",
    "invalid-keys",
    "duplicate-key",
    "decode",
    "template",
    "generator",
    "owned-by-external-secret",
    "owned-by-other-controller",
    "immutable",
    "delete-not-owner",
    "conflict",
    "admission",
    "network",
    "merge-target-missing",
    "quota",
    "unknown",
)


_NO_GENERATOR = re.compile(r'"[^"]+" not found|no matches for kind|generatorRef', re.IGNORECASE)


def _failing(app: App) -> Iterator[Resource]:
    for resource in (*es.external_secrets(app), *es.created_by_cluster(app)):
        if es.ready(resource.live).get("status") == "False" and not es.deleting(resource):
            yield resource


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Events of failing ExternalSecrets, and the stores that other applications manage; nothing for healthy ones."""
    for resource in es.created_by_cluster(app):
        if resource.live is None:
            yield Want("live", resource.id)
    for resource in _failing(app):
        yield Want("events", resource.id, resource.uid)
        yield from stores.wants_of(app, fleet, resource.live, resource.namespace)
    if any(True for _ in _failing(app)):
        yield from wants_crd(app, fleet)
    for resource in _turning(app):
        yield from stores.wants_of(app, fleet, resource.desired, resource.namespace)


def _turning(app: App) -> Iterator[Resource]:
    """ExternalSecrets that are new in Git or refer to other stores than the live ones."""
    for resource in es.external_secrets(app):
        if resource.desired is not None and es.store_refs(resource.desired) != es.store_refs(resource.live):
            yield resource


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that is Ready=False, or is sure to be so once Git is applied."""
    failing = tuple(_failing(app))
    for resource in _turning(app):
        found = predict(app, fleet, resource)
        if found is not None and resource not in failing:
            yield _predicted(app, fleet, resource, found)
    if not failing:
        return
    version = version_of(app, fleet)
    for resource in failing:
        found = diagnose(app, fleet, resource)
        if found is not None:
            yield _finding(app, fleet, resource, found, version)


def _finding(app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion) -> Finding:
    pointer = _pointer(resource, found)
    return Finding(
        message=f"{resource.id} is Ready=False because {_because(resource, found)}: {_so(resource, found)}{_again(found)}.",
        at=Location(app.ref, resource.id, pointer),
        cause=found.cause,
        severity="info" if found.passing else None,
        confidence="proven" if found.certain else "likely",
        evidence=(
            *found.evidence,
            *(load_of_store(app, fleet, resource.any, resource.namespace) if found.cause == "throttled" else ()),
        ),
        fixes=_in_template(
            app,
            resource,
            tuple(_fixes(app, fleet, resource, found, version, pointer)),
        ),
        explains=es.consequences(app, resource.id),
    )


def _fixes(
    app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion, pointer: str
) -> Iterator[Fix]:
    if found.passing:
        yield _sync_now(resource, "Wait for the next attempt, or force it")
        return
    changed = bool(pointer) and any(c.desired is not MISSING and below(c.pointer, pointer) for c in resource.changes)
    if changed:
        edit = Edit("command", f"argocd app sync {sh(app.ref)}")
        yield Fix("Sync the application: Git already says something else here", "live", str(app.ref), edit)
    for fix in (*_edits(app, fleet, resource, found, version), *_failing_generator(app, resource, found)):
        if not changed or fix.edit.kind != "json-patch":
            yield fix
    yield from _advice(resource, found)


def _again(found: Diagnosis) -> str:
    return ", and the operator will try again by itself" if found.passing else ""


def _in_template(app: App, resource: Resource, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """An ExternalSecret that a ClusterExternalSecret made is mended in the template there."""
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


def _predicted(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Finding:
    return Finding(
        message=f"{resource.id} cannot become Ready because {found.says}: the {es.target_text(resource.desired)} will not be made.",
        at=Location(app.ref, resource.id, _pointer(resource, found)),
        cause=found.cause,
        severity=None if found.certain else "warning",
        confidence="likely" if found.certain else "possible",
        evidence=("the manifest in Git, held against the stores that Argo CD shows; it is not live yet",),
        fixes=(*_edits(app, fleet, resource, found, OperatorVersion()), *_advice(resource, found)),
    )


def _because(resource: Resource, found: Diagnosis) -> str:
    key = _key(resource, found)
    if found.cause == "conflict" and raced(resource):
        return "a second write of the Secret crossed the first one after the sync had succeeded"
    if found.cause == "not-found" and key:
        return found.says.replace("the key", f'"{key}"')
    if found.cause == "property-missing" and key and found.detail.get("property"):
        return f'"{key}" at the provider has no property "{found.detail["property"]}"'
    if found.cause == "access-denied" and key:
        return f'the credentials of its store may not read "{key}"'
    if found.cause in ("template", "generator", "store-credential", "admission", "invalid-keys", "auth", "network"):
        return f"{found.says} ({_short(found.text)})" if found.text else found.says
    return found.says


def _short(text: str) -> str:
    """The end of a wrapped Go error is the part that says what happened."""
    return text if len(text) <= 160 else f"…{text[-159:]}"


def _so(resource: Resource, found: Diagnosis) -> str:
    what = f"the {es.target_text(resource.live)}"
    last = parse_time(dig(resource.live, "status", "refreshTime"))
    if last is None:
        return f"{what} has not been written"
    if found.cause == "conflict" and raced(resource):
        due = last + es.interval(resource.live)
        return f"{what} is right, yet Ready stays False until {due:%Y-%m-%d %H:%M}Z"
    return f"{what} keeps the value of {last:%Y-%m-%d %H:%M}Z"


def _index(resource: Resource, found: Diagnosis) -> tuple[str, int] | None:
    """The entry that failed: told by the envelope, else the only one that has the key."""
    if found.entry:
        return found.entry, found.index
    key = found.detail.get("key", "")
    same = [
        (field, index)
        for field in ("data", "dataFrom")
        for index in range(len(items(resource.live, "spec", field)))
        if key and es.remote_key(resource.live, field, index) == key
    ]
    entries = items(resource.live, "spec", "data"), items(resource.live, "spec", "dataFrom")
    if not same and len(entries[0]) + len(entries[1]) == 1:
        return ("data" if entries[0] else "dataFrom"), 0
    return same[0] if same else None


def _key(resource: Resource, found: Diagnosis) -> str:
    place = _index(resource, found)
    return found.detail.get("key") or (es.remote_key(resource.live, *place) if place else "")


def _remote(resource: Resource, found: Diagnosis) -> str:
    """Pointer of the remoteRef, extract or find that failed; empty when it is not known."""
    place = _index(resource, found)
    if place is None:
        return ""
    field, index = place
    entry = get(resource.live, f"/spec/{field}/{index}", None)
    inner = (
        "remoteRef" if field == "data" else "extract" if dig(entry, "extract") else "find" if dig(entry, "find") else ""
    )
    return f"/spec/{field}/{index}/{inner}".rstrip("/")


def _pointer(resource: Resource, found: Diagnosis) -> str:
    remote, store = _remote(resource, found), found.detail.get("pointer") or "/spec/secretStoreRef"
    match found.cause:
        case "store-kind-omitted":
            return f"{store}/kind"
        case "store-not-found" | "unmanaged-store" | "namespace-denied":
            return f"{store}/name"
        case "store-not-ready" | "store-credential" | "auth" | "network":
            return store
        case "throttled":
            return "/spec/refreshInterval"
        case "not-found" | "access-denied":
            return f"{remote}/key" if remote and not remote.endswith("/find") else remote
        case "property-missing":
            return f"{remote}/property" if remote else ""
        case "decode":
            return f"{remote}/decodingStrategy" if remote else ""
        case "invalid-keys":
            return remote.rpartition("/")[0] or "/spec/dataFrom"
        case "template":
            return _template_pointer(resource, found.text)
        case "generator":
            refs = es.generator_refs(resource.live)
            told = next(
                (p for _, _, p in refs if found.entry and p.startswith(f"/spec/{found.entry}/{found.index}/")), ""
            )
            return f"{found.detail.get('pointer') or told or (refs[0][2] if refs else '/spec/dataFrom')}/name"
        case "owned-by-external-secret" | "owned-by-other-controller" | "immutable" | "conflict":
            return "/spec/target/name"
        case "merge-target-missing":
            return "/spec/target/creationPolicy"
        case "delete-not-owner":
            return "/spec/target/deletionPolicy"
        case "duplicate-key":
            return "/spec/data"
        case _:
            return ""


def _template_pointer(resource: Resource, text: str) -> str:
    data = mapping(resource.live, "spec", "target", "template", "data")
    key = next((k for k in sorted(data, key=len, reverse=True) if f"at key {k}" in text), "")
    if key:
        return "/spec/target/template/data/" + key.replace("~", "~0").replace("/", "~1")
    return "/spec/target/template"


def _edits(app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion) -> Iterator[Fix]:
    """What can be said exactly for this object, before the general advice."""
    where = f"ExternalSecret {resource.namespace}/{resource.name}"
    pointer = found.detail.get("pointer") or "/spec/secretStoreRef"
    secret = es.target_name(resource.live)
    match found.cause:
        case "store-kind-omitted":
            yield _patch(
                resource, "Say that the store is a ClusterSecretStore", f"{pointer}/kind", "ClusterSecretStore"
            )
        case "store-not-found" if found.detail.get("present"):
            yield _sync_now(resource, "Force a sync: the store exists by now")
        case "store-not-ready" if found.detail.get("present"):
            yield _sync_now(resource, "Force a sync: the store is ready by now")
        case "store-not-found" if found.detail.get("store"):
            yield from _missing_store(app, fleet, resource, found, pointer)
        case "unmanaged-store" if found.detail.get("store"):
            kind, name = found.detail["kind"], found.detail["store"]
            edit = Edit("json-patch", [{"op": "remove", "path": "/spec/controller"}])
            store = stores.find(app, fleet, es.StoreRef(kind, name, pointer), resource.namespace)
            owner = f" (application {store.app})" if store.app and store.app != app.ref else ""
            of = store.resource.id if store.resource else None
            yield Fix(
                f'Remove spec.controller from {kind} "{name}"{owner}', "manifest", f"{kind} {name}", edit, resource=of
            )
        case "namespace-denied" if found.detail.get("present"):
            yield _sync_now(resource, "Force a sync: the namespace is admitted by now")
        case "namespace-denied":
            store_name = found.detail.get("store", "")
            edit = Edit("yaml", f"spec:\n  conditions:\n  - namespaces: [..., {resource.namespace}]")
            caveat = "opens every key of the store to this namespace"
            yield Fix(
                f'Admit {resource.namespace} in ClusterSecretStore "{store_name}"',
                "manifest",
                f"ClusterSecretStore {store_name}",
                edit,
                caveat,
            )
        case "decode" if _remote(resource, found):
            path = f"{_remote(resource, found)}/decodingStrategy"
            yield _patch(resource, "Take the value as it is", path, "None")
            yield _patch(resource, "Decode only what is valid base64", path, "Auto")
        case "owned-by-other-controller" if found.detail.get("owner_group") == es.KES_GROUP:
            yield _take_over(resource, secret)
            yield _rename(resource)
        case "owned-by-external-secret" | "owned-by-other-controller":
            yield _rename(resource)
            if es.creation_policy(resource.live) == "Merge":
                edit = Edit("yaml", "spec:\n  target:\n    creationPolicy: Orphan")
                caveat = "the Secret then stays when that ExternalSecret is deleted"
                yield Fix(
                    "Let the first ExternalSecret make the Secret without owning it",
                    "manifest",
                    "the owner",
                    edit,
                    caveat,
                )
        case "merge-target-missing":
            yield _patch(resource, "Let the ExternalSecret create its Secret", "/spec/target/creationPolicy", "Owner")
        case "delete-not-owner":
            yield _patch(
                resource, "Keep the Secret when the provider loses the key", "/spec/target/deletionPolicy", "Retain"
            )
        case "duplicate-key":
            yield Fix(
                "Give each entry of spec.data its own secretKey",
                "manifest",
                where,
                Edit("text", "rename or remove the later entry"),
            )
        case "conflict":
            yield from _unstick(resource, version)


def _missing_store(app: App, fleet: Fleet, resource: Resource, found: Diagnosis, pointer: str) -> Iterator[Fix]:
    """An application holds it and has not applied it yet; it is of the other kind; it is spelled otherwise."""
    kind, name = found.detail["kind"], found.detail["store"]
    if owner := found.detail.get("rendered"):
        sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
        edit = Edit("command", f"argocd app sync {sh(owner)}\n{sync}")
        yield Fix(f'Sync application {owner}, which holds {kind} "{name}" in Git', "live", owner, edit)
    elif twin := found.detail.get("twin"):
        yield _patch(resource, f'Refer to the {twin} "{name}", which exists', f"{pointer}/kind", twin)
    else:
        known = [n for n in stores.names(app, fleet, kind, resource.namespace) if n != name]
        for near in get_close_matches(name, known, n=1, cutoff=0.8):
            yield _patch(resource, f'Refer to "{near}", which exists', f"{pointer}/name", near)


def _failing_generator(app: App, resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """The generator is in Git and not applied yet; or it is there and fails: to create it is no cure."""
    if found.cause != "generator":
        return
    for kind, name, _ in es.generator_refs(resource.live):
        own = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if own is not None and own.missing:
            sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
            edit = Edit("command", f"argocd app sync {sh(app.ref)}\n{sync}")
            yield Fix(f'Sync application {app.ref}, which holds {kind} "{name}" in Git', "live", str(app.ref), edit)
    if found.text and not _NO_GENERATOR.search(found.text):
        edit = Edit("command", f"kubectl -n {sh(resource.namespace)} describe {es.FULL_NAME} {sh(resource.name)}")
        title = "Let the generator's own identity do what the error names, or correct the generator's settings"
        yield Fix(title, "manifest", "the generator", edit)


def _unstick(resource: Resource, version: OperatorVersion) -> Iterator[Fix]:
    title = (
        "Force one sync: the Secret is right, only the status is stale"
        if dig(resource.live, "status", "refreshTime")
        else "Force a sync"
    )
    yield _sync_now(resource, title)
    if version.at_least("v0.11.0") is not True:
        have = f"the operator is {version}" if version.known or version.below else "its version is unknown"
        caveat = f"{have}; the API versions v1alpha1 and v1beta1 end on the way: move the manifests to external-secrets.io/v1"
        text = "Up to v0.10.7 a second reconcile on a stale cache fails, and Ready stays False until refreshTime + refreshInterval; since v0.11.0 a conflict is requeued silently."
        yield Fix(
            "Upgrade External Secrets to v0.11.0 or later",
            "operator",
            "values of the External Secrets chart",
            Edit("text", text),
            caveat,
        )
        if es.interval(resource.live).total_seconds() > 60:
            yield _patch(
                resource,
                "Refresh each minute for a while, then revert",
                "/spec/refreshInterval",
                "1m",
                caveat="60 times the provider calls of 1h; hides the race until the upgrade",
            )


def _take_over(resource: Resource, secret: str) -> Fix:
    ns = resource.namespace
    lines = (
        "# 1. pause auto-sync of the application that deploys Kubernetes External Secrets, then stop it: it would take the Secret back",
        "kubectl -n <namespace of kubernetes-external-secrets> scale deployment kubernetes-external-secrets --replicas=0",
        "# 2. free the Secret; nothing is deleted",
        f"""kubectl -n {sh(ns)} patch secret {sh(secret)} --type=json -p '[{{"op": "remove", "path": "/metadata/ownerReferences"}}]'""",
        "# 3. let External Secrets adopt it",
        es.force_sync(es.FULL_NAME, ns, resource.name),
        "# 4. only when it is Ready: remove the old object from Git",
    )
    return Fix(
        "Stop Kubernetes External Secrets, drop the Secret's ownerReferences, force a sync",
        "live",
        f"Secret {ns}/{secret}",
        Edit("command", "\n".join(lines)),
        "with self-heal on, Argo CD restarts Kubernetes External Secrets: pause it first",
    )


def _rename(resource: Resource) -> Fix:
    name = resource.name if es.target_name(resource.live) != resource.name else f"{resource.name}-eso"
    return _patch(
        resource,
        "Write a Secret of its own, then move the workloads to it",
        "/spec/target/name",
        name,
        caveat="workloads that read the old Secret must be changed too",
    )


def _patch(resource: Resource, title: str, path: str, value: str, caveat: str = "") -> Fix:
    edit = Edit("json-patch", set_field(resource.any, path, value))
    return Fix(title, "manifest", f"ExternalSecret {resource.namespace}/{resource.name}", edit, caveat)


def _sync_now(resource: Resource, title: str) -> Fix:
    if es.force_sync_works(resource.live):
        command = Edit("command", es.force_sync(es.FULL_NAME, resource.namespace, resource.name))
        return Fix(title, "live", f"ExternalSecret {resource.namespace}/{resource.name}", command, safe=True)
    return Fix(
        "Give the ExternalSecret a real refreshInterval: force-sync does nothing with this one",
        "manifest",
        f"ExternalSecret {resource.namespace}/{resource.name}",
        Edit("yaml", "spec:\n  refreshInterval: 1h0m0s"),
    )


def _advice(resource: Resource, found: Diagnosis) -> tuple[Fix, ...]:
    refs = es.store_refs(resource.live)
    first = refs[0] if refs else es.StoreRef("SecretStore", "", "")
    kind, store = found.detail.get("kind", first.kind), found.detail.get("store", first.name)
    sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
    return advice(
        __package__,
        found.advice if found.cause != "store-kind-omitted" else "",
        {
            "ns": resource.namespace,
            "name": resource.name,
            "secret": es.target_name(resource.live),
            "store": store,
            "kind": kind,
            "plural": es.PLURAL.get(kind, "secretstores"),
            "in_ns": () if kind == "ClusterSecretStore" else ("-n", resource.namespace),
            "in_log": f'"{resource.name}"',
            "key": _key(resource, found) or "its keys",
            "controller": found.detail.get("controller", "<class>"),
            "sync": Shell(
                sync if es.force_sync_works(resource.live) else "# force-sync does nothing with this refresh setting"
            ),
        },
    )


RULE = Rule(
    id="external-secret-sync-error",
    family="secrets",
    severity="error",
    doc=__doc__,
    causes=CAUSES,
    check=check,
    wants=wants,
    rank=10,
)
