"""Compares a finding's statements with the objects that it is about: each function yields statements with their truth.

`material` is the text of everything that a rule could read. Proposals of a finding (a name, a value) need not be in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

from argolint import Finding, Fleet, Rule
from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import managers
from argolint.model import MISSING, Fix
from argolint.redaction import HIDDEN
from argolint.values import at_and_above, get

_VALUE = r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false'
_SIDES = re.compile(rf"^(?P<pointer>/\S+): (?P<desired>{_VALUE}|.+?) desired, (?P<live>{_VALUE}|.+?) live(?=;|$)", re.M)
_ABSENT = re.compile(r"^(?P<pointer>/\S+): .* desired, absent live", re.M)
_WRITER = re.compile(
    r"written by (?P<writer>[\w.-]+) at (?P<time>[\d-]{10} [\d:]{5})|field manager '(?P<manager>[^']+)'|^(?P<setter>[\w.-]+) sets? /"
)
_POINTER = re.compile(r"(?<![\w\"'/.])/(?:metadata|spec|data|webhooks|rules|subjects)/[^\s,:;]+")
_MORE = re.compile(r"/\S+ and (?P<more>\d+) more fields?\b")
_QUOTED = re.compile(r'"(?P<said>[^"\n]{1,200})"')
_NAMESPACE = re.compile(
    r"(?<=kubectl )-n (?P<namespace>[a-z0-9][a-z0-9-]*)(?= )|(?<=\w )-n (?P<after>[a-z0-9][a-z0-9-]*)$", re.M
)
_OPERATOR = re.compile(r"\bthe operator(?:'s CRDs are| is) (?P<version>v\d+\.\d+\.\d+)\b(?! or later)")


_USUAL = ("kube-system", "argocd", "keda")
_OWN_WORDS = ("its schema asks for it", "a task to Argo CD", "which waits for its end")
_FORMS = ("'{}'", "{}/", ".{}.svc", " {} ")


def plain(text: str) -> str:
    return " ".join(
        text.replace("\\\\", "\\").replace("\\n", " ").replace("\\t", " ").replace('\\"', "'").replace('"', "'").split()
    )


def watched(rule: Rule, told: list[tuple[App, Finding]]) -> Rule:
    """The rule; each finding that it makes of one application is noted as it says it, replays included."""
    check = rule.check
    if check is None:
        return rule

    def look(app: App, fleet: Fleet, options: Any) -> Iterator[Finding]:
        for finding in check(app, fleet, options):
            told.append((app, replace(finding, rule=rule.id)))
            yield finding

    return Rule(**{**{f.name: getattr(rule, f.name) for f in fields(rule) if f.init}, "check": look})


def of_fixture(data: Mapping[str, Any]) -> str:
    """All that a fixture holds, as text; what it expects and its near misses are left out."""
    held = {key: value for key, value in data.items() if key not in ("expect", "near")}
    return plain(json.dumps(held, default=str, ensure_ascii=False))


def _text(value: object) -> str:
    return json.dumps(asdict(value) if is_dataclass(value) and not isinstance(value, type) else value, default=str)


def of_fleet(fleet: Fleet) -> str:
    """The server's lists and settings, as text."""
    apps = (f"{ref.namespace}/{ref.name} {_text(app.raw)}" for ref, app in fleet.by_ref.items())
    return plain(" ".join((*apps, _text(fleet.settings), _text([*fleet.projects.items()]))))


def material(app: App) -> str:
    """Everything that was read of an application, as text."""
    states = (_text(state) for r in app.resources for state in (r.desired, r.live) if state)
    rows = (f"{r.kind} {r.id} {r.status} {r.health}" for r in app.resources)
    seen = (
        " ".join(map(_text, value)) if isinstance(value, tuple) else _text(value) for value in app.evidence.values()
    )
    nodes = (f"{node.id} {node}" for node in app.nodes)
    return plain(" ".join((*states, *rows, *seen, *nodes)))


