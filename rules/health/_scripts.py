"""A health script that fails on an object: the settings have it, or Argo CD brings it (util/lua/lua.go)."""

from __future__ import annotations

from collections.abc import Mapping

from argolint import Fleet, Resource
from argolint.redaction import excerpt
from argolint.relations.judged import newer_script
from argolint.relations.waits import own_check
from argolint.values import text_at
from argolint.values.patterns import regex

NO_SCRIPT: Mapping[str, str] = dict.fromkeys(
    ("own_check", "check_line", "library", "open_libs", "brought", "newer"), ""
)
FAILS = regex(r"^<string>:(?P<line>\d{1,6}): (?P<error>[^\n]{1,200}?)\s{0,3}(?:stack traceback|$)")
_STRINGS = regex(r"with key '(?:byte|char|find|format|gmatch|gsub|len|lower|match|rep|reverse|sub|upper)'")
"""Functions of Lua's string library, which Argo CD opens for a check that asks for it alone."""


def script_facts(fleet: Fleet, resource: Resource) -> Mapping[str, str]:
    """The facts of advice on a failing script.

    own_check   the key of the settings' check
    check_line  the line of it that fails
    library     yes if it lacks the string library
    open_libs   the key of argocd-cm that opens that
    brought     yes if the settings have checks, and none of the kind, so that Argo CD brings the script
    newer       the next release with another script
    """
    found = FAILS.match(resource.health.message)
    if found is None:
        return NO_SCRIPT
    key, entry = own_check(fleet, resource.group, resource.kind)
    lines = (text_at(entry, "healthLua") or text_at(entry, "health.lua")).splitlines()
    line = int(found["line"])
    lacks = (
        bool(key)
        and "*" not in key
        and entry.get("useOpenLibs") is not True
        and _STRINGS.search(found["error"]) is not None
    )
    newer = newer_script(fleet, resource.group, resource.kind)
    return {
        "own_check": key,
        "check_line": excerpt(lines[line - 1].strip(), 160) if 0 < line <= len(lines) else "",
        "library": "yes" if lacks else "",
        "open_libs": f"resource.customizations.useOpenLibs.{key.replace('/', '_')}",
        "brought": "yes" if newer or (fleet.overrides and not key) else "",
        "newer": newer,
    }
