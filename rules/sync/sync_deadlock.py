"""A sync waits for an object that it applies only afterwards

What it finds: an object that does not become healthy, or a hook that does not complete, without an object that the same sync applies in a later
wave or phase. Examples: a ConfigMap behind the Deployment that reads it, a ServiceAccount behind the PreSync hook that uses it, a PostSync Job
for which an init container waits, a claim that is bound at its first consumer and comes before it, an autoscaler before its Deployment. Also a
workload that is paused in Git before the last wave, a claim that is a hook and mounted, a child Application of an app of apps that needs a CRD or its namespace from a child of a
later wave, an object whose kind a controller creates from another object of the same sync, and a hook that is deleted only after success or only
after failure. Error: the next sync stops there. Info: everything exists now, and a first sync (a new cluster) would stop. Hooks are known from
the rendered manifests (`--manifests`, or a pull request in the gate), or if their last run is still on the cluster.

Why it hurts: Argo CD starts a wave once the one before is healthy, and PostSync hooks once the whole sync is. So the sync waits until someone
ends it, or fails at each attempt, and later waves stay missing.

How to fix: apply the needed object no later than the object that needs it; within one wave Argo CD applies both and waits for them together. A
hook that needs objects of the sync becomes a Sync hook of a later wave.

Example:

    ConfigMap shop/settings (wave 1) follows Deployment shop/web (wave 0), which cannot start without it: the sync stops there.

What is not reported: a Namespace or CustomResourceDefinition in a later wave than its objects, since Argo CD applies it with the first of them.
ExternalSecrets and their stores: `external-secret-wave-order`. A claim that waits already: `pvc-first-consumer`. A sync that waits already: `hook-stuck`.

Sources: Argo CD gitops-engine/pkg/sync/sync_context.go and sync_tasks.go, docs/user-guide/sync-waves.md; argoproj/argo-cd#3516, #6880, #12840, #16446.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Location,
    Related,
    Resource,
    ResourceId,
    Rule,
    Severity,
    Symptom,
    Want,
)
from argolint.edits import Operation, annotate, manifest_patch
from argolint.edits.advice import Shell, advice
from argolint.edits.consequences import consequences
from argolint.redaction import excerpt
from argolint.relations.blocked import (
    Blocked,
    Halted,
    Member,
    blocked,
    derived_kinds,
    halted,
    in_steps,
    members,
    movable,
)
from argolint.relations.next_sync import next_sync_text
from argolint.relations.siblings import Siblings, late_siblings
from argolint.sequence.order import PHASES, SYNC, Place, delete_policies, holds_others
from argolint.values import annotations_of, dig, enumerated, join_pointer, split_pointer, text_at
from argolint.values.kubernetes import HOOK, SYNC_OPTIONS, SYNC_WAVE, data_keys, pod_spec, reads

from ..shared.age import Patience, is_overdue
from ..shared.operations import sync_again_command
from ..shared.pods import troubles_below, watched_below
from ._failures import UNEXPLAINED, failures

_WAVE = join_pointer("metadata", "annotations", SYNC_WAVE)
_POLICY = join_pointer("metadata", "annotations", "argocd.argoproj.io/hook-delete-policy")
_GUESSED = ("host", "written")


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render: hooks are not among the managed objects."""
    yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object that comes too late, and one for each that blocks the objects after it."""
    found = [pair for pair in app.derive(blocked, fleet) if not _has_other_rule(app, pair)]
    groups = list(_blocked_by_later(found))
    needed: dict[ResourceId, list[Member]] = {}
    for later, pairs in groups:
        if _is_of_later_phase(later, pairs[0].waiting):
            needed.setdefault(pairs[0].waiting.id, []).append(later)
    for later, pairs in groups:
        yield _late_finding(app, fleet, later, pairs, needed.get(pairs[0].waiting.id, ()))
    for one in halted(app, fleet):
        if not app.is_awaiting(one.member.id):
            yield _paused_finding(app, one)
    if app.operation is None or not app.operation.failed:
        yield from _derived_kind_findings(app, fleet)
    for pair in late_siblings(app, fleet):
        yield _siblings_finding(app, fleet, pair)
    for member in app.derive(members) if app.derive(in_steps) else ():
        if policy := _deletion_condition(member):
            yield _left_hook_finding(app, member, policy)
    for member in app.derive(members):
        if (user := _claim_user(app, member)) is not None:
            yield _used_claim_finding(app, member, user)


def _blocked_by_later(found: Sequence[Blocked]) -> Iterator[tuple[Member, list[Blocked]]]:
    """Each late object with all that wait for it; a claim, which waits for its users, has an entry of its own."""
    groups: dict[ResourceId, list[Blocked]] = {}
    for pair in found:
        groups.setdefault(pair.waiting.id if pair.how == "consumer" else pair.later.id, []).append(pair)
    for pairs in groups.values():
        yield pairs[0].later, sorted(pairs, key=lambda p: (not p.now, p.waiting.place))


def _is_of_later_phase(late: Member, hook: Member) -> bool:
    return bool(hook.hook) and not late.hook and late.place.phase != hook.place.phase


def _late_finding(app: App, fleet: Fleet, later: Member, pairs: list[Blocked], also: Sequence[Member]) -> Finding:
    """The finding on one object that comes too late; `also`: all objects of a later phase that the same hook needs, of which one move is the fix."""
    starved = [pair for pair in pairs if _is_starved(app, pair)]
    first = (starved or pairs)[0]
    claim = first.how == "consumer"
    at = first.waiting if claim else later
    return Finding(
        message=_starved_sentence(first, starved) if starved else _sentence(first, len(pairs) - 1),
        at=Location(app.ref, at.id, _WAVE if SYNC_WAVE in annotations_of(at.manifest) else ""),
        cause={"consumer": "claim", "host": "hook-calls", "job": "job-waits"}.get(first.how, "order"),
        severity="error" if starved else _severity(first),
        confidence="proven" if first.sure and not starved else "likely",
        evidence=tuple(_evidence(app, fleet, pairs, bool(starved))),
        related=tuple(Related(app.ref, (p.later if claim else p.waiting).id, role="dependent") for p in pairs[:10]),
        fixes=(*_fixes(app, fleet, first, pairs, also), *_end_operation_fixes(app, first.waiting.id, bool(starved))),
        explains=(
            *_begun_hook_symptoms(app, first.waiting.id),
            *(symptom for pair in starved for symptom in _crash_symptoms(app, pair.waiting.id)),
            *(consequences(app) if starved else ()),
        ),
        follows=(Follows.finding(RULE.id, also[0].id, mended=True),) if later in also[1:] else (),
    )


def _is_starved(app: App, pair: Blocked) -> bool:
    """Whether pods wait for a key that only the later manifest has: this sync does not get past them, though the object is there."""
    ill = pair.waiting.resource is not None and pair.waiting.resource.health.status in ("Degraded", "Progressing")
    under_way = app.operation is not None and app.operation.phase != "Succeeded"
    return ill and under_way and pair.how == "reads" and bool(_new_keys(pair.later))


def _new_keys(later: Member) -> tuple[str, ...]:
    """The keys of a ConfigMap or Secret that its live object lacks."""
    if later.resource is None or later.absent or later.id.kind not in ("ConfigMap", "Secret"):
        return ()
    return tuple(sorted(data_keys(later.manifest) - data_keys(later.resource.live)))


def _starved_sentence(pair: Blocked, starved: Sequence[Blocked]) -> str:
    more = f" and {len(starved) - 1} more" if len(starved) > 1 else ""
    keys = enumerated([f'"{excerpt(key, 60)}"' for key in _new_keys(pair.later)], "key", 2)
    does = "which read it and are" if more else "which reads it and is"
    return f"{pair.later} ({pair.later.place}) gets {keys} only after {pair.waiting}{more} ({pair.waiting.place}), {does} not healthy: the sync stops there."


def _crash_symptoms(app: App, id_: ResourceId) -> Iterator[Symptom]:
    """The health of a workload whose pods start and fail; a rule that knows another reason keeps it."""
    if (node := app.node(id_)) is not None:
        yield from (Symptom.health(each.id) for each in (node, *watched_below(app, node)))


def _begun_hook_symptoms(app: App, id_: ResourceId) -> Iterator[Symptom]:
    """What Argo CD shows of a hook that has failed or waits by now."""
    node = app.node(id_)
    if _is_failure_unexplained(app, id_) or app.is_awaiting(id_):
        yield from consequences(app)
        yield from (Symptom.health(each.id) for each in ((node, *watched_below(app, node)) if node else ()))


def _end_operation_fixes(app: App, id_: ResourceId, starved: bool) -> tuple[Fix, ...]:
    """A sync that waits by now keeps the next one from starting, and so does one that tries the same revision again."""
    facts = {"app": str(app.ref), "again": Shell(sync_again_command(app))}
    return (
        advice(__package__, "sync-deadlock/again", facts)
        if app.is_awaiting(id_) or (starved and app.operation and app.operation.phase == "Running")
        else ()
    )


def _of_external_secrets(pair: Blocked) -> bool:
    """True for ExternalSecrets and stores that are no hooks: another rule checks their order."""
    of_its_own = not pair.waiting.hook and pair.waiting.id.kind == "ExternalSecret"
    return not pair.later.hook and (of_its_own or pair.later.id.kind == "ExternalSecret")


def _has_other_rule(app: App, pair: Blocked) -> bool:
    """True for kinds with their own rule, and for a wait that has begun: rules that read Argo CD's message explain that, but not a key that comes later."""
    waiting = pair.waiting
    if _of_external_secrets(pair):
        return True
    if _is_starved(app, pair):
        return False
    if app.is_awaiting(waiting.id):
        young = app.operation is not None and not is_overdue(app, app.operation.started_at, Patience().span)
        if young and waiting.hook:
            return not pair.sure  # hook-stuck is patient, and this wait cannot end
        return not (waiting.hook and pair.how == "host" and _is_hook_silent(app, waiting.id))
    if waiting.hook:
        results = app.operation.results_of(waiting.id) if app.operation else ()
        begun = any(row.get("hookPhase") in ("Running", "Failed", "Error") for row in results)
        return begun and not (pair.sure and _is_failure_unexplained(app, waiting.id))
    ill = waiting.resource is not None and waiting.resource.health.status not in ("", "Healthy")
    return pair.later.absent and not waiting.absent and ill


