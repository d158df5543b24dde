"""A sentence is resolved against the objects around it: shapes of each relation, and twins in which nothing may be linked."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, get_args

import pytest
import yaml

from argolint import testing
from argolint.application.fleet import Fleet
from argolint.model import RelationKind
from argolint.plugins import load_rules
from argolint.relations.judged import newer_script
from argolint.relations.names import Mention, kind_word, mentions
from argolint.relations.polarity import polarity, reports_fault
from argolint.relations.references import references
from argolint.relations.spec import choices

SHAPES = sorted((Path(__file__).parent / "relations").glob("*.yaml"))
RULES = tuple(load_rules().values())


@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.stem)
def test_shape(path: Path) -> None:
    """The finding rests on the relation, names the object and puts the fix first; a twin rests on none."""
    wanted = yaml.safe_load(path.read_text(encoding="utf-8"))
    report = testing.check(testing.load_fixture(path), RULES)
    assert not report.failures
    found = [f for f in report.findings if f.relation]
    if wanted["relation"] == "none":
        assert not found, [f.message for f in found]
        return
    kinds = {f.relation.kind: f for f in found if f.relation}
    assert wanted["relation"] in kinds, [f.message for f in report.findings]
    finding = kinds[wanted["relation"]]
    assert wanted["says"] in finding.message
    first = finding.fixes[0]
    assert wanted["fix"] in f"{first.title}\n{json.dumps(first.edit.content)}"
    assert len(finding.message.split()) <= 25, finding.message


def test_every_kind_of_relation_has_a_shape() -> None:
    shown = {yaml.safe_load(path.read_text(encoding="utf-8"))["relation"] for path in SHAPES}
    assert shown == {*get_args(RelationKind), "none"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('secret "db" not found', Mention("db", ("secret",), "", marked=True)),
        ("no PriorityClass with name high was found", Mention("high", ("priorityclass", "no"), "", marked=False)),
        ("dial https://hook.guard.svc:443/x", Mention("hook", ("service",), "guard", marked=True)),
        (
            "failed to get secretproviderclass bay/keys, error",
            Mention("keys", ("bay", "secretproviderclass", "get"), "bay"),
        ),
        ('things.k8s.example.org "a-1" is forbidden', Mention("a-1", ("thing",), "", marked=True)),
    ],
)
def test_a_sentence_marks_its_names(text: str, wanted: Mention) -> None:
    assert wanted in mentions(text)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("network-attachment-definitions.k8s.cni.cncf.io", "networkattachmentdefinition"),
        ("NetworkPolicies", "networkpolicy"),
        ("StorageClasses", "storageclass"),
        ("Ingress", "ingress"),
        ("configmaps", "configmap"),
    ],
)
def test_kinds_have_one_spelling(word: str, wanted: str) -> None:
    assert kind_word(word) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Supported versions are: [3.5.0, 3.5.1]", ("3.5.0", "3.5.1")),
        ('must be one of "a", "b"', ("a", "b")),
        ("expected one of: json, text or logfmt", ("json", "text", "logfmt")),
        ('Unsupported value: "x": supported values: "Always", "Never"', ("Always", "Never")),
        ("the version is not supported", ()),
        ("known issue: the disk is full of old files, and nothing helps", ()),
    ],
)
def test_a_message_offers_choices(text: str, wanted: tuple[str, ...]) -> None:
    assert choices(text) == wanted


@pytest.mark.parametrize(("field", "value"), [("name", "other"), ("namespace", "sea")])
def test_an_autoscaler_speaks_of_the_workload_that_it_names(field: str, value: str) -> None:
    (path,) = (path for path in SHAPES if path.stem == "not-in-git-unknown")
    fixture = testing.load_fixture(path)
    for side in ("desired", "live"):
        fixture.data["apps"][0]["resources"][0][side]["metadata"][field] = value
    assert [f.message for f in testing.check(fixture, RULES).findings if f.relation] == []


def test_a_certificate_of_a_gateway_is_in_the_namespace_that_its_listener_names_or_in_its_own() -> None:
    certificates = [{"name": "own"}, {"name": "shared", "namespace": "certs"}, {"kind": "ConfigMap", "name": "bundle"}]
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "edge", "namespace": "shop"},
        "spec": {"listeners": [{"tls": {"certificateRefs": certificates}}]},
    }
    found = [(r.namespace, r.name, r.pointer) for r in references(gateway) if r.kind == "Secret"]
    place = "/spec/listeners/0/tls/certificateRefs"
    assert found == [("shop", "own", f"{place}/0/name"), ("certs", "shared", f"{place}/1/name")]


@pytest.mark.parametrize(
    "make", [lambda n: '"a" ' * n, lambda n: "kind/name " * n, lambda n: "a.b.svc " * n, lambda n: "x" * n]
)
def test_a_sentence_without_end_costs_no_more_than_a_long_one(make: Callable[[int], str]) -> None:
    """What is looked up of a sentence is bounded, whatever its length."""
    assert len(mentions(make(1_000))) <= 600
    assert len(mentions(make(100_000))) <= 600


def test_names_of_many_objects_are_looked_up_once(tmp_path: Path) -> None:
    """Two hundred names and a thousand objects: nothing is linked by chance."""
    resources: list[dict[str, Any]] = [
        {
            "desired": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"n{i}", "namespace": "bay"},
                "data": {},
            }
        }
        for i in range(1_000)
    ]
    said = " ".join(f"n{i}" for i in range(200))
    fixture = {
        "about": "many names",
        "apps": [
            {
                "name": "many",
                "spec": {"destination": {"namespace": "bay"}},
                "status": {
                    "health": {"status": "Missing"},
                    "operationState": {
                        "phase": "Failed",
                        "message": said,
                        "startedAt": "2026-01-01T11:00:00Z",
                        "finishedAt": "2026-01-01T11:01:00Z",
                    },
                },
                "resources": resources,
            }
        ],
    }
    path = tmp_path / "many.yaml"
    path.write_text(json.dumps(fixture), encoding="utf-8")
    report = testing.check(testing.load_fixture(path), RULES)
    assert not [f for f in report.findings if f.relation]
    assert any(
        re.search("n199", line) or "n0" in f.message for f in report.findings for line in (*f.evidence, f.message)
    )


_WORDS = ("a", "b", "error", "not", "found", "default", "the", "secret", "service", "failed", "spec", "name")


def _sentence_and_objects(objects: int, names: int) -> dict[str, Any]:
    """A custom resource whose condition names many objects, among objects that are called like words and letters."""
    called = [*_WORDS, *(f"n{i}" for i in range(objects))]
    said = 'json: unknown field "n3" immutable ' + " ".join(
        f'berth "n{i}" not found, a/b is {w}' for i, w in zip(range(names), _WORDS * names, strict=False)
    )
    berth = {"apiVersion": "bay.example.org/v1", "kind": "Berth", "spec": {}}
    pier = {
        "apiVersion": "bay.example.org/v1",
        "kind": "Pier",
        "metadata": {"name": "pier", "namespace": "bay"},
        "spec": {},
    }
    conditions = [{"type": "Ready", "status": "False", "reason": "Lost", "message": said}]
    return {
        "about": "many names",
        "apps": [
            {
                "name": "many",
                "spec": {"destination": {"namespace": "bay"}},
                "status": {"health": {"status": "Degraded"}},
                "resources": [
                    *({"desired": {**berth, "metadata": {"name": name, "namespace": "bay"}}} for name in called),
                    {
                        "desired": pier,
                        "live": {**pier, "status": {"conditions": conditions}},
                        "health": {"status": "Degraded", "message": said},
                    },
                ],
            }
        ],
    }


def _steps_of(path: Path, fixture: dict[str, Any]) -> int:
    """Calls while a whole check resolves the fixture's sentence."""
    path.write_text(json.dumps(fixture), encoding="utf-8")
    loaded = testing.load_fixture(path)
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += frame.f_globals.get("__name__", "").startswith("argolint.relations")

    mentions.cache_clear()
    sys.setprofile(counted)
    try:
        testing.check(loaded, [r for r in RULES if r.id == "unhealthy"])
    finally:
        sys.setprofile(None)
    return count


