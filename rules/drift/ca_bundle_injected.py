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

from ._ca_bundles import is_certificate_key, is_injected_bundle, is_placeholder, is_set_by_patcher
from ._edits import drop_fix, source_place, write_live_fix
from ._fields import finding, matching_changes, pointers, pointers_text, writer_name
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its bundles, and one for the other settings of the same writer."""
    for resource, changes in matching_changes(app, is_injected_bundle):
        in_git = all(change.desired is not MISSING for change in changes)
        what = "the key" if is_certificate_key(resource, changes[0]) else "caBundle"
        yield finding(
            app,
            resource,
            changes,
            f"{writer_name(changes[0])} writes the CA bundle of {resource.id} over {_replaced_text(changes[0].desired)}, so it stays OutOfSync.",
            fixes=(
                drop_fix(app, resource, changes, f"Leave {what} out of the manifest") if in_git else None,
                narrowest_ignore(app, resource, pointers(changes)),
            ),
        )
    for resource, changes in matching_changes(app, is_set_by_patcher):
        yield _patcher_finding(app, resource, changes)


def _patcher_finding(app: App, resource: Resource, changes: tuple[Change, ...]) -> Finding:
    first = changes[0]
    job = is_sort(first.writer, "injector")
    kind = "the chart's patch Job or an injector" if job else "the webhook's own controller"
    return finding(
        app,
        resource,
        changes,
        f"{writer_name(first)} sets {pointers_text(changes)} of {resource.id} together with the CA bundle, so Git's value never stays.",
        evidence=(f"{writer_name(first)} is {kind}",),
        severity="warning",
        confidence="likely",
        fixes=(
            narrowest_ignore(app, resource, pointers(changes)),
            write_live_fix(
                app,
                resource,
                changes,
                "Or say in Git what it sets",
                "until the webhook serves, it may refuse a sync"
                if any(change.live == "Fail" for change in changes)
                else "",
            ),
            _cert_manager_fix(app) if job else None,
        ),
    )


def _cert_manager_fix(app: App) -> Fix:
    text = (
        "Many charts know admissionWebhooks.patch.enabled: false with admissionWebhooks.certManager.enabled: true (below the component's own"
        " key): cert-manager's cainjector then writes caBundle alone, and failurePolicy stays as Git says."
    )
    title = "Or let cert-manager issue the certificate"
    return Fix(title, "helm-values", source_place(app), Edit("text", text))


def _replaced_text(desired: Json) -> str:
    if desired is MISSING or not desired:
        return "nothing in Git"
    return "a placeholder in Git" if is_placeholder(desired) else "another certificate in Git"


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.CAUSE)
