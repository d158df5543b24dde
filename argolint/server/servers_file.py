"""Several Argo CDs by name: the entries of a servers file or of the user's settings, or the logins of `argocd login`.

Only the user decides where a token goes: each entry says where its own token is, and that token is sent to this entry's server only. The
variables and flags of a single server (ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS) are ignored here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from argolint.errors import AuthError, UsageError
from argolint.host.folder import readable
from argolint.server.connection import Connection, Flags, connect
from argolint.server.limits import NONE, Limits, parse_rate
from argolint.server.login import read_logins
from argolint.sources.files import read_text, require_own
from argolint.values import enumerated, strict_yaml
from argolint.values.decoding import converted
from argolint.values.patterns import regex

_OF_ONE = frozenset({"ARGOCD_SERVER", "ARGOCD_AUTH_TOKEN", "ARGOCD_OPTS"})
_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_TOKEN_BYTES = 65_536
_MOST = 500
_LONGEST_NAME = 100  # it is also the name of a folder
_ELSEWHERE = "keep it out of the repository, or copy it from a branch that the change cannot write: git show origin/main:servers.yaml"
_SHAPE = "an entry looks like `- {name: eu, server: cd-eu.example.com, auth-token-env: TOKEN_EU}`"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One Argo CD, reached by exactly one of `server`, `context` and `snapshot`; paths are relative to the file's folder.

    auth-token-env, auth-token-file   where its token is; a `server` without either uses its login
    headers, headers-env              sent with each request, as `Name: value` and as `Name: VARIABLE` with the variable's value
    limits                            limits of its requests, which options cannot exceed
    clusters                          names for its clusters, by their address or name there: clusters of the same name are the same
    """

    name: str
    server: str = ""
    context: str = ""
    snapshot: str = ""
    auth_token_env: str = ""
    auth_token_file: str = ""
    plaintext: bool = False
    insecure: bool = False
    server_crt: str = ""
    client_crt: str = ""
    client_crt_key: str = ""
    grpc_web_root_path: str = ""
    headers: dict[str, str] = {}
    headers_env: dict[str, str] = {}
    limits: Limits = NONE
    clusters: dict[str, str] = {}


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    servers: tuple[Entry, ...]


@dataclass(frozen=True)
class Named:
    """One Argo CD and how to reach it: a connection, or a snapshot. `problem`: why a token cannot be used; `entry`: a servers file names it."""

    name: str
    connection: Connection | None = None
    snapshot: Path | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    problem: AuthError | None = None
    entry: bool = False


def read_servers(
    file: Path,
    config: str,
    environ: Mapping[str, str],
    home: Path,
    now: datetime,
    checkouts: Sequence[Path] = (),
    only: Sequence[str] = (),
) -> tuple[Named, ...]:
    """The Argo CDs of a servers file; `config`: Argo CD's own login file. UsageError says what is wrong, and in which line.

    A file in the working directory's checkout or in one of `checkouts` may name only snapshots. With `only`, names or globs, the other
    entries need no token or the like.
    """
    with readable(f"the servers file {file}", _SHAPE):
        text = read_text(file, strict_yaml.MAX_BYTES)
    document = strict_yaml.parse(text, str(file))
    try:
        entries = converted(document.data or {}, _Document).servers
    except msgspec.ValidationError as error:
        wrong = strict_yaml.misfit(error, document, _Document)
        raise wrong.refused(str(file), f"it holds `servers:`, a list; {_SHAPE}") from None
    if not all(entry.snapshot for entry in entries):
        require_own(file, checkouts, _ELSEWHERE)
    lines = [document.line(("servers", index)) for index in range(len(entries))]
    return resolve(entries, str(file), lines, file.absolute().parent, config, environ, home, now, only)


def resolve(
    entries: Sequence[Entry],
    where: str,
    lines: Sequence[int],
    folder: Path,
    config: str,
    environ: Mapping[str, str],
    home: Path,
    now: datetime,
    only: Sequence[str] = (),
) -> tuple[Named, ...]:
    """How to reach each of the entries, or those that `only` names; `lines`: their lines in `where`. Sends no request."""
    if not entries or len(entries) > _MOST:
        raise UsageError(f"{where} names {len(entries)} servers", f"between 1 and {_MOST}; {_SHAPE}")
    found: list[Named] = []
    names: dict[str, int] = {}
    places: dict[str, str] = {}
    for entry, line in zip(entries, lines, strict=True):
        place = f"{where}:{line}"
        _check(entry, place)
        if entry.name in names:
            raise UsageError(
                f"{place}: there is another server named {entry.name!r}, in line {names[entry.name]}",
                "give each server a name of its own: reports call it so",
            )
        names[entry.name] = line
    wanted = _chosen(names, only)
    for entry, line in zip(entries, lines, strict=True):
        if entry.name not in wanted:
            continue
        place = f"{where}:{line}"
        try:
            named = _named(entry, folder, config, environ, home, now)
        except UsageError as error:
            raise UsageError(f"{place}: {entry.name}: {error.message}", in_entry(error.hint, "")) from None
        address = (
            str(named.snapshot) if named.snapshot else _plain_address(named.connection.url) if named.connection else ""
        )
        if address and address in places:
            raise UsageError(
                f"{place}: {entry.name} is the same server as {places[address]}: {address}", "name each server once"
            )
        places[address] = entry.name
        found.append(replace(named, entry=True))
    return tuple(found)


