"""The TLS context of a connection."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from argolint.errors import UsageError
from argolint.host.addresses import is_loopback
from argolint.host.temporary import temporary_folder
from argolint.server.connection import Connection


def client_context(connection: Connection) -> ssl.SSLContext:
    """A context that trusts the system's authorities and --server-crt, as Argo CD's own CLI does. Raises UsageError.

    It reads no authorities for a loopback address without TLS: no proxy is used there, so TLS is never spoken.
    """
    address = urlsplit(connection.url)
    never = address.scheme == "http" and is_loopback(address.hostname or "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if never else ssl.create_default_context()
    try:
        if connection.ca_pem:
            context.load_verify_locations(cadata=connection.ca_pem)
        if connection.client_pem:
            with temporary_folder() as folder:  # the ssl module reads key pairs from files only
                pair = folder / "client.pem"
                pair.touch(mode=0o600)
                pair.write_text(connection.client_pem)
                context.load_cert_chain(pair, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not PEM"
        raise UsageError(
            f"a TLS certificate or key cannot be used: {reason}",
            "--server-crt, --client-crt and --client-crt-key take PEM files",
        ) from None
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _no_password() -> str:
    """The answer for an encrypted key: otherwise OpenSSL would ask at the terminal, in every process."""
    raise UsageError(
        "the key of --client-crt-key is encrypted", "write one that is not: openssl pkey -in KEY -out PLAIN_KEY"
    )
