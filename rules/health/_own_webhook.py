"""A webhook that has to admit the pods that serve it: while none of them runs, the API server admits none.

Sources: kubernetes.io, Dynamic Admission Control (avoiding deadlocks in self-hosted webhooks); k8s.io/api admissionregistration/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from argolint import App, Object, Resource
from argolint.edits import Operation, set_fields
from argolint.values import dig, get, items, mapping, maps, number_at, text_at
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

from ..shared.labels import label_selector, labels_at, plain_selector

_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_NAME = "kubernetes.io/metadata.name"


class OwnWebhook(NamedTuple):
    """A webhook of the application: its configuration, its place there, its name, and the edit that leaves the namespace of its pods out."""

    holder: Resource
    pointer: str
    name: str
    edit: list[Operation]


def own_webhook(app: App, workload: Resource, said: str) -> OwnWebhook | None:
    """The webhook that must admit the pods of this workload, none of which is ready, and whose Service selects them; the one that the message names, if it names one."""
    labels, named = labels_at(_template_metadata(workload)), _NAMED.search(said)
    alone = not number_at(workload.live, "status", "readyReplicas")
    for holder in (r for kind in _KINDS if alone for r in app.of_kind(kind, "admissionregistration.k8s.io")):
        for number, webhook in enumerate(maps(holder.live, "webhooks")):
            at, name = f"/webhooks/{number}", text_at(webhook, "name")
            if named is not None and named[1] != name:
                continue
            if _must_admit(webhook, workload.namespace, labels) and _is_served_by(app, webhook, workload, labels):
                return OwnWebhook(holder, at, name, _left_out(holder, at, workload.namespace))
    return None


_NAMED = regex(r'webhook "([^"]{1,253})"')


def _template_metadata(workload: Resource) -> Object:
    base = pod_spec(workload.any)[0].removesuffix("/spec")
    found = get(workload.any, f"{base}/metadata", {})
    return found if isinstance(found, dict) else {}


def _must_admit(webhook: Object, namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether the API server asks the webhook for a pod with these labels, and creates none without an answer; False where a label of the namespace decides."""
    covered = any(
        {"CREATE", "*"} & set(items(rule, "operations"))
        and {"", "*"} & set(items(rule, "apiGroups"))
        and {"pods", "*", "*/*"} & set(items(rule, "resources"))
        for rule in maps(webhook, "rules")
    )
    space = label_selector(webhook.get("namespaceSelector") or {})
    named = space is None or {*space.equal, *(key for key, _, _ in space.others)} <= {_NAME}
    chosen = label_selector(webhook.get("objectSelector") or {})
    return (
        covered
        and text_at(webhook, "failurePolicy") != "Ignore"
        and named
        and (space is None or space.matches({_NAME: namespace}))
        and (chosen is None or chosen.matches(labels))
    )


def _is_served_by(app: App, webhook: Object, workload: Resource, labels: Mapping[str, str]) -> bool:
    named = mapping(webhook, "clientConfig", "service")
    if text_at(named, "namespace") != workload.namespace:
        return False
    service = app.find("", "Service", workload.namespace, text_at(named, "name"))
    selector = plain_selector(dig(service.any, "spec", "selector")) if service is not None else None
    return selector is not None and not selector.empty and selector.matches(labels)


def _left_out(holder: Resource, at: str, namespace: str) -> list[Operation]:
    """The edit of Git's manifest that keeps the webhook from this namespace; none where Git has no such webhook."""
    if text_at(get(holder.desired, at, {}), "name") != text_at(get(holder.live, at, {}), "name"):
        return []
    found = mapping(get(holder.desired, at, {}), "namespaceSelector")
    apart = {"key": _NAME, "operator": "NotIn", "values": [namespace]}
    selector = {**found, "matchExpressions": [*items(found, "matchExpressions"), apart]}
    return set_fields(holder.desired, {f"{at}/namespaceSelector": selector})
