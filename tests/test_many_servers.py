"""Several Argo CDs in one run: real servers on loopback, one report, and everything that keeps findings apart by server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.engine.plan import Plan
from argolint.engine.servers import Source, examine_servers, read_servers
from argolint.errors import ConnectError
from argolint.model.results import AppResult
from argolint.reports import document
from argolint.reports.formats import Style, with_server_names
from argolint.serve import agent_answers
from argolint.serve.documents import Documents
from argolint.server.transport import Transport
from argolint.snapshots.http_server import Faults
from argolint.snapshots.reader import SnapshotTransport
from tests.checkouts import repository
from tests.conftest import Ran
from tests.fleets import HOME, Fleets, app, config_map, drifted, noted, serving
from tests.here import run_here
from tests.small import write_snapshot

LEAVES = "`argocd app delete` deletes the object; deleting the Application in another way leaves it"
RULE = "shared-between-servers"


@dataclass(frozen=True)
class CheckResult:
    """A check over three servers in every format, and a baseline of it."""

    fleets: Fleets
    folder: Path
    ran: Ran
    requests: Mapping[str, list[str]]

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.text("report.json"))  # type: ignore[no-any-return]

    def found(self, rule: str) -> list[dict[str, Any]]:
        return [f for f in self.report["findings"] if f["rule"] == rule]


def check(fleets: Fleets, *more: str | Path) -> Ran:
    return run_here("check", "--servers", fleets.file, *more, env=fleets.environ, cwd=fleets.file.parent)


FLEET = {
    "eu": [app("web", drifted(), config_map("common")), app("api", config_map("a"))],
    "us": [app("web", drifted(), config_map("common"))],
    "lab": [app("web", drifted(), config_map("common"))],
}
ALIASES = {"eu": {"in-cluster": "prod"}, "us": {HOME: "prod"}}
FORMATS = ("json", "html", "prometheus", "sarif", "junit", "gitlab", "markdown", "openreports")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckResult]:
    folder = tmp_path_factory.mktemp("three")
    with serving(folder, FLEET, ALIASES) as fleets:
        outputs = [word for name in FORMATS for word in ("-o", f"{name}={folder / f'report.{name}'}")]
        texts = ("-o", "text", "-o", f"text={folder / 'report.text'}")
        ran = check(fleets, *outputs, *texts, "--state", folder / "state.db")
        requests = {name: list(server.seen) for name, server in fleets.servers.items()}
        yield CheckResult(fleets, folder, ran, requests)


def test_an_application_of_one_name_has_its_finding_on_each_server(three: CheckResult) -> None:
    found = three.found("not-synced")
    assert [f["app"]["server"] for f in found] == [f"https://{name}.example.com" for name in ("eu", "lab", "us")]
    assert len({f["fingerprint"] for f in found}) == 1
    assert [(s["name"], s["url"], s["apps"]) for s in three.report["servers"]] == [
        ("eu", "https://eu.example.com", 2),
        ("us", "https://us.example.com", 1),
        ("lab", "https://lab.example.com", 1),
    ]


def test_clusters_of_one_alias_are_one_and_other_in_clusters_are_not(three: CheckResult) -> None:
    (found,) = three.found(RULE)
    assert found["message"].startswith(
        '"argocd/web" of eu and "argocd/web" of us both deploy 2 objects of cluster prod: '
    )
    assert [r["app"]["server"] for r in found["related"]] == ["https://us.example.com"]


def test_each_server_is_listed_once(three: CheckResult) -> None:
    for seen in three.requests.values():
        assert len([path for path in seen if path.split("?")[0] == "/api/v1/applications"]) == 1


def test_a_report_of_many_holds_what_a_report_of_one_holds(three: CheckResult) -> None:
    server = three.fleets.servers["us"]
    alone = run_here(
        "check",
        "--server",
        server.address,
        "--plaintext",
        "-o",
        "json",
        cwd=three.folder,
        env={"ARGOCD_AUTH_TOKEN": server.token()},
    )
    expected = json.loads(alone.out)["findings"]
    among = [
        f for f in three.report["findings"] if f["app"]["server"] == "https://us.example.com" and f["rule"] != RULE
    ]
    assert among == [{**f, "since": among[0]["since"]} for f in expected]
    assert '"name"' not in alone.out.partition('"servers"')[2].partition("]")[0]


def test_people_read_the_name_of_the_server(three: CheckResult) -> None:
    assert three.ran.code == 1
    assert "error    eu/argocd/web, us/argocd/web · fixes both" in three.ran.out
    assert "Without 3 info: --full shows all." in three.ran.out
    assert "`argocd` and `kubectl` have to point to lab" in one_line(three.text("report.text"))
    assert (
        "\neu   2 applications: 1 error, 1 info\nlab  1 application: 1 info\nus   1 application: 1 info\n"
        in three.ran.out
    )
    assert "<code>lab/argocd/web</code>" in three.text("report.markdown")
    assert 'testsuite name="us/argocd/web"' in three.text("report.junit")
    assert re.search(r'argolint_findings\{argocd="lab".*rule="not-synced".*\} 1\.0', three.text("report.prometheus"))
    assert 'eu = <a href="https://eu.example.com/applications"' in three.text("report.html")
    reports = [*yaml.safe_load_all(three.text("report.openreports"))]
    named = {result["properties"]["argocd"] for made in reports for result in made["results"]}
    assert named == {"eu", "us", "lab"}


def test_no_format_takes_two_findings_for_one(three: CheckResult) -> None:
    results = json.loads(three.text("report.sarif"))["runs"][0]["results"]
    for marks in (
        [r["partialFingerprints"]["argolint/v1"] for r in results],
        [issue["fingerprint"] for issue in json.loads(three.text("report.gitlab"))],
        re.findall(r'<details id="([^"]+)"><summary><span', three.text("report.html")),
        re.findall(r"^  name: (argolint-\S+)$", three.text("report.openreports"), re.M),
    ):
        assert len(marks) == len(set(marks)) >= 3


def test_causes_are_those_of_their_server(three: CheckResult) -> None:
    causes = three.report["causes"]
    assert {c["server"] for c in causes} == {f"https://{name}.example.com" for name in FLEET}
    assert sum(c["findings"] for c in causes) == len(three.report["findings"])


def test_agents_and_the_service_know_the_server_of_an_application(three: CheckResult) -> None:
    report = document.from_json(three.text("report.json").encode(), "the report")
    rows = json.loads(agent_answers.listed(with_server_names(report), with_server_names(report).findings, 0, 50))[
        "findings"
    ]
    assert len({row["fingerprint"] for row in rows}) == len(report.findings)
    assert {row["application"].split("/")[0] for row in rows} == {"eu", "us", "lab"}
    served = Documents(report, [a.app for a in report.applications], Style())
    assert served.at("/api/v1/applications/argocd/web") is None
    answer = served.at("/api/v1/applications/us/argocd/web")
    assert answer is not None
    told = json.loads(answer.body)
    assert told["app"]["server"] == "https://us.example.com"
    assert sorted(f["rule"] for f in told["findings"]) == ["not-synced", RULE]
    assert served.at("/api/v1/applications/argocd/api") is not None


def test_a_baseline_hides_on_its_own_server_alone(three: CheckResult, tmp_path: Path) -> None:
    whole, one = tmp_path / "all.json", tmp_path / "us.json"
    report = ("--report", three.folder / "report.json")
    assert run_here("baseline", "-o", whole, *report, cwd=tmp_path).code == 0
    hidden = json.loads(check(three.fleets, "--baseline", whole, "-o", "json").out)
    assert hidden["summary"]["suppressed"] == len(three.report["findings"])
    text = json.loads(whole.read_text())
    own = [f for f in text["findings"] if f["server"] == "https://us.example.com"]
    one.write_text(json.dumps({**text, "server": "https://us.example.com", "findings": own}))
    hidden = json.loads(check(three.fleets, "--baseline", one, "-o", "json").out)
    assert {f["app"]["server"] for f in hidden["findings"] if f.get("suppressed")} == {"https://us.example.com"}


def test_a_run_of_one_server_judges_nothing_that_is_of_others(three: CheckResult, tmp_path: Path) -> None:
    """What two servers share is not there for one of them alone: that is no reason to drop it."""
    baseline, config = tmp_path / "baseline.json", tmp_path / "config.yaml"
    run_here("baseline", "--report", three.folder / "report.json", "-o", baseline, cwd=tmp_path)
    accepted = baseline.read_text()
    assert f'"rule": "{RULE}"' in accepted
    config.write_text("ignore: [{rule: suspended, server: 'https://us.example.com', reason: not yet}]\n")
    eu = three.fleets.servers["eu"]
    alone = ("--server", eu.address, "--plaintext", "--auth-token", eu.token(), "--config-file", config)
    found = json.loads(run_here("check", *alone, "--baseline", baseline, "-o", "json", cwd=tmp_path).out)
    assert "suppression-unused" not in {f["rule"] for f in found["findings"]}
    for servers in (alone, ("--servers", three.fleets.file, "--only", "eu")):
        ran = run_here("baseline", *servers, "--prune", "-o", baseline, env=three.fleets.environ, cwd=tmp_path)
        assert (ran.code, baseline.read_text()) == (0, accepted), ran.err


def test_an_ignore_entry_may_name_the_server(three: CheckResult, tmp_path: Path) -> None:
    configuration = tmp_path / "own.yaml"
    configuration.write_text("ignore: [{rule: not-synced, server: us, reason: agreed}]\n")
    found = json.loads(check(three.fleets, "--config-file", configuration, "-o", "json").out)["findings"]
    hidden = [(f["rule"], f["app"]["server"]) for f in found if f.get("suppressed")]
    assert hidden == [("not-synced", "https://us.example.com")]


def test_shards_of_many_servers_merge_into_the_same_report(three: CheckResult, tmp_path: Path) -> None:
    shards = [tmp_path / f"{n}.json" for n in (1, 2)]
    for number, shard in enumerate(shards, 1):
        assert check(three.fleets, "--shard", f"{number}/2", "-o", f"json={shard}").code == 0
    merged = json.loads(run_here("merge", *shards, "-o", "json", cwd=tmp_path).out)
    same = ("servers", "summary", "causes", "failures", "applications")
    assert {key: merged[key] for key in same} == {key: three.report[key] for key in same}
    assert [f["fingerprint"] for f in merged["findings"]] == [f["fingerprint"] for f in three.report["findings"]]


def test_shards_of_a_selection_merge_into_its_report_also_where_most_hold_nothing(
    three: CheckResult, tmp_path: Path
) -> None:
    config = ("--config-file", tmp_path / "config.yaml")
    config[1].write_text("ignore: [{rule: suspended, reason: not yet}]\n")
    plain = json.loads(check(three.fleets, "eu/argocd/web", *config, "-o", "json").out)
    shards = [tmp_path / f"{n}.json" for n in (1, 2, 3)]
    for number, shard in enumerate(shards, 1):
        check(three.fleets, "eu/argocd/web", *config, "--shard", f"{number}/3", "-o", f"json={shard}")
    merged = json.loads(run_here("merge", *shards, *config, "-o", "json", cwd=tmp_path).out)
    assert {**merged, "stats": 0} == {**plain, "stats": 0}
    assert plain["summary"]["apps"] == 1
    assert not [f for f in plain["findings"] if f["rule"] == "suppression-unused"]
    check(three.fleets, *config, "--shard", "2/3", "-o", f"json={shards[1]}")
    mixed = run_here("merge", *shards, *config, cwd=tmp_path)
    assert (mixed.code, "differ in their selection of applications" in mixed.err) == (2, True)
    for more in (("us/argocd/web",), ("eu/argocd/web", "--deep")):
        check(three.fleets, *more, *config, "--shard", "2/3", "-o", f"json={shards[1]}")
        mixed = run_here("merge", *shards, *config, cwd=tmp_path)
        assert (mixed.code, "differ in their options: applications, --deep," in mixed.err) == (2, True), more
    check(three.fleets, "eu/argocd/web", *config, "--shard", "2/4", "-o", f"json={shards[1]}")
    mixed = run_here("merge", *shards, *config, cwd=tmp_path)
    assert (mixed.code, "2.json is one of 4 shards, " in mixed.err) == (2, True)


def test_one_server_down_is_its_failure_and_no_finding_of_it_is_gone(three: CheckResult, tmp_path: Path) -> None:
    text = json.loads(three.fleets.file.read_text())
    entries = [{**e, "server": "127.0.0.1:1"} if e["name"] == "us" else e for e in text["servers"]]
    file = tmp_path / "servers.yaml"
    file.write_text(json.dumps({"servers": entries}))
    now = tmp_path / "now.json"
    ran = run_here(
        *("check", "--servers", file, "-o", f"json={now}", "-o", "text", "--state", three.folder / "state.db"),
        env=three.fleets.environ,
        cwd=tmp_path,
    )
    assert ran.code == 3
    assert "not looked at  us: server: " in ran.out
    assert "→ in its entry: check `server` and its port" in ran.out
    assert "us   not read" in ran.out
    found = json.loads(now.read_text())
    assert {f["app"]["server"] for f in found["findings"]} == {"https://eu.example.com", "https://lab.example.com"}
    assert [f["server"] for f in found["failures"]] == ["us"]
    assert found["trend"][-1]["gone"] == 0
    baseline = tmp_path / "baseline.json"
    baseline.write_text(
        json.dumps(
            {
                "baseline_version": "1.0",
                "server": "https://us.example.com",
                "written_at": "2026-01-01T00:00:00Z",
                "findings": [
                    {k: f[k] for k in ("fingerprint", "rule")} | {"app": ""} for f in three.found("not-synced")
                ],
            }
        )
    )
    hidden = run_here(
        *("check", "--servers", file, "--baseline", baseline, "-o", "json"), env=three.fleets.environ, cwd=tmp_path
    )
    assert json.loads(hidden.out)["summary"]["suppressed"] == 0
    compared = run_here("compare", three.folder / "report.json", now, cwd=tmp_path)
    assert compared.out.endswith("0 new, 0 gone, 2 unchanged, 2 that the last report could not look for\n")
    eu = three.fleets.servers["eu"]
    access = ("--server", eu.address, "--plaintext", "--auth-token", eu.token())
    run_here("check", *access, "-o", f"json={now}", cwd=tmp_path)
    compared = run_here("compare", three.folder / "report.json", now, cwd=tmp_path)
    assert compared.out.endswith("0 new, 0 gone, 1 unchanged, 3 that the last report could not look for\n")


def test_a_server_that_dies_midway_keeps_what_was_read(tmp_path: Path) -> None:
    with serving(tmp_path, FLEET, faults={"us": Faults(token_dies_after=6)}) as fleets:
        ran = check(fleets, "-o", "json")
    assert ran.code == 3
    found = json.loads(ran.out)
    assert {f.get("server") or f["app"]["server"] for f in found["failures"]} <= {"us", "https://us.example.com"}
    assert len([f for f in found["findings"] if f["rule"] == "not-synced"]) >= 2
    for token in fleets.tokens():
        assert token not in ran.out + ran.err


def test_a_shard_with_an_application_that_could_not_be_looked_at_is_incomplete(tmp_path: Path) -> None:
    with serving(tmp_path, FLEET, faults={"eu": Faults(forbidden=("web",))}) as fleets:
        codes = {
            (more, number): check(fleets, "--shard", f"{number}/2", "-o", f"json={tmp_path / str(number)}", *more).code
            for more in ((), ("--allow-incomplete",))
            for number in (1, 2)
        }
        merged = run_here("merge", "1", "2", "-q", cwd=tmp_path)
    assert sorted(codes[(), number] for number in (1, 2)) == [0, 3]
    assert {codes[("--allow-incomplete",), number] for number in (1, 2)} == {0}
    assert (merged.code, "1 check could not be completed" in merged.out) == (3, True)


def test_shards_are_merged_alike_in_whatever_order_they_are_given(three: CheckResult, tmp_path: Path) -> None:
    """Also where a server was there for one of them alone."""
    text = json.loads(three.fleets.file.read_text())
    down = Fleets(tmp_path / "servers.yaml", environ=three.fleets.environ)
    entries = [{**e, "server": "127.0.0.1:1"} if e["name"] == "us" else e for e in text["servers"]]
    down.file.write_text(json.dumps({"servers": entries}))
    for number, fleets in ((1, three.fleets), (2, down)):
        check(fleets, "--shard", f"{number}/2", "-o", f"json={tmp_path / str(number)}")
    one, other = (
        json.loads(run_here("merge", *order, "-o", "json", cwd=tmp_path).out) for order in (("1", "2"), ("2", "1"))
    )
    assert {**one, "stats": 0} == {**other, "stats": 0}
    assert [f["server"] for f in one["failures"]] == ["us"]


def test_none_that_can_be_read_is_no_report(tmp_path: Path) -> None:
    file = tmp_path / "servers.yaml"
    file.write_text("servers: [{name: eu, server: '127.0.0.1:1'}, {name: us, server: '127.0.0.2:1'}]")
    ran = run_here("check", "--servers", file, "-q", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("argolint: none of the Argo CDs can be read: eu: ")
    assert "; us: " in ran.err


def one_line(text: str) -> str:
    """Without the line breaks, which depend on the terminal's width."""
    return " ".join(text.split())


