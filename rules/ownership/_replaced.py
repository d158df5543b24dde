"""What takes the place of an object that left the manifests: a workload of another kind with its name, or one with its content and another name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import App, Fix, Json, Object, Resource
from argolint.edits import manifest_patch
from argolint.values import get
from argolint.values.kubernetes import DATA_FIELDS, data_keys, pod_spec

from ..shared.references import User


def replacement(app: App, resource: Resource) -> Resource | None:
    """The only object of the application that the next sync makes in its place."""
    coming = [
        r
        for r in app.resources
        if r.desired and r.absent and not r.hook and (r.group, r.namespace) == (resource.group, resource.namespace)
    ]
    found = [r for r in coming if _has_its_name(r, resource) or _has_its_content(r, resource)]
    return found[0] if len(found) == 1 else None


def _has_its_name(new: Resource, old: Resource) -> bool:
    return new.name == old.name and bool(pod_spec(new.desired)[1]) and bool(pod_spec(old.live)[1])


def _has_its_content(new: Resource, old: Resource) -> bool:
    if new.kind != old.kind or not (new.desired and old.live):
        return False
    if keys := data_keys(new.desired):
        return keys == data_keys(old.live)
    return _is_held({k: v for k, v in new.desired.items() if k not in _OWN}, old.live)


_OWN = ("metadata", "status", *DATA_FIELDS)


def _is_held(part: Json, whole: Json) -> bool:
    """Whether the live value has each field of the manifest; the API server adds others."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_held(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_held, part, whole))
    return bool(part == whole)


def renaming_fixes(app: App, old: Resource, new: Resource, found: Sequence[User]) -> Iterator[Fix]:
    """The fix that names the new object at each place of this application's manifest, if one manifest has all the places."""
    if {(u.app, u.id) for u in found} != {(app.ref, found[0].id)}:
        return
    user = app.resource(found[0].id.key)
    operations = [o for u in found for o in _operations(user.desired, u.pointer, old, new)] if user else []
    if operations:
        yield manifest_patch(found[0].id, f"Name {new.kind} {new.name} in its place", operations)


def _operations(user: Object | None, pointer: str, old: Resource, new: Resource) -> Iterator[dict[str, Json]]:
    if get(user, pointer, None) != old.name:
        return
    if new.kind == old.kind:
        yield {"op": "replace", "path": pointer, "value": new.name}
    elif get(user, kind := f"{pointer.rpartition('/')[0]}/kind", None) == old.kind:
        yield {"op": "replace", "path": kind, "value": new.kind}
