"""The owner of objects that no manifest names, such as a Pod or the Secret of an ExternalSecret; the resource trees show what made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Tree
from argolint.errors import ArgolintError, AuthError
from argolint.model import ResourceKey
from argolint.reports.ownership.fleet import Wanted, holding_of
from argolint.reports.ownership.graph import Held
from argolint.server import api
from argolint.server.transport import Transport

MOST_TREES = 300
"""The most Applications whose tree is read: each costs a request."""
_MOST_STEPS = 20


def holdings_made(t: Transport, fleet: Fleet, wanted: Wanted) -> tuple[tuple[Held, ...], int]:
    """The matching objects that others made, with the claims on their origin; and the number of Applications that could not be read."""
    apps = _candidates(fleet, wanted)
    found: dict[ResourceKey, Held] = {}
    unread = max(0, len(apps) - MOST_TREES)
    for app in apps[:MOST_TREES]:
        try:
            tree = api.resource_tree(t, app.ref)
        except AuthError:
            raise
        except ArgolintError:
            unread += 1
            continue
        for held in _of_tree(tree, app, fleet, wanted):
            found.setdefault(held.key, held)
    return tuple(found[key] for key in sorted(found)), unread


def _candidates(fleet: Fleet, wanted: Wanted) -> list[App]:
    """The Applications that may have it: with a namespace, those that deploy to it."""
    return [
        app
        for app in fleet.apps
        if any(fnmatchcase(row.namespace, wanted.namespace) for row in app.rows)
        or fnmatchcase(str((app.spec.get("destination") or {}).get("namespace") or ""), wanted.namespace)
    ]


def _of_tree(tree: Tree, app: App, fleet: Fleet, wanted: Wanted) -> Iterator[Held]:
    nodes = {node.uid: node for node in tree.nodes or () if node.uid}
    for node in nodes.values():
        if not wanted.takes(node.kind, node.namespace, node.name):
            continue
        steps: list[ResourceKey] = []
        above = node
        while above.parent_refs and len(steps) < _MOST_STEPS:
            parent = nodes.get(above.parent_refs[0].uid)
            if parent is None:
                break
            above = parent
            steps.append(ResourceKey(app.cluster, above.group, above.kind, above.namespace, above.name))
        if steps and fleet.owners(steps[-1]):
            key = ResourceKey(app.cluster, node.group, node.kind, node.namespace, node.name)
            yield replace(holding_of(fleet, steps[-1]), key=key, via=tuple(steps))
