"""What Argo CD's UI extension is answered, over real HTTP: to whom, about which application, how much, and without whose names."""

from __future__ import annotations

import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint.cli.demo import RECORDING
from argolint.reports import document as r
from argolint.serve.check_result import CheckResult
from argolint.serve.extension import MOST_BYTES, MOST_FINDINGS, Extension
from argolint.serve.other_projects import Others
from argolint.serve.web import Web
from tests.here import run_here
from tests.test_prometheus import SERVER, _finding, _report
from tests.test_serve import Argo, get
from tests.waiting import PATIENCE_S

PATH = "/api/v1/application"
TOKEN = "token-of-the-extension"
OTHER = "https://other.example.com"
OWN = r.ReportedApp(SERVER, "argocd", "web", "shop")
BESIDE = r.ReportedApp(SERVER, "argocd", "cart", "shop")
FOREIGN = r.ReportedApp(SERVER, "argocd", "vault-unseal", "safe")
FAR = r.ReportedApp(SERVER, "team-b", "api", "bank")
APPS = (OWN, BESIDE, FOREIGN, FAR)


def asks(name: str = "argocd:web", project: str = "shop", token: str = TOKEN) -> dict[str, str]:
    """The headers that argocd-server sends."""
    return {"Argocd-Application-Name": name, "Argocd-Project-Name": project, "Authorization": f"Bearer {token}"}


@contextmanager
def answering(
    *findings: r.ReportedFinding, extension: Extension | None = None, token: str = "", **other: Any
) -> Iterator[tuple[str, int]]:
    """The address of a service that has checked once and found these."""
    report = msgspec.structs.replace(_report(*findings), **other)
    checker = Argo(CheckResult(report, APPS)).checker()
    checker.once()
    with Web("127.0.0.1", 0, checker, token, extension or Extension(TOKEN)) as web:
        threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
        yield "127.0.0.1", web.server_address[1]
        web.shutdown()


def answer(address: tuple[str, int], headers: Mapping[str, str] | None = None, path: str = PATH) -> tuple[int, Any]:
    status, body = get(address, path, asks() if headers is None else headers)
    return status.status, json.loads(body)


def test_it_answers_with_the_findings_of_the_application_in_the_headers() -> None:
    calm = _finding(severity="info", fingerprint="calm")
    hidden = _finding(suppressed={"by": "baseline", "reason": "known"}, fingerprint="suppressed")
    failure = r.ReportedFailure("manifests", "no answer", "wait", OWN)
    elsewhere = r.ReportedFailure("manifests", "not for these eyes", app=FOREIGN)
    with answering(
        calm, _finding(), hidden, _finding("cart"), failures=(failure, elsewhere), complete=False
    ) as address:
        status, body = answer(address, path=f"{PATH}?application=argocd:cart")
    assert status == 200
    assert body["app"] == {"server": SERVER, "namespace": "argocd", "name": "web", "project": "shop"}
    assert [f["fingerprint"] for f in body["findings"]] == ["f-web", "calm"], "the worst first"
    assert body["findings"][0]["message"] == "secret words about web"
    assert (body["counts"], body["suppressed"], body["left_out"]) == ({"error": 1, "warning": 0, "info": 1}, 1, 0)
    assert (body["checked_at"], body["complete"]) == ("2026-01-01T12:00:00Z", False)
    assert [f["error"] for f in body["failures"]] == ["no answer"]


def test_one_fault_is_counted_once_and_what_follows_comes_under_it() -> None:
    cause, other = _finding(fingerprint="cause"), _finding(fingerprint="other", severity="warning")
    follows = [_finding(fingerprint=f"follows-{n}", caused_by="cause", severity="error") for n in range(3)]
    with answering(*follows, other, cause) as address:
        _, body = answer(address)
    assert body["counts"] == {"error": 4, "warning": 1, "info": 0}
    assert body["faults"] == {"error": 1, "warning": 1, "info": 0}
    order = [f["fingerprint"] for f in body["findings"]]
    assert (order[0], sorted(order[1:4]), order[4]) == ("cause", [f"follows-{n}" for n in range(3)], "other")


