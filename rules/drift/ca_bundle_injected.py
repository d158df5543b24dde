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

from argolint import MISSING, App, Edit, Finding, Fix, Fleet, Json, Rank, Rule
from argolint.values import get

from ._ca_bundles import is_certificate_key, is_injected_bundle, is_placeholder, is_set_by_patcher
from ._edits import source_place
from ._fields import Drift, drifts, writer_name
from ._writers import is_sort


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object, with all its bundles, and one for the other settings of the same writer."""
    for drift in drifts(app, is_injected_bundle):
        written = [get(drift.resource.desired, change.pointer) for change in drift.changes]  # an empty text counts
        in_git = all(value is not MISSING for value in written)
        what = "the key" if is_certificate_key(drift.resource, drift.changes[0]) else "caBundle"
        yield drift.finding(
            f"{writer_name(drift.changes[0])} writes the CA bundle of {drift.resource.id} over {_replaced_text(written[0])}, so it stays OutOfSync.",
            fixes=(
                drift.drop(f"Leave {what} out of the manifest") if in_git else None,
                drift.ignore(),
            ),
        )
    for drift in drifts(app, is_set_by_patcher):
        yield _patcher_finding(drift)


def _patcher_finding(drift: Drift) -> Finding:
    first = drift.changes[0]
    job = is_sort(first.writer, "injector")
    kind = "the chart's patch Job or an injector" if job else "the webhook's own controller"
    return drift.finding(
        f"{writer_name(first)} sets {drift.places()} of {drift.resource.id} together with the CA bundle, so Git's value never stays.",
        evidence=(f"{writer_name(first)} is {kind}",),
        severity="warning",
        confidence="likely",
        fixes=(
            drift.ignore(),
            drift.write_live(
                "Or write into Git what it sets",
                "until the webhook serves, it may refuse a sync"
                if any(change.live == "Fail" for change in drift.changes)
                else "",
            ),
            _cert_manager_fix(drift.app) if job else None,
        ),
    )


def _cert_manager_fix(app: App) -> Fix:
    text = (
        "Many charts have admissionWebhooks.patch.enabled: false with admissionWebhooks.certManager.enabled: true (below the component's own"
        " key): cert-manager's cainjector then writes caBundle alone, and failurePolicy stays as Git says."
    )
    title = "Or let cert-manager issue the certificate"
    return Fix(title, "helm-values", source_place(app), Edit("text", text))


def _replaced_text(desired: Json) -> str:
    if desired is MISSING:
        return "nothing in Git"
    if not desired:
        return "an empty text in Git"
    return "a placeholder in Git" if is_placeholder(desired) else "another certificate in Git"


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.CAUSE)
