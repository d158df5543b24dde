"""Saved reports that somebody else wrote: of a newer argolint, of two servers, empty, cut, or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint.errors import UsageError
from argolint.reports import document as r
from argolint.reports import formats
from argolint.reports.formats import Style
from tests.test_prometheus import _finding, _report, _samples

FORMATS = ("html", "prometheus", "markdown", "text", "sarif", "junit")


def _saved(**changed: Any) -> bytes:
    return json.dumps({**json.loads(r.to_json(_report(_finding()))), **changed}).encode()


_APP = json.loads(_saved())["findings"][0]["app"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_saved(schema_version="2.0"), "old.json has schema_version 2.0, this argolint reads 1.x"),
        (b"", "old.json is no JSON"),
        (_saved()[:-20], "old.json is no JSON"),
        (b"{}", "old.json is no argolint report: it has no schema_version"),
        (b"[]", "old.json is no argolint report: it has no schema_version"),
        (_saved(findings=7), "old.json"),
    ],
    ids=["newer", "empty", "cut", "nothing", "list", "wrong"],
)
def test_what_cannot_be_read_says_what_and_why(text: bytes, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        r.from_json(text, "old.json")
    assert raised.value.message.startswith(said)
    assert raised.value.hint


def test_a_file_without_end_is_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r, "MAX_BYTES", 100_000)
    with pytest.raises(UsageError, match="cannot read /dev/zero: /dev/zero is larger than 100,000 bytes"):
        r.read(Path("/dev/zero"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_newer_minor_version_no_findings_and_servers_of_any_name_are_read(name: str) -> None:
    for text in (
        _saved(schema_version="1.99", something={"new": 1}),
        _saved(findings=[], causes=[]),
        _saved(findings=[{**json.loads(_saved())["findings"][0], "app": {**_APP, "server": "https://[one"}}]),
        _saved(servers=[{"url": "//[", "version": "", "apps": 1}]),
        _saved(
            servers=[
                {"url": "https://one", "version": "v3.5.1", "apps": 1},
                {"url": "https://two", "version": "", "apps": 2},
            ]
        ),
    ):
        assert formats.render(r.from_json(text, "x"), name, Style())


def test_of_two_servers_each_has_its_own_series() -> None:
    there = r.ReportedApp("https://other.example.com", "argocd", "web", "shop")
    servers = (r.Server("https://argocd.example.com", "v3.5.1", 1), r.Server("https://other.example.com", "v3.4.0", 1))
    report = msgspec.structs.replace(_report(_finding(), _finding(app=there)), servers=servers)
    text = formats.render(r.from_json(r.to_json(report), "x"), "prometheus", Style())
    both = ["argocd.example.com", "other.example.com"]
    assert sorted(labels[2] for labels in _samples(text, "argolint_app_findings")) == both
    assert sorted(labels[0] for labels in _samples(text, "argolint_check_complete")) == both
    named = tuple(r.Server(s.url, s.version, s.apps, n) for s, n in zip(servers, ("one", "two"), strict=True))
    down = r.ReportedFailure("server", "nothing listens", server="two")
    whole = r.ReportedFailure("check", "no Argo CD can be read")
    for failures, one, two in (((), 0, 0), ((down,), 1, 0), ((whole,), 0, 0), ((down, whole), 0, 0)):
        broken = msgspec.structs.replace(report, servers=named, failures=failures, complete=False)
        text = formats.render(broken, "prometheus", Style())
        assert _samples(text, "argolint_check_complete") == {("one",): one, ("two",): two}, failures
    assert _samples(text, "argolint_check_failures") == {("two", "server"): 1, ("", "check"): 1}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_report_that_is_written_finding_by_finding_is_one_document(count: int) -> None:
    report = _report(*[_finding(message=f'"findings": []\n "findings": [{n}]') for n in range(count)])
    assert r.to_json(report) == msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"
    assert "".join(formats.rendered(report, "json", Style())).encode() == r.to_json(report)
