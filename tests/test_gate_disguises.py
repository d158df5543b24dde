"""However a change writes an Application down, the gate reads what Argo CD would, or says that nobody judged it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from argolint.errors import UsageError
from argolint.gate import files
from argolint.gate.declared import declared
from tests.gitops import commit, git

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.com/shop/apps.git, path: web, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/x]}]
"""
KIND = "kind: Application\n"
JSON = json.dumps(
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web"},
        "spec": {"ignoreDifferences": [{"kind": "Deployment"}]},
    }
)


def kind(text: str) -> str:
    return APPLICATION.replace(KIND, text)


def listed(kind: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nitems:\n- " + APPLICATION.replace("\n", "\n  ").rstrip() + "\n"


JUDGED: dict[str, str] = {
    "as it is": APPLICATION,
    "a byte order mark": "\ufeff" + APPLICATION,
    "CRLF": APPLICATION.replace("\n", "\r\n"),
    "CR": APPLICATION.replace("\n", "\r"),
    "NEL": APPLICATION.replace("\n", "\x85"),
    "line separators": APPLICATION.replace("\n", "\u2028"),
    "JSON": JSON,
    "JSON with escapes": JSON.replace("Application", "\\u0041pplication"),
    "JSON with a key twice": JSON.replace('"kind"', '"kind": "ConfigMap", "kind"'),
    "JSON in a list": f'{{"kind": "List", "apiVersion": "v1", "items": [{JSON}]}}',
    "a List": listed("List"),
    "an ApplicationList": listed("ApplicationList"),
    "items of another kind": listed("ConfigMap"),
    "a list in a list": "kind: List\napiVersion: v1\nitems:\n- " + listed("List").replace("\n", "\n  "),
    "base64": kind("kind: !!binary QXBwbGljYXRpb24=\n"),
    "base64 behind another tag": "%TAG !y! tag:yaml.org,2002:\n---\n" + kind("kind: !y!bin%61ry QXBwbGljYXRpb24=\n"),
    "a group in base64": APPLICATION.replace("argoproj.io/v1alpha1", "!!binary YXJnb3Byb2ouaW8vdjFhbHBoYTE="),
    "a key in base64": kind("!!binary a2luZA==: Application\n"),
    "a tagged merge": kind("!!merge <<: {kind: Application}\n"),
    "a tag": kind("kind: !!str Application\n"),
    "a tag of its own": kind("kind: !x Application\n"),
    "a tag on the document": "--- !x\n" + APPLICATION,
    "an anchor": "x: &k Application\n" + kind("kind: *k\n"),
    "a merge": "x: &b {kind: Application}\n<<: *b\n" + kind(""),
    "a merged spec": APPLICATION.replace("  ignoreD", "  <<:\n    ignoreD"),
    "a key twice": "kind: ConfigMap\n" + APPLICATION,
    "after another document": "kind: ConfigMap\n---\n" + APPLICATION,
    "before another document": APPLICATION + "---\nkind: ConfigMap\n",
    "after 2,000 documents": "a: 1\n---\n" * 2000 + APPLICATION,
    "a directive": "%YAML 1.2\n---\n" + APPLICATION,
    "a complex key": "? kind\n: Application\n" + kind(""),
    "a folded kind": kind("kind: >-\n  Application\n"),
    "a quoted key": kind("'kind': 'Application'\n"),
    "an escaped key": kind('"\\x6bind": Application\n'),
    "an escaped kind": kind('kind: "\\U00000041pplication"\n'),
    "a kind over two lines": kind('kind: "Appli\\\n  cation"\n'),
    "a comment behind": kind("kind: Application # ConfigMap\n"),
    "spaces": kind("kind:    Application   \n"),
    "a comment like a template": "# {{ x }}\n" + APPLICATION,
    "another version": APPLICATION.replace("v1alpha1", "v1beta1"),
    "a byte order mark in the middle": "# {{\na: 1\n---\n\ufeff" + APPLICATION,
    "a template beside": "a: {{ .x }\n---\n" + APPLICATION + "---\n{{ x }}: [\n",
    "a template behind an end": APPLICATION + "...\n{{ x\n",
    "JSON after JSON": '{"kind": "ConfigMap"}\n' + JSON,
    "JSON before what is none": JSON + "\n{{",
    "JSON with half a character": JSON.replace('"spec"', '"x": "\\ud800", "spec"').replace(
        "argoproj.io/", "argoproj.io\\/"
    ),
    "JSON that is no YAML": JSON.replace('"spec"', '"x": "a\tb", "spec"').replace("{", "{\t"),
}
REFUSED: dict[str, str] = {
    "a template around": "{{- if true }}\n" + APPLICATION + "{{- end }}\n",
    "a kind from a template": kind("kind: {{ .Values.kind }}\n"),
    "a kind that is a list": kind("kind: [Application]\n"),
    "group and kind from a template": kind("kind: {{ .kind }}\n").replace("argoproj.io/v1alpha1", "{{ .api }}"),
    "a tab": APPLICATION.replace("  project", "\tproject"),
    "a control character": APPLICATION + "# \x01\n",
    "deep nesting": APPLICATION + "x: " + "[" * 3000 + "]" * 3000 + "\n",
    "deep nesting before": "x: " + "[" * 3000 + "]" * 3000 + "\n---\n" + APPLICATION,
    "aliases without end": "a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)) + "---\n" + APPLICATION,
    "deep nesting and a brace": APPLICATION + "x: " + "[" * 140 + "]" * 140 + " # {{\n",
    "deep JSON": JSON.replace('"spec"', '"x": ' + "[" * 9_000 + "]" * 9_000 + ', "spec"'),
    "deep nesting in an escaped group": APPLICATION.replace("argoproj", '"\\x61rgoproj').replace("alpha1", 'alpha1"')
    + "x: " + "[" * 140 + "]" * 140 + "\n",
    "an end before": "...\n}\n" + APPLICATION,
    "deeper nesting than a library takes, and a brace": APPLICATION + "x: " + "[" * 2_000 + "]" * 2_000 + " # {{\n",
    "a colon in brackets and a brace": APPLICATION + "x: [a:] # {{\n",
    "an escaped apostrophe and a brace": APPLICATION + 'x: "\\\'" # {{\n',
    "a tag with a bracket and a brace": APPLICATION + "x: !!omap] [a: 1] # {{\n",
    "a tag with a comma and a brace": APPLICATION + "x: [!a,*b ] # {{\n",
    "a tag with a comma": APPLICATION + "x: [!a,b]\n",
    "a byte order mark behind a line and a brace": APPLICATION + "\x85\ufeff: 1 # {{\n",
    "a byte order mark in a map": APPLICATION + "x: {\r\ufeffb}\n",
    "a merge behind what it says too": APPLICATION.replace("project: default", "project: default\n  <<: {project: other}"),
    "two merges": APPLICATION.replace("project: default", "<<: {project: default}\n  <<: {project: other}"),
    "a number and a text for a key": APPLICATION.replace("project: default", "project: default\n  1: a\n  '1': b"),
    "no name": APPLICATION.replace("name: web, ", ""),
}  # fmt: skip
GONE: dict[str, str] = {
    "another kind": kind("kind: application\n"),
    "another key": kind("Kind: Application\n"),
    "a letter without a shape": kind("kind: \u200bApplication\n"),
    "a later kind": APPLICATION + "kind: ConfigMap\n",
    "nothing": "",
    "another name": APPLICATION.replace("name: web", "name: other"),
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "init", "--quiet")
    commit(folder, {"a.yaml": APPLICATION})
    return folder


def read(clone: Path, text: str) -> Any:
    (clone / "a.yaml").write_bytes(text.encode())
    return files.read([clone / "a.yaml"], None)


@pytest.mark.parametrize("way", JUDGED)
def test_a_disguised_application_is_judged(way: str, clone: Path) -> None:
    found = [pair.after for pair in read(clone, JUDGED[way]).written.applications if pair.after]
    named = [app for app in found if app["spec"].get("ignoreDifferences")]
    assert [app["metadata"]["name"] for app in named] == ["web"]
    assert [app["metadata"]["name"] for app in declared(JUDGED[way]).objects] == ["web"]


@pytest.mark.parametrize("way", REFUSED)
def test_what_cannot_be_read_does_not_pass(way: str, clone: Path) -> None:
    try:
        found = read(clone, REFUSED[way])
    except UsageError:
        return
    assert found.written.failures


@pytest.mark.parametrize("way", GONE)
def test_an_application_that_its_file_no_longer_holds_does_not_pass(way: str, clone: Path) -> None:
    (failure,) = read(clone, GONE[way]).written.failures
    assert (failure.stage, failure.error) == (
        "not judged",
        "the files no longer hold the Application argocd/web, and what is deleted with it is not known here",
    )


def test_an_application_that_moves_between_the_files_is_not_gone(clone: Path) -> None:
    (clone / "a.yaml").write_text("")
    (clone / "b.yaml").write_text(APPLICATION)
    assert files.read([clone / "a.yaml", clone / "b.yaml"], None).written.failures == ()


@pytest.mark.parametrize(
    "way", [way for way in REFUSED if way not in ("no name",) and "template" not in way and "list" not in way]
)
def test_the_change_of_a_repository_names_what_it_cannot_read(way: str) -> None:
    found = declared(REFUSED[way])
    beside = (
        "before" in way and way != "an end before"
    ) or "aliases" in way  # a part of its own, which holds no Application
    assert not found.objects if not beside else [m["metadata"]["name"] for m in found.objects] == ["web"]
    assert bool(found.unread) is not beside
