"""The form of random values: keys of checksums and stamps, hashes, generated names."""

from __future__ import annotations

import posixpath
import re
from datetime import UTC, datetime
from typing import Literal

from argolint import Json, ResourceId
from argolint.redaction import stand_in
from argolint.values import index_of, split_pointer
from argolint.values.patterns import regex

Kind = Literal["secret", "checksum", "stamp", "ca-bundle", "config", "name", "value", "order"]

# Tested on 232 rendered pod-annotation keys of 641 charts: all 184 checksum keys match, no other key does.
_CHECKSUM_KEY = regex(
    r"(?i)(?:^|[./_-])check-?sums?(?:[./_-]|$)|config-?check-?sum$|(?:^|[./_-])(?:sha(?:1|256|512)?(?:sum)?|md5(?:sum)?)$"
    r"|(?:^|[./_-])hash$|[a-z](?:Checksum|Hash|Sha256)$"
)

_NOT_CHECKSUM = regex(r"^(?:pod-template-hash|controller-revision-hash)$")

_CHECKSUM_VALUE = regex(r"^(?:(?:sha(?:1|256|512)|md5)[:-])?(?:[0-9a-f]{4,128}|[0-9]{6,10})$")

_STAMP_KEY = regex(
    r"(?i)^(?:roll-?me(?:[./_-].*)?|random(?:-annotation)?|(?:.*[./_-])?(?:timestamp|date|restarted-?at|deployed-?at"
    r"|deploy-?(?:date|time)|last-update(?:d)?|password-last-update))$"
)

_CA_BUNDLE = regex(r"/(?:clientConfig|spec)/caBundle$")

_PLACEHOLDER_CA = ("", "Cg==", "Cgo=")

_EMPTY_HASHES = ("e3b0c44298fc1c149afb", "01ba4719c80b6fe911b0", "da39a3ee5e6b4b0d3255", "d41d8cd98f00b204e980")
"""sha256 of an empty text and of a line feed, sha1 and md5 of an empty text: the hashed template renders nothing."""

_WORD = regex(r"^[A-Za-z0-9+/=_.:-]{5,}$")

_GENERATED_KEY = regex(
    r"(?i)pass(?:w|phrase)|secret|token|cookie|salt|private|fernet|encrypt|signing|jwt|hmac|tls\.|\.key$|\.crt$|ca\.|cert"
    r"|cluster-id|htpasswd|auth|key"
)

GENERIC = frozenset(
    [
        "secret",
        "secrets",
        "credentials",
        "config",
        "configmap",
        "configuration",
        "cm",
        "data",
        "tls",
        "env",
        "envs",
        "checksum",
        "hash",
    ]
)
"""Names of checksums without the name of the hashed object."""


def classify(id_: ResourceId, pointer: str, desired: Json, live: Json) -> Kind | None:
    """The kind of two values of one field, if charts fill it with hashes, stamps or random values; else None."""
    kind = id_.kind if id_.group in ("", "batch") else ""
    tokens = split_pointer(pointer)
    if not (isinstance(desired, str) and isinstance(live, str)) or len(tokens) < 2:
        return None
    key, parent = tokens[-1], tokens[-2]
    if kind == "Secret" and tokens[0] in ("data", "stringData"):
        return "secret"
    if kind == "ConfigMap" and tokens[0] in ("data", "binaryData"):
        return "config"
    if parent in ("annotations", "labels"):
        if (
            _CHECKSUM_KEY.search(key)
            and not _NOT_CHECKSUM.match(key)
            and all(map(_CHECKSUM_VALUE.match, (desired, live)))
        ):
            return "checksum"
        return "stamp" if _STAMP_KEY.match(key) else None
    if _CA_BUNDLE.search(pointer):
        return None if desired in _PLACEHOLDER_CA or live in _PLACEHOLDER_CA else "ca-bundle"
    if (index_of(parent) is not None and key == "value" and "env" in tokens) or (
        kind == "CronJob" and key == "schedule"
    ):
        return "value" if look_alike(desired, live) or key == "schedule" else None
    return None


def unusual_kind(pointer: str) -> Kind:
    """The kind of a random text whose field has no usual name: a pod annotation is a stamp, all else a plain value."""
    return "stamp" if "/template/metadata/annotations/" in pointer else "value"