def _chosen(names: Iterable[str], only: Sequence[str]) -> frozenset[str]:
    """The wanted names, by default all. UsageError for a pattern that matches none."""
    known = tuple(names)
    for wish in only:
        if not any(fnmatchcase(name, wish) for name in known):
            raise UsageError(
                f"--only {wish!r} names no server of this run{strict_yaml.nearest(wish, known)}",
                f"the servers are {enumerated(known, limit=20)}",
            )
    return frozenset(name for name in known if not only or any(fnmatchcase(name, wish) for wish in only))


_OPTION = regex(r"--(?:argocd-)?(server(?:-crt)?|plaintext|insecure|grpc-web-root-path|context)(?![\w-])")
_FRESH = regex(
    r"log in again with `argocd login`, or pass a fresh ARGOCD_AUTH_TOKEN|log in again, or pass a fresh token"
)


def in_entry(hint: str, token_place: str) -> str:
    """A hint on the options and variables of a single server, reworded for an entry of a servers file.

    `token_place` is `env:NAME` or `file:PATH`; empty if the entry uses a login.
    """
    kind, _, place = token_place.partition(":")
    where = {"env": f"the variable {place}", "file": f"the file {place}"}.get(kind, "")
    own = (
        f"put a fresh token into {where}"
        if where
        else ("log in again with `argocd login`, or give its entry auth-token-env or auth-token-file")
    )
    reworded = _OPTION.sub(r"`\1`", hint)
    return _FRESH.sub(lambda _: own, hint if reworded == hint else f"in its entry: {reworded}")


def of_logins(
    config: str, environ: Mapping[str, str], home: Path, now: datetime, only: Sequence[str] = ()
) -> tuple[tuple[Named, ...], tuple[str, ...]]:
    """Every login of Argo CD's own configuration, and remarks on those that are left out. If a server has two, the current one is used."""
    logins = read_logins(config, environ, home)
    current = str(logins.document.get("current-context") or "")
    found: dict[str, Named] = {}
    remarks: list[str] = []
    for login in sorted(logins.all(), key=lambda one: (one.context != current, one.context)):
        if login.core or login.server in ("kubernetes", "port-forward"):
            remarks.append(f"The login {login.context} has no server to ask, so it is left out.")
            continue
        named = _named(Entry(login.context, context=login.context), home, str(logins.path), environ, home, now)
        address = _plain_address(named.connection.url) if named.connection else f"login {login.context}"
        if address in found:
            remarks.append(
                f"The logins {found[address].name} and {login.context} are of one server, so it is read once."
            )
        else:
            found[address] = named
    if not found:
        raise UsageError(
            f"{logins.path} holds no login",
            "log in with `argocd login HOST`, or name the servers in a file: --servers FILE",
        )
    listed = sorted(found.values(), key=lambda named: named.name)
    wanted = _chosen((named.name for named in listed), only)
    return tuple(named for named in listed if named.name in wanted), () if only else tuple(remarks)


def _named(entry: Entry, folder: Path, config: str, environ: Mapping[str, str], home: Path, now: datetime) -> Named:
    if entry.snapshot:
        snapshot = folder / Path(entry.snapshot).expanduser()
        if not snapshot.exists():
            raise UsageError(f"there is no snapshot at {snapshot}", "name what `argolint snapshot -o PATH` wrote")
        return Named(entry.name, snapshot=snapshot, aliases=entry.clusters)
    flags = Flags(
        server=entry.server,
        argocd_context=entry.context,
        config=config,
        plaintext=entry.plaintext,
        insecure=entry.insecure,
        server_crt=_next_to(entry.server_crt, folder),
        client_crt=_next_to(entry.client_crt, folder),
        client_crt_key=_next_to(entry.client_crt_key, folder),
        grpc_web_root_path=entry.grpc_web_root_path,
        header=tuple(_headers(entry, environ)),
    )
    own = {name: value for name, value in environ.items() if name not in _OF_ONE}
    try:
        connection = connect(flags, own, home, now, _token(entry, folder, environ))
        connection = replace(connection, token_place=_place(entry, folder), limits=entry.limits)
        return Named(entry.name, connection, aliases=entry.clusters)
    except AuthError as error:  # an expired login affects this server only: the others are read
        return Named(entry.name, aliases=entry.clusters, problem=error)


