"""What may be printed: secrets by name, form, words and place are hidden, and what only sounds like one is not."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from argolint.model import MISSING
from argolint.redaction import (
    HIDDEN,
    PRINTED,
    excerpt,
    in_name,
    in_place,
    in_places,
    is_hidden,
    show,
    without_secrets,
)
from argolint.redaction.names import is_secret, looks_random, sort_of
from argolint.values.knowledge import parse
from tests.conftest import ROOT
from tests.redaction_places import PLACES, SECRETS, b64

PROPERTY = settings(max_examples=30, deadline=None, derandomize=True, database=None)

SECRET_NAMES = [
    "DB_PASSWORD",
    "PGPASSWORD",
    "DB_PASS",
    "DB_PASSWORD_1",
    "DB_PASSWORD_PROD",
    "PASSWORD_HASH",
    "SMTP_PWD",
    "passphrase",
    "mariadbRootPassword",
    "passwordResetToken",
    "CLIENT_SECRET",
    "OIDC_CLIENT_SECRET",
    "JWT_SECRET",
    "COOKIE_SECRET",
    "SECRET",
    "secret",
    "client-secret",
    "oidc.clientSecret",
    "NEXTAUTH_SECRET",
    "AWS_SECRET_ACCESS_KEY",
    "secretAccessKey",
    "API_KEY",
    "apikey",
    "apiKeys",
    "APIKey",
    "X-Api-Key",
    "ENCRYPTION_KEY",
    "fernetKey",
    "webserverSecretKey",
    "githubAppPrivateKey",
    "REDIS_AUTH",
    "auth",
    "authorization",
    "Proxy-Authorization",
    "tokens",
    "GITHUB_TOKEN",
    "githubToken",
    "x-vault-token",
    "bearerToken",
    "_authToken",
    "API_TOKEN_VALUE",
    "GITHUB_PAT",
    "STRIPE_SK",
    "SENTRY_DSN",
    "ConnectionStrings__Default",
    "SALT",
    "keyData",
    "SLACK_WEBHOOK_URL",
    "webhookUrl",
    "licenseKey",
    "session-key",
    "htpasswd",
    "spring.datasource.password",
    "example.com/access-token",
    "TOKEN_STAGING",
    "dbCredentials",
    "passPhrase",
    "smtppass",
    "appkey",
    "presharedKey",
    "gitlabPat",
    "recoveryCodes",
    "seedPhrase",
    "snmpCommunity",
    "passwort",
    "contrasena",
]

OPEN_NAMES = [
    "secretName",
    "secretKeyRef",
    "secretRef",
    "secretStoreRef",
    "existingSecret",
    "existingSecretPasswordKey",
    "auth.existingSecret",
    "passwordSecretKey",
    "userPasswordKey",
    "tokenTTL",
    "tokenUrl",
    "TOKEN_URL",
    "token_endpoint",
    "tokenExpirationSeconds",
    "passwordPolicy",
    "PASSWORD_FILE",
    "PASSWORD_MIN_LENGTH",
    "PASS_MIN_DAYS",
    "tokenReview",
    "checksum/secret",
    "checksum/webserver-secret-key",
    "sha256-token",
    "secret-hash",
    "pod-template-hash",
    "key",
    "name",
    "keyName",
    "primaryKey",
    "publicKey",
    "public_key",
    "sortKey",
    "cacheKey",
    "partition_key",
    "accessKeyId",
    "accessKeyIDSecretRef",
    "secretAccessKeySecretRef",
    "credentialsFile",
    "keystorePath",
    "tls.key",
    "passThrough",
    "proxy_pass",
    "author",
    "authors",
    "authority",
    "keyboard",
    "monkey",
    "tokenizer",
    "secretary",
    "compass",
    "bypass",
    "highpass",
    "pattern",
    "passive",
    "passport",
    "PWD",
    "OLDPWD",
    "serviceAccountName",
    "license",
    "kubernetes.io/service-account.name",
    "nginx.ingress.kubernetes.io/auth-url",
    "argocd.argoproj.io/tracking-id",
    "reconcile.external-secrets.io/created-by",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_under_the_name_of_a_secret_is_hidden(name: str) -> None:
    value = "https://hooks.example.com/T0/hunter2" if sort_of(name) == "address" else "hunter2"
    assert PRINTED.value({name: value}) == {name: HIDDEN}
    assert PRINTED.value([{"name": name, "value": value}]) == [{"name": name, "value": HIDDEN}]
    assert show(value, "/spec/" + name.replace("~", "~0").replace("/", "~1")) == HIDDEN


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_a_name_that_only_sounds_like_a_secret_hides_nothing(name: str) -> None:
    assert PRINTED.value({name: "hunter-2"}) == {name: "hunter-2"}
    assert PRINTED.value([{"name": name, "value": "hunter-2"}]) == [{"name": name, "value": "hunter-2"}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("automountServiceAccountToken", False),
        ("DB_PASSWORD", "$(OTHER)"),
        ("DB_PASSWORD", "{{ .Values.password }}"),
        ("DB_PASSWORD", "vault:secret/data/db#password"),
        ("DB_PASSWORD", "<path:secret/data/db#password>"),
        ("DB_PASSWORD", "op://vault/db/password"),
        ("DB_PASSWORD", "/run/secrets/db"),
        ("DB_PASSWORD", ""),
        ("DB_PASSWORD", None),
        ("password", "++++++++"),
        ("DB_PASSWORD", "${DB_PASSWORD}"),
        ("DB_PASSWORD", "${DB_PASSWORD:?is not set}"),
        ("DB_PASSWORD", "${DB_PASSWORD:-}"),
        ("DB_PASSWORD", "${DB_PASSWORD:-$OTHER}"),
        ("DB_PASSWORD", "${env:DB_PASSWORD}"),
        ("DB_PASSWORD", '{{ required "no password" .Values.password }}'),
        ("secrets", {"name": "db-1", "mountPath": "/run/s1", "db": "db-credentials"}),
        ("fernetKey", "<32 random bytes in base64>"),
        ("htpasswd", "user:<bcrypt hash>"),
        ("ALLOW_EMPTY_PASSWORD", "yes"),
        ("MAX_TOKENS", "4096"),
        ("maxTokens", 4096),
        ("tls.secret", "db-tls"),
        ("imagePullSecret", "registry"),
        ("secret", "db-credentials"),
        ("secretKey", "redis-password"),
        ("auth", "basic"),
        ("SMTP_AUTH", "plain"),
        ("webhookUrl", "http://alerts.monitoring.svc:8080/hook"),
        ("cookie", "route"),
        ("key_since.signingKey", "11.0.0"),
    ],
)
def test_a_value_that_is_no_secret_stays_under_the_name_of_one(name: str, value: Any) -> None:
    assert PRINTED.value({name: value}) == {name: value}


ORDINARY: list[Any] = [
    {
        "spec": {
            "volumes": [
                {"name": "tls", "secret": {"secretName": "web-tls", "items": [{"key": "tls.key", "path": "key.pem"}]}}
            ]
        }
    },
    {"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]},
    {"imagePullSecrets": [{"name": "regcred"}], "automountServiceAccountToken": False, "replicas": 3},
    {
        "projected": {
            "sources": [{"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 3600}}]
        }
    },
    {
        "kind": "ExternalSecret",
        "spec": {"data": [{"secretKey": "b", "remoteRef": {"key": "prod/db", "property": "password"}}]},
    },
    {"match": {"secretKey": "best-pokemon", "remoteRef": {"remoteKey": "k"}}},
    {"kind": "SealedSecret", "spec": {"encryptedData": {"password": "AgBy3i4OJSWK+PiTySYZZA9rO43cGDEq=="}}},
    {
        "metadata": {
            "annotations": {"checksum/secret": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
        }
    },
    {"rules": [{"apiGroups": [""], "resources": ["secrets", "serviceaccounts/token"], "verbs": ["get"]}]},
    {"matchExpressions": [{"key": "token", "operator": "In", "values": ["a", "b"]}]},
    {
        "args": [
            "--token-file=/run/t",
            "--password-file",
            "/run/p",
            "--auth-mode",
            "oidc",
            "-v",
            "--level=debug",
            "--token",
        ]
    },
    {"tls": [{"hosts": ["a.example.com"], "secretName": "a-tls"}], "secrets": [{"name": "default-token-x"}]},
    {"data": {"app.properties": "token.ttl=60\nsecret.name=web\n", "nginx.conf": "proxy_pass http://web:8080/;\n"}},
    {
        "data": {
            "run.sh": '#!/bin/sh\nexport PASSWORD="$(cat /run/p)"\npassword=$DB_PASSWORD\nexec web --password "$PASSWORD"\n'
        }
    },
    {"data": {"config.py": 'c.db_password = get_secret_value("hub.db.password", None)\n'}},
    {
        "data": {
            "config.yaml": "auth:\n  type: oidc\n  passwordPolicy:\n    minLength: 8\ntokenTTL: 1h\n# password: see Vault\n"
        }
    },
    {"caBundle": base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n").decode()},
    {
        "image": "registry.example.com/team/web:1.2@sha256:" + "ab" * 32,
        "url": "https://unpkg.com/@scope/pkg@1.0.0/index.js",
    },
    {
        "repoURL": "ssh://git@git.example.com/shop/apps.git",
        "targetRevision": "6ad00bb3a1c1f1d2a0b4c5d6e7f8091a2b3c4d5e",
    },
    {
        "annotations": {
            "argocd.argoproj.io/tracking-id": "web-secrets:external-secrets.io/ExternalSecret:shop/api-token"
        }
    },
    {"type": "password", "name": "field"},
    {"manifests": ['{"kind":"Deployment","a":"web-secret"}', '{"kind":"Service","b":"b2"}']},
    {"command": ["kubectl", "-n", "shop", "-p", "8080", "get"], "args": ["mysqld", "-p", "3306x"]},
    {"data": {"nginx.conf": "auth_basic off;\nproxy_pass http://web2:8080;\n", "r.toml": "[servers]\nvalue = 'db1'\n"}},
    {"description": "Rotate the token: see the runbook", "message": "Secret does not exist"},
]


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_objects_are_left_as_they_are(value: Any) -> None:
    assert PRINTED.value(value) is value


@pytest.mark.parametrize(
    "text",
    [
        "error processing spec.data[0] (key: prod/db), err: Secret does not exist",
        'no such key in secret: "token"',
        "rpc error: code = Unauthenticated desc = invalid token: expired",
        "could not get secret data from provider: unable to log in: invalid credentials",
        "failed to get access token: 401 Unauthorized; check the password: it must have 12 characters",
        "flag --token is deprecated, use --token-file /run/t",
        "Bearer authentication is not enabled; basic authentication required",
        '/spec/data/2/secretKey: absent desired, "client-id" live',
        "Secret shop/web-tls holds key tls.key, and Deployment shop/web mounts token volumes",
        'checksum/secret: "0a1b2c3d" desired, "4e5f6a7b" live',
        "set global.auth.existingSecret: db and auth.secretKeys.adminPasswordKey: admin-password",
        "kubectl -n shop get secret web -o jsonpath='{.data.password}' | base64 -d",
        "argocd app set web -p secretName=web-tls && kubectl create token web --duration 1h",
        'pods "web-token-x7k2p" is forbidden: token "default-token-x7k2p" not found, secret "db-1-tls" not found',
        'error when applying patch: {"spec":{"replicas":3},"kind":"Deployment"}',
        "the password was changed from the console to the vault; the token moved from v1 to v2",
        "Authorization: header is missing for 401 answers",
        'image = "web:1" -> "web:2", replicas: 3 -> 5, secretName: "a-1" -> "b-2"',
        "PASSWORDS ERROR: Password 'auth.rootPassword' must not be empty, please add '--set auth.rootPassword=$MARIADB_ROOT_PASSWORD' to the command",
        "The password 'global.redis.password' must not be empty, please add it",
        "PASSWORD AUTH is off; echo done | tee log; vault login -method=oidc",
        'failed calling webhook "x.example.com": Post "https://x.svc:443/mutate?timeout=10s": dial tcp: i/o timeout',
    ],
)
def test_sentences_about_secrets_stay_readable(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize("place", PLACES)
@PROPERTY
@given(secret=SECRETS)
@example("Zq7hunter2")
def test_a_secret_is_hidden_in_every_place(place: str, secret: str) -> None:
    made = PLACES[place](secret)
    found = json.dumps(PRINTED.value(made))
    assert secret not in found
    assert b64(secret)[:-4] not in found
    assert PRINTED.value(json.loads(found)) == json.loads(found), "a second pass changes nothing"


@PROPERTY
@given(one=SECRETS, other=SECRETS)
def test_what_stands_beside_a_secret_is_kept(one: str, other: str) -> None:
    assume(one != other)
    env = [{"name": "DB_HOST", "value": "db"}, {"name": "DB_PASSWORD", "value": one}, {"name": "PORT", "value": "5432"}]
    assert PRINTED.value(env) == [env[0], {"name": "DB_PASSWORD", "value": HIDDEN}, env[2]]
    text = f"db:\n  host: db  # {{one}}\n  password: {json.dumps(one)}\n  other: |\n    kept\nlast: 'x'\n"
    hidden = PRINTED.document(text)
    assert yaml.safe_load(hidden) == {"db": {"host": "db", "password": HIDDEN, "other": "kept\n"}, "last": "x"}
    assert hidden.replace(f'"{HIDDEN}"', json.dumps(one)) == text, "nothing else is written anew"


MESSAGES: dict[str, Callable[[str], str]] = {
    "an address": lambda s: f"authentication required for https://u:{s}@git.example.com/a.git: 403",
    "a query": lambda s: f'Get "https://h.example.com/v1?api_token={s}&b=1": dial tcp: no such host',
    "password=": lambda s: f"login failed for user u with password={s}",
    "a flag and its value": lambda s: f"exit status 1: helm registry login r --username u --password {s}",
    "a flag": lambda s: f"plugin failed: login --user u --password={s}",
    "mysql -p": lambda s: f"command mysql -u root -p{s} failed",
    "curl -u": lambda s: f"command curl -u user:{s} https://h failed",
    "a refused pod template": lambda s: f'spec: Invalid value: core.EnvVar{{Name:"DB_PASSWORD", Value:"{s}"}}: immutable',
    "a refused object": lambda s: 'spec: Invalid value: {"env":[{"name":"DB_PASSWORD","value":"' + s + '"}]}: immutable',
    "a refused Secret": lambda s: f'Secret "x" is invalid: data[k]: Invalid value: "{s}": must be base64',
    "a map of Go": lambda s: f"unexpected value map[password:{s} user:u]",
    "JSON in JSON": lambda s: 'bad body {"x":"{\\"password\\":\\"' + s + '\\"}"}',
    "a header": lambda s: f"request failed, Authorization: Bearer {s} was refused",
    "X-Vault-Token": lambda s: f"curl -H 'X-Vault-Token: {s}' failed",
    "a connection string": lambda s: f"cannot open Server=h;User=u;Password={s};Encrypt=true",
    "a literal for kubectl": lambda s: f"kubectl create secret generic x --from-literal=password={s}",
    "a pair in a pair": lambda s: f"error: password={s}",
    "a system property": lambda s: f"java -Djavax.net.ssl.keyStorePassword={s} -jar x",
    "a login without a scheme": lambda s: f"cannot reach guest:{s}@rabbit:5672",
    "an npm token": lambda s: f"//registry.example.com/:_authToken={s}",
    "a line of .netrc": lambda s: f"machine h login u password {s}",
    "a flag that Go refuses": lambda s: f'invalid value "{s}" for flag -db-password: bad',
    "SQL": lambda s: f"ALTER USER x WITH PASSWORD '{s}'",
    "a definition in PHP": lambda s: f"define('DB_PASSWORD', '{s}');",
    "a piped password": lambda s: f"echo {s} | docker login -u u --password-stdin",
    "JAAS": lambda s: f'PlainLoginModule required username="u" password="{s}";',
    "a flag that pflag refuses": lambda s: f'invalid argument "{s}" for "-p, --password" flag: bad',
    "a quoted password": lambda s: f'authentication failed with password "{s}1a"',
    "a patch of a Secret": lambda s: 'error when applying patch: {"data":{"k":"' + s + '"}} to: Resource: "/v1, Resource=secrets"',
    "a Secret in a sentence": lambda s: 'cannot apply {"data":{"k":"' + s + '"},"apiVersion":"v1","kind":"Secret"}: denied',
    "a Secret as Go prints it": lambda s: 'v1.Secret{Data:map[string]string{"k":"' + s + '"}}',
    "JSON that is cut": lambda s: 'body: {"a":1,"password":"' + s,
    "a list of Go": lambda s: f"map[X-Api-Key:[{s}] Accept:[a]]",
    "a variable that is refused": lambda s: f'containers[0].env[0].value: Invalid value: "{s}1a": bad',
    "a new value": lambda s: f'~ password = "x1" => "{s}"',
    "a value that is told": lambda s: f"DB_PASSWORD changed from {s}1A to x",
    "another scheme": lambda s: f"Authorization: GenieKey {s}1a",
    "a digest": lambda s: f'Authorization: Digest username="x", response="{s}1a"',
    "a port that is none": lambda s: f'parse "https://u": invalid port ":{s}" after host',
    "AUTH of Redis": lambda s: f"AUTH default {s}1a: WRONGPASS",
    "Markdown": lambda s: f"**password**: {s}1a and password: `{s}1a`",
    "scp": lambda s: f"cannot read ci:{s}@git.example.com:a/b.git",
    "a password that must not be empty": lambda s: f"ALTER ROLE web PASSWORD '{s}' must not be empty, password '{s}.x' is wrong",
    "prose": lambda s: f"it says that the token is {s}, twice",
    "a GitHub token": lambda s: "bad credentials ghp_" + "a1B2" * 9,
    "a JWT": lambda s: "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjaSJ9.c2lnbmF0dXJl is expired",
}  # fmt: skip


@pytest.mark.parametrize("kind", MESSAGES)
@PROPERTY
@given(
    secret=st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=6, max_size=30).map(
        "Zq7".__add__
    )
)
@example("Zq7hunter2")
def test_a_message_tells_no_secret(kind: str, secret: str) -> None:
    for told in (without_secrets(MESSAGES[kind](secret)), excerpt(MESSAGES[kind](secret))):
        assert not any(part in told for part in (secret, "a1B2", "eyJzdWIiOiJjaSJ9"))
        assert without_secrets(told) == told


def test_masks_of_a_snapshot_are_told_as_any_other() -> None:
    assert without_secrets('it holds "masked-0123456789ab" now') == f'it holds "{HIDDEN}" now'
    assert show("masked-0123456789ab") == f'"{HIDDEN}"'


def test_an_address_keeps_its_user_in_a_value_and_loses_it_in_a_sentence() -> None:
    assert show("postgres://shop:hunter2@db/shop") == f'"postgres://shop:{HIDDEN}@db/shop"'
    assert without_secrets("see https://ci:hunter2@git.example.com/a.git") == "see https://git.example.com/a.git"


def test_the_place_in_an_object_tells_what_a_value_is() -> None:
    pod = {"env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "LEVEL", "value": "y"}], "args": ["--password", "a"]}
    assert show("hunter2", "/env/0/value", within=pod) == HIDDEN
    assert show("hunter2", "/env/1/value", within=pod) == '"hunter2"'
    assert show("hunter2", "/args/1", within=pod) == HIDDEN
    assert show("hunter2", "/env/0/value") == '"hunter2"', "without its neighbours it is any value"
    assert in_place({"name": "A_TOKEN", "value": "x"}, pod, "/env/-") == {"name": "A_TOKEN", "value": HIDDEN}
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"user": "bWU="}}
    assert is_hidden("bWU=", secret, "/data/user")
    assert not is_hidden("bWU=", {**secret, "apiVersion": "example.com/v1"}, "/data/user")
    assert not is_hidden(MISSING, secret, "/data/user")
    assert show(MISSING, "/data/user", within=secret) == "absent"


def test_a_known_secret_shows_where_it_comes_from() -> None:
    assert show("vault:kv/shop#dsn", "/data/dsn", secret=True) == '"vault:kv/shop#dsn"'
    assert show("hunter2", "/data/x", secret=True) == HIDDEN


def test_no_value_that_a_fix_recommends_is_hidden() -> None:
    hidden = []
    for number, chart in enumerate(
        c for f in sorted((ROOT / "rules/shared/chart_data").iterdir()) for c in parse(f.read_text())
    ):
        for random in chart.get("random") or ():
            for pin in random.get("pin") or ():
                for values in (pin.get("values"), (pin.get("existing_secret") or {}).get("values")):
                    if values and PRINTED.value(values) != values:
                        hidden.append((number, values))
    assert [found for found in hidden if "x" not in found[1].values()] == [], "but for samples of one letter"


def test_pages_about_secrets_hold_none() -> None:
    """Sentences, commands and values of fixes by the thousand."""
    named = re.compile(r"\s+auth\.[\w.]+: |\s*match: .*\{0,4000\}")  # a field of a store, with its advice; a pattern
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/rules/*.md"), ROOT / "README.md", *ROOT.glob("rules/*/*.yaml")]
    assert len(pages) > 150
    for page in pages:
        lines = page.read_text().replace("$$", "$").splitlines()  # as advice is filled in
        told = [line for line in lines if without_secrets(line) != line and not named.match(line)]
        assert [line for line in told if "x}" not in line] == [], page


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "- " * 50_000, "{" * 5_000, "&a [*a]\npassword: x", "password: *nothing", "\0password: x", "a: b: c: password: x", "\ud800"],
)  # fmt: skip
def test_hostile_texts_are_read_without_a_fall(text: str) -> None:
    assert "hunter2" not in PRINTED.document(text + "\npassword: hunter2")
    assert PRINTED.value({"x": text})["x"] is not None


def test_nesting_beyond_reading_is_hidden_whole() -> None:
    node: Any = "hunter2"
    for _ in range(5_000):
        node = [node]
    assert PRINTED.value({"password": node}) == HIDDEN


def test_words_of_the_names_are_read_in_every_spelling() -> None:
    spellings = (
        "clientSecret",
        "client_secret",
        "client-secret",
        "CLIENT_SECRET",
        "client.secret",
        "ClientSecret",
        "clientsecret",
    )
    assert {is_secret(sort_of(name), "hunter2") for name in spellings} == {True}


DRAWN = [
    "kR9vT2mLx8QpW4nZ",
    "Zq7hunter2Xw",
    "P4ssW0rd",
    "CANARYPW4419XQ",
    "s3cr3t-Horse!",
    "q7$Kd2^mW",
    "A1B2C-D3E4F-G5H6I-J7K8L",
    "x7k2p9q4w8e1r5t3y6u0i2o8",
    "Zm9vYmFyOiB7InBhc3MiOiAiaHVudGVyMiJ9Cg==",
    "MIIKegIBAzCCCkAGCSqGSIb3DQEHAaCCCjEEggot",
]


@pytest.mark.parametrize("word", DRAWN)
def test_a_word_that_looks_drawn_is_hidden_whatever_it_is_called(word: str) -> None:
    """No list of names has `note`, `-k` and a webhook of one's own on it."""
    assert PRINTED.value({"note": word, "args": ["-k", word]}) == {"note": HIDDEN, "args": ["-k", HIDDEN]}
    assert without_secrets(f"cannot do it with {word}: no") == f"cannot do it with {HIDDEN}: no"
    assert PRINTED.value({"app.conf": f"a = 1\nlicence {word}\nb: 2\n"}) == {
        "app.conf": f"a = 1\nlicence {HIDDEN}\nb: 2\n"
    }


