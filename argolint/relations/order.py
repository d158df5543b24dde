"""What comes before what in one sync: phases, then waves (gitops-engine pkg/sync/sync_tasks.go, pkg/sync/hook/hook.go)."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.model import Object
from argolint.values import annotations_of, comma_list
from argolint.values.kubernetes import HOOK, wave

PHASES = ("PreSync", "Sync", "PostSync")
_SYNC_HOOKS = frozenset((*PHASES, "SyncFail", "Skip"))
_OF_HELM = {"pre-install": "PreSync", "pre-upgrade": "PreSync", "post-install": "PostSync", "post-upgrade": "PostSync"}


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """When a sync applies an object: the phase (0 PreSync, 1 Sync, 2 PostSync), then the wave."""

    phase: int
    wave: int


def hook_phases(manifest: Object | None) -> frozenset[str]:
    """The phases in which an object runs as a hook; Argo CD's own annotation wins over Helm's where it knows a word of it."""
    annotations = annotations_of(manifest)
    own = _SYNC_HOOKS.intersection(comma_list(annotations.get(HOOK)))
    helm = comma_list(annotations.get("helm.sh/hook"))
    return frozenset(own) or frozenset(_OF_HELM[word] for word in helm if word in _OF_HELM)


def runs_before(manifest: Object | None) -> bool:
    """PreSync, or the Helm hooks that stand for it."""
    return "PreSync" in hook_phases(manifest)


def place_of(manifest: Object | None, listed_wave: int | None = None) -> Place:
    """When a sync applies this manifest; the wave of the list counts where the manifest is not known."""
    phases = [PHASES.index(phase) for phase in hook_phases(manifest) if phase in PHASES]
    return Place(min(phases, default=1), wave(manifest) if manifest is not None or listed_wave is None else listed_wave)
