"""The destination cluster is not registered or does not answer

What it finds: an application whose destination names no cluster of this Argo CD (the server's own words), or whose
cluster's connection has failed while the application's status is Unknown.

Why it hurts: every application of that cluster is blind: no sync, no self-heal, no drift shown, and what is shown is old.

How to fix: register the cluster or correct the destination; where it is registered, renew its credentials or its network.

Example: `destination.server: https://edge-2.example.com:6443` after the cluster was removed with `argocd cluster rm`.

Sources: util/argo/argo.go (GetDestinationCluster), controller/cache/info.go (connectionState) of Argo CD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Condition, Edit, Finding, Fix, Fleet, Follows, Location, Rule, Symptom
from argolint.redaction import excerpt
from argolint.values import dig, mapping, sh

# util/argo/argo.go and util/db/cluster.go, from 2.x on.
_UNREGISTERED = re.compile(
    r"no clusters? with this name|error getting cluster|unable to find destination server|cluster \"[^\"]*\" not found|cluster \S+ has not been configured",
    re.IGNORECASE,
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding an application."""
    refused = [
        c
        for c in app.conditions
        if c.type in ("InvalidSpecError", "ComparisonError", "UnknownError") and _UNREGISTERED.search(c.message)
    ]
    cluster = fleet.clusters.get(app.cluster)
    state = mapping(cluster, "info", "connectionState") or mapping(cluster, "connectionState")
    if refused:
        yield _finding(
            app,
            f"Application {app.ref} is destined for {_destination(app)}, which is no cluster of this Argo CD, so it is neither compared nor synced.",
            refused,
            (
                Fix(
                    "Register the cluster",
                    "argocd-settings",
                    _destination(app),
                    Edit("command", "argocd cluster add KUBECONFIG_CONTEXT"),
                ),
                *_elsewhere(app, fleet),
            ),
        )
    elif state.get("status") == "Failed" and "Unknown" in (app.sync_status, app.health.status):
        told = excerpt(str(state.get("message") or "no reason given"))
        blind = [c for c in app.conditions if c.type in ("ComparisonError", "UnknownError")]
        yield _finding(
            app,
            f'Cluster {app.cluster} does not answer Argo CD ("{told}"), so the status of application {app.ref} is Unknown and it is not synced.',
            blind,
            (
                Fix(
                    "Renew the cluster's credentials or repair the way to it",
                    "argocd-settings",
                    app.cluster,
                    Edit("command", f"argocd cluster get {sh(app.cluster)}"),
                ),
            ),
        )


def _destination(app: App) -> str:
    """The server or the name as the Application writes it."""
    return str(dig(app.spec, "destination", "server") or dig(app.spec, "destination", "name") or app.cluster)


def _elsewhere(app: App, fleet: Fleet) -> Iterator[Fix]:
    servers = sorted(server for server in fleet.clusters if server)
    if servers:
        yield Fix(
            "Or name a cluster that is registered: " + ", ".join(servers[:10]),
            "application",
            f"Application {app.ref}",
            Edit(
                "yaml",
                f"spec:\n  destination:\n    server: {servers[0] if len(servers) == 1 else '<one of them>'}\n    namespace: {app.destination_namespace}",
            ),
            caveat="deploys to that cluster",
        )


def _finding(app: App, message: str, told_by: list[Condition], fixes: tuple[Fix, ...]) -> Finding:
    return Finding(
        message=message,
        at=Location(app.ref, None, "/spec/destination"),
        evidence=tuple(f"condition {c.type}: {excerpt(c.message, 600)}" for c in told_by),
        fixes=fixes,
        explains=(
            *(c.symptom for c in told_by),
            Symptom.sync(),
            Symptom.health(),
            Symptom.operation(),
            Symptom.condition("SyncError"),
        ),
        follows=(
            Follows.common(f"Argo CD does not know or does not reach cluster {app.cluster}.", "cluster", app.cluster),
        ),
    )


RULE = Rule(id="cluster-unknown", family="sync", severity="error", doc=__doc__, check=check, rank=10)
