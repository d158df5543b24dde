"""Failures that the controller of a custom resource reports and Argo CD does not show: it has no health check of the kind, or one that looks elsewhere.

Sources: kubernetes/community api-conventions (conditions, polarity, reasons); knative.dev/pkg and Cluster API (a condition's
`severity`); crossplane-runtime, fluxcd and Strimzi (pauses); velero and CloudNativePG (a status without conditions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from argolint import App, Object, Resource
from argolint.relations.polarity import every_condition, is_fault, polarity, reports_success, states_fault
from argolint.values import annotations_of, dig, mapping, parse_time, text_at, texts
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_deleting, is_of_current_spec
from argolint.values.patterns import regex

from ..shared.age import Patience, is_health_counted, is_overdue
from ._meaning import meaning

_VERDICTS = frozenset({"Ready", "Synced", "Reconciled", "ReconcileSuccess", "Available", "Accepted", "Valid"})
"""Condition types by which a controller reports success or failure."""
_OF_A_PART = ("Synchronized", "Synced", "Reconciled")
"""Their ends where the type names the object too (FolderSynchronized)."""
_FAILS = regex(
    r"Fail(?!(?:ing|ed)?[Oo]ver|ureDomain)|Error(?!Budget)|Invalid(?!at)|Denied|Refused|Rejected|Forbidden|Unauthorized|NotFound|Conflict"
)
"""Reasons that mean a failure, not only work in progress."""
_WAITS = regex(
    r"(?:No(?:Fail|Error|Conflict|Invalid)|A?[Ww]aiting|Pending|Creating|Deleting|Progressing|Initiali[sz]ing)"
)
"""Beginnings of reasons that mean work in progress, with any ending."""
_PASSES = "the object has been modified; please apply your changes to the latest version"
"""The API server's answer to one of two concurrent writers (apimachinery, OptimisticLockErrorMsg): the controller tries again."""
_HALTS = frozenset({"suspend", "suspended", "pause", "paused", "hibernate", "hibernated"})


_FAILED = frozenset(
    "failed failure error errored unavailable invalid failedvalidation partiallyfailed rejected degraded unhealthy unreachable".split()
)
"""States of a status without conditions, in lower case, that mean a failure."""
_STATES = ("phase", "state", "status", "health")
_FLAGS = ("applied", "synced", "reconciled", "valid")
_MESSAGES = ("message", "errorMessage", "lastError", "error", "reason")


def failed_condition(app: App, resource: Resource, options: Patience) -> Object | None:
    """The condition in which a controller reports, for longer than allowed, that it failed with the present spec; None if there is none.

    A status without conditions counts as one: its type is the name of a field (`phase`), its status the value.
    """
    if resource.health.status not in ("", "Healthy") or "." not in resource.group or resource.hook:
        return None
    judged = resource.health.status == "Healthy"
    if judged and not resource.derive(_passed_over):
        return None  # Argo CD's check has looked at what there is
    if not is_health_counted(resource) or (not resource.uid and not any(r.health.status for r in app.resources)):
        return None  # neither tree nor list has any health; newer versions keep it in the tree alone
    if is_deleting(resource.live) or _is_halted(resource):
        return None  # it is being deleted, or its controller skips it: its status is old
    made = text_at(mapping(resource.live, "metadata"), "creationTimestamp")
    passed_over: tuple[Object, ...] = resource.derive(_passed_over)
    failures = () if judged else tuple(_failures(resource))
    for condition in (*passed_over, *failures):
        since = parse_time(condition.get("lastTransitionTime") or made)
        if since and is_overdue(app, since, options.span):
            return condition
    return None


def _passed_over(resource: Resource) -> tuple[Object, ...]:
    """The conditions that report a fault, and that Argo CD's health check of the kind does not look at."""
    name = f"{resource.group}/{resource.kind}"
    entries = [entry for entry in load(__package__, "unseen.yaml") if fnmatchcase(name, entry["by"])]
    if not any(resource.mentions(f'"{kind}"', "live") for entry in entries for kind in entry["types"]):
        return ()
    return tuple(
        c
        for c in every_condition(resource.live)
        for entry in entries
        if c.get("type") in entry["types"] and c.get("status") == entry["status"] and _is_of_now(resource, c)
    )


def _failures(resource: Resource) -> Iterator[Object]:
    """What reports a failure, in its conditions or, if it has none, elsewhere in its status."""
    if not resource.mentions('"status"', "live"):
        return
    conditions = every_condition(resource.live)
    yield from (c for c in conditions if _is_failure(resource, c) and _is_of_now(resource, c))
    if any(reports_success(c) for c in conditions) or is_of_current_spec(resource.live) is False:
        return
    status = mapping(resource.live, "status")
    message = next((text for field in _MESSAGES if (text := text_at(status, field))), "")
    message = message or ", ".join(texts(status, "validationErrors")[:3])
    said = [(field, text_at(status, field)) for field in _STATES if text_at(status, field).lower() in _FAILED]
    said += [(field, "false") for field in _FLAGS if message and status.get(field) is False]
    yield from ({"type": field, "status": value, "message": message} for field, value in said)


def _is_of_now(resource: Resource, condition: Object) -> bool:
    return is_of_current_spec(resource.live, condition) is not False


def _is_failure(resource: Resource, condition: Object) -> bool:
    """Whether a verdict is False, or a fault True, for a reason that means a failure, or with a message of a cause that does not end by itself."""
    kind, reason, message = (text_at(condition, field) for field in ("type", "reason", "message"))
    verdict = kind in _VERDICTS or kind.endswith(_OF_A_PART)
    return (
        condition.get("status") == ("False" if verdict else "True")
        and (verdict or polarity(kind) is False)
        and condition.get("severity") != "Info"
        and bool(message)
        and (_FAILS.search(reason) is not None or _tells_fault(resource, condition))
        and not _WAITS.match(reason)
        and _PASSES not in message
    )


def _tells_fault(resource: Resource, condition: Object) -> bool:
    """Whether the type alone, the words without a reason, or the meaning of the message is that of a failure."""
    kind, reason, message = (text_at(condition, field) for field in ("type", "reason", "message"))
    plain = is_fault(kind) or (not reason and states_fault(condition))
    return plain or _names_cause(resource, f"{reason}: {message}")


def _names_cause(resource: Resource, message: str) -> bool:
    found = meaning(resource, message)
    return found is not None and found.entry.knows == "cause" and found.entry.cause in _LASTING


_LASTING = frozenset({"field", "reference", "credentials", "rights", "policy", "quota", "certificate"})
"""Causes that do not end by themselves."""


def _is_halted(resource: Resource) -> bool:
    """Whether someone has paused it, by its spec or an annotation such as `strimzi.io/pause-reconciliation`."""
    spec = dig(resource.live, "spec")
    if isinstance(spec, dict) and any(spec.get(field) is True for field in _HALTS):
        return True
    names = (name.rpartition("/")[2] for name, value in annotations_of(resource.live).items() if value != "false")
    return any(not _HALTS.isdisjoint(re.split(r"[-_.]", name)) for name in names)