def test_a_hexadecimal_key_is_hidden_where_it_is_a_value_and_no_digest() -> None:
    key = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert PRINTED.value({"note": key, "a.conf": f"x=1\nnote={key}"}) == {
        "note": HIDDEN,
        "a.conf": f"x=1\nnote={HIDDEN}",
    }
    digests = {
        "checksum/note": key,
        "image": f"a/b@sha256:{key}",
        "a.conf": f"x=1\nconfigHash: {key}\n",
        "message": f"at {key}",
    }
    assert PRINTED.value(digests) == digests


@pytest.mark.parametrize(
    "text",
    [
        "v1alpha1ApplicationSetStatus",
        "image registry/web:v1.2.3-20260101T101112Z-abc1234 and main-20260101t101112-8c9f",
        'key "rds!db-5b6c7d8e-1f2a-4b3c-9d4e-112233445566" and item xKj3nP9qLm2vR8tYw5zA1b2c not found',
        "installK8sNetworkingCRDs=false preferIPv4Stack=true",
        "-Xms1536m -Xmx1536m -XX:MaxRAMPercentage=75",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ECDSAP521",
        "AADSTS7000215: ORA-01017 CVE-2026-12345",
        "20260101T100000Z 2026-01-01T10:00:00Z",
        "quay.io/a/b:RELEASE.2026-01-01T00-19-54Z@sha256:" + "9f86d081" * 8,
        "arn:aws:iam::123456789012:role/eksctl-web-NodeInstanceRole-1XYZ2ABC3DEF",
        "web-7d4b9c6f5-x7k2p ip-10-0-1-23.eu-west-1.compute.internal",
        "3F2504E0-4F89-11D3-9A0C-0305E82C3301",
        "4AEE18F83AFDEB23",
        "hostedZoneId: Z1D633PJN98FT9",
        "--certificate-digest=kR9vT2mLx8QpW4nZ",
        "/builds/gLx3Kz9Q2/0/shop/apps.git",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkekNDQVIyZ0F3SUJBZ0lCQURBS0JnZ3Foa2pPUFFRREFqQWpN",
        "-----BEGIN CERTIFICATE-----\nMIIBdzCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAj\nq7Kd2kR9vT2mLx8QpW4nZ\n-----END CERTIFICATE-----\n",
        "*.web1.example.com ^web2prod$ v1.* !Ref Bucket1",
    ],
)
def test_a_word_of_letters_and_digits_that_means_something_stays(text: str) -> None:
    assert PRINTED.value({"note": text}) == {"note": text}
    assert without_secrets(text) == text


