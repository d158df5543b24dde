"""The report: one versioned JSON document, decoupled from the model on purpose.

Programs hold on to these names (additions bump the minor version, removals the major one); the model may change freely.
The JSON Schema is made from these types (`argolint schema report`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from argolint import DOCS
from argolint.errors import UsageError
from argolint.host.folder import FileError, named_bytes
from argolint.model.stats import Number, Stats
from argolint.redaction import PRINTED, without_secrets
from argolint.values.decoding import converted, json_value

SCHEMA_VERSION = "1.2"


class ReportedApp(msgspec.Struct, frozen=True):
    server: str
    namespace: str
    name: str
    project: str


class ReportedResource(msgspec.Struct, frozen=True):
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    cluster: str


class ReportedRelated(msgspec.Struct, frozen=True):
    app: ReportedApp
    role: Literal["owner", "claimant", "cause", "symptom", "dependent", "other"]
    resource: ReportedResource | None = None
    pointer: str = ""


class ReportedEdit(msgspec.Struct, frozen=True):
    kind: Literal["json-patch", "yaml", "command", "text"]
    content: Any


class ReportedFix(msgspec.Struct, frozen=True):
    title: str
    target: Literal["helm-values", "manifest", "application", "live", "operator", "argocd-settings"]
    where: str
    edit: ReportedEdit
    verified: bool | None = None
    unverified: str = ""
    caveat: str = ""
    safe: bool = False
    resource: ReportedResource | None = None
    proof: Literal["replayed", "rendered-twice"] | None = None
    effects: tuple[Literal["restarts", "scales", "deletes", "hides", "needs-sync", "needs-force-sync"], ...] = ()
    before: tuple[str, ...] = ()


class ReportedSource(msgspec.Struct, frozen=True):
    """`in_change`: where a change is judged, whether it edits this line; null where none is, or no line is known. `excerpt`: the
    line and those next to it, without secrets, where a checkout has them; its first one is line `excerpt_from`."""

    repo: str
    revision: str
    path: str
    chart: str = ""
    file: str | None = None
    line: int | None = None
    in_change: bool | None = None
    excerpt: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    excerpt_from: Number | msgspec.UnsetType = msgspec.UNSET


class ReportedRelation(msgspec.Struct, frozen=True):
    """What an explanation rests on: how the finding's object stands to another one; no `resource` where that is an Application."""

    kind: Literal[
        "comes-later",
        "spec-says",
        "rewritten-by",
        "made-by",
        "denied-by",
        "not-in-git",
        "owner-ill",
        "contradicts",
        "said-by-child",
    ]
    app: ReportedApp
    resource: ReportedResource | None = None


class ReportedFinding(msgspec.Struct, frozen=True):
    rule: str
    family: str
    severity: Literal["info", "warning", "error"]
    confidence: Literal["possible", "likely", "proven"]
    app: ReportedApp
    message: str
    docs: str
    fingerprint: str
    cause: str | None = None
    resource: ReportedResource | None = None
    pointer: str = ""
    evidence: tuple[str, ...] = ()
    related: tuple[ReportedRelated, ...] = ()
    fixes: tuple[ReportedFix, ...] = ()
    source: ReportedSource | None = None
    caused_by: str | None = None
    since: str | None = None
    flaps: Number = 0
    suppressed: dict[str, str] | None = None
    relation: ReportedRelation | msgspec.UnsetType = msgspec.UNSET


class Cause(msgspec.Struct, frozen=True):
    """What findings follow from: a finding of that fingerprint, or what has none of its own, such as a missing operator.

    A finding that follows from nothing is its own cause. `severity` is the worst of its `findings`, which touch that many
    `objects` and `apps`; `frees` counts the applications whose worst findings have this cause alone. `server` is its Argo CD's
    URL, where the report is about several.
    """

    fingerprint: str
    title: str
    severity: Literal["info", "warning", "error"]
    findings: Number
    objects: Number
    apps: Number
    frees: Number = 0
    server: str | msgspec.UnsetType = msgspec.UNSET


class ReportedFailure(msgspec.Struct, frozen=True):
    """`server` is the name of the Argo CD, where the report is about several and no application says it."""

    stage: str
    error: str
    hint: str = ""
    app: ReportedApp | None = None
    rule: str | None = None
    server: str | msgspec.UnsetType = msgspec.UNSET


class Tool(msgspec.Struct, frozen=True):
    name: str
    version: str


class Knowledge(msgspec.Struct, frozen=True):
    """Which knowledge of charts, versions and messages the findings rest on, and the day of its last change."""

    version: str
    date: str


class Server(msgspec.Struct, frozen=True):
    """`name` is how the user calls it, where the report is about several."""

    url: str
    version: str
    apps: Number
    name: str | msgspec.UnsetType = msgspec.UNSET


