"""What a message and its first fix say of an object is found in the object: values, pointers and writers.

Over every fixture of every rule. Messages that quote no value of a field say nothing to check here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argolint import testing
from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import managers
from argolint.model import MISSING, Finding, Fix
from argolint.plugins import load_rules
from argolint.redaction import HIDDEN
from argolint.values import at_and_above, get

HERE = Path(__file__).parent / "rules"
RULES = [rule for rule in load_rules().values() if rule.check is not None]
_OF_STATES = frozenset(rule.id for rule in RULES if rule.family in ("drift", "nondeterminism", "ownership"))
FIXTURES = [path for rule in RULES for path in sorted((HERE / rule.id).glob("bad-*.yaml"))]

_VALUE = r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false'
_SIDES = re.compile(rf"^(?P<pointer>/\S+): (?P<desired>{_VALUE}|.+?) desired, (?P<live>{_VALUE}|.+?) live(?=;|$)", re.M)
_WRITER = re.compile(r"written by (?P<writer>[\w.-]+) at|field manager '(?P<manager>[^']+)'")


@pytest.fixture(scope="module")
def told() -> list[tuple[App, Resource, Finding]]:
    """Every finding of a rule about an object, as the rule says it, with the object."""
    found: list[tuple[App, Resource, Finding]] = []

    def watched(rule: Any) -> Any:
        def check(app: App, fleet: Any, options: Any) -> Iterator[Finding]:
            for finding in rule.check(app, fleet, options):
                resource = app.resource(finding.at.resource.key) if finding.at.resource else None
                if resource is not None:
                    found.append((app, resource, replace(finding, rule=rule.id)))
                yield finding

        return rule.__class__(**{**{f: getattr(rule, f) for f in _FIELDS}, "check": check})

    rules = [watched(rule) for rule in RULES]
    for path in FIXTURES:
        testing.check(testing.load_fixture(path), rules)
    return found


_FIELDS = (
    "id",
    "family",
    "severity",
    "doc",
    "wants",
    "collect",
    "join",
    "reads",
    "options",
    "causes",
    "tags",
    "rank",
    "standing",
    "across",
)


def test_values_that_evidence_prints_stand_where_it_says(told: list[tuple[App, Resource, Finding]]) -> None:
    checked = 0
    for _, resource, finding in told:
        for said in _SIDES.finditer("\n".join(finding.evidence)):
            for side, states in (
                ("live", (resource.normalized, resource.live)),  # what an ignore entry hides is in the live object
                ("desired", (resource.predicted, resource.desired)),
            ):
                held = [value for state in states if (value := get(state, said["pointer"])) is not MISSING]
                if (
                    not held
                    or isinstance(held[0], dict | list)
                    or not re.fullmatch(_VALUE, said[side])
                    or HIDDEN in said[side]
                ):
                    continue
                checked += 1
                shown = json.loads(said[side])
                assert any(v == shown or str(v).startswith(str(shown).rstrip("…")) for v in held), (
                    resource.id,
                    said[0],
                )
    assert checked > 100


def test_pointers_that_a_message_names_stand_in_the_object(told: list[tuple[App, Resource, Finding]]) -> None:
    checked = 0
    for app, resource, finding in _but_of_entries(told):
        sides = (resource.normalized, resource.predicted, resource.live, resource.desired, app.raw)
        for pointer in re.findall(
            r"(?<![\w\"'/.])/(?:metadata|spec|data|webhooks|rules|subjects)/[^\s,:;]+", finding.message
        ):
            checked += 1
            assert _somewhere(pointer.rstrip("."), sides), (finding.message, pointer)
    assert checked > 60


def test_what_is_said_to_be_absent_live_is_absent_from_the_live_object(
    told: list[tuple[App, Resource, Finding]],
) -> None:
    for _, resource, finding in told:
        for said in re.finditer(r"^(?P<pointer>/\S+): .* desired, absent live", "\n".join(finding.evidence), re.M):
            assert get(resource.live, said["pointer"], None) is None, (finding.message, said[0])


def test_writers_that_are_named_stand_in_the_managed_fields(told: list[tuple[App, Resource, Finding]]) -> None:
    for _, resource, finding in _but_of_entries(told):
        known = {writer.manager for writer in managers(resource.live or {})}
        for said in _WRITER.finditer("\n".join((finding.message, *finding.evidence))):
            assert (said["writer"] or said["manager"]) in known, (finding.message, known)


def test_pointers_of_a_finding_lead_into_its_object(told: list[tuple[App, Resource, Finding]]) -> None:
    for app, resource, finding in _but_of_entries(told):
        sides = (resource.normalized, resource.predicted, resource.live, resource.desired, app.raw)
        assert _somewhere(finding.at.pointer, sides), (finding.message, finding.at.pointer)


def test_a_first_fix_edits_what_is_there(told: list[tuple[App, Resource, Finding]]) -> None:
    for app, resource, finding in told:
        for fix in finding.fixes[:1]:
            if fix.edit.kind == "json-patch" and fix.target in ("manifest", "application") and fix.resource is None:
                whole = resource.desired if fix.target == "manifest" else app.raw
                assert _applies(fix, whole), (finding.message, fix.edit.content)


def _but_of_entries(told: list[tuple[App, Resource, Finding]]) -> Iterator[tuple[App, Resource, Finding]]:
    """Without ignore-rule-dead: what its entries name is nowhere, and that is what it says. Of the families whose pointers are those of
    an object's own states; the others take some from a server's text."""
    return (
        each
        for each in told
        if "ignore rule" not in each[2].message and each[2].rule in _OF_STATES and (each[1].desired or each[1].live)
    )


def _applies(fix: Fix, whole: Any) -> bool:
    made: set[str] = set()
    for operation in fix.edit.content:
        place, parent = operation["path"], operation["path"].rpartition("/")[0]
        there = get(whole, place) is not MISSING
        if operation["op"] != "add" and not there and place not in made:
            return False
        if (
            operation["op"] == "add"
            and get(whole, parent) is MISSING
            and not any(p in made for p in at_and_above(place))
        ):
            return False
        made.add(place)
    return True


def _somewhere(pointer: str, sides: Iterable[Any]) -> bool:
    return any(get(side, place) is not MISSING for side in sides for place in list(at_and_above(pointer))[:2])
