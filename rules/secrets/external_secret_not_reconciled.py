"""An External Secrets object has no status at all

What it finds: an ExternalSecret, SecretStore, ClusterSecretStore, PushSecret or ClusterExternalSecret that was created minutes ago and has no
condition: no operator has processed it. The rule `secret-store-error` reports a store with a foreign `spec.controller`, `push-secret-error` a
PushSecret that cannot be pushed.

Why it hurts: the Secret is never created, Argo CD shows Progressing forever, and there is neither an Event nor a condition. The reasons (class,
scope, disabled store kind, RBAC) are only in the operator's log, if there is an operator.

How to fix: install the operator, or let it serve this object: its `--controller-class`, `--namespace` scope
(`scopedNamespace`, `scopedRBAC` in the chart), `processClusterStore`, `processPushSecret`, `processClusterExternalSecret`, and
its rights on Secrets.

Example:

    No External Secrets Operator serves ExternalSecret shop/db, so Secret "db" is not made.

Sources: external-secrets pkg/controllers/externalsecret/externalsecret_controller.go (objects that are skipped are only logged),
deploy/charts/external-secrets/values.yaml; Argo CD resource_customizations/external-secrets.io (no Ready condition: Progressing).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from argolint import App, Finding, Fix, Fleet, Follows, Location, Rank, Resource, Rule, Symptom, Want
from argolint.edits.advice import Shell, advice
from argolint.values import age_text, items
from argolint.values.kubernetes import is_deleting

from . import _external_secret as es
from . import _stores as stores
from ._push_unsaid import unsaid_fault


@dataclass(frozen=True)
class Options:
    """`waiting_minutes`: how long an object may be without a status."""

    waiting_minutes: int = 5


def _objects_without_status(app: App, fleet: Fleet, options: Options) -> Iterator[Resource]:
    for kind in es.WRITTEN_BY_OPERATOR:
        for resource in app.of_kind(kind, es.GROUP):
            since = es.created_at(resource)
            if resource.live is None or is_deleting(resource.live) or items(resource.live, "status", "conditions"):
                continue
            if unsaid_fault(app, fleet, resource) is not None:
                continue
            if since is not None and app.observed_at - since >= timedelta(minutes=options.waiting_minutes):
                yield resource


def wants(app: App, fleet: Fleet, options: Options) -> Iterator[Want]:
    """The stores of ExternalSecrets without a status, if another application manages them."""
    for resource in _objects_without_status(app, fleet, options):
        yield from stores.store_wants(app, fleet, resource.live, resource.namespace)


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each object without a status."""
    answered = any(
        items(r.live, "status", "conditions") for r in app.resources if r.group == es.GROUP and r.live is not None
    )
    for resource in _objects_without_status(app, fleet, options):
        if (
            stores.Store(es.StoreRef(resource.kind, resource.name, ""), app.ref, resource).controller
            and resource.kind in es.STORES
        ):
            continue
        since = es.created_at(resource)
        age = age_text(app.observed_at - since) if since else "minutes"
        foreign = _foreign_class(app, fleet, resource)
        secret = es.target_name(resource.live) if resource.kind == "ExternalSecret" else ""
        users = es.waiting_workloads(app, resource.namespace, secret)
        yield Finding(
            message=f"{_subject(resource, foreign, answered)}, so {_loss_text(resource, users)}.",
            at=Location(app.ref, resource.id),
            confidence="proven" if foreign or not answered else "likely",
            evidence=(
                f"no status.conditions {age} after its creation",
                *(f"{user.id} needs the Secret and is {user.health.status}" for user in users[1:] and users),
                "other External Secrets objects of the application have a status"
                if answered
                else "no External Secrets object of the application has a status",
            ),
            fixes=_fixes(resource, answered, foreign),
            explains=(*es.health_consequences(app, resource.id), *(Symptom.health(user.id) for user in users)),
            follows=_follows(app, resource, absent=not (answered or foreign)),
        )


def _follows(app: App, resource: Resource, *, absent: bool) -> tuple[Follows, ...]:
    """The shared cause: a missing operator explains its objects' stores as well; else an unusable store."""
    if absent:
        title = f"No External Secrets Operator serves cluster {app.cluster}."
        return (Follows.common(title, "external-secrets-operator", app.cluster),)
    return tuple(
        Follows(Symptom.health(ref.id(resource.namespace, app.cluster))) for ref in es.store_refs(resource.live)
    )


def _foreign_class(app: App, fleet: Fleet, resource: Resource) -> str:
    """The foreign controller class of its store: the operator silently skips such an ExternalSecret."""
    for ref in es.store_refs(resource.live):
        store = stores.find(app, fleet, ref, resource.namespace)
        if store.controller:
            return f'its {ref.kind} "{ref.name}" is of class "{store.controller}"'
    return ""


def _subject(resource: Resource, foreign: str, answered: bool) -> str:
    if foreign:
        return f"No operator serves {resource.id}, since {foreign}"
    if answered:
        return f"The External Secrets Operator serves others here, but not {resource.id}"
    return f"No External Secrets Operator serves {resource.id}"


def _loss_text(resource: Resource, users: tuple[Resource, ...]) -> str:
    if users:
        who = f"{users[0].id} waits" if len(users) == 1 else f"{len(users)} workloads wait"
        return f"{who} for {es.target_text(resource.live)}"
    if resource.kind == "ExternalSecret":
        return f"{es.target_text(resource.live)} is not made"
    if resource.kind in es.STORES:
        return "no ExternalSecret can use it"
    return "nothing is written"


def _fixes(resource: Resource, answered: bool, foreign: str) -> tuple[Fix, ...]:
    facts = {
        "foreign": foreign,
        "answered": answered,
        "in_log": json.dumps(resource.name),
        "sync": Shell(es.force_sync(es.FULL_NAME, resource.namespace, resource.name)),
    }
    return advice(__package__, "not-reconciled", facts)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, options=Options, rank=Rank.CAUSE)