def _is_failure_unexplained(app: App, id_: ResourceId) -> bool:
    """The hook has failed, and what Argo CD says of that is no more than that it did: a deadline, a number of attempts."""
    return any(f.hook and f.id and f.id.key == id_.key and (f.rule, f.cause) == UNEXPLAINED for f in failures(app))


def _is_hook_silent(app: App, id_: ResourceId) -> bool:
    """The hook has run for minutes, and no pod of it shows a trouble: what it calls is all that is known."""
    node = app.node(id_)
    late = node is not None and node.created_at is not None and is_overdue(app, node.created_at, Patience().span)
    return node is not None and late and not troubles_below(app, node)


def _severity(pair: Blocked) -> Severity:
    if not pair.now or (pair.how == "consumer" and not pair.sure):
        return "info"
    return "warning" if pair.how in _GUESSED else "error"


def _sentence(pair: Blocked, others: int) -> str:
    more = f" and {others} more" if others else ""
    end = "the sync stops there" if pair.now else "a first sync stops there"
    waiting, later = f"{pair.waiting} ({pair.waiting.place})", f"{pair.later} ({pair.later.place})"
    if pair.how == "consumer":
        claim = f"{_capitalised_name(pair.waiting)} ({pair.waiting.place})"
        if pair.sure:
            return f"{claim} is bound only when a pod mounts it, and {later} follows it: {end}."
        return f"{claim} comes before {later}, which mounts it: if its class binds at the first consumer, {end}."
    later = f"{_capitalised_name(pair.later)} ({pair.later.place})"
    if pair.how == "job":
        return f"{later} follows {waiting}{more}, whose init container waits for it: {end}."
    return f"{later} follows {waiting}{more}, {pair.says}: {end}."


