"""Advice to bring an operator to a later release."""

from __future__ import annotations

from argolint import Edit, Fix


def external_secrets_upgrade(to: str, text: str, caveat: str = "") -> Fix:
    """`to`: the first release, and what follows it in the title: `v2.2.0 or later`."""
    edit = Edit("text", text)
    return Fix(f"Upgrade External Secrets to {to}", "operator", "values of the External Secrets chart", edit, caveat)