def test_resolving_takes_steps_in_proportion_to_names_and_objects(tmp_path: Path) -> None:
    small = _steps_of(tmp_path / "small.yaml", _sentence_and_objects(100, 50))
    assert small > 100
    assert _steps_of(tmp_path / "objects.yaml", _sentence_and_objects(400, 50)) < 5 * small
    assert _steps_of(tmp_path / "names.yaml", _sentence_and_objects(100, 200)) < 5 * small
    assert _steps_of(tmp_path / "both.yaml", _sentence_and_objects(100, 1_000)) < 10 * small


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        *[
            (kind, True)
            for kind in (
                "Ready",
                "KafkaReady",
                "NoErrors",
                "FolderSynchronized",
                "ResolvedRefs",
                "kafka.example.org/Bound",
            )
        ],
        *[(kind, False) for kind in ("Stalled", "FolderUIDMismatch", "NoMatchingPier", "InvalidSpec", "DiskPressure")],
        *[
            (kind, None)
            for kind in ("Progressing", "Active", "Fallback", "LiveMigratable", "RestartRequired", "NoWarnings", "")
        ],
    ],
)
def test_polarity_of_a_type(kind: str, good: bool | None) -> None:
    """None where the name of the type does not say whether True is good news."""
    assert polarity(kind) is good


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        (("FolderUIDMismatch", "False", "ConsistentUID", "no mismatch"), False),
        (("FolderUIDMismatch", "True", "UIDMismatch", "another UID"), True),
        (("Active", "False", "ScalerNotActive", "Scaling is not performed because triggers are not active"), False),
        (
            ("ScalingActive", "False", "FailedGetResourceMetric", "the HPA was unable to compute the replica count"),
            True,
        ),
        (("Fallback", "False", "NoFallbackFound", "No fallbacks are active on this scaled object"), False),
        (("LiveMigratable", "False", "DisksNotLiveMigratable", "cannot migrate VMI"), False),
        (("Progressing", "False", "AsExpected", "no errors found"), False),
    ],
)
def test_a_condition_is_bad_news_by_evidence_only(condition: tuple[str, str, str, str], fault: bool) -> None:
    """A type whose False is good reports none as False; one that does not say needs words of a fault."""
    assert reports_fault(dict(zip(("type", "status", "reason", "message"), condition, strict=True))) is fault


@pytest.mark.parametrize(
    ("version", "newer"),
    [("v2.7.3", "2.7.15"), ("v2.8.0", "2.8.5"), ("v2.7.15", ""), ("v3.5.1", ""), ("unknown", ""), ("v2.4.0", "")],
)
def test_the_release_that_changed_a_health_script(version: str, newer: str) -> None:
    """The next release whose script is new; none where the running one is the newest, or the version is unknown."""
    assert newer_script(Fleet("", version, {}), "flink.apache.org", "FlinkDeployment") == newer
