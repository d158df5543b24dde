"""The file that `argocd login` writes (util/localconfig/localconfig.go of Argo CD)."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from argolint.errors import UsageError
from argolint.quick.records import dataclass
from argolint.sources.files import require_own
from argolint.values import knowledge


@dataclass(frozen=True, slots=True)
class Login:
    """One context with its server and user; `server` is HOST[:PORT] without a scheme. An empty one means no login."""

    context: str = ""
    server: str = ""
    token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    plaintext: bool = False
    insecure: bool = False
    core: bool = False
    root_path: str = ""
    ca_pem: str = field(default="", repr=False)
    client_pem: str = field(default="", repr=False)
    undefined: str = ""
    """The server or user that the context names, if the file does not have it (ResolveContext in localconfig.go)."""


@dataclass(frozen=True, slots=True)
class Logins:
    """The whole file; empty if there is none."""

    path: Path
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def find(self, context: str) -> Login:
        """The login of that name, or the current one for an empty name. Raises UsageError for an unknown name."""
        wanted = context or str(self.document.get("current-context") or "")
        if not wanted:
            return Login()
        entry = _named(self.document, "contexts", "name", wanted)
        if entry is None:
            names = ", ".join(str(c.get("name")) for c in _entries(self.document, "contexts")) or "none"
            raise UsageError(
                f"the login `{wanted}` is not in {self.path}", f"it holds: {names}; pass --argocd-context NAME"
            )
        return self._login(entry)

    def all(self) -> Iterable[Login]:
        """Every login of the file, in order."""
        return [self._login(entry) for entry in _entries(self.document, "contexts")]

    def _login(self, entry: Mapping[str, Any]) -> Login:
        known_server = _named(self.document, "servers", "server", str(entry.get("server")))
        known_user = _named(self.document, "users", "name", str(entry.get("user")))
        server, user = known_server or {}, known_user or {}
        certificate, key = (self._pem(server, f"client-certificate-{part}") for part in ("data", "key-data"))
        if bool(certificate) != bool(key):
            raise UsageError(f"{self.path} holds one half of a client certificate", "run `argocd login` again")
        return Login(
            context=str(entry.get("name") or ""),
            server=str(server.get("server") or entry.get("server") or ""),
            token=str(user.get("auth-token") or ""),
            refresh_token=str(user.get("refresh-token") or ""),
            plaintext=bool(server.get("plain-text")),
            insecure=bool(server.get("insecure")),
            core=bool(server.get("core")),
            root_path=str(server.get("grpc-web-root-path") or ""),
            ca_pem=self._pem(server, "certificate-authority-data"),
            client_pem=f"{certificate}\n{key}" if key else "",
            undefined=_undefined(entry, known_server, known_user),
        )

    def _pem(self, server: Mapping[str, Any], name: str) -> str:
        try:
            return base64.b64decode(str(server.get(name) or ""), validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            raise UsageError(f"{name} in {self.path} is not base64 of PEM", "run `argocd login` again") from None


def read_logins(config: str, environ: Mapping[str, str], home: Path) -> Logins:
    """The login file that Argo CD's CLI would use; empty if there is none and none was named. Raises UsageError."""
    import yaml

    path = _path(config, environ, home)
    if path.exists():
        require_own(path)
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if os.name == "posix" and mode not in (0o600, 0o400):
                raise UsageError(
                    f"{path} has mode {mode:04o} and may be read by others",
                    f"run `chmod 600 {path}`, as Argo CD's CLI asks too",
                )
            document = knowledge.parse(file.read())
    except FileNotFoundError:
        if config:
            raise UsageError(f"there is no file {path}", "--config names the file that `argocd login` writes") from None
        return Logins(path)
    except (
        yaml.YAMLError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: for an invalid date, and for invalid UTF-8
        mark = getattr(error, "problem_mark", None)  # the message itself may quote a token
        where = f" at line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path} is no readable YAML{where}", "repair it, or run `argocd login` again") from None
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", "check the file, or name another with --config"
        ) from None
    if document is not None and not isinstance(document, dict):
        raise UsageError(
            f"{path} is no login file of Argo CD", "run `argocd login` again, or name another with --config"
        )
    return Logins(path, document or {})


def _path(config: str, environ: Mapping[str, str], home: Path) -> Path:
    if config:
        return Path(config).expanduser()
    if folder := environ.get("ARGOCD_CONFIG_DIR"):
        return Path(folder, "config")
    if (home / ".argocd").is_dir():
        return home / ".argocd" / "config"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "argocd", "config")


def _undefined(entry: Mapping[str, Any], server: Mapping[str, Any] | None, user: Mapping[str, Any] | None) -> str:
    if server is None:
        return f"server `{entry.get('server')}`"
    return f"user `{entry.get('user')}`" if user is None else ""


def _entries(document: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    entries = document.get(kind)
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _named(document: Mapping[str, Any], kind: str, key: str, name: str) -> Mapping[str, Any] | None:
    return next((e for e in _entries(document, kind) if str(e.get(key)) == name), None)
