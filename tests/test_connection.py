"""Settings come from flags, variables and the login file, in Argo CD's own order, and bad ones are named."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from argolint.errors import ArgolintError, AuthError, UsageError
from argolint.server.connection import Connection, Flags, connect, connection_options

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def jwt(mark: str = "x", *, lives: timedelta | None = timedelta(hours=1), iss: str = "argocd") -> str:
    claims: dict[str, Any] = {"iss": iss, "sub": mark}
    if lives is not None:
        claims["exp"] = int((NOW + lives).timestamp())
    parts = (json.dumps({"alg": "HS256"}), json.dumps(claims), mark)
    return ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts)


def login_file(
    path: Path,
    *,
    current: str = "cd.example.com",
    mode: int = 0o600,
    server: Mapping[str, object] = MappingProxyType({}),
) -> Path:
    """A login file of two logins; `server` changes the first one's server entry."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "current-context": current,
        "contexts": [
            {"name": "cd.example.com", "server": "cd.example.com", "user": "cd.example.com"},
            {"name": "other", "server": "other.example.com:8443", "user": "other"},
        ],
        "servers": [{"server": "cd.example.com", **server}, {"server": "other.example.com:8443", "insecure": True}],
        "users": [
            {"name": "cd.example.com", "auth-token": jwt("cd")},
            {"name": "other", "auth-token": jwt("other")},
        ],
    }
    path.write_text(yaml.safe_dump(document))
    path.chmod(mode)
    return path


def made(home: Path, environ: dict[str, str] | None = None, **flags: object) -> Connection:
    return connect(Flags(**flags), environ or {}, home, NOW)  # type: ignore[arg-type]  # flags by name


def refused(
    kind: type[ArgolintError], home: Path, environ: dict[str, str] | None = None, **flags: object
) -> ArgolintError:
    """The one error: of that kind, with advice, and without any token."""
    with pytest.raises(kind) as caught:
        made(home, environ, **flags)
    assert caught.value.hint
    assert "eyJ" not in caught.value.message + caught.value.hint
    return caught.value


def test_the_login_file_alone_is_enough(tmp_path: Path) -> None:
    login_file(tmp_path / ".config/argocd/config")
    assert made(tmp_path) == Connection("https://cd.example.com", jwt("cd"))


def test_a_flag_goes_before_a_variable_and_a_variable_before_the_login(tmp_path: Path) -> None:
    login_file(tmp_path / ".config/argocd/config")
    environ = {"ARGOCD_SERVER": "env.example.com", "ARGOCD_AUTH_TOKEN": jwt("env")}
    assert made(tmp_path, environ) == Connection("https://env.example.com", jwt("env"))
    assert made(tmp_path, environ, server="flag.example.com:444", auth_token=jwt("flag")) == Connection(
        "https://flag.example.com:444", jwt("flag")
    )
    assert made(tmp_path, {"ARGOCD_AUTH_TOKEN": jwt("env")}) == Connection("https://cd.example.com", jwt("env"))


def own_settings(home: Path, text: str) -> Path:
    file = home / ".config/argolint/config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_users_own_settings_name_the_server_when_nothing_else_does(tmp_path: Path) -> None:
    login_file(tmp_path / ".config/argocd/config")
    own_settings(tmp_path, "server: own.example.com\n")
    assert made(tmp_path) == Connection("https://own.example.com")
    assert made(tmp_path, {"ARGOCD_AUTH_TOKEN": jwt("env")}) == Connection("https://own.example.com", jwt("env"))
    assert made(tmp_path, {"ARGOCD_SERVER": "cd.example.com"}) == Connection("https://cd.example.com", jwt("cd"))
    assert made(tmp_path, argocd_context="cd.example.com").url == "https://cd.example.com"
    own_settings(tmp_path, "argocd-context: other\n")
    assert made(tmp_path) == Connection("https://other.example.com:8443", jwt("other"), insecure=True)
    elsewhere = own_settings(tmp_path / "x", "server: xdg.example.com\n").parents[1]
    assert made(tmp_path, {"XDG_CONFIG_HOME": str(elsewhere)}).url == "https://xdg.example.com"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("server: a\nselect: [drift]\n", ":2: unknown key 'select'"),
        ("argocd-context: [a]\n", ":1: argocd-context: text is expected, not a list"),
        ("- a\n", ":1: the file: a mapping is expected, not a list"),
        ("server: [\n", ": expected the node content"),
    ],
)
def test_settings_that_cannot_be_used_are_told_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    file = own_settings(tmp_path, text)
    message = refused(UsageError, tmp_path).message
    assert message.startswith(str(file))
    assert told in message


