"""Cuts very long messages in the status of an Application: rules read each one as a whole, and a server may send any length."""

from __future__ import annotations

from typing import Any

from argolint.model import Object

LONGEST_MESSAGE = 1 << 16
"""Most characters; a long message is a helm command with all its arguments, some thousands."""
_WORD = 4096
"""Most characters of a word that is not cut in the middle, since it may be the first half of a secret."""


def may_hold_long_messages(text: bytes) -> bool:
    """A cheap look at JSON: False if each text in it ends before it is too long. It jumps from quote to quote, as far as it may."""
    start = 0
    while start + LONGEST_MESSAGE < len(text):
        end = text.rfind(b'"', start, start + LONGEST_MESSAGE)
        while end > 0 and text[end - 1] == _BACKSLASH:  # of a quote within a text
            end = text.rfind(b'"', start, end)
        if end < start:
            return True
        start = end + 1
    return False


_BACKSLASH = ord("\\")


def without_long_messages(app: Object) -> Object:
    """The Application with long messages cut in place."""
    _cut(app.get("status"))
    return app


def _cut(node: Any) -> None:
    if isinstance(node, dict):
        message = node.get("message")
        if isinstance(message, str) and len(message) > LONGEST_MESSAGE:
            node["message"] = _start(message)
        for child in node.values():
            _cut(child)
    elif isinstance(node, list):
        for child in node:
            _cut(child)


def _start(message: str) -> str:
    start = message[:LONGEST_MESSAGE]
    words, space, last = start.rpartition(" ")
    return f"{words if space and len(last) < _WORD else start} …"