def test_no_application_on_one_of_them_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "empty": [], "us": [app("web")]}) as fleets:
        ran = check(fleets)
    assert ran.code == 3
    assert "not looked at empty: applications: the server shows this account no application at all" in one_line(ran.out)


def test_an_alias_to_nowhere_is_a_failure_of_its_server(tmp_path: Path) -> None:
    with serving(
        tmp_path, {"eu": [app("web")], "us": [app("web")]}, {"us": {"edge-9": "edge", HOME: "prod"}}
    ) as fleets:
        ran = check(fleets)
    assert ran.code == 3
    assert "not looked at us: clusters: there is an alias for cluster edge-9, and neither a cluster nor an" in one_line(
        ran.out
    )


def test_a_public_cluster_that_has_a_name_on_one_server_alone_is_told(tmp_path: Path) -> None:
    edge = "https://edge.example.com:6443"
    apps = [app("web", config_map("common"), cluster=edge)]
    told = {}
    for case, aliases in (("one", {"eu": {edge: "edge"}}), ("both", {"eu": {edge: "edge"}, "us": {edge: "edge"}})):
        folder = tmp_path / case
        folder.mkdir()
        with serving(folder, {"eu": apps, "us": apps}, aliases) as fleets:
            found = json.loads(check(fleets, "-o", "json", "--fail-on", "never").out)
        told[case] = (found["remarks"], sum(f["rule"] == RULE for f in found["findings"]))
    assert told == {
        "one": (
            [
                f"Cluster {edge} is edge on eu and has no name on us: it is taken for several clusters, "
                "unless `clusters:` gives it one name."
            ],
            0,
        ),
        "both": ([], 1),
    }


