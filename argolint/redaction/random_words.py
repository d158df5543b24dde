"""Masks random-looking words anywhere, unless their name shows that they are no secret.

Names and forms identify most secrets, but every product has its own names. Secrets have in common that they are generated: letters and
digits alternate as in no word, name or version. Harmless values of this look are identifiers, digests or certificates, and have such names.

As in `forms`, every regular expression takes linear time.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from argolint.redaction.forms import Hide
from argolint.redaction.names import parts, word_set
from argolint.values.patterns import regex

_TAIL = r"[A-Za-z0-9_!^~$#*+-]"
_HINT = regex(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])(?=[a-z0-9]{0,40}[A-Z])[A-Za-z0-9]{8}|[A-Za-z0-9+/]{24}|[A-Z0-9]{4}-[A-Z0-9]{4}"
)
_BASE64 = regex(r"(?<![A-Za-z0-9+/])(?!/)(?=[A-Za-z0-9]{0,200}[+/])[A-Za-z0-9+/]{24,}={0,2}")
_WORD = regex(
    rf"(?:(?<=[=:])|(?<=[=:][ \"'])|(?<![\s\S]))(?P<hex>(?:[0-9a-f]{{16}}){{3,8}}(?![0-9A-Za-z]))"
    rf"|(?P<mixed>(?<![A-Za-z0-9_!^~$#*+-])(?=[a-z0-9_~$#*+-]{{0,80}}[A-Z!^])(?=[A-Za-z_!^~$#*+-]{{0,80}}[0-9]){_TAIL}{{8,}}={{0,2}})"
    r"|(?P<small>(?<![A-Za-z0-9])(?=[a-z]{0,24}[0-9])[a-z0-9]{24,}(?![A-Za-z0-9]|\.[a-z]))"
)
_RUN = regex(r"[A-Za-z0-9]{8,}")
_PART = regex(
    r"v\d+(?:alpha\d+|beta\d+)?(?![a-z])|[kK]8s|[sS]3|[eE][cC]2|[iI][pP]v[46]|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
)
_SIGNS = regex(r"[A-Za-z0-9_-][!^$*](?=[A-Za-z0-9_-])|[A-Za-z0-9]!\Z")
_GROUPS = regex(
    r"(?=(?:[A-Z0-9-]{0,40}?(?<![A-Z0-9])(?:[A-Z]{1,7}[0-9]|[0-9]{1,7}[A-Z])){2})([A-Z0-9]{4,8})(?:-[A-Z0-9]{4,8}){2,}"
)
"""`A1B2C-D3E4F-G5H6I`, the form of license keys."""
_PUBLIC = regex(
    r"-----BEGIN (?:(?:TRUSTED |X509 )?CERTIFICATE(?: REQUEST)?|X509 CRL|(?:RSA |SSH2? )?PUBLIC KEY|PGP (?:PUBLIC KEY BLOCK|SIGNATURE|SIGNED MESSAGE)|PKCS7)-----"
    r"[^-]*(?:-(?!----)[^-]*)*"
    r"|(?<![A-Za-z0-9+/])(?:LS0tLS1CRUdJTiB(?:DRVJU|QVUJM|SU0EgUFVC|YNTA5|QR1AgUFVC|UUlVTVEVE)|MII(?![A-Za-z0-9+/]{2}gIBAz)|AAAA[A-Z][23]N|AAAAE2Vj)[A-Za-z0-9+/]*={0,2}"
)
"""Certificates and public keys, and the base64 of such; `MII…gIBAz` is a PKCS #12 keystore."""
_MAY_BE_PUBLIC = regex("-----BEGIN|LS0tLS1C|MII|AAAA")
_COUNTED = regex(
    r"(?<![0-9A-Za-z])(?:01[0-9A-HJKMNP-TV-Z]{24}|01[0-9a-hjkmnp-tv-z]{24})(?![0-9A-Za-z])|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?<![0-9A-Za-z])(?:19|20)\d{6}[Tt]\d{4,9}[Zz]?(?![0-9A-Za-z])"
)
_CODE, _DATE = regex(r"[A-Z]{1,7}[0-9]+|[0-9A-F]+"), regex(r"(?:19|20)\d\d(?:\d\d){0,5}|\d{1,2}(?:0{3,})?")
_SIZES = frozenset(
    ("128", "160", "192", "224", "256", "384", "512", "521", "1024", "2048", "3072", "4096", "8192", "25519")
)
_OPEN = word_set(
    "id ids uid uids guid guids uuid arn arns sha md thumbprint etag revision revisions version versions"
    " commit commits tag tags image images crt cert certs certificate certificates ca cabundle bundle chain kid x5c x5t integrity"
    " name names kind reason group pattern regex cipher ciphers suites curves algorithm algorithms selector namespace time timestamp"
    " host hosts hostname domain path paths file branch chart repo"
)
"""Last words of names for identifiers, names and public values."""
_PLACES = word_set("host hosts hostname domain path paths file branch chart repo")
"""Words of `_OPEN` for locations, whose values are never one long word of letters and digits."""
_DIGESTS = word_set("checksum checksums digest digests hash fingerprint fingerprints")
_CALLED = regex(
    r"(?<![A-Za-z])(?P<name>[A-Za-z][\w./~-]{0,80})(?:[\"'\\]{0,4}\s{0,8}[:=]\s{0,8}|@)[\"'\\]{0,4}\Z|\b(?:item|record|vault|project|folder|uid|id) [\"']?\Z|(?:\barn:|\bsha\d{1,3}[-:])[^\s\"']{0,200}\Z|(?:\A|[\s\"'=(,\[])(?:~|\.{1,2})?/(?:[\w.@+-]{1,100}/){0,20}\Z"
)
"""The name in the text before a word."""
_BEFORE = 100


