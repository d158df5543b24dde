"""A Secret that workloads name is no longer made

What it finds: an ExternalSecret, Certificate or the like that will write its Secret under another name, while a manifest of the application still names
the old one.

Why it hurts: External Secrets deletes the Secret of the old name, so no new pod starts. cert-manager leaves the old one and no longer renews it, so it expires.

How to fix: name the new Secret in the same change, or keep the old name.

Example: `spec.target.name` changes from `db` to `db-credentials`, and a Deployment reads `secretRef: {name: db}`.

Sources: external-secrets/external-secrets pkg/controllers/externalsecret (deleteOrphanedSecrets); cert-manager.io, Certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import App, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule
from argolint.edits import manifest_patch
from argolint.relations.makers import made_secrets, makers
from argolint.values import dig, enumerated, get

from ..shared.references import User, users

_DELETED = ("external-secrets.io", "ExternalSecret")
"""The operator deletes what it owns and names no longer, before it writes the new one."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Secret that loses its maker and has users."""
    changed = [r for r in app.stated if (r.modified or r.pending) and (r.group, r.kind) in makers()]
    for maker in changed:
        if maker.live is None or maker.desired is None:
            continue
        new = made_secrets(maker.desired)
        for name in made_secrets(maker.live) if new else ():
            if (maker.namespace, name) not in app.derive(_made) and app.find(
                "", "Secret", maker.namespace, name
            ) is None:
                found = [
                    user for user in users(app).get(("", "Secret", maker.namespace, name), ()) if user.app == app.ref
                ]
                if found:
                    yield _finding(app, maker, name, new[0], found)


def _made(app: App) -> frozenset[tuple[str, str]]:
    """The (namespace, name) of each Secret that the manifests of the application have made."""
    found = (r for r in app.resources if (r.group, r.kind) in makers() and r.desired)
    return frozenset((r.namespace, name) for r in found for name in made_secrets(r.desired or {}))


def _finding(app: App, maker: Resource, old: str, new: str, found: Sequence[User]) -> Finding:
    policy = dig(maker.desired, "spec", "target", "creationPolicy")
    is_deleted = (maker.group, maker.kind) == _DELETED and policy in (None, "", "Owner")
    names = list(dict.fromkeys(str(user.id) for user in found))
    fate = "which External Secrets deletes" if is_deleted else "which is no longer written"
    verb = "names" if len(names) == 1 else "name"
    return Finding(
        message=f"{maker.id} will write Secret {new}, and {enumerated(names, limit=1)} still {verb} {old}, {fate}.",
        at=Location(app.ref, maker.id),
        severity="error" if is_deleted else "warning",
        confidence="likely",
        evidence=tuple(f"{user.id} at {user.pointer}" for user in found[:8]),
        related=tuple(Related(app.ref, user.id, user.pointer, "dependent") for user in found[:5]),
        fixes=tuple(_fixes(app, maker, old, new, found)),
    )


def _fixes(app: App, maker: Resource, old: str, new: str, found: Sequence[User]) -> Iterator[Fix]:
    first = found[0].id
    places = [user.pointer for user in found if user.id == first]
    holder = app.resource(first.key)
    if holder is not None and all(get(holder.desired, place, None) == old for place in places):
        steps = [{"op": "replace", "path": place, "value": new} for place in places]
        more = (
            "do the same in the others that name it"
            if any(user.id != first for user in found)
            else "the pods restart once"
        )
        yield manifest_patch(first, f"Name Secret {new}", steps, more)
    changed = [c.pointer for c in (*maker.pending, *maker.changes) if get(maker.live, c.pointer, None) == old]
    if changed:
        yield manifest_patch(maker.id, f"Keep the name {old}", [{"op": "replace", "path": changed[0], "value": old}])


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