@pytest.mark.parametrize("sent", [{}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": "Bearer of-the-service"}])
def test_forged_headers_without_the_token_are_refused(sent: dict[str, str]) -> None:
    forged = {"Argocd-Application-Name": "argocd:web", "Argocd-Project-Name": "shop", **sent}
    with answering(_finding(), token="of-the-service") as address:
        for path in (PATH, "/report.json", "/metrics"):
            assert answer(address, forged, path) == (401, {"error": "Argo CD sent no valid token to argolint"})


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        asks(name="web"),
        asks(name="argocd:web:more"),
        asks(name="argocd:*"),
        asks(name="argocd:web\t,argocd:cart"),
        asks(name="a" * 300 + ":web"),
        asks(project=""),
    ],
)
def test_headers_that_name_no_application_are_refused(headers: dict[str, str]) -> None:
    with answering(_finding()) as address:
        status, body = answer(address, headers)
    assert status == 400
    assert body["error"].startswith("Argocd-Application-Name must be NAMESPACE:NAME")


def test_a_header_that_comes_twice_is_refused() -> None:
    with answering(_finding()) as address:
        for twice in ("Argocd-Application-Name", "Argocd-Project-Name"):
            connection = HTTPConnection(*address, timeout=PATIENCE_S)
            connection.putrequest("GET", PATH)
            for name, value in {**asks(), "argocd-x": "x"}.items():
                connection.putheader(name, value)
            connection.putheader(twice, asks()[twice])
            connection.endheaders()
            assert connection.getresponse().status == 400
            connection.close()


@pytest.mark.parametrize(
    ("name", "project"), [("argocd:web", "safe"), ("argocd:vault-unseal", "shop"), ("a:none", "shop")]
)
def test_a_foreign_project_and_an_unknown_application_look_alike(name: str, project: str) -> None:
    with answering(_finding()) as address:
        assert answer(address, asks(name, project)) == (404, {"error": "argolint has not looked at this application"})


def test_the_proxy_reaches_nothing_but_its_own_address() -> None:
    """A user of Argo CD chooses what follows /extensions/argolint, and may see one application at most."""
    with answering(_finding("cart")) as open_to_all, answering(_finding("cart"), token=TOKEN + "2") as closed:
        for path in ("/report.json", "/report.html", "/metrics", "/api/v1/applications", "/", "/healthz", "/none"):
            for address in (open_to_all, closed):
                assert (path, answer(address, asks(), path)) == (path, (404, {"error": "not found"}))
        assert get(open_to_all, "/report.json", {})[0].status == 200
        only = {"Authorization": f"Bearer {TOKEN}"}
        assert get(closed, "/report.json", only)[0].status == 404
        unset = {"Argocd-Application-Name": "argocd:web", "Argocd-Project-Name": "shop"}
        assert get(open_to_all, "/report.json", unset)[0].status == 401, "Argo CD without the header is Argo CD still"


def test_without_a_token_of_its_own_there_is_no_extension() -> None:
    with answering(_finding(), extension=Extension()) as address:
        for token in ("", TOKEN):
            status, body = answer(address, asks(token=token))
            assert (status, "--extension-token-file" in body["error"]) == (404, True)


def test_before_the_first_check_it_says_so() -> None:
    checker = Argo().checker()
    with Web("127.0.0.1", 0, checker, extension=Extension(TOKEN)) as web:
        threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
        said = answer(("127.0.0.1", web.server_address[1]))
        web.shutdown()
    assert said == (503, {"error": "no check has succeeded yet"})


def _related(*apps: r.ReportedApp) -> tuple[r.ReportedRelated, ...]:
    key = r.ReportedResource("", "v1", "Secret", "safe", "unseal-keys", "https://10.0.0.1")
    return tuple(r.ReportedRelated(app, "claimant", key, "/data") for app in apps)


CROSSED = _finding(
    message='ConfigMap prod/settings of "web" is rendered by "vault-unseal", "cart" and team-b/api too; api/v1 is no name.',
    evidence=("argocd/vault-unseal wants 3", "vault-unseal:apps/Deployment:prod/x", "argocd_vault-unseal is next"),
    related=(r.ReportedRelated(BESIDE, "claimant", _finding().resource), *_related(FOREIGN)),
    fixes=(
        r.ReportedFix("Keep it in web", "manifest", "web/settings.yaml", r.ReportedEdit("text", "delete it here")),
        r.ReportedFix("Remove it", "manifest", "apps", r.ReportedEdit("command", "rm apps/vault-unseal/settings.yaml")),
        r.ReportedFix(
            "Give",
            "manifest",
            "a",
            r.ReportedEdit("json-patch", [{"op": "add", "path": "/x", "value": "vault-unseal"}]),
        ),
    ),
)