def is_often_generated(key: str) -> bool:
    """Whether charts often generate the value of such a key."""
    return bool(_GENERATED_KEY.search(key))


def look_alike(one: str, other: str) -> bool:
    """Whether two texts look like two results of one random expression: same length, letters and digits, most of them different."""
    one, other = stand_in(one), stand_in(other)
    if not (_WORD.match(one) and _WORD.match(other) and len(one) == len(other)):
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) * 2 > len(one)


_BREAK = regex(r"[\s\"'`,;(){}\[\]<>|]+")
_PART = regex(r"[=:/@&?#.-]")

_GO_TIME = regex(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} \w+(?: m=[+-][\d.]+)?")

TIME = regex(
    r"20\d\d-[01]\d-[0-3]\d(?:[Tt_-]?[0-2]\d[:-]?[0-5]\d(?:[:-]?[0-5]\d)?(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?)?"
    r"|20\d\d[01]\d[0-3]\d(?:[Tt_-]?[0-2]\d[0-5]\d(?:[0-5]\d)?[Zz]?)?|1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?"
)

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY = rf"(?:20\d\d[-/.][01]\d[-/.][0-3]\d|[0-3]?\d[-/.][01]?\d[-/.]20\d\d|[0-3]?\d[ -]{_MONTH}[ -](?:20)?\d\d|{_MONTH} {{1,2}}[0-3]?\d(?:,? 20\d\d)?)"
_ZONE = r"(?:Z|[A-Z]{3,4}|[+-]\d\d:?\d\d)"
_CLOCK = r"[0-2]?\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?"
_WRITTEN_TIME = regex(
    rf"(?<![\w.])(?:[A-Z][a-z]+,? )?{_DAY}(?:(?:[T_]|,? )(?:{_ZONE} )?{_CLOCK}(?: ?{_ZONE}){{0,2}}(?: 20\d\d)?)?\b|\b{_CLOCK} ?{_ZONE}?,? {_DAY}\b|\b[0-2]\d:[0-5]\d:[0-5]\d\b"
)
"""A day, a time of day or both, in the layouts that people give to Go's `date`: `2026-04-16 UTC 20:55:12`, `Thu, 16 Apr 2026 20:55:12 UTC`."""

_MOMENT = regex(
    r"\b(20\d\d-?[01]\d-?[0-3]\d)[Tt _-]?([0-2]\d):?([0-5]\d)(?::?([0-5]\d))?(?:\.\d+)?(?: ?(Z|[+-]\d\d:?\d\d))?\b|\b(1[5-9]\d{8})(?:\d{3}|\d{6}|\d{9})?\b"
)
"""A time to the minute at least: day, hour, minute, second, zone; or seconds since 1970."""

_UUID = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_PEM = regex(
    r"-----BEGIN ([A-Z0-9 ]+)-----(?:(?!-----BEGIN).)+?-----END \1-----|\bLS0tLS1CRUdJTi[A-Za-z0-9+/]+=*", re.DOTALL
)
"""Certificates and keys, in PEM and in base64."""

_SALTED_HASH = regex(r"\$(?:2[abxy]|apr1|5|6)\$")


