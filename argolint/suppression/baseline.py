"""A baseline: a file of findings that were accepted earlier."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from argolint.errors import UsageError
from argolint.host.folder import readable
from argolint.model.fingerprint import Identity
from argolint.sources.files import read_text
from argolint.values.decoding import converted


class Accepted(msgspec.Struct, frozen=True):
    """One accepted finding; only the fingerprint counts, and the server in a baseline of several. The other fields are for people."""

    fingerprint: str
    rule: str
    app: str
    resource: str = ""
    pointer: str = ""
    server: str | msgspec.UnsetType = msgspec.UNSET


class Baseline(msgspec.Struct, frozen=True):
    """Accepted findings with a date, of one server; if `server` is empty, of several, and each finding has its own."""

    baseline_version: str
    server: str
    written_at: str
    findings: tuple[Accepted, ...]
    file: str = ""

    def of(self, servers: Mapping[str, str]) -> Mapping[Identity, Accepted]:
        """The accepted findings of these servers, by server and fingerprint. A run of one Argo CD has no name for it: the server is empty then."""
        if any(servers.values()):
            found = ((a.server or self.server, a) for a in self.findings)
            return {(url, a.fingerprint): a for url, a in found if url in servers}
        return {("", a.fingerprint): a for a in self.findings if not (servers and a.server) or a.server in servers}

    @property
    def servers(self) -> frozenset[str]:
        return frozenset(a.server for a in self.findings if a.server) or frozenset((self.server,))


BASELINE_VERSION = "1.0"


MAX_BASELINE_BYTES = 100_000_000
"""Enough for some hundred thousand findings."""


def stale(
    baseline: Baseline, present: Iterable[object], servers: Mapping[str, str], across: Collection[str]
) -> tuple[Accepted, ...]:
    """Entries of these servers (`Baseline.of`) that are not `present`. Rules `across` servers count only if all servers of the baseline are read."""
    present_marks = set(present)
    unasked = frozenset() if baseline.servers <= set(servers) else frozenset(across)
    return tuple(a for mark, a in baseline.of(servers).items() if mark not in present_marks and a.rule not in unasked)


def require_servers(baseline: Baseline, servers: Collection[str]) -> None:
    """UsageError for a baseline without any finding of these servers."""
    if not baseline.servers & set(servers):
        raise UsageError(
            f"{baseline.file} is a baseline of {', '.join(sorted(baseline.servers))}, and this is {', '.join(servers)}",
            "write one for this server: `argolint baseline -o FILE`",
        )


def baseline_text(baseline: Baseline) -> str:
    """The file's text: one entry per line, so that a diff shows what was accepted."""
    rows = ",\n".join("  " + json.dumps(msgspec.to_builtins(a), ensure_ascii=False) for a in baseline.findings)
    head = {k: getattr(baseline, k) for k in ("baseline_version", "server", "written_at")}
    return json.dumps(head, ensure_ascii=False)[:-1] + f', "findings": [\n{rows}\n]}}\n'


def read_baseline(file: Path) -> Baseline:
    """A baseline file; UsageError if it is invalid, or has a newer schema."""
    with readable(f"the baseline {file}", "write one with `argolint baseline -o FILE`"):
        text = read_text(file, MAX_BASELINE_BYTES)
    return parse_baseline(text, file)


def parse_baseline(text: str, file: Path) -> Baseline:
    """The baseline in `text`; UsageError as in `read_baseline`."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{file}:{error.lineno}: {error.msg}", "write it again with `argolint baseline -o FILE`"
        ) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, endlessly nested lists
        raise UsageError(f"{file} is no argolint baseline", "write one with `argolint baseline -o FILE`") from None
    version = data.get("baseline_version") if isinstance(data, Mapping) else None
    if not isinstance(version, str):
        raise UsageError(
            f"{file} is no argolint baseline: it has no baseline_version", "write one with `argolint baseline -o FILE`"
        )
    if version.partition(".")[0] != BASELINE_VERSION.partition(".")[0]:
        raise UsageError(
            f"{file} has baseline_version {version}, this argolint reads 1.x", "upgrade argolint, or write it again"
        )
    try:
        return msgspec.structs.replace(converted(data, Baseline), file=str(file))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{file} is a damaged baseline: {error}", "write it again with `argolint baseline -o FILE`"
        ) from None
