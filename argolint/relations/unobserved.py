"""contradicts: the status is about an earlier spec, and the controller that writes it has written nothing since the spec changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from argolint.comparison import writers
from argolint.edits.advice import advice
from argolint.model import Object
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import age_text, dig, maps

_AT_LEAST = timedelta(minutes=10)
"""A controller that runs looks at a change sooner, as a rule."""


def unobserved_spec(complaint: Complaint) -> Iterator[Explained]:
    """The spec changed a while ago, and the object's controller has not looked at it."""
    app, id_ = complaint.app, complaint.id
    resource = app.held(id_)
    if id_ is None or resource is None or resource.live is None:
        return
    live = resource.live
    generation, seen = dig(live, "metadata", "generation"), _observed(live)
    changed, (said, manager) = _newest(live, "/spec")[0], _newest(live, "/status")
    if not isinstance(generation, int) or seen is None or seen >= generation or not changed or not said:
        return
    if said >= changed or app.observed_at - changed < _AT_LEAST:
        return
    yield Explained(
        "contradicts",
        app.ref,
        id_,
        f"{id_} changed {age_text(app.observed_at - changed)} ago (generation {generation}), and its status is still that of generation {seen}: "
        f"{excerpt(manager, 60)} has written none since.",
        evidence=(f"its status was last written {age_text(changed - said)} before the change",),
        fixes=advice(__package__, "contradicts/unobserved", {"object": str(id_)}, id_),
        likely=True,
    )


def _observed(live: Object) -> int | None:
    """The generation that its status is about; None if it does not say so."""
    own = dig(live, "status", "observedGeneration")
    each = [own] if own else [c.get("observedGeneration") for c in maps(live, "status", "conditions")]
    numbers = [int(n) for n in map(str, each) if n.isascii() and n.isdigit() and len(n) < 10]
    return max(numbers) if numbers and len(numbers) == len(each) else None


def _newest(live: Object, pointer: str) -> tuple[datetime | None, str]:
    """When a part of the object was last written, and by which manager."""
    known = [(writer.time, writer.manager) for writer in writers(live, pointer) if writer.time is not None]
    return max(known, default=(None, ""))
