"""Secrets in files, messages and objects of many kinds: hidden in what is printed and in what a snapshot keeps.

`redaction_places.yaml` says where they stand; `ORDINARY` is the other side, what must stay as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.plugins import load_rules
from argolint.redaction import PRINTED, commands, excerpt, without_secrets
from argolint.reports.formats import FORMATS, Style, render
from argolint.snapshots.mask import Masker
from argolint.testing import check
from tests.test_redaction_outputs import NAME, chain_of, fixture

_PLACES: dict[str, Any] = yaml.load(
    Path(__file__).with_name("redaction_places.yaml").read_text("utf-8"), yaml.CSafeLoader
)
SECRETS = ("CANARYPW4419XQ", "s3cr3t-Horse!", "hunter2288")
"""A marker, a password as programs like them, and one that looks like any name: only what stands around it tells."""


def config_map(name: str, text: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web", "namespace": "shop"},
        "data": {name: text},
    }


def objects(secret: str) -> Iterator[dict[str, Any]]:
    for name, texts in _PLACES["files"].items():
        for text in texts:
            yield config_map(name, text.replace("SECRET", secret))
    for text in _PLACES["objects"]:
        yield json.loads(text.replace("SECRET", secret))


@pytest.mark.parametrize("secret", SECRETS)
def test_no_file_and_no_object_is_printed_with_its_secret(secret: str) -> None:
    printed = [json.dumps(PRINTED.value(one), ensure_ascii=False) for one in objects(secret)]
    assert len(printed) > 500
    assert [text for text in printed if secret in text] == []


def test_a_snapshot_keeps_none_of_them() -> None:
    secret = SECRETS[0]
    body = json.dumps({"items": [{"liveState": json.dumps(one)} for one in objects(secret)]})
    kept = Masker()(body.encode(), "/api/v1/applications/web/managed-resources").decode()
    assert [one for one in json.loads(kept)["items"] if secret in json.dumps(one)] == []


@pytest.mark.parametrize("secret", SECRETS)
def test_no_message_is_printed_with_its_secret(secret: str) -> None:
    told = [text.replace("SECRET", secret) for text in _PLACES["messages"]]
    assert len(told) > 150
    assert [text for text in told if secret in without_secrets(text) + excerpt(text)] == []


def test_no_output_tells_what_stands_in_files_arguments_and_messages() -> None:
    """All of them at once: as files that were edited by hand, in arguments, annotations, values, and in all that is said."""
    secret = SECRETS[0]
    files: dict[str, str] = {}
    for name, texts in _PLACES["files"].items():
        for number, text in enumerate(texts):
            if number == 0 or not re.match(r"[.\w-]*(?:users|auth|tokens|secrets|passwd)", name):
                files[name if number == 0 else f"n{number}.{name}"] = text.replace("SECRET", secret)
    said = " ;; ".join(
        text.replace("SECRET", secret) for text in _PLACES["messages"] if "\n" not in text and '"kind"' not in text
    )
    live = {
        **config_map("x", ""),
        "data": files,
        **{f"x{at}": json.loads(text.replace("SECRET", secret)) for at, text in enumerate(_PLACES["objects"])},
    }
    operation = {
        "phase": "Failed",
        "startedAt": "2026-01-01T11:00:00Z",
        "finishedAt": "2026-01-01T11:01:00Z",
        "message": said,
    }
    condition = {"type": "ComparisonError", "message": said, "lastTransitionTime": "2026-01-01T11:00:00Z"}
    status = {
        "sync": {"status": "OutOfSync"},
        "health": {"status": "Degraded"},
        "operationState": operation,
        "conditions": [condition],
    }
    event = {"type": "Warning", "reason": "X", "message": said, "lastTimestamp": "2026-01-01T11:50:00Z"}
    data = fixture(
        {**config_map("x", ""), "data": dict.fromkeys(files, "old")},
        live,
        status=status,
        events={"ConfigMap/web": [event]},
    )
    made = check(data, list(load_rules().values()))
    told = "".join(render(made, name, Style(width=400, verbose=True)) for name in FORMATS) + chain_of(data.data)
    assert made.findings
    assert [told[at.start() - 60 : at.end()] for at in re.finditer(secret, told)] == []


ORDINARY: dict[str, Any] = {
    "replicas and images": {**NAME, "spec": {"replicas": 3, "template": {"spec": {"containers": [{"image": "r.example.com/a/web:1.2.3"}]}}}},
    "checksums": {"annotations": dict.fromkeys(("checksum/config", "checksum/secret", "checksum/extra-secrets", "checksum/auth"), "1b4f0e98c7d2a635" * 4)},
    "required fields": {"required": ["token", "tokenID"]},
    "references": {"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db-1", "key": "password"}}}], "secretName": "web-tls1"},
    "users and groups": {"securityContext": {"user": "1000:1000", "runAsUser": 1000}, "users": ["system:node:n1", "alice", "team:admins"]},
    "a subject": {"subjects": [{"kind": "User", "name": "system:serviceaccount:shop:web1"}]},
    "a list of hosts": config_map("hosts.txt", "web1:8080\nweb2:8080\n"),
    "a list of users": config_map("users", "alice\nbob\n"),
    "roles of users": config_map("users.txt", "alice:admin\nbob:viewer\n"),
    "CSV": config_map("data.csv", "name,role,size\nweb1,api,3\nweb2,api,4\n"),
    "CSV of limits": config_map("limits.csv", "name,tokenTTL,passwordPolicy\nweb1,60,strict1\n"),
    "policy of Argo CD": config_map("policy.csv", "p, role:dev, applications, sync, */*, allow\ng, alice, role:dev\n"),
    "a table": config_map("README.md", "| user | role |\n|---|---|\n| alice1 | admin2 |\n"),
    "a script": config_map("run.sh", '#!/bin/sh\nset -e\nTOKEN="$(cat /run/t)"\nKEY_FILE=/etc/k1\npassword=${DB_PASSWORD:-"$OTHER"}\nexport CREDENTIALS=$HOME/c1\n'),
    "arguments": {"command": ["kubectl"], "args": ["-n", "shop1", "--user", "1000:1000", "--log-level=debug2", "-p", "8080"]},
    "lists": {"x": 'IN ("erlang-cookie", "rabbitmq-password1")'},
    "statements": config_map("init.sql", "INSERT INTO users (name, role) VALUES ('admin1', 'owner2');\nCREATE USER web1;\n"),
    "nginx": config_map("nginx.conf", "location /hooks/ { proxy_pass http://web1:8080/hooks/v1; }\n"),
    "webhooks of the cluster": {"url": "https://webhook1.shop.svc:443/hooks/mutate-v1-pod", "path": "/webhook/v1beta1"},
    "PAM": config_map("common-account", "account\trequired\tpam_permit.so\naccount [success=1 new_authtok_reqd=done] pam_unix.so\n"),
    "public keys": {"jwks": {"keys": [{"kty": "RSA", "kid": "k1", "n": "abc1", "e": "AQAB"}]}, "x": "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAabcdefgh"},
    "volumes": {"secret": {"secretName": "web-tls1", "items": [{"key": "tls.key", "path": "k1.pem"}], "defaultMode": 420}},
    "a form": {"fields": [{"title": "Password", "type": "password", "text": "Type it again"}]},
    "parameters of a list": {"parameters": [{"name": "env[0].name", "value": "LOG_LEVEL"}, {"name": "env[0].value", "value": "debug1"}]},
    "licences and communities": {"license": "Apache-2.0", "licence": "MIT", "community": "public", "serial": "2026010101", "seed": "42", "LICENSE": "GPLv3"},
    "keys that are none": {"keys": ["tls.key", "web1", {"key": "node-role"}], "SORT_KEY": "created_at", "param": "size", "arg": "web1"},
    "roles below users": {"users": {"alice": "admin", "bob": "bob1@example.com"}, "auth": ["ldap", "oauth2"], "jwt": {"alg": "RS256"}},
    "documentation": config_map("NOTES.txt", "Use `--set key=value[,key=value]`.\nkey=packaging.version.Version)[-1]\nuses: pypa/publish@release/v1\n"),
    "a template's variable": config_map("a.erb", "host: <%= ENV.fetch('DB_HOST') %>\npassword: <%= ENV.fetch('DB_PASSWORD') %>\n"),
    "versions": {"message": "PushSecret v1alpha1 since v0.7.0, ClusterPushSecret v1alpha1"},
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_what_is_no_secret_stays(name: str) -> None:
    assert PRINTED.value(ORDINARY[name]) == ORDINARY[name]


def test_the_cheap_look_lets_through_whatever_a_command_pattern_finds() -> None:
    texts = [t for one in objects(SECRETS[1]) for t in (*_strings(one), *json.dumps(one).split("\\n"))]
    found = [(t, command) for t in texts for command in commands._COMMANDS if command.pattern.search(t)]
    assert len(found) > 100
    assert [t for t, command in found if command not in commands._named_in(t)] == []


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _strings(child)
