"""Whether a status condition is bad news: by the polarity of its type, else by its own words.

Sources: kubernetes/community api-conventions (a type may be of either polarity, and no field says which); knative.dev/pkg/apis
(`severity`); the conditions of the operators in `rules/shared/messages`.
"""

from __future__ import annotations

import re

from argolint.model import Object
from argolint.values import mapping, maps, text_at
from argolint.values.patterns import regex

_BAD_WHEN_TRUE = frozenset(
    "Failed Failure Failures Failing Stalled Stuck Error Errors Errored Degraded Invalid Conflict Conflicts Conflicted Conflicting Pressure "
    "Stopped Paused Suspended Terminating Mismatch Mismatched Missing Exceeded Exhausted Unavailable Unreachable Unhealthy Unschedulable "
    "Blocked Denied Rejected Refused Expired Lost Corrupted Aborted Dangling".split()
)
"""Last words of types that report a fault as True, and as False that there is none."""
_ON_PURPOSE = frozenset("Stopped Paused Suspended Terminating Aborted".split())
"""Those that someone may have asked for."""
_NEITHER = frozenset(
    "Needed Required Requested Deprecated Disabled Deleted Removed Drained Drifted Changed Modified Limited Detached Cordoned Hibernated Scaled Migrated "
    "Promoted Restarted Replaced Upgraded Archived Triggered Enabled Encrypted Shared Cancelled Canceled Interrupted Overridden Throttled".split()
)
"""Last words that end like a success, and are neither success nor fault; so are abilities (LiveMigratable, Upgradeable)."""
_GOOD_WHEN_TRUE = frozenset(
    "Ready Readiness Available Healthy Health Valid Success Successful Complete Ok OK Reachable Schedulable Usable Resolvable Routable Sane Bound Running Refs "
    "Met Sent Found Exists Built".split()
)
FINE_STATES = frozenset(
    "valid ready running succeeded success successful active available bound healthy complete completed synced true stable deployed green ok up online "
    "operational connected installed normal finished done".split()
)
"""Words of a status, in lower case, for an object that is well."""
_DENIES = ("No", "Not", "Invalid", "Missing", "Failed", "Cannot", "Unable", "Un")
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FAULT = regex(
    r"fail(?!over)|error|invalid|denied|refused|reject|forbidden|unauthori[sz]ed|not ?found|missing|cannot|can't|unable|unsupported|timed? ?out"
    r"|exceed|conflict|unhealthy|unavailable|unreachable|insufficient|no such|(?:does|do|is|are|was|were) ?(?:not|n't) (?:exist|ready|available|valid|present)",
    re.IGNORECASE,
)
"""Words of a reason or a message that state a fault."""
_DENIED_FAULT = regex(
    r"\b(?:no|without|zero|0) (?:\w{1,30} ){0,2}(?:error|fail|conflict|missing|invalid)", re.IGNORECASE
)


def every_condition(live: Object | None) -> tuple[Object, ...]:
    """The conditions of an object, behind those of its parts, such as a Gateway's for each listener and a route's for each parent."""
    status = mapping(live, "status")
    parts = (part for name in status if name != "conditions" for part in maps(status, name))
    return (*(c for part in parts for c in maps(part, "conditions")), *maps(status, "conditions"))


def is_fault(kind: str) -> bool:
    """Whether the last word of the type is that of a fault (`Stalled`), so that True needs no reason."""
    words = _WORD.findall(kind.rpartition("/")[2])
    return bool(words) and words[-1] in _BAD_WHEN_TRUE - _ON_PURPOSE and polarity(kind) is False


def polarity(kind: str) -> bool | None:
    """True if a condition of this type is good news as True, False if it is bad news as True; None if its name does not say."""
    words = _WORD.findall(kind.rpartition("/")[2])
    if not words:
        return None
    last = words[-1]
    denied = words[0] in _DENIES and len(words) > 1
    if last in ("Warning", "Warnings"):
        return None
    if denied and last in _BAD_WHEN_TRUE:
        return True
    if denied or last in _BAD_WHEN_TRUE:
        return False
    if last in _NEITHER:
        return None
    return True if last in _GOOD_WHEN_TRUE or last.endswith("ed") or words[0].endswith("ed") else None


def reports_fault(condition: Object, bad: tuple[str, ...] = ("False",)) -> bool:
    """True for a condition that reports a fault: one of the `bad` states of a type that is good as True, or True for one that is bad as True.

    Where the type does not say which, its reason or message must state the fault. A condition of severity Info does not count for its object.
    """
    status, kind = text_at(condition, "status"), text_at(condition, "type")
    if text_at(condition, "severity") == "Info":
        return False
    good = polarity(kind)
    if good is False:
        return status == "True"
    return status in bad and (good or (not _says_what_is_so(kind) and states_fault(condition)))


def may_report_fault(condition: Object) -> bool:
    """True for a condition that is False, and whose type does not say whether that is bad news."""
    silent = text_at(condition, "severity") == "Info" or text_at(condition, "status") != "False"
    kind = text_at(condition, "type")
    return not silent and polarity(kind) is None and not _says_what_is_so(kind)


def reports_success(condition: Object) -> bool:
    """True for a condition that says by its type and state that its object is well."""
    good = polarity(text_at(condition, "type"))
    return good is not None and text_at(condition, "status") == ("True" if good else "False")


def _says_what_is_so(kind: str) -> bool:
    """Whether the type names a property or an ability of the object, whose absence is no fault."""
    last = next(iter(reversed(_WORD.findall(kind))), "")
    return (
        last in _NEITHER
        or last in ("Warning", "Warnings")
        or (last.endswith(("able", "ible")) and last not in _GOOD_WHEN_TRUE)
    )


def states_fault(condition: Object) -> bool:
    """Whether the reason or the message of a condition says by its words that something failed."""
    texts = (text_at(condition, "reason"), text_at(condition, "message")[:2000])
    return any(_FAULT.search(text) and not _DENIED_FAULT.search(text) for text in texts)
