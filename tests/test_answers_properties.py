"""Whatever stands in an answer, a check gives a result, a failure or an ArgolintError: properties, not examples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from zlib import crc32

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from argolint.cli.demo import RECORDING
from argolint.engine import pipeline as lint
from argolint.engine.join import join
from argolint.engine.plan import ChosenRule, Plan
from argolint.errors import ArgolintError
from argolint.plugins import load_rules
from argolint.reports import assemble
from argolint.reports import document as report
from argolint.reports import formats as reporters
from argolint.reports.formats import sarif
from argolint.server.transport import Answer, Query, Stats, Transport
from argolint.snapshots.reader import SnapshotTransport
from argolint.values.decoding import MAX_DEPTH, TooDeepError, items_apart, json_value
from tests.conftest import PROFILE

QUICK = settings(max_examples=settings().max_examples // 2, suppress_health_check=list(HealthCheck))
LIST = "/api/v1/applications"
STATES = ("targetState", "liveState", "normalizedLiveState", "predictedLiveState")
ENDS = (
    "/api/version",
    "/api/v1/settings",
    "/api/v1/projects",
    "/api/v1/clusters",
    "/api/v1/repositories",
    "/api/v1/applicationsets",
    LIST,
    "/managed-resources",
    "/resource-tree",
    "/events",
    "/manifests",
    "/resource",
)

ODD = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1, 1.5, 1e308, -1e308, 2**31, 2**63, 10**40),
        *("", " ", "null", "0", "-1", "²", "9" * 40, "a/b:c", "{}", "[", "true", "%", "*", "\x00", "\u202e", "é" * 300),
        *("2026-13-45T99:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00"),
        *("1h", "-1h", "1e999h", "* * * * *", "100Gi", "1e30000", "https://[", "v1", "apps/v1/x", "Deployment"),
    ]
)
VALUES = st.recursive(
    ODD | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below, max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True, scope="module")
def made_once() -> Iterator[None]:
    """What every report makes anew, the page's template and the list of rules, is made once for all examples."""
    codes: dict[Any, Any] = {}
    compiled = Environment.compile

    def remembered(self: Environment, source: Any, name: str | None = None, *more: Any, **options: Any) -> Any:
        if (source, name) not in codes:
            codes[source, name] = compiled(self, source, name, *more, **options)
        return codes[source, name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Environment, "compile", remembered)
        patch.setattr(sarif, "load_rules", cache(load_rules))
        yield


class Recorded:
    """The demo's recording: cut down to a few applications, with some answers in the place of others, or all changed."""

    offline = True

    def __init__(self, bodies: Mapping[str, bytes], change: Callable[[bytes], bytes] | None = None) -> None:
        self._inner = _recording()
        self._bodies = bodies
        self._change = change
        self.server, self.now, self.stats = self._inner.server, self._inner.now, Stats()

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        for end, body in self._bodies.items():
            if path.endswith(end):
                return Answer(200, "application/json", body)
        if path == LIST and self._change is None:
            return Answer(200, "application/json", _few())
        answer = self._inner.get(path, query, anonymous=anonymous)
        return replace(answer, body=self._change(answer.body)) if self._change else answer


@cache
def _recording() -> SnapshotTransport:
    return SnapshotTransport([RECORDING])


@cache
def _few() -> bytes:
    """The list of those applications that have the most to look at."""
    items = json.loads(_recording().get(LIST).body)["items"]
    items.sort(key=lambda app: (-len(app["status"].get("conditions") or ()), -len(json.dumps(app))))
    return json.dumps({"items": items[:3]}).encode()


EACH = 1 if PROFILE == "long" else 3
"""A report is written in each format with the profile `long`, else in one of three: which ones depends on its findings."""


@cache
def _rules() -> tuple[ChosenRule, ...]:
    return tuple(ChosenRule(r, r.default_options) for r in load_rules().values())


def look(transport: Transport, shard: tuple[int, int] = (1, 1)) -> None:
    """A check and its reports: no rule fails, and no error but an ArgolintError is raised."""
    try:
        part = lint.examine_shard(transport, Plan(_rules(), workers=1, deep=True, shard=shard))
    except ArgolintError:
        return
    outcome = join(part.results, _rules())
    assert [f for f in outcome.failures if f.error.startswith(("rule ", "argolint failed"))] == []
    made = assemble.build(
        outcome,
        servers=part.servers,
        started_at=part.started_at,
        stats=part.stats,
        tool_version="0",
    )
    assert report.from_json(report.to_json(made), "the report") == made
    first = crc32(msgspec.json.encode(made.findings)) % EACH
    for name in tuple(reporters.FORMATS)[first::EACH]:
        reporters.render(made, name, reporters.Style(verbose=True))


