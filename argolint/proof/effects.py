"""The side effects of a fix: it restarts, scales, deletes or hides something, or needs a manual sync."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from argolint.application.app import App
from argolint.application.application_sets import maker
from argolint.application.fleet import Fleet
from argolint.comparison import diff
from argolint.model import EFFECTS, MISSING, Effect, Finding, Fix, Json, Object
from argolint.values import get, text_at
from argolint.values.patterns import regex

_REPLICAS = "/spec/replicas"
_ROLLING = ("/spec/template", "/spec/paused", "/spec/updateStrategy/type")
"""Fields whose change replaces pods; a paused rollout resumes."""
_ROLLED = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Rollout"})

_KUBECTL = r"\bkubectl(?: -n \S+)?"
_SPOKEN: tuple[tuple[Effect, re.Pattern[str]], ...] = (
    ("restarts", regex(rf"\brollout restart\b|{_KUBECTL} delete pods?\b")),
    ("scales", regex(rf"{_KUBECTL} scale\b")),
    (
        "deletes",
        regex(
            rf'{_KUBECTL} delete (?!pods?\b)|\bargocd app (?:delete|confirm-deletion)\b(?!.*--cascade=false)|--prune\b|\bPrune=true\b|"finalizers":null'
        ),
    ),
    ("needs-force-sync", regex(r"\bkubectl\b.* annotate .*\bforce-sync=")),
)
"""Effects of commands in fixes, including those in comments and caveats: someone will run each."""
_HIDES = regex(
    r"\bignoreDifferences:|\bIgnoreExtraneous\b|\bresource\.exclusions\b|\bignoreAggregatedRoles: true\b|\borphanedResources:"
)
_OF_PODS = regex(
    r"^ *(?:(?:tolerations|nodeSelector|affinity|securityContext|containers):|resources:\n *(?:requests|limits):)",
    re.MULTILINE,
)
_OF_NUMBER = regex(r"^ *replicas: \d", re.MULTILINE)
_COMMAND = regex(r"`((?:kubectl|argocd) [^`]+)`")


def edit_effects(fix: Fix, finding: Finding, app: App, fleet: Fleet) -> frozenset[Effect]:
    """Effects visible in the edit and the application, without a sync."""
    needed: frozenset[Effect] = frozenset({"needs-sync"}) if _needs_sync(fix, finding, app, fleet) else frozenset()
    return declared_effects(fix) | needed


def declared_effects(fix: Fix) -> frozenset[Effect]:
    """Effects visible in the edit alone."""
    found = set(fix.effects)
    steps = "\n".join((*fix.before, *_COMMAND.findall(fix.caveat)))
    if fix.edit.kind == "json-patch":
        paths = [str(operation.get("path", "")) for operation in fix.edit.content if operation.get("op") != "remove"]
        if fix.target == "application" and any(path.startswith("/spec/ignoreDifferences") for path in paths):
            found.add("hides")
        if any(path == "/spec/syncPolicy/automated/prune" for path in paths):
            found.add("deletes")
    elif fix.edit.kind in ("command", "yaml"):
        steps = f"{fix.edit.content}\n{steps}"
        commands = "\n".join(line for line in str(fix.edit.content).splitlines() if not line.lstrip().startswith("# "))
        found.update({"hides"} if _HIDES.search(commands) else ())
        if fix.target == "manifest" and fix.edit.kind == "yaml":
            found.update({"restarts"} if _OF_PODS.search(commands) else ())
            found.update({"scales"} if _OF_NUMBER.search(commands) else ())
    return frozenset(found | _spoken_effects(steps))


@lru_cache(maxsize=256)
def _spoken_effects(steps: str) -> frozenset[Effect]:
    return frozenset(effect for effect, pattern in _SPOKEN if pattern.search(steps))


def _needs_sync(fix: Fix, finding: Finding, app: App, fleet: Fleet) -> bool:
    """True without automated sync, unless an ApplicationSet's RollingSync starts the syncs; and after a failed sync, since automated sync does
    not retry its revision (autoSync).
    """
    if fix.target in ("manifest", "helm-values"):
        return not app.automated and text_at(maker(app, fleet), "spec", "strategy", "type") != "RollingSync"
    failed = any(symptom.kind == "operation" for symptom in finding.explains)
    return failed and fix.target in ("application", "argocd-settings") and fix.edit.kind in ("json-patch", "yaml")


def sync_effects(kind: str, live: Object, with_fix: Object, without_fix: Callable[[], Object]) -> Iterator[Effect]:
    """What the next sync does with the fix and would not do without; `without_fix` is computed only if something changes."""
    watched: dict[str, Effect] = dict.fromkeys(_ROLLING if kind in _ROLLED else (), "restarts")
    watched[_REPLICAS] = "scales"
    moved = [pointer for pointer in watched if _is_moved(pointer, live, with_fix)]
    if moved:
        other = without_fix()
        yield from (watched[pointer] for pointer in moved if _is_moved(pointer, other, with_fix))


def _is_moved(pointer: str, one: Object, other: Object) -> bool:
    found = diff.differences(get(one, pointer), get(other, pointer))
    return any(not (before in _EMPTY and after in _EMPTY) for _, before, after in found)


_EMPTY: tuple[Json, ...] = (MISSING, None, {}, [], "")
"""What the API server stores for a field without a value, such as `resources: {}`: no change for the pods."""


def ordered(found: Iterable[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(set(found), key=EFFECTS.index))