class Counts(msgspec.Struct, frozen=True):
    error: Number = 0
    warning: Number = 0
    info: Number = 0


class Summary(msgspec.Struct, frozen=True):
    """Counts of what is not suppressed; `by_cause` is keyed by the fingerprint of the cause behind. `unread` are applications that
    Argo CD shows as fine and whose states were not asked for, where there are any: --deep reads them too."""

    apps: Number
    resources: Number
    findings: Counts
    suppressed: Number
    failures: Number
    by_rule: dict[str, Counts] = {}
    by_family: dict[str, Counts] = {}
    by_project: dict[str, Counts] = {}
    by_cause: dict[str, Counts] = {}
    unread: Number | msgspec.UnsetType = msgspec.UNSET


class Application(msgspec.Struct, frozen=True):
    """One application that was looked at, healthy ones too. `url` is its page in Argo CD's UI; `labels` are those that
    `metrics.app-labels` of the configuration names."""

    app: ReportedApp
    sync: str
    health: str
    resources: Number
    findings: Counts
    suppressed: Number = 0
    url: str = ""
    labels: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class GateField(msgspec.Struct, frozen=True):
    """One value that the change alters: JSON text of both sides, cut and masked; null where a side lacks the field."""

    pointer: str
    base: str | None = None
    head: str | None = None


class GateChange(msgspec.Struct, frozen=True):
    """What the change does to one object. `fields` is empty for an object that comes or goes whole."""

    resource: ReportedResource
    what: Literal["added", "removed", "changed"]
    fields: tuple[GateField, ...] = ()


class GateApp(msgspec.Struct, frozen=True):
    """One application that the change touches. `notes`: what could not be compared, and why, one sentence each."""

    app: ReportedApp
    what: Literal["added", "removed", "changed", "failed"]
    changes: tuple[GateChange, ...] = ()
    notes: tuple[str, ...] = ()


class Gate(msgspec.Struct, frozen=True):
    """What a change brings: `new` counts the report's findings, `fixed` those that base has and head lacks (`gone`).

    `unlisted` says which applications were left out, and why, one sentence each. `fails` says in one sentence why the gate does not
    pass; it is empty when it does. `deletes` says what goes once the change is merged, one sentence each.
    """

    base: str
    head: str
    new: Number
    fixed: Number
    unchanged: Number
    apps: tuple[GateApp, ...] = ()
    repo: str = ""
    gone: tuple[ReportedFinding, ...] = ()
    unlisted: tuple[str, ...] = ()
    fails: str = ""
    deletes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class ForecastVersion(msgspec.Struct, frozen=True):
    """A product, what runs today and what it shall be; versions as text."""

    product: str
    today: str
    then: str


class ForecastCause(msgspec.Struct, frozen=True):
    """What its findings (`findings[].cause`) have in common: the effect, the release with the change, where that is written down."""

    cause: str
    effect: Literal["breaks", "deletes", "looks-different", "stays", "hangs", "refuses"]
    findings: Number
    apps: Number
    product: str = ""
    since: str = ""
    source: str = ""


class ForecastLook(msgspec.Struct, frozen=True):
    """What changes and no API tells whether it matters here: how to find out."""

    cause: str
    says: str
    look: str
    product: str = ""
    since: str = ""
    source: str = ""


class ForecastStep(msgspec.Struct, frozen=True):
    """One step of a plan or of a deletion: what happens to what, the command, and how to see that it worked.

    Steps of one `turn` happen together, one turn after the other.
    """

    what: str
    turn: Number
    app: ReportedApp | None = None
    resource: ReportedResource | None = None
    command: str = ""
    check: str = ""


class Forecast(msgspec.Struct, frozen=True):
    """What has not happened yet. Its findings are those of the report.

    `versions` are the upgrades asked for, `about` names what is deleted or moved. `order` says in sentences what comes before what,
    `unknown` what could not be known and why.
    """

    kind: Literal["upgrade", "delete", "prune", "move"]
    versions: tuple[ForecastVersion, ...] = ()
    about: tuple[str, ...] = ()
    causes: tuple[ForecastCause, ...] = ()
    order: tuple[str, ...] = ()
    steps: tuple[ForecastStep, ...] = ()
    look: tuple[ForecastLook, ...] = ()
    unknown: tuple[str, ...] = ()


class RanRule(msgspec.Struct, frozen=True):
    """A rule that was run, and the severity that its findings have unless it states another one."""

    id: str
    family: str
    severity: Literal["info", "warning", "error"]


class Point(msgspec.Struct, frozen=True):
    """One of several reports, oldest first: what it counted, and what was new and gone since the one before."""

    at: str
    complete: bool
    findings: Counts
    new: Number = 0
    gone: Number = 0