def test_names_of_other_projects_stand_nowhere_in_the_answer() -> None:
    with answering(CROSSED) as address:
        status, body = answer(address)
    text = json.dumps(body)
    assert status == 200
    assert [name for name in ("vault-unseal", "team-b", "unseal-keys") if name in text] == []
    (finding,) = body["findings"]
    assert finding["message"] == (
        'ConfigMap prod/settings of "web" is rendered by "an application of project safe", "cart" and an application of project bank too; '
        "api/v1 is no name."
    )
    assert finding["evidence"] == [
        "an application of project safe wants 3",
        "an application of project safe:apps/Deployment:prod/x",
        "an application of project safe is next",
    ]
    assert [(x["app"]["name"], x["app"]["project"], x["resource"] is None) for x in finding["related"]] == [
        ("cart", "shop", False),
        ("", "safe", True),
    ]
    assert ([f["title"] for f in finding["fixes"]], finding["fixes_hidden"]) == (["Keep it in web"], 2)


def test_names_of_other_projects_are_shown_where_that_is_configured() -> None:
    with answering(CROSSED, extension=Extension(TOKEN, show_other_projects=True)) as address:
        (finding,) = answer(address)[1]["findings"]
    assert finding == {**json.loads(msgspec.json.encode(CROSSED)), "fixes_hidden": 0}


def test_a_finding_of_another_project_tells_its_rule_and_the_part_of_this_application() -> None:
    foreign = msgspec.structs.replace(
        CROSSED,
        app=FOREIGN,
        fingerprint="foreign",
        source=r.ReportedSource("https://git/safe", "main", "vault"),
        caused_by="x",
    )
    own = r.ReportedRelated(OWN, "cause", r.ReportedResource("", "v1", "ConfigMap", "prod", "mine", "c"), "/data/a")
    foreign = msgspec.structs.replace(foreign, related=(own, *_related(FAR)))
    with answering(foreign) as address:
        status, body = answer(address)
    assert status == 200
    (finding,) = body["findings"]
    assert (
        finding["message"] == "shared-resource of an application of project safe, in which this application is a cause."
    )
    assert (finding["resource"]["name"], finding["pointer"], finding["source"]) == ("mine", "/data/a", None)
    assert [name for name in ("vault-unseal", "api", "git/safe", "unseal") if name in json.dumps(body)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"api" and api', '"an application of project bank" and api'),
        ("https://cd/applications/team-b/api?view", "https://cd/applications/an application of project bank?view"),
        ("api.example.com, api-2 and rapi", "api.example.com, api-2 and rapi"),
        ("argocd/web and web", "argocd/web and web"),
        ("", ""),
    ],
)
def test_a_common_word_is_hidden_where_it_is_certain_to_be_an_application(text: str, shown: str) -> None:
    assert Others(OWN, APPS).text(text) == shown


def test_an_application_of_that_name_in_the_own_project_is_named() -> None:
    twin = r.ReportedApp(SERVER, "team-b", "web", "bank")
    assert Others(OWN, (OWN, twin)).text('"web" and team-b/web') == '"web" and an application of project bank'


def test_ten_thousand_findings_give_a_bounded_answer() -> None:
    long = _finding(
        "cart",
        message="m" * 5_000,
        evidence=("e" * 5_000,) * 500,
        related=_related(FOREIGN) * 500,
        fixes=(r.ReportedFix("f" * 5_000, "manifest", "w" * 5_000, r.ReportedEdit("text", "c" * 50_000)),) * 50,
    )
    short = [_finding(fingerprint=f"s{n}", severity="warning") for n in range(9_990)]
    many = [msgspec.structs.replace(long, app=BESIDE, fingerprint=f"l{n}") for n in range(10)]
    failures = (r.ReportedFailure("x", "y" * 9_000, app=BESIDE),) * 1_000
    with answering(*short, *many, failures=failures) as address:
        status, body = answer(address)
        assert (status, len(body["findings"]), body["left_out"]) == (200, MOST_FINDINGS, 9_890)
        assert body["counts"] == {"error": 0, "warning": 9_990, "info": 0}
        size = len(get(address, PATH, asks("argocd:cart"))[1])
        body = answer(address, asks("argocd:cart"))[1]
    assert MOST_BYTES / 2 < size <= MOST_BYTES
    assert body["left_out"] + len(body["findings"]) == 10
    assert body["findings"][0]["fixes"][0]["edit"] == {"kind": "text", "content": "too long to be shown here"}


