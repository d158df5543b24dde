"""When a sync applies an object: its phases, its wave, and when a hook is deleted (gitops-engine pkg/sync/hook, pkg/sync/sync_phase.go)."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import Object
from argolint.values import annotations_of, comma_list
from argolint.values.kubernetes import HOOK, wave

PHASES = ("PreSync", "Sync", "PostSync", "SyncFail")
SYNC, SYNC_FAIL = PHASES.index("Sync"), PHASES.index("SyncFail")
MARKS = ("sync-wave", "/hook")
"""What the text of a manifest holds that is applied at any other time than in wave 0 of the phase Sync."""
_HELM_HOOK = "helm.sh/hook"
_OWN = frozenset((*PHASES, "Skip"))
_OF_HELM = {"pre-install": "PreSync", "pre-upgrade": "PreSync", "post-install": "PostSync", "post-upgrade": "PostSync"}
_POLICIES = ("BeforeHookCreation", "HookSucceeded", "HookFailed")
_POLICIES_OF_HELM = dict(zip(("before-hook-creation", "hook-succeeded", "hook-failed"), _POLICIES, strict=True))


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """When a sync applies an object: the phase (0 PreSync, 1 Sync, 2 PostSync, 3 SyncFail), then the wave."""

    phase: int
    wave: int

    def __str__(self) -> str:
        """As people say it: the phase is named where it is not Sync."""
        return f"wave {self.wave}" if self.phase == SYNC else f"{PHASES[self.phase]} wave {self.wave}"


def hook_phases(manifest: Object | None) -> frozenset[str]:
    """The phases in which an object runs as a hook; Argo CD's own annotation wins over Helm's where it knows a word of it."""
    annotations = annotations_of(manifest)
    own = _OWN.intersection(comma_list(annotations.get(HOOK)))
    helm = comma_list(annotations.get(_HELM_HOOK))
    return frozenset(own) or frozenset(_OF_HELM[word] for word in helm if word in _OF_HELM)


def is_hook(manifest: Object | None) -> bool:
    """True for what no sync applies as an ordinary object, even where no phase of its annotation is known."""
    annotations = annotations_of(manifest)
    if HOOK in annotations:
        return hook_phases(manifest) != {"Skip"}
    return annotations.get(_HELM_HOOK, "crd-install") != "crd-install"


def phases_of(manifest: Object | None) -> tuple[int, ...]:
    """Every phase in which a sync applies the object, in order; none for what it skips and for hooks of other times."""
    known = hook_phases(manifest)
    if is_hook(manifest):
        return tuple(i for i, phase in enumerate(PHASES) if phase in known)
    return () if known == {"Skip"} else (SYNC,)


def delete_policies(manifest: Object | None) -> frozenset[str]:
    """When Argo CD deletes a hook; before it is created again, where nothing else is said."""
    annotations = annotations_of(manifest)
    own = frozenset(_POLICIES).intersection(comma_list(annotations.get("argocd.argoproj.io/hook-delete-policy")))
    helm = comma_list(annotations.get("helm.sh/hook-delete-policy"))
    found = own | {_POLICIES_OF_HELM[word] for word in helm if word in _POLICIES_OF_HELM}
    return found or frozenset(("BeforeHookCreation",))


def runs_before(manifest: Object | None) -> bool:
    """PreSync, or the Helm hooks that stand for it."""
    return "PreSync" in hook_phases(manifest)


def place_of(manifest: Object | None, listed_wave: int | None = None) -> Place:
    """When a sync applies this manifest first; the wave of the list counts where the manifest is not known."""
    phases = [PHASES.index(phase) for phase in hook_phases(manifest) if phase in PHASES]
    return Place(
        min(phases, default=SYNC), wave(manifest) if manifest is not None or listed_wave is None else listed_wave
    )
