"""What random values look like: keys of checksums and stamps, hashes, generated names."""

from __future__ import annotations

import re
from typing import Literal

from argolint import Json, ResourceId
from argolint.values import split_pointer

Kind = Literal["secret", "checksum", "stamp", "ca-bundle", "config", "name", "value"]

# Tested on 232 rendered pod-annotation keys of 641 charts: all 184 checksum keys match, no other key does.
_CHECKSUM_KEY = re.compile(
    r"(?i)(?:^|[./_-])check-?sums?(?:[./_-]|$)|config-?check-?sum$|(?:^|[./_-])(?:sha(?:1|256|512)?(?:sum)?|md5(?:sum)?)$"
    r"|(?:^|[./_-])(?:[a-z]+-)*hash$|[a-z](?:Checksum|Hash|Sha256)$"
)

_NOT_CHECKSUM = re.compile(r"^(?:pod-template-hash|controller-revision-hash)$")

_CHECKSUM_VALUE = re.compile(r"^(?:(?:sha(?:1|256|512)|md5)[:-])?(?:[0-9a-f]{4,128}|[0-9]{6,10})$")

_STAMP_KEY = re.compile(
    r"(?i)^(?:roll-?me(?:[./_-].*)?|random(?:-annotation)?|(?:.*[./_-])?(?:timestamp|date|restarted-?at|deployed-?at"
    r"|deploy-?(?:date|time)|last-update(?:d)?|password-last-update))$"
)

_CA_BUNDLE = re.compile(r"/(?:clientConfig|spec)/caBundle$")

_PLACEHOLDER_CA = ("", "Cg==", "Cgo=")

_EMPTY_HASHES = ("e3b0c44298fc1c149afb", "01ba4719c80b6fe911b0", "da39a3ee5e6b4b0d3255", "d41d8cd98f00b204e980")
"""sha256 of nothing and of a line feed, sha1 and md5 of nothing: the hashed template renders nothing."""

_WORD = re.compile(r"^[A-Za-z0-9+/=_.:-]{5,}$")

_GENERATED_KEY = re.compile(
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
"""Names of checksums that do not say which object they hash."""


def classify(id_: ResourceId, pointer: str, desired: Json, live: Json) -> Kind | None:
    """What two values of one field are, when it is a field that charts fill with hashes, stamps or random values."""
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
    if (parent.isdigit() and key == "value" and "env" in tokens) or (kind == "CronJob" and key == "schedule"):
        return "value" if alike(desired, live) or key == "schedule" else None
    return None


def generated(key: str) -> bool:
    """Whether charts like to generate what stands under such a key."""
    return bool(_GENERATED_KEY.search(key))


def alike(one: str, other: str) -> bool:
    """Two draws of one random expression: same length, letters and digits, most of them different."""
    if not (_WORD.match(one) and _WORD.match(other) and len(one) == len(other)):
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) * 2 > len(one)


def twins(one: str, other: str) -> bool:
    """Equal but for the last part, which has one length."""
    head, _, tail = one.rpartition("-")
    head_2, _, tail_2 = other.rpartition("-")
    return bool(head) and head == head_2 and len(tail) == len(tail_2) >= 2


def word(key: str) -> str:
    """`checksum/webserver-secret-key` as `webserver-secret-key`."""
    tail = key.rpartition("/")[2].lower().replace("_", "-")
    return re.sub(r"^check-?sum-|-?check-?sum$|-hash$|-sha256$", "", tail)


def is_checksum(key: str, value: str) -> bool:
    """Whether an annotation holds the checksum of something that is not empty."""
    return bool(_CHECKSUM_KEY.search(key) and _CHECKSUM_VALUE.match(value)) and not value.startswith(_EMPTY_HASHES)
