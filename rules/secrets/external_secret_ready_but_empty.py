"""An ExternalSecret is Ready, but its Secret is missing or incomplete

What it finds: an ExternalSecret that is Ready=True without a complete Secret. The Secret is absent, was deleted because the provider lost the
key, has only old data (`secret retained due to DeletionPolicy=Retain`: the provider gave no key at all), has no key, or lacks keys of spec.data.

Why it hurts: Argo CD copies the condition and shows Healthy. The pods that need the Secret do not start, now or at their next restart, and
nothing shows the cause.

How to fix: by reason. `creationPolicy: Merge` never creates a Secret: use Owner (or CreateOrMerge from v2.8.0 on) or create it.
`deletionPolicy: Delete` and `Merge` remove data when a key is gone or mistyped: restore the key and use Retain. A `find` that
matches nothing needs another expression. A template reads a key with "-" or "." as `{{ index . "a-key" }}`.

Example:

    ExternalSecret shop/db is Ready, but its Secret "db" was deleted because the provider lost the key.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go (SecretMissing, SecretDeleted, retained),
docs/guides/ownership-deletion-policy.md; issues 2583 and 2693 (v0.9.3 and v0.9.4 report success without a Secret).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Node, Object, Resource, ResourceKey, Rule, Want
from argolint.edits import live_command, manifest_text, set_field
from argolint.relations.operator_version import version_of
from argolint.values import dig, enumerated, items, mapping, maps, parse_time, sh, text_at
from argolint.values.kubernetes import is_deleting
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _provider
from . import _stores as stores
from ._sync_error_passing import is_just_edited
from ._template import Misread, target_misreads, template_fixes

_LONGEST = 25
LOST = regex(r"secret does not exist at provider using .{0,300}?key=(?P<key>[^)]+)\)?$")
SETTLED = timedelta(minutes=2)
"""The greatest delay of the resource tree after a sync."""


def _secret_node(app: App, resource: Resource) -> Node | None:
    wanted = ("", "Secret", resource.namespace, es.target_name(resource.live))
    return next((n for n in app.nodes if (n.id.group, n.id.kind, n.id.namespace, n.id.name) == wanted), None)


def _ready_external_secrets(app: App) -> Iterator[Resource]:
    for resource in es.external_secrets(app):
        if es.ready_condition(resource.live).get("status") == "True" and not is_deleting(resource.live):
            yield resource


def _may_drop_keys(resource: Resource) -> bool:
    return es.deletion_policy(resource.live) in ("Merge", "Delete")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Events and Secret of ExternalSecrets that may silently drop keys (deletionPolicy Merge or Delete), and of no other."""
    for resource in _ready_external_secrets(app):
        if not _may_drop_keys(resource):
            continue
        yield Want("events", resource.id, resource.uid)
        secret = _secret_node(app, resource)
        if secret is not None and (_expected_keys(resource) or _has_copied_keys(resource)):
            yield Want("live", secret.id)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding for each ExternalSecret that is Ready=True."""
    for resource in _ready_external_secrets(app):
        condition = es.ready_condition(resource.live)
        reason, message = str(condition.get("reason") or ""), str(condition.get("message") or "")
        if reason.endswith("Missing"):
            yield _merge_target_finding(app, resource)
        elif reason.endswith("Deleted"):
            yield _deleted_finding(app, resource)
        elif "retained due to DeletionPolicy" in message:
            yield _retained_finding(app, fleet, resource)
        elif _is_secret_absent(app, fleet, resource):
            yield _lost_finding(app, fleet, resource)
        else:
            yield from _incomplete_findings(app, fleet, resource)


def _success_finding(
    app: App,
    resource: Resource,
    what: str,
    pointer: str,
    fixes: tuple[Fix, ...],
    confidence: bool = True,
    evidence: tuple[str, ...] = (),
) -> Finding:
    users = es.users_of(app, resource.namespace, es.target_name(resource.live))
    need = f", and {users[0].id} needs it" if users else ""
    more = f"{users[0].id} needs the Secret" if users else ""
    if len(f"{resource.id} is Ready, but {what}{need}".split()) > _LONGEST:
        need, evidence = "", (*evidence, *filter(None, (more,)))
    condition = es.ready_condition(resource.live)
    return Finding(
        message=f"{resource.id} is Ready, but {what}{need}.",
        at=Location(app.ref, resource.id, pointer),
        severity="error" if users else None,
        confidence="proven" if confidence else "likely",
        evidence=(f"condition {condition.get('reason')}: {condition.get('message')}", *evidence),
        fixes=fixes,
    )


def _merge_target_finding(app: App, resource: Resource) -> Finding:
    secret = es.target_name(resource.live)
    edit = Edit("json-patch", set_field(resource.any, "/spec/target/creationPolicy", "Owner"))
    fixes = (
        Fix("Let the ExternalSecret create its Secret", "manifest", str(resource.id), edit),
        manifest_text(
            f"Secret {resource.namespace}/{secret}",
            f'Create the Secret "{secret}" that it should merge into',
            "in an earlier sync wave; Argo CD must not own the merged keys",
        ),
    )
    return _success_finding(
        app,
        resource,
        f'creationPolicy Merge never creates the Secret "{secret}", which does not exist',
        "/spec/target/creationPolicy",
        fixes,
    )


def _deleted_finding(app: App, resource: Resource) -> Finding:
    keys = ", ".join(f'"{key}"' for key in _remote_keys(resource)) or "the key"
    edit = Edit("json-patch", set_field(resource.any, "/spec/target/deletionPolicy", "Retain"))
    fixes = (
        live_command(
            "provider",
            f"Restore {keys} at the provider, or correct it",
            es.force_sync(es.FULL_NAME, resource.namespace, resource.name),
        ),
        Fix(
            "Keep the Secret when the provider loses its key",
            "manifest",
            str(resource.id),
            edit,
            "takes effect at the next loss",
        ),
    )
    what = f'its Secret "{es.target_name(resource.live)}" was deleted because the provider lost {keys}'
    return _success_finding(app, resource, what, "/spec/target/deletionPolicy", fixes)


def _retained_finding(app: App, fleet: Fleet, resource: Resource) -> Finding:
    secret = es.target_name(resource.live)
    is_in_tree = _secret_node(app, resource) is not None
    state = f'its Secret "{secret}" keeps old data' if is_in_tree else f'there is no Secret "{secret}"'
    fixes = (_key_fix(app, fleet, resource),)
    return _success_finding(app, resource, f"the provider gave no key at all: {state}", _first_source(resource), fixes)


def _is_secret_absent(app: App, fleet: Fleet, resource: Resource) -> bool:
    """Whether an owned Secret, a child in the tree, is absent some time after the sync."""
    live = resource.live
    last = parse_time(dig(live, "status", "refreshTime"))
    return (
        es.creation_policy(live) == "Owner"
        and bool(es.target_name(live))
        and app.node(resource.id) is not None
        and _secret_node(app, resource) is None
        and not fleet.owners(ResourceKey(app.cluster, "", "Secret", resource.namespace, es.target_name(live)))
        and last is not None
        and _is_tree_settled(app, resource, last)
        and (_are_secrets_watched(app) or bool(target_misreads(live)))
    )


def _is_tree_settled(app: App, resource: Resource, last: datetime) -> bool:
    """Whether the tree has had the time to show the last sync's result, without a later edit of the object.

    With an interval below that time the last refresh is always recent: then the time since it became Ready counts.
    """
    turned = parse_time(es.ready_condition(resource.live).get("lastTransitionTime"))
    since = min(last, turned) if turned and es.refresh_interval(resource.live) <= SETTLED else last
    seen_at = es.seen_at(app)
    return seen_at - since >= SETTLED and not is_just_edited(app, resource, max(since, seen_at - SETTLED))


def _are_secrets_watched(app: App) -> bool:
    """False if no Secret of several owned ones is in the tree: this Argo CD does not watch Secrets."""
    owned = [r for r in _ready_external_secrets(app) if es.creation_policy(r.live) == "Owner"]
    return len(owned) <= 1 or any((n.id.kind, n.id.group) == ("Secret", "") for n in app.nodes)


def _finds_nothing(resource: Resource) -> bool:
    """Whether a `find` fetched nothing: before v0.11 a sync without any key counted as success, and only `find` gives no error."""
    sources = (*items(resource.live, "spec", "data"), *items(resource.live, "spec", "dataFrom"))
    return es.ready_condition(resource.live).get("message") == "Secret was synced" and all(
        dig(s, "find") for s in sources
    )


def _lost_finding(app: App, fleet: Fleet, resource: Resource) -> Finding:
    secret = es.target_name(resource.live)
    if _finds_nothing(resource):
        what = f'makes no Secret "{secret}", since its expression finds no key at the provider'
        return _success_finding(
            app,
            resource,
            what,
            _first_source(resource),
            (_key_fix(app, fleet, resource),),
            confidence=False,
            evidence=("operators before v0.11 report that as success",),
        )
    if misread := target_misreads(resource.live):
        return _unreadable_finding(app, resource, misread)
    fixes = (
        live_command(
            f"Secret {resource.namespace}/{secret}",
            "See who took or deleted the Secret, then force a sync",
            f"kubectl -n {sh(resource.namespace)} get secret {sh(secret)} -o yaml | grep -A6 ownerReferences\n"
            + es.force_sync(es.FULL_NAME, resource.namespace, resource.name),
            "v0.9.3 and v0.9.4 report success without a Secret: upgrade to v0.9.5 or later"
            if version_of(app, fleet).at_least("v0.9.5") is not True
            else "",
        ),
    )
    what = f'its Secret "{secret}" was deleted, or belongs to another owner'
    return _success_finding(app, resource, what, "/spec/target/name", fixes, confidence=False)


def _unreadable_finding(app: App, resource: Resource, misread: tuple[Misread, ...]) -> Finding:
    """The finding for a template that Go cannot parse: operators such as v0.9.3 to v0.9.13 still report success (issues 3028, 3150, 3210)."""
    first = misread[0]
    what = f'makes no Secret "{es.target_name(resource.live)}", since Go cannot read {first.written} in its template'
    evidence = (first.reason, "operators such as v0.9.3 to v0.9.13 report success all the same")
    return _success_finding(
        app, resource, what, first.pointer, template_fixes(resource, misread), confidence=False, evidence=evidence
    )


def _no_key_finding(app: App, fleet: Fleet, resource: Resource) -> Finding:
    what = f"its {es.target_text(resource.live)} holds no key: the provider gave none (deletionPolicy Merge hides it)"
    return _success_finding(app, resource, what, _first_source(resource), (_key_fix(app, fleet, resource),))


def _key_fix(app: App, fleet: Fleet, resource: Resource) -> Fix:
    nothing = "The provider gave no key at all for spec.data and spec.dataFrom."
    refs = es.store_refs(resource.live)
    searches = any(dig(entry, "find") for entry in items(resource.live, "spec", "dataFrom"))
    store = stores.find(app, fleet, refs[0], resource.namespace) if searches and len(refs) == 1 else None
    known = _provider.facts(store, version_of(app, fleet)) if store is not None else {}
    means = f"At {known['provider']}, of `find`: {known['find']}" if known.get("find") else ""
    asked = [text_at(each, "find", "name", "regexp") for each in maps(resource.live, "spec", "dataFrom")]
    held = [text_at(each, "key") for each in maps(store.manifest if store else {}, "spec", "provider", "fake", "data")]
    if any(asked) and held:
        names = enumerated([f'"{name}"' for name in dict.fromkeys(held)], limit=8)
        means = f"No name fits {enumerated([each for each in asked if each])}; the store holds {names}."
    return manifest_text(
        resource.id,
        "Correct the key or the expression, or create the keys at the provider",
        "\n".join(filter(None, (nothing, means))),
    )


def _first_source(resource: Resource) -> str:
    """Pointer of the first, or only, source."""
    field = "dataFrom" if items(resource.live, "spec", "dataFrom") else "data"
    entry = next(iter(items(resource.live, "spec", field)), None)
    inner = next((name for name in ("find", "extract", "remoteRef", "sourceRef") if dig(entry, name)), "")
    return f"/spec/{field}/0/{inner}".rstrip("/")


def _incomplete_findings(app: App, fleet: Fleet, resource: Resource) -> Iterator[Finding]:
    if not _may_drop_keys(resource):
        return
    live = _live_secret(app, resource)
    if live is not None and _has_copied_keys(resource) and not _secret_keys(live) and not _expected_keys(resource):
        yield _no_key_finding(app, fleet, resource)
        return
    lacking = _missing_keys(app, resource)
    missing = lacking or _keys_missing_in_events(app, resource)
    if missing:
        names = ", ".join(f'"{key}"' for key in missing)
        subject = names if lacking else f"the values of {names}"
        policy = es.deletion_policy(resource.live)
        edit = Edit("json-patch", set_field(resource.any, "/spec/target/deletionPolicy", "Retain"))
        fixes = (
            manifest_text(resource.id, "Correct the keys, or create them at the provider", f"missing: {names}"),
            Fix(
                "Let a lost key be an error",
                "manifest",
                str(resource.id),
                edit,
                "the sync then fails as long as the key is missing",
            ),
        )
        what = f"its {es.target_text(resource.live)} lacks {subject}, which the provider does not hold"
        yield _success_finding(
            app, resource, what, next(iter(missing.values())), fixes, evidence=(f"deletionPolicy {policy} hides it",)
        )


def _missing_keys(app: App, resource: Resource) -> dict[str, str]:
    """Keys of spec.data that the live Secret lacks, with the pointers of their entries."""
    live = _live_secret(app, resource)
    if live is None:
        return {}
    live_keys = _secret_keys(live)
    return {key: pointer for key, pointer in _expected_keys(resource).items() if key not in live_keys}


def _live_secret(app: App, resource: Resource) -> Object | None:
    secret = _secret_node(app, resource)
    found: Object | None = app.evidence.get(Want("live", secret.id)) if secret is not None else None
    return found


def _secret_keys(secret: Object) -> frozenset[str]:
    return frozenset((*mapping(secret, "data"), *mapping(secret, "stringData")))


def _has_copied_keys(resource: Resource) -> bool:
    """Whether the Secret has the fetched keys unchanged: no template writes its own."""
    template = mapping(resource.live, "spec", "target", "template")
    return not template.get("data") and not template.get("templateFrom")


def _keys_missing_in_events(app: App, resource: Resource) -> dict[str, str]:
    """Keys of the provider that are missing by the operator's Events of the last refresh, with the pointers of their entries."""
    last = parse_time(dig(resource.live, "status", "refreshTime"))
    places = {
        es.remote_key(resource.live, field, index): f"/spec/{field}/{index}/{inner}/key"
        for field, inner in (("dataFrom", "extract"), ("data", "remoteRef"))
        for index in range(len(items(resource.live, "spec", field)))
    }
    found: dict[str, str] = {}
    slack = min(SETTLED, es.refresh_interval(resource.live) / 2)  # an Event of the refresh before does not count
    for event in app.events(resource.id, resource.uid) or ():
        lost = LOST.search(event.message)
        recent = last is None or event.last is None or event.last >= last - slack
        if lost and recent and lost["key"] in places:
            found.setdefault(lost["key"], places[lost["key"]])
    return found


def _expected_keys(resource: Resource) -> dict[str, str]:
    """The keys that the Secret must have, each with the pointer of its source; empty if that is unknown."""
    template = mapping(resource.live, "spec", "target", "template")
    if template.get("templateFrom"):
        return {}
    if template.get("data") and template.get("mergePolicy") != "Merge":
        return {}  # a template with a missing value has its own error
    return {
        str(dig(entry, "secretKey")): f"/spec/data/{index}/remoteRef/key"
        for index, entry in enumerate(items(resource.live, "spec", "data"))
        if dig(entry, "secretKey")
    }


def _remote_keys(resource: Resource) -> tuple[str, ...]:
    found = (
        es.remote_key(resource.live, field, index)
        for field in ("data", "dataFrom")
        for index in range(len(items(resource.live, "spec", field)))
    )
    return tuple(dict.fromkeys(key for key in found if key))


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=es.holds_external_secrets)
