"""Small total functions over decoded JSON: pointers, times, metadata, printable values.

Decoded JSON has only dicts and lists; testing for these instead of Mapping is several times as fast.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Any
from urllib.parse import unquote

import msgspec

from argolint.host.plain_text import plain as plain  # rules may import this room, not `host`
from argolint.model import MISSING, Json, Object
from argolint.values.decoding import json_value
from argolint.values.patterns import regex


@lru_cache(maxsize=4096)
def split_pointer(pointer: str) -> tuple[str, ...]:
    """The tokens of an RFC 6901 pointer, unescaped; none for the empty pointer."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


@lru_cache(maxsize=16384)
def join_pointer(*tokens: str | int) -> str:
    """The RFC 6901 pointer of these tokens, escaped."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def common_pointer(pointers: Sequence[str]) -> str:
    """The deepest place that contains all of them; a single pointer contains itself."""
    tokens = zip(*map(split_pointer, pointers), strict=False)
    return join_pointer(*(same[0] for same in takewhile(lambda same: len(set(same)) == 1, tokens)))


_INDEX = regex(r"0|[1-9][0-9]{0,8}")
_INTEGER = regex(r"[+-]?[0-9]{1,18}")


def index_of(token: str) -> int | None:
    """The list index in a pointer's token (RFC 6901: ASCII digits without leading zeros); None for any other token."""
    return int(token) if _INDEX.fullmatch(token) else None


def integer(text: Any) -> int | None:
    """The decimal integer in a text; None for any other text, and for more than 64 bits."""
    return int(text) if isinstance(text, str) and _INTEGER.fullmatch(text) else None


def below(pointer: str, other: str) -> bool:
    """True if `pointer` equals `other` or is below it. The empty pointer is the whole object: everything is below it."""
    return not other or pointer == other or pointer.startswith(f"{other}/")


