"""Masks of secrets in a snapshot: a keyed hash, and enough of the value's shape to recognize a generated value.

    masked-3f2a91c07be4        any value
    masked-3f2a91c07be4-rqk    a random word (r; x: of hexadecimal digits, u: a UUID, s: a salted hash, p: a PEM block, w: any other
                               word) and its length, as two letters with a start that depends on the key

Equal values have equal masks. The stand-ins of two different masks still show whether both values may come from the same random
expression, as `nondeterministic-*` needs.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
import string
from functools import lru_cache

from argolint.values.patterns import regex

MASK = regex(r"\bmasked-(?P<hash>[0-9a-f]{12})(?:-(?P<shape>[a-z])(?P<length>[a-z]{2}))?(?![0-9a-z])")

_SHAPES = {
    "p": regex(r"\A\s*-----BEGIN [A-Z0-9 ]+-----.*", re.DOTALL),
    "s": regex(r"\$(?:2[abxy]|apr1|5|6)\$\S+"),
    "u": regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "x": regex(r"(?i)\A(?=.*[0-9])(?=.*[a-f])[0-9a-f-]{5,}"),
    "r": regex(
        r"\A(?:(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])|(?=.[^A-Z]*[A-Z])(?=[^a-z]*[a-z])|(?=.{24}))[A-Za-z0-9+/=_-]{5,}"
    ),
    "w": regex(r"[A-Za-z0-9+/=_.:-]{5,}"),
}


def mask(value: str, key: bytes) -> str:
    """The mask of a value with this key."""
    digest = _keyed(value.encode("utf-8", "surrogatepass"), key)
    shape = next((letter for letter, form in _SHAPES.items() if form.fullmatch(value)), "")
    return f"masked-{digest[:12]}" + (shape and f"-{shape}{_length(value, key)}")


def _length(value: str, key: bytes) -> str:
    """Two letters: the length, with a start that depends on the key."""
    start = int(_keyed(b"length", key)[:8], 16)
    return "".join(string.ascii_lowercase[(start + part) % 26] for part in (len(value), len(value) // 26))


@lru_cache(maxsize=4096)
def slow_mask(value: str, salt: str) -> str:
    """The mask of a value if no key can be shared: it takes some 20 ms, and so does every guess."""
    digest = hashlib.pbkdf2_hmac("sha256", value.encode("utf-8", "surrogatepass"), salt.encode(), 60_000)
    return f"masked-{digest.hex()[:12]}"


def agrees(masked: str, clear: str) -> bool:
    """Whether the masked text may come from the clear one: everything between the masks is equal."""
    ends = [found.span() for found in MASK.finditer(masked)]
    if not ends:
        return masked == clear
    first, last = masked[: ends[0][0]], masked[ends[-1][1] :]
    if len(clear) <= len(first) + len(last) or not (clear.startswith(first) and clear.endswith(last)):
        return False
    at, end = len(first), len(clear) - len(last)
    for (_, start), (stop, _) in itertools.pairwise(ends):
        found = clear.find(masked[start:stop], at + 1, end)
        if found < 0:
            return False
        at = found + stop - start
    return at < end


def _keyed(value: bytes, key: bytes) -> str:
    return hmac.new(key, value, hashlib.sha256).hexdigest()


def stand_in(text: str) -> str:
    """The text with each mask replaced by a made-up value of its shape: different masks get different values, equal lengths stay equal."""
    return MASK.sub(_made_up, text) if "masked-" in text else text


def _made_up(found: re.Match[str]) -> str:
    hexes = hashlib.sha512(found["hash"].encode()).hexdigest()
    match found["shape"]:
        case "p":
            return f"-----BEGIN PRIVATE KEY-----\n{hexes}\n-----END PRIVATE KEY-----"
        case "s":
            return f"$2a$10${hexes[:53]}"
        case "u":
            return f"{hexes[:8]}-{hexes[8:12]}-{hexes[12:16]}-{hexes[16:20]}-{hexes[20:32]}"
        case "x":
            return _word(hexes, _LONGEST_WORDS + _number(found["length"]), string.hexdigits[:16])
        case "r":
            return _word(hexes, _LONGEST_WORDS + _number(found["length"]), string.ascii_letters + string.digits)
        case "w":
            return _word(hexes, _SHORTEST_WORDS + _number(found["length"]) % 19, string.ascii_lowercase)
    return _word(hexes, _SHORTEST_WORDS - 1, string.ascii_lowercase)


_SHORTEST_WORDS, _LONGEST_WORDS = 5, 24
"""Below the first number of letters, a word is too short to decide; above the second, anything looks random."""


def _number(length: str) -> int:
    first, second = (ord(letter) - ord("a") for letter in length)
    return 26 * second + first


def _word(hexes: str, count: int, alphabet: str) -> str:
    source = hexes * (count // 64 + 1)
    return "".join(alphabet[int(source[2 * i : 2 * i + 2], 16) % len(alphabet)] for i in range(count))
