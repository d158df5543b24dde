"""Errors that stop a run.

    ArgolintError            cannot start or cannot go on; printed as message and hint, exit code 2
    ├── UsageError           the command line or the configuration is wrong
    ├── ConnectError         no answer from the server
    ├── AuthError            the server does not let us in
    ├── SnapshotError        a snapshot cannot be read
    │   └── NotRecorded      the snapshot is fine, and lacks this one answer
    ├── ApiError             the server answered with an error status
    └── UnreadableStateError an object's state is no JSON; a Failure of that application, the others go on

A fault of the user's platform is a Finding; something that could not be looked at is a Failure. Neither is raised.
"""

from __future__ import annotations

MORE_MEMORY = "pass fewer --workers, or raise the limit (`ulimit -v`, the container's)"
"""What to do where memory runs out."""
PROXY_ADDRESS = "in the password of a proxy, / is written %2F and @ is %40"
"""What most often makes the address of a proxy one that no one can use; without an example, whose userinfo would be hidden."""


class ArgolintError(Exception):
    """What went wrong and where (`message`), and what to do about it (`hint`)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ArgolintError):
    """The command line or a configuration file is wrong."""


class ConnectError(ArgolintError):
    """The server gave no answer: name, port, TLS, time-out, or not an Argo CD."""


class AuthError(ArgolintError):
    """No token, an expired one, or a login that cannot be used."""


class SnapshotError(ArgolintError):
    """A snapshot is missing, truncated or foreign."""


class NotRecorded(SnapshotError):
    """A snapshot that is fine lacks this one answer."""


class ApiError(ArgolintError):
    """The server refused one request; `status` is the HTTP status, `reason` the server's own words."""

    def __init__(self, message: str, hint: str = "", *, status: int, reason: str) -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason


class UnreadableStateError(ArgolintError):
    """The server sent a state of an object that is no JSON."""
