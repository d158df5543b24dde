"""Why External Secrets objects fail: an error text to its cause, and one ExternalSecret to its diagnosis.

The newest Event speaks unless the condition names another stage or an object that is present contradicts it; then the
condition; then the objects around it. What texts mean is data (sync_errors.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from argolint import App, Event, Fleet, Resource, ResourceKey
from argolint.comparison import managers
from argolint.knowledge import load
from argolint.redaction import without_secrets
from argolint.values import dig, parse_time, plain

from . import _external_secret as es
from . import _stores as stores

_UUID = re.compile(
    r"(?i)\b(?:RequestID|request id):? ?[0-9a-f-]{8,},? ?|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
_COMBINED = re.compile(r"^\(combined from similar events\): ")  # the API client joins Events whose texts alone differ
_INLINE = re.compile(r"\bspec\.(?P<list>data|dataFrom)(?:\.\w+)?\[(?P<index>\d{1,9})\]")
_FOREIGN_OWNER = "could not set controller reference on secret"  # v0.11: it met its own kind under another text before
_FORMER = timedelta(minutes=1)
_MISSING = re.compile(r'(?<![\w.-])([A-Za-z]+)(?:\.[\w.-]+)? "([^"]+)" not found')
_OPERATOR = ("external-secrets", "externalsecrets")
_PATIENCE = timedelta(minutes=5)
_LAG = timedelta(seconds=10)


@dataclass(frozen=True)
class Diagnosis:
    """`says` completes "... is not Ready because"; `detail` holds what the text named (store, kind, secret, owner, property).

    `field` and `index` point at the entry of spec.data or spec.dataFrom that failed; `text` is the error as it was told.
    `passing`: what it failed for ended or changed within the last minutes, and the operator has not tried again since.
    """

    cause: str
    says: str
    text: str = ""
    detail: Mapping[str, str] = field(default_factory=dict)
    entry: str = ""
    index: int = 0
    terminal: bool = False
    evidence: tuple[str, ...] = ()
    certain: bool = True
    passing: bool = False
    topic: str = ""

    @property
    def advice(self) -> str:
        """The entry of advice.yaml: the cause, unless the text asks for a cure of its own."""
        return self.topic or self.cause


@dataclass(frozen=True)
class _Pattern:
    cause: str
    stage: str
    says: str
    terminal: bool
    topic: str
    expressions: tuple[re.Pattern[str], ...]


def clean(text: str) -> str:
    """An error text on one line, without control characters, the request's own id and credentials of URLs."""
    told = _COMBINED.sub("", _UUID.sub("", text))
    return " ".join(plain(without_secrets(told)).split())


def classify(text: str, stage: str = "") -> Diagnosis | None:
    """The diagnosis that one error text gives; `stage` (provider, update) leaves out what cannot be meant."""
    text = clean(text)
    error = text
    where: dict[str, str] = {}
    for envelope in _envelopes():
        if found := envelope.match(error):
            where |= {k: v for k, v in found.groupdict().items() if v is not None}
            error = where.pop("error")
    if "list" not in where and (inline := _INLINE.search(error)):
        where |= inline.groupdict()
    for pattern in _patterns():
        if stage and pattern.stage and pattern.stage != stage:
            continue
        for expression in pattern.expressions:
            if found := expression.search(error):
                detail = {k: v for k, v in found.groupdict().items() if v is not None}
                detail = {"kind": "SecretStore", **detail} if "store" in detail else detail
                return Diagnosis(
                    pattern.cause,
                    pattern.says.format_map(detail) if detail else pattern.says,
                    error,
                    detail | ({"key": where["key"]} if where.get("key") else {}),
                    where.get("list", ""),
                    int(where.get("index", 0)),
                    pattern.terminal,
                    topic=pattern.topic,
                )
    return None


