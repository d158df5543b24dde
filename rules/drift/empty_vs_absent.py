"""An empty value on one side, nothing on the other

What it finds: `{}`, `[]`, `""`, `null`, `0` or `false` in Git where the live object has no such field, or the other way
round. A controller that reads the object into a typed structure and writes it back leaves such values out (Go's
`omitempty`), and API servers drop some of them too.

Why it hurts: both sides mean the same, yet Argo CD shows a difference that no sync can end.

How to fix: leave the empty field out of Git; where live has the empty value, write it.

Example: `ipAddresses: []` in a Certificate that the operator stores without the field.

Sources: argoproj/argo-cd#18213, #16355, #18142.
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fix, Fleet, Resource, Rule, narrowest_ignore
from argolint.applied import git_moved, new_in_git, rewritten_on_arrival

from ._defaults import is_custom
from ._edits import drop, write_live
from ._fields import finding, listing, matching, pointers, value
from ._grammar import only_hollow
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object, with all its empty fields."""

    def lasting(resource: Resource, change: Change) -> bool:
        said = _says_nothing(resource, change) and not _default(app, resource, change)
        return said and not git_moved(app, resource, change) and not new_in_git(app, resource, change)

    for resource, changes in matching(app, lasting):
        first = changes[0]
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} differs at {listing(changes)} only in how it says nothing: {value(first, first.desired)} in Git,"
            f" {value(first, first.live)} live; no sync ends that.",
            fixes=(_fix(app, resource, changes), narrowest_ignore(app, resource, pointers(changes))),
        )


def _fix(app: App, resource: Resource, changes: tuple[Change, ...]) -> Fix | None:
    if all(change.live is MISSING for change in changes):
        return drop(app, resource, changes, "Leave the empty field out of the manifest")
    return write_live(app, resource, changes, "Write the field as the cluster keeps it")


def _says_nothing(resource: Resource, change: Change) -> bool:
    """True for fields, not for entries of a user's own map, where an empty text is a value."""
    entry = change.pointer.startswith(("/metadata/labels/", "/metadata/annotations/", "/data/", "/stringData/"))
    return not entry and only_hollow(change.desired, change.live) and not is_sort(change.writer, "person")


def _default(app: App, resource: Resource, change: Change) -> bool:
    """True for an empty value that the API server filled in: a default like any other, which `crd-default` tells."""
    return change.desired is MISSING and is_custom(resource.group) and rewritten_on_arrival(app, resource, change)


RULE = Rule(id="empty-vs-absent", family="drift", severity="warning", doc=__doc__, check=check, rank=5)