def test_the_name_in_cluster_is_understood_by_an_account_that_may_see_no_cluster(tmp_path: Path) -> None:
    with serving(tmp_path, FLEET, ALIASES) as fleets:
        for server in fleets.servers.values():
            server.transport._clusters = {}  # type: ignore[attr-defined]
        ran = check(fleets, "-o", "json")
    report = json.loads(ran.out)
    assert [f["rule"] for f in report["findings"]].count(RULE) == 1
    assert {(f["server"], f["stage"]) for f in report["failures"]} == {(name, "clusters") for name in FLEET}


def test_servers_that_say_the_same_of_themselves_are_told_apart(tmp_path: Path) -> None:
    same = {"url": "https://argocd.example.com"}
    with serving(tmp_path, {"eu": FLEET["us"], "us": FLEET["us"]}, settings={"eu": same, "us": same}) as fleets:
        found = json.loads(check(fleets, "-o", "json").out)
        addresses = [server.url for server in fleets.servers.values()]
    assert sorted(f["app"]["server"] for f in found["findings"] if f["rule"] == "not-synced") == sorted(addresses)
    assert found["remarks"][0].startswith("eu, us all say that their address is https://argocd.example.com")


def test_one_argo_cd_under_two_names_is_said_and_conflicts_with_nobody(tmp_path: Path) -> None:
    apps = [app("web", config_map("common"), metadata={"uid": "one"})]
    with serving(tmp_path, {"eu": apps, "also": apps}, {"eu": {HOME: "prod"}, "also": {HOME: "prod"}}) as fleets:
        found = json.loads(check(fleets, "-o", "json").out)
    assert found["remarks"] == [
        "eu and also show the same Applications, so they are one Argo CD under two names: name it once."
    ]
    assert [f for f in found["findings"] if f["rule"] == RULE] == []


