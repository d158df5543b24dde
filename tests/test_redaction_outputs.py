"""No secret leaves the process: through no report, fix, chain, gate, failure or error, whatever a rule writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from argolint import App, AppRef, Edit, Fact, Finding, Fix, Fleet, Location, Rule
from argolint.engine import pipeline as lint
from argolint.engine.inspect import inspect
from argolint.engine.join import join
from argolint.engine.load import read_application, read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.redaction import HIDDEN, show
from argolint.redaction.findings import NOT_PRINTED, Known, guarded, secrets_of
from argolint.reports import chain as why
from argolint.reports import document as report
from argolint.reports.formats import FORMATS, Style, narrative, render
from argolint.snapshots.http_server import ReplayServer
from argolint.testing import Fixture, FixtureTransport, check
from tests.checkouts import finding, patch, repository
from tests.checkouts import report as saved_report
from tests.conftest import run_argolint
from tests.gitops import GitServer, commit, git
from tests.redaction_places import PLACES
from tests.small import ANSWERS, write_snapshot

RULES = list(load_rules().values())
SECRET = "Zq7hunter2Xw"
NAME = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
EDITED = [
    {
        "manager": "kubectl-edit",
        "operation": "Update",
        "time": "2026-01-01T11:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {}}}}},
    }
]


def pod(env: list[Any], *args: str) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "c", "image": "c:1", "env": env, "args": list(args)}]}}}


def fixture(desired: Mapping[str, Any], live: Mapping[str, Any], **more: Any) -> Fixture:
    seen = {**live, "metadata": {**live["metadata"], "uid": "u1", "managedFields": EDITED}}
    settled = {
        "sync": {"status": "OutOfSync", "revision": "a" * 40},
        "history": [{"id": 1, "revision": "a" * 40, "deployedAt": "2026-01-01T10:00:00Z"}],
    }
    app = {"name": "web", "resources": [{"desired": desired, "live": seen}], "status": settled, **more}
    return Fixture(Path("inline"), {"about": "made in a test", "apps": [app]})


def drifted(secret: str) -> Fixture:
    """A Deployment whose every kind of secret was edited by hand."""
    desired = {
        **NAME,
        "spec": pod([{"name": "DB_PASSWORD", "value": "old"}, {"name": "URL", "value": "x"}], "--pw", "x"),
    }
    address = f"postgres://u:{secret}@db/x"
    env = [
        {"name": "DB_PASSWORD", "value": secret},
        {"name": "URL", "value": address},
        {"name": "A_TOKEN", "value": secret},
    ]
    return fixture(desired, {**NAME, "spec": pod(env, "--pw", secret)})


def everything_told(made: report.Report) -> str:
    return "".join(render(made, name, Style(width=400, verbose=True)) for name in FORMATS)


def chain_of(data: Mapping[str, Any]) -> str:
    """What `why` tells of the application, of its objects and of each field that differs, in both forms."""
    t = FixtureTransport(data)
    fleet, _ = read_fleet(t)
    plan = Plan(tuple(ChosenRule(r, r.default_options) for r in RULES), workers=1, manifests=True)
    app, _ = read_application(t, fleet.apps[0], fleet, plan, states=True)
    found = join([inspect(app, fleet, plan.rules)], plan.rules).findings
    asked = [why.Target(), *(why.Target(f"{r.kind}/{r.name}") for r in app.resources)]
    asked += [why.Target(f"{r.kind}/{r.name}", c.pointer) for r in app.resources for c in r.changes]
    chains = [why.explain(app, fleet, found, a) for a in asked]
    return "".join(narrative.render(c, Style(width=400, verbose=True)) + why.to_json(c).decode() for c in chains)


@given(
    st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789_+!^%", min_size=5, max_size=30).map("Zq7".__add__)
)
def test_no_reporter_and_no_chain_tells_a_secret(secret: str) -> None:
    data = drifted(secret)
    told = everything_told(check(data, RULES)) + chain_of(data.data)
    assert secret not in told
    assert HIDDEN in told


@pytest.mark.parametrize("extra", [{}, {"due": date(2026, 1, 1)}, {"size": 10**30}], ids=["json", "a date", "a number"])
def test_secrets_of_a_spec_that_many_objects_have_are_known_of_each(extra: dict[str, Any]) -> None:
    spec = pod([{"name": "DB_PASSWORD", "value": f"{SECRET}{len(extra)}"}]) | extra
    other = pod([{"name": "DB_PASSWORD", "value": "Rt5another9Yb"}]) | extra
    for known, of in ((f"{SECRET}{len(extra)}", spec), ("Rt5another9Yb", other), (f"{SECRET}{len(extra)}", spec)):
        assert secrets_of({**NAME, "spec": of}) == {known}
        if not extra:
            applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({**NAME, "spec": of})}
            assert secrets_of({**NAME, "metadata": {"annotations": applied}}) == {known}


def test_a_schema_holds_secrets_in_its_values_alone() -> None:
    password = {"type": "string", "description": "DB_PASSWORD=Rt5another9Yb", "default": SECRET}
    users = {"type": "array", "items": {"type": "object", "properties": {"adminPassword": password}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"users": users}}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    assert secrets_of({"kind": "CustomResourceDefinition", "spec": {"versions": versions}}) == {SECRET}


def test_a_difference_of_secrets_is_told_without_them() -> None:
    (found,) = [f for f in check(drifted(SECRET), RULES).findings if f.family == "drift"]
    where = "/spec/template/spec/containers/0"
    by = "live was written by kubectl-edit at 2026-01-01 11:00 UTC"
    assert found.evidence[:3] == (
        f"{where}/args/1: {HIDDEN} desired, {HIDDEN} live; {by}",
        f"{where}/env/0/value: {HIDDEN} desired, {HIDDEN} live; {by}",
        f'{where}/env/1/value: "x" desired, "postgres://u:{HIDDEN}@db/x" live; {by}',
    )


def test_a_fix_that_holds_a_secret_says_so_and_is_not_proven_as_it_stands() -> None:
    (found,) = [f for f in check(drifted(SECRET), RULES).findings if f.family == "drift"]
    takes = next(fix for fix in found.fixes if fix.edit.kind == "json-patch")
    values = {o["path"].rpartition("containers")[2]: o["value"] for o in takes.edit.content}
    assert values == {
        "/0/args/1": HIDDEN,
        "/0/env/0/value": HIDDEN,
        "/0/env/1/value": f"postgres://u:{HIDDEN}@db/x",
    }
    assert (takes.verified, takes.unverified) == (None, NOT_PRINTED)


def test_the_same_fix_without_a_secret_is_proven() -> None:
    desired = {**NAME, "spec": pod([{"name": "LEVEL", "value": "info"}])}
    (found,) = [
        f
        for f in check(fixture(desired, {**NAME, "spec": pod([{"name": "LEVEL", "value": "debug"}])}), RULES).findings
        if f.family == "drift"
    ]
    assert any(fix.verified for fix in found.fixes)


def blab(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """A third party's rule that prints whatever it sees."""
    for resource in app.resources:
        live = dict(resource.live or {})
        live["metadata"] = {"name": "web"}
        seen = f"{resource.id} is {live!r}, its token {SECRET} too"
        yield Finding(
            message=seen,
            at=Location(app.ref, resource.id, "/spec"),
            evidence=(json.dumps(live), yaml.safe_dump(live), f"it is\n{SECRET}"),
            fixes=(
                Fix(SECRET, "manifest", SECRET, Edit("yaml", yaml.safe_dump(live)), SECRET),
                Fix("Take it", "live", "web", Edit("command", f"kubectl set env deploy/web X={SECRET}")),
                Fix("Put it", "manifest", "web", Edit("json-patch", [{"op": "add", "path": "/spec", "value": live["spec"]}])),
            ),
        )  # fmt: skip


