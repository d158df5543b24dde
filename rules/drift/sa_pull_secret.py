"""Pull secrets are added to a ServiceAccount

What it finds: `imagePullSecrets` or `secrets` of a ServiceAccount that differ from Git because something in the cluster adds
entries: OpenShift's `*-dockercfg-*`, the token controller of older clusters, a registry credential controller.

Why it hurts: each sync removes the entries, new pods cannot pull in the meantime, and the controller creates new Secrets.

How to fix: leave the lists out of the manifest, or ignore them on ServiceAccounts.

Example: `imagePullSecrets: []` in a chart, `[{name: default-dockercfg-x7k2p}]` live.

Sources: stackrox/stackrox#12124; https://docs.openshift.com/ (image pull secrets of service accounts).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule, narrowest_ignore
from argolint.application.applied import by_argocd
from argolint.values import get

from ._edits import removal_fix
from ._fields import drifts
from ._grammar import is_hollow
from ._writers import is_sort

_LISTS = ("/imagePullSecrets", "/secrets")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ServiceAccount."""
    for drift in drifts(app, _is_secret_list):
        if not any(_is_addition(change) for change in drift.changes):
            continue
        done = "added" if all(c.desired is MISSING for c in drift.changes) else "replaced"
        lists = tuple(name for name in _LISTS if any(change.pointer.startswith(name) for change in drift.changes))
        empty = tuple(name for name in _LISTS if get(drift.resource.desired, name) == [])
        ignored = tuple(name for name in _LISTS if name in (*lists, *empty))
        yield drift.finding(
            f"The cluster {done} {drift.places()} of {drift.resource.id}; a sync removes that, and pods can no longer pull images.",
            pointer=lists[0],
            fixes=(
                removal_fix(app, drift.resource, empty, "Leave the empty list out of the manifest") if empty else None,
                narrowest_ignore(app, drift.resource, ignored),
            ),
        )


def _is_secret_list(resource: Resource, change: Change) -> bool:
    return resource.kind == "ServiceAccount" and resource.group == "" and change.pointer.startswith(_LISTS)


def _is_addition(change: Change) -> bool:
    """True for entries that only live has, and for a controller's replacement of Git's entry."""
    if is_sort(change.writer, "person") or change.live is MISSING:
        return False
    return change.desired is MISSING or is_hollow(change.desired) or not by_argocd(change.writer)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