def ask(fleets: Fleets, *args: str | Path) -> Ran:
    """A command over the servers of `fleets`."""
    return run_here(*args, "--servers", fleets.file, env=fleets.environ, cwd=fleets.file.parent)


def test_an_application_is_named_with_its_server(three: CheckResult) -> None:
    found = json.loads(check(three.fleets, "us/argocd/web", "-o", "json").out)
    assert {a["app"]["server"] for a in found["applications"]} == {"https://us.example.com"}
    for wrong, near in (("us/argocd/api", "eu/argocd/api"), ("eu/api", "eu/argocd/api")):
        ran = check(three.fleets, wrong)
        assert (ran.code, ran.err.splitlines()[0]) == (
            2,
            f"argolint: there is no application {wrong!r} on eu, us and lab, or the account may not see it; "
            f"did you mean {near!r}?",
        )
    ran = check(three.fleets, "su/argocd/*")
    assert (ran.code, "no application of eu, us and lab fits this selection" in ran.err) == (2, True)


def test_only_some_of_the_servers_are_read_when_that_is_wanted(three: CheckResult, tmp_path: Path) -> None:
    """The others are asked for nothing, and neither their tokens nor what was known of them is missed."""
    own = {name: value for name, value in three.fleets.environ.items() if "EU" in name.upper()}
    config = tmp_path / "config.yaml"
    config.write_text("ignore: [{rule: suspended, server: us, reason: not yet}]\n")
    (state := tmp_path / "state.db").write_bytes((three.folder / "state.db").read_bytes())
    for server in three.fleets.servers.values():
        server.seen.clear()
    run = ("--servers", three.fleets.file, "--only", "e*", "-o", "json", "--config-file", config, "--state", state)
    found = json.loads(run_here("check", *run, env=own, cwd=tmp_path).out)
    assert [server["name"] for server in found["servers"]] == ["eu"]
    assert (found["complete"], found["trend"][-1]["gone"]) == (True, 0)
    assert "suppression-unused" not in {f["rule"] for f in found["findings"]}
    assert [bool(server.seen) for server in three.fleets.servers.values()] == [True, False, False]
    lists = check(three.fleets, "--only", "eu", "--only", "us", "-o", "json")
    assert [server["name"] for server in json.loads(lists.out)["servers"]] == ["eu", "us"]
    ran = check(three.fleets, "--only", "eeu")
    assert (ran.code, ran.err) == (
        2,
        "argolint: --only 'eeu' names no server of this run; did you mean 'eu'?\n  → the servers are eu, us and lab\n",
    )
    ran = run_here("check", "--only", "eu", "--server", "a", cwd=tmp_path)
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "argolint: --only chooses among several servers, and a single one is named",
    )


