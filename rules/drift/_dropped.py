"""What Git has dropped since an apply, and live still has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import Json
from argolint.values import below, join_pointer
from argolint.values.kubernetes import ITEM_NAMES


def left_fields(was: Json, desired: Json, live: Json, at: str = "") -> Iterator[str]:
    """The pointers into live of what was applied, is live with the same value, and is not desired."""
    if isinstance(was, Mapping) and isinstance(desired, Mapping) and isinstance(live, Mapping):
        for key, value in was.items():
            place = at + join_pointer(str(key))
            if key not in live or (not at and key not in ("spec", "data", "metadata")) or _is_never_left(place):
                continue
            if key in desired or place in ("/metadata", "/metadata/labels", "/metadata/annotations"):
                yield from left_fields(value, desired.get(key) or {}, live[key], place)
            elif value not in (None, "", 0, False, [], {}) and _holds(live[key], value):
                yield place
    elif isinstance(was, list) and isinstance(desired, list) and isinstance(live, list):
        yield from _left_items(was, desired, live, at)


def _left_items(was: list[Json], desired: list[Json], live: list[Json], at: str) -> Iterator[str]:
    """The same in a list of named items."""
    name = next(
        (k for k in ITEM_NAMES if all(isinstance(i, Mapping) and k in i for i in (*was, *desired, *live))), None
    )
    if name is None:
        return
    wanted = {str(item[name]): item for item in desired}
    applied = {str(item[name]): item for item in was}
    for place, item in enumerate(live):
        called = str(item[name])
        pointer = f"{at}/{place}"
        if called in wanted and called in applied:
            yield from left_fields(applied[called], wanted[called], item, pointer)
        elif called in applied and called not in wanted and _holds(item, applied[called]):
            yield pointer


def _holds(live: Json, applied: Json) -> bool:
    """Whether live has all that was applied, perhaps with defaults next to it."""
    if isinstance(applied, Mapping) and isinstance(live, Mapping):
        return all(key in live and _holds(live[key], value) for key, value in applied.items())
    if isinstance(applied, list) and isinstance(live, list) and len(applied) == len(live):
        return all(_holds(*pair) for pair in zip(live, applied, strict=True))
    return bool(applied == live)


def _is_never_left(pointer: str) -> bool:
    """True for metadata other than labels and annotations, for the marks of apply and of tracking, and for what an autoscaler takes over."""
    marks = ("/metadata/annotations/kubectl.kubernetes.io~1", "/metadata/annotations/argocd.argoproj.io~1")
    own = pointer.startswith("/metadata/") and not any(
        below(pointer, f"/metadata/{m}") for m in ("labels", "annotations")
    )
    instance = pointer.startswith("/metadata/labels/") and pointer.endswith(("~1instance", "~1managed-by"))
    return own or instance or pointer.startswith(marks) or pointer.endswith("/replicas")
