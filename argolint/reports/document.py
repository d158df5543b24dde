"""The report: one versioned JSON document, separate from the model on purpose.

Other programs rely on these names (an addition bumps the minor version, a removal the major one); the model may change freely. The JSON
Schema is generated from these types (`argolint schema report`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from argolint import DOCS
from argolint.errors import UsageError
from argolint.host.folder import named_bytes, readable
from argolint.model.stats import Number, Stats
from argolint.redaction import PRINTED, without_secrets
from argolint.values.decoding import converted, json_value, schema_of
from argolint.values.patterns import regex

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
    """`in_change`: whether the change edits this line; null without a change to judge or without a known line. `excerpt`: the line with its
    neighbours, without secrets, if a checkout has them; it begins with line `excerpt_from`.
    """

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
    """The relation that an explanation rests on: from the finding's object to another object; without `resource`, to an Application."""

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
    """A cause of findings: the finding with this fingerprint, or something that is no finding, such as a missing operator.

    A finding that follows from nothing is its own cause. `severity` is the worst of its `findings`; `objects` and `apps` count what they
    touch. `frees` counts the applications whose worst findings have no other cause. `server`: the Argo CD's URL, in a report about several.
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
    """`server`: the name of the Argo CD, in a report about several, if `app` does not say it."""

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
    """The version of the knowledge on charts, products and messages that the findings use, and the date of its last change."""

    version: str
    date: str


class Server(msgspec.Struct, frozen=True):
    """`name`: the user's name for the server, in a report about several."""

    url: str
    version: str
    apps: Number
    name: str | msgspec.UnsetType = msgspec.UNSET


class Counts(msgspec.Struct, frozen=True):
    error: Number = 0
    warning: Number = 0
    info: Number = 0


class Summary(msgspec.Struct, frozen=True):
    """Counts of unsuppressed findings; `by_cause` is keyed by the fingerprint of the root cause. `unread`: applications that Argo CD shows
    as healthy and synced, so that their states were not read; --deep reads them, too.
    """

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
    """One application that was looked at, healthy ones too. `url`: its page in Argo CD's UI; `labels`: those that `metrics.app-labels` of the configuration names."""

    app: ReportedApp
    sync: str
    health: str
    resources: Number
    findings: Counts
    suppressed: Number = 0
    url: str = ""
    labels: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class GateField(msgspec.Struct, frozen=True):
    """One value that the change alters: JSON text before and after, cut and masked; null if the field is missing on that side."""

    pointer: str
    base: str | None = None
    head: str | None = None


class GateChange(msgspec.Struct, frozen=True):
    """What the change does to one object. `fields` is empty if the whole object is added or removed."""

    resource: ReportedResource
    what: Literal["added", "removed", "changed"]
    fields: tuple[GateField, ...] = ()


UNKNOWN = "is not known before the merge."
"""How the note on an application ends of which the gate cannot know what it will render."""


