"""The admission webhook of External Secrets itself: a sync that fails because the webhook does not answer, and the fixes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Follows, Location, Symptom
from argolint.edits import consequences, live_command
from argolint.messages import telling
from argolint.values.patterns import regex

from ._sync_error_texts import cleaned_text

_WEBHOOK = regex(r'failed calling webhook "(?P<webhook>validate\.\w+\.external-secrets\.io)"(?P<why>[^;]*)')


def own_webhook_findings(app: App, fleet: Fleet) -> Iterator[Finding]:
    """One finding for a sync that the webhook blocked, or for a comparison that the conversion stops."""
    for condition in app.conditions:
        if condition.is_error and (asked := _CONVERSION.search(condition.message)):
            explained = (condition.symptom, Symptom.sync(), Symptom.operation(), Symptom.condition("SyncError"))
            yield _conversion_finding(app, asked, f"Application {app.ref} cannot be compared", explained)
            return
    operation = app.operation
    if operation is None or operation.phase not in ("Failed", "Error", "Running"):
        return
    texts = (operation.message, *(str(r.get("message") or "") for r in operation.results))
    if asked := next((m for text in texts if (m := _CONVERSION.search(text))), None):
        claims = tuple(consequences.consequences(app))
        yield _conversion_finding(app, asked, f"Syncs of application {app.name} fail", claims)
    found = next((m for text in texts if (m := _WEBHOOK.search(text))), None)
    if found is None:
        return
    yield Finding(
        message=f"Syncs of application {app.name} fail because the webhook of External Secrets cannot be called{_reason_text(found['why'])}.",
        at=Location(app.ref),
        evidence=(f"operation {operation.phase}: {cleaned_text(found.group())}",),
        fixes=tuple(_webhook_fixes(app, fleet, found["why"])),
        explains=tuple(consequences.consequences(app)),
    )


_CONVERSION = regex(r"conversion webhook for external-secrets\.io/\w+, Kind=(?P<kind>\w+) failed(?P<why>[^;]*)")


def _conversion_finding(app: App, found: re.Match[str], fact: str, claims: tuple[Symptom, ...]) -> Finding:
    """The finding for a CRD with a conversion webhook that v0.16.0 removed, or of another version (issues 1055, 4661, 4662, 4666)."""
    crd = f"{found['kind'].lower()}s.external-secrets.io"
    steps = (
        f"kubectl get crd {crd} -o jsonpath='{{.spec.conversion}} {{.status.storedVersions}}'   # CRDs of v0.16.0 and later ask no webhook, older ones /convert",
        "kubectl get deployments -A -l app.kubernetes.io/name=external-secrets-webhook -o wide   # the version that answers",
        "argocd app sync APPLICATION_OF_EXTERNAL_SECRETS --server-side   # operator, webhook and CRDs of one version (installCRDs: true)",
        "# Where the operator is v0.16.0 or later and the CRD still asks after that:",
        f"""kubectl patch crd {crd} --type=merge -p '{{"spec":{{"conversion":{{"strategy":"None","webhook":null}}}}}}'""",
    )
    title = "Run the operator, its webhook and its CRDs of one version"
    caveat = "v1alpha1 must be out of storedVersions before v0.16.0, v1beta1 before v0.17.0; deleting a CRD deletes all its objects"
    return Finding(
        message=f"{fact} because CRD {crd} asks a conversion webhook that does not convert it.",
        at=Location(app.ref),
        severity="error",
        evidence=(cleaned_text(found.group()),),
        fixes=(Fix(title, "operator", f"CustomResourceDefinition {crd}", Edit("command", "\n".join(steps)), caveat),),
        explains=claims,
        follows=(
            Follows.common(f"CRD {crd} cannot convert its objects on cluster {app.cluster}.", "crd", app.cluster, crd),
        ),
    )


_ANOTHER_VERSION = regex(r"the server could not find the requested resource")
_CERTIFICATE = regex(r"x509: ")
_CONFIGURATIONS = ("externalsecret-validate", "secretstore-validate")
_WEBHOOKS = f"kubectl get validatingwebhookconfigurations {' '.join(_CONFIGURATIONS)}"


def _webhook_fixes(app: App, fleet: Fleet, why: str) -> Iterator[Fix]:
    """Fixes by the call's error: another version's path, the certificate, or no answer (issues 4814, 2544, 956)."""
    if _ANOTHER_VERSION.search(why):
        path = "-o jsonpath='{.items[*].webhooks[*].clientConfig.service.path}'"
        lines = (
            f"{_WEBHOOKS} {path}   # /validate-external-secrets-io-v1-...: v0.16.0 and later; ...-v1beta1-...: v0.15 and older",
            "kubectl get deployments -A -l app.kubernetes.io/name=external-secrets-webhook -o wide   # the image that must serve that path",
        )
        title = "Sync External Secrets as a whole, so that all are of one version"
        caveat = (
            "the webhook answers, but does not know the path; its rights, its network and the manifest are not at fault"
        )
        yield Fix(title, "operator", "application of External Secrets", Edit("command", "\n".join(lines)), caveat)
        return
    if _CERTIFICATE.search(why):
        steps = (
            "kubectl -n OPERATOR_NAMESPACE get secret external-secrets-webhook   # the cert-controller writes ca.crt, tls.crt and tls.key into it",
            "kubectl -n OPERATOR_NAMESPACE delete secret external-secrets-webhook",
            "argocd app sync APPLICATION_OF_EXTERNAL_SECRETS   # where Git holds that Secret, empty",
            "kubectl -n OPERATOR_NAMESPACE rollout restart deployment external-secrets-cert-controller external-secrets-webhook",
        )
        title = "Let the cert-controller issue the certificate of the webhook again"
        caveat = "with webhook.certManager.enabled cert-manager issues it: look at its Certificate instead"
        yield Fix(title, "operator", "Secret external-secrets-webhook", Edit("command", "\n".join(steps)), caveat)
    reach = f"{_WEBHOOKS}\nkubectl get pods -A -l app.kubernetes.io/name=external-secrets-webhook"
    if not _GONE.search(why):
        yield Fix(
            "Let the API server reach the webhook: its pods, its certificate, the firewall to port 10250",
            "operator",
            "Deployment external-secrets-webhook",
            Edit("command", reach),
            "a private GKE or EKS cluster needs a rule for the control plane",
        )
        return
    yield Fix(
        "Restore the Service of the webhook: sync or install External Secrets as a whole",
        "operator",
        "application of External Secrets",
        Edit("command", f"{reach}\nkubectl get services -A -l app.kubernetes.io/name=external-secrets-webhook"),
    )
    if not _is_managed(app, fleet):
        yield live_command(
            "ValidatingWebhookConfiguration",
            "Delete the webhook configuration that an operator left behind",
            f"kubectl delete validatingwebhookconfigurations {' '.join(_CONFIGURATIONS)}",
            "only when no External Secrets Operator is installed any more",
        )


_GONE = regex(r'service "[^"]{1,253}" not found|namespaces? "[^"]{1,253}" not found')
"""The API server's words where the Service of a webhook is not there; one without an answer is."""


def _is_managed(app: App, fleet: Fleet) -> bool:
    """Whether an Application of this cluster brings the webhook configurations, so that the operator is meant to be there."""
    kept = fleet.of_kind(app.cluster, "admissionregistration.k8s.io", "ValidatingWebhookConfiguration")
    return any(key.name in _CONFIGURATIONS for key in kept)


def _reason_text(text: str) -> str:
    reason = telling(cleaned_text(text.lstrip(": ")))
    return f" ({reason})" if reason else ""