def values(resource: Resource, finding: Finding) -> Iterator[tuple[str, bool]]:
    """Each value of a side in the evidence, and whether that side has it at the pointer."""
    for said in _SIDES.finditer("\n".join(finding.evidence)):
        for side, states in (
            ("live", (resource.normalized, resource.live)),  # a value that an ignore entry hides is in the live object
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
            shown = json.loads(said[side])
            yield said[0], any(v == shown or str(v).startswith(str(shown).rstrip("…")) for v in held)
    for said in _ABSENT.finditer("\n".join(finding.evidence)):
        yield said[0], get(resource.live, said["pointer"], None) is None


def pointers(app: App, resource: Resource, finding: Finding) -> Iterator[tuple[str, bool]]:
    """Each pointer of the message and of the place, and whether one of the objects has it, or its parent."""
    sides = (resource.normalized, resource.predicted, resource.live, resource.desired, app.raw)
    named = [p.rstrip(".") for p in _POINTER.findall(finding.message)]
    for pointer in (*named, finding.at.pointer):
        yield pointer, any(get(side, each) is not MISSING for side in sides for each in list(at_and_above(pointer))[:2])


def writers(resource: Resource, finding: Finding) -> Iterator[tuple[str, bool]]:
    """Each field manager in the text, and whether the live object records it at that time."""
    found = managers(resource.live or {})
    for line in (finding.message, *finding.evidence):
        for said in _WRITER.finditer(line):
            name = said["writer"] or said["manager"] or said["setter"]
            at = said["time"]
            yield (
                said[0],
                any(
                    w.manager == name and (not at or f"{w.time:%Y-%m-%d %H:%M}" == at)
                    for w in found
                    if w.time or not at
                ),
            )


def counts(finding: Finding) -> Iterator[tuple[str, bool]]:
    """The number of further fields in the message, and whether the evidence lists that many."""
    told = {said["pointer"] for line in finding.evidence if (said := re.match(r"(?P<pointer>/\S+): ", line))}
    said = _MORE.search(finding.message)
    if said and told and not any(line.startswith(("…", "and ")) for line in finding.evidence):
        yield said[0], int(said["more"]) == len(told) - 1


def quotes(finding: Finding, seen: str) -> Iterator[tuple[str, bool]]:
    """Each quotation of the message, and whether a read text has it."""
    for said in _QUOTED.finditer(finding.message):
        words = [
            part.strip() for part in re.split(r"…|<[^>]*>|\(left out\)|: |, ", plain(said["said"])) if part.strip()
        ]
        if HIDDEN not in said["said"]:
            yield (
                said[0],
                all(
                    part in seen or all(word in seen for word in re.split(r"[\s/.\[\]]+", part))
                    for part in words
                    if part not in _OWN_WORDS
                ),
            )


def versions(finding: Finding, seen: str) -> Iterator[tuple[str, bool]]:
    """The operator's version in the message, and whether an image, a label or a CRD has it."""
    for line in (finding.message, *finding.evidence):
        for said in _OPERATOR.finditer(line):
            yield said[0], said["version"] in seen or said["version"].removeprefix("v") in seen


def fixes(app: App, finding: Finding, seen: str) -> Iterator[tuple[str, bool]]:
    """A first fix edits existing fields, writes the live value if it says so, and its commands use a known namespace."""
    for fix in finding.fixes[:1]:
        resource = app.resource(place.key) if (place := fix.resource or finding.at.resource) else None
        whole = app.raw if fix.target == "application" else resource.desired if resource is not None else None
        if fix.edit.kind == "json-patch" and fix.target in ("manifest", "application") and whole is not None:
            yield f"{fix.title}: {fix.edit.content}", _applies(fix, whole)
            if re.search(r"\blive (?:value|order)", fix.title) and fix.target == "manifest" and resource is not None:
                for operation in fix.edit.content:
                    if "value" in operation:
                        yield f"{fix.title}: {operation}", operation["value"] == get(resource.live, operation["path"])
        for command in (*fix.before, fix.edit.content if fix.edit.kind == "command" else ""):
            for named in _NAMESPACE.finditer(command):
                name = named["namespace"] or named["after"]
                yield f"{fix.title}: {named[0]}", name in _USUAL or any(form.format(name) in seen for form in _FORMS)


def _applies(fix: Fix, whole: Any) -> bool:
    made: set[str] = set()
    for operation in fix.edit.content:
        place, parent = operation["path"], operation["path"].rpartition("/")[0]
        if operation["op"] == "move" and get(whole, operation["from"]) is not MISSING:
            made.add(place)
            continue
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


def said(app: App, finding: Finding, seen: str, *, of_states: bool) -> Iterator[tuple[str, str, bool]]:
    """Kind, text and truth of every statement of a finding that the read objects can prove.

    `of_states`: its place is a field of the object's own states, as in the families drift, nondeterminism and ownership.
    """
    resource = app.resource(finding.at.resource.key) if finding.at.resource else None
    found = {
        "count": counts(finding),
        "quote": quotes(finding, seen),
        "version": versions(finding, seen),
        "fix": fixes(app, finding, seen),
    }
    if resource is not None:
        found |= {"value": values(resource, finding), "writer": writers(resource, finding)}
        entries = finding.rule == "ignore-rule-dead" or "ignore rule" in finding.message  # these report an absent name
        if of_states and not entries and (resource.desired or resource.live):
            found["pointer"] = pointers(app, resource, finding)
    return ((sort, what, holds) for sort, each in found.items() for what, holds in each)