def test_why_finds_the_server_of_an_application_and_asks_where_several_have_it(three: CheckResult) -> None:
    found = json.loads(ask(three.fleets, "why", "api", "--json").out)
    assert (found["app"]["server"], found["app"]["name"]) == ("https://eu.example.com", "api")
    assert ask(three.fleets, "why", "api").out.startswith("eu/argocd/api  ")
    ran = ask(three.fleets, "why", "web")
    assert (ran.code, ran.err) == (
        2,
        "argolint: 'web' names 3 applications: eu/argocd/web, us/argocd/web, lab/argocd/web\n"
        "  → name one of them as SERVER/NAMESPACE/NAME\n",
    )
    found = json.loads(ask(three.fleets, "why", "us/argocd/web", "--json").out)
    assert found["app"]["server"] == "https://us.example.com"
    assert [f["rule"] for link in found["chain"] for f in link.get("because", ())] == ["not-synced"]


def test_owners_are_those_of_all_servers_and_an_object_of_a_common_cluster_stands_once(three: CheckResult) -> None:
    ran = ask(three.fleets, "owners")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "ConfigMap shop/common  (prod)",
        f"  owner     eu/argocd/web (project default): {LEAVES}",
        f"  owner     us/argocd/web (project default): {LEAVES}",
        "ConfigMap shop/settings  (prod)",
        f"  owner     eu/argocd/web (project default): {LEAVES}",
        f"  owner     us/argocd/web (project default): {LEAVES}",
        "2 objects, 2 Applications",
    ]
    found = json.loads(ask(three.fleets, "owners", "configmap/common", "-o", "json").out)
    assert found["servers"]["lab"] == "https://lab.example.com"
    assert [(o["cluster"], [c["app"] for c in o["claims"]]) for o in found["objects"]] == [
        (f"{HOME} of lab", ["lab/argocd/web"]),
        ("prod", ["eu/argocd/web", "us/argocd/web"]),
    ]
    ran = ask(three.fleets, "owners", "secret/none")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "argolint: no Application of eu, us and lab lists secret/none, or the account may not see it",
    )


def test_a_snapshot_of_many_servers_is_a_folder_that_a_check_reads_as_it_read_them(
    three: CheckResult, tmp_path: Path
) -> None:
    ran = ask(three.fleets, "snapshot", "-o", "all.tar.gz")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "argolint: all.tar.gz is one file, and 3 servers are to be saved")
    target = tmp_path / "all"
    ran = ask(three.fleets, "snapshot", "-o", target)
    assert ran.code == 0, ran.err
    assert f"{target}: us: 1 applications of https://us.example.com, " in ran.err
    again = json.loads(run_here("check", "--servers", target / "servers.yaml", "-o", "json", cwd=tmp_path).out)
    assert [f["fingerprint"] for f in again["findings"]] == [f["fingerprint"] for f in three.report["findings"]]
    assert not any(
        token.encode() in path.read_bytes()
        for token in three.fleets.tokens()
        for path in target.rglob("*")
        if path.is_file()
    )
    lists = tmp_path / "lists"
    assert ask(three.fleets, "snapshot", "--fleet-only", "-o", lists).code == 0
    for server in three.fleets.servers.values():
        server.seen.clear()
    shards = [tmp_path / f"{n}.json" for n in (1, 2)]
    for number, shard in enumerate(shards, 1):
        assert check(three.fleets, "--fleet", lists, "--shard", f"{number}/2", "-o", f"json={shard}").code == 0
    for server in three.fleets.servers.values():
        assert "/api/v1/applications" not in [path.split("?")[0] for path in server.seen]
    merged = json.loads(run_here("merge", *shards, "-o", "json", cwd=tmp_path).out)
    assert [f["fingerprint"] for f in merged["findings"]] == [f["fingerprint"] for f in three.report["findings"]]


def test_a_snapshot_without_a_server_that_is_down_says_so(three: CheckResult, tmp_path: Path) -> None:
    text = json.loads(three.fleets.file.read_text())
    entries = [{**e, "server": "127.0.0.1:1"} if e["name"] == "us" else e for e in text["servers"]]
    (tmp_path / "servers.yaml").write_text(json.dumps({"servers": entries}))
    down = Fleets(tmp_path / "servers.yaml", environ=three.fleets.environ)
    ran = ask(down, "snapshot", "-q", "-o", "all")
    assert ran.code == 3
    assert "not saved: us: nothing listens at " in ran.err
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == ["eu", "lab", "servers.yaml"]
    ran = ask(down, "why", "nothing")
    assert (ran.code, "(us could not be read)" in ran.err) == (2, True)
    for command in (("check", "us/*/*"), ("owners", "configmap/nothing")):
        ran = ask(down, *command)
        assert (ran.code, "(us could not be read)" in ran.err) == (2, True), command
    ran = ask(down, "owners", "configmap/a")
    assert (ran.code, "not looked at: us: server: nothing listens" in ran.err) == (3, True)


SCALED: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
}
SCALER: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5},
}


