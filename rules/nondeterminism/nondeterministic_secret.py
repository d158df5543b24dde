"""Secret data is generated at render time

What it finds: a Secret whose values are generated again at each render: a random password, a key, a salted hash, a certificate. One finding
covers the Secret and its consequences: the checksum annotations that hash it and the CA bundles that its certificate signs. Helm hooks that
create a new Secret at each sync are reported as a rotation risk.

*proven*: Argo CD wrote one value at this revision and renders another at the same revision, or two renders differ, or two workloads of one
render have different hashes of it. *likely*: the chart is known to generate it at these values, or nothing else changed with it. *possible*
(info): only its name suggests it, the values that may pin it are in Git, or a commit since the last sync mentions secrets, so that it may be a
rotation.

Why it hurts: Argo CD runs `helm template` without a cluster, so `lookup` is empty and the chart cannot keep the old value. The manifests are
cached for a day; any commit, a hard refresh or the end of the cache generates a new value. Then the application is OutOfSync, or automated sync
rotates the Secret: pods restart, and a database on a volume keeps the old password.

How to fix: create the Secret outside the chart and name it in the values. Use another name than the rendered one, which a prune would delete. Or
set the value itself, encrypted. Ignoring the Secret *and* its checksums with RespectIgnoreDifferences=true is the second choice: it also hides
an intended rotation.

Example: the official Airflow chart without `webserverSecretKeySecretName` generates the Flask key at each render. The checksum
`checksum/webserver-secret-key` of the webserver and of the workers restarts them at every commit, each with its own hash.

Sources: Argo CD docs/user-guide/helm.md (Random Data), util/helm/cmd.go, reposerver/cache; argoproj/argo-cd issues 3263, 8810.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import App, Finding, Fleet, Location, Rank, Related, Resource, ResourceKey, Rule, Want
from argolint.sequence.order import delete_policies
from argolint.values import annotations_of, dig, enumerated, join_pointer, mapping

from ..shared import charts
from ..shared.charts import Item, Release
from . import _evidence as evidence
from . import _pins as pins
from . import _roots as roots
from ._shapes import is_often_generated
from ._sign import Sign


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each random Secret, with its consequences; one for each set of hook Secrets that rotates."""
    yield from roots.findings(app, fleet, frozenset({"secret"}))
    hooks = evidence.hook_secrets(app)
    if not hooks:
        return
    reported: set[ResourceKey] = set()
    for release in charts.releases(app):
        for item in release.random():
            reported.update(r.key for s in item.secrets for r in hooks if release.makes_name(s.name, r.name))
            rotating = _rotated_secrets(release, item, hooks)
            if rotating and not charts.is_pinned(item, release):
                yield _rotation_finding(app, release, item, rotating)
    for hook in hooks:
        if hook.key not in reported:
            yield from _unknown_chart_findings(app, hook)


def _rotated_secrets(release: Release, item: Item, hooks: Sequence[Resource]) -> tuple[Resource, ...]:
    """The item's Secrets among the hooks; none unless all of them exist, since a pin removes one."""
    found = [
        next((r for r in hooks if release.makes_name(secret.name, r.name)), None)
        for secret in item.secrets
        if secret.hook and ("before-hook-creation" in secret.hook or "delete-policy" not in secret.hook)
    ]
    return tuple(r for r in found if r is not None) if all(found) else ()


def _unknown_chart_findings(app: App, hook: Resource) -> Iterator[Finding]:
    """The finding for a hook Secret that each sync deletes and creates again, with a key that charts often generate: only possible."""
    for manifest in app.evidence.get(Want("manifests")) or ():
        if manifest.get("kind") != "Secret" or dig(manifest, "metadata", "name") != hook.name:
            continue
        annotations = annotations_of(manifest)
        keys = [k for k in sorted(mapping(manifest, "data")) if is_often_generated(k)]
        if keys and "BeforeHookCreation" in delete_policies(manifest):
            pointer = "/data" + join_pointer(keys[0])
            yield Finding(
                message=f'Each sync makes {hook.id} again, perhaps with another "{keys[0]}": what the old one encrypts would then break.',
                at=Location(app.ref, hook.id, pointer),
                severity="info",
                confidence="possible",
                evidence=(
                    f"hook {annotations.get('helm.sh/hook') or annotations.get('argocd.argoproj.io/hook')}, delete policy BeforeHookCreation (the default)",
                ),
                fixes=pins.pinning_fixes(app, [Sign(hook.id, pointer, "secret", "possible", "")]),
            )


def _rotation_finding(app: App, release: Release, item: Item, hooks: tuple[Resource, ...]) -> Finding:
    """The finding for a rotation; only possible if values are in Git, since Argo CD does not show them."""
    sure = release.complete
    signs = [
        Sign(hook.id, "/data" + join_pointer(key), "secret", "likely" if sure else "possible", "", (), release, item)
        for hook, secret in zip(hooks, item.secrets, strict=False)
        for key in secret.keys[:1]
    ]
    names = enumerated([str(r.id) for r in hooks], limit=1)
    what = item.what.partition(" (")[0]
    other = "other" if what.endswith("s") else "another"
    breaks = "what trusts the former one refuses it" if item.signs else "what the old one encrypts breaks"
    return Finding(
        message=f"Each sync {'makes' if sure else 'may make'} {names} again with {other} {what}: {breaks}.",
        at=Location(app.ref, hooks[0].id, signs[0].pointer),
        severity="warning" if sure else "info",
        confidence="likely" if sure else "possible",
        evidence=(
            f"chart {release.label} draws the {item.what} unless its values pin it ({item.when})",
            "a Helm hook is no difference, but each sync deletes the Secret before it makes it again (delete policy before-hook-creation, the default)",
            *((item.note,) if item.note else ()),
            *(() if sure else (f"whether {release.values_at} pins it cannot be read through Argo CD",)),
        ),
        related=tuple(Related(app.ref, sign.resource, sign.pointer, "other") for sign in signs[1:]),
        fixes=pins.pinning_fixes(app, signs),
    )


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=evidence.wants, reads=evidence.reads, rank=Rank.ROOT
)
