"""Templates that advice prints, run by External Secrets' own engine: `scripts/eso_templates.sh` builds it from the Go module proxy.

Where no such runner is at hand (ARGOLINT_TEST_ESO), what the engine refuses is known by name all the same.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from argolint_rules.secrets._kes import _go_template as rewritten
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

HERE = Path(__file__).parent
ACTION = re.compile(r"\{\{(?!\s*[`<.]*\s*\.\.\.)(?:`[^`\n]*`|(?!\}\}).)*\}\}")
OF_MAPS = re.compile(r"\b(?:dig|get|hasKey|pluck|pick|omit|set|unset|keys|values|merge)\b[^|}]*\s\.(?=[\s|})])")
"""sprig's functions of a map of anything: the engine's values are a map of strings, which they refuse."""


@cache
def _archive(password: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example.com")])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(start).not_valid_after(start + datetime.timedelta(days=9))
    how: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        how = serialization.BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(b"x", key, made.sign(key, hashes.SHA256()), None, how)


def _pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, kind, plain)


def _values(text: str) -> dict[str, bytes]:
    """Values for the names that advice uses, as its words around them say."""
    archive = base64.b64encode(_archive("")) if "b64dec" in text else _archive("password")
    return {
        "archive": archive,
        "bundle": _pem(),
        "password": b"password",
        "whole": b'{"FIELD": "value"}',
        "user": b"user",
        "token": b"token",
        "KEY": b"{}",
        "a-key": b"value",
        "absent": b'{"path": "value"}',
    }


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item)
    elif isinstance(node, dict) and node.get("when") != "engine_v1":
        for item in node.values():
            yield from _texts(item)


def _printed() -> Iterator[tuple[str, str]]:
    """Every action in the advice for ExternalSecrets, with the file. What a provider fills in (`.remoteRef`) is no such template.

    The engine is v2: advice for engine v1 is left out.
    """
    for path in sorted((HERE.parent / "rules" / "secrets").glob("*.yaml")):
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
        for text in ACTION.findall("\n".join(_texts(known))):
            if ".remoteRef" not in text and "<" not in text and ".a-key }}" not in text and text != "{{ end }}":
                yield path.name, text.replace("$absent", "absent").replace("$path", "path")


def _written() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Templates of Kubernetes External Secrets as argolint rewrites them, with the values that they read."""
    for lodash in (
        "user=<%= data.user %> pass=<%= data['pass-word'] %>",
        '{"auth": "<%= data["registry.token"] %>"}',
        "alert {{ $labels.job }} of ${data.team}",
        "{{ .Values.x }}<%= data.user %>",
    ):
        values = {"user": b"u", "pass-word": b"p", "registry.token": b"t", "team": b"core"}
        yield str(rewritten(lodash, [])), values


def test_advice_uses_no_function_that_refuses_the_engines_values() -> None:
    printed = list(_printed())
    assert len(printed) >= 9
    assert [text for text in printed if OF_MAPS.search(text[1])] == []


def test_the_operators_engine_runs_every_template_that_is_printed() -> None:
    engine = os.environ.get("ARGOLINT_TEST_ESO")
    if not engine:
        pytest.skip("no engine of External Secrets: name the program of scripts/eso_templates.sh in ARGOLINT_TEST_ESO")
    asked = [(text, _values(text)) for _, text in _printed()] + list(_written())
    lines = [
        json.dumps({"template": text, "data": {k: base64.b64encode(v).decode() for k, v in values.items()}})
        for text, values in asked
    ]
    ran = subprocess.run([engine], input="\n".join(lines), capture_output=True, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(asked) > 12
    faults = [(text, a["error"]) for (text, _), a in zip(asked, answers, strict=True) if a.get("error")]
    assert faults == []