def _capitalised_name(member: Member) -> str:
    """The name of a member, for the start of a sentence."""
    name = str(member)
    return name[0].upper() + name[1:]


def _evidence(app: App, fleet: Fleet, pairs: Sequence[Blocked], starved: bool) -> Iterator[str]:
    for pair in pairs[:5]:
        if pair.pointer:
            names = (
                f"{pair.name}, which {pair.later.id} {'writes' if pair.how == 'written' else 'makes'}"
                if pair.name
                else "it"
            )
            yield f"{pair.waiting.id}: {pair.pointer} names {names}"
    if pairs[0].how == "consumer" and not pairs[0].sure:
        yield "the volumeBindingMode of its storage class is not known here: kubectl get storageclass"
    elif starved:
        keys = ", ".join(excerpt(key, 60) for key in _new_keys(pairs[0].later)[:8])
        yield f"{pairs[0].later.id} is live without {keys}, which Git has"
    elif pairs[0].now:
        yield next_sync_text(app, fleet)
    else:
        there = (
            "is there already"
            if not pairs[0].later.absent
            else "is missing, but nothing that waits for it starts in this sync"
        )
        yield f"{pairs[0].later.id} {there}: this stops the first sync of a new cluster"


def _fixes(app: App, fleet: Fleet, first: Blocked, pairs: Sequence[Blocked], also: Sequence[Member]) -> Iterator[Fix]:
    waiting, later = first.waiting, first.later
    last = max(also or (later,), key=lambda member: member.place)
    facts = {
        "object": str(waiting.id),
        "missing": enumerated([str(member.id) for member in also or (later,)], "object"),
        "phase": PHASES[waiting.place.phase],
        "wave": str(waiting.place.wave),
        "later": str(later.place.wave),
        "weight": str(waiting.place.wave - 1),
        # a claim may wait for the first pod that mounts it, which must then come in its own wave
        "next": str(last.place.wave + (last.id.kind != "PersistentVolumeClaim")),
        "holds_others": holds_others(later.id.kind),
    }
    early = min(p.waiting.place for p in pairs)
    if later.place.phase != waiting.place.phase:
        topic = "sync-deadlock/late-hook" if later.hook else "sync-deadlock/early-hook"
        alone = movable(app, fleet, first)[0]
        needs = "" if alone else f"what {later.id} needs itself has to come as early; "
        yield from advice(__package__, topic, {**facts, "needs": needs}, waiting.id)
        return
    if first.how == "job":
        yield from advice(__package__, "sync-deadlock/job", facts, later.id)
        return
    may_come_early, may_come_late = movable(app, fleet, first)
    brings = _wave_fix(later, early.wave, f"Apply {later.id} no later than what needs it, in wave {early.wave}")
    puts = [
        _wave_fix(p.waiting, later.place.wave, f"Put {p.waiting.id} into the wave of {later.id}, {later.place.wave}")
        for p in pairs[:3]
    ]
    if first.how == "consumer" or (may_come_late and not (may_come_early and pod_spec(waiting.manifest)[0])):
        yield from puts
    elif may_come_early:
        yield brings
    else:
        early_too, late_too = (
            f"what {later.id} needs itself has to come as early",
            f"what needs {waiting.id} has to come as late",
        )
        for fix, caveat in ((brings, early_too), *((put, late_too) for put in puts)):
            yield replace(fix, caveat=caveat, safe=False)


