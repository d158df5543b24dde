"""An ExternalSecret is not synced

What it finds: an ExternalSecret of External Secrets (any version) whose Ready condition is False, and the cause. Since v0.4.2 the condition has
only `could not get secret data from provider` or `could not update secret`; the error itself is in an Event, which the cluster keeps for about
an hour. argolint reads the newest Event that fits the condition and compares it with the present objects: a store that was missing at start-up
may exist by now, have another controller class, refuse the namespace or not be ready. Otherwise it uses the condition and the objects around the
ExternalSecret. If one is new in Git, or gets another store, it is reported before it fails, once the visible stores prove it. If the cause ended
within the last five minutes (a store that became ready, a generator that was created after it, an edit that the operator has not processed yet),
the finding is information: the next attempt is due.

Why it hurts: the Secret is missing, or it keeps an old value that the provider may already have revoked. The operator retries with a growing
delay (1 s to 7 min since v0.14), and for some causes (a Secret of another owner, an immutable Secret) it never tries again.

How to fix: by cause and provider. The message has the identity and the missing permission; the fix has the Secret or ServiceAccount of the store
and the kind of grant. Hints from the store's settings are reported as well: a field that its API version or the operator drops or ignores, a key
of another region or of an engine that makes credentials. Set the kind of a ClusterSecretStore, create or repair the store and admit the
namespace. Renew credentials and permissions at the provider. Correct key, property, decoding, template or generator. Give each Secret one
writer. If it stays False after a race of the first sync (v0.10.7 and older), force one sync, and upgrade to v0.11.0 to prevent it.

Two common pieces of advice are wrong. A shorter `refreshInterval` does not cure an authentication error: failed syncs have their own back-off,
and IRSA tokens live 86,400 s and are renewed by the SDK. And External Secrets has no webhook receiver for changes at the provider
(`reconcile.external-secrets.io/webhook-id` exists in neither code nor docs); an event-driven refresh needs your own function that patches the
annotation `force-sync`. That annotation is the documented one (`eso.external-secrets.io/force-sync` works only because any annotation does); it
does nothing with `refreshInterval: 0` or `CreatedOnce` after the first success. Commands have the full name
`externalsecrets.external-secrets.io`: `es` may mean another kind.

Example:

    ExternalSecret shop/db fails because there is no SecretStore "vault", so Secret "db" is not written.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go,
pkg/controllers/secretstore/client_manager.go, docs/api/externalsecret.md, docs/introduction/faq.md; issues 162 and 3878 (the
first-sync race up to v0.10.7), 4086, 4225, 4340, 4867, 5259; webhook receivers are open requests (675, 2975, 3304).
"""

from collections.abc import Iterator

from argolint import Afterwards, App, Finding, Fix, Fleet, Follows, Location, Rank, Resource, Rule, Symptom, Want
from argolint.edits import manifest_text
from argolint.relations.operator_version import OperatorVersion, version_of, wants_crd
from argolint.values import dig, get, parse_time
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores
from ._ill_server import ill_server, server_wants
from ._kubernetes_rights import rights_hints, rights_wants
from ._operator_plays import FailedPlace
from ._operator_plays import then as plays
from ._provider import provider_name, provider_texts
from ._refresh_cost import store_load_lines
from ._rewrite import lost_groups
from ._store_hints import Hint, foreign_vault, hints, vault_path
from ._sync_error import diagnoses
from ._sync_error_causes import follows
from ._sync_error_fixes import exact_edits, fixes, fixes_in_template
from ._sync_error_general import failing_store, general_fixes
from ._sync_error_passing import has_raced
from ._sync_error_pointers import failed_key, failure_pointer, remote_pointer
from ._sync_error_surroundings import predicted_diagnosis
from ._sync_error_texts import Diagnosis, classify, finding_sentence
from ._template import Misread, target_misreads, template_fixes, unfetched_names, unparsed_templates