class Stale(msgspec.Struct, frozen=True):
    """Verdicts of Argo CD that are old, on which every other finding of these applications rests. `fingerprint` is that of the finding."""

    server: str
    cause: str
    message: str
    fingerprint: str


STALE = "verdict-stale"
"""The rule whose findings a report repeats as `stale`, at its top."""


class Report(msgspec.Struct, frozen=True):
    schema_version: str
    tool: Tool
    started_at: str
    complete: bool
    servers: tuple[Server, ...]
    summary: Summary
    findings: tuple[ReportedFinding, ...]
    failures: tuple[ReportedFailure, ...] = ()
    stats: Stats = Stats()
    remarks: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    applications: tuple[Application, ...] = ()
    rules: tuple[RanRule, ...] = ()
    trend: tuple[Point, ...] = ()
    gate: Gate | msgspec.UnsetType = msgspec.UNSET
    forecast: Forecast | msgspec.UnsetType = msgspec.UNSET
    stale: tuple[Stale, ...] | msgspec.UnsetType = msgspec.UNSET
    knowledge: Knowledge | msgspec.UnsetType = msgspec.UNSET


ADDRESS = re.compile(r"https?://[\w.:/~-]+")


def page(of: ReportedApp) -> str:
    """The application's page in Argo CD's UI; empty where the server's address is no plain URL. It tells what `of` tells."""
    if not ADDRESS.fullmatch(of.server):
        return ""
    return f"{of.server}/applications/{quote(of.namespace, safe='')}/{quote(of.name, safe='')}"


def is_of_several(report: Report) -> bool:
    """True for a run over several Argo CDs, of which some may not have been read."""
    return any(server.name for server in report.servers)


def of_server(report: Report, url: str) -> Iterator[ReportedFinding]:
    """The findings of one of its Argo CDs that are not suppressed."""
    return (f for f in report.findings if f.app.server == url and f.suppressed is None)


def counted(findings: Iterable[ReportedFinding]) -> Counts:
    """How many there are of each severity."""
    counts = Counter(f.severity for f in findings)
    return Counts(counts["error"], counts["warning"], counts["info"])


def to_json(report: Report) -> bytes:
    """The document, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def plain_data(value: Any) -> Any:
    """Findings and the like as maps and lists."""
    return msgspec.to_builtins(value)


MAX_BYTES = 1 << 30
"""Of a saved report or shard: that of ten thousand applications has a tenth."""


def read(file: Path) -> Report:
    """A saved report; UsageError when the file cannot be read, or as `from_json`."""
    try:
        return from_json(named_bytes(file, MAX_BYTES), str(file))
    except (OSError, FileError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        raise UsageError(f"cannot read {file}: {reason}", "write it with `argolint check -o json=FILE`") from None


def from_json(text: bytes, where: str) -> Report:
    """A saved report; UsageError says what in `where` is not one, or that it belongs to a newer major version."""
    try:
        head = json_value(text)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{where} is no JSON: {error}", "pass a report written with `argolint check -o json=FILE`"
        ) from None
    version = head.get("schema_version") if isinstance(head, Mapping) else None
    if not isinstance(version, str):
        raise UsageError(
            f"{where} is no argolint report: it has no schema_version",
            "pass a report written with `argolint check -o json=FILE`",
        )
    if version.split(".")[0] != SCHEMA_VERSION.split(".", maxsplit=1)[0]:
        raise UsageError(
            f"{where} has schema_version {version}, this argolint reads 1.x",
            "upgrade argolint, or write the report again",
        )
    try:
        return converted(_redacted(head), Report)  # an older argolint may have written it
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{where} is a damaged report: {error}", "write it again with `argolint check -o json=FILE`"
        ) from None


def _redacted(node: Any) -> Any:
    """Every text of a saved report without secrets."""
    if isinstance(node, str):
        return without_secrets(node)
    if isinstance(node, dict):
        whole = PRINTED.value(node) if "op" in node else node  # an operation of a patch: its path names its value
        return {key: _redacted(child) for key, child in whole.items()}
    return [_redacted(child) for child in node] if isinstance(node, list) else node


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document."""
    made = msgspec.json.schema(Report)
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{DOCS}schema/report-1.json"}
    return {**found, "title": "argolint report", **made}


def rule_page(rule: str) -> str:
    """The address of a rule's page."""
    return f"{DOCS}rules/{quote(rule, safe='')}.md"


_LINK = re.compile(r"https?://[\w.:/~%#?=&-]+")


def docs_link(of: ReportedFinding) -> str:
    """Where its rule is explained; empty where a saved report says what is no plain URL."""
    return of.docs if _LINK.fullmatch(of.docs) else ""
