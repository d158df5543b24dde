"""When a sync applies an object: its phases, its wave, and when a hook is deleted (gitops-engine pkg/sync/hook, pkg/sync/sync_phase.go)."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import Object
from argolint.values import annotations_of, comma_list
from argolint.values.kubernetes import ARGOCD_ANNOTATION, HOOK, wave

PHASES = ("PreSync", "Sync", "PostSync", "SyncFail")
SYNC, SYNC_FAIL = PHASES.index("Sync"), PHASES.index("SyncFail")
MARKS = (ARGOCD_ANNOTATION, "helm.sh/hook")
"""Strings in every manifest that is applied at another time than wave 0 of the phase Sync."""
_HELM_HOOK = "helm.sh/hook"
_OWN = frozenset((*PHASES, "Skip"))
_OF_HELM = {"pre-install": "PreSync", "pre-upgrade": "PreSync", "post-install": "PostSync", "post-upgrade": "PostSync"}
_POLICIES = ("BeforeHookCreation", "HookSucceeded", "HookFailed")
_POLICIES_OF_HELM = dict(zip(("before-hook-creation", "hook-succeeded", "hook-failed"), _POLICIES, strict=True))


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """The time in a sync when an object is applied: the phase (0 PreSync, 1 Sync, 2 PostSync, 3 SyncFail), then the wave."""

    phase: int
    wave: int

    def __str__(self) -> str:
        """The text for people: with the phase unless it is Sync."""
        return f"wave {self.wave}" if self.phase == SYNC else f"{PHASES[self.phase]} wave {self.wave}"


def hook_phases(manifest: Object | None) -> frozenset[str]:
    """The phases in which an object runs as a hook; Argo CD's own annotation wins over Helm's if it has a valid phase."""
    annotations = annotations_of(manifest)
    own = _OWN.intersection(comma_list(annotations.get(HOOK)))
    helm = comma_list(annotations.get(_HELM_HOOK))
    return frozenset(own) or frozenset(_OF_HELM[word] for word in helm if word in _OF_HELM)


def holds_others(kind: str) -> bool:
    """Whether an object of the kind takes others or data with it when it is deleted, as a hook is before each of its runs."""
    return kind in ("Namespace", "CustomResourceDefinition", "PersistentVolumeClaim", "PersistentVolume")


def is_hook(manifest: Object | None) -> bool:
    """True for an object that no sync applies as an ordinary one, even if its annotation has no valid phase."""
    annotations = annotations_of(manifest)
    if HOOK in annotations:
        return hook_phases(manifest) != {"Skip"}
    return annotations.get(_HELM_HOOK, "crd-install") != "crd-install"


def phases_of(manifest: Object | None) -> tuple[int, ...]:
    """Every phase in which a sync applies the object, in order; none for skipped objects and for hooks outside of syncs."""
    known = hook_phases(manifest)
    if is_hook(manifest):
        return tuple(i for i, phase in enumerate(PHASES) if phase in known)
    return () if known == {"Skip"} else (SYNC,)


def delete_policies(manifest: Object | None) -> frozenset[str]:
    """When Argo CD deletes a hook; by default before its next creation."""
    annotations = annotations_of(manifest)
    own = frozenset(_POLICIES).intersection(comma_list(annotations.get("argocd.argoproj.io/hook-delete-policy")))
    helm = comma_list(annotations.get("helm.sh/hook-delete-policy"))
    found = own | {_POLICIES_OF_HELM[word] for word in helm if word in _POLICIES_OF_HELM}
    return found or frozenset(("BeforeHookCreation",))


def runs_before(manifest: Object | None) -> bool:
    """True for PreSync and the corresponding Helm hooks."""
    return "PreSync" in hook_phases(manifest)


def place_of(manifest: Object | None, listed_wave: int | None = None) -> Place:
    """The first time when a sync applies this manifest; without a manifest, the wave of the list is used."""
    phases = [PHASES.index(phase) for phase in hook_phases(manifest) if phase in PHASES]
    return Place(
        min(phases, default=SYNC), wave(manifest) if manifest is not None or listed_wave is None else listed_wave
    )
