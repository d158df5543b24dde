"""An ExternalSecret is never refreshed

What it finds: a `refreshInterval` of zero or less with the periodic policy. (With `CreatedOnce`, `OnChange` or a generator as the
only source that is a choice, and no finding.)

Why it hurts: the value is fetched once. A rotation at the provider never arrives, and since v0.11 neither an edit of the
ExternalSecret nor the annotation `force-sync` fetches again; Argo CD's refresh action is disabled.

How to fix: use a real interval, or say what is meant with `refreshPolicy: OnChange` (force-sync works) or `CreatedOnce`.

Example:

    ExternalSecret shop/db has refreshInterval "0": its Secret "db" keeps the first value for ever, and force-sync does nothing.

Sources: external-secrets docs/api/externalsecret.md; issues 4167, 4447 and 4568 (intended); Argo CD
resource_customizations/external-secrets.io/ExternalSecret/actions.
"""

from collections.abc import Iterator
from datetime import timedelta

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.values import items

from . import external_secret as es


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ExternalSecret that fetches once although it is periodic."""
    for resource in es.external_secrets(app):
        manifest = resource.any
        if not manifest or es.interval(manifest) > timedelta() or es.refresh_policy(manifest) != "Periodic":
            continue
        sources = len(items(manifest, "spec", "data")) + len(items(manifest, "spec", "dataFrom"))
        if sources and sources == len(es.generator_refs(manifest)):
            continue
        where = f"ExternalSecret {resource.namespace}/{resource.name}"
        hourly = Edit("json-patch", es.set_field(manifest, "/spec/refreshInterval", "1h0m0s"))
        on_change = Edit("json-patch", es.set_field(manifest, "/spec/refreshPolicy", "OnChange"))
        yield Finding(
            message=f'{resource.id} has refreshInterval "{es.spec_of(manifest).get("refreshInterval")}": its '
            f"{es.target_text(manifest)} keeps the first value for ever, and force-sync does nothing.",
            at=Location(app.ref, resource.id, "/spec/refreshInterval"),
            fixes=(
                Fix("Refresh every hour", "manifest", where, hourly, "one call a key and hour"),
                Fix(
                    "Say that it changes with the manifest only, and let force-sync work",
                    "manifest",
                    where,
                    on_change,
                    "refreshPolicy needs External Secrets v0.16.0 or later",
                ),
            ),
        )


RULE = Rule(
    id="external-secret-refresh-disabled",
    family="secrets",
    severity="info",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
)
