"""A real Firefox for the tests of pages: Debian's ESR, driven over its own Marionette protocol (`LENGTH:[0, id, command, parameters]`)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_S, until


class Firefox:
    """One headless browser window."""

    def __init__(self, sock: socket.socket) -> None:
        self._file = sock.makefile("rwb")
        self._sent = 0
        self._read()  # it says hello
        self.ask("WebDriver:NewSession", {})

    def ask(self, command: str, parameters: dict[str, Any]) -> Any:
        """The answer to a command; AssertionError for an error."""
        self._sent += 1
        text = json.dumps([0, self._sent, command, parameters]).encode()
        self._file.write(b"%d:%s" % (len(text), text))
        self._file.flush()
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def open(self, url: str) -> None:
        self.ask("WebDriver:Navigate", {"url": url})

    def run(self, script: str) -> Any:
        """The result of a function with this body."""
        return self.ask("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def until(self, condition: str) -> None:
        """Wait until an expression is true."""
        until(lambda: self.run(f"return !!({condition})"), lambda: condition)

    def _read(self) -> Any:
        length = b""
        while (digit := self._file.read(1)) != b":":
            length += digit
        return json.loads(self._file.read(int(length)))


@contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """The browser while entered, with a profile in `folder`; without one the test is skipped, with a message."""
    binary = shutil.which("firefox-esr")
    if binary is None and os.environ.get("ARGOLINT_REQUIRE_BROWSER"):
        pytest.fail("firefox-esr must be here and is not")
    if binary is None:
        pytest.skip("there is no firefox-esr on PATH (Debian: firefox-esr)")
    profile = folder / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(
        'user_pref("marionette.port", 0);\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
    )
    command = [binary, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)}
    ) as process:
        try:
            with socket.create_connection(("127.0.0.1", _port(profile)), timeout=PATIENCE_S) as sock:
                yield Firefox(sock)
        finally:
            process.kill()


def _port(profile: Path) -> int:
    """The port, which Firefox writes when it is ready."""
    file = profile / "MarionetteActivePort"
    until(lambda: file.exists() and file.read_text().strip(), lambda: "Firefox is not ready")
    return int(file.read_text())
