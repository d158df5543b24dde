"""What a fuzzer feeds with bytes: each target takes any, and fails where argolint does what it never may.

`scripts/fuzz.py` feeds them under atheris, `tests/test_fuzz.py` with what that found before (`tests/fuzz/corpus`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from argolint.comparison.jq import re2
from argolint.comparison.jq.grammar import program
from argolint.engine import config
from argolint.errors import ArgolintError
from argolint.fixes.anchors import anchored
from argolint.fixes.placement import arrange
from argolint.fixes.site import Choice, Site
from argolint.gate.declared import OTHER_KINDS, declared
from argolint.plugins import load_rules
from argolint.redaction import PRINTED, excerpt, without_secrets
from argolint.reports import document as lint_report
from argolint.reports import formats
from argolint.serve import stream
from argolint.snapshots import archive, index
from argolint.snapshots.mask import Masker
from argolint.sources import yaml_text
from argolint.sources.checkout import Named
from argolint.suppression.baseline import parse_baseline
from argolint.testing import Fixture, check
from argolint.values import get, glob, manifests, quantities
from tests.checkouts import REPO, document, finding, patch
from tests.test_answers_properties import ENDS, Recorded, look

Target = Callable[[bytes], None]
LONGEST = 4096
"""Bytes of one input: more of the same finds nothing new."""


def redaction(data: bytes) -> None:
    """Whatever a text is, it is printed, once and again, without more than masks in it; and a snapshot keeps its JSON whole."""
    text = data.decode("utf-8", "replace")
    for told in (without_secrets(text), PRINTED.document(text), excerpt(text)):
        assert isinstance(told, str)
    value = {"data": {"file": text}, "env": [{"name": "DB_PASSWORD", "value": text}], text[:40]: [text, text]}
    assert set(get(PRINTED.value(value), "/env/0")) == {"name", "value"}
    json.loads(Masker()(json.dumps(value).encode(), "/api/v1/applications"))


def drawn(data: bytes) -> None:
    """A word that looks drawn is hidden in any text, printed or kept, wherever the text does not call it an identifier."""
    before, _, after = data.decode("utf-8", "replace").partition("\0")
    if "-----BEGIN" in before:
        return  # what may be a certificate
    text = f"{before} ; {DRAWN} ; {after}"
    for told in (without_secrets(text), PRINTED.text(text), excerpt(text, 2 * LONGEST)):
        assert DRAWN not in told
    kept = Masker()(json.dumps({"note": text, "list": [text]}).encode(), "/api/v1/applications")
    assert DRAWN not in kept.decode()


DRAWN = "kR9vT2mLx8QpW4nZ"


def yaml(data: bytes) -> None:
    """A text of YAML is read as plain JSON data or refused."""
    text = data.decode("utf-8", "replace")
    for for_editing in (False, True):
        try:
            found = manifests.documents(text, for_editing=for_editing)
        except manifests.ManifestError:
            continue
        json.dumps(found)
        list(manifests.objects(found))
    assert {manifest["kind"] for manifest in declared(text).objects} <= {"Application", *OTHER_KINDS}


def edits(data: bytes) -> None:
    """A patch gives just what RFC 6902 asks for, or is refused; the other documents stay byte for byte."""
    text = data.decode("utf-8", "replace")
    pointer, _, text = text.partition("\n")
    try:
        documents = yaml_text.documents(text)
        before = documents[0].data
    except yaml_text.EditError:
        return
    for operation in (
        {"op": "add", "path": pointer, "value": {"a": [1, "x"]}},
        {"op": "replace", "path": pointer, "value": "no"},
        {"op": "remove", "path": pointer},
    ):
        try:
            made = yaml_text.patch(text, 0, [operation])
        except yaml_text.EditError:
            continue
        after = yaml_text.documents(made)
        assert after[0].data == yaml_text.applied({} if before is None else before, [operation])
        assert made.endswith(text[documents[0].end :])


def answers(data: bytes) -> None:
    """Any bytes in the place of one of the server's answers: a result, a failure or an ArgolintError."""
    end = ENDS[data[0] % len(ENDS)] if data else ENDS[0]
    look(Recorded({end: data[1:]}))


def programs(data: bytes) -> None:
    """jq paths, regular expressions, globs and quantities of others are judged, and nothing runs."""
    text = data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace") if _is_text(data) else repr(data)
    made = program(text)
    assert [bool(made.text), bool(made.refusal), bool(made.unsupported)].count(True) == 1
    re2.for_oniguruma(text)
    pattern, _, name = text.partition("\n")
    glob.matches(pattern, name)
    quantities.quantity(text)
    quantities.amount(text)


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace")
    except UnicodeDecodeError:
        return False
    return True


def messages(data: bytes) -> None:
    """A message of Argo CD, Kubernetes or an operator, wherever it stands: no rule fails, and every report can be written."""
    text = data.decode("utf-8", "replace")
    made = check(_said(text), _rules())
    assert [f for f in made.failures if f.error.startswith(("rule ", "argolint failed"))] == []
    for name in formats.FORMATS:
        formats.render(made, name, formats.Style(verbose=True))


@cache
def _rules() -> tuple[Any, ...]:
    return tuple(load_rules().values())


