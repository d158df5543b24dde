"""Finds the Argo CD server and its login: from flags, ARGOCD_* variables and the file of `argocd login`.

The order is Argo CD's own (pkg/apiclient/apiclient.go, util/config/env.go): a flag, then ARGOCD_OPTS (defaults of the flags), then
ARGOCD_SERVER and ARGOCD_AUTH_TOKEN, then the login file. Two differences: the token of a login is sent only to the server of that login,
unless --argocd-context names the login; and if neither flags nor variables name a server or a login, the user's own settings do
(`argolint.server.user`). Files of a checkout are never used.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from argolint.errors import UsageError
from argolint.host.folder import readable
from argolint.server.limits import NONE, Limits
from argolint.server.login import Login, read_logins
from argolint.server.options import OPTIONS, UNUSABLE, header_list, unusable
from argolint.server.token import FLAG, VARIABLE, check_token
from argolint.server.user import read_settings, settings_file
from argolint.sources.files import read_text

P = ParamSpec("P")
R = TypeVar("R")

_NO_SERVER = (
    "pass --server HOST[:PORT], set ARGOCD_SERVER, log in with `argocd login`, or read a snapshot with --snapshot"
)
_INSTEAD = (
    "argolint reads Argo CD's HTTP API: run `kubectl -n argocd port-forward svc/argocd-server 8080:443`, then pass "
    "--server localhost:8080 --insecure and a token, or log in to the server's own address with `argocd login HOST`"
)


@dataclass(frozen=True, slots=True)
class Flags:
    """The connection options as given; empty means absent. The names are those of Argo CD's CLI."""

    server: str = ""
    auth_token: str = field(default="", repr=False)
    argocd_context: str = ""
    config: str = ""
    plaintext: bool = False
    insecure: bool = False
    server_crt: str = ""
    client_crt: str = ""
    client_crt_key: str = ""
    grpc_web_root_path: str = ""
    header: tuple[str, ...] = field(default=(), repr=False)
    unusable: str = ""
    """An option of Argo CD's CLI that bypasses the server's HTTP API."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a server. `url`: scheme, host and root path, without a final slash; no token means anonymous access.

    `token_place`: where another process finds the token (`env:NAME`, `file:PATH`); `client_files`: the files of the client certificate and
    its key; both empty if another process has no access.
    """

    url: str
    token: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    insecure: bool = False
    ca_pem: str = field(default="", repr=False)
    client_pem: str = field(default="", repr=False)  # certificate and key
    token_place: str = ""
    client_files: tuple[str, str] = ("", "")
    limits: Limits = NONE


def connection_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the connection options to a click command, which gets them as `connection: Flags`."""

    @wraps(command)
    def collected(**options: Any) -> R:
        given: dict[str, Any] = {f.name: options.pop(f.name) for f in fields(Flags) if f.name in options}
        given["unusable"] = unusable()
        return command(connection=Flags(**{name: value for name, value in given.items() if value}), **options)

    for option in reversed(OPTIONS):
        collected = option(collected)
    return collected


def connect(
    flags: Flags, environ: Mapping[str, str], home: Path, now: datetime, own: tuple[str, str] | None = None
) -> Connection:
    """The connection from flags, variables, the user's settings and the login file under `home`. Raises UsageError, AuthError.

    `own`: the token to use and its origin, instead of any other.
    """
    if flags.unusable:
        raise UsageError(f"argolint cannot use {flags.unusable}", _INSTEAD)
    flags = _with_defaults(flags, _argocd_opts(environ.get("ARGOCD_OPTS", "")))
    server = flags.server or environ.get("ARGOCD_SERVER", "")
    if not (server or flags.argocd_context):
        settings = read_settings(environ, home)
        server, flags = settings.server, replace(flags, argocd_context=settings.argocd_context)
    login = _login(flags, server, environ, home)
    address = _address(server or login.server)
    token, source = own or _token(flags, environ, login)
    if token:
        check_token(token, source, None if own or source in (FLAG, VARIABLE) else login, now)
    plaintext = flags.plaintext or login.plaintext or address.scheme == "http"
    root = (flags.grpc_web_root_path or address.path or login.root_path).strip("/")
    return Connection(
        url=f"{'http' if plaintext else 'https'}://{address.netloc}" + (f"/{root}" if root else ""),
        token=token,
        headers=tuple(_header(text) for text in flags.header),
        insecure=flags.insecure or login.insecure,
        ca_pem=_read(flags.server_crt, "--server-crt") or login.ca_pem,
        client_pem=client_pair(flags.client_crt, flags.client_crt_key) or login.client_pem,
        client_files=(flags.client_crt, flags.client_crt_key),
    )


def origins(flags: Flags, environ: Mapping[str, str], home: Path) -> tuple[str, str]:
    """The origins of the server and of the token that `connect` uses: a flag, a variable, the user's settings or a login."""
    opts = _argocd_opts(environ.get("ARGOCD_OPTS", ""))
    filled = _with_defaults(flags, opts)
    server = filled.server or environ.get("ARGOCD_SERVER", "")
    own = read_settings(environ, home) if not (server or filled.argocd_context) else None
    if own is not None:
        server, filled = own.server, replace(filled, argocd_context=own.argocd_context)
    login = _login(filled, server, environ, home)
    of_login = f"login {login.context} of Argo CD's own configuration"
    if flags.server or flags.argocd_context:
        server_by = "flag"
    elif opts.get("server"):
        server_by = "ARGOCD_OPTS"
    elif environ.get("ARGOCD_SERVER"):
        server_by = "ARGOCD_SERVER"
    else:
        server_by = str(settings_file(environ, home)) if own and (own.server or own.argocd_context) else of_login
    if flags.auth_token.strip():
        return server_by, "flag"
    if opts.get("auth-token"):
        return server_by, "ARGOCD_OPTS"
    return server_by, "ARGOCD_AUTH_TOKEN" if environ.get("ARGOCD_AUTH_TOKEN", "").strip() else of_login