def test_fixes_of_many_servers_go_where_their_own_application_stands(tmp_path: Path) -> None:
    """Two servers have an Application of one name, whose manifests are in two repositories."""
    live = {**SCALED, "spec": {**SCALED["spec"], "replicas": 4}}
    sources = {name: {"repoURL": f"https://git.example.com/{name}", "path": "web"} for name in ("eu", "us")}
    where = {"destination": {"server": HOME, "namespace": "shop"}}
    apps = {
        name: [app("web", SCALER, {"desired": SCALED, "live": live}, spec={"source": source, **where})]
        for name, source in sources.items()
    }
    files = {"web/web.yaml": yaml.safe_dump(SCALED, sort_keys=False)}
    roots = {name: repository(tmp_path / name, files, source["repoURL"]) for name, source in sources.items()}
    writes = [word for root in roots.values() for word in ("--write", root)]
    with serving(tmp_path, apps) as fleets:
        ran = ask(fleets, "fix", "us/argocd/web", "--select", "autoscaler-replicas", *writes)
        assert ran.code == 0, ran.out + ran.err
        assert "us/argocd/web Deployment shop/web /spec/replicas" in ran.out
        texts = {name: (root / "web/web.yaml").read_text() for name, root in roots.items()}
        assert texts == {"eu": files["web/web.yaml"], "us": files["web/web.yaml"].replace("  replicas: 3\n", "")}
        ran = ask(fleets, "fix", "--select", "autoscaler-replicas", *writes)
    assert "replicas: 3" not in (roots["eu"] / "web/web.yaml").read_text(), ran.out


def test_a_fix_of_an_application_goes_to_the_manifest_of_its_own_argo_cd(tmp_path: Path) -> None:
    """One checkout holds an Application of one name for each; where it deploys from tells them apart."""
    live = {**SCALED, "spec": {**SCALED["spec"], "replicas": 4}}
    where = {"project": "default", "destination": {"server": HOME, "namespace": "shop"}}
    specs = {n: {"source": {"repoURL": "https://git.example.com/a", "path": n}, **where} for n in ("eu", "us")}
    apps = {n: [app("web", SCALER, {"desired": SCALED, "live": live}, spec=spec)] for n, spec in specs.items()}
    about = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd"},
    }
    files = {f"{n}.yaml": yaml.safe_dump({**about, "spec": spec}, sort_keys=False) for n, spec in specs.items()}
    root = repository(tmp_path / "clone", files, "https://git.example.com/argocd")
    with serving(tmp_path, apps) as fleets:
        which = ("--select", "autoscaler-replicas", "--alternative", "2", "--write", root)
        ran = ask(fleets, "fix", "us/argocd/web", *which)
        assert ran.code == 0, ran.out + ran.err
    assert (root / "eu.yaml").read_text() == files["eu.yaml"]
    assert "ignoreDifferences:" in (root / "us.yaml").read_text()


EU = "{name: eu, server: cd-eu.example.com}"


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        (f"- {EU}\n- {{name: eu, server: other.example.com}}", ":3: there is another server named 'eu', in line 2"),
        (
            f"- {EU}\n- {{name: us, server: 'https://CD-EU.example.com:443/'}}",
            ":3: us is the same server as eu: https://cd-eu.example.com",
        ),
        (
            "- {name: eu, server: cd-eu.example.com, auth-token-env: NO_SUCH_TOKEN}",
            ":2: eu: the variable NO_SUCH_TOKEN of auth-token-env is not set",
        ),
        ("- {name: eu, server: cd-eu.example.com, auth-token-file: none}", ":2: eu: cannot read auth-token-file "),
        ("- {name: eu, snapshot: none.tar.gz}", ":2: eu: there is no snapshot at "),
        ("- {name: eu}", ":2: eu names none of server, context and snapshot"),
        ("- {name: eu, server: a, snapshot: b}", ":2: eu names server and snapshot"),
        ("- {name: eu, context: a, auth-token-env: HOME}", ":2: eu has a token for a context"),
        ("- {name: a/b, server: a}", ":2: 'a/b' is no name"),
        (f"- {{name: {'n' * 101}, server: a}}", f":2: '{'n' * 101}' is no name"),
        ("- {name: eu, server: a#b}", ":2: eu: 'a#b' is no server address"),
        (
            "- {name: eu, server: a, clusters: {in-cluster: ''}}",
            ":2: eu has an alias without a name for cluster 'in-cluster'",
        ),
        ("- {name: eu, token: secret-value}", ":2: unknown key 'token'"),
        ("- name: eu\n  tokne: a\n  server: b", ":3: unknown key 'tokne'"),
        (
            "- {name: eu, server: a, auth-token-fiel: b}",
            ":2: unknown key 'auth-token-fiel'; did you mean 'auth-token-file'?",
        ),
        ("- {name: eu, server: a, limits: {wokers: 1}}", ":2: unknown key 'wokers'; did you mean 'workers'?"),
        ("- name: eu\n  server: a\n- name: 1\n  server: b", ":4: servers.1.name: text is expected, not a whole number"),
        (
            "- name: eu\n  server: a\n  clusters:\n    in-cluster: 1",
            ":5: servers.0.clusters.in-cluster: text is expected, not a whole number",
        ),
        ("- {name: eu, server: 'https://user:secret-value@a'}", ":2: eu: the server's address holds a user name"),
        ("- {name: eu, server: a, headers: {'X:': b}}", ":2: eu: 'X:' is no header's name"),
        ("- {name: eu, server: a, headers: {X-A: b}, headers-env: {x-a: B}}", ":2: eu has the header x-a twice"),
        (
            "- {name: eu, server: a, headers-env: {X-A: NO_SUCH_VALUE}}",
            ":2: eu: the variable NO_SUCH_VALUE of headers-env is not set",
        ),
        (
            "- {name: eu, server: a, headers-env: {X-Api-Key: secret-value}}",
            ":2: eu: what headers-env holds is no name of a variable",
        ),
        ("- {name: eu, server: a, auth-token-env: secret-value}", ":2: eu: what auth-token-env holds is no name of a"),
        (
            "- {name: eu, server: a, limits: {workers: 0}}",
            ":2: servers.0.limits.workers: a whole number >= 1 is expected",
        ),
        ("- {name: eu, server: a, limits: {rate: fast}}", ":2: eu: 'fast' is no rate such as 5/s or 30/m"),
        ("- {name: eu, snapshot: a, limits: {workers: 2}}", ":2: eu has headers or limits for a snapshot"),
        (" []", " names 0 servers"),
        (" {a: 1}", ":1: servers: a list is expected, not a mapping"),
    ],
)
def test_a_wrong_file_is_refused_before_any_request(tmp_path: Path, servers: str, message: str) -> None:
    from argolint.errors import UsageError
    from argolint.server.servers_file import read_servers
    from argolint.values import parse_time

    file = tmp_path / "servers.yaml"
    file.write_text(f"servers:\n{servers}\n")
    now = parse_time("2026-01-01T00:00:00Z")
    assert now is not None
    with pytest.raises(UsageError) as refused:
        read_servers(file, "", {}, tmp_path, now)
    assert str(refused.value).startswith(f"{file}{message}")
    assert "secret-value" not in str(refused.value) + refused.value.hint


