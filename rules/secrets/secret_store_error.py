"""A SecretStore is not usable

What it finds: an unusable SecretStore or ClusterSecretStore. It is Ready=False, with the cause from its Event (`unable to create client` and
`unable to validate store` alone show no cause). Or its `spec.controller` is one that no running operator serves: it never gets a status. Or the
operator's own webhook refuses it, so that its sync fails. The ExternalSecrets of the store are counted across all applications. A store that is
being deleted is not reported. If its credential was created after it, within the last five minutes, the finding is information.

Why it hurts: every ExternalSecret of the store fails with `SecretStore "..." is not ready` (since v0.11 the operator does not even try), and
Secrets keep values that the provider may have changed.

How to fix: by cause and provider: create the Secret or ServiceAccount of the credential (a ClusterSecretStore must name its namespace), correct
the identity, open the network, or remove `spec.controller`. Then force a sync of the ExternalSecrets: they do not watch their store. A Ready
store proves little: validation of AWS only resolves credentials, GCP and Azure make no call at all.

Example:

    SecretStore shop/vault fails because its provider cannot be reached (lookup vault: no such host), so 3 ExternalSecrets cannot refresh.

Sources: external-secrets pkg/controllers/secretstore/common.go and client_manager.go, docs/provider; issue 4340.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from msgspec import to_builtins

from argolint import (
    App,
    AppRef,
    Edit,
    Fact,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    ResourceKey,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import consequences
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.relations.explained import Explained
from argolint.relations.operator_version import version_of, wants_crd
from argolint.values import enumerated, mapping
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores
from ._advice_facts import facts
from ._ill_server import ill_server, server_wants
from ._provider import answering_provider, credentials_without_namespace, namespaces_fix
from ._store_hints import hints
from ._store_refused import no_namespaces_fix, refusal_topic, topic_meaning, webhook_refusal
from ._sync_error_texts import Diagnosis, classify, cleaned_text, current_warnings, finding_sentence

CAUSE_OF = {
    "store-credential": "credential",
    "auth": "auth",
    "access-denied": "auth",
    "network": "network",
    "throttled": "network",
}
CREDENTIAL = regex(
    r'(?:secrets?|configmaps?|serviceaccounts?) "[^"]+" not found|cannot find secret data for key', re.IGNORECASE
)
MISSING = regex(r'(?:secrets?|configmaps?|serviceaccounts?) "([^"]+)" not found', re.IGNORECASE)
_CONFIG_MAP = regex(r"caProvider configMap (\S+)")
NAMESPACE = regex(r'from namespace "([^"]+)"')
_OWN = regex(r"\bthe (\w+(?: \w+)?) of (?:its|the) store\b")
PATIENCE = timedelta(minutes=5)
ADVICE_OF = {
    "credential": "store-credential",
    "auth": "auth",
    "network": "network",
    "unknown": "unknown-store",
    "invalid-provider": "provider-settings",
}
_OF_ENTRIES = frozenset({"not-found", "property-missing", "not-json", "entry-wrong", "unsupported", "either"})
"""Advice on an entry of an ExternalSecret."""
SHOWN = 5
_DEPENDENTS = 5
"""Words that `join` adds: the number of ExternalSecrets that cannot refresh."""


@dataclass(frozen=True)
class Options:
    """`waiting_minutes`: how long a store may be without a status before it is reported."""

    waiting_minutes: int = 5


def _all_stores(app: App) -> Iterator[Resource]:
    for kind in es.STORES:
        yield from app.of_kind(kind, es.GROUP)


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The Events of stores that are not Ready, and the CRD with the operator's version."""
    failing = [
        r for r in _all_stores(app) if es.ready_condition(r.live).get("status") == "False" and not is_deleting(r.live)
    ]
    for resource in failing:
        yield Want("events", resource.id, resource.uid)
        yield from server_wants(app, fleet, resource)
    if failing:
        yield from wants_crd(app, fleet)


