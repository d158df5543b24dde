"""The owner of a live object: its tracking data, as this server reads them.

Sources: util/argo/resource_tracking.go (GetAppName, getAppInstanceValue) of Argo CD.
"""

from __future__ import annotations

from dataclasses import dataclass

from argolint.application.fleet import Fleet
from argolint.comparison import TRACKING_ID
from argolint.model import Object
from argolint.values import annotations_of, labels_of
from argolint.values.kubernetes import group_of

INSTALLATION_ID = "argocd.argoproj.io/installation-id"


@dataclass(frozen=True)
class Tracking:
    """What the tracking data of a live object says.

    instance   `name`, or `<namespace>_<name>` for an application outside the control plane
    by         the annotation or label that has it
    own        False if a tracking-id names another object: copied metadata, which Argo CD ignores
    group, kind, namespace, name   the object that a tracking-id names
    """

    instance: str
    by: str
    own: bool = True
    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def shown(self) -> str:
        """The name in the format of a SharedResourceWarning."""
        return self.instance.replace("_", "/")


def tracking_of(live: Object | None, fleet: Fleet) -> Tracking | None:
    """The tracking data that this server reads; None if it reads none, as for data of another installation."""
    if not live:
        return None
    if fleet.tracking_method == "label":
        name = labels_of(live).get(fleet.label_key)
        return Tracking(name, fleet.label_key) if name else None
    installation = fleet.settings.get("installationID")
    if installation and annotations_of(live).get(INSTALLATION_ID) != installation:
        return None
    parts = str(annotations_of(live).get(TRACKING_ID) or "").split(":", 2)
    if len(parts) != 3 or parts[1].count("/") != 1 or parts[2].count("/") != 1:
        return None
    group, _, kind = parts[1].partition("/")
    namespace, _, name = parts[2].partition("/")
    metadata = live.get("metadata") or {}
    identity = (group_of(live), live.get("kind"), metadata.get("name"))
    # a cluster-scoped object has the namespace of its application's destination
    own = (group, kind, name) == identity and metadata.get("namespace") in (None, "", namespace)
    return Tracking(parts[0], TRACKING_ID, own, group, kind, namespace, name)