def test_a_token_goes_to_its_own_server_only(tmp_path: Path) -> None:
    """Neither the variables of a single server nor another entry's token: eu has none of its own."""
    with serving(tmp_path, {"eu": [app("web")], "us": [app("web")]}) as fleets:
        text = json.loads(fleets.file.read_text())
        del text["servers"][0]["auth-token-env"]
        fleets.file.write_text(json.dumps(text))
        stray = fleets.servers["eu"].token()  # eu would accept it
        environ = {**fleets.environ, "ARGOCD_AUTH_TOKEN": stray, "ARGOCD_SERVER": fleets.servers["eu"].address}
        environ["ARGOCD_OPTS"] = f"--auth-token {stray}"
        ran = run_here("check", "--servers", fleets.file, env=environ, cwd=tmp_path)
    assert ran.code == 3
    assert "not looked at  eu: server: " in ran.out
    assert "log in again with `argocd login`, or give its entry auth-token-env or auth-token-file" in one_line(ran.out)
    assert "not looked at  us" not in ran.out


def test_what_to_do_about_a_token_is_told_by_where_its_entry_finds_it(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "us": [app("web")], "lab": [app("web")]}) as fleets:
        text = json.loads(fleets.file.read_text())
        eu, us, _ = text["servers"]
        environ = {**fleets.environ, eu["auth-token-env"]: fleets.servers["us"].token()}
        environ[us["auth-token-env"]] = fleets.servers["us"].token(timedelta(hours=-1))
        ran = run_here("check", "--servers", fleets.file, env=environ, cwd=tmp_path)
    assert ran.code == 3
    told = one_line(ran.out)
    assert f"→ put a fresh token into the variable {eu['auth-token-env']}; `argolint explain --setup` says how" in told
    assert f"us: login: the token of the variable {us['auth-token-env']} expired on " in told
    assert "ARGOCD_AUTH_TOKEN" not in told
    assert "relogin" not in told


def test_each_server_gets_its_own_headers_and_no_more_requests_than_its_limits_allow(tmp_path: Path) -> None:
    apps = [app(f"web-{n}", drifted(f"settings-{n}")) for n in range(9)]
    with serving(tmp_path, {"eu": apps, "us": apps}, faults={"us": Faults(slow_s=0.02)}) as fleets:
        text = json.loads(fleets.file.read_text())
        eu, us = text["servers"]
        eu |= {"headers": {"X-Tenant": "tenant-eu"}, "headers-env": {"X-Access": "ACCESS"}}
        us |= {"limits": {"workers": 2, "per-cluster": 1, "rate": "200/s"}}
        fleets.file.write_text(json.dumps(text))
        sent = {name: noted(server) for name, server in fleets.servers.items()}
        ran = run_here(
            *("check", "--servers", fleets.file, "-q", "--fail-on", "never"),
            env={**fleets.environ, "ACCESS": "access-of-eu"},
            cwd=tmp_path,
        )
        assert ran.code == 0, ran.err
    headers = {name: {(h.get("X-Tenant"), h.get("X-Access")) for h in noted.headers} for name, noted in sent.items()}
    assert headers == {"eu": {("tenant-eu", "access-of-eu")}, "us": {(None, None)}}
    assert sent["us"].most == 2


def test_limits_of_the_users_settings_hold_whatever_options_say(tmp_path: Path) -> None:
    own = tmp_path / "argolint"
    own.mkdir()
    (own / "config.yaml").write_text("limits: {workers: 2}\n")
    apps = [app(f"web-{n}", drifted(f"settings-{n}")) for n in range(9)]
    with serving(tmp_path, {"eu": apps}, faults={"eu": Faults(slow_s=0.02)}) as fleets:
        environ = {**fleets.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        sent = noted(fleets.servers["eu"])
        for more in (("-j", "8"), ("--processes", "4")):
            ran = run_here(
                *("check", "--servers", fleets.file, "-q", "--fail-on", "never", *more), env=environ, cwd=tmp_path
            )
            assert ran.code == 0, ran.err
        assert sent.most == 2
        assert "limits           workers 2  (" in run_here("config", env=environ, cwd=tmp_path).out
        (own / "config.yaml").write_text("limits:\n  workers: many\n")
        ran = run_here("check", "--servers", fleets.file, env=environ, cwd=tmp_path)
        assert ran.code == 2
        assert "config.yaml:2: limits.workers: a whole number is expected, not text" in ran.err
        ran = run_here("config", env=environ, cwd=tmp_path)
    assert ran.code == 0
    assert "config.yaml:2: limits.workers: a whole number is expected, not text" in ran.out


def test_options_of_a_single_server_do_not_go_with_many(tmp_path: Path) -> None:
    for args, message in (
        (("--servers", "x", "--server", "y"), "--server is for a single server, and --servers names several"),
        (("--servers", "x", "--snapshot", "y"), "--snapshot is for a single server, and --servers names several"),
        (("--servers", "x", "--all-contexts"), "--servers and --all-contexts both say which servers to read"),
    ):
        ran = run_here("check", *args, cwd=tmp_path)
        assert (ran.code, ran.err.splitlines()[0]) == (2, f"argolint: {message}")


def test_config_names_every_server_and_no_token(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "us": [app("web")]}, {"us": {"in-cluster": "prod"}}) as fleets:
        text = json.loads(fleets.file.read_text())
        text["servers"][1]["limits"] = {"workers": 2, "rate": "5/s"}
        fleets.file.write_text(json.dumps(text))
        ran = run_here("config", "--servers", fleets.file, env=fleets.environ, cwd=tmp_path)
    assert ran.code == 0
    for entry, server in zip(text["servers"], fleets.servers.values(), strict=True):
        assert f"server {entry['name']}        {server.url}  (token set, env:{entry['auth-token-env']})\n" in ran.out
    assert "  limits         workers 2, rate 5/s\n  clusters       in-cluster = prod\n" in ran.out
    assert not any(token in ran.out for token in fleets.tokens())


