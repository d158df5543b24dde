"""Web pages: of a line at its forge, of an application in its Argo CD."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from argolint.reports.document import ReportedSource
from argolint.values.patterns import regex

_HOST = regex(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")
_SCP = regex(r"(?:[^/@:]+@)?([^/:@]+):([^/].*)")
_COMMIT = regex(r"[0-9a-f]{40,64}")


def of_line(source: ReportedSource) -> str:
    """The page of the line, in the URL form of GitHub, GitLab or Bitbucket; empty for a repository without a web address."""
    if not source.file or not _COMMIT.fullmatch(source.revision):
        return ""
    address = _web(source.repo)
    if not address:
        return ""
    host = urlsplit(address).netloc
    file = quote(source.file)
    if "bitbucket" in host:
        return f"{address}/src/{source.revision}/{file}" + (f"#lines-{source.line}" if source.line else "")
    middle = "-/blob" if "gitlab" in host else "blob"
    return f"{address}/{middle}/{source.revision}/{file}" + (f"#L{source.line}" if source.line else "")


def _web(repo: str) -> str:
    """`https://host/path` for a clone URL of any protocol."""
    scp = _SCP.fullmatch(repo) if "://" not in repo else None
    try:
        parts = urlsplit(repo) if scp is None else None
        port = parts.port if parts else None
    except ValueError:
        return ""
    if parts is not None and parts.scheme not in ("http", "https", "ssh", "git"):
        return ""
    host, path = (parts.hostname or "", parts.path) if parts else (scp[1], scp[2]) if scp else ("", "")
    web = parts is not None and parts.scheme in ("http", "https")
    netloc = f"{host}:{port}" if web and port else host
    path = path.strip("/").removesuffix(".git")
    if not path or not _HOST.fullmatch(netloc):
        return ""
    return f"{parts.scheme if web and parts else 'https'}://{netloc}/{quote(path)}"
