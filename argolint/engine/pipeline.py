"""The whole check in three steps: examine, merge, conclude. A plain run is one shard.

A shard's results with their facts are plain data: `--shard I/N` writes them, `argolint merge` reads them and concludes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import islice

import msgspec

from argolint.application.fleet import Fleet
from argolint.engine import run
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan, Progress
from argolint.errors import UsageError
from argolint.host.timing import summed
from argolint.model import AppRef, Fact, Failure, Finding, Symptom
from argolint.model.results import AppResult, Outcome, ServerRead
from argolint.model.selection import FindingFilter
from argolint.model.stats import Cost, Stats
from argolint.redaction import Redactor, excerpt, in_name
from argolint.redaction.masks import slow_mask
from argolint.server.transport import Transport
from argolint.suppression import suppress
from argolint.suppression.suppress import Suppressions
from argolint.values import enumerated, parse_time
from argolint.values.decoding import decoder, require_shallow

SHARD_VERSION = "2.0"


class Part(msgspec.Struct, frozen=True):
    """The results of one shard. `rules`: ids of the rules that ran, `shown`: the filter for their findings.

    `whole` is False if options limit the applications. `asked`: a hash of all options that affect the results; it is equal for shards of
    one run.
    """

    shard_version: str
    shard: tuple[int, int]
    servers: tuple[ServerRead, ...]
    started_at: str
    rules: tuple[str, ...]
    results: tuple[AppResult, ...]
    failures: tuple[Failure, ...]
    stats: Stats = Stats()
    remarks: tuple[str, ...] = ()
    shown: FindingFilter = FindingFilter()
    spent: tuple[Cost, ...] = ()
    whole: bool = True
    asked: str = ""

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The costs of the fleet and of all applications, if they were measured."""
        return summed(self.spent, *(r.spent for r in self.results))


class _Versioned(msgspec.Struct):
    shard_version: str


def examine_shard(
    t: Transport,
    plan: Plan,
    progress: Progress = lambda done, total: None,
    fleet: Fleet | None = None,
    look: run.Look | None = None,
) -> Part:
    """Read the fleet (unless given) and examine this shard's applications, here or with `look`."""
    failures: tuple[Failure, ...] = ()
    if fleet is None:
        fleet, failures = read_fleet(t)
    results = sorted(run.run(t, fleet, plan, progress, look), key=lambda r: r.ref)
    return Part(
        SHARD_VERSION,
        plan.shard,
        (ServerRead(fleet.server, fleet.version),),
        t.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        tuple(c.rule.id for c in plan.rules),
        tuple(results),
        failures,
        remarks=fleet.remarks,
        shown=plan.shown,
    )


def merge(parts: Sequence[tuple[str, Part]]) -> Part:
    """Shards, in any order, as one part. UsageError if they do not belong to one run. Names are for messages."""
    parts = sorted(parts, key=lambda named: named[1].shard)
    first_name, first = parts[0]
    for name, part in parts[1:]:
        for what, same in (
            ("servers", _servers_of(part) == _servers_of(first)),
            ("rules", part.rules == first.rules),
            ("shown", part.shown == first.shown),
            ("selection of applications", part.whole == first.whole),
            (
                "options: applications, --deep, --manifests or what a configuration says of rules",
                part.asked == first.asked,
            ),
        ):
            if not same:
                raise UsageError(f"{name} and {first_name} differ in their {what}", "merge the shards of one run only")
        if part.shard[1] != first.shard[1]:
            raise UsageError(
                f"{name} is one of {part.shard[1]} shards, {first_name} one of {first.shard[1]}",
                "merge the shards of one run only",
            )
    _require_each_once(parts)
    return msgspec.structs.replace(
        first,
        shard=(1, 1),
        servers=tuple({s.url: s for _, p in parts for s in p.servers}.values()),
        started_at=min(p.started_at for _, p in parts),
        results=tuple(sorted((r for _, p in parts for r in p.results), key=lambda r: r.ref)),
        remarks=tuple(dict.fromkeys([*(r for _, p in parts for r in p.remarks), *_time_gap_remarks(parts)])),
        failures=tuple(dict.fromkeys(f for _, p in parts for f in p.failures)),
        stats=Stats(
            sum(p.stats.requests for _, p in parts),
            sum(p.stats.bytes for _, p in parts),
            round(sum(p.stats.seconds for _, p in parts), 3),
            sum(p.stats.slowed or 0 for _, p in parts) or msgspec.UNSET,
        ),
        spent=summed(*(p.spent for _, p in parts)),
    )


