"""A CA bundle is injected over Git's value

What it finds: `caBundle` of a webhook configuration, an APIService or a CRD's conversion with a real certificate in the cluster and nothing, or
a placeholder, in Git. Or an injector such as cert-manager's cainjector, or a webhook's own controller, replaced Git's bundle. Also a ConfigMap's
key that such a controller filled with certificates, and other settings of a webhook (`failurePolicy`) that the same controller, or a chart's
patch Job, sets together with the bundle.

Why it hurts: the object is OutOfSync forever, and each sync breaks the webhook until the injector runs again.

How to fix: leave `caBundle`, or the key, out of Git: a field that only the cluster has is no difference. If a chart insists on it, ignore the
field. For `failurePolicy` write the patch Job's value in Git. Or let cert-manager issue the certificate and switch the Job off
(`admissionWebhooks.patch.enabled: false` and `admissionWebhooks.certManager.enabled: true` in many charts).

Example: `caBundle: Cg==` in Git, a certificate live.

Sources: argoproj/argo-cd#1487; kube-webhook-certgen (patch --patch-failure-policy), prometheus-community/helm-charts; https://cert-manager.io/docs/concepts/ca-injector/;
https://docs.openshift.com/container-platform/latest/security/certificates/service-serving-certificate.html (inject-cabundle).
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Edit, Finding, Fix, Fleet, Json, Rank, Resource, Rule, narrowest_ignore

from ._ca_bundles import by_the_patcher, in_configmap, injected, placeholder
from ._edits import drop, place, write_live
from ._fields import finding, listing, matching, pointers, who
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its bundles, and one for the other settings of the same writer."""
    for resource, changes in matching(app, injected):
        in_git = all(change.desired is not MISSING for change in changes)
        what = "the key" if in_configmap(resource, changes[0]) else "caBundle"
        yield finding(
            app,
            resource,
            changes,
            f"{who(changes[0])} writes the CA bundle of {resource.id} over {_replaced(changes[0].desired)}, so it stays OutOfSync.",
            fixes=(
                drop(app, resource, changes, f"Leave {what} out of the manifest") if in_git else None,
                narrowest_ignore(app, resource, pointers(changes)),
            ),
        )
    for resource, changes in matching(app, by_the_patcher):
        yield _set_with_it(app, resource, changes)


def _set_with_it(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    first = changes[0]
    job = is_sort(first.writer, "injector")
    kind = "the chart's patch Job or an injector" if job else "the webhook's own controller"
    return finding(
        app,
        resource,
        changes,
        f"{who(first)} sets {listing(changes)} of {resource.id} together with the CA bundle, so Git's value never stays.",
        evidence=(f"{who(first)} is {kind}",),
        severity="warning",
        confidence="likely",
        fixes=(
            narrowest_ignore(app, resource, pointers(changes)),
            write_live(
                app,
                resource,
                changes,
                "Or say in Git what it sets",
                "until the webhook serves, it may refuse a sync" if _closes(changes) else "",
            ),
            _without_patcher(app) if job else None,
        ),
    )


def _closes(changes: tuple[Change, ...]) -> bool:
    return any(change.live == "Fail" for change in changes)


def _without_patcher(app: App) -> Fix:
    text = (
        "Many charts know admissionWebhooks.patch.enabled: false with admissionWebhooks.certManager.enabled: true (below the component's own"
        " key): cert-manager's cainjector then writes caBundle alone, and failurePolicy stays as Git says."
    )
    title = "Or let cert-manager issue the certificate"
    return Fix(title, "helm-values", place(app), Edit("text", text))


def _replaced(desired: Json) -> str:
    if desired is MISSING or not desired:
        return "nothing in Git"
    return "a placeholder in Git" if placeholder(desired) else "another certificate in Git"


RULE = Rule(id="ca-bundle-injected", family="drift", severity="info", doc=__doc__, check=check, rank=Rank.CAUSE)
