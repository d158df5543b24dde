"""What the ApplicationSet controller says of names that are generated twice."""

from __future__ import annotations

from argolint.values.patterns import regex

NAMED_TWICE = regex(r"contains applications with duplicate name: (\S*[^\s,;)])")
OWNED_TWICE = regex(r"Object (\S+)/(\S+) is already owned by another ApplicationSet controller ([^\s\"]+)")
