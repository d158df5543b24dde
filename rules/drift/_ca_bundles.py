"""The places of CA bundles, and whether something other than Git wrote one."""

from __future__ import annotations

import base64
import binascii

from argolint import MISSING, Change, Json, Resource
from argolint.application.applied import by_argocd
from argolint.comparison import writer
from argolint.values import fits

from ._writers import is_sort

_PEM = "-----BEGIN CERTIFICATE-----"


def is_injected_bundle(resource: Resource, change: Change) -> bool:
    """True for a bundle that an injector, or a webhook's own controller, wrote; or that replaces a placeholder.

    OpenShift and trust-manager put bundles into keys of ConfigMaps. A key may have any content, so there the writer must be known.
    """
    foreign = change.writer is not None and not by_argocd(change.writer) and not is_sort(change.writer, "person")
    if change.pointer.endswith("/caBundle") and isinstance(change.live, str) and change.live:
        return foreign or (is_placeholder(change.desired) and not by_argocd(change.writer))
    return foreign and is_certificate_key(resource, change)


def is_set_by_patcher(resource: Resource, change: Change) -> bool:
    """True for other settings of a webhook with the same writer as its CA bundle.

    A chart renders `failurePolicy: Ignore` so that no request is refused before the webhook serves; its patch Job (kube-webhook-certgen), or the
    webhook's own controller (istiod), sets Fail with the bundle.
    """
    if resource.kind not in _WEBHOOKS or not any(fits(pattern, change.pointer) for pattern in _SETTINGS):
        return False
    if change.writer is None or by_argocd(change.writer) or is_sort(change.writer, "person"):
        return False
    bundle = "/".join((*change.pointer.split("/")[:3], "clientConfig", "caBundle"))
    patcher = writer(resource.live or {}, bundle)
    return is_sort(change.writer, "injector") or (patcher is not None and patcher.manager == change.writer.manager)


_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_SETTINGS = ("/webhooks/*/failurePolicy", "/webhooks/*/timeoutSeconds", "/webhooks/*/matchPolicy")


def is_certificate_key(resource: Resource, change: Change) -> bool:
    """True for a ConfigMap's key with certificates."""
    of_data = (resource.group, resource.kind) == ("", "ConfigMap") and change.pointer.startswith("/data/")
    return of_data and isinstance(change.live, str) and _PEM in change.live


def is_placeholder(desired: Json) -> bool:
    """True for an empty value, and for one that is no certificate, in PEM or its base64 form."""
    if desired is MISSING or not desired:
        return True
    if _PEM in str(desired):
        return False
    try:
        return b"CERTIFICATE" not in base64.b64decode(str(desired), validate=False)
    except binascii.Error:
        return True
