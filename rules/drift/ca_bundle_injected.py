"""A CA bundle is injected over what Git says

What it finds: `caBundle` of a webhook configuration, an APIService or a CRD's conversion that holds a real certificate in the
cluster and nothing, or a placeholder, in Git; or that an injector such as cert-manager's cainjector, or a webhook's own
controller, wrote over Git's. Also a ConfigMap's key that such a controller filled with certificates.

Why it hurts: the object is OutOfSync for ever, and each sync breaks the webhook until the injector has been there again.

How to fix: leave `caBundle`, or the key, out of Git: a field that only the cluster has is no difference. If a chart insists
on it, ignore the field.

Example: `caBundle: Cg==` in Git, a certificate live.

Sources: argoproj/argo-cd#1487; https://cert-manager.io/docs/concepts/ca-injector/;
https://docs.openshift.com/container-platform/latest/security/certificates/service-serving-certificate.html (inject-cabundle).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Finding, Fleet, Json, Rule, narrowest_ignore

from ._ca_bundles import in_configmap, injected, placeholder
from ._edits import drop
from ._fields import finding, listing, matching, pointers, writer


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding an object, with all its bundles."""
    for resource, changes in matching(app, injected):
        in_git = all(change.desired is not MISSING for change in changes)
        what = "the key" if in_configmap(resource, changes[0]) else "caBundle"
        yield finding(
            app,
            resource,
            changes,
            f"{resource.id} holds a CA bundle at {listing(changes)} that {writer(changes[0])} put in the place of"
            f" {_replaced(changes[0].desired)}, so it stays OutOfSync.",
            fixes=(
                drop(app, resource, changes, f"Leave {what} out of the manifest") if in_git else None,
                narrowest_ignore(app, resource, pointers(changes)),
            ),
        )


def _replaced(desired: Json) -> str:
    if desired is MISSING or not desired:
        return "nothing"
    return "a placeholder in Git" if placeholder(desired) else "another certificate in Git"


RULE = Rule(id="ca-bundle-injected", family="drift", severity="info", doc=__doc__, check=check, rank=10)
