"""Ports that a client-side apply folds into one, since it merges them by their number and not by their protocol, too.

Source: patchMergeKey of ServicePort and ContainerPort (k8s.io/api core/v1); kubernetes/kubernetes#105610.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Location, Resource
from argolint.comparison import syncs_server_side
from argolint.edits import annotation_option, manifest_patch
from argolint.values import items, maps, text_at
from argolint.values.kubernetes import SYNC_OPTIONS, containers


def merged_port_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """A finding for a Service or workload that Git gives a second protocol for a port that is live with one."""
    desired, live = resource.desired, resource.live
    if not desired or not live or syncs_server_side(app.raw, desired) or "Replace=true" in app.sync_options:
        return
    lists = [("/spec/ports", "port", maps(desired, "spec", "ports"), maps(live, "spec", "ports"))]
    if resource.kind != "Service":
        held = {text_at(container, "name"): container for _, container in containers(live)}
        lists = [
            (f"{at}/ports", "containerPort", maps(one, "ports"), maps(held.get(text_at(one, "name")), "ports"))
            for at, one in containers(desired)
            if len(items(one, "ports")) > 1
        ]
    for at, key, wanted, has in lists:
        for number, port in enumerate(wanted):
            same = {_protocol(p) for p in has if p.get(key) == port.get(key)}
            rest = {_protocol(p) for p in wanted if p.get(key) == port.get(key)} - {_protocol(port)}
            if same and same <= rest:
                yield _finding(app, resource, f"{at}/{number}", f"{port.get(key)}/{_protocol(port)}", sorted(same))
                return


def _protocol(port: object) -> str:
    return text_at(port, "protocol") or "TCP"


def _finding(app: App, resource: Resource, pointer: str, coming: str, has: list[str]) -> Finding:
    operations = [*annotation_option(resource.desired, SYNC_OPTIONS, "ServerSideApply=true")]
    return Finding(
        message=f"Client-side apply merges the ports of {resource.id} by number: of {coming} and the live {has[0]} only one is left, and Argo CD shows it as Synced.",
        at=Location(app.ref, resource.id, pointer),
        confidence="likely",
        evidence=(f"live has this number for {', '.join(has)} alone",),
        fixes=(manifest_patch(resource.id, "Apply it server-side, which tells protocols apart", operations),),
    )
