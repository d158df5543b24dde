"""A ClusterExternalSecret selects no namespace

What it finds: a ClusterExternalSecret that is Ready and has made no ExternalSecret, minutes after its creation: no namespace fits what it selects.

Why it hurts: the operator reports success, Argo CD shows it Healthy, and no Secret is made. Pods that read that Secret wait for it.

How to fix: give the namespace the label that the selector asks for, or select by a label that it has. The operator looks at once when the labels
of a namespace change.

Example:

    ClusterExternalSecret pull makes no ExternalSecret: no namespace has the label team=pay.

Sources: external-secrets pkg/controllers/clusterexternalsecret/clusterexternalsecret_controller.go, pkg/utils/utils.go (GetTargetNamespaces).
"""

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Rank, Resource, Rule, Symptom
from argolint.edits import live_command, manifest_text, set_field
from argolint.values import enumerated, items, mapping, maps, sh, text_at, texts
from argolint.values.kubernetes import is_deleting

from . import _external_secret as es

PATIENCE = timedelta(minutes=2)
_LOOK = "kubectl get namespaces --show-labels"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ClusterExternalSecret that is Ready without any namespace."""
    for resource in app.of_kind("ClusterExternalSecret", es.GROUP):
        status, since = mapping(resource.live, "status"), es.created_at(resource)
        made = items(status, "provisionedNamespaces") or items(status, "failedNamespaces")
        if es.ready_condition(resource.live).get("status") != "True" or made or is_deleting(resource.live):
            continue
        if since is not None and es.seen_at(app) - since >= PATIENCE:
            yield _finding(app, resource)


def _finding(app: App, resource: Resource) -> Finding:
    spec = es.spec_of(resource.live)
    secret = text_at(spec, "externalSecretSpec", "target", "name")
    secret = secret or text_at(spec, "externalSecretName") or resource.name
    users = [
        user
        for space in sorted({each.namespace for each in app.resources})
        for user in es.waiting_workloads(app, space, secret)
    ]
    waits = f', and {users[0].id} waits for Secret "{secret}"' if users else ""
    return Finding(
        message=f"{resource.id} makes no ExternalSecret: {_selects(spec)}{waits}.",
        at=Location(app.ref, resource.id, "/spec"),
        severity="error" if users else None,
        evidence=(
            "condition Ready=True without provisionedNamespaces and failedNamespaces",
            *(f"{user.id} needs the Secret and is {user.health.status}" for user in users[1:]),
        ),
        fixes=(_fix(app, resource, spec, users[0].namespace if users else ""),),
        explains=tuple(Symptom.health(user.id) for user in users),
    )


def _selectors(spec: Json) -> tuple[Json, ...]:
    one = mapping(spec).get("namespaceSelector")
    return (*((one,) if isinstance(one, dict) else ()), *maps(spec, "namespaceSelectors"))


def _labels(spec: Json) -> dict[str, str]:
    """The labels of its only selector, if nothing else selects; empty for every other form."""
    selectors = _selectors(spec)
    only = selectors[0] if len(selectors) == 1 and not items(spec, "namespaces") else {}
    return {} if items(only, "matchExpressions") else {k: str(v) for k, v in mapping(only, "matchLabels").items()}


def _selects(spec: Json) -> str:
    named, labels = texts(spec, "namespaces"), _labels(spec)
    if labels:
        return f"no namespace has the label{'s' if len(labels) > 1 else ''} {_written(labels)}"
    if named and not _selectors(spec):
        return f"there is no namespace {enumerated(named)}"
    return "no namespace fits what it selects" if _selectors(spec) or named else "it selects no namespace"


def _written(labels: dict[str, str]) -> str:
    return enumerated([f"{name}={value}" for name, value in labels.items()])


def _fix(app: App, resource: Resource, spec: Json, waiting: str) -> Fix:
    labels = _labels(spec)
    if not labels or not waiting:
        text = f"`{_LOOK}` shows them with their labels; the operator looks again when one comes or its labels change."
        named = items(spec, "namespaces") and not _selectors(spec)
        title = "Name namespaces that are there" if named else "Select namespaces by labels that they have"
        return manifest_text(resource.id, title, text)
    title = f"Give namespace {waiting} the label {_written(labels)}, or select a label that it has"
    held = app.find("", "Namespace", "", waiting)
    if held is not None and held.desired is not None:
        added = {**mapping(held.desired, "metadata", "labels"), **labels}
        edit = Edit("json-patch", set_field(held.desired, "/metadata/labels", added))
        return Fix(title, "manifest", str(held.id), edit, resource=held.id)
    pairs = " ".join(sh(f"{name}={value}") for name, value in labels.items())
    return live_command(f"Namespace {waiting}", title, f"{_LOOK}\nkubectl label namespace {sh(waiting)} {pairs}")


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=es.holds_external_secrets, rank=Rank.CAUSE)