def _wave_fix(member: Member, wave: int, title: str) -> Fix:
    if member.resource is None or member.resource.desired is None:
        content = f'metadata:\n  annotations:\n    {SYNC_WAVE}: "{wave}"'
        return Fix(title, "manifest", str(member.id), Edit("yaml", content), resource=member.id)
    return manifest_patch(member.id, title, annotate(member.manifest, {SYNC_WAVE: str(wave)}), safe=True)


def _paused_finding(app: App, one: Halted) -> Finding:
    member, word = one.member, "suspended" if one.pointer.endswith("suspend") else "paused"
    coming = [m for m in one.after if m.absent or (m.resource and m.resource.modified)]
    after = (
        f"{one.after[0].id}" + (f" and {len(one.after) - 1} more" if len(one.after) > 1 else "")
        if one.after
        else "the end"
    )
    fields = split_pointer(one.pointer)
    return Finding(
        message=f"{_capitalised_name(member)} ({member.place}) is {word} in Git, so no sync gets past it to {after}.",
        at=Location(app.ref, member.id, one.pointer),
        cause="suspended",
        severity="error" if coming else "warning",
        evidence=(
            "Argo CD calls it Suspended, and goes on only after what is Healthy",
            f"objects after it: {len(one.after)}, of which the next sync would change {len(coming)}",
        ),
        related=tuple(Related(app.ref, m.id, role="symptom") for m in one.after[:10]),
        fixes=advice(
            __package__,
            "sync-deadlock/suspended",
            {"object": str(member.id), "field": ".".join(fields), "word": word},
            member.id,
        ),
    )


def _derived_kind_findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    kinds = {
        (resource.group, resource.kind): (resource, maker) for resource, maker in reversed([*derived_kinds(app, fleet)])
    }
    for resource, maker in kinds.values():
        option = "SkipDryRunOnMissingResource=true"
        options = annotations_of(resource.desired).get(SYNC_OPTIONS)
        notes = {
            SYNC_OPTIONS: f"{options},{option}" if options else option,
            SYNC_WAVE: str(max(maker.wave + 1, resource.wave)),
        }
        yield Finding(
            message=f"A controller makes kind {resource.kind} from {maker.id} of this very sync, whose dry run fails at {resource.id}: nothing is applied.",
            at=Location(app.ref, resource.id, "/kind"),
            cause="kind",
            evidence=(
                f"cluster {app.cluster} does not serve {resource.kind} of {resource.group}",
                f"{maker.id} defines it",
            ),
            related=(Related(app.ref, maker.id, role="cause"),),
            fixes=(
                manifest_patch(
                    resource.id,
                    f"Skip the dry run of {resource.id}, and apply it in a wave after {maker.id}",
                    annotate(resource.desired, notes),
                    "the controller may need a moment to create the kind; spec.syncPolicy.retry covers it",
                ),
            ),
        )