@pytest.mark.parametrize(
    ("server", "messages"),
    [(SERVER, ["secret words about web"]), (OTHER, ["over there"]), ("https://third.example.com", None), ("", None)],
)
def test_users_of_one_argo_cd_are_answered_about_its_own_applications(server: str, messages: list[str] | None) -> None:
    twin = msgspec.structs.replace(OWN, server=OTHER)
    there = _finding(app=twin, fingerprint="f-there", message="over there")
    checker = Argo(CheckResult(_report(_finding(), there), (OWN, twin))).checker()
    checker.once()
    with Web("127.0.0.1", 0, checker, extension=Extension(TOKEN, server=server)) as web:
        threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True).start()
        status, body = answer(("127.0.0.1", web.server_address[1]))
        web.shutdown()
    if messages is None:
        assert (status, body) == (404, {"error": "argolint has not looked at this application"})
    else:
        assert (status, [f["message"] for f in body["findings"]]) == (200, messages)


def test_with_several_servers_the_one_of_the_extension_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    entries = "".join(
        f"- {{name: {name}, server: 127.0.0.{n}, plaintext: true, auth-token-file: token}}\n"
        for n, name in enumerate(("eu", "us"), 1)
    )
    (tmp_path / "servers.yaml").write_text(f"servers:\n{entries}")
    start = ("serve", "--servers", "servers.yaml", "--extension-token-file", "token")
    ran = run_here(*start, cwd=tmp_path)
    assert (ran.code, ran.err) == (
        2,
        "argolint: several servers are checked, and one has the extension\n  → say which: --extension-server eu|us\n",
    )
    ran = run_here(*start, "--extension-server", "ue", cwd=tmp_path)
    assert (ran.code, "--extension-server 'ue' is none of the servers" in ran.err) == (2, True)


def test_a_start_with_an_unusable_token_says_why(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("same\n")
    (tmp_path / "two").write_text("same")
    both = ("--token-file", "one", "--extension-token-file", "two")
    ran = run_here("serve", "--snapshot", RECORDING, *both, cwd=tmp_path)
    assert (ran.code, "the extension has the token of the service" in ran.err) == (2, True)
    ran = run_here("serve", "--snapshot", RECORDING, "--extension-token-file", "none", cwd=tmp_path)
    assert ran.code == 2
    assert "cannot read the token in none" in ran.err
    assert "name another with --extension-token-file" in ran.err


def test_the_command_prints_the_file_and_writes_the_archive(tmp_path: Path) -> None:
    printed = run_here("extension", cwd=tmp_path).out
    assert printed.startswith("// argolint's findings in Argo CD's own UI")
    for name in ("extension-argolint.js", "a.tar.gz", "b.tgz"):
        ran = run_here("extension", "-o", name, cwd=tmp_path)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (tmp_path / "extension-argolint.js").read_text(encoding="utf-8") == printed
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    installed = tmp_path / "resources" / "extension-argolint.js" / "extension-argolint.js"
    assert installed.read_text(encoding="utf-8") == printed
    ran = run_here("extension", "-o", "none/x.js", cwd=tmp_path)
    assert (ran.code, "cannot open" in ran.err) == (2, True)


def test_the_file_holds_no_html_and_no_address(tmp_path: Path) -> None:
    text = run_here("extension", cwd=tmp_path).out
    assert [word for word in ("innerHTML", "dangerously", "eval(", "insertAdjacent", "http://") if word in text] == []


def test_its_setup_names_what_argo_cd_needs(tmp_path: Path) -> None:
    out = run_here("explain", "--setup", "extension", cwd=tmp_path).out
    for line in (
        'server.enable.proxy.extension: "true"',
        "extension.config.argolint: |",
        "value: $argolint-extension:authorization",
        "p, role:readonly, extensions, invoke, argolint, allow",
        "args: [extension, -o, /tmp/extensions/extension-argolint.js]",
    ):
        assert line in out
    ran = run_here("explain", "--setup", "extenion", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "argolint: there is no setup 'extenion'\n  → there are: openreports, extension, deep-link; or none for what a check needs\n"
    )


def test_the_printed_pieces_of_the_setup_are_yaml(tmp_path: Path) -> None:
    import yaml

    out = run_here("explain", "--setup", "extension", cwd=tmp_path).out
    proxy = out[out.index("     data:\n       extension.config") :].split("\n\n")[0]
    config = yaml.safe_load(yaml.safe_load(proxy)["data"]["extension.config.argolint"])
    assert config["services"][0]["headers"] == [{"name": "Authorization", "value": "$argolint-extension:authorization"}]
    patch = yaml.safe_load(out[out.index("     spec:\n") :].split("\n\n")[0])
    (init,) = patch["spec"]["template"]["spec"]["initContainers"]
    ran = run_here(*init["args"][:-1], "made.js", cwd=tmp_path)
    assert (ran.code, (tmp_path / "made.js").exists()) == (0, True)
