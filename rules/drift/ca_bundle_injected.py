"""A CA bundle is injected over what Git says

What it finds: `caBundle` of a webhook configuration, an APIService or a CRD's conversion that holds a real certificate in the
cluster and nothing, or a placeholder, in Git; or that an injector such as cert-manager's cainjector, or a webhook's own
controller, wrote over Git's.

Why it hurts: the object is OutOfSync for ever, and each sync breaks the webhook until the injector has been there again.

How to fix: leave `caBundle` out of Git: a field that only the cluster has is no difference. If a chart insists on it, ignore
the field.

Example: `caBundle: Cg==` in Git, a certificate live.

Sources: argoproj/argo-cd#1487; https://cert-manager.io/docs/concepts/ca-injector/.
"""

import base64
import binascii
from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Json, Resource, Rule, narrowest_ignore
from argolint.applied import by_argocd

from .edits import drop
from .fields import finding, listing, matching, pointers, writer
from .writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object, with all its bundles."""
    for resource, changes in matching(app, _injected):
        in_git = all(change.desired is not MISSING for change in changes)
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} holds a CA bundle at {listing(changes)} that {writer(changes[0])} put in the place of"
            f" {_replaced(changes[0].desired)}, so it stays OutOfSync.",
            fixes=(
                drop(app, resource, changes, "Leave caBundle out of the manifest") if in_git else None,
                narrowest_ignore(app, resource, pointers(changes)),
            ),
        )


def _injected(resource: Resource, change: Change) -> bool:
    if not change.pointer.endswith("/caBundle") or not isinstance(change.live, str) or not change.live:
        return False
    foreign = change.writer is not None and not by_argocd(change.writer) and not is_sort(change.writer, "person")
    return foreign or _placeholder(change.desired)


def _replaced(desired: Json) -> str:
    if desired is MISSING or not desired:
        return "nothing"
    return "a placeholder in Git" if _placeholder(desired) else "another certificate in Git"


def _placeholder(desired: Json) -> bool:
    """Nothing, or base64 of what is no certificate."""
    if desired is MISSING or not desired:
        return True
    try:
        return b"CERTIFICATE" not in base64.b64decode(str(desired), validate=False)
    except binascii.Error:
        return True


RULE = Rule(id="ca-bundle-injected", family="drift", severity="info", doc=__doc__, check=check, rank=10)
