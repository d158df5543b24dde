"""An interval of an ExternalSecret is no duration for the operator

What it finds: a `refreshInterval` such as `1d` or `7 days`, also in the template of a ClusterExternalSecret. The operator reads Go's durations,
whose longest unit is the hour, and the CRD takes any text.

Why it hurts: the operator lists all ExternalSecrets of the cluster at once, and one that it cannot read fails the list. No new or changed
ExternalSecret of any namespace is looked at any more, and none of them gets a status. Where the operator's webhook is installed, it refuses the
object, and the sync fails instead.

How to fix: write hours, minutes and seconds: `24h0m0s` for a day.

Example:

    ExternalSecret shop/db has refreshInterval "1d", which Go cannot read, so the operator sees no new or changed ExternalSecret of the cluster.

Sources: https://pkg.go.dev/time#ParseDuration; apimachinery pkg/apis/meta/v1/duration.go; client-go tools/cache/reflector.go. Tried with
External Secrets 0.16.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Rule
from argolint.redaction import excerpt
from argolint.values import text_at
from argolint.values.patterns import regex

from . import _external_secret as es

_DAYS = regex(r"\s*(\d{1,5})\s*(d|day|days|w|week|weeks)\s*")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each such interval in the cluster; the first of a kind explains the objects without a status."""
    silent = list(es.unread(app))
    for found in es.unreadable(app):
        resource, interval = found.resource, text_at(found.manifest, "spec", "refreshInterval")
        kept = [r for r in silent if r.kind == resource.kind]
        silent = [r for r in silent if r not in kept]
        yield Finding(
            message=f'{resource.id} has refreshInterval "{excerpt(interval, 30)}", which Go cannot read, '
            f"so the operator sees no new or changed {resource.kind} of the cluster.",
            at=Location(app.ref, resource.id, found.pointer("/spec/refreshInterval")),
            fixes=(_fix(found, interval),),
            explains=tuple(symptom for r in kept for symptom in es.health_consequences(app, r.id)),
        )


def _fix(found: es.Declared, interval: str) -> Fix:
    read = _DAYS.fullmatch(interval.lower())
    hours = int(read[1]) * (24 if read[2].startswith("d") else 168) if read else 1
    value = f"{hours}h0m0s"
    edit = Edit("json-patch", found.set("/spec/refreshInterval", value))
    return Fix(f"Write it as Go does: {value}", "manifest", str(found.resource.id), edit)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=es.holds_external_secrets, rank=Rank.CAUSE)
