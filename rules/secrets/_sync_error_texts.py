"""Error texts of External Secrets and of its providers: their meaning, and the selection of those of the present failure.

The meanings are data: rules/shared/messages/external-secrets*.yaml, and `conditions` and `envelopes` of sync_texts.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, lru_cache

from argolint import App, Event, Resource
from argolint.messages import telling
from argolint.redaction import HIDDEN, agrees, without_secrets
from argolint.values import parse_time, plain
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from ..shared.messages import catalogue
from . import _external_secret as es

_UUID = regex(
    r"(?i)\b(?:RequestID|request id):? ?[0-9a-f-]{8,},? ?|(?<![\w!/-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/])"
)
_COMBINED = regex(r"^\(combined from similar events\): ")  # the API client joins Events that differ only in their text
_QUOTED_ERROR = regex(r'"serviceaccounts \\"(?P<account>[\w.-]{1,253})\\" not found"')
"""An error that the provider kubernetes quotes behind "token:", as if it were one (providers/v1/kubernetes/auth.go)."""
_INLINE = regex(r"\bspec\.(?P<list>data|dataFrom)(?:\.\w+)?\[(?P<index>\d{1,9})\]")
_STAGES = ("provider", "update")
_FORMER = timedelta(minutes=1)


@dataclass(frozen=True)
class Diagnosis:
    """`says` completes "... fails because"; `detail` has the values of the text (store, kind, secret, owner, property).

    `field` and `index`: the failed entry of spec.data or spec.dataFrom; `text`: the original error; `deciding`: the part of `text` with the
    cause. `passing`: its cause ended or changed within the last minutes, and the operator has not tried again since.
    """

    cause: str
    says: str
    text: str = ""
    detail: Mapping[str, str] = field(default_factory=dict)
    entry: str = ""
    index: int = 0
    terminal: bool = False
    evidence: tuple[str, ...] = ()
    certain: bool = True
    passing: bool = False
    topic: str = ""
    deciding: tuple[int, int] = (0, 0)

    @property
    def advice(self) -> str:
        """The entry of advice.yaml: that of the cause, unless the text needs another one."""
        return self.topic or self.cause


def cleaned_text(text: str) -> str:
    """An error text on one line, without control characters, request ids and credentials of URLs."""
    deciding = _QUOTED_ERROR.sub(_unquoted_error, _COMBINED.sub("", _UUID.sub("", text)))
    return " ".join(plain(without_secrets(deciding)).split())


def _unquoted_error(found: re.Match[str]) -> str:
    return f'serviceaccounts "{found["account"]}" not found'


def names_key(deciding: str, written: str) -> bool:
    """Whether a cleaned text contains this key of the manifest: random words in it are masked, and UUIDs removed."""
    return HIDDEN in deciding or agrees(deciding, written) or deciding == _UUID.sub("", written)


@lru_cache(maxsize=2048)
def classify(text: str, *stages: str, provider: str = "") -> Diagnosis | None:
    """The diagnosis of one error text; `stages` (provider, store, update) and the `provider` that was asked exclude impossible ones."""
    error, where = _without_envelope(text)
    meant = catalogue().match(error, *(tuple(filter(None, stages)) or _STAGES), provider=provider)
    if meant is None:
        return None
    entry, offset = meant.entry, max(0, error.find(meant.text))
    detail = {name: value for name, value in meant.facts.items() if value}
    detail = {"kind": "SecretStore", **detail} if "store" in detail else detail
    return _at_entry(
        where,
        Diagnosis(
            entry.cause,
            entry.sentence(detail),
            error,
            detail,
            terminal=entry.terminal,
            topic=entry.advice if entry.advice != entry.cause else "",
            deciding=(meant.span[0] + offset, meant.span[1] + offset),
        ),
    )


def unclassified_diagnosis(text: str) -> Diagnosis:
    """The diagnosis of an error text without an entry in the catalogue: its stage and its words."""
    error, where = _without_envelope(text)
    key = where.get("key")
    says = f'the operator cannot process "{key}"' if key else "the operator reports an error"
    return _at_entry(where, Diagnosis("unknown", says, error, topic="unknown-said"))


def _without_envelope(text: str) -> tuple[str, dict[str, str]]:
    """The error without the operator's envelope, and the entry (`list`, `index`, `key`) in that envelope."""
    error = cleaned_text(text)
    where: dict[str, str] = {}
    for envelope in _envelopes():
        if found := envelope.match(error):
            where |= {k: v for k, v in found.groupdict().items() if v is not None}
            error = where.pop("error")
    if "list" not in where and (inline := _INLINE.search(error)):
        where |= inline.groupdict()
    return error, where


