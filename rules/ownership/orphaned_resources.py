"""Objects in the destination namespace that no Application owns

What it finds: objects in the destination namespace that no Application manages and no other object owns, if the project watches for orphans
(`orphanedResources.warn`): `OrphanedResourceWarning`.

Why it hurts: no one deletes, updates or restores them; a namespace rebuilt from Git lacks them.

How to fix: adopt each one (put it into Git), delete it, or list it under `spec.orphanedResources.ignore` of the AppProject. Then the next orphan
is noticed.

Example: a ConfigMap made by hand years ago still exists next to the Application that replaced it.

Sources: controller/appcontroller.go (getAppHosts and orphaned nodes), docs/user-guide/orphaned-resources.md; argoproj/argo-cd issue 3450.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint import App, Edit, Finding, Fix, Fleet, Location, Node, Rank, Related, Rule
from argolint.edits import manifest_text
from argolint.values.knowledge import dump
from argolint.values.patterns import regex

_COUNT = regex(r"Application has (\d{1,9}) orphaned resources?")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application with the condition; the orphans of the resource tree are related."""
    for condition in app.conditions:
        found = _COUNT.match(condition.message) if condition.type == "OrphanedResourceWarning" else None
        if found is None:
            continue
        orphans = sorted((n for n in app.nodes if n.orphaned), key=lambda n: n.id)
        count = int(found[1])
        objects = "1 object" if count == 1 else f"{count} objects"
        yield Finding(
            message=f'Namespace "{app.destination_namespace}" holds {objects} that no Application owns, so Git does not describe the whole namespace.',
            at=Location(app.ref),
            evidence=(f"condition OrphanedResourceWarning: {condition.message}", *(_orphan_line(n) for n in orphans)),
            related=tuple(Related(app.ref, n.id) for n in orphans),
            fixes=tuple(_fixes(app, [n for n in orphans if not n.owners])),
            explains=(condition.symptom,),
        )


def _orphan_line(node: Node) -> str:
    since = f", made {node.created_at:%Y-%m-%d}" if node.created_at else ""
    return f"orphan {node.id}{since}"


def _fixes(app: App, orphans: list[Node]) -> Iterator[Fix]:
    """Fixes for the orphans without an owner: their children are in the tree as well, and are deleted or kept with them."""
    ignore = [{"group": n.id.group, "kind": n.id.kind, "name": n.id.name} for n in orphans]
    known = Fix(
        "List them as known orphans",
        "argocd-settings",
        f"AppProject {app.project}",
        Edit("yaml", dump([{"spec": {"orphanedResources": {"warn": True, "ignore": ignore}}}])),
        caveat="add to the entries that the project has",
        safe=True,
    )
    if orphans and all(_is_of_argocd(n) for n in orphans):
        yield replace(known, title="List what Argo CD made or was started with as known orphans")
        return
    yield manifest_text(
        f"the source of {app.ref}",
        "Put the objects that are needed into Git",
        "\n".join(f"{n.id.kind} {n.id.name}" for n in orphans) + "\n" if orphans else "the orphans\n",
        "delete those that no one needs"
        + ("" if not any(map(_is_of_argocd, orphans)) else ", but no Application or AppProject"),
    )
    if ignore:
        yield known


def _is_of_argocd(node: Node) -> bool:
    """Whether it is the project that Argo CD makes at its start, or an Application or project that someone applied by hand to start with."""
    return node.id.group == "argoproj.io" and node.id.kind in ("AppProject", "Application")


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.CAUSE, standing=True)