def blab_at_last(key: str, facts: Any, options: object) -> Iterator[Finding]:
    for fact in facts:
        told = f"{SECRET} is in {fact.data}"
        yield Finding(told, Location(fact.app), fixes=(Fix("x", "live", "", Edit("text", told)),))


def gather(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    yield Fact("all", app.ref, {"content": [r.live for r in app.resources]})


def fall(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    yield from ()
    raise KeyError(f"nothing for {next(r.live for r in app.resources)}, {SECRET}")


@pytest.mark.parametrize("place", sorted(PLACES.keys() - {"words that the shell joins", "a Secret that was cut"}))
def test_a_text_that_quotes_an_object_holds_none_of_its_secrets_however_often_it_is_quoted(place: str) -> None:
    secret = "Zq7bramble077fox"  # it does not look drawn: only its place tells
    planted = PLACES[place](secret)
    obj = planted if isinstance(planted, dict) and "kind" in planted else {"kind": "Db", "spec": {"x": planted}}
    known = Known(secrets_of(obj))
    for told in (repr(obj), repr(repr(obj)), json.dumps(json.dumps(obj)), f"KeyError({json.dumps(obj)!r})"):
        assert secret not in known.without(told)
    live = {"kind": "Db", **obj}
    edits = (
        Edit("json-patch", [{"op": "replace", "path": "/spec", "value": obj.get("spec", obj)}]),
        Edit("yaml", yaml.safe_dump(obj)),
    )
    fixes = tuple(Fix("Take it", "manifest", "web", edit) for edit in edits)
    made = guarded(
        Finding("it drifts", Location(AppRef("argocd", "web")), fixes=fixes), known, lambda finding, fix: (live,)
    )
    assert secret not in repr(made.fixes)


@pytest.mark.parametrize("functions", [{"check": blab}, {"collect": gather, "join": blab_at_last}, {"check": fall}])
def test_what_a_third_partys_rule_prints_holds_no_secret(functions: Any) -> None:
    rule = Rule(id="blab", family="drift", severity="warning", doc="A test rule", **functions)
    made = check(drifted(SECRET), [rule])
    assert made.findings or made.failures
    told = everything_told(made)
    assert SECRET not in told
    assert HIDDEN in told
    assert all(f.verified is None for x in made.findings for f in x.fixes)


def test_credentials_of_a_repository_are_in_no_report() -> None:
    source = {"repoURL": f"https://ci:{SECRET}@git.example.com/a.git", "path": "web", "targetRevision": "main"}
    message = f"rpc error: authentication required for https://{SECRET}@git.example.com/a.git, password={SECRET}"
    failing = {
        "sync": {"status": "Unknown"},
        "conditions": [{"type": "ComparisonError", "message": message, "lastTransitionTime": "2026-01-01T11:00:00Z"}],
    }
    data = fixture(NAME, NAME, spec={"source": source}, status=failing)
    made = check(data, RULES)
    assert {f.rule for f in made.findings} >= {"comparison-error", "floating-revision"}
    assert SECRET not in everything_told(made) + chain_of(data.data)
    assert {f.source.repo for f in made.findings if f.source} == {"https://git.example.com/a.git"}


def test_a_token_in_the_name_of_a_branch_or_a_key_is_in_no_report() -> None:
    token = "ghp_" + "a1B2" * 9
    live = {**NAME, "spec": {"users": {token: "admin"}, "x": 1}}
    source = {"repoURL": "https://git.example.com/a.git", "path": "web", "targetRevision": token}
    status = {"sync": {"status": "OutOfSync", "revision": token}}
    made = check(fixture({**NAME, "spec": {"x": 2}}, live, spec={"source": source}, status=status), RULES)
    assert {f.source.revision for f in made.findings if f.source} == {HIDDEN}
    assert token not in everything_told(made)


def test_a_shard_holds_no_secret_of_a_condition_or_a_repository() -> None:
    """What a finding claims, and what the facts of one key meet by, are in the file as well."""
    source = {"repoURL": f"https://ci:{SECRET}@git.example.com/a.git", "path": "web", "targetRevision": "main"}
    warning = f"Deployment/web is part of applications argocd/web and shop?password={SECRET}"
    conditions = [
        {"type": kind, "message": message, "lastTransitionTime": "2026-01-01T11:00:00Z"}
        for kind, message in (
            ("ComparisonError", f"rpc error: authentication required for user ci, password={SECRET}"),
            ("SyncError", f"redis-cli -a {SECRET} ping"),
            ("SharedResourceWarning", warning),
        )
    ]
    status = {"sync": {"status": "Unknown"}, "conditions": conditions}
    labels = {"team": "shop", "acme.example.com/token": SECRET}
    data = fixture(NAME, NAME, spec={"source": source}, status=status, metadata={"labels": labels})
    logins = {**NAME, "kind": "Users", "spec": {"users": {f"https://ci:{SECRET}@git.example.com/a": "admin"}}}
    drifted = fixture(logins, {**logins, "spec": {"users": {"b": "admin"}}}).data["apps"][0]
    data.data["apps"].append({**drifted, "name": "users"})
    server = {"settings": {"url": f"https://ci:{SECRET}@cd.example.com/"}}
    chosen = tuple(ChosenRule(r, r.default_options) for r in RULES)
    plan = Plan(chosen, workers=1, deep=True, manifests=True, shard=(1, 1), app_labels=tuple(labels))
    part = lint.examine_shard(FixtureTransport({**data.data, "server": server}), plan)
    file = lint.to_json(part).decode()
    assert f'[["team","shop"],["acme.example.com/token","{HIDDEN}"]]' in file
    assert "git.example.com/a.git@main" in file
    assert part.servers[0].url == "https://cd.example.com"
    assert '"detail":"/spec/users/https:~1~1git.example.com~1a"' in file
    assert "ComparisonError: rpc error: authentication required" in file
    assert SECRET not in file


def test_a_secret_behind_a_flag_of_one_letter_is_in_no_report() -> None:
    """What only the container's command tells of its arguments, a line of evidence cannot tell any more."""
    container = {"name": "c", "image": "c:1", "command": ["mysql"], "args": ["-u"]}
    live = {**container, "args": ["-u", "root", "-phunter2288"]}
    data = fixture(
        {**NAME, "spec": {"template": {"spec": {"containers": [container]}}}},
        {**NAME, "spec": {"template": {"spec": {"containers": [live]}}}},
    )
    told = everything_told(check(data, RULES)) + chain_of(data.data)
    assert f"-p{HIDDEN}" in told
    assert "hunter2288" not in told


def test_a_finding_that_lists_differences_of_many_objects_tells_none_of_their_secrets() -> None:
    container = {"name": "c", "image": "c:1", "command": ["mysql"], "args": ["-u"]}
    live = {**container, "args": ["-u", "root", "-phunter2288"]}

    def listing(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
        told = tuple(f"/spec/args: {show(c.live, c.pointer)} live" for r in app.resources for c in r.changes)
        yield Finding("it is not synced", Location(app.ref), evidence=told)

    rule = Rule(id="listing", family="drift", severity="warning", doc="A test rule", check=listing)
    data = fixture(
        {**NAME, "spec": {"template": {"spec": {"containers": [container]}}}},
        {**NAME, "spec": {"template": {"spec": {"containers": [live]}}}},
    )
    (found,) = check(data, [rule]).findings
    assert found.evidence[-1] == f'/spec/args: "-p{HIDDEN}" live'


def test_a_report_that_an_older_argolint_wrote_is_read_without_its_secrets(tmp_path: Path) -> None:
    fix = patch({"op": "add", "path": "/spec/password", "value": SECRET}, verified=True)
    old = finding(fix, message=f"it holds --password={SECRET}", evidence=[f'/env/DB_TOKEN: "{SECRET}" live'])
    one, two = saved_report(tmp_path / "1.json", old), saved_report(tmp_path / "2.json")
    assert SECRET not in run_argolint("fix", "--report", one).out
    assert SECRET not in run_argolint("compare", one, two).out


def test_a_fix_with_a_masked_value_is_not_written(tmp_path: Path) -> None:
    manifest = yaml.safe_dump({**NAME, "spec": pod([{"name": "URL", "value": "x"}])})
    root = repository(tmp_path / "clone", {"web/a.yaml": manifest})
    path = "/spec/template/spec/containers/0/env/0/value"
    fix = patch({"op": "replace", "path": path, "value": f"postgres://u:{HIDDEN}@db/x"})
    saved = saved_report(tmp_path / "r.json", finding(fix))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--unverified")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "By hand: 1")
    assert "the fix leaves a value to you → fill it in and change the file by hand" in ran.out
    assert (root / "web/a.yaml").read_text() == manifest


def test_a_diff_hides_the_passwords_beside_what_changes(tmp_path: Path) -> None:
    values = "image: a\npassword: hunter2\nreplicas: 3\nurl: postgres://u:hunter2@db/x\n"
    manifest = f"apiVersion: example.com/v1\nkind: Db\nmetadata:\n  name: db\n  namespace: shop\nspec:\n  {values.replace(chr(10), chr(10) + '  ').rstrip()}\n"
    root = repository(tmp_path / "clone", {"web/a.yaml": manifest})
    subject = {"group": "example.com", "version": "v1", "kind": "Db", "namespace": "shop", "name": "db", "cluster": "c"}
    fix = patch({"op": "replace", "path": "/spec/replicas", "value": 5})
    saved = saved_report(tmp_path / "r.json", finding(fix, resource=subject))
    ran = run_argolint("fix", "--report", saved, "--write", root, "--unverified", "--dry-run")
    assert [line for line in ran.out.splitlines() if line[:3] in ("   ", "-  ", "+  ")][-5:] == [
        "   image: a",
        f"   password: {HIDDEN}",
        "-  replicas: 3",
        "+  replicas: 5",
        f'   url: "postgres://u:{HIDDEN}@db/x"',
    ]


def test_a_key_with_a_login_is_in_no_pointer() -> None:
    address = f"https://ci:{SECRET}@git.example.com/a"
    data = fixture(*({**NAME, "spec": {"users": {address: role}, "x": 1}} for role in ("reader", "admin")))
    made = check(data, RULES)
    chain = chain_of(data.data)
    assert SECRET not in everything_told(made) + chain
    assert "/spec/users/https:~1~1git.example.com~1a" in chain
    assert {f.pointer for f in made.findings if f.family == "drift"} == {"/spec/users/https:~1~1git.example.com~1a"}


def test_the_gate_tells_no_value_that_the_change_sets(tmp_path: Path) -> None:
    def deployment(secret: str) -> str:
        spec = pod([{"name": "DB_PASSWORD", "value": secret}], f"--password={secret}")
        return yaml.safe_dump({**NAME, "spec": {**spec, "users": {f"https://ci:{secret}@git.example.com/a": "admin"}}})

    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    commit(clone, {"web/a.yaml": deployment("old" + SECRET)})
    git(clone, "switch", "--create", "feature", "--quiet")
    commit(clone, {"web/a.yaml": deployment(SECRET)})
    address = f"https://gitlab-ci-token:{SECRET}@git.example.com/shop/apps.git"
    with ReplayServer(GitServer(clone)) as server:
        options = ("--server", server.address, "--plaintext", "--repo", address, "--base", "main", "--head", "feature")
        files = [tmp_path / name for name in FORMATS]
        outputs = [part for file in files for part in ("-o", f"{file.name}={file}")]
        ran = run_argolint("gate", *options, *outputs, env={"ARGOCD_AUTH_TOKEN": server.token()})
        assert ran.code == 0, ran.err
        told = ran.out + ran.err + "".join(file.read_text() for file in files)
        elsewhere = (*options[:4], address.replace("apps", "none"), *options[5:])
        ran = run_argolint("gate", *elsewhere, env={"ARGOCD_AUTH_TOKEN": server.token()})
    assert (ran.code, "no application of" in ran.err) == (2, True)
    assert SECRET not in told + ran.err
    assert f"+               value: {HIDDEN}" in told


def test_errors_repeat_no_secret_of_the_command_line(tmp_path: Path) -> None:
    url = f"https://u:{SECRET}@git.example.com/x"
    snapshot = write_snapshot(tmp_path / "s", ANSWERS)
    for args in (
        ("fix", "--snapshot", snapshot, "--write", f"{url}={tmp_path}/none"),
        ("check", "--snapshot", snapshot, "--helm-render", "--checkout", f"{url}={tmp_path}/none"),
        ("check", "--snapshot", snapshot, "-o", url),
        ("check", "--snapshot", snapshot, "--fail-on", url),
        ("gate", "--snapshot", snapshot, "--repo", url, "--head", "x"),
    ):
        ran = run_argolint(*args)
        assert ran.code == 2, ran
        assert ran.err
        assert SECRET not in ran.out + ran.err


def test_a_bug_is_told_whole_but_for_its_secrets(tmp_path: Path) -> None:
    """A plug-in that breaks while it is loaded stands for any bug."""
    package = tmp_path / "site"
    info = package / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[argolint.rules]\nbroken = broken\n")
    (package / "sitecustomize.py").write_text(
        "import argolint.cli.group as c\n"
        f"def fall(*a, **k): raise ZeroDivisionError('no password={SECRET} here')\n"
        "c.command_line = fall\n"
    )
    ran = run_argolint("rules", env={"PYTHONPATH": str(package), "ARGOLINT_TRACEBACK": "1"})
    assert ran.code == 2
    assert SECRET not in ran.err
    assert f"ZeroDivisionError: no password={HIDDEN} here\nargolint: crashed: ZeroDivisionError at " in ran.err


def test_a_finding_without_secrets_stays_what_it_is() -> None:
    found = Finding(
        "Deployment shop/web drifts", Location(AppRef("argocd", "web")), evidence=("/spec/replicas: 1 live",)
    )
    assert guarded(found) is found
    assert guarded(replace(found, message=f"password={SECRET}")).message == f"password={HIDDEN}"


@pytest.mark.parametrize(("other", "cause"), [(SECRET, "same-content"), ("Zq7other99Xw", "different-content")])
def test_a_shard_holds_no_secret_and_still_tells_equal_ones(other: str, cause: str) -> None:
    """Facts of a fleet-wide rule hold whole manifests, and shards are files of CI jobs."""

    def app(name: str, value: str) -> dict[str, Any]:
        desired = {**NAME, "spec": pod([{"name": "DB_PASSWORD", "value": value}])}
        return {"name": name, "resources": [{"desired": desired, "live": desired}], "status": {"history": [{"id": 1}]}}

    t = FixtureTransport({"about": "made in a test", "apps": [app("one", SECRET), app("two", other)]})
    chosen = tuple(ChosenRule(r, r.default_options) for r in RULES)
    parts = [lint.examine_shard(t, Plan(chosen, workers=1, deep=True, shard=(n, 2))) for n in (1, 2)]
    files = [lint.to_json(part) for part in parts]
    assert not any(value.encode() in file for file in files for value in (SECRET, other))
    assert any(b"masked-" in file for file in files)
    merged = lint.merge([(str(n), lint.from_json(file, "")) for n, file in enumerate(files)])
    (found,) = [f for f in join(merged.results, chosen).findings if f.rule == "shared-resource"]
    assert found.cause == cause
    assert SECRET not in str(found)
