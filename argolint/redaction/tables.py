"""Secrets in lists and tables that only a file name or a column header marks: `.pgpass`, `users.txt`, CSV.

As in `forms`, every regular expression takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from argolint.redaction.forms import Hide
from argolint.redaction.names import Sort, is_secret, looks_typed, sort_of
from argolint.values.patterns import regex


@dataclass(frozen=True)
class List:
    """Files of that name have a secret on every line; `sure`: even if it looks like a name or a word."""

    name: re.Pattern[str]
    line: re.Pattern[str]
    sure: bool = False


def _list(name: str, line: str, *, sure: bool = False) -> List:
    return List(regex(rf"(?i)\A(?:.*[/._-])?(?:{name})"), regex(rf"\A{line}"), sure)


_PAIR = r"(?P<head>[^\s:=\"']{1,253}:)(?P<secret>[^\s:](?:\S{0,1000}))"
_OPEN_PAIR = r"(?P<head>[^\s:=\"']{1,253}:)(?P<secret>[^\s:/]{1,1000})(?P<rest>(?::\S{0,1000})?)"
_ENTRY = r"(?P<head>[\"']?[\w.@-]{1,128}[\"']?(?:\s{0,9}[=:]\s{0,9}|\s{1,9})[\"']?)(?P<secret>[^\s\"',=:]{1,1000})(?P<rest>[\"']?(?:,.{0,400})?)"
LISTS: tuple[List, ...] = (
    _list(r"pgpass(?:\.conf)?", r"(?P<head>(?:(?:[^\s:\\]|\\.){1,253}:){4})(?P<secret>\S{1,1000})", sure=True),
    _list(
        r"(?:htpasswd|htdigest|passwd(?:[._-]\w+)?|pool_passwd|rsyncd\.secrets|basic[-_]?auth|auth|credentials?)(?:\.(?:txt|conf|list|file|db))?",
        _PAIR,
        sure=True,
    ),
    _list(r"sasl_passwd", r"(?P<head>\S{1,253}\s{1,9}[^\s:]{1,253}:)(?P<secret>\S{1,1000})", sure=True),
    _list(r"passwd\.client", r"(?P<head>[^\s:]{1,253}:[^\s:]{1,253}:)(?P<secret>\S{1,1000})", sure=True),
    _list(r"(?:users?|accounts?|logins?|sasl|realm|pcp)(?:\.(?:txt|conf|list|acl|properties))?", _OPEN_PAIR),
    _list(r"(?:users?|accounts?|logins?|realm|roles)\.properties|userlist(?:\.txt)?|jmxremote\.password", _ENTRY),
    _list(r"(?:chap|pap|eap)-secrets|secrets", r"(?P<head>\S{1,253}\s{1,9}\S{1,253}\s{1,9}[\"']?)(?P<secret>[^\s\"':][^\s\"']{0,999})(?P<rest>[\"']?.{0,400})"),
    _list(r"(?:ntp|chrony)\.keys", r"(?P<head>\d{1,9}\s{1,9}\S{1,20}\s{1,9})(?P<secret>\S{1,1000})"),
    _list(r"(?:known_?)?tokens?\.csv|basic[-_]?auth\.csv", r"(?P<head>)(?P<secret>[^\s,]{1,1000})(?P<rest>,.{0,1000})", sure=True),
)  # fmt: skip
_COMMENT = regex(r"\A\s*(?:[#;].*)?")


@lru_cache(maxsize=4096)
def lists_of(name: str) -> str:
    """The numbers of the lists that a file of this name may be, concatenated; empty if it is none."""
    return "".join(str(at) for at, one in enumerate(LISTS) if one.name.fullmatch(name))


def in_list(text: str, numbers: str, hide: Hide) -> str | None:
    """The text of a file with the secret of each line masked; None if it is no such list."""
    for kind in (LISTS[int(number)] for number in numbers):
        found = [_COMMENT.fullmatch(line) or kind.line.fullmatch(line.rstrip()) for line in text.split("\n")]
        named = [one for one in found if one is not None and "secret" in one.groupdict()]
        if None in found or not named:
            continue
        if kind.sure or any(looks_typed(one["secret"]) for one in named):
            return "\n".join(_entry(one, hide) for one in found if one is not None)
    return None


def _entry(found: re.Match[str], hide: Hide) -> str:
    if "secret" not in found.groupdict() or not is_secret("secret", found["secret"]):
        return found.string
    return f"{found['head']}{hide(found['secret'])}{found.groupdict().get('rest') or ''}"


_HEAD = regex(r"\A\s*[\"'`*]*(?P<name>[A-Za-z_][\w ./()-]{0,60}?)[\"'`*]*\s*")
_RULE = regex(r"\A[\s|:+-]*")
_SEPARATORS = ("\t", ";", "|", ",")
_MOST = 100
"""Most columns."""


def in_table(text: str, hide: Hide) -> str:
    """The text of a table (CSV or Markdown) with the columns masked whose headers are names of secrets."""
    start, _, _ = text.lstrip("\n").partition("\n")
    separator = next((one for one in _SEPARATORS if one in start), "")
    if not separator or start.count(separator) > _MOST or len(start) > _LONGEST:
        return text
    heads = [_HEAD.fullmatch(cell) for cell in start.split(separator)]
    sorts: list[Sort] = [sort_of(head["name"].replace(" ", "-")) if head else "" for head in heads]
    edges = separator == "|" and heads and start.strip().strip("|") != start.strip()
    if not any(one in ("password", "secret", "several", "key") for one in sorts):
        return text
    if not all(head or (edges and not start.split(separator)[at].strip()) for at, head in enumerate(heads)):
        return text
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.strip())
    return "\n".join(lines[: first + 1] + [_row(line, separator, sorts, hide) for line in lines[first + 1 :]])


_LONGEST = 2000


def _row(line: str, separator: str, sorts: Sequence[Sort], hide: Hide) -> str:
    if _RULE.fullmatch(line):
        return line
    cells = re.findall(rf"(?:^|(?<={re.escape(separator)}))(?:[ ]?\"[^\"\n]*\"|[^{re.escape(separator)}]*)", line)
    if len(cells) != len(sorts):
        return line
    return separator.join(_cell(cell, sort, hide) for cell, sort in zip(cells, sorts, strict=True))


def _cell(cell: str, sort: Sort, hide: Hide) -> str:
    inner = cell.strip(" \r\"'`")
    if sort not in ("password", "secret", "several", "key") or not inner or not is_secret(sort, inner):
        return cell
    return cell.replace(inner, hide(inner))
