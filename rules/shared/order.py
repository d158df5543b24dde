"""What comes before what in one sync: hooks that run before it, and objects of later waves that something earlier needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from argolint import App, Object, Resource, Want
from argolint.values import annotations_of, comma_list, leaves, text_at
from argolint.values.kubernetes import HOOK, wave

_SYNC_HOOKS = frozenset(("PreSync", "Sync", "PostSync", "SyncFail", "Skip"))
_HELM_BEFORE = frozenset(("pre-install", "pre-upgrade"))
_HELM_AFTER = frozenset(("post-install", "post-upgrade"))
ABSENT = re.compile(r'\b(secret|configmap|persistentvolumeclaim|serviceaccount) "([^"]+)" not found', re.IGNORECASE)
"""How the kubelet, the scheduler and the controllers of workloads name what a pod needs and does not find."""


def runs_before(manifest: Object | None) -> bool:
    """PreSync, or the Helm hooks that stand for it; Argo CD's own annotation wins where it knows a word of it (pkg/sync/hook/hook.go)."""
    return _is_hook(manifest, "PreSync", _HELM_BEFORE)


def _is_hook(manifest: Object | None, phase: str, of_helm: frozenset[str]) -> bool:
    annotations = annotations_of(manifest)
    own = _SYNC_HOOKS.intersection(comma_list(annotations.get(HOOK)))
    return phase in own if own else not of_helm.isdisjoint(comma_list(annotations.get("helm.sh/hook")))


@dataclass(frozen=True, slots=True)
class Later:
    """What the sync would bring only after the object that needs it. `own_wave` is that of the object; `before` tells a PreSync hook."""

    resource: Resource
    own_wave: int
    before: bool

    @property
    def when(self) -> str:
        """Completes "… is brought"."""
        return (
            "only after PreSync hooks" if self.before else f"in wave {self.resource.wave}, after wave {self.own_wave}"
        )


def needed_later(app: App, namespace: str, manifest: Object | None, text: str) -> Later | None:
    """What the text finds absent and the same application brings later than the object of this manifest; None without one."""
    absent = ABSENT.search(text)
    if absent is None:
        return None
    kind, name = absent[1].lower(), absent[2]
    wanted = (
        r
        for r in app.resources
        if r.desired is not None
        and r.live is None
        and (r.kind.lower(), r.name) == (kind, name)
        and r.namespace == namespace
    )
    found = next(wanted, None)
    if found is None or not (runs_before(manifest) or found.wave > wave(manifest)):
        return None
    return Later(found, wave(manifest), runs_before(manifest))


_NAMED = re.compile(
    r'"(?:[\w.-]+/)?([a-z0-9][\w.-]*)"[^"]{0,40}?\b(?:not found|does not exist|is missing)', re.IGNORECASE
)


def maker_later(app: App, namespace: str, manifest: Object | None, text: str) -> Later | None:
    """What by its name makes the object that the text finds absent, and comes in a later wave; None without one.

    Operators name what they make after the object that asks for it: `web` brings `web-collector`.
    """
    own = wave(manifest)
    absent = tuple(match[1] for match in _NAMED.finditer(text))
    for resource in app.missing if absent else ():
        named = any(name == resource.name or name.startswith(f"{resource.name}-") for name in absent)
        if named and resource.namespace == namespace and resource.wave > own:
            return Later(resource, own, before=False)
    return None


def made_after(app: App, name: str) -> str | None:
    """The PostSync hook that speaks of this name, while the sync waits for health and so does not run it yet.

    Empty when the manifests are not known, None when nothing waits or no such hook is among them. Argo CD shows a hook that has
    not run yet in the rendered manifests alone.
    """
    awaited = app.operation.awaited if app.operation else None
    if awaited is None or awaited.reason != "healthy state of":
        return None
    manifests = app.evidence.get(Want("manifests"))
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    for manifest in manifests or ():
        if _is_hook(manifest, "PostSync", _HELM_AFTER) and any(word.search(str(v)) for _, v in leaves(manifest)):
            return f"{manifest.get('kind')} {text_at(manifest, 'metadata', 'name')}"
    return "" if manifests is None else None