def test_argocd_opts_are_flags_that_given_flags_override(tmp_path: Path) -> None:
    opts = f"--server 'opts.example.com' --plaintext --grpc-web-root-path=/cd --auth-token {jwt('opts')} --grpc-web"
    environ = {
        "ARGOCD_OPTS": opts + " --header 'X-One: 1,X-Two: 2' --loglevel debug",
        "ARGOCD_SERVER": "env.example.com",
    }
    headers = (("X-One", "1"), ("X-Two", "2"))
    assert made(tmp_path, environ) == Connection("http://opts.example.com/cd", jwt("opts"), headers)
    assert made(tmp_path, environ, server="flag.example.com").url == "http://flag.example.com/cd"


@pytest.mark.parametrize(
    ("server", "flags", "url"),
    [
        ("cd.example.com", {}, "https://cd.example.com"),
        ("cd.example.com:8080", {"plaintext": True}, "http://cd.example.com:8080"),
        ("http://localhost:8080", {}, "http://localhost:8080"),
        ("https://cd.example.com/argocd/", {}, "https://cd.example.com/argocd"),
        ("cd.example.com", {"grpc_web_root_path": "/a/b"}, "https://cd.example.com/a/b"),
        ("[::1]:8080", {}, "https://[::1]:8080"),
    ],
)
def test_a_server_may_be_named_with_port_scheme_or_path(
    tmp_path: Path, server: str, flags: dict[str, Any], url: str
) -> None:
    assert made(tmp_path, server=server, **flags).url == url


@pytest.mark.parametrize(
    "server", ["https://", "cd example.com", "ftp://cd.example.com", "cd.example.com:port", "https:/cd"]
)
def test_what_is_no_server_address_is_named(tmp_path: Path, server: str) -> None:
    assert f"{server!r} is no server address" in refused(UsageError, tmp_path, server=server).message


def test_a_server_address_with_a_password_is_refused_without_showing_it(tmp_path: Path) -> None:
    assert "hunter2" not in refused(UsageError, tmp_path, server="https://me:hunter2@cd.example.com").message


def test_a_login_holds_tls_settings_and_root_path(tmp_path: Path) -> None:
    data = base64.b64encode(PEM.encode()).decode()
    settings = {"insecure": True, "grpc-web-root-path": "cd", "certificate-authority-data": data}
    pair = {"client-certificate-data": data, "client-certificate-key-data": data}
    login_file(tmp_path / ".config/argocd/config", server={**settings, **pair})
    found = made(tmp_path)
    assert (found.url, found.insecure, found.ca_pem) == ("https://cd.example.com/cd", True, PEM)
    assert found.client_pem == f"{PEM}\n{PEM}"


def test_the_token_of_a_login_goes_to_its_own_server_alone(tmp_path: Path) -> None:
    login_file(tmp_path / ".config/argocd/config")
    assert made(tmp_path, server="elsewhere.example.com").token == ""
    assert made(tmp_path, server="https://CD.example.com:443").token == jwt("cd")
    assert made(tmp_path, server="other.example.com:8443").token == jwt("other")
    assert made(tmp_path, server="localhost:8080", argocd_context="other").token == jwt("other")


def test_the_login_file_is_looked_for_where_argo_cd_looks(tmp_path: Path) -> None:
    login_file(tmp_path / "named", current="other")
    login_file(tmp_path / "dir/config", current="other")
    login_file(tmp_path / "xdg/argocd/config", current="other")
    login_file(tmp_path / ".config/argocd/config")
    assert made(tmp_path).token == jwt("cd")
    assert made(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}).token == jwt("other")
    assert made(tmp_path, {"ARGOCD_CONFIG_DIR": str(tmp_path / "dir")}).token == jwt("other")
    assert made(tmp_path, {"ARGOCD_CONFIG_DIR": str(tmp_path / "absent")}, config=str(tmp_path / "named")).token == jwt(
        "other"
    )
    login_file(tmp_path / ".argocd/config", current="other")
    assert made(tmp_path).token == jwt("other")


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o700])
def test_a_login_file_with_another_mode_is_refused_as_argo_cd_does(tmp_path: Path, mode: int) -> None:
    path = login_file(tmp_path / ".config/argocd/config", mode=mode)
    found = refused(UsageError, tmp_path, {"ARGOCD_SERVER": "env.example.com", "ARGOCD_AUTH_TOKEN": jwt()})
    assert found.message == f"{path} has mode {mode:04o} and may be read by others"
    assert f"chmod 600 {path}" in found.hint


