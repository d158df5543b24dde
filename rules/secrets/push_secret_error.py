"""A PushSecret is not synced

What it finds: a PushSecret (or ClusterPushSecret) that is Ready=False, and the cause. Its condition has the whole error. If its source Secret
was created, or its store became ready, within the last five minutes, the finding is information. A template that fails, and labels that
no store has, are found in the manifest: the operator leaves the condition as it was.

Why it hurts: the provider does not get the value, or keeps an old one, and its readers use that.

How to fix: by cause: the store (it must exist, be ready and allow writes), the source Secret in the PushSecret's own namespace, the permission
to write at the provider. Force-sync retries.

Example:

    PushSecret shop/token pushes nothing because there is no SecretStore "write".

Sources: external-secrets pkg/controllers/pushsecret/pushsecret_controller.go, docs/api/pushsecret.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Follows, Location, Rank, Resource, Rule, Symptom, Want
from argolint.edits import live_command, manifest_text, set_field
from argolint.edits.advice import advice
from argolint.messages import Match, telling
from argolint.relations.operator_version import OperatorVersion, parse, version_of
from argolint.values import dig, items, maps, sh, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from . import _external_secret as es
from . import _provider
from . import _stores as stores
from ._advice_facts import facts
from ._push_unsaid import UnsaidFault, unsaid_fault
from ._sync_error_fixes import missing_store_fixes
from ._sync_error_surroundings import past_sentence
from ._sync_error_texts import Diagnosis, classify, cleaned_text, current_warnings

PLURALS = {"PushSecret": "pushsecrets", "ClusterPushSecret": "clusterpushsecrets"}
GENERIC = ("one or more namespaces failed", "could not get source secret", "set secret failed")
PATIENCE = timedelta(minutes=5)
_STORE = regex(r"(?:to target secretstore|secrets client for store) (?:\w+/)?([^\s:/]+):")
_OF_DATA = ("push-typed-in-parts", "push-other-namespace", "push-namespace-of-store")
_OF_STORE = ("store-not-ready", "auth", "network", "store-credential")


def _meant(text: str) -> Match | None:
    """The meaning of a text about the push itself."""
    return catalogue().match(text, "push")


def _failing_push_secrets(app: App) -> Iterator[Resource]:
    for kind in PLURALS:
        for resource in app.of_kind(kind, es.GROUP):
            if _is_failing(resource) and not is_deleting(resource.live):
                yield resource


def _is_failing(resource: Resource) -> bool:
    return es.ready_condition(resource.live).get("status") == "False"


def _is_over(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether the condition is from an earlier attempt: what it misses is there now."""
    text = cleaned_text(str(es.ready_condition(resource.live).get("message") or ""))
    if _is_source_missing(resource, text):
        place = (resource.namespace, _source_name(resource))
        return any((node.id.namespace, node.id.name) == place for node in app.nodes_of("Secret", ""))
    store = _missing_store(app, fleet, resource, text)
    return store is not None and store.is_ready is True


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The Events of failing PushSecrets without a reason in their condition, and their stores if another application manages them."""
    for resource in _failing_push_secrets(app):
        yield from stores.reference_wants(app, fleet, es.pushed_store_refs(resource.any), resource.namespace)
        if str(es.ready_condition(resource.live).get("message")) in GENERIC:
            yield Want("events", resource.id, resource.uid)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each PushSecret that is Ready=False, or that the operator cannot push without a word."""
    reported = set()
    for resource in app.of_kind("PushSecret", es.GROUP):
        fault = None if is_deleting(resource.live) else unsaid_fault(app, fleet, resource)
        if fault is not None and (not _is_failing(resource) or _is_over(app, fleet, resource)):
            reported.add(resource.key)
            yield _unsaid_finding(app, resource, fault)
    for resource in _failing_push_secrets(app):
        if resource.key in reported:
            continue
        condition = es.ready_condition(resource.live)
        message = cleaned_text(str(condition.get("message") or ""))
        events = current_warnings(app, resource) if message in GENERIC else ()
        text = cleaned_text(events[0].message) if events else message
        is_present = (
            _has_source_appeared(app, resource)
            if _is_source_missing(resource, text)
            else _has_store_recovered(app, fleet, resource, text)
        )
        retry_note = ", and the operator will retry" if is_present else ""
        yield Finding(
            message=f"{resource.id} {_consequence(resource, text)} because {_reason(resource, text, is_present)}{retry_note}.",
            at=Location(app.ref, resource.id, _pointer(resource, text)),
            severity="info" if is_present else None,
            evidence=(f"condition {condition.get('reason')}: {text}",),
            fixes=()
            if is_present
            else (*_missing_store_fixes(app, fleet, resource, text), *_fixes(app, fleet, resource, text)),
            explains=es.health_consequences(app, resource.id),
            follows=_follows(app, fleet, resource, text),
        )