def _require_each_once(parts: Sequence[tuple[str, Part]]) -> None:
    """UsageError for a missing or repeated shard, and for an application that is in two of them."""
    count = parts[0][1].shard[1]
    files: dict[int, list[str]] = {}
    for name, part in parts:
        files.setdefault(part.shard[0], []).append(name)
    if absent := count - len(files):  # a file may state any number
        missing = [str(i) for i in islice((i for i in range(1, count + 1) if i not in files), 3)]
        listing = f"{', '.join(missing)} and {absent - 3} more" if absent > 3 else enumerated(missing)
        raise UsageError(
            f"shards {listing} of {count} are missing" if absent > 1 else f"shard {missing[0]} of {count} is missing",
            f"give its file too; `argolint check --shard {missing[0]}/{count}` with the options of the others writes it",
        )
    if twice := next(((index, names) for index, names in files.items() if names[1:]), None):
        raise UsageError(f"{enumerated(twice[1])} are both shard {twice[0]} of {count}", "give each shard's file once")
    seen: dict[AppRef, str] = {}
    for name, part in parts:
        for ref in (result.ref for result in part.results if not result.alongside):
            if seen.setdefault(ref, name) != name:
                raise UsageError(f"{name} and {seen[ref]} both looked at {ref}", "merge the shards of one run only")


def _time_gap_remarks(parts: Sequence[tuple[str, Part]]) -> Iterator[str]:
    """A remark on shards whose reads lie far apart."""
    times = sorted((moment, name) for name, part in parts if (moment := parse_time(part.started_at)) is not None)
    if times and times[-1][0] - times[0][0] > _FAR:
        (first, one), (last, other) = times[0], times[-1]
        hours = int((last - first).total_seconds() // 3600)
        yield f"{other} was read {hours} hour{'s' if hours > 1 else ''} after {one}: are they shards of one run?"


_FAR = timedelta(hours=1)


def _servers_of(part: Part) -> frozenset[str]:
    """The servers of a part, including those that could not be read."""
    return frozenset((*(s.name or s.url for s in part.servers), *(f.server for f in part.failures if f.server)))


def conclude(part: Part, rules: Sequence[ChosenRule], suppressions: Suppressions) -> Outcome:
    """Join the results, apply suppressions, and keep the findings that are to be shown."""
    outcome = join(part.results, rules)
    done = suppress.apply(replace(outcome, failures=(*part.failures, *outcome.failures)), suppressions)
    return done.showing(part.shown, {c.rule.id: c.rule.family for c in rules})


def to_json(part: Part) -> bytes:
    """The part as the JSON of a shard's file."""
    return msgspec.json.encode(msgspec.structs.replace(part, results=portable(part.results))) + b"\n"


def portable(results: Iterable[AppResult]) -> tuple[AppResult, ...]:
    """Results that may leave this machine. Whole manifests in facts have their secrets replaced so that shards of one server can still
    compare them. Logins are removed from claims, which name fields: a map's key may contain one.
    """
    results = tuple(results)
    servers = {fact.app.server for r in results for _, fact in r.facts}
    redactors = {server: Redactor(partial(slow_mask, salt=server)) for server in servers}

    def safe(fact: Fact) -> Fact:
        redactor = redactors[fact.app.server]
        data = msgspec.to_builtins(fact.data)
        key = redactor.text(fact.key, named=True)
        return replace(fact, key=key, data={own: redactor.value(value) for own, value in data.items()})

    def shown(result: AppResult) -> AppResult:
        facts = tuple((rule, safe(fact)) for rule, fact in result.facts)
        return replace(result, facts=facts, findings=tuple(map(_without_logins, result.findings)))

    return tuple(map(shown, results))


def _without_logins(finding: Finding) -> Finding:
    """The finding with the logins in its claims and `follows` masked, in the same way on every machine."""

    def shown(symptom: Symptom) -> Symptom:
        return replace(symptom, detail=in_name(symptom.detail)) if symptom.kind == "change" else symptom

    follows = (replace(f, symptom=shown(f.symptom)) if f.symptom else f for f in finding.follows)
    return replace(finding, explains=tuple(map(shown, finding.explains)), follows=tuple(follows))


def from_json(text: bytes, where: str) -> Part:
    """The part from a shard's file. UsageError for any other file, or another version."""
    try:
        version = decoder(_Versioned)(text).shard_version
        if version.partition(".")[0] != SHARD_VERSION.partition(".")[0]:
            raise UsageError(
                f"{where} is a shard of version {excerpt(version, 20)}, written by another argolint; this one reads {SHARD_VERSION}",
                "run `argolint check --shard I/N` again for every shard, with the argolint that merges them",
            )
        part = decoder(Part)(text)
        for result in part.results:
            for _, fact in result.facts:
                require_shallow(fact.data)
            for fix in (fix for finding in result.findings for fix in finding.fixes):
                require_shallow(fix.edit.content)
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{where} is no shard: {error}", "write one with `argolint check --shard I/N -o json=FILE`"
        ) from None
    index, count = part.shard
    if not 1 <= index <= count:
        raise UsageError(
            f"{where} is a damaged shard: it calls itself shard {index} of {count}",
            "write it again with `argolint check --shard I/N -o json=FILE`",
        )
    return part
