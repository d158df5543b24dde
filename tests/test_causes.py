"""What follows from what: on findings made by hand, and on every recording; what a filter shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import msgspec
import pytest

from argolint import AppRef, Edit, Finding, Fix, Follows, Location, ResourceId, Severity, Symptom
from argolint.engine import pipeline
from argolint.engine.causes import with_causes
from argolint.model import SEVERITIES
from argolint.model.fingerprint import fingerprint
from argolint.model.results import AppResult, Outcome, ServerRead
from argolint.model.selection import FindingFilter
from argolint.model.stats import Stats
from argolint.reports import assemble
from argolint.reports import document as report
from argolint.reports.causes import identity, roots, with_shown_causes
from argolint.snapshots.reader import SnapshotTransport
from argolint.suppression import suppress
from tests.conftest import PHASES, recording
from tests.recorded import plainly, rules

FAMILY = {c.rule.id: c.rule.family for c in rules()}
CLUSTER = "https://one.example.com"


def store(name: str) -> ResourceId:
    return ResourceId("external-secrets.io", "ClusterSecretStore", "", name, cluster=CLUSTER)


def finding(
    rule: str,
    app: str,
    *follows: Follows,
    explains: Sequence[Symptom] = (),
    severity: Severity = "error",
    about: str = "x",
) -> Finding:
    at = Location(AppRef("argocd", app), ResourceId("", "ConfigMap", "shop", about, cluster=CLUSTER))
    return Finding(
        f"{rule} of {app}", at, rule=rule, family="f", severity=severity, explains=tuple(explains), follows=follows
    )


def caused(*findings: Finding) -> list[str]:
    """The rule of each finding's cause, the title of a cause without a finding, or nothing."""
    told, causes = with_causes(findings)
    rules = {fingerprint(f): f.rule for f in findings}
    titles = {mark: title for (_, mark), title in causes.title.items()}
    return [rules.get(f.caused_by) or titles.get(f.caused_by, "") for f in told]


@pytest.mark.parametrize("known", [True, False])
def test_what_another_finding_mends_is_mended_by_its_fixes_if_it_has_any(known: bool) -> None:
    def way(title: str) -> tuple[Fix, ...]:
        return (Fix(title, "manifest", "", Edit("text", title)),)

    origin = replace(finding("shared", "a"), fixes=way("its own") if known else ())
    assert origin.at.resource is not None
    follows = Follows.finding("shared", origin.at.resource, mended=True)
    loop = replace(finding("loop", "b", follows), fixes=way("a general word"))
    found, _ = with_causes([origin, loop])
    assert found[1].fixes[0].title == ("its own" if known else "a general word")


def made(outcome: Outcome) -> report.Report:
    return assemble.build(
        outcome,
        servers=[ServerRead(CLUSTER, "v3")],
        started_at="2026-01-01T00:00:00Z",
        stats=Stats(),
        tool_version="1",
    )


def test_a_finding_follows_from_the_one_that_explains_the_symptom_in_another_application() -> None:
    broken = finding("store", "a", explains=[Symptom.health(store("vault"))])
    assert caused(broken, finding("secret", "b", Follows(Symptom.health(store("vault"))))) == ["", "store"]
    assert caused(broken, finding("secret", "b", Follows(Symptom.health(store("other"))))) == ["", ""]


def test_an_operation_is_the_applications_own() -> None:
    failed = finding("failed", "a", explains=[Symptom.operation()])
    gave_up = [finding("gave-up", app, Follows(Symptom.operation())) for app in ("a", "b")]
    assert caused(failed, *gave_up) == ["", "failed", ""]


def test_the_first_way_that_leads_somewhere_counts_and_the_worst_finding_of_it() -> None:
    ways = (Follows.finding("share", store("gone")), Follows(Symptom.operation()), Follows.common("Title.", "key"))
    answers = [
        finding("mild", "a", explains=[Symptom.operation()], severity="warning"),
        finding("bad", "a", explains=[Symptom.operation()], about="y"),
        finding("meek", "a", explains=[Symptom.operation()], severity="info", about="z"),
    ]
    assert caused(*answers, finding("late", "a", *ways)) == ["", "", "", "bad"]


def test_what_two_findings_share_is_a_cause_and_what_one_has_is_none() -> None:
    def lacking(app: str) -> Finding:
        return finding("pod", app, Follows.common("The nodes are full.", "nodes", CLUSTER))

    assert caused(lacking("a")) == [""]
    assert caused(lacking("a"), lacking("b")) == ["The nodes are full."] * 2
    assert caused(lacking("a"), lacking("a")) == [""] * 2, "one fault twice is one finding"


def test_a_ring_is_cut_at_its_worst_finding_the_first_of_them() -> None:
    members: tuple[tuple[str, str, Severity], ...] = (("a", "b", "warning"), ("b", "c", "error"), ("c", "a", "error"))
    ring = [
        finding(
            rule, "a", Follows(Symptom.health(store(after))), explains=[Symptom.health(store(rule))], severity=severity
        )
        for rule, after, severity in members
    ]
    outside = finding("d", "a", Follows(Symptom.health(store("a"))))
    assert caused(*ring, outside) == ["b", "", "a", "a"]
    alone = finding("e", "a", Follows(Symptom.operation()), explains=[Symptom.operation()])
    assert caused(alone) == [""]


