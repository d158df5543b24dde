"""What a tenant writes is read in a time that grows with its length: counted in calls, with n, 2n and 4n of it.

The work that comes with a size alone is the difference of two sizes: it doubles where it is linear, and grows fourfold where it is quadratic.
"""

from __future__ import annotations

import copy
import cProfile
import os
import pstats
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from argolint import testing
from argolint.plugins import load_rules
from argolint.redaction import PRINTED, excerpt, show_sides, without_secrets
from tests.conftest import ROOT
from tests.fleets import app, config_map

RULES = list(load_rules().values())
SIZE = int(os.environ.get("ARGOLINT_TEST_LINEAR", "20"))
"""What the smallest of the three sizes is counted in. Where the variable is set, what takes long is run too."""
MOST_GROWTH = 2.8
LITTLE = 2_000
"""Calls between two sizes that are too few to tell anything."""

Made = Callable[[int], list[dict[str, Any]]]


def _pod(**live: Any) -> list[dict[str, Any]]:
    own = {"name": "p", "namespace": "shop", "uid": "u"}
    desired = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": own,
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    metadata = {**own, **live.pop("metadata", {})}
    return [app("web", {"desired": desired, "live": {**desired, "metadata": metadata, **live}})]


def _deployment(desired: Any, live: Any) -> list[dict[str, Any]]:
    def of(container: Any) -> dict[str, Any]:
        pods = {"containers": [{"name": "c", "image": "x", **container}]}
        spec = {"replicas": 1, "template": {"spec": pods}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "shop"},
            "spec": spec,
        }

    return [app("web", {"desired": of(desired), "live": of(live)})]


def _application(**spec: Any) -> list[dict[str, Any]]:
    made = app("web", {"desired": config_map("c"), "live": config_map("c", content="2")})
    return [{**made, "spec": {**made["spec"], **spec}}]


def _external_secret(n: int) -> list[dict[str, Any]]:
    entry = {"secretKey": "a", "remoteRef": {"key": "kv/a"}}
    spec = {"secretStoreRef": {"name": "s"}, "target": {"name": "t"}, "data": [entry] * n}
    made = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "e", "namespace": "shop"},
    }
    return [app("web", {**made, "spec": spec})]


def _fields(n: int) -> list[dict[str, Any]]:
    made = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "e", "namespace": "shop"},
    }
    spec = {"secretStoreRef": {"name": "s"}, "target": {"name": "t"}}
    more = {f"k{i}": "x" for i in range(n)}
    return [app("web", {"desired": {**made, "spec": {**spec, **more}}, "live": {**made, "spec": spec}})]