def _unsaid_finding(app: App, resource: Resource, fault: UnsaidFault) -> Finding:
    status = es.ready_condition(resource.live).get("status")
    stays = f"its condition stays Ready={status}" if status else "it has no condition"
    return Finding(
        message=f"{resource.id} pushes nothing because {fault.says}, and {stays}.",
        at=Location(app.ref, resource.id, fault.pointer),
        confidence="likely",
        evidence=("the operator writes no condition for that: a template that fails shows in its log alone",),
        fixes=(_unsaid_fix(resource, fault),),
        explains=es.health_consequences(app, resource.id),
    )


def _unsaid_fix(resource: Resource, fault: UnsaidFault) -> Fix:
    if not fault.forced:
        return manifest_text(resource.id, fault.mends, f"{fault.pointer}: {fault.says}")
    retry = es.force_sync(f"{PLURALS[resource.kind]}.external-secrets.io", resource.namespace, resource.name)
    text = f"{retry}   # without a store it was left alone, and the operator looks at it no more by itself"
    return live_command(resource.id, fault.mends, text)


def _follows(app: App, fleet: Fleet, resource: Resource, text: str) -> tuple[Follows, ...]:
    """The shared cause: the store that the text misses, or the one that it writes to, which is not Ready for the same cause."""
    found = classify(text) or Diagnosis("unknown", "")
    if found.detail.get("store"):
        store = es.StoreRef(found.detail["kind"], found.detail["store"], "").id(resource.namespace, app.cluster)
        return (Follows(Symptom.health(store)), Follows(Symptom.missing(store)))
    target = _failing_store(app, fleet, resource, text, found)
    said = classify(cleaned_text(text_at(es.ready_condition(target.live), "message")))
    if target.is_ready is not False or said is None or said.cause != found.cause:
        return ()
    return (Follows(Symptom.health(target.ref.id(resource.namespace, app.cluster))),)


def _is_source_missing(resource: Resource, text: str) -> bool:
    return str(es.ready_condition(resource.live).get("reason")) == "SourceDeleted" or "source secret" in text


def _has_source_appeared(app: App, resource: Resource) -> bool:
    """Whether the tree shows the source Secret, created within the last minutes and after the PushSecret."""
    own = (resource.namespace, _source_name(resource))
    return any(
        (node.id.namespace, node.id.name) == own
        and node.created_at is not None
        and app.observed_at - node.created_at < PATIENCE
        for node in app.nodes_of("Secret", "")
    )


def _has_store_recovered(app: App, fleet: Fleet, resource: Resource, text: str) -> bool:
    """Whether the missing store turned Ready within the last minutes."""
    store = _missing_store(app, fleet, resource, text)
    if store is None or store.is_ready is not True or store.since is None:
        return False
    return app.observed_at - store.since < PATIENCE


def _missing_store(app: App, fleet: Fleet, resource: Resource, text: str) -> stores.Store | None:
    """The store that a text calls missing or not ready."""
    found = classify(text)
    if found is None or found.cause not in ("store-not-found", "store-not-ready"):
        return None
    ref = es.StoreRef(found.detail["kind"], found.detail["store"], "")
    return stores.find(app, fleet, ref, resource.namespace)


def _consequence(resource: Resource, text: str) -> str:
    if text.startswith("Failed to Delete Secrets"):
        return "does not delete what it no longer pushes"
    return "does not push from every namespace" if _fails_in_namespaces(resource) else "pushes nothing"


def _fails_in_namespaces(resource: Resource) -> bool:
    """Whether it is a ClusterPushSecret whose status names the namespaces."""
    return es.ready_condition(resource.live).get("message") == GENERIC[0]


def _reason(resource: Resource, text: str, is_present: bool) -> str:
    if _is_source_missing(resource, text):
        kind, name, _ = _source_place(resource)
        if is_present:
            return f'its source Secret "{name}" was missing at the last attempt (by now it is there)'
        if api := _wrong_generator_version(resource):
            return f'its generatorRef names apiVersion "{api}", which holds no generators'
        return f'its source Secret "{name}" is missing' if kind == "Secret" else f"its {kind} {name} gives no value"
    if _fails_in_namespaces(resource):
        namespace, why, more = _failed_namespace(resource)
        others = f", and {more} more" if more else ""
        return f'namespace {namespace} fails ("{why}"){others}' if namespace else "one or more of its namespaces fail"
    found, meant = classify(text), _meant(text)
    if found is not None and found.detail.get("store"):
        return past_sentence(found.says, "is ready") if is_present else found.says
    if meant is not None and meant.entry.says:
        return meant.says
    if found is not None and (found.cause == "template" or found.topic == "aws-policy"):
        return found.says
    return f'the operator says "{telling(text, 12)}"'


