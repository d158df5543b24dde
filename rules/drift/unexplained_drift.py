"""A difference that no other rule explains

What it finds: a field that Argo CD shows as different between the desired and the live state, or an object that is missing
or extra, and for which no other rule knows the reason. The last writer of the field, its time and both values are told.

Why it hurts: an application that is never in sync hides the next real difference.

How to fix: decide who owns the field. Write the live value to Git, or sync to restore Git's; if another controller must own
the field, leave it out of Git or ignore it with the narrowest rule.
"""

from collections.abc import Iterator

from argolint import App, Finding, Fleet, Location, Rule, Symptom
from argolint.values import show


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding a field, and one for each object that is missing or extra."""
    for resource in app.resources:
        for change in resource.changes:
            desired = "(masked)" if change.secret else show(change.desired, change.pointer)
            live = "(masked)" if change.secret else show(change.live, change.pointer)
            by = f", written by {change.writer.manager}" if change.writer else ""
            yield Finding(
                message=f"{resource.id} {change.pointer} is {live} live and {desired} in the desired state{by}, so the object is OutOfSync.",
                at=Location(app.ref, resource.id, change.pointer),
                explains=(Symptom.change(resource.id, change.pointer),),
            )


RULE = Rule(id="unexplained-drift", family="drift", severity="warning", doc=__doc__, check=check, rank=-100)
