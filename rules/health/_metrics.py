"""What a HorizontalPodAutoscaler says of its metrics, and whether they are merely late."""

from __future__ import annotations

import json
import re
from datetime import timedelta

from argolint import App, Object, Resource
from argolint.values import annotations_of, maps, parse_time

from ._age import overdue

NO_API = re.compile(
    r"could not find the requested resource|no matches for|unable to handle the request|not registered|no custom metrics API",
    re.IGNORECASE,
)
NO_REQUEST = re.compile(r"missing request for (\S+)")
_V1_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"  # where autoscaling/v1 keeps them


def unread(hpa: Resource) -> Object | None:
    """The condition by which the autoscaler cannot read a metric; None when it can, or was not asked to."""
    found = next((c for c in _conditions(hpa) if c.get("type") == "ScalingActive"), None)
    if found is None or found.get("status") != "False" or "Metric" not in str(found.get("reason")):
        return None
    return found


def late(app: App, condition: Object, patience: timedelta) -> bool:
    """True while the metric may still come by itself: pods that have just started report after a minute or two."""
    message = str(condition.get("message") or "")
    lasting = NO_API.search(message) or NO_REQUEST.search(message)
    return not lasting and not overdue(app, parse_time(condition.get("lastTransitionTime")), patience)


def _conditions(hpa: Resource) -> tuple[Object, ...]:
    found = maps(hpa.live, "status", "conditions")
    text = annotations_of(hpa.live).get(_V1_CONDITIONS)
    if found or not text:
        return found
    try:
        decoded = json.loads(text)
    except ValueError:
        return ()
    return tuple(c for c in decoded if isinstance(c, dict)) if isinstance(decoded, list) else ()
