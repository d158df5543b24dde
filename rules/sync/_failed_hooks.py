"""Why a hook failed: from its pods, their containers' ends and their Events. Argo CD itself only counts the attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from argolint import App, Fix, Fleet, Node, Object, Want
from argolint.edits.advice import advice
from argolint.messages import in_passing, quoting
from argolint.redaction import excerpt
from argolint.relations.blocked import members
from argolint.sequence.order import delete_policies
from argolint.values import dig, joined, text_at
from argolint.values.kubernetes import containers, kubectl_name, pod_spec

from ..shared import pod_fixes, pods
from . import _hooks
from ._failures import UNEXPLAINED, Failed


@dataclass(frozen=True, slots=True)
class HookFailure:
    """The reason of one hook. `says` continues a sentence that ends with the hook; `words` are those of a program, and may be empty.

    `complete`: whether `says` is complete without the words.
    """

    says: str
    words: str
    evidence: tuple[str, ...]
    fixes: tuple[Fix, ...]
    complete: bool = True

    def sentence(self, subject: str, after: str) -> str:
        """The sentence on a sync that failed at this hook, which ends the subject."""
        join = in_passing if self.complete else quoting
        return join(f"{subject}, {self.says}", self.words, after)


def hook_wants(app: App, failed: Failed) -> Iterator[Want]:
    """The failed hook itself, the last state of its newest pod, and the Events of both."""
    node = _unexplained_hook(app, failed)
    if node is None:
        return
    yield Want("live", node.id)  # hooks are not among the managed objects
    yield Want("events", node.id, node.uid)
    for below in pods.watched_below(app, node):
        yield Want("events", below.id, below.uid)
    if (pod := pods.failed_pod(app, node)) is not None and pod is not node:
        yield Want("live", pod.id)


def hook_failure(app: App, fleet: Fleet, failed: Failed) -> HookFailure | None:
    """The reason that the hook's pods show; None if it has no pods of its own, or if they show nothing."""
    node = _unexplained_hook(app, failed)
    if node is None:
        return _gone(app, failed) if _is_gone(app, failed) else None
    if "." in node.id.group and node.id.group not in _hooks.TASKS and node.health.status == "Healthy":
        return _recovered(app, failed, node)
    manifest = _hooks.manifest_of(app, node.id)
    pod = pods.failed_pod(app, node)
    end = pods.end_of(app, pod) if pod else None
    if end is not None and (end.code or end.reason == "OOMKilled") and end.reason not in _NEVER_RAN:
        return _ended(app, failed, end, manifest)
    trouble = next(iter(pods.troubles_below(app, node)), None)
    if trouble is not None and trouble.cause:
        subject = "whose Pod" if trouble.node.id.kind == "Pod" and trouble.node.id != node.id else "which"
        return HookFailure(
            f"{subject} {_hooks.of_one_pod(trouble)}",
            trouble.text,
            (f"{trouble.node.id}: {trouble.text}",),
            pod_fixes.fixes(app, fleet, node.id, manifest, trouble),
        )
    if end is not None:
        return _ended(app, failed, end, manifest)
    return _without_pods(app, failed, node, manifest) if pod is None else None