def are_both_random(one: str, other: str, *, hashes: bool = True) -> bool:
    """Whether two texts differ only in random words and times, so that no setting explains the difference.

    `hashes` also accepts hexadecimal words, UUIDs and times as random: only if no commit is between the texts, since that may name another
    commit, image or build.
    """
    if one == other:
        return False
    one, other = stand_in(one), stand_in(other)
    if hashes:
        one, other = (_PEM.sub("PEM", _WRITTEN_TIME.sub("TIME", _GO_TIME.sub("TIME", text))) for text in (one, other))
        if one == other:
            return True
    first, second = _BREAK.split(one), _BREAK.split(other)
    if len(first) != len(second):
        return False
    differing = [_unshared_parts(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return bool(differing) and all(_are_random_words(a, b, hashes=hashes) for a, b in differing)


def moved_times(one: Json, other: Json) -> tuple[tuple[datetime, datetime], ...]:
    """The times, in pairs, that alone differ in two texts; a time without a zone is taken as UTC. Empty if anything else differs."""
    if not (isinstance(one, str) and isinstance(other, str)) or one == other:
        return ()
    one, other = stand_in(one), stand_in(other)
    if _MOMENT.sub("", one) != _MOMENT.sub("", other):
        return ()
    try:
        times = [tuple(map(_moment, _MOMENT.finditer(text))) for text in (one, other)]
    except ValueError:
        return ()
    return tuple((a, b) for a, b in zip(*times, strict=True) if a != b)


def _moment(found: re.Match[str]) -> datetime:
    day, hour, minute, second, zone, unix = found.groups()
    if unix:
        return datetime.fromtimestamp(int(unix), UTC)
    offset = "+0000" if zone in (None, "Z") else zone.replace(":", "")
    return datetime.strptime(f"{day.replace('-', '')}{hour}{minute}{second or '00'}{offset}", "%Y%m%d%H%M%S%z")


def is_go_time(text: str) -> bool:
    """Whether a text is Go's output of `now` without a format; people do not write a time in this form."""
    return bool(_GO_TIME.fullmatch(text))


def _unshared_parts(one: str, other: str) -> tuple[str, str]:
    """Two words without their common parts up to a separator: `redis://:Xy3k@cache` and `redis://:Q8fa@cache` as `Xy3k`, `Q8fa`."""
    if any(shape.fullmatch(one) and shape.fullmatch(other) for shape in (TIME, _UUID)):
        return one, other
    start = max((m.end() for m in _PART.finditer(posixpath.commonprefix([one, other]))), default=0)
    tail = posixpath.commonprefix([one[start:][::-1], other[start:][::-1]])
    end = max((m.end() for m in _PART.finditer(tail)), default=0)
    return one[start : len(one) - end], other[start : len(other) - end]


def _are_random_words(one: str, other: str, *, hashes: bool) -> bool:
    if _SALTED_HASH.match(one) and _SALTED_HASH.match(other):
        return True
    if hashes and any(shape.fullmatch(one) and shape.fullmatch(other) for shape in (TIME, _UUID)):
        return True
    if len(one) != len(other) or len(one) < (5 if hashes else 8) or not (_is_mixed(one) and _is_mixed(other)):
        return False
    if not hashes and re.fullmatch(r"(?i)[0-9a-f-]+", one + other):
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) > len(one) * (0.5 if hashes else 0.8)


def _is_mixed(word: str) -> bool:
    """Whether it has letters among digits, or capitals inside: no word of a language, no number, no version."""
    if not re.fullmatch(r"[A-Za-z0-9+/=_-]+", word):
        return False
    digits, capitals, small = (re.search(c, word) is not None for c in ("[0-9]", ".[A-Z]", "[a-z]"))
    return (digits and (small or re.search("[A-Z]", word) is not None)) or (capitals and small) or len(word) >= 24


def are_random_suffixes(one: str, other: str) -> bool:
    """Whether two suffixes of names are random letters and digits, or times to the minute: no content hash, version or commit."""
    if TIME.fullmatch(one) and TIME.fullmatch(other):
        return len(one) >= 10
    letters = all(re.fullmatch(r"[a-z0-9]{5,}", end) and re.search(r"[g-z]", end) for end in (one, other))
    return letters and any(re.search(r"[0-9]", end) for end in (one, other)) and look_alike(one, other)


def differ_only_at_end(one: str, other: str) -> bool:
    """Whether two texts are equal except for the last part, which has the same length."""
    head, _, tail = one.rpartition("-")
    head_2, _, tail_2 = other.rpartition("-")
    return bool(head) and head == head_2 and len(tail) == len(tail_2) >= 2


def checksum_name(key: str) -> str:
    """`checksum/webserver-secret-key` as `webserver-secret-key`."""
    tail = key.rpartition("/")[2].lower().replace("_", "-")
    return re.sub(r"^check-?sum-|-?check-?sum$|-hash$|-sha256$", "", tail)


def is_checksum(key: str, value: str) -> bool:
    """Whether an annotation is the checksum of something that is not empty."""
    return bool(_CHECKSUM_KEY.search(key) and _CHECKSUM_VALUE.match(value)) and not value.startswith(_EMPTY_HASHES)


def is_version_label(pointer: str) -> bool:
    """Whether a field is a label with the version of a chart or of its program."""
    *_, parent, key = ("", *split_pointer(pointer))
    return parent == "labels" and key in ("helm.sh/chart", "chart", "app.kubernetes.io/version")
