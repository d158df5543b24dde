"""Secrets in the lines of a file that is no YAML: settings, TOML, HCL, shell, templates of manifests.

A line names its value (`db.password = x`), or the context does: the key of a block, a section, a Secret's `data:`. As in `forms`, every
regular expression takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint.redaction.forms import Hide, decoded
from argolint.redaction.names import is_login, is_public_name, is_secret, looks_typed, parts, sort_of
from argolint.redaction.words import in_code, in_text, looks_secret, of_shell, unquoted
from argolint.values.patterns import regex

_LINE = regex(
    r"^(?P<head>[ \t]*(?:export[ \t]+|-[ \t]+)?)(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w. /\[\]-]{0,120}?)(?P=quote)(?P<sep>[ \t]*[:=][ \t]*)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s#\"'|>{\[][^\n]*?)(?P<rest>[ \t]*,?(?:[ \t]+#[^\n]*)?)$",
    re.MULTILINE,
)
_BLOCK = regex(
    r"(?P<indent>[ \t]*)(?:- )?[\"']?(?P<name>[A-Za-z_][\w.-]{0,120})[\"']?[ \t]*:[ \t]*(?:[|>][-+\d]{0,2}[ \t]*)?\r?"
)
_OVER_LINES = regex(
    r"^(?P<head>[ \t]*(?P<name>[A-Za-z_][\w.-]{0,120}+)[ \t]*+[:=][ \t]*+)"
    r"(?:(?P<q>\"\"\"|''')(?P<text>[^\"']*)(?P=q)|(?P<value>(?:(?:[^\n\\]|\\(?!\r?\n))*+\\\r?\n)++[^\n]*+))$",
    re.MULTILINE,
)
"""A triple-quoted string in TOML, and a properties value that continues after a backslash."""
_TEMPLATED = regex(
    r"^(?P<head>[^\n:={]{0,200}?\b(?P<name>[A-Za-z_][\w.-]{0,120})[\"']?[ \t]*[:=][ \t]*[\"']?\{\{[^\n}]{0,400}?\bdefault[ \t]+\\?[\"'`])"
    r"(?P<value>[^\"'`\\\n]{1,400})(?=[\"'`\\])",
    re.MULTILINE,
)
"""`password: {{ .Values.password | default "x" }}`"""
_SECTION = regex(
    r"\A[ \t]*+\[{1,2}+[ \t]*+(?P<name>[\w.\"'-](?:[\w.\"' -]{0,198}[\w.\"'-])?)[ \t]*+\]{1,2}+[ \t]*+(?:[#;].*)?"
)
_BRACES = regex(r"(?<![\w.-])(?P<name>[A-Za-z_][\w-]{0,80})\"?[ \t]*(?:[=:][ \t]*)?\{(?P<body>[^{}]{0,4000})\}")
_SETTING = regex(
    r"(?P<head>(?<![\w.-])[\"']?(?P<name>[A-Za-z_][\w.-]{0,120}+)[\"']?[ \t]*+[=:][ \t]*+)(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',;}]+)"
)
_KIND = regex(r"^[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t]*\r?$", re.MULTILINE)
_DATA = regex(r"(?P<indent>[ \t]*)(?:data|stringData):[ \t]*\r?")
_ENTRY = regex(r"\A(?P<head>[ \t]++[\"']?[\w.-]{1,253}+[\"']?:[ \t]++)(?P<value>[^\s|>](?:[^\n]*\S)?)(?P<rest>\s*)")
_KEYED = regex(r"(?:\{\{|[\w.-]+:(?:\s|$))")
"""The value is a map, whose keys decide."""


def in_lines(text: str, hide: Hide, *, code: bool = False) -> str:
    """Lines of a file (`password: x`, `db.password = x`, `export DB_PASSWORD=x`, blocks below `password: |`) with secrets masked."""

    def line(found: re.Match[str]) -> str:
        name = found["name"].strip().rpartition(" ")[2] if found["sep"].strip() == "=" else found["name"]
        if " " in name:
            return found[0]
        value, quote = unquoted(found["value"])
        if found["sep"] == ":" and (sort_of(name) not in ("password", "secret", "key") or "/" in value):
            return found[0]  # no YAML, and rarely settings: `web-secrets:apps/Deployment:web/web`
        if not is_secret(sort_of(name), value) or of_shell(value) or (code and not in_code(value, quote)):
            return found[0]
        return f"{found['head']}{found['quote']}{found['name']}{found['quote']}{found['sep']}{quote}{hide(value)}{quote}{found['rest']}"

    text = _OVER_LINES.sub(lambda found: _over_lines(found, hide), text)
    text = _TEMPLATED.sub(lambda found: _named(found, hide), text)
    if "{" in text:
        text = _BRACES.sub(lambda found: _braces(found, hide), text)
    lines = text.split("\n")
    if "[" in text:
        lines = list(_in_sections(lines, hide))
    if _KIND.search(text):
        lines = list(_of_manifests(lines, hide))
    return _LINE.sub(line, "\n".join(_without_blocks(lines, hide)))


def is_encoded_secret(text: str) -> bool:
    """Whether a text is the base64 of a private key, a token, or a text with a secret."""
    inner = decoded(text)
    if inner is None:
        return False
    if is_login(inner):
        return True
    found: list[str] = []

    def note(value: str) -> str:
        found.append(value)
        return ""

    in_text(in_lines(inner, note), note)
    return bool(found)


def _over_lines(found: re.Match[str], hide: Hide) -> str:
    value, quote = found["text"] or found["value"] or "", found["q"] or ""
    return f"{found['head']}{quote}{hide(value)}{quote}" if is_secret(sort_of(found["name"]), value) else found[0]


def _named(found: re.Match[str], hide: Hide) -> str:
    return found["head"] + (
        hide(found["value"]) if is_secret(sort_of(found["name"]), found["value"]) else found["value"]
    )


def _of_several(heir: str, name: str, value: str) -> bool:
    """Whether a setting is a secret by its section: `[api_tokens]`, `tokens { … }`."""
    sort = sort_of(heir)
    if sort_of(name) not in ("", "login") or is_public_name(name):
        return False
    if sort == "login" or parts(heir)[-1:] == ("auth",):
        return looks_typed(value.partition(",")[0].strip())
    if sort not in ("several", "password", "secret", "object", "key"):
        return False
    return is_secret(sort, value) and (sort == "several" or looks_secret(value))


def _setting(found: re.Match[str], heir: str, hide: Hide) -> str:
    value, quote = unquoted(found["value"])
    return f"{found['head']}{quote}{hide(value)}{quote}" if _of_several(heir, found["name"], value) else found[0]


def _braces(found: re.Match[str], hide: Hide) -> str:
    if sort_of(found["name"]) in ("", "near"):
        return found[0]
    body = _SETTING.sub(lambda setting: _setting(setting, found["name"], hide), found["body"])
    return found[0] if body == found["body"] else found[0].replace(found["body"], body)


def _in_sections(lines: list[str], hide: Hide) -> Iterator[str]:
    """The lines, with settings masked in sections with a name for secrets."""
    heir = ""
    for line in lines:
        section = _SECTION.fullmatch(line.rstrip("\r"))
        if section:
            heir = section["name"].strip("\"'").rpartition(".")[2]
        yield _SETTING.sub(lambda found, heir=heir: _setting(found, heir, hide), line) if heir and not section else line  # type: ignore[misc]  # mypy knows no default of a lambda


def _of_manifests(lines: list[str], hide: Hide) -> Iterator[str]:
    """The lines of manifest templates, with the data of Secrets masked."""
    document: list[str] = []
    for line in [*lines, "---"]:
        if not line.startswith("---"):
            document.append(line)
            continue
        yield from _of_manifest(document, hide) if _KIND.search("\n".join(document)) else document
        document = [line]
    yield from document[1:]  # the last document begins with the added end


def _of_manifest(lines: list[str], hide: Hide) -> Iterator[str]:
    indent, key = -1, -1  # of `data:`, and of the key whose block is skipped
    for line in lines:
        if found := _DATA.fullmatch(line):
            indent, key = len(found["indent"]), -1
        elif line.strip() and _indent(line) <= indent and not line.lstrip().startswith("{{"):
            indent = key = -1
        elif 0 <= key < _indent(line):
            continue
        elif indent >= 0 and (entry := _ENTRY.fullmatch(line)):
            value, quote = unquoted(entry["value"])
            yield f"{entry['head']}{quote}{hide(value)}{quote}{entry['rest']}" if is_secret("password", value) else line
            continue
        elif indent >= 0 and _BLOCK.fullmatch(line):
            key = _indent(line)
            yield line
            yield " " * (key + 2) + hide(line.strip())
            continue
        yield line


def _without_blocks(lines: list[str], hide: Hide) -> Iterator[str]:
    """The lines, with one line for each secret that is indented below its name."""
    at = 0
    while at < len(lines):
        yield lines[at]
        found = _BLOCK.fullmatch(lines[at])
        at += 1
        if found is None or sort_of(found["name"]) in ("", "near"):
            continue
        end, column = at, len(found["indent"])
        while end < len(lines) and (
            not lines[end].strip() or _indent(lines[end]) > column or lines[end].startswith("- ", column)
        ):
            end += 1
        while end > at and not lines[end - 1].strip():
            end -= 1
        body = "\n".join(line.strip() for line in lines[at:end])
        if body.startswith("- "):
            yield from (_item(line, found["name"], hide) for line in lines[at:end])
            at = end
        elif not _KEYED.match(body) and is_secret(sort_of(found["name"]), body):
            yield " " * _indent(lines[at]) + hide(body)
            at = end


def _item(line: str, name: str, hide: Hide) -> str:
    """An item of a list of secrets; a map has keys of its own."""
    start, dash, item = line.partition("- ")
    value, quote = unquoted(item.strip())
    if start.strip() or not dash or _KEYED.match(value) or not is_secret(sort_of(name), value):
        return line
    return f"{start}{dash}{quote}{hide(value)}{quote}"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