@lru_cache(maxsize=16384)
def is_open(name: str) -> bool:
    """Whether a value of this name may look random without being a secret: an identifier, a digest, a version, something public."""
    found = [part for part in parts(name[-_BEFORE:]) if not part.isdigit()]
    return bool(found) and (found[-1] in _OPEN or not _DIGESTS.isdisjoint(found))


def is_place(name: str) -> bool:
    """Whether this is the name of a location."""
    return parts(name[-_BEFORE:])[-1:] in {(word,) for word in _PLACES}


def may_stand_in(text: str) -> bool:
    """A cheap test: False for a text without any random-looking word."""
    return len(text) >= _SHORTEST_WORD and ("!" in text or "^" in text or _HINT.search(text) is not None)


def in_text(text: str, hide: Hide) -> str:
    """The text with random-looking words masked."""
    if not may_stand_in(text):
        return text
    return _each(_WORD, _each(_BASE64, text, hide), hide)


def _each(pattern: re.Pattern[str], text: str, hide: Hide) -> str:
    public = [found.span() for found in _PUBLIC.finditer(text)] if _MAY_BE_PUBLIC.search(text) else []

    def word(found: re.Match[str]) -> str:
        start = found.start()
        if not _is_random(found) or any(at <= start < end for at, end in public):
            return found[0]
        called = _CALLED.search(text, max(0, start - _BEFORE), start)
        return found[0] if called and (called["name"] is None or is_open(called["name"])) else hide(found[0])

    return pattern.sub(word, text)


def _is_random(found: re.Match[str]) -> bool:
    """Whether letters and digits of this word alternate by chance; UUIDs, ULIDs, KSUIDs and times in it are ignored."""
    word = _KSUID.sub(lambda one: "" if _has_time(one[0]) else one[0], _COUNTED.sub("", found[0]))
    match found.lastgroup:
        case "hex":
            return len(set(word)) >= _VARIED
        case "small":
            varied = len(re.findall("[0-9]", word)) >= _FEW and not re.fullmatch("[0-9a-f]+", word)
            return varied and _length_of_parts(word) < _SMALL
        case "mixed":
            if any(_is_mixed(run) for run in _RUN.findall(word)) or _GROUPS.fullmatch(word):
                return True
            signed = _SIGNS.search(word) and word[0] not in "^!" and word[-1] != "$"
            return bool(signed and re.search("[0-9]", word)) and _length_of_parts(word) < _MIXED
    if re.search(r"(?:^|/)[0-9a-f]{32,}(?:/|$)", word):
        return False  # a path with a revision in it
    return bool(re.search("[a-z]", word) and re.search("[A-Z]", word)) and _length_of_parts(word) < _SHORT


_KSUID = regex(r"(?<![0-9A-Za-z])[0-9A-Za-z]{27}(?![0-9A-Za-z])")
_SINCE, _UNTIL = 96_000_000, 461_920_000
"""The years of KSUIDs to accept: from June 2017, when they were introduced, to the end of 2028, in KSUID seconds, which count from 1,400,000,000."""
_BASE_62 = {
    letter: place for place, letter in enumerate(string.digits + string.ascii_uppercase + string.ascii_lowercase)
}


def _has_time(word: str) -> bool:
    """Whether the first 4 of the 20 bytes of this base 62 word are a time of these years (segmentio/ksuid)."""
    number = 0
    for letter in word:
        number = number * 62 + _BASE_62[letter]
    return _SINCE <= number >> 128 < _UNTIL


_SHORTEST, _SHORT, _MIXED, _LONG = 2.2, 2.5, 2.7, 12
"""Upper limits of the mean length of letter and digit runs in a random word, from 8, 10 and 12 letters on: a longer word gives more evidence."""
_SHORTEST_WORD, _VARIED, _LONGEST_CODE, _FEW, _SMALL, _LONGEST_WORD = 8, 10, 15, 4, 3.2, 20


def _is_mixed(run: str) -> bool:
    if not re.search("[0-9]", run) or not re.search("[A-Z]", run):
        return len(run) > 30 and bool(re.search("[A-Z]", run)) and _length_of_parts(run) < 2
    if _CODE.fullmatch(run) and len(run) <= _LONGEST_CODE:
        return False
    most = (
        _SMALL
        if len(run) >= _LONGEST_WORD
        else _MIXED
        if len(run) >= _LONG
        else _SHORT
        if len(run) >= _VARIED
        else _SHORTEST
    )
    if _length_of_parts(run) < most:
        return not re.fullmatch("[0-9A-F]+", run)
    numbers = [one for one in re.findall("[0-9]+", run) if one not in _SIZES and not _DATE.fullmatch(one)]
    return len(run) >= _LONG and not re.search("[a-z]", run) and not re.fullmatch("[0-9A-F]+", run) and bool(numbers)


def _length_of_parts(word: str) -> float:
    found = _PART.findall(word)
    return sum(map(len, found)) / len(found) if found else _LONG