def _argocd_opts(text: str) -> dict[str, str]:
    """Flags of ARGOCD_OPTS by name, parsed as in util/config/env.go: a flag without a value is `true`."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"ARGOCD_OPTS cannot be read: {error}", "quote it as a shell command line") from None
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, given, value = word.removeprefix("--").partition("=")
            found[name] = value if given else "true"
            name = "" if given else name
        elif name:
            found[name], name = word, ""
        else:
            raise UsageError(
                "ARGOCD_OPTS holds a word that belongs to no flag", "write flags alone, as --name value or --name=value"
            )
    for name in UNUSABLE:
        if found.get(name, "false") != "false":
            raise UsageError(f"ARGOCD_OPTS holds --{name}, which argolint cannot use", _INSTEAD)
    return found


_NO_DEFAULT = frozenset({"argocd_context", "unusable"})
"""Flags that Argo CD does not read from ARGOCD_OPTS."""


def _with_defaults(flags: Flags, opts: Mapping[str, str]) -> Flags:
    """The given flags with defaults from ARGOCD_OPTS; unknown names are ignored."""
    merged: dict[str, Any] = {}
    for name in (f.name for f in fields(Flags)):
        given, default = getattr(flags, name), opts.get(name.replace("_", "-"), "")
        if name == "header":
            merged[name] = given or tuple(header_list(default))
        elif isinstance(given, bool):
            merged[name] = given or default == "true"
        elif name in _NO_DEFAULT:
            merged[name] = given
        else:
            merged[name] = given or default
    return Flags(**merged)


def _login(flags: Flags, server: str, environ: Mapping[str, str], home: Path) -> Login:
    """The login to use; an empty one if there is none for `server`."""
    logins = read_logins(flags.config, environ, home)
    login = logins.find(flags.argocd_context)
    if server and not flags.argocd_context and _same_server(server, login.server) is False:
        login = next((other for other in logins.all() if _same_server(server, other.server)), Login())
    if not server and not login.server:
        raise UsageError("no Argo CD server is named", _NO_SERVER)
    if not server and (login.core or login.server == "kubernetes"):
        raise UsageError(
            f"the login `{login.context}` of {logins.path} was made with --core and has no server", _INSTEAD
        )
    if not server and login.server == "port-forward":
        raise UsageError(f"the login `{login.context}` of {logins.path} was made through --port-forward", _INSTEAD)
    if login.undefined:
        raise UsageError(
            f"the login `{login.context}` of {logins.path} names the {login.undefined}, which the file does not define",
            "run `argocd login` again, or name another login with --argocd-context",
        )
    return login


def _same_server(one: str, other: str) -> bool:
    def plain(server: str) -> str:
        return re.sub(r"^https?://", "", server.lower()).rstrip("/").removesuffix(":443")

    return plain(one) == plain(other)


@dataclass(frozen=True, slots=True)
class _Address:
    scheme: str
    netloc: str
    path: str


def _address(server: str) -> _Address:
    scheme, found, rest = server.strip().partition("://")
    if not found:
        scheme, rest = "", server.strip()
    try:
        parts = urlsplit("//" + rest)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.username is not None:
        raise UsageError(
            "the server's address holds a user name", "pass --server HOST[:PORT] and the token apart from it"
        )
    if (
        scheme not in ("", "http", "https")
        or not host
        or parts.netloc.endswith(":")
        or re.search(r"[\s\\<>\"'%?#]", rest)
    ):
        raise UsageError(f"{server!r} is no server address", "pass --server HOST[:PORT], such as argocd.example.com")
    return _Address(scheme, parts.netloc, parts.path)


def _token(flags: Flags, environ: Mapping[str, str], login: Login) -> tuple[str, str]:
    """(token, its origin)."""
    if token := flags.auth_token.strip():
        return token, FLAG
    if token := environ.get("ARGOCD_AUTH_TOKEN", "").strip():
        return token, VARIABLE
    return login.token.strip(), f"the login `{login.context}`"


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise UsageError("a -H/--header is not of the form 'Name: value'", "pass -H 'Name: value'")
    if not value.isprintable() or not value.isascii():
        raise UsageError(
            f"the value of header {name} holds a line break or a sign outside of ASCII", "pass it as one plain line"
        )
    return name, value


def client_pair(certificate: str, key: str) -> str:
    """The client certificate and its key from two PEM files, empty if none are named. Raises UsageError."""
    if bool(certificate) != bool(key):
        raise UsageError("one of --client-crt and --client-crt-key is missing", "pass both")
    return "\n".join(filter(None, (_read(certificate, "--client-crt"), _read(key, "--client-crt-key"))))


def _read(path: str, flag: str) -> str:
    if not path:
        return ""
    with readable(f"{flag} {path}", "name a PEM file"):
        text = read_text(Path(path).expanduser(), _MAX_PEM_BYTES)
    if not text.isascii():
        raise UsageError(f"cannot read {flag} {path}: it is not PEM text", "name a PEM file")
    return text


_MAX_PEM_BYTES = 10_000_000
"""A bundle of all public authorities has some hundred thousand."""