def _said(text: str) -> Fixture:
    """Two applications in which all that can be said is this text."""
    at = "2026-01-01T11:00:00Z"
    conditions = [
        {"type": kind, "message": text, "lastTransitionTime": at}
        for kind in (
            "ComparisonError",
            "InvalidSpecError",
            "SyncError",
            "SharedResourceWarning",
            "OrphanedResourceWarning",
        )
    ]
    result = {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    operation = {
        "phase": "Failed",
        "startedAt": at,
        "finishedAt": at,
        "message": text,
        "operation": {"sync": {}},
        "syncResult": {"resources": [{**result, "status": "SyncFailed", "message": text, "syncPhase": "Sync"}]},
    }
    name = {"metadata": {"name": "web", "namespace": "shop"}}
    external = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        **name,
        "spec": {
            "secretStoreRef": {"name": "vault", "kind": "SecretStore"},
            "data": [{"secretKey": "k", "remoteRef": {"key": "a"}}],
        },
    }
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "SecretSyncedError",
        "message": text,
        "lastTransitionTime": at,
    }
    event = {"type": "Warning", "reason": "FailedScheduling", "message": text, "lastTimestamp": at}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", **name}
    unhealthy = {"status": "Degraded", "message": text}
    said = {
        "name": "web",
        "status": {"sync": {"status": "OutOfSync"}, "health": {"status": "Degraded"}, "operationState": operation},
        "resources": [
            {"desired": deployment, "live": deployment, "health": unhealthy},
            {"desired": external, "live": {**external, "status": {"conditions": [ready]}}, "health": unhealthy},
        ],
        "events": {"Deployment/web": [event], "ExternalSecret/web": [{**event, "reason": "UpdateFailed"}]},
    }
    broken = {"name": "api", "status": {"sync": {"status": "Unknown"}, "conditions": conditions}, "resources": []}
    return Fixture(Path("inline"), {"about": "made by a fuzzer", "apps": [said, broken]})


def archives(data: bytes) -> None:
    """Any file in the place of a snapshot: read within bounds, or refused."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        path = Path(file.name)
        try:
            files = archive.open_files(path)
            index.read_header(path, files)
            for recorded in index.read_index(path, files).values():
                files.read(recorded.body, recorded.crc32)
        except (ArgolintError, FileNotFoundError):
            return


NAMES = (
    "apps.yaml",
    "web/kustomization.yaml",
    "web/a.yaml",
    "web/values.yaml",
    "web/Chart.yaml",
    "base/kustomization.yaml",
)


def locators(data: bytes) -> None:
    """Files of a repository and a pointer, whatever they hold: findings get a line or none, and a fix is placed whole or left out."""
    pointer, *texts = data.decode("utf-8", "replace").split("\x1f")
    given = {name: text for name, text in zip(NAMES, texts, strict=False) if text}
    checkout = Named(Path("/nowhere"), frozenset({REPO}), given=given)
    steps = [{"op": op, "path": pointer, "value": {"a": [1, "x"]}} for op in ("add", "replace", "remove")]
    fixes = [patch(step, target=target) for step in steps for target in ("manifest", "application", "helm-values")]
    made = lint_report.from_json(json.dumps(document(finding(*fixes, pointer=pointer))).encode(), "a report")
    for path in ("web", "base", pointer):
        source = {"repoURL": REPO, "path": path, "helm": {"valueFiles": ["values.yaml"]}}
        spec = {"source": source, "destination": {"namespace": "shop"}}
        site = Site((checkout,), {(made.findings[0].app.server, "argocd", "web"): {"spec": spec}})
        (found,) = anchored(made, site).findings
        if found.source and found.source.line:
            assert 0 < found.source.line <= given[found.source.file or ""].count("\n") + 1
        for number, fix in enumerate(found.fixes, 1):
            arranged = arrange([Choice(found, fix, number)], site)
            assert bool(arranged.texts) <= (arranged.outcomes[0].why == "")
            for (_, file), text in arranged.texts.items():
                assert text != given[file]
                assert _unreadable(text) <= _unreadable(given[file])


def _unreadable(text: str) -> set[int]:
    """The documents of a stream that are no YAML, by their place."""
    found = set()
    for number, one in enumerate(yaml_text.documents(text)):
        try:
            _ = one.data
        except yaml_text.EditError:
            found.add(number)
    return found


def saved(data: bytes) -> None:
    """Any file in the place of a saved report, a baseline or a configuration: read, or refused with what is wrong."""
    text = data.decode("utf-8", "replace")
    for read in (
        lambda: lint_report.to_json(lint_report.from_json(data, "a file")),
        lambda: parse_baseline(text, Path("a file")),
        lambda: config.parse(text, Path("a file")),
    ):
        with suppress(ArgolintError):
            read()


def streams(data: bytes) -> None:
    """Whatever a server streams, and however it is cut into chunks, the same signs of life come out."""
    size, data = (data[0] % 7 + 1, data[1:]) if data else (1, b"")

    def told(step: int) -> list[object]:
        found: list[object] = []
        try:
            found += stream.signs((data[at : at + step] for at in range(0, len(data), step)), "server")
        except ArgolintError as error:
            found.append(str(error))
        return found

    assert told(size) == told(len(data) or 1)


TARGETS: dict[str, Target] = {
    "redaction": redaction,
    "drawn": drawn,
    "yaml": yaml,
    "edits": edits,
    "answers": answers,
    "programs": programs,
    "messages": messages,
    "archives": archives,
    "locators": locators,
    "saved": saved,
    "streams": streams,
}
