"""Places of secrets, each as a function that plants one: for tests of printed and stored texts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import yaml
from hypothesis import strategies as st


def _file(name: str, text: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {name: text}}


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _block(value: str) -> str:
    return "db:\n  password: |\n" + "".join(f"    {line}\n" for line in value.splitlines())


Place = Callable[[str], Any]
PLACES: dict[str, Place] = {
    "an environment variable": lambda s: {"env": [{"name": "DB_PASSWORD", "value": s}]},
    "an environment variable that only one side has": lambda s: [{"name": "API_TOKEN", "value": s}],
    "the data of a Secret": lambda s: {"apiVersion": "v1", "kind": "Secret", "data": {"k": b64(s)}, "stringData": {"other": s}},
    "a list of Secrets": lambda s: {"kind": "SecretList", "apiVersion": "v1", "items": [{"data": {"k": s}}]},
    "last-applied of a Secret": lambda s: {"metadata": {"annotations": {"x": json.dumps({"kind": "Secret", "stringData": {"k": s}})}}},
    "a copy in an annotation of a Secret": lambda s: {"kind": "Secret", "metadata": {"annotations": {"backup/data": s}}},
    "an argument": lambda s: {"args": [f"--admin-password={s}"]},
    "the argument after a flag": lambda s: {"args": ["--admin-password", s]},
    "a field of a custom resource": lambda s: {"kind": "Db", "spec": {"auth": {"clientSecret": s}}},
    "a map below the name": lambda s: {"password": {"value": s}},
    "a list below the name": lambda s: {"passwords": [s], "tokens": {"ci": s}},
    "a Helm parameter": lambda s: {"parameters": [{"name": "db.password", "value": s, "forceString": True}]},
    "a plugin's parameter": lambda s: {"parameters": [{"name": "password", "string": s}], "env": [{"name": "TOKEN", "value": s}]},
    "a header": lambda s: {"httpHeaders": [{"name": "Authorization", "value": f"Basic {b64('u:' + s)}"}]},
    "an operation of a patch": lambda s: {"op": "replace", "path": "/spec/db/password", "value": s},
    "Helm values as YAML": lambda s: {"values": yaml.safe_dump({"db": {"user": "u", "password": s}})},
    "Helm values in a flow map": lambda s: {"values": f"db: {{user: u, password: {json.dumps(s)}}}\n"},
    "a block of YAML": lambda s: {"values": _block(s)},
    "YAML with an anchor": lambda s: {"values": f"a: &p {json.dumps(s)}\ndb:\n  password: *p\n"},
    "YAML that is commented out": lambda s: {"values": f"replicas: 1\n# password: {s}\n"},
    "a template that is no YAML": lambda s: _file("c.tpl", f"db:\n  {{{{- if .x }}}}\n  password: {json.dumps(s)}\n  {{{{ end }}}}\n"),
    "an env list in YAML, value first": lambda s: {"values": f"extraEnv:\n- value: {json.dumps(s)}\n  name: DB_PASSWORD\n"},
    "YAML in YAML": lambda s: {"patch": yaml.safe_dump({"spec": {"values": yaml.safe_dump({"password": s})}}, default_style="|")},
    "JSON in JSON in JSON": lambda s: {"x": json.dumps({"y": json.dumps({"apiKey": s})})},
    "a JSON file": lambda s: _file("c.json", json.dumps({"db": {"password": s}}, indent=2)),
    "a properties file": lambda s: _file("a.properties", f"db.user=u\ndb.password={s}\n"),
    "a .env file": lambda s: _file(".env", f"A=1\nexport DB_PASSWORD='{s}'\n"),
    "a TOML file": lambda s: _file("a.toml", f'[db]\npassword = "{s}"\n'),
    "an XML file": lambda s: _file("a.xml", f'<c><password>{s}</password><p name="db.password" value="{s}"/></c>'),
    "base64 of settings": lambda s: _file("x", b64(f"[db]\npassword = {s}\nport = 1\n")),
    "a ConfigMap's binaryData": lambda s: {"kind": "ConfigMap", "binaryData": {"password": b64(s)}},
    "a registry login": lambda s: {"x": json.dumps({"auths": {"r.example.com": {"auth": b64("u:" + s), "password": s}}})},
    "an address of a database": lambda s: {"x": f"postgres://u:{quote(s, safe='')}@db:5432/x"},
    "a token as user": lambda s: {"x": f"https://{quote(s, safe='')}@git.example.com/x"},
    "a query": lambda s: {"x": f"https://h.example.com/x?a=1&access_token={quote(s, safe='')}"},
    "a JDBC address": lambda s: {"x": f"jdbc:mysql://h/d?user=u&password={quote(s, safe='')}"},
    "a command": lambda s: {"command": ["sh", "-c", f"PGPASSWORD={s} psql -h db"]},
    "a private key": lambda s: {"x": f"-----BEGIN RSA PRIVATE KEY-----\n{s}\n-----END RSA PRIVATE KEY-----\n"},
    "a private key that was cut": lambda s: {"x": f"-----BEGIN PRIVATE KEY-----\n{s}"},
    "base64 of a private key": lambda s: {"x": b64(f"-----BEGIN PRIVATE KEY-----\n{s}\n-----END PRIVATE KEY-----\n")},
    "a pair of other names": lambda s: {"params": [{"k": "password", "v": s}, {"envName": "DB_PASSWORD", "value": s}]},
    "an operation by field path": lambda s: {"fieldPath": "spec.db.password", "value": s},
    "a pair in a list": lambda s: {"set": [["DB_PASSWORD", s]]},
    "what a value would be": lambda s: {"properties": {"password": {"type": "string", "example": s, "enum": [s]}}},
    "literals of Kustomize": lambda s: {"secretGenerator": [{"name": "db", "literals": [f"k={s}"]}]},
    "a map of secrets": lambda s: {"credentials": {"ci": s}, "recoveryCodes": [s]},
    "redis-cli -a": lambda s: {"command": ["redis-cli", "-h", "db", "-a", s]},
    "docker login -p": lambda s: {"command": ["docker", "login", "-u", "ci", "-p", s]},
    "ldapsearch -w": lambda s: {"command": ["ldapsearch", "-D", "cn=x", "-w", s]},
    "curl -uu:p": lambda s: {"command": ["curl", f"-uci:{s}", "https://h.example.com"]},
    "kubectl --from-literal": lambda s: {"command": ["kubectl", "create", "secret", "generic", "x", "--from-literal", f"k={s}"]},
    "requirepass": lambda s: {"args": ["redis-server", "--requirepass", s], "masterauth": s},
    "chpasswd": lambda s: {"command": ["sh", "-c", f"echo 'root:{s}' | chpasswd"]},
    "a default of the shell": lambda s: {"env": [{"name": "DB_PASSWORD", "value": "${PW_FOR_DB:-" + s + "}"}]},
    "a default of Spring": lambda s: _file("a.yaml", "spring:\n  datasource:\n    password: ${PW_FOR_DB:" + s + "}\n"),
    "a default of a template": lambda s: _file("a.tpl", 'password: {{ .Values.pw | default "' + s + '" }}\n'),
    "a login in a key": lambda s: {"users": {f"https://ci:{s}@git.example.com/a": "admin"}},
    "JSON in an address": lambda s: {"x": "https://h.example.com/?c=%7B%22password%22%3A%22" + s + "%22%7D"},
    "an address quoted twice": lambda s: {"x": "a%253A%252F%252Fci%253A" + s.replace("^", "x") + "%2540h.example.com"},
    "TOML over lines": lambda s: _file("a.toml", f'password = """\n{s}\n"""\n'),
    "a section of tokens": lambda s: _file("a.toml", f'[[api_tokens]]\nvalue = "{s}"\n'),
    "a block of tokens": lambda s: _file("a.hcl", f'acl {{\n  tokens {{\n    agent = "{s}"\n  }}\n}}\n'),
    "a value that goes on": lambda s: _file("a.properties", f"db.password=\\\n  {s}\n"),
    "a name and its value": lambda s: _file("a.conf", f"[OUTPUT]\n    Name splunk\n    Splunk_Token   {s}1a\n"),
    "a list in what is no YAML": lambda s: _file("a.yaml", f"a: [\npasswords:\n- {s}\n- y\n"),
    "a template of a Secret": lambda s: _file("s.tpl", "kind: Secret\n{{ if .x }}\nstringData:\n  a: " + s + "\n{{ end }}\n"),
    "XML in CDATA": lambda s: _file("a.xml", f"<password><![CDATA[{s}]]></password>"),
    "a property of Hadoop": lambda s: _file("a.xml", f"<property><name>a.secret.key</name><value>{s}</value></property>"),
    "ODBC": lambda s: {"x": f"Driver=x;Server=y;UID=sa;PWD={s};"},
    "Oracle": lambda s: {"x": f"jdbc:oracle:thin:scott/{s}@//db:1521/x"},
    "literals of other languages": lambda s: _file("a.sql", f"CREATE LOGIN x WITH PASSWORD = N'{s}';\nPASSWORD = b'{s}'\n"),
    "a symbol of Ruby": lambda s: _file("a.rb", f"set :api_token, '{s}'\n"),
    "a difference": lambda s: {"x": f"-    - name: DB_PASSWORD\n+    - name: DB_PASSWORD\n+      value: {s}\n"},
    "a static key of OpenVPN": lambda s: _file("k", f"-----BEGIN OpenVPN Static key V1-----\n{s}\n-----END OpenVPN Static key V1-----\n"),
    "a variable of Terraform": lambda s: _file("a.tf", 'variable "db_password" {\n  default = "' + s + '1a"\n}\n'),
    "words that the shell joins": lambda s: _file("a.sh", f"PASSWORD=\"abc\"'{s}'\n"),
    "a file with a secret's name": lambda s: _file("a.sh", f"echo -n '{s}' > /run/secrets/db_password\n"),
    "functions of SQL": lambda s: _file("a.sql", f"SET PASSWORD FOR x = PASSWORD('{s}');\nSELECT crypt('{s}', gen_salt('bf'));\n"),
    "a string of Envoy": lambda s: {"generic_secret": {"secret": {"inline_string": s + "1a"}}},
    "a key below what it does": lambda s: {"encrypt": {"key": s + "1a"}, "jwt": {"key": s + "1a"}},
    "unzip -P": lambda s: {"args": ["unzip", "-P", s, "a.zip"]},
    "an address with quotes": lambda s: {"x": f"postgres://u:a'{s}@h/db"},
    "a patch of stringData": lambda s: {"x": json.dumps({"op": "add", "path": "/stringData/x", "value": s})},
    "a Secret that was cut": lambda s: {"liveState": '{"apiVersion":"v1","kind":"Secret","stringData":{"k":"' + s + '"}'},
}  # fmt: skip
SECRETS = st.text("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789_+!^", min_size=6, max_size=40).map(
    "Zq7".__add__
)