CAUSES = (
    "store-not-found",
    "store-kind-omitted",
    "store-not-ready",
    "namespace-denied",
    "unmanaged-store",
    "store-credential",
    "store-settings",
    "auth",
    "throttled",
    "access-denied",
    "not-found",
    "property-missing",
    "unsupported",
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


_KEY = regex(r"\bthe key\b(?! vault)")


def _failing_external_secrets(app: App) -> Iterator[Resource]:
    for resource in (*es.external_secrets(app), *es.created_by_cluster(app)):
        if es.ready_condition(resource.live).get("status") == "False" and not is_deleting(resource.live):
            yield resource


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Events of failing ExternalSecrets, and the stores that other applications manage; nothing for healthy ones."""
    for resource in es.created_by_cluster(app):
        if resource.live is None:
            yield Want("live", resource.id)
    for resource in _failing_external_secrets(app):
        yield Want("events", resource.id, resource.uid)
        yield from stores.store_wants(app, fleet, resource.live, resource.namespace)
        yield from stores.reader_wants(app, fleet, resource)
        yield from server_wants(app, fleet, resource)
        for ref in es.store_refs(resource.live):
            yield from rights_wants(app, fleet, stores.find(app, fleet, ref, resource.namespace), resource.namespace)
    if any(True for _ in _failing_external_secrets(app)):
        yield from wants_crd(app, fleet)
    for resource in _turning_external_secrets(app):
        yield from stores.store_wants(app, fleet, resource.desired, resource.namespace)


def _turning_external_secrets(app: App) -> Iterator[Resource]:
    """ExternalSecrets that are new in Git or refer to other stores than the live ones."""
    for resource in es.external_secrets(app):
        if resource.desired is not None and es.store_refs(resource.desired) != es.store_refs(resource.live):
            yield resource


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that is Ready=False, or certainly will be once Git is applied."""
    failing = tuple(_failing_external_secrets(app))
    for resource in _turning_external_secrets(app):
        found = predicted_diagnosis(app, fleet, resource)
        if found is not None and resource not in failing:
            yield _predicted_finding(app, fleet, resource, found)
    for resource in es.external_secrets(app):
        if resource not in failing and (misread := _new_misread(resource)):
            yield _unreadable_finding(app, resource, misread)
        elif resource not in failing and (coming := _template_fault_finding(app, fleet, resource)) is not None:
            yield coming
    if not failing:
        return
    version = version_of(app, fleet)
    for resource in failing:
        found = diagnoses(app, fleet).get(resource.key)
        if found is not None:
            yield _finding(app, fleet, resource, found, version)


def _finding(app: App, fleet: Fleet, resource: Resource, found: Diagnosis, version: OperatorVersion) -> Finding:
    pointer = failure_pointer(resource, found)
    store = failing_store(app, fleet, resource, found)
    version_wanted = str(get(resource.live, f"{remote_pointer(resource, found)}/version", None) or "")
    hints_found = (
        ()
        if found.passing
        else (
            *(
                rights_hints(app, fleet, store, resource.namespace, failed_key(resource, found))
                if found.cause == "access-denied"
                else ()
            ),
            *hints(
                store,
                version,
                found.cause,
                found.topic,
                failed_key(resource, found),
                version_wanted,
                _secret_key(resource, found),
                _found_keys(app, store) if found.cause == "not-found" else (),
                fleet.api_versions(app.cluster),
            ),
        )
    )
    ill = ill_server(app, fleet, resource, found.text) if found.cause == "network" and not found.topic else None
    written = dig(resource.live, "status", "refreshTime")
    secret = es.target_name(resource.live)
    users = () if written else es.waiting_workloads(app, resource.namespace, secret)
    optional = () if written or users or not secret else es.optional_users(app, resource.namespace, secret)
    return Finding(
        message=ill.message
        if ill is not None
        else finding_sentence(
            str(resource.id),
            hints_found[0].says if hints_found else _reason(resource, found, store),
            _consequence(resource, found, users, optional),
            "" if hints_found or (found.cause == "invalid-keys" and any(lost_groups(resource.live))) else _quote(found),
            found.deciding if found.cause == "auth" else (0, 0),
        ),
        at=Location(app.ref, resource.id, pointer),
        cause=found.cause,
        severity="info" if found.passing else None,
        confidence="proven" if found.certain and all(hint.sure for hint in hints_found[:1]) else "likely",
        evidence=(
            *found.evidence,
            *(ill.evidence if ill is not None else ()),
            *_evidence(resource, found, hints_found, users),
            *(f"{user.id} reads the Secret as optional" for user in optional),
            *(store_load_lines(app, fleet, resource.any, resource.namespace) if found.cause == "throttled" else ()),
        ),
        fixes=(
            *(ill.fixes if ill is not None else ()),
            *fixes_in_template(app, resource, tuple(fixes(app, fleet, resource, found, version, pointer, hints_found))),
        ),
        explains=(
            *es.health_consequences(app, resource.id),
            *_hinted_drift(app, store, hints_found),
            *(Symptom.health(u.id) for u in users),
        ),
        follows=(
            *(ill.follows if ill is not None else ()),
            *((Follows.finding("eso-known-bug", resource.id, mended=True),) if version.known else ()),
            *follows(app, resource, resource.live, found),
        ),
    )


def _secret_key(resource: Resource, found: Diagnosis) -> str:
    """The key of the Secret that the failing entry of spec.data fills; empty for other entries."""
    return str(get(resource.live, f"/spec/data/{found.index}/secretKey", None) or "") if found.entry == "data" else ""


def _found_keys(app: App, store: stores.Store) -> tuple[str, ...]:
    """The keys that Ready ExternalSecrets of this application read from the store."""
    keys = (
        es.remote_key(other.live, field, index)
        for other in es.external_secrets(app)
        if es.ready_condition(other.live).get("status") == "True"
        and {(ref.kind, ref.name) for ref in es.store_refs(other.live)} == {(store.ref.kind, store.ref.name)}
        for field, index in es.entries(other.live)
    )
    return tuple(dict.fromkeys(key for key in keys if key))


def _hinted_drift(app: App, store: stores.Store, hints: tuple[Hint, ...]) -> Iterator[Symptom]:
    if store.app == app.ref:
        yield from (symptom for hint in hints for symptom in hint.explains)


def _predicted_finding(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Finding:
    return Finding(
        message=f"{resource.id} will fail because {found.says}, so {es.target_text(resource.desired)} will not be made.",
        at=Location(app.ref, resource.id, failure_pointer(resource, found)),
        cause=found.cause,
        severity=None if found.certain else "warning",
        confidence="likely" if found.certain else "possible",
        evidence=("the manifest in Git, held against the stores that Argo CD shows; it is not live yet",),
        fixes=(
            *exact_edits(app, fleet, resource, found, OperatorVersion()),
            *general_fixes(app, fleet, resource, found),
        ),
        follows=tuple(follows(app, resource, resource.desired, found)),
    )


def _new_misread(resource: Resource) -> tuple[Misread, ...]:
    """Names in a template that is new in Git and that Go cannot parse; a live one shows its own result."""
    known = target_misreads(resource.live)
    return (
        tuple(each for each in target_misreads(resource.desired) if each not in known) if resource.desired_known else ()
    )


def _template_fault_finding(app: App, fleet: Fleet, resource: Resource) -> Finding | None:
    """The finding for a template that is new in Git and cannot run; None without one. Fixes do not repeat its text, which may hold passwords."""
    if not resource.desired_known or es.creation_policy(resource.desired) == "None":
        return None
    version = version_of(app, fleet) if resource.mentions("{{", "desired") else OperatorVersion()
    known = unparsed_templates(resource.live, version)
    for template in unparsed_templates(resource.desired, version):
        if template not in known:
            return _new_template_finding(app, resource, template.pointer, template.says, template.mends)
    live_names = {one.name for one in unfetched_names(resource.live)}
    for one in unfetched_names(resource.desired):
        if one.name not in live_names:
            fault = f"asks for .{one.name}, which no entry of spec.data fetches"
            foreign = classify(f'map has no entry for key "{one.name.partition(".")[0]}"', "update")
            title = (
                f'Write "{one.similar_key}" in the template'
                if one.similar_key
                else "Escape the braces, where another program is to read them"
                if foreign is not None and foreign.topic == "template-braces"
                else f"Fetch {one.name} in spec.data"
            )
            escaped = (
                f" ({{{{ `{{{{ .{one.name} }}}}` }}}} arrives without the outer braces)" if "braces" in title else ""
            )
            return _new_template_finding(app, resource, one.pointer, fault, title, escaped)
    return None


def _new_template_finding(app: App, resource: Resource, pointer: str, fault: str, title: str, how: str = "") -> Finding:
    return Finding(
        message=f"{resource.id} will fail because its template {fault}, so {es.target_text(resource.desired)} will not be made.",
        at=Location(app.ref, resource.id, pointer),
        cause="template",
        confidence="likely",
        evidence=("the manifest in Git; it is not live yet",),
        fixes=(manifest_text(resource.id, title, f"{pointer} {fault}{how}"),),
    )


def _unreadable_finding(app: App, resource: Resource, misread: tuple[Misread, ...]) -> Finding:
    first = misread[0]
    return Finding(
        message=f"{resource.id} will fail because Go cannot read {first.written} in its template, so {es.target_text(resource.desired)} will not be made.",
        at=Location(app.ref, resource.id, first.pointer),
        cause="template",
        confidence="likely",
        evidence=("the manifest in Git; it is not live yet", first.reason),
        fixes=template_fixes(resource, misread),
    )


def _reason(resource: Resource, found: Diagnosis, store: stores.Store) -> str:
    key = failed_key(resource, found)
    if (foreign := foreign_vault(store, found.text)) is not None:
        return f'"{key}" was searched in the vault "{foreign[0]}", not in "{foreign[1]}"'
    if found.cause == "conflict" and has_raced(resource):
        return "a second write of the Secret crossed the first one"
    if found.cause == "invalid-keys" and (lost := next(lost_groups(resource.live), None)) is not None:
        return lost.says
    if found.cause == "template" and "invalid syntax" in found.text:
        for misread in target_misreads(resource.live):
            if misread.escape:
                return f"Go knows no {misread.written} in a quoted text of its template"
    if found.topic and found.cause in ("access-denied", "not-found", "property-missing"):
        return _KEY.sub(lambda _: f'"{key}"', found.says) if key else found.says
    if found.cause == "not-found" and key:
        return _absence(store, key, found)
    if found.cause == "property-missing" and key and found.detail.get("property"):
        return f'"{key}" at the provider has no property "{found.detail["property"]}"'
    if found.cause == "access-denied" and key:
        return f'its store may not read "{key}"'
    return found.says


def _absence(store: stores.Store, key: str, found: Diagnosis) -> str:
    """Where the provider holds nothing, as the operator asks for it: often the place is wrong, not the key."""
    region = str(dig(store.manifest, "spec", "provider", "aws", "region") or "")
    if found.says == "the provider does not hold the key" and store.provider in ("vault", "openBao"):
        return f'{provider_texts(store.provider)["provider"]} holds nothing at "{vault_path(store, key)}"'
    if found.says == "the provider does not hold the key" and store.provider == "kubernetes":
        namespace = stores.remote_namespace(store)
        return f'namespace {namespace}, which its store reads, has no Secret "{key}"'
    if found.says == "the provider does not hold the key" and region:
        return f'{provider_texts(provider_name(store))["provider"]} in {region} does not hold "{key}"'
    return found.says.replace("the key", f'"{key}"')


_GENERAL = ("", "network-serving", "admission-invalid", "unknown-said", "provider-settings")
_QUOTED = (
    "template",
    "generator",
    "store-credential",
    "store-settings",
    "admission",
    "invalid-keys",
    "auth",
    "network",
    "unknown",
)


def _quote(found: Diagnosis) -> str:
    """The quoted text, if the cause alone does not show the remedy."""
    deciding = found.topic == "entry-wrong" or (found.cause in _QUOTED and found.topic in _GENERAL)
    return found.text if deciding and "invalid syntax" not in found.text else ""


def _consequence(
    resource: Resource, found: Diagnosis, users: tuple[Resource, ...], optional: tuple[Resource, ...]
) -> str:
    """The consequence: the workloads that wait for the Secret, or the state of the Secret."""
    what = es.target_text(resource.live) if es.target_name(resource.live) else "its target"
    if found.passing:
        return "the operator will retry"
    if found.cause == "conflict" and has_raced(resource):
        return f"Ready stays False though {what} is right"
    if users:
        return f"{users[0].id} waits for {what}" if len(users) == 1 else f"{len(users)} workloads wait for {what}"
    if optional:
        return f"{optional[0].id} runs without {what}"
    written = dig(resource.live, "status", "refreshTime")
    return f"{what} keeps its old value" if written else f"{what} is not written"


def _evidence(
    resource: Resource, found: Diagnosis, hints: tuple[Hint, ...], users: tuple[Resource, ...]
) -> Iterator[str]:
    """Times, waiting workloads, and hints from the store's settings."""
    if last := parse_time(dig(resource.live, "status", "refreshTime")):
        yield f"last written {last:%Y-%m-%d %H:%M}Z"
        if found.cause == "conflict" and has_raced(resource):
            yield f"the next refresh is due {last + es.refresh_interval(resource.live):%Y-%m-%d %H:%M}Z"
    yield from (f"{user.id} needs the Secret and is {user.health.status}" for user in users[1:] and users)
    if hints:
        yield f"the operator's text means: {found.says}"
        yield from (hint.evidence for hint in hints[:1] if hint.evidence)
    for hint in hints[1:]:
        yield f"{hint.says}{f' ({hint.evidence})' if hint.evidence else ''}"


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The operator's result, once it processes the ExternalSecret again."""
    at = _ENTRY.match(finding.at.pointer)
    failed = FailedPlace(finding.cause or "", at[1] if at else "", int(at[2]) if at else 0)
    return plays(fix, finding, after, fleet, failed)


_ENTRY = regex(r"/spec/(data|dataFrom)/(\d{1,6})(?:/|$)")


RULE = Rule(
    **Rule.page(__name__), severity="error", causes=CAUSES, check=check, wants=wants, then=then, rank=Rank.CAUSE
)
