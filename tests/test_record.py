"""A snapshot that argolint writes reads back the same, holds no secret, and appears whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from argolint_rules.nondeterminism._shapes import are_both_random, look_alike
from hypothesis import given

from argolint.errors import NotRecorded, UsageError
from argolint.redaction import agrees
from argolint.redaction.masks import MASK, mask
from argolint.server.connection import Connection
from argolint.server.http import HttpTransport
from argolint.snapshots.http_server import Faults, ReplayServer
from argolint.snapshots.mask import KEPT, Masker
from argolint.snapshots.reader import SnapshotTransport
from argolint.snapshots.recorder import record
from tests.conftest import run_argolint
from tests.redaction_places import PLACES, SECRETS
from tests.small import ANSWERS, OF_WEB, WEB, Recorded, write_snapshot
from tests.waiting import PATIENCE_S

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjaSJ9.c2lnbmF0dXJl"


def copied(source: SnapshotTransport, target: Path, asked: Iterable[Recorded] = ANSWERS) -> SnapshotTransport:
    with record(source, target) as recorder:
        for path, query, anonymous, _, _ in asked:
            recorder.get(path, query, anonymous=anonymous)
    return SnapshotTransport([target])


@pytest.mark.parametrize("name", ["copy", "copy.tar.gz", "copy.tgz", "copy.zip"])
def test_a_written_snapshot_reads_back_the_same(tmp_path: Path, name: str) -> None:
    source = SnapshotTransport([write_snapshot(tmp_path / "small")])
    copy = copied(source, tmp_path / name)
    for path, query, anonymous, _, _ in ANSWERS:
        assert copy.get(path, query, anonymous=anonymous) == source.get(path, query, anonymous=anonymous)
    assert (copy.now(), copy.server, copy.version) == (source.now(), source.server, "v3.1.0")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "small"]), "nothing else is left behind"


def test_refusals_are_part_of_a_snapshot(tmp_path: Path) -> None:
    asked: list[Recorded] = [("/api/v1/applications/gone", (("project", "shop"),), False, 404, None)]
    copy = copied(SnapshotTransport([write_snapshot(tmp_path / "small")]), tmp_path / "copy", asked)
    assert copy.get("/api/v1/applications/gone", [("project", "shop")]).status == 404


def test_a_run_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    source = SnapshotTransport([write_snapshot(tmp_path / "small")])
    asked: list[Recorded] = [*ANSWERS, (f"{WEB}/events", OF_WEB, False, 200, None)]
    with pytest.raises(NotRecorded):
        copied(source, tmp_path / "copy.zip", asked)
    assert [p.name for p in tmp_path.iterdir()] == ["small"]


def test_an_existing_path_is_never_overwritten_and_an_empty_directory_is_filled(tmp_path: Path) -> None:
    source = SnapshotTransport([write_snapshot(tmp_path / "small")])
    with pytest.raises(UsageError, match="exists already"), record(source, tmp_path / "small"):
        pass
    (tmp_path / "empty").mkdir()
    assert copied(source, tmp_path / "empty").get(WEB, OF_WEB).status == 200


def test_a_place_that_cannot_be_written_is_told_before_any_request(tmp_path: Path) -> None:
    source = SnapshotTransport([write_snapshot(tmp_path / "small")])
    with pytest.raises(UsageError, match="cannot write"), record(source, tmp_path / "absent" / "copy") as recorder:
        recorder.get("/api/version")
    assert source.stats.requests == 0


def test_a_snapshot_of_a_server_holds_neither_token_nor_header(tmp_path: Path) -> None:
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "small")])) as server:
        token = server.token()
        connection = Connection(server.url, token, headers=(("X-Gate", "open-sesame"),))
        with record(HttpTransport(connection), tmp_path / "copy") as recorder:
            recorder.get(WEB, OF_WEB)
    written = b"".join(p.read_bytes() for p in (tmp_path / "copy").rglob("*") if p.is_file())
    assert written
    assert all(secret.encode() not in written for secret in (token, token.split(".")[1], "open-sesame", "Bearer"))


def hidden(document: Any) -> Any:
    return json.loads(Masker()(json.dumps(document).encode()))


def secret(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data}


def test_secret_data_is_hidden_in_states_manifests_and_last_applied_annotations() -> None:
    plain = base64.b64encode(b"hunter2").decode()
    annotated = {
        **secret(),
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(secret(a=plain))}},
    }
    answers: list[Any] = [
        {"items": [{"kind": "Secret", "name": "s", "liveState": json.dumps(secret(a=plain)), "targetState": "null"}]},
        {"manifests": [json.dumps(secret(a=plain))]},
        {"manifest": json.dumps(annotated)},
        {"manifest": json.dumps({**secret(), "stringData": {"a": "hunter2"}})},
    ]
    for answer in answers:
        text = json.dumps(hidden(answer))
        assert plain not in text
        assert "hunter2" not in text
        assert "masked-" in text


def test_equal_values_stay_equal_and_different_ones_different() -> None:
    states = [json.dumps(secret(a="c2FtZQ==")), json.dumps(secret(a="c2FtZQ==")), json.dumps(secret(a="b3RoZXI="))]
    one, two, three = hidden({"manifests": states})["manifests"]
    assert one == two != three


def test_two_snapshots_cannot_be_compared_by_their_hidden_values() -> None:
    assert hidden({"manifest": json.dumps(secret(a="c2FtZQ=="))}) != hidden(
        {"manifest": json.dumps(secret(a="c2FtZQ=="))}
    )


def test_what_argo_cd_masked_stays_as_it_is_to_the_byte() -> None:
    body = b'{"items":[{"liveState":"{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"Secret\\",\\"data\\":{\\"a\\":\\"++++++++\\"}}"}]}'
    assert Masker()(body) == body


def test_values_named_like_secrets_are_hidden_and_their_neighbours_kept() -> None:
    container = {
        "env": [
            {"name": "DB_PASSWORD", "value": "hunter2"},
            {"name": "ALLOW_EMPTY_PASSWORD", "value": "yes"},
            {"name": "PASSWORD_FILE", "value": "/run/x"},
            {"name": "API_TOKEN", "value": "$(OTHER)"},
            {"name": "REF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "args": ["--admin-password=hunter2", "--token-file=/run/t", "--level=debug"],
    }
    found = hidden({"manifests": [json.dumps({"kind": "Deployment", "spec": {"containers": [container]}})]})
    (masked,) = json.loads(found["manifests"][0])["spec"]["containers"]
    assert [e.get("value", "")[:7] for e in masked["env"]] == ["masked-", "yes", "/run/x", "$(OTHER", ""]
    assert [a[:24] for a in masked["args"]] == ["--admin-password=masked-", "--token-file=/run/t", "--level=debug"]


def test_helm_values_and_config_maps_keep_all_but_what_is_named_like_a_secret() -> None:
    values = "replicas: 2\npassword: hunter2\nexistingSecretKey: db\nnested:\n  apiKey: 'hunter2'\nenv:\n- name: X_TOKEN\n  value: hunter2\n"
    helm = {
        "values": values,
        "valuesObject": {"auth": {"password": "hunter2", "username": "me"}, "tokens": [{"name": "a"}]},
        "parameters": [{"name": "auth.password", "value": "hunter2"}, {"name": "image.tag", "value": "1.2"}],
    }
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"db-password": "hunter2", "level": "debug"}}
    found = hidden({"items": [{"spec": {"source": {"helm": helm}}}], "manifest": json.dumps(config)})
    assert "hunter2" not in json.dumps(found)
    masked = found["items"][0]["spec"]["source"]["helm"]
    assert [line.split(":")[0].strip() for line in masked["values"].splitlines()] == [
        *("replicas", "password", "existingSecretKey", "nested", "apiKey", "env", "- name", "value")
    ]
    assert "existingSecretKey: db" in masked["values"]
    assert masked["valuesObject"]["auth"]["username"] == "me"
    assert masked["parameters"][1]["value"] == "1.2"
    assert json.loads(found["manifest"])["data"]["level"] == "debug"


@pytest.mark.parametrize(
    "text",
    [
        JWT,
        "postgres://user:hunter2@db/prod",
        "GET https://vault.example.com/v1/app?version=2&access_token=hunter2: 403",
        "https://blob.example.com/c?sv=2024&sig=hunter2%3D",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
        "Authorization: Bearer abcdefghijklmnop1234",
        "ghp_" + "a1B2" * 9,
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_what_has_the_form_of_a_secret_is_hidden_at_any_depth(text: str) -> None:
    nested = {"items": [{"message": text, "liveState": json.dumps({"kind": "X", "deep": json.dumps({"t": text})})}]}
    found = json.dumps(hidden(nested))
    core = text.removeprefix("Authorization: Bearer ")
    assert all(part not in found for part in (core, "hunter2", "MIIB"))
    assert found.count("masked-") == 2


def test_checksums_references_and_bodies_that_are_no_json_are_left_alone() -> None:
    annotations = {"checksum/webserver-secret-key": "0a1b2c", "note": "token"}
    document = {
        "metadata": {"annotations": annotations},
        "spec": {"secretName": "db", "remoteRef": {"key": "prod/password"}},
    }
    assert hidden({"manifest": json.dumps(document)}) == {"manifest": json.dumps(document)}
    assert Masker()(b"Not Found\n") == b"Not Found\n"


@pytest.mark.parametrize("place", PLACES)
@given(value=SECRETS)
def test_no_answer_that_is_kept_holds_a_secret(place: str, value: str) -> None:
    made = PLACES[place](value)
    state = made["liveState"] if isinstance(made, dict) and "liveState" in made else json.dumps(made)
    for answer in (
        {"items": [{"kind": "X", "name": "x", "liveState": state, "targetState": state}]},
        {"manifests": [state]},
        {"items": [{"spec": {"source": {"helm": made}, "generators": [{"list": {"elements": [made]}}]}}]},
    ):
        kept = json.dumps(hidden(answer))
        assert value not in kept
        assert base64.b64encode(value.encode()).decode()[:-4] not in kept
        assert "masked-" in kept


def test_what_no_check_needs_is_hidden_whatever_it_is_called() -> None:
    masker = Masker()

    def kept(path: str, answer: Any) -> Any:
        return json.loads(masker(json.dumps(answer).encode(), path))

    repository = {
        "repo": "https://git.example.com/a",
        "type": "git",
        "username": "me",
        "tlsClientCertKey": "x",
        "proxy": "p",
    }
    (found,) = kept("/api/v1/repositories", {"items": [repository]})["items"]
    assert {k: v for k, v in found.items() if not v.startswith("masked-")} == {
        k: repository[k] for k in ("repo", "type")
    }
    config = {"username": "me", "tlsClientConfig": {"insecure": True, "certData": "QQ=="}}
    (cluster,) = kept("/api/v1/clusters", {"items": [{"server": "https://c", "name": "c", "config": config}]})["items"]
    assert (cluster["server"], cluster["name"], cluster["config"]["tlsClientConfig"]["insecure"]) == (
        "https://c",
        "c",
        True,
    )
    assert cluster["config"]["username"].startswith("masked-")
    dex = {"connectors": [{"id": "ldap", "config": {"host": "ldap.example.com"}}]}
    settings_ = kept(
        "/api/v1/settings", {"url": "https://cd.example.com", "dexConfig": dex, "resourceOverrides": {"a/B": {}}}
    )
    assert "ldap" not in json.dumps(settings_)
    assert (settings_["url"], settings_["resourceOverrides"]) == ("https://cd.example.com", {"a/B": {}})
    project = {
        "metadata": {"name": "p"},
        "spec": {"roles": [{"name": "ci", "groups": ["acme:admins"]}], "sourceRepos": ["*"]},
    }
    tokens = {"jwtTokensByRole": {"ci": {"items": [{"id": "Zq7"}]}}}
    (made,) = kept("/api/v1/projects", {"items": [{**project, "status": tokens}]})["items"]
    assert "acme" not in json.dumps(made)
    assert "Zq7" not in json.dumps(made)
    assert made["spec"]["sourceRepos"] == ["*"]


def test_the_addresses_of_people_are_hidden_and_their_names_kept() -> None:
    commit = {"author": "Jane Doe <jane@example.com>", "message": "Fix it\n\nSigned-off-by: Jane <jane@example.com>"}
    found = json.loads(Masker()(json.dumps(commit).encode(), "/api/v1/applications/web/revisions/abc/metadata"))
    assert found["author"].startswith("Jane Doe <masked-")
    assert "jane@" not in json.dumps(found)
    started = {"operation": {"initiatedBy": {"username": "jane@example.com"}}}
    app = {
        "metadata": {"name": "git@host"},
        **started,
        "status": {"operationState": started, "history": [started["operation"]]},
    }
    for path, answer in (("/api/v1/applications", {"items": [app]}), ("/api/v1/applications/web", app)):
        text = Masker()(json.dumps(answer).encode(), path).decode()
        assert "jane" not in text
        assert "git@host" in text


def test_a_snapshot_says_how_much_it_hides_and_what_it_keeps(tmp_path: Path) -> None:
    config = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "data": {"password": "hunter2", "other-password": "hunter2", "token": "x1"},
    }
    managed = {"items": [{"kind": "ConfigMap", "name": "c", "liveState": json.dumps(config), "targetState": "null"}]}
    answers: list[Recorded] = [*ANSWERS[:-3], (f"{WEB}/managed-resources", OF_WEB, False, 200, managed)]
    copied(SnapshotTransport([write_snapshot(tmp_path / "small", answers)]), tmp_path / "copy", answers)
    header = json.loads((tmp_path / "copy" / "snapshot.json").read_text())
    assert header["masked"] == 2
    assert header["kept"] == list(KEPT)
    ran = run_argolint("snapshot", "--deep", "--snapshot", tmp_path / "small", "-o", tmp_path / "s.zip")
    assert "masked: 2 values that could be secrets\n" in ran.err
    assert [line for line in ran.err.splitlines() if line.startswith("not masked: ")] == [
        f"not masked: {what}" for what in KEPT
    ]


DRAWS = [
    ("kJ8sPq02LmZx", "Wn3xTy7aQbRc"),
    ("5f2b9c01aa37", "91e07dd4c2b8"),
    ("hunter2", "hunter2-new"),
    ("plain words here", "other words here"),
    ("0c7bb4b0-63a8-4f2b-9d6e-0f6a3c1d2e4f", "1d8cc5c1-74b9-4a3c-8e7f-1a7b4d2e3f5a"),
    ("$2a$10$abcdefghijklmnopqrstuv", "$2a$10$ABCDEFGHIJKLMNOPQRSTUV"),
    ("a1", "b2"),
]


@pytest.mark.parametrize(("one", "other"), DRAWS)
@pytest.mark.parametrize("hashes", [True, False])
def test_masks_look_drawn_where_the_values_do(one: str, other: str, hashes: bool) -> None:
    masks = [mask(value, b"key") for value in (one, other)]
    assert are_both_random(*masks, hashes=hashes) == are_both_random(one, other, hashes=hashes)
    assert look_alike(*masks) == look_alike(one, other)
    assert all(MASK.fullmatch(found) for found in masks)
    assert mask(one, b"key") == masks[0] != mask(one, b"other key")


def test_a_text_agrees_with_its_masked_form_and_with_no_other() -> None:
    masked = f"a: 1\npassword: {mask('x', b'')}\nb: 2\ntoken: {mask('y', b'')}\n"
    assert agrees(masked, "a: 1\npassword: hunter2\nb: 2\ntoken: t\n")
    assert not agrees(masked, "a: 1\npassword: hunter2\nb: 3\ntoken: t\n")
    assert not agrees(masked, "a: 1\npassword: \nb: 2\ntoken: t\n"[:-3])
    assert not agrees(masked, "a: 1\npassword: \nb: 2\ntoken: t\n"), "no mask stands for nothing"
    assert agrees(mask("x", b""), "anything")
    assert not agrees(mask("x", b""), "")
    assert agrees("same", "same")
    assert not agrees("same", "other")


def test_what_ends_the_command_leaves_nothing_half_written(tmp_path: Path) -> None:
    slow = Faults(slow_s=PATIENCE_S)
    with ReplayServer(SnapshotTransport([write_snapshot(tmp_path / "small")]), faults=slow) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "argolint", "snapshot", "-o", str(tmp_path / "copy.zip"), "--server", server.address, "--plaintext"],
            env={**os.environ, "ARGOCD_AUTH_TOKEN": server.token(), "HOME": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not list(tmp_path.glob(".copy.zip.*")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S / 2) == 128 + signal.SIGTERM
    assert [p.name for p in tmp_path.iterdir()] == ["small"]
