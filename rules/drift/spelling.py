"""One value in two spellings: what `quantity-normalised` and `duration-normalised` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from argolint import App, Change, Finding, Json, Resource
from argolint.applied import git_moved

from .edits import write_live
from .fields import finding, matching, pointers, value, writer
from .known_types import known_type_fields


def respelled(app: App, same: Callable[[Json, Json], bool], noun: str, title: str, kind: str) -> Iterator[Finding]:
    """One finding an object, with all its fields whose two texts mean the same `noun`; `kind` is its name in knownTypeFields."""

    def lasting(resource: Resource, change: Change) -> bool:
        equal = not change.secret and same(change.desired, change.live)
        return equal and not git_moved(app, resource, change)

    for resource, changes in matching(app, lasting):
        first = changes[0]
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} holds {value(first, first.live)} at {first.pointer} where Git says {value(first, first.desired)}, the same {noun},"
            f" written by {writer(first)}; Argo CD compares the text, so the object stays OutOfSync.",
            fixes=(
                write_live(app, resource, changes, title),
                known_type_fields(resource, pointers(changes), kind),
            ),
        )
