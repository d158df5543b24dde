"""Failures that the controller of a custom resource reports, although Argo CD has no health check of the kind and shows nothing.

Sources: kubernetes/community api-conventions (conditions, polarity, reasons); knative.dev/pkg and Cluster API (a condition's
`severity`); crossplane-runtime, fluxcd and Strimzi (pauses).
"""

from __future__ import annotations

import re

from argolint import App, Object, Resource
from argolint.values import annotations_of, dig, maps, parse_time, text_at
from argolint.values.kubernetes import is_of_current_spec
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


def failed_condition(app: App, resource: Resource, options: Patience) -> Object | None:
    """The condition in which a controller reports, for longer than allowed, that it failed with the present spec; None if there is none."""
    if (
        "." not in resource.group
        or resource.hook
        or not resource.mentions('"False"', "live")
        or not is_health_counted(resource)
    ):
        return None
    if not resource.uid and not any(r.health.status for r in app.resources):
        return None  # neither tree nor list has any health; newer versions keep it in the tree alone
    if dig(resource.live, "metadata", "deletionTimestamp") or _is_halted(resource):
        return None  # it is being deleted, or its controller skips it: its status is old
    for condition in maps(resource.live, "status", "conditions"):
        if _is_failure(resource, condition) and is_of_current_spec(resource.live, condition) is not False:
            since = parse_time(condition.get("lastTransitionTime"))
            return condition if since and is_overdue(app, since, options.span) else None
    return None


def _is_failure(resource: Resource, condition: Object) -> bool:
    """Whether a verdict is False for a reason that means a failure, or with a message of a cause that does not end by itself."""
    reason, message = text_at(condition, "reason"), text_at(condition, "message")
    return (
        (condition.get("type") in _VERDICTS or text_at(condition, "type").endswith(_OF_A_PART))
        and condition.get("status") == "False"
        and condition.get("severity") != "Info"
        and bool(message)
        and (_FAILS.search(reason) is not None or _names_cause(resource, message))
        and not _WAITS.match(reason)
        and _PASSES not in message
    )


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
