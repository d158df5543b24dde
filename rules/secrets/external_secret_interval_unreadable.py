"""An interval of an ExternalSecret is no duration for the operator

What it finds: a `refreshInterval` such as `1d` or `7 days`, also in the template of a ClusterExternalSecret. The operator reads Go's durations,
whose longest unit is the hour, and the CRD takes any text.

Why it hurts: the operator lists all ExternalSecrets of the cluster at once, and one that it cannot read fails the list. No new or changed
ExternalSecret of any namespace is looked at any more, and none of them gets a status. Where the operator's webhook is installed, it refuses the
object, and the sync fails instead.

The finding also explains the objects of other applications that have no status since.

How to fix: write hours, minutes and seconds: `24h0m0s` for a day.

Example:

    ExternalSecret shop/db has refreshInterval "1d", which Go cannot read, so the operator sees no new or changed ExternalSecret of the cluster.

Sources: https://pkg.go.dev/time#ParseDuration; apimachinery pkg/apis/meta/v1/duration.go; client-go tools/cache/reflector.go. Tried with
External Secrets 0.16.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import to_builtins

from argolint import (
    App,
    Edit,
    Fact,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
)
from argolint.redaction import excerpt
from argolint.values import enumerated, items, parse_time, text_at
from argolint.values.patterns import regex

from . import _external_secret as es

_DAYS = regex(r"\s*(\d{1,5})\s*(d|day|days|w|week|weeks)\s*")
_CLOCKS = timedelta(minutes=1)
"""How far two times of creation may be apart in one sync."""


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """The unreadable intervals in the cluster, and the objects of these kinds without a status, under their kind."""
    for found in es.unreadable(app):
        resource, interval = found.resource, text_at(found.manifest, "spec", "refreshInterval")
        value = _as_go_does(interval)
        data = {
            "interval": excerpt(interval, 30),
            "value": value,
            "edit": found.set("/spec/refreshInterval", value),
            "place": found.pointer("/spec/refreshInterval"),
        }
        yield Fact(_join_key(app, resource.kind), app.ref, {**_known(resource), **data}, about=resource.key)
    for kind in ("ExternalSecret", "ClusterExternalSecret"):
        for resource in app.of_kind(kind, es.GROUP):
            if resource.live and not items(resource.live, "status", "conditions"):
                users = es.waiting_workloads(app, resource.namespace, es.target_name(resource.live))
                waiting = [to_builtins(user.id) for user in users]
                yield Fact(_join_key(app, kind), app.ref, {**_known(resource), "users": waiting}, about=resource.key)


def _join_key(app: App, kind: str) -> str:
    return f"{app.cluster}|{kind}"


def _known(resource: Resource) -> dict[str, object]:
    return {
        "id": to_builtins(resource.id),
        "created": text_at(resource.live, "metadata", "creationTimestamp"),
    }


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for each such interval; the first of a kind explains the objects that came after it and have no status."""
    unread = [fact for fact in facts if "users" in fact.data]
    intervals = (fact for fact in facts if "interval" in fact.data)
    for fact in sorted(intervals, key=lambda f: (f.data["created"], f.app, f.data["place"], f.data["id"]["name"])):
        data, id_ = fact.data, ResourceId(**fact.data["id"])
        kept = [each for each in unread if _came_later(each, fact)]
        unread = [each for each in unread if each not in kept]
        silent = [(each.app, ResourceId(**each.data["id"])) for each in kept]
        users = [ResourceId(**user) for each in kept for user in each.data["users"]]
        others = [str(other) for _, other in silent if other.key != id_.key]
        yield Finding(
            message=f'{id_} has refreshInterval "{data["interval"]}", which Go cannot read, '
            f"so the operator sees no new or changed {id_.kind} of the cluster.",
            at=Location(fact.app, id_, data["place"]),
            evidence=(f"without a status: {enumerated(others, limit=5)}",) if others else (),
            related=tuple(Related(app, other, role="symptom") for app, other in silent if other.key != id_.key),
            fixes=(_fix(id_, data["value"], data["edit"]),),
            explains=tuple(Symptom.health(each) for each in (*(other for _, other in silent), *users)),
        )


def _fix(id_: ResourceId, value: str, edit: Json) -> Fix:
    title = f"Write it as Go does: {value}"
    return Fix(title, "manifest", str(id_), Edit("json-patch", edit), resource=id_, effects=("needs-sync",))


def _came_later(silent: Fact, interval: Fact) -> bool:
    """Whether the object was made when the interval was there: an earlier one would have got a status before."""
    made, stalled = parse_time(silent.data["created"]), parse_time(interval.data["created"])
    return made is None or stalled is None or made >= stalled - _CLOCKS


def _as_go_does(interval: str) -> str:
    read = _DAYS.fullmatch(interval.lower())
    hours = int(read[1]) * (24 if read[2].startswith("d") else 168) if read else 1
    return f"{hours}h0m0s"


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    collect=collect,
    join=join,
    reads=es.holds_external_secrets,
    rank=Rank.ROOT,
)