@pytest.mark.parametrize("end", ENDS)
@QUICK
@given(body=VALUES.map(lambda v: json.dumps(v).encode()) | st.binary(max_size=40))
def test_any_json_and_any_bytes_in_the_place_of_an_answer(end: str, body: bytes) -> None:
    look(Recorded({end: body}))


@pytest.mark.parametrize("end", ENDS)
@QUICK
@given(data=st.data())
def test_any_value_in_the_place_of_another(end: str, data: st.DataObject) -> None:
    body = _body(end)
    answer = json.loads(body)
    for item in answer.get("items") or ():
        for name in STATES:
            if isinstance(item.get(name), str):
                item[name] = json.loads(item[name])
    places = list(_places(answer))
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        if isinstance(holder, dict) or key < len(holder):
            holder[key] = data.draw(VALUES)
    for item in answer.get("items") or () if isinstance(answer.get("items"), list) else ():
        for name in STATES if isinstance(item, dict) else ():
            if not isinstance(item.get(name), str | None):
                item[name] = json.dumps(item[name])
    look(Recorded({end: json.dumps(answer).encode()}))


@pytest.mark.parametrize(
    ("number", "time"),
    [(1, "0001-01-01T00:00:00Z"), (2, "0001-01-01T00:00:00+14:00"), (3, "9999-12-31T23:59:59-14:00")],
)
def test_times_with_which_nobody_can_calculate(number: int, time: str) -> None:
    def changed(body: bytes) -> bytes:
        return re.sub(rb"[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time.encode(), body)

    look(Recorded({}, changed), shard=(number, 3))


@cache
def _body(end: str) -> bytes:
    """A recorded answer of that kind, the largest of the few applications'."""
    if end == LIST:
        return _few()
    if end.startswith("/api"):
        return _recording().get(end).body
    found = []
    for app in json.loads(_few())["items"]:
        meta = app["metadata"]
        query = (("appNamespace", meta["namespace"]), ("project", app["spec"]["project"]))
        try:
            found.append(_recording().get(f"{LIST}/{meta['name']}{end}", query).body)
        except ArgolintError:
            continue
    return max(found, key=len, default=b'{"items":[{}],"manifests":["{}"],"manifest":"{}"}')


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(child, dict | list):
            yield from _places(child)


@QUICK
@given(text=st.binary(max_size=80) | VALUES.map(lambda v: json.dumps(v).encode()))
def test_any_bytes_are_json_or_one_kind_of_error(text: bytes) -> None:
    try:
        value = json_value(text)
    except msgspec.MsgspecError:
        return
    assert json_value(json.dumps(value)) == value


@QUICK
@given(
    depth=st.integers(2, 3 * MAX_DEPTH),
    kinds=st.text("[{", min_size=1, max_size=5),
    beside=st.tuples(*[st.sampled_from(["", "{},", '["]]",{}],']), st.integers(0, 2 * MAX_DEPTH)] * 2),
)
def test_a_value_is_refused_exactly_when_it_is_nested_too_deeply(
    depth: int, kinds: str, beside: tuple[str, int, str, int]
) -> None:
    signs = [kinds[level % len(kinds)] for level in range(depth - 1)]
    text = "".join("[" if s == "[" else '{"a":' for s in signs) + "1"
    text += "".join("]" if s == "[" else "}" for s in reversed(signs))
    before, many, after, more = beside
    text = f"[{before * many}{text},{after * more}0]"
    if depth <= MAX_DEPTH:
        assert json_value(text) == json_value(text.encode()) == json.loads(text)
    else:
        for spelling in (text, text.encode()):
            with pytest.raises(TooDeepError):
                json_value(spelling)


@QUICK
@given(entries=st.lists(VALUES | st.text(']}[{,":\\ items', max_size=9), max_size=6), more=VALUES)
def test_a_list_taken_apart_has_the_same_entries(entries: list[Any], more: Any) -> None:
    text = json.dumps({"metadata": {"items": [more]}, "more": more, "items": entries, "last": more}).encode()
    assert [json.loads(entry) for entry in items_apart(text)] == entries
    assert items_apart(json.dumps({"items": entries}).encode()[:-2]) == [], "what is cut is no list"
