"""An ExternalSecret is never refreshed

What it finds: a `refreshInterval` of zero or less with the periodic policy. (With `CreatedOnce`, `OnChange`, an immutable
target or a generator as the only source that is a choice, and no finding.)

Why it hurts: the value is fetched once. A rotation at the provider never arrives, and since v0.11 neither an edit of the
ExternalSecret nor the annotation `force-sync` fetches again; Argo CD's refresh action is disabled.

How to fix: use a real interval, or state the intention with `refreshPolicy: OnChange` (force-sync works) or `CreatedOnce`.

Example:

    ExternalSecret shop/db has refreshInterval "0": its Secret "db" keeps the first value forever, and force-sync does nothing.

Sources: external-secrets docs/api/externalsecret.md; issues 4167, 4447 and 4568 (intended); Argo CD
resource_customizations/external-secrets.io/ExternalSecret/actions.
"""

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Need, Rule
from argolint.relations.operator_version import version_of

from . import _external_secret as es


def _unrefreshed(app: App) -> Iterator[es.Declared]:
    for found in es.declared(app):
        periodic = es.refresh_policy(found.manifest) == "Periodic"
        meant = es.is_generated_only(found.manifest) or es.keeps_first_value(found.manifest)
        if periodic and not meant and es.refresh_interval(found.manifest) <= timedelta():
            yield found


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that fetches only once although it is periodic."""
    zero = tuple(_unrefreshed(app))
    if not zero:
        return
    until = (
        "keeps its value until the ExternalSecret itself is changed"
        if version_of(app, fleet).at_least("v0.11.0") is False
        else "keeps the first value forever, and force-sync does nothing"
    )
    for found in zero:
        resource, manifest = found.resource, found.manifest
        yield Finding(
            message=f'{resource.id} has refreshInterval "{es.spec_of(manifest).get("refreshInterval")}": its '
            f"{es.target_text(manifest)} {until}.",
            at=Location(app.ref, resource.id, found.pointer("/spec/refreshInterval")),
            fixes=tuple(_fixes(app, fleet, found)),
        )


def _fixes(app: App, fleet: Fleet, found: es.Declared) -> Iterator[Fix]:
    """Fixes with fields that the cluster's CRD has: an unknown field would be dropped, and differ forever."""
    where = str(found.resource.id)
    hourly = Edit("json-patch", found.set("/spec/refreshInterval", "1h0m0s"))
    yield Fix("Refresh every hour", "manifest", where, hourly, "one call a key and hour")
    is_v1 = found.manifest.get("apiVersion") == f"{es.GROUP}/v1"
    if is_v1 or version_of(app, fleet).at_least(_POLICY) is not None:
        yield Fix(
            "Refresh it when its manifest changes, and let force-sync work",
            "manifest",
            where,
            Edit("json-patch", found.set("/spec/refreshPolicy", "OnChange")),
            needs=() if is_v1 else (Need("external-secrets", _POLICY),),
        )


_POLICY = "v0.16.0"
"""The first release with refreshPolicy, and with v1."""


RULE = Rule(**Rule.page(__name__), severity="info", intent=True, check=check, reads=es.holds_external_secrets)