def _at_entry(where: Mapping[str, str], found: Diagnosis) -> Diagnosis:
    key = {"key": where["key"]} if where.get("key") else {}
    return replace(found, detail={**found.detail, **key}, entry=where.get("list", ""), index=int(where.get("index", 0)))


_LONGEST = 25
_QUOTED = 10
_LEAST = 4


def finding_sentence(
    subject: str, reason: str, consequence: str, quote: str = "", deciding: tuple[int, int] = (0, 0), room: int = 0
) -> str:
    """The message of a finding: the subject, the reason, the consequence; and a quotation of the server's text in the remaining words.

    `deciding`: the position of the cause in the text; `room`: words to reserve for a later addition.
    """
    room_left = min(
        _QUOTED, _LONGEST - room - sum(len(part.split()) for part in (subject, "fails because so", reason, consequence))
    )
    shown = _quoted_clauses(quote, deciding, room_left) if quote and room_left >= _LEAST else ""
    return f"{subject} fails because {reason}{f' ({shown})' if shown else ''}{f', so {consequence}' if consequence else ''}."


_OF_A_REQUEST = regex(r"(?i)\b(?:trace|correlation|request|activity)[ -]?id\b|\btimestamp\b")


def _quoted_clauses(text: str, deciding: tuple[int, int], words: int) -> str:
    """Its last clauses, which have the result in Go; from the cause on, if request identifiers are at the end."""
    shown = telling(text, words)
    named = text[deciding[0] : deciding[1]]
    if not named or named in shown or not _OF_A_REQUEST.search(shown):
        return shown
    first = text[deciding[0] :].split()
    return " ".join(first[:words]) + ("…" if len(first) > words else "")


def condition_stage(message: str) -> tuple[str, str]:
    """The stage and the cause that a condition's message shows."""
    for entry in load(__package__, "sync_texts.yaml")["conditions"]:
        if re.search(entry["match"], message):
            return str(entry.get("stage") or ""), str(entry.get("cause") or "")
    return "", ""


def current_warnings(app: App, resource: Resource) -> tuple[Event, ...]:
    """Warning Events of the present failure, newest first: none older than the condition's last change."""
    since = parse_time(es.ready_condition(resource.live).get("lastTransitionTime"))
    found = app.events(resource.id, resource.uid) or ()
    return tuple(
        e for e in found if e.type == "Warning" and (since is None or e.last is None or e.last >= since - _FORMER)
    )


def cause_sentence(cause: str) -> str:
    says = catalogue()[f"secret/{cause}"].says
    return plain_sentence(cause) if "$" in says else says


def plain_sentence(cause: str) -> str:
    return {
        "owned-by-external-secret": "the target Secret already belongs to another ExternalSecret",
        "owned-by-other-controller": "the target Secret already belongs to another controller",
        "store-not-found": "its store was not found",
        "unmanaged-store": "no running operator serves the controller class of its store",
    }.get(cause, cause)


def is_terminal(cause: str) -> bool:
    return any(entry.terminal for entry in catalogue().entries if entry.cause == cause)


@cache
def _envelopes() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.DOTALL) for text in load(__package__, "sync_texts.yaml")["envelopes"])