def with_removal(app: App, failed: Failed, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes of a failed hook; the first says that the failed object must go where no delete policy removes it before its next run."""
    node = app.node(failed.id) if failed.hook and failed.id else None
    if node is None or not fixes or (node.id.group, node.id.kind) not in (("batch", "Job"), ("", "Pod")):
        return fixes
    if delete_policies(_hooks.manifest_of(app, node.id)) != {"HookSucceeded"}:
        return fixes
    stays = f"before the next sync delete it, which its delete policy keeps: `kubectl delete {kubectl_name(node.id)}`"
    return (replace(fixes[0], caveat=joined(fixes[0].caveat, stays)), *fixes[1:])


_NEVER_RAN = ("StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError")
"""Reasons of the kubelet and the runtime for a container that never ran: its exit code is the runtime's."""


def _unexplained_hook(app: App, failed: Failed) -> Node | None:
    """The hook in the tree, if Argo CD's own words on it give no reason."""
    unexplained = failed.hook and (failed.rule, failed.cause) == UNEXPLAINED
    return app.node(failed.id) if unexplained and failed.id else None


def _is_gone(app: App, failed: Failed) -> bool:
    """Whether the tree, which was read, holds a Job or Pod no more that failed as a hook."""
    runs_once = failed.id is not None and (failed.id.group, failed.id.kind) in (("batch", "Job"), ("", "Pod"))
    ran = runs_once and failed.hook and (failed.rule, failed.cause) == UNEXPLAINED
    return bool(ran and app.nodes and failed.id and app.node(failed.id) is None)


def _gone(app: App, failed: Failed) -> HookFailure:
    facts = {"hook": str(failed.id), "app": str(app.ref)}
    fixes = advice(__package__, "failed-hook/gone", facts, failed.id)
    return HookFailure("", "", (f"{failed.id} is deleted by now, and its log with it",), fixes)


def _recovered(app: App, failed: Failed, node: Node) -> HookFailure:
    """Argo CD ends a hook as soon as it is Degraded (gitops-engine, pkg/sync), and many kinds are while they start."""
    facts = {"hook": str(node.id), "app": str(app.ref)}
    fixes = advice(__package__, "failed-hook/recovered", facts, node.id)
    evidence = f"{node.id}: Healthy by now {excerpt(node.health.message, 200)}".rstrip()
    return HookFailure("which was not healthy then, and is Healthy by now", failed.message, (evidence,), fixes)


def _without_pods(app: App, failed: Failed, node: Node, manifest: Object | None) -> HookFailure | None:
    """A Job that restarts its containers in place deletes its pod as it gives up (kubernetes pkg/controller/job)."""
    policy = text_at(pod_spec(manifest)[1], "restartPolicy")
    if node.id.kind != "Job" or policy != "OnFailure" or failed.message != _ATTEMPTS:
        return None
    facts = {"hook": str(node.id), "app": str(app.ref)}
    evidence = f"{node.id}: restartPolicy OnFailure, so Kubernetes has deleted its Pod, and its log with it"
    return HookFailure("", "", (evidence,), advice(__package__, "failed-hook/podless", facts, node.id))


_ATTEMPTS = "Job has reached the specified backoff limit"


def _ended(app: App, failed: Failed, end: pods.Ended, manifest: Object | None) -> HookFailure:
    own = {text_at(c, "name"): c for _, c in containers(manifest)}
    limit = dig(own.get(end.container), "resources", "limits", "memory")
    killed = end.reason == "OOMKilled"
    who = f"whose container {end.container}" if end.container else "whose Pod" if end.pod.id != failed.id else "which"
    if killed:
        says = f"{who} was OOM-killed{f' at its limit of {limit}' if limit else ''}"
    elif end.words:
        says = f"{who} says"
    else:
        says = f"{who} ended with exit code {end.code}"
    remade, wave = ("", 0) if killed or end.words else _remade_account(app, failed)
    facts = {
        "hook": str(failed.id),
        "account": remade,
        "earlier": str(wave - 1),
        "namespace": end.pod.id.namespace,
        "pod": end.pod.id.name,
        "container": end.container,
        "limit": str(limit or ""),
        "again": _hooks.runs_again(app, manifest),
    }
    code = f", exit code {end.code}" if end.code else ""
    words = f': "{excerpt(end.words, 400)}"' if end.words else ""
    evidence = f"{end.pod.id}: container {end.container or '?'} ended{code}{' (OOMKilled)' if killed else ''}{words}"
    topic = "memory" if killed else "ended"
    fixes = advice(__package__, f"failed-hook/{topic}", facts, failed.id)
    more = [f"{remade} is a hook of the same wave: Argo CD deletes and makes it with the hook"] if remade else []
    more += [_hooks.RUNS_AGAIN] if facts["again"] and not killed else []
    return HookFailure(says, "" if killed else end.words, (evidence, *more), fixes, complete=killed or not end.words)


def _remade_account(app: App, failed: Failed) -> tuple[str, int]:
    """The ServiceAccount of the hook and their wave, if it is itself deleted and made again in it: a pod that starts at once may be unauthorized."""
    own = [m for m in app.derive(members) if m.hook and failed.id is not None and m.id.key == failed.id.key]
    if not own:
        return "", 0
    account = text_at(pod_spec(own[0].manifest)[1], "serviceAccountName")
    for each in app.derive(members):
        of_hook = each.hook and each.id.kind == "ServiceAccount" and each.id.name == account
        if of_hook and each.place == own[0].place and "BeforeHookCreation" in delete_policies(each.manifest):
            return str(each.id), each.place.wave
    return "", 0