def test_a_thousand_findings_of_one_cause_and_names_with_any_character() -> None:
    odd = 'q"\\0\n\u202e</b>|`$(x)'
    findings = [finding("store", odd, explains=[Symptom.health(store(odd))], about=odd)]
    findings += [finding("secret", f"{odd}{n}", Follows(Symptom.health(store(odd)))) for n in range(1000)]
    told, causes = with_causes(findings)
    outcome = Outcome(told, (), (), 0, causes=causes)
    (cause,) = made(outcome).causes
    assert (cause.findings, cause.apps, cause.frees, cause.title) == (
        1001,
        1001,
        1001,
        findings[0].message.replace("\n", " "),
    )


def test_what_is_hidden_still_explains_and_what_follows_names_the_cause_behind() -> None:
    chain = [
        finding("first", "a", explains=[Symptom.health(store("1"))], severity="info"),
        finding("second", "b", Follows(Symptom.health(store("1"))), explains=[Symptom.health(store("2"))]),
        finding("third", "c", Follows(Symptom.health(store("2")))),
    ]
    told, causes = with_causes(chain)
    outcome = Outcome(told, (), (), 0, causes=causes)
    shown = made(outcome.showing(FindingFilter(ignore=("second", "info")), {}))
    assert [(f.rule, f.caused_by) for f in shown.findings] == [("third", fingerprint(chain[0]))]
    assert [(c.title, c.findings, c.severity) for c in shown.causes] == [("first of a", 1, "error")]


@pytest.fixture(scope="module", params=PHASES)
def phase(request: pytest.FixtureRequest) -> str:
    """A recorded phase: the tests of one follow each other, so that it is looked at once."""
    return str(request.param)


@cache
def checked(phase: str) -> Outcome:
    now = SnapshotTransport([recording(phase)]).now()
    known = suppress.Suppressions(known_rules=frozenset(FAMILY), now=now)
    return pipeline.conclude(plainly(phase), rules(), known)


@cache
def reported(phase: str) -> report.Report:
    return made(checked(phase))


def test_what_a_filter_shows_is_a_part_of_the_whole(phase: str) -> None:
    outcome = checked(phase)
    told = {f.fingerprint: f for f in reported(phase).findings}
    selected: set[str] = set()
    spoken = sorted({f.rule for f in outcome.findings})
    for word in (*spoken, *sorted(set(FAMILY.values())), *SEVERITIES):
        for shown in (FindingFilter(select=(word,)), FindingFilter(ignore=(word,))):
            part = outcome.showing(shown, FAMILY).findings
            assert {id(f) for f in part} <= {id(f) for f in outcome.findings}, word
            marks = dict.fromkeys(fingerprint(f) for f in part)
            found = with_shown_causes([told[mark] for mark in marks], outcome.causes.parent, outcome.causes.title)
            titles = {mark for _, mark in outcome.causes.title}
            assert {f.caused_by for f in found} - {None} <= {*marks, *titles}, word
            assert [replace_cause(f) for f in found] == [replace_cause(told[mark]) for mark in marks]
            if word in FAMILY and shown.select:
                assert {f.rule for f in found} <= {word}
                selected |= set(marks)
    assert selected == set(told)


def replace_cause(found: report.ReportedFinding) -> report.ReportedFinding:
    """The finding without the one thing that a filter may change."""
    return msgspec.structs.replace(found, caused_by=None)


CONSEQUENCES = {"retry-exhausted", "self-heal-loop"}


def test_a_consequence_stands_under_its_cause(phase: str) -> None:
    findings = reported(phase).findings
    root = roots(findings)
    for found in findings:
        if found.rule in CONSEQUENCES or found.cause == "store-not-ready":
            assert root[identity(found)] != identity(found), found.message


def test_the_causes_of_a_company() -> None:
    found = reported("harbourline/3-after-commits")
    rule = {f.fingerprint: f.rule for f in found.findings}
    links = {(f.rule, rule[f.caused_by]) for f in found.findings if f.caused_by in rule}
    assert links >= {
        ("external-secret-sync-error", "secret-store-error"),
        ("retry-exhausted", "annotation-too-long"),
        ("self-heal-loop", "shared-resource"),
        ("self-heal-loop", "autoscaler-replicas"),
    }
    common = {c.title: (c.findings, c.apps) for c in found.causes if c.fingerprint not in rule}
    assert common["No External Secrets Operator serves cluster https://edge.example.com:6444."] == (4, 2)
    assert common["Cluster https://kubernetes.default.svc serves no metrics API."] == (3, 3)
    counts = found.summary
    assert sum(c.error for c in counts.by_cause.values()) == counts.findings.error
    assert sum(c.findings for c in found.causes) == sum(
        (counts.findings.error, counts.findings.warning, counts.findings.info)
    )
    for by in (counts.by_rule, counts.by_family, counts.by_project):
        assert sum(c.error for c in by.values()) == counts.findings.error


def test_every_application_that_was_looked_at_is_in_the_report() -> None:
    found = reported("harbourline/3-after-commits")
    assert len(found.applications) == found.summary.apps == 81
    fine = next(a for a in found.applications if a.app.name == "tracking-api")
    assert (fine.sync, fine.health, fine.findings) == ("Synced", "Healthy", report.Counts())
    assert fine.url.endswith("/applications/argocd/tracking-api")
    assert sum(a.findings.error for a in found.applications) == found.summary.findings.error


def test_a_finding_keeps_its_causes_through_a_shard() -> None:
    text = pipeline.to_json(pipeline.Part("2.0", (1, 1), (), "", (), (result(),), ()))
    (back,) = pipeline.from_json(text, "shard").results
    assert back == result()


def result() -> AppResult:
    ways = (Follows(Symptom.health(store("a"))), Follows.finding("r", store("b")), Follows.common("T.", "k"))
    found = replace(finding("r", "a", *ways), key="")
    return AppResult(found.at.app, 1, (found,), sync="Synced", health="Healthy")