def collect(app: App, fleet: Fleet, options: Options) -> Iterator[Fact]:
    """Bad stores, and every ExternalSecret and failing PushSecret with the key of its store; `join` combines them."""
    for resource in _all_stores(app):
        finding = _store_finding(app, fleet, resource, options)
        if finding is not None:
            yield Fact(_join_key(resource.id), app.ref, {"finding": to_builtins(finding)}, about=resource.key)
    readers = ((resource, ref) for resource in es.external_secrets(app) for ref in es.store_refs(resource.any))
    failing = (r for r in app.of_kind("PushSecret", es.GROUP) if es.ready_condition(r.live).get("status") == "False")
    writers = ((resource, ref) for resource in failing for ref in es.pushed_store_refs(resource.any))
    for resource, ref in (*readers, *writers):
        data = {"dependent": to_builtins(resource.id), "pointer": ref.pointer}
        yield Fact(_join_key(ref.id(resource.namespace, app.cluster)), app.ref, data)


def join(key: str, facts: Sequence[Fact], options: Options) -> Iterator[Finding]:
    """The finding of a bad store, with the ExternalSecrets that depend on it, and the PushSecrets that fail: the operator pushes to a store that is not Ready, too."""
    dependents = tuple(
        Related(f.app, ResourceId(**f.data["dependent"]), f.data["pointer"], "dependent")
        for f in facts
        if "dependent" in f.data
    )
    kinds = Counter(r.resource.kind for r in dependents if r.resource)
    reads, pushes = kinds["ExternalSecret"], kinds["PushSecret"]
    depends = f", so {reads} ExternalSecret{'s' if reads > 1 else ''} cannot refresh" if reads else ""
    depends += (
        f", and {pushes} PushSecret{'s' if pushes > 1 else ''} to it fail{'' if pushes > 1 else 's'}" if pushes else ""
    )
    no_dependents = () if reads else ("no ExternalSecret that Argo CD manages depends on it",)
    for fact in facts:
        if "finding" in fact.data:
            found = _finding_of_data(fact.data["finding"])
            yield replace(
                found,
                message=f"{found.message}{depends}.",
                evidence=(*found.evidence, *no_dependents),
                related=dependents[:SHOWN],
            )


def _join_key(resource: ResourceId) -> str:
    return "|".join((resource.cluster, resource.kind, resource.namespace, resource.name))


def _store_finding(app: App, fleet: Fleet, resource: Resource, options: Options) -> Finding | None:
    if is_deleting(resource.live):
        return None  # its credentials may be deleted before it; a blocking finalizer has its own rule
    if why := webhook_refusal(app, resource):
        return _refused_finding(app, fleet, resource, why)
    condition = es.ready_condition(resource.live)
    if condition.get("status") == "False":
        return _not_ready_finding(app, fleet, resource, cleaned_text(str(condition.get("message") or "")))
    store = stores.Store(es.StoreRef(resource.kind, resource.name, ""), app.ref, resource)
    since = es.created_at(resource)
    waited = since is not None and app.observed_at - since >= timedelta(minutes=options.waiting_minutes)
    if store.controller and waited:
        edit = Edit("json-patch", [{"op": "remove", "path": "/spec/controller"}])
        return Finding(
            message=f'{resource.id} is of class "{store.controller}", which no running operator serves',
            at=Location(app.ref, resource.id, "/spec/controller"),
            cause="unmanaged",
            evidence=(f"no status {_age_minutes(app, resource)} min after its creation",),
            fixes=(
                Fix(
                    "Remove spec.controller, so that the default operator serves the store",
                    "manifest",
                    str(resource.id),
                    edit,
                    es.SKIPPED,
                    effects=("needs-force-sync",),
                ),
                *advice(__package__, "unmanaged-store", {"controller": store.controller}),
            ),
            explains=es.health_consequences(app, resource.id),
        )
    return None


