"""Gateway API defaults that Git omits

What it finds: fields of routes and gateways that the Gateway API's CRDs fill in (`group`, `kind` and `weight` of references, `type` of matches)
and that only the live object has. They are inside atomic lists, which a server-side apply compares as a whole.

Why it hurts: the route is OutOfSync forever, and a sync changes nothing.

How to fix: write the defaults in Git, or let the API server compare (`ServerSideDiff=true`).

Example: `backendRefs: [{name: api, port: 80}]` becomes `{group: "", kind: Service, name: api, port: 80, weight: 1}`.

Sources: argoproj/argo-cd#22151, argoproj/argo-helm#3538; https://gateway-api.sigs.k8s.io/reference/spec/.
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved, rewritten_on_arrival

from ._defaults import is_default
from ._edits import server_side_diff_fix
from ._fields import drifts


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its defaults."""

    def filled(resource: Resource, change: Change) -> bool:
        if resource.group != "gateway.networking.k8s.io" or git_moved(app, resource, change):
            return False
        return is_default("route-default", resource, change) or (
            change.desired is MISSING and rewritten_on_arrival(app, resource, change)
        )

    for drift in drifts(app, filled):
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, a default of the Gateway API that Git leaves out.",
            fixes=(drift.write_live("Write the defaults"), server_side_diff_fix(app)),
        )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
