"""An object is paused or suspended

What it finds: an object that Argo CD shows as Suspended, or that is paused by its own field: a Deployment, a Rollout in its steps, a CronJob, an
autoscaler. A Rollout that has waited for its promotion for a day is a warning.

Why it hurts: nothing is broken, but new revisions do not roll out, or jobs do not run, until someone resumes it.

How to fix: resume it, or remove the field from Git.

Example: a Deployment with `paused: true` in Git, from an earlier debugging session.

Sources: gitops-engine/pkg/health, resource_customizations of Argo CD (the table suspended.yaml); kedacore/keda#6982.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache

from argolint import App, Finding, Fix, Fleet, Json, Location, Object, Resource, Rule, Symptom
from argolint.edits import live_command, manifest_patch, removals
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.redaction import excerpt
from argolint.values import age_text, dig, get, maps, number_at, parse_time, sh, split_pointer, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex

from .. import shared
from ._meaning import stopped_by_fault
from ._uncounted import uncounted


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """True for applications with such kinds: Argo CD has no health for a CronJob before 3.2, and later calls a suspended one Healthy."""
    return any(app.of_kind("CronJob", "batch"))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""
    for resource in app.resources:
        if resource.health.status in ("", "Healthy") and (resource.group, resource.kind) not in _switches_by_kind():
            continue  # nearly every object
        if stopped_by_fault(resource):
            continue  # reported as unhealthy
        found = _active_switch(resource)
        stale = _stale_condition(resource) if found is None else None
        if stale is not None:
            yield _stale_condition_finding(app, resource, stale)
        elif found is None and resource.health.status == "Suspended" and _waits(resource):
            yield _of_check(app, resource)
        elif found is not None or resource.health.status == "Suspended":
            yield _finding(app, fleet, resource, found or _NO_SWITCH)


_NO_SWITCH: Object = {"pointer": "", "word": "suspended"}
_OFF: tuple[Json, ...] = (None, False, "false", "off", "enabled", {}, [])


@cache
def _switches_by_kind() -> Mapping[tuple[str, str], Sequence[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for entry in load(__package__, "suspended.yaml"):
        found.setdefault((entry["group"], entry["kind"]), []).append(entry)
    return found


def _active_switch(resource: Resource) -> Object | None:
    """The entry of suspended.yaml that applies to the object; None if it is not paused."""
    entries = _switches_by_kind().get((resource.group, resource.kind), ())
    if resource.health.status != "Suspended":
        entries = tuple(entry for entry in entries if "resume" not in entry)
    if resource.health.status not in ("", "Healthy"):
        entries = (*entries, *_switches_by_kind()["*", "*"])
    for entry in entries:
        if not resource.mentions(f'"{split_pointer(entry["pointer"])[-1]}"'):
            continue  # no such field: nearly all objects are skipped without decoding them
        value = get(resource.live or resource.desired, entry["pointer"], None)
        if value == entry["is"] if "is" in entry else value not in _OFF:
            return entry
    return None


def _stale_condition(resource: Resource) -> Object | None:
    """A condition that still reports a pause, although the kind's possible causes of a pause are known and none is present."""
    if resource.health.status != "Suspended" or resource.live is None:
        return None
    if not _switches_by_kind().get((resource.group, resource.kind)):
        return None
    conditions = (
        c for c in maps(resource.live, "status", "conditions") if str(c.get("type")) in ("Paused", "Suspended")
    )
    return next((c for c in conditions if str(c.get("status")) == "True"), None)


_PAUSE = regex(r"(?i)suspen|paus|hibernat|resum|stopp|halt|disabl|switched off|turned off")


def _waits(resource: Resource) -> bool:
    """Whether Argo CD's check gives a reason that is no pause, such as an approval."""
    return bool(resource.health.message) and not _PAUSE.search(resource.health.message)


def _of_check(app: App, resource: Resource) -> Finding:
    return Finding(
        message=f'{resource.id} is shown Suspended: "{telling(resource.health.message)}".',
        at=Location(app.ref, resource.id),
        evidence=(f"health Suspended {excerpt(resource.health.message)}",),
        fixes=(
            live_command(
                resource.id,
                f"Follow the reason that the {resource.kind} gives",
                f"kubectl describe {kubectl_name(resource.id)}",
            ),
        ),
        explains=(Symptom.health(resource.id),),
    )


def _stale_condition_finding(app: App, resource: Resource, stale: Object) -> Finding:
    name = kubectl_name(resource.id)
    condition = f"{stale.get('type')}=True" + (f" {excerpt(str(stale['message']))}" if stale.get("message") else "")
    return Finding(
        message=f"{resource.id} is shown Suspended though nothing pauses it: its controller has not reset its condition {stale.get('type')}.",
        at=Location(app.ref, resource.id),
        evidence=(f"condition {condition}",),
        fixes=(
            live_command(
                resource.id,
                "Touch the object, so that its controller judges it again",
                f"kubectl label {name} reconcile=now && kubectl label {name} reconcile-   # restart or upgrade the operator if the condition stays",
            ),
        ),
        explains=(Symptom.health(resource.id),),
    )


