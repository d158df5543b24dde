"""Why a PushSecret pushes nothing, where the operator leaves its condition as it is: a template that fails, and labels that no store has.

Source: external-secrets pkg/controllers/pushsecret/pushsecret_controller.go (Reconcile returns the error of applyTemplate without markAsFailed, and
ends without a word when it has no store).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from argolint import App, Fleet, Resource
from argolint.relations.operator_version import OperatorVersion
from argolint.values import dig, enumerated, items, labels_of, mapping, maps, text_at
from argolint.values.kubernetes import data_keys

from . import _external_secret as es
from ._template import misread_names, unfetched_names, unparsed_templates

PUSHED = "/spec/template"


@dataclass(frozen=True)
class UnsaidFault:
    """`says` completes "because …", `mends` is the title of the fix; `forced`: the operator does not look again by itself."""

    pointer: str
    says: str
    mends: str
    forced: bool = False


def unsaid_fault(app: App, fleet: Fleet, resource: Resource) -> UnsaidFault | None:
    """The first fault that is certain, of the live template or of the selection of its stores."""
    if resource.kind != "PushSecret" or resource.live is None:
        return None
    return _template_fault(app, resource) or _selection_fault(app, fleet, resource)


def _selection_fault(app: App, fleet: Fleet, resource: Resource) -> UnsaidFault | None:
    """Labels that no store has, if nothing else names a store and this application has every store of that kind."""
    refs = maps(resource.live, "spec", "secretStoreRefs")
    if len(refs) != 1 or items(refs[0], "labelSelector", "matchExpressions"):
        return None
    kind, labels = text_at(refs[0], "kind") or "SecretStore", mapping(refs[0], "labelSelector", "matchLabels")
    known = [
        app.resource(key)
        for key in fleet.of_kind(app.cluster, es.GROUP, kind)
        if kind != "SecretStore" or key.namespace == resource.namespace
    ]
    held = [store for store in known if store is not None and store.live is not None]
    if not labels or len(held) != len(known):
        return None
    of = (
        f"the label{'s' if len(labels) > 1 else ''} {enumerated([f'{name}={value}' for name, value in labels.items()])}"
    )
    place = "/spec/secretStoreRefs/0/labelSelector"
    if not any(labels.items() <= labels_of(store.live).items() for store in held):
        which = f'{kind} "{held[0].name}"' if len(held) == 1 else f"a {kind}"
        mends = f"Give {which} {of}, or name the store; then force a sync"
        return UnsaidFault(place, f"no {kind} has {of}", mends, forced=True)
    since = es.created_at(resource)
    if es.ready_condition(resource.live) or since is None or app.observed_at - since < _PATIENCE:
        return None
    says = f"no {kind} had {of} when the operator looked last"
    return UnsaidFault(place, says, f"Force a sync: a {kind} has {of} by now", forced=True)


_PATIENCE = timedelta(minutes=2)


def _template_fault(app: App, resource: Resource) -> UnsaidFault | None:
    """The first fault of the live template that is certain; None for a template without one, or with an unknown source."""
    if not dig(resource.live, "spec", "template"):
        return None
    for one in misread_names(resource.live, PUSHED):
        says = f"Go cannot read {one.written} in its template"
        return UnsaidFault(one.pointer, says, f"Write {one.correction} for {one.written}")
    for template in unparsed_templates(resource.live, OperatorVersion(), PUSHED):
        return UnsaidFault(template.pointer, f"its template {template.says}", template.mends)
    source = text_at(resource.live, "spec", "selector", "secret", "name")
    held = app.find("", "Secret", resource.namespace, source)
    keys = data_keys(held.live or held.desired) if held is not None else frozenset()
    missing = unfetched_names(resource.live, keys) if keys else ()
    if not missing:
        return None
    absent = enumerated([f'"{name}"' for name in dict.fromkeys(each.name.partition(".")[0] for each in missing)])
    similar = missing[0].similar_key if len(missing) == 1 else ""
    read = f'"{similar}"' if similar else f'keys that Secret "{source}" holds'
    return UnsaidFault(
        missing[0].pointer,
        f'its template reads {absent}, which Secret "{source}" does not hold',
        f"Read {read} in place of {absent} in the template",
    )
