"""The same duration in two spellings

What it finds: a field whose desired and live values are one Go duration written in two ways (`90m` and `1h30m0s`). The
operator that owns the kind reads a duration and writes it back as Go prints it.

Why it hurts: Argo CD compares text, so the object is OutOfSync for ever, and with self-heal the two write in turns.

How to fix: write the duration as Go prints it: hours, minutes and seconds, zeros included.

Example: `duration: 8760h` in a Certificate, `8760h0m0s` live.

Sources: docs/faq.md of Argo CD; https://pkg.go.dev/time#Duration.String.
"""

from collections.abc import Iterator

from argolint import App, Change, Finding, Fleet, Resource, Rule

from .edits import write_live
from .fields import finding, matching, pointers, value, writer
from .grammar import same_duration
from .known_types import known_type_fields


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object, with all its durations."""
    for resource, changes in matching(app, _respelled):
        first = changes[0]
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} holds {value(first, first.live)} at {first.pointer} where Git says {value(first, first.desired)}, the same duration,"
            f" written by {writer(first)}; Argo CD compares the text, so the object stays OutOfSync.",
            fixes=(
                write_live(app, resource, changes, "Write the duration as Go prints it"),
                known_type_fields(resource, pointers(changes), "meta/v1/Duration"),
            ),
        )


def _respelled(resource: Resource, change: Change) -> bool:
    return not change.secret and same_duration(change.desired, change.live)


RULE = Rule(id="duration-normalised", family="drift", severity="warning", doc=__doc__, check=check, rank=5)