def _finding(app: App, fleet: Fleet, resource: Resource, switch: Object) -> Finding:
    pointer = str(switch["pointer"])
    in_git = bool(pointer) and get(resource.desired, pointer, None) is not None
    place = "in Git" if in_git else "live"
    after = _pause_duration(resource)
    end = f" and goes on by itself after {after}" if after else ", so it does nothing until someone resumes it"
    misread = (
        "is" in switch and in_git and ("resume" in switch or resource.health.status in ("Progressing", "Degraded"))
    )
    if misread:
        lacks = "does not read that field" if "resume" in switch else "knows no such state"
        end = f", and Argo CD shows it as {resource.health.status}: its health check {lacks}"
    waited = _halfway_time(app, resource) if not after and not in_git else None
    if waited is not None:
        end = f" for {age_text(waited)}, so two versions of it run until someone promotes it"
    halted = resource.health.status == "Suspended" or (switch.get("halts") and resource.health.status)
    return Finding(
        message=f"{resource.id} is {switch['word']} {place}{end}.",
        at=Location(app.ref, resource.id, pointer),
        severity="warning" if waited is not None else None,
        evidence=(f"health {resource.health.status or 'not checked'} {excerpt(resource.health.message)}".rstrip(),),
        fixes=()
        if after
        else (
            *(advice(shared.__name__, f"stopped/{resource.kind}", {}) if misread else ()),
            *_fixes(app, resource, switch, in_git=in_git),
            *(uncounted(fleet, resource, "it is stopped") if misread else ()),
        ),
        explains=(Symptom.health(resource.id),) if halted and not app.is_awaiting(resource.id) else (),
    )


_LONG = timedelta(days=1)
"""The time within which a canary with an attentive user is promoted or aborted."""


def _halfway_time(app: App, resource: Resource) -> timedelta | None:
    """How long a Rollout has stopped between two versions; None if that is short."""
    if resource.kind != "Rollout":
        return None
    began = (parse_time(c.get("startTime")) for c in maps(resource.live, "status", "pauseConditions"))
    since = min((t for t in began if t is not None), default=None)
    return app.observed_at - since if since is not None and app.observed_at - since >= _LONG else None


def _pause_duration(resource: Resource) -> str:
    """The duration of the pause in a Rollout's step; empty if a person has to promote it."""
    if dig(resource.live, "spec", "paused"):
        return ""
    steps, now = (
        maps(resource.live, "spec", "strategy", "canary", "steps"),
        number_at(resource.live, "status", "currentStepIndex"),
    )
    return str(dig(steps[now], "pause", "duration") or "") if now < len(steps) else ""


def _fixes(app: App, resource: Resource, switch: Object, *, in_git: bool) -> Iterator[Fix]:
    pointer = str(switch["pointer"])
    if in_git and "resume" in switch:
        yield manifest_patch(
            resource.id,
            "Or let it run by Git",
            [{"op": "replace", "path": pointer, "value": switch["resume"]}],
            "it starts at the next sync",
        )
    elif in_git:
        yield manifest_patch(
            resource.id,
            f"Remove {pointer} from Git",
            removals(resource.desired, [pointer]),
            "it goes on at the next sync",
        )
    else:
        flags = f"--kind {sh(resource.kind)} --resource-name {sh(resource.name)}"
        reasons = [text_at(c, "reason") for c in maps(resource.live, "status", "pauseConditions")]
        title = next((_PROMOTE[reason] for reason in reasons if reason in _PROMOTE), "Resume it")
        known = reasons and resource.namespace and pointer == "/status/pauseConditions"
        run = f"argocd app actions run {sh(app.ref)} resume {flags} --namespace {sh(resource.namespace)}"
        yield live_command(
            resource.id,
            "Resume it" if _pause_duration(resource) else title,
            run if known else f"argocd app actions list {sh(app.ref)} {flags}",
        )


_PROMOTE: Mapping[str, str] = {
    "CanaryPauseStep": "Promote it, once the new version is found good; a step with pause.duration goes on by itself",
    "BlueGreenPause": "Promote it, once the new version is found good; autoPromotionSeconds lets it go on by itself",
    "InconclusiveAnalysisRun": "Judge what its analysis could not, then promote or abort it",
}
"""The way to resume a Rollout, by its reason to pause (argo-rollouts pkg/apis/rollouts/v1alpha1, PauseReason)."""


RULE = Rule(**Rule.page(__name__), severity="info", check=check, reads=reads, standing=True, intent=True)