def _failed_namespace(resource: Resource) -> tuple[str, str, int]:
    """The first namespace in which a ClusterPushSecret fails, why, and the number of others; empty if its status names none."""
    failed = maps(resource.live, "status", "failedNamespaces")
    if not failed:
        return "", "", 0
    return text_at(failed[0], "namespace"), telling(cleaned_text(text_at(failed[0], "reason"))), len(failed) - 1


def _source_name(resource: Resource) -> str:
    return str(dig(resource.any, "spec", "selector", "secret", "name") or "")


def _source_place(resource: Resource) -> tuple[str, str, str]:
    """Kind, name and pointer of the source: a Secret, Secrets by label, or a generator."""
    generator = dig(resource.any, "spec", "selector", "generatorRef")
    if _source_name(resource):
        return "Secret", _source_name(resource), "/spec/selector/secret/name"
    if isinstance(generator, dict):
        return f"generator {generator.get('kind')}", f'"{generator.get("name")}"', "/spec/selector/generatorRef"
    return "selector", "of Secrets", "/spec/selector/secret"


def _wrong_generator_version(resource: Resource) -> str:
    """The apiVersion of the generatorRef, if its group is not that of the generators."""
    api = str(dig(resource.any, "spec", "selector", "generatorRef", "apiVersion") or "")
    return "" if _source_name(resource) or not api or api.startswith(f"{es.GENERATORS}/") else api


def _pointer(resource: Resource, text: str) -> str:
    found = classify(text)
    if found is not None and found.detail.get("store"):
        refs = items(resource.any, "spec", "secretStoreRefs")
        index = next((i for i, ref in enumerate(refs) if dig(ref, "name") == found.detail["store"]), 0)
        return f"/spec/secretStoreRefs/{index}/name"
    if _is_source_missing(resource, text):
        return _source_place(resource)[2] + ("/apiVersion" if _wrong_generator_version(resource) else "")
    meant = _meant(text)
    missing = meant.facts.get("missing") if meant else None
    for index, entry in enumerate(items(resource.any, "spec", "data")):
        if missing and dig(entry, "match", "secretKey") == missing:
            return f"/spec/data/{index}/match/secretKey"
    if meant is not None and meant.entry.advice in _OF_DATA:
        return "/spec/data"
    if stored := _STORE.search(text):
        named = [
            i for i, ref in enumerate(items(resource.any, "spec", "secretStoreRefs")) if dig(ref, "name") == stored[1]
        ]
        return f"/spec/secretStoreRefs/{named[0]}/name" if named else ""
    return ""


def _missing_store_fixes(app: App, fleet: Fleet, resource: Resource, text: str) -> Iterator[Fix]:
    """Fixes for a store that is not there: refused by the API server, of the other kind (without a kind, the operator looks for a SecretStore), of another name or namespace."""
    found, pointer = classify(text), _pointer(resource, text).rpartition("/")[0]
    if found is None or found.cause != "store-not-found" or not pointer:
        return
    ref = es.StoreRef(found.detail["kind"], found.detail["store"], pointer)
    other = stores.other_kind_store(app, fleet, ref, resource.namespace)
    twin = {"twin": other.ref.kind} if other is not None else {}
    yield from missing_store_fixes(app, fleet, resource, replace(found, detail={**found.detail, **twin}), pointer)


def _failing_store(app: App, fleet: Fleet, resource: Resource, text: str, found: Diagnosis) -> stores.Store:
    """The store in the error, else the first one of the PushSecret."""
    refs = es.pushed_store_refs(resource.any)
    store = _STORE.search(text)
    name = found.detail.get("store") or (store[1] if store else "")
    of_name = (ref for ref in refs if ref.name == name)
    ref = next(iter((*of_name, *refs)), es.StoreRef("SecretStore", "", ""))
    return stores.find(app, fleet, ref, resource.namespace)


