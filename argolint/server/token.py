"""Checks a token before it is sent: its form and its expiry, without verifying it."""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from argolint.errors import AuthError
from argolint.server.login import Login

FLAG, VARIABLE = "--auth-token", "ARGOCD_AUTH_TOKEN"  # origins of a token other than a login
_CLOCK_SKEW = timedelta(minutes=1)


def check_token(token: str, source: str, login: Login | None, now: datetime) -> None:
    """Refuse what the server would refuse, with a clearer message; the server would treat some of it as no token at all.

    `login`: the login that the token belongs to, if any.
    """
    if re.search(r"\s", token):
        raise AuthError(
            f"the token of {source} holds a line break or a blank",
            "pass the token as one line, without quotes or a second one",
        )
    if token.count(".") != 2 or not re.fullmatch(r"[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]*", token):
        hint = "an Argo CD token is a JWT, three parts joined by dots; `argocd account generate-token` makes one"
        raise AuthError(f"the token of {source} is not an Argo CD token", hint)
    expiry = _expiry(token)
    if expiry is None or expiry > now - _CLOCK_SKEW:
        return
    when = expiry.strftime("%Y-%m-%d %H:%M UTC")
    if login is None:
        raise AuthError(
            f"the token of {source} expired on {when}", "make a new one with `argocd account generate-token`"
        )
    kind = "SSO session" if login.refresh_token or _claims(token).get("iss") != "argocd" else "session"
    raise AuthError(
        f"the {kind} of {source} expired on {when}", f"run `argocd relogin --argocd-context {login.context}`"
    )


def project_of(token: str) -> str:
    """The only project that a project role's token can see, from its subject `proj:<project>:<role>`; empty for other tokens."""
    subject = str(_claims(token).get("sub")) if token.count(".") == 2 else ""
    found = re.fullmatch(r"proj:([a-zA-Z0-9][a-zA-Z0-9._-]{0,252}):\S+", subject)
    return found[1] if found else ""


def _expiry(token: str) -> datetime | None:
    exp = _claims(token).get("exp")
    try:
        return datetime.fromtimestamp(exp, UTC) if isinstance(exp, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def _claims(token: str) -> dict[str, Any]:
    """The token's payload, not verified; the server does that."""
    payload = token.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return claims if isinstance(claims, dict) else {}
