"""The same duration in two spellings

What it finds: a field whose desired and live values are one Go duration in two spellings (`90m` and `1h30m0s`). The operator that owns the kind
reads a duration and writes it back as Go prints it. For operators that are known to do so, also a new value in Git that they will respell after
the sync.

Why it hurts: Argo CD compares text, so the object is OutOfSync forever, and with self-heal the two write in turns.

How to fix: write the duration as Go prints it: hours, minutes and seconds, with zeros.

Example: `duration: 8760h` in a Certificate, `8760h0m0s` live.

Sources: docs/faq.md of Argo CD; https://pkg.go.dev/time#Duration.String.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule
from argolint.comparison import duration
from argolint.values import get
from argolint.values.knowledge import load

from ._edits import source_place
from ._grammar import is_same_duration
from ._spelling import respelling_findings


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its durations; and those that a change will bring."""
    yield from respelling_findings(
        app,
        lambda change: is_same_duration(change.desired, change.live),
        "duration",
        "Write the duration as Go prints it",
        "meta/v1/Duration",
    )
    for resource in app.stated:
        for pointer in _coming_respellings(resource):
            yield _coming_respelling_finding(app, resource, pointer)


def _coming_respellings(resource: Resource) -> Iterator[str]:
    """Known fields with a new value in Git that is not live yet and differs from Go's own spelling."""
    for entry in load(__package__, "respelled.yaml")["durations"]:
        if resource.group in entry["groups"] and resource.kind in entry["kinds"] and resource.desired is not None:
            for pointer in entry["fields"]:
                desired, live = get(resource.desired, pointer, None), get(resource.live, pointer, None)
                if desired != live and not is_same_duration(desired, live) and duration(desired) != desired:
                    yield pointer


def _coming_respelling_finding(app: App, resource: Resource, pointer: str) -> Finding:
    desired = get(resource.desired, pointer)
    printed = duration(desired)
    return Finding(
        message=f"The operator of {resource.id} will write {pointer} back as {printed!r}, and the object will then be OutOfSync.",
        evidence=(f"{pointer}: {desired!r} desired",),
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        fixes=(
            Fix(
                "Write the duration as Go prints it",
                "manifest",
                source_place(app),
                Edit("json-patch", [{"op": "replace", "path": pointer, "value": printed}]),
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.SPELLING)
