"""Finds why an ExternalSecret is not Ready, from its texts and the surrounding objects, in a fixed order.

A cause has one name in all of these places:

    rules/shared/messages             the texts with this cause, and its sentence
    _sync_error_texts.py              reads the texts
    _sync_error_surroundings.py       evidence of stores, generators and owners, which overrides an outdated text
    _sync_error_values.py             the values that a store is known to hold
    _sync_error_passing.py            whether it ends without a change
    _sync_error_pointers.py           its field in the manifest
    _sync_error_fixes.py              edits of this very object, and of its generators (_sync_error_generators.py)
    _store_hints.py                   hints in the settings of its store
    _sync_error_general.py            general fixes: advice.yaml, with the facts of _advice_facts.py and _provider.py
    provider_advice.yaml              fixes for each provider

First the newest Event, unless the condition is of another stage or an existing object contradicts it; then the condition; then the surrounding
objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from argolint import App, Fleet, Resource, ResourceKey

from . import _external_secret as es
from ._provider import answering_provider, may_have_said
from ._sync_error_general import failing_store
from ._sync_error_passing import is_passing, is_race_unrepaired
from ._sync_error_surroundings import (
    diagnosis_by_credential,
    diagnosis_by_generators,
    diagnosis_by_owner,
    diagnosis_by_stores,
    diagnosis_by_unplaced,
)
from ._sync_error_texts import (
    Diagnosis,
    cause_sentence,
    classify,
    cleaned_text,
    condition_stage,
    current_warnings,
    is_terminal,
    names_key,
    plain_sentence,
    unclassified_diagnosis,
)
from ._sync_error_values import diagnosis_by_values

_ABOUT_STORES = ("store-not-found", "store-not-ready", "unmanaged-store", "namespace-denied")


def diagnoses(app: App, fleet: Fleet) -> Mapping[ResourceKey, Diagnosis]:
    """The cause of each ExternalSecret that is Ready=False, by its key."""
    return app.derive(_diagnoses, fleet)


def _diagnoses(app: App, fleet: Fleet) -> Mapping[ResourceKey, Diagnosis]:
    every = (*es.external_secrets(app), *es.created_by_cluster(app))
    found = ((resource.key, _diagnose(app, fleet, resource)) for resource in every)
    return {key: diagnosis for key, diagnosis in found if diagnosis is not None}


def _diagnose(app: App, fleet: Fleet, resource: Resource) -> Diagnosis | None:
    """The cause of an ExternalSecret's Ready=False; None if it is not False."""
    condition = es.ready_condition(resource.live)
    if condition.get("status") != "False":
        return None
    message = cleaned_text(str(condition.get("message") or ""))
    stage, named = condition_stage(message)
    found = _diagnosis_by_texts(app, fleet, resource, message, stage, named)
    if found is None or found.cause in (*_ABOUT_STORES, "unknown"):
        found = diagnosis_by_stores(app, fleet, resource, found) or found
    if found is not None:
        found = diagnosis_by_credential(app, fleet, resource, found)
        found = diagnosis_by_unplaced(app, fleet, resource, found)
        found = diagnosis_by_values(app, fleet, resource, found)
    if found is None and stage != "update":
        found = diagnosis_by_generators(app, fleet, resource)
    if found is None:
        found = _default_diagnosis(app, resource, message, named)
    if found.cause == "owned-by-other-controller":
        found = diagnosis_by_owner(app, fleet, resource, found)
    if is_passing(app, resource, found):
        found = replace(found, passing=True)
    return replace(found, evidence=(*found.evidence, *_evidence(app, resource, message)))


def _diagnosis_by_texts(
    app: App, fleet: Fleet, resource: Resource, message: str, stage: str, named: str
) -> Diagnosis | None:
    """The cause by the Events, then by the condition if that has a cause or more than a stage."""
    found = _diagnosis_by_events(app, fleet, resource, stage, named)
    if found is None and named and named not in _ABOUT_STORES:
        found = Diagnosis(named, cause_sentence(named), message, terminal=is_terminal(named))
    if found is None and stage == "":
        found = _of_its_provider(app, fleet, resource, message)
    return found


def _of_its_provider(app: App, fleet: Fleet, resource: Resource, text: str, stage: str = "") -> Diagnosis | None:
    """The diagnosis of a text, as the provider of the failing store can mean it."""
    found = classify(text, stage)
    if found is None or found.cause == "generator":
        return found
    store = failing_store(app, fleet, resource, found)
    provider = answering_provider(store)
    answered = classify(text, stage, provider=provider) if provider else found
    if answered == found or may_have_said(store, text):
        return answered
    says = f'its last error does not come from the provider that {store.ref.kind} "{store.ref.name}" uses now'
    return replace(found, cause="unknown", says=says, topic="unknown-moved", certain=False)


def _diagnosis_by_events(app: App, fleet: Fleet, resource: Resource, stage: str, named: str) -> Diagnosis | None:
    """The cause in the newest Event of the right stage; a condition with another cause overrides it."""
    for event in current_warnings(app, resource):
        found = _of_its_provider(app, fleet, resource, event.message, stage)
        if found is not None and _is_outdated(resource, found):
            continue
        if found is not None and (not named or named in _ABOUT_STORES or found.cause == named):
            return found
        if found is None and not named and classify(event.message) is None:
            return unclassified_diagnosis(event.message)
    return None


def _default_diagnosis(app: App, resource: Resource, message: str, named: str) -> Diagnosis:
    """The cause without any text: the race of a first sync, the stage in the condition, or unknown."""
    if is_race_unrepaired(app, resource):
        return Diagnosis("conflict", cause_sentence("conflict"), message)
    if named:
        return Diagnosis(named, plain_sentence(named), message, certain=False)
    return Diagnosis("unknown", "the operator reports no cause", message, certain=False)


def _is_outdated(resource: Resource, found: Diagnosis) -> bool:
    """Whether the text has another key than the present entry: it is about an earlier manifest."""
    key = found.detail.get("key")
    now = es.remote_key(resource.live, found.entry, found.index) if found.entry and key else ""
    return bool(now) and not names_key(str(key), now)


def _evidence(app: App, resource: Resource, message: str) -> Iterator[str]:
    yield f"condition Ready=False: {message}"
    events = app.events(resource.id, resource.uid)
    if events is None:
        yield "its Events could not be read"
    elif found := current_warnings(app, resource):
        last = f" at {found[0].last:%H:%M:%S}Z" if found[0].last else ""
        yield f"Event {found[0].reason}{last}: {cleaned_text(found[0].message)}"
    else:
        yield "no Warning Event of this failure is left (the cluster keeps them for about an hour)"
