"""A snapshot that argolint writes reads back the same, holds no secret, and appears whole or not at all."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from argolint.connection import Connection
from argolint.errors import NotRecorded, UsageError
from argolint.http import HttpTransport
from argolint.mask import Masker
from argolint.record import record
from argolint.replay import ReplayServer
from argolint.snapshot import SnapshotTransport
from tests.small import ANSWERS, OF_WEB, WEB, Recorded, write_snapshot

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
