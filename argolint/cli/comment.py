"""`argolint comment`: one comment on a pull or merge request, created once and updated by each run."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click
import msgspec

from argolint.errors import PROXY_ADDRESS, ArgolintError, UsageError
from argolint.host.folder import readable
from argolint.redaction import HIDDEN
from argolint.reports.formats.markdown import MARKER
from argolint.sources.files import read_text
from argolint.values.decoding import json_value

_PAGE = 100
_PAGES = 50
_TIMEOUT_S = 30
_MAX_BODY_BYTES = 1 << 20  # forges take 65,536 characters
_LARGEST = 64 << 20
"""Most bytes of one page: a hundred comments of at most 65,536 characters (GitHub) or 1,000,000 (GitLab)."""


@dataclass(frozen=True)
class _Thread:
    """URLs of the comments of one request and of each single one (its id is appended), and the method that updates one."""

    comments: str
    one: str
    token: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    update: str
    own_user: str = ""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(file: Path) -> int:
    """Put the Markdown report in FILE on the pull request (GitHub Actions) or merge request (GitLab CI) of this job.

    Reads the job's own environment: GITHUB_TOKEN with `pull-requests: write`, or GITLAB_TOKEN with scope `api`.
    """
    with readable(file, f"write it with `argolint gate -o markdown={file}`"):
        body = read_text(file, _MAX_BODY_BYTES)
    if not body.startswith(MARKER):
        raise UsageError(f"{file} is no Markdown report", f"write it with `argolint gate -o markdown={file}`")
    thread = _thread(os.environ)
    try:
        made = _send_comment(thread, body)
    except ArgolintError as error:  # the forge's answer may repeat the token
        raise ArgolintError(error.message.replace(thread.token, HIDDEN), error.hint) from None
    click.echo(f"comment {made}", err=True)
    return 0


def _send_comment(thread: _Thread, body: str) -> str:
    """Create or update the comment; return what was done."""
    own = next(_own_comments(thread), None)
    if own is None:
        _call("POST", thread.comments, thread, body)
        return "made"
    _call(thread.update, f"{thread.one}{own['id']}", thread, body)
    return "rewritten"


def _thread(env: Mapping[str, str]) -> _Thread:
    if env.get("GITLAB_CI"):
        token = env.get("GITLAB_TOKEN")
        iid, project = env.get("CI_MERGE_REQUEST_IID"), env.get("CI_PROJECT_ID")
        if not (token and iid and project):
            raise UsageError(
                "no merge request to comment on",
                "run in a merge request pipeline, with GITLAB_TOKEN (scope api) as a masked variable",
            )
        api = _address("CI_API_V4_URL", env.get("CI_API_V4_URL") or "https://gitlab.com/api/v4")
        notes = f"{api}/projects/{quote(project, safe='')}/merge_requests/{quote(iid, safe='')}/notes"
        token = _header("GITLAB_TOKEN", token)
        return _Thread(notes, f"{notes}/", token, {"PRIVATE-TOKEN": token}, "PUT", f"{api}/user")
    token, number = env.get("GITHUB_TOKEN"), _pull_request(env)
    repository = env.get("GITHUB_REPOSITORY")
    if not (token and number and repository):
        raise UsageError(
            "no pull request to comment on",
            "run in a workflow on `pull_request`, with GITHUB_TOKEN and `permissions: pull-requests: write`",
        )
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository) or {".", ".."} & set(repository.split("/")):
        raise UsageError(f"GITHUB_REPOSITORY {repository!r} is not OWNER/NAME", "leave it as GitHub Actions sets it")
    base = _address("GITHUB_API_URL", env.get("GITHUB_API_URL") or "https://api.github.com")
    api = f"{base}/repos/{repository}/issues"
    token = _header("GITHUB_TOKEN", token)
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    return _Thread(f"{api}/{number}/comments", f"{api}/comments/", token, headers, "PATCH")


def _address(variable: str, url: str) -> str:
    """The URL of the forge's API, checked, since the token is sent to it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{variable} {url!r} is no address of an API", "it looks like https://api.github.com")
    return url.rstrip("/")


def _header(variable: str, token: str) -> str:
    """The token for a header, without a line break at the end, which saved secrets often have."""
    if not re.fullmatch(r"[!-~]+", token.strip()):
        raise UsageError(f"{variable} holds characters that no token has", "save the secret again, without line breaks")
    return token.strip()


def _pull_request(env: Mapping[str, str]) -> str:
    """The number of the pull request, from `refs/pull/NUMBER/merge`; under pull_request_target from the event's payload."""
    found = re.fullmatch(r"refs/pull/(\d+)/\w+", env.get("GITHUB_REF", ""))
    if found:
        return found[1]
    try:
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    number = (event.get("pull_request") or {}).get("number") if isinstance(event, dict) else None
    return str(number) if isinstance(number, int) else ""


def _own_comments(thread: _Thread) -> Iterator[Mapping[str, Any]]:
    """Comments with the marker by a bot or the token's own user: anyone may copy the marker."""
    user = None
    if thread.own_user:
        account = _call("GET", thread.own_user, thread)
        user = account.get("id") if isinstance(account, dict) else None
        if not isinstance(user, int):
            raise ArgolintError(f"GET {thread.own_user} answered no user", _ODD)
    for page in range(1, _PAGES + 1):
        url = f"{thread.comments}?per_page={_PAGE}&page={page}"
        found = _call("GET", url, thread)
        if not isinstance(found, list):
            raise ArgolintError(f"GET {url} answered {type(found).__name__} where a list of comments is", _ODD)
        for comment in found:
            if not isinstance(comment, dict) or not isinstance(comment.get("id"), int):
                continue
            author = comment.get("author" if thread.own_user else "user")
            author = author if isinstance(author, dict) else {}
            own = author.get("id") == user if thread.own_user else author.get("type") == "Bot"
            if own and str(comment.get("body") or "").startswith(MARKER):
                yield comment
        if len(found) < _PAGE:
            return


_ODD = "check the address of the API; a proxy or a login page may be in front of it"


class _SameForge(urllib.request.HTTPRedirectHandler):
    """Follows a redirect of a read only within the same server: another one must not get the token."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if req.get_method() != "GET" or (old.scheme, old.netloc) != (new.scheme, new.netloc):
            raise ArgolintError(
                f"{req.get_method()} {req.full_url} is redirected to {newurl}, and the token is not sent there",
                "name the API and the repository as they are called now",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_SameForge)


def _call(method: str, url: str, thread: _Thread, body: str | None = None) -> Any:
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {**thread.headers, "Content-Type": "application/json", "User-Agent": "argolint"}
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  # http or https: _address
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as answer:
            text = answer.read(_LARGEST + 1)
    except urllib.error.HTTPError as error:
        raise ArgolintError(
            f"{method} {url}: {error.code} {error.reason}",
            "the token may not write comments: a pull request from a fork has a read-only one",
        ) from None
    except http.client.InvalidURL:  # it quotes a part of the proxy's address, which may contain a password
        raise ArgolintError(
            f"{method} {url}: this address, or that of the proxy, cannot be used", PROXY_ADDRESS
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ArgolintError(f"{method} {url}: {error}", "check the network of this job") from None
    if len(text) > _LARGEST:
        raise ArgolintError(f"{method} {url} answered more than {_LARGEST >> 20} MB", _ODD)
    try:
        return json_value(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ArgolintError(f"{method} {url} answered no readable JSON: {error}", _ODD) from None
