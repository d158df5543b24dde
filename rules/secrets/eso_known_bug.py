"""A known bug of the operator's version explains the symptom

What it finds: symptoms of known bugs of External Secrets, by version. A `refreshInterval` that the operator or its conversion rewrites (`15m` to
`15m0s`), a 1Password error with another store's vault, success without a Secret, refreshes that stop, wrong errors of one version (a lost
region, a generator without an identity, ...), and an admission webhook of External Secrets that does not answer.

Why it hurts: the manifest is right, and no change to it helps for long.

How to fix: upgrade to the version with the correction; until then write the operator's spelling.

Example:

    ExternalSecret shop/db drifts in refreshInterval: the operator writes its own spelling of refreshInterval back (v0.20.0 to v1.1.0).

Sources: external-secrets issues 1031, 1312, 5390 (mended by 5670), 4663 (6334), 5920 (5921), 2583, 2693, 6053, 4934,
4935 (5082), 5471 (5472), 3379 (4928), 4724, 4833 (4878); 956, 3410 and 4814
(webhook). The race of v0.10.7 and older is reported by external-secret-sync-error, injected defaults by eso-default.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Change, Edit, Finding, Fix, Fleet, Location, Object, Rank, Resource, Rule, Symptom, Want
from argolint.edits import set_field
from argolint.relations.operator_version import OperatorVersion, possible, version_of
from argolint.values import dig, items, parse_duration, parse_time
from argolint.values.knowledge import load

from ..shared.operators import external_secrets_upgrade
from . import _external_secret as es
from . import _stores as stores
from ._own_webhook import own_webhook_findings
from ._store_hints import foreign_vault
from ._sync_error_texts import cleaned_text, current_warnings


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Events and stores of failed objects, which the rules about failures request as well."""
    for resource in _operator_objects(app):
        if es.ready_condition(resource.live).get("status") == "False":
            yield Want("events", resource.id, resource.uid)
            yield from stores.store_wants(app, fleet, resource.live, resource.namespace)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """Findings for the bugs with a matching version and symptom."""
    yield from own_webhook_findings(app, fleet)
    found = tuple(_operator_objects(app))
    if not found:
        return
    version = version_of(app, fleet)
    for resource in found:
        for bug in load(__package__, "version_bugs.yaml"):
            if resource.kind in bug.get("kinds", ("ExternalSecret",)) and possible(version, bug):
                yield from _SIGNS[bug["sign"]](app, fleet, resource, bug, version)


def _operator_objects(app: App) -> Iterator[Resource]:
    for kind in es.WRITTEN_BY_OPERATOR:
        yield from app.of_kind(kind, es.GROUP)


def _upgrade_fix(bug: Object, version: OperatorVersion) -> Fix:
    issue = f"external-secrets issue {bug['issue']}; the operator is {version}."
    text = " ".join(filter(None, (issue, bug.get("until_then"))))
    return external_secrets_upgrade(f"{bug['fix']} or later", text)


def _respelled_interval(resource: Resource) -> Change | None:
    """The change of refreshInterval if both sides mean the same in different spellings."""
    for change in resource.changes:
        if change.pointer == "/spec/refreshInterval":
            want, have = parse_duration(change.desired), parse_duration(change.live)
            if want is not None and want == have:
                return change
    return None


def _interval_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    change = _respelled_interval(resource)
    if (
        change is None
        or change.writer is None
        or not change.writer.manager.startswith(("external-secrets", "externalsecrets"))
    ):
        return
    yield _interval_finding(app, resource, bug, version, change)


def _conversion_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    change = _respelled_interval(resource)
    if change is not None and (resource.desired or {}).get("apiVersion") == f"{es.GROUP}/v1alpha1":
        yield _interval_finding(app, resource, bug, version, change)


