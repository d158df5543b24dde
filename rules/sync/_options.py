"""RFC 6902 operations that set a sync option, on a manifest or on an Application, and keep those that are there."""

from __future__ import annotations

from argolint import App, Json, Object
from argolint.values import annotations_of, dig, items

ANNOTATION = "argocd.argoproj.io/sync-options"


def on_manifest(desired: Object | None, *options: str) -> list[Json]:
    """Adds the options to the annotation of one manifest."""
    held = annotations_of(desired)
    value = ",".join(filter(None, (held.get(ANNOTATION), *options)))
    if held or desired is None:
        return [{"op": "add", "path": "/metadata/annotations/argocd.argoproj.io~1sync-options", "value": value}]
    return [{"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: value}}]


def on_application(app: App, option: str) -> list[Json]:
    """Adds the option to spec.syncPolicy.syncOptions."""
    if items(app.spec, "syncPolicy", "syncOptions"):
        return [{"op": "add", "path": "/spec/syncPolicy/syncOptions/-", "value": option}]
    if dig(app.spec, "syncPolicy") is not None:
        return [{"op": "add", "path": "/spec/syncPolicy/syncOptions", "value": [option]}]
    return [{"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": [option]}}]


def sync_options(desired: Object | None) -> frozenset[str]:
    """The options of the manifest's own annotation."""
    text = annotations_of(desired).get(ANNOTATION) or ""
    return frozenset(option.strip() for option in text.split(",") if option.strip())
