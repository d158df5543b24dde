"""A PushSecret is not synced

What it finds: a PushSecret (or ClusterPushSecret) that is Ready=False, and why. Its condition holds the whole error.

Why it hurts: the provider does not get the value, or keeps an old one; whoever reads it there works with what it was.

How to fix: by cause: the store (it must exist, be ready and allow writes), the source Secret in the PushSecret's own namespace, the
rights to write at the provider. Force-sync retries.

Example:

    PushSecret shop/token is not synced because there is no SecretStore "write": nothing is pushed to the provider.

Sources: external-secrets pkg/controllers/pushsecret/pushsecret_controller.go, docs/api/pushsecret.md.
"""

import re
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Resource, Rule, Want
from argolint.values import dig, items

from . import external_secret as es
from .advice import PLURAL, advice
from .sync_error import Diagnosis, classify, clean, warnings

PLURALS = {"PushSecret": "pushsecrets", "ClusterPushSecret": "clusterpushsecrets"}
GENERIC = ("one or more namespaces failed", "could not get source secret", "set secret failed")
SHOWN = 240
_NO_KEY = re.compile(r"secret key (\S+) does not exist")


def _failing(app: App) -> Iterator[Resource]:
    for kind in PLURALS:
        for resource in app.of_kind(kind, es.GROUP):
            if es.ready(resource.live).get("status") == "False":
                yield resource


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The Events of failing PushSecrets whose condition says nothing."""
    for resource in _failing(app):
        if str(es.ready(resource.live).get("message")) in GENERIC:
            yield Want("events", resource.id, resource.uid)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each PushSecret that is Ready=False."""
    for resource in _failing(app):
        condition = es.ready(resource.live)
        message = clean(str(condition.get("message") or ""))
        told = warnings(app, resource) if message in GENERIC else ()
        text = clean(told[0].message) if told else message
        yield Finding(
            message=f"{resource.id} is not synced because {_because(resource, text)}: nothing is pushed to the provider.",
            at=Location(app.ref, resource.id, _pointer(resource, text)),
            evidence=(f"condition {condition.get('reason')}: {text}",),
            fixes=_fixes(resource, text),
            explains=es.consequences(app, resource.id),
        )


def _because(resource: Resource, text: str) -> str:
    if str(es.ready(resource.live).get("reason")) == "SourceDeleted" or text == "could not get source secret":
        return f'its source Secret "{_source(resource)}" is missing'
    if es.ready(resource.live).get("message") == "one or more namespaces failed":
        failed = items(resource.live, "status", "failedNamespaces")
        return "; ".join(f"{f.get('namespace')}: {clean(str(f.get('reason')))}" for f in failed) or text
    found = classify(text)
    if found is not None and found.detail.get("store"):
        return found.says
    return text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"


def _source(resource: Resource) -> str:
    return str(dig(resource.any, "spec", "selector", "secret", "name") or "")


def _pointer(resource: Resource, text: str) -> str:
    found = classify(text)
    if found is not None and found.detail.get("store"):
        refs = items(resource.any, "spec", "secretStoreRefs")
        index = next((i for i, ref in enumerate(refs) if dig(ref, "name") == found.detail["store"]), 0)
        return f"/spec/secretStoreRefs/{index}/name"
    if "source secret" in text or str(es.ready(resource.live).get("reason")) == "SourceDeleted":
        return "/spec/selector/secret/name"
    missing = _NO_KEY.search(text)
    for index, entry in enumerate(items(resource.any, "spec", "data")):
        if missing and dig(entry, "match", "secretKey") == missing.group(1):
            return f"/spec/data/{index}/match/secretKey"
    return ""


def _fixes(resource: Resource, text: str) -> tuple[Fix, ...]:
    ns, plural = resource.namespace, PLURALS[resource.kind]
    retry = es.force_sync(f"{plural}.external-secrets.io", ns, resource.name)
    found = classify(text) or Diagnosis("unknown", "")
    kind, store = found.detail.get("kind", "SecretStore"), found.detail.get("store", "")
    names = {
        "ns": ns,
        "name": resource.name,
        "kind": kind,
        "store": store,
        "plural": PLURAL.get(kind, ""),
        "in_ns": "" if kind == "ClusterSecretStore" else f"-n {ns}",
    }
    if store and found.cause == "store-not-found":
        edit = Edit(
            "text",
            f"kubectl get secretstores.external-secrets.io -n {ns}; kubectl get clustersecretstores.external-secrets.io\n{retry}   # afterwards",
        )
        return (
            Fix(
                f'Create {kind} "{store}", or name a store that exists (with its kind)',
                "manifest",
                f"spec.secretStoreRefs of {resource.id}",
                edit,
            ),
        )
    if "source secret" in text or str(es.ready(resource.live).get("reason")) == "SourceDeleted":
        edit = Edit("command", f"kubectl -n {ns} get secret {_source(resource)}\n{retry}   # once it is there")
        return (
            Fix(
                f'Create the source Secret "{_source(resource)}" in namespace {ns}',
                "live",
                f"Secret {ns}/{_source(resource)}",
                edit,
            ),
        )
    if missing := _NO_KEY.search(text):
        edit = Edit(
            "command", f"kubectl -n {ns} describe secret {_source(resource)}   # its keys\n{retry}   # afterwards"
        )
        title = f'Name a key that Secret "{_source(resource)}" holds in place of "{missing.group(1)}"'
        return (Fix(title, "manifest", f"spec.data of {resource.id}", edit),)
    if found.cause in ("store-not-ready", "auth", "network", "store-credential"):
        return advice(found.cause, {**names, "sync": retry})
    edit = Edit(
        "text",
        f"Its store needs the right to write (AWS: secretsmanager:CreateSecret, PutSecretValue, TagResource and DescribeSecret; Vault: create and update).\n{retry}   # afterwards",
    )
    return (
        Fix("Remove what the error names, and let the store write at the provider", "live", str(resource.id), edit),
    )


RULE = Rule(
    id="push-secret-error",
    family="secrets",
    severity="error",
    doc=__doc__,
    check=check,
    wants=wants,
    rank=10,
)