def _interval_finding(app: App, resource: Resource, bug: Object, version: OperatorVersion, change: Change) -> Finding:
    edit = Edit("json-patch", set_field(resource.desired, "/spec/refreshInterval", change.live))
    return Finding(
        message=f"{resource.id} drifts in refreshInterval: {bug['says']}.",
        at=Location(app.ref, resource.id, change.pointer),
        evidence=(
            f"{change.desired} in Git, {change.live} live",
            f"the operator is {version}",
            f"external-secrets issue {bug['issue']}",
        ),
        fixes=(
            Fix("Write the operator's spelling in Git", "manifest", str(resource.id), edit, safe=True),
            _upgrade_fix(bug, version),
        ),
        explains=(Symptom.change(resource.id, change.pointer),),
    )


def _foreign_vault_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    if es.ready_condition(resource.live).get("status") != "False":
        return
    text = next(
        (cleaned_text(e.message) for e in current_warnings(app, resource)),
        cleaned_text(str(es.ready_condition(resource.live).get("message") or "")),
    )
    for ref in es.store_refs(resource.live):
        store = stores.find(app, fleet, ref, resource.namespace)
        found = foreign_vault(store, text) if store.provider == bug["provider"] else None
        if found is not None:
            yield _bug_finding(
                app, resource, bug, version, f'searched the vault "{found[0]}", not its store\'s "{found[1]}"'
            )


def _missing_secret_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    secret = es.target_name(resource.live)
    synced = es.ready_condition(resource.live).get("status") == "True" and es.creation_policy(resource.live) == "Owner"
    if (
        synced
        and app.nodes
        and not any((n.id.kind, n.id.namespace, n.id.name) == ("Secret", resource.namespace, secret) for n in app.nodes)
    ):
        yield _bug_finding(app, resource, bug, version, f'is Ready=True without its Secret "{secret}"')


def _overdue_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    last = parse_time(dig(resource.live, "status", "refreshTime"))
    every = es.refresh_interval(resource.live)
    if (
        last is None
        or es.refresh_policy(resource.live) != "Periodic"
        or every <= timedelta()
        or es.spec_of(resource.live).get("syncWindows")
    ):
        return
    if es.ready_condition(resource.live).get("status") == "True" and es.seen_at(app) - last > 2 * every + timedelta(
        minutes=10
    ):
        yield _bug_finding(app, resource, bug, version, f"was last refreshed {last:%Y-%m-%d %H:%M}Z")


def _error_text_findings(
    app: App, fleet: Fleet, resource: Resource, bug: Object, version: OperatorVersion
) -> Iterator[Finding]:
    failed = (str(dig(f, "reason") or "") for f in items(resource.live, "status", "failedNamespaces"))
    ready = es.ready_condition(resource.live)
    messages = [e.message for e in current_warnings(app, resource)] if ready.get("status") == "False" else []
    texts = (*messages[:1], *([str(ready.get("message") or "")] if ready.get("status") == "False" else ()), *failed)
    if any(re.search(bug["match"], cleaned_text(text)) for text in texts):
        yield _bug_finding(app, resource, bug, version, "fails by a bug of its operator")


def _bug_finding(app: App, resource: Resource, bug: Object, version: OperatorVersion, what: str) -> Finding:
    return Finding(
        message=f"{resource.id} {what}: {bug['says']}.",
        at=Location(app.ref, resource.id),
        confidence="likely" if bug.get("certain_version") or version.known else "possible",
        evidence=(f"the operator is {version}", f"external-secrets issue {bug['issue']}"),
        fixes=(_upgrade_fix(bug, version),),
    )


_SIGNS = {
    "interval-rewritten": _interval_findings,
    "interval-converted": _conversion_findings,
    "foreign-vault": _foreign_vault_findings,
    "no-secret": _missing_secret_findings,
    "refresh-overdue": _overdue_findings,
    "error-text": _error_text_findings,
}

RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    wants=wants,
    reads=es.holds_external_secrets,
    rank=Rank.CAUSE,
)
