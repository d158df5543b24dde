"""A place whose value changes with each render, and its possible writer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from argolint import App, Fleet, Object, Resource, ResourceId, Symptom
from argolint.comparison import TRACKING_ID
from argolint.model import Confidence
from argolint.values import annotations_of, dig, split_pointer
from argolint.values.kubernetes import reads

from ..shared.chart_catalogue import Item
from ..shared.charts import Release
from ..shared.makers import filling_webhook, second_maker
from ._shapes import GENERIC, Kind, checksum_name, is_checksum


@dataclass(frozen=True)
class Sign:
    """One place whose value changes, or would change, with each render.

    claims   the symptoms that Argo CD shows of it now; empty if nothing differs
    why      the evidence, a line for the finding
    item     the item of the chart's record at this place, in `release`
    """

    resource: ResourceId
    pointer: str
    kind: Kind
    confidence: Confidence
    why: str
    claims: tuple[Symptom, ...] = ()
    release: Release | None = None
    item: Item | None = None

    @property
    def key(self) -> str:
        """The last token of the pointer: an annotation's key, a Secret's key."""
        return (split_pointer(self.pointer) or ("",))[-1]

    @property
    def mark(self) -> str:
        """`annotation "rollme"` or `label "date"`, for a place that is one of them."""
        return f'{"label" if "/labels/" in self.pointer else "annotation"} "{self.key}"'


_ORDER: tuple[Confidence, ...] = ("possible", "likely", "proven")


def stronger(one: Confidence, other: Confidence) -> Confidence:
    return max(one, other, key=_ORDER.index)


WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Rollout", "Job", "CronJob")


def referenced_names(obj: Object) -> frozenset[str]:
    """Names of the Secrets and ConfigMaps that a workload's containers use, as environment or as files."""
    references = (read for read in reads(obj) if read.by in ("environment", "volume"))
    return frozenset(read.name for read in references if read.kind in ("Secret", "ConfigMap"))


def checksum_values(app: App) -> Mapping[str, list[tuple[Resource, str]]]:
    """Rendered checksum annotations of pod templates: key -> workloads with their values; without empty templates."""
    found: dict[str, list[tuple[Resource, str]]] = defaultdict(list)
    for resource in app.resources:
        if resource.hook or resource.kind not in WORKLOADS:
            continue
        for key, value in annotations_of(dig(resource.desired, "spec", "template")).items():
            if isinstance(value, str) and is_checksum(key, value):
                found[key].append((resource, value))
    return found


def named_secret(app: App, key: str) -> Resource | None:
    """The only Secret of the application whose name ends like the checksum's key; None for `checksum/secret`."""
    name = checksum_name(key)
    if name in GENERIC or len(name) < 4:
        return None
    named = [r for r in app.resources if r.kind in ("Secret", "ConfigMap") and r.name.endswith(name)]
    return named[0] if len(named) == 1 and named[0].kind == "Secret" and not named[0].hook else None


def is_own(app: App, fleet: Fleet, resource: Resource) -> bool:
    """False for hooks, for objects of two applications (each writes its own value) and for those that a controller makes or fills in."""
    if resource.hook or len(fleet.owners(resource.key)) > 1:
        return False
    tracked = annotations_of(resource.live).get(TRACKING_ID, "")
    if tracked and tracked.partition(":")[0] != app.instance:
        return False
    return not (filling_webhook(resource) or second_maker(app, fleet, resource))
