"""A volume claim waits for a pod that waits for the claim

What it finds: a PersistentVolumeClaim whose class binds at the first consumer, while no consumer can come. Either the sync waits for the claim
before it creates the pod of a later wave, or no running object uses the claim.

Why it hurts: the sync never ends (a deadlock), or the application is Progressing forever.

How to fix: put the claim into the wave of its consumer. Remove an unused claim, or restore its consumer.

Example: a claim with `argocd.argoproj.io/sync-wave: "-1"` next to a Deployment in wave 0, storage class with
`volumeBindingMode: WaitForFirstConsumer`.

Sources: gitops-engine/pkg/health/health_pvc.go; argoproj/argo-cd#12840, #29201. Reported after five minutes (option `minutes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint import (
    Afterwards,
    App,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import live_command, manifest_patch, manifest_text, removals, set_field
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.sequence.order import place_of
from argolint.values import annotations_of, dig, join_pointer
from argolint.values.kubernetes import SYNC_WAVE, reads

from ..shared.age import Patience
from ..shared.operations import sync_again_command
from ._uncounted import uncounted
from ._waiting import event_wants, overdue_resources, waiting_evidence, waiting_time

_POINTER = join_pointer("metadata", "annotations", SYNC_WAVE)


def wants(app: App, fleet: Fleet, options: Patience) -> Iterator[Want]:
    """Events of the waiting claims: they show the binding mode."""
    return event_wants(_pending_claims(app, options))


def check(app: App, fleet: Fleet, options: Patience) -> Iterator[Finding]:
    """One finding for each claim."""
    for claim in _pending_claims(app, options):
        consumers = [r for r in app.resources if r.desired is not None and _mounts_claim(r, claim)]
        later_consumers = [c for c in consumers if place_of(c.desired) > place_of(claim.any)]
        if later_consumers and app.is_awaiting(claim.id) and _binds_at_first_consumer(app, claim) is not False:
            yield _deadlock_finding(app, claim, later_consumers[0])
        elif app.is_awaiting(claim.id) and claim.hook and _binds_at_first_consumer(app, claim):
            yield _hook_claim_finding(app, claim)
        elif _binds_at_first_consumer(app, claim) and all(_is_stopped(c) for c in consumers):
            yield _unused_claim_finding(app, fleet, claim, consumers)


def _pending_claims(app: App, options: Patience) -> Iterator[Resource]:
    return (
        c
        for c in overdue_resources(app, options, "PersistentVolumeClaim", "")
        if dig(c.live, "status", "phase") in ("Pending", None)
    )


def _binds_at_first_consumer(app: App, claim: Resource) -> bool | None:
    """Whether its class binds at the first consumer, by its Events; None if they do not show it."""
    events = app.events(claim.id, claim.uid) or ()
    if any(e.reason == "WaitForFirstConsumer" or "first consumer" in e.message for e in events):
        return True
    return False if any(e.type == "Warning" for e in events) else None


def _mounts_claim(resource: Resource, claim: Resource) -> bool:
    mounted = (r.name for r in reads(resource.desired) if r.kind == "PersistentVolumeClaim")
    return resource.namespace == claim.namespace and claim.name in mounted


def _is_stopped(resource: Resource) -> bool:
    return (
        dig(resource.desired, "spec", "replicas") == 0
        or bool(dig(resource.desired, "spec", "suspend"))
        or resource.kind == "CronJob"
    )


def _deadlock_finding(app: App, claim: Resource, consumer: Resource) -> Finding:
    return Finding(
        message=f"{claim.id} (wave {claim.wave}) waits for {consumer.kind} {consumer.name} (wave {consumer.wave}), which waits for it, so the sync never ends.",
        at=Location(app.ref, claim.id, _POINTER if SYNC_WAVE in annotations_of(claim.desired) else ""),
        confidence="proven" if _binds_at_first_consumer(app, claim) else "likely",
        evidence=(f"pending for {waiting_time(app, claim)}", *waiting_evidence(app, claim)),
        related=(Related(app.ref, consumer.id, role="cause"),),
        fixes=(
            manifest_patch(
                claim.id,
                f"Put the claim into the wave of {consumer.kind} {consumer.name}",
                _wave_operations(claim, consumer.wave),
                "then terminate the operation, so that a new one can start",
            ),
            live_command(
                f"Application {app.ref}", "Then terminate the operation and sync again", sync_again_command(app)
            ),
        ),
        explains=(Symptom.health(claim.id),),
    )


def _hook_claim_finding(app: App, claim: Resource) -> Finding:
    facts = {
        "claim": str(claim.id),
        "app": str(app.ref),
        "anew": Shell(sync_again_command(app)),
        "name": claim.name,
        "namespace": claim.namespace,
    }
    return Finding(
        message=f"Hook {claim.id} waits for a pod that mounts it, and none comes before the hook has ended, so the sync never ends.",
        at=Location(app.ref, claim.id),
        evidence=(f"pending for {waiting_time(app, claim)}", *waiting_evidence(app, claim)),
        fixes=advice(__package__, "pvc-first-consumer/hook", facts, claim.id),
        explains=(Symptom.health(claim.id), *consequences(app)),
    )


def _wave_operations(claim: Resource, wanted_wave: int) -> list[Json]:
    annotations = annotations_of(claim.desired)
    if wanted_wave == 0 and SYNC_WAVE in annotations:
        return list(removals(claim.desired, [_POINTER]))
    return list(set_field(claim.desired, _POINTER, str(wanted_wave)))


def _unused_claim_finding(app: App, fleet: Fleet, claim: Resource, consumers: list[Resource]) -> Finding:
    why = f"{consumers[0].kind} {consumers[0].name} runs no pod" if consumers else "nothing in the application uses it"
    return Finding(
        message=f"{claim.id} waits for its first consumer, but {why}, so application {app.ref} stays Progressing.",
        at=Location(app.ref, claim.id),
        severity="warning",
        evidence=(f"pending for {waiting_time(app, claim)}", *waiting_evidence(app, claim)),
        related=tuple(Related(app.ref, c.id, role="cause") for c in consumers),
        fixes=tuple(_unused_claim_fixes(fleet, claim, consumers)),
        explains=(Symptom.health(claim.id),),
    )


def _unused_claim_fixes(fleet: Fleet, claim: Resource, consumers: list[Resource]) -> Iterator[Fix]:
    """A claim that leaves Git without what names it is missing at its next pod: where Git stops that on purpose, the claim only does not count."""
    ignored = tuple(uncounted(fleet, claim, "no pod uses it"))
    if not consumers:
        title, text = (
            "Remove the claim from Git, or start a pod that uses it",
            f"delete {claim.id}, or add what uses it",
        )
        yield manifest_text(claim.id, title, text)
        yield from ignored
        return
    first = consumers[0]
    field = {"CronJob": "spec.suspend, or a run by hand", "Job": "spec.suspend"}.get(first.kind, "its replicas")
    text = f"let {first.id} run a pod ({field}), or remove it from Git together with {claim.id}"
    if ignored:
        yield replace(ignored[0], title="Keep it out of the application's health as long as no pod uses it")
    title = (
        f"{'Or let' if ignored else 'Let'} {first.kind} {first.name} run a pod, or remove it from Git with the claim"
    )
    yield manifest_text(first.id, title, text)


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The sync continues; its provisioner and the scheduler decide whether the claim is then bound."""
    return Afterwards(unknown="the sync goes on then; whether the volume is made shows only on the cluster")


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=wants, then=then, options=Patience, rank=Rank.CAUSE
)