def _status(**status: Any) -> list[dict[str, Any]]:
    return [{**app("web", {"desired": config_map("c"), "live": config_map("c", content="2")}), "status": status}]


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
ENTRY = {"group": "", "kind": "ConfigMap"}
WRITTEN: dict[str, Made] = {
    "owner references alike": lambda n: _pod(metadata={"ownerReferences": [OWNER] * n}),
    "owner references": lambda n: _pod(metadata={"ownerReferences": [{**OWNER, "name": f"p{i}", "uid": f"u{i}"} for i in range(n)]}),
    "labels": lambda n: _pod(metadata={"labels": {f"l{i}": "x" for i in range(n)}}),
    "annotations": lambda n: _pod(metadata={"annotations": {f"example.com/a{i}": "x" for i in range(n)}}),
    "finalizers": lambda n: _pod(metadata={"finalizers": [f"example.com/f{i}" for i in range(n)]}),
    "a long annotation": lambda n: _pod(metadata={"annotations": {"a": "${" * n * 20}}),
    "conditions": lambda n: _pod(status={"conditions": [{"type": f"C{i}", "status": "False", "message": "no"} for i in range(n)]}),
    "variables alike": lambda n: _deployment({}, {"env": [{"name": "A", "value": "x"}] * n}),
    "variables": lambda n: _deployment({"env": [{"name": f"A{i}", "value": "x"} for i in range(n)]}, {"env": [{"name": f"A{i}", "value": "y"} for i in range(n)]}),
    "arguments": lambda n: _deployment({"args": [f"--a{i}" for i in range(n)]}, {"args": [f"--b{i}" for i in range(n)]}),
    "ports": lambda n: _deployment({"ports": [{"containerPort": i} for i in range(1, n)]}, {}),
    "data": lambda n: [app("web", {"desired": {**config_map("c"), "data": {f"k{i}": "1" for i in range(n)}}, "live": {**config_map("c"), "data": {f"k{i}": "2" for i in range(n)}}})],
    "entries of an ExternalSecret": _external_secret,
    "fields that live lacks": _fields,
    "contested fields": lambda n: [app(f"web{v}", {"desired": {**config_map("c"), "data": {f"k{i}": str(v) for i in range(n)}}, "live": {**config_map("c"), "data": {f"k{i}": "1" for i in range(n)}}}) for v in range(2)],
    "ignore entries": lambda n: _application(ignoreDifferences=[{**ENTRY, "jsonPointers": [f"/data/k{i}"]} for i in range(n)]),
    "ignored pointers": lambda n: _application(ignoreDifferences=[{**ENTRY, "jsonPointers": [f"/data/k{i}" for i in range(n)]}]),
    "trusted managers": lambda n: _application(ignoreDifferences=[{**ENTRY, "managedFieldsManagers": [f"m{i}" for i in range(n)]}]),
    "sync options": lambda n: _application(syncPolicy={"syncOptions": [f"A{i}=true" for i in range(n)]}),
    "sources": lambda n: _application(sources=[{"repoURL": "https://git.example.com/a", "path": f"p{i}"} for i in range(n)]),
    "parameters": lambda n: _application(source={"repoURL": "https://git.example.com/a", "path": "p", "helm": {"parameters": [{"name": f"a{i}", "value": "x"} for i in range(n)]}}),
    "conditions of the Application": lambda n: _status(conditions=[{"type": "ComparisonError", "message": f"failed {i}"} for i in range(n)]),
    "results of a sync": lambda n: _status(operationState={"phase": "Failed", "message": "x", "operation": {"sync": {}}, "syncResult": {"resources": [{"kind": "ConfigMap", "version": "v1", "namespace": "shop", "name": f"c{i}", "status": "SyncFailed", "message": "no"} for i in range(n)]}}),
    "resources": lambda n: [app("web", *({"desired": config_map(f"c{i}"), "live": config_map(f"c{i}", content="2")} for i in range(n)))],
    "applications": lambda n: [app(f"web{i}", config_map(f"c{i}")) for i in range(n)],
    "owners of one object": lambda n: [app(f"web{i}", config_map("c", content=str(i))) for i in range(n)],
}  # fmt: skip


def _calls(run: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.enable()
    run()
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def _check(apps: list[dict[str, Any]]) -> None:
    data = copy.deepcopy({"about": "much of one thing", "apps": apps})
    testing.check(testing.Fixture(ROOT / "linear.yaml", data), RULES)


def _growth(run: Callable[[int], object], size: int = SIZE) -> float:
    run(size)  # what is remembered, loaded and compiled once
    one, two, four = (_calls(partial(run, n)) for n in (size, 2 * size, 4 * size))
    return (four - two) / max(two - one, LITTLE)


SIZES = {
    "fields that live lacks": 20,
    "variables": 2,
    "arguments": 2,
    "data": 3,
    "conditions of the Application": 1,
    "resources": 2,
    "applications": 1,
    "owners of one object": 3,
    "entries of an ExternalSecret": 2,
}
"""How many times SIZE the smallest is, where it is not 8: what costs most, and where a limit is reached."""
LONG = (
    "owners of one object",
    "resources",
    "ignore entries",
    "ignored pointers",
    "entries of an ExternalSecret",
    "applications",
    "sync options",
    "trusted managers",
)


@pytest.mark.parametrize("what", WRITTEN)
def test_what_a_tenant_writes_costs_what_it_is_long(what: str) -> None:
    if what in LONG and "ARGOLINT_TEST_LINEAR" not in os.environ:
        pytest.skip("takes long: set ARGOLINT_TEST_LINEAR=20")
    assert _growth(lambda n: _check(WRITTEN[what](n)), SIZES.get(what, 8) * SIZE) < MOST_GROWTH


TEXTS = (
    "${",
    "password: x\n",
    "a=b ",
    "Invalid value: {",
    "/a",
    "eyJ.",
    "{{",
    "https://u:p@h/",
    "x:1:",
    "(masked) ",
    "|",
    "<<<",
    "/hooks/",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_for_secrets_in_a_time_that_grows_with_it(text: str) -> None:
    def read(n: int) -> None:
        long = text * (n * 10)
        without_secrets(long)
        excerpt(long)
        PRINTED.value({"a": long, "b": [long]})
        show_sides("/a", (long + "kR9vT2mLx8QpW4nZ", {}), (long, {}))

    assert _growth(read) < MOST_GROWTH