def _siblings_finding(app: App, fleet: Fleet, pair: Siblings) -> Finding:
    brought = f"{pair.brought.kind} {pair.brought.name}"
    title = f"Give Application {pair.late.name} an earlier wave than {pair.early.name}, {pair.early.wave - 1}"
    return Finding(
        message=f"Child {pair.early.name} (wave {pair.early.wave}) needs {brought}, which only child {pair.late.name} (wave {pair.late.wave}) brings: a first sync stops there.",
        at=Location(app.ref, pair.late.id),
        cause="child",
        severity="info",
        confidence="likely",
        evidence=(
            "the settings have a health check for Applications, so a wave waits for its children",
            f"Application {pair.early.name} cannot sync without it, and stays Missing",
        ),
        related=(Related(app.ref, pair.early.id, role="dependent"),),
        fixes=(
            _wave_fix(Member(pair.late.id, Place(SYNC, pair.late.wave), False, pair.late), pair.early.wave - 1, title),
        ),
    )


def _deletion_condition(member: Member) -> str:
    """The only end at which a hook is deleted: after the other one it blocks the name for its next run. Empty for all other hooks."""
    named = bool(text_at(member.manifest, "metadata", "name"))
    runs_once = (member.id.group, member.id.kind) in (("batch", "Job"), ("", "Pod"))
    goes = dig(member.manifest, "spec", "ttlSecondsAfterFinished") is not None
    policies = delete_policies(member.manifest)
    policy = next(iter(policies)) if len(policies) == 1 else ""
    return policy if member.hook and named and runs_once and not goes and policy in _LEFT_HOOKS else ""


_LEFT_HOOKS: Mapping[str, tuple[str, Severity, str]] = {
    "HookFailed": (
        "is deleted only when it fails, so after its first success it stays, and no later sync runs it again",
        "warning",
        "a sync applies the same manifest to the finished object, which is done already; a changed one is refused",
    ),
    "HookSucceeded": (
        "is deleted only when it succeeds: once it has failed it stays, and each later sync fails with it",
        "info",
        "a sync applies the same manifest to the failed object, which is failed already; a changed one is refused",
    ),
}
"""By delete policy: the effect, its severity, and the reason."""


def _left_hook_finding(app: App, member: Member, policy: str) -> Finding:
    what, severity, why = _LEFT_HOOKS[policy]
    own = "argocd.argoproj.io/hook-delete-policy" in annotations_of(member.manifest)
    return Finding(
        message=f"{_capitalised_name(member)} {what}.",
        at=Location(app.ref, member.id, _POLICY if own else ""),
        cause="hook-stays",
        severity=severity,
        evidence=(why,),
        fixes=advice(__package__, "sync-deadlock/hook-stays", {"object": str(member.id), "policy": policy}, member.id),
    )


def _claim_user(app: App, member: Member) -> Resource | None:
    """The workload whose pods mount a claim that each sync deletes first, as a hook; None if the claim is none or is free."""
    if not member.hook or member.absent or (member.id.group, member.id.kind) != ("", "PersistentVolumeClaim"):
        return None
    if "BeforeHookCreation" not in delete_policies(member.manifest):
        return None
    others = (r for r in app.resources if not r.hook and r.namespace == member.id.namespace)
    return next((r for r in others if dig(r.live, "status", "replicas") and _mounts(r, member.id.name)), None)


def _mounts(workload: Resource, claim: str) -> bool:
    return any((read.kind, read.name) == ("PersistentVolumeClaim", claim) for read in reads(workload.live))


def _used_claim_finding(app: App, member: Member, user: Resource) -> Finding:
    notes = annotations_of(member.manifest)
    marks = [name for name in (HOOK, "helm.sh/hook") if name in notes]
    steps: list[Operation] = [{"op": "remove", "path": join_pointer("metadata", "annotations", name)} for name in marks]
    return Finding(
        message=f"Hook {member.id} is deleted before it is applied, and pods of {user.id} mount it: the deletion waits for them, and the sync with it.",
        at=Location(app.ref, member.id, join_pointer("metadata", "annotations", marks[0]) if marks else ""),
        cause="claim-in-use",
        severity="error",
        confidence="likely",
        evidence=("Kubernetes keeps a claim until no pod mounts it; its data goes with it",),
        related=(Related(app.ref, user.id, role="dependent"),),
        fixes=(manifest_patch(member.id, f"Make {member.id} no hook", steps),),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    causes=("child", "claim", "claim-in-use", "hook-calls", "hook-stays", "job-waits", "kind", "order", "suspended"),
)
