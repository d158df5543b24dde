"""Finds the names in a sentence: marked by quotes, by a kind before them, by a namespace or a host around them.

An unmarked word is no name: an object may be called `default` or `error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from argolint.values.patterns import regex

_LONGEST = 8_000
"""Most characters of a sentence that are read from each end: the relevant part is at its beginning or its end."""
_MOST = 60
"""Most names of one sentence that are looked up."""
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?"
_HOST = regex(r"(?<![\w.-])([a-z0-9][a-z0-9-]{0,62})\.([a-z0-9][a-z0-9-]{0,62})\.svc(?![\w-])")
_TOKEN = regex(
    rf"(?P<open>[\"'`(\[/=]?)(?:(?P<space>[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?)/)?(?P<name>{_NAME})(?P<close>[\"'`)\]]?)"
)
_LINK = frozenset({"a", "an", "the", "with", "name", "named", "called", "object", "resource", "of", "by"})
"""Words that may be between a kind and a name."""
_WORD = regex(r"[A-Za-z][\w.-]*")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a sentence.

    kinds      words before it that may be its kind, normalized (`kind_word`), the nearest first
    namespace  from `namespace/name`, or from a host; empty if the sentence has none
    marked     it is in quotes or brackets
    """

    name: str
    kinds: tuple[str, ...] = ()
    namespace: str = ""
    marked: bool = False


def kind_word(word: str) -> str:
    """A normalized kind: `network-attachment-definitions.k8s.cni.cncf.io` and `NetworkAttachmentDefinition` are equal."""
    bare = word.partition(".")[0].replace("-", "").lower()
    for end, instead in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if (bare.endswith(end) and not bare.endswith("ss")) or (end == "sses" and bare.endswith(end)):
            return bare[: len(bare) - len(end)] + instead
    return bare


@lru_cache(maxsize=1024)
def mentions(text: str) -> tuple[Mention, ...]:
    """The names in a sentence, each once, in its order. Hosts of Services come first."""
    read = text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\n{text[-_LONGEST:]}"
    found: dict[Mention, None] = {}
    for host in _HOST.finditer(read):
        found[Mention(host[1], ("service",), host[2], marked=True)] = None
    before: list[str] = []
    for token in _TOKEN.finditer(read):
        name, space = token["name"], token["space"] or ""
        marked = bool(token["open"]) and bool(token["close"])
        kinds = tuple(kind_word(word) for word in reversed(before) if word.lower() not in _LINK)[:2]
        if token["open"] == "/" and before:  # Kind/name
            kinds = (kind_word(before[-1]), *kinds)
        if space:
            kinds = (kind_word(space), *kinds)  # kind/name or namespace/name: the look-up decides
        found[Mention(name, kinds, space, marked)] = None
        before = [*before[-3:], name] if _WORD.fullmatch(name) else before[-3:]
        if len(found) >= _MOST * 8:
            break
    return tuple(found)