def test_mode_0400_is_as_good_as_0600(tmp_path: Path) -> None:
    login_file(tmp_path / ".config/argocd/config", mode=0o400)
    assert made(tmp_path).token == jwt("cd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"current-context: x\nusers: [{{auth-token: {jwt('leak')}\n  - bad", "is no readable YAML at line"),
        (f"current-context: 2026-99-99\nusers: [{{auth-token: {jwt('leak')}}}]", "is no readable YAML"),
        ("- a list", "is no login file of Argo CD"),
        ("current-context: gone\ncontexts: [{name: here}]", "the login `gone` is not in"),
    ],
)
def test_a_broken_login_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    path.chmod(0o600)
    found = refused(UsageError, tmp_path, config=str(path))
    assert message in found.message
    assert str(path) in found.message


def test_a_named_login_file_or_login_that_is_absent_is_told(tmp_path: Path) -> None:
    assert "there is no file" in refused(UsageError, tmp_path, config=str(tmp_path / "absent")).message
    login_file(tmp_path / ".config/argocd/config")
    found = refused(UsageError, tmp_path, argocd_context="nope")
    assert found.hint == "it holds: cd.example.com, other; pass --argocd-context NAME"


def test_no_server_at_all_is_told_with_every_way_to_name_one(tmp_path: Path) -> None:
    found = refused(UsageError, tmp_path)
    assert found.message == "no Argo CD server is named"
    assert all(way in found.hint for way in ("--server", "ARGOCD_SERVER", "argocd login", "--snapshot"))


@pytest.mark.parametrize(
    ("server", "core", "told"),
    [("kubernetes", True, "made with --core"), ("port-forward", False, "through --port-forward")],
)
def test_a_login_without_a_server_is_refused_and_what_to_use_instead_told(
    tmp_path: Path, server: str, core: bool, told: str
) -> None:
    path = tmp_path / ".config/argocd/config"
    path.parent.mkdir(parents=True)
    context = {"name": server, "server": server, "user": server}
    path.write_text(
        yaml.safe_dump(
            {"current-context": server, "contexts": [context], "servers": [{"server": server, "core": core}]}
        )
    )
    path.chmod(0o600)
    found = refused(UsageError, tmp_path)
    assert told in found.message
    assert "port-forward svc/argocd-server 8080:443" in found.hint


@pytest.mark.parametrize("flag", ["--core", "--port-forward", "--port-forward-namespace argocd"])
def test_argocd_opts_that_go_past_the_server_are_refused(tmp_path: Path, flag: str) -> None:
    found = refused(UsageError, tmp_path, {"ARGOCD_OPTS": f"--server cd.example.com {flag}"})
    assert "which argolint cannot use" in found.message


@pytest.mark.parametrize("opts", ["--server 'cd", "stray"])
def test_argocd_opts_that_cannot_be_read_are_told(tmp_path: Path, opts: str) -> None:
    assert "ARGOCD_OPTS" in refused(UsageError, tmp_path, {"ARGOCD_OPTS": opts}).message


def test_blanks_around_a_token_are_dropped(tmp_path: Path) -> None:
    assert made(tmp_path, {"ARGOCD_AUTH_TOKEN": f" {jwt()}\n"}, server="cd.example.com").token == jwt()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (jwt()[:30] + "\n" + jwt()[30:], "the token of ARGOCD_AUTH_TOKEN holds a line break or a blank"),
        ("hunter2", "the token of ARGOCD_AUTH_TOKEN is not an Argo CD token"),
        (f'"{jwt()}"', "the token of ARGOCD_AUTH_TOKEN is not an Argo CD token"),
        (jwt(lives=timedelta(hours=-1)), "the token of ARGOCD_AUTH_TOKEN expired on 2026-03-01 11:00 UTC"),
    ],
)
def test_a_token_that_no_server_takes_is_refused_before_it_is_sent(tmp_path: Path, token: str, message: str) -> None:
    found = refused(AuthError, tmp_path, {"ARGOCD_AUTH_TOKEN": token}, server="cd.example.com")
    assert found.message == message
    assert token not in found.message + found.hint


@pytest.mark.parametrize("lives", [None, timedelta(seconds=-30), timedelta(days=9)])
def test_a_token_without_expiry_or_within_the_clocks_error_passes(tmp_path: Path, lives: timedelta | None) -> None:
    token = jwt(lives=lives)
    assert made(tmp_path, server="cd.example.com", auth_token=token).token == token


