"""`argolint comment` sends the job's token to the forge that the job names and nowhere else, and reads odd answers as errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from argolint.reports.formats.markdown import MARKER
from tests.conftest import Ran, run_argolint
from tests.here import run_here

TOKEN = "correct-horse-battery"
"""Nothing but its place tells that it is one."""


class Forge(ThreadingHTTPServer):
    """Answers every read alike, or sends it elsewhere; `seen` is each request with the tokens that came along."""

    def __init__(self, answer: bytes = b"[]", status: int = 200, location: str = "", reason: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.status, self.location, self.reason = answer, status, location, reason
        self.seen: list[tuple[str, str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Forge

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the parameter's name is inherited
        pass

    def do_GET(self) -> None:
        tokens = (self.headers.get("Authorization") or "") + (self.headers.get("PRIVATE-TOKEN") or "")
        self.server.seen.append((self.command, self.path, tokens))
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b'{"id": 1}' if self.path.endswith("/user") else self.server.answer
        self.send_response(302 if self.server.location else self.server.status, self.server.reason)
        if self.server.location:
            self.send_header("Location", self.server.location + self.path)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815  # the names that http.server looks for


Start = Callable[..., Forge]


@pytest.fixture
def start() -> Iterator[Start]:
    servers: list[Forge] = []

    def begin(**more: object) -> Forge:
        servers.append(Forge(**more))  # type: ignore[arg-type]
        threading.Thread(target=servers[-1].serve_forever, args=(0.02,), daemon=True).start()
        return servers[-1]

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


def github(url: str, **more: str) -> dict[str, str]:
    wanted = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REF": "refs/pull/3/merge",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": url,
    }
    return {"GITLAB_CI": "", **wanted, **more}


def gitlab(url: str, **more: str) -> dict[str, str]:
    ids = {"CI_MERGE_REQUEST_IID": "3", "CI_PROJECT_ID": "7"}
    return {"GITLAB_CI": "true", "GITLAB_TOKEN": TOKEN, "CI_API_V4_URL": url, **ids, **more}


def comment(tmp_path: Path, env: dict[str, str]) -> Ran:
    file = tmp_path / "gate.md"
    file.write_text(f"{MARKER}\nnothing new\n")
    ran = run_argolint("comment", file, env=env)
    assert ran.out == ""  # what it did is said on stderr
    assert TOKEN not in ran.err
    assert "Traceback" not in ran.err
    return ran


@pytest.mark.parametrize("forge", [github, gitlab])
def test_the_token_follows_no_redirect_to_another_server(
    start: Start, tmp_path: Path, forge: Callable[..., dict[str, str]]
) -> None:
    other = start()
    first = start(location=other.url)
    ran = comment(tmp_path, forge(first.url))
    assert ran.code == 2
    assert "and the token is not sent there" in ran.err
    assert len(first.seen) == 1
    assert other.seen == []


@pytest.mark.parametrize("forge", [github, gitlab])
@pytest.mark.parametrize(
    ("forge_says", "told"),
    [
        ({"status": 401, "reason": f"no {TOKEN}"}, ": 401 no (masked)"),
        ({"location": f"http://192.0.2.1/{TOKEN}"}, " is redirected to http://192.0.2.1/(masked)/"),
        ({"location": f"file:///{TOKEN}"}, "'file:///(masked)/"),
    ],
)
def test_what_a_forge_repeats_of_the_token_is_not_told(
    start: Start, tmp_path: Path, forge: Callable[..., dict[str, str]], forge_says: dict[str, object], told: str
) -> None:
    (tmp_path / "gate.md").write_text(MARKER)
    ran = run_here("comment", "gate.md", cwd=tmp_path, env=forge(start(**forge_says).url))
    assert (ran.code, told in ran.err, TOKEN in ran.err) == (2, True, False), ran.err


@pytest.mark.parametrize("forge", [github, gitlab])
@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (b"<html>", 200, "answered no readable JSON"),
        (b"null", 200, "answered NoneType where a list of comments is"),
        (b"{}", 200, "answered dict where a list of comments is"),
        (b'"\xff"', 200, "answered no readable JSON"),
        (b"[" * 100_000, 200, "answered no readable JSON"),
        (b'{"message":"bad token"}', 401, ": 401 Unauthorized"),
    ],
)
def test_an_answer_that_is_none_is_an_error(
    start: Start, tmp_path: Path, forge: Callable[..., dict[str, str]], answer: bytes, status: int, told: str
) -> None:
    ran = comment(tmp_path, forge(start(answer=answer, status=status).url))
    assert ran.code == 2
    assert told in ran.err


@pytest.mark.parametrize(
    "answer", [b"[null, 5]", b'[{"user":"x","body":5,"id":{}}]', b'[{"user":{"type":"Bot"},"body":"x"}]']
)
def test_odd_comments_are_nobodys(start: Start, tmp_path: Path, answer: bytes) -> None:
    server = start(answer=answer)
    assert comment(tmp_path, github(server.url)).code == 0
    assert [(method, path) for method, path, _ in server.seen][-1] == ("POST", "/repos/o/r/issues/3/comments")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"GITHUB_REPOSITORY": "o/r/../../evil"}, "GITHUB_REPOSITORY 'o/r/../../evil' is not OWNER/NAME"),
        ({"GITHUB_REPOSITORY": "o/.."}, "is not OWNER/NAME"),
        ({"GITHUB_API_URL": "file:///etc/passwd#"}, "is no address of an API"),
        ({"GITHUB_API_URL": "https://[api"}, "is no address of an API"),
        ({"GITHUB_TOKEN": TOKEN + "\r\nX-Evil: 1"}, "GITHUB_TOKEN holds characters that no token has"),
        ({"GITHUB_TOKEN": "ü" + TOKEN}, "GITHUB_TOKEN holds characters that no token has"),
    ],
)
def test_what_the_job_says_is_checked_before_anything_is_sent(
    start: Start, tmp_path: Path, more: dict[str, str], told: str
) -> None:
    server = start()
    ran = comment(tmp_path, github(server.url, **more))
    assert (ran.code, told in ran.err, server.seen) == (2, True, [])


def test_a_line_break_at_the_end_of_a_saved_token_is_no_part_of_it(start: Start, tmp_path: Path) -> None:
    server = start()
    assert comment(tmp_path, github(server.url, GITHUB_TOKEN=TOKEN + "\n")).code == 0
    assert {tokens for _, _, tokens in server.seen} == {f"Bearer {TOKEN}"}


def test_a_project_stays_one_part_of_the_path(start: Start, tmp_path: Path) -> None:
    server = start()
    assert comment(tmp_path, gitlab(server.url, CI_PROJECT_ID="../x?y#z")).code == 0
    assert {path.partition("?")[0] for _, path, _ in server.seen} == {
        "/user",
        "/projects/..%2Fx%3Fy%23z/merge_requests/3/notes",
    }