def _fixes(app: App, fleet: Fleet, resource: Resource, text: str) -> tuple[Fix, ...]:
    ns, plural = resource.namespace, PLURALS[resource.kind]
    retry = es.force_sync(f"{plural}.external-secrets.io", ns, resource.name)
    if _fails_in_namespaces(resource):
        return (_namespace_fix(resource, retry),)
    found, meant = classify(text) or Diagnosis("unknown", ""), _meant(text)
    target = _failing_store(app, fleet, resource, text, found)
    found = classify(text, provider=_provider.answering_provider(target)) or found
    known = facts(app, fleet, target, ns, resource.name, text, found.detail, retry)
    known |= {
        "object": str(resource.id),
        "source": _source_name(resource),
        "origin": " ".join(_source_place(resource)[:2]),
        "remote_key": next(
            (str(k) for e in items(resource.any, "spec", "data") if (k := dig(e, "match", "remoteRef", "remoteKey"))),
            "",
        ),
    }
    if found.cause == "store-not-found" and found.detail.get("store"):
        return advice(__package__, "push-store-not-found", {**known, "kind": found.detail["kind"]})
    if _is_source_missing(resource, text):
        return _of_source(resource, known)
    if found.cause == "template":
        return _template_fixes(resource, found, retry)
    if found.cause in _OF_STORE or found.topic == "aws-policy":
        return advice(__package__, found.advice, {**known, "key": "its keys"})
    if text.endswith("secret not found") and dig(target.manifest, "spec", "provider", "vault", "version") == "v1":
        return advice(__package__, "push-engine-version", known)
    if meant is None:
        return advice(__package__, "push", known)
    if meant.entry.advice == "push-cannot-ask":
        return _without_asking(resource, _first_release_asking(target), version_of(app, fleet))
    return advice(__package__, meant.entry.advice, {**known, **meant.facts, "controller": "<class>"})


def _namespace_fix(resource: Resource, retry: str) -> Fix:
    """The way out of the first failing namespace: a ClusterPushSecret takes over no PushSecret that is there; of others, the PushSecret has the reason."""
    namespace, why, _ = _failed_namespace(resource)
    name = text_at(resource.any, "spec", "pushSecretName") or resource.name
    kind = "pushsecrets.external-secrets.io"
    if not namespace or "already exists" not in why:
        look = f"kubectl get {kind} {f'-n {sh(namespace)}' if namespace else '-A'} --field-selector metadata.name={sh(name)}"
        return live_command(resource.id, "Look at its PushSecrets, and mend what they say", f"{look} -o yaml")
    return Fix(
        f"Delete PushSecret {namespace}/{name}, which it did not make, or choose another pushSecretName",
        "live",
        str(resource.id),
        Edit("command", f"kubectl -n {sh(namespace)} delete {kind} {sh(name)}\n{retry}"),
        "with deletionPolicy Delete, what that one pushed goes from the provider too",
        effects=("deletes",),
    )


def _of_source(resource: Resource, known: Mapping[str, object]) -> tuple[Fix, ...]:
    """Fixes for a source that gives nothing: a generator of the wrong group, any other generator, a missing Secret."""
    kind, _, pointer = _source_place(resource)
    if _wrong_generator_version(resource):
        right = f"{es.GENERATORS}/v1alpha1"
        edit = Edit("json-patch", [{"op": "replace", "path": f"{pointer}/apiVersion", "value": right}])
        return (Fix(f"Write {right}", "manifest", str(resource.id), edit),)
    return advice(__package__, "push-source-missing" if kind == "Secret" else "push-generator", known)


def _template_fixes(resource: Resource, found: Diagnosis, retry: str) -> tuple[Fix, ...]:
    """Fixes for its template, which reads the source Secret's keys: since v0.9.19 a missing key is an error (pull request 3480)."""
    absent = found.detail.get("absent")
    origin = f'Secret "{_source_name(resource)}"' if _source_name(resource) else "its source"
    title = (
        f'Read a key that {origin} holds in place of "{absent}"' if absent else f"Correct the template of {resource.id}"
    )
    lines = (
        f"# {found.says}. The names are the keys of {origin}, in their exact spelling; text that is no value of it is copied as it is.",
        f"{retry}   # afterwards",
    )
    return (Fix(title, "manifest", f"spec.template of {resource.id}", Edit("command", "\n".join(lines))),)


def _first_release_asking(target: stores.Store) -> str:
    """The first release in which the operator asks this provider whether a key exists; empty if there is none."""
    return str(load(__package__, "provider_advice.yaml")[_provider.provider_name(target)].get("exists_since") or "")


def _without_asking(resource: Resource, since: str, version: OperatorVersion) -> tuple[Fix, ...]:
    """The fixes by distance: an upgrade within a minor release first, a longer one last."""
    edit = Edit("json-patch", set_field(resource.any, "/spec/updatePolicy", "Replace"))
    title = "Write without asking first: this provider cannot tell whether a key exists"
    write = Fix(title, "manifest", str(resource.id), edit, "replaces a value that is already there")
    if not since or version.at_least(since) is True:
        return (write,)
    near = version.exact is not None and version.exact[:2] == parse(since)[:2]
    upgrade = advice(__package__, "push-cannot-ask", {"since": since})
    return (*upgrade, write) if near else (write, *upgrade)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, rank=Rank.CAUSE)
