"""A Secret key that left Git stays live

What it finds: a key of a live Secret that the manifest no longer has, that Argo CD itself wrote, and that the last applied configuration does
not contain. `stringData` leaves such keys: the API server moves its entries into `data`, so a later apply does not recognize the key as its own
and never deletes it. Argo CD shows the Secret as Synced.

Why it hurts: a credential that was removed from Git on purpose is still mounted, and nothing shows it.

How to fix: delete the key once by hand, and write `data` instead of `stringData`.

Example: `stringData: {old-token: ...}` removed by a commit.

Sources: argoproj/argo-cd#29109; https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data.
"""

from collections.abc import Iterator, Mapping

from argolint import App, Finding, Fleet, Location, Rank, Resource, Rule
from argolint.application.applied import by_argocd, last_applied
from argolint.comparison import writers
from argolint.edits import live_patch, manifest_text
from argolint.values import dig, join_pointer
from argolint.values.kubernetes import data_keys


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application manages a Secret itself."""
    return any(not r.hook for r in app.of_kind("Secret", ""))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each key."""
    for resource in app.of_kind("Secret", ""):
        for key in _leftover_keys(resource):
            pointer = join_pointer("data", key)
            yield Finding(
                message=f"{resource.id} still holds key {key!r}, which Git dropped: it came from stringData, so no sync deletes it.",
                at=Location(app.ref, resource.id, pointer),
                evidence=(
                    f"{pointer} is in the live object, written by Argo CD, and neither in the manifest nor in last-applied",
                ),
                fixes=(
                    live_patch(
                        resource.id,
                        "Delete the key, once",
                        [{"op": "remove", "path": pointer}],
                        "check first that nothing reads it",
                    ),
                    manifest_text(
                        resource.id,
                        "Write data instead of stringData",
                        "move the entries of stringData to data, base64-encoded",
                        "does not delete the existing key",
                    ),
                ),
            )


def _leftover_keys(resource: Resource) -> Iterator[str]:
    applied = last_applied(resource)
    if resource.desired is None or resource.live is None or applied is None:
        return
    known = data_keys(resource.desired) | data_keys(applied)
    live = dig(resource.live, "data")
    for key in sorted(live) if isinstance(live, Mapping) else ():
        owners = writers(resource.live, join_pointer("data", key))
        if key not in known and owners and all(by_argocd(owner) for owner in owners):
            yield key


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=reads, rank=Rank.CAUSE)