def at_and_above(pointer: str) -> Iterator[str]:
    """The pointer and all its parents, up to the empty one of the whole object."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]
    yield ""


def fits(pattern: str, pointer: str) -> bool:
    """True if the pattern matches the pointer: `*` is one token, `**` any number of them."""
    return _fits(split_pointer(pattern), split_pointer(pointer))


def _fits(pattern: tuple[str, ...], tokens: tuple[str, ...]) -> bool:
    if not pattern:
        return not tokens
    if pattern[0] == "**":
        return any(_fits(pattern[1:], tokens[start:]) for start in range(len(tokens) + 1))
    return bool(tokens) and pattern[0] in ("*", tokens[0]) and _fits(pattern[1:], tokens[1:])


def get(node: Json, pointer: str, default: Json = MISSING) -> Json:
    """The value at an RFC 6901 pointer, or `default`."""
    for token in split_pointer(pointer):
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif isinstance(node, list) and (index := index_of(token)) is not None and index < len(node):
            node = node[index]
        else:
            return default
    return node


# These functions are called most. Each has its own loop: a call of `dig` would take half as much time again.


def dig(node: Json, *path: str) -> Json:
    """The value under these keys; None if a map is missing or is no map."""
    for key in path:
        if not isinstance(node, dict):
            return None
        node = node.get(key)
    return node


def items(node: Json, *path: str) -> tuple[Json, ...]:
    """The list under these keys as a tuple; empty if it is missing, null or no list."""
    for key in path:
        if not isinstance(node, dict):
            return ()
        node = node.get(key)
    return tuple(node) if isinstance(node, list) else ()


def maps(node: Json, *path: str) -> tuple[Object, ...]:
    """The maps in the list under these keys; other items are left out."""
    return tuple(item for item in items(node, *path) if isinstance(item, dict))


def texts(node: Json, *path: str) -> tuple[str, ...]:
    """The texts in the list under these keys; other items become empty texts, so that positions stay."""
    return tuple(item if isinstance(item, str) else "" for item in items(node, *path))


def text_at(node: Json, *path: str) -> str:
    """The text under these keys; empty if it is missing, null or no text."""
    for key in path:
        if not isinstance(node, dict):
            return ""
        node = node.get(key)
    return node if isinstance(node, str) else ""


def number_at(node: Json, *path: str) -> int:
    """The integer under these keys; 0 if it is missing, null or no number."""
    found = dig(node, *path)
    return int(found) if isinstance(found, (int, float)) and math.isfinite(found) else 0


def json_in(text: Any) -> Json:
    """The JSON value in a text of an object, such as an annotation; None if it is no text or no JSON."""
    try:
        return json_value(text) if isinstance(text, str) else None
    except msgspec.MsgspecError:
        return None


_INTEGER = regex(r"[+-]?[0-9]{1,18}")


def mapping(node: Json, *path: str) -> Mapping[str, Any]:
    """The map under these keys; empty if it is missing, null or no map."""
    for key in path:
        if not isinstance(node, dict):
            return {}
        node = node.get(key)
    return node if isinstance(node, dict) else {}


def leaves(node: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    """Every scalar and empty container with its pointer."""
    if isinstance(node, dict) and node:
        for key, child in node.items():
            yield from leaves(child, pointer + join_pointer(key))
    elif isinstance(node, list) and node:
        for index, child in enumerate(node):
            yield from leaves(child, f"{pointer}/{index}")
    else:
        yield pointer, node


def annotations_of(obj: Object | None) -> Mapping[str, str]:
    """metadata.annotations with text values, which the API server requires; never None."""
    return _texts(mapping(obj, "metadata", "annotations"))


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """metadata.labels with text values; never None."""
    return _texts(mapping(obj, "metadata", "labels"))


def _texts(found: Mapping[str, Any]) -> Mapping[str, str]:
    for value in found.values():
        if type(value) is not str:
            break
    else:
        return found
    return {key: value for key, value in found.items() if isinstance(value, str)}


def comma_list(text: Any) -> tuple[str, ...]:
    """The words of a comma list, as in annotations, without spaces around; none if it is no text."""
    return tuple(word for part in text.split(",") if (word := part.strip())) if isinstance(text, str) else ()


def condition(obj: Object | None, kind: str) -> Object | None:
    """The first status condition of that type."""
    return next(
        (c for c in items(obj, "status", "conditions") if isinstance(c, Mapping) and c.get("type") == kind), None
    )


def owner_references(obj: Object | None) -> tuple[Object, ...]:
    """metadata.ownerReferences."""
    return tuple(o for o in items(obj, "metadata", "ownerReferences") if isinstance(o, Mapping))


_FRACTION = regex(r"\.\d+")


_YEARS = range(1970, 2200)


def parse_time(text: Any) -> datetime | None:
    """An RFC 3339 time as aware UTC; None if it is missing, invalid or rejected by `real_time`."""
    if not isinstance(text, str):
        return None
    try:
        return real_time(datetime.fromisoformat(_FRACTION.sub("", text) if "." in text else text))
    except ValueError:
        return None


def real_time(found: datetime | None) -> datetime | None:
    """The time as aware UTC; None for Go's zero time and for years outside of Python's arithmetic."""
    if found is None or found.year not in _YEARS:
        return None
    if found.tzinfo is UTC:
        return found
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


_DURATION = regex(r"(?:(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))++")
_DURATION_PART = regex(r"(?<![0-9.])([0-9.]++)([a-zµμ]++)")
_LONGEST_S = 2**63 / 1e9
"""Go counts nanoseconds in 64 bits, and refuses longer durations."""
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: Any) -> timedelta | None:
    """A Go duration (`1h30m`, `90s`, `0`, `-1s`); None for any other text, including `1d` (Go's time.ParseDuration)."""
    if not isinstance(text, str) or not text:
        return None
    sign, body = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    if body == "0":
        return timedelta()
    if _DURATION.fullmatch(body) is None:
        return None
    seconds = sum(float(number) * _UNIT_S[unit] for number, unit in _DURATION_PART.findall(body))
    return sign * timedelta(seconds=seconds) if seconds <= _LONGEST_S else None


def age_text(age: timedelta) -> str:
    """A time span for people: `45 s`, `12 min`, `3 h`, `5 days`."""
    seconds = int(age.total_seconds())
    for bound, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < bound:
            return f"{seconds // unit} {name}"
    return f"{seconds // 86400} days"


def sh(word: object) -> str:
    """One word of a command to paste, quoted for the shell and without line breaks, whatever it contains (names of RBAC objects, URLs, paths, keys)."""
    return shlex.quote(plain(str(word)))


_VERSION = regex(r"v?([0-9]{1,9}(?:\.[0-9]{1,9})+)(?![0-9])")


def parse_version(text: Any) -> tuple[int, ...] | None:
    """The leading dotted number of a version, for comparisons: `v3.1.0-rc2` is (3, 1, 0). None for a date, a branch, nothing."""
    return _version_of(text) if isinstance(text, str) else None


@lru_cache(maxsize=4096)
def _version_of(text: str) -> tuple[int, ...] | None:
    found = _VERSION.match(text)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def enumerated(words: Sequence[str], noun: str = "", limit: int | None = 3) -> str:
    """A list of words for a sentence: `a`, `a and b`, `a, b and c`, or `a, b, c and 4 more fields` beyond the limit.

    `noun`: what the words name, in the singular; without one it is `and 4 more`.
    """
    shown = list(words[:limit])
    left = len(words) - len(shown)
    if left:
        more = f"{left} more {noun}{'s' if left > 1 else ''}" if noun else f"{left} more"
        return f"{', '.join(shown)} and {more}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def same_repository(one: str, other: str) -> bool:
    """True for the same repository, whatever the protocol, user, port or `.git` (util/git/git.go, NormalizeGitURL)."""
    return bool(one) and bare_address(one) == bare_address(other)


def with_colon(url: str) -> str:
    """The SSH address that `user@host/path` means, which Git itself reads as a local path; empty for any other address."""
    found = _NO_COLON.fullmatch(url)
    return f"{found[1]}:{found[2]}" if found else ""


_NO_COLON = regex(r"([\w.-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9})/([^/\s:][^\s:]{0,500})")


_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Alternative host names of forges, for SSH through a firewall (their documentation)."""


def bare_address(url: str) -> str:
    """Host and path of a repository's URL, the parts that identify the repository."""
    text = unquote(url.strip()).lower().removeprefix("git::").partition("#")[0]
    if "://" in text:
        text = re.sub(r"^[a-z+]+://(?:[^/@]*@)?([^/:]*)(?::\d+)?", r"\1", text)
    else:
        text = re.sub(r"^(?:[^/@]*@)?([^/:]+):", r"\1/", text)
    host, _, path = re.sub(r"/+", "/", text).strip("/").partition("/")
    path = posixpath.normpath(f"/{path}").strip("/").removesuffix(".git").strip("/")  # normalized as curl does
    if host == "ssh.dev.azure.com" and path.count("/") == 3:
        _, organization, project, name = path.split("/")
        return f"dev.azure.com/{organization}/{project}/_git/{name}"
    host = host.rstrip(".").removeprefix("www.")
    return f"{_HOSTS.get(host, host)}/{path}".rstrip("/")


def may_be_host(one: str, other: str) -> bool:
    """True for the same host; a short and a full name may match (`git`, `git.example.com`, `ssh.git.example.com`)."""
    short, long = sorted((one, other), key=len)
    return bool(short) and (short == long or long.startswith(f"{short}.") or long.endswith(f".{short}"))


def shorten(text: str, limit: int) -> str:
    """The text with at most `limit` characters; an ellipsis marks a cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def joined(*remarks: str) -> str:
    """The non-empty remarks, joined by semicolons."""
    *first, last = filter(None, remarks) if any(remarks) else ("",)
    return "; ".join((*(remark.rstrip(".") for remark in first), last))