class GateApp(msgspec.Struct, frozen=True):
    """One application that the change touches. `notes`: what could not be compared, and why, one sentence each."""

    app: ReportedApp
    what: Literal["added", "removed", "changed", "failed"]
    changes: tuple[GateChange, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether what it will render is not known."""
        return any(note.endswith(UNKNOWN) for note in self.notes)


class Gate(msgspec.Struct, frozen=True):
    """The effect of a change: `new` counts the report's findings, `fixed` the findings that base has and head does not (`gone`).

    `unlisted`: which applications were left out, and why, one sentence each. `fails`: why the gate does not pass, in one sentence; empty if
    it passes. `deletes`: what is deleted after the merge, one sentence each. `unchecked`: what only the cluster can answer, each
    from "whether" on.
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
    unchecked: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class ForecastVersion(msgspec.Struct, frozen=True):
    """A product with its current and its requested version, as text."""

    product: str
    today: str
    then: str


class ForecastCause(msgspec.Struct, frozen=True):
    """What several findings (`findings[].cause`) have in common: the effect, the release with the change, and its source."""

    cause: str
    effect: Literal["breaks", "deletes", "looks-different", "stays", "hangs", "refuses"]
    findings: Number
    apps: Number
    product: str = ""
    since: str = ""
    source: str = ""


class ForecastLook(msgspec.Struct, frozen=True):
    """A change whose effect here no API shows: how to find out."""

    cause: str
    says: str
    look: str
    product: str = ""
    since: str = ""
    source: str = ""


class ForecastStep(msgspec.Struct, frozen=True):
    """One step of a plan or of a deletion: what happens to which object, the command, and how to check that it worked.

    Steps with the same `turn` happen together; turns follow each other.
    """

    what: str
    turn: Number
    app: ReportedApp | None = None
    resource: ReportedResource | None = None
    command: str = ""
    check: str = ""


class Forecast(msgspec.Struct, frozen=True):
    """A prediction. Its findings are those of the report.

    `versions`: the requested upgrades; `about`: names of what is deleted or moved. `order`: sentences on what must precede what; `unknown`:
    what could not be determined, and why.
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
    """A rule that ran, and the default severity of its findings."""

    id: str
    family: str
    severity: Literal["info", "warning", "error"]


class Point(msgspec.Struct, frozen=True):
    """One of several reports, oldest first: its counts, and the findings that were new or gone since the report before."""

    at: str
    complete: bool
    findings: Counts
    new: Number = 0
    gone: Number = 0


class Stale(msgspec.Struct, frozen=True):
    """Argo CD's status is outdated; all other findings of these applications depend on it. `fingerprint`: of the finding that says so."""

    server: str
    cause: str
    message: str
    fingerprint: str


STALE = "verdict-stale"
"""The rule whose findings a report repeats as `stale` at its top."""


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


ADDRESS = regex(r"https?://[\w.:/~-]+")


def page(of: ReportedApp) -> str:
    """The application's page in Argo CD's UI; empty if the server's address is no plain URL."""
    if not ADDRESS.fullmatch(of.server):
        return ""
    return f"{of.server}/applications/{quote(of.namespace, safe='')}/{quote(of.name, safe='')}"


def is_of_several(report: Report) -> bool:
    """True for a run over several Argo CDs, even if some could not be read."""
    return any(server.name for server in report.servers)


def of_server(report: Report, url: str) -> Iterator[ReportedFinding]:
    """The unsuppressed findings of one of its Argo CDs."""
    return (f for f in report.findings if f.app.server == url and f.suppressed is None)


def counted(findings: Iterable[ReportedFinding]) -> Counts:
    """The number of findings of each severity."""
    counts = Counter(f.severity for f in findings)
    return Counts(counts["error"], counts["warning"], counts["info"])


def to_json(report: Report) -> bytes:
    """The document, indented, with a final newline."""
    return b"".join(json_parts(report))


def json_parts(report: Report) -> Iterator[bytes]:
    """The document in parts of whole lines, one for each finding: as a whole, that of ten thousand applications takes a quarter of a check's memory."""
    head, mark, tail = _indented(msgspec.structs.replace(report, findings=())).partition(_NO_FINDINGS)
    if not report.findings:
        yield head + mark + tail + b"\n"
        return
    yield head + mark[:-1] + b"\n"
    for number, finding in enumerate(report.findings, 1):
        comma = b"," if number < len(report.findings) else b""
        yield b"  " + _indented(finding).replace(b"\n", b"\n  ") + comma + b"\n"
    yield b" ]" + tail + b"\n"


_NO_FINDINGS = b'\n "findings": []'
"""In a document of `_indented` once: a text in JSON has no line break of its own."""


def _indented(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def plain_data(value: Any) -> Any:
    """Findings and other structs as dictionaries and lists."""
    return msgspec.to_builtins(value)


MAX_BYTES = 1 << 30
"""The largest saved report or shard; ten thousand applications need a tenth of it."""


def read(file: Path) -> Report:
    """A saved report. UsageError if the file cannot be read, or from `from_json`."""
    with readable(file, "write it with `argolint check -o json=FILE`"):
        return from_json(named_bytes(file, MAX_BYTES), str(file))


def from_json(text: bytes, where: str) -> Report:
    """A saved report. UsageError if `where` holds no report, or one of a newer major version."""
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
    """A copy of a saved report's value with the secrets masked in all texts."""
    if isinstance(node, str):
        return without_secrets(node)
    if isinstance(node, dict):
        whole = PRINTED.value(node) if "op" in node else node  # a JSON patch operation: its path names its value
        return {key: _redacted(child) for key, child in whole.items()}
    return [_redacted(child) for child in node] if isinstance(node, list) else node


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document."""
    made = schema_of(Report)
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{DOCS}schema/report-1.json"}
    return {**found, "title": "argolint report", **made}


def rule_page(rule: str) -> str:
    """The address of a rule's page."""
    return f"{DOCS}rules/{quote(rule, safe='')}.md"


_LINK = regex(r"https?://[\w.:/~%#?=&-]+")


def docs_link(of: ReportedFinding) -> str:
    """The rule's page; empty if a saved report has something else than a plain URL."""
    return of.docs if _LINK.fullmatch(of.docs) else ""
