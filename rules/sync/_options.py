"""RFC 6902 operations that set sync options or make a hook, on a manifest or on an Application, and keep what is there."""

from __future__ import annotations

from argolint import App, Json, Object
from argolint.comparison.compare import SYNC_OPTIONS
from argolint.values import annotations_of, dig, items, join_pointer, split_pointer


def on_manifest(desired: Object | None, *options: str) -> list[Json]:
    """Adds the options to the annotation of one manifest."""
    held = annotations_of(desired)
    value = ",".join(filter(None, (held.get(SYNC_OPTIONS), *options)))
    if held or desired is None:
        return [{"op": "add", "path": "/metadata/annotations/argocd.argoproj.io~1sync-options", "value": value}]
    return [{"op": "add", "path": "/metadata/annotations", "value": {SYNC_OPTIONS: value}}]


def on_application(app: App, option: str) -> list[Json]:
    """Adds the option to spec.syncPolicy.syncOptions."""
    if items(app.spec, "syncPolicy", "syncOptions"):
        return [{"op": "add", "path": "/spec/syncPolicy/syncOptions/-", "value": option}]
    if dig(app.spec, "syncPolicy") is not None:
        return [{"op": "add", "path": "/spec/syncPolicy/syncOptions", "value": [option]}]
    return [{"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": [option]}}]


def as_hook(desired: Object | None) -> list[Json]:
    """Makes the manifest a Sync hook that is deleted before each run."""
    pairs = {"argocd.argoproj.io/hook": "Sync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
    if desired is not None and not annotations_of(desired):
        return [{"op": "add", "path": "/metadata/annotations", "value": pairs}]
    return [{"op": "add", "path": "/metadata/annotations" + join_pointer(k), "value": v} for k, v in pairs.items()]


def pasted(operations: list[Json]) -> str:
    """The annotations that these operations add, as YAML to paste: for edits that no replay of a comparison can judge."""
    pairs: dict[str, str] = {}
    for operation in operations:
        value = operation["value"]
        pairs |= value if isinstance(value, dict) else {split_pointer(operation["path"])[-1]: value}
    return "metadata:\n  annotations:" + "".join(f"\n    {key}: {value}" for key, value in sorted(pairs.items()))


def sync_options(desired: Object | None) -> frozenset[str]:
    """The options of the manifest's own annotation."""
    text = annotations_of(desired).get(SYNC_OPTIONS) or ""
    return frozenset(option.strip() for option in text.split(",") if option.strip())