def _headers(entry: Entry, environ: Mapping[str, str]) -> Iterator[str]:
    """Each as `Name: value`. UsageError for an unset variable."""
    for name, value in entry.headers.items():
        yield f"{name}: {value}"
    for name, variable in entry.headers_env.items():
        yield f"{name}: {_variable_value(variable, 'headers-env', f'the value of the header {name}', environ)}"


def _variable_value(variable: str, key: str, what: str, environ: Mapping[str, str]) -> str:
    """The value of a variable. UsageError for an unset one, and for an invalid name, which may be the secret itself."""
    if not _VARIABLE.fullmatch(variable):
        raise UsageError(f"what {key} holds is no name of a variable", f"name the variable that holds {what}")
    if found := environ.get(variable, "").strip():
        return found
    raise UsageError(f"the variable {variable} of {key} is not set", f"set it to {what}")


def _place(entry: Entry, folder: Path) -> str:
    """Where another process finds the token of an entry; empty for a login, which belongs to this user."""
    if entry.auth_token_env:
        return f"env:{entry.auth_token_env}"
    return f"file:{(folder / Path(entry.auth_token_file).expanduser()).absolute()}" if entry.auth_token_file else ""


def _token(entry: Entry, folder: Path, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The token and its origin. UsageError if it is missing."""
    if entry.auth_token_env:
        token = _variable_value(entry.auth_token_env, "auth-token-env", "the server's token", environ)
        return token, f"the variable {entry.auth_token_env}"
    if entry.auth_token_file:
        file = folder / Path(entry.auth_token_file).expanduser()
        with readable(f"auth-token-file {file}", "name the file that holds the server's token"):
            token = read_text(file, _MAX_TOKEN_BYTES).strip()
        if not token:
            raise UsageError(f"auth-token-file {file} is empty", "write the server's token into it")
        return token, f"the file {file}"
    return None


def _check(entry: Entry, place: str) -> None:
    """UsageError for an invalid entry."""
    plain = entry.name.strip() and entry.name.isprintable() and len(entry.name) <= _LONGEST_NAME
    if not plain or "/" in entry.name or "@" in entry.name:
        raise UsageError(
            f"{place}: {entry.name!r} is no name",
            "a short name without `/` and `@`, such as eu: reports call the server so",
        )
    given = [word for word in ("server", "context", "snapshot") if getattr(entry, word)]
    if len(given) != 1:
        what = " and ".join(given) if given else "none of server, context and snapshot"
        raise UsageError(f"{place}: {entry.name} names {what}", f"name one of them; {_SHAPE}")
    if entry.auth_token_env and entry.auth_token_file:
        raise UsageError(f"{place}: {entry.name} has auth-token-env and auth-token-file", "name one of them")
    if given != ["server"] and (entry.auth_token_env or entry.auth_token_file):
        raise UsageError(f"{place}: {entry.name} has a token for a {given[0]}", "a token belongs to a `server:`")
    twice = sorted({h.lower() for h in entry.headers} & {h.lower() for h in entry.headers_env})
    if twice:
        raise UsageError(f"{place}: {entry.name} has the header {twice[0]} twice", "headers or headers-env, not both")
    wrong = next((name for name in (*entry.headers, *entry.headers_env) if not name.strip() or ":" in name), None)
    if wrong is not None:
        raise UsageError(f"{place}: {entry.name}: {wrong!r} is no header's name", "`headers: {X-Tenant: eu}`")
    if entry.snapshot and (entry.headers or entry.headers_env or entry.limits != NONE):
        raise UsageError(f"{place}: {entry.name} has headers or limits for a snapshot", "they belong to a server")
    try:
        parse_rate(entry.limits.rate or "1")
    except ValueError as error:
        raise UsageError(f"{place}: {entry.name}: {error}", "`limits: {rate: 5/s}`") from None
    empty = next((key for key, alias in entry.clusters.items() if not key.strip() or not alias.strip()), None)
    if empty is not None:
        raise UsageError(
            f"{place}: {entry.name} has an alias without a name for cluster {empty!r}",
            "`clusters: {in-cluster: prod-eu}`",
        )


def _next_to(path: str, folder: Path) -> str:
    return str(folder / Path(path).expanduser()) if path else ""


def _plain_address(url: str) -> str:
    """The address in lower case, without its default port and a slash at the end."""
    scheme, _, rest = url.lower().rstrip("/").partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.removesuffix(':443' if scheme == 'https' else ':80')}{slash}{path}"