def test_the_name_of_a_file_a_branch_and_a_field_may_look_drawn() -> None:
    assert in_name("apps/kR9vT2mLx8QpW4nZ/a.yaml") == "apps/kR9vT2mLx8QpW4nZ/a.yaml"
    assert in_name("ghp_" + "a1B2" * 9) == HIDDEN


def test_arguments_are_read_with_their_command() -> None:
    """Of a difference only the arguments are known, of a patch often a single one."""
    container = {"command": ["mysql"], "args": ["-u", "root", "-phunter2288"]}
    assert in_place(container["args"], {"c": container}, "/c/args") == ["-u", "root", f"-p{HIDDEN}"]
    assert in_place("-phunter2288", {"c": container}, "/c/args/2") == f"-p{HIDDEN}"
    assert in_place("-phunter2288", {"c": {**container, "args": []}}, "/c/args/0") == f"-p{HIDDEN}"
    assert in_place("-phunter2288", {"c": {**container, "args": []}}, "/c/args/-") == f"-p{HIDDEN}"
    assert in_place(["-p3306"], {"c": {"command": ["web"]}}, "/c/args") == ["-p3306"]


def test_one_password_and_several_are_two_sorts() -> None:
    assert [sort_of(name) for name in ("dbPassword", "dbPasswords")] == ["password", "several"]


def test_a_word_of_small_letters_needs_four_digits_to_look_drawn() -> None:
    assert looks_random("qwxzkvbnmtrplkjhgfds7391")
    assert not looks_random("qwxzkvbnmtrplkjhgfdsa739")


def test_lists_of_two_lengths_are_masked_each_by_itself() -> None:
    both = {"args": ["--password=Tr0ub4dor&3", "--depth=7"]}, {"args": ["--depth=7"]}
    printed = in_places("/args", *((side["args"], side) for side in both))
    assert printed[1] == ["--depth=7"]
    assert "Tr0ub4dor" not in str(printed)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('{\n\t"password": "hunter2xYq9",\n\t"user": "ann"\n}', '{\n\t"password": "(masked)",\n\t"user": "ann"\n}'),
        ('{"password": "hunter2xYq9", "user": "ann"}', '{"password":"(masked)","user":"ann"}'),
        ('{"password": "hunter2xYq9", "user": "ann"}\n', '{"password":"(masked)","user":"ann"}\n'),
    ],
)
def test_a_document_of_several_lines_keeps_them_and_another_is_one_line(text: str, printed: str) -> None:
    assert without_secrets(text) == printed