def test_a_fleet_file_without_a_server_is_refused_with_many(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "us": [app("web")]}) as fleets:
        ran = ask(fleets, "check", "--fleet", "fleet.tar.gz")
        assert (ran.code, ran.err.splitlines()[0]) == (2, "argolint: --fleet names no server")
        assert [server.seen for server in fleets.servers.values()] == [[], []]


def test_every_login_is_read_and_an_expired_one_is_a_failure(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "us": [app("web")]}) as fleets:
        eu, us = fleets.servers.values()
        logins = {
            "current-context": "eu",
            "contexts": [
                {"name": n, "server": s.address, "user": u}
                for n, s, u in (("eu", eu, "eu"), ("us", us, "us"), ("again", eu, "eu"))
            ]
            + [{"name": "core", "server": "kubernetes", "user": "core"}],
            "servers": [{"server": s.address, "plain-text": True} for s in (eu, us)]
            + [{"server": "kubernetes", "core": True}],
            "users": [
                {"name": "core"},
                {"name": "eu", "auth-token": eu.token()},
                {"name": "us", "auth-token": us.token(timedelta(hours=-1))},
            ],
        }
        config = tmp_path / "config"
        config.write_text(json.dumps(logins))
        config.chmod(0o600)
        ran = run_here("check", "--all-contexts", "--config", config, cwd=tmp_path)
    assert ran.code == 3
    assert "not looked at  us: login: the session of the login `us` expired on" in ran.out
    assert "The logins eu and again are of one server, so it is read once." in ran.out
    assert "The login core has no server to ask, so it is left out." in ran.out
    assert "eu  1 application: nothing found" in ran.out


def test_a_snapshot_of_logins_with_like_names_can_be_read(tmp_path: Path) -> None:
    with serving(tmp_path, {"eu": [app("web")], "us": [app("api")]}) as fleets:
        named = {"team/eu": fleets.servers["eu"], "team-eu": fleets.servers["us"]}
        logins = {
            "contexts": [{"name": n, "server": s.address, "user": n} for n, s in named.items()],
            "servers": [{"server": s.address, "plain-text": True} for s in named.values()],
            "users": [{"name": n, "auth-token": s.token()} for n, s in named.items()],
        }
        config = tmp_path / "config"
        config.write_text(json.dumps(logins))
        config.chmod(0o600)
        saved = run_here("snapshot", "--all-contexts", "--config", config, "-o", "all", cwd=tmp_path)
    assert saved.code == 0, saved.err
    found = json.loads(run_here("check", "--servers", "all/servers.yaml", "-o", "json", cwd=tmp_path).out)
    assert {s["name"]: s["apps"] for s in found["servers"]} == {"team-eu-2": 1, "team-eu": 1}
    assert sorted(a["app"]["name"] for a in found["applications"]) == ["api", "web"]


def test_snapshots_stand_for_servers_and_settings_name_the_file(three: CheckResult, tmp_path: Path) -> None:
    for name in ("eu", "us"):
        server = three.fleets.servers[name]
        token = {"ARGOCD_AUTH_TOKEN": server.token()}
        ran = run_here(
            *("snapshot", "-o", tmp_path / name, "--server", server.address, "--plaintext"), env=token, cwd=tmp_path
        )
        assert ran.code == 0, ran.err
    own = tmp_path / "argolint"
    own.mkdir()
    (own / "config.yaml").write_text("servers: servers.yaml\n")
    (own / "servers.yaml").write_text(
        "servers:\n- {name: eu, snapshot: ../eu, clusters: {in-cluster: prod}}\n- {name: us, snapshot: ../us, clusters: {in-cluster: prod}}\n"
    )
    ran = run_here("check", "-o", "json", env={"XDG_CONFIG_HOME": str(tmp_path)}, cwd=tmp_path)
    found = json.loads(ran.out)
    assert [s["name"] for s in found["servers"]] == ["eu", "us"]
    assert [f["fingerprint"] for f in found["findings"] if f["rule"] == RULE] == [three.found(RULE)[0]["fingerprint"]]


def test_who_looks_is_not_waited_for_again_once_it_is_gone(tmp_path: Path) -> None:
    """A Dask scheduler that ends after the first of four servers: the second finds out, and the others do not try."""
    sources = [
        Source(name, SnapshotTransport([write_snapshot(tmp_path / name)]), reached=(tmp_path / name,))
        for name in ("a", "b", "c", "d")
    ]
    asked: list[str] = []

    def look(t: Transport, fleet: Fleet, plan: Plan, apps: Sequence[App]) -> Iterator[AppResult]:
        asked.append(fleet.name)
        if len(asked) > 1:
            raise ConnectError("no Dask scheduler answers")
        yield from (AppResult(app.ref) for app in apps)

    read, failures, remarks = read_servers(sources)
    part = examine_servers(read, failures, remarks, Plan(()), lambda name: lambda done, total: None, lambda t: look)
    assert asked == ["a", "b"]
    errors = [[f.error for f in result.failures] for result in part.results]
    assert sorted(errors) == [[]] * 2 + [["no Dask scheduler answers"]] * 6