def diagnose(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """The cause of an ExternalSecret's Ready=False; None when it is not so."""
    condition = es.ready(resource.live)
    if condition.get("status") != "False":
        return None
    message = clean(str(condition.get("message") or ""))
    stage, named = _condition(message)
    told = _told(app, resource, stage, named)
    if told is None and named and not _about_store(named):
        told = Diagnosis(named, _says(named), message, terminal=_terminal(named))
    if told is None and stage == "":
        told = classify(message)
    if told is None or _about_store(told.cause) or told.cause == "unknown":
        told = _by_store(app, fleet, resource, told) or told
    if told is None and stage != "update":
        told = _by_generator(app, fleet, resource)
    if told is None and _raced(app, resource):
        told = Diagnosis("conflict", _says("conflict"), message)
    if told is None and named:
        told = Diagnosis(named, _plainly(named), message, certain=False)
    if told is None:
        told = Diagnosis("unknown", f'the operator says only "{message}"', message, certain=False)
    if told.cause == "owned-by-other-controller":
        told = _owner(app, fleet, resource, told)
    if _untried(app, resource) or _has_come(app, resource, told):
        told = replace(told, passing=True)
    return replace(told, evidence=(*told.evidence, *_evidence(app, resource, message)))


def raced(resource: Resource) -> bool:
    """The lasting trace of the first-sync race: this very generation was synced, and the refresh is not due yet."""
    synced, _, _ = str(dig(resource.live, "status", "syncedResourceVersion") or "").partition("-")
    return bool(synced) and synced == str(dig(resource.live, "metadata", "generation") or "")


def _untried(app: App, resource: Resource) -> bool:
    """It was edited a moment ago, after the last attempt: the operator answers an edit at once, whatever its back-off."""
    attempt = _last_attempt(app, resource)
    return attempt is not None and _just_edited(app, resource, attempt)


def _just_edited(app: App, resource: Resource, after: datetime) -> bool:
    """Somebody but the operator wrote to the object within the last minutes, and after that time."""
    edits = [
        w.time
        for w in managers(resource.live or {})
        if w.time is not None and not w.subresource and not w.manager.startswith(_OPERATOR)
    ]
    return bool(edits) and after < max(edits) and app.observed_at - max(edits) < _PATIENCE


def _has_come(app: App, resource: Resource, told: Diagnosis) -> bool:
    """What the text misses (a generator, a ConfigMap of the template) was made within the last minutes, after the attempt."""
    missing = told.cause in ("generator", "template", "store-credential")
    names = {(kind.lower().rstrip("s"), name) for kind, name in _MISSING.findall(told.text)} if missing else set()
    attempt = _last_attempt(app, resource) if names else None
    return attempt is not None and any(
        node.created_at is not None and attempt <= node.created_at and app.observed_at - node.created_at < _PATIENCE
        for node in app.nodes
        if (node.id.kind.lower().rstrip("s"), node.id.name) in names and node.id.namespace in ("", resource.namespace)
    )


def _last_attempt(app: App, resource: Resource) -> datetime | None:
    return next((e.last for e in warnings(app, resource)), None)


def _raced(app: App, resource: Resource) -> bool:
    refreshed = parse_time(dig(resource.live, "status", "refreshTime"))
    due = refreshed + es.interval(resource.live) if refreshed else None
    return raced(resource) and due is not None and app.observed_at < due


def _condition(message: str) -> tuple[str, str]:
    """The stage and the cause that a condition's message gives away."""
    for entry in load(__package__, "sync_errors.yaml")["conditions"]:
        if re.search(entry["match"], message):
            return str(entry.get("stage") or ""), str(entry.get("cause") or "")
    return "", ""


def warnings(app: App, resource: Resource) -> tuple[Event, ...]:
    """Warning Events of the present failure, newest first: none that is older than the condition's last turn."""
    since = parse_time(es.ready(resource.live).get("lastTransitionTime"))
    found = app.events(resource.id, resource.uid) or ()
    return tuple(
        e for e in found if e.type == "Warning" and (since is None or e.last is None or e.last >= since - _FORMER)
    )


def _told(app: App, resource: Resource, stage: str, named: str) -> Diagnosis | None:
    """What the newest Event of the right stage says; a condition that names a cause overrules an Event of another cause."""
    for event in warnings(app, resource):
        found = classify(event.message, stage)
        if found is not None and _outdated(resource, found):
            continue
        if found is not None and (not named or _about_store(named) or found.cause == named):
            return found
        if found is None and not named and classify(event.message) is None:
            text = clean(event.message)
            return Diagnosis("unknown", f'the operator says "{text}"', text)
    return None


def _outdated(resource: Resource, found: Diagnosis) -> bool:
    """The text names another key than the entry holds by now: it tells of an earlier manifest."""
    key = found.detail.get("key")
    now = es.remote_key(resource.live, found.entry, found.index) if found.entry and key else ""
    return bool(now) and now != key


def _about_store(cause: str) -> bool:
    return cause in ("store-not-found", "store-not-ready", "unmanaged-store", "namespace-denied")


def _by_store(app: App, fleet: Fleet, resource: Resource, told: Diagnosis | None) -> Diagnosis | None:
    """What the stores themselves say, in the operator's order; it overrules a text that tells of the past."""
    refs = es.store_refs(resource.live)
    if told is not None and told.detail.get("store"):
        refs = tuple(r for r in refs if r.name == told.detail["store"] and r.kind == told.detail["kind"]) or refs
    for ref in refs:
        store = stores.find(app, fleet, ref, resource.namespace)
        where = f'{ref.kind} "{ref.name}"'
        detail = {"store": ref.name, "kind": ref.kind, "pointer": ref.pointer}
        if store.live is None:
            if told is not None and told.cause != "store-not-found":
                continue
            other = stores.twin(app, fleet, ref, resource.namespace)
            if other is not None and ref.kind_omitted and other.ref.kind == "ClusterSecretStore":
                return replace(kind_omitted(ref, told.text if told else ""), certain=told is not None)
            rendered = {"rendered": str(store.app)} if store.absent else {}
            if told is not None:
                twin = {"twin": other.ref.kind} if other else {}
                return replace(told, detail={**told.detail, **detail, **twin, **rendered})
            if store.absent:
                return Diagnosis("store-not-found", f"there is no {where}", "", {**detail, **rendered})
            continue
        if store.controller:
            seen = f'{where} has spec.controller "{store.controller}" and no status'
            says = f'{where} asks for the operator class "{store.controller}", which no running operator serves'
            return Diagnosis("unmanaged-store", says, "", {**detail, "controller": store.controller}, evidence=(seen,))
        if store.admits(resource.namespace) is False:
            says = (
                f'ClusterSecretStore "{ref.name}" does not admit the namespace "{resource.namespace}" (spec.conditions)'
            )
            return Diagnosis(
                "namespace-denied", says, told.text if told else "", {**detail, "namespace": resource.namespace}
            )
        if told is not None and told.cause == "namespace-denied" and store.admits(resource.namespace):
            attempt = _last_attempt(app, resource)
            return replace(
                told,
                says=formerly(told.says, "does"),
                detail={**told.detail, **detail, "present": "yes"},
                passing=attempt is not None
                and store.resource is not None
                and _just_edited(app, store.resource, attempt),
            )
        if store.is_ready is False:
            seen = f"{where}: {clean(str(es.ready(store.live).get('message') or 'Ready=False'))}"
            return Diagnosis(
                "store-not-ready", f"{where} is not ready", told.text if told else "", detail, evidence=(seen,)
            )
        if told is not None and told.cause in ("store-not-found", "store-not-ready") and store.is_ready is None:
            young = store.since is not None and app.observed_at - store.since < _PATIENCE
            return Diagnosis(
                "store-not-ready", f"{where} has no status yet", told.text, {**told.detail, **detail}, passing=young
            )
        if told is not None and told.cause in ("store-not-found", "store-not-ready") and store.is_ready:
            return replace(
                told,
                says=formerly(told.says, "is ready"),
                detail={**told.detail, **detail, "present": "yes"},
                passing=_cured(app, resource, store),
            )
    return None


def formerly(says: str, now: str) -> str:
    """What a text says of a store, told of the past; `now` completes "by now it ..."."""
    for present, past in (("there is no", "there was no"), ("is not ready", "was not ready"), ("does not", "did not")):
        says = says.replace(present, past)
    return f"{says} at the last attempt (by now it {now})"


def _cured(app: App, resource: Resource, store: stores.Store) -> bool:
    """The store turned Ready within the last minutes, after the attempt that failed for it."""
    attempt = _last_attempt(app, resource)
    if store.since is None or app.observed_at - store.since >= _PATIENCE:
        return False
    return attempt is None or attempt <= store.since + _LAG


def kind_omitted(ref: es.StoreRef, text: str = "") -> Diagnosis:
    """A reference without a kind to the name of a ClusterSecretStore."""
    says = (
        f'secretStoreRef names "{ref.name}" without a kind, so a SecretStore of that name is looked for, and "{ref.name}" is a '
        "ClusterSecretStore"
    )
    return Diagnosis("store-kind-omitted", says, text, {"store": ref.name, "kind": ref.kind, "pointer": ref.pointer})


def predict(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """Why an ExternalSecret that is new, or that is to read another store, will fail; None when nothing speaks for it."""
    refs = es.store_refs(resource.desired)
    if not resource.desired_known or refs == es.store_refs(resource.live):
        return None
    for ref in refs:
        store = stores.find(app, fleet, ref, resource.namespace)
        if ref.kind_omitted and store.app is None and stores.twin(app, fleet, ref, resource.namespace) is not None:
            return kind_omitted(ref)
        detail = {"store": ref.name, "kind": ref.kind, "pointer": ref.pointer}
        if store.live is not None and store.admits(resource.namespace) is False:
            says = (
                f'ClusterSecretStore "{ref.name}" does not admit the namespace "{resource.namespace}" (spec.conditions)'
            )
            return Diagnosis("namespace-denied", says, "", detail)
        if store.app is None and fleet.of_kind(app.cluster, es.GROUP, ref.kind) and not _read_here(app, ref):
            says = f'no application of this cluster holds a {ref.kind} "{ref.name}", while they hold others of its kind'
            return Diagnosis("store-not-found", says, "", detail, certain=False)
    return None


def _read_here(app: App, ref: es.StoreRef) -> bool:
    """An ExternalSecret that is Ready proves a store that no application manages."""
    return any(
        (other.kind, other.name) == (ref.kind, ref.name)
        for found in es.external_secrets(app)
        if es.ready(found.live).get("status") == "True"
        for other in es.store_refs(found.live)
    )


def _by_generator(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """A generator that an application renders and that is not live; without a store a generator is the only source."""
    for kind, name, pointer in es.generator_refs(resource.live):
        own = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if own is not None and own.missing:
            return Diagnosis("generator", f'there is no {kind} "{name}"', "", {"generator": name, "pointer": pointer})
        if own is None and not es.store_refs(resource.live):
            says = f'its generator, {kind} "{name}", cannot be used'
            return Diagnosis("generator", says, "", {"generator": name, "pointer": pointer}, certain=False)
    return None


def _owner(app: App, fleet: Fleet, resource: Resource, told: Diagnosis) -> Diagnosis:
    """Up to v0.10 both kinds of ExternalSecret are told by the same words: who is it?"""
    owner = told.detail.get("owner", "")
    kind = told.detail.get("owner_kind", "")
    if not owner:
        told = _owner_in_tree(app, resource, told)
        owner, kind = told.detail.get("owner", ""), told.detail.get("owner_kind", "")
    if kind != "ExternalSecret" or told.detail.get("owner_group") == es.KES_GROUP:
        return told
    name = owner.strip('"')

    def known(group: str) -> bool:
        key = ResourceKey(app.cluster, group, "ExternalSecret", resource.namespace, name)
        return app.resource(key) is not None or bool(fleet.owners(key))

    served = fleet.api_versions(app.cluster)
    old = known(es.KES_GROUP) or any(v.startswith(es.KES_GROUP + "/") for v in served)
    new = known(es.GROUP) and name != resource.name
    foreign = _FOREIGN_OWNER in told.text
    if told.detail.get("owner_group") == es.GROUP or (not foreign and ((new and not known(es.KES_GROUP)) or not old)):
        says = f'the target Secret already belongs to ExternalSecret "{name}"'
        sure = told.certain and (new or bool(served) or told.detail.get("owner_group") == es.GROUP)
        detail = {**told.detail, "owner": name}
        return replace(told, cause="owned-by-external-secret", says=says, detail=detail, certain=sure)
    says = f'the target Secret still belongs to the Kubernetes External Secrets object "{name}"'
    return replace(told, says=says, detail={**told.detail, "owner": name, "owner_group": es.KES_GROUP})


def _owner_in_tree(app: App, resource: Resource, told: Diagnosis) -> Diagnosis:
    secret = es.target_name(resource.live)
    for node in app.nodes:
        if (node.id.kind, node.id.group, node.id.namespace, node.id.name) != ("Secret", "", resource.namespace, secret):
            continue
        for owner in node.owners:
            if owner.uid != resource.uid:
                says = f'the target Secret already belongs to {owner.kind} "{owner.name}"'
                detail = {"owner": owner.name, "owner_kind": owner.kind, "owner_group": owner.group}
                return replace(told, says=says, detail={**told.detail, **detail})
    return told


def _evidence(app: App, resource: Resource, message: str) -> Iterator[str]:
    yield f"condition Ready=False: {message}"
    events = app.events(resource.id, resource.uid)
    if events is None:
        yield "its Events could not be read"
    elif found := warnings(app, resource):
        last = f" at {found[0].last:%H:%M:%S}Z" if found[0].last else ""
        yield f"Event {found[0].reason}{last}: {clean(found[0].message)}"
    else:
        yield "no Warning Event of this failure is left (the cluster keeps them for about an hour)"


def _says(cause: str) -> str:
    says = next(p.says for p in _patterns() if p.cause == cause)
    return _plainly(cause) if "{" in says else says


def _plainly(cause: str) -> str:
    return {
        "owned-by-external-secret": "the target Secret already belongs to another ExternalSecret",
        "owned-by-other-controller": "the target Secret already belongs to another controller",
        "store-not-found": "its store was not found",
        "unmanaged-store": "its store belongs to a controller class that this operator does not serve",
    }.get(cause, cause)


def _terminal(cause: str) -> bool:
    return any(p.terminal for p in _patterns() if p.cause == cause)


@cache
def _envelopes() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.DOTALL) for text in load(__package__, "sync_errors.yaml")["envelopes"])


@cache
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(_pattern(entry) for entry in load(__package__, "sync_errors.yaml")["errors"])


def _pattern(entry: Mapping[str, Any]) -> _Pattern:
    return _Pattern(
        entry["cause"],
        str(entry.get("stage") or ""),
        entry["says"],
        bool(entry.get("terminal")),
        str(entry.get("advice") or ""),
        tuple(re.compile(text, re.DOTALL) for text in entry["match"]),
    )
