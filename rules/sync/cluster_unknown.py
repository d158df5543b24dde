"""The destination cluster is not registered or does not answer

What it finds: an application whose destination is no cluster of this Argo CD, by the server's own message. Also an application with status
Unknown whose cluster's connection has failed, and one whose last sync could not reach the cluster's API server.

Why it hurts: for every application of that cluster there is no sync and no self-heal, drift stays invisible, and the shown status is old.

How to fix: register the cluster or correct the destination. If it is registered, renew its credentials or repair its network.

Example: `destination.server: https://edge-2.example.com:6443` after the cluster was removed with `argocd cluster rm`.

Sources: util/argo/argo.go (GetDestinationCluster), controller/cache/info.go (connectionState) of Argo CD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from argolint import App, Condition, Edit, Finding, Fix, Fleet, Follows, Location, Rank, Rule, Symptom
from argolint.edits import set_field
from argolint.edits.consequences import consequences
from argolint.messages import in_passing
from argolint.redaction import excerpt
from argolint.values import dig, mapping, sh
from argolint.values.patterns import regex

from ._comparison import classify as reads
from ._failures import Failed, failures_explained_by

# util/argo/argo.go and util/db/cluster.go, from 2.x on.
_UNREGISTERED = regex(
    r"no clusters? with this name|error getting cluster(?!: controller is configured to ignore)|unable to find destination server|cluster \"[^\"]*\" not found|cluster \S+ has not been configured",
    re.IGNORECASE,
)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """At most one finding for each application."""
    refused = [
        c
        for c in app.conditions
        if c.type in ("InvalidSpecError", "ComparisonError", "UnknownError") and _UNREGISTERED.search(c.message)
    ]
    state = fleet.connection(app.cluster)
    if app.deleting and refused:
        return  # finalizer-stuck says what keeps it
    if refused:
        yield _finding(
            app,
            f"Application {app.ref} cannot sync: its destination {_destination(app)} is no cluster of this Argo CD.",
            refused,
            (
                Fix(
                    "Register the cluster",
                    "argocd-settings",
                    _destination(app),
                    Edit("command", "argocd cluster add KUBECONFIG_CONTEXT"),
                ),
                *_other_cluster_fixes(app, fleet),
            ),
        )
    elif unreached := failures_explained_by(app, "cluster-unknown"):
        yield _unreachable_finding(app, unreached)
    elif state.get("status") == "Failed" and "Unknown" in (app.sync_status, app.health.status):
        reason = str(state.get("message") or "no reason given")
        blind = [c for c in app.conditions if c.type in ("ComparisonError", "UnknownError")]
        if any(_is_known_better(c.message) for c in blind):
            return  # comparison-error explains the failure
        yield _finding(
            app,
            in_passing(
                f"Application {app.ref} cannot sync: cluster {app.cluster} does not answer Argo CD",
                reason,
            ),
            blind,
            (_credentials_fix(app),),
            "unreachable",
        )


def _is_known_better(message: str) -> bool:
    """Whether the catalogue knows why Argo CD does not read the cluster, other than that nothing answers there."""
    meaning = reads(message)
    return meaning.cause == "cluster" and meaning.name != "cluster-network"


def _unreachable_finding(app: App, failed: Sequence[Failed]) -> Finding:
    """The finding for a sync that could not reach the API server: its messages on kinds and objects prove nothing."""
    sync_command = Edit("command", f"argocd app sync {sh(app.ref.namespace)}/{sh(app.ref.name)}")
    why = "Argo CD does not by itself retry a revision after its sync has failed"
    sync = Fix("Sync again once it answers", "live", f"Application {app.ref}", sync_command, why)
    found = _finding(
        app,
        in_passing(
            f"The last sync of application {app.ref} failed: cluster {app.cluster} did not answer", failed[0].message
        ),
        [c for c in app.conditions if c.type in ("ComparisonError", "UnknownError")],
        (_credentials_fix(app), sync),
        "unreachable",
    )
    evidence = tuple(f"{f.id or app.ref}: {excerpt(f.message, 400)}" for f in failed[:5])
    explained = dict.fromkeys((*found.explains, *consequences(app)))
    return replace(found, evidence=(*found.evidence, *evidence), explains=tuple(explained))


def _credentials_fix(app: App) -> Fix:
    return Fix(
        "Renew the cluster's credentials or repair the connection to it",
        "argocd-settings",
        app.cluster,
        Edit("command", f"argocd cluster get {sh(app.cluster)}"),
    )


def _destination(app: App) -> str:
    """The server or the name, as written in the Application."""
    return str(dig(app.spec, "destination", "server") or dig(app.spec, "destination", "name") or app.cluster)


def _other_cluster_fixes(app: App, fleet: Fleet) -> Iterator[Fix]:
    servers = sorted(server for server in fleet.clusters if server)
    if servers:
        yield Fix(
            "Or name a cluster that is registered: " + ", ".join(servers[:10]),
            "application",
            f"Application {app.ref}",
            _destination_edit(app, servers),
            caveat="deploys to that cluster",
        )


def _destination_edit(app: App, servers: Sequence[str]) -> Edit:
    """The edit of the destination, without the field that the new one contradicts (util/argo/argo.go, ValidateDestination: name next to server)."""
    if len(servers) > 1:
        named = "    name: null\n" if dig(app.spec, "destination", "name") else ""
        return Edit(
            "yaml",
            f"spec:\n  destination:\n    server: <one of them>\n{named}    namespace: {app.destination_namespace}",
        )
    place = "/spec/destination"
    named_ = [{"op": "remove", "path": f"{place}/name"}] if "name" in mapping(app.spec, "destination") else []
    return Edit("json-patch", [*named_, *set_field(app.raw, f"{place}/server", servers[0])])


def _finding(
    app: App, message: str, conditions: list[Condition], fixes: tuple[Fix, ...], cause: str = "unregistered"
) -> Finding:
    return Finding(
        message=message,
        at=Location(app.ref, None, "/spec/destination"),
        cause=cause,
        evidence=tuple(f"condition {c.type}: {excerpt(c.message, 600)}" for c in conditions),
        fixes=fixes,
        explains=(
            *(c.symptom for c in conditions),
            Symptom.sync(),
            Symptom.health(),
            Symptom.operation(),
            Symptom.condition("SyncError"),
        ),
        follows=(
            Follows.common(f"Argo CD does not know or does not reach cluster {app.cluster}.", "cluster", app.cluster),
        ),
    )


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, causes=("unregistered", "unreachable"), rank=Rank.CAUSE
)