@pytest.mark.parametrize(("iss", "kind"), [("argocd", "session"), ("https://sso.example.com", "SSO session")])
def test_an_expired_login_names_the_login_and_the_way_to_renew_it(tmp_path: Path, iss: str, kind: str) -> None:
    path = login_file(tmp_path / ".config/argocd/config")
    path.write_text(path.read_text().replace(jwt("cd"), jwt("cd", lives=timedelta(hours=-2), iss=iss)))
    found = refused(AuthError, tmp_path)
    assert found.message == f"the {kind} of the login `cd.example.com` expired on 2026-03-01 10:00 UTC"
    assert found.hint == "run `argocd relogin --argocd-context cd.example.com`"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("no colon", "is not of the form"),
        ("bad name: x", "is not of the form"),
        ("X-Secret: a\nb", "the value of header X-Secret holds a line break"),
        ("X-Secret: ü", "the value of header X-Secret holds a line break or a sign outside of ASCII"),
    ],
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(tmp_path: Path, header: str, message: str) -> None:
    assert message in refused(UsageError, tmp_path, server="cd.example.com", header=(header,)).message


def test_certificate_files_are_read_and_bad_ones_named(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text(PEM)
    assert made(tmp_path, server="cd.example.com", server_crt=str(pem)).ca_pem == PEM
    absent = refused(UsageError, tmp_path, server="cd.example.com", server_crt=str(tmp_path / "absent"))
    assert absent.message == f"cannot read --server-crt {tmp_path / 'absent'}: No such file or directory"
    endless = refused(UsageError, tmp_path, server="cd.example.com", server_crt="/dev/zero")
    assert endless.message == "cannot read --server-crt /dev/zero: /dev/zero is larger than 10,000,000 bytes"
    half = refused(UsageError, tmp_path, server="cd.example.com", client_crt=str(pem))
    assert half.message == "one of --client-crt and --client-crt-key is missing"


def test_the_options_of_a_command_arrive_as_flags() -> None:
    seen: list[Flags] = []

    @click.command()
    @click.option("--own")
    @connection_options
    def command(connection: Flags, own: str) -> None:
        seen.append(connection)
        assert own == "1"

    given = ["--server", "cd", "-H", "A: 1", "-H", "B: 2", "--own", "1", "--plaintext", "--argocd-context", "x"]
    assert CliRunner().invoke(command, given, catch_exceptions=False).exit_code == 0
    assert seen == [Flags(server="cd", argocd_context="x", plaintext=True, header=("A: 1", "B: 2"))]
    assert "secret" not in repr(Flags(auth_token="secret", header=("Cookie: secret",)))


def flags_of(*words: str) -> Flags:
    """The flags that a command line gives; fails with what the user would read."""
    seen: list[Flags] = []

    @click.command()
    @click.argument("apps", nargs=-1)
    @connection_options
    def command(connection: Flags, apps: tuple[str, ...]) -> None:
        assert apps == ("argocd/web",)
        seen.append(connection)

    ran = CliRunner().invoke(command, [*words, "argocd/web"])
    assert ran.exit_code == 0, ran.output
    return seen[0]


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("--insecure=true --plaintext=false", Flags(insecure=True)),
        ("--grpc-web --http-retry-max 3 --loglevel warn --logformat=json --prompts-enabled=false", Flags()),
        ("--core", Flags(unusable="--core")),
        ("--port-forward-namespace argocd", Flags(unusable="--port-forward-namespace")),
    ],
)
def test_a_command_line_of_argocd_is_understood(words: str, flags: Flags) -> None:
    assert flags_of(*words.split()) == flags


def test_headers_are_separated_by_commas_unless_quoted() -> None:
    assert flags_of("-H", "A: 1,B: 2", "-H", '"Cookie: c=1,d=2"').header == ("A: 1", "B: 2", "Cookie: c=1,d=2")


def test_a_switch_that_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(AssertionError, match="'maybe' is neither true nor false"):
        flags_of("--insecure=maybe")


def test_an_option_that_goes_past_the_server_is_refused_with_what_to_do(tmp_path: Path) -> None:
    found = refused(UsageError, tmp_path, unusable="--core")
    assert found.message == "argolint cannot use --core"
    assert "port-forward svc/argocd-server 8080:443" in found.hint


@pytest.mark.parametrize(("absent", "told"), [("servers", "the server `s`"), ("users", "the user `u`")])
def test_a_login_whose_parts_are_absent_is_refused(tmp_path: Path, absent: str, told: str) -> None:
    path = tmp_path / ".config/argocd/config"
    path.parent.mkdir(parents=True)
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "server": "s", "user": "u"}],
        "servers": [{"server": "s"}],
        "users": [{"name": "u", "auth-token": jwt()}],
    }
    path.write_text(yaml.safe_dump({**document, absent: []}))
    path.chmod(0o600)
    assert f"names {told}, which the file does not define" in refused(UsageError, tmp_path).message
