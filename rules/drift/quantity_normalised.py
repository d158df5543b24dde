"""The same quantity in two spellings

What it finds: a field whose desired and live values are one Kubernetes quantity written in two ways (`1000m` and `1`,
`1024Mi` and `1Gi`). It happens in custom resources: Argo CD compares their fields as text, while the operator that owns the
kind reads a quantity and writes it back in its canonical form.

Why it hurts: the object is OutOfSync for ever, each sync restarts the exchange, and with self-heal it never ends.

How to fix: write the canonical form in Git. For a kind with many such fields, tell Argo CD their types with
`resource.customizations.knownTypeFields`.

Example: `memory: 3072Mi` in Git, `memory: 3Gi` live.

Sources: argoproj/argo-cd#1615, #17682, #21135; docs/faq.md ("Why is my app Out Of Sync even after syncing?").
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Resource, Rule

from .applied import git_moved
from .edits import write_live
from .fields import finding, matching, pointers, value, writer
from .grammar import same_quantity
from .known_types import known_type_fields


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object, with all its quantities."""

    def lasting(resource: Resource, change: Change) -> bool:
        return _respelled(resource, change) and not git_moved(app, resource, change)

    for resource, changes in matching(app, lasting):
        first = changes[0]
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} holds {value(first, first.live)} at {first.pointer} where Git says {value(first, first.desired)}, the same quantity,"
            f" written by {writer(first)}; Argo CD compares the text, so the object stays OutOfSync.",
            fixes=(
                write_live(app, resource, changes, "Write the canonical quantity"),
                known_type_fields(resource, pointers(changes), "core/Quantity"),
            ),
        )


def _respelled(resource: Resource, change: Change) -> bool:
    return not change.secret and same_quantity(change.desired, change.live)


RULE = Rule(id="quantity-normalised", family="drift", severity="warning", doc=__doc__, check=check, rank=5)
