"""Errors that stop a run.

    ArgolintError            the run cannot start or continue; printed as message and hint, exit code 2
    ├── UsageError           the command line or the configuration is wrong
    ├── ConnectError         no answer from the server
    ├── AuthError            the server refuses the login
    ├── SnapshotError        a snapshot cannot be read
    │   └── NotRecorded      the snapshot is intact, but lacks this one answer
    ├── ApiError             the server answered with an error status
    ├── ExportError          a commit's files cannot be exported: a Failure of the applications that are rendered of it
    ├── HelmError            a chart does not render here: a Failure of that application
    │   └── NotHereError     it may render on the server
    └── UnreadableStateError an object's state is no JSON: a Failure of that application, the others continue

Faults of the user's platform are Findings, and things that could not be looked at are Failures. Neither is raised.
"""

from __future__ import annotations

MORE_MEMORY = "pass fewer --workers, or raise the limit (`ulimit -v`, the container's)"
"""Advice if memory runs out."""
PROXY_ADDRESS = "in the password of a proxy, / is written %2F and @ is %40"
"""The most common fault in the address of a proxy; without an example, whose userinfo would be masked."""


class ArgolintError(Exception):
    """The error and its place (`message`), and what to do about it (`hint`)."""

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
    """An intact snapshot lacks this one answer."""


class ExportError(ArgolintError):
    """The commit's files cannot be exported, or not safely."""


class HelmError(ArgolintError):
    """The chart does not render here; `message` has Helm's own text."""


class NotHereError(HelmError):
    """The repo-server may be able to render it; something is missing here that is not fetched."""


class ApiError(ArgolintError):
    """The server refused one request; `status` is the HTTP status, `reason` the server's own words."""

    def __init__(self, message: str, hint: str = "", *, status: int, reason: str) -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason


class UnreadableStateError(ArgolintError):
    """The server sent an object's state that is no JSON."""


def lacks_memory(error: BaseException) -> bool:
    """Whether memory is short: the loader of shared libraries says so in an ImportError (glibc elf/dl-load.c)."""
    return isinstance(error, MemoryError) or (
        isinstance(error, ImportError) and ("failed to map segment" in str(error) or "allocate memory" in str(error))
    )
