"""`argolint comment`: one comment on a pull or merge request, made once and rewritten by each run."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from argolint.errors import ArgolintError, UsageError
from argolint.reporters.markdown import MARKER

_PAGE = 100
_PAGES = 50
_TIMEOUT_S = 30


@dataclass(frozen=True)
class _Thread:
    """Where the comments of one request are, and how they are written."""

    comments: str
    one: str
    headers: Mapping[str, str]
    update: str
    own_user: str = ""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(file: Path) -> int:
    """Put the Markdown report in FILE on the pull request (GitHub Actions) or merge request (GitLab CI) of this job.

    Reads the job's own environment: GITHUB_TOKEN with `pull-requests: write`, or GITLAB_TOKEN with scope `api`.
    """
    body = file.read_text(encoding="utf-8")
    if not body.startswith(MARKER):
        raise UsageError(f"{file} is no Markdown report", f"write it with `argolint gate -o markdown={file}`")
    thread = _thread(os.environ)
    mine = next(_ours(thread), None)
    if mine is None:
        _call("POST", thread.comments, thread, body)
    else:
        _call(thread.update, thread.one.format(mine["id"]), thread, body)
    click.echo("comment made" if mine is None else "comment rewritten", err=True)
    return 0


def _thread(env: Mapping[str, str]) -> _Thread:
    if env.get("GITLAB_CI"):
        token = env.get("GITLAB_TOKEN")
        iid, project = env.get("CI_MERGE_REQUEST_IID"), env.get("CI_PROJECT_ID")
        if not (token and iid and project):
            raise UsageError(
                "no merge request to comment on",
                "run in a merge request pipeline, with GITLAB_TOKEN (scope api) as a masked variable",
            )
        api = env.get("CI_API_V4_URL", "https://gitlab.com/api/v4")
        notes = f"{api}/projects/{quote(project, safe='')}/merge_requests/{quote(iid, safe='')}/notes"
        return _Thread(notes, f"{notes}/{{}}", {"PRIVATE-TOKEN": token}, "PUT", f"{api}/user")
    token, number = env.get("GITHUB_TOKEN"), _pull_request(env)
    repository = env.get("GITHUB_REPOSITORY")
    if not (token and number and repository):
        raise UsageError(
            "no pull request to comment on",
            "run in a workflow on `pull_request`, with GITHUB_TOKEN and `permissions: pull-requests: write`",
        )
    api = f"{env.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{quote(repository)}/issues"
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    return _Thread(f"{api}/{number}/comments", f"{api}/comments/{{}}", headers, "PATCH")


def _pull_request(env: Mapping[str, str]) -> str:
    """The number, from `refs/pull/NUMBER/merge`; under pull_request_target from the event's payload."""
    found = re.fullmatch(r"refs/pull/(\d+)/\w+", env.get("GITHUB_REF", ""))
    if found:
        return found[1]
    try:
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    number = (event.get("pull_request") or {}).get("number") if isinstance(event, dict) else None
    return str(number) if isinstance(number, int) else ""


def _ours(thread: _Thread) -> Iterator[Mapping[str, Any]]:
    """Comments with the marker that a bot wrote, or the token's own user: anybody may copy the marker."""
    user = _call("GET", thread.own_user, thread).get("id") if thread.own_user else None
    for page in range(1, _PAGES + 1):
        found = _call("GET", f"{thread.comments}?per_page={_PAGE}&page={page}", thread)
        for comment in found:
            author = comment.get("author" if thread.own_user else "user") or {}
            own = author.get("id") == user if thread.own_user else author.get("type") == "Bot"
            if own and str(comment.get("body") or "").startswith(MARKER):
                yield comment
        if len(found) < _PAGE:
            return


def _call(method: str, url: str, thread: _Thread, body: str | None = None) -> Any:
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {**thread.headers, "Content-Type": "application/json", "User-Agent": "argolint"}
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  # the CI's own address
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # the same
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ArgolintError(
            f"{method} {url}: {error.code} {error.reason}",
            "the token may not write comments: a pull request from a fork has a read-only one",
        ) from None
    except (OSError, ValueError) as error:
        raise ArgolintError(f"{method} {url}: {error}", "check the network of this job") from None
