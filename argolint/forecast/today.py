"""The current versions of External Secrets and Kubernetes on the clusters."""

from __future__ import annotations

from argolint.application.fleet import Fleet
from argolint.forecast.releases import Version
from argolint.relations.operator_version import operator_version
from argolint.values import parse_version


def oldest_operator(fleet: Fleet, clusters: frozenset[str]) -> tuple[Version | None, bool]:
    """The oldest External Secrets Operator that may run, and whether that is certain; None if nothing shows one."""
    servers = clusters or {*fleet.clusters, *(app.cluster for app in fleet.apps)}
    found = [operator_version(fleet, server) for server in sorted(servers)]
    seen = [version for one in found if (version := one.exact or one.low) is not None]
    return min(seen, default=None), bool(seen) and all(one.exact for one in found if one.exact or one.low)


def oldest_cluster(fleet: Fleet, clusters: frozenset[str]) -> str:
    """The lowest Kubernetes version among the clusters; empty if none is known."""
    known = {
        version: parsed
        for server in fleet.clusters
        if not clusters or server in clusters
        if (parsed := parse_version(version := fleet.kubernetes_version(server))) is not None and parsed > (1,)
    }
    return min(known, key=lambda v: known[v][:2], default="")