def _refused_finding(app: App, fleet: Fleet, resource: Resource, why: str) -> Finding:
    store = stores.Store(es.StoreRef(resource.kind, resource.name, ""), app.ref, resource, wanted=True)
    which = refusal_topic(store, why)
    bare = no_namespaces_fix(store) if which == "credential-own-namespace" else None
    wrong = [each.pointer for each in credentials_without_namespace(store)] if which == "credential-namespace" else []
    return Finding(
        message=f"The webhook of External Secrets refuses {resource.id}: {topic_meaning(which, telling(why))}",
        at=Location(app.ref, resource.id, wrong[0] if wrong else "/spec/provider"),
        cause="invalid-provider",
        evidence=(f"the last sync: {why}", *((f"without a namespace: {enumerated(wrong, limit=4)}",) if wrong else ())),
        fixes=(bare,)
        if bare is not None
        else _fixes(app, fleet, store, classify(why, provider=answering_provider(store)), which, why),
        explains=(*es.health_consequences(app, resource.id), *consequences.consequences(app)),
    )


def _age_minutes(app: App, resource: Resource) -> int:
    since = es.created_at(resource)
    return int((app.observed_at - since).total_seconds() // 60) if since else 0


def _not_ready_finding(app: App, fleet: Fleet, resource: Resource, message: str) -> Finding:
    events = current_warnings(app, resource)
    text = cleaned_text(events[0].message) if events else message
    store = stores.Store(es.StoreRef(resource.kind, resource.name, ""), app.ref, resource)
    found = classify(text, "provider", "store", provider=answering_provider(store))
    if found is not None and found.advice in _OF_ENTRIES:
        found = None  # said of a store, these words are not about a key
    if CREDENTIAL.search(text):
        cause = "credential"
    elif found is not None:
        cause = CAUSE_OF.get(found.cause, "invalid-provider")
    else:
        cause = "unknown"
    topic = found.topic if found is not None else ""
    store_hints = tuple(hints(store, version_of(app, fleet), cause, topic, "", served=fleet.api_versions(app.cluster)))
    is_present = cause == "credential" and _has_secret_appeared(app, resource, text)
    known = found is not None and topic not in ("", "network-serving", "provider-settings")
    own = f'{resource.kind} "{resource.name}"'
    says = (
        store_hints[0].says.replace(own, "it")
        if store_hints
        else _store_sentence(found.says)
        if found is not None and topic
        else _cause_sentence(cause)
    )
    deciding = found.deciding if found is not None and cause == "auth" else (0, 0)
    if cause == "network" and (ill := ill_server(app, fleet, resource, text)) is not None:
        return _unanswered_finding(app, resource, message, text, ill)
    consequence = "it is there by now and the operator will retry" if is_present else ""
    quote = "" if store_hints or known else found.text if found is not None else text
    return Finding(
        message=finding_sentence(str(resource.id), says, consequence, quote, deciding, _DEPENDENTS).rstrip("."),
        at=Location(app.ref, resource.id, _pointer(resource, cause, text)),
        cause=cause,
        severity="info" if is_present else None,
        confidence="proven" if events else "likely",
        evidence=(
            f"condition Ready=False: {message}",
            *((f"Event {events[0].reason}: {text}",) if events else ("none of its Events is left or could be read",)),
            *(hint.evidence for hint in store_hints[:1] if hint.evidence),
            *(f"{hint.says}{f' ({hint.evidence})' if hint.evidence else ''}" for hint in store_hints[1:]),
        ),
        fixes=()
        if is_present
        else (
            *(fix for hint in store_hints for fix in hint.fixes),
            *_fixes(app, fleet, store, found, topic or ADVICE_OF[cause], text),
        ),
        explains=(
            *es.health_consequences(app, resource.id),
            *(symptom for hint in store_hints for symptom in hint.explains),
        ),
    )


def _unanswered_finding(app: App, resource: Resource, message: str, text: str, ill: Explained) -> Finding:
    return Finding(
        message=ill.message.rstrip("."),
        at=Location(app.ref, resource.id, "/spec/provider"),
        cause="network",
        confidence="likely",
        evidence=(f"condition Ready=False: {message}", f"the error: {text}", *ill.evidence),
        fixes=ill.fixes,
        explains=es.health_consequences(app, resource.id),
        follows=ill.follows,
    )


def _fixes(
    app: App, fleet: Fleet, store: stores.Store, found: Diagnosis | None, topic: str, text: str
) -> tuple[Fix, ...]:
    detail = dict(found.detail) if found is not None else {}
    if missing := MISSING.search(text):
        of_account = missing[0].lower().startswith("serviceaccount")
        detail.setdefault("account" if of_account else "secret", missing[1])
    namespace = store.namespace
    then = "# then force a sync of its ExternalSecrets: they do not watch the store, and try again within 7 min by themselves (17 min before v0.14)"
    known = facts(app, fleet, store, namespace or "<namespace>", store.ref.name, text, detail, then)
    if topic == "credential-namespace" and (fix := namespaces_fix(app, fleet, store)) is not None:
        return (fix,)
    return advice(__package__, topic, {**known, "key": "its keys", "secret": "<Secret>", "controller": "<class>"})


def _has_secret_appeared(app: App, resource: Resource, text: str) -> bool:
    """Whether the missing Secret was created within the last minutes, after the attempt that failed because of it (a first sync)."""
    attempt = next((e.last for e in current_warnings(app, resource)), None)
    wanted = set(MISSING.findall(text))
    namespace = next(iter(NAMESPACE.findall(text)), resource.namespace)
    return attempt is not None and any(
        node.created_at is not None and attempt <= node.created_at > app.observed_at - PATIENCE
        for node in app.nodes_of("Secret", "")
        if node.id.name in wanted and node.id.namespace == namespace
    )


def _cause_sentence(cause: str) -> str:
    return {
        "credential": "its credential cannot be read",
        "auth": "the provider does not accept its credentials",
        "network": "its provider cannot be reached",
        "invalid-provider": "its provider settings are refused",
    }.get(cause, "its provider could not be used")


def _store_sentence(says: str) -> str:
    """An ExternalSecret's text, as a statement on the store itself."""
    says = says.replace(" from its store", "")
    of_it = _OWN.sub(r"its \1", says).replace("its store's", "its").replace("the store's", "its")
    return of_it.replace("its store", "it").replace("the store", "it")


def _pointer(resource: Resource, cause: str, text: str) -> str:
    """The faulty block of the provider, as deep as it is certain."""
    providers = mapping(resource.any, "spec", "provider")
    provider = next(iter(providers), "")
    base = f"/spec/provider/{provider}" if provider else "/spec/provider"
    settings = mapping(providers, provider)
    auth = next((f"{base}/{field}" for field in ("auth", "authSecretRef") if field in settings), base)
    if cause == "credential":
        named = tuple(_reference_pointers(settings, [*MISSING.findall(text), *_CONFIG_MAP.findall(text)], base))
        elsewhere = not any(place.startswith(auth) for place in named)
        return named[0] if named and elsewhere else auth  # a CA certificate, a header of a webhook
    return auth if cause == "auth" else base


def _reference_pointers(settings: Json, names: Sequence[str], pointer: str) -> Iterator[str]:
    """Pointers of the references to one of the missing objects."""
    if isinstance(settings, dict):
        if settings.get("name") in names:
            yield pointer
        for field, value in settings.items():
            yield from _reference_pointers(value, names, f"{pointer}/{field}")
    elif isinstance(settings, list):
        for index, value in enumerate(settings):
            yield from _reference_pointers(value, names, f"{pointer}/{index}")


def _finding_of_data(data: Any) -> Finding:
    """The Finding from `collect`'s plain JSON."""
    at = data["at"]
    return Finding(
        message=data["message"],
        at=Location(AppRef(**at["app"]), ResourceId(**at["resource"]), at["pointer"]),
        cause=data["cause"],
        severity=data["severity"],
        confidence=data["confidence"],
        evidence=tuple(data["evidence"]),
        fixes=tuple(
            Fix(f["title"], f["target"], f["where"], Edit(**f["edit"]), f["caveat"], f["safe"]) for f in data["fixes"]
        ),
        explains=tuple(
            Symptom(s["kind"], ResourceKey(*s["resource"]) if s["resource"] else None, s["detail"])
            for s in data["explains"]
        ),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    causes=("credential", "unmanaged", "invalid-provider", "auth", "network", "unknown"),
    wants=wants,
    collect=collect,
    join=join,
    reads=es.holds_external_secrets,
    options=Options,
    rank=Rank.CAUSE,
)
